"""What pairs annotations and what the work that is left costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping


class Weights(NamedTuple):
    """Weights of the cost of a pair: of a type that differs, and of each unit of time."""

    type: float = 1.0
    start: float = 1.0
    end: float = 1.0


class Penalties(NamedTuple):
    """Work left to do: a field to fix, a prediction to delete, an annotation to add."""

    fix: float = 1.0
    delete: float = 2.0
    add: float = 3.0


@dataclass(frozen=True)
class Rules:
    """Settings of an impact, checked."""

    weights: Weights
    penalties: Penalties
    tolerance: float
    """Times that differ by no more than this count as unchanged."""
    unpair: bool
    """Whether a pair is left unmatched when fixing it costs more than deleting and adding."""

    @classmethod
    def of(
        cls,
        weights: Mapping[str, float] | None,
        penalties: Mapping[str, float] | None,
        tolerance: float,
        unpair: bool,  # noqa: FBT001 - passed on from keywords
    ) -> Rules:
        """Check the settings that a caller gave; None stands for the defaults."""
        work = _updated(Penalties(), penalties, "penalties")
        for name, value in work._asdict().items():
            if value == 0:
                raise ValueError(f"penalties must be above 0, but {name!r} is 0")
        check_number(tolerance, "tolerance")
        if not isinstance(unpair, bool):
            raise TypeError(f"unpair must be True or False, got {unpair!r}")
        return cls(_updated(Weights(), weights, "weights"), work, float(tolerance), unpair)


def as_number(value: object) -> float:
    """Return the value as a float, NaN where it is no number (text and True are none)."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_number(value: object, what: str) -> None:
    """Refuse what is not a finite number, 0 or more."""
    if not 0 <= as_number(value) < math.inf:
        raise ValueError(f"{what} must be a finite number, 0 or more; got {value!r}")


def check_duration(duration: float | None, what: str = "duration") -> None:
    """Refuse a duration that is neither None nor above 0."""
    if duration is not None:
        check_number(duration, what)
        if duration == 0:
            raise ValueError(f"{what} must be above 0")


_Settings = TypeVar("_Settings", Weights, Penalties)


def _updated(defaults: _Settings, given: Mapping[str, float] | None, argument: str) -> _Settings:
    """Return the defaults with the values that were given in their place."""
    if given is None:
        return defaults
    if not hasattr(given, "items"):
        raise TypeError(f"{argument} must map {', '.join(defaults._fields)} to numbers")
    for name, value in given.items():
        if name not in defaults._fields:
            known = ", ".join(defaults._fields)
            raise ValueError(f"{argument} has the unknown key {name!r}; the keys are {known}")
        check_number(value, f"{argument}[{name!r}]")
    return defaults._replace(**given)
