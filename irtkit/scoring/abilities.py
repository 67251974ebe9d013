"""Abilities of respondents on items whose parameters are known.

Everything is read off curves over a grid of abilities: of every respondent the log-likelihood
ℓ(θ), from which each method takes what it maximises or averages.

- ML: the maximum of ℓ.
- MAP: that of ℓ + log φ, φ the density of the population.
- WLE: that of ℓ + ∫ J/(2I), with I the information of the items answered and
  J = Σ P'P''/(P(1 − P)) (Warm 1989); for 1PL and 2PL the integral is ½ log I.
- EAP: the mean of the posterior, proportional to exp(ℓ)·φ.

Nodes are equally spaced in a transform u of θ in which the curves are smooth on the scale of a
step (`irtkit.quadrature.nodes`): maxima lie on a polynomial through the highest node and its
neighbours, quantiles on the cumulative sums. The whole grid is looked at, so that of several
modes, which a likelihood of the 3PL may have, the highest is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from irtkit.calibration.maximise import GridSchedule
from irtkit.data.patterns import float_blocks
from irtkit.irf import Items
from irtkit.scoring.expected_score import NumberRight, number_right
from irtkit.scoring.posterior import ItemCurves, log_likelihood, posterior_of, summed

if TYPE_CHECKING:
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters
    from irtkit.quadrature import Nodes
    from irtkit.scoring.scoring import MethodName

_REFINED, _OF_MANY = 6, 3
"""Nodes as multiples of what a likelihood needs, and where items are many, which makes likelihoods
normal. Of 3 to 40 items maxima are within 1e-6 of those on a grid a hundred times as fine, and
2e-5 (WLE with guessing); with 3 for all, within 1e-4 and 1e-3."""
_SIDE = 4
"""Neighbours of the highest node, to each side, that a polynomial goes through."""
_STENCIL = np.arange(-_SIDE, _SIDE + 1)
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_STENCIL / _SIDE, increasing=True))
_INTEGRAL = np.array([11, -93, 802, 802, -93, 11]) / 1440
"""Weights of six nodes in the integral between the middle two of a polynomial through them."""
_LEAST_INFORMATION = 1e-300
"""What is smaller is taken for it before logarithms: log 0 is no number."""
_NEWTON_STEPS = 6
"""Steps on a polynomial or a cubic, from a start half a step of the grid away at most."""
_WIDER, _WIDEST = 4.0, 4096.0
"""Factor by which the grid grows while an estimate lies at its end, and where it stops, in SDs of
ability."""
_AS_HIGH = 1e-9
"""Difference of log-likelihoods, or share of a posterior, that is none."""


class Abilities(NamedTuple):
    """Estimates of every respondent, each (n,), in SDs of the population."""

    ability: Array
    """Infinite where the likelihood has no maximum, NaN where nothing was answered."""
    se: Array
    low: Array
    high: Array
    rest: Array
    """Mean over the posterior of ability of Σ P(θ) over the items not answered."""
    rest_variance: Array
    """Variance of how many of them would be right: of ability, and of each answer."""
    expected_right: Array
    """Sum over the items answered of their probability p, the mean over the posterior."""
    noise: Array
    """Sum over the items answered of p(1 − p)."""
    squares: Array
    """Sum over the items answered of the squares of what was right (share of trials) less p."""
    above: Array
    """Probability that more of the items not answered than a limit would be right."""

    @classmethod
    def empty(cls, n: int) -> Abilities:
        """Return room for n respondents."""
        return cls(*np.full((len(cls._fields), n), np.nan))


class TestCurves(NamedTuple):
    """Items and nodes: what the curves of all respondents are made of."""

    items: ItemParameters
    nodes: Nodes
    curves: ItemCurves
    rest: Array
    """Σ P and Σ P(1 − P) over items that nobody was given, (2, n_nodes)."""
    theta_by_step: Array
    """Coefficients of θ(u) around every node, (n_nodes, 2·side + 1)."""


def abilities(
    patterns: Patterns,
    items: ItemParameters,
    method: MethodName,
    *,
    rest: ItemParameters,
    level: float,
    residuals: bool = False,
    limit: tuple[Array, Array] | None = None,
) -> Abilities:
    """Ability of every respondent, where that of the population is N(0, 1).

    ``rest`` are further items of the benchmark, which nobody was given. Fields about the items
    answered are NaN without ``residuals``; ``above`` is NaN without a ``limit``: a number right
    and a variance that the model does not explain, each (n,).
    """
    found, waiting, half_width = Abilities.empty(patterns.n), np.arange(patterns.n), 0.0
    while len(waiting):
        test = _test(patterns, items, rest, half_width)
        half_width, left = float(test.nodes.theta[-1]), []
        some_rows = patterns if len(waiting) == patterns.n else patterns.chosen(waiting)
        for some, right, answered in float_blocks(some_rows, n_points=4 * len(test.nodes.theta)):
            answers, rows = AbilityCurves.of(test, right, answered), waiting[some]
            scored = _ESTIMATORS[method](answers, level)
            by_node = _of_the_rest(answers)
            of_items: tuple[Array, ...] = number_right(answers.posterior, *by_node)
            of_items += _residuals(answers) if residuals else ()
            for room, values in zip(found, (*scored[:4], *of_items), strict=False):
                room[rows] = values
            if limit is not None:
                found.above[rows] = _above(answers, by_node, *(part[rows, None] for part in limit))
            left.append(rows[scored.at_end])
        waiting = np.concatenate(left) if half_width < _WIDEST else waiting[:0]
        half_width *= _WIDER
    return found


def _test(
    patterns: Patterns, items: ItemParameters, rest: ItemParameters, half_width: float
) -> TestCurves:
    schedule = GridSchedule()
    density = schedule.density(Items.of(items), patterns, half_width)
    refined = _REFINED if items.n_items < schedule.many_items else _OF_MANY
    nodes = density.nodes(refined, interpolates=False)
    p = rest.probability(nodes.theta)
    unasked = np.stack([p.sum(axis=1), (p * (1 - p)).sum(axis=1)])
    by_step = nodes.theta[_around(np.arange(len(nodes.theta)), len(nodes.theta))]
    return TestCurves(
        items, nodes, ItemCurves(items, nodes.theta), unasked, by_step @ _TO_COEFFICIENTS.T
    )


class Scored(NamedTuple):
    """Estimates of some respondents, each (n,)."""

    ability: Array
    se: Array
    low: Array
    high: Array
    at_end: Any
    """Which may lie beyond the grid."""


class AbilityCurves(NamedTuple):
    """What some respondents answered, and their curves over ability."""

    test: TestCurves
    right: Any
    answered: Any
    """None if each answered every item once."""
    likelihood: Array
    """ℓ at the nodes, (n, n_nodes)."""
    posterior: Array
    """Of every node, (n, n_nodes), rows summing to 1."""

    @classmethod
    def of(cls, test: TestCurves, right: Any, answered: Any) -> AbilityCurves:
        """Return answers with their curves."""
        likelihood = log_likelihood(test.curves, right, answered)
        return cls(test, right, answered, likelihood, posterior_of(likelihood, test.nodes))

    def summed(self, by_item: Array) -> Array:
        """Sum over the items that each answered, (n, …), or (1, …) if all answered all."""
        return summed(self.answered, by_item)

    @property
    def tell_nothing(self) -> Any:
        """Who answered no item that has a slope, (n,)."""
        slopes = self.summed(np.abs(self.test.items.discrimination))
        return np.broadcast_to(slopes == 0, len(self.likelihood))


@np.errstate(under="ignore")
def _eap(answers: AbilityCurves, level: float) -> Scored:
    """Posterior mean, SD and quantiles."""
    nodes, posterior = answers.test.nodes, answers.posterior
    mean = posterior @ nodes.theta
    sd = np.sqrt(np.maximum(posterior @ nodes.theta**2 - mean**2, 0))
    low, high = (_quantile(nodes, posterior, tail) for tail in _tails(level))
    return Scored(mean, sd, low, high, posterior[:, [0, -1]].max(axis=1) > _AS_HIGH)


def _map(answers: AbilityCurves, level: float) -> Scored:
    """Posterior mode, and a normal interval from the curvature there."""
    top = _top(answers.test, answers.likelihood - 0.5 * answers.test.nodes.theta**2)
    return _normal(top, -top.second, level)


def _wle(answers: AbilityCurves, level: float) -> Scored:
    """Maximum of the weighted likelihood, and a normal interval from the information there."""
    information = answers.summed(answers.test.curves.information)
    top = _top(answers.test, answers.likelihood + _log_weight(answers, information))
    return _without(answers.tell_nothing, _normal(top, top.at(information), level))


def _ml(answers: AbilityCurves, level: float) -> Scored:
    """Maximum of the likelihood, and the abilities that a likelihood-ratio test does not reject.

    Where the likelihood without end is as high as anywhere, the maximum is there.
    """
    top, limits = _top(answers.test, answers.likelihood), _without_end(answers)
    found = _normal(top, -top.second, level)
    deviate = ndtri(_tails(level)[1])
    endless = limits >= top.value - _AS_HIGH * np.maximum(np.abs(top.value), 1)
    endless &= limits == limits.max(axis=0)
    highest = np.maximum(top.value, limits.max(axis=0))
    low, high = _likelihood_interval(answers.test.nodes, answers.likelihood, highest, deviate)
    for bounds, which, end in ((low, endless[0], -np.inf), (high, endless[1], np.inf)):
        bounds[which] = found.ability[which] = end
        found.se[which] = np.inf
    at_end = found.at_end & ~endless.any(axis=0)
    return _without(answers.tell_nothing, found._replace(low=low, high=high, at_end=at_end))


_ESTIMATORS = {"EAP": _eap, "MAP": _map, "ML": _ml, "WLE": _wle}


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _normal(top: Top, information: Array, level: float) -> Scored:
    with np.errstate(divide="ignore"):
        se = 1 / np.sqrt(np.maximum(information, 0))
    low, high = (top.theta + ndtri(tail) * se for tail in _tails(level))
    return Scored(top.theta, se, low, high, top.at_low | top.at_high)


def _without(which: Any, found: Scored) -> Scored:
    """Return estimates, NaN for those of whom nothing is told."""
    for values in found[:4]:
        values[which] = np.nan
    return found._replace(at_end=found.at_end & ~which)


def _of_the_rest(answers: AbilityCurves) -> NumberRight:
    """Mean and variance, by node, of how many of the items not answered would be right."""
    test = answers.test
    mean, noise = test.rest[:1], test.rest[1:]
    if answers.answered is not None:
        asked = (answers.answered > 0).astype(np.float64)
        if isinstance(asked, np.ndarray) and (asked == asked[0]).all():
            asked = asked[:1]
        p = test.curves.p
        mean = mean + p.sum(axis=0) - asked @ p
        noise = noise + (p * (1 - p)).sum(axis=0) - asked @ (p * (1 - p))
    return NumberRight(mean, noise)


def _above(answers: AbilityCurves, by_node: NumberRight, number: Array, misfit: Array) -> Array:
    """Probability that more than a number are right, ability having a heavy-tailed prior."""
    posterior = posterior_of(answers.likelihood, answers.test.nodes, heavy_tailed=True)
    spread = np.sqrt(np.maximum(by_node.variance + misfit, _LEAST_INFORMATION))
    return np.asarray((posterior * ndtr((by_node.mean - number) / spread)).sum(axis=1))


def _residuals(answers: AbilityCurves) -> tuple[Array, Array, Array]:
    """Of the items each answered Σ p, Σ p(1 − p) and Σ (share right − p)², p the mean of P(θ)."""
    p, right, tried = answers.posterior @ answers.test.curves.p.T, answers.right, answers.answered
    if tried is not None:
        right, tried = (
            part if isinstance(part, np.ndarray) else part.toarray() for part in (right, tried)
        )
        right, asked = right / np.maximum(tried, 1), tried > 0
        p = p * asked
    return p.sum(axis=1), (p * (1 - p)).sum(axis=1), ((right - p) ** 2).sum(axis=1)


def _log_weight(answers: AbilityCurves, information: Array) -> Array:
    """∫ J/(2I) dθ, up to a constant; without guessing ½ log I.

    Between two nodes the integral of a polynomial through six.
    """
    test = answers.test
    if test.curves.log_odds is None:
        return np.asarray(0.5 * np.log(np.maximum(information, _LEAST_INFORMATION)))
    bend = answers.summed(test.curves.bend)
    slope = np.divide(bend, 2 * information, out=np.zeros_like(bend), where=information > 0)
    steps = np.pad(slope * np.exp(test.nodes.log_width), ((0, 0), (2, 2)), mode="edge")
    n_nodes = bend.shape[1]
    each = np.zeros((len(bend), n_nodes - 1))
    for k, weight in enumerate(_INTEGRAL):
        each += weight * steps[:, k : k + n_nodes - 1]
    return np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0)))


class Top(NamedTuple):
    """The highest point of the curve of every respondent."""

    theta: Array
    value: Array
    """Of the curve."""
    second: Array
    """Second derivative by θ there."""
    at_low: Any
    at_high: Any
    """Whether the lowest or highest node is as high."""
    around: Any
    """Nodes next to it, (n, 2·side + 1)."""
    step: Array
    """Where it lies among them, from −1 to 1."""

    def at(self, curve: Array) -> Array:
        """Value there of another curve, (n, n_nodes) or (1, n_nodes)."""
        curve = np.broadcast_to(curve, (len(self.step), curve.shape[1]))
        values = np.take_along_axis(curve, self.around, axis=1)
        return _polynomial(values @ _TO_COEFFICIENTS.T, self.step)


def _top(test: TestCurves, curve: Array) -> Top:
    """Highest points: of a polynomial through the highest node and those next to it."""
    highest, n_nodes = curve.argmax(axis=1), curve.shape[1]
    around = _around(highest, n_nodes)
    values = np.take_along_axis(curve, around, axis=1)
    peak = values.max(axis=1, keepdims=True)
    coefficients = (values - peak) @ _TO_COEFFICIENTS.T
    first, second = _derivative(coefficients), _derivative(coefficients, 2)
    start = (highest - around[:, _SIDE]) / _SIDE
    step, reach = start.copy(), 1 / _SIDE
    for _ in range(_NEWTON_STEPS):
        bend = np.minimum(_polynomial(second, step), -_AS_HIGH)
        step = np.clip(step - _polynomial(first, step) / bend, start - reach, start + reach)
        step = np.clip(step, -1, 1)
    by_step = test.theta_by_step[highest]
    by_theta = _polynomial(_derivative(by_step), step)
    as_high = curve[:, [0, -1]] >= peak - _AS_HIGH * np.maximum(np.abs(peak), 1)
    return Top(
        _polynomial(by_step, step),
        peak[:, 0] + _polynomial(coefficients, step),
        _polynomial(second, step) / by_theta**2,
        as_high[:, 0],
        as_high[:, 1],
        around,
        step,
    )


def _around(places: Any, n_nodes: int) -> Any:
    """Nodes next to some, (n, 2·side + 1)."""
    return np.clip(places, _SIDE, n_nodes - 1 - _SIDE)[:, None] + _STENCIL


def _derivative(coefficients: Array, order: int = 1) -> Array:
    return np.asarray(np.polynomial.polynomial.polyder(coefficients, order, axis=1))


def _polynomial(coefficients: Array, at: Array) -> Array:
    """Value of a polynomial of every row, (n,)."""
    value = np.zeros(len(at))
    for coefficient in coefficients.T[::-1]:
        value = value * at + coefficient
    return value


def _quantile(nodes: Nodes, posterior: Array, share: float) -> Array:
    """Ability below which a share of the posterior lies, (n,).

    Up to a node it is Σ w − w/2 − w'/12 (Euler and Maclaurin), between nodes a cubic.
    """
    rise = np.gradient(posterior, axis=1)
    below = np.cumsum(posterior, axis=1) - posterior / 2 - rise / 12
    last = posterior.shape[1] - 2
    place = np.clip((below < share).sum(axis=1) - 1, 0, last)
    ends = np.stack([place, place + 1])
    rows = np.arange(len(place))
    values, slopes = below[rows, ends], posterior[rows, ends]
    step = np.clip((share - values[0]) / np.maximum(values[1] - values[0], 1e-300), 0, 1)
    for _ in range(_NEWTON_STEPS):
        value, slope = _cubic(step, values, slopes)
        step = np.clip(step - (value - share) / np.maximum(slope, 1e-300), 0, 1)
    return _cubic(step, nodes.theta[ends], np.exp(nodes.log_width[ends]))[0]


def _cubic(step: Array, values: Array, slopes: Array) -> tuple[Array, Array]:
    """Value and slope of Hermite's cubic between two points."""
    rise = values[1] - values[0]
    second = 3 * rise - 2 * slopes[0] - slopes[1]
    third = slopes[0] + slopes[1] - 2 * rise
    value = values[0] + step * (slopes[0] + step * (second + step * third))
    return value, slopes[0] + step * (2 * second + 3 * step * third)


def _likelihood_interval(
    nodes: Nodes, likelihood: Array, highest: Array, deviate: float
) -> tuple[Array, Array]:
    """Abilities between which 2·(max ℓ − ℓ) is at most the square of a normal deviate.

    √(2·(max ℓ − ℓ)) is nearly linear, as that of a normal likelihood is, and is taken to be so
    between two nodes. An end of the grid within the interval stands for one without an end.
    """
    distance = np.sqrt(2 * np.maximum(highest[:, None] - likelihood, 0))
    within = distance <= deviate
    bounds = []
    for sign in (1, -1):
        along, ability = distance[:, ::sign], nodes.theta[::sign]
        first = within[:, ::sign].argmax(axis=1)
        before = np.maximum(first - 1, 0)
        ends = np.take_along_axis(along, np.stack([before, first], axis=1), axis=1).T
        share = np.divide(
            ends[0] - deviate, ends[0] - ends[1], out=np.zeros(len(first)), where=first > 0
        )
        bound = ability[before] + share * (ability[first] - ability[before])
        bounds.append(np.where(first > 0, bound, -sign * np.inf))
    return bounds[0], bounds[1]


def _without_end(answers: AbilityCurves) -> Array:
    """What ℓ goes to where ability goes to −∞ and to ∞, (2, n)."""
    a, c = answers.test.items.discrimination, answers.test.items.guessing
    found = []
    for direction in (-1, 1):
        p = np.where(direction * a > 0, 1.0, c)
        p = np.where(a == 0, answers.test.curves.p[:, 0], p)
        sure, never = (p == 1).astype(np.float64), (p == 0).astype(np.float64)
        against = answers.summed(sure) - answers.right @ sure + answers.right @ never
        log_right, log_wrong = np.log(p + never), np.log1p(sure - p)
        limit = answers.right @ (log_right - log_wrong) + answers.summed(log_wrong)
        found.append(np.where(against > _AS_HIGH, -np.inf, limit))
    return np.stack(found)
