"""Logs of Inspect: ``.eval``, a zip with deflate or zstd, and ``.json``.

Of a zip only ``header.json`` and ``summaries.json`` are read, and where a run crashed the journal
that these are made of at its end. A sample that failed has an error and no score: it is missing.
The epochs of a sample are repeats. Scores are numbers by Inspect's own rule (``value_to_float``):
C is 1, P 0.5, I and N are 0; each key of a score of several values is a metric ``scorer.key``.
Seconds and the tokens of the model that was evaluated are kept beside them.
https://github.com/UKGovernmentBEIS/inspect_ai, src/inspect_ai/log and scorer/_metric.py
"""

from __future__ import annotations

import re
import sys
import zipfile
import zlib
from itertools import chain
from typing import TYPE_CHECKING, Any

from irtkit.files import head_of, ordinary_file
from irtkit.io.json_text import (
    MOST_BYTES,
    entries_of,
    fields_of,
    json_document,
    limited,
    parse,
)
from irtkit.io.samples import Item, Known, Measure, Samples, metadata_of, name_of, score_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "inspect"
_ZIP = b"PK\x03\x04"
_ZSTD = 93  # the number of the method in APPNOTE.TXT, which zipfile knows from Python 3.14 on
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
_JOURNAL = re.compile(r"_journal/summaries/(\d{1,9})\.json")
_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_EFFORT = {
    "tokens": (Measure("output_tokens"), Measure("total_tokens")),
    "seconds": (Measure("total_time"), Measure("working_time")),
}
"""Numbers that are no marks."""
_COMPARED = 1000
"""Characters of input and target that tell one item from another: summaries cut long texts, at
5,120 characters at the least."""


def recognise(path: Path, head: bytes) -> bool:
    """Whether the file is a zip with the members of a log, or begins as a log in JSON does."""
    if head.startswith(_ZIP):
        return path.suffix == ".eval" or _has_members(path)
    return (
        head.lstrip().startswith(b"{")
        and b'"eval"' in head
        and b'"version"' in head
        and b'"status"' in head
    )


def is_companion(path: Path) -> bool:
    """Whether the file goes by the name of a list of logs."""
    return path.name in {"logs.json", "listing.json", "eval-set.json"}


def read(path: Path, known: Known = ()) -> list[Samples]:
    """Read one log."""
    if head_of(path).startswith(_ZIP):
        header, summaries = _unzipped(path)
    else:
        header = json_document(path)
        summaries = fields_of(header).get("samples")
    if not isinstance(fields_of(header).get("eval"), dict):
        raise ValueError("the log has no record of the evaluation ('eval')")
    if not isinstance(summaries, list):
        raise ValueError("the log holds no samples")
    return [_samples(path, header, summaries, known)]


def _samples(path: Path, header: dict[str, Any], summaries: list[Any], known: Known) -> Samples:
    evaluation, status = header["eval"], header.get("status")
    package = fields_of(evaluation.get("packages")).get("inspect_ai")
    samples = Samples(
        path,
        NAME,
        f"{header.get('version')!s:.20}" + (f", inspect_ai {package!s:.40}" if package else ""),
        name_of(evaluation.get("model"), "eval.model"),
        name_of(evaluation.get("task"), "eval.task"),
        written=_time(evaluation.get("created")),
        run=text_of(evaluation.get("task_id")) or "",
        unfinished="" if status == "success" else str(status or "crashed"),
        n_planned=_planned(evaluation),
        not_marks=frozenset(chain.from_iterable(_EFFORT.values())),
        known=known,
    )
    for number, record in enumerate(_in_order(evaluation, summaries), start=1):
        try:
            _add(samples, record)
        except (ValueError, TypeError) as error:
            raise ValueError(f"sample {number}: {error}") from error
    return samples


def _add(samples: Samples, record: Any) -> None:
    if not isinstance(record, dict):
        raise ValueError("is no JSON object")
    position = samples.position(
        name_of(record.get("id"), "id"), _content(record), _describe, record
    )
    samples.n_samples += 1
    if record.get("error"):
        samples.n_failed += 1
        return
    marked = False
    for scorer, score in fields_of(record.get("scores")).items():
        value = score.get("value") if isinstance(score, dict) else score
        for metric, one in _parts(scorer, value):
            number = _number(one)
            if number is not None:
                samples.add(position, Measure(metric), number)
                marked = True
    if marked:  # without a mark it is no answer, however long it took
        own = fields_of(record.get("model_usage")).get(samples.respondent)
        samples.add_numbers(position, {"tokens": own, "seconds": record}, _EFFORT)


def _parts(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"{scorer}.{key}", part) for key, part in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}.{k}", part) for k, part in enumerate(value))
    else:
        yield scorer, value


def _number(value: Any) -> float | None:
    if not isinstance(value, str):
        return score_of(value)
    known = _WORDS.get(value.strip().lower())
    if known is not None:
        return known
    try:
        return float(value)
    except ValueError:
        return None


def _content(record: dict[str, Any]) -> str | None:
    text, target = text_of(record.get("input")), text_of(record.get("target"))
    return None if text is None else f"{text[:_COMPARED]}\0{(target or '')[:_COMPARED]}"


def _describe(record: dict[str, Any]) -> Item:
    metadata = metadata_of(record.get("metadata"))
    options = entries_of(record.get("choices"))
    if choices := text_of(record.get("choices")):
        metadata |= {"choices": choices, "n_options": len(options)}
    text, target = text_of(record.get("input")), text_of(record.get("target"))
    return Item(_content(record), text, target, metadata)


def _planned(evaluation: dict[str, Any]) -> int | None:
    """Samples that the run was to have, where the log says so."""
    ids = fields_of(evaluation.get("dataset")).get("sample_ids")
    epochs = fields_of(evaluation.get("config")).get("epochs")
    return len(ids) * (epochs if isinstance(epochs, int) else 1) if isinstance(ids, list) else None


def _in_order(evaluation: dict[str, Any], summaries: list[Any]) -> list[Any]:
    """Sort samples as the dataset has them: they are written in the order they were done."""
    ids = entries_of(fields_of(evaluation.get("dataset")).get("sample_ids"))
    places = {str(name): place for place, name in enumerate(ids)}

    def key(record: Any) -> tuple[int, int]:
        place, epoch = places.get(str(fields_of(record).get("id"))), fields_of(record).get("epoch")
        return len(places) if place is None else place, epoch if isinstance(epoch, int) else 0

    return sorted(summaries, key=key)


def _time(created: Any) -> str:
    """Return a time in UTC, so that logs of several zones are in order."""
    from datetime import UTC, datetime

    try:
        return datetime.fromisoformat(created).astimezone(UTC).isoformat()
    except (TypeError, ValueError, OverflowError):
        return str(created or "")


def _has_members(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        return False
    return bool(names & {"header.json", "_journal/start.json"})


def _unzipped(path: Path) -> tuple[Any, Any]:
    """Header and summaries; names of members are compared, and never used as paths."""
    try:
        with zipfile.ZipFile(ordinary_file(path)) as archive:
            names = set(archive.namelist())
            start = "header.json" if "header.json" in names else "_journal/start.json"
            if start not in names:
                raise ValueError("the archive has neither header.json nor _journal/start.json")
            header = _member(path, archive, start)
            if "summaries.json" in names:
                return header, _member(path, archive, "summaries.json")
            journal = sorted(
                (int(found[1]), name) for name in names if (found := _JOURNAL.fullmatch(name))
            )
            summaries = []
            for _, name in journal:
                part = _member(path, archive, name)
                summaries += part if isinstance(part, list) else [part]
            return header, summaries
    except _damages() as error:
        raise ValueError(f"the archive is damaged: {error}") from error


def _damages() -> tuple[type[Exception], ...]:
    """Errors by which zipfile says that an archive is damaged."""
    known = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, OSError)
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdError

        return (*known, ZstdError)
    return known


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    """What a member of JSON holds, whatever size it says it has."""
    info = archive.getinfo(name)
    if info.file_size > MOST_BYTES:
        raise ValueError(f"{name} holds more than {MOST_BYTES >> 20} MiB")
    if info.flag_bits & 1 or info.compress_type not in _METHODS:
        raise ValueError(f"{name} is encrypted, or compressed by no method that Inspect uses")
    if info.compress_type == _ZSTD and sys.version_info < (3, 14):
        return parse(_member_of_zstd(path, name), name)
    with archive.open(name) as handle:
        return parse(limited(handle, MOST_BYTES, name), name)


def _member_of_zstd(path: Path, name: str) -> bytes:
    from backports import zstd
    from backports.zstd import zipfile as zstd_zipfile

    try:
        with zstd_zipfile.ZipFile(path) as archive, archive.open(name) as handle:
            return limited(handle, MOST_BYTES, name)
    except (zstd_zipfile.BadZipFile, zstd.ZstdError) as error:
        raise ValueError(f"{name} is damaged: {error}") from error
