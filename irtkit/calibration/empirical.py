"""Items fitted with a distribution learned from the matrix itself (empirical Bayes).

With few respondents the likelihood says little about a single item, but much about how items are
distributed. The abilities of a fit with the weak prior are kept. The parameters of the distribution
maximise the likelihood with the items integrated out. Items are then set to their posterior means.
The integrals are sums over Gauss–Hermite points around the mode of each item, one set as a regular
and one as an inverted item (Naylor & Smith 1982). The likelihood of one item comes from the numbers
of responses and of correct responses expected at each node, with abilities held at their posteriors
(Bock & Aitkin 1981).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import MarginalLikelihood
from irtkit.calibration.priors import (
    AtPrior,
    Beta,
    Density,
    Hyper,
    LogDensity,
    Normal,
    Steep,
    Term,
    WeakPrior,
    summed,
)
from irtkit.calibration.search import at_vector, problem_of, with_unit_scale
from irtkit.data.patterns import blocks
from irtkit.irf import Items, complete_data_information, curvatures, curves_of, logistic, softplus
from irtkit.quadrature import Grid
from irtkit.quadrature.engines import posterior_weights
from irtkit.quadrature.nodes import STENCIL, local_interpolation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.search import GridSchedule, Maximum, Problem
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

    Places = NDArray[np.intp]

STEEP = Steep(WeakPrior.steep, WeakPrior.steep_spread)  # The limit of slopes under the weak prior.
_LOGARITHMS, _LOGITS = [0, 1, 2, 5, 7], [3]
"""Numbers of a distribution that are above 0, and between 0 and 1."""
# Change of each number of a distribution that points are trusted for until they are placed anew:
# they soon lie too far apart for narrower densities.
_TRUSTED_DOWN = np.array([0.7, 0.5, 0.3, 2.0, 0.7, 0.7, 0.7, 0.7])
_TRUSTED_UP = np.array([0.7, 0.5, 0.7, 2.0, 0.7, 0.7, 0.7, 0.7])
_LEAST_SLOPE = 0.05  # Least median slope, and spread of intercepts, to start from.
_ABSCISSAE, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
_STEPS = np.stack(np.meshgrid(_ABSCISSAE, _ABSCISSAE), axis=-1).reshape(-1, 2)
# Log weights of an integral over the plane, from those of one with a normal density.
_LOG_WEIGHTS = np.log(np.outer(_WEIGHTS, _WEIGHTS).ravel()) + 0.5 * (_STEPS**2).sum(axis=1)


@dataclass(frozen=True)
class TwoSided(Density):
    """Mixture of N(centre, spread²) and, with weight ``inverted``, N(−centre, spread²)."""

    centre: float
    spread: float
    inverted: float

    def at(self, x: Array) -> LogDensity:
        """Logarithm of the sum of both. The curvature is the same for either."""
        kinds = (
            math.log(1 - self.inverted) + Normal(self.centre, self.spread).at(x).value,
            math.log(self.inverted) + Normal(-self.centre, self.spread).at(x).value,
        )
        odds = math.log(self.inverted / (1 - self.inverted))
        share_inverted = logistic(odds - 2 * self.centre * x / self.spread**2)
        derivative = (self.centre * (1 - 2 * share_inverted) - x) / self.spread**2
        return LogDensity(np.logaddexp(*kinds), derivative, np.full_like(x, self.spread**-2))


@dataclass(frozen=True)
class ItemDistribution:
    """Distribution of slopes and intercepts among the items.

    A slope a is regular or, with probability π, inverted, and u = asinh(±a/λ) is N(c, s²). Near 0
    this is a normal distribution of the slope, and far from 0 one of its logarithm. An intercept is
    N(±δ − βa, v² + w²a²): difficulty N(β, w²) plus a part N(±δ, v²) that does not depend on the
    slope. The standardised intercept e is N(0, 1). An inverted item is a regular one with right and
    wrong exchanged.

    ``slope`` is the median slope of regular items, ``bend`` is λ in units of it, and
    ``log_slope_spread`` is s, the SD of log a where slopes are well above λ. ``inverted`` is the
    share π of inverted items. ``difficulty`` and ``difficulty_spread`` are mean and SD of
    difficulty (β, w). ``intercept`` and ``intercept_spread`` are mean and SD of the other part of
    intercepts (δ, v).
    """

    slope: float
    bend: float
    log_slope_spread: float
    inverted: float
    difficulty: float
    difficulty_spread: float
    intercept: float
    intercept_spread: float
    chance: Any = None  # That of the weak prior, whose density of guessing is kept.
    learns: ClassVar[bool] = False
    keys: ClassVar[None] = None

    def described(self) -> dict[str, Any]:
        """Return what was learned, for the settings of a result."""
        numbers = {name: value for name, value in asdict(self).items() if value is not None}
        return {"kind": "empirical", **numbers}

    def chosen(self, items: Any) -> ItemDistribution:
        """The distribution, and the chance level of some of the items."""
        return replace(self, chance=WeakPrior(chance=self.chance).chosen(items).chance)

    def in_units(self, scale: float, shift: float) -> ItemDistribution:
        """Return the distribution after a → scale·a and d → d + shift·a."""
        return replace(
            self,
            slope=self.slope * scale,
            difficulty=(self.difficulty - shift) / scale,
            difficulty_spread=self.difficulty_spread / scale,
        )

    @classmethod
    def from_vector(cls, vector: Array) -> ItemDistribution:
        """Return the distribution of which :attr:`vector` is ``vector``."""
        numbers = vector.copy()
        numbers[_LOGARITHMS] = np.exp(vector[_LOGARITHMS])
        numbers[_LOGITS] = logistic(vector[_LOGITS])
        return cls(*map(float, numbers))

    @property
    def vector(self) -> Array:
        """All eight numbers, unbounded: logarithms, a logit, and both means as they are."""
        numbers = np.array(list(asdict(self).values())[:8], dtype=np.float64)
        numbers[_LOGARITHMS] = np.log(numbers[_LOGARITHMS])
        numbers[_LOGITS] = np.log(numbers[_LOGITS] / (1 - numbers[_LOGITS]))
        return numbers

    @property
    def turn(self) -> float:
        """λ: about where the normal distribution of slopes turns into a lognormal one."""
        return self.bend * self.slope

    @property
    def centre(self) -> float:
        """c, the mean of u."""
        return math.asinh(1 / self.bend)

    def variance(self, slope: Array) -> Array:
        """Variance of intercepts given the slope."""
        return self.intercept_spread**2 + (self.difficulty_spread * slope) ** 2

    def standardised(self, slope: Array, intercept: Array, sign: Array) -> tuple[Array, Array]:
        """Coordinates u and e of items. ``sign`` is −1 for inverted items."""
        off = intercept - sign * self.intercept + self.difficulty * slope
        return np.arcsinh(sign * slope / self.turn), off / np.sqrt(self.variance(slope))

    def items(self, u: Array, e: Array, sign: Array) -> tuple[Array, Array]:
        """Slopes and intercepts at some coordinates."""
        slope = sign * self.turn * np.sinh(u)
        mean = sign * self.intercept - self.difficulty * slope
        return slope, mean + e * np.sqrt(self.variance(slope))

    def jacobian(self, slope: Array, e: Array, sign: Array) -> tuple[Array, Array, Array]:
        """Derivatives ∂a/∂u, ∂d/∂u and ∂d/∂e, as ∂a/∂e is 0."""
        by_u = sign * np.sqrt(slope**2 + self.turn**2)
        sd = np.sqrt(self.variance(slope))
        with_slope = e * self.difficulty_spread**2 * slope / sd - self.difficulty
        return by_u, with_slope * by_u, sd

    def log_density(self, slope: Array, intercept: Array, sign: Array) -> Array:
        """Log density of (slope, intercept) and of the sign."""
        u, e = self.standardised(slope, intercept, sign)
        square = ((u - self.centre) / self.log_slope_spread) ** 2 + e**2
        volume = (slope**2 + self.turn**2) * self.variance(slope)
        odds = np.where(sign < 0, self.inverted, 1 - self.inverted)
        constant = np.log(odds) - math.log(self.log_slope_spread)
        return np.asarray(constant - 0.5 * (square + np.log(volume)))

    def gradient(self, slope: Array, intercept: Array, sign: Array, weights: Array) -> Array:
        """Derivative by the vector of a weighted sum of log densities, (8,)."""
        u, e = self.standardised(slope, intercept, sign)
        off_centre = (u - self.centre) / self.log_slope_spread
        beyond = slope**2 + self.turn**2
        variance = self.variance(slope)
        pull = weights * off_centre / self.log_slope_spread
        surplus = weights * (e**2 - 1) / variance
        by_mean = weights * e / np.sqrt(variance)
        by_turn = (
            pull * (sign * slope / np.sqrt(beyond)) - weights * (self.turn**2 / beyond)
        ).sum()
        total = weights.sum()
        return np.array(
            [
                by_turn,
                by_turn - pull.sum() / math.sqrt(1 + self.bend**2),
                (weights * off_centre**2).sum() - total,
                (weights * (sign < 0)).sum() - self.inverted * total,
                -(by_mean * slope).sum(),
                (surplus * slope**2).sum() * self.difficulty_spread**2,
                (by_mean * sign).sum(),
                surplus.sum() * self.intercept_spread**2,
            ]
        )

    @property
    def slope_density(self) -> TwoSided:
        """Density of u, with the sign of the slope."""
        return TwoSided(self.centre, self.log_slope_spread, self.inverted)

    @property
    def guessing_density(self) -> Beta:
        """Density of guessing, as in the weak prior."""
        return WeakPrior(chance=self.chance).guessing_density

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of u and e of the items, its gradient and its curvature.

        Each item is of the kind that its slope has the sign of. The limit of slopes and the density
        of guessing are those of the weak prior.
        """
        del hyper, common_slope
        slope, intercept, logit = items[:3]
        sign = np.where(slope < 0, -1.0, 1.0)
        u, e = self.standardised(slope, intercept, sign)
        by_u, with_slope, sd = self.jacobian(slope, e, sign)
        terms = [
            Term(Normal(self.centre, self.log_slope_spread).at(u), {0: 1 / by_u}, {}),
            Term(Normal(0.0, 1.0).at(e), {0: -with_slope / (by_u * sd), 1: 1 / sd}, {}),
            Term(STEEP.at(slope), {0: 1.0}, {}),
        ]
        if logit is not None:
            terms.append(Term(self.guessing_density.at(logit), {2: 1.0}, {}))
        return summed(terms, items, copies=copies)

    def coupled(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Log density of intercepts given slopes, and of location and scale, which stay free.

        ``hyper.location`` stands for −β and the scale τ for the median slope. The variance V of an
        intercept depends on a/τ, so that −½ log V is part of the density.
        """
        del common_slope
        slope = items.slope
        location = hyper.location
        weak = WeakPrior()
        unit = self.slope * math.exp(-hyper.log_scale)
        variance = self.variance(unit * slope)
        sd = np.sqrt(variance)
        residual = items.intercept - np.sign(slope) * self.intercept - location * slope
        by_residual = {0: -location / sd, 1: 1 / sd}
        of_intercept = Term(Normal(0.0, 1.0).at(residual / sd), by_residual, {0: -slope / sd})
        rise = 2 * (self.difficulty_spread * unit) ** 2 * slope / variance  # of log V by the slope
        by_log_variance = 0.5 * ((residual / sd) ** 2 - 1)
        of_variance = LogDensity(-0.5 * np.log(variance), by_log_variance, np.full_like(slope, 0.5))
        of_spread = Term(of_variance, {0: rise}, {1: -rise * slope})
        terms = [of_intercept, of_spread, Term(STEEP.at(slope), {0: 1.0}, {})]
        return summed(terms, items, hyper, (weak.location_sd, weak.log_scale_sd))


_EXPECTED = ItemDistribution(
    slope=1.0,
    bend=1.0,
    log_slope_spread=0.4,  # as the weak prior has it
    inverted=0.02,  # two SDs of its logit on either side are 0.04 and 53 %
    difficulty=0.0,
    difficulty_spread=1.0,  # as that of ability
    intercept=0.0,
    intercept_spread=0.5,
).vector
# How sure it is, with the weight of about one item; not at all of the typical slope.
_EXPECTED_PRECISION = np.array([0.0, 1.0, 1.0, 0.25, 0.1, 1.0, 0.1, 1.0])
_LOWEST, _HIGHEST = (
    ItemDistribution(*numbers).vector
    for numbers in (
        (1e-3, 0.1, 0.02, 1e-6, -1e3, 0.01, -1e3, 0.02),
        (1e3, 10.0, 1.0, 0.5, 1e3, 1e2, 1e3, 1e2),
    )
)


class ItemLikelihoods:
    """Likelihoods of the items of a fit as functions of their slopes and intercepts.

    Guessing stays where it is. Slopes have the absolute limit of the weak prior, because an item
    that splits the respondents perfectly is as likely with any steeper slope. Where nodes are
    denser than items bend, expected responses are carried to *places* further apart by the
    transpose of interpolation, which keeps sums of smooth functions.
    """

    def __init__(self, patterns: Patterns, items: Items, grid: Grid) -> None:
        self.n_items = len(items.slope)
        self._logit = items.logit_guessing
        theta = grid.nodes.theta
        copies = patterns.copies(np.ones(self.n_items)).astype(np.intp)
        # curves at the nodes themselves: what is learned moves by 1e5 times an interpolation error
        exact = Grid(grid.nodes._replace(points=theta, interpolation=None), grid.log_weights)
        # 0.3 logits apart, at the quantile 0.9 of slopes
        steep = float(np.quantile(np.abs(np.repeat(items.slope, copies)), 0.9))
        n_places = max(int(np.ptp(theta) * steep / 0.3) + 1, STENCIL)
        places = theta
        carried = np.eye(len(theta))
        if n_places < len(theta):
            places = np.linspace(theta[0], theta[-1], n_places)
            carried = local_interpolation(theta, places)
        right = np.zeros((self.n_items, len(places)))
        responses = np.zeros((1 if patterns.complete else self.n_items, len(theta)))
        for _, answers, answered, _, counted in posterior_weights(patterns, items, exact):
            right += answers.T @ (counted.T @ carried)
            responses += counted.sum(axis=1) if answered is None else answered.T @ counted.T
        mass = responses.sum(axis=0)
        kept = np.abs(mass @ carried) > 1e-9 * mass.sum()
        self._theta = places[kept]
        self._right = right[:, kept]
        self._responses: Array = responses @ carried[:, kept]
        self._functions = np.stack([self._theta, np.ones_like(self._theta)], axis=1)
        if self._logit is None:  # Σθ and Σ1 over right responses are enough
            self._right = self._right @ self._functions

    def log_likelihood(self, items: Places, slope: Array, intercept: Array) -> Array:
        """Log likelihood of some items, (n,), each at several points, (n, n_points)."""
        value = np.empty_like(slope)
        for part in blocks(len(items), slope.shape[1] * len(self._theta)):
            chosen = items[part]
            a = slope[part]
            d = intercept[part]
            z = a[:, :, None] * self._theta + d[:, :, None]
            log_wrong = -softplus(z)
            right = self._right[chosen]
            responses = self._responses_of(chosen)
            if self._logit is None:
                value[part] = a * right[:, :1] + d * right[:, 1:] + _sum(log_wrong, responses)
                continue
            logit = self._logit[chosen][:, None, None]
            log_wrong = log_wrong - softplus(logit)
            log_odds = np.logaddexp(-softplus(-logit), z + log_wrong) - log_wrong
            value[part] = _sum(log_odds, right) + _sum(log_wrong, responses)
        return value + STEEP.at(slope).value

    def local(self, items: Places, slope: Array, intercept: Array) -> tuple[Array, Array]:
        """Gradient by slope and intercept, (n, 2), and expected information, (n, 2, 2)."""
        score = np.empty((len(items), 2))
        information = np.empty((len(items), 2, 2))
        for part in blocks(len(items), len(self._theta)):
            chosen = items[part]
            logit = None if self._logit is None else self._logit[chosen]
            at = curves_of(Items(slope[part], intercept[part], logit), self._theta)
            responses = self._responses_of(chosen)
            if logit is None:
                score[part] = self._right[chosen] - (responses * at.p) @ self._functions
            else:
                score[part] = ((self._right[chosen] / at.p - responses) * at.s) @ self._functions
            information[part] = complete_data_information(
                curvatures(at, responses)[:1], self._theta
            )
        limit = STEEP.at(slope)
        score[:, 0] += limit.derivative
        information[:, 0, 0] += limit.curvature
        return score, information

    def _responses_of(self, items: Places) -> Array:
        return self._responses if len(self._responses) == 1 else self._responses[items]


def _sum(table: Array, weights: Array) -> Array:
    """Sum over places, for shapes (n, n_points, n_places) and (n or 1, n_places)."""
    if len(weights) == 1:
        return np.asarray(table @ weights[0])
    return np.asarray((table @ weights[:, :, None])[:, :, 0])


class _Points(NamedTuple):
    """Points of the integrals over items, one row for each item and kind."""

    item: Places
    sign: Array  # Shape (n, 1): 1 for regular, −1 for inverted.
    slope: Array  # Shape (n, n_points).
    intercept: Array
    log_weight: Array  # Log likelihood and log weight in an integral over slope and intercept.

    def shares(self, distribution: ItemDistribution) -> tuple[Array, Array]:
        """Posterior weight of each point of an item, and log marginal likelihoods."""
        joint = self.log_weight + distribution.log_density(self.slope, self.intercept, self.sign)
        place = np.unique(self.item, return_inverse=True)[1].ravel()
        peak = np.full(int(place.max()) + 1, -np.inf)
        np.maximum.at(peak, place, joint.max(axis=1))
        share = np.exp(joint - peak[place, None])
        total = np.bincount(place, share.sum(axis=1))
        return share / total[place, None], peak + np.log(total)


def empirical_bayes(
    problem: Problem, maximum: Maximum, schedule: GridSchedule
) -> tuple[Problem, Maximum]:
    """Let items learn from each other. Their distribution is then the prior.

    It is learned from at most 2,000 items, evenly spaced in the order of their proportions right
    and of how able those were who got them right. What orders them are sums of whole numbers:
    estimates are rounded, and where two of them change places others are learned from. Abilities
    keep mean 0 and SD 1, and the distribution is in these units.
    """
    items = problem.items(maximum.x)
    patterns = problem.engine.patterns
    grid = MarginalLikelihood(problem.engine, maximum.nodes).grid(items)
    likelihoods = ItemLikelihoods(patterns, items, grid)
    n_right = patterns.margins.respondent_right
    powers = [patterns.weight * n_right**k for k in range(3)]
    share, *of_able = (
        patterns.right_sums(power) / np.maximum(patterns.response_sums(power), 1)
        for power in powers
    )
    order = np.lexsort((*reversed(of_able), share))
    whole = np.repeat(order, patterns.copies(np.ones(len(order)))[order].astype(np.intp))
    distribution = _learned(likelihoods, whole, items)
    n_items = likelihoods.n_items
    slope = np.zeros(n_items)
    intercept = np.zeros(n_items)
    for part in blocks(n_items, 2 * len(_STEPS)):
        points = _points(likelihoods, np.arange(part.start, part.stop), distribution)
        share, _ = points.shares(distribution)
        slope += np.bincount(points.item, (share * points.slope).sum(axis=1), n_items)
        intercept += np.bincount(points.item, (share * points.intercept).sum(axis=1), n_items)
    plain = problem_of(patterns, problem.parameters.model, None, problem.mesh)
    x = plain.parameters.vector(Items(slope, intercept, items.logit_guessing))
    moved = with_unit_scale(plain, at_vector(plain, x, maximum, schedule), schedule)
    after = plain.items(moved.x)
    steepest = int(np.argmax(np.abs(slope)))
    scale = float(after.slope[steepest] / slope[steepest])
    shift = float((after.intercept - intercept)[steepest] / slope[steepest])
    weak: Any = problem.prior
    learned = replace(distribution.in_units(scale, shift), chance=weak.chance)
    return plain._replace(prior=learned), moved


def _learned(likelihoods: ItemLikelihoods, whole: Places, items: Items) -> ItemDistribution:
    """Return the most likely distribution of a sample of the items, which may have copies."""
    from scipy.optimize import Bounds, minimize

    sample = whole[:: -(-len(whole) // 2000)]
    sample, copies = np.unique(sample, return_counts=True)
    size = max(abs(float(np.median(items.slope[whole]))), _LEAST_SLOPE)
    # to start from, half of the intercepts' variance goes with slopes
    spread = max(float(np.std(items.intercept[whole])), _LEAST_SLOPE) / np.sqrt(2)
    start = replace(
        ItemDistribution.from_vector(_EXPECTED),
        slope=size,
        difficulty=-float(np.median(items.intercept[whole])) / size,
        difficulty_spread=spread / size,
        intercept_spread=spread,
    )

    def loss(vector: Array, points: _Points) -> tuple[float, Array]:
        """Minus the log marginal likelihood, with what is taken of the distribution in advance."""
        distribution = ItemDistribution.from_vector(vector)
        share, log_marginal = points.shares(distribution)
        place = np.unique(points.item, return_inverse=True)[1].ravel()
        off = vector - _EXPECTED
        weights = share * copies[place, None]
        total = float(copies @ log_marginal) - 0.5 * float(_EXPECTED_PRECISION @ off**2)
        gradient = distribution.gradient(points.slope, points.intercept, points.sign, weights)
        by_vector = gradient - _EXPECTED_PRECISION * off
        return -total / copies.sum(), np.asarray(-by_vector / copies.sum())

    distribution = start
    trust = 1.0
    points = _points(likelihoods, sample, distribution)
    value = loss(distribution.vector, points)[0]
    for _ in range(20):  # five settle 12 × 600
        inside = np.clip(distribution.vector, _LOWEST, _HIGHEST)
        lowest = np.maximum(inside - trust * _TRUSTED_DOWN, _LOWEST)
        highest = np.minimum(inside + trust * _TRUSTED_UP, _HIGHEST)
        optimum = minimize(
            loss,
            inside,
            args=(points,),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(lowest, highest),
            options={"maxiter": 12},
        )
        moved = ItemDistribution.from_vector(optimum.x)
        # such a gain in log marginal likelihood moves slopes by 0.014 standard errors
        if (loss(inside, points)[0] - float(optimum.fun)) * copies.sum() < 0.01:
            return moved
        of_moved = _points(likelihoods, sample, moved)
        of_value = loss(moved.vector, of_moved)[0]
        if of_value <= value:
            distribution = moved
            points = of_moved
            value = of_value
            trust = min(2 * trust, 1.0)
        elif trust < 0.05:  # a step down is then within the error of the integrals
            break
        else:
            trust /= 4
    return distribution


def _points(likelihoods: ItemLikelihoods, items: Places, distribution: ItemDistribution) -> _Points:
    """Points around the modes of some items, of kinds that they may well be of."""
    kinds = [_modes(likelihoods, items, sign, distribution) for sign in (1.0, -1.0)]
    log_odds = math.log(1 - distribution.inverted), math.log(distribution.inverted)
    evidence = np.stack(  # by Laplace's approximation, up to a constant
        [
            height + odds + np.log(np.einsum("jkk->jk", factor)).sum(axis=1)
            for (_, factor, height), odds in zip(kinds, log_odds, strict=True)
        ]
    )
    likely = evidence > evidence.max(axis=0) - 14.0
    which = np.concatenate([np.flatnonzero(kept) for kept in likely])
    sign = np.repeat([1.0, -1.0], likely.sum(axis=1))[:, None]
    at, factor = (
        np.concatenate([kind[k][kept] for kind, kept in zip(kinds, likely, strict=True)])
        for k in range(2)
    )
    u, e = np.moveaxis(at[:, None] + _STEPS @ np.swapaxes(factor, 1, 2), 2, 0)
    slope, intercept = distribution.items(u, e, sign)
    by_u, _, by_e = distribution.jacobian(slope, e, sign)
    volume = np.log(np.abs(by_u) * by_e)
    volume += np.log(np.einsum("jkk->jk", factor)).sum(axis=1, keepdims=True)
    log_likelihood = likelihoods.log_likelihood(items[which], slope, intercept)
    return _Points(items[which], sign, slope, intercept, log_likelihood + _LOG_WEIGHTS + volume)


def _modes(
    likelihoods: ItemLikelihoods, items: Places, kind: float, distribution: ItemDistribution
) -> tuple[Array, Array, Array]:
    """Modes u and e of the posteriors of items of one kind, (n, 2).

    With them come triangular factors of their covariances, (n, 2, 2), and log densities. Newton
    steps on expected information that lead down are damped (Levenberg 1944).
    """
    centre = np.array([distribution.centre, 0.0])
    precision = np.array([distribution.log_slope_spread**-2, 1.0])
    sign = np.full(len(items), kind)

    def height(at: Array) -> Array:
        slope, intercept = distribution.items(at[:, :1], at[:, 1:], sign[:, None])
        value = likelihoods.log_likelihood(items, slope, intercept)[:, 0]
        return np.asarray(value - 0.5 * (at - centre) ** 2 @ precision)

    at = np.tile(centre, (len(items), 1))
    here = height(at)
    damping = np.zeros(len(items))
    for _ in range(40):
        slope, intercept = distribution.items(at[:, 0], at[:, 1], sign)
        score, by_item = likelihoods.local(items, slope, intercept)
        by_u, with_slope, by_e = distribution.jacobian(slope, at[:, 1], sign)
        moves = np.zeros((len(items), 2, 2))  # of slope and intercept (rows) by u and e
        moves[:, 0, 0], moves[:, 1, 0], moves[:, 1, 1] = by_u, with_slope, by_e
        turned = np.swapaxes(moves, 1, 2)
        information = turned @ by_item @ moves + np.diag(precision)
        gradient = (turned @ score[:, :, None])[:, :, 0] - precision * (at - centre)
        damped = information * (1 + damping[:, None, None] * np.eye(2))
        step = np.linalg.solve(damped, gradient[:, :, None])[:, :, 0]
        if np.abs(step).max() < 1e-3:
            break
        step[:, 0] = np.clip(step[:, 0], -2.0, 2.0)
        there = height(at + step)
        up = there >= here - 1e-9
        at[up] += step[up]
        here = np.where(up, there, here)
        damping = np.where(up, damping / 10, np.maximum(10 * damping, 1.0))
    return at, np.linalg.cholesky(np.linalg.inv(information)), here
