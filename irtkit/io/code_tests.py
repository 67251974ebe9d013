"""Results of benchmarks of code, where an answer is right if its program passes all tests.

Attempts at a problem are repeats. Except in SWE-bench, the name of the file names the model.

A report of a run of SWE-bench, ``<model>.<run_id>.json``, lists instances by result. Unresolved
instances, empty patches and errors are wrong. Instances that were not submitted, or failed by the
infrastructure, are missing. ``report.json`` and ``per_instance_details.json`` have records with
``resolved``. A submission to the leaderboard, ``results/results.json``, lists resolved instances
and some others. The other submissions in its folder show the rest.
https://github.com/SWE-bench/SWE-bench (swebench/harness/reporting.py, …/experiments)
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from irtkit.findings import Finding
from irtkit.io.json_text import (
    Record,
    begins,
    companion,
    entries_of,
    fields_of,
    for_each,
    json_document,
)
from irtkit.io.samples import (
    Described,
    Item,
    Samples,
    metadata_of,
    name_of,
    named_by_file,
    score_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_BIGCODE = re.compile(r"(.+?)(?:--main)?--bigcodebench(?:-hard)?-(complete|instruct)(?:--.*)?")
_LIVECODE = re.compile(
    r"(?:(.+)_)??(?:Scenario\.)?(codegeneration|selfrepair|testoutputprediction|codeexecution)"
    r"(?:_cot|_output|_[\d.]+)*_eval_all.json(?:\.gz)?"
)
_RUNNER_FAILED = re.compile(r"error_code\W+-5\b")
_MISSING = ("infra_failure_ids", "ambiguous_failure_ids", "incomplete_ids")
_WRONG = ("unresolved_ids", "empty_patch_ids", "error_ids", "submitted_ids", "completed_ids")
_DETAILS = "per_instance_details.json"
_SUBMISSION = "results/results.json"
_NO_RESULT = ("no_logs", "install_fail", "reset_failed", "test_errored", "test_timeout")
"""Lists of a submission whose instances ended in an error of the run."""
_LISTS = ("resolved", "no_generation", "generated", "with_logs", "no_apply", "applied", *_NO_RESULT)


def read_evalplus(path: Path, _: Described) -> list[Samples]:
    """Read ``<samples>.eval_results.json`` of evalplus, of as many tasks as it has.

    The metric ``plus`` (the default) is right if the original tests and the tests that evalplus
    added pass. https://github.com/evalplus/evalplus
    """
    respondent = named_by_file(path, r"[._-]?eval_results")
    by_task = dict[str, Samples]()
    for problem, attempt, written in _attempts(path):
        task, _slash, item = problem.rpartition("/")
        names = path, respondent.replace("--", "/", 1), task or "evalplus", "eval_results", written
        samples = by_task.setdefault(task, Samples(*names, default="plus"))
        base = attempt["base_status"]
        plus = attempt.get("plus_status")
        position = samples.sample(item, "base", base == "pass")
        if plus is not None:
            samples.add_marks(position, {"plus": base == plus == "pass"})
    return list(by_task.values())


def read_bigcodebench(path: Path, _: Described) -> list[Samples]:
    """Read ``<samples>_eval_results.json`` of BigCodeBench.

    Problems of "hard" are items of the whole. https://github.com/bigcode-project/bigcodebench
    """
    stem = named_by_file(path, r"[._-]?eval_results")
    named = _BIGCODE.fullmatch(stem)
    respondent, task = (named[1], f"bigcodebench-{named[2]}") if named else (stem, "bigcodebench")
    samples = Samples(path, respondent.replace("--", "/", 1), task, "eval_results")
    for problem, attempt, written in _attempts(path):
        samples.written = written
        item = problem.removeprefix("BigCodeBench/")
        samples.sample(item, "pass", attempt["status"] == "pass")
    return [samples] if samples.n_samples else []


def _attempts(path: Path) -> Iterator[tuple[str, Record, str]]:
    """Problem, result and date of every attempt in a file of evalplus or BigCodeBench."""
    document = fields_of(json_document(path))
    for problem, attempts in fields_of(document.get("eval")).items():
        for attempt in attempts:
            yield problem, attempt, str(document.get("date") or "")


def read_livecodebench(path: Path, _: Described) -> list[Samples]:
    """Read ``<model>/<scenario>_<n>_<temperature>_eval_all.json`` of LiveCodeBench.

    If the test runner failed, an attempt is wrong. https://github.com/LiveCodeBench/LiveCodeBench
    """
    named = _LIVECODE.fullmatch(path.name)
    model, scenario = named.groups() if named else (path.name.partition(".json")[0], None)
    task = f"livecodebench-{scenario}" if scenario else "livecodebench"
    samples = Samples(path, model or path.absolute().parent.name, task, "eval_all")

    def add(record: Record) -> None:
        names = ("question_id", "test_id", "id")
        item = "/".join(str(record[key]) for key in names if key in record)
        text = text_of(record.get("question_content")) or text_of(record.get("code"))
        facts = {key: record.get(key) for key in ("platform", "difficulty", "contest_date")}
        item_of = Item(None, text, text_of(record.get("output")), metadata_of(facts))
        for grade in record["graded_list"]:
            samples.sample(item, "pass", grade is True, item_of)
        if any(_RUNNER_FAILED.search(str(each)) for each in entries_of(record.get("metadata"))):
            samples.errors.append(samples.position(item))

    for_each("problem", enumerate(entries_of(json_document(path)), start=1), add)
    return [samples] if samples.n_samples else []


def read_swe_bench(path: Path, _: Described) -> list[Samples]:
    """Read one report of SWE-bench."""
    report = json_document(path)
    respondent, run = _names(path)
    (written,) = re.findall(r"^\d{8}(?=_)", respondent) or [""]
    samples = Samples(path, respondent, "swe-bench", "instances", written, run)
    errors = set[str]()
    results = dict[str, float | None]()
    if "resolved_ids" in report:
        samples.version = str(report.get("schema_version", 1))
        values: dict[str, float | None] = {"resolved_ids": 1.0, **dict.fromkeys(_MISSING)}
        values |= dict.fromkeys(_WRONG, 0.0)
        lists = _lists(report, values)
        results = {instance: values[name] for name in reversed(values) for instance in lists[name]}
        errors = {instance for instance in lists["error_ids"] if results[instance] == 0}
        results = dict(sorted(results.items()))
    elif path.absolute().match(_SUBMISSION):
        samples.version = "submission"
        lists = _lists(report, report)
        resolved = {*lists.get("resolved", [])}
        beside = sorted(path.absolute().parents[2].glob(f"*/{_SUBMISSION}"))
        if len(beside) < 2:
            file = "/".join(path.parts[-2:])
            samples.findings.append(Finding("no-other-submission", "warning", {"file": file}))
        named = _instances(tuple((file, file.stat().st_mtime_ns) for file in beside))
        errors = {instance for name in _NO_RESULT for instance in lists.get(name, [])} - resolved
        instances = sorted(named.union(*lists.values()))
        results = {instance: float(instance in resolved) for instance in instances}
    else:
        for name, record in report.items():
            results[name] = None if record.get("infra_failure") else score_of(record["resolved"])
    for instance, score in results.items():
        position = samples.sample(instance, "resolved", score)
        if instance in errors:
            samples.errors.append(position)
    return [samples]


@functools.lru_cache(maxsize=4)
def _instances(submissions: tuple[tuple[Path, int], ...]) -> frozenset[str]:
    """Instances that submissions name, each given by path and time of its last change."""
    names = set[str]()
    for path, _ in submissions:
        for instances in fields_of(companion(path)).values():
            texts = (name for name in entries_of(instances) if isinstance(name, str))
            names.update(filter(str.strip, texts))
    return frozenset(names)


def _lists(report: Record, names: Iterable[str]) -> dict[str, list[str]]:
    """Lists of instances in a report, by their names."""
    return {name: [name_of(instance, name) for instance in report.get(name, [])] for name in names}


def _names(path: Path) -> tuple[str, str]:
    """Respondent and name of the run, equal in all reports of one run.

    ``<model>.<run_id>.json`` and ``<run_id>/<model>/<instance>/report.json`` are one run. The files
    ``results/results.json``, ``per_instance_details.json`` and ``logs/<instance>/report.json`` of a
    submission are one run too. The / in a model is written __.
    """
    *_, above, model, _, name = "", "", *path.absolute().parts
    if name == "report.json" and model != "logs":
        return model.replace("__", "/"), f"{model}.{above}"
    if name in {"report.json", _DETAILS} or path.absolute().match(_SUBMISSION):
        levels = {"report.json": 2, _DETAILS: 0}.get(name, 1)
        submission = path.absolute().parents[levels]
        return submission.name.replace("__", "/"), f"{submission.parent.name}/{submission.name}"
    run = name.removesuffix(".gz").removesuffix(".json")
    return (run.rpartition(".")[0] or run).replace("__", "/"), run


READERS = {
    "livecodebench": (
        begins(
            r'(?:(?<=_eval_all\.json\0)|(?<=_eval_all\.json\.gz\0)|(?=.*"graded_list"))'
            r'\[\s*\{\s*"question_(?:title|id)"\s*:'
        ),
        read_livecodebench,
    ),
    "evalplus": (begins(r'\{\s*"date"\s*:\s*"[^"]*"\s*,\s*"hash"\s*:'), read_evalplus),
    "swe-bench": (
        begins(
            r'\{(?=.*"(?:total_instances|submitted_instances|resolved_ids|submitted_ids|'
            r'patch_is_None|patch_successfully_applied)")|'
            rf"(?<=/{_DETAILS}\0)\{{|"
            rf'(?<={_SUBMISSION}\0)\{{\s*"(?:{"|".join(_LISTS)})"\s*:\s*\['
        ),
        read_swe_bench,
    ),
    "bigcodebench": (begins(r'\{\s*"date"\s*:\s*"[^"]*"\s*,\s*"eval"\s*:'), read_bigcodebench),
}
