"""Checks of thresholds."""

from __future__ import annotations

from numbers import Real


def check_thresholds(
    *, fdr: float, flat_information: float, extreme_difficulty: float, chance: float | None
) -> None:
    """Refuse thresholds that are no numbers, or out of range."""
    given = {
        "fdr": (fdr, 0 < as_number("fdr", fdr) < 1, "between 0 and 1"),
        "flat_information": (
            flat_information,
            as_number("flat_information", flat_information) >= 0,
            "at least 0",
        ),
        "extreme_difficulty": (
            extreme_difficulty,
            as_number("extreme_difficulty", extreme_difficulty) > 0,
            "above 0",
        ),
    }
    if chance is not None:
        given["chance"] = (chance, 0 <= as_number("chance", chance) < 1, "at least 0 and below 1")
    for name, (value, holds, rule) in given.items():
        if not holds:
            raise ValueError(f"{name} must be {rule}, got {value}")


def as_number(name: str, value: object) -> float:
    """Return the value of an argument that must be a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)
