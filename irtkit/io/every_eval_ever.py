"""Samples of Every Eval Ever, the schema that evaluation harnesses share, versions 0.2 and 0.3.

``<uuid>_samples.jsonl`` has a line per sample and aggregate result; ``<uuid>.json`` beside it says
what the results are and which model it was. The response is ``evaluation.is_correct``. Where that
is absent, or contradicts the score, neither counts unasked. Lines of one sample with different
``evaluation_result_id`` are marks by different metrics, chosen with ``filter=``, and no repeats.
Version 0.2 has no such id: of several lines of one sample none says what marked it, and they are
repeats.
Tokens and milliseconds are kept beside them.
https://github.com/evaleval/every_eval_ever
"""

from __future__ import annotations

import functools
import math
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from irtkit.checks import short
from irtkit.files import head_of
from irtkit.io.json_text import companion, entries_of, fields_of, json_lines
from irtkit.io.samples import Item, Known, Measure, Samples, metadata_of, name_of, score_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

NAME = "every-eval-ever"
_CORRECT, _SCORE = "is_correct", "score"
_VERSIONS_READ = ("0.2", "0.3")
_OF_ANSWERS = ("epoch", "stop_reason")
"""Metadata that the converter of Inspect writes and that say nothing of an item."""
_EFFORT = {
    "token_usage": (Measure("output_tokens"), Measure("total_tokens")),
    "performance": (Measure("latency_ms"),),
}
"""Numbers that are no marks, by the field that holds them."""
_SUFFIX = "_samples"
_ENDINGS = (".jsonl", ".jsonl.gz")
_VERSION = re.compile(rb'"schema_version"\s*:\s*"')


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins with a sample, or with what all samples of a model add up to."""
    begins = head.lstrip().startswith(b"{") and b'"evaluation_id"' in head
    return begins and _VERSION.search(head) is not None


def is_companion(path: Path) -> bool:
    """Whether the file is what samples add up to, which as a rule lie beside it."""
    return path.suffix == ".json" and (_samples_beside(path) is not None or _is_summary(path))


def _samples_beside(path: Path) -> Path | None:
    names = (path.with_name(f"{path.stem}{_SUFFIX}{ending}") for ending in _ENDINGS)
    return next((name for name in names if name.exists()), None)


def _is_summary(path: Path) -> bool:
    """Whether the file begins as a summary does, of which there are more than of samples."""
    try:
        head = head_of(path)
    except (OSError, EOFError, ValueError):
        return False
    return recognise(path, head) and b'"sample_id"' not in head


def read(path: Path, known: Known = ()) -> list[Samples]:
    """Read one file of samples, of as many models and evaluations as it holds."""
    if is_companion(path):
        samples_beside = _samples_beside(path)
        if samples_beside is None:
            raise ValueError(
                "this is the summary of an evaluation; its samples, in "
                f"{path.stem}{_SUFFIX}.jsonl, are not beside it"
            )
        return read(samples_beside, known)
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(_SUFFIX)
    aggregate = companion(path.with_name(f"{name}.json"))
    filters = _filters(aggregate)
    found: dict[tuple[str, str, str], Samples] = {}
    begin = functools.partial(_begun, path, aggregate, known)
    for line, record in json_lines(path):
        try:
            _add(found, begin, record, filters)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"line {line}: {error}") from error
    for samples in found.values():
        marks = samples.scores.keys() - samples.not_marks
        if len({measure.filter for measure in marks}) == 1:
            samples.scores = {Measure(m.metric): kept for m, kept in samples.scores.items()}
    return _of_one_task(found.values())


def _of_one_task(found: Collection[Samples]) -> list[Samples]:
    """Samples of every task: a converter writes those of each filter as ``task/filter``.

    Evaluations of one file that are named so and hold the same samples are one task, whose marks
    are by several filters; they are no items of their own.
    """
    tasks: dict[object, list[Samples]] = {}
    for samples in found:
        task = samples.task.rpartition("/")[0]
        key: object = samples
        if task and len(found) > 1:
            contents = frozenset((item, one.content) for item, one in samples.items.items())
            if all(content is not None for _, content in contents):
                key = samples.respondent, samples.run, task, contents
        tasks.setdefault(key, []).append(samples)
    return [_together(each) if len(each) > 1 else each[0] for each in tasks.values()]


def _together(by_filter: list[Samples]) -> Samples:
    """Samples of one task, of which each was marked by another filter."""
    first, *others = by_filter
    places = {item: place for place, item in enumerate(first.items)}
    scores: dict[Measure, tuple[Any, Any]] = {}
    for samples in by_filter:
        name = samples.task.rpartition("/")[2]
        numbers = [places[item] for item in samples.items]
        for (metric, more), (positions, values) in samples.scores.items():
            by = f"{name}, {more}" if more else name
            measure = Measure(metric, more)
            kept_as = measure if measure in samples.not_marks else Measure(metric, by)
            scores[kept_as] = ([numbers[k] for k in positions], values)
    first.task, first.scores = first.task.rpartition("/")[0], scores
    for samples in others:
        first.n_samples += samples.n_samples
        first.n_failed += samples.n_failed
        first.doubt = first.doubt or samples.doubt
    return first


def _add(
    found: dict[tuple[str, str, str], Samples],
    begin: Callable[[dict[str, Any]], Samples],
    record: dict[str, Any],
    filters: dict[str, str],
) -> None:
    get = record.get
    key = (get("model_id"), get("evaluation_name"), get("evaluation_id"))
    samples = found.get(key)  # type: ignore[arg-type]
    if samples is None:
        samples = found[key] = begin(record)  # type: ignore[index]
    item = get("sample_id")
    if item.__class__ is not str:
        item = name_of(item, "sample_id")
    position = samples.position(item, _content(record), _describe, record)
    samples.n_samples += 1
    result = get("evaluation_result_id")
    if get("error") is not None:
        samples.n_failed += 1
        return
    evaluation = get("evaluation")
    if not isinstance(evaluation, dict):
        raise ValueError(f"'evaluation' must be an object, got {evaluation!r:.80}")
    correct, score = evaluation.get(_CORRECT), evaluation.get(_SCORE)
    correct = 1.0 if correct is True else 0.0 if correct is False else score_of(correct)
    score = score if score.__class__ is float else score_of(score)
    if correct is None or score is None:
        raise ValueError(f"is_correct and score must be numbers, got {evaluation!r:.80}")
    by = "" if result is None else filters.get(result)
    if by is None:
        by = filters[str(result)] = name_of(result, "evaluation_result_id")
    of_correct, of_score = _measures(by)
    if correct == correct or score != score:  # noqa: PLR0124 - whether it is no NaN, the fast way
        samples.add(position, of_correct, correct)
    if score == score:  # noqa: PLR0124
        samples.add(position, of_score, score)
        if correct != score and not samples.doubt and _at_odds(correct, score):
            held = "no is_correct" if math.isnan(correct) else f"is_correct {bool(correct)}"
            samples.doubt = f"sample {short(item)} has {held} and a score of {score:g}"
    samples.add_numbers(position, record, _EFFORT)


@functools.lru_cache(maxsize=1000)
def _measures(by: str) -> tuple[Measure, Measure]:
    return Measure(_CORRECT, by), Measure(_SCORE, by)


def _begun(path: Path, aggregate: dict[str, Any], known: Known, record: dict[str, Any]) -> Samples:
    version = str(record.get("schema_version"))
    if not version.startswith(tuple(f"{one}." for one in _VERSIONS_READ)):
        read_here = " and ".join(_VERSIONS_READ)
        raise ValueError(f"schema_version is {version!r:.40}; {read_here} are read")
    run = record.get("evaluation_id")
    written = aggregate.get("evaluation_timestamp") or aggregate.get("retrieved_timestamp")
    if written is None and isinstance(run, str):
        written = run.rsplit("/", 1)[-1]
    respondent = name_of(record.get("model_id"), "model_id")
    about = fields_of(aggregate.get("model_info"))
    about = about if about.get("id") == respondent else {}
    details = metadata_of(about.get("additional_details"))
    return Samples(
        path,
        NAME,
        version,
        respondent,
        name_of(record.get("evaluation_name"), "evaluation_name"),
        written=str(written or ""),
        run=run if isinstance(run, str) and "/" in run else "",
        not_marks=frozenset(chain.from_iterable(_EFFORT.values())),
        default=_CORRECT,
        about=metadata_of(about, ("id", "name")) | details,
        known=known,
    )


def _at_odds(correct: float, score: float) -> bool:
    """Whether a score has no mark beside it, or a share says the contrary of what its mark does."""
    return math.isnan(correct) or (0 <= score <= 1 and (score >= 0.5) != correct)


def _content(record: dict[str, Any]) -> str | None:
    hashed = record.get("sample_hash")
    return hashed if isinstance(hashed, str) else None


def _describe(record: dict[str, Any]) -> Item:
    fields = fields_of(record.get("input"))
    metadata = metadata_of(record.get("metadata"), _OF_ANSWERS)
    choices = text_of(fields.get("choices"))
    return Item(
        _content(record),
        text_of(fields.get("raw")),
        text_of(fields.get("reference")),
        metadata | ({"choices": choices} if choices else {}),
    )


def _filters(aggregate: dict[str, Any]) -> dict[str, str]:
    """Name of the metric of each aggregate result."""
    names = {}
    for result in map(fields_of, entries_of(aggregate.get("evaluation_results"))):
        config = fields_of(result.get("metric_config"))
        name = config.get("metric_id") or config.get("metric_name")
        key = result.get("evaluation_result_id")
        if isinstance(name, str) and isinstance(key, str):
            names[key] = name
    return names if len(set(names.values())) == len(names) else {}
