"""Posteriors of ability on a grid, for items whose parameters are known."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.irf import Items, logistic, softplus

if TYPE_CHECKING:
    from irtkit.irf import Array, ItemParameters
    from irtkit.quadrature import Nodes

_WIDE_SHARE = 0.05  # Weight of the wide part of the heavy-tailed prior (benchmarks/beyond.py).
_WIDE_SD = 3.0  # SD of the wide part of the heavy-tailed prior (benchmarks/beyond.py).


class ItemCurves:
    """Curves of items (rows) at abilities, (n_items, n_nodes), computed when first asked for.

    Of many items most estimates need one of them.
    """

    def __init__(self, items: ItemParameters, theta: Array) -> None:
        self.items, self.theta = items, theta

    @cached_property
    def log_odds(self) -> Array | None:
        """Logarithm of P/(1 − P); None without guessing, where it is aθ + d."""
        c = self.items.guessing[:, None]
        if not c.any():
            return None
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log(c), self._logits + self.log_wrong) - self.log_wrong

    @cached_property
    def log_wrong(self) -> Array:
        """Logarithm of 1 − P."""
        return np.asarray(np.log1p(-self.items.guessing[:, None]) - softplus(self._logits))

    @cached_property
    def log_all_wrong(self) -> Array:
        """Sum of log(1 − P) over all items, (1, n_nodes); items of the same parameters once."""
        a, d, c = self.items.discrimination, self.items.intercept, self.items.guessing
        (a, d, c), n = np.unique(np.stack([a, d, c]), axis=1, return_counts=True)
        total = np.full(len(self.theta), n @ np.log1p(-c))
        for some in blocks(len(self.theta), len(a)):
            total[some] -= softplus(np.multiply.outer(self.theta[some], a) + d) @ n
        return total[None]

    @cached_property
    def p(self) -> Array:
        """P(right)."""
        return self.items.probability(self.theta).T

    @cached_property
    def information(self) -> Array:
        """P'²/(P(1 − P))."""
        return self.items.information(self.theta).T

    @cached_property
    def bend(self) -> Array:
        """P'P''/(P(1 − P)), which Warm's J is the sum of."""
        slope = self.items.discrimination[:, None]
        return np.asarray(self.information * slope * (1 - 2 * logistic(self._logits)))

    @property
    def _logits(self) -> Array:
        a, d = self.items.discrimination, self.items.intercept
        return np.asarray(np.multiply.outer(a, self.theta) + d[:, None])


def log_likelihood(curves: ItemCurves, right: Any, answered: Any) -> Array:
    """ℓ(θ) of every respondent at the abilities of the curves, (n, n_nodes).

    ``right`` and ``answered``, (n, n_items), count trials; ``answered`` is None if each answered
    every item once.
    """
    items = curves.items
    if curves.log_odds is None:
        by_slope = np.multiply.outer(right @ items.discrimination, curves.theta)
        found = by_slope + (right @ items.intercept)[:, None]
    else:
        found = right @ curves.log_odds
    wrong = curves.log_all_wrong if answered is None else answered @ curves.log_wrong
    return np.asarray(found + wrong)


def summed(answered: Any, by_item: Array) -> Array:
    """Sum over the items that each answered, (n, …), or (1, …) if all answered all."""
    if answered is None:
        return np.asarray(by_item.sum(axis=0, keepdims=True))
    return np.asarray(answered @ by_item)


@np.errstate(under="ignore")
def posterior_of(likelihood: Array, nodes: Nodes, *, heavy_tailed: bool = False) -> Array:
    """Posterior of ability, (n, n_nodes), rows summing to 1.

    The prior is N(0, 1). The heavy-tailed prior is a mixture with a wider normal distribution.
    """
    prior = nodes.normal_log_weights(1.0)
    if heavy_tailed:
        wide = np.log(_WIDE_SHARE) + nodes.normal_log_weights(_WIDE_SD)
        prior = np.logaddexp(np.log1p(-_WIDE_SHARE) + prior, wide)
    log = likelihood + prior
    found = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def nodes_for(items: ItemParameters) -> Nodes:
    """Abilities close enough together for posteriors after all of some items, N(0, 1) before."""
    from irtkit.quadrature.nodes import HALF_WIDTH, NodeDensity

    known = Items.of(items) if items.n_items else Items(np.zeros(1), np.zeros(1))
    return NodeDensity.of(known, HALF_WIDTH).nodes(interpolates=False)
