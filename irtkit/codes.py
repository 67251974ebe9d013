"""What a value in a table of responses counts as: right, wrong, missing, or none of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import and_more, check_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.labels import Names

MISSING = -1
INVALID = -2
_SHOWN = 80  # characters of a wrong value that a message repeats
_BOOLEAN_WORDS = {"true": 1, "false": 0}
_MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "<na>", "none", "null"})
_INVALID_BYTE = INVALID % 256
_REMEMBERED = 100_000
"""Different written responses to keep: graded scores may all differ."""


def response_code(value: object, threshold: float | None = None) -> int:
    """Code of one value of a text or mixed column: 1, 0, `MISSING`, or `INVALID`."""
    word = str(value).strip().lower()
    if word in _MISSING_WORDS:
        return MISSING
    number = _as_number(_BOOLEAN_WORDS.get(word, value))
    if number is None:
        return INVALID
    if threshold is not None:
        return int(number >= threshold)
    return int(number) if number in {0.0, 1.0} else INVALID


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold that no comparison with a score could make sense of."""
    if threshold is not None:
        check_number("threshold", threshold)


def invalid_response(
    respondent: str, item: str, value: object, n_more: int, threshold: float | None
) -> ValueError:
    """Return the one error for a cell that is neither right, wrong nor missing."""
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    where = f"respondent {respondent!r}, item {item!r} has {shown}{and_more(n_more, 'such cell')}"
    if threshold is not None:
        return ValueError(f"a graded response must be a number: {where}")
    advice = ""
    number = _as_number(value)
    if number is not None and 0 < number < 1:
        advice = "; to count graded scores, pass threshold= (a score at or above it is right)"
    return ValueError(f"a response must be 0, 1 or missing: {where}{advice}")


def refuse_invalid(
    codes: NDArray[np.int8], values: Any, names: Names, threshold: float | None
) -> None:
    """Refuse a table with an invalid cell; ``values[row, column]`` is what was given."""
    invalid = codes == INVALID
    if invalid.any():
        row, column = (int(k) for k in np.argwhere(invalid)[0])
        value, n_more = values[row, column], int(invalid.sum()) - 1
        raise invalid_response(names[0][row], names[1][column], value, n_more, threshold)


def column_array(column: pd.Series[Any]) -> NDArray[Any]:
    """Values of one column as bool, float, or object when they are text or mixed."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):  # booleans and nullable types included
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def response_codes(cells: NDArray[Any], threshold: float | None) -> NDArray[np.int8]:
    """1, 0, −1 (missing) or −2 (none of these) for every cell."""
    check_threshold(threshold)
    if cells.dtype.kind in "biuf":
        return _numeric_codes(cells, threshold)
    import pandas as pd

    flat = cells.astype(object).ravel()
    try:
        which, distinct = pd.factorize(flat, use_na_sentinel=True)
    except TypeError:  # a cell that cannot be hashed, such as a list
        which, distinct = np.arange(flat.size), flat
    code_of = np.array([*(response_code(value, threshold) for value in distinct), MISSING], np.int8)
    return code_of[which].reshape(cells.shape)


def _numeric_codes(cells: NDArray[Any], threshold: float | None) -> NDArray[np.int8]:
    if threshold is not None:
        codes = (cells >= threshold).astype(np.int8)
    else:
        codes = np.full(cells.shape, INVALID, dtype=np.int8)
        codes[cells == 0] = 0
        codes[cells == 1] = 1
    codes[np.isnan(cells)] = MISSING
    return codes


class ResponseCodes(dict[object, int]):
    """Code of every written response as an unsigned byte, and the first that has none.

    A written response is looked at when it first occurs; after that a cell costs one look-up.
    """

    def __init__(self, threshold: float | None) -> None:
        super().__init__()
        check_threshold(threshold)
        self.threshold = threshold
        self.n_invalid = 0
        self.first_invalid: tuple[int, int, object] = (0, 0, None)

    def __missing__(self, value: object) -> int:
        code = response_code(value, self.threshold) % 256
        if len(self) < _REMEMBERED:
            self[value] = code
        return code

    def encode(self, row: int, values: Sequence[object]) -> bytes:
        """Codes of a row, one byte per value (read as int8); `row` says where an error lies."""
        try:
            codes = bytes(map(self.__getitem__, values))
        except TypeError:  # a value that cannot be hashed, such as a list
            codes = bytes(response_code(value, self.threshold) % 256 for value in values)
        n_invalid = codes.count(_INVALID_BYTE)
        if n_invalid:
            if not self.n_invalid:
                position = codes.index(_INVALID_BYTE)
                self.first_invalid = (row, position, values[position])
            self.n_invalid += n_invalid
        return codes

    def refuse_invalid(self, respondents: Sequence[str], items_of_row: Sequence[str]) -> None:
        """Raise the error for the first value that is neither right, wrong nor missing.

        The labels are those of all rows given to `encode`, and of the cells of the row at fault.
        """
        if self.n_invalid:
            row, position, value = self.first_invalid
            where = respondents[row], items_of_row[position]
            raise invalid_response(*where, value, self.n_invalid - 1, self.threshold)


def _as_number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return None if np.isnan(number) else number
