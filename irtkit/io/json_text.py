"""JSON of evaluation logs: one record per line, or one document per file.

If a key occurs twice in an object, its last value counts, as in the JSON readers of the harnesses.
NaN is a missing number.
"""

from __future__ import annotations

import functools
import io
import json
import re
import zlib
from typing import TYPE_CHECKING, Any, cast

from irtkit.files import open_bytes
from irtkit.findings import ReadingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


_DECODER = json.JSONDecoder()


def parse(written: bytes, place: str = "the JSON") -> Any:
    """Parse JSON in UTF-8. An error message begins with the place."""
    try:
        return _DECODER.decode(written.decode().removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not JSON: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of every line that is not blank."""
    decode = _DECODER.raw_decode
    with open_bytes(path) as handle:
        buffered = io.BufferedReader(cast("io.RawIOBase", handle), 2**20)
        for number, line in enumerate(buffered, start=1):
            try:  # `parse` costs a microsecond more
                text = line.decode()
                record, end = decode(text)
                whole = end + 1 == len(text) or not text[end:].strip()
            except (ValueError, RecursionError):
                whole = False
            if not whole:
                if line.isspace():
                    continue
                record = parse(line, f"line {number}")
            if not isinstance(record, dict):
                raise ValueError(f"line {number} is not a JSON object")
            yield number, record


def json_document(path: Path) -> Any:
    """Return the content of a JSON file."""
    with open_bytes(path) as handle:
        return parse(handle.read(), "the file")


def for_each(word: str, records: Iterable[tuple[Any, Any]], add: Callable[[Any], object]) -> None:
    """Add numbered records. An error names the number, and the field that a record lacks."""
    for number, record in records:
        try:
            add(record)
        except ReadingError:
            raise
        except KeyError as error:
            raise ValueError(f"{word} {number} has no {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{word} {number}: {error}") from error


def begins(pattern: bytes, flags: int = 0) -> Callable[[Path, bytes], bool]:
    """Return what recognises logs that begin with a pattern."""
    return lambda _, head: re.match(pattern, head, flags) is not None


def at(value: Any, *keys: str) -> Any:
    """Return the value under nested keys, None if a key or an object on the way is absent."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a JSON object, and an empty dict for any other value."""
    return value if isinstance(value, dict) else {}


def entries_of(value: Any) -> list[Any]:
    """Return the entries of a JSON array, and an empty list for any other value."""
    return value if isinstance(value, list) else []


def companion(path: Path) -> Any:
    """Return the content of a file next to a log, None if it is absent or unreadable."""
    try:
        return _companion(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, EOFError, zlib.error):
        return None


@functools.lru_cache(maxsize=4)
def _companion(path: Path, changed: int) -> Any:  # noqa: ARG001 - a changed file is read again
    return json_document(path)
