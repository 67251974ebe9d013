"""Parquet: the same wide and long tables as in text, with typed columns.

Of a long table only three columns are read, and text labels stay numbers into a dictionary on the
way from the file to the matrix. A pandas index stored with a wide table holds the respondents.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from irtkit.files import open_bytes
from irtkit.io.columns import find_columns, holds_respondents, is_long
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
    positions = find_columns(names, source.respondent, source.item, source.response)
    chosen = [names[position] for position in positions]
    table = file.read(columns=chosen)
    for label in chosen[:2]:
        kind = table.schema.field(label).type
        if types.is_nested(kind):
            raise ValueError(f"column {label!r} holds {kind}, not labels")
        if types.is_string(kind) or types.is_large_string(kind):
            position = table.schema.names.index(label)
            table = table.set_column(position, label, table.column(label).dictionary_encode())
    return source.matrix_of_long(table, chosen)


def _read_wide(file: Any, source: Source) -> ResponseMatrix:
    source.refuse_long_settings("wide")
    names = file.schema_arrow.names
    if not names:
        raise ValueError("the table has no columns")
    index = _index_column(file.schema_arrow)
    first = names[0] if index is None else index
    frame = file.read().to_pandas(ignore_metadata=True)
    labels = frame[first]
    if labels.ndim > 1:
        raise ValueError(f"column names must be unique: {first!r} occurs twice")
    words = labels.astype(str).where(labels.notna(), "").unique()
    if index is not None or holds_respondents(first, words):
        frame = frame.drop(columns=first).set_axis(labels, axis=0)
    else:
        frame.index = [f"respondent-{k + 1}" for k in range(len(frame))]
    return ResponseMatrix.from_frame(frame, threshold=source.threshold)


def _index_column(schema: Any) -> str | None:
    """Name of the one column that pandas stored as index, if that is how the file was written."""
    metadata = (schema.metadata or {}).get(b"pandas")
    columns = json.loads(metadata).get("index_columns", []) if metadata else []
    names = [name for name in columns if isinstance(name, str) and name in schema.names]
    return names[0] if len(names) == 1 else None
