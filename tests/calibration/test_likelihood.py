"""The objective: its gradient, its preconditioner, and what leaves it unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from irtkit.calibration.layout import Layout

from irtkit import ItemParameters, LogNormal, Normal, add_synthetic, simulate_responses
from irtkit.calibration.likelihood import MarginalLikelihood, prior_at
from irtkit.calibration.priors import Beta, ItemPrior, WeakPrior
from irtkit.calibration.starting import starting_values
from irtkit.irf import MODELS
from irtkit.patterns import patterns_of
from irtkit.quadrature import engine_of, fixed_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.calibration.priors import Prior
    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

TEXTBOOK = ItemPrior(LogNormal(0.0, 0.5), Normal(0.2, 2.0), Beta())
OTHER = ItemPrior(Normal(1.0, 0.5), None, Normal(-1.1, 0.5))
PRIORS = [None, WeakPrior(), WeakPrior(steep=0.5), TEXTBOOK, OTHER]


def setting(
    model: ModelName, prior: Prior | None, missing: float = 0.0, *, synthetic: bool = True
) -> tuple[MarginalLikelihood, Array]:
    generator = np.random.default_rng(8)
    items = ItemParameters.from_difficulty(generator.lognormal(0, 0.3, 6), generator.normal(size=6))
    responses = simulate_responses(items, generator.normal(size=30), missing=missing, seed=1)
    if synthetic:
        responses = add_synthetic(responses, ("always-right", "always-wrong"))
    rows = patterns_of(responses, synthetic_is_real=False)
    layout = Layout(model, 6, prior)
    engine = engine_of(rows, with_guessing=model == "3PL")
    likelihood = MarginalLikelihood(layout, engine, fixed_nodes(81, 20.0), exact=True)
    return likelihood, starting_values(layout, rows)


def derivative(function: Callable[[Array], Any], x: Array, step: float) -> Array:
    """Central differences, one row per entry of x."""
    units = step * np.eye(len(x))
    return np.array([(function(x + unit) - function(x - unit)) / (2 * step) for unit in units])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_gradient_is_the_derivative_of_the_value(
    model: ModelName, prior: Prior | None, missing: float
) -> None:
    likelihood, x = setting(model, prior, missing)
    found = likelihood.evaluate(x).gradient
    expected = derivative(lambda at: likelihood.evaluate(at).value, x, 1e-5)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", PRIORS[1:])
def test_gradient_of_the_prior_is_the_derivative_of_its_density(
    model: ModelName, prior: Prior
) -> None:
    likelihood, x = setting(model, prior)
    layout = likelihood.layout
    at = prior_at(layout, x)
    by_item = at.gradient() * [layout.latent_sd(x), 1.0, 1.0][: at.size]
    parts = [by_item[:, :1].sum(axis=0) if layout.common_slope else by_item[:, 0]]
    by_angle = layout.logit_by_angle(x)
    guessing = None if by_angle is None else by_item[:, 2] * by_angle
    found = layout.joined(parts[0], by_item[:, 1], guessing, at.by_learned())
    expected = derivative(lambda y: prior_at(layout, y).log_density, x, 1e-5)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", PRIORS)
def test_preconditioner_is_symmetric_and_positive_definite(
    model: ModelName, prior: Prior | None
) -> None:
    likelihood, x = setting(model, prior)
    curvature = likelihood.evaluate(x).curvature
    columns = [likelihood.precondition(x, curvature, unit) for unit in np.eye(len(x))]
    matrix = np.stack(columns)
    assert matrix == pytest.approx(matrix.T, abs=1e-9)
    assert np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min() > 0


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_rescaling_ability_leaves_the_prior_of_spreads_and_every_probability_alone(
    model: ModelName,
) -> None:
    prior = WeakPrior(log_scale_sd=1e6, location_sd=1e6, steep=1e6)
    likelihood, x = setting(model, prior)
    layout = likelihood.layout
    moved = layout.rescaled(x, 0.4, 1.3)
    if model != "1PL":
        before, after = prior_at(layout, x), prior_at(layout, moved)
        assert after.log_density == pytest.approx(before.log_density, abs=1e-6)
    old, new = layout.items(x), layout.items(moved)
    theta = 0.7
    assert new.slope * (theta - 0.4) / 1.3 + new.intercept == pytest.approx(
        old.slope * theta + old.intercept, abs=1e-12
    )


@pytest.mark.parametrize("model", MODELS)
def test_tangents_are_how_parameters_move_with_scale_and_location(model: ModelName) -> None:
    likelihood, x = setting(model, WeakPrior())
    layout = likelihood.layout
    scale, location = layout.tangents(x)
    step = 1e-6
    if model != "Rasch":  # its slopes are held at 1, and the SD of ability moves instead
        by_scale = (layout.rescaled(x, 0.0, 1 + step) - layout.rescaled(x, 0.0, 1 - step)) / step
        assert scale == pytest.approx(by_scale / 2, abs=1e-6)
        by_location = (layout.rescaled(x, step, 1.0) - layout.rescaled(x, -step, 1.0)) / step
        assert location == pytest.approx(by_location / 2, abs=1e-6)


def test_preconditioner_is_close_to_the_inverse_of_the_curvature() -> None:
    generator = np.random.default_rng(2)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 20), generator.normal(size=20)
    )
    responses = simulate_responses(items, generator.normal(size=2000), seed=1)
    rows, layout = patterns_of(responses, synthetic_is_real=False), Layout("2PL", 20, None)
    engine = engine_of(rows, with_guessing=False)
    likelihood = MarginalLikelihood(layout, engine, fixed_nodes(61, 6.0))
    x = layout.joined(items.discrimination, items.intercept, None, np.zeros(0))
    curvature = likelihood.evaluate(x).curvature
    inverse = np.stack([likelihood.precondition(x, curvature, unit) for unit in np.eye(40)])
    bend = -derivative(lambda at: likelihood.evaluate(at).gradient, x, 1e-4)
    shares = np.linalg.eigvals(inverse @ bend).real  # all 1 with the inverse itself
    assert np.sort(shares)[2:-2] == pytest.approx(np.ones(36), abs=0.2)
    assert shares == pytest.approx(np.ones(40), abs=0.5)
