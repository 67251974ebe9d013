"""Estimation: what is cheap on the way changes no maximum, nor do copies; the chance level; refits.

That the maximum is where others have it is for test_references.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    EM,
    Beta,
    ItemParameters,
    ItemPrior,
    LogNormal,
    Normal,
    ResponseMatrix,
    WeakPrior,
    add_synthetic,
    fit,
    load,
    simulate_responses,
)
from irtkit.calibration import estimation
from irtkit.calibration.estimation import start, starting_values
from irtkit.calibration.fitting import refitted
from irtkit.calibration.search import Control, maximise, problem_of
from irtkit.data.patterns import Merged, patterns_of
from irtkit.data.patterns import merged as merge

if TYPE_CHECKING:
    from irtkit import FitResult
    from irtkit.calibration.priors import Prior
    from irtkit.calibration.search import PreconditionedLBFGS, Problem
    from irtkit.data.patterns import Patterns
    from irtkit.irf import ModelName

pytestmark = pytest.mark.filterwarnings("ignore:Not unidimensional")  # of copies
KINDS = ("complete", "missing", "counts", "synthetic")
N = 80
"""Distinct respondents; three times as many are few enough for 64 bits from the start."""
TEXTBOOK = ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta())
FINE = (121, 6.0)
"""A grid that is the same however the search goes."""
N_ANSWERED = 20
PARTS = ("discrimination", "intercept", "guessing")
HALF = np.repeat([0.25, 0.0], 12)


def crowd_of(
    kind: str, *, n_distinct: int = 60, n_items: int = 80, copied: bool = True
) -> tuple[ResponseMatrix, np.ndarray, np.ndarray]:
    """Responses with copies of rows and of columns, and of which distinct ones they are."""
    generator = np.random.default_rng(7)
    slope = generator.lognormal(0, 0.2, n_distinct)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_distinct))
    missing, trials = (0.2 if kind == "missing" else 0.0), (3 if kind == "counts" else 1)
    distinct = simulate_responses(
        items, generator.normal(size=N), missing=missing, trials=trials, seed=3
    )
    rows, columns = np.arange(N), np.arange(n_distinct)
    if copied:
        rows = generator.permutation(np.repeat(rows, 3))
        columns = generator.permutation(np.resize(columns, n_items))
    place = np.ix_(rows, columns)
    names = [f"r{k}" for k in range(len(rows))], [f"i{k}" for k in range(len(columns))]
    tried = distinct.trials if kind == "counts" else (distinct.values >= 0).astype(int)
    whole = ResponseMatrix.from_counts(distinct.successes[place], tried[place], *names)
    if kind == "synthetic":
        whole = ResponseMatrix(whole.values, *names, synthetic=np.arange(len(rows)) % 10 == 0)
    return whole, rows, columns


def merging_nothing(whole: Patterns, _of_items: Any = None) -> Merged:
    return Merged(whole, np.arange(whole.n), np.arange(whole.cells.shape[1]))


def both_ways(
    responses: ResponseMatrix, monkeypatch: pytest.MonkeyPatch, *args: Any, **kwargs: Any
) -> tuple[FitResult, FitResult, float]:
    """The fit, that of a matrix in which nothing is merged, and how much higher the first ends.

    The height is that of the objective, the log-likelihood plus the log prior.
    """
    searches: list[PreconditionedLBFGS] = []
    responses = responses.with_trial_correlation(0.0)  # estimating it takes several searches

    def noted(*given: Any) -> PreconditionedLBFGS:
        searches.append(start(*given))
        return searches[-1]

    with monkeypatch.context() as patched:
        patched.setattr(estimation, "start", noted)
        found = fit(responses, *args, method=EM(tol=1e-12), **kwargs)
        patched.setattr(estimation, "merged", merging_nothing)
        expected = fit(responses, *args, method=EM(tol=1e-12), **kwargs)
    one, other = (search.current.value for search in searches if search.current is not None)
    return found, expected, one - other


def assert_alike(found: FitResult, expected: FitResult, higher: float) -> None:
    assert found.converged
    assert expected.converged
    # on one grid by 4e-11 at most, on nodes that follow the items by 1.2e-8
    assert abs(higher) < 1e-7
    # a log-likelihood alone is not flat where a penalised search ends: 2e-9, of the 3PL 3e-6
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-5, rel=0)
    # sums of the information formed as a whole are in 32 bits; in 64 both differ as the estimates
    # do that they are taken at, by 1e-6
    of_errors = 1e-5 if len(found.items) > 150 else 5e-5
    for name in (name for name in PARTS if expected.items[name].any()):
        errors = expected.items[f"{name}_se"].to_numpy()
        off = (found.items[name] - expected.items[name]).to_numpy() / errors
        assert np.abs(off).max() < 1e-4
        assert found.items[f"{name}_se"].to_numpy() == pytest.approx(errors, rel=of_errors)
    assert found.ability == pytest.approx(expected.ability, abs=1e-6)
    assert found.ability_se == pytest.approx(expected.ability_se, abs=1e-6)
    assert found.items["status"].equals(expected.items["status"])
    assert found.items["average_error"].equals(expected.items["average_error"])
    assert found.n_parameters == expected.n_parameters


@pytest.mark.parametrize(
    ("kind", "model", "prior", "n_items"),
    [
        ("complete", "1PL", None, 80),
        ("complete", "2PL", "weak", 160),
        ("missing", "2PL", None, 80),
        ("missing", "3PL", TEXTBOOK, 160),
        ("counts", "1PL", "weak", 160),
        ("counts", "3PL", "weak", 80),
        ("synthetic", "2PL", "weak", 80),
        ("synthetic", "1PL", None, 160),
    ],
)
def test_copies_counted_give_the_fit_of_copies_spelled_out(
    kind: str, model: ModelName, prior: Any, n_items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # with 160 items no information is formed as a whole
    responses, _, _ = crowd_of(kind, n_distinct=n_items * 5 // 8, n_items=n_items)
    patterns = merge(patterns_of(responses, synthetic_is_real=False)).patterns
    assert patterns.frequency is not None
    assert patterns.multiplicity is not None
    assert_alike(*both_ways(responses, monkeypatch, model, prior=prior, quadrature=FINE))


@pytest.mark.parametrize(("kind", "model"), [("complete", "1PL"), ("synthetic", "2PL")])
def test_nodes_that_follow_the_items_are_no_obstacle(
    kind: str, model: ModelName, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses, _, _ = crowd_of(kind)
    found, expected, higher = both_ways(responses, monkeypatch, model)
    assert_alike(found, expected, higher)
    assert found.quadrature.n_nodes == expected.quadrature.n_nodes


@pytest.mark.parametrize(
    ("kind", "model", "n_items"),
    [
        ("complete", "1PL", 80),
        ("missing", "2PL", 160),
        ("counts", "3PL", 80),
        ("synthetic", "2PL", 80),
    ],
)
def test_those_who_answered_alike_and_items_answered_alike_get_the_same_numbers_to_the_last_bit(
    kind: str, model: ModelName, n_items: int
) -> None:
    responses, rows, columns = crowd_of(kind, n_distinct=n_items * 5 // 8, n_items=n_items)
    result = fit(responses, model)
    names = [*PARTS, "difficulty"]
    estimates = result.items[names].to_numpy()
    first = np.unique(columns, return_index=True, return_inverse=True)
    assert np.array_equal(estimates, estimates[first[1]][first[2]])
    errors = result.items[[f"{name}_se" for name in names]].to_numpy()
    np.testing.assert_allclose(errors, errors[first[1]][first[2]], rtol=1e-5)
    # synthetic respondents have a distribution of ability of their own
    _, first_row, place = np.unique(
        rows + 1000 * result.synthetic, return_index=True, return_inverse=True
    )
    abilities = np.stack([result.ability, result.ability_se], axis=1)
    assert np.array_equal(abilities, abilities[first_row][place])


def test_an_empirical_prior_is_learned_from_copies_as_from_items_spelled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    responses, _, _ = crowd_of("complete", n_distinct=100, n_items=160)
    found, expected, _ = both_ways(responses, monkeypatch, prior="empirical", standard_errors=False)
    for name in ("discrimination", "intercept"):
        one, other = (result.items[name].to_numpy() for result in (found, expected))
        assert one == pytest.approx(other, abs=1e-3)
    assert found.settings.prior["kind"] == expected.settings.prior["kind"] == "empirical"
    told, wanted = (list(result.settings.prior.values())[1:] for result in (found, expected))
    assert told == pytest.approx(wanted, rel=1e-2)


def answers(n: int = 3000, *, by_ability: bool = False, hardest: float = 1.5) -> ResponseMatrix:
    """Responses that nearly all differ, so that no rows are merged."""
    generator = np.random.default_rng(6)
    slope = generator.lognormal(0, 0.3, N_ANSWERED)
    slope[0] *= -1
    items = ItemParameters.from_difficulty(slope, np.linspace(-1.5, hardest, N_ANSWERED))
    abilities = generator.normal(size=n)
    return simulate_responses(items, np.sort(abilities) if by_ability else abilities, seed=3)


def problem(
    responses: ResponseMatrix, model: ModelName = "2PL", prior: Prior | None = None
) -> Problem:
    return problem_of(patterns_of(responses, synthetic_is_real=False), model, prior)


def control(most: int = 100) -> Control:
    return Control(max_evaluations=most)


@pytest.mark.parametrize("model", ["1PL", "2PL"])
@pytest.mark.parametrize("prior", [None, "weak"])
def test_a_sample_to_start_from_changes_no_maximum(
    model: ModelName, prior: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses, method = answers(by_ability=True), EM(tol=1e-12)
    without = fit(responses, model, prior=prior, standard_errors=False, method=method)
    monkeypatch.setattr(estimation, "_SUBSAMPLE", 500)
    found = fit(responses, model, prior=prior, standard_errors=False, method=method)
    assert found.converged
    assert found.n_iterations > found.trace["step"].size  # some saw the sample alone
    assert found.log_likelihood == pytest.approx(without.log_likelihood, abs=1e-6)
    for name in ("discrimination", "intercept"):
        one, other = (getattr(result.parameters, name) for result in (found, without))
        assert one == pytest.approx(other, abs=1e-5)


def test_no_sample_is_taken_that_is_too_small_for_an_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "_SUBSAMPLE", 500)
    of_all, controlled = problem(answers(hardest=8.0)), control()
    found = start(of_all, controlled)
    assert np.array_equal(found.x, starting_values(of_all, of_all.engine.patterns))
    assert controlled.n_evaluations == 0


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_before_synthetic_respondents_take_part_the_search_is_near_the_maximum_without_them(
    model: ModelName,
) -> None:
    responses = answers(300)
    crowd = add_synthetic(responses, ("always-right", "always-wrong"))
    without = problem(responses, model, WeakPrior())
    maximum = maximise(without, start(without, control()), control())
    near = start(problem(crowd, model, WeakPrior()), control())
    # tol is 1 % of a nat: 0.14 standard errors, which are some 0.2
    assert near.x == pytest.approx(maximum.x, abs=0.1)
    assert near.current is None  # the objective of all is evaluated anew


def test_a_3pl_without_a_prior_starts_from_one_with_a_prior_on_guessing_alone() -> None:
    free, controlled = problem(answers(300), "3PL"), control()
    near = start(free, controlled)
    assert controlled.n_evaluations > 0
    guessing = np.sin(near.x[free.parameters.angles]) ** 2
    assert 0.05 < guessing.mean() < 0.3  # Beta(5, 17) has its mode at 0.2
    assert guessing.max() < 0.5


@pytest.mark.parametrize("most", [1, 4, 10])
def test_the_way_to_the_start_takes_at_most_half_of_the_evaluations(most: int) -> None:
    controlled = control(most)
    start(problem(add_synthetic(answers(300), "always-right")), controlled)
    assert controlled.n_evaluations == most // 2


@pytest.mark.parametrize(
    ("model", "prior", "missing"),
    [
        ("Rasch", None, 0.0),
        ("1PL", WeakPrior(), 0.3),
        ("2PL", WeakPrior(), 0.0),
        ("3PL", None, 0.3),
    ],
)
def test_merged_patterns_start_where_all_of_them_do(
    model: ModelName, prior: Prior | None, missing: float
) -> None:
    generator = np.random.default_rng(1)
    responses = answers(60)
    values = np.where(generator.random((60, N_ANSWERED)) < missing, -1, responses.values)
    values = np.tile(values, (2, 1))[:, generator.integers(0, N_ANSWERED, 60)]
    whole = patterns_of(ResponseMatrix(values), synthetic_is_real=False)
    few, _, items = merge(whole)
    assert few.frequency is not None
    assert few.multiplicity is not None
    at_start = []
    for some in (few, whole):
        of_some = problem_of(some, model, prior)
        at_start.append(of_some.parameters.values(starting_values(of_some, some)))
    found, expected = at_start
    assert found.items.slope[items] == pytest.approx(expected.items.slope, abs=1e-9)
    assert found.items.intercept[items] == pytest.approx(expected.items.intercept, abs=1e-9)
    assert found.populations[0].sd == pytest.approx(expected.populations[0].sd)
    assert found.hyper == pytest.approx(expected.hyper)


def test_starting_values_tell_the_sign_of_slopes_and_the_order_of_difficulties() -> None:
    responses = answers()
    of_all = problem(responses)
    slope, intercept = of_all.items(starting_values(of_all, of_all.engine.patterns))[:2]
    assert slope[0] < 0
    assert (slope[1:] > 0.3).all()
    assert np.corrcoef(-intercept / slope, np.linspace(-1.5, 1.5, N_ANSWERED))[0, 1] > 0.95


def test_without_a_prior_items_without_variance_start_out_of_reach() -> None:
    values = answers(100).values.copy()
    values[:, 3], values[:, 5], values[:, 7] = 1, 0, -1
    for prior, out_of_reach in ((None, True), (WeakPrior(), False)):
        of_all = problem(ResponseMatrix(values), "2PL", prior)
        intercept = of_all.items(starting_values(of_all, of_all.engine.patterns)).intercept
        assert ((intercept[3] == 20) and (intercept[5] == -20)) == out_of_reach
        assert abs(intercept[7]) < 1  # of which nothing is known


@pytest.mark.parametrize(("n", "model"), [(60, "2PL"), (60, "Rasch"), (300, "2PL")])
def test_a_hundred_thousand_trials_tell_items_apart_and_leave_scale_and_location_as_they_were(
    n: int, model: ModelName
) -> None:
    generator = np.random.default_rng(0)
    slope = generator.lognormal(0, 0.3, 12)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=12))
    ability = generator.normal(size=n)
    some, many = (
        fit(drawn.with_trial_correlation(0.0), model)
        for drawn in (
            simulate_responses(items, ability, trials=trials, seed=1) for trials in (10**3, 10**5)
        )
    )
    assert many.converged
    assert many.n_iterations < 100
    # beside what respondents say of the scale, items have an error of 2 % with 10³ trials
    ratio = many.items["intercept_se"] / some.items["intercept_se"]
    assert ratio.to_numpy() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize(("model", "prior"), [("1PL", "weak"), ("2PL", None)])
def test_a_million_trials_of_each_response_converge_within_a_hundred_evaluations(
    model: ModelName, prior: Any
) -> None:
    items = ItemParameters.from_difficulty(
        [0.8, 1.0, 1.2, 0.9, 1.5, -0.7 if model == "2PL" else 0.7], np.linspace(-1.5, 1.5, 6)
    )
    ability = np.random.default_rng(1).normal(size=60)
    responses = simulate_responses(items, ability, seed=1, trials=10**6)
    result = fit(responses.with_trial_correlation(0.0), model, prior=prior, standard_errors=False)
    assert result.converged
    assert result.n_iterations < 100
    off = result.probability().to_numpy() - responses.successes / responses.trials
    if model == "2PL":  # shares right err by 5e-4
        assert np.abs(off).max() < 3e-3


@pytest.mark.parametrize("sparse", [False, True])
def test_no_cell_counts_for_more_than_most_trials_and_shares_right_stay(*, sparse: bool) -> None:
    trials = np.random.default_rng(0).integers(0, 30_000, (8, 5))
    trials[0, 0], trials[1, 1] = 0, 1
    counts = ResponseMatrix.from_counts(trials // 3, trials)
    whole = patterns_of(counts.to_sparse() if sparse else counts, synthetic_is_real=False)
    few = whole.with_most_trials(1_000)
    right, tried = few.dense()
    np.testing.assert_allclose(tried, np.minimum(trials, 1_000), rtol=1e-6)
    share = np.divide(trials // 3, trials, out=np.zeros((8, 5)), where=trials > 0)
    np.testing.assert_allclose(right, share * tried, rtol=1e-6)
    assert whole.with_most_trials(30_000) is whole


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_hundred_million_trials_take_as_long_as_a_hundred_thousand_and_say_the_same(
    share: float,
) -> None:
    logits = np.add.outer(np.linspace(-2, 2, 30), np.linspace(-1, 1, 6))
    successes = 1_000 * np.rint(2e5 * share / (1 + np.exp(-logits))).astype(np.int64)
    trials = np.full((30, 6), 10**8)
    many, some = (
        fit(ResponseMatrix.from_counts(successes // k, trials // k).with_trial_correlation(0.0))
        for k in (1, 1_000)
    )
    assert many.converged
    assert many.quadrature.n_nodes <= some.quadrature.n_nodes < 4_000
    for name in ("discrimination", "intercept"):
        off = (many.items[name] - some.items[name]) / some.items[f"{name}_se"]
        assert np.abs(off).max() < 1e-3
    assert many.counts.item_responses.tolist() == [30 * 10**8] * 6


def guessed(guessing: Any, n: int = 500, n_items: int = 24, seed: int = 0) -> Any:
    """Items, and responses to them."""
    generator = np.random.default_rng(seed)
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    c = np.broadcast_to(guessing, n_items).astype(float)
    items = ItemParameters(slope, -slope * difficulty, c)
    return items, simulate_responses(items, generator.normal(size=n), seed=generator)


@pytest.fixture(scope="module")
def mixed() -> ResponseMatrix:
    """Twelve items with four choices, and twelve open-ended ones."""
    responses: ResponseMatrix = guessed(HALF)[1]
    return responses


@pytest.mark.parametrize(("guessing", "tolerance"), [(0.0, 0.04), (0.1, 0.04), (0.25, 0.06)])
def test_intervals_hold_with_a_learned_chance_level(guessing: float, tolerance: float) -> None:
    items, responses = guessed(guessing, n=1000, n_items=30)
    result = fit(responses, "3PL")
    assert result.settings.prior["chance"] == pytest.approx(guessing, abs=tolerance)
    for name in ("discrimination", "difficulty"):
        off = (result.items[name] - getattr(items, name)) / result.items[f"{name}_se"]
        assert (off.abs() <= 1.96).mean() >= 0.9


def test_without_guessing_the_3pl_is_the_2pl(mixed: ResponseMatrix) -> None:
    known, two = fit(mixed, "3PL", prior=WeakPrior(chance=0)), fit(mixed, "2PL")
    easy = two.items.index[12:]
    assert known.items.loc[easy, "guessing"].max() < 0.02
    off = known.items["difficulty"] - two.items["difficulty"]
    assert (off[easy].abs() < 0.1 * two.items.loc[easy, "difficulty_se"]).mean() > 0.5


@pytest.mark.parametrize("method", ["em", "vi"])
def test_options_in_the_item_table_are_chance_levels_and_others_are_learned(
    mixed: ResponseMatrix, method: Any
) -> None:
    options = pd.DataFrame({"n_options": [4] * 12 + [None] * 12}, index=mixed.items)
    told = fit(mixed.with_tables(options), "3PL", method=method)
    chance = told.settings.prior["chance"]
    assert chance[:12] == (0.25,) * 12
    assert 0 < chance[12] < 0.1
    assert len({*chance[12:]}) == 1
    by_item = dict(zip(mixed.items[:12], chance[:12], strict=True))
    given = fit(mixed, "3PL", method=method, prior=WeakPrior(chance=by_item))
    pd.testing.assert_frame_equal(given.items, told.items)


@pytest.mark.filterwarnings("ignore:Systems at chance")
@pytest.mark.parametrize("settings", [{}, {"prior": "empirical"}])
def test_items_without_responses_and_refits_keep_the_chance_of_each_item(
    mixed: ResponseMatrix, settings: Any, tmp_path: Any
) -> None:
    values = mixed.values.copy()
    values[:, 3] = -1
    options = pd.DataFrame({"n_options": [4] * 12 + [50] * 12}, index=mixed.items)
    result = fit(ResponseMatrix(values, items=mixed.items).with_tables(options), "3PL", **settings)
    assert result.items["guessing"].iloc[12:].max() < 0.08
    assert result.items["guessing"].iloc[:12].mean() > 0.2
    if settings:
        return
    result.save(tmp_path / "fit")
    some = ResponseMatrix(values[:, 6:18], items=mixed.items[6:18])
    again = refitted(load(tmp_path / "fit"), some, tol=1e-7)
    assert again.settings.prior["chance"] == (0.25,) * 6 + (0.02,) * 6


def test_copies_of_an_item_with_other_chance_levels_stay_apart() -> None:
    values = np.repeat(guessed(0.1, n=150, n_items=8)[1].values, 2, axis=1)
    responses = ResponseMatrix(values)
    levels = pd.Series(np.tile([0.25, 0.0], 8), responses.items)
    guessing = fit(responses, "3PL", prior=WeakPrior(chance=levels)).items["guessing"].to_numpy()
    assert guessing[::2].min() > guessing[1::2].max() + 0.05


@pytest.mark.parametrize(
    ("chance", "error", "message"),
    [
        (1.0, ValueError, "chance of the prior must be at least 0 and below 1"),
        ("four", TypeError, "chance of the prior must be a number"),
        ({"item-1": -0.1}, ValueError, "chance of the prior must be at least 0"),
        ({"itm-1": 0.1}, ValueError, "chance of the prior: 'itm-1' is none of the items"),
    ],
)
def test_what_is_no_chance_level_is_refused(
    chance: Any, error: type[Exception], message: str, mixed: ResponseMatrix
) -> None:
    with pytest.raises(error, match=message):
        fit(mixed, "3PL", prior=WeakPrior(chance=chance))


@pytest.mark.parametrize(
    ("model", "how"),
    [
        ("2PL", {"quadrature": (31, 5.0)}),
        ("2PL", {"prior": ItemPrior(LogNormal(0.0, 0.3), Normal(0.0, 2.0))}),
        ("3PL", {"prior": ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta(4.0, 12.0))}),
    ],
)
def test_the_same_responses_are_fitted_as_they_were(model: Any, how: dict[str, Any]) -> None:
    items = ItemParameters.from_difficulty(np.linspace(0.6, 1.6, 8), np.linspace(-1, 1, 8))
    ability = np.random.default_rng(0).normal(size=200)
    responses = simulate_responses(items, ability, seed=0)
    result = fit(responses, model, **how)
    again = refitted(result, responses, tol=1e-7)
    assert again.settings.prior == result.settings.prior
    assert again.settings.quadrature == result.settings.quadrature
    assert again.ability == pytest.approx(result.ability, abs=1e-6)
    assert again.items["intercept_se"].isna().all()


class Wide(Normal):
    """A density of a user's own."""


def test_a_density_that_the_settings_do_not_describe_is_refused_by_name() -> None:
    responses = ResponseMatrix([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]])
    prior = ItemPrior(Wide(1.0, 0.5), Normal(0.0, 2.0))
    result = fit(responses, prior=prior, standard_errors=False)
    with pytest.raises(ValueError, match="'Wide' is none of Normal, LogNormal, Beta"):
        refitted(result, responses, tol=1e-5)
