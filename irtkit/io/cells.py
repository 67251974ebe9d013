"""Written responses as codes, row by row.

A written response is looked at once, when it first occurs; after that a row costs one look-up in a
dictionary per cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irtkit.codes import INVALID, check_threshold, invalid_response_message, response_code

if TYPE_CHECKING:
    from collections.abc import Sequence

_INVALID_BYTE = INVALID % 256
_REMEMBERED = 100_000
"""Different written responses to keep: graded scores may all differ."""


class ResponseCodes(dict[object, int]):
    """Code of every written response as an unsigned byte, and the first that has none.

    Parameters
    ----------
    threshold
        If given, responses are graded scores and a score at or above the threshold is right.
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
            raise ValueError(
                invalid_response_message(
                    respondents[row],
                    items_of_row[position],
                    value,
                    self.n_invalid - 1,
                    self.threshold,
                )
            )
