"""Samples that lm-evaluation-harness writes with ``--log_samples``.

``<folder>/samples_<task>_<time>.jsonl`` has one line per document and filter, and
``results_<time>.json`` names the model. Before 0.4.3 the file was an array,
``<model_args>_<task>.jsonl``. Before 0.4.7 records named neither the filter nor the metrics: every
further number is a metric, and the n-th record of a document is by the n-th filter of the results.
https://github.com/EleutherAI/lm-evaluation-harness, lm_eval/loggers/evaluation_tracker.py
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from irtkit.files import head_of
from irtkit.io.json_text import (
    at,
    companion,
    entries_of,
    fields_of,
    for_each,
    json_document,
    json_lines,
)
from irtkit.io.samples import Item, Known, Measure, Samples, metadata_of, name_of, score_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

_FILE = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(r"results(?:_\d{4}.*)?\.json|.*_(\d{4}-\d\d-\d\dT[\d.-]+)\.json")
_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash", "resps_hash", "filtered_resps_hash"}
)
_QUESTIONS = ("question", "query", "problem", "prompt", "input", "goal", "ctx", "sentence", "text")
_TURN = "filter "
_BYPASSED = "bypass"  # The metric of tasks that are only generated, always 999.


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins with a sample."""
    begins = head.lstrip()
    return begins.startswith((b"{", b"[")) and b'"doc_id"' in head and b'"doc"' in head


def is_companion(path: Path, _: bytes) -> bool:
    """Whether the file has the name of results, and samples next to it if that is unsure."""
    named = _RESULTS.fullmatch(path.name)
    if named is None or (named[1] is None and path.name != "results.json"):
        return named is not None
    samples = f"samples_*_{named[1]}.jsonl*" if named[1] else "*_*.jsonl*"
    return next(path.parent.glob(samples), None) is not None


def read(path: Path, known: Known) -> list[Samples]:
    """Read one file of samples."""
    samples, results = _begun(path, known)
    measures: dict[tuple[Any, ...], list[tuple[str, Measure]]] = {}
    turns: Counter[int] = Counter()

    def add(record: dict[str, Any]) -> None:
        item, chosen = record.get("doc_id"), record.get("filter")
        item = str(item) if item.__class__ is int else name_of(item, "doc_id")
        position = samples.position(item, text_of(record.get("doc_hash")), _describe, record)
        samples.n_samples += 1
        if chosen is None:
            turns[position] += 1
            chosen = f"{_TURN}{turns[position]}"
        names = record.get("metrics")
        key = (chosen, *names) if isinstance(names, list) else (chosen, None, *record)
        if key not in measures:
            fields = names if isinstance(names, list) else [m for m in record if m not in _FIELDS]
            by = name_of(chosen, "filter")
            measures[key] = [(m, Measure(m, by)) for m in fields if m != _BYPASSED]
        for name, measure in measures[key]:
            score = score_of(record.get(name))
            if score is not None:
                samples.add(position, measure, score)

    whole = head_of(path).lstrip().startswith(b"[")
    for_each("line", enumerate(json_document(path), 1) if whole else json_lines(path), add)
    filters = {f"{_TURN}1": ""}
    if max(turns.values(), default=0) > 1:
        listed = entries_of(at(results, "configs", samples.task, "filter_list"))
        named = enumerate((text_of(at(one, "name")) for one in listed), start=1)
        filters = {f"{_TURN}{turn}": name for turn, name in named if name}
    samples.scores = {
        Measure(metric, filters.get(by, by)): kept for (metric, by), kept in samples.scores.items()
    }
    return [samples]


def _describe(record: dict[str, Any]) -> Item:
    fields = fields_of(record.get("doc"))
    named = (text_of(fields.get(name)) for name in _QUESTIONS)
    text = next(filter(None, named), None) or _prompt(record.get("arguments"))
    target = text_of(record.get("target"))
    content = text_of(record.get("doc_hash"))
    return Item(content, text, target, metadata_of(fields, _QUESTIONS))


def _prompt(arguments: Any) -> str | None:
    """First prompt of the model: a dict of dicts since 0.4.3, a list of lists before."""
    for _ in range(2):
        if isinstance(arguments, dict):
            arguments = list(arguments.values())
        arguments = arguments[0] if isinstance(arguments, list) and arguments else None
    return arguments if isinstance(arguments, str) else None


def _begun(path: Path, known: Known) -> tuple[Samples, Any]:
    """Samples of the respondent and task that the results or the names of files give."""
    respondent = path.absolute().parent.name.replace("__", "/") or "model"
    if named := _FILE.fullmatch(path.name):
        task, written = named.groups()
        of_time = [path.with_name(f"results_{written}.json")]
        others = [*of_time, *sorted(path.parent.glob(f"*_{written}.json"))]
        results = next(filter(None, map(companion, others)), None)
        respondent = text_of(at(results, "model_name")) or respondent
        version = text_of(at(results, "lm_eval_version")) or "0.4.3 or later"
    else:
        results = companion(path.with_name("results.json"))
        stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
        tasks = [one for one in fields_of(at(results, "configs")) if stem.endswith(f"_{one}")]
        task, written, version = stem.removeprefix("samples_"), "", "unknown"
        if tasks:
            task, written = max(tasks, key=len), text_of(results.get("date")) or ""
            version, arguments = "before 0.4.3", str(at(results, "config", "model_args"))
            pretrained = re.search(r"(?:^|,)(?:pretrained|model)=([^,]+)", arguments)
            respondent = pretrained[1] if pretrained else stem.removesuffix(f"_{task}")
        else:
            results = None
    details = at(results, "config")
    about = {"size": "model_num_parameters", "revision": "model_revision"}
    known_about = metadata_of({name: at(details, key) for name, key in about.items()})
    about = {name: value for name, value in known_about.items() if value != -1}
    return Samples(path, respondent, task, version, written, about=about, known=known), results


READER = recognise, read, is_companion
