"""Reports of SWE-bench: of a run, of single instances, or of a submission to its leaderboard.

A report of a run, ``<model>.<run_id>.json``, lists instances by result. Unresolved instances, empty
patches and errors are wrong. Instances that were not submitted, or failed by the infrastructure,
are missing. ``report.json`` and ``per_instance_details.json`` have records with ``resolved``. A
submission, ``results/results.json``, lists resolved instances and some others; the rest is known
from the submissions next to it.
https://github.com/SWE-bench/SWE-bench, swebench/harness/reporting.py; …/experiments
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from irtkit.findings import Finding
from irtkit.io.json_text import at, companion, entries_of, fields_of, for_each, json_document
from irtkit.io.samples import Known, Samples, name_of, score_of

if TYPE_CHECKING:
    from pathlib import Path

    Results = dict[str, float | None]

_MISSING = ("infra_failure_ids", "ambiguous_failure_ids", "incomplete_ids")
_WRONG = ("unresolved_ids", "empty_patch_ids", "error_ids", "submitted_ids", "completed_ids")
_KEYS = (
    *(b'"total_instances"', b'"submitted_instances"', b'"resolved_ids"', b'"submitted_ids"'),
    *(b'"patch_is_None"', b'"patch_successfully_applied"'),
)
_DETAILS = "per_instance_details.json"
_SUBMISSION = "results/results.json"
_NO_RESULT = ("no_logs", "install_fail", "reset_failed", "test_errored", "test_timeout")
"""Lists of a submission whose instances ended in an error of the run."""
_LISTS = ("resolved", "no_generation", "generated", "with_logs", "no_apply", "applied", *_NO_RESULT)
_OF_SUBMISSION = re.compile(rf'\s*\{{\s*"(?:{"|".join(_LISTS)})"\s*:\s*\['.encode())
_MANY = 20
"""Least instances for `no-contrast`: at 14 % resolved, 1 run of 20 instances in 20 has none."""


def recognise(path: Path, head: bytes) -> bool:
    """Whether the file begins as a report does."""
    keys = any(key in head for key in _KEYS) or path.name == _DETAILS
    of_submission = _is_submission(path) and _OF_SUBMISSION.match(head) is not None
    return head.lstrip().startswith(b"{") and (keys or of_submission)


def read(path: Path, _: Known) -> list[Samples]:
    """Read one report."""
    report = json_document(path)
    respondent, run = _names(path)
    (written,) = re.findall(r"^\d{8}(?=_)", respondent) or [""]
    samples = Samples(path, respondent, "swe-bench", "instances", written, run)
    errors: set[str] = set()
    if "resolved_ids" in report:
        samples.version = str(report.get("schema_version", 1))
        results, errors = _of_run(samples, report)
    elif _is_submission(path):
        samples.version = "submission"
        results, errors = _of_submission(samples, report)
    else:
        results = _of_instances(samples, report)
    for instance, resolved in results.items():
        position = samples.sample(instance, "resolved", resolved)
        if instance in errors:
            samples.errors.append(position)
    answers = [resolved for resolved in results.values() if resolved is not None]
    if len(set(answers)) == 1 and len(answers) >= _MANY:
        result = "resolved" if answers[0] == 1 else "not resolved"
        _warn(samples, "no-contrast", n=len(answers), result=result)
    return [samples]


def _warn(samples: Samples, code: str, **values: Any) -> None:
    file = "/".join(samples.path.parts[-2:])
    samples.findings.append(Finding(code, "warning", {"file": file, **values}))


def _of_run(samples: Samples, report: dict[str, Any]) -> tuple[Results, set[str]]:
    """Results in the order of the names, and instances that are wrong by an error."""
    found: Results = {}
    values: Results = {"resolved_ids": 1.0, **dict.fromkeys(_MISSING), **dict.fromkeys(_WRONG, 0.0)}
    lists = {name: _listed(samples, report, name) for name in values}
    for name, value in values.items():
        for one in lists[name]:
            found.setdefault(one, value)
    return dict(sorted(found.items())), {one for one in lists["error_ids"] if found[one] == 0}


def _of_submission(samples: Samples, report: dict[str, Any]) -> tuple[Results, set[str]]:
    """Results in the order of the names, with the instances that only other submissions name."""
    lists = {name: _listed(samples, report, name) for name in report}
    resolved = set(lists.get("resolved", []))
    beside = sorted(samples.path.absolute().parents[2].glob(f"*/{_SUBMISSION}"))
    if len(beside) < 2:
        _warn(samples, "no-other-submission")
    known = _instances(tuple((one, one.stat().st_mtime_ns) for one in beside))
    known = known.union(*lists.values())
    errors = set(chain.from_iterable(lists.get(name, []) for name in _NO_RESULT))
    return {one: float(one in resolved) for one in sorted(known)}, errors - resolved


@functools.lru_cache(maxsize=4)
def _instances(submissions: tuple[tuple[Path, int], ...]) -> frozenset[str]:
    """Instances that submissions name, each given by path and time of its last change."""
    lists = chain.from_iterable(fields_of(companion(path)).values() for path, _ in submissions)
    names = chain.from_iterable(map(entries_of, lists))
    return frozenset(one for one in names if isinstance(one, str) and one.strip())


def _listed(samples: Samples, report: dict[str, Any], name: str) -> list[str]:
    """Names in a list of a report, with a warning about repeated names."""
    names = [name_of(one, name) for one in report.get(name, [])]
    if again := sorted(one for one, n in Counter(names).items() if n > 1):
        _warn(samples, "twice-named", list=name, names=again)
    return names


def _of_instances(samples: Samples, report: dict[str, Any]) -> Results:
    found: Results = {}

    def add(one: Any) -> None:
        score = None if one[1].get("infra_failure") else score_of(one[1]["resolved"])
        found[one[0]] = None if score is None or math.isnan(score) else score

    for_each("instance", ((name, (name, record)) for name, record in report.items()), add)
    path = samples.path
    resolved = at(companion(path.parent / _SUBMISSION), "resolved")
    if path.name == _DETAILS and isinstance(resolved, list):
        odd = {one for one, score in found.items() if score == (one not in resolved)}
        if odd:
            _warn(samples, "contradiction", other=_SUBMISSION, n=len(odd), names=sorted(odd))
    return found


def _is_submission(path: Path) -> bool:
    return path.absolute().match(_SUBMISSION)


def _names(path: Path) -> tuple[str, str]:
    """Respondent and name of the run, equal in all reports of one run.

    ``<model>.<run_id>.json`` and ``<run_id>/<model>/<instance>/report.json`` are one run. So are
    ``results/results.json``, ``per_instance_details.json`` and ``logs/<instance>/report.json`` in
    the folder of a submission. The / in a model is written __.
    """
    folder = path.absolute().parent
    model = folder.parent
    if path.name == "report.json" and model.name != "logs":
        return model.name.replace("__", "/"), f"{model.name}.{model.parent.name}"
    if path.name in {"report.json", _DETAILS} or _is_submission(path):
        submission = folder if path.name == _DETAILS else folder.parent
        submission = submission.parent if path.name == "report.json" else submission
        return submission.name.replace("__", "/"), f"{submission.parent.name}/{submission.name}"
    run = path.name.removesuffix(".gz").removesuffix(".json")
    return (run.rpartition(".")[0] or run).replace("__", "/"), run
