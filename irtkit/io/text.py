"""Text tables: cells separated by commas, tabs or semicolons, taken as they are written.

Quotes must be closed and every row must be as long as the header. Blank lines are skipped. Text is
UTF-8 or UTF-16, plain or packed. The csv module reads wide tables and rows with quotes in odd
places. PyArrow reads the columns of long tables, block by block, which is several times faster.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.files import DAMAGES, head_of, open_bytes
from irtkit.findings import Finding, ReadingError, failed
from irtkit.responses.columns import usual_columns
from irtkit.responses.tables import Table, joined_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pandas as pd

SEPARATORS = (",", "\t", ";")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 2**24  # Bytes of a long table that are read at once.
_PARSED_BYTES = 2**20  # And that PyArrow parses at once: they stay in the processor's cache.
_BLOCK_CELLS = 2**20  # Cells of a block of rows: some 100 MB of text at most.
_RUN = re.compile(r"'*(?![-+][0-9.]+([eE][-+]?[0-9]+)?\Z)[=+\-@\t\r]")
"""Text that a spreadsheet reads as a formula, except numbers. Apostrophes may stand before it."""
csv.field_size_limit(2**27)  # Characters of a cell, so that prompts may be columns.


@contextlib.contextmanager
def naming(file: Path, option: str = "") -> Iterator[None]:
    """Begin every message about the content with the option, if there is one, and the file."""
    place = f"{option} {file.name or file}".lstrip()
    try:
        yield
    except ReadingError as error:
        if option or not error.place:
            error.place = place
        error.file = error.file or file
        raise
    except (ValueError, TypeError, *DAMAGES) as error:
        code = "damaged"
        if isinstance(error, DAMAGES):
            message = f"the compressed data are damaged: {error}"
        elif isinstance(error, UnicodeDecodeError):
            byte = error.object[error.start]
            message = f"the text is not UTF-8 (byte 0x{byte:02x}): save it as UTF-8"
        else:
            code = "file"
            message = str(error)
        raise ReadingError(Finding(code, "error", {"message": message}), place, file) from error


def guarded(cell: str) -> str:
    """Write a cell so that no spreadsheet runs it: with an apostrophe first.

    >>> guarded("=1+1"), guarded("'=1+1"), guarded("-1"), guarded("it's")
    ("'=1+1", "''=1+1", '-1', "it's")
    """
    return f"'{cell}" if _RUN.match(cell) else cell


def unguarded(cell: str) -> str:
    """Undo `guarded`."""
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell


def layout(head: bytes) -> tuple[str, list[str], int]:
    """Separator and header of a table from its first lines, and the number of rows of the header.

    The separator is the one that gives header and first row the same, largest number of cells.
    """
    text = head.decode(errors="replace")
    best: tuple[bool, int, str, list[list[str]]] = (False, 0, ",", [])
    for separator in SEPARATORS:
        with contextlib.suppress(csv.Error):
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            filled = (row for row in reader if any(map(str.strip, row)))
            rows = [*islice(filled, 3)]
            widths = [len(row) for row in rows[:2]] or [0]
            width = widths[0]
            agrees = width > 1 and width == widths[-1]
            if (agrees, width) > best[:2]:
                best = agrees, width, separator, rows
    _, _, separator, rows = best
    if not rows:
        raise ValueError("the file is empty")
    first, second, third = [*rows, [], []][:3]
    names = first[1:]
    pairs = [*zip(names, second[1:], strict=False)]
    if len({*names}) < len(names) == len({*pairs}):  # columns in two levels, as pandas writes them
        if any(third[:1]) and not any(third[1:]):  # the name of the index
            return separator, [unguarded(third[0]), *joined_names(pairs)], 3
        if first[0] == second[0] == "" or usual_columns(second[:1], "item"):
            return separator, ["", *joined_names(pairs)], 2
    return separator, [*map(unguarded, first)], 1


def rows_of(
    lines: Iterable[str], separator: str, width: int = 0, line: int = 0
) -> Iterator[list[str]]:
    """Rows of text after some lines. The first row gives the width unless it is known."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for row in reader:
            width = width or len(row)
            if len(row) == width:
                yield row
            elif len(row) > 1 or any(map(str.strip, row)):
                number = line + reader.line_num
                message = f"line {number} has {len(row)} cells, and the header has {width}"
                message += " (the first line must be the header)" * (width == 1)
                raise failed("damaged", message=message)
    except csv.Error as error:
        raise failed("damaged", message=f"line {line + reader.line_num}: {error}") from error


def text_table(path: Path, head: bytes) -> Table:
    """Table in a text file that begins with these bytes."""
    separator, header, n_header = layout(head)
    width = len(header)

    def of_rows() -> Iterator[pd.DataFrame]:
        import pandas as pd

        with naming(path), open_bytes(path) as handle:
            text = io.TextIOWrapper(handle, encoding="utf-8-sig", newline="")
            rows = islice(rows_of(text, separator, width), n_header, None)
            while block := [*islice(rows, max(1, _BLOCK_CELLS // width))]:
                yield pd.DataFrame(np.array(block, object))

    def of_columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        with naming(path), open_bytes(path) as handle:
            packed = getattr(getattr(handle, "raw", None), "packed", handle)  # its position counts
            for block in _column_blocks(handle, separator, width, n_header, positions):
                yield [*map(_unguarded, block)], packed.tell()

    size = path.stat().st_size
    return Table(header, of_columns, of_rows, size, place=path.name, clean=unguarded)


def _column_blocks(
    handle: Any, separator: str, width: int, n_header: int, positions: list[int]
) -> Iterator[list[Any]]:
    """Columns of a long table, by the csv module from a block on that PyArrow may misread."""
    import pyarrow as pa
    import pyarrow.csv as pc

    names = [str(k) for k in range(width)]
    chosen = [names[k] for k in positions]
    words = dict.fromkeys(chosen, pa.string())
    convert = pc.ConvertOptions(
        include_columns=chosen, column_types=words, strings_can_be_null=True, null_values=[""]
    )
    parse = pc.ParseOptions(delimiter=separator, newlines_in_values=True)
    rest = b""
    n_lines = 0
    first = n_header
    ended = False
    while not ended:
        chunk = handle.read(_BLOCK_BYTES)
        ended = not chunk
        block = (rest + chunk).removeprefix(_BYTE_ORDER_MARK if first else b"")
        cut = len(block) if ended else block.rfind(b"\n") + 1
        block, rest = block[:cut], block[cut:]
        if not block.strip():
            continue
        how = {"skip_rows_after_names": first, "block_size": _PARSED_BYTES}
        read = pc.ReadOptions(column_names=names, **how)
        try:
            sound = b'"' not in block or _is_sound(block, separator)
            columns = pc.read_csv(pa.BufferReader(block), read, parse, convert) if sound else None
        except pa.ArrowInvalid:
            columns = None
        if columns is None:  # the csv module reads the rest, or names the fault
            handle.seek(handle.tell() - len(block) - len(rest))
            break
        yield [column.dictionary_encode().combine_chunks() for column in columns.columns]
        n_lines = n_lines + block.count(b"\n")
        first = 0
    else:
        return
    with io.TextIOWrapper(handle, encoding="utf-8", newline="") as text:
        further = rows_of(text, separator, width, n_lines)
        further = islice(further, first, None)
        while rows := [*islice(further, 2**16)]:
            texts = [[row[k] or None for row in rows] for k in positions]
            yield [pa.array(column, pa.string()) for column in texts]


def _is_sound(block: bytes, separator: str) -> bool:
    """Whether every other quote begins a cell and the others end one."""
    edge = np.zeros(256, np.bool_)
    edge[[*b'\n\r"', ord(separator)]] = True
    text = np.frombuffer(b"\n" + block + b"\n", np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    begin = quotes[::2]
    end = quotes[1::2]
    if len(begin) > len(end):
        return False
    before = text[begin - 1]
    after = text[end + 1]
    return bool(edge[before].all() and edge[after].all())


def _unguarded(column: Any) -> Any:
    """Column whose words are as they were before they were guarded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    if not pc.any(pc.starts_with(column.dictionary, "'")).as_py():
        return column
    plain = pa.array([*map(unguarded, column.dictionary.to_pylist())], pa.string())
    return pa.DictionaryArray.from_arrays(column.indices, plain).dictionary_decode()


def read_text_table(path: Path) -> pd.DataFrame:
    """Read a table of text, every cell as it is written."""
    import pandas as pd

    table = text_table(path, head_of(path))
    cells = [block.map(unguarded) for block in table.rows()]
    whole = pd.concat(cells, ignore_index=True) if cells else pd.DataFrame([], columns=table.header)
    return whole.set_axis(table.header, axis=1)
