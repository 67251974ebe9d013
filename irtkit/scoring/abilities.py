"""Abilities of respondents on items whose parameters are known.

With ℓ(θ) the log-likelihood of a respondent and φ the density of the population N(0, 1),

- EAP is the mean of the posterior, which is proportional to exp(ℓ)·φ. - ML maximises ℓ, and MAP
maximises ℓ + log φ. - WLE solves ℓ' + J/(2I) = 0, with the information I of the items answered and
  J = Σ P'P''/(P(1 − P)) (Warm 1989).

ℓ is computed on a grid of abilities. ML, MAP and WLE start at the highest node, because a 3PL
likelihood can have several modes. Newton's method then stays between the nodes next to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, sici

from irtkit.calibration.search import GridSchedule
from irtkit.data.patterns import BLOCK, blocks, float_blocks
from irtkit.irf import (
    ItemParameters,
    Items,
    level_curves,
    level_information,
    logistic,
    softplus,
)
from irtkit.quadrature.nodes import HALF_WIDTH, NodeDensity
from irtkit.scoring.scores import number_right

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes
    from irtkit.scoring.scores import MethodName

    Curve = Callable[[ItemParameters, Array], Array]  # From abilities to (n_nodes, n_items).

_REFINED = 3  # Density of nodes, as a multiple of what a likelihood needs: quantiles within 1e-5.
_NEAR = 32  # Nodes to each side that correct a cumulative sum.
_NEGLIGIBLE_STEP, _ROUNDING = 1e-4, 1e-6  # Step in standard errors, and that of 32 bits.
_AS_HIGH = 1e-9  # Relative difference of log-likelihoods, or posterior probability, taken for 0.
_WIDER, _WIDEST = 4.0, 4096.0  # Factor by which a grid with estimates at its end grows, and limit.
_LEAST = 1e-300  # Smallest number that is divided by or has a logarithm.
_WIDE_SHARE, _WIDE_SD = 0.05, 3.0  # Wide part of the heavy-tailed prior (benchmarks/beyond.py).


class ItemCurves:
    """Functions of ability of some items at the nodes of a grid, each computed once."""

    def __init__(self, items: ItemParameters, theta: Array, spread: Array | None = None) -> None:
        self.items, self.theta = items, theta
        self.spread = spread  # Variance of an answer to each item, in P(1 − P), if not 1.
        self._each: dict[Curve, Array] = {}
        self._sums: dict[Curve, Array] = {}

    def each(self, curve: Curve) -> Array:
        """Values of every item, (n_items, n_nodes)."""
        if curve not in self._each:
            found = np.empty((len(self.theta), self.items.n_items))
            for some in blocks(*found.shape, BLOCK // 8):
                found[some] = curve(self.items, self.theta[some])
            if curve is _variance and self.spread is not None:
                found *= self.spread
            self._each[curve] = found.T
        return self._each[curve]

    def total(self, curve: Curve, answered: Any) -> Array:
        """Sum over the items answered, (n, n_nodes), or over all items, (1, n_nodes), if None.

        ``answered``, (n, n_items), counts trials.
        """
        if answered is not None:
            return np.asarray(answered @ self.each(curve))
        if self.items.steps is not None or self.spread is not None:
            return np.asarray(self.each(curve).sum(axis=0)[None])
        if curve not in self._sums:  # items with the same parameters once
            of = self.items.discrimination, self.items.intercept, self.items.guessing
            distinct, copies = np.unique(np.stack(of), axis=1, return_counts=True)
            parts = blocks(len(self.theta), len(copies), BLOCK // 8)
            items = ItemParameters(*distinct)
            sums = [curve(items, self.theta[some]) @ copies for some in parts]
            self._sums[curve] = np.concatenate(sums)[None]
        return self._sums[curve]


def log_likelihood(curves: ItemCurves, right: Any, answered: Any) -> Array:
    """ℓ(θ) at the nodes, (n, n_nodes), from trials, (n, n_items), where None means one each."""
    items = curves.items
    if items.steps is not None:
        found = np.zeros((len(right), len(curves.theta)))
        marks, tried = items.top == 1, np.ones_like(right) if answered is None else answered
        seen = (tried > 0) & ~marks
        level, of_marks = np.rint(right), (tried - right, right)
        for k, log_p in enumerate(np.moveaxis(items.log_probability(curves.theta), 1, 0)):
            weight = ((level == k) & seen).astype(np.float64)
            if k < 2:
                weight[:, marks] = of_marks[k][:, marks]
            found += weight @ log_p
        return found
    if items.guessing.any():
        found = right @ curves.each(_log_odds)
    else:
        by_slope = np.multiply.outer(right @ items.discrimination, curves.theta)
        found = by_slope + (right @ items.intercept)[:, None]
    return np.asarray(found + curves.total(_log_wrong, answered))


@np.errstate(under="ignore")
def posterior_of(likelihood: Array, nodes: Nodes, *, heavy_tailed: bool = False) -> Array:
    """Posterior of ability with the prior N(0, 1), or a mixture with a wider one, (n, n_nodes)."""
    prior = nodes.normal_log_weights(1.0)
    if heavy_tailed:
        wide = np.log(_WIDE_SHARE) + nodes.normal_log_weights(_WIDE_SD)
        prior = np.logaddexp(np.log1p(-_WIDE_SHARE) + prior, wide)
    log = likelihood + prior
    found = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def nodes_for(items: ItemParameters) -> Nodes:
    """Grid for posteriors of respondents who answered all of some items, with the prior N(0, 1)."""
    known = items.items if items.n_items else Items(np.zeros(1), np.zeros(1))
    return NodeDensity.of(known, HALF_WIDTH).nodes(interpolates=False)


class Abilities(NamedTuple):
    """Estimates of every respondent, each (n,), in SDs of the population."""

    ability: Array  # Infinite if the likelihood has no maximum, NaN if nothing was answered.
    se: Array
    low: Array
    high: Array
    rest: Array  # Expected number right of the items not answered.
    rest_variance: Array  # Its variance: of ability, and of each answer.
    above: Array  # Probability that more of these items than a limit are right.


def abilities(
    patterns: Patterns,
    items: ItemParameters,
    method: MethodName,
    *,
    rest: ItemParameters,
    level: float,
    limit: tuple[Array, Array] | None = None,
    spread: tuple[Array, Array] | None = None,
) -> Abilities:
    """Ability of every respondent, in a population with abilities N(0, 1).

    ``rest`` are further items of the benchmark, which nobody answered. ``above`` needs a
    ``limit``: a number right and unexplained variance, each (n,).
    ``spread`` is the variance of an answer to each item and to each of ``rest``, in P(1 − P).
    """
    found = Abilities(*np.full((len(Abilities._fields), patterns.n), np.nan))
    waiting, half_width, tails = np.arange(patterns.n), 0.0, ((1 - level) / 2, (1 + level) / 2)
    while len(waiting):
        density = GridSchedule().density(items.items, patterns, half_width)
        nodes = density.nodes(_REFINED, interpolates=False)
        curves, unasked = (
            ItemCurves(one, nodes.theta, own)
            for one, own in zip((items, rest), spread or (None, None), strict=True)
        )
        half_width, left = float(nodes.theta[-1]), []
        some_rows = patterns if len(waiting) == patterns.n else patterns.chosen(waiting)
        for some, right, answered in float_blocks(some_rows, n_points=4 * len(nodes.theta)):
            rows = waiting[some]
            likelihood = log_likelihood(curves, right, answered)
            posterior = posterior_of(likelihood, nodes)
            if method == "EAP":
                estimate, at_end = _mean(nodes, posterior, tails)
            else:
                estimate, at_end = _highest(method, curves, right, answered, likelihood, tails)
            for room, values in zip(found, estimate, strict=False):
                room[rows] = values
            asked = None if answered is None else (answered > 0).astype(np.float64)
            if isinstance(asked, np.ndarray) and (asked == asked[0]).all():
                asked = asked[:1]
            by_node = [  # mean and variance of the number right of the items not answered
                unasked.total(of, None) + curves.total(of, None) - curves.total(of, asked)
                for of in (_probability, _variance)
            ]
            found.rest[rows], found.rest_variance[rows] = number_right(posterior, *by_node)
            if limit is not None:
                number, misfit = (part[rows, None] for part in limit)
                sd = np.sqrt(np.maximum(by_node[1] + misfit, _LEAST))
                beyond = ndtr((by_node[0] - number) / sd)
                heavy = posterior_of(likelihood, nodes, heavy_tailed=True)
                found.above[rows] = (heavy * beyond).sum(axis=1)
            left.append(rows[at_end])
        waiting = np.concatenate(left) if half_width < _WIDEST else waiting[:0]
        half_width *= _WIDER
    return found


@np.errstate(under="ignore")
def _mean(
    nodes: Nodes, posterior: Array, tails: tuple[float, float]
) -> tuple[tuple[Array, ...], Any]:
    """EAP, posterior SD and quantiles, and which posteriors reach the end of the grid.

    Nodes this dense determine a posterior (Shannon): its distribution function at node m is
    Σ wₖ(½ + Si(π(m − k))/π), with the sine integral Si. Its normal deviates are interpolated.
    """
    mean = posterior @ nodes.theta
    sd = np.sqrt(np.maximum(posterior @ nodes.theta**2 - mean**2, 0))
    below = np.cumsum(posterior, axis=1) - posterior / 2
    near = np.arange(-_NEAR, _NEAR + 1)
    steps = np.arange(-2, 2) - near[:, None]
    wave = sici(np.pi * steps)[0] / np.pi - np.sign(steps) / 2
    wave[[0, -1]] /= 2  # signs alternate, so that this is nearly what lies beyond
    bounds = []
    for tail in tails:
        _, around = _places((below < tail).sum(axis=1), len(nodes.theta))
        next_to = np.clip(around[:, [2]] + near, 0, len(nodes.theta) - 1)
        share = np.take_along_axis(below, around, axis=1)
        share += np.take_along_axis(posterior, next_to, axis=1) @ wave
        place = around[:, 0] + np.clip((share < tail).sum(axis=1), 1, 3)
        deviates = ndtri(np.clip(share, _LEAST, 1 - 1e-16))
        bounds.append(_reached(nodes.theta, deviates, place, around, ndtri(tail)))
    return (mean, sd, *bounds), posterior[:, [0, -1]].max(axis=1) > _AS_HIGH


def _highest(
    method: MethodName,
    curves: ItemCurves,
    right: Any,
    answered: Any,
    likelihood: Array,
    tails: tuple[float, float],
) -> tuple[tuple[Array, ...], Any]:
    """ML, MAP or WLE with standard errors and intervals, and which may lie beyond the grid."""
    theta, curve = curves.theta, likelihood
    if method == "MAP":
        curve = likelihood - 0.5 * theta**2
    elif method == "WLE":
        curve = likelihood + _log_weight(curves, answered)
    highest, peak = curve.argmax(axis=1), curve.max(axis=1)
    ends = curve[:, [0, -1]] >= (peak - _AS_HIGH * np.maximum(np.abs(peak), 1))[:, None]
    at_end = ends.any(axis=1)
    # start at the maximum of the parabola through the highest node and its neighbours
    around = np.clip(highest, 1, len(theta) - 2)[:, None] + np.arange(-1, 2)
    before, top, after = np.take_along_axis(curve, around, axis=1).T
    low, high = np.where(at_end, theta[highest], theta[around[:, [0, 2]].T])
    steps = (before - after) / np.minimum(before - 2 * top + after, -_LEAST) / 2
    start = np.clip(theta[highest] + steps * (high - low) / 2, low, high)
    ability, information = _newton(method, curves.items, right, answered, (start, low, high))
    with np.errstate(divide="ignore"):
        se = 1 / np.sqrt(np.maximum(information, 0))
    bounds = [ability + ndtri(tail) * se for tail in tails]
    if method == "MAP":
        return (ability, se, *bounds), at_end

    unknown = np.abs(curves.items.discrimination)
    unknown = unknown.sum() == 0 if answered is None else answered @ unknown == 0
    if method == "ML":
        _, around = _places(np.searchsorted(theta, ability), len(theta))
        values = np.take_along_axis(likelihood, around, axis=1)
        value = np.fmax(peak, _cubic(theta[around], values, ability))
        limits = _limits(curves.items, right, answered)
        endless = limits >= value - _AS_HIGH * np.maximum(np.abs(value), 1)
        endless &= limits == limits.max(axis=0)
        ability = np.where(endless[0], -np.inf, np.where(endless[1], np.inf, ability))
        se[np.isinf(ability)] = np.inf
        value = np.maximum(value, limits.max(axis=0))
        bounds = _likelihood_interval(theta, likelihood, ability, value, ndtri(tails[1]))
        at_end &= ~endless.any(axis=0)
    for values in (ability, se, *bounds):
        values[np.broadcast_to(unknown, len(values))] = np.nan
    return (ability, se, *bounds), at_end & ~unknown


def _newton(
    method: MethodName,
    items: ItemParameters,
    right: Any,
    answered: Any,
    bracket: tuple[Array, Array, Array],
) -> tuple[Array, Array]:
    """Find maxima within a bracket by Newton's method or bisection, with 1/SE² there."""
    ability, low, high = bracket
    information, waiting = np.empty_like(ability), np.arange(len(ability))
    width = max(right.shape[1] if isinstance(right, np.ndarray) else right.nnz // len(waiting), 1)
    while len(waiting):
        at = ability[waiting].astype(np.float32)
        slope, curvature = np.empty((2, len(waiting)))
        for some in blocks(len(waiting), width, BLOCK // 8):
            rows = waiting[some]
            cells = (part if part is None else part[rows] for part in (right, answered))
            found = _slopes(method, items, at[some], *cells)
            slope[some], curvature[some], information[rows] = found
        low[waiting] = np.where(slope > 0, at, low[waiting])
        high[waiting] = np.where(slope < 0, at, high[waiting])
        ends = low[waiting], high[waiting]
        step = slope / np.maximum(-curvature, _LEAST)
        outside = (at + step < ends[0]) | (at + step > ends[1])
        step = np.where(outside, sum(ends) / 2 - at, step)
        ability[waiting] = at + step
        error = np.minimum(1 / np.sqrt(np.maximum(information[waiting], _LEAST)), 1)
        waiting = waiting[np.abs(step) > _NEGLIGIBLE_STEP * error + _ROUNDING]
    return ability, information


def _slopes(
    method: MethodName, items: ItemParameters, theta: Any, right: Any, answered: Any
) -> tuple[Array, Array, Array]:
    """First and second derivative of what a method maximises, and 1/SE², each (n,).

    With n trials and r of them right, s = σ(aθ + d), f = s/P = 1/(1 + c·exp(−aθ − d)),
    q = 1 − P, u = rfq, v = (n − r)s and i = nfsq,

        ℓ' = Σ a(u − v), ℓ'' = Σ a²(u(1 − f − s) − v(1 − s)), I = Σ a² i, J = Σ a³ i(1 − 2s),

    and i' = ai(2 − 2s − f). No term is a difference of large numbers, so that 32 bits are enough.
    """
    if items.steps is not None:
        return _slopes_of_levels(items, theta, right, answered)
    parts = (items.discrimination, items.intercept, items.guessing, theta)
    a, d, c, theta = (part.astype(np.float32) for part in parts)
    if answered is None or isinstance(answered, np.ndarray):
        r, minus_z = right.astype(np.float32), np.multiply.outer(theta, -a) - d
        n = 1 if answered is None else answered.astype(np.float32)
    else:
        columns, kind, where = answered.indices, type(answered), (answered.indices, answered.indptr)
        r, n = right.data.astype(np.float32), answered.data.astype(np.float32)
        minus_z = -np.repeat(theta, np.diff(answered.indptr)) * a[columns] - d[columns]
        c = c[columns]

    def total(values: Any, by_item: Any) -> Array:
        if values.ndim == 1:
            values = kind((values, *where), answered.shape)
        return np.asarray(values @ by_item, dtype=np.float64)

    decay, guessing = np.exp(np.minimum(minus_z, 80)), c.any()
    s = 1 / (1 + decay)
    wrong = decay * s
    f = 1 / (1 + c * decay) if guessing else 1
    q = (1 - c) * wrong if guessing else wrong
    u, v = r * (f * q), (n - r) * s
    slope, curvature = total(u - v, a), total(u * (1 - f - s) - v * wrong, a**2)
    if method == "MAP":
        return slope - theta, curvature - 1, 1 - curvature
    if method == "ML":
        return slope, curvature, -curvature
    i, bend = n * (f * s * q), wrong - s
    rise = 2 * wrong - f
    information = total(i, a**2)
    twice = 2 * np.maximum(information, _LEAST)
    bias, by_theta = total(i * bend, a**3), total(i * (rise * bend - 2 * s * wrong), a**4)
    by_theta -= 2 * bias * total(i * rise, a**3) / twice
    return slope + bias / twice, curvature + by_theta / twice, information


def _slopes_of_levels(
    items: ItemParameters, theta: Any, right: Array, answered: Any
) -> tuple[Array, Array, Array]:
    """The same of the posterior mode of levels, with the expected information."""
    of = items.items
    theta, marks = theta.astype(np.float64), items.top == 1
    tried = np.ones_like(right) if answered is None else answered
    seen = np.where(marks, tried, tried > 0)
    by_logit = level_curves(of, theta)[1]
    level = np.where(marks, 0, right).astype(np.intp)
    reached = items.reached[np.arange(items.n_items), level].T
    slopes = np.take_along_axis(by_logit, reached[:, None], axis=1)[:, 0].T * seen
    by_mark = by_logit[marks].T
    slopes[:, marks] = (tried - right)[:, marks] * by_mark[:, 0] + right[:, marks] * by_mark[:, 1]
    information = 1 + (level_information(of, theta).T * seen).sum(axis=1)
    return slopes @ of.slope - theta, -information, information


def _log_weight(curves: ItemCurves, answered: Any) -> Array:
    """∫ J/(2I) dθ by the corrected trapezoid rule, or ½ log I without guessing."""
    information = np.maximum(curves.total(ItemParameters.information, answered), _LEAST)
    if not curves.items.guessing.any():
        return np.asarray(0.5 * np.log(information))
    slope = curves.total(_bend, answered) / (2 * information)
    width, rise = np.diff(curves.theta), np.gradient(slope, curves.theta, axis=1)
    areas = (slope[:, 1:] + slope[:, :-1]) / 2 * width - np.diff(rise, axis=1) * width**2 / 12
    return np.pad(np.cumsum(areas, axis=1), ((0, 0), (1, 0)))


def _likelihood_interval(
    theta: Array, likelihood: Array, ability: Array, value: Array, deviate: float
) -> list[Array]:
    """Outermost abilities at which 2·(max ℓ − ℓ) is the square of a normal deviate.

    Its signed root is interpolated. An interval that reaches the end of the grid is infinite.
    """
    root = np.sqrt(2 * np.maximum(value[:, None] - likelihood, 0))
    signed = np.where(theta < ability[:, None], -root, root)
    first = (signed >= -deviate).argmax(axis=1)
    after_last = len(theta) - (signed <= deviate)[:, ::-1].argmax(axis=1)
    bounds = []
    for sign, place, end in ((-1, first, 0), (1, after_last, len(theta))):
        inside, around = _places(place, len(theta))
        values = np.take_along_axis(signed, around, axis=1)
        bound = _reached(theta, values, inside, around, sign * deviate)
        bounds.append(np.where((place == end) | (ability == sign * np.inf), sign * np.inf, bound))
    return bounds


def _limits(items: ItemParameters, right: Any, answered: Any) -> Array:
    """Limits of ℓ at −∞ and ∞, (2, n)."""
    a, c, found = items.discrimination, items.guessing, []
    flat = c + (1 - c) * logistic(items.intercept)
    for direction in (-1, 1):
        p = np.where(a == 0, flat, np.where(direction * a > 0, 1.0, c))
        sure, never = (p == 1).astype(np.float64), (p == 0).astype(np.float64)
        log_right, log_wrong = np.log(p + never), np.log1p(sure - p)
        n_sure, all_wrong = (
            by_item.sum() if answered is None else answered @ by_item
            for by_item in (sure, log_wrong)
        )
        against = n_sure - right @ sure + right @ never
        limit = right @ (log_right - log_wrong) + all_wrong
        found.append(np.where(against > _AS_HIGH, -np.inf, limit))
    return np.stack(found)


def _places(first: Any, n_nodes: int) -> tuple[Any, Any]:
    """Nodes within the grid whose left neighbour is there too, and four nodes around, (n, 4)."""
    place = np.clip(first, 1, n_nodes - 1)
    return place, np.clip(place, 2, n_nodes - 2)[:, None] + np.arange(-2, 2)


def _reached(theta: Array, values: Array, place: Any, around: Any, target: float) -> Array:
    """Ability before a node at which the cubic through four values, (n, 4), rises to a target."""
    ends = np.take_along_axis(values, place[:, None] - around[:, :1] + np.array([-1, 0]), axis=1)
    low, high = theta[place - 1], theta[place]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (target - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
        line = low + np.clip(np.nan_to_num(share, nan=0.5), 0, 1) * (high - low)
        cubic = _cubic(values, theta[around], np.full(len(values), target))
    return np.where((low <= cubic) & (cubic <= high), cubic, line)


def _cubic(x: Array, y: Array, at: Array) -> Array:
    """Value of the cubic through four points, each (n, 4) (Lagrange)."""
    value = np.zeros(len(at))
    for k in range(4):
        others = np.delete(x, k, axis=1)
        value += y[:, k] * ((at[:, None] - others) / (x[:, [k]] - others)).prod(axis=1)
    return value


def _probability(items: ItemParameters, theta: Array) -> Array:
    return items.probability(theta)


def _variance(items: ItemParameters, theta: Array) -> Array:
    return items.variance(theta)


def _bend(items: ItemParameters, theta: Array) -> Array:
    """P'P''/(P(1 − P)), whose sum is Warm's J."""
    tilt = items.discrimination * (1 - 2 * logistic(_logits(items, theta)))
    return np.asarray(items.information(theta) * tilt)


def _log_wrong(items: ItemParameters, theta: Array) -> Array:
    """Logarithm of 1 − P."""
    return np.asarray(np.log1p(-items.guessing) - softplus(_logits(items, theta)))


def _log_odds(items: ItemParameters, theta: Array) -> Array:
    """Logarithm of P/(1 − P), which is o + (1 + o)eᶻ with the odds o of guessing."""
    odds = items.guessing / (1 - items.guessing)
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(odds), _logits(items, theta) + np.log1p(odds))


def _logits(items: ItemParameters, theta: Array) -> Array:
    return np.multiply.outer(theta, items.discrimination) + items.intercept
