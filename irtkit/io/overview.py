"""What a path holds and the command that fits it, before anything is fitted.

irtkit reads the path with the settings given. If that fails with a finding whose first remedy is
safe, it adds the remedy and reads again.
"""

from __future__ import annotations

import os
import shlex
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import first_names
from irtkit.files import as_path, head_of
from irtkit.findings import PURPOSES, Finding, ReadingError, typed
from irtkit.io import logs, reading
from irtkit.printed import in_lines, printable, shortened

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.responses import ResponseMatrix

_MOST_REMEDIES = 20  # Remedies that are tried: metrics and filters of several tasks.
_SHOWN = 10  # Names that are listed: two or three lines of a terminal.


@dataclass(frozen=True, eq=False)
class Overview:
    """What a path holds. Printed, it is the output of ``irtkit inspect``."""

    path: str
    formats: dict[str, int]
    """Number of files by format."""
    tasks: pd.DataFrame | None = None
    """Logs: a row for each format and task, see `irtkit.io.logs.Logs.summary`."""
    matrix: ResponseMatrix | None = None
    """The matrix that the settings give; None if there is a problem."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of `irtkit.read_responses` that the path needs."""
    findings: tuple[Finding, ...] = ()
    """What reading found, except the problem."""
    problem: ReadingError | None = None
    """Why no settings that irtkit may choose give a matrix."""
    metrics: tuple[list[str], list[str]] = ([], [])
    """Logs: further metrics that differ between items, and which of them are scores."""

    @property
    def command(self) -> str:
        """The command that fits what the path holds; empty if there is a problem."""
        if self.matrix is None:
            return ""
        path = f"./{self.path}" if self.path.startswith("-") else self.path
        options = typed(self.settings, options=True)
        return f"irtkit fit {shlex.quote(path)} {options}".rstrip()

    @property
    def metrics_options(self) -> str:
        """Options that score the items by all further metrics; empty if there are none."""
        names, scores = self.metrics
        options = {"metrics": names, "higher_is_better": scores or "none"}
        return typed(options, options=True) if names else ""

    def __str__(self) -> str:
        lines = [printable(self.path)]
        lines += [f"  {kind}: {n} file{'s' * (n > 1)}" for kind, n in self.formats.items()]
        if self.tasks is not None:
            lines += [_of_task(kind, row) for kind, row in self.tasks.iterrows()]
        if self.matrix is not None:
            lines += ["", in_lines(_sentences(self.matrix))]
        lines += [in_lines([f"{one.severity}: {one.text(options=True)}"]) for one in self.findings]
        if self.problem is not None:
            place = f"{self.problem.place}: " * bool(self.problem.place)
            finding = self.problem.finding
            lines += ["", in_lines([f"cannot be fitted: {place}{finding.reason}"])]
            choices = (
                f"add {typed(one.settings, options=True)} {PURPOSES[one.purpose]}".rstrip()
                for one in finding.remedies
            )
            return "\n".join([*lines, *(f"  {printable(one)}" for one in choices)])
        if self.metrics_options:
            lines += ["", "to score the items by further metrics, add to the command below:"]
            lines += [f"  {printable(self.metrics_options)}"]
        return "\n".join([*lines, "", "to fit it:", f"  {printable(self.command)}"])


def overview(path: str | os.PathLike[str], **settings: Any) -> Overview:
    r"""Look at a file, a folder or a pattern of logs or tables.

    `settings` are arguments of `irtkit.read_responses` that are decided. If nothing is of a known
    format, the error is a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from irtkit.io.overview import overview
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.csv")
    ...     _ = path.write_text("model,item,epoch,correct\na,q1,1,1\na,q1,2,0\nb,q2,1,1\n")
    ...     found = overview(path)
    >>> found.settings
    {'repeats': 'count'}
    >>> found.matrix
    ResponseMatrix(2 respondents × 2 items, 50.0% missing, 1.5 trials a cell on average)
    """
    name, file = os.fspath(path), as_path(path).expanduser()
    if logs.stands_for_several(file) or logs.log_format(file, head_of(file)) is not None:
        files = logs.files_of(file)
        form = settings.get("format") if settings.get("format") in logs.LOG_FORMATS else None
        found = logs.read_logs(files, form=form, strict=bool(settings.get("strict")))
        if found.samples:
            runs = found.runs
            formats = Counter(
                f"{a} ({b})" for a, b in zip(runs["format"], runs["version"], strict=True)
            )
            read = partial(reading.matrix_of_logs, found)
            return _tried(Overview(name, formats, found.summary()), read, settings, found)
        kinds = Counter(one.suffix or one.name for one in found.skipped if logs.is_table(one))
        return _tried(Overview(name, kinds), partial(reading.read_responses, path), settings)
    kind = reading.form_of(file, head_of(file), settings.get("format"))
    return _tried(Overview(name, {kind: 1}), partial(reading.read_responses, path), settings)


def _tried(
    seen: Overview, read: Any, given: dict[str, Any], found: logs.Logs | None = None
) -> Overview:
    """Read. If a finding stops the reading, add its first remedy if that is safe, and try again."""
    settings, turned = dict(given), tuple[Finding, ...]()
    for _ in range(_MOST_REMEDIES):
        try:
            with warnings.catch_warnings(action="ignore"):
                matrix = read(**settings)
        except ReadingError as problem:
            error = problem
            findings = () if found is None else tuple(found.findings)
            remedy = error.finding.remedies[0] if error.finding.remedies else None
            more = {} if remedy is None or not remedy.safe else _added(settings, remedy.settings)
            if not more:
                return replace(seen, settings=settings, findings=findings, problem=error)
            settings |= more
            continue
        findings = turned + (() if matrix.source is None else matrix.source.findings)
        if not turned and (turned := tuple(f for f in findings if f.code == "transposed")):
            settings["transpose"] = True
            continue
        result = replace(seen, matrix=matrix, settings=settings, findings=findings)
        if found is None or matrix.metrics is None:
            return result
        return replace(result, metrics=_further(found, matrix))
    return replace(seen, settings=settings, problem=error)


def _further(found: logs.Logs, matrix: ResponseMatrix) -> tuple[list[str], list[str]]:
    """Metrics that did not mark the answers and differ between items, and which are scores."""
    metrics: Any = matrix.metrics
    differing = metrics.groupby(["metric", "respondent"], observed=True)["value"]
    telling = differing.nunique().gt(1).groupby("metric", observed=True).any()
    kept = [name for name in telling.index[telling] if name not in found.chosen]
    unmarked = set(found.marks.loc[~found.marks["is_mark"], "name"])
    return kept, [name for name in kept if name not in unmarked]


def _added(settings: dict[str, Any], remedy: Any) -> dict[str, Any]:
    """Settings of a remedy that are new, names joined to the names that are there."""
    more = dict(remedy)
    for name, value in remedy.items():
        known = settings.get(name)
        if isinstance(value, list) and isinstance(known, list):
            more[name] = [*known, *(one for one in value if one not in known)]
    return {name: value for name, value in more.items() if value != settings.get(name)}


def _of_task(kind: Any, row: Any) -> str:
    """Lines about one format and task of logs."""
    systems, marks, numbers = (
        first_names(row[name], shown=_SHOWN) for name in ("systems", "metrics", "numbers")
    )
    lines = [f"systems ({len(row['systems'])}): {systems}", f"samples: {row['n_samples']:,}"]
    lines += [f"metrics: {marks or 'none that all systems have'}"]
    lines += [f"other numbers: {numbers}"] if numbers else []
    if row["n_errors"]:
        lines.append(f"answers with an error, marked wrong: {row['n_errors']} (see --errors)")
    return f"\n{in_lines([f'task {kind[1]} ({kind[0]})'])}\n{in_lines(lines, bullet='  ')}"


def _sentences(matrix: ResponseMatrix) -> list[str]:
    """Size, tasks and blocks of a matrix."""
    lines = [
        f"{matrix!r}",
        f"respondents: {first_names([*map(shortened, matrix.respondents)], shown=_SHOWN)}",
        f"items: {first_names([*map(shortened, matrix.items)], shown=_SHOWN)}",
    ]
    if matrix.item_table is not None and "task" in matrix.item_table:
        counts = matrix.item_table["task"].value_counts(sort=False)
        tasks = [f"{shortened(str(task))} ({n:,})" for task, n in counts.items()]
        lines.append(f"tasks ({len(tasks)}): {first_names(tasks, shown=_SHOWN)}")
    blocks = _blocks(matrix)
    if len(blocks) > 1:
        names = [first_names([shortened(one) for one in block]) for block in blocks]
        lines.append(
            f"{len(names)} groups of systems share no items, so their abilities cannot be "
            f"compared: {first_names(names, ' | ')}"
        )
    return lines


def _blocks(matrix: ResponseMatrix) -> list[list[str]]:
    """Groups of respondents that have no items in common."""
    from scipy.sparse import bmat
    from scipy.sparse.csgraph import connected_components

    trials = matrix.observed.trials
    labels = connected_components(bmat([[None, trials], [trials.T, None]]), directed=False)[1]
    _, block = np.unique(labels[: matrix.n_respondents], return_inverse=True)
    return [
        [matrix.respondents[k] for k in np.flatnonzero(block == b)] for b in range(block.max() + 1)
    ]
