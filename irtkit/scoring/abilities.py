"""Abilities of respondents on items whose parameters are known.

With ℓ(θ) the log-likelihood of a respondent and φ the density of the population N(0, 1),

- EAP is the mean of the posterior, which is proportional to exp(ℓ)·φ. - ML maximises ℓ, and MAP
maximises ℓ + log φ. - WLE solves ℓ' + J/(2I) = 0, with the information I of the items answered and
  J = Σ P'P''/(P(1 − P)) (Warm 1989).

ℓ is computed on a grid of abilities. ML, MAP and WLE start at the highest node, because a 3PL
likelihood can have several modes. Secants then find where its slope is 0. Where a step would leave
the nodes next to it, or the ends found since, it is replaced by bisection.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.special import ndtr, ndtri

from irtkit.calibration.search import GridSchedule
from irtkit.data.patterns import float_blocks
from irtkit.irf import curvatures, curves_of, level_curves, logistic
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
    from collections.abc import Callable

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters
    from irtkit.scoring.scores import MethodName

_AS_HIGH = 1e-9  # Relative difference of log-likelihoods, or posterior probability, taken for 0.
_LAST_STEP = 1e-6  # Of a search. The next would be far smaller.
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
        width = 4 * len(nodes.theta)
        if method != "EAP":  # maxima need the answers of a respondent to all items
            width = max(width, items.n_items)
        for part, right, tried in float_blocks(patterns.chosen(waiting), n_points=width):
            rows = waiting[part]
            log_likelihood = curves.log_likelihood(right, tried)
            posterior = Posterior.of(log_likelihood, nodes)
            if method == "EAP":
                bounds = [posterior.quantile(tail) for tail in tails]
                values = [posterior.mean, posterior.sd, *bounds]
                at_end = posterior.weights[:, [0, -1]].max(axis=1) > _AS_HIGH
            else:
                values, at_end = _highest(method, curves, right, tried, log_likelihood, tails)
            for column, value in zip(estimates, values, strict=False):
                column[rows] = value
            mean = total(unasked.probability, None)
            variance = total(unasked.variance, None)
            if tried is not None:
                asked = (tried > 0).astype(np.float64)
                if isinstance(asked, np.ndarray) and (asked == asked[0]).all():
                    asked = asked[:1]
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


@np.errstate(divide="ignore", invalid="ignore")
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
    items = curves.items
    objective = log_likelihood
    if method == "MAP":
        objective = log_likelihood - 0.5 * theta**2
    elif method == "WLE":
        # plus ∫ J/(2I) dθ, which is ½ log I without guessing
        expected = np.maximum(total(curves.information, tried), _LEAST)
        log_weight = 0.5 * np.log(expected)
        if items.guessing.any():
            rise = total(curves.bend, tried) / (2 * expected)
            log_weight = cumulative_simpson(rise, x=theta, axis=1, initial=0)
        objective = log_likelihood + log_weight
    highest = objective.argmax(axis=1)
    peak = objective.max(axis=1)
    as_high = peak - _AS_HIGH * np.maximum(np.abs(peak), 1)
    at_end = (objective[:, [0, -1]] >= as_high[:, None]).any(axis=1)
    low = theta[highest - ~at_end]
    high = theta[highest + ~at_end]
    cells = _dense(right)
    answers = cells, np.ones_like(cells) if tried is None else _dense(tried)
    ability = _maximum(partial(_slope, method, items, *answers), low, high)
    se = 1 / np.sqrt(np.maximum(_information(method, items, ability, *answers), 0))
    bounds = [ability + ndtri(tail) * se for tail in tails]
    if method == "MAP":
        return [ability, se, *bounds], at_end

    unknown = answers[1] @ np.abs(items.discrimination) == 0
    if method == "ML":
        around = four_around(np.searchsorted(theta, ability), len(theta))
        cubic = lagrange_weights(theta[around], ability)
        at_ability = (cubic * np.take_along_axis(log_likelihood, around, axis=1)).sum(axis=1)
        value = np.fmax(peak, at_ability)
        limits = _limits(items, right, tried)
        highest_limit = limits.max(axis=0)
        as_high = value - _AS_HIGH * np.maximum(np.abs(value), 1)
        endless = (limits >= as_high) & (limits == highest_limit)
        ability[endless[1]] = np.inf
        ability[endless[0]] = -np.inf
        se[np.isinf(ability)] = np.inf
        value = np.maximum(value, highest_limit)
        bounds = _likelihood_interval(theta, log_likelihood, ability, value, ndtri(tails[1]))
        at_end &= ~endless.any(axis=0)
    for values in (ability, se, *bounds):
        values[unknown] = np.nan
    return [ability, se, *bounds], at_end & ~unknown


def _maximum(slope_at: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Zero of a falling slope between two abilities, by secants, (n,)."""
    ability = low
    slope = slope_at(ability)
    step = (high - low) / 2
    while step.any():
        last_slope = slope
        ability = ability + step
        slope = slope_at(ability)
        low = np.where(slope > 0, ability, low)
        high = np.where(slope > 0, high, ability)
        secant = ability + step * slope / (last_slope - slope)
        inside = (low <= secant) & (secant <= high)
        target = np.where(inside, secant, (low + high) / 2)
        step = np.where(np.abs(step) > _LAST_STEP, target - ability, 0)
    return ability


def _dense(cells: Any) -> Array:
    """Cells of an array that may be sparse."""
    return cells if isinstance(cells, np.ndarray) else np.asarray(cells.toarray())


def _slope(
    method: MethodName, items: ItemParameters, right: Array, tried: Array, theta: Array
) -> Array:
    """Derivative of what a method maximises, (n,).

    With n trials and r of them right, and s = σ(aθ + d), ℓ' = Σ a (r − nP) s/P.
    """
    a = items.discrimination
    if items.steps is not None:
        by_logit = level_curves(items.items, theta)[1]
        by_level = np.take_along_axis(by_logit, items.reached[:, :, None], axis=1)
        by_item = np.zeros_like(right)
        for level, weight in enumerate(level_weights(items, right, tried)):
            by_item += weight * by_level[:, level].T
        return by_item @ a - theta
    c = items.guessing
    s = logistic(np.multiply.outer(theta, a) + items.intercept)
    p = c + (1 - c) * s
    ratio = np.divide(s, p, out=np.ones_like(s), where=p > 0)
    slope: Array = ((right - tried * p) * ratio) @ a
    if method in {"MAP", "ML"}:
        return slope - theta * (method == "MAP")
    of_trials = tried * ratio * s * (1 - s) * (1 - c)
    bend = (of_trials * (1 - 2 * s)) @ a**3
    return np.asarray(slope + bend / (2 * np.maximum(of_trials @ a**2, _LEAST)))


def _information(
    method: MethodName, items: ItemParameters, theta: Array, right: Array, tried: Array
) -> Array:
    """1/SE²: observed information, or the expected one for WLE and levels, (n,)."""
    if method == "WLE" or items.steps is not None:
        answered = np.where(items.top == 1, tried, tried > 0)
        information = (items.information(theta) * answered).sum(axis=1)
    else:
        by_logit = curvatures(curves_of(items.items, theta), tried.T, right.T)[0]
        information = items.discrimination**2 @ by_logit
    return np.asarray(information + (method == "MAP"))


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
