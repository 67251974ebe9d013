"""The posterior of items with guessing, which is bent: more of it goes with a steeper, harder item.

A normal distribution lies along one direction of that ridge and is too narrow across it. Given what
items share they are nearly independent, so that once the guide is found, each can be looked at by
itself: along its logit of guessing its density is tabulated, slope and intercept being normal
*given* it, with moments by quadrature around a normal distribution that follows the ridge (nested
Laplace approximations: Rue, Martino & Chopin 2009). As items then lie elsewhere than the guide
supposed, all are moved by one more natural-gradient step.

The density of an item is its prior times, over respondents, the mean of P(θ)/P̂(θ), or of
(1 − P)/(1 − P̂) where the answer is wrong, under the posterior of ability: P̂ is the curve that the
posterior was found with, so that dividing by it leaves what all other items tell of ability.
Respondents whose expected abilities lie between the same nodes share the mean of their posteriors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ndtr

from irtkit.calibration.likelihood import population_sds
from irtkit.calibration.variational.coordinates import Point
from irtkit.irf import Items, curves_of
from irtkit.patterns import blocks
from irtkit.quadrature import Grid
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from irtkit.calibration.variational.guide import Guide
    from irtkit.calibration.variational.minibatches import Batches
    from irtkit.calibration.variational.target import Target
    from irtkit.irf import Array
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes

# Errors are those of posterior means and SDs of items, root mean square, against 33 logits, 13
# nodes, ten Newton steps and 81 points, from 100 × 20 to 4,000 × 40: 0.01 SDs and at most 2 %.
_LOGITS = 1.5 * np.arange(-5.0, 6.0)
"""Logits of guessing that each item is looked at, in SDs of the guide from its mean. That SD is too
small, by a third with 4,000 respondents, where 13 logits up to 4.8 of them err by 0.04 SDs and 4 %;
a spacing of 0.8 is no better than one of 1.5."""
_MIDDLE = len(_LOGITS) // 2
_FIRST_STEPS, _STEPS = 4, 2
"""Newton steps at the middle logit, and at each further one, which starts from its neighbours; with
1 SDs of small samples are off by another half of a per cent, with 3 by as much less."""
_MOST_CHANGE = 4.0
"""Factor by which a Newton step may change a variance."""
_LONGEST = 2.0
"""Longest Newton step, in SDs: about as far as the quadrature points of a step see."""
_LEAST_WEIGHT = 1e-4
"""Weight of a node, relative to the largest, below which a group of respondents is not there: far
from them P/P̂ may be a number of any size. Nothing depends on it from 1e-6 to 1e-3."""
_SETS = 4
"""Sets of points that the last step is a mean over: means are then off by 0.06 to 0.1 SDs, as with
16 of them."""

_FINE = np.linspace(0, len(_LOGITS) - 1, 10 * len(_LOGITS) - 9)
_SPLINE = CubicSpline(np.arange(len(_LOGITS)), np.eye(len(_LOGITS)))(_FINE)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_LAGRANGE = np.linalg.inv(np.polynomial.hermite_e.hermevander(_NODES, len(_NODES) - 1))
"""From Hermite polynomials to those that are 1 at one of the nodes and 0 at the others."""


def _product_rule(n: int) -> tuple[Array, Array]:
    """Gauss–Hermite points of two standard normal deviates, (n², 2), and their weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    points = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, np.outer(weights, weights).ravel() / weights.sum() ** 2


_COARSE, _DENSE = _product_rule(3), _product_rule(5)
"""Points of Newton steps, and of moments: with 9 instead of 25 of these, SDs of small samples are
off by 5 instead of 2 %, with 49 by 1 %."""


class Bent(NamedTuple):
    """Own coordinates of items, given what is shared, as functions of standard normal deviates.

    The last deviate z is that of the logit of guessing, the others those of slope and intercept
    given it. Held are the values at Gauss–Hermite nodes of z, between which they are polynomials.
    """

    own: Array
    """Means of own coordinates, (n_items, n_nodes, 3)."""
    factor: Array
    """Cholesky factors of the covariances of slope and intercept, (n_items, n_nodes, 2, 2)."""

    def some(self, which: slice) -> Bent:
        """The same of some items."""
        return Bent(self.own[which], self.factor[which])

    def at(self, deviates: Array) -> Array:
        """Own coordinates at deviates, both (..., n_items, 3); beyond the last node as there."""
        z = np.clip(deviates[..., 2], _NODES[0], _NODES[-1])
        share = np.polynomial.hermite_e.hermevander(z, len(_NODES) - 1) @ _LAGRANGE
        own = np.einsum("...jg,jgk->...jk", share, self.own)
        factor = np.einsum("...jg,jgkl->...jkl", share, self.factor)
        own[..., :2] += np.einsum("...jkl,...jl->...jk", factor, deviates[..., :2])
        return np.asarray(own)

    def parts(self, guide: Guide) -> tuple[Array, Guide]:
        """Weights of the nodes, and guides of every item at each node, node after node."""
        n_items, n_nodes = self.own.shape[:2]
        factor = np.zeros((n_items, n_nodes, 3, 3))
        factor[:, :, :2, :2] = self.factor
        of_parts = guide._replace(
            own=self.own.reshape(-1, 3),
            factor=factor.reshape(-1, 3, 3),
            loading=np.repeat(guide.loading, n_nodes, axis=0),
        )
        return _WEIGHTS, of_parts


class Told(NamedTuple):
    """What responses say of each item, abilities being told by the others."""

    theta: Array
    weights: Array
    """Mean posteriors of groups of respondents, (n_groups, n_nodes)."""
    right: Array
    """Right responses of every group, (n_items, n_groups)."""
    wrong: Array
    curves: Array
    """P̂ and 1 − P̂, (2, n_items, n_nodes)."""

    @classmethod
    def of(cls, patterns: Patterns, parameters: Array, nodes: Nodes) -> Told:
        """Go over the respondents once, items being at ``parameters``."""
        items, theta = Items(*parameters.T), nodes.theta
        sds = population_sds(patterns, items, 1.0)
        grid = Grid(nodes, np.stack([nodes.normal_log_weights(sd) for sd in sds]))
        n, n_items, between = len(theta), len(items.slope), (theta[1:] + theta[:-1]) / 2
        size, mean, right_sum = np.zeros((n, 1)), np.zeros((n, n)), np.zeros((n, n_items))
        responses = np.zeros((n, 1 if patterns.complete else n_items))
        for _, right, answered, posterior, counted in posterior_weights(patterns, items, grid):
            group = np.searchsorted(between, theta @ posterior)
            member = (group == np.arange(n)[:, None]) * counted.sum(axis=0)
            n_members = member.sum(axis=1, keepdims=True)
            size += n_members
            mean += member @ posterior.T
            right_sum += member @ right
            responses += n_members if answered is None else member @ answered
        groups = size[:, 0] > 0
        mean = mean[groups] / size[groups]
        mean[mean < _LEAST_WEIGHT * mean.max(axis=1, keepdims=True)] = 0.0
        reached = mean.any(axis=0)
        mean = mean[:, reached] / mean.sum(axis=1, keepdims=True)
        curves = _right_and_wrong(items, theta[reached])
        right_sum, responses = right_sum[groups].T, responses[groups].T
        return cls(theta[reached], mean, right_sum, responses - right_sum, curves)

    def log_likelihood(self, which: slice, parameters: Array) -> Array:
        """Log-likelihoods of some items at n places each, (n_items, n, 3), less those at P̂."""
        n_items, n, _ = parameters.shape
        curves = _right_and_wrong(Items(*parameters.reshape(-1, 3).T), self.theta)
        found = np.zeros((n_items, n))
        for curve, before, count in zip(curves, self.curves, (self.right, self.wrong), strict=True):
            ratio = curve.reshape(n_items, n, -1) / before[which, None]
            found += (np.log(ratio @ self.weights.T) @ count[which, :, None])[:, :, 0]
        return found


def _right_and_wrong(items: Items, theta: Array) -> Array:
    """P and 1 − P of items at abilities, (2, n_items, n); never 0, of which no ratio is."""
    curves = curves_of(items, theta)
    wrong = (1 - curves.c) * curves_of(Items(-items.slope, -items.intercept), theta).s
    return np.maximum(np.stack([curves.p, wrong]), 1e-100)


def bent_posterior(
    target: Target, guide: Guide, batches: Batches, nodes: Nodes
) -> tuple[Guide, Bent]:
    """Distribution of items around the guide, and the guide, both moved by a last step."""
    parameters = target.coordinates.parameters(guide.mean)
    bent = _around(target, guide, Told.of(batches.patterns, parameters, nodes))
    step = _last_step(target, guide, bent, batches, nodes)
    guide = guide._replace(own=guide.own + step.own, shared=guide.shared + step.shared)
    return guide, bent._replace(own=bent.own + step.own[:, None])


def _around(target: Target, guide: Guide, told: Told) -> Bent:
    """Distribution of every item, given what they share."""
    size = len(_LOGITS) * len(_DENSE[0]) * len(told.theta)
    found = [
        _along_guessing(
            _Densities(target.some(which), guide.shared, told, which),
            guide.own[which],
            guide.factor[which],
        )
        for which in blocks(len(guide.own), size)
    ]
    return Bent(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


@dataclass(frozen=True)
class _Densities:
    """Densities of some items by their own coordinates."""

    target: Target
    shared: Array
    told: Told
    which: slice

    def around(self, logits: Array, mean: Array, root: Array, points: Array) -> Array:
        """Log densities at points around (slope, intercept) at logits, (n_items, n, n_points).

        ``logits`` are (n_items, n), ``mean`` (n_items, n, 2) and ``root`` (n_items, n, 2, 2).
        """
        at = np.empty((*logits.shape, len(points), 3))
        at[..., :2] = mean[:, :, None] + np.einsum("jgkl,pl->jgpk", root, points)
        at[..., 2] = logits[:, :, None]
        repeated = self.target.repeated(at[0, ..., 0].size)
        point = Point(at.reshape(-1, 3), self.shared)
        parameters = repeated.coordinates.parameters(point)
        prior = repeated.by_item(point, parameters).reshape(at.shape[:3])
        likelihood = self.told.log_likelihood(self.which, parameters.reshape(len(at), -1, 3))
        return np.asarray(prior + likelihood.reshape(at.shape[:3]))


def _along_guessing(densities: _Densities, own: Array, factor: Array) -> Bent:
    """Follow slope and intercept from the guide's mean to less and to more guessing."""
    covariance = factor @ factor.transpose(0, 2, 1)
    sd = np.sqrt(covariance[:, 2, 2])
    logits = own[:, 2, None] + sd[:, None] * _LOGITS
    by_sd = covariance[:, :2, 2] / sd[:, None]
    given = covariance[:, :2, :2] - by_sd[:, :, None] * by_sd[:, None, :]
    means, roots = np.zeros((*logits.shape, 2)), np.zeros((*logits.shape, 2, 2))

    def follow(here: list[int], mean: Array, root: Array, n_steps: int) -> None:
        for _ in range(n_steps):
            mean, root = _newton_step(densities, logits[:, here], mean, root)
        means[:, here], roots[:, here] = mean, root

    root = np.asarray(np.linalg.cholesky(given))
    follow([_MIDDLE], own[:, None, :2], root[:, None], _FIRST_STEPS)
    ahead = by_sd[:, None] * (_LOGITS[_MIDDLE + 1] * np.array([[-1.0], [1.0]]))
    for far in range(_MIDDLE):
        last, here = [[_MIDDLE - k, _MIDDLE + k] for k in (far, far + 1)]
        follow(here, means[:, last] + ahead, roots[:, last], _STEPS)
        ahead = means[:, here] - means[:, last]
    return _bent(densities, logits, means, roots)


def _newton_step(
    densities: _Densities, logits: Array, mean: Array, root: Array
) -> tuple[Array, Array]:
    """Normal distribution nearer to that of slope and intercept given guessing.

    Expected derivatives come from values alone, which are at quadrature points (Stein 1981).
    """
    points, weights = _COARSE
    weighted = densities.around(logits, mean, root, points) * weights
    gradient = weighted @ points
    squares = points[:, :, None] * points[:, None, :] - np.eye(2)
    size, axes = np.linalg.eigh(-np.einsum("jgp,pkl->jgkl", weighted, squares))
    size = np.clip(size, 1 / _MOST_CHANGE, _MOST_CHANGE)[:, :, None]
    step = axes @ ((axes.swapaxes(2, 3) @ gradient[..., None]) / size.swapaxes(2, 3))
    length = np.linalg.norm(step, axis=2, keepdims=True)
    step *= np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))
    spread = root @ ((axes / size) @ axes.swapaxes(2, 3)) @ root.swapaxes(2, 3)
    return mean + (root @ step)[..., 0], np.linalg.cholesky((spread + spread.swapaxes(2, 3)) / 2)


def _bent(densities: _Densities, logits: Array, means: Array, roots: Array) -> Bent:
    """Moments of slope and intercept at each logit, and the logits at the nodes."""
    points, weights = _DENSE
    value = densities.around(logits, means, roots, points)
    value += 0.5 * (points**2).sum(axis=1) + np.log(weights)
    peak = value.max(axis=2, keepdims=True)
    share = np.exp(value - peak)
    total = share.sum(axis=2, keepdims=True)
    share /= total
    log_mass = (np.log(total) + peak)[..., 0] + np.log(np.einsum("jgkk->jgk", roots)).sum(axis=2)
    off = share @ points
    spread = np.einsum("jgp,pk,pl->jgkl", share, points, points)
    spread -= off[..., :, None] * off[..., None, :] - 1e-9 * np.eye(2)
    means = means + (roots @ off[..., None])[..., 0]
    roots = roots @ np.linalg.cholesky(spread)
    values = np.concatenate([means, logits[:, :, None], roots.reshape(*logits.shape, 4)], axis=2)
    return _at_nodes(log_mass, values)


def _at_nodes(log_mass: Array, values: Array) -> Bent:
    """Values at the quantiles of guessing that the nodes are those of a normal deviate."""
    log_mass = log_mass - log_mass.max(axis=1, keepdims=True)
    density = np.exp(log_mass @ _SPLINE.T)
    below = np.zeros_like(density)
    below[:, 1:] = np.cumsum((density[:, 1:] + density[:, :-1]) / 2, axis=1)
    below /= below[:, -1:]
    place = np.stack([np.interp(ndtr(_NODES), of, np.arange(len(_FINE))) for of in below])
    first = np.minimum(place.astype(np.intp), len(_FINE) - 2)
    rest, first = (place - first)[:, :, None], first[:, :, None]
    fine = np.einsum("fg,jgv->jfv", _SPLINE, values)
    at = np.take_along_axis(fine, first, axis=1) * (1 - rest)
    at += np.take_along_axis(fine, first + 1, axis=1) * rest
    return Bent(at[:, :, :3], at[:, :, 3:].reshape(*at.shape[:2], 2, 2))


def _last_step(target: Target, guide: Guide, bent: Bent, batches: Batches, nodes: Nodes) -> Point:
    """Natural-gradient step of all items from where they are bent to."""
    generator = np.random.default_rng([batches.seed, 0, 7])
    own, shared, n_points = np.zeros_like(guide.own), np.zeros_like(guide.shared), 0
    root = guide.common_root()
    for _ in range(_SETS):
        for deviates, common in guide.deviates(generator):
            s = root @ common
            point = Point(
                bent.at(deviates) - guide.loading @ s, guide.shared + s[: len(guide.shared)]
            )
            gradient = batches.gradient(target.coordinates.parameters(point), nodes)
            found = target.pulled_back(point, gradient)
            own, shared, n_points = own + found.own, shared + found.shared, n_points + 1
    return guide.natural(Point(own / n_points, shared / n_points))
