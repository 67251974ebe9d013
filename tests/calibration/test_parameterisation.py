"""Vectors and the items that they stand for: there and back, derivatives, and changes of unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import WeakPrior
from irtkit.calibration.likelihood import prior_at
from irtkit.calibration.parameterisation import Hyper, Parameterisation
from irtkit.irf import MODELS, Items

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

N_ITEMS = 6
LEARNS = pytest.mark.parametrize("learns", [False, True])


def setting(model: ModelName, *, learns: bool) -> tuple[Parameterisation, Array]:
    """A parameterisation, and a vector that is nothing special."""
    parameters, generator = (
        Parameterisation(model, N_ITEMS, learns=learns),
        np.random.default_rng(8),
    )
    x = generator.normal(0.4, 0.6, parameters.size)
    x[parameters.angles] = generator.uniform(
        0.2, 1.2, parameters.angles.stop - parameters.angles.start
    )
    return parameters, x


def derivative(function: Callable[[Array], Any], x: Array, step: float) -> Array:
    """Central differences, one row per entry of x."""
    units = step * np.eye(len(x))
    return np.array([(function(x + unit) - function(x - unit)) / (2 * step) for unit in units])


@pytest.mark.parametrize("model", MODELS)
@LEARNS
def test_a_vector_comes_back_from_what_it_stands_for(model: ModelName, learns: bool) -> None:
    parameters, x = setting(model, learns=learns)
    items, latent_sd, hyper, _ = parameters.values(x)
    assert parameters.vector(items, hyper, latent_sd) == pytest.approx(x, abs=1e-12)
    places = parameters.slopes, parameters.intercepts, parameters.angles, parameters.hyper
    assert np.concatenate([np.arange(parameters.size)[place] for place in places]) == pytest.approx(
        np.arange(parameters.size)
    )


def test_each_model_has_the_parameters_that_are_its_own() -> None:
    sizes = [
        Parameterisation(model, 5, learns=False).size for model in ("Rasch", "1PL", "2PL", "3PL")
    ]
    assert sizes == [6, 6, 10, 15]
    sizes = [
        Parameterisation(model, 5, learns=True).size for model in ("Rasch", "1PL", "2PL", "3PL")
    ]
    assert sizes == [7, 7, 12, 17]
    rasch, common = (setting(model, learns=False)[0] for model in ("Rasch", "1PL"))
    at = rasch.values(np.full(7, np.log(1.3)))
    assert at.items.slope.tolist() == [1.0] * 6
    assert at.latent_sd == pytest.approx(1.3)
    assert common.values(np.full(7, 1.3)).items.slope.tolist() == [1.3] * 6
    assert common.values(np.full(7, 1.3)).latent_sd == 1.0


@pytest.mark.parametrize("model", MODELS)
@LEARNS
def test_a_gradient_by_items_is_pulled_back_through_the_derivative_of_the_items(
    model: ModelName, learns: bool
) -> None:
    parameters, x = setting(model, learns=learns)
    generator = np.random.default_rng(1)
    by_item = generator.normal(size=(N_ITEMS, 3 if model == "3PL" else 2))
    by_log_sd, by_hyper = float(generator.normal()), generator.normal(size=2)

    def weighted(at: Array) -> float:
        items, latent_sd, hyper, _ = parameters.values(at)
        if model == "Rasch":  # the SD stands in the place of a common slope
            items = items._replace(slope=np.full(N_ITEMS, latent_sd))
        parts = np.stack([part for part in items if part is not None], axis=1)
        rest = by_log_sd * np.log(latent_sd) + by_hyper[0] * hyper.location
        return float((by_item * parts).sum() + rest + by_hyper[1] * hyper.log_scale)

    found = parameters.pulled_back(parameters.values(x), by_item, by_log_sd, by_hyper)
    assert found == pytest.approx(derivative(weighted, x, 1e-6), abs=1e-7)


def test_guessing_of_none_and_of_certainty_have_finite_logits_and_angles() -> None:
    parameters = Parameterisation("3PL", 4, learns=False)
    x = np.zeros(12)
    x[parameters.angles] = 0.0, np.pi / 2, np.pi, -np.pi / 2
    at = parameters.values(x)
    assert at.logit_by_angle is not None
    assert np.isfinite(at.items.logit_guessing).all()
    assert np.isfinite(at.logit_by_angle).all()
    guessing = 1 / (1 + np.exp(-at.items.logit_guessing))
    assert guessing == pytest.approx([0, 1, 0, 1], abs=1e-15)
    extreme = Items(np.ones(4), np.zeros(4), np.array([-800.0, -60.0, 60.0, 800.0]))
    assert np.isfinite(parameters.vector(extreme)).all()


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_rescaling_ability_leaves_the_prior_of_spreads_and_every_probability_alone(
    model: ModelName,
) -> None:
    prior = WeakPrior(log_scale_sd=1e6, location_sd=1e6, steep=1e6)
    parameters, x = setting(model, learns=True)
    moved = parameters.rescaled(x, 0.4, 1.3)
    at, after = parameters.values(x), parameters.values(moved)
    if model != "1PL":
        densities = [prior_at(prior, parameters, part, None).log_density for part in (at, after)]
        assert densities[1] == pytest.approx(densities[0], abs=1e-6)
    theta, old, new = 0.7, at.items, after.items
    assert new.slope * (theta - 0.4) / 1.3 + new.intercept == pytest.approx(
        old.slope * theta + old.intercept, abs=1e-12
    )
    if model == "3PL":
        assert np.array_equal(new.logit_guessing, old.logit_guessing)


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_directions_are_how_the_vector_moves_with_scale_and_location(model: ModelName) -> None:
    # of Rasch slopes are held at 1, and the SD of ability moves instead
    parameters, x = setting(model, learns=True)
    scale, location = parameters.scale_and_location(x, parameters.values(x))
    by_scale = derivative(lambda sd: parameters.rescaled(x, 0.0, 1 + sd[0]), np.zeros(1), 1e-6)
    by_location = derivative(lambda mean: parameters.rescaled(x, mean[0], 1.0), np.zeros(1), 1e-6)
    assert scale == pytest.approx(by_scale[0], abs=1e-6)
    assert location == pytest.approx(by_location[0], abs=1e-6)


def test_of_rasch_scale_is_the_sd_of_ability_and_location_a_common_shift() -> None:
    parameters, x = setting("Rasch", learns=False)
    at = parameters.values(x)
    scale, location = parameters.scale_and_location(x, at)
    stretched, shifted = (parameters.values(x + 1e-3 * step) for step in (scale, location))
    assert stretched.latent_sd == pytest.approx(at.latent_sd * np.exp(1e-3))
    assert stretched.items.intercept == pytest.approx(at.items.intercept)
    # by a thousandth of an SD of ability
    assert shifted.items.intercept - at.items.intercept == pytest.approx(1e-3 * at.latent_sd)
    assert shifted.latent_sd == at.latent_sd


def test_what_the_prior_learns_is_kept_in_the_vector() -> None:
    parameters = Parameterisation("2PL", N_ITEMS, learns=True)
    items = Items(np.linspace(0.5, 1.5, N_ITEMS), np.zeros(N_ITEMS))
    assert parameters.values(parameters.vector(items, Hyper(0.3, -0.2))).hyper == Hyper(0.3, -0.2)
    without = Parameterisation("2PL", N_ITEMS, learns=False)
    assert without.values(without.vector(items, Hyper(0.3, -0.2))).hyper == Hyper(0.0, 0.0)
