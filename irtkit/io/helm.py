"""Runs of HELM: ``per_instance_stats.json``, with the files beside it.

The model stands in ``run_spec.json``, the texts in ``instances.json``. An entry holds the stats of
one instance and train trial by one metric object, so the same instance may come again with other
stats; a stat that was never counted is missing. Instances that were perturbed on purpose are left
out. Trials are repeats.
https://github.com/stanford-crfm/helm, src/helm/benchmark/metrics/metric.py and runner.py
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from irtkit.io.json_text import companion, entries_of, fields_of, json_companion, json_document
from irtkit.io.samples import Item, Known, Measure, Samples, name_of, score_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "helm"
_COMPANIONS = frozenset(
    {"run_spec.json", "scenario.json", "scenario_state.json", "stats.json", "instances.json"}
    | {"display_predictions.json", "display_requests.json"}
)
_NOT_MARKS = re.compile(
    r"num_|training_|inference_|finish_reason_|batch_size|prompt_truncated|max_prob|logprob|"
    r"predicted_index|perplexity|bits_per_byte|logprob_per_byte"
)
"""Begins the names of stats that HELM computes of every run (basic_metrics.py), besides marks."""


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins as a list of stats of instances."""
    return (
        head.lstrip().startswith(b"[")
        and b'"train_trial_index"' in head
        and b'"stats"' in head
        and b'"sum_squared"' in head
    )


def is_companion(path: Path) -> bool:
    """Whether the file goes by a name that HELM gives to the others of a run."""
    return path.name in _COMPANIONS


def read(path: Path, known: Known = ()) -> list[Samples]:
    """Read one run."""
    entries = json_document(path)
    if not isinstance(entries, list):
        raise ValueError("the file holds no list of instances")
    specification = companion(path.with_name("run_spec.json"))
    model = fields_of(specification.get("adapter_spec")).get("model")
    name = str(specification.get("name") or path.absolute().parent.name)
    task, respondent = _task_and_model(name)
    instances = _instances(path.with_name("instances.json"))
    respondent = text_of(model) or respondent
    samples = Samples(path, NAME, "per_instance_stats", respondent, task, known=known)
    seen: set[tuple[str, Any, str]] = set()
    for number, entry in enumerate(entries, start=1):
        try:
            _add(samples, entry, instances, seen)
        except (ValueError, TypeError) as error:
            raise ValueError(f"entry {number}: {error}") from error
    samples.not_marks = frozenset(m for m in samples.scores if _NOT_MARKS.match(m.metric))
    return [samples]


def _add(
    samples: Samples, entry: Any, instances: dict[str, Item], seen: set[tuple[str, Any, str]]
) -> None:
    if not isinstance(entry, dict):
        raise ValueError("is no JSON object")
    if entry.get("perturbation") is not None:
        return
    item = name_of(entry.get("instance_id"), "instance_id")
    found = instances.get(item, Item())
    trial = str(entry.get("train_trial_index"))
    position = samples.position(item, found.content, lambda _: found)
    samples.n_samples += (item, trial, "") not in seen
    seen.add((item, trial, ""))
    for stat in entries_of(entry.get("stats")):
        name = fields_of(stat).get("name")
        if not isinstance(name, dict):
            raise ValueError("a stat has no name")
        if name.get("perturbation") is not None:
            continue
        metric = name_of(name.get("name"), "the name of a stat")
        key = (item, trial, metric)
        score = score_of(stat.get("mean")) if stat.get("count") else math.nan
        if score is not None and key not in seen:
            seen.add(key)
            samples.add(position, Measure(metric), score)


def _task_and_model(name: str) -> tuple[str, str]:
    """Task and model in the name of a run, ``scenario:key=value,…,model=…``."""
    scenario, _, arguments = name.partition(":")
    pairs = [pair.partition("=") for pair in filter(None, arguments.split(","))]
    kept = ["".join(pair) for pair in pairs if pair[0] not in {"model", "model_deployment"}]
    models = [value for key, _, value in pairs if key == "model"]
    return f"{scenario}:{','.join(kept)}" if kept else scenario, models[0] if models else "model"


def _instances(path: Path) -> dict[str, Item]:
    """What was asked, by instance."""
    found = {}
    for fields in map(fields_of, entries_of(json_companion(path))):
        if isinstance(fields.get("id"), str) and fields.get("perturbation") is None:
            found[fields["id"]] = _item(fields)
    return found


def _item(instance: dict[str, Any]) -> Item:
    text = text_of(fields_of(instance.get("input")).get("text"))
    answers: list[str] = []
    right: list[str] = []
    for reference in map(fields_of, entries_of(instance.get("references"))):
        answer = text_of(fields_of(reference.get("output")).get("text"))
        if answer is not None:
            answers.append(answer)
            right += [answer] if "correct" in entries_of(reference.get("tags")) else []
    metadata = {"choices": " | ".join(answers)} if len(answers) > 1 else {}
    target = text_of(right)
    return Item(None if text is None else f"{text}\0{target}", text, target, metadata)
