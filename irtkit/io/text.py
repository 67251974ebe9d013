"""Text files by one set of rules: what a cell is, which rows there are, and where a fault lies.

Cells are separated by commas, tabs or semicolons, as the header says. They are taken as they are
written, so that labels such as ``007``, ``1e5`` or ``NA`` survive; quotes must be closed, every
row must be as long as the header, and blank lines do not count. Text is UTF-8, plain or gzip. The
rows come from the csv module: on wide tables it is as fast as pandas' parser, and it knows the
line of each row.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from irtkit.files import open_bytes, open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEPARATORS = (",", "\t", ";")


@contextlib.contextmanager
def naming(file: Path, option: str = "") -> Iterator[None]:
    """Begin every message about the content with the option, if there is one, and the file."""
    name = f"{option} {file.name}".lstrip()
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: {_not_utf8(file)}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name}: the gzip data are damaged: {error}") from error
    except (ValueError, csv.Error) as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise ValueError(f"{name}: {error}") from error


def layout(path: Path) -> tuple[str, list[str]]:
    """Separator and header: the most columns, in agreement with the first row if possible."""
    headers: dict[str, list[str]] = {}
    agreeing = set()
    for separator in SEPARATORS:
        with open_text(path) as text, contextlib.suppress(csv.Error):
            filled = filter(None, csv.reader(text, delimiter=separator, strict=True))
            header = headers[separator] = next(filled, [])
            if len(next(filled, header)) == len(header) > 1:
                agreeing.add(separator)
    best = max(headers, key=lambda name: (name in agreeing, len(headers[name])), default=",")
    if not headers.get(best):
        refuse_faults(path, ",")  # the error of the plainest reading
        raise ValueError("the file is empty")
    return best, headers[best]


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


def refuse_faults(path: Path, separator: str) -> None:
    """Raise the error for the first row that is not as it should be.

    For readers that are fast and forgiving: pyarrow takes a quote that is not closed for a cell
    that goes on, to the end of the file if need be.
    """
    for _ in rows(path, separator):
        pass


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, refusing a key that occurs twice in it."""
    record = dict(pairs)
    if len(record) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{repeated!r} occurs twice in one object")
    return record


def _not_utf8(file: Path) -> str:
    with open_bytes(file) as handle:
        for line, written in enumerate(handle, start=1):
            try:
                written.decode()
            except UnicodeDecodeError as error:
                return f"line {line} is not UTF-8 text (byte 0x{written[error.start]:02x})"
    return "the text is not UTF-8"
