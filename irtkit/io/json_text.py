"""JSON of evaluation logs: one record per line, or one document per file.

If a key occurs twice in an object, its last value counts, as in the JSON readers of the harnesses.
``unique=True`` refuses such an object instead. NaN is a missing number.
"""

from __future__ import annotations

import functools
import io
import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from irtkit.checks import short
from irtkit.files import open_bytes
from irtkit.findings import ReadingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Record: TypeAlias = dict[str, Any]
"""Fields of a JSON object."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> Record:
    record: Record = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"{short(key)} occurs twice in one object")
        record[key] = value
    return record


_DECODERS = {True: json.JSONDecoder(object_pairs_hook=_without_repeats), False: json.JSONDecoder()}
"""Decoders by whether keys must be unique."""


def parse(written: bytes, place: str = "the JSON", *, unique: bool = False) -> Any:
    """Parse JSON in UTF-8. An error message begins with the place."""
    try:
        return _DECODERS[unique].decode(written.decode().removeprefix("\ufeff"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{place} is not JSON: {error}") from error
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def json_lines(path: Path, *, unique: bool = False) -> Iterator[tuple[int, Record]]:
    """Yield the number and the object of every line that is not blank."""
    decode = _DECODERS[unique].raw_decode
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
                record = parse(line, f"line {number}", unique=unique)
            if not isinstance(record, dict):
                raise ValueError(f"line {number} is not a JSON object")
            yield number, record


def json_document(path: Path, *, unique: bool = False) -> Any:
    """Return the content of a JSON file."""
    with open_bytes(path) as handle:
        return parse(handle.read(), "the file", unique=unique)


def for_each(word: str, records: Iterable[tuple[Any, Any]], add: Callable[[Any], object]) -> None:
    """Add numbered records. An error names the number, and the field that a record lacks."""
    for number, record in records:
        try:
            add(record)
        except ReadingError:
            raise
        except KeyError as error:
            raise ValueError(f"{word} {number} lacks {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{word} {number}: {error}") from error


def begins(head: str) -> re.Pattern[str]:
    r"""Return a pattern of the folder, name and first characters of a log, divided by a zero.

    The name may be looked behind at: ``(?<=.json\0)``.
    """
    return re.compile(rf"(?s)[^\0]*\0\s*(?:{head})")


def at(value: Any, *keys: str) -> Any:
    """Return the value under nested keys, None if a key or an object on the way is absent."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def fields_of(value: Any) -> Record:
    """Return the fields of a JSON object, and an empty dict for any other value."""
    return value if isinstance(value, dict) else {}


def entries_of(value: Any) -> list[Any]:
    """Return the entries of a JSON array, and an empty list for any other value."""
    return value if isinstance(value, list) else []


def companion(path: Path) -> Any:
    """Return the content of a file next to a log, None if it is absent or unreadable."""
    try:
        return _companion(path, path.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


@functools.lru_cache(maxsize=4)
def _companion(path: Path, changed: int) -> Any:  # noqa: ARG001 - a changed file is read again
    return json_document(path)
