"""Parquet: the same wide and long tables as in text, with typed columns.

Of a long table only three columns are read, and text labels stay numbers into a dictionary on the
way from the file to the matrix. A pandas index stored with a wide table holds the respondents.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from irtkit.files import open_bytes
from irtkit.io.source import find_columns, holds_respondents, is_long, refuse_repeats
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from irtkit.io.source import Source

MAGIC = b"PAR1"


def recognise(source: Source) -> bool:
    """Whether the file begins as Parquet does."""
    return source.head.startswith(MAGIC)


def read(source: Source) -> ResponseMatrix:
    """Read a long table if the caller or the column names say so, a wide one otherwise."""
    if not recognise(source):
        raise ValueError("the file is not Parquet")
    import pyarrow.parquet

    try:
        with open_bytes(source.path) as handle:
            compressed = isinstance(handle, gzip.GzipFile)
            content = pyarrow.BufferReader(handle.read()) if compressed else handle
            file = pyarrow.parquet.ParquetFile(content)
            names = file.schema_arrow.names
            if source.is_long or (source.shape is None and is_long(names)):
                return _read_long(file, source)
            return _read_wide(file, source)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"the Parquet data cannot be read: {error}") from error


def _read_long(file: Any, source: Source) -> ResponseMatrix:
    from pyarrow import types

    names = file.schema_arrow.names
    chosen = [names[position] for position in find_columns(names, *source.columns)]
    table = file.read(columns=chosen)
    for label in chosen[:2]:
        kind = table.schema.field(label).type
        if types.is_nested(kind):
            raise ValueError(f"column {label!r} holds {kind}, not labels")
        if types.is_string(kind) or types.is_large_string(kind):
            numbered = table.column(label).dictionary_encode()
            table = table.set_column(table.schema.names.index(label), label, numbered)
    return source.matrix_of_long(table, chosen)


def _read_wide(file: Any, source: Source) -> ResponseMatrix:
    import pandas as pd

    source.refuse_long_settings("wide")
    frame = file.read().to_pandas()
    if isinstance(frame.index, pd.RangeIndex):
        if not frame.shape[1]:
            raise ValueError("the table has no columns")
        frame.index = [f"respondent-{k + 1}" for k in range(len(frame))]
        first = frame.columns[0]
        refuse_repeats(frame.columns)
        labels = frame[first]
        if holds_respondents(first, labels.astype(str).where(labels.notna(), "").unique()):
            frame = frame.drop(columns=first).set_axis(labels, axis=0)
    return ResponseMatrix.from_frame(frame, threshold=source.threshold)
