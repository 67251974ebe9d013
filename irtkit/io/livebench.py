"""Judgments of LiveBench: ``ground_truth_judgment.jsonl``, one line per question and model.

The score is a share. If a question was judged again, the last line counts, as in LiveBench.
https://github.com/LiveBench/LiveBench, livebench/gen_ground_truth_judgment.py
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from irtkit.io.json_text import begins, for_each, json_lines
from irtkit.io.samples import Item, Known, Samples, metadata_of, name_of, score_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "livebench"
recognise = begins(rb'\s*\{"question_id":.*"task":.*"model":.*"score":.*"tstamp":')


def read(path: Path, _: Known) -> list[Samples]:
    """Read the judgments of one file, of as many models and tasks as it has."""
    judged: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}

    def add(record: dict[str, Any]) -> None:
        model, task, item = (name_of(record[key], key) for key in ("model", "task", "question_id"))
        judged.setdefault((model, task), {})[item] = record

    for_each("line", json_lines(path), add)
    found = []
    for key, records in judged.items():
        latest = max(score_of(record.get("tstamp")) or 0.0 for record in records.values())
        when = datetime.fromtimestamp(latest, UTC).isoformat()
        found.append(samples := Samples(path, NAME, "judgment", *key, when))
        for item, record in records.items():
            about = metadata_of({key: record.get(key) for key in ("category", "subtask")})
            samples.sample(item, "score", record.get("score"), Item(metadata=about))
    return found
