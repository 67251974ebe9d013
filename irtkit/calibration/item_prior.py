"""Independent prior densities of the parameters of every item: the textbook kind.

For those who want just that, or the numbers of a program that uses it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from irtkit.calibration.priors import (
    AtPrior,
    Beta,
    Density,
    Hyper,
    LogDensity,
    Normal,
    Term,
    WeakPrior,
    check_above_zero,
    summed,
)
from irtkit.checks import check_number, short

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array, Items

_COST_OF_ONE_ERROR = 0.5
"""Nats by which a normal log density falls within one SD of its mean."""


@dataclass(frozen=True)
class LogNormal(Density):
    """Normal density of log |a|: a prior on the size of discrimination that leaves its sign free.

    ``mean`` and ``sd`` are those of the logarithm; the density is that of the logarithm too.
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        check_number("mean of LogNormal", self.mean)
        check_above_zero("LogNormal", sd=self.sd)

    def at(self, x: Array) -> LogDensity:
        """Log density of log |x|; as curvature its precision, by x, finite at 0."""
        size = np.abs(x) + 1e-12
        value, derivative, _ = Normal(self.mean, self.sd).at(np.log(size))
        curvature = 1 / (self.sd**2 * (x**2 + 1e-6))
        return LogDensity(value, derivative * np.sign(x) / size, curvature)

    def log_volume(self, x: Array) -> tuple[Array, Array]:
        """−log |x|."""
        size = np.abs(x) + 1e-12
        return -np.log(size), -np.sign(x) / size


@dataclass(frozen=True)
class ItemPrior:
    """Independent prior densities of the parameters of every item.

    Scale and location are those of ability, N(0, 1): with many more items than respondents even
    wide densities here shrink all slopes together, which ``prior="weak"`` does not. What has no
    density is estimated as without a prior, and an item may then be "unbounded"; of an item without
    responses it is NaN, and what has a density is at its mode. Each may be a :class:`Density` of
    your own.

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

    discrimination: Density | None = None
    intercept: Density | None = None
    guessing: Density | None = None
    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what cannot be a prior of its parameter, or cannot be stored with a result."""
        others: dict[str, tuple[tuple[type, ...], str]] = {
            "discrimination": ((Beta,), "Normal or LogNormal"),
            "intercept": ((Beta, LogNormal), "Normal"),
            "guessing": ((LogNormal,), "Beta or Normal"),
        }
        for name, (refused, names) in others.items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Density) or isinstance(value, refused)):
                raise TypeError(
                    f"{name} of ItemPrior must be {names}, a Density of your own or None, "
                    f"got {short(value)}"
                )
        self.described()

    def at(
        self, items: Items, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items, its gradient and its curvature."""
        del hyper
        terms: list[Term] = []
        if self.discrimination is not None:
            at = LogDensity(*self.discrimination.at(items.slope))
            if common_slope:
                at = at.times(1 / (len(items.slope) if copies is None else copies.sum()))
            terms.append(Term(at, {0: 1.0}))
        if self.intercept is not None:
            terms.append(Term(LogDensity(*self.intercept.at(items.intercept)), {1: 1.0}))
        if self.guessing is not None and items.logit_guessing is not None:
            terms.append(Term(LogDensity(*self.guessing.at(items.logit_guessing)), {2: 1.0}))
        return summed(terms, items, copies=copies)

    def holds(self, items: Items) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether slopes, and intercepts, are kept from running off."""
        return _holds(self.discrimination, items.slope), _holds(self.intercept, items.intercept)

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""
        kinds = {
            name: None if part is None else _described(part, name)
            for name, part in vars(self).items()
        }
        return {"kind": "ItemPrior", **kinds}


def _holds(density: Density | None, x: Array) -> NDArray[np.bool_]:
    """Whether twice as far out costs at least what one standard error does; out starts at 20.

    A density that falls by less from there on lets a parameter that the responses push out run
    on to wherever a search ends.
    """
    if density is None:
        return np.zeros(len(x), dtype=bool)
    beyond = 2 * np.copysign(np.maximum(np.abs(x), WeakPrior.steep), x)
    with np.errstate(all="ignore"):  # so far out a density may overflow
        there, here = (LogDensity(*density.at(place)).value for place in (beyond, x))
        return ~np.asarray(here - there < _COST_OF_ONE_ERROR)


def _described(density: Density, name: str) -> dict[str, Any]:
    """Return the kind and the attributes of a density as plain values."""
    kind = type(density).__name__
    if any(vars(base).get("__slots__") for base in type(density).__mro__):
        raise TypeError(f"{name} of ItemPrior: {kind} must keep its attributes without __slots__")
    found: dict[str, Any] = {"kind": kind}
    for attribute, value in vars(density).items():
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        try:
            found[attribute] = json.loads(json.dumps(plain))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name} of ItemPrior: attribute {attribute} of {kind} must be a number, a text or "
                f"an array, got {type(value).__name__}"
            ) from error
    return found
