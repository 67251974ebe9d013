"""Likelihood ratio tests against R's mirt, theory, simulated data, and fits that do not match."""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    likelihood_ratio_test,
    load,
    simulate_responses,
)
from irtkit.irf import MODELS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from irtkit.irf import ModelName

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

MIRT_GRID = (61, 6.0)


def drawn(slopes: NDArray[np.float64], n_respondents: int, seed: int) -> ResponseMatrix:
    generator = np.random.default_rng(seed)
    items = ItemParameters.from_difficulty(slopes, np.linspace(-1, 1, len(slopes)))
    return simulate_responses(items, generator.normal(size=n_respondents), seed=generator)


def pair(
    responses: ResponseMatrix,
    smaller: ModelName = "1PL",
    larger: ModelName = "2PL",
    **settings: Any,
) -> tuple[FitResult, FitResult]:
    given = {"prior": None, **settings}
    return fit(responses, smaller, **given), fit(responses, larger, **given)


@pytest.fixture(scope="module")
def responses() -> ResponseMatrix:
    return drawn(np.array([0.5, 0.7, 1.0, 1.4, 2.0]), 400, seed=0)


@pytest.fixture(scope="module")
def fits(responses: ResponseMatrix) -> tuple[FitResult, FitResult]:
    return pair(responses)


def as_3pl(result: FitResult, **changes: Any) -> FitResult:
    """The same fit with guessing counted among its parameters."""
    n_parameters = 3 * len(result.item_labels)
    return replace(result, model="3PL", n_parameters=n_parameters, **changes)


@pytest.mark.parametrize("smaller", ["Rasch", "1PL"])
@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_the_statistic_is_that_of_mirt(
    classical_test: Callable[[str], Any], name: str, smaller: ModelName
) -> None:
    matrix, models = classical_test(name)
    test = likelihood_ratio_test(*pair(matrix, smaller, quadrature=MIRT_GRID))
    expected = 2 * (models["2PL"]["logLik"] - models[smaller]["logLik"])
    assert test.statistic == pytest.approx(expected, abs=0.01)
    assert test.degrees_of_freedom == 4
    assert test.p_value == pytest.approx(chi2.sf(expected, 4), abs=1e-4)
    for criterion in ("AIC", "BIC"):
        difference = models["2PL"][criterion] - models[smaller][criterion]
        assert getattr(test, f"{criterion.lower()}_difference") == pytest.approx(
            difference, abs=0.01
        )


def test_equal_slopes_give_p_values_of_any_size() -> None:
    tests = [likelihood_ratio_test(*pair(drawn(np.ones(8), 500, seed))) for seed in range(20)]
    p = np.array([test.p_value for test in tests])
    # of 20 uniform p-values more than 4 lie below 0.05, or the mean below 0.3, once in 400 times
    assert (p < 0.05).sum() <= 4
    assert p.mean() > 0.3
    assert all(test.statistic >= 0 and test.degrees_of_freedom == 7 for test in tests)


def test_copies_of_respondents_do_not_reject_equal_slopes() -> None:
    values = drawn(np.ones(30), 60, seed=0).values
    families = np.repeat(values, 4, axis=0)
    smaller, larger = pair(ResponseMatrix(families), standard_errors=False)
    test = likelihood_ratio_test(smaller, larger)
    difference = 2 * (larger.log_likelihood - smaller.log_likelihood)
    assert chi2.sf(difference, 29) < 1e-6
    assert test.p_value > 0.05
    assert 0.2 < larger.evidence < 0.3
    assert test.statistic == pytest.approx(larger.evidence * difference)
    assert "240 respondents answer like about 6" in str(test)
    # as of the families, each once
    alone = pair(ResponseMatrix(values), standard_errors=False)
    of_families = likelihood_ratio_test(*alone)
    assert of_families.statistic == pytest.approx(test.statistic, rel=0.2)
    assert larger.aic == pytest.approx(alone[1].aic, rel=0.1)
    assert larger.bic == pytest.approx(alone[1].bic, rel=0.1)


def test_slopes_that_differ_are_found_beside_copies() -> None:
    families = np.repeat(drawn(np.geomspace(0.4, 3, 30), 80, seed=0).values, 4, axis=0)
    assert (
        likelihood_ratio_test(*pair(ResponseMatrix(families), standard_errors=False)).p_value < 0.01
    )


def test_independent_respondents_count_in_full(fits: tuple[FitResult, FitResult]) -> None:
    test, (smaller, larger) = likelihood_ratio_test(*fits), fits
    assert larger.evidence == 1
    assert test.statistic == 2 * (larger.log_likelihood - smaller.log_likelihood)
    assert larger.bic == -2 * larger.log_likelihood + 10 * np.log(400)


def test_an_item_without_responses_adds_no_degree_of_freedom_and_no_caution() -> None:
    matrix = drawn(np.geomspace(0.5, 2, 8), 500, seed=1)
    wider = ResponseMatrix(np.column_stack([matrix.values, np.full(500, -1)]))
    plain, padded = (likelihood_ratio_test(*pair(responses)) for responses in (matrix, wider))
    assert padded.degrees_of_freedom == plain.degrees_of_freedom == 7
    assert padded.p_value == pytest.approx(plain.p_value, rel=1e-3)
    assert padded.cautions == plain.cautions == ()


def test_different_slopes_give_a_tiny_p_value() -> None:
    test = likelihood_ratio_test(*pair(drawn(np.geomspace(0.3, 3, 8), 500, seed=0)))
    assert test.p_value < 1e-9
    assert test.aic_difference < test.bic_difference < 0


@given(shift=st.floats(-30, 1000))
def test_every_difference_gives_a_probability_and_one_sentence(
    fits: tuple[FitResult, FitResult], shift: float
) -> None:
    smaller, larger = fits
    larger = replace(larger, log_likelihood=smaller.log_likelihood + shift)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        test = likelihood_ratio_test(smaller, larger)
    assert 0 <= test.p_value <= 1
    assert test.statistic == pytest.approx(2 * shift, abs=0.01)
    assert test.aic_difference == pytest.approx(2 * 4 - 2 * shift)
    assert test.bic_difference == pytest.approx(4 * np.log(400) - 2 * shift)
    assert "\n" not in str(test)
    assert str(test).endswith(".")
    assert ("by more than chance" in str(test)) == (test.p_value < 0.05)


def test_the_result_is_frozen_and_holds_both_log_likelihoods(
    fits: tuple[FitResult, FitResult],
) -> None:
    test = likelihood_ratio_test(*fits)
    found = (test.log_likelihood_smaller, test.log_likelihood_larger)
    assert found == tuple(one.log_likelihood for one in fits)
    assert (test.smaller, test.larger, test.cautions) == ("1PL", "2PL", ())
    with pytest.raises(FrozenInstanceError):
        test.statistic = 0.0


def test_saved_fits_give_the_same_test(fits: tuple[FitResult, FitResult], tmp_path: Path) -> None:
    for k, one in enumerate(fits):
        one.save(tmp_path / f"{k}.npz", include_responses=k == 0)
    again = [load(tmp_path / f"{k}.npz") for k in range(2)]
    assert likelihood_ratio_test(*again) == likelihood_ratio_test(*fits)


def test_a_p_value_against_the_3pl_is_called_conservative(
    fits: tuple[FitResult, FitResult],
) -> None:
    test = likelihood_ratio_test(fits[1], as_3pl(fits[1]))
    assert (test.statistic, test.p_value, test.degrees_of_freedom) == (0, 1, 5)
    assert "conservative" in str(test)
    assert "conservative" not in str(likelihood_ratio_test(*fits))


def test_items_without_variance_are_counted(fits: tuple[FitResult, FitResult]) -> None:
    status = ("ok", "no variance", *fits[1].status[2:])
    test = likelihood_ratio_test(fits[0], replace(fits[1], status=status))
    assert "1 of 5 items" in str(test)


@pytest.mark.parametrize(("n_parameters", "few"), [(400, False), (401, True)])
def test_fewer_respondents_than_parameters_are_named(
    fits: tuple[FitResult, FitResult], n_parameters: int, *, few: bool
) -> None:
    test = likelihood_ratio_test(fits[0], replace(fits[1], n_parameters=n_parameters))
    assert ("400 for 401 parameters" in str(test)) == few


def test_rounding_below_zero_is_zero_and_more_is_reported(
    fits: tuple[FitResult, FitResult],
) -> None:
    smaller, larger = fits
    near = replace(larger, log_likelihood=smaller.log_likelihood - 1e-7)
    assert likelihood_ratio_test(smaller, near).statistic == 0
    below = replace(larger, log_likelihood=smaller.log_likelihood - 0.5)
    with pytest.warns(UserWarning, match="2PL .*lower by 0.5: it has not reached its maximum"):
        test = likelihood_ratio_test(smaller, below)
    assert (test.statistic, test.p_value) == (pytest.approx(-1), 1)
    assert "2PL has a lower likelihood than 1PL" in str(test)


def test_a_prior_is_warned_of(responses: ResponseMatrix, fits: tuple[FitResult, FitResult]) -> None:
    with pytest.warns(UserWarning, match="fits of 1PL and 2PL had a prior.*prior=None"):
        test = likelihood_ratio_test(*pair(responses, prior="weak"))
    assert "had a prior" in str(test)
    with pytest.warns(UserWarning, match="fit of 2PL had a prior"):
        likelihood_ratio_test(fits[0], fit(responses, "2PL"))


def test_synthetic_respondents_are_warned_of(fits: tuple[FitResult, FitResult]) -> None:
    marks = np.arange(400) == 399
    separate = [replace(one, synthetic=marks) for one in fits]
    with pytest.warns(UserWarning, match="synthetic respondents took part"):
        likelihood_ratio_test(*separate)
    with pytest.raises(ValueError, match=r"'respondent-400' is one in smaller .* in larger"):
        likelihood_ratio_test(separate[0], fits[1])
    with pytest.raises(ValueError, match=r"'respondent-400' is one in larger .* in smaller"):
        likelihood_ratio_test(fits[0], separate[1])


@pytest.mark.parametrize("ordinary", [False, True])
def test_the_treatment_of_synthetic_respondents_is_compared(ordinary: bool) -> None:
    responses = drawn(np.ones(5), 400, seed=1)
    one, other = (
        add_synthetic(responses, "always-wrong", ordinary=plain) for plain in (ordinary, True)
    )
    smaller, larger = fit(one, "1PL", prior=None), fit(other, "2PL", prior=None)
    if ordinary:
        assert likelihood_ratio_test(smaller, larger).cautions == ()
        return
    with pytest.raises(ValueError, match="treat synthetic respondents the same way"):
        likelihood_ratio_test(smaller, larger)


def test_an_unconverged_fit_is_warned_of(fits: tuple[FitResult, FitResult]) -> None:
    with pytest.warns(UserWarning, match="fit of 1PL did not converge"):
        likelihood_ratio_test(replace(fits[0], converged=False), fits[1])


@pytest.mark.parametrize("quadrature", ["adaptive", [61, 6.0]])
def test_coarse_integration_is_warned_of(
    fits: tuple[FitResult, FitResult], quadrature: object
) -> None:
    smaller, larger = (
        replace(
            one,
            settings=replace(one.settings, quadrature=quadrature),
            quadrature=replace(one.quadrature, estimated_error=20.0),
        )
        for one in fits
    )
    with pytest.warns(UserWarning, match="off by 80") as caught:
        likelihood_ratio_test(smaller, larger)
    assert ("quadrature='adaptive'" in str(caught[0].message)) == (quadrature != "adaptive")


@pytest.mark.parametrize(
    ("smaller", "larger", "found"),
    [
        ("Rasch", "2PL", 4),
        ("Rasch", "3PL", 9),
        ("1PL", "2PL", 4),
        ("1PL", "3PL", 9),
        ("2PL", "3PL", 5),
        ("Rasch", "1PL", "the same model in different units"),
        ("1PL", "Rasch", "the same model in different units"),
        *[(one, one, "must be different models") for one in MODELS],
        *[
            (one, other, f"got {one} as smaller and {other} as larger: swap them")
            for one, other in (("3PL", "2PL"), ("3PL", "1PL"), ("3PL", "Rasch"), ("2PL", "1PL"))
        ],
    ],
)
def test_only_nested_models_in_their_order_are_compared(
    fits: tuple[FitResult, FitResult], smaller: ModelName, larger: ModelName, found: int | str
) -> None:
    made = {
        "Rasch": replace(fits[0], model="Rasch"),
        "1PL": fits[0],
        "2PL": fits[1],
        "3PL": as_3pl(fits[1]),
    }
    if isinstance(found, int):
        test = likelihood_ratio_test(made[smaller], made[larger])
        assert test.degrees_of_freedom == found
        return
    with pytest.raises(ValueError, match=found):
        likelihood_ratio_test(made[smaller], made[larger])


def test_one_item_leaves_nothing_to_test_between_1pl_and_2pl(
    fits: tuple[FitResult, FitResult],
) -> None:
    smaller, larger = (replace(one, n_parameters=2) for one in fits)
    with pytest.raises(ValueError, match="larger must have more parameters than smaller"):
        likelihood_ratio_test(smaller, larger)


def relabelled(matrix: ResponseMatrix, **labels: Any) -> ResponseMatrix:
    names = {"respondents": matrix.respondents, "items": matrix.items, **labels}
    return ResponseMatrix(matrix.values, **names)


def with_cells(matrix: ResponseMatrix, *cells: tuple[int, int, int]) -> ResponseMatrix:
    values = matrix.values.copy()
    for row, column, value in cells:
        values[row, column] = value
    return ResponseMatrix(values, matrix.respondents, matrix.items)


def swapped_square(matrix: ResponseMatrix) -> ResponseMatrix:
    """Other responses with the same sums: a square 1 0 / 0 1 becomes 0 1 / 1 0."""
    first, second = matrix.values[:, 0], matrix.values[:, 1]
    i = int(np.flatnonzero((first == 1) & (second == 0))[0])
    j = int(np.flatnonzero((first == 0) & (second == 1))[0])
    return with_cells(matrix, (i, 0, 0), (i, 1, 1), (j, 0, 1), (j, 1, 0))


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (
            lambda m: relabelled(m, items=["q", *m.items[1:]]),
            "same items in the same order: item 1 is 'item-1' in smaller and 'q' in larger",
        ),
        (
            lambda m: relabelled(m, respondents=m.respondents[::-1]),
            "same respondents in the same order: respondent 1 is 'respondent-1' in smaller",
        ),
        (
            lambda m: ResponseMatrix(m.values[:-1], m.respondents[:-1], m.items),
            "same respondents .*: smaller has 400 and larger 399",
        ),
        (
            lambda m: with_cells(m, (0, 0, -1)),
            "item 'item-1' has 400 responses in smaller and 399 in larger",
        ),
        (
            lambda m: with_cells(m, (0, 0, 1 - m.values[0, 0])),
            r"item 'item-1' has \d+ right responses in smaller and \d+ in larger",
        ),
        (swapped_square, "counts agree and single responses do not"),
    ],
)
def test_fits_of_different_responses_are_refused(
    responses: ResponseMatrix, fits: tuple[FitResult, FitResult], changed: Any, rule: str
) -> None:
    other = fit(changed(responses), "2PL", prior=None)
    with pytest.raises(ValueError, match=rule):
        likelihood_ratio_test(fits[0], other)


@pytest.mark.parametrize("grid", [(61, 6.0), (41, 6.0)])
def test_fits_on_different_grids_are_refused(
    responses: ResponseMatrix, fits: tuple[FitResult, FitResult], grid: tuple[int, float]
) -> None:
    fixed = fit(responses, "2PL", prior=None, quadrature=grid)
    with pytest.raises(ValueError, match=r"smaller has 'adaptive' and larger \(\d1, 6.0\)"):
        likelihood_ratio_test(fits[0], fixed)
    finer = replace(fits[0], settings=replace(fits[0].settings, quadrature=[121, 6.0]))
    with pytest.raises(ValueError, match=r"same quadrature, or .* not comparable"):
        likelihood_ratio_test(finer, fixed)


@pytest.mark.parametrize("wrong", [None, "2PL", 3])
def test_what_is_no_fit_is_refused_by_name(
    fits: tuple[FitResult, FitResult], wrong: object
) -> None:
    with pytest.raises(TypeError, match="smaller must be a FitResult"):
        likelihood_ratio_test(wrong, fits[1])
    with pytest.raises(TypeError, match=f"larger must be .* got {type(wrong).__name__}"):
        likelihood_ratio_test(fits[0], wrong)
