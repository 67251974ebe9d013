"""What the maximiser moves: a vector of unbounded numbers, and the items that it stands for.

The likelihood speaks of slopes, intercepts and logits of guessing. The vector holds the slopes (one
if they are common; of Rasch the log SD of ability in its place), the intercepts, the *angles* of
guessing (3PL), and what the prior learns: the location of intercepts and, unless slopes are
common, their log scale.

Guessing is c = sin² φ, φ its angle: where nobody guesses c ends at 0, which a search reaches in a
few steps of φ, and never in those of a logit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.irf import Items

if TYPE_CHECKING:
    from irtkit.irf import Array, ModelName

_LEAST_SINE = 1e-8
"""Least sine and cosine of an angle of guessing: c differs from 0 and 1 by its square, 1e-16."""


class Hyper(NamedTuple):
    """What the weak prior learns: log τ, the scale of slopes, and m, the location of intercepts."""

    log_scale: float
    location: float


class Values(NamedTuple):
    """What a vector stands for."""

    items: Items
    latent_sd: float
    """SD of ability among real respondents: 1 except for Rasch."""
    hyper: Hyper
    logit_by_angle: Array | None
    """Derivative of the logit of guessing by its angle, 2/(sin φ cos φ); None without guessing."""


class Parameterisation:
    """How items and what a prior learns make up one vector of parameters.

    ``learns`` says whether the prior learns :class:`Hyper` with the items.
    """

    def __init__(self, model: ModelName, n_items: int, *, learns: bool) -> None:
        self.model = model
        self.n_items = n_items
        self.common_slope = model in {"1PL", "Rasch"}
        self.n_hyper = 0 if not learns else 1 if self.common_slope else 2
        after_slopes = 1 if self.common_slope else n_items
        after_intercepts = after_slopes + n_items
        after_angles = after_intercepts + (n_items if model == "3PL" else 0)
        self.size = after_angles + self.n_hyper
        self.slopes = slice(0, after_slopes)
        self.intercepts = slice(after_slopes, after_intercepts)
        self.angles = slice(after_intercepts, after_angles)
        self.hyper = slice(after_angles, self.size)

    def values(self, x: Array) -> Values:
        """Items and all else that a vector stands for."""
        slopes, location, log_scale = x[self.slopes], *(*x[self.hyper], 0.0, 0.0)[:2]
        latent_sd = math.exp(x[0]) if self.model == "Rasch" else 1.0
        if self.common_slope:
            slopes = np.full(self.n_items, 1.0 if self.model == "Rasch" else slopes[0])
        logits = by_angle = None
        if self.model == "3PL":
            parts = np.stack([np.sin(x[self.angles]), np.cos(x[self.angles])])
            sine, cosine = np.copysign(np.maximum(np.abs(parts), _LEAST_SINE), parts)
            logits, by_angle = 2 * np.log(np.abs(sine / cosine)), 2 / (sine * cosine)
        hyper = Hyper(float(log_scale), float(location))
        return Values(Items(slopes, x[self.intercepts], logits), latent_sd, hyper, by_angle)

    def vector(self, items: Items, hyper: Hyper | None = None, latent_sd: float = 1.0) -> Array:
        """Return the vector that stands for some items."""
        x = np.zeros(self.size)
        slopes = np.full(1, math.log(latent_sd)) if self.model == "Rasch" else items.slope
        x[self.slopes], x[self.intercepts] = slopes[: 1 if self.common_slope else None], items[1]
        if self.model == "3PL":
            # beyond a logit of 60 the angle is ½π within 1e-13
            x[self.angles] = np.arctan(np.exp(0.5 * np.minimum(items.logit_guessing, 60.0)))
        if hyper is not None:
            x[self.hyper] = (hyper.location, hyper.log_scale)[: self.n_hyper]
        return x

    def pulled_back(self, at: Values, by_item: Array, by_log_sd: float, by_hyper: Array) -> Array:
        """Gradient by the vector from those by the items, the log SD of ability and the hyper.

        That by the slope of an item is, for Rasch, one by the SD that stands in its place.
        """
        gradient, by_slope = np.empty(self.size), by_item[:, 0]
        if self.model == "Rasch":
            gradient[0] = by_slope.sum() * at.latent_sd + by_log_sd
        else:
            gradient[self.slopes] = by_slope.sum() if self.common_slope else by_slope
        gradient[self.intercepts] = by_item[:, 1]
        if at.logit_by_angle is not None:
            gradient[self.angles] = by_item[:, 2] * at.logit_by_angle
        gradient[self.hyper] = by_hyper[: self.n_hyper]
        return gradient

    def scale_and_location(self, x: Array, at: Values) -> tuple[Array, Array]:
        """How the vector moves with a common factor of ability (in log) and a common shift."""
        scale, location = np.zeros((2, self.size))
        scale[self.slopes] = 1.0 if self.model == "Rasch" else x[self.slopes]
        scale[self.hyper] = (-at.hyper.location, 1.0)[: self.n_hyper]
        location[self.intercepts] = at.items.slope * at.latent_sd
        location[self.hyper] = (1.0, 0.0)[: self.n_hyper]
        return scale, location

    def rescaled(self, x: Array, mean: float, sd: float) -> Array:
        """Vector for ability measured from ``mean`` in units of ``sd``."""
        items, latent_sd, hyper, _ = self.values(x)
        moved = items._replace(slope=items.slope * sd, intercept=items.intercept + items[0] * mean)
        learned = Hyper(hyper.log_scale + math.log(sd), (hyper.location + mean) / sd)
        rescaled = self.vector(moved, learned, latent_sd)
        rescaled[self.angles] = x[self.angles]
        return rescaled
