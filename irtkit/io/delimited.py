"""Delimited text: a wide table (respondents × items) or a long one (a row per response).

Every cell is taken as it is written (`irtkit.io.text` has the rules); only responses are
interpreted. A wide table is read by rows, with the csv module. A long one is read by columns, with
pyarrow, which numbers the labels on the way and is several times faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.codes import ResponseCodes
from irtkit.files import open_bytes
from irtkit.io.source import find_columns, holds_respondents, is_long, refuse_repeats
from irtkit.io.text import refuse_faults, rows
from irtkit.labels import label_names
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from pathlib import Path

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
    return source.is_long or is_long(source.layout[1])


def read_wide(source: Source) -> ResponseMatrix:
    """Read a table with a row per respondent and a column per item.

    The first column holds the respondents, see `irtkit.io.source.holds_respondents`; if it is
    itself an item, respondents are numbered.
    """
    separator, header = source.layout
    refuse_repeats(filter(str.strip, header))
    codes = ResponseCodes(source.threshold)
    first: list[str] = []
    cells = bytearray()
    for number, (_, row) in enumerate(rows(source.path, separator)):
        first.append(row[0])
        cells += codes.encode(number, row[1:])
    if not first:
        raise ValueError("the table has a header and no rows")
    named = holds_respondents(header[0], first)
    if named and len(header) == 1:
        raise ValueError(f"the table has no items: its one column is {header[0]!r}")
    respondents = first if named else label_names(None, len(first), "respondent")
    codes.refuse_invalid(respondents, header[1:])
    values = np.frombuffer(cells, np.int8).reshape(len(first), len(header) - 1)
    if not named:
        itself = np.frombuffer(codes.encode(0, first), np.int8)
        values = np.column_stack([itself, values])
    return ResponseMatrix(values, respondents, header[-values.shape[1] :])


def read_long(source: Source) -> ResponseMatrix:
    """Read a table with a row per response, its columns named or recognised."""
    separator, header = source.layout
    names = [header[position] for position in find_columns(header, *source.columns)]
    with open_bytes(source.path) as handle:
        has_quotes = any(b'"' in block for block in iter(lambda: handle.read(_BLOCK_BYTES), b""))
    if has_quotes:
        refuse_faults(source.path, separator)
    return source.matrix_of_long(_columns(source.path, separator, names), names)


def _columns(path: Path, separator: str, names: list[str]) -> Any:
    """Table of pyarrow with these columns, each as numbers into a dictionary."""
    import pyarrow.csv

    words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    try:
        with open_bytes(path) as handle:
            return pyarrow.csv.read_csv(
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
            )
    except pyarrow.ArrowInvalid:
        refuse_faults(path, separator)
        raise
