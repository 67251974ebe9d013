"""A table of results as plain lists, between a data frame and its form in a file.

A table has a text index (or the default one, 0, 1, …) and columns of four kinds: text, float
(64-bit), int (64-bit) and bool. Text may be missing; a missing float is NaN. Anything else is
refused when it is written, because it could not be read back equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """A column: its name, its kind, and a list of str or None, float, int or bool."""

    name: str
    kind: str
    values: list[Any]


@dataclass(frozen=True)
class PlainTable:
    """Labels and columns of a table."""

    index_name: str | None
    index: list[str] | None
    """The labels of the rows, None where they are numbered 0, 1, …"""
    columns: list[Column]
    n_rows: int

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> PlainTable:
        """Plain form of a data frame; ValueError if it holds what a file could not give back."""
        names = list(frame.columns)
        if not all(isinstance(name, str) for name in names) or frame.columns.name is not None:
            raise ValueError("the columns of a table must have names that are text, and no heading")
        if len(set(names)) < len(names):
            repeated = next(name for k, name in enumerate(names) if name in names[:k])
            raise ValueError(f"column names must be unique: {repeated!r} occurs twice")
        columns = []
        for name in names:
            kind = _kind(frame[name])
            if kind is None:
                raise ValueError(
                    f"column {name!r} is {frame[name].dtype}; "
                    "a column of a table is text, float64, int64 or bool"
                )
            columns.append(Column(name, kind, _plain_values(frame[name], kind)))
        index_name = frame.index.name
        if index_name is not None and not isinstance(index_name, str):
            raise ValueError(f"the name of the index must be text, got {index_name!r}")
        return cls(index_name, _plain_index(frame.index), columns, len(frame))

    def to_frame(self) -> pd.DataFrame:
        """Data frame with this table's labels, columns and types."""
        import pandas as pd

        text = pd.Series([""]).dtype  # whatever this version of pandas uses for text
        types = {"text": text, "float": "float64", "int": "int64", "bool": "bool"}
        index: pd.Index[Any] = pd.RangeIndex(self.n_rows)
        if self.index is not None:
            index = pd.Index(pd.Series(self.index, dtype=text))
        return pd.DataFrame(
            {
                column.name: pd.Series(column.values, index, types[column.kind])
                for column in self.columns
            },
            index=index.rename(self.index_name),
        )


def _kind(column: pd.Series[Any]) -> str | None:
    import pandas as pd

    plain = {"float64": "float", "int64": "int", "bool": "bool"}.get(str(column.dtype))
    if plain or not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return plain
    return "text" if all(isinstance(value, str) for value in column.dropna()) else None


def _plain_values(column: pd.Series[Any], kind: str) -> list[Any]:
    if kind != "text":
        return column.tolist()
    return [value if isinstance(value, str) else None for value in column.tolist()]


def _plain_index(index: pd.Index[Any]) -> list[str] | None:
    """Labels of the rows, None where they are the default index."""
    import pandas as pd

    if isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(index))):
        return None
    if isinstance(index, pd.MultiIndex) or _kind(index.to_series()) != "text":
        raise ValueError(
            f"the index of a table must be text labels or the default 0, 1, …, got {index.dtype}"
        )
    if index.hasnans:
        raise ValueError("the index of a table has a missing label")
    return index.tolist()
