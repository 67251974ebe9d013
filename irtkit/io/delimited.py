"""Delimited text: a wide table (respondents × items) or a long one (a row per response).

Every cell is taken as it is written (`irtkit.io.text` has the rules); only responses are
interpreted. A wide table is read by rows, with the csv module. A long one is read by columns, with
pyarrow, which numbers the labels on the way and is several times faster.
"""

from __future__ import annotations

import os
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.codes import ResponseCodes
from irtkit.columns import (
    find_columns,
    holds_respondents,
    item_columns,
    other_columns,
    refuse_repeats,
    respondent_column,
)
from irtkit.files import open_bytes
from irtkit.io.text import refuse_faults, rows
from irtkit.labels import label_names
from irtkit.long_table import LongTable
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from irtkit.io.source import Source

_BLOCK_BYTES = 2**24
"""Bytes that pyarrow reads at once: no row may be longer, so that prompts may be columns."""


def recognise_wide(source: Source) -> bool:
    """Whether the file is text that may be a table."""
    return b"\0" not in source.head and not source.head.lstrip().startswith((b"[", b"{"))


def recognise_long(source: Source) -> bool:
    """Whether the file is a table and its header is that of a long one."""
    if not recognise_wide(source):
        return False
    return source.is_long(source.layout[1])


def read_wide(source: Source) -> ResponseMatrix:
    """Read a table with a row per respondent and a column per item.

    Respondents are the column that `irtkit.columns.respondent_column` tells by its name, or the
    first one, see `holds_respondents`; if that is itself an item, they are numbered.
    """
    separator, names = source.layout
    refuse_repeats(filter(str.strip, names))
    kept = other_columns(names, source.ignore)
    header = [names[k] for k in kept]
    if not header:
        raise ValueError("ignore= leaves no column of the table")
    at = respondent_column(header, source.columns[0])
    columns = item_columns(header, at or 0, source.keep)
    label, cells_of = kept[at or 0], _picker([kept[k] for k in columns])
    codes, cells, first = ResponseCodes(source.marking), bytearray(), list[str]()
    for number, (_, row) in enumerate(rows(source.path, separator)):
        first.append(row[label])
        cells += codes.encode(number, cells_of(row))
    if not first:
        raise ValueError("the table has a header and no rows")
    values = np.frombuffer(cells, np.int8).reshape(len(first), len(columns))
    named = at is not None or holds_respondents(first, source.marking)
    if not named and 0 in item_columns(header, None, source.keep):
        itself = np.frombuffer(codes.encode(0, first), np.int8)
        values, columns = np.column_stack([itself, values]), [0, *columns]
    if not columns:
        raise ValueError(f"the table has no items: its one column is {header[0]!r}")
    if codes.n_invalid or (source.marking.right and not source.marking.wrong):
        # what it says of columns needs them whole
        return source.matrix_of_wide(_frame(names, rows(source.path, separator)))
    respondents = label_names(first if named else None, len(first), "respondent", unique=False)
    items = label_names([header[k] for k in columns], len(columns), "item")
    return ResponseMatrix.of_wide(values, (respondents, items), repeats=source.repeats)


def _picker(positions: list[int]) -> Callable[[list[str]], Sequence[str]]:
    """What takes the cells at these positions from a row."""
    if len(positions) < 2:
        return lambda row: [row[k] for k in positions]
    return itemgetter(*positions)


def _frame(names: list[str], lines: Iterable[tuple[int, list[str]]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([row for _, row in lines], columns=names)


def read_long(source: Source) -> ResponseMatrix:
    """Read a table with a row per response, its columns named or recognised."""
    separator, header = source.layout
    header = [header[k] for k in other_columns(header, source.ignore)]
    names = [header[position] for position in find_columns(header, *source.columns)]
    with open_bytes(source.path) as handle:
        has_quotes = any(b'"' in block for block in iter(lambda: handle.read(_BLOCK_BYTES), b""))
    if has_quotes:
        refuse_faults(source.path, separator)

    def blocks() -> Iterator[tuple[Sequence[Any], int]]:
        for batch, done in _batches(source.path, separator, names):
            yield [batch.column(name) for name in names], done

    size = source.path.stat().st_size
    return source.matrix_of_long(LongTable((names[0], names[1]), blocks, size))


def _batches(path: Path, separator: str, names: list[str]) -> Iterator[tuple[Any, int]]:
    """Record batches of these columns, each as numbers into a dictionary; how far the file is read.

    That is in bytes, of the file as it lies there.
    """
    import pyarrow.csv

    words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    try:
        with (
            open_bytes(path) as handle,
            pyarrow.csv.open_csv(
                handle,
                pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
                pyarrow.csv.ParseOptions(
                    delimiter=separator,
                    newlines_in_values=True,
                    invalid_row_handler=lambda row: "skip" if row.text.isspace() else "error",
                ),
                pyarrow.csv.ConvertOptions(
                    include_columns=names,
                    column_types=dict.fromkeys(names, words),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            ) as batches,
        ):
            for batch in batches:
                yield batch, os.lseek(handle.fileno(), 0, os.SEEK_CUR)
    except pyarrow.ArrowInvalid:
        refuse_faults(path, separator)
        raise
