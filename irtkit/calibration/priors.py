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

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Items

    Array = NDArray[np.float64]

PriorName = Literal["weak", "empirical"]


class Hyper(NamedTuple):
    """What the weak prior learns: log τ, the scale of slopes, and m, the location of intercepts."""

    log_scale: float
    location: float


class ItemDensity(Protocol):
    """A log density of all items that the ascent can climb."""

    learns: ClassVar[bool]
    """Whether it learns :class:`Hyper` with the items."""

    def at(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Log density of the items, its gradient and its curvature."""


class Term(NamedTuple):
    """Part of a log density: a function of one residual of every item."""

    log_density: Array
    slope: Array
    """Derivative of the log density by the residual."""
    weight: Array
    """Stand-in, at least 0, for minus the second derivative."""
    by_item: dict[int, Any]
    """Derivatives of the residual by slope (0), intercept (1) and logit of guessing (2)."""
    by_learned: dict[int, Any]
    """Its derivatives by m (0) and log τ (1)."""


@dataclass(frozen=True)
class AtPrior:
    """A log density at some items: its gradient, and a positive definite stand-in for −∂²."""

    n_items: int
    size: int
    """Parameters per item: slope, intercept (and logit of guessing)."""
    terms: list[Term]
    learned: Array
    """m and log τ, each N(0, 1/precision); shape (2,)."""
    precision: Array

    @property
    def log_density(self) -> float:
        """Log density up to a constant."""
        own = -0.5 * float(self.precision @ self.learned**2)
        return own + sum(float(term.log_density.sum()) for term in self.terms)

    def gradient(self) -> Array:
        """Gradient by item, (n_items, k)."""
        total = np.zeros((self.n_items, self.size))
        for term in self.terms:
            for i, derivative in term.by_item.items():
                total[:, i] += term.slope * derivative
        return total

    def by_learned(self) -> Array:
        """Gradient by m and log τ, (2,)."""
        total = -self.precision * self.learned
        for term in self.terms:
            for i, derivative in term.by_learned.items():
                total[i] += term.slope @ derivative
        return total

    def blocks(self) -> Array:
        """Curvature by item, (n_items, k, k)."""
        total = np.zeros((self.n_items, self.size, self.size))
        for term in self.terms:
            for i, derivative in term.by_item.items():
                for j, other in term.by_item.items():
                    total[:, i, j] += term.weight * derivative * other
        return total

    def border(self) -> Array:
        """Curvature between items and m, log τ, (n_items, k, 2)."""
        total = np.zeros((self.n_items, self.size, 2))
        for term in self.terms:
            for i, derivative in term.by_item.items():
                for j, learned in term.by_learned.items():
                    total[:, i, j] += term.weight * derivative * learned
        return total

    def along(self, by_item: list[Array]) -> float:
        """Curvature along a direction of slopes, intercepts (and logits of guessing) alone."""
        moved = [sum(part * by_item[i] for i, part in t.by_item.items()) for t in self.terms]
        return sum(float(t.weight @ m**2) for t, m in zip(self.terms, moved, strict=True))

    def corner(self) -> Array:
        """Curvature by m and log τ, (2, 2)."""
        total = np.diag(self.precision)
        for term in self.terms:
            for i, learned in term.by_learned.items():
                for j, other in term.by_learned.items():
                    total[i, j] += term.weight @ (learned * other)
        return total


def normal_term(
    residual: Array, sd: float, by_item: dict[int, Any], by_learned: dict[int, Any] | None = None
) -> Term:
    """Return the term of a residual that is N(0, sd²)."""
    weight = np.full_like(residual, sd**-2)
    density = -0.5 * weight * residual**2
    return Term(density, -weight * residual, weight, by_item, by_learned or {})


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
        once; in Rasch the SD of ability takes its place.
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
    learns: ClassVar[bool] = False

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

    def at(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Log density of the items, its gradient and its curvature."""
        del hyper
        terms = []
        if self.discrimination is not None:
            terms.append(_slope_term(self.discrimination, items.slope))
            if common_slope:
                terms[0] = _counted_once(terms[0])
        if self.intercept is not None:
            residual = items.intercept - self.intercept.mean
            terms.append(normal_term(residual, self.intercept.sd, {1: 1.0}))
        if items.logit_guessing is not None and self.guessing is not None:
            terms.append(guessing_term(self.guessing, items.logit_guessing))
        nothing = np.zeros(2)
        return AtPrior(len(items.slope), _n_parameters(items), terms, nothing, nothing)


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
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} of the prior must be above 0, got {value}")

    def at(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Log density of the items and of m and τ, its gradient and its curvature."""
        slope = items.slope
        off_line = items.intercept - hyper.location * slope
        by_item = {0: -hyper.location, 1: 1.0}
        terms = [normal_term(off_line, self.intercept_spread, by_item, {0: -slope})]
        if common_slope:
            size = np.abs(slope) + 1e-12
            common = normal_term(np.log(size), self.log_scale_sd, {0: np.sign(slope) / size})
            terms.append(_counted_once(common)._replace(weight=np.zeros_like(slope)))
        else:
            steep = steep_term(slope, self.steep, self.steep_spread)
            terms += [self._spread_term(slope, hyper), steep]
        if items.logit_guessing is not None:
            density = Beta(self.guessing_alpha, self.guessing_beta)
            terms.append(guessing_term(density, items.logit_guessing))
        learned = np.array([hyper.location, hyper.log_scale])
        precision = np.array([self.location_sd, self.log_scale_sd]) ** -2.0
        return AtPrior(len(slope), _n_parameters(items), terms, learned, precision)

    def _spread_term(self, slope: Array, hyper: Hyper) -> Term:
        """Student density of u(a/τ) − u(1)."""
        ratio = slope * np.exp(-hyper.log_scale)
        residual = (np.arcsinh(ratio) - np.arcsinh(1.0)) / self.slope_spread
        by_slope = np.exp(-hyper.log_scale) / np.sqrt(1 + ratio**2) / self.slope_spread
        weight = (self.slope_df + 1) / (self.slope_df + residual**2)
        log_density = -0.5 * (self.slope_df + 1) * np.log1p(residual**2 / self.slope_df)
        by_log_scale = -by_slope * slope
        return Term(log_density, -weight * residual, weight, {0: by_slope}, {1: by_log_scale})


def steep_term(slope: Array, steep: float, spread: float) -> Term:
    """Half-normal density of log |a| beyond log ``steep``."""
    size = np.maximum(np.abs(slope), steep)
    by_slope = np.where(np.abs(slope) > steep, np.sign(slope) / size, 0.0)
    return normal_term(np.log(size / steep), spread, {0: by_slope})


def _slope_term(density: Normal | LogNormal, slope: Array) -> Term:
    if isinstance(density, Normal):
        return normal_term(slope - density.mean, density.sd, {0: 1.0})
    size = np.abs(slope) + 1e-12
    by_slope = np.sign(slope) / size
    term = normal_term(np.log(size) - density.mean, density.sd, {0: by_slope})
    bounded = slope**2 / (slope**2 + 1e-6)  # curvature by the slope stays finite at 0
    return term._replace(weight=term.weight * bounded)


def _counted_once(term: Term) -> Term:
    """Return the term of a slope that all items share."""
    share = 1 / len(term.weight)
    return term._replace(
        log_density=term.log_density * share,
        slope=term.slope * share,
        weight=term.weight * share,
    )


def guessing_term(density: Beta | Normal, logit: Array) -> Term:
    """Return the term of guessing."""
    if isinstance(density, Normal):
        return normal_term(logit - density.mean, density.sd, {2: 1.0})
    right, wrong = density.alpha - 1, density.beta - 1
    log_c, log_rest = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
    c = np.exp(log_c)
    return Term(
        right * log_c + wrong * log_rest,
        right * (1 - c) - wrong * c,
        max(right + wrong, 0.0) * c * (1 - c),
        {2: 1.0},
        {},
    )


def _n_parameters(items: Items) -> int:
    return 2 if items.logit_guessing is None else 3


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
