"""Samples of Every Eval Ever, the schema that evaluation harnesses share, versions 0.2 and 0.3.

``<uuid>_samples.jsonl`` has one line per sample and result, and ``<uuid>.json`` describes results
and model. The response is ``evaluation.is_correct``. If it is absent or contradicts the score, the
user must choose. Lines of one sample with different ``evaluation_result_id`` are filters. Version
0.2 lacks this id, and several lines of one sample are repeats.
https://github.com/evaleval/every_eval_ever
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from irtkit.files import head_of
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

    _Marks = dict[str | None, tuple[Measure, Measure]]

_CORRECT = "is_correct"
_SCORE = "score"
_OF_ANSWERS = ("epoch", "stop_reason")  # Metadata that the converter of Inspect writes.
_TOKENS = (Measure("output_tokens"), Measure("total_tokens"))
_LATENCY = (Measure("latency_ms"),)


def read(path: Path, described: Described) -> list[Samples]:
    """Read one file of samples, with all its models and evaluations."""
    if path.suffix == ".json":
        files = [path.with_name(f"{path.stem}_samples{end}") for end in (".jsonl", ".jsonl.gz")]
        beside = next((file for file in files if file.exists()), None)
        if beside is not None:
            return read(beside, described)
        if b'"sample_id"' not in head_of(path):
            raise ValueError(
                f"this is a summary, and its samples, in {path.stem}_samples.jsonl, are not in "
                "its folder"
            )
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix("_samples")
    aggregate = fields_of(companion(path.with_name(f"{stem}.json")))
    names: dict[str | None, str] = {}
    for result in entries_of(aggregate.get("evaluation_results")):
        config = at(result, "metric_config")
        key = at(result, "evaluation_result_id")
        name = at(config, "metric_id") or at(config, "metric_name")
        if isinstance(name, str) and isinstance(key, str):
            names[key] = name
    if len(set(names.values())) < len(names):
        names = {}
    names[None] = ""
    marks: _Marks = {}
    for result, metric in names.items():
        marks[result] = Measure(_CORRECT, metric), Measure(_SCORE, metric)
    by_run: dict[Any, Samples] = {}

    def add(record: Record) -> None:
        get = record.get
        key = get("model_id"), get("evaluation_name"), get("evaluation_id")
        samples = by_run.get(key)
        if samples is None:
            samples = by_run[key] = _begun(path, aggregate, described, record)
        _add(samples, record, marks)

    for_each("line", json_lines(path), add)
    for samples in by_run.values():
        if len({measure.filter for measure in samples.scores.keys() - samples.not_marks}) == 1:
            samples.scores = {
                Measure(measure.metric): kept for measure, kept in samples.scores.items()
            }
    return _of_one_task(list(by_run.values()))


def _add(samples: Samples, record: Record, marks: _Marks) -> None:
    get = record.get
    item = get("sample_id")
    content = get("sample_hash")
    item = item if item.__class__ is str else name_of(item, "sample_id")
    position = samples.position(item, content, _describe, record)
    samples.n_samples += 1
    if get("error") is not None:
        samples.fail(get("error"))
        return
    evaluation = record["evaluation"]
    correct = score_of(evaluation.get(_CORRECT))
    score = score_of(evaluation.get(_SCORE))
    if correct is None or score is None:
        raise ValueError(f"is_correct and score must be numbers, got {evaluation!r:.80}")
    result = get("evaluation_result_id")
    if result not in marks:
        name = name_of(result, "evaluation_result_id")
        marks[result] = Measure(_CORRECT, name), Measure(_SCORE, name)
    of_correct, of_score = marks[result]
    if correct == correct or score != score:  # noqa: PLR0124 - whether it is no NaN, the fast way
        samples.add(position, of_correct, correct)
    if score == score:  # noqa: PLR0124
        samples.add(position, of_score, score)
        if correct != score and samples.doubt is None:
            if math.isnan(correct):
                samples.doubt = item, None, score
            elif 0 <= score <= 1 and (score >= 0.5) != correct:
                samples.doubt = item, bool(correct), score
    samples.add_numbers(position, get("token_usage"), _TOKENS)
    samples.add_numbers(position, get("performance"), _LATENCY)


def _of_one_task(evaluations: list[Samples]) -> list[Samples]:
    """Join evaluations ``task/filter`` on the same samples, as converters write each filter.

    The first one gets the scores of the others.
    """
    tasks: dict[object, list[Samples]] = {}
    for samples in evaluations:
        task = samples.task.rpartition("/")[0]
        contents = frozenset((name, item.content) for name, item in samples.items.items())
        key: object = samples
        if task and all(content is not None for _, content in contents):
            key = samples.respondent, samples.run, task, contents
        tasks.setdefault(key, []).append(samples)
    for first, *others in tasks.values():
        if not others:
            continue
        places = {item: place for place, item in enumerate(first.items)}
        scores: dict[Measure, tuple[list[int], list[Any]]] = {}
        for samples in (first, *others):
            numbers = [places[item] for item in samples.items]
            _, _, of_task = samples.task.rpartition("/")
            for measure, (positions, values) in samples.scores.items():
                name = measure
                if measure not in samples.not_marks:
                    filters = ", ".join(filter(None, (of_task, measure.filter)))
                    name = Measure(measure.metric, filters)
                scores[name] = [numbers[k] for k in positions], values
        first.task, _, _ = first.task.rpartition("/")
        first.scores = scores
        for samples in others:
            first.n_samples += samples.n_samples
            first.n_failed += samples.n_failed
            first.doubt = first.doubt or samples.doubt
    return [first for first, *_ in tasks.values()]


def _begun(path: Path, aggregate: Record, described: Described, record: Record) -> Samples:
    version = str(record.get("schema_version"))
    if not version.startswith(("0.2.", "0.3.")):
        raise ValueError(f"schema_version must be 0.2 or 0.3, got {version!r:.40}")
    run = text_of(record.get("evaluation_id")) or ""
    written = aggregate.get("evaluation_timestamp") or aggregate.get("retrieved_timestamp")
    respondent = name_of(record.get("model_id"), "model_id")
    model = fields_of(aggregate.get("model_info"))
    model = model if model.get("id") == respondent else {}
    return Samples(
        *(path, respondent),
        name_of(record.get("evaluation_name"), "evaluation_name"),
        version,
        written=str(written or run.rsplit("/", 1)[-1]),
        run=run if "/" in run else "",
        not_marks=frozenset(_TOKENS + _LATENCY),
        default=_CORRECT,
        details=metadata_of(model, ("id", "name")) | metadata_of(model.get("additional_details")),
        described=described,
    )


def _describe(record: Record) -> Item:
    raw, target, choices = (
        text_of(at(record, "input", key)) for key in ("raw", "reference", "choices")
    )
    metadata = metadata_of(record.get("metadata"), _OF_ANSWERS)
    metadata |= {"choices": choices} if choices else {}
    return Item(record.get("sample_hash"), raw, target, metadata)


READER = begins(r'\{(?=.*"evaluation_id")(?=.*"schema_version"\s*:\s*")'), read
