"""Checks of what an audit is given."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from irtkit.calibration.result import FitResult
from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.responses import ResponseMatrix

_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "fdr": (lambda value: 0 < value < 1, "between 0 and 1"),
    "flat_information": (lambda value: value >= 0, "at least 0"),
    "extreme_difficulty": (lambda value: value > 0, "above 0"),
    "chance": (lambda value: 0 <= value < 1, "at least 0 and below 1"),
    "excess": (lambda value: 0 <= value <= 1, "from 0 to 1"),
}


def check_thresholds(**given: object) -> None:
    """Refuse thresholds that are no numbers, or out of range; chance may be None."""
    for name, value in given.items():
        holds, rule = _RULES[name]
        if name == "chance" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, got {value!r}")
        if not holds(value):
            raise ValueError(f"{name} must be {rule}, got {value}")


def check_fit(result: object) -> None:
    """Refuse what is no fit."""
    if not isinstance(result, FitResult):
        raise TypeError(
            f"result must be what irtkit.fit or irtkit.load return, got {type(result).__name__}"
        )


def responses_of(result: FitResult, needed_by: str, *, dense: bool = False) -> ResponseMatrix:
    """Return the responses of a fit; an error if they were not saved, or not dense as they must."""
    if result.responses is None:
        raise ValueError(f"{needed_by} needs the responses, which were not saved with this result")
    if dense:
        refuse_sparse(result.responses, needed_by)
    return result.responses
