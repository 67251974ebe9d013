"""The objective: its gradient, its preconditioner, and what leaves it unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irtkit import ItemParameters, add_synthetic, quadrature, simulate_responses
from irtkit.calibration.likelihood import Data, MarginalLikelihood, starting_values
from irtkit.calibration.priors import WeakPrior
from irtkit.irf import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.irf import ModelName


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(new_val=True):
        yield


def setting(
    model: ModelName, prior: WeakPrior | None, missing: float = 0.0
) -> tuple[MarginalLikelihood, Data, jax.Array]:
    generator = np.random.default_rng(8)
    items = ItemParameters.from_difficulty(generator.lognormal(0, 0.3, 6), generator.normal(size=6))
    responses = simulate_responses(items, generator.normal(size=30), missing=missing, seed=1)
    responses = add_synthetic(responses, ("always-right", "always-wrong"))
    blocks = quadrature.blocks_of(responses, synthetic_is_real=False)
    likelihood = MarginalLikelihood(model, 6, prior, complete=responses.n_missing == 0)
    nodes = quadrature.fixed_nodes(81, 20.0)
    return likelihood, Data(blocks, nodes, jnp.asarray(30.0)), starting_values(likelihood, blocks)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, WeakPrior()])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_gradient_is_the_derivative_of_the_value(
    model: ModelName, prior: WeakPrior | None, missing: float
) -> None:
    likelihood, data, x = setting(model, prior, missing)
    expected = jax.grad(lambda at: likelihood.evaluate(data, at).value)(x)
    found = likelihood.evaluate(data, x).gradient
    assert np.asarray(found) == pytest.approx(np.asarray(expected), abs=1e-7)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, WeakPrior()])
def test_preconditioner_is_symmetric_and_positive_definite(
    model: ModelName, prior: WeakPrior | None
) -> None:
    likelihood, data, x = setting(model, prior)
    curvature = likelihood.evaluate(data, x).curvature
    columns = [likelihood.precondition(data, x, curvature, unit) for unit in jnp.eye(x.shape[0])]
    matrix = np.asarray(jnp.stack(columns))
    assert matrix == pytest.approx(matrix.T, abs=1e-9)
    assert np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min() > 0


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_rescaling_ability_leaves_the_prior_of_spreads_and_every_probability_alone(
    model: ModelName,
) -> None:
    prior = WeakPrior(log_scale_sd=1e6, location_sd=1e6, steep=1e6)
    likelihood, _, x = setting(model, prior)
    moved = likelihood.rescaled(x, 0.4, 1.3)
    if model != "1PL":
        assert float(likelihood.log_prior(moved)) == pytest.approx(
            float(likelihood.log_prior(x)), abs=1e-6
        )
    before, after = likelihood.items(x), likelihood.items(moved)
    theta = 0.7
    assert np.asarray(after.slope * (theta - 0.4) / 1.3 + after.intercept) == pytest.approx(
        np.asarray(before.slope * theta + before.intercept), abs=1e-12
    )
