"""Parquet: the same wide and long tables as in text, with typed columns.

Of a long table only three columns are read, block by block, and text stays numbers into a
dictionary on the way from the file to the matrix. A pandas index stored with a wide table holds the
respondents.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from irtkit.columns import find_columns, other_columns
from irtkit.files import open_bytes
from irtkit.long_table import BLOCK_ROWS, LongTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from irtkit.io.source import Source
    from irtkit.responses import ResponseMatrix

MAGIC = b"PAR1"
_BUFFER_BYTES = 2**20
"""Bytes that are read of a column at once: a group of rows may be as large as the file."""


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
                return source.matrix_of_long(_long_table(file, content, source))
            return source.matrix_of_wide(file.read())
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"the Parquet data cannot be read: {error}") from error


def _long_table(file: Any, content: Any, source: Source) -> LongTable:
    """Three columns of a file, its text as numbers into dictionaries."""
    import pyarrow.parquet
    from pyarrow import types

    names = file.schema_arrow.names
    names = [names[position] for position in other_columns(names, source.ignore)]
    chosen = [names[position] for position in find_columns(names, *source.columns)]
    kinds = {name: file.schema_arrow.field(name).type for name in chosen}
    for label in chosen[:2]:
        if types.is_nested(kinds[label]):
            raise ValueError(f"column {label!r} holds {kinds[label]}, not labels")
    texts = [
        name for name, kind in kinds.items() if types.is_string(kind) or types.is_large_string(kind)
    ]

    def blocks() -> Iterator[tuple[Sequence[Any], int]]:
        numbered = pyarrow.parquet.ParquetFile(
            content,
            metadata=file.metadata,
            read_dictionary=texts,
            buffer_size=_BUFFER_BYTES,
            pre_buffer=False,  # it would keep all that has been read
        )
        done = 0
        for batch in numbered.iter_batches(batch_size=BLOCK_ROWS, columns=chosen):
            done += batch.num_rows
            yield [batch.column(name) for name in chosen], done

    return LongTable((chosen[0], chosen[1]), blocks, file.metadata.num_rows)
