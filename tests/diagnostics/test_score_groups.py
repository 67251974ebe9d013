"""Expected shares right by score: every pattern enumerated, and two ways to compute them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ItemParameters
from irtkit.diagnostics.fitted import Fitted
from irtkit.diagnostics.score_groups import by_recursion, by_saddlepoint, expected_right

if TYPE_CHECKING:
    from irtkit.irf import Array


def parts_of(n_items: int, guessing: float = 0.0) -> Fitted:
    generator = np.random.default_rng(n_items)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.4, n_items), generator.normal(size=n_items), guessing
    )
    nothing, one = np.zeros((1, n_items), np.int8), np.arange(1)
    return Fitted(nothing, np.zeros(1), items, np.arange(n_items), one, None)


def curves(parts: Fitted) -> tuple[Array, Array, Array]:
    nodes, weights = parts.grid()
    return nodes, parts.items.probability(nodes).T, weights


def test_shares_by_recursion_are_those_of_all_patterns() -> None:
    _, p, weights = curves(parts_of(5, 0.2))
    right, total = np.zeros((5, 4)), np.zeros(4)
    for pattern in product((0, 1), repeat=5):
        y = np.array(pattern)[:, None]
        mass = float(weights @ np.where(y == 1, p, 1 - p).prod(axis=0))
        if 0 < y.sum() < 5:
            right[:, y.sum() - 1] += mass * y[:, 0]
            total[y.sum() - 1] += mass
    assert by_recursion(p, weights) == pytest.approx(right / total, abs=1e-12)


@pytest.mark.parametrize(("n_items", "within"), [(100, 1e-3), (250, 1e-4), (400, 5e-5)])
@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_the_saddlepoint_comes_near_the_recursion(
    n_items: int, within: float, guessing: float
) -> None:
    nodes, p, weights = curves(parts_of(n_items, guessing))
    typical = np.abs(nodes) < 3
    scores = np.unique(p.sum(axis=0)[typical].astype(int))
    found = by_saddlepoint(p, weights, scores.astype(float))
    assert found == pytest.approx(by_recursion(p, weights)[:, scores - 1], abs=within)


def test_shares_between_knots_are_interpolated() -> None:
    parts = parts_of(300)
    _, p, weights = curves(parts)
    scores, first = np.arange(60, 240), np.arange(0, 180, 12)
    n = np.random.default_rng(0).integers(1, 5, 180).astype(float)
    found = expected_right(parts.items, scores, n, first, parts.grid())
    expected = np.add.reduceat(by_recursion(p, weights)[:, scores - 1] * n, first, axis=1)
    groups = np.add.reduceat(n, first)
    assert found / groups == pytest.approx(expected / groups, abs=1e-4)
