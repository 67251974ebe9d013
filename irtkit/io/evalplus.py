"""Results of evalplus: ``<samples>.eval_results.json``, in older versions ``_eval_results.json``.

Each problem has a list of attempts, which are repeats. The metric ``plus``, the default, is right
where the tests of the original benchmark pass and those that evalplus added as well; ``base`` is
right where the former do. The file does not name the model: its own name does.
https://github.com/evalplus/evalplus, evalplus/evaluate.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from irtkit.checks import short
from irtkit.io.json_text import fields_of, json_document
from irtkit.io.samples import Known, Measure, Samples, named_by_file

if TYPE_CHECKING:
    from pathlib import Path

NAME = "evalplus"
_BEGINS = re.compile(rb'\s*\{\s*"date"\s*:\s*"[^"]*"\s*,\s*"hash"\s*:')
_BASE, _PLUS = Measure("base"), Measure("plus")


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins with the date and hash of an evaluation."""
    return _BEGINS.match(head) is not None


def read(path: Path, _: Known = ()) -> list[Samples]:
    """Read one file of results."""
    document = json_document(path)
    results = fields_of(document).get("eval")
    if not isinstance(results, dict):
        raise ValueError("the file has no results ('eval')")
    respondent = named_by_file(path, r"[._-]?eval_results").replace("--", "/", 1)
    written = document.get("date")
    written = written if isinstance(written, str) else ""
    found: dict[str, Samples] = {}
    for problem, attempts in results.items():
        task, _, item = problem.rpartition("/")
        task = task or "evalplus"
        samples = found.get(task)
        if samples is None:
            samples = Samples(path, NAME, "eval_results", respondent, task, written)
            samples.default = _PLUS.metric
            found[task] = samples
        position = samples.position(item)
        for base, plus in _statuses(problem, attempts):
            samples.n_samples += 1
            samples.add(position, _BASE, float(base == "pass"))
            if plus is not None:
                samples.add(position, _PLUS, float(base == plus == "pass"))
    return list(found.values())


def _statuses(problem: str, attempts: Any) -> list[tuple[Any, Any]]:
    """What became of every attempt on the base tests and on those added, None without these."""
    if isinstance(attempts, dict):  # before 0.3: {"nfiles": …, "base": [[status, details]], "plus"}
        base, plus = attempts.get("base"), attempts.get("plus")
        rows = zip(base or [], plus or [[None]] * len(base or []), strict=True)
        return [(one[0], other[0]) for one, other in rows]
    if not isinstance(attempts, list):
        raise ValueError(f"{short(problem)} has no list of attempts")
    statuses = []
    for attempt in attempts:
        if not isinstance(attempt, dict) or "base_status" not in attempt:
            raise ValueError(f"{short(problem)} has an attempt without base_status")
        statuses.append((attempt["base_status"], attempt.get("plus_status")))
    return statuses
