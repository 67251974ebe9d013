"""Prior distributions of item parameters: densities, what they add to an objective, the weak prior.

A prior on each item is not weak on the scale: thousands of item penalties outweigh a hundred
abilities, so that a normal prior on every slope shrinks all slopes together and blows up the
abilities. The weak prior leaves the common scale and the common location of the items free. It
speaks of slopes relative to a learned scale τ and of intercepts relative to a learned location m,
so it does not change when ability is rescaled or shifted (a → ta, τ → tτ; d → d + aμ, m → m + μ),
and the normal distribution of ability alone sets the scale.

A prior is a sum of *terms*, each a density of a residual that depends on the parameters of an item
and on what the prior learns. Maximisation and the variational path take the same terms.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from irtkit.irf import logistic, softplus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.parameterisation import Hyper, Parameterisation
    from irtkit.irf import Items

    Array = NDArray[np.float64]

PriorName = Literal["weak", "empirical"]
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class Density:
    """Log density of one parameter; a subclass of your own serves in every method of fitting.

    Arrays in, arrays out. For slopes and intercepts the argument is the parameter itself, for
    guessing its logit. The density may be one of another quantity q, such as log |a| or c:
    ``log_density`` is then that of q at the parameter x, and ``log_volume`` is log |dq/dx|.
    """

    def log_density(self, x: Array) -> Array:
        """Log density at x."""
        raise NotImplementedError

    def derivative(self, x: Array) -> Array:
        """Its derivative by x."""
        raise NotImplementedError

    def curvature(self, x: Array) -> Array:
        """Minus its second derivative, or a stand-in where that is below 0."""
        raise NotImplementedError

    def log_volume(self, x: Array) -> tuple[Array, Array]:
        """Log |dq/dx| and its derivative by x; 0 where the density is one of x."""
        return np.zeros_like(x), np.zeros_like(x)


@dataclass(frozen=True)
class Normal(Density):
    """Normal density, for discrimination, for intercepts, or for the logit of guessing."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        check_above_zero("Normal", sd=self.sd)

    def log_density(self, x: Array) -> Array:
        """−½((x − μ)/σ)² − log σ√2π."""
        return -0.5 * ((x - self.mean) / self.sd) ** 2 - math.log(self.sd) - _LOG_ROOT_2PI

    def derivative(self, x: Array) -> Array:
        """(μ − x)/σ²."""
        return (self.mean - x) / self.sd**2

    def curvature(self, x: Array) -> Array:
        """1/σ²."""
        return np.full_like(x, self.sd**-2)


@dataclass(frozen=True)
class Student(Density):
    """Student density around a centre."""

    centre: float
    scale: float
    df: float

    def log_density(self, x: Array) -> Array:
        """−½(ν + 1) log(1 + r²/ν) with the residual r, and its constant."""
        constant = math.lgamma((self.df + 1) / 2) - math.lgamma(self.df / 2)
        constant -= 0.5 * math.log(self.df * math.pi) + math.log(self.scale)
        square = ((x - self.centre) / self.scale) ** 2
        return np.asarray(constant - 0.5 * (self.df + 1) * np.log1p(square / self.df))

    def derivative(self, x: Array) -> Array:
        """−(ν + 1) r / (ν + r²) / scale."""
        return (self.centre - x) * self.curvature(x)

    def curvature(self, x: Array) -> Array:
        """(ν + 1) / (ν + r²) / scale²: the precision of a normal density with this derivative."""
        square = ((x - self.centre) / self.scale) ** 2
        return np.asarray((self.df + 1) / (self.df + square) / self.scale**2)


@dataclass(frozen=True)
class Beta(Density):
    """Beta density of guessing c, taken as a density of c itself (as R's mirt does)."""

    alpha: float = 5.0
    beta: float = 17.0

    def __post_init__(self) -> None:
        check_above_zero("Beta", alpha=self.alpha, beta=self.beta)

    def log_density(self, x: Array) -> Array:
        """(α − 1) log c + (β − 1) log(1 − c) − log B(α, β), c the logistic of x."""
        constant = math.lgamma(self.alpha) + math.lgamma(self.beta)
        constant -= math.lgamma(self.alpha + self.beta)
        log_density = (1 - self.alpha) * softplus(-x) + (1 - self.beta) * softplus(x)
        return np.asarray(log_density - constant)

    def derivative(self, x: Array) -> Array:
        """(α − 1)(1 − c) − (β − 1)c."""
        c = logistic(x)
        return np.asarray((self.alpha - 1) * (1 - c) - (self.beta - 1) * c)

    def curvature(self, x: Array) -> Array:
        """(α + β − 2) c(1 − c), and at least 0."""
        c = logistic(x)
        return np.asarray(max(self.alpha + self.beta - 2, 0.0) * c * (1 - c))

    def log_volume(self, x: Array) -> tuple[Array, Array]:
        """Log c(1 − c)."""
        return -softplus(-x) - softplus(x), 1 - 2 * logistic(x)


@dataclass(frozen=True)
class Steep(Density):
    """Half-normal density of log |a| beyond log ``limit``, up to a constant; flat below."""

    limit: float
    spread: float

    def log_density(self, x: Array) -> Array:
        """−½ log²(|x|/limit)/spread²."""
        return -0.5 * (np.log(np.maximum(np.abs(x), self.limit) / self.limit) / self.spread) ** 2

    def derivative(self, x: Array) -> Array:
        """−log(|x|/limit)/x/spread²."""
        size = np.maximum(np.abs(x), self.limit)
        return -np.log(size / self.limit) * np.sign(x) / size / self.spread**2

    def curvature(self, x: Array) -> Array:
        """Precision of log |x|, by x; 0 below the limit."""
        beyond = np.abs(x) > self.limit
        return np.where(beyond, (np.maximum(np.abs(x), self.limit) * self.spread) ** -2.0, 0.0)


class Term(NamedTuple):
    """Part of a log density: a function of one residual of every item."""

    log_density: Array
    derivative: Array
    """By the residual."""
    curvature: Array
    """Stand-in, at least 0, for minus the second derivative."""
    by_item: dict[int, Any]
    """Derivatives of the residual by slope (0), intercept (1) and logit of guessing (2)."""
    by_hyper: dict[int, Any]
    """Its derivatives by m (0) and log τ (1)."""


def term_of(
    density: Density,
    residual: Array,
    by_item: dict[int, Any],
    by_hyper: dict[int, Any] | None = None,
) -> Term:
    """Return the term of a residual that has a density."""
    found = density.log_density(residual), density.derivative(residual)
    return Term(*found, density.curvature(residual), by_item, by_hyper or {})


def counted_once(term: Term, copies: Array | None) -> Term:
    """Return the term of a slope that all items share."""
    share = 1 / (len(term.derivative) if copies is None else copies.sum())
    value, derivative, curvature = (share * part for part in term[:3])
    return Term(value, derivative, curvature, term.by_item, term.by_hyper)


class AtPrior(NamedTuple):
    """A log density at some items: its gradient, and a positive definite stand-in for −∂².

    Copies of an item count as many times as there are.
    """

    log_density: float
    gradient: Array
    """By item, (n_items, k)."""
    by_hyper: Array
    """By m and log τ, (2,)."""
    blocks: Array
    """Curvature by item, (n_items, k, k)."""
    border: Array
    """Curvature between items and m, log τ, (n_items, k, 2)."""
    corner: Array
    """Curvature by m and log τ, (2, 2)."""

    def along(self, parameters: Parameterisation, direction: Array) -> float:
        """Curvature along a direction of slopes and intercepts."""
        by_intercept = direction[parameters.intercepts]
        by_slope = np.broadcast_to(direction[parameters.slopes], by_intercept.shape)
        by_item = np.stack([by_slope, by_intercept], axis=1)
        return float(np.einsum("jk,jkl,jl->", by_item, self.blocks[:, :2, :2], by_item))


def summed(
    terms: list[Term],
    items: Items,
    hyper: Hyper | None = None,
    sds: tuple[float, float] | None = None,
    copies: Array | None = None,
) -> AtPrior:
    """Add terms up; m and log τ are N(0, sd²) with the two ``sds``, if they are learned."""
    n, size = len(items.slope), 2 if items.logit_guessing is None else 3
    gradient, blocks, border = (
        np.zeros((n, size)),
        np.zeros((n, size, size)),
        np.zeros((n, size, 2)),
    )
    value, by_hyper, corner = 0.0, np.zeros(2), np.zeros((2, 2))
    if sds is not None and hyper is not None:
        for k, (sd, at) in enumerate(zip(sds, (hyper.location, hyper.log_scale), strict=True)):
            wide = Normal(0.0, sd)
            value += float(wide.log_density(np.float64(at)))  # type: ignore[arg-type]
            by_hyper[k], corner[k, k] = -at / sd**2, sd**-2.0
    for term in terms:
        parts = term[:3] if copies is None else tuple(copies * part for part in term[:3])
        log_density, derivative, curvature = parts
        value += float(log_density.sum())
        for i, by_i in term.by_item.items():
            gradient[:, i] += derivative * by_i
            weighted = curvature * by_i
            for j, by_j in term.by_item.items():
                blocks[:, i, j] += weighted * by_j
            for j, by_j in term.by_hyper.items():
                border[:, i, j] += weighted * by_j
        for i, by_i in term.by_hyper.items():
            by_hyper[i] += (derivative * by_i).sum()
            for j, by_j in term.by_hyper.items():
                corner[i, j] += (curvature * by_i * by_j).sum()
    return AtPrior(value, gradient, by_hyper, blocks, border, corner)


class Prior(Protocol):
    """A log density of all items."""

    learns: ClassVar[bool]
    """Whether m and τ are learned with the items."""

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items, its gradient and its curvature."""

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""


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
    learns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_above_zero("the prior", **vars(self))

    @property
    def slope_density(self) -> Student:
        """Density of asinh(a/τ)."""
        return Student(math.asinh(1.0), self.slope_spread, self.slope_df)

    @property
    def guessing_density(self) -> Beta:
        """Density of guessing."""
        return Beta(self.guessing_alpha, self.guessing_beta)

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items and of m and τ, its gradient and its curvature."""
        slope, scale = items.slope, math.exp(hyper.log_scale)
        terms = self._shared(items, hyper, common_slope=common_slope)
        if common_slope:
            size = np.abs(slope) + 1e-12
            log_slope = term_of(
                Normal(0.0, self.log_scale_sd), np.log(size), {0: np.sign(slope) / size}
            )
            log_slope = log_slope._replace(curvature=np.zeros_like(slope))
            terms.append(counted_once(log_slope, copies))
        else:
            by_slope = 1 / np.sqrt(scale**2 + slope**2)
            derivatives = {0: by_slope}, {1: -by_slope * slope}
            terms.append(term_of(self.slope_density, np.arcsinh(slope / scale), *derivatives))
        if items.logit_guessing is not None:
            terms.append(term_of(self.guessing_density, items.logit_guessing, {2: 1.0}))
        return summed(terms, items, hyper, (self.location_sd, self.log_scale_sd), copies)

    def coupled(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Part of the log density that concerns several parameters, and m and τ."""
        terms = self._shared(items, hyper, common_slope=common_slope)
        return summed(terms, items, hyper, (self.location_sd, self.log_scale_sd))

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""
        return {"kind": "WeakPrior", **asdict(self)}

    def _shared(self, items: Items, hyper: Hyper, *, common_slope: bool) -> list[Term]:
        """Terms of intercepts around m·a and of steep slopes."""
        slope, location = items.slope, hyper.location
        residual, by_item = items.intercept - location * slope, {0: -location, 1: 1.0}
        terms = [term_of(Normal(0.0, self.intercept_spread), residual, by_item, {0: -slope})]
        if not common_slope:
            terms.append(term_of(Steep(self.steep, self.steep_spread), slope, {0: 1.0}))
        return terms


def check_above_zero(of: str, **values: float) -> None:
    """Refuse numbers that are not above 0."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} of {of} must be above 0, got {value}")
