"""Tables in Parquet files.

Only the columns that are needed are read, block by block. Text stays numbers into a dictionary on
the way from the file to the matrix.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
from typing import TYPE_CHECKING, Any

from irtkit.checks import short
from irtkit.files import open_bytes
from irtkit.responses.tables import BLOCK_ROWS, Table, frame_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"PAR1"
_BUFFER_BYTES = 2**20  # Bytes of a column that are read at once: a row group may be a whole file.


@contextlib.contextmanager
def opened(path: Path, **how: Any) -> Iterator[Any]:
    """Parquet file of PyArrow; what PyArrow cannot read is a ValueError."""
    import pyarrow.parquet

    try:
        with open_bytes(path) as handle:
            compressed = isinstance(handle, gzip.GzipFile)
            content = pyarrow.BufferReader(handle.read()) if compressed else handle
            yield pyarrow.parquet.ParquetFile(content, **how)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the Parquet data cannot be read: {error}") from error


def schema_of(path: Path) -> Any:
    """Arrow schema of a Parquet file and its number of rows."""
    return _schema(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=1000)
def _schema(path: Path, changed: int) -> Any:  # noqa: ARG001 - a file that changed is another
    with opened(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def parquet_table(path: Path) -> Table:
    """Table in a Parquet file; a pandas index stored with it is the first column."""
    from pyarrow import types

    schema, n_rows = schema_of(path)
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [schema.names.index(name) for name in stored if isinstance(name, str)]
    counts = [k for k in index if _counts_rows(schema.field(k))]
    order = [*index, *(k for k in range(len(schema.names)) if k not in index)]
    order = [k for k in order if k not in counts]
    names = [schema.names[k] for k in order]
    header = ["" if name.startswith("__index_level_") else name for name in names]

    def of_columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        chosen = [names[k] for k in positions]
        kinds = {name: schema.field(name).type for name in chosen}
        nested = [name for name in chosen if types.is_nested(kinds[name])]
        if nested and len(nested) < len(chosen):
            raise ValueError(f"column {short(nested[0])} holds {kinds[nested[0]]}, not labels")
        text = [name for name, kind in kinds.items() if types.is_string(kind)]
        how = {"read_dictionary": text, "buffer_size": _BUFFER_BYTES, "pre_buffer": False}
        done = 0
        with opened(path, **how) as file:
            for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=chosen):
                batch.validate(full=True)
                done += batch.num_rows
                yield [batch.column(name) for name in chosen], done

    def of_rows() -> Iterator[Any]:
        with opened(path) as file:
            whole = file.read()
            whole.validate(full=True)
        frame = whole.select(names).replace_schema_metadata().to_pandas()
        yield from frame_table(frame).rows()

    return Table(header, of_columns, of_rows, n_rows, len(index) > len(counts), path.name)


def _counts_rows(field: Any) -> bool:
    """Whether a stored index has no name and holds numbers, as rows that were chosen have."""
    from pyarrow import types

    return bool(field.name.startswith("__index_level_") and types.is_integer(field.type))
