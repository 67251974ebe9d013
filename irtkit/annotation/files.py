"""Annotations in files, for the impact metric, and durations of samples.

A CSV has the columns ``sample``, ``type``, ``start`` and ``end``, in any order::

    sample,type,start,end
    clip-1,serve,0,2.5
    clip-1,rally,7,12
    clip-2,,,

A row with nothing but the sample, as the last, says that the sample has no annotations. JSON is
a list of such records, or an object from the sample to its list of records::

    [{"sample": "clip-1", "type": "serve", "start": 0, "end": 2.5}]
    {"clip-1": [{"type": "serve", "start": 0, "end": 2.5}], "clip-2": []}

Nothing else may stand there: a column or key by another name is an error. Starts and ends are
numbers in one unit. The content says which of the two a file is; `irtkit.io.text` has the rules of
text.
"""

from __future__ import annotations

import math
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

from irtkit.annotation.annotations import Annotation, annotation_at, check_names, sample_name
from irtkit.files import as_path, head_of
from irtkit.io.json_text import json_document
from irtkit.io.text import naming, read_text_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

_COLUMNS = ("sample", *Annotation._fields)


def read_annotations(path: str | os.PathLike[str]) -> dict[str, list[Annotation]]:
    r"""Read the annotations of many samples from a CSV or JSON file, as this module describes.

    They are by sample, in the order of the file, as `irtkit.annotation.impact_summary` takes them.
    Samples and types are text.

    Raises
    ------
    ValueError
        If the content is not as it should be; the message begins with the name of the file and
        the line or record.
    OSError
        If there is no such file, or it is a folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from irtkit.annotation.files import read_annotations
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "manual.csv")
    ...     _ = path.write_text("sample,type,start,end\nclip-1,serve,0,2.5\nclip-2,,,\n")
    ...     read_annotations(path)
    {'clip-1': [Annotation(type='serve', start=0.0, end=2.5)], 'clip-2': []}
    """
    file = as_path(path)
    found: dict[str, list[Annotation]] = {}
    with naming(file):
        is_json = head_of(file).lstrip().startswith((b"[", b"{"))
        for place, record in _json_records(file) if is_json else _csv_records(file):
            of_sample = found.setdefault(sample_name(record.pop("sample"), place), [])
            if record:
                of_sample.append(annotation_at(place, **record))
    return found


def read_durations(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read a CSV with the columns ``sample`` and ``duration``.

    Raises
    ------
    ValueError
        If the columns are others, a sample occurs twice or a duration is no number.
    OSError
        If there is no such file, or it is a folder.
    """
    durations: dict[str, float] = {}
    file = as_path(path)
    with naming(file):
        for place, row in _csv_rows(file, ("sample", "duration")):
            sample = sample_name(row["sample"], place)
            if sample in durations:
                raise ValueError(f"{place}: the sample {short(sample)} occurs twice")
            durations[sample] = _number(row["duration"], f"{place}: duration")
    return durations


def _csv_records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and cells of every row; nothing but the sample where the others are empty."""
    for place, row in _csv_rows(file, _COLUMNS):
        if any(row[name].strip() for name in Annotation._fields):
            times = {name: _number(row[name], f"{place}: {name}") for name in ("start", "end")}
            yield place, row | times
        else:
            yield place, {"sample": row["sample"]}


def _csv_rows(file: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    table = read_text_table(file)
    check_names([*table.columns], columns, "the header")
    for number, row in enumerate(table.to_dict("records"), start=1):
        yield f"row {number}", {str(name): cell for name, cell in row.items()}


def _json_records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and record of every annotation; nothing but the sample for an entry of an object."""
    content = json_document(file, unique=True)
    if isinstance(content, list):
        for number, record in enumerate(content, start=1):
            yield f"record {number}", _json_record(f"record {number}", record, _COLUMNS)
        return
    for sample, given in content.items():
        if not isinstance(given, list):
            raise ValueError(
                f"sample {short(sample)} must have a list of records, got {short(given)}"
            )
        yield f"sample {short(sample)}", {"sample": sample}
        for number, record in enumerate(given, start=1):
            place = f"sample {short(sample)}, record {number}"
            yield place, {"sample": sample} | _json_record(place, record, Annotation._fields)


def _json_record(place: str, record: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise ValueError(f"{place} must be an object with {', '.join(names)}, got {short(record)}")
    check_names(list(record), names, place)
    for name in {"sample", "type"} & record.keys():
        if isinstance(record[name], bool) or not isinstance(record[name], str | int):
            raise ValueError(f"{place}: {name} must be text, got {short(record[name])}")
    return record


def _number(text: str, what: str) -> float:
    try:
        number = math.nan if "_" in text else float(text)  # Python would read 1_0 as 10
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{what} must be a finite number, got {short(text)}")
    return number
