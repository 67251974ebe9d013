"""Text files by one set of rules: what a cell is, which rows there are, and where a fault lies.

Cells are separated by commas, tabs or semicolons, as the header says. They are taken as they are
written, so that labels such as ``007``, ``1e5`` or ``NA`` survive, but for the apostrophe before
what a spreadsheet would run (`guarded`). Quotes must be closed, every row must be as long as the
header, and blank lines do not count. Text is UTF-8, plain or gzip.

`rows` come from the csv module, with the line of each. On wide tables it is faster than pyarrow and
takes a tenth of its memory, whose cost is per column. `batches` come from pyarrow, which is several
times faster where rows are many and columns few, and numbers the labels on the way.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import itertools
import lzma
import re
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short
from irtkit.files import open_bytes, open_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SEPARATORS = (",", "\t", ";")
_BLOCK_BYTES = 2**24
"""Bytes that pyarrow reads at once: no row may be longer, so that prompts may be columns."""
_RUN = re.compile(r"'*(?![-+][0-9.]+([eE][-+]?[0-9]+)?\Z)[=+\-@\t\r]")
"""What a spreadsheet takes for a formula, numbers left out; apostrophes before it were there."""


@contextlib.contextmanager
def naming(file: Path, option: str = "") -> Iterator[None]:
    """Begin every message about the content with the option, if there is one, and the file."""
    name = f"{option} {file.name or file}".lstrip()
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: {_not_utf8(file)}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name}: the gzip data are damaged: {error}") from error
    except (zipfile.BadZipFile, lzma.LZMAError) as error:
        raise ValueError(f"{name}: the compressed data are damaged: {error}") from error
    except (ValueError, csv.Error) as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise ValueError(f"{name}: {error}") from error


def guarded(cell: str) -> str:
    """Write a cell so that no spreadsheet runs it: with an apostrophe first; NUL is refused.

    >>> guarded("=1+1"), guarded("'=1+1"), guarded("-1"), guarded("it's")
    ("'=1+1", "''=1+1", '-1', "it's")
    """
    if "\0" in cell:
        raise ValueError(f"{short(cell)} holds a NUL, which no table in text may")
    return f"'{cell}" if _RUN.match(cell) else cell


def unguarded(cell: str) -> str:
    """Undo `guarded`."""
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell


def layout(path: Path) -> tuple[str, list[str]]:
    """Separator and header: the most columns, in agreement with the first row if possible.

    What is no text at all is refused here.
    """
    _looked_through(path)
    headers: dict[str, list[str]] = {}
    agreeing = set()
    for separator in SEPARATORS:
        with contextlib.suppress(csv.Error), open_text(path) as text:
            filled = filter(None, csv.reader(text, delimiter=separator, strict=True))
            header = headers[separator] = next(filled, [])
            if len(next(filled, header)) == len(header) > 1:
                agreeing.add(separator)
    best = max(headers, key=lambda name: (name in agreeing, len(headers[name])), default=",")
    if not headers.get(best):
        refuse_faults(path, ",")  # the error of the plainest reading
        raise ValueError("the file is empty")
    return best, headers[best]


def _looked_through(path: Path) -> tuple[bool, bool]:
    """Whether there are quotes, and lines that begin with blanks.

    NUL bytes and lines without end are refused.
    """
    line, quoted, blank, last = 1, False, False, b""
    with open_bytes(path) as handle:
        while block := handle.read(_BLOCK_BYTES):
            if b"\0" in block:
                line += block.count(b"\n", 0, block.index(b"\0"))
                raise ValueError(f"line {line} holds a NUL byte, which no text has")
            if len(block) == _BLOCK_BYTES and not (b"\n" in block or b"\r" in block):
                raise ValueError(f"line {line} is longer than {_BLOCK_BYTES >> 20} MiB")
            line += block.count(b"\n")
            quoted = quoted or b'"' in block
            blank = blank or any(
                edge in block or last + block[:1] == edge
                for edge in (b"\n ", b"\n\t", b"\r ", b"\r\t")
            )
            last = block[-1:]
    return quoted, blank


def rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row below the header."""
    width = 0
    with open_text(path) as text:
        reader = csv.reader(text, delimiter=separator, strict=True)
        try:
            for row in reader:
                if not row or (width > 1 and len(row) == 1 and row[0].isspace()):
                    continue
                if not width:
                    width = len(row)
                elif len(row) == width:
                    yield reader.line_num, row
                else:
                    raise ValueError(
                        f"line {reader.line_num} has {len(row)} cells where the header has {width}"
                    )
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num}: {error}") from error


def records(path: Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Header, and line number and cells of every row, for tables of a few columns of text."""
    separator, header = layout(path)
    header = [*map(unguarded, header)]
    return header, ((line, [*map(unguarded, row)]) for line, row in rows(path, separator))


def refuse_faults(path: Path, separator: str) -> None:
    """Raise the error for the first row that is not as it should be.

    For readers that are fast and forgiving: pyarrow takes a quote that is not closed for a cell
    that goes on, to the end of the file if need be.
    """
    for _ in rows(path, separator):
        pass


def is_sound(blocks: Iterable[bytes], separator: str) -> bool:
    """Whether every other quote begins a cell and those between end one.

    Two quotes in a row, the one ending and the other beginning, stand for one in a cell. Text of
    which this is not true may be as it should all the same; the csv module knows.
    """
    edge = np.zeros(256, np.bool_)
    edge[[*b'\n\r"', ord(separator)]] = True
    inside, known = 0, b"\n"  # the last byte looked at, and one whose neighbour was not known
    for block in itertools.chain(blocks, [b"\n"]):
        text = np.frombuffer(known + block, np.uint8)
        quotes = np.flatnonzero(text[1:-1] == ord('"')) + 1
        begin, end = quotes[inside::2], quotes[1 - inside :: 2]
        if not (edge[text[begin - 1]].all() and edge[text[end + 1]].all()):
            return False
        inside = (inside + len(quotes)) % 2
        known = text[-2:].tobytes()
    return not inside


def batches(
    path: Path,
    separator: str,
    names: list[str],
    *,
    reached: list[int] | None = None,
    **conversion: Any,
) -> Iterator[Any]:
    """Record batches of pyarrow with these columns as text, numbered by a dictionary of each batch.

    An empty cell is null; the first batch is empty, so that there is one. A few blocks of the file
    at most are in memory. The names are those of `layout`, each of them there once. How many bytes
    of the file have been read with a batch is the one entry of `reached`.

    Threads of pyarrow that hold a file or function of Python, and outlive it, abort the process:
    the file is pyarrow's own, and what skips lines of blanks is there where such lines may be.
    """
    import pyarrow.csv

    quoted, blank = _looked_through(path)
    if quoted:
        with open_bytes(path) as handle:
            sound = is_sound(iter(lambda: handle.read(_BLOCK_BYTES), b""), separator)
        if not sound:
            refuse_faults(path, separator)
    words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    yield pyarrow.record_batch([pyarrow.array([], words)] * len(names), names)
    skipping: dict[str, Any] = {}
    if blank:
        skipping["invalid_row_handler"] = lambda row: "skip" if row.text.isspace() else "error"
    with open_bytes(path) as handle:
        packed = isinstance(handle, gzip.GzipFile)
    try:
        with _opened_by_pyarrow(path) as file:
            reader = pyarrow.csv.open_csv(
                pyarrow.CompressedInputStream(file, "gzip") if packed else file,
                pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
                pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True, **skipping),
                pyarrow.csv.ConvertOptions(
                    include_columns=names,
                    column_types=dict.fromkeys(names, words),
                    strings_can_be_null=True,
                    **{"null_values": [""], **conversion},
                ),
            )
            with reader:
                for batch in reader:
                    if reached is not None:  # the file as it lies there, which may be compressed
                        reached[:] = [file.tell()]
                    yield _unguarded(batch)
    except pyarrow.ArrowInvalid:
        refuse_faults(path, separator)
        raise
    except OSError as error:
        if packed:  # zeros after the compressed data, which Python lets pass
            raise ValueError(f"the gzip data are damaged: {error}") from error
        raise


def _opened_by_pyarrow(path: Path) -> Any:
    import pyarrow as pa

    try:
        return pa.OSFile(str(path.absolute()))
    except UnicodeEncodeError:  # a name that is no text
        return path.open("rb")


def _unguarded(batch: Any) -> Any:
    """Batch whose words are as they were before they were guarded."""
    import pyarrow as pa
    from pyarrow.compute import any as any_of
    from pyarrow.compute import starts_with

    for k, name in enumerate(batch.schema.names):
        words, numbers = batch.column(k).dictionary, batch.column(k).indices
        if any_of(starts_with(words, "'")).as_py():
            plain = pa.array([*map(unguarded, words.to_pylist())], pa.string())
            batch = batch.set_column(k, name, plain.take(numbers).dictionary_encode())
    return batch


def _not_utf8(file: Path) -> str:
    with contextlib.suppress(EOFError, OSError, zlib.error), open_bytes(file) as handle:
        for line, written in enumerate(handle, start=1):
            try:
                written.decode()
            except UnicodeDecodeError as error:
                return f"line {line} is not UTF-8 text (byte 0x{written[error.start]:02x})"
    return "the text is not UTF-8"
