"""Items as evaluation harnesses take them, to ask only some of a benchmark.

Items of logs are called ``task/id`` (`irtkit.io.logs`). Inspect takes ids of samples as patterns,
with commas between them. lm-evaluation-harness takes numbers of documents, which must ascend: it
counts the answers in the order of the documents, and would log each with the number of another.
https://github.com/UKGovernmentBEIS/inspect_ai, src/inspect_ai/_eval/task/util.py
https://github.com/EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py
"""

from __future__ import annotations

import json
from glob import escape
from shlex import quote
from typing import TYPE_CHECKING

from irtkit.checks import short
from irtkit.io.logs import LOG_FORMATS
from irtkit.responses.labels import tasks_and_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from irtkit.responses import ResponseMatrix

HARNESSES = ("inspect", "lm-eval")


def sample_ids(responses: ResponseMatrix, labels: Iterable[str]) -> str:
    """Ids of samples for ``inspect eval --sample-id``, with their tasks if there are several."""
    _check_harness(responses, "inspect")
    ids = _ids_by_task(responses, labels)
    patterns = []
    for task, names in ids.items():
        _check_task(task, ",:" if len(ids) > 1 else "")
        prefix = f"{task}:" if len(ids) > 1 and task else ""
        for name in names:
            # commas separate ids, and ? stands for one
            pattern = escape(name).replace(",", "?").replace(":", "[:]")
            patterns.append(prefix + pattern)
    return ",".join(patterns)


def document_numbers(responses: ResponseMatrix, labels: Iterable[str]) -> str:
    """Ascending numbers of documents by task for ``lm_eval --samples``, as JSON."""
    _check_harness(responses, "lm-eval")
    numbers: dict[str, list[int]] = {}
    for label in labels:
        task, _, number = label.rpartition("/")
        if not task or not number.isdecimal() or str(int(number)) != number:
            raise ValueError(
                f"item {short(label)} is not the number of a document: labels must be task/number, "
                "as irtkit reads them from logs of lm-eval with one filter"
            )
        _check_task(task, ",")
        numbers.setdefault(task, []).append(int(number))
    return json.dumps({task: sorted(of_task) for task, of_task in numbers.items()})


def command_line(harness: str, responses: ResponseMatrix, labels: Iterable[str]) -> str:
    """Command that asks some items. MODEL stands for the model."""
    if harness == "inspect":
        samples = sample_ids(responses, labels)
        tasks = " ".join(quote(task or "TASK") for task in _ids_by_task(responses, labels))
        return f"inspect eval {tasks} --model MODEL --sample-id {quote(samples)}"
    samples = document_numbers(responses, labels)
    tasks = ",".join(json.loads(samples))
    return (
        f"lm_eval --model hf --model_args pretrained=MODEL --tasks {quote(tasks)} "
        f"--samples {quote(samples)} --log_samples --output_path runs"
    )


def _ids_by_task(responses: ResponseMatrix, labels: Iterable[str]) -> dict[str, list[str]]:
    """Ids of items by their tasks."""
    ids: dict[str, list[str]] = {}
    for task, name in tasks_and_ids(labels, responses.item_table):
        ids.setdefault(task, []).append(name)
    return ids


def _check_task(task: str, separators: str) -> None:
    """Refuse the name of a task that a list of tasks would take apart."""
    for mark in separators:
        if mark in task:
            raise ValueError(
                f"task {short(task)} has {short(mark)}, which separates names in a list of tasks. "
                "Fit the logs of this task alone (task=, --task), and ask its items in a run of "
                "their own"
            )


def _check_harness(responses: ResponseMatrix, harness: str) -> None:
    """Refuse items of the logs of another harness."""
    source = responses.source
    if source is not None and source.format in LOG_FORMATS and source.format != harness:
        raise ValueError(
            f"the items are those of logs of {source.format}, which {harness} does not know"
        )
