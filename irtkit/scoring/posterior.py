"""Posteriors of ability on a grid, for items whose parameters are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.irf import Items, logistic, softplus

if TYPE_CHECKING:
    from irtkit.irf import Array, ItemParameters
    from irtkit.quadrature import Nodes


class ItemCurves(NamedTuple):
    """Curves of items (rows) at nodes (columns)."""

    log_odds: Array | None
    """log P/(1 − P); None without guessing, where it is aθ + d."""
    log_wrong: Array
    p: Array
    information: Array
    """P'²/(P(1 − P))."""
    bend: Array
    """P'P''/(P(1 − P)), which Warm's J is the sum of."""


def curves_at(items: ItemParameters, theta: Array) -> ItemCurves:
    """Curves of items at abilities."""
    a, c = items.discrimination[:, None], items.guessing[:, None]
    z = a * theta + items.intercept[:, None]
    s = logistic(z)
    p = c + (1 - c) * s
    log_wrong, log_odds = np.log1p(-c) - softplus(z), None
    if c.any():
        with np.errstate(divide="ignore"):
            log_odds = np.logaddexp(np.log(c), z + log_wrong) - log_wrong
    information = items.information(theta).T
    return ItemCurves(log_odds, log_wrong, p, information, information * a * (1 - 2 * s))


def log_likelihood(
    items: ItemParameters, curves: ItemCurves, nodes: Nodes, right: Any, answered: Any
) -> Array:
    """ℓ(θ) of every respondent at the nodes, (n, n_nodes).

    ``right`` and ``answered``, (n, n_items), count trials; ``answered`` is None if each answered
    every item once.
    """
    if curves.log_odds is None:
        by_slope = np.multiply.outer(right @ items.discrimination, nodes.theta)
        found = by_slope + (right @ items.intercept)[:, None]
    else:
        found = right @ curves.log_odds
    return np.asarray(found + summed(answered, curves.log_wrong))


def summed(answered: Any, by_item: Array) -> Array:
    """Sum over the items that each answered, (n, …), or (1, …) if all answered all."""
    if answered is None:
        return np.asarray(by_item.sum(axis=0, keepdims=True))
    return np.asarray(answered @ by_item)


def posterior_of(likelihood: Array, nodes: Nodes) -> Array:
    """Posterior of ability, N(0, 1) before the answers, (n, n_nodes), rows summing to 1."""
    log = likelihood + nodes.normal_log_weights(1.0)
    found = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def nodes_for(items: ItemParameters) -> Nodes:
    """Abilities close enough together for posteriors after all of some items, N(0, 1) before."""
    from irtkit.quadrature.nodes import HALF_WIDTH, NodeDensity

    known = Items.of(items) if items.n_items else Items(np.zeros(1), np.zeros(1))
    return NodeDensity.of(known, HALF_WIDTH).nodes(interpolates=False)
