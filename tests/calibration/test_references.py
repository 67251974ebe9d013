"""Fits against numbers from outside: published ones, R's mirt, and definitions computed naively.

The numbers are carried in tests/data, whose README says where they come from.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from irtkit import EM, ItemPrior, Normal, ResponseMatrix, WeakPrior, fit

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

DATA = Path(__file__).parents[1] / "data"
MIRT_GRID = (61, 6.0)
BY_MIRT = [
    (name, model)
    for name in ("lsat6", "lsat7", "sat12", "sat12_missing", "wirs", "abortion")
    for model in ("Rasch", "1PL", "2PL")
]
PRIOR_OF_GUESSING = ItemPrior(guessing=Normal(-1.1, 0.5))
PRIORS = {
    "none": None,
    "weak": WeakPrior(chance=0.2),
    "slope and intercept": ItemPrior(Normal(1.0, 0.6), Normal(0.0, 2.0)),
    "logit of guessing": PRIOR_OF_GUESSING,
}
SIMULATED = json.loads((DATA / "simulated_references.json").read_text())
ITEM_COLUMNS = ("discrimination", "intercept", "difficulty", "guessing")


def of_items(found, key):
    return np.array([item[key] for item in found["items"]], dtype=float)


@pytest.mark.parametrize(("model", "expected"), [("2PL", -2466.653), ("1PL", -2466.938)])
@pytest.mark.parametrize("quadrature", [MIRT_GRID, "adaptive"])
def test_lsat6_has_its_published_log_likelihood(classical_test, quadrature, model, expected):
    result = fit(classical_test("lsat6").responses, model, prior=None, quadrature=quadrature)
    assert result.log_likelihood == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize(("name", "model"), BY_MIRT)
def test_estimates_are_those_of_mirt(classical_test, name, model):
    responses, mirt = classical_test(name)
    expected = mirt[model]
    result = fit(responses, model, prior=None, quadrature=MIRT_GRID, standard_errors=True)
    items = result.items
    assert result.converged
    assert result.log_likelihood == pytest.approx(expected["logLik"], abs=0.001)
    assert items["discrimination"].to_numpy() == pytest.approx(of_items(expected, "a"), abs=5e-4)
    assert items["intercept"].to_numpy() == pytest.approx(of_items(expected, "d"), abs=5e-4)
    assert result.latent_sd**2 == pytest.approx(expected["group"]["var"], abs=5e-4)
    # mirt's errors of Rasch are of a normal cut off at the grid: only abortion reaches beyond it
    rel = 3.5e-3 if (name, model) == ("abortion", "Rasch") else 1e-3
    assert items["intercept_se"].to_numpy() == pytest.approx(of_items(expected, "d_se"), rel=rel)
    assert items["difficulty_se"].to_numpy() == pytest.approx(of_items(expected, "b_se"), rel=rel)
    if model != "Rasch":
        slope_errors = items["discrimination_se"].to_numpy()
        assert slope_errors == pytest.approx(of_items(expected, "a_se"), rel=1e-3)


@pytest.mark.parametrize("name", ["sat12", "lsat7", "lsat6"])
def test_3pl_with_a_normal_prior_on_the_logit_of_guessing_is_that_of_mirt(classical_test, name):
    responses, mirt = classical_test(name)
    expected = mirt["3PLnorm"]
    result = fit(responses, "3PL", prior=PRIOR_OF_GUESSING, quadrature=MIRT_GRID)
    assert result.log_likelihood == pytest.approx(expected["logLik"], abs=0.001)
    for ours, theirs in {"discrimination": "a", "intercept": "d", "guessing": "g"}.items():
        errors = result.items[f"{ours}_se"].to_numpy()
        estimates = of_items(expected, theirs)
        assert result.items[ours].to_numpy() == pytest.approx(estimates, abs=0.002)
        assert errors == pytest.approx(of_items(expected, f"{theirs}_se"), rel=0.01)


def simulated(name):
    if name == "repeated":
        return ResponseMatrix.from_counts(cells("repeated_right"), cells("repeated_trials"))
    return ResponseMatrix(cells(name))


def cells(name):
    return np.loadtxt(DATA / f"simulated_{name}.csv", delimiter=",", dtype=np.int64)


@cache
def fitted(k, tol=None):
    about = SIMULATED[k]
    prior = PRIORS[about["prior"]]
    method = EM() if tol is None else EM(tol=tol)
    return fit(simulated(about["data"]), about["model"], prior=prior, method=method)


def off_by(found, expected):
    """Largest difference of item estimates in standard errors."""
    columns = [name for name in ITEM_COLUMNS if name in expected]
    return max(
        (np.abs(found.items[name] - expected[name]) / expected[f"{name}_se"]).max()
        for name in columns
    )


every_reference = pytest.mark.parametrize(
    "k",
    range(len(SIMULATED)),
    ids=[f"{about['data']}-{about['model']}-{about['prior']}" for about in SIMULATED],
)


@every_reference
def test_a_tight_fit_is_the_maximum_of_the_definition(k):
    expected, found = SIMULATED[k], fitted(k, 1e-12)
    # with a prior the log-likelihood is not at its maximum, and moves with the estimates
    tolerance = 1e-6 if expected["prior"] == "none" else 1e-5
    assert found.converged
    assert found.log_likelihood == pytest.approx(expected["log_likelihood"], abs=tolerance)
    assert off_by(found, expected) < 1e-4
    for name, values in (("ability", found.ability), ("ability_se", found.posterior_sd)):
        assert values[: len(expected[name])] == pytest.approx(expected[name], abs=1e-5)
    if expected["model"] == "Rasch":
        assert found.latent_sd == pytest.approx(expected["latent_sd"][0], abs=1e-5)


@every_reference
def test_a_default_fit_stops_as_close_to_the_maximum_as_its_docstring_says(k):
    # "about √(2·tol) of a standard error", 4.5e-4 at the default of 1e-7: twice that at most
    assert off_by(fitted(k), SIMULATED[k]) < 2 * np.sqrt(2e-7)


@every_reference
def test_standard_errors_are_those_of_the_hessian(k):
    # The Hessian of the references is good to 1e-8; irtkit leaves out what would change the
    # information by 1e-4.
    expected, found = SIMULATED[k], fitted(k, 1e-12)
    lowest, highest = 1 - 1e-4, 1 + 1e-4
    for name in (name for name in ITEM_COLUMNS if name in expected):
        ratio = found.items[f"{name}_se"] / expected[f"{name}_se"]
        assert ratio.between(lowest, highest).all(), (name, ratio.min(), ratio.max())
