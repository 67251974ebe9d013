"""Evaluation logs: which files are logs, their samples as one long table, and the response matrix.

An item is ``task/item``. If one respondent ran a task several times, the newest run counts, unless
``repeats`` says otherwise. Copies and retries of a run never count as further runs. Several metrics
or filters are never repeats: the user chooses one.
"""

from __future__ import annotations

import glob
import hashlib
import math
import os
import re
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique, first_names
from irtkit.files import head_of
from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.io import (
    code_tests,
    every_eval_ever,
    helm,
    inspect_logs,
    lm_eval,
    open_llm,
    openml,
    other_harnesses,
    swe_bench,
)
from irtkit.io.samples import Reader, scores_of
from irtkit.io.text import naming
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import listed
from irtkit.responses.marking import Coder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.io.samples import Item, Known, Samples
    from irtkit.responses.columns import Names
    from irtkit.responses.tables import Settings

_OTHER = other_harnesses
LOG_FORMATS = {
    "inspect": Reader(inspect_logs.recognise, inspect_logs.read, inspect_logs.is_companion),
    "lm-eval": Reader(lm_eval.recognise, lm_eval.read, lm_eval.is_companion),
    "every-eval-ever": Reader(
        every_eval_ever.recognise, every_eval_ever.read, every_eval_ever.is_companion
    ),
    "helm": Reader(helm.recognise, helm.read, helm.is_companion),
    "simple-evals": Reader(
        _OTHER.is_simple_evals, _OTHER.read_simple_evals, _OTHER.is_beside_simple_evals
    ),
    "livecodebench": Reader(
        code_tests.is_livecodebench,
        code_tests.read_livecodebench,
        code_tests.is_beside_livecodebench,
    ),
    "evalplus": Reader(code_tests.is_evalplus, code_tests.read_evalplus),
    "swe-bench": Reader(swe_bench.recognise, swe_bench.read),
    "openml": Reader(openml.recognise, openml.read),
    "open-llm": Reader(open_llm.recognise, open_llm.read),
    "openai-evals": Reader(_OTHER.is_openai_evals, _OTHER.read_openai_evals),
    "promptfoo": Reader(_OTHER.is_promptfoo, _OTHER.read_promptfoo),
    "livebench": Reader(_OTHER.is_livebench, _OTHER.read_livebench),
    "opencompass": Reader(_OTHER.is_opencompass, _OTHER.read_opencompass),
    "bigcodebench": Reader(code_tests.is_bigcodebench, code_tests.read_bigcodebench),
}
"""Readers by the names of their formats."""
_TABLE = re.compile(r".*\.(csv|tsv|parquet|jsonl|jsonlines|xlsx)(\.gz)?", re.IGNORECASE)
_RUN = (
    *("path", "format", "version", "respondent", "task", "written", "run", "unfinished"),
    *("n_samples", "n_failed", "default", "doubt"),
)
"""Fields of `Samples` that are columns of the table of runs."""
_SYSTEM, _KIND = ["respondent", "task"], ["format", "task"]
_REPEATS = {"count": "count", "first": "first", "last": "last", "majority": "mean>=0.5"}
_CHOICES = tuple(Remedy({"repeats": one}, purpose) for purpose, one in _REPEATS.items())
_SHOWN = 20  # Metrics, filters or tasks that a message lists.


@dataclass(eq=False)
class Logs:
    """The samples of many logs: one long table, and small tables of its runs, marks and items."""

    samples: list[Samples] = field(default_factory=list)
    """One entry per run, without its items and scores."""
    described: dict[tuple[str, str, str | None], Item] = field(default_factory=dict)
    """Description of each item, by task, name and content."""
    parts: list[NDArray[np.int32]] = field(default_factory=list)
    """Rows of `items` of each run, with or without a score."""
    skipped: list[Path] = field(default_factory=list)
    """Files in folders that are not logs."""
    notes: list[Finding] = field(default_factory=list)
    """Findings about the files."""
    findings: list[Finding] = field(default_factory=list)
    """All findings about the matrix made last."""
    chosen: list[str] = field(default_factory=list)
    """Names of the marks that the matrix made last is of."""

    def __post_init__(self) -> None:
        self._numbers: dict[tuple[str, str, str | None], int] = {}
        self._latest: dict[str, tuple[Any, NDArray[np.int32]]] = {}
        self._scores: list[tuple[Any, ...]] = []

    def add(self, samples: Samples) -> None:
        """Add the samples of a run."""
        keys = [(samples.task, name, item.content) for name, item in samples.items.items()]
        if keys != self._latest.get(samples.task, ((),))[0]:  # most runs have the same items
            for key, item in zip(keys, samples.items.values(), strict=True):
                self.described.setdefault(key, item)
            numbers = [self._numbers.setdefault(key, len(self._numbers)) for key in keys]
            self._latest[samples.task] = keys, np.array(numbers, np.int32)
        part = self._latest[samples.task][1]
        for one, (places, values) in samples.scores.items():
            positions = np.array(places, np.int32)
            scores, is_mark = scores_of(one, values), one not in samples.not_marks
            missing = np.isnan(scores)
            if is_mark or not missing.all():
                binary = bool(((scores == 0) | (scores == 1) | missing).all())
                mark = len(self.samples), len(scores), *one, str(one), is_mark, binary
                wrong = np.isin(positions, samples.errors)
                self._scores.append((mark, part[positions], scores, wrong))
        samples.clear()
        self.samples.append(samples)
        self.parts.append(part)
        self.notes += samples.findings

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run: file, format, respondent, task, time, status and counts."""
        columns = {name: [getattr(one, name) for one in self.samples] for name in _RUN}
        columns["n_errors"] = [len(one.errors) for one in self.samples]
        return _frame(columns)

    @cached_property
    def items(self) -> pd.DataFrame:
        """One row per task, name and content of an item; `label` is ``task/item``."""
        items = _frame([*self.described], columns=["task", "name", "content"])
        return items.assign(label=items["task"] + "/" + items["name"])

    @cached_property
    def marks(self) -> pd.DataFrame:
        """One row per run and measure, in the order of time.

        `name` is the metric, with its filter if it has several.
        """
        self._scores.sort(key=lambda one: self.samples[one[0][0]].written)
        columns = ["run", "n", "metric", "filter", "measure", "is_mark", "binary"]
        marks = _frame([mark for mark, *_ in self._scores], columns=columns)
        marks = marks.join(self.runs[_KIND], on="run")
        several = marks.groupby([*_KIND, "metric"])["filter"].transform("nunique") > 1
        return marks.assign(name=marks["measure"].where(several, marks["metric"]))

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The long table: row of `marks`, row of `items`, value, and whether it is an error."""
        mark = np.arange(len(self.marks), dtype=np.int32).repeat(self.marks["n"])
        parts = zip(*(one[1:] for one in self._scores), strict=True)
        table = dict(zip(("item", "value", "error"), map(np.concatenate, parts), strict=True))
        self._scores = []
        return _frame({"mark": mark, **table}, copy=False)

    def summary(self) -> pd.DataFrame:
        """One row per format and task: systems, counts, names of marks and of other numbers."""
        runs = self.runs[self.runs.index.isin(self.marks["run"])]
        rows: dict[Any, dict[str, Any]] = {}
        for kind, group in runs.drop(index=_copies(self, runs)).groupby(_KIND, sort=False):
            common = _common(self, group)
            rows[kind] = {
                "systems": group["respondent"].unique().tolist(),
                **group[["n_samples", "n_failed", "n_errors"]].sum(),
                "metrics": common.loc[common["is_mark"], "measure"].tolist(),
                "numbers": common.loc[~common["is_mark"], "measure"].tolist(),
            }
        table = _frame([*rows.values()])
        return table.set_index(_frame([*rows], columns=_KIND).set_index(_KIND).index)


def _frame(table: Any, **how: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(table, **how)


def log_format(path: Path, head: bytes) -> str | None:
    """Return the format of a log that begins with `head`, None if it is not a log."""
    return next((name for name, kind in LOG_FORMATS.items() if kind.recognise(path, head)), None)


def log_format_of(file: Path) -> str | None:
    """Return the format of a log, None for a companion, an unreadable file or any other file."""
    try:
        head = b"" if is_companion(file) else head_of(file)
    except (OSError, EOFError, ValueError):
        return None
    return log_format(file, head) if head.strip() else None


def holds_logs(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an evaluation log, or a file of a folder or pattern is."""
    return any(log_format_of(file) is not None for file in files_of(path))


def is_companion(path: Path) -> bool:
    """Whether a file describes the logs next to it and is not a log itself."""
    return any(reader.is_companion(path) for reader in LOG_FORMATS.values())


def is_table(path: Path) -> bool:
    """Whether a file in a folder has the name of a table."""
    return _TABLE.fullmatch(path.name) is not None


def stands_for_several(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder, or a pattern that is not the name of a file."""
    name = os.fspath(path)
    return Path(name).is_dir() or (glob.has_magic(name) and not Path(name).exists())


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a pattern or in a folder, at any depth, sorted by name.

    Hidden files and folders are left out. A folder that cannot be opened raises OSError.
    """

    def refuse(error: OSError) -> None:
        raise type(error)(f"{error.filename}: the folder cannot be read: {error.strerror}")

    name = os.fspath(path)
    if stands_for_several(name) and not Path(name).is_dir():
        found = [Path(one) for one in glob.glob(name, recursive=True)]  # noqa: PTH207 - Path's refuses /
        files = [file for one in found for file in (files_of(one) if one.is_dir() else [one])]
        if not files:
            raise FileNotFoundError(f"{name}: no file is of this pattern")
        return sorted(set(files))
    if not Path(name).exists():
        raise FileNotFoundError(f"{name}: no such file")
    if not Path(name).is_dir():
        return [Path(name)]
    files = []
    for folder, folders, names in os.walk(name, onerror=refuse):
        folders[:] = [one for one in folders if not one.startswith(".")]
        files += [Path(folder, one) for one in names if not one.startswith(".")]
    if not files:
        raise ValueError(f"{name}: the folder holds no files")
    return sorted(files)


def read_logs(files: Sequence[Path], *, form: str | None = None, strict: bool = False) -> Logs:
    """Read the logs among files; with `form`, only the logs of that format.

    Unless `strict`, an unreadable file is left out if another log can be read.
    """
    logs = Logs()
    errors: list[ReadingError] = []
    folder = Path(os.path.commonpath([file.absolute().parent for file in files]))
    for file in files:
        name = form if form is not None and len(files) == 1 else log_format_of(file)
        if name is None or form not in {None, name}:
            logs.skipped += [] if is_companion(file) else [file]
            continue
        try:
            for samples in _read(file, name, logs.described):
                samples.format = name
                logs.add(samples)
        except ReadingError as error:
            error.place = str(file.absolute().relative_to(folder))
            if strict:
                raise
            errors.append(error)
    if errors and not logs.samples:
        raise errors[0]
    for one in errors:
        logs.notes.append(_warning("unreadable-file", file=one.place, reason=one.finding.reason))
    return logs


def _read(file: Path, name: str, known: Known) -> list[Samples]:
    with naming(file):
        try:
            found = LOG_FORMATS[name].read(file, known)
        except KeyError as error:
            raise failed("log-field", place=file.name, field=error.args[0]) from error
        except (TypeError, AttributeError) as error:
            raise ValueError(f"the log of {name} is malformed: {error}") from error
        if not found:
            raise ValueError(f"the log of {name} holds no samples")
        return found


def matrix_of(logs: Logs, settings: Settings) -> ResponseMatrix:
    """Return the response matrix of logs."""
    import pandas as pd

    if settings.errors not in {None, "missing"}:
        raise ValueError(f"errors must be 'missing' or None, got {settings.errors!r:.80}")
    logs.findings = [*logs.notes, *skipped(logs)]
    runs = _chosen_runs(logs, settings.task)
    if settings.repeats == "error":
        runs = _newest(logs, runs)
    logs.findings += _unfinished(logs, runs)
    marks = _chosen_marks(logs, runs, settings)
    logs.chosen = marks["name"].unique().tolist()
    items = _chosen_items(logs, runs)
    respondents, labels = tuple(runs["respondent"].unique()), tuple(items["label"])
    row_of = np.zeros(len(logs.samples), np.int32)
    row_of[runs.index] = runs["respondent"].factorize()[0]
    column_of = pd.Index(labels).get_indexer(logs.items["label"].array).astype(np.int32)
    rows = logs.rows[logs.rows["mark"].isin(marks.index)]
    row = row_of[logs.marks["run"]][rows["mark"]]
    column, values = column_of[rows["item"]], rows["value"].to_numpy()
    if settings.errors is not None:
        values = np.where(rows["error"], np.nan, values)
    coder = Coder(settings.marking)
    codes = coder.codes(values, row, column)
    coder.refuse(respondents, labels)
    logs.findings += coder.notes()
    if codes.max(initial=-1) < 0:
        raise _no_scores(runs)
    block, names = (row, column, codes), (respondents, labels)
    try:
        how: Any = {"repeats": settings.repeats, "sparse": settings.sparse}
        matrix = ResponseMatrix.of_rows(block, names, **how)
    except ReadingError as error:  # rows of one run are epochs
        error.finding = replace(error.finding, remedies=_CHOICES)
        raise
    described = list(logs.described.items())
    about: dict[str, dict[str, Any]] = {name: {} for name in respondents}
    for run in runs.index:
        about[logs.samples[run].respondent] |= logs.samples[run].about
    return matrix.with_tables(
        _table([_description(*described[k]) for k in items.index], labels),
        _table([*about.values()], respondents) if any(about.values()) else None,
        _metrics(logs, runs, (row_of, respondents), (column_of, labels)),
    )


def _warning(code: str, *remedies: Remedy, **values: Any) -> Finding:
    return Finding(code, "warning", values, remedies)


def _files(runs: pd.DataFrame) -> list[str]:
    """Names of the files, with the folder if two files have one name."""
    paths = runs["path"].tolist()
    alike = len({path.name for path in paths}) < len(paths)
    return ["/".join(path.parts[-1 - alike :]) for path in paths]


def skipped(logs: Logs) -> Iterator[Finding]:
    """Findings about the files that are not logs."""
    for code, tables in (("skipped-tables", True), ("skipped-files", False)):
        names = [file.name for file in logs.skipped if is_table(file) == tables]
        if names:
            yield _warning(code, n=len(names), files=list(dict.fromkeys(names)))


def _unfinished(logs: Logs, runs: pd.DataFrame) -> Iterator[Finding]:
    some = [logs.samples[run] for run in runs.index]
    absent = [0 if one.n_planned is None else max(one.n_planned - one.n_samples, 0) for one in some]
    odd = [
        (one, n)
        for one, n in zip(some, absent, strict=True)
        if one.n_failed or (one.unfinished and (n or one.n_planned is None))
    ]
    if odd:
        values = {
            "files": [one.path.name for one, _ in odd],
            "n_failed": sum(one.n_failed for one, _ in odd),
            "n_absent": sum(n for one, n in odd if one.unfinished),
            "statuses": list(dict.fromkeys(one.unfinished for one, _ in odd if one.unfinished)),
        }
        yield _warning("unfinished-runs", n=len(odd), **values)


def _no_scores(runs: pd.DataFrame) -> Exception:
    return failed("no-scores", n_failed=int(runs["n_failed"].sum()), files=_files(runs))


def _chosen_runs(logs: Logs, task: Names) -> pd.DataFrame:
    """Runs on the tasks that have scores, without copies."""
    _check_known("task", task, logs.runs["task"])
    runs = logs.runs[logs.runs["task"].isin(listed(task))] if task is not None else logs.runs
    scored = runs.index.isin(logs.marks["run"])
    if not scored.any():
        raise _no_scores(runs)
    copies = _copies(logs, runs[scored])
    for code, left_out in (("empty-logs", runs[~scored]), ("copies", runs.loc[copies])):
        if len(left_out):
            logs.findings.append(_warning(code, n=len(left_out), files=_files(left_out)))
    return runs[scored].drop(index=copies)


def _copies(logs: Logs, runs: pd.DataFrame) -> list[int]:
    """Runs that are copies, retries or parts of a run with more samples."""
    runs = runs.assign(size=runs["n_samples"] - runs["n_failed"])
    runs = runs.sort_values(["size", "written"], ascending=False)
    if not _behind(logs, runs, _SYSTEM):
        return []
    same = runs[runs.duplicated(_SYSTEM, keep=False)]
    identity = []
    for one in (logs.samples[run] for run in same.index):
        with one.path.open("rb") as file:
            digest = "" if one.run else hashlib.file_digest(file, "sha256").hexdigest()
        identity.append(one.run or digest + one.written)
    return sorted(_behind(logs, same.assign(run=identity), [*_SYSTEM, "run"]))


def _behind(logs: Logs, runs: pd.DataFrame, by: list[str]) -> dict[int, list[int]]:
    """Runs that share items with runs above them that are equal in `by`, and these runs."""
    found = {}
    labels = logs.items["label"].to_numpy()
    for _, group in runs[runs.duplicated(by, keep=False)].groupby(by, sort=False):
        owner: dict[str, int] = {}
        for run in group.index:
            names = labels[logs.parts[run]]
            above = list(dict.fromkeys(owner[name] for name in names if name in owner))
            if above:
                found[run] = above
            else:
                owner |= dict.fromkeys(names, run)
    return found


def _newest(logs: Logs, runs: pd.DataFrame) -> pd.DataFrame:
    """Runs without those that share items with a newer run."""
    in_time = runs.sort_values("written", ascending=False, kind="stable")
    older = _behind(logs, in_time, _SYSTEM)
    for run, newer in older.items():
        one, others = runs.loc[run], runs.loc[newer]
        status = next(filter(None, others["unfinished"]), "")
        unknown = not one["written"] or one["written"] in others["written"].tolist()
        if unknown or (status and not one["unfinished"]):
            values = {**one[_SYSTEM], "files": _files(runs.loc[[*newer, run]])}
            raise failed(
                "runs" if unknown else "runs-unfinished", *_CHOICES, **values, status=status
            )
    if older:
        values = {"n": len(older), "n_kept": len(runs) - len(older)}
        values["files"] = _files(runs.loc[sorted(older)])
        logs.findings.append(_warning("older-runs", *_CHOICES, **values))
    return runs.drop(index=list(older))


def _chosen_marks(logs: Logs, runs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Row of `Logs.marks` of each run. If several can be meant, the error lists them."""
    import pandas as pd

    kinds = [(group, _common(logs, group)) for _, group in runs.groupby(_KIND, sort=False)]
    for argument in ("metric", "filter"):
        known = pd.concat(common[argument] for _, common in kinds)
        _check_known(argument, getattr(settings, argument), known)
    chosen: list[pd.DataFrame] = []
    for group, common in kinds:
        task, of_runs = group["task"].iloc[0], logs.marks[logs.marks["run"].isin(group.index)]
        if common.empty:
            systems = group["respondent"].tolist()[:2]
            first = [of_runs.loc[of_runs["run"] == run, "measure"].tolist() for run in group.index]
            others = [one for one in runs["task"].unique() if one != task]
            remedies = [Remedy({"task": others}, "tasks", safe=False)] if others else []
            values = {"one": systems[0], "ones": first[0], "other": systems[1], "others": first[1]}
            raise failed("no-common-metric", *remedies, task=task, **values)
        name = _metric(group, common, settings)
        found = common[common["metric"] == name]
        by = _choice("filter", listed(settings.filter), [*found["filter"]], task=task, of=name)
        wanted = found.loc[found["filter"] == by, "measure"].iloc[0]
        chosen.append(of_runs[of_runs["measure"] == wanted])
    return pd.concat(chosen)


def _common(logs: Logs, runs: pd.DataFrame) -> pd.DataFrame:
    """Measures that all runs have."""
    marks = logs.marks[logs.marks["run"].isin(runs.index)]
    by = marks.groupby(["metric", "filter", "measure"], sort=False)
    common = by.agg({"is_mark": "all", "binary": "all", "run": "size"}).reset_index()
    everywhere: pd.DataFrame = common[common["run"] == len(runs)]
    return everywhere


def _metric(runs: pd.DataFrame, common: pd.DataFrame, settings: Settings) -> str:
    task, default, given = runs["task"].iloc[0], runs["default"].iloc[0], listed(settings.metric)
    marks = common[common["is_mark"]]
    names = marks.sort_values("binary", ascending=False, kind="stable")["metric"].unique().tolist()
    named = [name for name in given if name in common["metric"].tolist()][:1]
    if not named and default in names and (runs["default"] == default).all():
        others = [name for name in names if name != default]
        doubts = runs.dropna(subset="doubt")
        if settings.threshold is not None and others:
            names = others
        elif doubts.empty:
            return str(default)
        else:
            sample, mark, score = doubts["doubt"].iloc[0]
            values = {"file": doubts["path"].iloc[0].name, "sample": sample, "score": score}
            remedies = (
                Remedy({"metric": [*given, default]}),
                Remedy({"threshold": 0.5}, "threshold"),
            )
            code = "no-mark" if mark is None else "doubtful-mark"
            raise failed(code, *remedies, task=task, metric=default, mark=mark, **values)
    return _choice("metric", given, named or names or [*common["metric"].unique()], task=task)


def _choice(argument: str, given: list[str], names: list[str], **values: Any) -> str:
    """Name that is given or is the only one; otherwise the error lists all as remedies."""
    named = [name for name in given if name in names] or names
    if len(names) > 1 and named is names:
        remedies = [Remedy({argument: [*given, name]}) for name in names[:_SHOWN]]
        raise failed(f"several-{argument}s", *remedies, names=names, **values)
    return named[0]


def _check_known(argument: str, given: Names, known: Iterable[str]) -> None:
    names = list(dict.fromkeys(filter(None, known)))
    for name in listed(given):
        if name not in names:
            close = get_close_matches(name, names, 1)
            remedies = [Remedy({argument: [one]}, "close", safe=False) for one in close]
            shown = first_names(names, shown=_SHOWN)
            raise failed("unknown-name", *remedies, argument=argument, name=name, known=shown)


def _chosen_items(logs: Logs, runs: pd.DataFrame) -> pd.DataFrame:
    """Items of the runs, one for each task and name, which must not differ in content."""
    parts = {id(part): part for part in map(logs.parts.__getitem__, runs.index)}
    items = logs.items.iloc[np.unique(np.concatenate([*parts.values()]))]
    names = items.drop_duplicates(["task", "name"])["label"]
    check_unique("tasks and items must make unique labels", names)
    known = items.dropna(subset="content")
    if (again := known.duplicated("label")).any():
        label = known.loc[again, "label"].iloc[0]
        both = known.index[known["label"] == label]
        found = [next(run for run in runs.index if one in logs.parts[run]) for one in both[:2]]
        systems = runs.loc[found, "respondent"].tolist()
        raise failed("different-items", item=label, files=_files(runs.loc[found]), systems=systems)
    place = items["label"].map({label: place for place, label in enumerate(names)})
    by = items.assign(place=place, unknown=items["content"].isna())
    return by.sort_values(["place", "unknown"], kind="stable").drop_duplicates("label")


def _description(key: tuple[str, str, str | None], item: Item) -> dict[str, Any]:
    fields = {"task": key[0], "text": item.text, "target": item.target}
    return fields | {k if k not in fields else f"metadata.{k}": v for k, v in item.metadata.items()}


def _table(records: list[dict[str, Any]], labels: tuple[str, ...]) -> pd.DataFrame:
    """Records as a table: a column is of numbers or booleans if all values are, or else text."""
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record.get(name) for record in records]
        kinds = {type(value) for value in values}
        if kinds != {bool}:
            kind, none = (float, math.nan) if kinds <= {int, float, type(None)} else (str, None)
            values = [none if value is None else kind(value) for value in values]
        columns[name] = values
    return _frame(columns, index=list(labels)).dropna(axis="columns", how="all")


def _metrics(
    logs: Logs,
    runs: pd.DataFrame,
    respondents: tuple[NDArray[np.int32], tuple[str, ...]],
    items: tuple[NDArray[np.int32], tuple[str, ...]],
) -> pd.DataFrame | None:
    """All numbers of the answers, one mean per cell and metric, if there are more than marks."""
    import pandas as pd

    chosen = logs.marks["run"].isin(runs.index)
    if logs.marks[chosen].groupby(_KIND)["measure"].nunique().max() == 1:
        return None
    of_mark, names = logs.marks["name"].where(chosen).factorize()
    mark, values = logs.rows["mark"].to_numpy(), logs.rows["value"].to_numpy()
    parts = {
        "respondent": (respondents[0][logs.marks["run"]], mark, respondents[1]),
        "item": (items[0], logs.rows["item"].to_numpy(), items[1]),
        "metric": (of_mark, mark, tuple(names)),
    }
    columns = {
        name: of.astype(np.min_scalar_type(-len(labels)))[which]
        for name, (of, which, labels) in parts.items()
    }
    table = _frame({**columns, "value": values}, copy=False)
    known = (of_mark >= 0)[mark] & ~np.isnan(values)
    table = table if known.all() else table[known]
    again = (np.diff(columns["item"]) <= 0) & (np.diff(mark) == 0)
    if again.any() or runs.duplicated(_SYSTEM).any():
        by = table.groupby(["respondent", "metric", "item"], as_index=False)
        table = by.agg({"value": "mean"})[[*table.columns]]
    for name, (_, _, labels) in parts.items():
        codes = table[name].to_numpy()
        table = table.assign(**{name: pd.Categorical.from_codes(codes, pd.Index(labels))})
    return table.assign(metric=table["metric"].cat.remove_unused_categories())
