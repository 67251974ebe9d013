"""Reports of SWE-bench: of a run, of single instances, or of a submission to its leaderboard.

A report of a run, ``<model>.<run_id>.json``, lists instances by what became of them. Resolved ones
are right; unresolved ones, empty patches and patches that ended in an error are wrong (of the last
``errors="missing"`` says otherwise); instances that were not submitted, or that the infrastructure
failed, are missing. ``report.json`` and ``per_instance_details.json`` map instances to records with
``resolved``.

A submission, ``<split>/<submission>/results/results.json``, lists those that were resolved, those
without a patch and those without logs, which are errors. What it names nowhere was not resolved, so
that the instances that the submissions beside it name are wrong; those that none names are unknown.
https://github.com/SWE-bench/SWE-bench, swebench/harness/reporting.py;
https://github.com/SWE-bench/experiments
"""

from __future__ import annotations

import functools
import re
import warnings
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from irtkit.checks import first_names, short
from irtkit.io.json_text import companion, entries_of, json_document
from irtkit.io.samples import Known, Measure, Samples, name_of, score_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "swe-bench"
_TASK = "swe-bench"
_RESOLVED = Measure("resolved")
_MISSING = ("infra_failure_ids", "ambiguous_failure_ids", "incomplete_ids")
_WRONG = ("unresolved_ids", "empty_patch_ids", "error_ids", "submitted_ids", "completed_ids")
_OF_RUN = (b'"total_instances"', b'"submitted_instances"', b'"resolved_ids"', b'"submitted_ids"')
_OF_INSTANCES = (b'"patch_is_None"', b'"patch_successfully_applied"')
_DETAILS = "per_instance_details.json"
_SUBMISSION = ("results", "results.json")
_NO_RESULT = ("no_logs", "install_fail", "reset_failed", "test_errored", "test_timeout")
"""Lists of a submission whose instances ended in an error of the run."""
_LISTS = ("resolved", "no_generation", "generated", "with_logs", "no_apply", "applied", *_NO_RESULT)
_OF_SUBMISSION = re.compile(rf'\s*\{{\s*"(?:{"|".join(_LISTS)})"\s*:\s*\['.encode())
_MANY = 20
"""Instances from which on none resolved is odd: of 14 % it happens in one run of 20."""
_DATED = re.compile(r"\d{8}(?=_)")


class _Report(NamedTuple):
    """What became of instances: 1 resolved, 0 not, None where there is no answer."""

    resolved: dict[str, float | None]
    errors: frozenset[str] = frozenset()
    """Those that count as wrong because the run ended in an error."""


def recognise(path: Path, head: bytes) -> bool:
    """Whether the file begins as a report does."""
    keys = any(key in head for key in (*_OF_RUN, *_OF_INSTANCES)) or path.name == _DETAILS
    of_submission = _is_submission(path) and _OF_SUBMISSION.match(head) is not None
    return head.lstrip().startswith(b"{") and (keys or of_submission)


def read(path: Path, _: Known = ()) -> list[Samples]:
    """Read one report."""
    report = json_document(path)
    if not isinstance(report, dict):
        raise ValueError("the report is no JSON object")
    respondent, run = _names(path)
    if "resolved_ids" in report:
        found, version = _of_run(path, report), str(report.get("schema_version", 1))
    elif _is_submission(path):
        found, version = _of_submission(path, report), "submission"
    else:
        found, version = _of_instances(path, report), "instances"
    dated = _DATED.match(respondent)
    written = dated[0] if dated else ""
    samples = Samples(path, NAME, f"{version:.20}", respondent, _TASK, written, run)
    for instance, resolved in found.resolved.items():
        position = samples.position(instance)
        samples.n_samples += 1
        samples.n_failed += resolved is None
        samples.add(position, _RESOLVED, float("nan") if resolved is None else resolved)
        if instance in found.errors:
            samples.errors.append(position)
    answers = {resolved for resolved in found.resolved.values() if resolved is not None}
    if len(answers) == 1 and samples.n_samples - samples.n_failed >= _MANY:
        warnings.warn(
            f"{path.parent.name}/{path.name}: {'all' if answers == {1.0} else 'none'} of the "
            f"{samples.n_samples - samples.n_failed} instances are resolved; is the report whole?",
            stacklevel=2,
        )
    return [samples]


def _of_run(path: Path, report: dict[str, Any]) -> _Report:
    """Instances in the order of their names."""
    found: dict[str, float | None] = {}
    values = {"resolved_ids": 1.0, **dict.fromkeys(_MISSING), **dict.fromkeys(_WRONG, 0.0)}
    for name, value in values.items():
        for one in _listed(path, report, name):
            found.setdefault(one, value)
    errors = (one for one in report.get("error_ids", []) if found[str(one)] == 0)
    return _Report(dict(sorted(found.items())), frozenset(map(str, errors)))


def _of_submission(path: Path, report: dict[str, Any]) -> _Report:
    """Instances in the order of their names, with those that only other submissions name."""
    lists = {name: _listed(path, report, name) for name in report}
    resolved = set(lists.get("resolved", []))
    known = resolved.union(*lists.values())
    split = path.absolute().parent.parent.parent
    beside = sorted(split.glob("/".join(("*", *_SUBMISSION))))
    if len(beside) < 2:
        warnings.warn(
            f"{'/'.join(path.parts[-3:])} names what was resolved, and not what was not: that is "
            "known of the submissions beside it, and there are none",
            stacklevel=2,
        )
    known |= _instances(tuple((one, one.stat().st_mtime_ns) for one in beside))
    found: dict[str, float | None] = {one: float(one in resolved) for one in sorted(known)}
    errors = frozenset(chain.from_iterable(lists.get(name, []) for name in _NO_RESULT))
    return _Report(found, errors - resolved)


@functools.lru_cache(maxsize=4)
def _instances(submissions: tuple[tuple[Path, int], ...]) -> frozenset[str]:
    """Instances that submissions name; of each its path and when it changed."""
    lists = chain.from_iterable(companion(path).values() for path, _ in submissions)
    names = chain.from_iterable(map(entries_of, lists))
    return frozenset(one for one in names if isinstance(one, str) and one.strip())


def _listed(path: Path, report: dict[str, Any], name: str) -> list[str]:
    """Names in a list of a report, and a warning of those that are there twice."""
    ids = report.get(name, [])
    if not isinstance(ids, list):
        raise ValueError(f"{name} must be a list, got {ids!r:.80}")
    names = [name_of(one, name) for one in ids]
    if len(set(names)) < len(names):
        again = sorted(one for one, n in Counter(names).items() if n > 1)
        warnings.warn(
            f"{path.name}: {name} names an instance twice, which counts once: {first_names(again)}",
            stacklevel=2,
        )
    return names


def _of_instances(path: Path, report: dict[str, Any]) -> _Report:
    found: dict[str, float | None] = {}
    for instance, record in report.items():
        if not isinstance(record, dict) or "resolved" not in record:
            raise ValueError(f"instance {short(instance)} has no record with 'resolved'")
        score = score_of(record["resolved"])
        if score is None:
            raise ValueError(f"instance {short(instance)}: resolved is {record['resolved']!r:.80}")
        missing = score != score or bool(record.get("infra_failure"))  # noqa: PLR0124 - NaN
        found[instance] = None if missing else score
    summary = companion(path.parent.joinpath(*_SUBMISSION)) if path.name == _DETAILS else {}
    resolved = summary.get("resolved")
    if isinstance(resolved, list):
        named = {one for one in resolved if isinstance(one, str)}
        known = {one: bool(score) for one, score in found.items() if score is not None}
        odd = sorted(one for one, right in known.items() if right != (one in named))
        if odd:
            warnings.warn(
                f"{path.parent.name}/{_DETAILS} and {'/'.join(_SUBMISSION)} differ on whether "
                f"{len(odd)} instances are resolved, and the former counts: {first_names(odd)}",
                stacklevel=2,
            )
    return _Report(found)


def _is_submission(path: Path) -> bool:
    return (path.absolute().parent.name, path.name) == _SUBMISSION


def _names(path: Path) -> tuple[str, str]:
    """Respondent, and what its run is called, in all reports of it.

    ``<model>.<run_id>.json`` and ``<run_id>/<model>/<instance>/report.json`` are of one run, and so
    are ``<submission>/results/results.json``, ``<submission>/per_instance_details.json`` and
    ``<submission>/logs/<instance>/report.json``. The / of a model is written __; it may hold dots.
    """
    folder = path.absolute().parent
    if path.name == _DETAILS:
        submission = folder
    elif _is_submission(path):
        submission = folder.parent
    elif path.name == "report.json":
        model = folder.parent
        if model.name != "logs":
            return model.name.replace("__", "/"), f"{model.name}.{model.parent.name}"
        submission = model.parent
    else:
        run = path.name.removesuffix(".gz").removesuffix(".json")
        return (run.rpartition(".")[0] or run).replace("__", "/"), run
    return submission.name.replace("__", "/"), f"{submission.parent.name}/{submission.name}"
