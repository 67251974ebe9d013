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
from typing import TYPE_CHECKING, Any

from irtkit.checks import counted, first_names
from irtkit.files import as_path, head_of
from irtkit.findings import PURPOSES, Finding, ReadingError, typed
from irtkit.io import layouts, logs, paths, reading
from irtkit.printed import in_lines, printable, shortened
from irtkit.responses.guessing import near_chance
from irtkit.responses.tables import FOUND

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.responses import ResponseMatrix

_SHOWN = 10  # Names that are listed: two or three lines of a terminal.


@dataclass(frozen=True, eq=False)
class Overview:
    """What a path holds. Printed, it is the output of ``irtkit inspect``."""

    path: str
    formats: dict[str, int]  # Number of files by format.
    tasks: pd.DataFrame | None = None
    """Logs: a row for each format and task, see `irtkit.io.logs.Logs.summary`."""
    matrix: ResponseMatrix | None = None
    """The matrix that the settings give, or None if there is a problem."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of `irtkit.read_responses` that the path needs."""
    findings: tuple[Finding, ...] = ()  # What reading found, except the problem.
    problem: ReadingError | None = None  # Why no settings that irtkit may choose give a matrix.

    @property
    def _typed_path(self) -> str:
        return shlex.quote(f"./{self.path}" if self.path.startswith("-") else self.path)

    @property
    def command(self) -> str:
        """The command that fits what the path holds, or empty text if there is a problem."""
        if self.matrix is None:
            return ""
        path = self._typed_path
        settings = dict(self.settings)
        if settings.pop("levels", False):
            settings["model"] = "GPCM"
        options = typed(settings, options=True)
        return f"irtkit fit {path} {options}".rstrip()

    def __str__(self) -> str:
        lines = [printable(self.path)]
        for kind, n in self.formats.items():
            lines.append(f"  {kind}: {counted(n, 'file')}")
        tasks: Any = () if self.tasks is None else self.tasks.iterrows()
        for (form, task), row in tasks:
            systems = first_names(row["systems"], shown=_SHOWN)
            marks = first_names(row["metrics"], shown=_SHOWN) or "none that all systems have"
            facts = [f"systems ({len(row['systems'])}): {systems}"]
            facts.append(f"samples: {row['n_samples']:,}")
            facts.append(f"metrics: {marks}")
            if row["numbers"]:
                facts.append(f"other numbers: {first_names(row['numbers'], shown=_SHOWN)}")
            if row["n_errors"]:
                n_errors = row["n_errors"]
                facts.append(f"answers with an error, marked wrong: {n_errors} (see --errors)")
            lines += ["", in_lines([f"task {task} ({form})"]), in_lines(facts, bullet="  ")]
        if self.matrix is not None:
            lines += ["", in_lines(_sentences(self.matrix))]
        for finding in self.findings:
            lines.append(in_lines([f"{finding.severity}: {finding.text(options=True)}"]))
        if self.problem is not None:
            place = f"{self.problem.place}: " if self.problem.place else ""
            finding = self.problem.finding
            lines += ["", in_lines([f"cannot be fitted: {place}{finding.reason}"])]
            judges = {}
            for remedy in finding.remedies:
                choice = f"add {typed(remedy.settings, options=True)} {PURPOSES[remedy.purpose]}"
                lines.append(in_lines([choice], bullet="  "))
                if "judge" in remedy.settings:
                    judges["judge"] = remedy.settings["judge"]
            if judges or finding.code == "judge-column" or finding.values.get("judges"):
                options = typed({**self.settings, **judges}, options=True)
                command = f"irtkit judges {self._typed_path} {options}".rstrip()
                lines += ["", "to adjust marks of judges:", f"  {printable(command)}"]
            return "\n".join(lines)
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
    ResponseMatrix(2 systems × 2 items, 50.0% missing, 1.5 trials a cell on average)
    """
    seen, read = _files_of(path, settings)
    turned: tuple[Finding, ...] = ()
    for _ in range(20):  # every round settles a finding, such as the metric of a task
        findings: list[Finding] = []
        how = {"levels": FOUND} | settings
        try:
            with warnings.catch_warnings(action="ignore"):
                if read is not None:
                    matrix = reading.matrix_of_logs(read, findings, **how)
                else:
                    matrix = reading.read_responses(path, **how)
        except ReadingError as error:
            seen = replace(seen, settings=settings, findings=tuple(findings), problem=error)
            remedy = next(iter(error.finding.remedies), None)
            more = _added(settings, remedy.settings) if remedy and remedy.safe else {}
            if not more:
                return seen
            settings = settings | more
            continue
        notes = turned
        if matrix.source is not None:
            notes += matrix.source.findings
        by_code = {finding.code: finding for finding in notes}
        if "transposed" in by_code and not turned:
            turned = (by_code["transposed"],)
            settings = settings | {"transpose": True}
            continue
        doubt = by_code.get("only-right", by_code.get("orientation"))
        if doubt is not None:
            others = tuple(finding for finding in notes if finding is not doubt)
            problem = ReadingError(replace(doubt, severity="error"))
            return replace(seen, settings=settings, findings=others, problem=problem)
        notes += tuple(near_chance(matrix))
        return replace(seen, matrix=matrix, settings=settings, findings=notes, problem=None)
    return seen


def _files_of(
    path: str | os.PathLike[str], settings: dict[str, Any]
) -> tuple[Overview, logs.Logs | None]:
    """Formats of the files of a path, and the logs among them, None if there are none."""
    name = os.fspath(path)
    file = as_path(path).expanduser()
    form = settings.get("format")
    if not logs.stands_for_several(file):
        head = head_of(file)
        if logs.log_format(file, head, alone=True) not in logs.LOG_FORMATS:
            return Overview(name, {paths.form_of(file, head, form): 1}), None
    form = form if form in logs.LOG_FORMATS else None
    read = logs.read_logs(logs.files_of(file), form=form, strict=bool(settings.get("strict")))
    if read.samples:
        kinds = zip(read.runs["format"], read.runs["version"], strict=True)
        formats = Counter(f"{kind} ({version})" for kind, version in kinds)
        return Overview(name, formats, read.summary()), read
    tables = filter(layouts.is_table, read.skipped)
    return Overview(name, Counter(table.suffix or table.name for table in tables)), None


def _added(settings: dict[str, Any], remedy: Any) -> dict[str, Any]:
    """Settings of a remedy that are new, names joined to the names that are there."""
    more = {}
    for name, value in remedy.items():
        present = settings.get(name)
        joined = value
        if isinstance(value, list) and isinstance(present, list):
            joined = [*present, *(item for item in value if item not in present)]
        if joined != present:
            more[name] = joined
    return more


def _sentences(matrix: ResponseMatrix) -> list[str]:
    """Size, labels and tasks of a matrix."""
    systems = first_names([*map(shortened, matrix.respondents)], shown=_SHOWN)
    items = first_names([*map(shortened, matrix.items)], shown=_SHOWN)
    lines = [f"{matrix!r}", f"systems: {systems}", f"items: {items}"]
    if matrix.item_table is not None and "task" in matrix.item_table:
        tasks = []
        for task, n in matrix.item_table["task"].value_counts(sort=False).items():
            tasks.append(f"{shortened(str(task))} ({n:,})")
        lines.append(f"tasks ({len(tasks)}): {first_names(tasks, shown=_SHOWN)}")
    return lines
