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
    columns: tuple[str | None, str | None, str | None] = (None, None, None)
    """Those of respondent, item and response in a long table, where the caller named them."""
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
        return self.columns != (None, None, None)

    def matrix_of_long(self, table: Any, names: Sequence[str]) -> ResponseMatrix:
        """Response matrix of a table of pyarrow; the names are of respondent, item and response."""
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
        rule = f"is for the rows of a long table, but the format is {form!r}"
        if self.sparse:
            raise ValueError(f"sparse=True {rule}")
        if self.repeats != "error":
            raise ValueError(f"repeats={self.repeats!r} {rule}")
