"""One response matrix of evaluation logs of any harness, systems and tasks.

An item is ``task/item``. Of several runs of one respondent on the same items of a task the newest
counts, unless repeats say otherwise; a copy or a retry of a run is none of its own. Where a task
was marked by several metrics, or one metric through several filters of the answer, somebody has to
say which one is right or wrong: never are they taken for repeats.
"""

from __future__ import annotations

import hashlib
import math
import shlex
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.checks import as_number, check_unique, first_names, short
from irtkit.io.logs import is_table
from irtkit.responses import ResponseMatrix
from irtkit.responses.codes import MISSING, codes_of_rows
from irtkit.responses.marking import Marking
from irtkit.responses.trials import check_repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from irtkit.io.logs import Logs, Reading
    from irtkit.io.samples import Item, Measure, Samples
    from irtkit.io.source import Choice
    from irtkit.responses.matrix import Repeats

_SEVERAL = " (or a list: the first that a task has counts)"
_CHOICES = (
    'pass repeats="count" to take all runs as trials, "first" or "last" for the earliest or latest '
    'answer to every item, or "mean>=0.5" for the majority'
)


def matrix_of(
    logs: Logs,
    *,
    metric: Choice = None,
    filter: Choice = None,  # noqa: A002 - the word of the harnesses
    threshold: float | None = None,
    repeats: Repeats = "error",
    errors: Literal["missing"] | None = None,
    sparse: bool = False,
) -> ResponseMatrix:
    """Response matrix of logs; `irtkit.read_responses` says what the settings mean."""
    import pandas as pd

    check_repeats(repeats)
    if errors not in {None, "missing"}:
        raise ValueError(f"errors must be 'missing' or None, got {errors!r:.80}")
    warn_of_skipped(logs)
    readings = fullest(scored(logs))
    readings = newest(readings) if repeats == "error" else _in_time(readings)
    warn_of_unfinished(readings)
    measures = chosen_measures(readings, metric, filter, threshold)
    contents = _contents(logs, readings)
    rows: dict[str, int] = {}
    columns = np.full(len(logs.items), -1)
    n_columns = 0
    of_rows, of_columns, scores = [], [], []
    for reading in readings:
        samples = reading.samples
        row = rows.setdefault(samples.respondent, len(rows))
        fresh = reading.numbers[columns[reading.numbers] < 0]
        columns[fresh] = np.arange(n_columns, n_columns + fresh.size)
        n_columns += fresh.size
        positions, values = samples.scores[measures[reading.kind]]
        if errors == "missing":
            values = np.where(np.isin(positions, samples.errors), np.nan, values)
        of_columns.append(columns[reading.numbers[positions]])
        of_rows.append(np.full(len(positions), row))
        scores.append(values)
    used = np.flatnonzero(columns >= 0)
    used = used[np.argsort(columns[used])]
    keys = list(logs.items)
    labels = tuple(f"{keys[k][0]}/{keys[k][1]}" for k in used)
    check_unique("tasks and items must make unique labels", labels)
    names = (tuple(rows), labels)
    row_of, column_of = np.concatenate(of_rows), np.concatenate(of_columns)
    codes = codes_of_rows(
        pd.Series(np.concatenate(scores)),
        lambda k: (names[0][row_of[k]], labels[column_of[k]]),
        Marking.of(threshold),
    )
    if codes.max(initial=MISSING) == MISSING:
        raise ValueError("the logs hold no response: every score is missing")
    block = row_of, column_of, codes
    matrix = ResponseMatrix.of_rows(block, names, repeats=repeats, sparse=sparse)
    described = [(keys[k][0], logs.described[int(k), contents[int(k)]]) for k in used]
    return matrix.with_tables(
        _item_table(labels, described),
        _respondent_table(readings),
        _metrics(readings, rows, columns, labels),
    )


def scored(logs: Logs) -> list[Reading]:
    """Readings that hold scores."""
    found = [reading for reading in logs.readings if reading.samples.scores]
    if not found:
        failed = sum(reading.samples.n_failed for reading in logs.readings)
        because = f": {failed} samples failed" if failed else ""
        raise ValueError(f"no sample has a score{because} ({_names(logs.readings)})")
    if len(found) < len(logs.readings):
        empty = [one for one in logs.readings if not one.samples.scores]
        warnings.warn(f"logs without any score are left out: {_names(empty)}", stacklevel=4)
    return found


def fullest(readings: list[Reading]) -> list[Reading]:
    """Readings without copies and retries of the same run: of these the one with most samples."""
    left_out: set[Reading] = set()
    for run in _by_run(readings).values():
        if _share_items(run):
            same: dict[object, list[Reading]] = {}
            for reading in run:
                same.setdefault(_identity(reading), []).append(reading)
            left_out.update(*(_behind(logs, _size) for logs in same.values()))
    if left_out:
        warnings.warn(
            "copies, retries or parts of a run that is there: the log with most samples counts, "
            f"and these do not: {_names(one for one in readings if one in left_out)}",
            stacklevel=4,
        )
    return [reading for reading in readings if reading not in left_out]


def newest(readings: list[Reading]) -> list[Reading]:
    """Readings of which those of one run share no items: if they do, the newest."""
    superseded: set[Reading] = set()
    for (respondent, task), run in _by_run(readings).items():
        older = _behind(run, _written) if _share_items(run) else {}
        for reading, newer in older.items():
            why = _why_not_newest([one.samples for one in newer], reading.samples)
            if why:
                raise ValueError(
                    f"{short(respondent)} ran several times on task {short(task)} "
                    f"({_names([*newer, reading])}), and {why}: {_CHOICES}"
                )
        superseded.update(older)
    if superseded:
        warnings.warn(
            "several runs of one respondent on the same task: the newest counts, and these do "
            f"not: {_names(one for one in readings if one in superseded)}; {_CHOICES}",
            stacklevel=4,
        )
    return [reading for reading in readings if reading not in superseded]


def _behind(run: list[Reading], key: Callable[[Reading], Any]) -> dict[Reading, list[Reading]]:
    """Readings that share items with some that are greater by the key, and these."""
    taken: dict[int, Reading] = {}
    found = {}
    for reading in sorted(run, key=key, reverse=True):
        numbers = reading.numbers.tolist()
        greater = list({taken[number]: None for number in numbers if number in taken})
        if greater:
            found[reading] = greater
        else:
            taken |= dict.fromkeys(numbers, reading)
    return found


def _why_not_newest(newer: list[Samples], older: Samples) -> str:
    """Why the newest of several runs cannot be taken unasked, if so."""
    if not older.written or any(one.written == older.written for one in newer):
        return "the logs do not say which run is the newest"
    status = next((one.unfinished for one in newer if one.unfinished), "")
    return (
        f"the newest did not end well (status {status})" if status and not older.unfinished else ""
    )


def _share_items(run: list[Reading]) -> bool:
    numbers = np.concatenate([reading.numbers for reading in run])
    return np.unique(numbers).size < numbers.size


def _in_time(readings: list[Reading]) -> list[Reading]:
    """Readings, those of one run in the order of time in the places that they have."""
    runs = {run: iter(sorted(each, key=_written)) for run, each in _by_run(readings).items()}
    return [next(runs[reading.run]) for reading in readings]


def _by_run(readings: list[Reading]) -> dict[tuple[str, str], list[Reading]]:
    found: dict[tuple[str, str], list[Reading]] = {}
    for reading in readings:
        found.setdefault(reading.run, []).append(reading)
    return found


def by_kind(readings: Iterable[Reading]) -> dict[tuple[str, str], list[Samples]]:
    """Samples by format and task."""
    found: dict[tuple[str, str], list[Samples]] = {}
    for reading in readings:
        found.setdefault(reading.kind, []).append(reading.samples)
    return found


def _written(reading: Reading) -> str:
    return reading.samples.written


def _size(reading: Reading) -> tuple[int, str]:
    samples = reading.samples
    return samples.n_samples - samples.n_failed, samples.written


def _identity(reading: Reading) -> object:
    """What tells a run from another: what the log says, or the bytes of the file."""
    samples = reading.samples
    if samples.run:
        return samples.run
    with samples.path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest(), samples.written


def _names(readings: Iterable[Reading]) -> str:
    """Names of files; with their folders, where several go by one name."""
    paths = [reading.samples.path for reading in readings]
    alike = len({path.name for path in paths}) < len(paths)
    return first_names(["/".join(path.parts[-1 - alike :]) for path in paths])


def warn_of_skipped(logs: Logs) -> None:
    """Say which files in folders were not read, those first that may hold responses."""
    if logs.skipped:
        n = len(logs.skipped)
        skipped = sorted(logs.skipped, key=is_table, reverse=True)
        advice, tables = "", [shlex.quote(str(file)) for file in skipped if is_table(file)]
        if logs.readings and tables:
            advice = (
                "; responses in tables are put together with those of logs by "
                f"irtkit merge LOGS {first_names(tables, ' ')} --out all.parquet"
            )
        warnings.warn(
            f"{n} file{'s are' * (n > 1) or ' is'} no evaluation log{'s' * (n > 1)} and skipped: "
            f"{first_names(list(dict.fromkeys(file.name for file in skipped)))}{advice}",
            stacklevel=4,
        )


def warn_of_unfinished(readings: list[Reading]) -> None:
    """Say which runs lack samples."""
    lacking = []
    for samples in (reading.samples for reading in readings):
        short = samples.n_planned is not None and samples.n_samples < samples.n_planned
        if samples.n_failed or (samples.unfinished and (short or samples.n_planned is None)):
            planned = "" if samples.n_planned is None else f" of {samples.n_planned}"
            ended = f", status {samples.unfinished}" * bool(samples.unfinished)
            lacking.append(
                f"{samples.path.name} ({samples.n_samples}{planned} samples, "
                f"{samples.n_failed} failed{ended})"
            )
    if lacking:
        warnings.warn(
            "samples that failed or did not run are missing, not wrong: "
            f"{first_names(lacking, '; ')}",
            stacklevel=4,
        )


def chosen_measures(
    readings: list[Reading], metric: Choice, by: Choice, threshold: float | None
) -> dict[tuple[str, str], Measure]:
    """Measure by format and task; the error where several may be meant lists them."""
    tasks = by_kind(readings)
    everything = {one for each in tasks.values() for one in measures_of(each)}
    _refuse_unknown("metric", metric, {one.metric for one in everything})
    _refuse_unknown("filter", by, {one.filter for one in everything})
    chosen = {}
    for kind, samples in tasks.items():
        task = kind[1]
        common = measures_of(samples)
        if not common:
            raise ValueError(
                f"task {short(task)}: the logs of its systems have no metric in common"
            )
        name = _metric(task, samples, metric, threshold)
        chosen[kind] = _filtered(task, [one for one in common if one.metric == name], by)
    return chosen


def measures_of(samples: Iterable[Samples]) -> list[Measure]:
    """Measures that all have, in the order of the first."""
    first, *others = samples
    return [one for one in first.scores if all(one in other.scores for other in others)]


def marks_of(samples: list[Samples]) -> list[Measure]:
    """Those of the measures that all have which are marks."""
    unmarked = {measure for one in samples for measure in one.not_marks}
    return [one for one in measures_of(samples) if one not in unmarked]


def default_of(samples: list[Samples]) -> str | None:
    """The metric that the format says is right or wrong, where it says the same of all."""
    defaults = {one.default for one in samples}
    return defaults.pop() if len(defaults) == 1 else None


def _metric(task: str, samples: list[Samples], metric: Choice, threshold: float | None) -> str:
    known = list(dict.fromkeys(one.metric for one in measures_of(samples)))
    for name in _listed(metric):
        if name in known:
            return name
    marks = list(dict.fromkeys(one.metric for one in marks_of(samples)))
    default = default_of(samples)
    if default in marks:
        others = [name for name in marks if name != default]
        if threshold is None or not others:
            doubt = next((each for each in samples if each.doubt), None)
            if doubt is not None:
                raise ValueError(
                    f"{doubt.path.name}: {doubt.doubt}: pass metric={default!r}, or threshold= "
                    "for scores (a score at or above it is right)"
                )
            return str(default)
        marks = others
    if len(marks) != 1:
        choices = first_names([f"metric={name!r}" for name in marks or known], " or ", shown=20)
        raise ValueError(
            f"task {short(task)} was marked by several metrics: pass {choices}{_SEVERAL}"
        )
    return marks[0]


def _filtered(task: str, measures: list[Measure], by: Choice) -> Measure:
    known = {measure.filter: measure for measure in measures}
    for name in _listed(by):
        if name in known:
            return known[name]
    if len(measures) == 1:
        return measures[0]
    choices = first_names([f"filter={name!r}" for name in known], " or ", shown=20)
    raise ValueError(
        f"task {short(task)} has {measures[0].metric} by several filters: pass {choices}{_SEVERAL}"
    )


def _refuse_unknown(argument: str, choice: Choice, known: set[str]) -> None:
    for name in _listed(choice):
        if name not in known:
            there = first_names(sorted(filter(None, known)), shown=20) or "none"
            raise ValueError(f"{argument}={short(name)} is in none of the logs; there are: {there}")


def _listed(choice: Choice) -> list[str]:
    return [] if choice is None else [choice] if isinstance(choice, str) else list(choice)


def _contents(logs: Logs, readings: list[Reading]) -> dict[int, str | None]:
    """Content of each item, which must not differ between logs."""
    found: dict[int, tuple[str | None, Samples]] = {}
    latest: dict[str, list[str | None]] = {}
    for reading in readings:
        if latest.get(reading.samples.task) is reading.contents:  # as the log before has them
            continue
        latest[reading.samples.task] = reading.contents
        for number, content in zip(reading.numbers.tolist(), reading.contents, strict=True):
            known, one = found.setdefault(number, (content, reading.samples))
            if known is None:
                found[number] = content, reading.samples
            elif content is not None and known != content:
                task, item = list(logs.items)[number]
                other = reading.samples
                raise ValueError(
                    f"item {short(f'{task}/{item}')} is not the same in {one.path.name} "
                    f"({one.respondent}) and {other.path.name} ({other.respondent}): their content "
                    "hashes differ, so the task changed between the runs; read them one by one"
                )
    return {number: content for number, (content, _) in found.items()}


def _item_table(labels: tuple[str, ...], described: list[tuple[str, Item]]) -> Any:
    import pandas as pd

    columns: dict[str, list[Any]] = {
        "task": [task for task, _ in described],
        "text": [item.text for _, item in described],
        "target": [item.target for _, item in described],
    }
    metadata = dict.fromkeys(name for _, item in described for name in item.metadata)
    for name in metadata:
        column = name if name not in columns else f"metadata.{name}"
        columns[column] = [item.metadata.get(name) for _, item in described]
    alike = {name: _of_one_kind(values) for name, values in columns.items()}
    table = pd.DataFrame(alike, index=pd.Index(labels, name="item"))
    return table.dropna(axis="columns", how="all")


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Numbers, or yes and no, if all are; otherwise text, so that a column can be written."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float, type(None)}:
        return [math.nan if value is None else as_number(value) for value in values]
    if kinds == {bool}:
        return values
    return [None if value is None else str(value) for value in values]


def _respondent_table(readings: list[Reading]) -> Any:
    about: dict[str, dict[str, Any]] = {}
    for reading in readings:
        about.setdefault(reading.samples.respondent, {}).update(reading.samples.about)
    if not any(about.values()):
        return None
    import pandas as pd

    names = dict.fromkeys(name for known in about.values() for name in known)
    columns = {name: _of_one_kind([known.get(name) for known in about.values()]) for name in names}
    return pd.DataFrame(columns, index=list(about))


def metric_names(readings: Iterable[Reading]) -> dict[tuple[tuple[str, str], Measure], str]:
    """Name of every measure of a format and task: of its metric, by several filters also of that.

    There are none where all logs have their mark alone.
    """
    kinds: dict[tuple[str, str], dict[Measure, None]] = {}
    for reading in readings:
        kinds.setdefault(reading.kind, {}).update(dict.fromkeys(reading.samples.scores))
    if all(len(measures) == 1 for measures in kinds.values()):
        return {}
    by = Counter((kind, one.metric) for kind, measures in kinds.items() for one in measures)
    return {
        (kind, one): _whole(str(one) if by[kind, one.metric] > 1 else one.metric)
        for kind, measures in kinds.items()
        for one in measures
    }


def _whole(name: str) -> str:
    """A name that a file can hold: JSON may name half of a character."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def _metrics(
    readings: list[Reading],
    rows: dict[str, int],
    columns: NDArray[np.int64],
    labels: tuple[str, ...],
) -> Any:
    """All numbers of all answers, of repeats their mean, where there are others than marks.

    A row per number takes memory as the logs do, whatever names they have, and a column per metric
    would not.
    """
    names = metric_names(readings)
    if not names:
        return None
    import pandas as pd

    metrics: dict[str, int] = {}
    number = np.min_scalar_type(-len(labels) - 1)
    parts, of = [], []
    for (respondent, _), run in _by_run(readings).items():
        found: dict[str, list[tuple[Any, Any]]] = {}
        for reading in run:
            for measure, (positions, values) in reading.samples.scores.items():
                places = columns[reading.numbers[positions]]
                found.setdefault(names[reading.kind, measure], []).append((places, values))
        for name, several in found.items():
            places, values = _means(*(np.concatenate(part) for part in zip(*several, strict=True)))
            if len(values):
                metric = metrics.setdefault(name, len(metrics))
                parts.append((places.astype(number), values))
                of.append((rows[respondent], metric, len(values)))
    places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    row_of, metric_of, lengths = zip(*of, strict=True)
    coded: dict[str, tuple[Any, Iterable[str]]] = {
        "respondent": (np.repeat(_small(row_of), lengths), rows),
        "item": (places, labels),
        "metric": (np.repeat(_small(metric_of), lengths), metrics),
    }
    table = {
        kind: pd.Categorical.from_codes(codes, pd.Index(list(names)))
        for kind, (codes, names) in coded.items()
    }
    return pd.DataFrame({**table, "value": values}, copy=False)


def _small(codes: Sequence[int]) -> NDArray[np.signedinteger[Any]]:
    """Codes in the fewest bytes."""
    return np.array(codes, np.min_scalar_type(-max(codes) - 1))


def _means(
    places: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places of the items that have values, each once, and the mean of these."""
    known = ~np.isnan(values)
    if not known.all():
        places, values = places[known], values[known]
    if (np.diff(places) > 0).all():
        return places, values
    once, which, count = np.unique(places, return_inverse=True, return_counts=True)
    return once, np.bincount(which, values) / count
