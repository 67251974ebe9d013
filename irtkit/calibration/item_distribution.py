"""How items are distributed: the prior that ``prior="empirical"`` learns from the matrix.

A slope a is regular or, with probability π, inverted, and asinh(±a/λ) is N(c, s²): near 0 that is a
normal distribution of the slope itself, far out of its logarithm, and λ, learned too, says where
one turns into the other. An intercept is N(±δ − βa, v² + w²a²), which is difficulty N(β, w²) plus
a part, N(±δ, v²), that has nothing to do with the slope: where difficulties spread, the intercept
of a steep item is farther from 0 than that of a flat one, so that each tells of the other. An
inverted item is a regular one with right and wrong exchanged, a and d with their signs turned.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

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
from irtkit.irf import logistic

if TYPE_CHECKING:
    from irtkit.irf import Array, Items

STEEP = Steep(WeakPrior.steep, WeakPrior.steep_spread)
"""The limit that slopes meet under the weak prior."""
_LOGARITHMS, _LOGITS = [0, 1, 2, 5, 7], [3]
"""Numbers of a distribution that are above 0, and between 0 and 1."""


@dataclass(frozen=True)
class TwoSided(Density):
    """Mixture of N(centre, spread²) and, with weight ``inverted``, N(−centre, spread²)."""

    centre: float
    spread: float
    inverted: float

    def at(self, x: Array) -> LogDensity:
        """Logarithm of the sum of both; as curvature stands that of either."""
        kinds = (
            math.log(1 - self.inverted) + Normal(self.centre, self.spread).at(x).value,
            math.log(self.inverted) + Normal(-self.centre, self.spread).at(x).value,
        )
        odds = math.log(self.inverted / (1 - self.inverted))
        share_inverted = logistic(odds - 2 * self.centre * x / self.spread**2)
        derivative = (self.centre * (1 - 2 * share_inverted) - x) / self.spread**2
        return LogDensity(np.logaddexp(*kinds), derivative, np.full_like(x, self.spread**-2))


class Standardised(NamedTuple):
    """Slopes and intercepts in the coordinates in which they are independent and normal."""

    u: Array
    """asinh of the slope over λ, mirrored if the item is inverted: N(c, s²)."""
    e: Array
    """Intercept, standardised given the slope: N(0, 1)."""


@dataclass(frozen=True)
class ItemDistribution:
    """Distribution of slopes and intercepts among the items.

    ``slope`` is the median slope of regular items, ``bend`` is λ in units of it, and
    ``log_slope_spread`` is s, the SD of log a where slopes are well above λ. ``inverted`` is the
    share π of inverted items. ``difficulty`` and ``difficulty_spread`` are mean and SD of
    difficulty (β, w), ``intercept`` and ``intercept_spread`` those of the other part of intercepts
    (δ, v).
    """

    slope: float
    bend: float
    log_slope_spread: float
    inverted: float
    difficulty: float
    difficulty_spread: float
    intercept: float
    intercept_spread: float
    chance: Any = None
    """That of the weak prior, whose density of guessing is kept."""
    learns: ClassVar[bool] = False

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

    def standardised(self, slope: Array, intercept: Array, sign: Array) -> Standardised:
        """Coordinates of items; ``sign`` is −1 for inverted ones."""
        off = intercept - sign * self.intercept + self.difficulty * slope
        return Standardised(
            np.arcsinh(sign * slope / self.turn), off / np.sqrt(self.variance(slope))
        )

    def items(self, at: Standardised, sign: Array) -> tuple[Array, Array]:
        """Slopes and intercepts at some coordinates."""
        slope = sign * self.turn * np.sinh(at.u)
        mean = sign * self.intercept - self.difficulty * slope
        return slope, mean + at.e * np.sqrt(self.variance(slope))

    def jacobian(self, slope: Array, at: Standardised, sign: Array) -> tuple[Array, Array, Array]:
        """Derivatives ∂a/∂u, ∂d/∂u and ∂d/∂e; ∂a/∂e is 0."""
        by_u = sign * np.sqrt(slope**2 + self.turn**2)
        sd = np.sqrt(self.variance(slope))
        with_slope = at.e * self.difficulty_spread**2 * slope / sd - self.difficulty
        return by_u, with_slope * by_u, sd

    def log_density(self, slope: Array, intercept: Array, sign: Array) -> Array:
        """Log density of (slope, intercept) and of the sign."""
        at = self.standardised(slope, intercept, sign)
        square = ((at.u - self.centre) / self.log_slope_spread) ** 2 + at.e**2
        volume = (slope**2 + self.turn**2) * self.variance(slope)
        odds = np.where(sign < 0, self.inverted, 1 - self.inverted)
        constant = np.log(odds) - math.log(self.log_slope_spread)
        return np.asarray(constant - 0.5 * (square + np.log(volume)))

    def gradient(self, slope: Array, intercept: Array, sign: Array, weights: Array) -> Array:
        """Derivative by the vector of a weighted sum of log densities, (8,)."""
        at = self.standardised(slope, intercept, sign)
        off_centre = (at.u - self.centre) / self.log_slope_spread
        beyond, variance = slope**2 + self.turn**2, self.variance(slope)
        pull = weights * off_centre / self.log_slope_spread
        surplus = weights * (at.e**2 - 1) / variance
        by_mean = weights * at.e / np.sqrt(variance)
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
        """Density of guessing, that of the weak prior."""
        return WeakPrior(chance=self.chance).guessing_density

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of u and e of the items, its gradient and its curvature.

        Each item is of the kind that its slope has the sign of. Slopes meet the limit of the weak
        prior, and guessing has the density that it has there.
        """
        del hyper, common_slope
        slope, intercept, logit = items
        sign = np.where(slope < 0, -1.0, 1.0)
        at = self.standardised(slope, intercept, sign)
        by_u, with_slope, sd = self.jacobian(slope, at, sign)
        terms = [
            Term(Normal(self.centre, self.log_slope_spread).at(at.u), {0: 1 / by_u}),
            Term(Normal(0.0, 1.0).at(at.e), {0: -with_slope / (by_u * sd), 1: 1 / sd}),
            Term(STEEP.at(slope), {0: 1.0}),
        ]
        if logit is not None:
            terms.append(Term(self.guessing_density.at(logit), {2: 1.0}))
        return summed(terms, items, copies=copies)

    def coupled(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Log density of intercepts given slopes, and of location and scale, which stay free.

        ``hyper.location`` stands for −β and the scale τ for the median slope. The variance V of an
        intercept follows a/τ, so that −½ log V counts as well.
        """
        del common_slope
        slope, location, weak = items.slope, hyper.location, WeakPrior()
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
        terms = [of_intercept, of_spread, Term(STEEP.at(slope), {0: 1.0})]
        return summed(terms, items, hyper, (weak.location_sd, weak.log_scale_sd))
