"""Reports of SWE-bench: of a run, ``<model>.<run_id>.json``, or of single instances.

A report of a run lists instances by what became of them. Resolved ones are right; unresolved ones,
empty patches and patches that ended in an error are wrong; instances that were not submitted, or
that the infrastructure failed, are missing. ``report.json`` and ``per_instance_details.json`` map
instances to records with ``resolved``.
https://github.com/SWE-bench/SWE-bench, swebench/harness/reporting.py
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from irtkit.checks import first_names
from irtkit.io.json_text import json_document
from irtkit.io.samples import Known, Measure, Samples, changed, name_of, score_of

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


def recognise(path: Path, head: bytes) -> bool:
    """Whether the file begins as a report does."""
    keys = any(key in head for key in (*_OF_RUN, *_OF_INSTANCES)) or path.name == _DETAILS
    return head.lstrip().startswith(b"{") and keys


def read(path: Path, _: Known = ()) -> list[Samples]:
    """Read one report."""
    report = json_document(path)
    if not isinstance(report, dict):
        raise ValueError("the report is no JSON object")
    of_run = "resolved_ids" in report
    respondent = _model_of_run(path) if of_run else _model_of_instances(path)
    version = f"schema_version {report.get('schema_version', 1)!s:.20}" if of_run else "instances"
    samples = Samples(path, NAME, version, respondent, _TASK, changed(path))
    for instance, resolved in (_of_run if of_run else _of_instances)(path, report):
        position = samples.position(instance)
        samples.n_samples += 1
        samples.n_failed += resolved is None
        samples.add(position, _RESOLVED, float("nan") if resolved is None else resolved)
    return [samples]


def _of_run(path: Path, report: dict[str, Any]) -> list[tuple[str, float | None]]:
    """Instances in the order of their names, None where there is no answer."""
    found: dict[str, float | None] = {}
    for name, value in (
        ("resolved_ids", 1.0),
        *((name, None) for name in _MISSING),
        *((name, 0.0) for name in _WRONG),
    ):
        ids = report.get(name, [])
        if not isinstance(ids, list):
            raise ValueError(f"{name} must be a list, got {ids!r:.80}")
        names = [name_of(one, name) for one in ids]
        if len(set(names)) < len(names):
            again = sorted({one for one in names if names.count(one) > 1})
            warnings.warn(
                f"{path.name}: {name} names an instance twice, which counts once: "
                f"{first_names(again)}",
                stacklevel=2,
            )
        for one in names:
            found.setdefault(one, value)
    return sorted(found.items())


def _of_instances(_: Path, report: dict[str, Any]) -> list[tuple[str, float | None]]:
    found: list[tuple[str, float | None]] = []
    for instance, record in report.items():
        if not isinstance(record, dict) or "resolved" not in record:
            raise ValueError(f"instance {instance!r} has no record with 'resolved'")
        score = score_of(record["resolved"])
        if score is None:
            raise ValueError(f"instance {instance!r}: resolved is {record['resolved']!r:.80}")
        missing = score != score or bool(record.get("infra_failure"))  # noqa: PLR0124 - NaN
        found.append((instance, None if missing else score))
    return found


def _model_of_run(path: Path) -> str:
    """``<model>.<run_id>.json``, where the model's / is written __; both may hold dots."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    return (stem.rpartition(".")[0] or stem).replace("__", "/")


def _model_of_instances(path: Path) -> str:
    """``<model>/<instance>/report.json``, or ``<submission>/per_instance_details.json``."""
    folder = path.absolute().parent
    return (folder if path.name == _DETAILS else folder.parent).name.replace("__", "/")
