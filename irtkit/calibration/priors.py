"""Prior distributions of item parameters.

A prior on each item is not weak on the scale: thousands of item penalties outweigh a hundred
abilities, so that a normal prior on every slope shrinks all slopes together and blows up the
abilities. The weak prior leaves the common scale and the common location of the items free. It
speaks of slopes relative to a learned scale τ and of intercepts relative to a learned location m,
so it does not change when ability is rescaled or shifted (a → ta, τ → tτ; d → d + aμ, m → m + μ),
and the normal distribution of ability alone sets the scale.

:class:`ItemPrior` is the textbook kind, an independent density for each parameter, for those who
want just that, or the numbers of a program that uses it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import jax

    from irtkit.quadrature import ItemArrays

PriorName = Literal["weak", "empirical"]


class Hyper(NamedTuple):
    """What the weak prior learns: log τ, the scale of slopes, and m, the location of intercepts."""

    log_scale: jax.Array
    location: jax.Array


class _Term(NamedTuple):
    """A term −½·weight·residual² of a log density, by the residual's derivatives."""

    weight: jax.Array
    by_item: list[jax.Array]
    """By slope, intercept (and logit of guessing)."""
    by_learned: list[jax.Array]
    """By m and log τ."""


def _check_above_zero(of: str, **values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} of {of} must be above 0, got {value}")


@dataclass(frozen=True)
class Normal:
    """Normal density, for discrimination, for intercepts, or for the logit of guessing."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        _check_above_zero("Normal", sd=self.sd)


@dataclass(frozen=True)
class LogNormal:
    """Normal density of log |a|: a prior on the size of discrimination that leaves its sign free.

    ``mean`` and ``sd`` are those of the logarithm; the density is that of the logarithm too.
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        _check_above_zero("LogNormal", sd=self.sd)


@dataclass(frozen=True)
class Beta:
    """Beta density of guessing c, taken as a density of c itself (as R's mirt does)."""

    alpha: float = 5.0
    beta: float = 17.0

    def __post_init__(self) -> None:
        _check_above_zero("Beta", alpha=self.alpha, beta=self.beta)


@dataclass(frozen=True)
class ItemPrior:
    """Independent prior densities of the parameters of every item.

    Scale and location are those of ability, N(0, 1): with many more items than respondents even
    wide densities here shrink all slopes together, which ``prior="weak"`` does not.

    Parameters
    ----------
    discrimination
        :class:`Normal`, :class:`LogNormal` (of its size) or None. A common slope (1PL) has it
        once; Rasch has no use for it.
    intercept
        :class:`Normal` or None.
    guessing
        :class:`Beta` of c, :class:`Normal` of its logit, or None; for the 3PL.

    Raises
    ------
    TypeError
        If a density is not of a kind that its parameter may have.

    Examples
    --------
    >>> import irtkit
    >>> irtkit.ItemPrior(guessing=irtkit.Normal(-1.1, 0.5)).guessing
    Normal(mean=-1.1, sd=0.5)
    """

    discrimination: Normal | LogNormal | None = None
    intercept: Normal | None = None
    guessing: Beta | Normal | None = None

    def __post_init__(self) -> None:
        allowed: dict[str, tuple[type, ...]] = {
            "discrimination": (Normal, LogNormal),
            "intercept": (Normal,),
            "guessing": (Beta, Normal),
        }
        for name, kinds in allowed.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kinds):
                names = " or ".join(kind.__name__ for kind in kinds)
                raise TypeError(f"{name} of ItemPrior must be {names} or None, got {value!r}")

    learns = False

    def log_density(self, items: ItemArrays, hyper: Hyper, *, common_slope: bool) -> jax.Array:
        """Log prior density up to a constant."""
        import jax.numpy as jnp

        del hyper
        value = jnp.zeros(())
        slope = items.slope[:1] if common_slope else items.slope
        if self.discrimination is not None:
            value -= 0.5 * jnp.sum(self._slope_residual(slope) ** 2)
        if self.intercept is not None:
            residual = (items.intercept - self.intercept.mean) / self.intercept.sd
            value -= 0.5 * jnp.sum(residual**2)
        if items.logit_guessing is not None and self.guessing is not None:
            value += _log_density_of_guessing(self.guessing, items.logit_guessing)
        return value

    def _slope_residual(self, slope: jax.Array) -> jax.Array:
        import jax.numpy as jnp

        density = self.discrimination
        if isinstance(density, LogNormal):
            return (jnp.log(jnp.abs(slope) + 1e-12) - density.mean) / density.sd
        density = density or Normal(0.0, math.inf)
        return (slope - density.mean) / density.sd

    def curvature(
        self, items: ItemArrays, hyper: Hyper, *, common_slope: bool
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Positive definite stand-in for −∂² log density, as that of the weak prior."""
        import jax.numpy as jnp

        del hyper
        zero, one = jnp.zeros_like(items.slope), jnp.ones_like(items.slope)
        terms = []
        if self.discrimination is not None:
            weight = one * self.discrimination.sd**-2
            if isinstance(self.discrimination, LogNormal):
                weight /= items.slope**2 + 1e-6
            share = items.slope.shape[0] if common_slope else 1
            terms.append(_Term(weight / share, [one, zero], [zero, zero]))
        if self.intercept is not None:
            terms.append(_Term(one * self.intercept.sd**-2, [zero, one], [zero, zero]))
        return _assembled(terms, items, self.guessing, jnp.zeros(2))


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

    learns = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} of the prior must be above 0, got {value}")

    def log_density(self, items: ItemArrays, hyper: Hyper, *, common_slope: bool) -> jax.Array:
        """Log prior density up to a constant."""
        import jax.numpy as jnp

        value = _log_density_of_learned(self, items, hyper, common_slope=common_slope)
        if not common_slope:
            standardised, _ = self._standardised(items.slope, hyper)
            spread = 0.5 * (self.slope_df + 1) * jnp.log1p(standardised**2 / self.slope_df)
            excess = jnp.log(jnp.maximum(jnp.abs(items.slope) / self.steep, 1.0))
            value -= jnp.sum(spread + 0.5 * (excess / self.steep_spread) ** 2)
        residual = (items.intercept - hyper.location * items.slope) / self.intercept_spread
        value -= 0.5 * jnp.sum(residual**2)
        if items.logit_guessing is not None:
            value += _log_density_of_guessing(self._guessing, items.logit_guessing)
        return value

    def curvature(
        self, items: ItemArrays, hyper: Hyper, *, common_slope: bool
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Positive definite stand-in for −∂² log density, by items and by what is learned.

        Blocks by item (n_items, k, k), a border (n_items, k, 2) and a corner (2, 2), in the order
        slope, intercept, logit of guessing and m, log τ.
        """
        import jax.numpy as jnp

        zero, one = jnp.zeros_like(items.slope), jnp.ones_like(items.slope)
        terms = [_term_of_intercepts(items, hyper, one * self.intercept_spread**-2)]
        if not common_slope:
            standardised, derivative = self._standardised(items.slope, hyper)
            weight = (self.slope_df + 1) / (self.slope_df + standardised**2)
            terms.append(_Term(weight, [derivative, zero], [zero, -derivative * items.slope]))
            size = jnp.maximum(jnp.abs(items.slope), self.steep)
            steep = (size > self.steep) / (self.steep_spread * size) ** 2
            terms.append(_Term(steep, [one, zero], [zero, zero]))
        own = jnp.array([self.location_sd**-2, self.log_scale_sd**-2])
        return _assembled(terms, items, self._guessing, own)

    @property
    def _guessing(self) -> Beta:
        return Beta(self.guessing_alpha, self.guessing_beta)

    def _standardised(self, slope: jax.Array, hyper: Hyper) -> tuple[jax.Array, jax.Array]:
        """(u(a/τ) − u(1)) / spread and its derivative by a."""
        import jax.numpy as jnp

        inverse_scale = jnp.exp(-hyper.log_scale)
        ratio = slope * inverse_scale
        value = (jnp.arcsinh(ratio) - jnp.arcsinh(1.0)) / self.slope_spread
        return value, inverse_scale / jnp.sqrt(1 + ratio**2) / self.slope_spread


def _log_density_of_learned(
    prior: WeakPrior, items: ItemArrays, hyper: Hyper, *, common_slope: bool
) -> jax.Array:
    """Log density of τ (or of the common slope) and m."""
    import jax.numpy as jnp

    log_scale = jnp.log(jnp.abs(items.slope[0]) + 1e-12) if common_slope else hyper.log_scale
    return -0.5 * (
        (log_scale / prior.log_scale_sd) ** 2 + (hyper.location / prior.location_sd) ** 2
    )


def _log_density_of_guessing(density: Beta | Normal, logit: jax.Array) -> jax.Array:
    import jax
    import jax.numpy as jnp

    if isinstance(density, Normal):
        return -0.5 * jnp.sum(((logit - density.mean) / density.sd) ** 2)
    return jnp.sum(
        (density.alpha - 1) * jax.nn.log_sigmoid(logit)
        + (density.beta - 1) * jax.nn.log_sigmoid(-logit)
    )


def _term_of_intercepts(items: ItemArrays, hyper: Hyper, weight: jax.Array) -> _Term:
    import jax.numpy as jnp

    zero, one = jnp.zeros_like(items.slope), jnp.ones_like(items.slope)
    return _Term(weight, [-hyper.location * one, one], [-items.slope, zero])


def _assembled(
    terms: list[_Term], items: ItemArrays, guessing: Beta | Normal | None, own: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Blocks, border and corner from the outer products of the terms' derivatives."""
    import jax
    import jax.numpy as jnp

    n_items = items.slope.shape[0]
    size = 2 if items.logit_guessing is None else 3
    blocks = jnp.zeros((n_items, size, size))
    border, corner = jnp.zeros((n_items, size, 2)), jnp.zeros((2, 2))
    for weight, by_item, by_learned in terms:
        padding = [jnp.zeros_like(items.slope)] * (size - 2)
        item = jnp.stack([*by_item, *padding], axis=1)
        learned = jnp.stack(by_learned, axis=1)
        weighted = weight[:, None] * item
        blocks += weighted[:, :, None] * item[:, None, :]
        border += weighted[:, :, None] * learned[:, None, :]
        corner += (weight[:, None] * learned).T @ learned
    if items.logit_guessing is not None and guessing is not None:
        c = jax.nn.sigmoid(items.logit_guessing)
        if isinstance(guessing, Normal):
            curved = jnp.full_like(c, guessing.sd**-2)
        else:
            curved = jnp.maximum(guessing.alpha + guessing.beta - 2, 0.0) * c * (1 - c)
        blocks = blocks.at[:, 2, 2].add(curved)
    return blocks, border, corner + jnp.diag(own)


Prior = WeakPrior | ItemPrior


def prior_of(prior: str | Prior | None) -> Prior | None:
    """Return the prior that a ``prior=`` argument names."""
    if prior == "weak":
        return WeakPrior()
    if prior is None or isinstance(prior, WeakPrior | ItemPrior):
        return prior
    raise ValueError(
        f"prior must be 'weak', 'empirical', None, an ItemPrior or a WeakPrior, got {prior!r}"
    )


def described_prior(prior: Prior | None) -> dict[str, Any] | None:
    """Return the prior as plain values, for the settings of a result."""
    if prior is None:
        return None
    values = asdict(prior)
    for name, part in vars(prior).items():
        if part is not None and name in values and isinstance(values[name], dict):
            values[name] = {"kind": type(part).__name__, **values[name]}
    return {"kind": type(prior).__name__, **values}
