"""What a path holds, before anything is fitted: formats, systems, tasks, metrics, and what to type.

The settings that are proposed are the least that make a matrix: where a task was marked by several
metrics the first that is right or wrong in every sample, where a metric is by several filters the
first of these, repeats counted where there are any, words and thresholds that the reader advises,
or one half where scores are shares. They are tried before they are proposed.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import first_names
from irtkit.files import as_path, head_of
from irtkit.io import log_matrix, logs, reading
from irtkit.printed import in_lines, printable, shortened
from irtkit.responses.advice import SHARES
from irtkit.responses.columns import APART
from irtkit.responses.long_table import COUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from irtkit.io.logs import Reading
    from irtkit.io.samples import Measure, Samples
    from irtkit.responses import ResponseMatrix

_WORD = re.compile(r"'([^',]*)'")
_MARKS = re.compile(
    r"\b(threshold|right|wrong)=(\d+|'[^',]*'|\['[^',]*'(?:, '[^',]*')*\])(?![\w.'])"
)
"""What a message says to type: a number, a word or a list of words."""
_HALF = 0.5
"""Threshold of the command that is proposed for graded scores: the middle of 0 to 1."""
_SHOWN = 10
"""Names that are listed: two or three lines of a terminal."""


@dataclass(frozen=True, eq=False)
class Overview:
    """What a path holds; printed, it is the answer of ``irtkit inspect``."""

    path: str
    formats: dict[str, int]
    """Files by format and version."""
    tasks: dict[str, list[str]] = field(default_factory=dict)
    """What is known of every task of the logs, as sentences."""
    matrix: ResponseMatrix | None = None
    """The matrix that the settings make."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of `irtkit.read_responses` that are not the defaults."""
    metrics: tuple[list[str], list[str]] = ([], [])
    """Names of the metrics besides marks that differ between items, and those that are scores."""
    problem: str = ""
    """Why no settings make a matrix."""
    notes: list[str] = field(default_factory=list)
    """What was skipped, failed or is not the newest."""

    @property
    def command(self) -> str:
        """The command that fits what the path holds, empty where none does."""
        if self.matrix is None:
            return ""
        options = [f"--{name} {_typed(value)}" for name, value in self.settings.items()]
        path = f"./{self.path}" if self.path.startswith("-") else self.path  # no option
        return " ".join(["irtkit fit", _quoted(path), *options])

    @property
    def metrics_options(self) -> str:
        """The options that score the items by all further metrics, empty where there are none."""
        names, scores = (",".join(of) for of in self.metrics)
        options = (
            f"--metrics {shlex.quote(names)} --higher-is-better {shlex.quote(scores or 'none')}"
        )
        return options * bool(names)

    def __str__(self) -> str:
        lines = [printable(self.path)]
        lines += [f"  {kind}: {n} file{'s' * (n > 1)}" for kind, n in self.formats.items()]
        for task, sentences in self.tasks.items():
            lines += ["", in_lines([f"task {task}"]), in_lines(sentences, bullet="  ")]
        lines += ["", in_lines(_sentences(self.matrix))] if self.matrix is not None else []
        lines += [in_lines([note]) for note in self.notes]
        if self.problem:
            return "\n".join([*lines, "", in_lines([f"cannot be fitted: {self.problem}"])])
        if self.metrics_options:
            lines += [
                "",
                "to score the items by what else was measured, add to the command below, of these",
                "(scores are taken for better when higher, other numbers when lower: correct it)",
                f"  {printable(self.metrics_options)}",
            ]
        return "\n".join([*lines, "", "to fit it:", f"  {self.command}"])


def overview(path: str | os.PathLike[str]) -> Overview:
    r"""Look at a file, a folder or a pattern of logs, or at a table.

    Raises
    ------
    ValueError
        If a log is damaged, or nothing is of a known format.
    OSError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from irtkit.io.overview import overview
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.csv")
    ...     _ = path.write_text("model,item,correct\na,q1,1\na,q1,0\nb,q2,1\n")
    ...     found = overview(path)
    >>> found.settings
    {'repeats': 'count'}
    >>> found.matrix
    ResponseMatrix(2 respondents × 2 items, 50.0% missing, 1.5 trials a cell on average)
    """
    name, tables = os.fspath(path), [as_path(path)]
    if logs.stands_for_several(name) or logs.log_format(tables[0], head_of(name)) is not None:
        found = logs.read_files(logs.files_of(name))
        if found.readings:
            return _of_logs(name, found)
        tables = [file for file in found.skipped if logs.is_table(file)]
        if not tables:
            raise ValueError(
                f"{name}: none of the {len(found.skipped)} files is an evaluation log or a table"
            )
    seen = Overview(name, Counter(map(reading.format_of, tables)))
    return _tried(seen, functools.partial(reading.read_responses, name))


def _of_logs(name: str, found: logs.Logs) -> Overview:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log_matrix.warn_of_skipped(found)
        log_matrix.warn_of_unfinished(found.readings)
        readings: list[logs.Reading] = []
        with suppress(ValueError):  # which the matrix meets as well
            readings = log_matrix.fullest(log_matrix.scored(found))
            log_matrix.newest(readings)
    samples = [one.samples for one in found.readings]
    formats = Counter(f"{one.format} ({one.version})" for one in samples)
    by_task = log_matrix.by_kind(readings)
    tasks = {f"{task} ({form})": _of_task(each) for (form, task), each in by_task.items()}
    notes = [str(one.message) for one in caught]
    seen = Overview(name, formats, tasks, settings=_choices(by_task), notes=notes)
    tried = _tried(seen, functools.partial(log_matrix.matrix_of, found))
    return replace(tried, metrics=_further(readings, tried))


def _further(readings: list[Reading], tried: Overview) -> tuple[list[str], list[str]]:
    """Metrics that are not what was marked by, and tell items apart; those that are scores."""
    if tried.matrix is None or tried.matrix.metrics is None:
        return [], []
    given = (tried.settings.get(name) for name in ("metric", "filter", "threshold"))
    marks = log_matrix.chosen_measures(readings, *given)
    names = log_matrix.metric_names(readings)
    out = {names[each] for each in marks.items()}
    differing = tried.matrix.metrics.groupby(["metric", "respondent"], observed=True)["value"]
    telling = differing.nunique().gt(1).groupby("metric", observed=True).any()
    kept = [name for name in telling.index[telling] if name not in out]
    unmarked = {
        names[one.kind, each]
        for one in readings
        for each in one.samples.not_marks & one.samples.scores.keys()
    }
    return kept, [name for name in kept if name not in unmarked]


def _quoted(path: str) -> str:
    """How a path is typed: signs that do not print as their bytes, which Bash and zsh know."""
    if path.isprintable():
        return shlex.quote(path)
    signs = (
        one
        if one.isprintable() and one not in "\\'"
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(one))
        for one in path
    )
    return f"$'{''.join(signs)}'"


def _typed(value: str | float | list[str]) -> str:
    """How a setting is typed: several names with commas between them."""
    if isinstance(value, float):
        return f"{value:g}"
    return shlex.quote(value if isinstance(value, str) else ",".join(value))


def _tried(seen: Overview, matrix: Callable[..., ResponseMatrix]) -> Overview:
    """Add the least of repeats and marks that makes a matrix.

    What may be the same ids in several tasks is not counted as repeats.
    """
    problems: list[str] = []
    apart: list[str] = []
    for advised in (False, True):
        marks = _advised(problems) if advised else {}
        for more in (marks, marks | {"repeats": "count"}):
            if apart and "repeats" in more:
                continue
            settings = seen.settings | more
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        made = matrix(**settings)
                    finally:
                        messages = dict.fromkeys(str(one.message) for one in caught)
                        apart = [one for one in messages if one.startswith(APART)]
            except ValueError as error:
                problems.append(str(error).replace(COUNT, "") if apart else str(error))
            else:
                notes = [*seen.notes, *apart]
                return replace(seen, matrix=made, settings=settings, notes=notes)
    return replace(seen, notes=[*seen.notes, *apart], problem=problems[0])


def _advised(problems: Iterable[str]) -> dict[str, Any]:
    """What counts as right, as the messages say: from one half on where scores are shares."""
    text = " ".join(problems)
    found: dict[str, Any] = {}
    for name, value in _MARKS.findall(text):
        words = _WORD.findall(value) or [value]
        found[name] = float(value) if name == "threshold" else words
    return found or ({"threshold": _HALF} if SHARES in text else {})


def _of_task(samples: list[Samples]) -> list[str]:
    systems = list(dict.fromkeys(one.respondent for one in samples))
    marks = log_matrix.marks_of(samples)
    numbers = [one for one in log_matrix.measures_of(samples) if one not in marks]
    n_samples = sum(one.n_samples for one in samples)
    sentences = [
        f"systems ({len(systems)}): {first_names(systems, shown=_SHOWN)}",
        f"samples: {n_samples}",
        f"metrics: {first_names(marks, shown=_SHOWN) or 'none that all systems have'}",
    ]
    if numbers:
        sentences.append(f"other numbers: {first_names(numbers, shown=_SHOWN)}")
    if n_errors := sum(len(one.errors) for one in samples):
        sentences.append(
            f"answers that ended in an error and count as wrong: {n_errors} "
            "(--errors missing leaves them out)"
        )
    return sentences


def _choices(by_task: dict[tuple[str, str], list[Samples]]) -> dict[str, Any]:
    """Names of metrics and filters, where somebody has to choose."""
    metrics: list[str] = []
    filters: list[str] = []
    for samples in by_task.values():
        marks = log_matrix.marks_of(samples)
        if not marks:
            continue
        names = {one.metric for one in marks}
        default = log_matrix.default_of(samples)
        doubtful = any(one.doubt for one in samples)
        chosen = next((name for name in metrics if name in names), None)
        if chosen is None:
            settled = [one for one in marks if _is_right_or_wrong(samples, one)] or marks
            chosen = default if default in names else settled[0].metric
            if len(names) > 1 and (default not in names or doubtful):
                metrics.append(chosen)
        by = [one.filter for one in marks if one.metric == chosen]
        if len(by) > 1 and not set(filters) & set(by):
            filters.append(by[0])
    return {name: given for name, given in (("metric", metrics), ("filter", filters)) if given}


def _is_right_or_wrong(samples: list[Samples], measure: Measure) -> bool:
    scores = np.concatenate([one.scores[measure][1] for one in samples])
    return bool((np.isnan(scores) | (scores == 0) | (scores == 1)).all())


def _sentences(matrix: ResponseMatrix) -> list[str]:
    """Size, share missing, and blocks of a matrix."""
    lines = [
        f"{matrix!r}",
        f"respondents: {first_names([*map(shortened, matrix.respondents)], shown=_SHOWN)}",
        f"items: {first_names([*map(shortened, matrix.items)], shown=_SHOWN)}",
    ]
    blocks = _blocks(matrix)
    if blocks.max() > 0:
        names = [
            first_names([shortened(matrix.respondents[k]) for k in np.flatnonzero(blocks == block)])
            for block in range(blocks.max() + 1)
        ]
        lines.append(
            f"{len(names)} blocks of systems share no items, so that their abilities cannot be "
            f"compared: {first_names(names, ' | ')}"
        )
    return lines


def _blocks(matrix: ResponseMatrix) -> NDArray[np.intp]:
    """Block of every respondent: those of different blocks have no items in common."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = matrix.observed.trials.nonzero()
    n = matrix.n_respondents + matrix.n_items
    places = (rows, columns + matrix.n_respondents)
    graph = coo_array((np.ones(len(rows), np.int8), places), shape=(n, n))
    _, labels = connected_components(graph, directed=False)
    _, blocks = np.unique(labels[: matrix.n_respondents], return_inverse=True)
    return blocks
