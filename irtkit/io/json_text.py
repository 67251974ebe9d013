"""JSON of evaluation logs: a record per line, or one in a file, of bounded size.

A key that occurs twice in an object counts with its last value, as in every JSON reader that the
harnesses use, unless keys are to be unique; NaN is a number that is missing.
"""

from __future__ import annotations

import functools
import json
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from irtkit.checks import short
from irtkit.files import open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_LINE_BYTES = 2**26
"""A line is one sample with its prompt and answers; the longest context windows fill some 10 MB."""
MOST_BYTES = 2**28
"""Of one document: a task of 100,000 samples with texts of 2,500 characters, all in one file."""
_BLOCK_BYTES = 2**20
_BYTE_ORDER_MARK = "\ufeff"


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, refusing a key that occurs twice in it."""
    record = dict(pairs)
    if len(record) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{short(repeated)} occurs twice in one object")
    return record


_DECODERS = {
    False: json.JSONDecoder(),
    True: json.JSONDecoder(object_pairs_hook=_without_repeats),
}
"""By whether keys are to be unique."""


def parse(written: bytes, place: str = "the JSON", *, unique: bool = False) -> Any:
    """Parse JSON in UTF-8, perhaps with unique keys; a message begins with the place."""
    try:
        return _DECODERS[unique].decode(written.decode().removeprefix(_BYTE_ORDER_MARK))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column" if error.lineno > 1 else "column"
        message = f"{place} is not JSON: {error.msg} at {where} {error.colno}"
        raise ValueError(message) from error
    except UnicodeDecodeError as error:
        byte = written[error.start]
        raise ValueError(f"{place} is not UTF-8 text (byte 0x{byte:02x})") from error
    except RecursionError as error:
        raise ValueError(f"{place} is nested too deeply") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ValueError(f"{place}: {error}") from error


def json_lines(path: Path, *, unique: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of every line that is not blank."""
    decoder = _DECODERS[unique]
    for number, line in _lines(path):
        try:
            text = line.decode()
            record, end = decoder.raw_decode(text)
            whole = not text[end:].strip()
        except (ValueError, RecursionError):
            whole = False
        if not whole:  # blank, with a byte order mark or blanks before it, or no JSON
            if not line.strip():
                continue
            record = parse(line, f"line {number}", unique=unique)
        if not isinstance(record, dict):
            raise ValueError(f"line {number} is no JSON object")
        yield number, record


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of every line; what is not UTF-8 is named as `irtkit.io.text.naming` does."""
    for number, line in _lines(path):
        yield number, line.decode().removeprefix(_BYTE_ORDER_MARK)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of every line, without its end."""
    number, rest = 0, b""
    with open_bytes(path) as handle:
        while block := handle.read(_BLOCK_BYTES):  # twice as fast as a line at a time
            block = rest + block
            if block.isspace():  # as fast as it is read, however many lines of nothing there are
                number, rest = number + block.count(b"\n"), b""
                continue
            *lines, rest = block.split(b"\n")
            if len(rest) > MOST_LINE_BYTES:
                lines.append(rest)
            for line in lines:
                number += 1
                if len(line) > MOST_LINE_BYTES:
                    raise ValueError(f"line {number} is longer than {MOST_LINE_BYTES >> 20} MiB")
                yield number, line
    if rest:
        yield number + 1, rest


def json_document(path: Path, *, unique: bool = False) -> Any:
    """What a file of JSON holds."""
    with open_bytes(path) as handle:
        return parse(limited(handle, MOST_BYTES, "the file"), "the file", unique=unique)


def limited(handle: Any, most: int, what: str) -> bytes:
    """Read all there is, in small pieces, and refuse more than the most: it may be compressed."""
    pieces, size = [], 0
    while piece := handle.read(2**12):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise ValueError(f"{what} holds more than {most >> 20} MiB")
    return b"".join(pieces)


def fields_of(value: Any) -> dict[str, Any]:
    """Fields of a JSON object; none of anything else."""
    return value if isinstance(value, dict) else {}


def entries_of(value: Any) -> list[Any]:
    """Entries of a JSON array; none of anything else."""
    return value if isinstance(value, list) else []


def companion(path: Path) -> dict[str, Any]:
    """What a file beside a log says of it: an empty record if there is none that can be read."""
    return fields_of(json_companion(path))


def json_companion(path: Path) -> Any:
    """What a file beside a log holds: None if there is none that can be read."""
    try:
        return _companion(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, EOFError, zlib.error):
        return None


@functools.lru_cache(maxsize=4)
def _companion(path: Path, changed: int) -> Any:  # noqa: ARG001 - a file that changed is another
    return json_document(path)
