"""What the entries of a vector of parameters stand for.

The vector holds the slopes (one if they are common; log SD of ability for Rasch), the intercepts,
the angles of guessing (3PL), and with a prior that learns its location and, unless slopes are
common, its log scale.

Guessing is c = sin² φ, φ its angle: where nobody guesses c ends at 0, which an ascent reaches in a
few steps of φ, and never in those of a logit.

Synthetic respondents have the ability distribution N(0, σ² + (w/τ)²), σ the SD of real ability, τ
the typical slope and w wide on the logit scale. The wide part follows the items when they are
rescaled, so that synthetic respondents do not pull on the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.priors import Hyper, ItemDensity
from irtkit.irf import Items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

SYNTHETIC_LOGIT_SD = 5.0
"""w: what synthetic respondents' ability varies more than that of real ones, in logits."""
_OFF_ZERO = 0.01
_LEAST_ANGLE = 1e-8
"""Least sine and cosine of an angle of guessing, which stand for none and for certainty."""


@dataclass(frozen=True)
class Layout:
    """How items and what a prior learns make up one vector of parameters."""

    model: ModelName
    n_items: int
    prior: ItemDensity | None

    @property
    def common_slope(self) -> bool:
        """Whether all items have the same slope."""
        return self.model in {"1PL", "Rasch"}

    @property
    def n_slopes(self) -> int:
        """How many leading entries are slopes."""
        return 1 if self.common_slope else self.n_items

    @property
    def n_learned(self) -> int:
        """How many entries at the end the prior learns."""
        if self.prior is None or not self.prior.learns:
            return 0
        return 1 if self.common_slope else 2

    def split(self, x: Array) -> tuple[Array, Array, Array | None, Array]:
        """Slopes, intercepts, angles of guessing (or None), and what the prior learns."""
        after_intercepts = self.n_slopes + self.n_items
        after_guessing = after_intercepts + (self.n_items if self.model == "3PL" else 0)
        return (
            x[: self.n_slopes],
            x[self.n_slopes : after_intercepts],
            x[after_intercepts:after_guessing] if self.model == "3PL" else None,
            x[after_guessing:],
        )

    def joined(
        self, slopes: Array, intercepts: Array, guessing: Array | None, learned: Array
    ) -> Array:
        """Put a vector together again; of what is learned, as much as there is."""
        parts = [slopes, intercepts, *([] if guessing is None else [guessing])]
        return np.concatenate([*parts, learned[: self.n_learned]])

    def items(self, x: Array) -> Items:
        """Slope, intercept and logit of guessing of every item."""
        slopes, intercepts, guessing, _ = self.split(x)
        if self.common_slope:
            slopes = np.full(self.n_items, 1.0 if self.model == "Rasch" else slopes[0])
        if guessing is None:
            return Items(slopes, intercepts)
        sine, cosine = _sine_and_cosine(guessing)
        return Items(slopes, intercepts, 2 * np.log(np.abs(sine / cosine)))

    def vector(self, items: Items) -> Array:
        """Return the vector that holds some items; what the prior learns is left at 0."""
        slopes, intercepts, logits = items
        guessing = None if logits is None else np.arctan(np.exp(0.5 * np.minimum(logits, 700.0)))
        return self.joined(slopes[: self.n_slopes], intercepts, guessing, np.zeros(2))

    def logit_by_angle(self, x: Array) -> Array | None:
        """Derivative of the logit of guessing by its angle, 2/(sin φ cos φ); None without."""
        *_, guessing, _ = self.split(x)
        if guessing is None:
            return None
        sine, cosine = _sine_and_cosine(guessing)
        return np.asarray(2 / (sine * cosine))

    def hyper(self, x: Array) -> Hyper:
        """What the prior learns: scale and location of the items."""
        *_, learned = self.split(x)
        location, log_scale = (*learned, 0.0, 0.0)[:2]
        return Hyper(float(log_scale), float(location))

    def latent_sd(self, x: Array) -> float:
        """SD of ability among real respondents: 1 except for Rasch."""
        return math.exp(x[0]) if self.model == "Rasch" else 1.0

    def wide_sd(self, x: Array) -> float:
        """w/τ, with τ the geometric mean of the sizes of slopes, held off 0."""
        typical = np.exp(0.5 * np.mean(np.log(self.items(x).slope ** 2 + _OFF_ZERO)))
        return SYNTHETIC_LOGIT_SD / float(typical)

    def synthetic_sd(self, x: Array) -> float:
        """SD of ability among synthetic respondents: wide in logits, and above the real one."""
        return math.hypot(self.latent_sd(x), self.wide_sd(x))

    def sd_gradients(self, x: Array) -> tuple[Array, Array]:
        """Derivatives of the logarithms of both SDs by the slopes, each (n_slopes,)."""
        by_slope = np.zeros(self.n_slopes)
        share = self.wide_sd(x) ** 2 / self.synthetic_sd(x) ** 2
        if self.model == "Rasch":
            return by_slope + 1.0, by_slope + (1 - share)
        slopes = x[: self.n_slopes]
        return by_slope, -share * slopes / (slopes**2 + _OFF_ZERO) / self.n_slopes

    def rescaled(self, x: Array, mean: float, sd: float) -> Array:
        """Parameters for ability measured from ``mean`` in units of ``sd``."""
        slopes, intercepts, guessing, _ = self.split(x)
        hyper = self.hyper(x)
        learned = np.array([(hyper.location + mean) / sd, hyper.log_scale + math.log(sd)])
        moved = intercepts + self.items(x).slope * mean
        return self.joined(slopes * sd, moved, guessing, learned)

    def tangents(self, x: Array) -> tuple[Array, Array]:
        """How parameters move with a common factor of ability (in log) and a common shift."""
        slopes, intercepts, guessing, _ = self.split(x)
        still = None if guessing is None else np.zeros_like(guessing)
        factor = np.ones(1) if self.model == "Rasch" else slopes
        with_factor = np.array([-self.hyper(x).location, 1.0])
        shifted = self.items(x).slope * self.latent_sd(x)
        return (
            self.joined(factor, np.zeros_like(intercepts), still, with_factor),
            self.joined(np.zeros_like(slopes), shifted, still, np.array([1.0, 0.0])),
        )


def _sine_and_cosine(angle: Array) -> Array:
    """Both, held off 0, in an array of shape (2, n)."""
    parts = np.stack([np.sin(angle), np.cos(angle)])
    return np.asarray(np.copysign(np.maximum(np.abs(parts), _LEAST_ANGLE), parts))
