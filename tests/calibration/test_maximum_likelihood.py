"""Fits by maximum likelihood: copies of rows and columns counted give what copies spelled out give.

That the maximum is where others have it is for test_references.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import Beta, ItemParameters, ItemPrior, Normal, ResponseMatrix, fit, simulate_responses
from irtkit.calibration import maximum_likelihood
from irtkit.calibration.starting import start
from irtkit.patterns import Merged, patterns_of
from irtkit.patterns import merged as merge

if TYPE_CHECKING:
    from irtkit import FitResult
    from irtkit.calibration.lbfgs import PreconditionedLBFGS
    from irtkit.irf import ModelName
    from irtkit.patterns import Patterns

KINDS = ("complete", "missing", "counts", "synthetic")
N = 80
"""Distinct respondents; three times as many are few enough for 64 bits from the start."""
TEXTBOOK = ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta())
FINE = (121, 6.0)
"""A grid that is the same however the search goes."""
MODELS_AND_PRIORS: list[tuple[ModelName, Any]] = [
    ("1PL", None),
    ("1PL", "weak"),
    ("2PL", None),
    ("2PL", "weak"),
    ("3PL", TEXTBOOK),
    ("3PL", "weak"),
]
PARTS = ("discrimination", "intercept", "guessing")


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


def merging_nothing(whole: Patterns) -> Merged:
    return Merged(whole, np.arange(whole.n), np.arange(whole.cells.shape[1]))


def both_ways(
    responses: ResponseMatrix, monkeypatch: pytest.MonkeyPatch, *args: Any, **kwargs: Any
) -> tuple[FitResult, FitResult, float]:
    """The fit, that of a matrix in which nothing is merged, and how much higher the first ends.

    The height is that of the objective, the log-likelihood plus the log prior.
    """
    searches: list[PreconditionedLBFGS] = []

    def noted(*given: Any) -> PreconditionedLBFGS:
        searches.append(start(*given))
        return searches[-1]

    with monkeypatch.context() as patched:
        patched.setattr(maximum_likelihood, "start", noted)
        found = fit(responses, *args, tol=1e-12, **kwargs)
        patched.setattr(maximum_likelihood, "merged", merging_nothing)
        expected = fit(responses, *args, tol=1e-12, **kwargs)
    one, other = (search.current.value for search in searches if search.current is not None)
    return found, expected, one - other


def assert_alike(found: FitResult, expected: FitResult, higher: float) -> None:
    assert found.converged
    assert expected.converged
    # on one grid by 4e-11 at most, on nodes that follow the items by 1.2e-8
    assert abs(higher) < 1e-7
    # a log-likelihood alone is not flat where a penalised search ends: 2e-9, of the 3PL 3e-6
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-5, rel=0)
    # sums of the information formed as a whole are in 32 bits; in 64 both differ by 4e-9
    of_errors = 1e-6 if len(found.items) > 150 else 5e-5
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("model", "prior"), MODELS_AND_PRIORS)
@pytest.mark.parametrize("n_items", [80, 160])
def test_copies_counted_give_the_fit_of_copies_spelled_out(
    kind: str, model: ModelName, prior: Any, n_items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # with 160 items no information is formed as a whole
    responses, _, _ = crowd_of(kind, n_distinct=n_items * 5 // 8, n_items=n_items)
    patterns = merge(patterns_of(responses, synthetic_is_real=False)).patterns
    assert patterns.frequency is not None
    assert patterns.multiplicity is not None
    assert_alike(*both_ways(responses, monkeypatch, model, prior=prior, quadrature=FINE))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_nodes_that_follow_the_items_are_no_obstacle(
    kind: str, model: ModelName, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses, _, _ = crowd_of(kind)
    found, expected, higher = both_ways(responses, monkeypatch, model)
    assert_alike(found, expected, higher)
    assert found.quadrature.n_nodes == expected.quadrature.n_nodes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
@pytest.mark.parametrize("n_items", [80, 160])
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
    assert np.array_equal(errors, errors[first[1]][first[2]], equal_nan=True)
    # synthetic respondents have a distribution of ability of their own
    _, first_row, place = np.unique(
        rows + 1000 * result.synthetic, return_index=True, return_inverse=True
    )
    abilities = np.stack([result.ability, result.ability_se], axis=1)
    assert np.array_equal(abilities, abilities[first_row][place])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_fits_of_matrices_without_copies_are_left_alone(
    kind: str, model: ModelName, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses, _, _ = crowd_of(kind, n_distinct=24, copied=False)
    found, expected, _ = both_ways(responses, monkeypatch, model)
    assert found.items.equals(expected.items)
    assert found.respondents.equals(expected.respondents)
    assert found.log_likelihood == expected.log_likelihood


def test_an_empirical_prior_is_learned_from_copies_as_from_items_spelled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    responses, _, _ = crowd_of("complete", n_distinct=100, n_items=160)
    found, expected, _ = both_ways(responses, monkeypatch, prior="empirical", standard_errors=False)
    for name in ("discrimination", "intercept"):
        one, other = (result.items[name].to_numpy() for result in (found, expected))
        assert one == pytest.approx(other, abs=1e-3)
    assert found.settings["prior"]["kind"] == expected.settings["prior"]["kind"] == "empirical"
    one, other = (list(result.settings["prior"].values())[1:] for result in (found, expected))
    assert one == pytest.approx(other, rel=1e-2)


def test_rasch_on_a_fixed_grid_gives_copies_what_it_gives_items_spelled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    responses, _, _ = crowd_of("complete")
    found, expected, _ = both_ways(responses, monkeypatch, "Rasch", quadrature=(61, 6.0))
    assert found.latent_sd == pytest.approx(expected.latent_sd, rel=1e-7)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-8, rel=0)
    assert found.items["difficulty"].to_numpy() == pytest.approx(
        expected.items["difficulty"], abs=1e-6
    )


def test_under_a_common_slope_items_with_the_same_total_have_the_same_difficulty() -> None:
    generator = np.random.default_rng(2)
    values = (generator.random((80, 12)) < 0.5).astype(int)
    values[:, 7] = np.roll(values[:, 2], 5)  # as many right, by others
    for model in ("1PL", "Rasch"):
        difficulty = fit(ResponseMatrix(values), model, prior=None).items["difficulty"]
        assert difficulty.iloc[7] == difficulty.iloc[2]
    slopes = fit(ResponseMatrix(values), "2PL").items["difficulty"]
    assert slopes.iloc[7] != slopes.iloc[2]


@pytest.mark.parametrize(("n", "model"), [(60, "2PL"), (60, "Rasch"), (300, "2PL")])
def test_a_hundred_thousand_trials_tell_items_apart_and_leave_scale_and_location_as_they_were(
    n: int, model: ModelName
) -> None:
    generator = np.random.default_rng(0)
    slope = generator.lognormal(0, 0.3, 12)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=12))
    ability = generator.normal(size=n)
    some, many = (
        fit(simulate_responses(items, ability, trials=trials, seed=1), model)
        for trials in (10**3, 10**5)
    )
    assert many.converged
    assert many.n_iterations < 100
    # beside what respondents say of the scale, items have an error of 2 % with 10³ trials
    ratio = many.items["intercept_se"] / some.items["intercept_se"]
    assert ratio.to_numpy() == pytest.approx(1.0, abs=0.03)
