"""Parquet: the same wide and long tables as in text, with typed columns.

Of a long table only three columns are read, block by block, and text stays numbers into a
dictionary on the way from the file to the matrix. A pandas index stored with a wide table holds the
respondents.
"""

from __future__ import annotations

import contextlib
import gzip
from typing import TYPE_CHECKING, Any

from irtkit.checks import short
from irtkit.files import open_bytes
from irtkit.responses.long_table import BLOCK_ROWS, LongTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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
    table = long_table(source)
    if table is not None:
        return source.matrix_of_long(table)
    with opened(source.path) as file:
        whole = file.read()
        whole.validate(full=True)
        return source.matrix_of_wide(whole)


def long_table(source: Source) -> LongTable | None:
    """Three columns of a long table, its text as numbers into dictionaries; None of a wide one."""
    from pyarrow import types

    with opened(source.path) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        header = schema.names
    if not source.is_long(header):
        return None
    chosen = source.long_columns(header)
    kinds = {name: schema.field(name).type for name in chosen}
    for label in chosen[:2]:
        if types.is_nested(kinds[label]):
            raise ValueError(f"column {short(label)} holds {kinds[label]}, not labels")
    texts = [name for name, kind in kinds.items() if _is_text(kind)]

    def blocks() -> Iterator[tuple[Sequence[Any], int]]:
        done = 0
        # what is read ahead would be kept
        how = {"read_dictionary": texts, "buffer_size": _BUFFER_BYTES, "pre_buffer": False}
        with opened(source.path, **how) as file:
            for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=chosen):
                batch.validate(full=True)  # damaged places in a dictionary, text that is not UTF-8
                done += batch.num_rows
                yield [batch.column(name) for name in chosen], done

    is_text = all(
        _is_text(kind.value_type if types.is_dictionary(kind) else kind)
        for kind in (kinds[label] for label in chosen[:2])
    )
    name = f"{source.path.name}: "
    return LongTable((chosen[0], chosen[1]), blocks, n_rows, is_text=is_text, name=name)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


@contextlib.contextmanager
def opened(path: Path, **how: Any) -> Iterator[Any]:
    """Parquet file of pyarrow; what it cannot make out is a ValueError."""
    import pyarrow.parquet

    try:
        with open_bytes(path) as handle:
            compressed = isinstance(handle, gzip.GzipFile)
            content = pyarrow.BufferReader(handle.read()) if compressed else handle
            yield pyarrow.parquet.ParquetFile(content, **how)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the Parquet data cannot be read: {error}") from error
