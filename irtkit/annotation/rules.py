"""What pairs annotations and what the work that is left costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from irtkit.checks import check_number, check_yes_or_no

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
        check_number("tolerance", tolerance, least=0)
        check_yes_or_no(unpair=unpair)
        work = _updated(Penalties(), penalties, "penalties", above=0)
        return cls(_updated(Weights(), weights, "weights", least=0), work, tolerance, unpair)


def check_duration(duration: float | None, what: str = "duration") -> None:
    """Refuse a duration that is neither None nor above 0."""
    if duration is not None:
        check_number(what, duration, above=0)


_Settings = TypeVar("_Settings", Weights, Penalties)


def _updated(
    defaults: _Settings, given: Mapping[str, float] | None, argument: str, **bounds: float
) -> _Settings:
    """Return the defaults with the values that were given in their place."""
    if given is None:
        return defaults
    if not hasattr(given, "items"):
        raise TypeError(f"{argument} must map {', '.join(defaults._fields)} to numbers")
    for name, value in given.items():
        if name not in defaults._fields:
            known = ", ".join(defaults._fields)
            raise ValueError(f"{argument} has the unknown key {name!r}; the keys are {known}")
        check_number(f"{argument}[{name!r}]", value, **bounds)
    return defaults._replace(**given)
