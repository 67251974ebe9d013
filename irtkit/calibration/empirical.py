"""Items fitted with a distribution learned from the matrix itself (empirical Bayes).

With few respondents the likelihood says little about a single item, but much about how items are
distributed (:mod:`.item_distribution`). After a fit with the weak prior, whose abilities are kept,
the numbers of the distribution are made most likely with the items integrated out, and items
are set to their posterior means.

The integrals are sums over Gauss–Hermite points around the mode of each item, one set as a regular
and one as an inverted item (Naylor & Smith 1982). The points stay where they are while the
distribution moves, each weighted by the density that it then has, and are placed anew until nothing
moves.

The likelihood of an item by itself is that of the responses, and of the right ones, expected at
each node while abilities are held at their posteriors (Bock & Aitkin 1981). Where nodes are denser
than items bend, both are carried to *places* further apart by the transpose of interpolation, which
keeps sums of smooth functions: taking the nodes between two bounds as one moved slopes near 0 by
more than a standard error, and another way for other bounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.item_distribution import STEEP, ItemDistribution, Standardised
from irtkit.calibration.likelihood import MarginalLikelihood
from irtkit.calibration.maximise import at_vector, problem_of, with_unit_scale
from irtkit.data.patterns import blocks
from irtkit.irf import Items, complete_data_information, curvatures, curves_of, softplus
from irtkit.quadrature import Grid
from irtkit.quadrature.engines import posterior_weights
from irtkit.quadrature.nodes import STENCIL, local_interpolation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.maximise import GridSchedule, Maximum, Problem
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, Curves

    Places = NDArray[np.intp]

_ROUNDS = 20
"""Most times that points are placed anew; five settled 12 × 600."""
_SETTLED = 0.01
"""Gain in log marginal likelihood, all items together, below which the distribution is settled:
what is left moves slopes by 0.014 of their standard errors at most (30 × 3000; 0.09 at 0.1)."""
_TRUSTED_DOWN = np.array([0.7, 0.5, 0.3, 2.0, 0.7, 0.7, 0.7, 0.7])
_TRUSTED_UP = np.array([0.7, 0.5, 0.7, 2.0, 0.7, 0.7, 0.7, 0.7])
"""Change of each number of an `ItemDistribution`, in their order, that points are trusted for until
they are placed anew: they soon lie too far apart for narrower densities."""
_LEAST_TRUST = 0.05
"""Part of that below which a step that leads down is one within the error of the integrals."""
_MOST_STEPS_ON_POINTS = 12
"""Steps of L-BFGS-B with points where they are: more would trust them too far."""
_ITEMS_LEARNED_FROM = 2000
"""Most items that eight numbers are learned from (of more, every k-th): to 1/√2000 of their spread,
or 1/√1000 of it."""
_MOST_STEPS_TO_MODE, _LONGEST_STEP, _AT_MODE, _ROUNDING = 40, 2.0, 1e-3, 1e-9
"""Newton steps to a mode, the longest of them in asinh of the slope, the one at which they end, and
the fall of a log-likelihood that is rounding. Points 1e-3 beside a mode serve as well."""
_UNLIKELY = 14.0
"""Log odds against it beyond which an item is not taken as inverted, or as regular: of a million
such items one would be."""
_LEAST_SLOPE = 0.05
"""Least median slope, and spread of intercepts, to start from: less tells nothing apart."""
_ABSCISSAE, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
_STEPS = np.stack(np.meshgrid(_ABSCISSAE, _ABSCISSAE), axis=-1).reshape(-1, 2)
_LOG_WEIGHTS = np.log(np.outer(_WEIGHTS, _WEIGHTS).ravel()) + 0.5 * (_STEPS**2).sum(axis=1)
"""Of an integral over the plane, from those of one with a normal density."""
_EXPECTED = ItemDistribution(
    slope=1.0,
    bend=1.0,
    log_slope_spread=0.4,  # as the weak prior has it
    inverted=0.02,  # two SDs of its logit on either side are 0.04 and 53 %
    difficulty=0.0,
    difficulty_spread=1.0,  # as that of ability
    intercept=0.0,
    intercept_spread=0.5,
)
_EXPECTED_PRECISION = np.array([0.0, 1.0, 1.0, 0.25, 0.1, 1.0, 0.1, 1.0])
"""How sure they are, in the order of `ItemDistribution`: with the weight of about one item, so that
what hardly any item tells of stays near them; none of the typical slope, which every item does."""
_LOWEST, _HIGHEST = (
    ItemDistribution(*numbers).vector
    for numbers in (
        (1e-3, 0.1, 0.02, 1e-6, -1e3, 0.01, -1e3, 0.02),
        (1e3, 10.0, 1.0, 0.5, 1e3, 1e2, 1e3, 1e2),
    )
)


_LOGITS, _STEEP = 0.3, 0.9
"""How far places are apart, in logits of items at this quantile of steepness: the log-likelihood of
12 responses to an item three times as steep is then off by 1e-4, of the others by far less."""
_NO_MASS = 1e-9
"""Share of all responses below which a place is left out."""


class Local(NamedTuple):
    """Gradient and expected information by slope and intercept, (n, 2) and (n, 2, 2)."""

    score: Array
    information: Array


class ItemLikelihoods:
    """Likelihoods of the items of a fit as functions of their slopes and intercepts.

    Guessing stays where it is. Slopes meet the absolute limit of the weak prior: an item that
    splits the respondents perfectly is as likely with any steeper slope.
    """

    def __init__(self, patterns: Patterns, items: Items, grid: Grid) -> None:
        self.n_items = len(items.slope)
        self._guessing = items.logit_guessing
        theta, copies = grid.nodes.theta, patterns.copies(np.ones(self.n_items)).astype(np.intp)
        # curves at the nodes themselves: few respondents say little of how items are distributed,
        # and what is learned of it moves by 1e5 times an error of interpolation
        exact = Grid(grid.nodes._replace(points=theta, interpolation=None), grid.log_weights)
        steep = float(np.quantile(np.abs(np.repeat(items.slope, copies)), _STEEP))
        n_places = max(int(np.ptp(theta) * steep / _LOGITS) + 1, STENCIL)
        places, carried = theta, np.eye(len(theta))
        if n_places < len(theta):
            places = np.linspace(theta[0], theta[-1], n_places)
            carried = local_interpolation(theta, places)
        right = np.zeros((self.n_items, len(places)))
        responses = np.zeros((1 if patterns.complete else self.n_items, len(theta)))
        for _, some, answered, _, counted in posterior_weights(patterns, items, exact):
            right += some.T @ (counted.T @ carried)
            responses += counted.sum(axis=1) if answered is None else answered.T @ counted.T
        mass = responses.sum(axis=0)
        kept = np.abs(mass @ carried) > _NO_MASS * mass.sum()
        carried = carried[:, kept]
        self._theta: Array = places[kept]
        self._responses: Array = responses @ carried
        self._functions = np.stack([self._theta, np.ones_like(self._theta)], axis=1)
        self._right: Array = right[:, kept]
        """Right responses at each place; without guessing their Σθ and Σ1."""
        if self._guessing is None:
            self._right = self._right @ self._functions

    def log_likelihood(self, items: Places, slope: Array, intercept: Array) -> Array:
        """Log likelihood of some items, each at several points; shapes (n,), (n, n_points)."""
        value = np.empty_like(slope)
        for part in self._parts(len(items), slope.shape[1]):
            some, a, d = items[part], slope[part], intercept[part]
            z = a[:, :, None] * self._theta + d[:, :, None]
            rise = softplus(z)
            right, responses = self._right[some], self._responses_of(some)
            if self._guessing is None:
                value[part] = a * right[:, :1] + d * right[:, 1:] - _sum(rise, responses)
                continue
            _, p, c = self._curves(np.repeat(some, a.shape[1]), a.ravel(), d.ravel())
            log_right = np.log(p).reshape(z.shape)
            log_wrong = np.log1p(-c).reshape(*a.shape, 1) - rise
            value[part] = _sum(log_right - log_wrong, right) + _sum(log_wrong, responses)
        return value + STEEP.at(slope).value

    def local(self, items: Places, slope: Array, intercept: Array) -> Local:
        """Gradient and expected information of some items at slopes and intercepts, (n,)."""
        score, information = np.empty((len(items), 2)), np.empty((len(items), 2, 2))
        for part in self._parts(len(items), 1):
            some = items[part]
            at = self._curves(some, slope[part], intercept[part])
            responses, right = self._responses_of(some), self._right[some]
            if self._guessing is None:
                score[part] = right - (responses * at.p) @ self._functions
            else:
                score[part] = ((right / at.p - responses) * at.s) @ self._functions
            by_logit = curvatures(at, responses)[:1]
            information[part] = complete_data_information(by_logit, self._theta)
        limit = STEEP.at(slope)
        score[:, 0] += limit.derivative
        information[:, 0, 0] += limit.curvature
        return Local(score, information)

    def _curves(self, some: Places, slope: Array, intercept: Array) -> Curves:
        logit = None if self._guessing is None else self._guessing[some]
        return curves_of(Items(slope, intercept, logit), self._theta)

    def _responses_of(self, some: Places) -> Array:
        return self._responses if len(self._responses) == 1 else self._responses[some]

    def _parts(self, n: int, n_points: int) -> Iterator[slice]:
        return blocks(n, n_points * len(self._theta))


def _sum(table: Array, weights: Array) -> Array:
    """Sum over nodes; shapes (n, n_points, n_nodes) and (n or 1, n_nodes)."""
    if len(weights) == 1:
        return np.asarray(table @ weights[0])
    return np.asarray((table @ weights[:, :, None])[:, :, 0])


class _Modes(NamedTuple):
    """Where the posterior of items of a kind is highest, and how wide it is there."""

    item: Places
    sign: Array
    """Shape (n,): 1 for regular, −1 for inverted."""
    at: Array
    """u and e, (n, 2)."""
    factor: Array
    """Lower triangular factor of their covariance, (n, 2, 2)."""


class _Points(NamedTuple):
    """Points of the integrals over items, one row for each item and kind."""

    item: Places
    sign: Array
    """Shape (n, 1)."""
    slope: Array
    """Shape (n, n_points)."""
    intercept: Array
    log_weight: Array
    """Log likelihood and log weight in an integral over slope and intercept."""


class _Shares(NamedTuple):
    """What each point counts for in the posterior of its item."""

    value: Array
    """Shape (n, n_points)."""
    log_marginal: Array
    """Log marginal likelihood of each item, (n_items,)."""


def empirical_bayes(
    problem: Problem, maximum: Maximum, schedule: GridSchedule
) -> tuple[Problem, Maximum]:
    """Let items learn from each other; their distribution is then the prior.

    Abilities keep mean 0 and SD 1, and the distribution is told in their units.
    """
    items, patterns = problem.items(maximum.x), problem.engine.patterns
    grid = MarginalLikelihood(problem.engine, maximum.nodes).grid(items)
    likelihoods = ItemLikelihoods(patterns, items, grid)
    whole = _by_data(patterns)
    sample = whole[:: -(-len(whole) // _ITEMS_LEARNED_FROM)]
    distribution = _learned(likelihoods, sample, _rough(items.chosen(whole)))
    slope, intercept = _posterior_means(likelihoods, distribution)
    plain = problem_of(patterns, problem.parameters.model, None, problem.mesh)
    x = plain.parameters.vector(Items(slope, intercept, items.logit_guessing))
    moved = with_unit_scale(plain, at_vector(plain, x, maximum, schedule), schedule)
    after, steepest = plain.items(moved.x), int(np.argmax(np.abs(slope)))
    scale = float(after.slope[steepest] / slope[steepest])
    shift = float((after.intercept - intercept)[steepest] / slope[steepest])
    weak: Any = problem.prior
    learned = replace(distribution.in_units(scale, shift), chance=weak.chance)
    return plain._replace(prior=learned), moved


def _rough(items: Items) -> ItemDistribution:
    """Return a distribution to start from: half of the intercepts' variance goes with slopes."""
    slope = max(abs(float(np.median(items.slope))), _LEAST_SLOPE)
    spread = max(float(np.std(items.intercept)), _LEAST_SLOPE) / np.sqrt(2)
    difficulty = -float(np.median(items.intercept)) / slope
    return replace(
        _EXPECTED,
        slope=slope,
        difficulty=difficulty,
        difficulty_spread=spread / slope,
        intercept_spread=spread,
    )


def _by_data(patterns: Patterns) -> Places:
    """All items, copies too, by their proportion right and how able those who got it right were.

    Of very many every k-th is learned from. What orders them are sums of whole numbers: estimates
    are rounded, and where two of them change places others are learned from.
    """
    n_right = patterns.margins.respondent_right
    powers = [patterns.weight * n_right**k for k in range(3)]
    share, *of_able = (
        patterns.right_sums(power) / np.maximum(patterns.response_sums(power), 1)
        for power in powers
    )
    order = np.lexsort((*reversed(of_able), share))
    return np.repeat(order, patterns.copies(np.ones(len(order)))[order].astype(np.intp))


def _learned(
    likelihoods: ItemLikelihoods, sample: Places, start: ItemDistribution
) -> ItemDistribution:
    """Return the likeliest distribution of a sample of the items, which may hold copies."""
    distribution, (sample, copies) = start, np.unique(sample, return_counts=True)
    points, trust = _points(likelihoods, sample, distribution), 1.0
    value = _log_posterior(points, copies, distribution)
    for _ in range(_ROUNDS):
        moved, gain = _likeliest(points, copies, distribution, trust)
        if gain < _SETTLED:
            return moved
        of_moved = _points(likelihoods, sample, moved)
        of_value = _log_posterior(of_moved, copies, moved)
        if of_value < value:
            if trust < _LEAST_TRUST:
                return distribution
            trust /= 4
            continue
        distribution, points, value, trust = moved, of_moved, of_value, min(2 * trust, 1.0)
    return distribution


def _log_posterior(points: _Points, copies: Places, distribution: ItemDistribution) -> float:
    """Log marginal likelihood of the points, with what is taken of the distribution in advance."""
    places = points.slope, points.intercept, points.sign
    shares = _shares(points, distribution.log_density(*places))
    off = distribution.vector - _EXPECTED.vector
    return float(copies @ shares.log_marginal) - 0.5 * float(_EXPECTED_PRECISION @ off**2)


def _likeliest(
    points: _Points, copies: Places, start: ItemDistribution, trust: float
) -> tuple[ItemDistribution, float]:
    """Maximise the log marginal likelihood of the points, not far from the start; and the gain."""
    from scipy.optimize import Bounds, minimize

    n_items, place = copies.sum(), np.unique(points.item, return_inverse=True)[1].ravel()
    expected = _EXPECTED.vector

    def loss(vector: Array) -> tuple[float, Array]:
        distribution = ItemDistribution.from_vector(vector)
        places = points.slope, points.intercept, points.sign
        shares = _shares(points, distribution.log_density(*places))
        off = vector - expected
        total = float(copies @ shares.log_marginal) - 0.5 * float(_EXPECTED_PRECISION @ off**2)
        weights = shares.value * copies[place, None]
        by_vector = distribution.gradient(*places, weights) - _EXPECTED_PRECISION * off
        return -total / n_items, np.asarray(-by_vector / n_items)

    vector = np.clip(start.vector, _LOWEST, _HIGHEST)
    bounds = Bounds(
        np.maximum(vector - trust * _TRUSTED_DOWN, _LOWEST),
        np.minimum(vector + trust * _TRUSTED_UP, _HIGHEST),
    )
    found = minimize(
        loss,
        vector,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": _MOST_STEPS_ON_POINTS},
    )
    gain = (loss(vector)[0] - float(found.fun)) * n_items
    return ItemDistribution.from_vector(found.x), gain


def _posterior_means(
    likelihoods: ItemLikelihoods, distribution: ItemDistribution
) -> tuple[Array, Array]:
    """Posterior means of slope and intercept of every item."""
    n_items = likelihoods.n_items
    slope, intercept = np.zeros(n_items), np.zeros(n_items)
    for part in blocks(n_items, 2 * len(_STEPS)):
        some = np.arange(part.start, part.stop)
        points = _points(likelihoods, some, distribution)
        value = distribution.log_density(points.slope, points.intercept, points.sign)
        share = _shares(points, value).value
        slope += np.bincount(points.item, (share * points.slope).sum(axis=1), n_items)
        intercept += np.bincount(points.item, (share * points.intercept).sum(axis=1), n_items)
    return slope, intercept


def _shares(points: _Points, log_density: Array) -> _Shares:
    """Posterior share of every point, given the log density of the items at the points."""
    joint = points.log_weight + log_density
    place = np.unique(points.item, return_inverse=True)[1].ravel()
    peak = np.full(int(place.max()) + 1, -np.inf)
    np.maximum.at(peak, place, joint.max(axis=1))
    share = np.exp(joint - peak[place, None])
    total = np.bincount(place, share.sum(axis=1))
    return _Shares(share / total[place, None], peak + np.log(total))


def _points(likelihoods: ItemLikelihoods, items: Places, distribution: ItemDistribution) -> _Points:
    """Points around the modes of some items, of kinds that they may well be of."""
    kinds = [_modes(likelihoods, items, sign, distribution) for sign in (1.0, -1.0)]
    evidence = np.stack([_evidence(likelihoods, modes, distribution) for modes in kinds])
    likely = evidence > evidence.max(axis=0) - _UNLIKELY
    modes = _Modes(
        *(
            np.concatenate([part[kept] for part, kept in zip(parts, likely, strict=True)])
            for parts in zip(*kinds, strict=True)
        )
    )
    u, e = np.moveaxis(modes.at[:, None] + _STEPS @ np.swapaxes(modes.factor, 1, 2), 2, 0)
    return _placed(likelihoods, modes, Standardised(u, e), _LOG_WEIGHTS, distribution)


def _evidence(likelihoods: ItemLikelihoods, modes: _Modes, distribution: ItemDistribution) -> Array:
    """Log marginal likelihood of every item by Laplace's approximation, up to a constant."""
    at = Standardised(modes.at[:, :1], modes.at[:, 1:])
    points = _placed(likelihoods, modes, at, np.zeros(1), distribution)
    value = distribution.log_density(points.slope, points.intercept, points.sign)
    return np.asarray((points.log_weight + value)[:, 0])


def _placed(
    likelihoods: ItemLikelihoods,
    modes: _Modes,
    at: Standardised,
    log_weights: Array,
    distribution: ItemDistribution,
) -> _Points:
    """Points with what they weigh in an integral over slope and intercept."""
    sign = modes.sign[:, None]
    slope, intercept = distribution.items(at, sign)
    by_u, _, by_e = distribution.jacobian(slope, at, sign)
    volume = np.log(np.abs(by_u) * by_e)
    volume += np.log(np.einsum("jkk->jk", modes.factor)).sum(axis=1, keepdims=True)
    log_likelihood = likelihoods.log_likelihood(modes.item, slope, intercept)
    return _Points(modes.item, sign, slope, intercept, log_likelihood + log_weights + volume)


def _modes(
    likelihoods: ItemLikelihoods, items: Places, kind: float, distribution: ItemDistribution
) -> _Modes:
    """Modes of the posteriors of items of one kind.

    Newton steps on expected information, of which those that lead down are damped (Levenberg 1944).
    """
    centre = np.array([distribution.centre, 0.0])
    precision = np.array([distribution.log_slope_spread**-2, 1.0])
    sign = np.full(len(items), kind)

    def height(at: Array) -> Array:
        slope, intercept = distribution.items(Standardised(at[:, :1], at[:, 1:]), sign[:, None])
        value = likelihoods.log_likelihood(items, slope, intercept)[:, 0]
        return np.asarray(value - 0.5 * (at - centre) ** 2 @ precision)

    at = np.tile(centre, (len(items), 1))
    here, damping = height(at), np.zeros(len(items))
    for _ in range(_MOST_STEPS_TO_MODE):
        slope, intercept = distribution.items(Standardised(*at.T), sign)
        local = likelihoods.local(items, slope, intercept)
        by_u, with_slope, by_e = distribution.jacobian(slope, Standardised(*at.T), sign)
        moves = np.zeros((len(items), 2, 2))  # of slope and intercept (rows) by u and e
        moves[:, 0, 0], moves[:, 1, 0], moves[:, 1, 1] = by_u, with_slope, by_e
        turned = np.swapaxes(moves, 1, 2)
        information = turned @ local.information @ moves + np.diag(precision)
        gradient = (turned @ local.score[:, :, None])[:, :, 0] - precision * (at - centre)
        damped = information * (1 + damping[:, None, None] * np.eye(2))
        step = np.linalg.solve(damped, gradient[:, :, None])[:, :, 0]
        if np.abs(step).max() < _AT_MODE:
            break
        step[:, 0] = np.clip(step[:, 0], -_LONGEST_STEP, _LONGEST_STEP)
        there = height(at + step)
        up = there >= here - _ROUNDING
        at[up] += step[up]
        here = np.where(up, there, here)
        damping = np.where(up, damping / 10, np.maximum(10 * damping, 1.0))
    return _Modes(items, sign, at, np.linalg.cholesky(np.linalg.inv(information)))
