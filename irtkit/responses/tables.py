"""Tables of responses in memory or in files, and the settings that say how to read them.

`irtkit.responses.long` and `irtkit.responses.wide` make a response matrix of a `Table`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique
from irtkit.responses.columns import is_long, matched, respondent_position
from irtkit.responses.marking import Marking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.responses.columns import Names

BLOCK_ROWS = 2**17  # Rows of a long block: its arrays stay in the processor's cache.
_BLOCK_CELLS = 2**22  # Cells of a block of a wide table.


@dataclass(frozen=True)
class Settings:
    """How responses are read: the arguments of `irtkit.read_responses`."""

    format: str | None = None
    respondent: Names = None
    item: Names = None
    response: str | None = None
    task: Names = None
    metric: Names = None
    filter: Names = None
    key: Any = None
    threshold: float | None = None
    right: Any = None
    wrong: Any = None
    missing: Any = None
    score_range: Any = None
    levels: bool = False
    ignore: Names = None
    keep: Names = None
    transpose: bool = False
    repeats: str = "error"
    errors: str | None = None
    sparse: bool = False
    strict: bool = False

    @cached_property
    def marking(self) -> Marking:
        """What is right, wrong and missing."""
        return Marking.of(self.threshold, self.right, self.wrong, self.missing, self.score_range)


@dataclass(frozen=True)
class Table:
    """A table that is not read yet."""

    header: list[str]
    columns: Callable[[list[int]], Iterator[tuple[list[Any], int]]]
    """Blocks of the columns at these positions, and how much of `size` is read with each: arrays of
    PyArrow or Series of pandas."""
    rows: Callable[[], Iterator[Any]]
    """Blocks of all columns: frames of pandas, or lists of rows of text."""
    size: int = 0
    labelled: bool = False
    """Whether the first column is an index, which holds respondents."""
    place: str = ""
    """Name of the file."""
    clean: Callable[[str], str] = str
    """Label of a cell of text."""

    def is_long(self, settings: Settings) -> bool:
        """Whether the table has a row per response."""
        if settings.format in {"wide", "long"}:
            return settings.format == "long"
        out = matched(self.header, settings.ignore)[0] if settings.ignore else ()
        kept = [name for k, name in enumerate(self.header) if k not in out]
        return is_long(kept, settings.respondent, settings.item, settings.response)


def as_frame(given: Any) -> pd.DataFrame:
    """Frame of pandas from a frame of any library that narwhals knows."""
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        return given
    import narwhals.stable.v1 as nw

    check_unique("column names must be unique", getattr(given, "column_names", ()))
    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        kind = type(given).__name__
        raise TypeError(f"frame must be a data frame (pandas, polars, PyArrow, …), got {kind}")
    if frame.implementation.is_pandas_like() or nw.Object in frame.schema.values():
        return frame.to_pandas()
    words = [name for name, kind in frame.schema.items() if isinstance(kind, nw.Categorical)]
    plain: Any = (frame.with_columns(nw.col(*words).cast(nw.String)) if words else frame).to_arrow()
    whole: pd.DataFrame = plain.replace_schema_metadata().to_pandas()  # no column becomes an index
    return whole


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its index, if that has a name, among the columns."""
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(level=named) if named else frame


def by_item(table: Any, argument: str) -> pd.DataFrame:
    """Frame of pandas by item label: its column "item", or else its index."""
    frame = as_frame(table)
    if "item" in frame.columns:
        return frame.set_index("item")
    if not hasattr(table, "index"):
        raise ValueError(f"{argument}: a table without an index needs a column item, with labels")
    return frame


def frame_table(given: Any, place: str = "") -> Table:
    """Table in a data frame of any library; an index that holds labels is its first column."""
    import pandas as pd

    frame = as_frame(given)
    index = frame.index
    labelled = index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu"
    if not labelled and isinstance(index, pd.RangeIndex) and (index.start or index.step != 1):
        labelled = respondent_position([*map(str, frame.columns), ""]) is None
    if labelled:
        nameless = index.nlevels == 1 and index.name is None
        labels = frame[[]].reset_index(names="" if nameless else None)
        frame = pd.concat([labels, frame.reset_index(drop=True)], axis=1)
    header = [*map(str, frame.columns)]

    def blocks(n_rows: int) -> Iterator[tuple[Any, int]]:
        for start in range(0, len(frame), n_rows):
            part = frame.iloc[start : start + n_rows]
            yield part, start + len(part)

    def columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        for part, done in blocks(BLOCK_ROWS):
            yield [part.iloc[:, position] for position in positions], done

    def rows() -> Iterator[pd.DataFrame]:
        yield from (part for part, _ in blocks(max(1, _BLOCK_CELLS // max(1, len(header)))))

    return Table(header, columns, rows, len(frame), labelled, place)


def numbers_or_objects(values: Any, kinds: Iterable[Any]) -> NDArray[Any]:
    """Array of a series or frame with these types: numbers if all types are, else objects."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    kinds = set(kinds)
    if len(kinds) == 1 and all(isinstance(kind, np.dtype) and kind.kind != "O" for kind in kinds):
        return np.asarray(values)
    if all(is_numeric_dtype(kind) and not is_complex_dtype(kind) for kind in kinds):
        return np.asarray(values.to_numpy(np.float64, na_value=np.nan))
    return np.asarray(values.to_numpy(object))
