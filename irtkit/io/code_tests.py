"""Results of benchmarks of code, where an answer is right if its program passes all tests.

Attempts at a problem are repeats, and the name of the file says which model the results are of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from irtkit.io.json_text import at, begins, entries_of, fields_of, for_each, json_document
from irtkit.io.samples import Item, Known, Samples, metadata_of, named_by_file, text_of

if TYPE_CHECKING:
    from pathlib import Path

_BIGCODE = re.compile(r"(.+?)(?:--main)?--bigcodebench(?:-hard)?-(complete|instruct)(?:--.*)?")
_LIVECODE = re.compile(
    r"(?:(.+)_)??(?:Scenario\.)?(codegeneration|selfrepair|testoutputprediction|codeexecution)"
    r"(?:_cot|_output|_[\d.]+)*_eval_all.json(?:\.gz)?"
)
_PROBLEMS = begins(rb'\s*\[\s*\{\s*"question_(?:title|id)"\s*:')
_RUNNER_FAILED = re.compile(r"error_code\W+-5\b")

is_evalplus = begins(rb'\s*\{\s*"date"\s*:\s*"[^"]*"\s*,\s*"hash"\s*:')
is_bigcodebench = begins(rb'\s*\{\s*"date"\s*:\s*"[^"]*"\s*,\s*"eval"\s*:')


def read_evalplus(path: Path, _: Known) -> list[Samples]:
    """Read ``<samples>.eval_results.json`` of evalplus, of as many tasks as it has.

    The metric ``plus`` (the default) is right if the original tests and the tests that evalplus
    added pass. https://github.com/evalplus/evalplus
    """
    document = fields_of(json_document(path))
    respondent = named_by_file(path, r"[._-]?eval_results").replace("--", "/", 1)
    written, found = str(document.get("date") or ""), dict[str, Samples]()
    for problem, attempts in fields_of(document.get("eval")).items():
        task, _slash, item = problem.rpartition("/")
        about = path, respondent, task or "evalplus", "eval_results", written
        samples = found.setdefault(task, Samples(*about, default="plus"))
        if isinstance(attempts, dict):  # before 0.3: {"base": [[status, details]], "plus": …}
            base, plus = (attempts.get(one) or [] for one in ("base", "plus"))
            plus = plus or [[None]] * len(base)
            statuses = [(one[0], other[0]) for one, other in zip(base, plus, strict=True)]
        else:
            statuses = [(one["base_status"], one.get("plus_status")) for one in attempts]
        for base, plus in statuses:
            position = samples.sample(item, "base", base == "pass")
            if plus is not None:
                samples.add_marks(position, {"plus": base == plus == "pass"})
    return list(found.values())


def read_bigcodebench(path: Path, _: Known) -> list[Samples]:
    """Read ``<samples>_eval_results.json`` of BigCodeBench.

    Problems of "hard" are items of the whole. https://github.com/bigcode-project/bigcodebench
    """
    document, stem = json_document(path), named_by_file(path, r"[._-]?eval_results")
    named = _BIGCODE.fullmatch(stem)
    respondent, task = (named[1], f"bigcodebench-{named[2]}") if named else (stem, "bigcodebench")
    about = path, respondent.replace("--", "/", 1), task, "eval_results"
    samples = Samples(*about, str(at(document, "date") or ""))

    def add(attempts: Any) -> None:
        for attempt in entries_of(attempts[1]) or [{}]:
            name = attempts[0].removeprefix("BigCodeBench/")
            samples.sample(name, "pass", attempt["status"] == "pass")

    problems = fields_of(at(document, "eval")).items()
    for_each("problem", ((problem, (problem, each)) for problem, each in problems), add)
    return [samples] if samples.n_samples else []


def is_livecodebench(path: Path, head: bytes) -> bool:
    """Whether the file begins as a list of problems, and is named or graded as evaluated."""
    graded = b'"graded_list"' in head or "_eval_all.json" in path.name
    return _PROBLEMS(path, head) and graded


def is_beside_livecodebench(path: Path) -> bool:
    """Whether the evaluated problems are beside the answers or the totals."""
    stem = path.name.removesuffix(".json").removesuffix("_eval")
    return path.suffix == ".json" and path.with_name(f"{stem}_eval_all.json").exists()


def read_livecodebench(path: Path, _: Known) -> list[Samples]:
    """Read ``<model>/<scenario>_<n>_<temperature>_eval_all.json`` of LiveCodeBench.

    If the test runner failed, an attempt is wrong. https://github.com/LiveCodeBench/LiveCodeBench
    """
    named = _LIVECODE.fullmatch(path.name)
    model, scenario = named.groups() if named else (path.name.partition(".json")[0], None)
    task = f"livecodebench-{scenario}" if scenario else "livecodebench"
    samples = Samples(path, model or path.absolute().parent.name, task, "eval_all")

    def add(record: dict[str, Any]) -> None:
        names = ("question_id", "test_id", "id")
        item = "/".join(str(record[key]) for key in names if key in record)
        text = text_of(record.get("question_content")) or text_of(record.get("code"))
        about = {key: record.get(key) for key in ("platform", "difficulty", "contest_date")}
        item_of = Item(None, text, text_of(record.get("output")), metadata_of(about))
        for grade in record["graded_list"]:
            samples.sample(item, "pass", grade is True, item_of)
        if any(_RUNNER_FAILED.search(str(each)) for each in entries_of(record.get("metadata"))):
            samples.errors.append(samples.position(item))

    for_each("problem", enumerate(entries_of(json_document(path)), start=1), add)
    return [samples] if samples.n_samples else []
