"""Logs of Inspect: ``.eval``, a zip with deflate or zstd, and ``.json``.

From a zip irtkit reads only ``header.json`` and ``summaries.json``, or the journal if the run
crashed. A failed sample has an error and no score: it is missing. Epochs are repeats. Scores become
numbers by the rule of Inspect (``value_to_float``): C is 1, P 0.5, I and N are 0. Each key of a
score with several values is a metric ``scorer.key``. Seconds and tokens are further numbers.
https://github.com/UKGovernmentBEIS/inspect_ai, src/inspect_ai/log and scorer/_metric.py
"""

from __future__ import annotations

import contextlib
import math
import re
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from irtkit.files import DAMAGES, ZipFile, head_of, ordinary_file
from irtkit.findings import Finding
from irtkit.io.json_text import (
    Record,
    at,
    begins,
    entries_of,
    fields_of,
    for_each,
    json_document,
    parse,
)
from irtkit.io.samples import (
    CHOSEN,
    Described,
    Item,
    Measure,
    Samples,
    metadata_of,
    name_of,
    score_of,
    text_of,
)

if TYPE_CHECKING:
    from pathlib import Path

MANAGER = "irtkit"  # Name of `irtkit.inspect_ai.Adaptive` in the logs of its runs.
SMALL_ERROR = "small error"  # Why a test ended before it asked as many items as it may.
_ZIP = b"PK\x03\x04"
_STARTS = ("header.json", "_journal/start.json")
_JOURNAL = re.compile(r"_journal/summaries/(\d{1,9})\.json\Z")
_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_TOKENS = Measure("output_tokens"), Measure("total_tokens")
_SECONDS = Measure("total_time"), Measure("working_time")
_COMPARED = 1000  # Characters that identify an item: summaries cut texts at 5,120 or more.


def read(path: Path, described: Described) -> list[Samples]:
    """Read one log."""
    if head_of(path).startswith(_ZIP):
        header, summaries = _unzipped(path)
    else:
        header = json_document(path)
        summaries = at(header, "samples")
    evaluation = at(header, "eval")
    if not isinstance(evaluation, dict) or not isinstance(summaries, list):
        raise ValueError("the log needs a record of the evaluation ('eval') and a list of samples")
    status = header.get("status")
    package = at(evaluation, "packages", "inspect_ai")
    ids = at(evaluation, "dataset", "sample_ids")
    epochs = at(evaluation, "config", "epochs")
    written = str(evaluation.get("created") or "")
    with contextlib.suppress(ValueError, OverflowError):  # times of several zones sort in UTC
        written = datetime.fromisoformat(written).astimezone(UTC).isoformat()
    stopping = at(header, "results", "early_stopping")
    samples = Samples(
        path,
        name_of(evaluation.get("model"), "eval.model"),
        name_of(evaluation.get("task"), "eval.task"),
        f"{header.get('version')!s:.20}" + (f", inspect_ai {package!s:.40}" if package else ""),
        written=written,
        run=text_of(evaluation.get("task_id")) or "",
        unfinished="" if status == "success" else str(status or "crashed"),
        n_planned=len(ids) * (epochs or 1) if isinstance(ids, list) else math.nan,
        not_marks=frozenset(_TOKENS + _SECONDS),
        described=described,
    )
    places = {str(name): place for place, name in enumerate(entries_of(ids))}

    def in_order(record: Any) -> tuple[int, int]:
        """Place in the dataset and epoch: a log has its samples in the order of their ends."""
        return places.get(str(at(record, "id")), len(places)), at(record, "epoch") or 0

    def add(record: Record) -> None:
        item = name_of(record.get("id"), "id")
        position = samples.position(item, _described(record).content, _described, record)
        samples.n_samples += 1
        if record.get("error"):
            samples.fail(record["error"])
        elif samples.add_marks(position, marks_of(fields_of(record.get("scores")))):
            samples.add_numbers(position, at(record, "model_usage", samples.respondent), _TOKENS)
            samples.add_numbers(position, record, _SECONDS)

    for_each("sample", enumerate(sorted(summaries, key=in_order), start=1), add)
    misfit = entries_of(at(evaluation, "metadata", MANAGER, "misfit"))
    if misfit:
        most = len(misfit) - 1
        n = min(samples.n_samples - samples.n_failed, most)
        samples.details[CHOSEN + samples.task] = score_of(misfit[n])
        if n < most and at(stopping, "metadata", "ended") != SMALL_ERROR:
            values = {"system": samples.respondent, "task": samples.task, "n": n, "of": most}
            samples.findings.append(Finding("fewer-asked", "warning", values))
    return [samples]


def marks_of(scores: Record) -> dict[str, float | None]:
    """Mark by each scorer, and by each key of a score with several values."""
    marks: dict[str, float | None] = {}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, list):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            for key, part in value.items():
                marks[f"{scorer}.{key}"] = _number(part)
        else:
            marks[scorer] = _number(value)
    return {metric: number for metric, number in marks.items() if number is not None}


def _number(value: Any) -> float | None:
    if not isinstance(value, str):
        return score_of(value)
    word = value.strip().lower()
    with contextlib.suppress(ValueError):
        return _WORDS[word] if word in _WORDS else float(word)
    return None


def _described(record: Record) -> Item:
    metadata = metadata_of(record.get("metadata"))
    choices = text_of(record.get("choices"))
    if choices:
        metadata["choices"] = choices
        metadata["n_options"] = len(entries_of(record.get("choices")))
    text = text_of(record.get("input"))
    target = text_of(record.get("target"))
    if text is None:
        return Item(None, text, target, metadata)
    content = f"{text[:_COMPARED]}\0{(target or '')[:_COMPARED]}"
    return Item(content, text, target, metadata)


def _unzipped(path: Path) -> tuple[Any, Any]:
    """Header and summaries. Names of members are compared, and never used as paths."""

    def content(name: str) -> Any:
        return parse(archive.read(name), name)

    try:
        with ZipFile(ordinary_file(path)) as archive:
            names = set(archive.namelist())
            start = next((name for name in _STARTS if name in names), None)
            if start is None:
                raise ValueError("the archive has neither header.json nor _journal/start.json")
            if "summaries.json" in names:
                return content(start), content("summaries.json")
            journal = {}
            for part in filter(None, map(_JOURNAL.match, names)):
                journal[int(part[1])] = part[0]
            parts = [content(journal[k]) for k in sorted(journal)]
            listed = [part if isinstance(part, list) else [part] for part in parts]
            return content(start), [*chain.from_iterable(listed)]
    except (NotImplementedError, RuntimeError, OSError, *DAMAGES) as error:
        raise ValueError(f"the archive is damaged: {error}") from error


READER = (
    begins(r'(?<=\.eval\0)PK\x03\x04|\{(?=.*"eval")(?=.*"version")(?=.*"status")'),
    read,
)
