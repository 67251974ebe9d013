"""Likelihood ratio tests against R's mirt, theory, simulated data, and fits that do not match."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from irtkit import (
    ItemParameters,
    ResponseMatrix,
    fit,
    likelihood_ratio_test,
    simulate_responses,
)

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

MIRT_GRID = (61, 6.0)


def drawn(slopes, n_respondents, seed):
    generator = np.random.default_rng(seed)
    items = ItemParameters.from_difficulty(slopes, np.linspace(-1, 1, len(slopes)))
    return simulate_responses(items, generator.normal(size=n_respondents), seed=generator)


def pair(responses, smaller="1PL", larger="2PL", **settings):
    given = {"prior": None, **settings}
    return fit(responses, smaller, **given), fit(responses, larger, **given)


@pytest.fixture(scope="module")
def responses():
    return drawn(np.array([0.5, 0.7, 1.0, 1.4, 2.0]), 400, seed=0)


@pytest.fixture(scope="module")
def fits(responses):
    return pair(responses)


@pytest.mark.parametrize("smaller", ["Rasch", "1PL"])
@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_the_statistic_agrees_with_mirt(classical_test, name, smaller):
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


def test_copies_of_respondents_do_not_reject_equal_slopes():
    values = drawn(np.ones(30), 60, seed=0).values
    families = np.repeat(values, 4, axis=0)
    smaller, larger = pair(ResponseMatrix(families), standard_errors=False)
    test = likelihood_ratio_test(smaller, larger)
    difference = 2 * (larger.log_likelihood - smaller.log_likelihood)
    assert chi2.sf(difference, 29) < 1e-6
    assert test.p_value > 0.05
    assert 0.2 < larger.evidence < 0.3
    assert test.statistic == pytest.approx(larger.evidence * difference)
    assert test.findings[0].code == "weighted-evidence"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_makes_a_p_value_inexact_is_a_finding(fits):
    one, other = fits
    coarse = replace(other.quadrature, estimated_error=20.0)
    flat = ("ok", "no variance", *other.status[2:])
    guessed = replace(other, model="3PL", n_parameters=3 * len(other.item_labels))
    for code, smaller, larger in (
        ("coarse-integration", one, replace(other, quadrature=coarse)),
        ("lower-likelihood", one, replace(other, log_likelihood=one.log_likelihood - 0.5)),
        ("guessing-at-edge", other, guessed),
        ("few-finite-items", one, replace(other, status=flat)),
        ("few-for-parameters", one, replace(other, n_parameters=401)),
    ):
        test = likelihood_ratio_test(smaller, larger)
        assert [finding.code for finding in test.findings] == [code]
        assert 0 <= test.p_value <= 1


def test_a_prior_is_warned_of_and_rounding_is_not(responses, fits):
    with pytest.warns(UserWarning, match="the 2PL had a prior"):
        likelihood_ratio_test(fits[0], fit(responses, "2PL"))
    near = replace(fits[1], log_likelihood=fits[0].log_likelihood - 1e-7)
    assert likelihood_ratio_test(fits[0], near).statistic == 0


def test_one_ability_is_tested_against_tasks_and_tasks_against_free_ones():
    """The 5 % test calls 1 of 60 boards with one ability, and 6 of 60 with one for each task."""
    generator = np.random.default_rng(2)
    task = np.arange(12) % 2
    ability = generator.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 400)[:, task]
    right = generator.random(ability.shape) < 1 / (1 + np.exp(-1.3 * ability))
    items = [f"q{k}" for k in range(12)]
    table = pd.DataFrame({"task": np.array(["sums", "words"])[task]}, items)
    data = ResponseMatrix(right.astype(int), items=items).with_tables(table)
    one, tasks, free = (
        fit(data, abilities=abilities, prior=None, standard_errors=False)
        for abilities in (1, "task", 2)
    )
    test = likelihood_ratio_test(one, tasks)
    assert (test.degrees_of_freedom, test.larger) == (1, "2PL, 2 abilities by task")
    assert test.p_value < 1e-10
    assert [finding.code for finding in test.findings] == ["correlations-at-edge"]
    test = likelihood_ratio_test(tasks, free)
    assert test.degrees_of_freedom == 12 - 1 - 1
    assert test.p_value > 0.05
    with pytest.raises(ValueError, match="must be nested models"):
        likelihood_ratio_test(one, free)


@pytest.mark.parametrize(("smaller", "larger"), [("Rasch", "1PL"), ("2PL", "2PL"), ("2PL", "1PL")])
def test_only_nested_models_in_their_order_are_compared(fits, smaller, larger):
    made = {"Rasch": replace(fits[0], model="Rasch"), "1PL": fits[0], "2PL": fits[1]}
    with pytest.raises(ValueError, match="must be nested models"):
        likelihood_ratio_test(made[smaller], made[larger])


def test_fits_of_different_responses_are_refused(responses, fits):
    values = responses.values.copy()
    i = int(np.flatnonzero((values[:, 0] == 1) & (values[:, 1] == 0))[0])
    j = int(np.flatnonzero((values[:, 0] == 0) & (values[:, 1] == 1))[0])
    values[[i, j], :2] = values[[j, i], :2]  # a square 1 0 / 0 1 becomes 0 1 / 1 0
    flipped = responses.values.copy()
    flipped[0, 0] = 1 - flipped[0, 0]
    for changed, rule in (
        (ResponseMatrix(flipped), "responses to item 'item-1' differ"),
        (ResponseMatrix(values), "counts agree and single responses do not"),
    ):
        with pytest.raises(ValueError, match=rule):
            likelihood_ratio_test(fits[0], fit(changed, "2PL", prior=None))
    fixed = fit(responses, "2PL", prior=None, quadrature=(61, 6.0))
    with pytest.raises(ValueError, match="must be fitted with the same quadrature"):
        likelihood_ratio_test(fits[0], fixed)
