"""The posterior of ability, given answers to items whose parameters are known.

It is proportional to the likelihood of the answers times the density of the population, N(0, 1).
Functions of ability are taken at the nodes of a grid, at which posteriors have weights that sum to
1.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.data.patterns import BLOCK, blocks
from irtkit.irf import Items, softplus
from irtkit.quadrature.nodes import HALF_WIDTH, NodeDensity, lagrange_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from irtkit.irf import Array, ItemParameters
    from irtkit.quadrature.nodes import Nodes

_WIDE_SHARE = 0.05  # Share of the wide part of the heavy-tailed prior (benchmarks/few_items.py).
_WIDE_SD = 3.0  # SD of this part.


class ItemCurves:
    """Functions of ability of some items at the nodes of a grid, each computed once."""

    def __init__(self, items: ItemParameters, theta: Array, spread: Any = 1.0) -> None:
        self.items = items
        self.theta = theta
        self.spread = spread  # Variance of an answer to each item, relative to the model.

    def _table(self, curve: Callable[[Array], Array]) -> Array:
        """Values of a curve, (n_items, n_nodes), a few nodes at a time."""
        table = np.empty((len(self.theta), self.items.n_items))
        for nodes in blocks(*table.shape, BLOCK // 8):
            table[nodes] = curve(self.theta[nodes])
        return table.T

    @cached_property
    def log_probability(self) -> Array:
        """Log probability of every level, (n_levels, n_items, n_nodes)."""
        return np.moveaxis(self.items.log_probability(self.theta), 1, 0)

    @cached_property
    def log_wrong(self) -> Array:
        """Log probability of a wrong answer without guessing, (n_items, n_nodes)."""
        slope = self.items.discrimination
        intercept = self.items.intercept

        def log_wrong(theta: Array) -> Array:
            return -softplus(np.multiply.outer(theta, slope) + intercept)

        return self._table(log_wrong)

    @cached_property
    def probability(self) -> Array:
        """Expected scores, as shares of the highest, (n_items, n_nodes)."""
        return self._table(self.items.probability)

    @cached_property
    def variance(self) -> Array:
        """Variances of these shares, (n_items, n_nodes)."""

        def variance(theta: Array) -> Array:
            return self.items.variance(theta) * self.spread

        return self._table(variance)

    @cached_property
    def information(self) -> Array:
        """Fisher information about ability, (n_items, n_nodes)."""
        return self._table(self.items.information)

    @cached_property
    def bend(self) -> Array:
        """P'P''/(P(1 − P)), whose sum is Warm's J, (n_items, n_nodes)."""
        slope = self.items.discrimination[:, None]
        guessing = self.items.guessing[:, None]
        logistic = (self.probability - guessing) / (1 - guessing)
        tilt = slope * (1 - 2 * logistic)
        return self.information * tilt

    def log_likelihood(self, right: Any, tried: Any) -> Array:
        """Log-likelihood at the nodes, (n, n_nodes), from trials, (n, n_items).

        ``tried`` is None if there is one trial of every item. A trial of an item with levels is one
        of its points.
        """
        items = self.items
        if items.steps is not None:
            weights = level_weights(items, right, tried)
            by_level = zip(weights, self.log_probability, strict=True)
            return sum(weight @ log_p for weight, log_p in by_level)
        if items.guessing.any():
            log_wrong, log_right = self.log_probability
            likelihood = right @ (log_right - log_wrong)
        else:
            log_wrong = self.log_wrong
            likelihood = np.multiply.outer(right @ items.discrimination, self.theta)
            likelihood += (right @ items.intercept)[:, None]
        return likelihood + total(log_wrong, tried)


def total(curves: Array, tried: Any) -> Array:
    """Sum of curves (n_items, n_nodes) over trials, (n, n_nodes); over all items if None."""
    if tried is None:
        return curves.sum(axis=0)[None]
    return tried @ curves


def level_weights(items: ItemParameters, right: Array, tried: Array | None) -> Iterator[Array]:
    """How often respondents reached every level of every item, (n, n_items) for each level."""
    of_trials = items.top == 1
    tried = np.ones_like(right) if tried is None else tried
    score = np.rint(right)
    for level in range(items.steps.shape[1]):
        reached = (score == level) & (tried > 0)
        weight = (reached & ~of_trials).astype(np.float64)
        if level < 2:
            times = right if level else tried - right
            weight[:, of_trials] = times[:, of_trials]
        yield weight


def normalised(log_joint: Array) -> tuple[Array, Array]:
    """Logarithm of the sum over the last axis, and weights with a sum of 1."""
    peak = log_joint.max(axis=-1, keepdims=True)
    weights = np.exp(log_joint - peak)
    mass = weights.sum(axis=-1, keepdims=True)
    log_mass = np.log(mass) + peak
    return log_mass[..., 0], weights / mass


class Posterior(NamedTuple):
    """Posteriors of the abilities of some respondents."""

    theta: Array  # (n_nodes,)
    weights: Array  # (n, n_nodes)

    @classmethod
    @np.errstate(under="ignore")
    def of(cls, log_likelihood: Array, nodes: Nodes, *, heavy_tailed: bool = False) -> Posterior:
        """Posteriors under the prior N(0, 1), or a mixture of it with a wider one."""
        log_prior = nodes.normal_log_weights(1.0)
        if heavy_tailed:
            usual = np.log1p(-_WIDE_SHARE) + log_prior
            wide = np.log(_WIDE_SHARE) + nodes.normal_log_weights(_WIDE_SD)
            log_prior = np.logaddexp(usual, wide)
        return cls(nodes.theta, normalised(log_likelihood + log_prior)[1])

    def after(self, likelihood: Array) -> Posterior:
        """Posteriors after further answers, by their likelihood at the nodes."""
        weights = self.weights * likelihood
        total = weights.sum(axis=1, keepdims=True)
        return Posterior(self.theta, weights / total)

    @property
    def mean(self) -> Array:
        """Posterior means, (n,)."""
        return self.weights @ self.theta

    @property
    def sd(self) -> Array:
        """Posterior SDs, (n,)."""
        second = self.weights @ self.theta**2
        variance = second - self.mean**2
        return np.sqrt(np.maximum(variance, 0))

    def number_right(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of the number right, (n,) each.

        The arguments are these at each node, (n, n_nodes) or (1, n_nodes).
        """
        with np.errstate(under="ignore"):
            expected = (self.weights * mean).sum(axis=1)
            deviation = mean - expected[:, None]
            spread = (self.weights * deviation**2).sum(axis=1)
            noise = (self.weights * variance).sum(axis=1)
        return expected, np.maximum(spread + noise, 0)  # rounding where no item is left

    @np.errstate(under="ignore")
    def quantile(self, tail: float) -> Array:
        """Abilities below which a share of each posterior lies, (n,).

        The distribution function at a node is the sum of the weights before it, corrected by
        central differences (the rule of Gauss and Encke). With nodes three times as dense as a
        likelihood needs it errs by about 1e-5. Its normal deviates are interpolated.
        """
        from scipy.special import ndtri

        n_nodes = len(self.theta)
        below = np.cumsum(self.weights, axis=1) - self.weights / 2
        around = four_around((below < tail).sum(axis=1), n_nodes)
        near = np.clip(around[:, :1] + np.arange(-2, 6), 0, n_nodes - 1)
        weights = np.take_along_axis(self.weights, near, axis=1)
        rise = (weights[:, 2:] - weights[:, :-2]) / 2
        bend = np.diff(rise, 2)
        share = np.take_along_axis(below, around, axis=1)
        share += 11 / 720 * bend - rise[:, 1:-1] / 12
        place = around[:, 0] + np.clip((share < tail).sum(axis=1), 1, 3)
        deviates = ndtri(np.clip(share, 1e-300, 1 - 1e-16))  # these have normal deviates
        return crossing(self.theta, deviates, place, around, ndtri(tail))


def nodes_for(items: ItemParameters) -> Nodes:
    """Grid for posteriors of respondents who answered all of some items, with the prior N(0, 1)."""
    arrays = items.items if items.n_items else Items(np.zeros(1), np.zeros(1))
    return NodeDensity.of(arrays, HALF_WIDTH).nodes(interpolates=False)


def four_around(place: Any, n_nodes: int) -> Any:
    """Nodes two before and two after the interval that ends at a place, (n, 4)."""
    inside = np.clip(place, 2, n_nodes - 2)
    return inside[:, None] + np.arange(-2, 2)


def crossing(theta: Array, values: Array, place: Any, around: Any, target: float) -> Array:
    """Ability before a node ``place`` at which values rise to a target, (n,).

    It is that of the cubic through the ``values`` (n, 4) at the four nodes ``around``, or of a line
    if the cubic leaves the interval.
    """
    number = place[:, None] - around[:, :1]
    before = np.take_along_axis(values, number - 1, axis=1)[:, 0]
    after = np.take_along_axis(values, number, axis=1)[:, 0]
    low = theta[place - 1]
    high = theta[place]
    targets = np.full(len(values), target)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (target - before) / (after - before)
        weights = lagrange_weights(values, targets)
    share = np.nan_to_num(share, nan=0.5)
    cubic = (weights * theta[around]).sum(axis=1)
    inside = (low <= cubic) & (cubic <= high)
    line = low + np.clip(share, 0, 1) * (high - low)
    return np.where(inside, cubic, line)
