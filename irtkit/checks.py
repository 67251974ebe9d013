"""Checks of arguments: what is wrong is refused with the name, the rule and the value given.

An argument of a wrong kind is a TypeError, one of a wrong value a ValueError. Where only some
values are known (names, grids, whole numbers), anything else is a wrong value.
"""

from __future__ import annotations

import math
from difflib import get_close_matches
from numbers import Integral, Real
from reprlib import Repr
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable

    from numpy.typing import NDArray

_INSTEAD = {
    "ResponseMatrix": "irtkit.read_responses makes one of files, data frames and arrays",
    "FitResult": "irtkit.fit and irtkit.load return one",
    "ItemParameters": "irtkit.ItemParameters.from_difficulty makes them, a fit has .parameters",
    "Axes": "matplotlib.pyplot.subplots makes some",
    "DataFrame": "pandas.DataFrame makes one",
}
"""What to type instead, by the name of the class that is wanted."""
_LIKENESS = 0.7
"""Least likeness (twice the letters in common, over all letters) of a name to ask for: one letter
too many in three (0.86) or too few (0.8), and not another letter (0.67), so that 4PL is not 3PL."""

NO_NUMBERS = (complex, np.complexfloating, np.datetime64, np.timedelta64)
"""Types that Python or NumPy turns into numbers, some with a warning, and that are none here."""
MOST_TIMES = 100_000
"""Draws, shuffles and other repetitions: a share of so many is known to 0.0016 (its standard error
is at most ½/√n), and more would run for hours or need more memory than there is."""

_LINE = 80
"""Characters of a label or value that a message repeats."""
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _LINE


def short(value: object) -> str:
    """A value as Python writes it, in one line: its middle is left out where that is longer."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()  # that of a time may be a whole number
    return " ".join(_SHORT.repr(value).splitlines())


def check_type(name: str, value: object, kind: type) -> None:
    """Refuse what is no ResponseMatrix, FitResult or the like where one is needed."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(
            f"{name} must be {article} {kind.__name__}, got {type(value).__name__}; "
            f"{_INSTEAD[kind.__name__]}"
        )


def check_one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    """Refuse what is none of the names."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise not_one_of(name, value, names)


def not_one_of(name: str, value: object, names: Collection[str]) -> ValueError:
    """Return the error for what is none of the names."""
    return ValueError(
        f"{name} must be one of {', '.join(names)}; got {short(value)}{did_you_mean(value, names)}"
    )


def did_you_mean(value: object, names: Iterable[str]) -> str:
    """Ask for the name that is most like a value, if one is: ", did you mean '2PL'?"."""
    like = {name.lower(): name for name in names}
    found = get_close_matches(str(value)[:80].lower(), like, 1, _LIKENESS)
    return f", did you mean {short(like[found[0]])}?" if found else ""


def check_yes_or_no(**given: object) -> None:
    """Refuse what is neither True nor False."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {short(value)}")


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number; True, 1.0 and durations are none."""
    return isinstance(value, Integral) and not isinstance(value, (bool, *NO_NUMBERS))


def check_whole(name: str, value: object, least: int, most: float = math.inf) -> None:
    """Refuse what is no whole number, or too small or large a one."""
    if not is_whole(value) or not least <= value <= most:
        rule = f"{least} or more" if math.isinf(most) else f"from {least} to {most:,}"
        raise ValueError(f"{name} must be a whole number, {rule}; got {short(value)}")


def check_times(name: str, value: object, least: int) -> None:
    """Refuse what is no number of repetitions, from the least that makes sense to `MOST_TIMES`."""
    check_whole(name, value, least, MOST_TIMES)


def check_seed(seed: object) -> None:
    """Refuse what would make the draws differ from one time to the next."""
    check_whole("seed", seed, 0)


def as_number(value: object) -> float:
    """Return a number as a float, infinite if it is too large for one; text and True are NaN."""
    if isinstance(value, (bool, *NO_NUMBERS)) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    least: float | None = None,
    below: float = math.inf,
    most: float | None = None,
) -> float:
    """Return a number within bounds, of which `least` and `most` belong to the range.

    Infinite numbers are refused unless they are `least` or `most`.
    """
    number = as_number(value)
    if math.isnan(number) and not isinstance(value, float | np.floating):
        raise TypeError(f"{name} must be a number, got {short(value)}")
    from_below = number > above if least is None else number >= least
    if from_below and (number < below if most is None else number <= most):
        return number
    bounds = {"above": above} if least is None else {"at least": least}
    bounds |= {"below": below} if most is None else {"at most": most}
    rule = [f"{word} {bound:g}" for word, bound in bounds.items() if math.isfinite(bound)]
    if not rule or math.isinf(number):
        rule.insert(0, "a finite number")
    raise ValueError(f"{name} must be {' and '.join(rule)}, got {short(value)}")


def check_unmasked(name: str, given: Any) -> None:
    """Refuse an array, or a list of values and arrays, of which something is masked."""
    parts = given if isinstance(given, list | tuple) else (given,)
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} must not be masked anywhere: NumPy drops the mask of an array")


def as_numbers(name: str, given: Any) -> NDArray[np.float64]:
    """Return numbers as an array of floats, infinite where too large for one.

    NaN stays; what is masked, no number (text, None, a date) or ragged is refused.
    """
    check_unmasked(name, given)
    try:
        found = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name} must be numbers: its rows differ in length") from error
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    numbers = [*map(as_number, flat := found.ravel())]
    for value, number in zip(flat, numbers, strict=True):
        if math.isnan(number) and not isinstance(value, float | np.floating):
            raise TypeError(f"{name} must be numbers, got {short(value)}")
    return np.array(numbers).reshape(found.shape)


def half_character(text: object) -> str:
    """What to say of text with half a character (a surrogate), which no file holds; else none."""
    try:
        str(text).encode()
    except UnicodeEncodeError as error:
        return f"{error.object[error.start : error.end]!a} is half a character"
    return ""


def check_unique(rule: str, labels: Iterable[Hashable], advice: str = "") -> None:
    """Refuse labels that occur twice; the rule says what they are of, the advice what to do."""
    seen: set[Hashable] = set()
    again = [label for label in labels if label in seen or seen.add(label)]  # type: ignore[func-returns-value]
    if again:
        more = and_more(len(again) - 1, "repeat")
        raise ValueError(f"{rule}: {short(again[0])} occurs twice{more}{advice}")


def and_more(n: int, what: str) -> str:
    """How many more there are than the one that a message names: " (and 2 more such cells)"."""
    return f" (and {n} more {what}{'s' * (n > 1)})" if n > 0 else ""


def first_names(labels: Collection[object], separator: str = ", ", shown: int = 5) -> str:
    """The first labels, and how many more there are."""
    more = [f"{len(labels) - shown} more"] if len(labels) > shown else []
    names = (str(label) for label in list(labels)[:shown])
    cut = (name if len(name) <= _LINE else f"{name[:_LINE]}…" for name in names)
    return separator.join([*cut, *more])
