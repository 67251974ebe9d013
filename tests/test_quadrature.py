"""The fast posterior against a plain one, and adaptive nodes against a fine grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from irtkit import ItemParameters, ResponseMatrix, quadrature, simulate_responses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

GUESSING = {"2PL": None, "3PL": 0.2}


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(new_val=True):
        yield


def drawn(model: str, missing: float, n_items: int = 12) -> tuple[ResponseMatrix, ItemParameters]:
    generator = np.random.default_rng(3)
    slope = generator.normal(0.8, 0.8, n_items)
    items = ItemParameters(
        slope, generator.normal(0, 1, n_items), np.full(n_items, GUESSING[model] or 0.0)
    )
    responses = simulate_responses(items, generator.normal(size=40), missing=missing, seed=5)
    return responses, items


def as_arrays(items: ItemParameters, model: str) -> quadrature.ItemArrays:
    c = jnp.asarray(items.guessing)
    logit = None if model == "2PL" else jnp.log(c / (1 - c))
    return quadrature.ItemArrays(
        jnp.asarray(items.discrimination), jnp.asarray(items.intercept), logit
    )


def plain_log_joint(
    responses: ResponseMatrix, items: ItemParameters, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-likelihood of every respondent at every ability, written as the definition says."""
    p = items.probability(theta)
    y = responses.values[:, None, :]
    terms = np.where(y == 1, np.log(p), np.where(y == 0, np.log1p(-p), 0.0))
    return np.asarray(terms.sum(axis=2))


def grid_of(nodes: quadrature.Nodes) -> quadrature.Grid:
    weights = quadrature.normal_log_weights(nodes, 1.0)
    return quadrature.Grid(nodes, jnp.stack([weights, weights]))


@pytest.mark.parametrize("model", ["2PL", "3PL"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_posterior_is_what_the_definition_gives(model: str, missing: float) -> None:
    responses, items = drawn(model, missing)
    theta = np.linspace(-6, 6, 61)
    weights = norm.logpdf(theta) - logsumexp(norm.logpdf(theta))
    joint = plain_log_joint(responses, items, theta) + weights
    marginal = logsumexp(joint, axis=1)
    mean = np.exp(joint - marginal[:, None]) @ theta

    blocks = quadrature.blocks_of(responses, synthetic_is_real=False)
    grid = grid_of(quadrature.fixed_nodes(61, 6.0))
    found = quadrature.posterior(blocks, as_arrays(items, model), grid, complete=missing == 0)
    assert np.asarray(found.log_marginal)[:40] == pytest.approx(marginal, abs=1e-10)
    assert np.asarray(found.mean)[:40] == pytest.approx(mean, abs=1e-10)


@pytest.mark.parametrize("model", ["2PL", "3PL"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_item_gradient_is_the_derivative_of_the_log_likelihood(model: str, missing: float) -> None:
    responses, items = drawn(model, missing)
    blocks = quadrature.blocks_of(responses, synthetic_is_real=False)
    grid = grid_of(quadrature.fixed_nodes(41, 6.0))

    def log_likelihood(arrays: quadrature.ItemArrays) -> jax.Array:
        return quadrature.moments(blocks, arrays, grid, complete=missing == 0).log_marginal.sum()

    arrays = as_arrays(items, model)
    by_autodiff = jax.grad(log_likelihood)(arrays)
    moments = quadrature.moments(blocks, arrays, grid, complete=missing == 0)
    score = np.asarray(quadrature.item_score(moments, arrays, grid.nodes).gradient)
    expected = np.stack([np.asarray(g) for g in by_autodiff if g is not None], axis=1)
    assert score == pytest.approx(expected, abs=1e-8)


def test_padding_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    responses, items = drawn("2PL", 0.0)
    grid = grid_of(quadrature.fixed_nodes(41, 6.0))

    def sums() -> Any:
        blocks = quadrature.blocks_of(responses, synthetic_is_real=False)
        return quadrature.moments(blocks, as_arrays(items, "2PL"), grid, complete=True)

    whole = sums()
    monkeypatch.setattr(quadrature, "_CELLS_PER_BLOCK", 7 * 12)
    cut = sums()
    for one, other in zip(whole[:4], cut[:4], strict=True):
        assert np.asarray(one) == pytest.approx(np.asarray(other), abs=1e-10)


@pytest.mark.parametrize("n_items", [5, 100, 2000])
def test_adaptive_nodes_integrate_as_a_grid_four_times_as_fine_and_twice_as_wide(
    n_items: int,
) -> None:
    responses, items = drawn("2PL", 0.0, n_items)
    extreme = np.vstack([responses.values, np.ones(n_items), np.zeros(n_items)])
    blocks = quadrature.blocks_of(ResponseMatrix(extreme), synthetic_is_real=False)
    arrays = as_arrays(items, "2PL")

    def marginal(nodes: quadrature.Nodes) -> NDArray[np.float64]:
        found = quadrature.posterior(blocks, arrays, grid_of(nodes), complete=True)
        return np.asarray(found.log_marginal)[:42]

    nodes = quadrature.Resolution.of(arrays, 12.0, 1.0).nodes()
    spacing = float(np.exp(np.asarray(nodes.log_width)).min())
    fine = quadrature.fixed_nodes(int(48 / (spacing / 4)), 24.0)
    assert np.abs(marginal(nodes) - marginal(fine)).max() < 1e-3


def test_weights_of_a_grid_sum_to_one() -> None:
    for nodes in (quadrature.fixed_nodes(7, 2.0), quadrature.fixed_nodes(64, 6.0)):
        weights = np.exp(np.asarray(quadrature.normal_log_weights(nodes, 2.0)))
        assert weights.sum() == pytest.approx(1.0, abs=1e-14)
