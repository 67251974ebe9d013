"""Samples that lm-evaluation-harness writes with ``--log_samples``.

``<folder>/samples_<task>_<time>.jsonl`` has a line per document and filter; ``results_<time>.json``
beside it says which model and which version. Before 0.4.3 the file was an array,
``<model_args>_<task>.jsonl``; before 0.4.7 neither the filter nor the names of the metrics stood
in it: a metric is then a number beside the fields that every record has, and the filters, whose
names stand in the results, had all documents in turn: the second record of one is by the second
filter.
https://github.com/EleutherAI/lm-evaluation-harness, lm_eval/loggers/evaluation_tracker.py
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from irtkit.files import head_of
from irtkit.io.json_text import companion, entries_of, fields_of, json_document, json_lines
from irtkit.io.samples import Item, Known, Measure, Samples, metadata_of, name_of, score_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAME = "lm-eval"
_FILE = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(r"results(?:_\d{4}.*)?\.json|.*_(\d{4}-\d\d-\d\dT[\d.-]+)\.json")
_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash", "resps_hash", "filtered_resps_hash"}
)
_QUESTIONS = ("question", "query", "problem", "prompt", "input", "goal", "ctx", "sentence", "text")
_TURN = "filter "
_BYPASSED = "bypass"  # the metric of tasks that are only generated, always 999


class _Run(NamedTuple):
    respondent: str
    task: str
    written: str
    version: str
    results: dict[str, Any]


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins with a sample."""
    begins = head.lstrip()
    return begins.startswith((b"{", b"[")) and b'"doc_id"' in head and b'"doc"' in head


def is_companion(path: Path) -> bool:
    """Whether the file goes by the name of results, or by that of some with samples beside it."""
    named = _RESULTS.fullmatch(path.name)
    if named is None or (named[1] is None and path.name != "results.json"):
        return named is not None
    samples = f"samples_*_{named[1]}.jsonl*" if named[1] else "*_*.jsonl*"
    return next(path.parent.glob(samples), None) is not None


def read(path: Path, known: Known = ()) -> list[Samples]:
    """Read one file of samples."""
    run = _run(path)
    samples = Samples(
        *(path, NAME, run.version, run.respondent, run.task, run.written),
        about=_about(run.results),
        known=known,
    )
    measures: dict[tuple[Any, ...], list[tuple[str, Measure]]] = {}
    turns: Counter[int] = Counter()
    for line, record in _records(path):
        try:
            position = samples.position(_item(record), _content(record), _describe, record)
            samples.n_samples += 1
            names, chosen = record.get("metrics"), record.get("filter")
            if chosen is None:
                turns[position] += 1
                chosen = f"{_TURN}{turns[position]}"
            key = (chosen, *names) if isinstance(names, list) else (chosen, None, *record)
            of_record = measures.get(key)
            if of_record is None:
                of_record = measures[key] = _measures(record, chosen)
            for name, measure in of_record:
                score = score_of(record.get(name))
                if score is not None:
                    samples.add(position, measure, score)
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {line}: {error}") from error
    filters = _filters(run) if max(turns.values(), default=0) > 1 else {f"{_TURN}1": ""}
    samples.scores = {
        Measure(metric, filters.get(by, by)): kept for (metric, by), kept in samples.scores.items()
    }
    return [samples]


def _filters(run: _Run) -> dict[str, str]:
    """Names of the filters of a task by their turns, as far as the results have them."""
    task = fields_of(fields_of(run.results.get("configs")).get(run.task))
    names = [text_of(fields_of(one).get("name")) for one in entries_of(task.get("filter_list"))]
    known = {f"{_TURN}{number}": name for number, name in enumerate(names, start=1) if name}
    return known if len(set(known.values())) == len(known) else {}


def _records(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    if not head_of(path).lstrip().startswith(b"["):
        yield from json_lines(path)
        return
    for number, record in enumerate(json_document(path), start=1):
        if not isinstance(record, dict):
            raise ValueError(f"record {number} is no JSON object")
        yield number, record


def _item(record: dict[str, Any]) -> str:
    item = record.get("doc_id")
    if item.__class__ is int:
        return str(item)
    return name_of(item, "doc_id")


def _measures(record: dict[str, Any], chosen: Any) -> list[tuple[str, Measure]]:
    """Metrics of a record by a filter; without their names, all numbers that no other field is."""
    by = name_of(chosen, "filter")
    names = record.get("metrics")
    if not isinstance(names, list):
        names = [name for name in record if name not in _FIELDS]
    return [
        (name, Measure(name, by)) for name in names if isinstance(name, str) and name != _BYPASSED
    ]


def _content(record: dict[str, Any]) -> str | None:
    hashed = record.get("doc_hash")
    return hashed if isinstance(hashed, str) else None


def _describe(record: dict[str, Any]) -> Item:
    fields = fields_of(record.get("doc"))
    named = (text_of(fields.get(name)) for name in _QUESTIONS)
    text = next(filter(None, named), None) or _prompt(record.get("arguments"))
    target = text_of(record.get("target"))
    return Item(_content(record), text, target, metadata_of(fields, _QUESTIONS))


def _prompt(arguments: Any) -> str | None:
    """What the model was first given: a dict of dicts since 0.4.3, a list of lists before."""
    for _ in range(2):
        if isinstance(arguments, dict):
            arguments = list(arguments.values())
        arguments = arguments[0] if isinstance(arguments, list) and arguments else None
    return arguments if isinstance(arguments, str) else None


def _run(path: Path) -> _Run:
    named = _FILE.fullmatch(path.name)
    if named is None:
        return _early_run(path)
    task, written = named.groups()
    results = companion(path.with_name(f"results_{written}.json"))
    if not results:
        others = sorted(path.parent.glob(f"*_{written}.json"))
        results = companion(others[0]) if others else {}
    model = results.get("model_name")
    known = isinstance(model, str) and model.strip()
    respondent = str(model) if known else path.absolute().parent.name.replace("__", "/")
    version = text_of(results.get("lm_eval_version")) or "0.4.3 or later"
    return _Run(respondent, task, written, version, results)


def _early_run(path: Path) -> _Run:
    """Respondent and task where the name is another: of the results before 0.4.3, or guessed."""
    results = companion(path.with_name("results.json"))
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    tasks = [task for task in fields_of(results.get("configs")) if stem.endswith(f"_{task}")]
    if not tasks:
        folder = path.absolute().parent.name.replace("__", "/") or "model"
        return _Run(folder, stem.removeprefix("samples_") or stem, "", "unknown", {})
    task = max(tasks, key=len)
    arguments = str(fields_of(results.get("config")).get("model_args", ""))
    pretrained = re.search(r"(?:^|,)(?:pretrained|model)=([^,]+)", arguments)
    respondent = pretrained[1] if pretrained else stem.removesuffix(f"_{task}")
    return _Run(respondent, task, text_of(results.get("date")) or "", "before 0.4.3", results)


def _about(results: dict[str, Any]) -> dict[str, Any]:
    fields = fields_of(results.get("config"))
    kept = {"size": fields.get("model_num_parameters"), "revision": fields.get("model_revision")}
    return {name: value for name, value in metadata_of(kept).items() if value != -1}
