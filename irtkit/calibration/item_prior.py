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
    check_above_zero,
    summed,
)
from irtkit.checks import check_number

if TYPE_CHECKING:
    from irtkit.irf import Array, Items


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

    Each may be a :class:`Density` of your own.

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
                    f"got {value!r}"
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

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""
        kinds = {
            name: None if part is None else _described(part, name)
            for name, part in vars(self).items()
        }
        return {"kind": "ItemPrior", **kinds}


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
