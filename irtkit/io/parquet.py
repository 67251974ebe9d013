"""Parquet: the same wide and long tables as in text, with typed columns.

Of a long table only three columns are read, and text labels stay numbers into a dictionary on the
way from the file to the matrix. A pandas index stored with a wide table holds the respondents.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from irtkit.columns import find_columns, other_columns
from irtkit.files import open_bytes

if TYPE_CHECKING:
    from irtkit.io.source import Source
    from irtkit.responses import ResponseMatrix

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
            if source.is_long(file.schema_arrow.names):
                return _read_long(file, source)
            return source.matrix_of_wide(file.read())
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"the Parquet data cannot be read: {error}") from error


def _read_long(file: Any, source: Source) -> ResponseMatrix:
    from pyarrow import types

    names = file.schema_arrow.names
    names = [names[position] for position in other_columns(names, source.ignore)]
    chosen = [names[position] for position in find_columns(names, *source.columns)]
    table = file.read(columns=chosen)
    for label in chosen[:2]:
        kind = table.schema.field(label).type
        if types.is_nested(kind):
            raise ValueError(f"column {label!r} holds {kind}, not labels")
        if types.is_string(kind) or types.is_large_string(kind):
            numbered = table.column(label).dictionary_encode()
            table = table.set_column(table.schema.names.index(label), label, numbered)
    return source.matrix_of_long(table)
