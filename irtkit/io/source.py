"""What a reader is given: the file, and what the caller said about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from irtkit.checks import short
from irtkit.files import head_of
from irtkit.io.text import layout
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import find_columns, is_long, other_columns
from irtkit.responses.marking import Marking

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from irtkit.responses.columns import Roles
    from irtkit.responses.long_table import LongTable
    from irtkit.responses.matrix import Columns, Repeats, Words

    Choice = str | Sequence[str] | None
    """One name, or several in the order of preference."""


@dataclass(frozen=True)
class Source:
    """A file of responses, not yet read."""

    path: Path
    shape: str | None = None
    """The shape of a table where the caller named one: "wide", "long" or None."""
    columns: Roles = (None, None, None)
    """Those that the caller named."""
    threshold: float | None = None
    repeats: Repeats = "error"
    sparse: bool = False
    metric: Choice = None
    filter: Choice = None
    errors: Literal["missing"] | None = None
    """Of logs: whether answers that ended in an error are missing where they count as wrong."""
    right: Words = None
    wrong: Words = None
    ignore: Columns = ()
    """Columns of a table that the caller leaves out."""
    keep: Columns | None = None
    """Columns of a wide table that are its items, if others are not."""

    @cached_property
    def head(self) -> bytes:
        """How the file begins, see `head_of`."""
        return head_of(self.path)

    @cached_property
    def layout(self) -> tuple[str, list[str]]:
        """Separator and header of a table in text."""
        return layout(self.path)

    @cached_property
    def marking(self) -> Marking:
        """What counts as right and what as wrong."""
        return Marking.of(self.threshold, self.right, self.wrong)

    def is_long(self, header: Sequence[str]) -> bool:
        """Whether a table with this header is long, as the caller or the names of columns say."""
        if self.shape is not None:
            return self.shape == "long"
        return is_long([header[k] for k in other_columns(header, self.ignore)], self.columns)

    def long_columns(self, header: Sequence[str]) -> list[str]:
        """Respondent, item and response of a long table with this header."""
        names = [header[k] for k in other_columns(header, self.ignore)]
        return [names[k] for k in find_columns(names, *self.columns)]

    def matrix_of_long(self, *tables: LongTable) -> ResponseMatrix:
        """Response matrix of long tables, one below the other."""
        if self.keep is not None:
            raise ValueError("keep= names the items of a wide table, but this one is long")
        return ResponseMatrix.of_long(
            tables, marking=self.marking, repeats=self.repeats, sparse=self.sparse
        )

    def matrix_of_wide(self, table: Any) -> ResponseMatrix:
        """Response matrix of a wide table."""
        self.refuse_long_settings("wide")
        return ResponseMatrix.from_frame(
            table,
            respondent=self.columns[0],
            threshold=self.threshold,
            right=self.right,
            wrong=self.wrong,
            ignore=self.ignore,
            keep=self.keep,
            repeats=self.repeats,
        )

    def refuse_columns(self, form: str) -> None:
        """Refuse columns of a table where there are none to name."""
        if self.columns != (None, None, None):
            raise ValueError(
                "respondent=, item= and response= name the columns of a long table, but the "
                f"format is {short(form)}"
            )
        for name in ("ignore", "keep"):
            if getattr(self, name):
                raise ValueError(f"{name}= is for a table, but the format is {short(form)}")

    def refuse_long_settings(self, form: str) -> None:
        """Refuse what is for a row per response in a format that has a place for every cell."""
        rule = f"a long table, but the format is {short(form)}"
        if self.columns[1:] != (None, None):
            raise ValueError(f"item= and response= name columns of {rule}")
        if self.sparse:
            raise ValueError(f"sparse=True is for the rows of {rule}")

    def refuse_table_settings(self, form: str) -> None:
        """Refuse what is for the columns and rows of a table in a format that has none."""
        self.refuse_columns(form)
        self.refuse_long_settings(form)
        if self.repeats != "error":
            raise ValueError(
                f"repeats={short(self.repeats)} is for a table, but the format is {short(form)}"
            )

    def refuse_log_settings(self) -> None:
        """Refuse what is for evaluation logs in a table."""
        for name in ("metric", "filter", "errors"):
            if getattr(self, name) is not None:
                response = "; response= names the column of a long one" * (name != "errors")
                raise ValueError(f"{name}= is for evaluation logs, and this is a table{response}")
