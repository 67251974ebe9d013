"""Log densities of one number, and their derivatives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import betaln, expit, gammaln

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class Density(Protocol):
    """Log density of one coordinate."""

    def log_density(self, u: Array) -> Array:
        """Log density at u."""

    def slope(self, u: Array) -> Array:
        """Its derivative."""


@dataclass(frozen=True)
class NormalDensity:
    """N(mean, sd²)."""

    mean: float
    sd: float

    def log_density(self, u: Array) -> Array:
        """Log density at u."""
        return -0.5 * ((u - self.mean) / self.sd) ** 2 - math.log(self.sd) - _LOG_ROOT_2PI

    def slope(self, u: Array) -> Array:
        """Its derivative."""
        return (self.mean - u) / self.sd**2


@dataclass(frozen=True)
class StudentDensity:
    """Student density around ``centre``."""

    centre: float
    scale: float
    df: float

    def log_density(self, u: Array) -> Array:
        """Log density at u."""
        constant = float(gammaln((self.df + 1) / 2) - gammaln(self.df / 2))
        constant -= 0.5 * math.log(self.df * math.pi) + math.log(self.scale)
        square = ((u - self.centre) / self.scale) ** 2
        return np.asarray(constant - 0.5 * (self.df + 1) * np.log1p(square / self.df))

    def slope(self, u: Array) -> Array:
        """Its derivative."""
        residual = (u - self.centre) / self.scale
        return -(self.df + 1) * residual / (self.df + residual**2) / self.scale


@dataclass(frozen=True)
class TwoSidedDensity:
    """Mixture of N(centre, spread²) and, with weight ``inverted``, N(−centre, spread²)."""

    centre: float
    spread: float
    inverted: float

    def share_inverted(self, u: Array) -> Array:
        """Probability that a value is of the second kind."""
        odds = math.log(self.inverted / (1 - self.inverted))
        return np.asarray(expit(odds - 2 * self.centre * u / self.spread**2))

    def log_density(self, u: Array) -> Array:
        """Log density at u."""
        kinds = [
            math.log(share) - 0.5 * ((u - sign * self.centre) / self.spread) ** 2
            for sign, share in ((1.0, 1 - self.inverted), (-1.0, self.inverted))
        ]
        return np.asarray(np.logaddexp(*kinds) - math.log(self.spread) - _LOG_ROOT_2PI)

    def slope(self, u: Array) -> Array:
        """Its derivative."""
        return (self.centre * (1 - 2 * self.share_inverted(u)) - u) / self.spread**2


@dataclass(frozen=True)
class LogitBetaDensity:
    """Density of the logit of a number that has a beta density."""

    alpha: float
    beta: float

    def log_density(self, u: Array) -> Array:
        """Log density at u."""
        wrong = np.logaddexp(0.0, u)
        return np.asarray(
            self.alpha * (u - wrong) - self.beta * wrong - betaln(self.alpha, self.beta)
        )

    def slope(self, u: Array) -> Array:
        """Its derivative."""
        return np.asarray(self.alpha - (self.alpha + self.beta) * expit(u))


@dataclass(frozen=True)
class LogOfNormalDensity:
    """Density of the logarithm of a number above 0 that has a normal density."""

    normal: NormalDensity

    def log_density(self, u: Array) -> Array:
        """Log density at u."""
        return self.normal.log_density(np.exp(u)) + u

    def slope(self, u: Array) -> Array:
        """Its derivative."""
        return self.normal.slope(np.exp(u)) * np.exp(u) + 1
