"""Logs of OpenAI evals: JSON lines with a specification, events of samples and a final report.

``match`` events say what is right. Numbers in ``metrics`` events are further marks, and several
events of a sample are repeats. A sample without a mark failed and is missing.
https://github.com/openai/evals, evals/record.py and evals/base.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irtkit.io.json_text import at, begins, entries_of, fields_of, for_each, json_lines
from irtkit.io.samples import Known, Measure, Samples, name_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "openai-evals"
_TOKENS = tuple(map(Measure, ("prompt_tokens", "completion_tokens", "total_tokens")))
recognise = begins(rb'\s*\{\s*"spec"\s*:\s*\{\s*"completion_fns"\s*:')


def read(path: Path, _: Known) -> list[Samples]:
    """Read the log of one run."""
    records = json_lines(path)
    spec = fields_of(next(records, (1, {}))[1].get("spec"))
    system = ",".join(map(str, entries_of(spec.get("completion_fns"))))
    task, when, run = (str(spec.get(key) or "") for key in ("eval_name", "created_at", "run_id"))
    samples = Samples(path, NAME, "record", system, task, when, run)
    samples.unfinished, samples.not_marks = "no final report", frozenset(_TOKENS)
    marked: set[int] = set()

    def add(event: dict[str, Any]) -> None:
        if "final_report" in event:
            samples.unfinished = ""
            return
        item = name_of(event.get("sample_id"), "sample_id")
        item = item.removeprefix(f"{spec.get('base_eval')}.{spec.get('split')}.")
        position, kind, data = samples.position(item), event.get("type"), event.get("data")
        known, data = samples.items[item], fields_of(data)
        if kind == "sampling":
            samples.add_numbers(position, data.get("usage"), _TOKENS)
            said = [at(each, "content") for each in entries_of(data.get("prompt"))]
            known = known._replace(text=known.text or text_of(said or data.get("prompt")))
        elif kind == "match":
            known = known._replace(target=known.target or text_of(data.get("expected")))
        samples.items[item] = known
        marks = {"match": data.get("correct")} if kind == "match" else data
        marks = {name: value for name, value in marks.items() if value is not None}
        if kind in {"match", "metrics"} and samples.add_marks(position, marks):
            marked.add(position)

    for_each("line", records, add)
    samples.n_samples = len(samples.items)
    samples.n_failed = samples.n_samples - len(marked)
    samples.default = "match" if Measure("match") in samples.scores else None
    return [samples] if samples.items else []
