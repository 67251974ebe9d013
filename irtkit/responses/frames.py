"""Data frames of any library, wide or long, taken apart for a response matrix.

pandas, polars, PyArrow and whatever else narwhals knows become a pandas data frame; that is the
same object where it is one already. A wide table is then labels and the code of every cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import first_names, short
from irtkit.responses.advice import not_items
from irtkit.responses.codes import column_array, is_real, refuse_invalid, response_codes
from irtkit.responses.columns import (
    holds_respondents,
    item_columns,
    other_columns,
    refuse_repeats,
    respondent_column,
    warn_of_items,
)
from irtkit.responses.labels import label_names
from irtkit.responses.marking import MISSING_WORDS, plain_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from irtkit.responses.labels import Names
    from irtkit.responses.marking import Marking


def as_frame(given: Any) -> pd.DataFrame:
    """Data frame of pandas from that of any library, see `as_table`."""
    table = as_table(given)
    # through Arrow columns of one type become one block, which is several times faster
    frame: pd.DataFrame = table if hasattr(table, "iloc") else table.to_pandas()
    return frame


def as_table(given: Any) -> Any:
    """Data frame of pandas, or table of PyArrow, from that of any library.

    Raises
    ------
    TypeError
        If it is none.
    """
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        return given
    import narwhals.stable.v1 as nw

    if callable(getattr(given, "to_batches", None)) and hasattr(given, "column_names"):
        refuse_repeats(given.column_names)  # which narwhals refuses in words of its own
    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"frame must be a data frame (pandas, polars, PyArrow, …), got {type(given).__name__}"
        )
    like = frame.implementation.is_pandas_like() or nw.Object in frame.schema.values()
    return frame.to_pandas() if like else _convertible(frame.to_arrow())


def _convertible(table: pa.Table) -> pa.Table:
    """The table with what PyArrow does not convert to pandas as what it does.

    These are categories, before version 23, and times of day in parts of a microsecond, as text.
    """
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and pa.types.is_unsigned_integer(kind.index_type):
            signed = [
                pa.DictionaryArray.from_arrays(
                    part.indices.cast(pa.int64()), part.dictionary, ordered=kind.ordered
                )
                for part in table.column(i).chunks
            ]
            kind = pa.dictionary(pa.int64(), kind.value_type, ordered=kind.ordered)
            table = table.set_column(i, field.name, pa.chunked_array(signed, type=kind))
        elif pa.types.is_time64(kind):
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
    return table


def header_of(table: Any) -> list[str]:
    """Names of the columns of a frame of pandas or a table of PyArrow, as text."""
    return [*map(str, table.columns if hasattr(table, "iloc") else table.column_names)]


def with_index(frame: Any) -> Any:
    """Return the frame with its index, if that has a name, among the columns."""
    if not hasattr(frame, "iloc"):
        return frame
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(level=named) if named else frame


def by_item(table: Any, argument: str) -> pd.DataFrame:
    """Frame of pandas, by item label: the column "item", or else the index.

    Raises
    ------
    ValueError
        If it has neither: frames of other libraries have no index.
    """
    frame = as_frame(table)
    if "item" in frame.columns:
        return frame.set_index("item")
    if not hasattr(table, "index"):
        raise ValueError(f"{argument}: a table without an index needs a column item, with labels")
    return frame


def read_wide(
    frame: pd.DataFrame,
    *,
    respondent: str | None,
    ignore: Iterable[str] | str,
    keep: Iterable[str] | str | None,
    marking: Marking,
) -> tuple[NDArray[np.int8], Names]:
    """Code of every cell, labels of respondents (which may repeat) and of items.

    Respondents are the column named, the index unless it is numbers without a name, or else a
    column that is recognised; and if there is none the index, or numbers where that counts rows.
    """
    if respondent is not None:
        frame = with_index(frame)
    frame = _columns(frame, other_columns(header_of(frame), ignore))
    labels, positions = _labels(frame, respondent, keep, marking)
    table = _columns(frame, positions)
    n, items = len(frame), label_names(table.columns, len(positions), "item")
    if not (n and items):
        raise ValueError(
            f"frame is empty: {n} respondents × {len(items)} items; at least one of each is needed"
        )
    kinds = set(table.dtypes)
    if len(kinds) == 1 and all(isinstance(kind, np.dtype) and kind.kind != "O" for kind in kinds):
        codes = response_codes(table.to_numpy(), marking)
    elif all(map(is_real, kinds)):
        codes = response_codes(table.to_numpy(np.float64, na_value=np.nan), marking)
    else:
        columns = (column_array(table.iloc[:, k]) for k in range(len(items)))
        codes = np.column_stack([response_codes(column, marking) for column in columns])
    refuse_invalid(codes, table.iloc, (labels, items), marking, columns=True)
    if marking.right and not marking.wrong:
        _refuse_words_of_its_own(table, codes)
    return codes, (labels, items)


def _refuse_words_of_its_own(table: pd.DataFrame, codes: NDArray[np.int8]) -> None:
    """Refuse a column where nothing is right, if it has words that items do not have.

    Where all words but those for right are wrong, a column of families or sizes would be an item
    that nobody got right.
    """
    import pandas as pd

    solved = (codes == 1).any(axis=0)
    if not solved.any():
        return
    known = set(pd.unique(table.loc[:, solved].to_numpy(object).ravel()))
    for name, column in table.loc[:, ~solved].items():
        values = [value for value in column.dropna().unique() if value not in known]
        if own := sorted({str(one) for one in values if plain_value(one) not in MISSING_WORDS}):
            raise ValueError(
                f"nothing in the column {short(name)} is right, and it alone holds "
                f"{first_names([*map(repr, own)])}: name what is wrong in wrong="
                f"{not_items([str(name)])}"
            )


def _columns(frame: pd.DataFrame, positions: list[int]) -> pd.DataFrame:
    """These columns of a frame; of all of them no copy is made."""
    return frame if len(positions) == frame.shape[1] else frame.iloc[:, positions]


def _labels(
    frame: pd.DataFrame,
    respondent: str | None,
    keep: Iterable[str] | str | None,
    marking: Marking,
) -> tuple[tuple[str, ...], list[int]]:
    """Labels of the rows, and positions of the columns that are items."""
    import pandas as pd

    index, header = frame.index, header_of(frame)
    numbers = index.name is None and pd.api.types.is_integer_dtype(index.dtype)
    counted = numbers and isinstance(index, pd.RangeIndex)
    chosen = counted and not index.equals(pd.RangeIndex(len(frame)))
    at = None
    if header and (numbers or respondent is not None):
        at = respondent_column(header, respondent)
        if at is None and counted:
            first = frame.iloc[:, 0]
            written = first.astype(str).where(first.notna(), "").tolist()
            at = 0 if first.notna().any() and holds_respondents(written, marking) else None
    elif index.name is not None:
        warn_of_items(str(index.name))
    labels = (None if counted and not chosen else index) if at is None else frame.iloc[:, at]
    names = label_names(labels, len(frame), "respondent", unique=False)
    return names, item_columns(header, at, keep)
