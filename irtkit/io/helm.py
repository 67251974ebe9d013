"""Runs of HELM: ``per_instance_stats.json``, with ``run_spec.json`` and ``instances.json``.

``run_spec.json`` names the model, and ``instances.json`` has the texts. An entry holds the stats of
one instance and train trial by one metric object, so an instance may have several entries. A stat
without a count is missing. Perturbed instances are left out. Trials are repeats.
https://github.com/stanford-crfm/helm, src/helm/benchmark/metrics/metric.py and runner.py
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from irtkit.io.json_text import at, companion, entries_of, for_each, json_document
from irtkit.io.samples import Item, Known, Measure, Samples, name_of, score_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

_COMPANIONS = frozenset(
    {"run_spec.json", "scenario.json", "scenario_state.json", "stats.json", "instances.json"}
    | {"display_predictions.json", "display_requests.json"}
)
_NOT_MARKS = re.compile(
    r"num_|training_|inference_|finish_reason_|batch_size|prompt_truncated|max_prob|logprob|"
    r"predicted_index|perplexity|bits_per_byte|logprob_per_byte"
)
"""Beginnings of the names of stats that HELM computes in every run (basic_metrics.py)."""


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins as a list of stats of instances."""
    names = (b'"train_trial_index"', b'"stats"', b'"sum_squared"')
    return head.lstrip().startswith(b"[") and all(name in head for name in names)


def is_companion(path: Path) -> bool:
    """Whether the file has the name of another file of a run."""
    return path.name in _COMPANIONS


def read(path: Path, known: Known) -> list[Samples]:
    """Read one run."""
    specification = companion(path.with_name("run_spec.json"))
    name = str(at(specification, "name") or path.absolute().parent.name)
    scenario, _, arguments = name.partition(":")
    pairs = {pair: pair.partition("=") for pair in arguments.split(",") if pair}
    models = [value for key, _, value in pairs.values() if key == "model"]
    kept = [one for one in pairs if pairs[one][0] not in {"model", "model_deployment"}]
    respondent = text_of(at(specification, "adapter_spec", "model")) or [*models, "model"][0]
    task = f"{scenario}:{','.join(kept)}" if kept else scenario
    samples = Samples(path, respondent, task, "per_instance_stats", known=known)
    instances = {
        str(at(one, "id")): _item(one)
        for one in entries_of(companion(path.with_name("instances.json")))
        if at(one, "perturbation") is None
    }
    seen: set[tuple[str, ...]] = set()

    def add(entry: dict[str, Any]) -> None:
        if entry.get("perturbation") is not None:
            return
        item = name_of(entry.get("instance_id"), "instance_id")
        found = instances.get(item, Item())
        position = samples.position(item, found.content, lambda _: found)
        trial = item, str(entry.get("train_trial_index"))
        samples.n_samples += trial not in seen
        seen.add(trial)
        for stat in entries_of(entry.get("stats")):
            metric = name_of(at(stat, "name", "name"), "the name of a stat")
            score = score_of(stat.get("mean")) if stat.get("count") else math.nan
            new = (*trial, metric) not in seen and at(stat, "name", "perturbation") is None
            if new and score is not None:
                seen.add((*trial, metric))
                samples.add(position, Measure(metric), score)

    for_each("entry", enumerate(json_document(path), start=1), add)
    samples.not_marks = frozenset(m for m in samples.scores if _NOT_MARKS.match(m.metric))
    return [samples]


def _item(instance: Any) -> Item:
    text = text_of(at(instance, "input", "text"))
    references = entries_of(at(instance, "references"))
    answers = [text_of(at(one, "output", "text")) for one in references]
    pairs = [(one, text) for one, text in zip(references, answers, strict=True) if text]
    choices = [text for _, text in pairs]
    target = text_of([text for one, text in pairs if "correct" in entries_of(one.get("tags"))])
    metadata = {"choices": " | ".join(choices)} if len(choices) > 1 else {}
    return Item(None if text is None else f"{text}\0{target}", text, target, metadata)
