"""What a reader is given: the file, how it begins, and what the caller said about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from irtkit.io.text import layout
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from irtkit.responses import Repeats

HEAD_BYTES = 4096


@dataclass(frozen=True)
class Source:
    """A file of responses, not yet read."""

    path: Path
    head: bytes
    """How the file begins, decompressed and without a byte order mark: enough to recognise it."""
    shape: str | None = None
    """The shape of a table where the caller named one: "wide", "long" or None."""
    respondent: str | None = None
    item: str | None = None
    response: str | None = None
    """The columns of a long table where the caller named them."""
    threshold: float | None = None
    repeats: Repeats = "error"
    sparse: bool = False

    @cached_property
    def layout(self) -> tuple[str, list[str]]:
        """Separator and header of a table in text."""
        return layout(self.path)

    @property
    def is_long(self) -> bool:
        """Whether the caller said, in one way or another, that the table is long."""
        return self.shape == "long" or (self.shape is None and self.names_columns)

    @property
    def names_columns(self) -> bool:
        """Whether the caller named a column of a long table."""
        return (self.respondent, self.item, self.response) != (None, None, None)

    def matrix_of_long(self, table: Any, names: Sequence[str]) -> ResponseMatrix:
        """Response matrix of a table of pyarrow, its columns named by respondent, item, response.

        See `ResponseMatrix.from_long` for errors.
        """
        respondent, item, response = names
        return ResponseMatrix.from_long(
            table.to_pandas(ignore_metadata=True),
            respondent=respondent,
            item=item,
            response=response,
            threshold=self.threshold,
            repeats=self.repeats,
            sparse=self.sparse,
        )

    def refuse_long_settings(self, form: str) -> None:
        """Refuse what is for a row per response in a format that has a place for every cell."""
        if self.sparse:
            raise ValueError(
                f"sparse=True is for the rows of a long table, but the format is {form!r}"
            )
        if self.repeats != "error":
            raise ValueError(
                f"repeats={self.repeats!r} is for the rows of a long table, "
                f"but the format is {form!r}"
            )
