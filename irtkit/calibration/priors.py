"""Prior distributions of item parameters.

A prior on each item is not weak on the scale: thousands of item penalties outweigh a hundred
abilities, so that a normal prior on every slope shrinks all slopes together and blows up the
abilities. The weak prior here leaves the common scale and the common location of the items free.
It speaks of slopes relative to a learned scale τ and of intercepts relative to a learned location
m, so it does not change when ability is rescaled or shifted (a → ta, τ → tτ; d → d + aμ,
m → m + μ), and the normal distribution of ability alone sets the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from irtkit.quadrature import ItemArrays


class Hyper(NamedTuple):
    """What the weak prior learns: log τ, the scale of slopes, and m, the location of intercepts."""

    log_scale: jax.Array
    location: jax.Array


@dataclass(frozen=True)
class WeakPrior:
    """Weak prior that leaves scale and location free and keeps every estimate finite.

    Slopes: with u(r) = asinh(r), the ratio r = a/τ has a Student density in u(r) − u(1), of scale
    ``slope_spread`` with ``slope_df`` degrees of freedom. Around r = 1 the slopes spread by about
    0.4 τ; for large r this is a prior on log |a| with heavy tails; near 0 it is smooth, so that
    the sign stays free: a slope of −τ costs 6 nats against one of τ. A steep slope alone also
    meets an absolute limit: log |a| beyond log ``steep`` is half-normal with SD ``steep_spread``.
    It bears on matrices whose respondents fall into clusters, where slopes would otherwise grow
    without end. Under a common slope (1PL, Rasch) only log a has a prior, N(0,
    ``log_scale_sd``²).

    Intercepts: d − m·a is N(0, ``intercept_spread``²).

    Guessing (3PL): beta density of c, by default the one that BILOG-MG takes for items with five
    choices, Beta(5, 17), mode 0.2 (Zimowski, Muraki, Mislevy & Bock 2003), taken as a density of
    c itself, as mirt does.

    τ and m have the wide priors log τ ~ N(0, ``log_scale_sd``²) and m ~ N(0, ``location_sd``²),
    of the weight of one observation each. Spreads are on the logit scale.
    """

    slope_spread: float = 0.3
    slope_df: float = 4.0
    steep: float = 20.0
    steep_spread: float = 0.5
    intercept_spread: float = 3.0
    guessing_alpha: float = 5.0
    guessing_beta: float = 17.0
    log_scale_sd: float = 1.0
    location_sd: float = 5.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} of the prior must be above 0, got {value}")

    def log_density(self, items: ItemArrays, hyper: Hyper, *, common_slope: bool) -> jax.Array:
        """Log prior density up to a constant."""
        if common_slope:
            log_slope = jnp.log(jnp.abs(items.slope[0]) + 1e-12)
            value = -0.5 * (log_slope / self.log_scale_sd) ** 2
        else:
            value = self._log_density_of_slopes(items.slope, hyper)
        residual = (items.intercept - hyper.location * items.slope) / self.intercept_spread
        value -= 0.5 * jnp.sum(residual**2) + 0.5 * (hyper.location / self.location_sd) ** 2
        if items.logit_guessing is not None:
            value += jnp.sum(
                (self.guessing_alpha - 1) * jax.nn.log_sigmoid(items.logit_guessing)
                + (self.guessing_beta - 1) * jax.nn.log_sigmoid(-items.logit_guessing)
            )
        return value

    def _log_density_of_slopes(self, slope: jax.Array, hyper: Hyper) -> jax.Array:
        standardised, _ = self._standardised(slope, hyper)
        spread = 0.5 * (self.slope_df + 1) * jnp.log1p(standardised**2 / self.slope_df)
        excess = jnp.log(jnp.maximum(jnp.abs(slope) / self.steep, 1.0)) / self.steep_spread
        return -jnp.sum(spread + 0.5 * excess**2) - 0.5 * (hyper.log_scale / self.log_scale_sd) ** 2

    def curvature(
        self, items: ItemArrays, hyper: Hyper, *, common_slope: bool
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Positive definite stand-in for −∂² log density, by items and by what is learned.

        Blocks by item (n_items, k, k), a border (n_items, k, 2) and a corner (2, 2), in the order
        slope, intercept, logit of guessing and m, log τ.
        """
        n_items = items.slope.shape[0]
        zero, one = jnp.zeros_like(items.slope), jnp.ones_like(items.slope)
        size = 2 if items.logit_guessing is None else 3
        # Every term is ½·weight·residual²; here its weight, and its derivatives by slope and
        # intercept and by m and log τ.
        terms = [
            (
                zero + self.intercept_spread**-2,
                [-hyper.location * one, one],
                [-items.slope, zero],
            )
        ]
        if not common_slope:
            standardised, derivative = self._standardised(items.slope, hyper)
            weight = (self.slope_df + 1) / (self.slope_df + standardised**2)
            terms.append((weight, [derivative, zero], [zero, -derivative * items.slope]))
            size_above = jnp.maximum(jnp.abs(items.slope), self.steep)
            steep = (size_above > self.steep) / (self.steep_spread * size_above) ** 2
            terms.append((steep, [one, zero], [zero, zero]))
        blocks = jnp.zeros((n_items, size, size))
        border, corner = jnp.zeros((n_items, size, 2)), jnp.zeros((2, 2))
        for weight, by_item, by_learned in terms:
            item = jnp.stack([*by_item, *[zero] * (size - 2)], axis=1)
            learned = jnp.stack(by_learned, axis=1)
            weighted = weight[:, None] * item
            blocks += weighted[:, :, None] * item[:, None, :]
            border += weighted[:, :, None] * learned[:, None, :]
            corner += (weight[:, None] * learned).T @ learned
        if items.logit_guessing is not None:
            c = jax.nn.sigmoid(items.logit_guessing)
            guessing = (self.guessing_alpha + self.guessing_beta - 2) * c * (1 - c)
            blocks = blocks.at[:, 2, 2].add(guessing)
        own = jnp.array([self.location_sd**-2, self.log_scale_sd**-2])
        return blocks, border, corner + jnp.diag(own)

    def _standardised(self, slope: jax.Array, hyper: Hyper) -> tuple[jax.Array, jax.Array]:
        """(u(a/τ) − u(1)) / spread and its derivative by a."""
        inverse_scale = jnp.exp(-hyper.log_scale)
        ratio = slope * inverse_scale
        value = (jnp.arcsinh(ratio) - jnp.arcsinh(1.0)) / self.slope_spread
        return value, inverse_scale / jnp.sqrt(1 + ratio**2) / self.slope_spread


def prior_of(prior: str | WeakPrior | None) -> WeakPrior | None:
    """Return the prior that a ``prior=`` argument names."""
    if prior == "weak":
        return WeakPrior()
    if prior is None or isinstance(prior, WeakPrior):
        return prior
    raise ValueError(f"prior must be 'weak', None or a WeakPrior, got {prior!r}")
