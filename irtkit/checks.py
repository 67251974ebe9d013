"""Checks of arguments, which name the argument, the rule and the value given.

A wrong kind is a TypeError, a wrong value a ValueError, and too little memory a MemoryError.
"""

from __future__ import annotations

import math
from contextlib import suppress
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
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
    "Judges": "irtkit.judges returns one",
    "CharacteristicCurves": "irtkit.characteristic_curves returns one",
}  # What to type instead, by the name of the class.
NO_NUMBERS = (complex, np.complexfloating, np.datetime64, np.timedelta64)  # Though Python converts.
MOST_TIMES = 100_000  # Repetitions, for example draws: a share of them is known to 0.0016.
_LINE = 80  # Characters of a label or value that a message repeats.
_NOT_LOOKED_AT = 2.0**26  # Bytes that are not checked: Python and its libraries take more.
_MACHINE, _CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _LINE


def short(value: object) -> str:
    """A value as Python writes it, in one line without its middle if it is long."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    return " ".join(_SHORT.repr(value).splitlines())


def check_type(name: str, value: object, kind: type, *others: type) -> None:
    """Refuse what is not a ResponseMatrix, FitResult or the like, nor of another type."""
    if not isinstance(value, (kind, *others)):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(
            f"{name} must be {article} {kind.__name__}, got {type(value).__name__}. "
            f"{_INSTEAD[kind.__name__]}"
        )


def check_one_of(name: str, value: object, names: Collection[str]) -> None:
    """Refuse what is not one of the names."""
    if not isinstance(value, str) or value not in names:
        raise not_one_of(name, value, names)


def not_one_of(name: str, value: object, names: Collection[str]) -> ValueError:
    """Return the error for what is not one of the names."""
    return ValueError(
        f"{name} must be one of {', '.join(names)}, got {short(value)}{did_you_mean(value, names)}"
    )


def did_you_mean(value: object, names: Iterable[str]) -> str:
    """Ask for the name that is most like a value, if one is: ", did you mean '2PL'?"."""
    like = {name.lower(): name for name in names}
    word = str(value)[:_LINE].lower()
    # one letter more or less in three is alike, so that 4PL is not 3PL
    matches = get_close_matches(word, like, 1, 0.7)
    letters = word.replace("_", "")
    if len(letters) >= 5:  # loglik is log_likelihood, log may be anything
        matches += [name for name in like if name.replace("_", "").startswith(letters)]
    return f", did you mean {short(like[matches[0]])}?" if matches else ""


def check_yes_or_no(**given: object) -> None:
    """Refuse what is neither True nor False."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {short(value)}")


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, unlike True, 1.0 and durations."""
    return isinstance(value, Integral) and not isinstance(value, (bool, *NO_NUMBERS))


def check_whole(name: str, value: object, least: int, most: float = math.inf) -> None:
    """Refuse what is not a whole number from the least to the most."""
    if not is_whole(value) or not least <= value <= most:
        rule = f"{least} or more" if math.isinf(most) else f"from {least} to {most:,}"
        raise ValueError(f"{name} must be a whole number, {rule}, got {short(value)}")


def check_times(name: str, value: object, least: int) -> None:
    """Refuse what is not a number of repetitions, up to `MOST_TIMES`."""
    check_whole(name, value, least, MOST_TIMES)


def check_seed(seed: object) -> None:
    """Refuse what is not a seed."""
    check_whole("seed", seed, 0)


def as_number(value: object) -> float:
    """Return a number as a float, and NaN for text and True."""
    wrong = isinstance(value, (bool, *NO_NUMBERS)) or not isinstance(value, Real)
    return math.nan if wrong else float(value)  # type: ignore[arg-type]


def check_number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    least: float | None = None,
    below: float = math.inf,
    most: float | None = None,
) -> float:
    """Return a number within bounds. `least` and `most` belong to the range, even if infinite."""
    number = as_number(value)
    if math.isnan(number) and not isinstance(value, float | np.floating):
        raise TypeError(f"{name} must be a number, got {short(value)}")
    from_below = number > above if least is None else number >= least
    if from_below and (number < below if most is None else number <= most):
        return number
    low = ("above", above) if least is None else ("at least", least)
    high = ("below", below) if most is None else ("at most", most)
    rule = [f"{word} {bound:g}" for word, bound in (low, high) if math.isfinite(bound)]
    if not rule or math.isinf(number):
        rule.insert(0, "a finite number")
    raise ValueError(f"{name} must be {' and '.join(rule)}, got {short(value)}")


def check_unmasked(name: str, given: Any) -> None:
    """Refuse an array, or a list of values and arrays, with something masked."""
    parts = given if isinstance(given, list | tuple) else (given,)
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} must not be masked anywhere: NumPy drops the mask of an array")


def as_numbers(name: str, given: Any) -> NDArray[np.float64]:
    """Return an array of floats, or refuse what is not numbers (NaN is) or has ragged rows."""
    check_unmasked(name, given)
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name} must be numbers: its rows differ in length") from error
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    numbers = [*map(as_number, flat := array.ravel())]
    for value, number in zip(flat, numbers, strict=True):
        if math.isnan(number) and not isinstance(value, float | np.floating):
            raise TypeError(f"{name} must be numbers, got {short(value)}")
    return np.array(numbers).reshape(array.shape)


def check_unique(rule: str, labels: Iterable[Hashable], advice: str = "") -> None:
    """Refuse labels that occur twice. The rule names them, the advice says what to do."""
    seen: set[Hashable] = set()
    if again := [label for label in labels if label in seen or seen.add(label)]:  # type: ignore[func-returns-value]
        more = and_more(len(again) - 1, "repeat")
        raise ValueError(f"{rule}: {short(again[0])} occurs twice{more}{advice}")


def counted(n: float, noun: str) -> str:
    """A number of things: "1 item", "1,797 items"."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def and_more(n: int, what: str) -> str:
    """How many more there are than a message names, such as " (and 2 more cells)"."""
    plural = "s" * (n > 1)
    return f" (and {n} more {what}{plural})" if n > 0 else ""


def first_names(labels: Collection[object], shown: int = 5) -> str:
    """The first labels, and how many more there are."""
    names = (str(label) for label in list(labels)[:shown])
    cut = [name if len(name) <= _LINE else f"{name[:_LINE]}…" for name in names]
    more = [f"{len(labels) - shown} more"] * (len(labels) > shown)
    return ", ".join(cut + more)


def check_memory(needed: float, what: str, remedy: str = "") -> None:
    """Refuse what needs more bytes than there are. The `remedy` needs less."""
    if needed > _NOT_LOOKED_AT and needed > (there := available_bytes()):
        sizes = f"{needed / 1e9:.3g} GB of memory, and {there / 1e9:.3g} GB are left"
        raise MemoryError(f"{what} needs at least {sizes}" + f" ({remedy})" * bool(remedy))


def available_bytes() -> float:
    """Bytes that this process may still take, infinite if the system does not say."""
    machine = container = math.inf
    with suppress(OSError, ValueError, StopIteration):
        lines = _MACHINE.read_text(encoding="ascii").splitlines()
        available = next(line for line in lines if "MemAvailable" in line)
        machine = 1024.0 * int(available.split()[1])
    with suppress(OSError, ValueError):  # "max" without a limit
        container = float(_CONTAINER.read_text(encoding="ascii"))
    return min(machine, container)
