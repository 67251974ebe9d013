"""The posterior of items with guessing, whose ridge is bent: more guessing, a steeper, harder item.

For each item, given what all share, the density of the logit of guessing is tabulated, with slope
and intercept normal *given* it (nested Laplace approximations: Rue, Martino & Chopin 2009). One
more natural-gradient step moves all items. Where the chance level is learned, these densities tell
how likely each level is, and are mixed over its posterior. The likelihood of an item is a product
over respondents: of the mean of P/P̂, or (1 − P)/(1 − P̂), under the posterior found with P̂.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.special import betaln, expit, logsumexp, ndtr

from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.priors import WeakPrior
from irtkit.calibration.variational.target import Point
from irtkit.data.patterns import blocks
from irtkit.irf import Items, normal_rule, outer
from irtkit.quadrature import Grid
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.variational.guide import Guide
    from irtkit.calibration.variational.inference import Batches, State
    from irtkit.calibration.variational.target import Target
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes

_LOGITS = 1.5 * np.arange(-5.0, 6.0)
"""Tabulated logits of guessing, in SDs of the guide, which is up to a third too narrow."""
_SPLINE = CubicSpline(np.arange(len(_LOGITS)), np.eye(len(_LOGITS)))
_PLACES = np.linspace(0, len(_LOGITS) - 1, 10 * len(_LOGITS) - 9)
_FINE = _SPLINE(_PLACES)
_NODES, NODE_WEIGHTS = normal_rule(7)
_TO_NODES = np.linalg.inv(hermevander(_NODES, len(_NODES) - 1))


@dataclass(frozen=True)
class _Tuned:
    """How ridges are followed (``benchmarks/posterior.py``)."""

    steps: int = 5  # Newton steps at each logit of guessing.
    longest: float = 2.0  # Of these, in SDs.
    most_change: float = 4.0  # Factor by which one changes a variance at most.
    most_nodes: int = 40  # Of posteriors.
    least_count: float = 0.5  # Responses: fewer are treated as none.
    # Lowest and highest logit of a chance level that is learned.
    levels: tuple[float, float] = (-7.0, 0.5)
    apart: float = 0.1  # Step for the curvature by this level.


_TUNED = _Tuned()


def _product_rule(n: int) -> tuple[Array, Array]:
    """Gauss–Hermite points of two standard normal deviates, (n², 2), and their weights."""
    nodes, weights = normal_rule(n)
    pairs = np.meshgrid(nodes, nodes, indexing="ij")
    points = np.stack(pairs, axis=-1).reshape(-1, 2)
    return points, np.outer(weights, weights).ravel()


_COARSE = _product_rule(3)
_DENSE = _product_rule(5)


class Bent(NamedTuple):
    """Own coordinates of items, given what is shared, at Gauss–Hermite nodes of guessing."""

    own: Array
    """Means of own coordinates, (n_items, n_nodes, 3)."""
    factor: Array
    """Cholesky factors of the covariances of slope and intercept, (n_items, n_nodes, 2, 2)."""

    def at(self, deviates: Array) -> Array:
        """Own coordinates at standard normal deviates, both (..., n_items, 3).

        They are polynomials in the last deviate, and constant beyond its last node.
        """
        z = np.clip(deviates[..., 2], _NODES[0], _NODES[-1])
        share = hermevander(z, len(_NODES) - 1) @ _TO_NODES
        own = np.einsum("...jg,jgk->...jk", share, self.own)
        factor = np.einsum("...jg,jgkl->...jkl", share, self.factor)
        moved = factor @ deviates[..., :2, None]
        own[..., :2] += moved[..., 0]
        return own


class ItemLikelihoods(NamedTuple):
    """Likelihood of each item separately. The first axis is right and wrong responses."""

    theta: Array
    weights: NDArray[np.float32]
    """Mean posterior of each group over P̂ or 1 − P̂, (2, n_items, n_nodes, n_groups)."""
    counts: NDArray[np.float32]
    """Responses of each group, (2, n_items, n_groups)."""

    @classmethod
    def of(cls, patterns: Patterns, parameters: Array, nodes: Nodes) -> ItemLikelihoods:
        """Posteriors are found at ``parameters``. Groups have mean abilities between two nodes."""
        items = Items(*parameters.T)
        sds = 1.0, synthetic_sd(items, 1.0, patterns.multiplicity)
        grid = Grid(nodes, np.stack([nodes.normal_log_weights(sd) for sd in sds]))
        starts = np.arange(0, nodes.n_nodes, -(-nodes.n_nodes // _TUNED.most_nodes))
        density = np.exp(grid.log_weights[0]) + 1e-300
        total = np.add.reduceat(nodes.theta * density, starts)
        theta = total / np.add.reduceat(density, starts)
        weights = np.zeros((2, len(parameters), len(theta), len(theta)), dtype=np.float32)
        for part in posterior_weights(patterns, items, grid, np.float32):
            counted = np.add.reduceat(part.counted, starts).T
            between = (theta[1:] + theta[:-1]) / 2
            group = np.searchsorted(between, nodes.theta @ part.weights)
            for k in np.unique(group):
                here = np.flatnonzero(group == k)
                right = part.right[here].T @ counted[here]
                tried = counted[here].sum(axis=0)
                if part.answered is not None:
                    tried = part.answered[here].T @ counted[here]
                wrong = np.maximum(tried - right, 0.0)
                weights[..., k] += np.stack([right, wrong])
        counts = weights.sum(axis=2)
        enough = (counts >= _TUNED.least_count)[:, :, None]
        weights /= np.where(enough, counts[:, :, None], 1.0)
        curves = np.stack(_right_and_wrong(parameters, theta))[..., None]
        np.divide(weights, curves, out=weights, where=enough)
        np.copyto(weights, 1.0, where=~enough)
        return cls(theta, weights, counts)

    def at(self, parameters: Array, items: slice) -> Array:
        """Log-likelihoods less those at P̂ of some items, at parameters (n_items, n, 3)."""
        value = np.zeros((*parameters.shape[:2], 1))
        for side, p in enumerate(_right_and_wrong(parameters, self.theta)):
            weights = self.weights[side, items]
            counts = self.counts[side, items, :, None]
            value += np.log(p @ weights) @ counts
        return value[..., 0]


def _right_and_wrong(parameters: Array, theta: Array) -> tuple[Array, Array]:
    """P and 1 − P at abilities, (..., n), of parameters (..., 3), so that no ratio is 0 or 0/0."""
    slope, intercept, logit = np.moveaxis(parameters, -1, 0)[..., None]
    odds = np.exp(np.clip(slope * theta + intercept, -200.0, 200.0))
    wrong = 1 / (1 + odds)
    guessing = np.maximum(expit(logit), 1e-30)
    return (odds + guessing) * wrong, expit(-logit) * wrong


class Ridges(NamedTuple):
    """Distributions of items, given what is shared, at tabulated logits of guessing."""

    logits: Array
    """Shape (n_items, n), equally spaced."""
    log_mass: Array
    """Log densities of the logits, up to a constant of each item, (n_items, n)."""
    mean: Array
    """Means of slope and intercept, (n_items, n, 2)."""
    factor: Array
    """Cholesky factors of their covariances, (n_items, n, 2, 2)."""


def with_likeliest_chance(state: State, batches: Batches) -> State:
    """Centre guessing on the chance level that is likeliest with the items integrated out."""
    level, _ = _level(_tabulated(state, batches), state.target)
    prior: Any = state.target.prior
    prior = replace(prior, chance=float(expit(level)))
    return replace(state, target=replace(state.target, prior=prior))


def _level(ridges: Ridges, target: Target) -> tuple[float, float]:
    """Mode of the logit of the chance level, and its SD by Laplace's approximation.

    Items differ in guessing as the prior says, so that this is not the level of equal items, from
    which a search starts.
    """
    density = WeakPrior().guessing_density

    def loss(level: Any) -> float:
        evidence = _tilted(ridges, target, level)[1].sum()
        return float(-evidence - density.at(np.asarray(level)).value)

    level = float(minimize_scalar(loss, bounds=_TUNED.levels, method="bounded").x)
    around = [level - _TUNED.apart, level, level + _TUNED.apart]
    curvature = np.diff([*map(loss, around)], 2)[0] / _TUNED.apart**2
    return level, 1 / math.sqrt(max(curvature, 1.0))


def _tilted(ridges: Ridges, target: Target, level: float) -> tuple[Array, Array]:
    """Log densities of logits at another chance level, and the log evidence of each item.

    A beta density that moves multiplies that of a logit x by exp(tx).
    """
    prior: Any = target.prior
    chance = expit(level)
    usual = prior.guessing_density
    weight = usual.alpha + usual.beta - 2
    log_mass = ridges.log_mass + weight * (chance - prior.chance) * ridges.logits
    right = weight * chance
    log_mass -= betaln(1 + right, 1 + weight - right)
    evidence = logsumexp(log_mass @ _FINE.T, axis=1)
    return log_mass - evidence[:, None], evidence


def bent_posterior(
    state: State, batches: Batches, *, chance_is_learned: bool
) -> tuple[Guide, Bent]:
    """The guide, and the distribution of items around it, moved by a natural-gradient step."""
    target = state.target
    guide = state.guide
    nodes = state.nodes
    ridges = _tabulated(state, batches)
    bent = _at_quantiles(ridges)
    root = guide.common_root()
    points = []
    for deviates, common in guide.deviates(batches.seed):
        s = root @ common
        own = bent.at(deviates) - guide.loading @ s
        points.append(Point(own, guide.shared + s[: guide.shared.size]))
    parameters = np.stack([target.coordinates.parameters(point) for point in points])
    _, gradients = batches.evaluate(parameters, nodes)
    _, gradient = target.mean_gradient(points, parameters, gradients)
    by_coordinates = [target.of_coordinates(point)[1] for point in points]
    by_own = gradient.own + np.mean(by_coordinates, axis=0)
    step = guide.natural(Point(by_own, gradient.shared))
    if chance_is_learned:
        # the chance level is uncertain: a mixture over its posterior
        level, sd = _level(ridges, target)
        parts = [_tilted(ridges, target, level + sd * node)[0] for node in _NODES]
        log_mass = logsumexp(parts, axis=0, b=NODE_WEIGHTS[:, None, None])
        bent = _at_quantiles(ridges._replace(log_mass=log_mass))
    bent = bent._replace(own=bent.own + step.own[:, None])
    return guide.moved(step), bent


def _tabulated(state: State, batches: Batches) -> Ridges:
    """Distributions of all items, given what is shared."""
    target = state.target
    guide = state.guide
    at_mean = target.coordinates.parameters(guide.mean)
    responses = ItemLikelihoods.of(batches.patterns, at_mean, state.nodes)
    size = len(responses.theta) * len(_LOGITS) * len(_DENSE[0])
    parts = [_ridges(target, guide, responses, block) for block in blocks(len(at_mean), size)]
    return Ridges(*map(np.concatenate, zip(*parts, strict=True)))


def _ridges(target: Target, guide: Guide, responses: ItemLikelihoods, block: slice) -> Ridges:
    """Distributions of some items, given what is shared."""
    own = guide.own[block]
    factor = guide.factor[block][:, [2, 0, 1]]
    n = len(_LOGITS)
    guessing_first = np.linalg.cholesky(factor @ factor.transpose(0, 2, 1))
    moved_together = guessing_first[:, None, :, 0] * _LOGITS[:, None]
    logits = own[:, 2:] + moved_together[..., 0]
    mean = own[:, None, :2] + moved_together[..., 1:]
    root = np.repeat(guessing_first[:, None, 1:, 1:], n, axis=1)

    def log_density(points: Array) -> Array:
        """Log densities at points around slope and intercept at each logit."""
        at = np.empty((*logits.shape, len(points), 3))
        moved = np.einsum("jgkl,pl->jgpk", root, points)
        at[..., :2] = mean[:, :, None] + moved
        at[..., 2] = logits[:, :, None]
        items = np.arange(len(guide.own))[block]
        places = np.repeat(items, n * len(points))
        repeated = target.chosen(places)
        point = Point(at.reshape(-1, 3), guide.shared)
        parameters = repeated.coordinates.parameters(point)
        likelihood = responses.at(parameters.reshape(len(at), -1, 3), block).ravel()
        return (likelihood + repeated.by_item(point, parameters)).reshape(at.shape[:3])

    points, weights = _COARSE
    squares = np.einsum("pk,pl->pkl", points, points) - np.eye(2)
    for _ in range(_TUNED.steps):  # Newton steps with expected derivatives (Stein 1981)
        weighted = log_density(points) * weights
        size, axes = np.linalg.eigh(-np.einsum("jgp,pkl->jgkl", weighted, squares))
        bounded = np.clip(size, 1 / _TUNED.most_change, _TUNED.most_change)
        axes /= np.sqrt(bounded)[:, :, None]
        gradient = weighted @ points
        step = axes @ (axes.swapaxes(2, 3) @ gradient[..., None])
        length = np.linalg.norm(step, axis=2, keepdims=True)
        step /= np.maximum(1.0, length / _TUNED.longest)
        mean = mean + (root @ step)[..., 0]
        root = root @ axes
    points, weights = _DENSE
    log_normal = np.log(weights) + (points**2).sum(axis=1) / 2
    value = log_density(points) + log_normal
    log_mass = logsumexp(value, axis=2)
    share = np.exp(value - log_mass[..., None])
    log_mass += np.linalg.slogdet(root)[1]
    off = share @ points
    spread = np.einsum("jgp,pk,pl->jgkl", share, points, points)
    spread -= outer(off, off)
    spread += 1e-9 * np.eye(2)
    mean = mean + (root @ off[..., None])[..., 0]
    factor = np.linalg.cholesky(root @ spread @ root.swapaxes(2, 3))
    return Ridges(logits, log_mass, mean, factor)


def _at_quantiles(ridges: Ridges) -> Bent:
    """Values at the quantiles of guessing that are the nodes of a normal deviate."""
    log_mass = ridges.log_mass - ridges.log_mass.max(axis=1, keepdims=True)
    below = cumulative_trapezoid(np.exp(log_mass @ _FINE.T), axis=1, initial=0)
    below /= below[:, -1:]
    tails = ndtr(_NODES)
    places = np.stack([np.interp(tails, of_item, _PLACES) for of_item in below])
    shares = _SPLINE(places)
    at_logits = np.concatenate([ridges.mean, ridges.logits[..., None]], axis=2)
    factor = np.einsum("jfg,jgkl->jfkl", shares, ridges.factor)
    return Bent(shares @ at_logits, factor)
