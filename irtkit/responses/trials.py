"""Repeated trials: how many of a respondent's trials on an item were right.

An AI system is often run several times on an item. A response is then `successes` out of
`trials`, two tables of the same shape in which a cell without trials is a missing response. Both
are kept in the smallest whole-number type that holds the most trials of any cell: one byte a cell
up to 255 trials.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import NO_NUMBERS, and_more, short

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.responses.labels import Names

_TYPES = (np.uint8, np.uint16, np.int32)
_REPEATS = ("error", "count", "first", "last")
_MEAN = "mean>="
_ROUNDING = 1e-9
"""Of a trial, so that 0.1 of 10 trials is 1 although 0.1 is no binary number."""
MOST_TRIALS = int(np.iinfo(_TYPES[-1]).max)


class CountTables(NamedTuple):
    """Valid counts of every cell, two tables of the same shape and type."""

    successes: NDArray[Any]
    trials: NDArray[Any]


def count_type(most: int) -> np.dtype[Any]:
    """Smallest type that holds every count from 0 to `most`, which is at most `MOST_TRIALS`."""
    return next(np.dtype(kind) for kind in _TYPES if most <= np.iinfo(kind).max)


def count_rows(
    cells: NDArray[np.int64], right: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cells that were tried, in rising order, with the successes and trials of each.

    Every entry of `cells` and `right` is a trial: its cell, 0 or above, and whether it was right.
    """
    trials = 2 * cells + right
    trials.sort()  # an order of the trials themselves would take ten times as long
    at = trials >> 1
    first = np.flatnonzero(np.diff(at, prepend=-1))
    n_right = np.add.reduceat(trials & 1, first) if len(at) else at
    return at[first], n_right, np.diff(first, append=len(at))


def check_repeats(repeats: str) -> None:
    """Refuse an unknown way to take several rows of the same respondent and item."""
    known = isinstance(repeats, str) and repeats in _REPEATS
    if not known and _share(repeats) is None:
        raise ValueError(
            f"repeats must be one of {', '.join(_REPEATS)} and mean>=0.5 (or another share above 0 "
            f"and at most 1); got {short(repeats)}"
        )


def one_of_repeats(
    cells: NDArray[np.int64], codes: NDArray[np.int8], repeats: str
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Cells that were tried, and one response for each: the "first", "last" or mean of its trials.

    Codes of missing responses, which are below 0, are no trials.
    """
    observed = codes >= 0
    cells, codes = cells[observed], codes[observed]
    if repeats in {"first", "last"}:
        forward = slice(None, None, 1 if repeats == "first" else -1)
        kept, first = np.unique(cells[forward], return_index=True)
        return kept, codes[forward][first]
    kept, n_right, n_trials = count_rows(cells, codes == 1)
    return kept, right_on_the_whole(n_right, n_trials, repeats)


def right_on_the_whole(
    n_right: NDArray[Any], n_trials: NDArray[Any], repeats: str
) -> NDArray[np.int8]:
    """Whether the share of right trials is large enough, 1 or 0, by "mean>=share"."""
    share = _share(repeats) or math.nan
    return (n_right >= share * n_trials - _ROUNDING).astype(np.int8)


def _share(repeats: object) -> float | None:
    """Share of "mean>=share", None if there is no such share."""
    if not isinstance(repeats, str) or not repeats.startswith(_MEAN):
        return None
    try:
        share = float(repeats.removeprefix(_MEAN))
    except ValueError:
        return None
    return share if 0 < share <= 1 else None


def checked_counts(successes: NDArray[Any], trials: NDArray[Any], names: Names) -> CountTables:
    """Both tables as whole numbers, 0 ≤ successes ≤ trials, missing responses 0 out of 0.

    They may be of any type; the labels are for the refusal of a cell that is no count, has more
    successes than trials, or trials without successes.
    """
    right, tried = _as_numbers(successes), _as_numbers(trials)
    for argument, table, numbers in (("successes", successes, right), ("trials", trials, tried)):
        rule = f"{argument} must be whole numbers, 0 or more"
        _refuse(_is_no_count(numbers), rule, names, table)
        rule = f"{argument} must be at most {MOST_TRIALS}"
        _refuse(numbers > MOST_TRIALS, rule, names, table)
    missing = np.isnan(tried)
    rule = "successes must be a number where there are trials"
    _refuse(np.isnan(right) & (tried > 0), rule, names, successes, trials)
    rule = "successes must be at most trials"
    _refuse(right > tried, rule, names, successes, trials)  # NaN exceeds nothing
    kind = count_type(int(np.where(missing, 0, tried).max()))
    n_trials = np.where(missing, 0, tried).astype(kind)
    return CountTables(np.where(n_trials == 0, 0, right).astype(kind), n_trials)


def _as_numbers(table: NDArray[Any]) -> NDArray[Any]:
    """Integers as they are, anything else as floats: NaN where missing, −1 where no number."""
    if table.dtype.kind in "iu":
        return table
    if table.dtype.kind in "bf":
        return table.astype(np.uint8 if table.dtype.kind == "b" else np.float64, copy=False)
    flat = [_number(value) for value in table.ravel()]
    return np.array(flat, dtype=np.float64).reshape(table.shape)


def _number(value: object) -> float:
    """NaN for None, NaN, NaT and pandas.NA; −1, which is no count either, for what is no number."""
    if isinstance(value, (str, bytes, *NO_NUMBERS)) and str(value) != "NaT":
        return -1.0
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return np.nan if value is None or str(value) in {"NaT", "<NA>"} else -1.0


def _is_no_count(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a cell is below 0, infinite or a fraction; NaN is not, since it is missing."""
    bad: NDArray[np.bool_] = numbers < 0
    if numbers.dtype.kind == "f":
        bad |= np.isinf(numbers) | (np.floor(numbers) < numbers)
    return bad


def _refuse(bad: NDArray[np.bool_], rule: str, names: Names, *tables: NDArray[Any]) -> None:
    """Raise the error for the first marked cell, if there is one, with what the tables hold."""
    if not bad.any():
        return
    row, column = (int(k) for k in np.argwhere(bad)[0])
    shown = " out of ".join(short(table[row, column]) for table in tables)
    more = and_more(int(bad.sum()) - 1, "such cell")
    respondents, items = names
    raise ValueError(
        f"{rule}: respondent {short(respondents[row])}, item {short(items[column])} has "
        f"{shown}{more}"
    )
