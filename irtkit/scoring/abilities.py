"""Abilities of respondents on items whose parameters are known.

With ℓ(θ) the log-likelihood of a respondent and φ the density of the population N(0, 1),

- EAP is the mean of the posterior, which is proportional to exp(ℓ)·φ. - ML maximises ℓ, and MAP
maximises ℓ + log φ. - WLE solves ℓ' + J/(2I) = 0, with the information I of the items answered and
  J = Σ P'P''/(P(1 − P)) (Warm 1989).

ℓ is computed on a grid of abilities. ML, MAP and WLE start near the highest node, because a 3PL
likelihood can have several modes. Newton's method then stays between the nodes next to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from irtkit.calibration.search import GridSchedule
from irtkit.data.patterns import BLOCK, blocks, float_blocks
from irtkit.irf import Curves, curvatures, level_curves, level_information, logistic
from irtkit.quadrature.nodes import lagrange_weights
from irtkit.quadrature.posterior import (
    ItemCurves,
    Posterior,
    crossing,
    four_around,
    level_weights,
    total,
)

if TYPE_CHECKING:
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters
    from irtkit.scoring.scores import MethodName

_AS_HIGH = 1e-9  # Relative difference of log-likelihoods, or posterior probability, taken for 0.
_LEAST = 1e-300  # Smallest number that is divided by or has a logarithm.


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
    spread: tuple[Any, Any] = (1.0, 1.0),
) -> Abilities:
    """Ability of every respondent, in a population with abilities N(0, 1).

    ``rest`` are further items of the benchmark, which nobody answered. ``above`` needs a
    ``limit``: a number right and unexplained variance, each (n,).
    ``spread`` is the variance of an answer to each item and to each of ``rest``, in P(1 − P).
    """
    estimates = Abilities(*np.full((len(Abilities._fields), patterns.n), np.nan))
    tails = ((1 - level) / 2, (1 + level) / 2)
    waiting = np.arange(patterns.n)
    half_width = 0.0
    while len(waiting):
        density = GridSchedule().density(items.items, patterns, half_width)
        nodes = density.nodes(3, interpolates=False)  # see `Posterior.quantile`
        half_width = float(nodes.theta[-1])
        curves = ItemCurves(items, nodes.theta, spread[0])
        unasked = ItemCurves(rest, nodes.theta, spread[1])
        beyond_grid = []
        rows_waiting = patterns if len(waiting) == patterns.n else patterns.chosen(waiting)
        for part, right, tried in float_blocks(rows_waiting, n_points=4 * len(nodes.theta)):
            rows = waiting[part]
            log_likelihood = curves.log_likelihood(right, tried)
            posterior = Posterior.of(log_likelihood, nodes)
            if method == "EAP":
                bounds = [posterior.quantile(tail) for tail in tails]
                values = [posterior.mean, posterior.sd, *bounds]
                at_ends = posterior.weights[:, [0, -1]]
                at_end = at_ends.max(axis=1) > _AS_HIGH
            else:
                values, at_end = _highest(method, curves, right, tried, log_likelihood, tails)
            for column, value in zip(estimates, values, strict=False):
                column[rows] = value
            asked = _asked(tried)
            mean = total(unasked.probability, None)
            variance = total(unasked.variance, None)
            if asked is not None:
                mean = mean + _left_out(curves.probability, asked)
                variance = variance + _left_out(curves.variance, asked)
            moments = posterior.number_right(mean, variance)
            estimates.rest[rows], estimates.rest_variance[rows] = moments
            if limit is not None:
                number, misfit = (values[rows, None] for values in limit)
                sd = np.sqrt(np.maximum(variance + misfit, _LEAST))
                above = ndtr((mean - number) / sd)
                heavy = Posterior.of(log_likelihood, nodes, heavy_tailed=True)
                estimates.above[rows] = (heavy.weights * above).sum(axis=1)
            beyond_grid.append(rows[at_end])
        # a grid with estimates at its end is widened
        waiting = np.concatenate(beyond_grid) if half_width < 4096.0 else waiting[:0]
        half_width *= 4.0
    return estimates


def _left_out(curves: Array, asked: Any) -> Array:
    """Sum of curves over the items that were not answered, (n, n_nodes) or (1, n_nodes)."""
    return total(curves, None) - total(curves, asked)


def _asked(tried: Any) -> Any:
    """Which items were answered, (n, n_items), or (1, n_items) if all respondents answered them."""
    if tried is None:
        return None
    asked = (tried > 0).astype(np.float64)
    dense = isinstance(asked, np.ndarray)
    alike = dense and (asked == asked[0]).all()
    return asked[:1] if alike else asked


def _highest(
    method: MethodName,
    curves: ItemCurves,
    right: Any,
    tried: Any,
    log_likelihood: Array,
    tails: tuple[float, float],
) -> tuple[list[Array], Any]:
    """ML, MAP or WLE with standard errors and intervals, and which may lie beyond the grid."""
    theta = curves.theta
    objective = log_likelihood
    if method == "MAP":
        objective = log_likelihood - 0.5 * theta**2
    elif method == "WLE":
        objective = log_likelihood + _log_weight(curves, tried)
    highest = objective.argmax(axis=1)
    peak = objective.max(axis=1)
    as_high = peak - _AS_HIGH * np.maximum(np.abs(peak), 1)
    ends = objective[:, [0, -1]] >= as_high[:, None]
    at_end = ends.any(axis=1)
    before = np.where(at_end, highest, np.maximum(highest - 1, 0))
    after = np.where(at_end, highest, np.minimum(highest + 1, len(theta) - 1))
    low = theta[before]
    high = theta[after]
    # the maximum of the parabola through the highest node and its neighbours
    inside = np.clip(highest, 1, len(theta) - 2)
    around = inside[:, None] + np.arange(-1, 2)
    value_before, value, value_after = np.take_along_axis(objective, around, axis=1).T
    fall = np.maximum(2 * value - value_before - value_after, _LEAST)
    steps = (value_after - value_before) / fall / 2
    start = theta[highest] + steps * (high - low) / 2
    bracket = low, high
    start = np.clip(start, low, high)
    ability, information = _newton(method, curves.items, right, tried, start, bracket)
    with np.errstate(divide="ignore"):
        se = 1 / np.sqrt(np.maximum(information, 0))
    bounds = [ability + ndtri(tail) * se for tail in tails]
    if method == "MAP":
        return [ability, se, *bounds], at_end

    slopes = np.abs(curves.items.discrimination)
    unknown = slopes.sum() == 0 if tried is None else tried @ slopes == 0
    if method == "ML":
        around = four_around(np.searchsorted(theta, ability), len(theta))
        cubic = lagrange_weights(theta[around], ability)
        at_ability = (cubic * np.take_along_axis(log_likelihood, around, axis=1)).sum(axis=1)
        value = np.fmax(peak, at_ability)
        limits = _limits(curves.items, right, tried)
        highest_limit = limits.max(axis=0)
        as_high = value - _AS_HIGH * np.maximum(np.abs(value), 1)
        endless = limits >= as_high
        endless &= limits == highest_limit
        ability[endless[1]] = np.inf
        ability[endless[0]] = -np.inf
        se[np.isinf(ability)] = np.inf
        value = np.maximum(value, highest_limit)
        bounds = _likelihood_interval(theta, log_likelihood, ability, value, ndtri(tails[1]))
        at_end &= ~endless.any(axis=0)
    for values in (ability, se, *bounds):
        values[np.broadcast_to(unknown, len(values))] = np.nan
    return [ability, se, *bounds], at_end & ~unknown


def _newton(
    method: MethodName,
    items: ItemParameters,
    right: Any,
    tried: Any,
    start: Array,
    bracket: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Find maxima within a bracket by Newton's method or bisection, with 1/SE² there."""
    ability = start.copy()
    low, high = bracket
    information = np.empty_like(ability)
    waiting = np.arange(len(ability))
    while len(waiting):
        at = ability[waiting]
        slope, curvature = np.empty((2, len(waiting)))
        for part in blocks(len(waiting), items.n_items, BLOCK // 8):
            rows = waiting[part]
            answers = _dense(right, rows), _dense(tried, rows)
            derivatives = _derivatives(method, items, at[part], *answers)
            slope[part], curvature[part], information[rows] = derivatives
        low[waiting] = np.where(slope > 0, at, low[waiting])
        high[waiting] = np.where(slope < 0, at, high[waiting])
        lowest = low[waiting]
        highest = high[waiting]
        newton = at + slope / np.maximum(-curvature, _LEAST)
        inside = (lowest <= newton) & (newton <= highest)
        ability[waiting] = np.where(inside, newton, (lowest + highest) / 2)
        step = np.abs(ability[waiting] - at)
        error = 1 / np.sqrt(np.maximum(information[waiting], _LEAST))
        error = np.minimum(error, 1)
        waiting = waiting[step > 1e-6 * error]  # in standard errors
    return ability, information


def _dense(answers: Any, rows: Any) -> Any:
    """Some rows of answers as an array; one trial each if answers are None."""
    if answers is None or isinstance(answers, np.ndarray):
        return answers if answers is None else answers[rows]
    return answers[rows].toarray()


def _derivatives(
    method: MethodName, items: ItemParameters, theta: Array, right: Array, tried: Array | None
) -> tuple[Array, Array, Array]:
    """First and second derivative of what a method maximises, and 1/SE², each (n,).

    With n trials and r of them right, and s = σ(aθ + d), ℓ' = Σ a (r − nP) s/P. The second
    derivative of the WLE leaves out that of J/(2I). That of levels is the expected one.
    """
    tried = np.ones_like(right) if tried is None else tried
    if items.steps is not None:
        by_logit = level_curves(items.items, theta)[1]
        by_level = np.take_along_axis(by_logit, items.reached[:, :, None], axis=1)
        weights = level_weights(items, right, tried)
        by_item = np.zeros_like(right)
        for level, weight in enumerate(weights):
            by_item += weight * by_level[:, level].T
        answered = np.where(items.top == 1, tried, tried > 0)
        of_items = level_information(items.items, theta).T
        information = 1 + (of_items * answered).sum(axis=1)
        return by_item @ items.discrimination - theta, -information, information
    a = items.discrimination
    c = items.guessing
    s = logistic(np.multiply.outer(theta, a) + items.intercept)
    p = c + (1 - c) * s
    ratio = np.divide(s, p, out=np.ones_like(s), where=p > 0) if c.any() else 1.0
    residual = right - tried * p
    slope = (residual * ratio) @ a
    by_logit = curvatures(Curves(s, p, c), tried, right)[0]
    curvature = -by_logit @ a**2
    if method == "MAP":
        return slope - theta, curvature - 1, 1 - curvature
    if method == "ML":
        return slope, curvature, -curvature
    of_trials = tried * ratio * s * (1 - s) * (1 - c)
    information = of_trials @ a**2
    bend = (of_trials * (1 - 2 * s)) @ a**3
    return slope + bend / (2 * np.maximum(information, _LEAST)), curvature, information


def _log_weight(curves: ItemCurves, tried: Any) -> Array:
    """∫ J/(2I) dθ by the corrected trapezoid rule, or ½ log I without guessing."""
    information = np.maximum(total(curves.information, tried), _LEAST)
    if not curves.items.guessing.any():
        return np.asarray(0.5 * np.log(information))
    slope = total(curves.bend, tried) / (2 * information)
    width = np.diff(curves.theta)
    rise = np.gradient(slope, curves.theta, axis=1)
    middle = (slope[:, 1:] + slope[:, :-1]) / 2
    areas = middle * width
    areas -= np.diff(rise, axis=1) * width**2 / 12
    return np.pad(np.cumsum(areas, axis=1), ((0, 0), (1, 0)))


def _likelihood_interval(
    theta: Array, log_likelihood: Array, ability: Array, value: Array, deviate: float
) -> list[Array]:
    """Outermost abilities at which 2·(max ℓ − ℓ) is the square of a normal deviate.

    Its signed root is interpolated. An interval that reaches the end of the grid is infinite.
    """
    n_nodes = len(theta)
    fall = np.maximum(value[:, None] - log_likelihood, 0)
    root = np.sqrt(2 * fall)
    signed = np.where(theta < ability[:, None], -root, root)
    first = (signed >= -deviate).argmax(axis=1)
    after_last = n_nodes - (signed <= deviate)[:, ::-1].argmax(axis=1)
    bounds = []
    for sign, place, end in ((-1, first, 0), (1, after_last, n_nodes)):
        inside = np.clip(place, 1, n_nodes - 1)
        around = four_around(inside, n_nodes)
        values = np.take_along_axis(signed, around, axis=1)
        bound = crossing(theta, values, inside, around, sign * deviate)
        endless = (place == end) | (ability == sign * np.inf)
        bounds.append(np.where(endless, sign * np.inf, bound))
    return bounds


def _limits(items: ItemParameters, right: Any, tried: Any) -> Array:
    """Limits of ℓ at −∞ and ∞, (2, n)."""
    slope = items.discrimination
    guessing = items.guessing
    flat = guessing + (1 - guessing) * logistic(items.intercept)
    limits = []
    for direction in (-1, 1):
        p = np.where(direction * slope > 0, 1.0, guessing)
        p = np.where(slope == 0, flat, p)
        sure = (p == 1).astype(np.float64)
        never = (p == 0).astype(np.float64)
        log_right = np.log(p + never)
        log_wrong = np.log1p(sure - p)
        wrong_though_sure = total(sure[:, None], tried)[:, 0] - right @ sure
        against = wrong_though_sure + right @ never
        limit = right @ (log_right - log_wrong)
        limit = limit + total(log_wrong[:, None], tried)[:, 0]
        limits.append(np.where(against > _AS_HIGH, -np.inf, limit))
    return np.stack(limits)
