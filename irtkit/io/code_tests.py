"""Results of benchmarks of code, where an answer is right if its program passes all tests.

Attempts at a problem are repeats, and the name of the file says which model the results are of.

- evalplus, ``<samples>.eval_results.json``: the metric ``plus`` (the default) is right if the
  original tests and the tests that evalplus added pass. https://github.com/evalplus/evalplus
- BigCodeBench, ``<samples>_eval_results.json``. https://github.com/bigcode-project/bigcodebench
- LiveCodeBench, ``<model>/<scenario>_<n>_<temperature>_eval_all.json``.
  https://github.com/LiveCodeBench/LiveCodeBench
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
_RUNNER_FAILED = re.compile(r"error_code\W+-5\b")


class EvalPlus:
    """Reader of the results of evalplus."""

    NAME = "evalplus"
    recognise = staticmethod(begins(rb'\s*\{\s*"date"\s*:\s*"[^"]*"\s*,\s*"hash"\s*:'))

    @staticmethod
    def read(path: Path, _: Known) -> list[Samples]:
        """Read one file of results, of as many tasks as it has."""
        document = fields_of(json_document(path))
        respondent = named_by_file(path, r"[._-]?eval_results").replace("--", "/", 1)
        written, found = str(document.get("date") or ""), dict[str, Samples]()
        for problem, attempts in fields_of(document.get("eval")).items():
            task, _slash, item = problem.rpartition("/")
            about = path, EvalPlus.NAME, "eval_results", respondent, task or "evalplus", written
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


class BigCodeBench:
    """Reader of the results of BigCodeBench; problems of "hard" are items of the whole."""

    NAME = "bigcodebench"
    recognise = staticmethod(begins(rb'\s*\{\s*"date"\s*:\s*"[^"]*"\s*,\s*"eval"\s*:'))

    @staticmethod
    def read(path: Path, _: Known) -> list[Samples]:
        """Read one file of results."""
        document, stem = json_document(path), named_by_file(path, r"[._-]?eval_results")
        named = _BIGCODE.fullmatch(stem)
        respondent, task = (
            (named[1], f"bigcodebench-{named[2]}") if named else (stem, "bigcodebench")
        )
        about = path, BigCodeBench.NAME, "eval_results", respondent.replace("--", "/", 1), task
        samples = Samples(*about, str(at(document, "date") or ""))

        def add(attempts: Any) -> None:
            for attempt in entries_of(attempts[1]) or [{}]:
                name = attempts[0].removeprefix("BigCodeBench/")
                samples.sample(name, "pass", attempt["status"] == "pass")

        problems = fields_of(at(document, "eval")).items()
        for_each("problem", ((problem, (problem, each)) for problem, each in problems), add)
        return [samples] if samples.n_samples else []


class LiveCodeBench:
    """Reader of the problems of LiveCodeBench; if the test runner failed, an attempt is wrong."""

    NAME = "livecodebench"
    _BEGINS = staticmethod(begins(rb'\s*\[\s*\{\s*"question_(?:title|id)"\s*:'))

    @classmethod
    def recognise(cls, path: Path, head: bytes) -> bool:
        """Whether the file begins as a list of problems, and is named or graded as evaluated."""
        graded = b'"graded_list"' in head or "_eval_all.json" in path.name
        return cls._BEGINS(path, head) and graded

    @staticmethod
    def is_companion(path: Path) -> bool:
        """Whether the evaluated problems are beside the answers or the totals."""
        stem = path.name.removesuffix(".json").removesuffix("_eval")
        return path.suffix == ".json" and path.with_name(f"{stem}_eval_all.json").exists()

    @staticmethod
    def read(path: Path, _: Known) -> list[Samples]:
        """Read the evaluated problems of one model."""
        named = _LIVECODE.fullmatch(path.name)
        model, scenario = named.groups() if named else (path.name.partition(".json")[0], None)
        task = f"livecodebench-{scenario}" if scenario else "livecodebench"
        respondent = model or path.absolute().parent.name
        samples = Samples(path, LiveCodeBench.NAME, "eval_all", respondent, task)

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
