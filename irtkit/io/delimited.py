"""Delimited text: a wide table (respondents × items) or a long one (a row per response).

Cells are separated by commas, tabs or semicolons, as the header says. Every cell is taken as it
is written, so that labels such as ``007``, ``1e5`` or ``NA`` survive; only responses are
interpreted. The rows come from the csv module: on wide tables it is as fast as pandas' parser,
and it knows the line and the number of cells of each row.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, TextIO

import numpy as np

from irtkit.files import open_text
from irtkit.io.collecting import LongTable, ResponseCodes
from irtkit.io.columns import find_columns, holds_respondents, is_long
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from irtkit.io.source import Source

SEPARATORS = (",", "\t", ";")
_BLOCK_CHARACTERS = 2**18
_BLOCK_ROWS = 2000  # more are slower: the garbage collector visits them


def recognise_wide(source: Source) -> bool:
    """Whether the file is text that may be a table."""
    return b"\0" not in source.head and not source.head.lstrip().startswith((b"[", b"{"))


def recognise_long(source: Source) -> bool:
    """Whether the file is a table and its header is that of a long one."""
    if not recognise_wide(source):
        return False
    return source.is_long or is_long(_layout(source)[1])


def read_wide(source: Source) -> ResponseMatrix:
    """Read a table with a row per respondent and a column per item.

    The first column holds the respondents, see `irtkit.io.columns.holds_respondents`; if it is
    itself an item, respondents are numbered.
    """
    separator, header = _layout(source)
    _refuse_repeated_names(header)
    codes = ResponseCodes(source.threshold)
    first: list[str] = []
    cells = bytearray()
    with open_text(source.path) as text:
        for number, row in enumerate(itertools.islice(_rows(text, separator), 1, None)):
            first.append(row[0])
            cells += codes.encode(number, row[1:])
    if not first:
        raise ValueError("the table has a header and no rows")
    respondents: Sequence[str] | None = first
    values = np.frombuffer(cells, np.int8).reshape(len(first), len(header) - 1)
    if holds_respondents(header[0], first):
        if len(header) == 1:
            raise ValueError(f"the table has no items: its one column is {header[0]!r}")
        codes.refuse_invalid(first, header[1:])
    else:
        codes.refuse_invalid([f"respondent-{k + 1}" for k in range(len(first))], header[1:])
        itself = np.frombuffer(codes.encode(0, first), np.int8)
        values = np.column_stack([itself, values])
        respondents = None
    return ResponseMatrix(values, respondents, header[-values.shape[1] :])


def read_long(source: Source) -> ResponseMatrix:
    """Read a table with a row per response, its columns named or recognised."""
    separator, header = _layout(source)
    positions = find_columns(header, source.respondent, source.item, source.response)
    table = LongTable(*(header[position] for position in positions))
    with open_text(source.path) as text:
        for columns in _column_blocks(text, separator):
            table.add(*(columns[position] for position in positions))
    return table.matrix(source.threshold, source.repeats, sparse=source.sparse)


def _layout(source: Source) -> tuple[str, list[str]]:
    """Separator and header: the most columns, in agreement with the first row if possible."""
    layouts = []
    for separator in SEPARATORS:
        with open_text(source.path) as text:
            try:
                reader = csv.reader(text, delimiter=separator, strict=True)
                rows = list(itertools.islice(filter(None, reader), 2))
            except csv.Error:
                continue
        if rows:
            columns = len(rows[0])
            agrees = columns > 1 and len(rows[-1]) == columns
            layouts.append((agrees, columns, separator, rows[0]))
    if not layouts:
        with open_text(source.path) as text:  # the error of the plainest reading
            for _ in _rows(text, ","):
                pass
        raise ValueError("the file is empty")
    return max(layouts, key=itemgetter(0, 1))[2:]


def _refuse_repeated_names(header: list[str]) -> None:
    names = [name for name in header if name.strip()]
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise ValueError(f"column names must be unique: {name!r} occurs {times} times")


def _rows(
    lines: Iterable[str], separator: str, width: int = 0, lines_before: int = 0
) -> Iterator[list[str]]:
    """Rows, the header first, all as long as it or as `width` says; blank lines are left out."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for row in reader:
            if len(row) != width:
                if not row or (width > 1 and len(row) == 1 and row[0].isspace()):
                    continue
                if width:
                    line = lines_before + reader.line_num
                    raise ValueError(
                        f"line {line} has {len(row)} cells where the header has {width}"
                    )
                width = len(row)
            yield row
    except csv.Error as error:
        raise ValueError(f"line {lines_before + reader.line_num}: {error}") from error


def _column_blocks(text: TextIO, separator: str) -> Iterator[Sequence[Sequence[str]]]:
    """Columns of the table below its header, some rows at a time.

    Blocks are split at once as long as they have no quotes, which is twice as fast; the rest, and
    whatever is not as it should be, goes through the csv module.
    """
    reader = csv.reader(text, delimiter=separator, strict=True)
    width = len(next(filter(None, reader)))
    line = reader.line_num
    while block := text.read(_BLOCK_CHARACTERS) + text.readline():
        columns = _split(block, separator, width)
        if columns is None:
            break
        yield columns
        line += len(columns[0])
    rows = _rows(itertools.chain(io.StringIO(block, newline=""), text), separator, width, line)
    while some := list(itertools.islice(rows, _BLOCK_ROWS)):
        yield list(zip(*some, strict=True))


def _split(block: str, separator: str, width: int) -> list[list[str]] | None:
    """Columns of a block of whole lines, or None where it is not plain rows of equal length."""
    lines = block.replace("\r\n", "\n")
    lines = lines if lines.endswith("\n") else lines + "\n"
    if '"' in lines or "\r" in lines:
        return None
    letters = np.frombuffer(lines.encode(), np.uint8)
    ends_line = letters[(letters == ord(separator)) | (letters == ord("\n"))] == ord("\n")
    if ends_line.size % width:
        return None
    if not ends_line[width - 1 :: width].all() or ends_line.sum() * width != ends_line.size:
        return None
    cells = lines.replace("\n", separator).split(separator)
    return [cells[column:-1:width] for column in range(width)]
