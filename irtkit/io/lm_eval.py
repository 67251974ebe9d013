"""Samples that lm-evaluation-harness writes with ``--log_samples``.

``<folder>/samples_<task>_<time>.jsonl`` has one line per document and filter, and
``results_<time>.json`` names the model. Versions from 0.4.3 on are read. Before 0.4.7 records named
neither the filter nor the metrics. So every further number is a metric, and the n-th record of a
document is by the n-th filter of the results. https://github.com/EleutherAI/lm-evaluation-harness,
lm_eval/loggers/evaluation_tracker.py
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from irtkit.io.json_text import (
    Record,
    at,
    begins,
    companion,
    entries_of,
    fields_of,
    for_each,
    json_lines,
)
from irtkit.io.samples import (
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

_FILE = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl?(?:\.gz)?")
_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash", "resps_hash", "filtered_resps_hash"}
)
_QUESTIONS = ("question", "query", "problem", "prompt", "input", "goal", "ctx", "sentence", "text")
_TURN = "filter "
_BYPASSED = "bypass"  # The metric of tasks that are only generated, always 999.


def read(path: Path, described: Described) -> list[Samples]:
    """Read one file of samples."""
    samples, results = _begun(path, described)
    measures: dict[tuple[Any, ...], list[tuple[str, Measure]]] = {}
    turns: Counter[int] = Counter()

    def add(record: Record) -> None:
        item = record.get("doc_id")
        chosen = record.get("filter")
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

    for_each("line", json_lines(path), add)
    filters = {f"{_TURN}1": ""}
    if max(turns.values(), default=0) > 1:
        listed = entries_of(at(results, "configs", samples.task, "filter_list"))
        named = enumerate((text_of(at(entry, "name")) for entry in listed), start=1)
        filters = {f"{_TURN}{turn}": name for turn, name in named if name}
    samples.scores = {
        Measure(metric, filters.get(by, by)): kept for (metric, by), kept in samples.scores.items()
    }
    return [samples]


def _describe(record: Record) -> Item:
    fields = fields_of(record.get("doc"))
    named = (text_of(fields.get(name)) for name in _QUESTIONS)
    prompt = record.get("arguments")
    for _ in range(2):  # the first prompt of the model, in a dict of dicts
        prompt = next(iter(fields_of(prompt).values()), None)
    text = next(filter(None, named), text_of(prompt))
    target = text_of(record.get("target"))
    content = text_of(record.get("doc_hash"))
    return Item(content, text, target, metadata_of(fields, _QUESTIONS))


def _begun(path: Path, described: Described) -> tuple[Samples, Any]:
    """Samples of the respondent and task that the results or the names of files give."""
    respondent = path.absolute().parent.name.replace("__", "/") or "model"
    results = None
    task = path.name.partition(".json")[0].removeprefix("samples_")
    written = ""
    version = "unknown"
    if named := _FILE.fullmatch(path.name):
        task, written = named.groups()
        of_time = [path.with_name(f"results_{written}.json")]
        others = [*of_time, *sorted(path.parent.glob(f"*_{written}.json"))]
        results = next(filter(None, map(companion, others)), None)
        respondent = text_of(at(results, "model_name")) or respondent
        version = text_of(at(results, "lm_eval_version")) or "0.4.3 or later"
    config = at(results, "config")
    keys = {"size": "model_num_parameters", "revision": "model_revision"}
    model = metadata_of({name: at(config, key) for name, key in keys.items()})
    details = {name: value for name, value in model.items() if value != -1}
    samples = Samples(
        path, respondent, task, version, written, details=details, described=described
    )
    return samples, results


READER = begins(r'\{(?=.*"doc_id")(?=.*"doc")'), read
