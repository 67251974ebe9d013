"""Posteriors as weights at the nodes against those of the engine, and the responses beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ItemParameters, add_synthetic, simulate_responses
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import Items
from irtkit.quadrature import Grid, NodeDensity
from irtkit.quadrature.engines import NumpyEngine, posterior_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KINDS = ("complete", "missing", "repeated", "synthetic", "sparse", "copies")
N, N_ITEMS = 60, 30


def setting(kind: str, model: str, *, interpolated: bool = False) -> tuple[Patterns, Items, Grid]:
    generator = np.random.default_rng(5)
    guessing = np.full(N_ITEMS, 0.2 if model == "3PL" else 0.0)
    slopes = generator.normal(0.8, 0.8, N_ITEMS)
    items = ItemParameters(slopes, generator.normal(size=N_ITEMS), guessing)
    responses = simulate_responses(
        items,
        generator.normal(size=N),
        missing=0.3 if kind in {"missing", "sparse"} else 0.0,
        trials=3 if kind == "repeated" else 1,
        seed=6,
    )
    if kind == "synthetic":
        responses = add_synthetic(responses, ("always-right", "always-wrong"))
    responses = responses.to_sparse() if kind == "sparse" else responses
    rows = patterns_of(responses, synthetic_is_real=False)
    if kind == "copies":
        copies = generator.integers(1, 4, N).astype(float), generator.integers(1, 4, N_ITEMS) * 1.0
        rows = rows.with_weights(copies[0], copies[1])
    logit = np.log(guessing / (1 - guessing)) if model == "3PL" else None
    arrays = Items(items.discrimination, items.intercept, logit)
    nodes = NodeDensity.of(arrays, 8.0, share=10.0 * interpolated).nodes(2)
    assert (nodes.interpolation is not None) == interpolated
    return rows, arrays, Grid(nodes, np.stack([nodes.normal_log_weights(sd) for sd in (1, 3)]))


@pytest.mark.parametrize("model", ["2PL", "3PL"])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_have_the_moments_of_the_posteriors(model: str, kind: str) -> None:
    rows, items, grid = setting(kind, model, interpolated=model == "3PL")
    (part,) = posterior_weights(rows, items, grid)
    weights, exact = part.weights.T, NumpyEngine(rows).posteriors(items, grid)
    theta = grid.nodes.theta
    assert weights.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert weights @ theta == pytest.approx(exact.mean, abs=1e-10)
    spread = weights @ theta**2 - (weights @ theta) ** 2
    assert np.sqrt(spread) == pytest.approx(exact.sd, abs=1e-8)
    cells = rows.cells if rows.sparse else np.maximum(rows.cells, 0)
    assert abs(part.right - cells).sum() == 0
    frequency = np.ones(rows.n) if rows.frequency is None else rows.frequency
    assert pytest.approx(weights * frequency[:, None], abs=1e-12) == part.counted.T
