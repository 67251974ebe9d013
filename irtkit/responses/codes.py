"""What a value in a table of responses counts as: right, wrong, missing, or none of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import NO_NUMBERS, and_more, half_character, short
from irtkit.responses.advice import not_items, what_to_type
from irtkit.responses.marking import MISSING_WORDS, Marking, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.responses.labels import Names

MISSING = -1
INVALID = -2
LOOKED_AT = 1000
"""Most invalid cells that are looked at, evenly spaced."""
_REMEMBERED = 100_000
"""Different written responses to keep: graded scores may all differ."""


_USUAL = Marking()


def response_code(value: object, marking: Marking = _USUAL) -> int:
    """Code of one value of a text or mixed column: 1, 0, `MISSING`, or `INVALID`."""
    plain = plain_value(value)
    if marking.names(plain):
        return int(plain in marking.right)
    if plain in MISSING_WORDS:
        return MISSING
    if marking.right:
        return 0 if marking.leaves_wrong(plain) else INVALID
    if isinstance(plain, str):
        return INVALID
    if marking.threshold is not None:
        return int(plain >= marking.threshold)
    return int(plain) if plain in {0.0, 1.0} else INVALID


def invalid_response(
    place: tuple[str, str], value: object, n_more: int, marking: Marking, advice: str
) -> ValueError:
    """Return the one error for a cell, of a respondent and item, that is no response."""
    advice = f"; {half}" if (half := half_character(value)) else advice
    who, what = map(short, place)
    where = f"respondent {who}, item {what} has {short(value)}{and_more(n_more, 'such cell')}"
    if marking.threshold is not None:
        return ValueError(f"a graded response must be a number: {where}{advice}")
    rule = "named by right= or wrong=," if marking.right else "0, 1"
    return ValueError(f"a response must be {rule} or missing: {where}{advice}")


def refuse_invalid(
    codes: NDArray[np.int8], values: Any, names: Names, marking: Marking, *, columns: bool = False
) -> None:
    """Refuse a table with an invalid cell; ``values[row, column]`` is what was given.

    The message says what to type; of named columns, also where most values of a few are none.
    """
    invalid = codes == INVALID
    if not invalid.any():
        return
    cells = np.argwhere(invalid)
    row, column = cells[0].tolist()
    per_item = invalid.sum(axis=0)
    strange = np.flatnonzero(2 * per_item > (codes != MISSING).sum(axis=0))
    if columns and len(strange) and 2 * np.count_nonzero(per_item) <= codes.shape[1]:
        advice = not_items([names[1][k] for k in strange])
    else:
        some = evenly(cells).tolist()
        few = bool(2 * len(cells) < np.count_nonzero(codes != MISSING))
        advice = what_to_type([values[k, j] for k, j in some], marking, few=few)
    value, place = values[row, column], (names[0][row], names[1][column])
    raise invalid_response(place, value, len(cells) - 1, marking, advice)


def evenly(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Some of the invalid cells, to tell from them what a table holds instead."""
    return cells[:: -(-len(cells) // LOOKED_AT)]


def is_real(kind: Any) -> bool:
    """Whether a type of pandas holds real numbers; booleans and nullable types do."""
    import pandas as pd

    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind)


def column_array(column: pd.Series[Any]) -> NDArray[Any]:
    """Values of one column as bool, float, or object when they are text or mixed."""
    if is_real(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def response_codes(cells: NDArray[Any], marking: Marking) -> NDArray[np.int8]:
    """1, 0, −1 (missing) or −2 (none of these) for every cell."""
    if cells.dtype.kind in "biuf" and not marking.right:
        return _numeric_codes(cells, marking.threshold)
    import pandas as pd

    if cells.dtype.kind in "mM":  # as objects those of nanoseconds would be whole numbers
        return np.where(np.isnat(cells), MISSING, INVALID).astype(np.int8)
    flat = cells.ravel() if cells.dtype.kind in "biuf" else cells.astype(object).ravel()
    try:
        with np.errstate(over="ignore"):  # 1e308 compared with a complex number of 32 bits
            which, distinct = pd.factorize(flat, use_na_sentinel=True)
    except TypeError:  # a cell that cannot be hashed, such as a list
        which, distinct = np.arange(flat.size), flat
    code_of = np.array([*(response_code(value, marking) for value in distinct), MISSING], np.int8)
    codes = code_of[which]
    if any(issubclass(kind, NO_NUMBERS) for kind in {*map(type, flat)}):
        for k, value in enumerate(flat):  # some of these equal 1, and count as the same value
            codes[k] = response_code(value, marking) if isinstance(value, NO_NUMBERS) else codes[k]
    return codes.reshape(cells.shape)


def _numeric_codes(cells: NDArray[Any], threshold: float | None) -> NDArray[np.int8]:
    if threshold is not None:
        codes = (cells >= threshold).astype(np.int8)
    else:
        codes = (cells == 1).astype(np.int8)
        if not (known := (codes == 1) | (cells == 0)).all():
            codes[~known] = INVALID
    if cells.dtype.kind == "f":
        codes[np.isnan(cells)] = MISSING
    return codes


def codes_of_rows(
    column: pd.Series[Any], place: Callable[[int], tuple[str, str]], marking: Marking
) -> NDArray[np.int8]:
    """1, 0 or −1 (missing) for the response in every row of a long table.

    The error for any other value has the respondent and item that ``place(row)`` gives.
    """
    codes = response_codes(column_array(column), marking)
    invalid = np.flatnonzero(codes == INVALID)
    if invalid.size:
        few = bool(2 * invalid.size < np.count_nonzero(codes != MISSING))
        advice = what_to_type(column.iloc[evenly(invalid)], marking, few=few)
        where, value = place(invalid[0]), column.iloc[invalid[0]]
        raise invalid_response(where, value, invalid.size - 1, marking, advice)
    return codes


class WrittenCodes(dict[str, int]):
    """Code of every written response as an unsigned byte, that of `INVALID` for what is none.

    A written response is looked at when it first occurs; after that a cell costs one look-up.
    """

    def __init__(self, marking: Marking) -> None:
        super().__init__()
        self.marking = marking

    def __missing__(self, written: str) -> int:
        code = response_code(written, self.marking) % 256
        if len(self) < _REMEMBERED:
            self[written] = code
        return code
