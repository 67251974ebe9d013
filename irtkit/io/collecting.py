"""Collecting responses while a file is read, whatever its format.

A label or a written response is looked at once, when it first occurs; after that a row costs one
look-up in a dictionary per cell. Readers of wide data collect rows of one-byte codes
(`ResponseCodes`), readers of long data collect blocks of numbers (`LongTable`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.codes import (
    INVALID,
    MISSING,
    check_threshold,
    invalid_response_message,
    response_code,
)
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from irtkit.responses import Repeats

_INVALID_BYTE = INVALID % 256
_REMEMBERED = 100_000


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
        if len(self) < _REMEMBERED:  # graded scores may all differ
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


class Numbering(dict[object, int]):
    """Numbers labels 0, 1, … in the order of their first occurrence; blank text is −1."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[object] = []

    def __missing__(self, label: object) -> int:
        if isinstance(label, str) and not label.strip():
            number = MISSING
        else:
            number = len(self.labels)
            self.labels.append(label)
        self[label] = number
        return number

    def of(self, labels: Sequence[object]) -> NDArray[np.int32]:
        """Return the number of each label."""
        return np.fromiter(map(self.__getitem__, labels), np.int32, len(labels))


class LongTable:
    """Responses that come one by one, collected in blocks.

    Parameters
    ----------
    respondent, item, response
        The names of the columns, for messages.

    Examples
    --------
    >>> from irtkit.io.collecting import LongTable
    >>> table = LongTable()
    >>> table.add(["gpt", "gpt"], ["q1", "q2"], ["1", "0"])
    >>> table.add(["llama"], ["q2"], ["1"])
    >>> table.matrix().values
    array([[ 1,  0],
           [-1,  1]], dtype=int8)
    """

    def __init__(
        self, respondent: str = "respondent", item: str = "item", response: str = "response"
    ) -> None:
        self._names = (respondent, item, response)
        self._numberings = (Numbering(), Numbering(), Numbering())
        self._blocks: tuple[list[NDArray[np.int32]], ...] = ([], [], [])

    def add(
        self, respondents: Sequence[object], items: Sequence[object], responses: Sequence[object]
    ) -> None:
        """Add as many responses as each of the three sequences holds."""
        columns = (respondents, items, responses)
        for blocks, numbering, column in zip(self._blocks, self._numberings, columns, strict=True):
            blocks.append(numbering.of(column))

    def matrix(
        self,
        threshold: float | None = None,
        repeats: Repeats = "error",
        *,
        sparse: bool = False,
    ) -> ResponseMatrix:
        """Response matrix of all that was added; see `ResponseMatrix.from_long` for errors."""
        import pandas as pd

        numbers = [np.concatenate([*blocks, np.empty(0, np.int32)]) for blocks in self._blocks]
        labels = [numbering.labels for numbering in self._numberings]
        written = np.empty(len(labels[2]) + 1, dtype=object)  # the last, at −1, stands for missing
        written[:-1] = labels[2]
        respondent, item, response = self._names
        frame = pd.DataFrame(
            {
                respondent: pd.Categorical.from_codes(
                    numbers[0], pd.Index(labels[0], dtype=object)
                ),
                item: pd.Categorical.from_codes(numbers[1], pd.Index(labels[1], dtype=object)),
                response: pd.Series(written[numbers[2]], dtype=object),
            }
        )
        return ResponseMatrix.from_long(
            frame,
            respondent=respondent,
            item=item,
            response=response,
            threshold=threshold,
            repeats=repeats,
            sparse=sparse,
        )
