"""Claims about items calibrated on an earlier scale, whose items stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    compare_difficulties,
    fit,
    load,
    score,
    simulate_responses,
)
from irtkit.calibration import calibrated, standard_errors
from irtkit.calibration.estimation import maximum_likelihood
from irtkit.calibration.priors import WeakPrior
from irtkit.calibration.search import Control, GridSchedule, problem_of
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.irf import ModelName

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

MODELS: tuple[ModelName, ...] = ("Rasch", "1PL", "2PL", "3PL")
N_ITEMS, N_OLD = 50, 40
LABELS = [f"q{j}" for j in range(N_ITEMS)]


def true_items(model: ModelName, generator: np.random.Generator) -> ItemParameters:
    slopes = np.full(N_ITEMS, 1.0 if model == "Rasch" else 1.3)
    if model in {"2PL", "3PL"}:
        slopes = generator.lognormal(0, 0.3, N_ITEMS)
    guessing = generator.beta(5, 17, N_ITEMS) if model == "3PL" else 0.0
    return ItemParameters.from_difficulty(slopes, generator.normal(0, 1, N_ITEMS), guessing)


def answers(items: ItemParameters, ability: Any, some: slice, seed: int) -> ResponseMatrix:
    drawn = simulate_responses(items, ability, seed=seed)
    return ResponseMatrix(drawn.values[:, some], items=LABELS[some])


@pytest.mark.parametrize("model", MODELS)
def test_abler_respondents_and_new_items_land_on_the_earlier_scale(model: ModelName) -> None:
    """Mean 1.2 and SD 0.7 of 1,500 others, told by 30 items that 2,000 respondents calibrated."""
    generator = np.random.default_rng(1)
    items = true_items(model, generator)
    earlier = fit(answers(items, generator.normal(size=2000), slice(0, N_OLD), 2), model)
    ability = generator.normal(1.2, 0.7, 1500)
    result = fit(answers(items, ability, slice(10, N_ITEMS), 3), model, fixed=earlier)
    fixed = result.items["fixed"]
    assert result.converged
    assert fixed.tolist() == [True] * 30 + [False] * 10
    same = ["discrimination", "intercept", "guessing", "difficulty_se"]
    kept = earlier.items.loc[fixed.index[fixed], same]
    pd.testing.assert_frame_equal(result.items.loc[fixed, same], kept)
    assert result.latent_mean == pytest.approx(1.2, abs=0.12)
    assert result.latent_sd == pytest.approx(0.7, abs=0.1)
    new = result.items[~fixed]
    off = (new["difficulty"] - items.difficulty[N_OLD:]) / new["difficulty_se"]
    assert np.sqrt((off**2).mean()) < 1.6  # of ten z with errors of the anchors beside
    assert result.ability.mean() == pytest.approx(ability.mean(), abs=0.12)


@pytest.mark.parametrize("model", MODELS)
def test_with_all_items_fixed_abilities_are_scores_of_that_population(model: ModelName) -> None:
    generator = np.random.default_rng(4)
    items = true_items(model, generator)
    table = pd.DataFrame(
        {"a": items.discrimination, "b": items.difficulty, "c": items.guessing}, LABELS
    )
    responses = answers(items, generator.normal(0.5, 1.2, 400), slice(None), 5)
    result = fit(responses, model, fixed=table)
    assert result.n_parameters == 2
    np.testing.assert_allclose(score(responses, result)["ability"], result.ability, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "n_fixed", "prior", "off"),
    [
        ("2PL", 6, WeakPrior(), 0.05),
        ("2PL", 2, None, 0.12),
        ("1PL", 6, None, 0.01),
        ("3PL", 12, WeakPrior(), 0.09),
        ("2PL", 2, None, None),
        ("3PL", 12, WeakPrior(), None),
    ],
)
def test_standard_errors_are_those_of_second_derivatives(
    monkeypatch: pytest.MonkeyPatch,
    model: ModelName,
    n_fixed: int,
    prior: Any,
    off: float | None,
) -> None:
    """Of many items (``off`` is given) what couples them beyond common directions is left out."""
    monkeypatch.setattr(standard_errors, "_MOST_DENSE", 300 if off is None else 0)
    off, of_population = (2e-3, 2e-3) if off is None else (off, 0.05)
    generator = np.random.default_rng(0)
    whole = true_items(model, generator).chosen(slice(0, n_fixed + 6))
    responses = simulate_responses(whole, generator.normal(0.8, 0.8, 1500), seed=1)
    free = np.arange(whole.n_items) >= n_fixed
    parts = (np.where(free, np.nan, v) for v in (whole.discrimination, whole.intercept))
    fixed = ItemParameters(*parts, np.where(free, np.nan, whole.guessing))
    patterns = patterns_of(responses, synthetic_is_real=False)
    found = maximum_likelihood(
        patterns,
        model,
        prior,
        Control(tol=1e-9),
        empirical=False,
        standard_errors=True,
        mesh=None,
        trial_correlation=None,
        fixed=fixed,
    )
    assert found.population is not None
    problem = problem_of(patterns, model, prior, fixed=fixed)
    own = problem.parameters
    x = own.vector(found.items.chosen(own.free), None, [found.population])
    nodes = problem.density(GridSchedule(), x, 12).nodes(2, 2)
    objective = problem.at(nodes, exact=True)
    steps = 1e-4 * np.eye(len(x))
    after, before = ([objective.evaluate(x + k * h).gradient for h in steps] for k in (1, -1))
    information = (np.array(before) - np.array(after)) / 2e-4
    known = np.diag(information) > 1e-9
    variances = np.full(len(x), np.nan)
    variances[known] = np.diag(np.linalg.inv(information[np.ix_(known, known)]))
    wanted = {1: variances[own.intercepts]}
    if model != "1PL":
        wanted[0] = variances[own.slopes]
    assert found.population_se is not None
    errors = found.population_se[1] / found.population.sd, found.population_se[0]
    np.testing.assert_allclose(errors, variances[-2:] ** 0.5, rtol=of_population)
    assert found.covariances is not None
    for k, values in wanted.items():
        ratio = np.sqrt(found.covariances[free, k, k] / values)
        np.testing.assert_allclose(ratio, 1, atol=off)


@pytest.mark.parametrize(("model", "by_item"), [("1PL", 1), ("3PL", 3)])
def test_parameters_are_those_of_free_items_with_responses_and_of_the_population(
    model: ModelName, by_item: int
) -> None:
    generator = np.random.default_rng(4)
    items = true_items(model, generator)
    table = pd.DataFrame(
        {"a": items.discrimination, "b": items.difficulty, "c": items.guessing}, LABELS
    )
    values = simulate_responses(items, generator.normal(size=60), seed=5).values.copy()
    values[:, -1] = -1
    result = fit(ResponseMatrix(values, items=LABELS), model, fixed=table[:30])
    assert result.n_parameters == 2 + 19 * by_item
    assert result.aic == -2 * result.log_likelihood + 2 * result.n_parameters


def test_a_result_on_an_earlier_scale_is_saved_printed_and_compared(tmp_path: Path) -> None:
    generator = np.random.default_rng(6)
    items = true_items("2PL", generator)
    earlier = fit(answers(items, generator.normal(size=800), slice(0, N_OLD), 7))
    later = answers(items, generator.normal(1, 1, 300), slice(20, N_ITEMS), 8)
    result = fit(later, fixed=earlier)
    result.save(tmp_path / "result.npz")
    again = load(tmp_path / "result.npz")
    pd.testing.assert_frame_equal(again.items, result.items)
    assert again.latent_mean == result.latent_mean
    assert again.latent_mean_se == result.latent_mean_se
    assert "20 items fixed, on whose scale ability has mean" in str(result)
    error = result.items["expected_error"] - result.items["average_error"]
    assert error.abs().max() < 0.08
    compared = compare_difficulties(result, folds=0)
    np.testing.assert_allclose(compared.table["expected_error"], result.items["expected_error"])


def test_repeats_missing_cells_and_sparse_ones_are_fitted_alike() -> None:
    generator = np.random.default_rng(9)
    items = true_items("2PL", generator)
    earlier = fit(answers(items, generator.normal(size=800), slice(0, N_OLD), 7))
    tried = (generator.random((300, N_ITEMS)) < 0.6).astype(int)
    right = generator.binomial(tried, items.probability(generator.normal(1, 1, 300)))
    responses = ResponseMatrix.from_counts(right, tried, items=LABELS)
    dense, sparse = (fit(r, fixed=earlier) for r in (responses, responses.to_sparse()))
    np.testing.assert_allclose(dense.ability, sparse.ability, atol=1e-3)
    assert dense.latent_mean == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(
    ("model", "items", "more", "message"),
    [
        ("2PL", {"a": [1.0], "b": [0.0]}, {"method": "vi"}, "fixed= is for method='em'"),
        ("2PL", {"a": [1.0], "b": [0.0]}, {"prior": "empirical"}, "fixed= is for method='em'"),
        ("1PL", {"a": [1.0, 2.0], "b": [0.0, 1.0]}, {}, "the 1PL has one discrimination"),
        ("2PL", {"a": [1.0], "b": [0.0], "c": [0.2]}, {}, "use model='3PL'"),
    ],
)
def test_what_cannot_be_fixed_is_refused(
    model: ModelName, items: Any, more: Any, message: str
) -> None:
    table = pd.DataFrame(items, LABELS[: len(items["a"])])
    responses = ResponseMatrix([[1, 0, 1], [0, 1, 1]], items=LABELS[:3])
    with pytest.raises(ValueError, match=message):
        fit(responses, model, fixed=table, **more)


def test_without_a_common_item_nothing_is_fixed() -> None:
    table = pd.DataFrame({"a": [1.0], "b": [0.0]}, ["other"])
    with pytest.raises(ValueError, match="fixed has no item of the responses: its items are other"):
        fit(ResponseMatrix([[1, 0], [0, 1]]), fixed=table)
    with pytest.raises(FileNotFoundError, match="fixed: there is no file or folder 'nope'"):
        fit(ResponseMatrix([[1, 0], [0, 1]]), fixed="nope")
    with pytest.raises(ValueError, match="fixed needs the columns discrimination"):
        fit(ResponseMatrix([[1, 0], [0, 1]]), fixed=table[["a"]])


def test_a_new_item_that_all_get_right_is_unbounded_beside_fixed_ones() -> None:
    items = ItemParameters.from_difficulty(np.ones(12), np.linspace(-2, 2, 12))
    values = simulate_responses(items, np.random.default_rng(0).normal(size=200), seed=1).values
    values = np.column_stack([values, np.ones(200, dtype=int)])
    known = pd.DataFrame({"a": 1.0, "b": items.difficulty[:10]}, LABELS[:10])
    responses = ResponseMatrix(values, items=LABELS[:13])
    with pytest.warns(UserWarning, match="No finite estimate: .* 1 of 13 items"):
        free = fit(responses, "1PL", prior=None, fixed=known)
    assert free.items["status"].tolist() == ["ok"] * 12 + ["unbounded"]
    assert fit(responses, "1PL", fixed=known).items["status"].iloc[-1] == "no variance"


def earlier_and_later(
    model: ModelName, shift: Any, n: int = 800
) -> tuple[FitResult, ResponseMatrix]:
    """30 anchors calibrated on 500 systems, and answers of others to them, and to 10 new items.

    ``shift`` says how much easier each has become.
    """
    generator = np.random.default_rng(11)
    items = true_items(model, generator).chosen(slice(0, 40))
    earlier = fit(answers(items, generator.normal(size=500), slice(0, 30), 12), model)
    moved = ItemParameters(items.discrimination, items.intercept + shift, items.guessing)
    return earlier, answers(moved, generator.normal(size=n), slice(0, 40), 13)


@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_drifted_anchors_are_named_and_a_fit_without_them_is_sound(model: ModelName) -> None:
    drifted = np.isin(np.arange(40), [2, 7, 11, 16, 22, 29])
    shift = np.where(drifted, 1.3, 0.0)
    shift[7] = -1.3
    earlier, later = earlier_and_later(model, shift)
    with pytest.warns(UserWarning, match="Anchor drift: 6 of 30 fixed items differ") as caught:
        result = fit(later, model, fixed=earlier)
    assert result.items.query("drifts").index.tolist() == ["q2", "q7", "q11", "q16", "q22", "q29"]
    assert (np.sign(result.items["drift_z"][drifted]) == np.sign(shift[drifted])).all()
    (said,) = (str(one.message) for one in caught if "drift" in str(one.message))
    assert "Easier: 'q2', 'q11', 'q16', 'q22', 'q29'. Harder: 'q7'. " in said
    assert len(said.split()) <= 45
    again = fit(later, model, fixed=earlier.items.drop(result.items.query("drifts").index))
    assert abs(again.latent_mean) < abs(result.latent_mean)
    assert not again.items["drifts"].any()


@pytest.mark.parametrize("model", MODELS)
def test_sampling_errors_of_sound_anchors_are_no_drift(model: ModelName) -> None:
    """With 8,000 later systems nearly all of a difference is sampling error of 500 earlier."""
    earlier, later = earlier_and_later(model, 0.0, n=8_000)
    result = fit(later, model, fixed=earlier)
    assert not result.items["drifts"].any()
    z = result.items["drift_z"][:30].to_numpy()
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1, abs=0.3)
    assert result.items["drift_z"][30:].isna().all()
    columns = ["discrimination", "intercept", "guessing"]  # and not their errors
    with pytest.warns(UserWarning, match="Anchor drift"):
        known = fit(later, model, fixed=earlier.items[columns])
    assert known.latent_mean_se is not None
    assert result.latent_mean_se is not None
    # σ/√500 of the mean of earlier systems, and more of each anchor
    assert result.latent_mean_se > np.hypot(known.latent_mean_se, 500**-0.5)


def test_copies_of_respondents_are_no_evidence_of_drift() -> None:
    earlier, later = earlier_and_later("2PL", 0.0, n=100)
    copies = ResponseMatrix(np.repeat(later.values, 20, axis=0), items=later.items)
    result = fit(copies, fixed=earlier)
    assert not result.items["drifts"].any()
    with np.errstate(all="ignore"):
        of_earlier = calibrated.earlier_covariances(result, 0.0, 1.0)
        _, each_counted, _ = calibrated.drift_of(result, result.patterns, of_earlier)
    assert each_counted.any()


def test_with_two_anchors_none_is_called_drifted() -> None:
    earlier, later = earlier_and_later("2PL", np.where(np.arange(40) == 0, 3.0, 0.0))
    table = earlier.items.iloc[:2]
    assert not fit(later, fixed=table).items["drifts"].any()
    three = earlier.items.iloc[:3]
    with pytest.warns(UserWarning, match="Anchor drift: 1 of 3 fixed items"):
        assert fit(later, fixed=three).items["drifts"].tolist()[0]
