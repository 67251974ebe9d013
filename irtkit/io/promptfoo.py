"""Results of promptfoo: the JSON file of ``promptfoo eval -o results.json``.

The system is the provider, with the label of the prompt if it answers several. A hash of
variables and assertions names the item, and equal tests are repeats. ``success`` is the default,
other scores are further marks. A test that ended in an error is missing.
https://github.com/promptfoo/promptfoo, src/types/index.ts and src/types/results.ts
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from irtkit.io.json_text import at, begins, entries_of, fields_of, for_each, json_document
from irtkit.io.samples import Item, Known, Measure, Samples, hash_of, metadata_of, name_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "promptfoo"
recognise = begins(rb'\s*\{\s*"evalId"[^,]*,\s*"results"\s*:\s*\{\s*"version"\s*:\s*3\b')
_EFFORT = tuple(map(Measure, ("latencyMs", "cost", "total_tokens")))
_ERROR = 2  # ResultFailureReason.ERROR


def read(path: Path, _: Known) -> list[Samples]:
    """Read one evaluation, of as many providers and prompts as it has."""
    document = json_document(path)
    results = fields_of(at(document, "results"))
    task = text_of(at(document, "config", "description")) or NAME
    written, run = str(results.get("timestamp") or ""), str(at(document, "evalId") or "")
    prompts = {str(k): one for k, one in enumerate(entries_of(results.get("prompts")))}
    n_prompts = Counter(str(at(prompt, "provider")) for prompt in prompts.values())
    found: dict[str, Samples] = {}

    def add(record: dict[str, Any]) -> None:
        prompt = prompts.get(str(record.get("promptIdx")))
        system = name_of(at(prompt, "provider"), "provider")
        system += f", {at(prompt, 'label')}" if n_prompts[system] > 1 else ""
        if system not in found:
            found[system] = Samples(path, NAME, "3", system, task, written, run, default="success")
        samples, case = found[system], record.get("testCase")
        samples.not_marks = frozenset(_EFFORT)
        test = [at(case, field) for field in ("vars", "assert", "description")]
        item = hash_of(json.dumps(test, sort_keys=True))
        position = samples.position(item)
        text = text_of(at(record, "prompt", "raw"))
        samples.items[item] = Item(None, text, None, metadata_of(at(case, "vars")))
        samples.n_samples += 1
        if record.get("failureReason") == _ERROR:
            samples.n_failed += 1
            return
        marks = {field: record.get(field) for field in ("success", "score")}
        samples.add_marks(position, fields_of(record.get("namedScores")) | marks)
        effort = record | {"total_tokens": at(record, "tokenUsage", "total")}
        samples.add_numbers(position, effort, _EFFORT)

    for_each("test", enumerate(entries_of(results.get("results")), start=1), add)
    return list(found.values())
