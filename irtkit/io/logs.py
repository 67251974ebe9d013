"""Evaluation logs: which files are logs, their samples as one long table, and the response matrix.

An item is ``task/item``. If one respondent ran a task several times, the newest run counts, unless
``repeats`` says otherwise. Copies and retries of a run are never further runs. Several metrics or
filters are never repeats: the user chooses one.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import check_unique, first_names
from irtkit.files import head_of
from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.io import code_tests, every_eval_ever, harnesses, inspect_logs, lm_eval
from irtkit.io.layouts import is_table
from irtkit.io.samples import scores_of
from irtkit.io.text import naming
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import listed
from irtkit.responses.marking import Coder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.io.samples import Described, Item, Samples
    from irtkit.responses.columns import Names
    from irtkit.responses.tables import Settings


class Reader(NamedTuple):
    """How the logs of one format are recognised and read."""

    pattern: re.Pattern[str]  # See `irtkit.io.json_text.begins`.
    read: Callable[[Path, Described], list[Samples]]
    holds_logs: Callable[[Path], bool] | None = None  # What the pattern cannot tell.


_READERS: dict[str, tuple[Any, ...]] = {
    "inspect": inspect_logs.READER,
    "lm-eval": lm_eval.READER,
    "every-eval-ever": every_eval_ever.READER,
    **harnesses.READERS,
    **code_tests.READERS,
}
LOG_FORMATS = {name: Reader(*reader) for name, reader in _READERS.items()}
"""Readers by the names of their formats."""
_COMPANIONS = (
    (r"(?:logs|listing|eval-set)\.json\0", ""),
    (r"(?:run_spec|scenario|scenario_state|stats|instances)\.json\0", ""),
    (r"display_(?:predictions|requests)\.json\0", ""),
    (r"results_\d{4}[^\0]*\.json\0", ""),
    (r"[^\0]*_(\d{4}-\d\d-\d\dT[\d.-]+)\.json\0", "samples_*_{}.jsonl*"),
    (r"([^\0]+)\.json\0", "{}_samples.jsonl"),
    (r"([^\0]+)\.json\0", "{}_samples.jsonl.gz"),
    (
        r'[^\0]*\.json\0\s*\{(?=.*"evaluation_id")(?=.*"schema_version"\s*:\s*")(?!.*"sample_id")',
        "",
    ),
    (r"([^\0]+)\.(?:html|json)\0", "{}_allresults.json"),
    (r"([^\0]+?)(?:_eval)?\.json\0", "{}_eval_all.json"),
)
"""Name and first characters of files that describe logs next to them, and names of these logs."""
BESIDE = "beside"  # Instead of a format: the file describes the logs next to it.
_MARK = ["run", "n", "metric", "filter", "measure", "is_mark", "binary"]
_SYSTEM = ["respondent", "task"]
_KIND = ["format", "task"]
_REPEATS = {"count": "count", "first": "first", "last": "last", "majority": "mean>=0.5"}
_CHOICES = tuple(Remedy({"repeats": rule}, purpose) for purpose, rule in _REPEATS.items())
_JUDGE = re.compile("judge|grade|rater|rating")  # Metrics that models or people give.
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
    skipped: list[Path] = field(default_factory=list)  # Files in folders that are not logs.
    notes: list[Finding] = field(default_factory=list)  # Findings about the files.

    def __post_init__(self) -> None:
        self._numbers: dict[tuple[str, str, str | None], int] = {}
        self._scores: list[tuple[Any, ...]] = []

    def add(self, samples: Samples) -> None:
        """Add the samples of a run."""
        numbers = []
        for name, item in samples.items.items():
            key = samples.task, name, item.content
            number = self._numbers.setdefault(key, len(self._numbers))
            if number == len(self.described):
                self.described[key] = item
            numbers.append(number)
        part = np.array(numbers, np.int32)
        for measure, (places, values) in samples.scores.items():
            scores = scores_of(measure, values)
            missing = np.isnan(scores)
            is_mark = measure not in samples.not_marks
            if missing.all() and not is_mark:
                continue
            mark = {
                "run": len(self.samples),
                "n": len(scores),
                "metric": measure.metric,
                "filter": measure.filter,
                "measure": str(measure),
                "is_mark": is_mark,
                "binary": bool(((scores == 0) | (scores == 1) | missing).all()),
            }
            positions = np.array(places, np.int32)
            is_error = np.isin(positions, samples.errors)
            self._scores.append((mark, part[positions], scores, is_error))
        self.samples.append(replace(samples, items={}, scores={}, described={}))
        self.parts.append(part)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run with the fields of `Samples`."""
        return _frame([*map(vars, self.samples)])

    @cached_property
    def items(self) -> pd.DataFrame:
        """One row per task, name and content of an item, with the `label` ``task/item``."""
        items = _frame([*self.described], columns=["task", "name", "content"])
        return items.assign(label=items["task"] + "/" + items["name"])

    @cached_property
    def marks(self) -> pd.DataFrame:
        """One row per run and measure, in the order of time.

        `name` is the metric, with its filter if it has several.
        """
        self._scores.sort(key=lambda score: self.samples[score[0]["run"]].written)
        marks = _frame([mark for mark, *_ in self._scores], columns=_MARK)
        marks = marks.join(self.runs[_KIND], on="run")
        several = marks.groupby([*_KIND, "metric"])["filter"].transform("nunique") > 1
        return marks.assign(name=marks["measure"].where(several, marks["metric"]))

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The long table: row of `marks`, row of `items`, value, and whether it is an error."""
        mark = np.arange(len(self.marks), dtype=np.int32).repeat(self.marks["n"])
        _, items, values, errors = zip(*self._scores, strict=True)
        self._scores = []
        columns = {
            "mark": mark,
            "item": np.concatenate(items),
            "value": np.concatenate(values),
            "error": np.concatenate(errors),
        }
        return _frame(columns, copy=False)

    def of_runs(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Rows of `marks` of some runs."""
        return self.marks[self.marks["run"].isin(runs.index)]

    def summary(self) -> pd.DataFrame:
        """One row per format and task: systems, counts, names of marks and of other numbers."""
        runs = self.runs[self.runs.index.isin(self.marks["run"])]
        rows: dict[Any, dict[str, Any]] = {}
        for kind, group in runs.drop(index=_copies(self, runs)).groupby(_KIND, sort=False):
            common = _common(self, group)
            is_mark = common["is_mark"].astype(bool)
            rows[kind] = {
                "systems": group["respondent"].unique().tolist(),
                "n_samples": group["n_samples"].sum(),
                "n_errors": group["errors"].map(len).sum(),
                "metrics": common.loc[is_mark, "measure"].tolist(),
                "numbers": common.loc[~is_mark, "measure"].tolist(),
            }
        kinds = _frame([*rows], columns=_KIND)
        return _frame([*rows.values()]).set_index([kinds[name] for name in _KIND])


def _frame(table: Any, **how: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(table, **how)


def log_format(path: Path, head: bytes, *, alone: bool = False) -> str | None:
    """Return the format of a log by its `head`, `BESIDE`, or None for other files.

    A description of logs that leads to them is itself a log if it is read `alone`.
    """
    begin = head[:4096].decode("latin-1")
    if not begin.strip():
        return None
    beside = False
    for pattern, logs in _COMPANIONS:
        if named := re.match(pattern, f"{path.name}\0{begin}", re.DOTALL):
            names = logs.format(*map(glob.escape, named.groups()))
            beside = beside or not logs or any(path.parent.glob(names))
    if beside and not alone:
        return BESIDE
    kinds = formats_that_fit(path, begin)
    return next(kinds, BESIDE if beside else None)


def formats_that_fit(path: Path, begin: str) -> Iterator[str]:
    """Formats of logs that may begin with some characters, the likeliest first."""
    folder_and_name = "/".join(path.absolute().parts[-2:])
    place = f"{folder_and_name}\0{begin}"
    for name, kind in LOG_FORMATS.items():
        if kind.pattern.match(place) and (kind.holds_logs is None or kind.holds_logs(path)):
            yield name


def _log_format_of(file: Path) -> str | None:
    """Return the format of a log in a folder, `BESIDE`, or None if it is another file."""
    try:
        return log_format(file, head_of(file))
    except (OSError, ValueError):
        return None


def holds_logs(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an evaluation log, or a file of a folder or pattern is."""
    return any(_log_format_of(file) in LOG_FORMATS for file in files_of(path))


def stands_for_several(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder, or a pattern that is not the name of a file."""
    name = os.fspath(path)
    place = Path(name)
    return place.is_dir() or (glob.has_magic(name) and not place.exists())


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a pattern or in a folder, at any depth, sorted by name.

    Hidden files and folders are left out. A folder that cannot be opened raises OSError.
    """

    def refuse(error: OSError) -> None:
        raise type(error)(f"{error.filename}: the folder cannot be read: {error.strerror}")

    place = Path(path)
    files: list[Path] = []
    if place.is_dir():
        for folder, folders, names in os.walk(place, onerror=refuse):
            folders[:] = [name for name in folders if not name.startswith(".")]
            files += [Path(folder, name) for name in names if not name.startswith(".")]
        if not files:
            raise ValueError(f"{place}: the folder holds no files")
        return sorted(files)
    if place.exists():
        return [place]
    if not stands_for_several(path):
        raise FileNotFoundError(f"{place}: no such file")
    for name in glob.glob(os.fspath(path), recursive=True):  # noqa: PTH207 - Path's refuses /
        files += files_of(name)
    if not files:
        raise FileNotFoundError(f"{place}: no file is of this pattern")
    return sorted(set(files))


def read_logs(files: Sequence[Path], *, form: str | None = None, strict: bool = False) -> Logs:
    """Read the logs among files, or with `form` only the logs of that format.

    Unless `strict`, an unreadable file is left out if another log can be read.
    """
    logs = Logs()
    errors: list[ReadingError] = []
    folder = Path(os.path.commonpath([file.absolute().parent for file in files]))
    for file in files:
        name = form if form is not None and len(files) == 1 else _log_format_of(file)
        if name == BESIDE:
            continue
        if name not in LOG_FORMATS or form not in {None, name}:
            logs.skipped.append(file)
            continue
        try:
            with naming(file):
                samples = _read(file, name, logs.described)
        except ReadingError as error:
            error.place = str(file.absolute().relative_to(folder))
            if strict:
                raise
            errors.append(error)
            continue
        for run in samples:
            run.format = name
            logs.add(run)
    if errors and not logs.samples:
        raise errors[0]
    for failure in errors:
        reason = failure.finding.reason
        logs.notes.append(_warning("unreadable-file", file=failure.place, reason=reason))
    for code, tables in (("skipped-tables", True), ("skipped-files", False)):
        names = [file.name for file in logs.skipped if is_table(file) == tables]
        if names:
            different = list(dict.fromkeys(names))
            logs.notes.append(_warning(code, n=len(names), files=different))
    return logs


def _read(file: Path, name: str, described: Described) -> list[Samples]:
    try:
        samples = LOG_FORMATS[name].read(file, described)
    except KeyError as error:
        raise failed("log-field", place=file.name, field=error.args[0]) from error
    except (TypeError, AttributeError) as error:
        raise ValueError(f"the log of {name} is malformed: {error}") from error
    if not samples:
        raise ValueError(f"the log of {name} holds no samples")
    return samples


def matrix_of(logs: Logs, settings: Settings, findings: list[Finding]) -> ResponseMatrix:
    """Return the response matrix of logs. Findings are added."""
    if settings.errors not in {None, "missing"}:
        raise ValueError(f"errors must be 'missing' or None, got {settings.errors!r:.80}")
    findings += logs.notes
    runs = _chosen_runs(logs, settings, findings)
    for samples in runs["findings"]:
        findings += samples
    marks = _chosen_marks(logs, runs, settings)
    items = _chosen_items(logs, runs)
    respondents = tuple(runs["respondent"].unique())
    labels = tuple(items.index)
    records = []
    for (task, _, _), item in map([*logs.described.items()].__getitem__, items):
        fields = {"task": task, "text": item.text, "target": item.target}
        for name, value in item.metadata.items():
            fields[f"metadata.{name}" if name in fields else name] = value
        records.append(fields)
    table = _table(records, labels)
    answers = _answers(logs, runs, marks, labels)
    row = answers["respondent"].cat.codes.to_numpy()
    column = answers["item"].cat.codes.to_numpy()
    metrics = None
    if settings.judge is None:
        metrics = _metrics(logs, runs, labels)
    else:
        judges = answers["metric"].cat.categories
        judge = answers["metric"].cat.codes
        column = column.astype(np.int32) * len(judges) + judge
        table = table.loc[np.repeat(labels, len(judges))]
        table = table.rename_axis("judged_item").reset_index()
        table["judge"] = np.tile(judges, len(labels))
        labels = tuple(table["judged_item"] + "/" + table["judge"])
        table = table.set_axis([*labels])
    values = answers["value"].to_numpy()
    if settings.errors is not None:
        values = np.where(answers["error"], np.nan, values)
    coder = Coder(settings.marking)
    names = (respondents, labels)
    codes, _ = coder.codes(values, row, column, labels)
    coder.refuse(*names)
    findings += coder.notes(len(respondents))
    if codes.max(initial=-1) < 0:
        raise _no_scores(runs)
    try:
        how: Any = {"repeats": settings.repeats, "sparse": settings.sparse}
        matrix = ResponseMatrix.of_rows((row, column, codes), names, **how)
    except ReadingError as error:  # rows of one run are epochs
        error.finding = replace(error.finding, remedies=_CHOICES)
        raise
    details: dict[str, dict[str, Any]] = {name: {} for name in respondents}
    for respondent, of_run in zip(runs["respondent"], runs["details"], strict=True):
        details[respondent] |= of_run
    systems = _table([*details.values()], respondents) if any(details.values()) else None
    return matrix.with_tables(table, systems, metrics)


def _warning(code: str, *remedies: Remedy, **values: Any) -> Finding:
    return Finding(code, "warning", values, remedies)


def _files(runs: pd.DataFrame) -> list[str]:
    """Names of the files, with the folder if two files have one name."""
    paths = runs["path"].tolist()
    alike = len({path.name for path in paths}) < len(paths)
    return ["/".join(path.parts[-1 - alike :]) for path in paths]


def _failure(runs: pd.DataFrame) -> str:
    """First error of some runs, if there is one."""
    return next(filter(None, runs["failure"]), "")


def _no_scores(runs: pd.DataFrame) -> Exception:
    n_failed = int(runs["n_failed"].sum())
    return failed("no-scores", n_failed=n_failed, files=_files(runs), error=_failure(runs))


def _chosen_runs(logs: Logs, settings: Settings, findings: list[Finding]) -> pd.DataFrame:
    """Runs on the tasks that have scores, without copies, and the newest unless all count."""
    runs = logs.runs
    if settings.task is not None:
        _check_known("task", settings.task, runs["task"])
        runs = runs[runs["task"].isin(listed(settings.task))]
    scored = runs.index.isin(logs.marks["run"])
    if not scored.any():
        raise _no_scores(runs)
    copies = _copies(logs, runs[scored])
    for code, left_out in (("empty-logs", runs[~scored]), ("copies", runs.loc[copies])):
        if len(left_out):
            values = {"n": len(left_out), "files": _files(left_out)}
            findings.append(_warning(code, **values, error=_failure(left_out)))
    runs = runs[scored].drop(index=copies)
    if settings.repeats == "error":
        in_time = runs.sort_values("written", ascending=False, kind="stable")
        older = _behind(logs, in_time, _SYSTEM)
        for run, newer in older.items():
            older_run = runs.loc[run]
            newer_runs = runs.loc[newer]
            status = next(filter(None, newer_runs["unfinished"]), "")
            written = older_run["written"]
            unknown = not written or written in newer_runs["written"].tolist()
            if unknown or (status and not older_run["unfinished"]):
                values = {**older_run[_SYSTEM], "files": _files(runs.loc[[*newer, run]])}
                raise failed("runs", *_CHOICES, **values, status=status or None)
        if older:
            values = {"n": len(older), "n_kept": len(runs) - len(older)}
            values["files"] = _files(runs.loc[sorted(older)])
            findings.append(_warning("older-runs", *_CHOICES, **values))
        runs = runs.drop(index=list(older))
    absent = (runs["n_planned"] - runs["n_samples"]).clip(lower=0)  # NaN if nobody knows
    stopped = runs["unfinished"] != ""
    is_partial = stopped & (absent != 0)
    odd = runs[is_partial | (runs["n_failed"] > 0)]
    if len(odd):
        values = {
            "files": [path.name for path in odd["path"]],
            "n_failed": int(odd["n_failed"].sum()),
            "n_absent": int(absent[stopped].sum()),
            "statuses": odd.loc[stopped, "unfinished"].unique().tolist(),
        }
        findings.append(_warning("unfinished-runs", n=len(odd), **values))
    return runs


def _copies(logs: Logs, runs: pd.DataFrame) -> list[int]:
    """Runs that are copies, retries or parts of a run with more samples."""
    runs = runs.assign(size=runs["n_samples"] - runs["n_failed"])
    runs = runs.sort_values(["size", "written"], ascending=False)
    if not _behind(logs, runs, _SYSTEM):
        return []
    same = runs[runs.duplicated(_SYSTEM, keep=False)]
    identity = []
    for run, path, written in zip(same["run"], same["path"], same["written"], strict=True):
        with path.open("rb") as file:
            digest = "" if run else hashlib.file_digest(file, "sha256").hexdigest()
        identity.append(run or digest + written)
    return sorted(_behind(logs, same.assign(run=identity), [*_SYSTEM, "run"]))


def _behind(logs: Logs, runs: pd.DataFrame, by: list[str]) -> dict[int, list[int]]:
    """Runs that share items with runs above them that are equal in `by`, and these runs."""
    behind = {}
    labels = logs.items["label"].to_numpy()
    for _, group in runs[runs.duplicated(by, keep=False)].groupby(by, sort=False):
        owner: dict[str, int] = {}
        for run in group.index:
            names = labels[logs.parts[run]]
            above = list(dict.fromkeys(owner[name] for name in names if name in owner))
            if above:
                behind[run] = above
            else:
                owner |= dict.fromkeys(names, run)
    return behind


def _chosen_marks(logs: Logs, runs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Row of `Logs.marks` of each run. If several can be meant, the error lists them.

    Of ratings by judges, these are all marks, or those of the metrics that are named.
    """
    import pandas as pd

    if settings.judge is not None:
        marks = logs.of_runs(runs)
        _check_known("metric", settings.metric, marks["metric"])
        metrics = listed(settings.metric)
        if metrics:
            return marks[marks["metric"].isin(metrics)]
        return marks[marks["is_mark"].astype(bool)]
    groups = [group for _, group in runs.groupby(_KIND, sort=False)]
    kinds = [(group, _common(logs, group)) for group in groups]
    for argument in ("metric", "filter"):
        names = pd.concat(common[argument] for _, common in kinds)
        _check_known(argument, getattr(settings, argument), names)
    chosen: list[pd.DataFrame] = []
    for group, common in kinds:
        task = group["task"].iloc[0]
        marks = logs.of_runs(group)
        if common.empty:
            by_run = marks.groupby("run")["measure"].agg(list)
            (system, names), (other, others) = zip(
                group["respondent"][:2], by_run[group.index[:2]], strict=True
            )
            tasks = [name for name in runs["task"].unique() if name != task]
            remedies = [Remedy({"task": tasks}, "tasks", safe=False)] if tasks else []
            values = {"one": system, "ones": names, "other": other, "others": others}
            raise failed("no-common-metric", *remedies, task=task, **values)
        name = _metric(group, common, settings)
        of_metric = common[common["metric"] == name].set_index("filter")["measure"]
        by = _choice("filter", settings.filter, [*of_metric.index], task=task, of=name)
        chosen.append(marks[marks["measure"] == of_metric[by]])
    return pd.concat(chosen)


def _common(logs: Logs, runs: pd.DataFrame) -> pd.DataFrame:
    """Measures that all runs have."""
    by = logs.of_runs(runs).groupby(["metric", "filter", "measure"], sort=False)
    common = by.agg({"is_mark": "all", "binary": "all", "run": "size"}).reset_index()
    return common[common["run"] == len(runs)]


def _metric(runs: pd.DataFrame, common: pd.DataFrame, settings: Settings) -> str:
    task = runs["task"].iloc[0]
    default = runs["default"].iloc[0]
    given = listed(settings.metric)
    marks = common[common["is_mark"]].sort_values("binary", ascending=False, kind="stable")
    names = marks["metric"].unique().tolist()
    of_logs = common["metric"].tolist()
    named = [name for name in given if name in of_logs][:1]
    judges = [name for name in names if _JUDGE.search(name)]
    judges = judges if len(judges) > 1 else []
    is_default = default in names and (runs["default"] == default).all()
    if not named and is_default and default not in judges:
        others = [name for name in names if name != default]
        doubts = runs.dropna(subset="doubt")
        if settings.threshold is not None and others:
            names = others
        elif doubts.empty:
            return str(default)
        else:
            sample, mark, score = doubts["doubt"].iloc[0]
            values = {"file": doubts["path"].iloc[0].name, "sample": sample, "score": score}
            by_mark = Remedy({"metric": [*given, default]})
            by_score = Remedy({"threshold": 0.5}, "threshold")
            values |= {"task": task, "metric": default, "mark": mark}
            raise failed("doubtful-mark", by_mark, by_score, **values)
    names = named or names or [*common["metric"].unique()]
    return _choice("metric", given, names, task=task, judges=judges)


def _choice(argument: str, given: Names, names: list[str], **values: Any) -> str:
    """Name that is given or is the only one. Otherwise the error lists all as remedies."""
    named = [name for name in listed(given) if name in names]
    if named:
        return named[0]
    if len(names) > 1:
        safe = not values.get("judges")
        remedies = [Remedy({argument: [*listed(given), name]}, safe=safe) for name in names]
        raise failed(f"several-{argument}s", *remedies[:_SHOWN], names=names, **values)
    return names[0]


def _check_known(argument: str, given: Names, of_logs: Iterable[str]) -> None:
    names = list(dict.fromkeys(filter(None, of_logs)))
    for name in listed(given):
        if name not in names:
            close = get_close_matches(name, names, 1)
            remedies = [Remedy({argument: [match]}, "close", safe=False) for match in close]
            shown = first_names(names, shown=_SHOWN)
            raise failed("unknown-name", *remedies, argument=argument, name=name, known=shown)


def _chosen_items(logs: Logs, runs: pd.DataFrame) -> pd.Series[int]:
    """Row of `Logs.items` by label of each item of the runs. Equal labels have one content."""
    import pandas as pd

    chosen = np.unique(np.concatenate([logs.parts[run] for run in runs.index]))
    items = logs.items.loc[chosen]
    names = items.drop_duplicates(["task", "name"])["label"]
    check_unique("tasks and items must make unique labels", names)
    with_content = items.dropna(subset="content")
    again = with_content[with_content.duplicated("label")]
    if len(again):
        label = again["label"].iloc[0]
        differing = with_content.index[with_content["label"] == label]
        of_both = []
        for k in differing[:2]:
            with_item = (run for run in runs.index if k in logs.parts[run])
            of_both.append(next(with_item))
        systems = runs.loc[of_both, "respondent"].tolist()
        raise failed(
            "different-items", item=label, files=_files(runs.loc[of_both]), systems=systems
        )
    described = pd.concat([with_content, items]).drop_duplicates("label")
    return pd.Series(described.index, described["label"])[items["label"].unique()]


def _table(records: list[dict[str, Any]], labels: tuple[str, ...]) -> pd.DataFrame:
    """Records as a table: a column is of numbers or booleans if all values are, or else text."""
    table = _frame(records, index=list(labels), dtype=object)
    for name, column in table.items():
        kinds = {*map(type, column[column.notna()])}
        if kinds == {bool} and column.notna().all():
            table[name] = column.astype(bool)
        elif kinds <= {int, float, bool} and kinds != {bool}:
            table[name] = column.astype(float)
        else:
            table[name] = column.map(str, na_action="ignore").where(column.notna(), None)
    return table.dropna(axis="columns", how="all")


def _answers(
    logs: Logs, runs: pd.DataFrame, marks: pd.DataFrame, labels: tuple[str, ...]
) -> pd.DataFrame:
    """Respondent, item, metric, value and error of the rows of some marks of the runs."""
    import pandas as pd

    rows = logs.rows[logs.rows["mark"].isin(marks.index)]
    systems = [*runs["respondent"].unique()]
    respondent = runs["respondent"].astype(pd.CategoricalDtype(systems))
    metrics = [*marks["name"].unique()]
    metric = marks["name"].astype(pd.CategoricalDtype(metrics))
    column_of = pd.Index(labels).get_indexer(logs.items["label"].array)
    of_items = column_of[rows["item"]]
    of_marks = marks.index.get_indexer(pd.Index(rows["mark"]))
    columns = {
        "respondent": respondent.loc[marks["run"]].array[of_marks],
        "item": pd.Categorical.from_codes(of_items, pd.Index(labels)),
        "metric": metric.array[of_marks],
    }
    return rows.assign(**columns)


def _metrics(logs: Logs, runs: pd.DataFrame, labels: tuple[str, ...]) -> pd.DataFrame | None:
    """All numbers of the answers, one mean per cell and metric, if there are more than marks."""
    marks = logs.of_runs(runs)
    if marks.groupby(_KIND)["measure"].nunique().max() == 1:
        return None
    table = _answers(logs, runs, marks, labels).dropna(subset="value")
    cell = ["respondent", "metric", "item"]
    if table.duplicated(cell).any():
        table = table.groupby(cell, as_index=False, observed=True).agg({"value": "mean"})
    table = table[["respondent", "item", "metric", "value"]].reset_index(drop=True)
    return table.assign(metric=table["metric"].cat.remove_unused_categories())
