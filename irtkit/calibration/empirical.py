"""Items fitted with a distribution learned from the matrix itself (empirical Bayes).

With few respondents the likelihood says little about a single item, but much about how items are
distributed. The abilities of a fit with the weak prior are kept. The parameters of the distribution
maximise the likelihood with the items integrated out. Items are then set to their posterior means.
The likelihood of one item comes from the numbers of responses and of correct responses expected at
each node, with abilities held at their posteriors (Bock & Aitkin 1981). Integrals are sums over
evenly spaced slopes around the estimate under the weak prior, and at each slope over Gauss–Hermite
points around the likeliest intercept (Naylor & Smith 1982).
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
from irtkit.calibration.standard_errors import UNKNOWN, expected_of
from irtkit.data.patterns import blocks
from irtkit.irf import Items, curvatures, curves_of, log_probability, logistic, normal_rule
from irtkit.quadrature import Grid
from irtkit.quadrature.nodes import STENCIL, local_interpolation

if TYPE_CHECKING:
    from irtkit.calibration.search import GridSchedule, Maximum, Problem
    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array

STEEP = Steep(WeakPrior.steep, WeakPrior.steep_spread)  # The limit of slopes under the weak prior.
_SLOPES = np.linspace(-5.0, 5.0, 21)  # In standard errors around the estimate.
_POINTS, _WEIGHTS = normal_rule(5)


@dataclass(frozen=True)
class _Tuned:
    """How a distribution is learned (``benchmarks/coverage.py``)."""

    most_items: int = 2000  # That a distribution is learned from.
    apart: float = 0.3  # Logits between abilities at which responses are counted.
    gradient: float = 1e-4  # Of the log-likelihood per item, at which the distribution is settled.
    newton_steps: int = 6  # For intercepts: the points need not lie around their likeliest values.
    least: float = 0.05  # Least median slope, and spread of intercepts, to start from.


_TUNED = _Tuned()


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
        precision = self.spread**-2.0
        share_inverted = logistic(odds - 2 * self.centre * precision * x)
        mean = self.centre * (1 - 2 * share_inverted)
        derivative = (mean - x) * precision
        return LogDensity(np.logaddexp(*kinds), derivative, np.full_like(x, precision))


@dataclass(frozen=True)
class ItemDistribution:
    """Distribution of slopes and intercepts among the items.

    A slope a is regular or, with probability π, inverted, and asinh(±a/λ) is N(c, s²). Near 0 this
    is a normal distribution of the slope, and far from 0 one of its logarithm. An intercept is
    N(±δ − βa, v² + w²a²): difficulty N(β, w²) plus a part N(±δ, v²) that does not depend on the
    slope. An inverted item is a regular one with right and wrong exchanged.

    ``slope`` is the median slope of regular items, and ``log_slope_spread`` is s, the SD of log a
    where slopes are well above λ. ``inverted`` is the share π of inverted items. ``difficulty`` and
    ``difficulty_spread`` are mean and SD of difficulty (β, w). ``intercept`` and
    ``intercept_spread`` are mean and SD of the other part of intercepts (δ, v).
    """

    slope: float
    log_slope_spread: float
    inverted: float
    difficulty: float
    difficulty_spread: float
    intercept: float
    intercept_spread: float
    chance: Any = None  # That of the weak prior, whose density of guessing is kept.
    learns: ClassVar[bool] = False
    keys: ClassVar[None] = None
    bend: ClassVar[float] = 0.6
    """λ in units of the median slope. It hardly matters: of lognormal slopes values from 0.4 to 0.8
    are likeliest, and with 0.4 errors of slopes are the same (``benchmarks/coverage.py``)."""

    def described(self) -> dict[str, Any]:
        """Return what was learned, for the settings of a result."""
        numbers = {name: value for name, value in asdict(self).items() if value is not None}
        return {"kind": "empirical", "bend": self.bend, **numbers}

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
        slope, spread, odds, difficulty, wide, intercept, intercept_spread = vector.tolist()
        return cls(
            slope=math.exp(slope),
            log_slope_spread=math.exp(spread),
            inverted=float(logistic(odds)),
            difficulty=difficulty,
            difficulty_spread=math.exp(wide),
            intercept=intercept,
            intercept_spread=math.exp(intercept_spread),
        )

    @property
    def turn(self) -> float:
        """λ: about where the normal distribution of slopes turns into a lognormal one."""
        return self.bend * self.slope

    @property
    def slope_density(self) -> TwoSided:
        """Density of asinh(a/λ), with the sign of the slope."""
        return TwoSided(math.asinh(1 / self.bend), self.log_slope_spread, self.inverted)

    @property
    def guessing_density(self) -> Beta:
        """Density of guessing, as in the weak prior."""
        return WeakPrior(chance=self.chance).guessing_density

    def variance(self, slope: Array) -> Array:
        """Variance of intercepts given the slope."""
        return self.intercept_spread**2 + (self.difficulty_spread * slope) ** 2

    def of_kind(self, slope: Array, intercept: Array, sign: float) -> tuple[Array, Array]:
        """Log density of (slope, intercept) among the items of a sign, and its gradient.

        The gradient is by the vector, (7, …); of its entry for π it lacks the share of the sign.
        """
        centre = math.asinh(1 / self.bend)
        off = (np.arcsinh(sign * slope / self.turn) - centre) / self.log_slope_spread
        variance = self.variance(slope)
        residual = intercept - sign * self.intercept + self.difficulty * slope
        square = residual**2 / variance
        beyond = slope**2 + self.turn**2
        share = self.inverted if sign < 0 else 1 - self.inverted
        constant = math.log(share / self.log_slope_spread / (2 * math.pi))
        log_volume = np.log(beyond * variance)
        value = constant - 0.5 * (off**2 + square + log_volume)
        pull = off / self.log_slope_spread
        by_pull = pull * sign * slope / np.sqrt(beyond)
        by_turn = by_pull - self.turn**2 / beyond
        surplus = (square - 1) / variance
        gradient = [
            by_turn,
            off**2 - 1,
            np.full_like(slope, float(sign < 0) - self.inverted),
            -residual / variance * slope,
            surplus * (self.difficulty_spread * slope) ** 2,
            residual / variance * sign,
            surplus * self.intercept_spread**2,
        ]
        return value, np.stack(gradient)

    def log_density(self, slope: Array, intercept: Array) -> tuple[Array, Array]:
        """Log density of (slope, intercept), and its gradient by the vector, (7, …)."""
        regular, by_regular = self.of_kind(slope, intercept, 1.0)
        inverted, by_inverted = self.of_kind(slope, intercept, -1.0)
        share = logistic(inverted - regular)
        gradient = by_regular + share * (by_inverted - by_regular)
        return np.logaddexp(regular, inverted), gradient

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items, its gradient and its curvature.

        Each item is of the kind that its slope has the sign of. The limit of slopes and the density
        of guessing are those of the weak prior.
        """
        del hyper, common_slope
        slope = items.slope
        sign = np.where(slope < 0, -1.0, 1.0)
        centre = math.asinh(1 / self.bend)
        regular = Normal(centre, self.log_slope_spread)
        of_slope = regular.at(np.arcsinh(sign * slope / self.turn))
        by_slope = sign / np.sqrt(slope**2 + self.turn**2)
        learned = Hyper(math.log(self.slope), -self.difficulty)
        terms = self._of_intercepts(items, learned)
        terms.append(Term(of_slope, {0: by_slope}))
        if items.logit_guessing is not None:
            terms.append(Term(self.guessing_density.at(items.logit_guessing), {2: 1.0}))
        density = summed(terms, items, copies=copies)
        return density._replace(by_hyper=np.zeros(2))  # location and scale are known

    def coupled(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Log density of intercepts given slopes, and of location and scale, which stay free.

        ``hyper.location`` stands for −β and the scale τ for the median slope.
        """
        del common_slope
        weak = WeakPrior()
        terms = self._of_intercepts(items, hyper)
        return summed(terms, items, hyper, (weak.location_sd, weak.log_scale_sd))

    def _of_intercepts(self, items: Items, hyper: Hyper) -> list[Term]:
        """Terms of intercepts given slopes, and of steep slopes.

        The variance V of an intercept depends on a/τ, so that −½ log V is part of the density.
        """
        slope = items.slope
        unit = self.slope * math.exp(-hyper.log_scale)
        variance = self.variance(unit * slope)
        sd = np.sqrt(variance)
        mean = np.sign(slope) * self.intercept + hyper.location * slope
        residual = (items.intercept - mean) / sd
        by = {0: -hyper.location / sd, 1: 1 / sd, 3: -slope / sd}
        of_intercept = Term(Normal(0.0, 1.0).at(residual), by)
        rise = 2 * (self.difficulty_spread * unit) ** 2 * slope / variance  # of log V by the slope
        of_variance = LogDensity(
            value=-0.5 * np.log(variance),
            derivative=0.5 * (residual**2 - 1),
            curvature=np.full_like(slope, 0.5),
        )
        of_spread = Term(of_variance, {0: rise, 4: -rise * slope})
        return [of_intercept, of_spread, Term(STEEP.at(slope), {0: 1.0})]


# What is expected of a distribution, and how surely, with the weight of about one item; not at all
# of the typical slope. Of slopes the weak prior has it; two SDs of 2 % inverted are 0.04 and 53 %.
_EXPECTED = np.array([0.0, math.log(0.4), math.log(0.02 / 0.98), 0.0, 0.0, 0.0, math.log(0.5)])
_PRECISION = np.array([0.0, 1.0, 0.25, 0.1, 1.0, 0.1, 1.0])


class Points(NamedTuple):
    """Points of the integrals over items, (n_items, n_points)."""

    slope: Array
    intercept: Array
    log_weight: Array  # Log likelihood and log weight in an integral over slope and intercept.

    def chosen(self, places: Any) -> Points:
        """Those of some items."""
        return Points(*(values[places] for values in self))

    def shares(self, distribution: ItemDistribution) -> tuple[Array, Array, Array]:
        """Posterior weights, log marginal likelihoods, and gradients of log densities."""
        log_density, gradient = distribution.log_density(self.slope, self.intercept)
        joint = self.log_weight + log_density
        peak = joint.max(axis=1, keepdims=True)
        share = np.exp(joint - peak)
        total = share.sum(axis=1, keepdims=True)
        return share / total, (peak + np.log(total))[:, 0], gradient


class Counts(NamedTuple):
    """Responses of every item expected at some abilities."""

    theta: Array
    right: Array  # Shape (n_items, n_abilities).
    responses: Array  # The same, or (1, n_abilities) with complete data.


def expected_counts(patterns: Patterns, items: Items, grid: Grid) -> Counts:
    """Count responses at the posteriors of ability.

    Where nodes are denser than items bend, counts are carried to places further apart by the
    transpose of interpolation, which keeps sums of smooth functions.
    """
    # curves at the nodes themselves: what is learned moves by 1e5 times an interpolation error
    nodes = grid.nodes._replace(points=grid.nodes.theta, interpolation=None)
    exact = Grid(nodes, grid.log_weights)
    expected = expected_of(patterns, items, exact, right_too=True, dtype=np.float64)
    theta = expected.theta
    right: Any = expected.right
    copies = patterns.copies(np.ones(len(items.slope))).astype(np.intp)
    steep = float(np.quantile(np.abs(np.repeat(items.slope, copies)), 0.9))
    n_places = max(int(np.ptp(theta) * steep / _TUNED.apart) + 1, STENCIL)
    if n_places >= len(theta):
        return Counts(theta, right, expected.responses)
    places = np.linspace(theta[0], theta[-1], n_places)
    carried = local_interpolation(theta, places)
    return Counts(places, right @ carried, expected.responses @ carried)


def points_of(counts: Counts, items: Items, scale: float) -> Points:
    """Points around estimates under the weak prior, with slopes of a typical size ``scale``.

    Slopes a are evenly spaced in asinh(a/scale), by a step in standard errors. At each of them
    Newton steps find the likeliest intercept, as far as the weak prior lets it go.
    """
    n_slopes = len(_SLOPES)
    shape = len(items.slope), n_slopes * len(_POINTS)
    table = np.empty((3, *shape))
    held = WeakPrior.intercept_spread**-2
    theta = counts.theta
    for part in blocks(shape[0], shape[1] * len(theta)):
        of_part = items.chosen(part)
        right = counts.right[part]
        responses = counts.responses if len(counts.responses) == 1 else counts.responses[part]
        information = curvatures(curves_of(of_part, theta), responses)[0]
        of_intercept, mixed, of_slope = (information @ theta**k for k in range(3))
        alone = of_slope - mixed**2 / np.maximum(of_intercept, UNKNOWN)
        stretch = np.sqrt(of_part.slope**2 + scale**2)
        precision = alone * stretch**2 + 0.5 * WeakPrior.slope_spread**-2
        sd = precision[:, None] ** -0.5
        slope = scale * np.sinh(np.arcsinh(of_part.slope / scale)[:, None] + sd * _SLOPES)
        spacing = sd * np.sqrt(slope**2 + scale**2)

        at = of_part.chosen(np.repeat(np.arange(len(slope)), n_slopes))
        at = at._replace(slope=slope.ravel())
        right = np.repeat(right, n_slopes, axis=0)
        if len(responses) > 1:
            responses = np.repeat(responses, n_slopes, axis=0)
        for _ in range(_TUNED.newton_steps):
            curves = curves_of(at, theta)
            residual = (right / curves.p - responses) * curves.s
            precision = curvatures(curves, responses)[0].sum(axis=1) + held
            step = (residual.sum(axis=1) - held * at.intercept) / precision
            at = at._replace(intercept=at.intercept + np.clip(step, -2.0, 2.0))
        sd = precision[:, None] ** -0.5
        intercept = at.intercept[:, None] + sd * _POINTS
        value = np.log(_WEIGHTS * sd) + 0.5 * _POINTS**2
        value += (STEEP.at(at.slope).value + np.log(spacing).ravel())[:, None]
        for k, of_point in enumerate(intercept.T):
            log_p = log_probability(at._replace(intercept=of_point), theta)
            log_wrong = log_p[:, 0]
            of_answers = responses * log_wrong + right * (log_p[:, 1] - log_wrong)
            value[:, k] += of_answers.sum(axis=1)
        slopes = np.repeat(at.slope, len(_POINTS))
        flat = np.stack([slopes, intercept.ravel(), value.ravel()])
        table[:, part] = flat.reshape(3, -1, shape[1])
    return Points(*table)


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
    counts = expected_counts(patterns, items, grid)
    n_right = patterns.margins.respondent_right
    powers = [patterns.weight * n_right**k for k in range(3)]
    share, *of_able = (
        patterns.right_sums(power) / np.maximum(patterns.response_sums(power), 1)
        for power in powers
    )
    order = np.lexsort((*reversed(of_able), share))
    copies = patterns.copies(np.ones(len(order)))
    whole = np.repeat(order, copies[order].astype(np.intp))
    scale = max(abs(float(np.median(items.slope[whole]))), _TUNED.least)
    points = points_of(counts, items, scale)
    distribution = learned_from(points, whole, items, scale)
    share = points.shares(distribution)[0]
    slope = (share * points.slope).sum(axis=1)
    intercept = (share * points.intercept).sum(axis=1)
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


def learned_from(points: Points, whole: Places, items: Items, scale: float) -> ItemDistribution:
    """Return the most likely distribution of a sample of the items, which may have copies."""
    from scipy.optimize import minimize

    sample = whole[:: -(-len(whole) // _TUNED.most_items)]
    sample, copies = np.unique(sample, return_counts=True)
    points = points.chosen(sample)
    n = copies.sum()

    def loss(vector: Array) -> tuple[float, Array]:
        """Minus the log marginal likelihood, with what is expected of the distribution."""
        share, log_marginal, gradient = points.shares(ItemDistribution.from_vector(vector))
        off = vector - _EXPECTED
        total = copies @ log_marginal - 0.5 * (_PRECISION @ off**2)
        by_item = (gradient * share).sum(axis=2)
        by_vector = by_item @ copies - _PRECISION * off
        return -float(total) / n, -by_vector / n

    # to start from, half of the intercepts' variance goes with slopes
    spread = max(float(np.std(items.intercept[whole])), _TUNED.least) / np.sqrt(2)
    start = _EXPECTED.copy()
    start[0] = np.log(scale)
    start[3] = -float(np.median(items.intercept[whole])) / scale
    start[[4, 6]] = np.log([spread / scale, spread])
    optimum = minimize(loss, start, jac=True, method="BFGS", options={"gtol": _TUNED.gradient})
    return ItemDistribution.from_vector(optimum.x)
