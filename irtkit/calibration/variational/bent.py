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
Respondents who gave the same answer, and whose expected abilities lie between the same nodes, share
the mean of their posteriors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit, ndtr

from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.variational.coordinates import Point
from irtkit.data.patterns import blocks, float_blocks
from irtkit.irf import Items
from irtkit.quadrature import Grid
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.variational.guide import Guide
    from irtkit.calibration.variational.minibatches import Batches
    from irtkit.calibration.variational.target import Target
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes

# Errors are root mean squares over items, from 100 × 20 to 4,000 × 40, against 33 logits, 13 nodes,
# ten and five Newton steps and 81 points: 0.01 SDs in means, and 0.3 to 2.2 % in SDs.
_LOGITS = 1.5 * np.arange(-5.0, 6.0)
"""Logits of guessing that each item is looked at, in SDs of the guide from its mean. That SD is too
small, by a third with 4,000 respondents, where logits up to 4.8 of them only leave errors of 0.04
SDs and 3.5 %; a spacing of 0.8 is no better than one of 1.5."""
_MIDDLE = len(_LOGITS) // 2
_FIRST_STEPS, _STEPS = 4, 2
"""Newton steps at the middle logit, and at each further one, which starts from its neighbours. With
one there errors in SDs are 2.8 instead of 2.2 %, with three 1.8 %."""
_MOST_CHANGE = 4.0
"""Factor by which a Newton step may change a variance."""
_LONGEST = 2.0
"""Longest Newton step, in SDs: about as far as the quadrature points of a step see."""
_MOST_NODES = 40
"""Nodes at most, and groups of respondents between them. Nodes are 1.1 posterior SDs apart, and
where they are more, posteriors are narrow beside the curve of any item. Log-likelihoods some
standard errors away are off by 0.005 to 0.02 nats on average (12 to 600 items)."""
_NO_RESPONSE = 0.5
"""Responses below which there is none; sums in 32 bits are off by a millionth."""
_SETS = 4
"""Sets of points that the last step is a mean over: its Monte-Carlo error is then 0.04 SDs, about
that of the means before it; with one set 0.1."""
_LEAST_GUESSING, _FARTHEST_LOGIT = 1e-30, 200.0
"""Beyond these curves stay where they are."""

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
off by 5.6 instead of 2.2 %, with 49 by 0.9 %."""


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


class ItemLikelihood(NamedTuple):
    """What responses say of some items, abilities being known by the others.

    The first axis stands for right and for wrong responses.
    """

    theta: Array
    weights: Array
    """Mean posteriors of the groups that gave such a response, over P̂ or 1 − P̂,
    (2, n_items, n_nodes, n_groups)."""
    counts: Array
    """How many gave it, (2, n_items, n_groups)."""

    def log_likelihood(self, parameters: Array) -> Array:
        """Log-likelihoods of the items at n places each, (n_items, n, 3), less those at P̂."""
        found = np.zeros(parameters.shape[:2])
        curves = _right_and_wrong(parameters, self.theta)
        for curve, weights, counts in zip(curves, self.weights, self.counts, strict=True):
            found += (np.log(curve @ weights) @ counts[..., None])[..., 0]
        return found


@dataclass(frozen=True)
class Respondents:
    """Posteriors of all respondents with items at some parameters, and groups of like ones."""

    patterns: Patterns
    items: Items
    theta: Array
    counted: NDArray[np.float32]
    """Posteriors times how many share a pattern, (n, n_nodes)."""
    group: NDArray[np.intp]

    @classmethod
    def of(cls, patterns: Patterns, parameters: Array, nodes: Nodes) -> Respondents:
        """Go over the respondents once."""
        items, theta = Items(*parameters.T), nodes.theta
        sds = 1.0, synthetic_sd(items, 1.0, patterns.multiplicity)
        grid = Grid(nodes, np.stack([nodes.normal_log_weights(sd) for sd in sds]))
        counted = np.empty((patterns.n, len(theta)), dtype=np.float32)
        mean = np.empty(patterns.n)
        for part in posterior_weights(patterns, items, grid):
            counted[part.respondents] = part.counted.T
            mean[part.respondents] = theta @ part.weights
        reached = counted.any(axis=0)
        theta, counted = _merged(theta[reached], counted[:, reached])
        between = (theta[1:] + theta[:-1]) / 2
        _, group = np.unique(np.searchsorted(between, mean), return_inverse=True)
        return cls(patterns, items, theta, counted, group)

    @property
    def n_groups(self) -> int:
        """Number of groups, none of them empty."""
        return int(self.group.max()) + 1

    def likelihood(self, which: slice) -> ItemLikelihood:
        """What their responses say of some items."""
        items = self.items.chosen(which)
        # right responses, then all
        sums = np.zeros((2, self.n_groups, len(items.slope), len(self.theta)))
        for some, right, answered in float_blocks(self.patterns, dtype=np.float32):
            for k in np.unique(self.group[some]):
                here = self.group[some] == k
                counted = self.counted[some][here]
                sums[0, k] += right[here][:, which].T @ counted
                if answered is None:
                    sums[1, k] += counted.sum(axis=0)
                else:
                    sums[1, k] += answered[here][:, which].T @ counted
        sums[1] = np.maximum(sums[1] - sums[0], 0.0)
        counts = sums.sum(axis=3)
        # a group that gave no such response counts 0 times, whatever its weights
        sums[counts < _NO_RESPONSE] = 1.0
        sums /= sums.sum(axis=3, keepdims=True)
        curves = _right_and_wrong(np.stack(items, axis=1)[:, None], self.theta)
        weights = sums.transpose(0, 2, 3, 1) / np.stack(curves).swapaxes(2, 3)
        return ItemLikelihood(self.theta, weights, counts.transpose(0, 2, 1))


def _merged(theta: Array, counted: NDArray[np.float32]) -> tuple[Array, NDArray[np.float32]]:
    """Neighbouring nodes taken as one, in the middle of their mass, until there are few."""
    starts = np.arange(0, len(theta), -(-len(theta) // _MOST_NODES))
    mass = counted.sum(axis=0, dtype=np.float64)
    middle = np.add.reduceat(theta * mass, starts) / np.add.reduceat(mass, starts)
    return middle, np.add.reduceat(counted, starts, axis=1)


def _right_and_wrong(parameters: Array, theta: Array) -> tuple[Array, Array]:
    """P and 1 − P at abilities, (..., n), of parameters (..., 3); no ratio of them is 0 or 0/0."""
    slope, intercept, logit = np.moveaxis(parameters, -1, 0)[..., None]
    c = np.maximum(expit(logit), _LEAST_GUESSING)
    odds = slope * theta
    odds += intercept
    np.exp(np.clip(odds, -_FARTHEST_LOGIT, _FARTHEST_LOGIT, out=odds), out=odds)
    wrong = 1 / (1 + odds)
    odds += c
    odds *= wrong
    wrong *= expit(-logit)
    return odds, wrong


def bent_posterior(
    target: Target, guide: Guide, batches: Batches, nodes: Nodes
) -> tuple[Guide, Bent]:
    """Distribution of items around the guide, and the guide, both moved by a last step."""
    parameters = target.coordinates.parameters(guide.mean)
    bent = _around(target, guide, Respondents.of(batches.patterns, parameters, nodes))
    step = _last_step(target, guide, bent, batches, nodes)
    guide = guide._replace(own=guide.own + step.own, shared=guide.shared + step.shared)
    return guide, bent._replace(own=bent.own + step.own[:, None])


def _around(target: Target, guide: Guide, respondents: Respondents) -> Bent:
    """Distribution of every item, given what they share."""
    size = len(respondents.theta) * max(respondents.n_groups, len(_LOGITS) * len(_DENSE[0]))
    found = [
        _along_guessing(
            _Densities(target.some(which), guide.shared, respondents.likelihood(which)),
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
    responses: ItemLikelihood

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
        likelihood = self.responses.log_likelihood(parameters.reshape(len(at), -1, 3))
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
    first = place.astype(np.intp)  # not the last: a node leaves some mass above it
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
