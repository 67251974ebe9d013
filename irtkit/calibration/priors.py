"""Priors of item parameters: densities, the weak prior, and independent densities of each item.

A prior on each item is not weak on the scale, as thousands of item penalties outweigh a hundred
abilities. A normal prior on every slope shrinks all slopes together and inflates the abilities. The
weak prior therefore applies to slopes relative to a learned scale τ and to intercepts relative to a
learned location m. It does not change when ability is rescaled (a → ta, τ → tτ) or shifted (d → d +
aμ, m → m + μ). Only the normal distribution of ability sets the scale.

A prior is a sum of *terms*, each a density of a residual that depends on the parameters of an item
and on what the prior learns. Maximisation and the variational path take the same terms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from irtkit.checks import and_more, check_number, did_you_mean, first_names, short
from irtkit.irf import logistic, softplus
from irtkit.responses.tables import by_item

if TYPE_CHECKING:
    from irtkit.data.patterns import Mask
    from irtkit.irf import Array, Items

PriorName = Literal["weak", "empirical"]
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
USUAL_CHANCE = 0.2  # Chance with five choices.


class Hyper(NamedTuple):
    """What the weak prior learns: log τ, the scale of slopes, and m, the location of intercepts."""

    log_scale: float
    location: float


class LogDensity(NamedTuple):
    """A log density at some points, and its derivatives there."""

    value: Array
    derivative: Array
    curvature: Array
    """Minus the second derivative, or a stand-in at least 0, which a search steps by."""

    def times(self, factor: float | Array) -> LogDensity:
        """Return it counted more or less than once, at all points or at each."""
        return LogDensity(*(factor * part for part in self))


class Density(ABC):
    """Log density of one parameter; of guessing the argument is its logit.

    The density may be defined for another quantity q, such as c. Then ``at`` gives the log density
    of q at the parameter x, and ``log_volume`` is log |dq/dx|.
    """

    @abstractmethod
    def at(self, x: Array) -> LogDensity:
        """Log density at x, an array of any shape, its derivative, and a curvature for steps."""

    def log_volume(self, x: Array) -> tuple[Array, Array]:
        """Log |dq/dx| and its derivative by x, or 0 if the density is defined for x."""
        return np.zeros_like(x), np.zeros_like(x)


@dataclass(frozen=True)
class Normal(Density):
    """Normal density, for discrimination, for intercepts, or for the logit of guessing."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        check_number("mean of Normal", self.mean)
        check_number("sd of Normal", self.sd, above=0)

    def at(self, x: Array) -> LogDensity:
        """−½((x − μ)/σ)² − log σ√2π, (μ − x)/σ² and 1/σ²."""
        return _normal(x, self.mean, self.sd)


def _normal(x: Array, mean: Any, sd: Any) -> LogDensity:
    off = mean - x
    precision = sd**-2.0
    constant = -np.log(sd) - _LOG_ROOT_2PI
    value = constant - 0.5 * precision * off**2
    return LogDensity(value, precision * off, precision + 0 * x)


@dataclass(frozen=True)
class Student(Density):
    """Student density around a centre."""

    centre: float
    scale: float
    df: float

    def at(self, x: Array) -> LogDensity:
        """−½(ν + 1) log(1 + r²/ν) with the residual r and its constant.

        As curvature stands the precision of a normal density with the same derivative.
        """
        df = self.df
        off = self.centre - x
        square = (off / self.scale) ** 2
        constant = math.lgamma(0.5 * df + 0.5) - math.lgamma(0.5 * df)
        constant -= math.log((df * math.pi) ** 0.5 * self.scale)
        precision = (df + 1) / (df + square) / self.scale**2
        value = constant - 0.5 * (df + 1) * np.log1p(square / df)
        return LogDensity(value, precision * off, precision)


@dataclass(frozen=True)
class Beta(Density):
    """Beta density of guessing c, taken as a density of c itself.

    So does the ``expbeta`` of R's mirt, but its digits differ. Its search moves the logit of c and
    uses the derivative by c.
    """

    alpha: float = 5.0  # see the next
    beta: float = 17.0
    """Beta(5, 17), of mode 0.2, is what BILOG-MG takes for items with five choices (Zimowski,
    Muraki, Mislevy & Bock 2003)."""

    def __post_init__(self) -> None:
        if np.ndim(self.alpha) == 0:  # else items have numbers of their own, which were checked
            check_number("alpha of Beta", self.alpha, above=0)
            check_number("beta of Beta", self.beta, above=0)

    def at(self, x: Array) -> LogDensity:
        """(α − 1) log c + (β − 1) log(1 − c) − log B(α, β), c the logistic of x."""
        from scipy.special import betaln

        x = x.T  # items, which may have numbers of their own, are its first axis
        right = self.alpha - 1
        wrong = self.beta - 1
        c = logistic(x)
        both = right + wrong
        value = right * x - both * softplus(x) - betaln(self.alpha, self.beta)
        curvature = np.maximum(both, 0.0) * c * (1 - c)
        derivative = right - both * c
        return LogDensity(value.T, derivative.T, curvature.T)

    def log_volume(self, x: Array) -> tuple[Array, Array]:
        """Log c(1 − c)."""
        return x - 2 * softplus(x), 1 - 2 * logistic(x)


@dataclass(frozen=True)
class Steep(Density):
    """Half-normal density of log |a| beyond log ``limit``, up to a constant, and flat below."""

    limit: float
    spread: float

    def at(self, x: Array) -> LogDensity:
        """−½ log²(|x|/limit)/spread², with the precision of log |x| by x as curvature."""
        size = np.maximum(np.abs(x), self.limit)
        beyond = np.log(size / self.limit)
        precision = (self.spread * size) ** -2.0
        derivative = -beyond * precision * size * np.sign(x)
        curvature = np.where(np.abs(x) > self.limit, precision, 0.0)
        return LogDensity(-0.5 * (beyond / self.spread) ** 2, derivative, curvature)


class Term(NamedTuple):
    """Part of a log prior: the log density of one residual of every item."""

    at: LogDensity
    by: dict[int, Any]
    """Derivatives of the residual by slope (0), intercept (1), logit of guessing (2), m (3) and log
    τ (4)."""


class AtPrior(NamedTuple):
    """A log density at some items, its gradient, and a stand-in for −∂² that is at least 0.

    Each copy of an item counts once.
    """

    log_density: float
    gradient: Array  # By item, (n_items, k).
    by_hyper: Array  # By m and log τ, (2,).
    blocks: Array  # Curvature by item, (n_items, k, k).
    border: Array  # Curvature between items and m, log τ, (n_items, k, 2).
    corner: Array  # Curvature by m and log τ, (2, 2).
    by_item: Array  # What of the log density is that of each item, (n_items,).


def summed(
    terms: list[Term],
    items: Items,
    hyper: Hyper | None = None,
    sds: tuple[float, float] | None = None,
    copies: Array | None = None,
) -> AtPrior:
    """Add terms up. If m and log τ are learned, they are N(0, sd²) with the two ``sds``."""
    n_items = len(items.slope)
    by_item = np.zeros(n_items)
    gradient = np.zeros((5, n_items))
    curvature = np.zeros((5, 5, n_items))
    for term in terms:
        at = term.at if copies is None else term.at.times(copies)
        by = np.zeros((5, n_items))
        for k, values in term.by.items():
            by[k] = values
        by_item += at.value
        gradient += at.derivative * by
        curvature += (at.curvature * by)[:, None] * by
    value = float(by_item.sum())
    by_hyper = gradient[3:].sum(axis=1)
    corner = curvature[3:, 3:].sum(axis=2)
    if sds is not None and hyper is not None:
        both = np.array([hyper.location, hyper.log_scale])
        wide = _normal(both, 0.0, np.array(sds))
        value += float(wide.value.sum())
        by_hyper += wide.derivative
        corner += np.diag(wide.curvature)
    n_own = 2 if items.logit_guessing is None else 3
    own = curvature[:n_own].transpose(2, 0, 1)
    blocks = own[:, :, :n_own]
    return AtPrior(value, gradient[:n_own].T, by_hyper, blocks, own[:, :, 3:], corner, by_item)


class Prior(Protocol):
    """A log density of all items."""

    learns: ClassVar[bool]  # Whether m and τ are learned with the items.

    @property
    def keys(self) -> Array | None:
        """What copies of an item must have in common besides their answers, (k, n_items)."""

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items, its gradient and its curvature."""

    def chosen(self, items: Any) -> Prior:
        """The prior of some of the items."""

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""


class Expected(NamedTuple):
    """Normal densities of the intercepts of items whose difficulty was expected.

    d − m·a has mean β − difficulty in logits, where β is the centre of all difficulties given.
    Logits do not change when ability is rescaled. A common error of all means has no effect. The
    location m belongs to the items with a mean. Others have d ~ N(0, spread²), as new items may be
    harder than those that were answered long ago.
    """

    mean: Array
    sd: Array
    has_mean: Mask  # Which items have a mean of their own.
    follows: Array
    """1 where the intercept follows m; 0 where its mean is on a given scale, or none is known."""
    middle: float  # β.


_BY_ITEM = {"chance", "difficulty_mean", "difficulty_sd"}


@dataclass(frozen=True)
class WeakPrior:
    """Weak prior that leaves scale and location free and keeps every estimate finite.

    Slopes: with u(r) = asinh(r), the ratio r = a/τ has a Student density in u(r) − u(1), of scale
    ``slope_spread`` with ``slope_df`` degrees of freedom. For large r this is a prior on log |a|
    with heavy tails. Near 0 it is smooth, so that the sign stays free. A steep slope alone also
    meets an absolute limit: log |a| beyond log ``steep`` is half-normal with SD ``steep_spread``.
    It bears on matrices whose respondents fall into clusters, where slopes would otherwise grow
    without end. Under a common slope (1PL, Rasch) only log a has a prior, N(0, ``log_scale_sd``²).

    Intercepts: d − m·a is N(0, ``intercept_spread``²).

    Ordered levels: the intercept is the mean logit of the thresholds, and these logits spread
    around it by a normal density with SD ``intercept_spread``. A slope of the GPCM is by one of K
    steps, and falls about as 2/(K + 1): that many times larger the prior takes it.

    Guessing (3PL): Beta(1 + w·chance, 1 + w·(1 − chance)), taken as a density of c itself. Its mode
    is ``chance``, and w, the ``chance_weight``, counts like as many guesses. The usual 0.2 and 20
    give Beta(5, 17), which BILOG-MG takes for five choices.

    τ and m have the wide priors log τ ~ N(0, ``log_scale_sd``²) and m ~ N(0, ``location_sd``²),
    of the weight of one observation each. Spreads are on the logit scale.
    """

    slope_spread: float = 0.3
    """Around τ slopes then spread by 0.3·√2 τ; 14 real matrices teach SDs of log slopes from 0.13
    to 0.48."""
    slope_df: float = 4.0
    """A slope of −τ costs 6 nats against one of τ, where a normal density would take 17."""
    steep: float = 20.0  #: Such an item turns from 5 to 95 % right within 0.3 SDs of ability.
    steep_spread: float = 0.5  #: A slope of 33 costs half a nat, and one of 150 eight.
    intercept_spread: float = 3.0  #: Two of them hold items that 0.25 to 99.75 % get right.
    chance: Any = None
    """Probability of guessing right, such as 0.25 with four choices, or 0 for open-ended answers.
    A number, or a Series or mapping by item. None, and items that are left out: 1/n_options, if the
    item table has the column n_options; else learned from the responses."""
    chance_weight: float = 20.0  # Beta(5, 17) with the usual chance
    difficulty_mean: Any = field(default=None, compare=False)
    """Difficulties expected of items, in logits (difficulty × discrimination): a Series or mapping
    by item, or a table with the columns mean and sd. Only their differences count. For "em"."""
    difficulty_sd: float | None = None
    """SD of difficulties around ``difficulty_mean``, in logits, if that is not a table."""
    log_scale_sd: float = 1.0  #: Two of them hold scales from 0.14 to 7.4.
    location_sd: float = 5.0  #: At one of them, an item of slope 1 is got right by 99.3 %.
    learns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value in self.numbers.items():
            check_number(f"{name} of the prior", value, above=0)
        mean = self.difficulty_mean
        known_kinds = hasattr(mean, "items") or hasattr(mean, "columns")
        if not (mean is None or isinstance(mean, Expected) or known_kinds):
            raise TypeError(
                "difficulty_mean must be a Series or a mapping by item label, or a table with the "
                f"columns mean and sd; got {type(mean).__name__}"
            )
        if mean is None and self.difficulty_sd is not None:
            raise ValueError("difficulty_sd is the SD around difficulty_mean, which is not given")
        if isinstance(self.chance, tuple):
            for chance in self.chance:
                check_chance(chance)
        elif self.chance is not None and not hasattr(self.chance, "items"):
            object.__setattr__(self, "chance", check_chance(self.chance))

    @property
    def numbers(self) -> dict[str, float]:
        """Settings that are the same for all items."""
        return {name: value for name, value in vars(self).items() if name not in _BY_ITEM}

    @property
    def expected(self) -> Expected | None:
        """What is expected of items, after :meth:`for_items`."""
        return self.difficulty_mean if isinstance(self.difficulty_mean, Expected) else None

    def for_items(self, labels: tuple[str, ...]) -> WeakPrior:
        """The prior of labelled items, with the difficulties that are expected of them.

        Raises
        ------
        ValueError
            If a table lacks a column, a label is unknown while an item lacks a mean, a label occurs
            twice, a mean is infinite, or an SD is not above 0.
        """
        import pandas as pd

        mean = self.difficulty_mean
        sd = self.difficulty_sd
        if mean is None:
            return self
        if hasattr(mean, "columns"):
            table = by_item(mean, "difficulty_mean")
            if sd is not None or not {"mean", "sd"} <= {*table.columns}:
                raise ValueError(
                    "difficulty_mean: a table needs the columns mean and sd, without difficulty_sd"
                )
        elif sd is None:
            raise ValueError(
                "difficulty_mean needs difficulty_sd, the SD of difficulties around it, in logits"
            )
        else:
            means = mean if isinstance(mean, pd.Series) else pd.Series(dict(mean), dtype=object)
            table = pd.DataFrame({"mean": means, "sd": sd})
        table = table[["mean", "sd"]].apply(pd.to_numeric).dropna(subset="mean")
        table.index = table.index.map(str)
        here = table[table.index.isin(labels)]
        without = [*pd.Index(labels).difference(table.index)]
        if here.empty:
            raise ValueError(
                "difficulty_mean lacks the items of the responses: its labels are "
                f"{first_names(list(table.index)) or 'none'}"
            )
        unknown = [*table.index.difference(here.index)]
        if unknown and without:  # which they may misspell
            raise ValueError(
                f"difficulty_mean must have labels of items, and {short(unknown[0])} is not one"
                f"{and_more(len(unknown) - 1, 'label')}{did_you_mean(unknown[0], without)}. Items "
                f"without a mean: {first_names(without)}. Leave out other labels, such as by "
                "mean[mean.index.isin(responses.items)]"
            )
        if here.index.has_duplicates:
            label = here.index[here.index.duplicated()][0]
            raise ValueError(f"difficulty_mean: item {short(label)} occurs twice")
        for label, difficulty, spread in here.itertuples():
            check_number(f"difficulty_mean of {short(label)}", difficulty)
            check_number(f"difficulty_sd of {short(label)}", spread, above=0)
        centres, spreads = here.reindex(labels).to_numpy(np.float64).T
        has_mean = ~np.isnan(centres)
        middle = float(here["mean"].mean())
        expected = Expected(
            mean=np.where(has_mean, middle - centres, 0.0),
            sd=np.where(has_mean, spreads, self.intercept_spread),
            has_mean=has_mean,
            follows=has_mean.astype(np.float64),
            middle=middle,
        )
        return replace(self, difficulty_mean=expected, difficulty_sd=None)

    def on_fixed_scale(self) -> WeakPrior:
        """Prior with fixed items, whose scale the expected means have."""
        given = self.expected
        if given is None:
            return self
        mean = given.mean - given.has_mean * given.middle
        follows = np.where(given.has_mean, 0.0, 1.0)
        return replace(self, difficulty_mean=given._replace(mean=mean, follows=follows))

    @property
    def slope_density(self) -> Student:
        """Density of asinh(a/τ)."""
        return Student(math.asinh(1.0), self.slope_spread, self.slope_df)

    @property
    def guessing_density(self) -> Beta:
        """Density of guessing, for five choices until chance is learned."""
        chance: Any = USUAL_CHANCE if self.chance is None else self.chance
        right: Any = self.chance_weight * np.array(chance)[()]
        return Beta(1 + right, 1 + self.chance_weight - right)

    @property
    def keys(self) -> Array | None:
        """What copies of an item must have in common besides their answers, (k, n_items)."""
        keys = [] if self.expected is None else [*self.expected[:3]]
        keys += [np.array(self.chance)] if isinstance(self.chance, tuple) else []
        return np.stack(keys) if keys else None

    def chosen(self, items: Any) -> Self:
        """The prior of some of the items."""
        chance = self.chance
        mean = self.difficulty_mean
        if isinstance(chance, tuple):
            chance = tuple(np.array(chance)[items].tolist())
        if isinstance(mean, Expected):
            of_items = (part[items] for part in mean[:4])
            mean = Expected._make([*of_items, mean.middle])
        return replace(self, chance=chance, difficulty_mean=mean)

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items and of m and τ, its gradient and its curvature."""
        slope = items.slope
        scale = math.exp(hyper.log_scale)
        terms = self._shared(items, hyper, common_slope=common_slope)
        if common_slope:
            size = np.abs(slope) + 1e-12
            of_log = _normal(np.log(size), 0.0, self.log_scale_sd)
            of_log = of_log._replace(curvature=np.zeros_like(slope))
            by_slope = np.sign(slope) / size
            terms.append(Term(_once(of_log, copies), {0: by_slope}))
        else:
            by_slope = 1 / np.sqrt(scale**2 + slope**2)
            at = self.slope_density.at(np.arcsinh(slope / scale))
            terms.append(Term(at, {0: by_slope, 4: -by_slope * slope}))
        if items.logit_guessing is not None:
            terms.append(Term(self.guessing_density.at(items.logit_guessing), {2: 1.0}))
        return summed(terms, items, hyper, (self.location_sd, self.log_scale_sd), copies)

    def coupled(self, items: Items, hyper: Hyper, *, common_slope: bool) -> AtPrior:
        """Part of the log density that concerns several parameters, and m and τ."""
        terms = self._shared(items, hyper, common_slope=common_slope)
        return summed(terms, items, hyper, (self.location_sd, self.log_scale_sd))

    def learned_from(self, items: Items, *, common_slope: bool) -> Hyper:
        """Return the m and τ that some known items make most likely."""
        from scipy.optimize import minimize

        usual = replace(self, difficulty_mean=None)

        def falling(at: Array) -> tuple[float, Array]:
            location, log_scale = at.tolist()
            density = usual.at(items, Hyper(log_scale, location), common_slope=common_slope)
            return -density.log_density, -density.by_hyper

        least = minimize(falling, np.zeros(2), jac=True, method="BFGS")
        location, log_scale = least.x.tolist()
        return Hyper(log_scale, location)

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""
        record = {"kind": "WeakPrior", "chance": self.chance, **self.numbers}
        given = self.expected
        if given is not None:
            stated = zip(given.mean, given.has_mean, strict=True)
            means = [mean if has_mean else None for mean, has_mean in stated]
            record |= {"kind": "ExpectedItems", "item_intercept_mean": means}
            record |= {"item_intercept_sd": given.sd.tolist(), "middle": given.middle}
        return record

    def _shared(self, items: Items, hyper: Hyper, *, common_slope: bool) -> list[Term]:
        """Terms of intercepts around m·a and of steep slopes."""
        mean, sd, _, follows, _ = self.expected or (0.0, self.intercept_spread, None, 1.0, None)
        slope = items.slope
        location = follows * hyper.location
        residual = items.intercept - location * slope
        around = _normal(residual, mean, sd)
        terms = [Term(around, {0: -location, 1: 1.0, 3: -follows * slope})]
        if not common_slope and (np.abs(slope) > self.steep).any():
            steep = Steep(self.steep, self.steep_spread)
            terms.append(Term(steep.at(slope), {0: 1.0}))
        return terms


def _once(at: LogDensity, copies: Array | None) -> LogDensity:
    """Density of a slope that all items share, as parts of all."""
    return at.times(1 / (len(at.value) if copies is None else copies.sum()))


def of_some(prior: Any, items: Any) -> Any:
    """The prior of some items."""
    return None if prior is None else prior.chosen(items)


@dataclass(frozen=True)
class ItemPrior:
    """Independent prior densities of the parameters of every item.

    Scale and location are fixed by ability, N(0, 1). With many more items than respondents, even
    wide densities shrink all slopes together. ``prior="weak"`` avoids this. A parameter without a
    density is estimated as without a prior, so that an item may be "unbounded". For an item without
    responses, such a parameter is NaN, and one with a density is at its mode.

    Parameters
    ----------
    discrimination
        :class:`Normal` or None. A common slope (1PL) has it once. In Rasch the SD of ability takes
        its place.
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

    discrimination: Normal | None = None
    intercept: Normal | None = None
    guessing: Beta | Normal | None = None
    learns: ClassVar[bool] = False
    keys: ClassVar[None] = None

    def __post_init__(self) -> None:
        """Refuse what cannot be a prior of its parameter."""
        kinds: dict[str, tuple[type, ...]] = {
            "discrimination": (Normal,),
            "intercept": (Normal,),
            "guessing": (Beta, Normal),
        }
        for name, allowed in kinds.items():
            value = getattr(self, name)
            if value is not None and type(value) not in allowed:
                names = " or ".join(kind.__name__ for kind in allowed)
                raise TypeError(f"{name} of ItemPrior must be {names}, or None, got {short(value)}")

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items, its gradient and its curvature."""
        del hyper
        terms: list[Term] = []
        densities = (self.discrimination, self.intercept, self.guessing)
        for k, (density, x) in enumerate(zip(densities, items[:3], strict=True)):
            if density is not None and x is not None:
                at = density.at(x)
                if k == 0 and common_slope:
                    at = _once(at, copies)
                terms.append(Term(at, {k: 1.0}))
        return summed(terms, items, copies=copies)

    def chosen(self, items: Any) -> Self:
        """The prior of some of the items, which is the same for all."""
        del items
        return self

    def holds(self, items: Items) -> tuple[Mask, Mask]:
        """Whether slopes, and intercepts, are kept from running off.

        They are if twice as far out costs what one standard error does, half a nat. Out starts at
        20. A density that falls by less from there on lets a parameter that the responses push out
        run on to wherever a search ends.
        """
        return _held(self.discrimination, items.slope), _held(self.intercept, items.intercept)

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""
        record: dict[str, Any] = {"kind": "ItemPrior"}
        for name, density in vars(self).items():
            record[name] = None
            if density is not None:
                numbers = {attribute: float(value) for attribute, value in vars(density).items()}
                record[name] = {"kind": type(density).__name__, **numbers}
        return record


@np.errstate(all="ignore")  # so far out a density may overflow
def _held(density: Density | None, x: Array) -> Mask:
    """Whether a density keeps parameters from running off."""
    if density is None:
        return np.zeros(len(x), dtype=bool)
    beyond = 2 * np.copysign(np.maximum(np.abs(x), WeakPrior.steep), x)
    fall = density.at(x).value - density.at(beyond).value
    return ~(fall < 0.5)


def check_chance(chance: object) -> float:
    """Refuse a value that is not a probability below 1."""
    return check_number("chance of the prior", chance, least=0, below=1)


def prior_of(record: Any, all_items: tuple[str, ...], items: tuple[str, ...]) -> Any:
    """Prior that was described, as the argument of another fit of some of all items."""
    if record is None or record["kind"] == "empirical":
        return record and "empirical"
    if record["kind"] == "ItemPrior":
        kinds: dict[str, Any] = {"Normal": Normal, "Beta": Beta}
        made: dict[str, Any] = {}
        for name in (field.name for field in fields(ItemPrior) if record[field.name] is not None):
            numbers = dict(record[name])
            made[name] = kinds[numbers.pop("kind")](**numbers)
        return ItemPrior(**made)
    chance = record["chance"]
    expected = None
    if isinstance(chance, list | tuple):
        by_label = dict(zip(all_items, chance, strict=True))
        chance = {item: by_label[item] for item in items}
    if record["kind"] == "ExpectedItems":
        import pandas as pd

        mean = record["middle"] - np.array(record["item_intercept_mean"], dtype=np.float64)
        of_all = {"mean": mean, "sd": record["item_intercept_sd"]}
        expected = pd.DataFrame(of_all, index=all_items).reindex(items)
    numbers = {name: record[name] for name in WeakPrior().numbers}
    return WeakPrior(chance=chance, difficulty_mean=expected, **numbers)
