"""Claims about difficulties that are expected of items before they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.calibration.expected import ExpectedItems, expecting
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.data.patterns import merged, patterns_of
from irtkit.irf import Items

if TYPE_CHECKING:
    from irtkit.irf import ModelName

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
LABELS = ("a", "b", "c", "d")
EXPECTED = pd.Series([-1.0, 0.5, 2.0], index=["a", "b", "d"])


def expected(mean: Any, sd: float | None = None, **settings: Any) -> WeakPrior:
    """The weak prior with difficulties that are expected."""
    return WeakPrior(difficulty_mean=mean, difficulty_sd=sd, **settings)


def drawn(
    n: int, m: int, error: float, seed: int = 0
) -> tuple[irtkit.ResponseMatrix, pd.Series[float], Any]:
    """Responses, predictions of known error, and intercepts."""
    generator = np.random.default_rng(seed)
    slope, intercept = generator.lognormal(0.0, 0.3, m), generator.normal(size=m)
    items = irtkit.ItemParameters(slope, intercept, np.zeros(m))
    responses = irtkit.simulate_responses(items, generator.normal(size=n), seed=generator)
    predicted = pd.Series(-intercept + generator.normal(0, error, m), index=responses.items)
    return responses, predicted, intercept


@pytest.mark.parametrize("on_fixed_scale", [False, True])
def test_the_gradient_is_that_of_the_density(*, on_fixed_scale: bool) -> None:
    prior: Any = expecting(expected(EXPECTED, 0.7), LABELS)
    prior = prior.on_fixed_scale() if on_fixed_scale else prior
    generator = np.random.default_rng(0)
    slope, intercept = generator.normal(1, 0.5, 4), generator.normal(size=4)

    def density(x: Any) -> Any:
        return prior.at(Items(x[:4], x[4:8]), Hyper(x[8], x[9]), common_slope=False)

    x, step = np.array([*slope, *intercept, 0.2, -0.4]), 1e-6
    steps = step * np.eye(10)
    risen = [density(x + e).log_density - density(x - e).log_density for e in steps]
    found = density(x)
    by_hyper = found.by_hyper[::-1]  # by log τ, then by m
    exact = np.concatenate([found.gradient.T.ravel(), by_hyper])
    assert np.array(risen) / (2 * step) == pytest.approx(exact, abs=1e-6)


def test_what_is_expected_of_nothing_in_particular_is_the_weak_prior() -> None:
    responses = drawn(40, 30, 0.5)[0]
    told = pd.Series(1.7, index=responses.items)
    weak = irtkit.fit(responses)
    same = irtkit.fit(responses, prior=expected(told, WeakPrior.intercept_spread))
    ours, theirs = same.items["intercept"], weak.items["intercept"]
    assert ours.to_numpy() == pytest.approx(theirs.to_numpy(), abs=1e-6)
    assert same.items["intercept_se"].to_numpy() == pytest.approx(
        weak.items["intercept_se"].to_numpy(), rel=1e-4
    )


@pytest.mark.parametrize("model", ["1PL", "Rasch", "2PL"])
def test_predictions_make_few_answers_go_further(model: ModelName) -> None:
    responses, predicted, intercept = drawn(10, 400, 0.5)
    plain = irtkit.fit(responses, model, standard_errors=False)
    told = irtkit.fit(responses, model, prior=expected(predicted, 0.5), standard_errors=False)
    errors = [np.sqrt(np.mean((fit.items["intercept"] - intercept) ** 2)) for fit in (plain, told)]
    # ten answers leave 0.7, predictions alone 0.5, both together 1/√(1/0.7² + 1/0.5²) = 0.41
    assert errors[0] > 0.6
    assert errors[1] < 0.45


def test_a_common_shift_and_the_population_do_not_matter() -> None:
    responses, predicted, _ = drawn(30, 60, 0.5)
    near, far = (
        irtkit.fit(responses, prior=expected(predicted + shift, 0.5)).items for shift in (0.0, 5.0)
    )
    assert near["intercept"].to_numpy() == pytest.approx(far["intercept"].to_numpy(), abs=1e-6)


def test_items_with_the_same_answers_and_other_predictions_are_not_merged() -> None:
    responses = irtkit.ResponseMatrix(np.tile([[1, 0], [0, 1], [1, 1], [1, 1], [0, 0]], (6, 20)))
    predicted = pd.Series(np.repeat([-1.0, 1.0], 20), index=responses.items)
    assert len(merged(patterns_of(responses, synthetic_is_real=False)).patterns.cells.T) == 2
    for model in ("1PL", "2PL"):
        found = irtkit.fit(responses, model, prior=expected(predicted, 0.5)).items
        easier = found["intercept"].to_numpy()
        assert (easier[:20:2] > easier[20::2] + 0.1).all()
        assert np.ptp(easier[:20:2]) < 1e-6
    apart = irtkit.ResponseMatrix(np.random.default_rng(0).permuted(responses.values, axis=0))
    assert irtkit.fit(apart, prior=expected(predicted, 0.5)).converged


def test_beside_fixed_items_means_are_on_their_scale() -> None:
    responses, predicted, intercept = drawn(200, 40, 0.01)
    bank = irtkit.fit(responses).items.iloc[:20]
    few = irtkit.ResponseMatrix(
        np.where(
            np.arange(40) < 20,
            responses.values,
            np.where(np.arange(200) < 4, 1, 0)[:, None] * (responses.values + 1) - 1,
        ),
        items=responses.items,
    )  # new items were answered by four
    found = irtkit.fit(few, fixed=bank, prior=expected(predicted.iloc[20:], 0.1)).items
    new = found["intercept"].iloc[20:].to_numpy()
    assert new == pytest.approx(intercept[20:], abs=0.3)


def test_a_saved_result_says_what_was_expected(tmp_path: Any) -> None:
    responses, predicted, _ = drawn(30, 12, 0.5)
    result = irtkit.fit(responses, prior=expected(predicted.iloc[:8], 0.5))
    result.save(tmp_path / "result.npz")
    prior = irtkit.load(tmp_path / "result.npz").settings.prior
    assert prior["item_intercept_sd"] == [0.5] * 8 + [WeakPrior.intercept_spread] * 4
    centred = predicted.iloc[:8] - predicted.iloc[:8].mean()
    assert prior["kind"] == "ExpectedItems"
    assert prior["item_intercept_mean"][:8] == pytest.approx([*-centred])
    assert prior["item_intercept_mean"][8:] == [None] * 4


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"difficulty_mean": EXPECTED}, ValueError, "difficulty_mean needs difficulty_sd"),
        ({"difficulty_mean": 3, "difficulty_sd": 1}, TypeError, "Series or a mapping"),
        ({"difficulty_mean": {"x": 1.0}, "difficulty_sd": 1}, ValueError, "no item of the resp"),
        (
            {"difficulty_mean": {"a": 1.0, "bb": 0.0, "e": 2.0}, "difficulty_sd": 1},
            ValueError,
            r"'bb' is not one \(and 1 more label\).*Items without a mean: b, c, d. Leave out",
        ),
        ({"difficulty_mean": {"a": np.inf}, "difficulty_sd": 1}, ValueError, "of 'a'"),
        ({"difficulty_mean": EXPECTED, "difficulty_sd": 0}, ValueError, "above 0"),
        (
            {"difficulty_mean": pd.Series([0.0, 1.0], ["a", "a"]), "difficulty_sd": 1},
            ValueError,
            "item 'a' occurs twice",
        ),
        ({"difficulty_mean": EXPECTED.to_frame("mean")}, ValueError, "no column 'sd'"),
        (
            {"difficulty_mean": {"a": "hard"}, "difficulty_sd": 1},
            ValueError,
            "difficulty_mean of 'a' must be a number, got 'hard'",
        ),
        (
            {"difficulty_mean": pd.DataFrame({"mean": [1.0], "sd": ["wide"]}, index=["a"])},
            ValueError,
            "difficulty_sd of 'a' must be a number, got 'wide'",
        ),
        ({"difficulty_sd": 1.0}, ValueError, "not given"),
    ],
)
def test_what_cannot_be_expected_is_refused(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    responses = irtkit.ResponseMatrix(np.eye(4, dtype=int), items=LABELS)
    with pytest.raises(error, match=message):
        irtkit.fit(responses, prior=WeakPrior(**given))


def test_a_single_number_is_refused_as_the_difficulty_of_items_before_any_fit() -> None:
    with pytest.raises(TypeError, match="a Series or a mapping by item label"):
        WeakPrior(difficulty_mean=0.5)


def test_labels_of_a_table_are_in_its_index_or_in_a_column() -> None:
    labels = ("2", "0", "1", "3")  # as numbers of rows are
    table = pd.DataFrame({"mean": [1.0, 2.0, 3.0, 4.0], "sd": 0.5}, index=pd.Index(labels))
    known = expecting(expected(table, None), labels).keys
    column = table.rename_axis("item").reset_index()
    assert np.array_equal(expecting(expected(column, None), labels).keys, known)
    polars = pytest.importorskip("polars")
    for given in (polars.from_pandas(column), polars.from_pandas(column).to_arrow()):
        assert np.array_equal(expecting(expected(given, None), labels).keys, known)
    with pytest.raises(ValueError, match="difficulty_mean: a table without an index needs a col"):
        expecting(expected(polars.from_pandas(column).drop("item"), None), labels)


def test_the_usual_prior_is_left_where_nothing_is_told() -> None:
    prior = expecting(expected(EXPECTED, 0.5, intercept_spread=2.0), LABELS)
    assert isinstance(prior, ExpectedItems)
    assert prior.usual == WeakPrior(intercept_spread=2.0)
    assert prior.intercept_sd.tolist() == [0.5, 0.5, 2.0, 0.5]
    assert prior.intercept_mean.tolist() == [1.5, 0.0, 0.0, -1.5]


def test_a_fit_is_repeated_with_what_was_expected() -> None:
    from irtkit.calibration.fitting import refitted

    responses, predicted, _ = drawn(30, 12, 0.5)
    result = irtkit.fit(responses, prior=expected(predicted.iloc[:8], 0.5))
    again = refitted(result, responses, tol=1e-5).items["intercept"]
    assert again.to_numpy() == pytest.approx(result.items["intercept"].to_numpy(), abs=0.01)
    bank = result.items.iloc[8:]
    beside = irtkit.fit(responses, fixed=bank, prior=expected(predicted.iloc[:8] + 2, 0.1))
    again = refitted(beside, responses, tol=1e-7, fixed=bank).items["intercept"]
    assert again.to_numpy() == pytest.approx(beside.items["intercept"].to_numpy(), abs=1e-3)


@pytest.mark.parametrize("model", ["1PL", "2PL"])
@pytest.mark.parametrize("gap", [-2.0, 2.0])
def test_new_items_are_as_hard_as_their_answers_say_beside_items_without_means(
    model: ModelName, gap: float
) -> None:
    # the mean of 10 new items with 5 answers each has an error of about 0.4, and of six sets 0.17
    new, shifts = np.arange(110) >= 100, []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        difficulty = generator.normal(size=110) + gap * new
        items = irtkit.ItemParameters.from_difficulty(np.ones(110), difficulty)
        values = irtkit.simulate_responses(items, generator.normal(size=200), seed=seed).values
        unasked = (generator.random(values.shape).argsort(axis=0) >= 5) & new
        responses = irtkit.ResponseMatrix(np.where(unasked, -1, values))
        predicted = pd.Series(difficulty + generator.normal(0, 0.3, 110), index=responses.items)
        found = irtkit.fit(
            responses,
            model,
            prior=expected(predicted[new], 0.3),
            standard_errors=False,
        )
        off = -found.items["intercept"].to_numpy() - difficulty
        shifts.append(off[new].mean() - off[~new].mean())
        assert off[new].std() < 0.8  # of answers alone 1; slopes of the 2PL add to 0.3
    assert np.mean(shifts) == pytest.approx(0, abs=0.5)


def test_what_was_expected_is_told_of_all_items_beside_one_that_nobody_answered() -> None:
    responses, predicted, _ = drawn(30, 6, 0.5)
    values = responses.values.copy()
    values[:, 2] = -1
    told = predicted.drop(responses.items[2])
    result = irtkit.fit(irtkit.ResponseMatrix(values), prior=expected(told, 0.5))
    means = [*(told.mean() - told)]
    assert result.settings.prior["item_intercept_mean"] == pytest.approx(
        [*means[:2], None, *means[2:]]
    )
