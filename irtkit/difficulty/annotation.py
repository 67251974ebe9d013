"""The impact metric: how much work predicted annotations save the people who annotate.

An annotation is a type with a start and an end. Predicted annotations of a sample are paired with
the manual ones at the least cost (Kuhn 1955), which is for a pair

    W_type [types differ] + W_start |Δstart| + W_end |Δend|,

times divided by the duration of the sample, if given. Among assignments of equal cost the one with
the fewest changed fields is taken, so that the order of rows does not matter. Then

    impact = penalty / scratch,    scratch = add × manual annotations,
    penalty = fix × changed fields + delete × predictions left over + add × annotations left over,

with fix 1, delete 2 and add 3. 0 is perfect, below 1 helpful, above 1 worse than no predictions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from irtkit.checks import as_number, check_number, check_unique, first_names, short
from irtkit.files import as_path, head_of
from irtkit.findings import Finding, warn
from irtkit.responses.labels import category_name

if TYPE_CHECKING:
    import os

    import pandas as pd
    from numpy.typing import NDArray

FIELDS = ["type", "start", "end"]
_WORK = ("penalty", "scratch", "cost", "fixes", "deletes", "adds")
_TIE = 1e-12  # Cost of a changed field, as a proportion of the largest cost.
_LARGEST = 1e100  # Cost of a pair up to which totals do not overflow.
_ROUNDING = 1e-12  # Relative rounding of a mean: a maximum that is met is not exceeded.
_COLUMNS = ["sample", "action", "fields", "penalty", "predicted", "manual"]
_COLUMNS += [f"{whose}_{name}" for name in FIELDS for whose in ("predicted", "manual")]


@dataclass(frozen=True, eq=False)
class Impact:
    """Impact on one sample or a data set, made by `impact`."""

    impact: float
    """penalty / scratch, the mean over the samples that have one, or NaN without such a sample."""
    pooled: float
    """Total penalty / total scratch."""
    penalty: float
    scratch: float
    cost: float
    """Total cost of the assignments, in the units of the weights and times."""
    fixes: int
    """Changed fields of pairs, up to three each."""
    deletes: int
    adds: int
    n_undefined: int
    """Samples with predictions and without manual annotations, whose impact is undefined."""
    table: pd.DataFrame
    """Index ``sample`` ("" if there is only one, without a name), highest impact first, then those
    without one. Columns ``impact``, ``penalty``, ``scratch``, ``cost``, ``fixes``, ``deletes``,
    ``adds``, ``n_predicted`` and ``n_manual``."""
    edits: pd.DataFrame
    """A row per pair and per annotation left over. Columns: ``sample``, ``action`` ("keep", "fix",
    "delete", "add"), ``fields`` (to fix, such as "type; end"), ``penalty``, ``predicted`` and
    ``manual`` (label of the row, or position in a list), and type, start and end of both."""

    def exceeds(self, maximum: float) -> bool:
        """Whether the impact is above a threshold (by more than rounding).

        Raises
        ------
        ValueError
            If the threshold is not a finite number from 0, or no sample has an impact.
        """
        check_number("maximum", maximum, least=0)
        if math.isnan(self.impact):
            raise ValueError("no sample has manual annotations, so that impact cannot be computed")
        return self.impact > maximum + _ROUNDING

    def __str__(self) -> str:
        totals = {"impact": self.impact, "pooled": self.pooled}
        totals |= {name: getattr(self, name) for name in _WORK}
        counts = {"samples": len(self.table), "without_impact": self.n_undefined}
        return "\n".join(f"{name}: {value:.4g}" for name, value in (totals | counts).items())


def impact(
    predicted: Any,
    manual: Any,
    *,
    weights: Mapping[str, float] | None = None,
    penalties: Mapping[str, float] | None = None,
    duration: float | Mapping[Any, float] | pd.Series[float] | None = None,
    tolerance: float = 0.0,
) -> Impact:
    """Impact of predicted annotations on the work of annotating a sample or a data set.

    Parameters
    ----------
    predicted, manual : DataFrame, list or mapping
        Tables with the columns type, start and end, or lists of (type, start, end). For several
        samples, add a first column sample, or give mappings from samples to annotations.
    weights : mapping, optional
        Weights of the cost that decides which annotations are paired: "type", "start" and "end",
        each 1 by default. Times enter in their own unit.
    penalties : mapping, optional
        Penalties of the work that is left: "fix" (1, for each field), "delete" (2) and "add" (3).
    duration : float or mapping, optional
        Duration of the sample, in the unit of the times, or a mapping from the sample. The cost
        then takes times as proportions of it.
    tolerance : float, default 0.0
        Largest difference of starts or ends that needs no fixing, in the unit of the times.

    Returns
    -------
    Impact
        ``impact`` and ``table``, with one row per sample.

    Raises
    ------
    ValueError, TypeError
        If a column or type is missing, a column is unknown, a time is not finite, an end is before
        its start, a sample lacks a duration, or a setting is out of range.

    Warns
    -----
    irtkit.IRTWarning
        If no sample is in both.

    Notes
    -----
    Types and samples are compared as text. A sample in only one of the two has zero annotations in
    the other. An empty list in a mapping, or a row with only the sample, is a sample without
    annotations.

    Examples
    --------
    >>> import irtkit
    >>> predicted = {"clip-1": [("serve", 0, 2)], "clip-2": [("serve", 5, 6), ("rally", 6, 9)]}
    >>> manual = {"clip-1": [("serve", 0, 2)], "clip-2": [("rally", 6, 8)]}
    >>> found = irtkit.impact(predicted, manual)
    >>> found.impact, found.exceeds(0.6)
    (0.5, False)
    >>> found.edits[["sample", "action", "fields", "predicted", "manual"]]
       sample  action fields  predicted  manual
    0  clip-1    keep                 0     0.0
    1  clip-2     fix    end          1     0.0
    2  clip-2  delete                 0     NaN
    """
    import pandas as pd

    check_number("tolerance", tolerance, least=0)
    cost = _settings("weights", weights, dict.fromkeys(FIELDS, 1.0), least=0)
    work = _settings("penalties", penalties, {"fix": 1.0, "delete": 2.0, "add": 3.0}, above=0)
    first, second = _by_sample(predicted, "predicted"), _by_sample(manual, "manual")
    names = list(dict.fromkeys((*second, *first)))
    if not names:
        raise ValueError("predicted and manual hold no sample")
    if ("" in first) != ("" in second):
        raise TypeError("predicted and manual must both be of one sample or both of several")
    if first and second and not first.keys() & second.keys():
        one_of_each = {"predicted": next(iter(first)), "manual": next(iter(second))}
        warn(Finding("no-common-sample", "warning", one_of_each))
    durations: Any = duration
    if hasattr(durations, "items"):
        durations = {category_name(label): value for label, value in durations.items()}
        if lacking := [name for name in names if name not in durations]:
            raise ValueError(f"duration lacks a value for the sample {short(lacking[0])}")
    rows, edits = [], []
    for name in names:
        one, other = (of.get(name) or _annotations([], "") for of in (first, second))
        own = durations[name] if isinstance(durations, dict) else durations
        if own is not None:
            check_number(f"duration{f' of the sample {short(name)}' if name else ''}", own, above=0)
        found, own_edits = _scored(one, other, cost, work, tolerance, own)
        rows.append(found | {"n_predicted": len(one.rows), "n_manual": len(other.rows)})
        edits += [(name, *edit) for edit in own_edits]
    table = pd.DataFrame(rows, index=pd.Index(names, name="sample"))
    impacts = table["impact"].dropna()
    totals: dict[str, Any] = {name: table[name].to_numpy().sum().item() for name in _WORK}
    return Impact(
        impact=math.fsum(impacts) / len(impacts) if len(impacts) else math.nan,
        pooled=_share(totals["penalty"], totals["scratch"]),
        **totals,
        n_undefined=len(table) - len(impacts),
        table=table.sort_values(["impact", "penalty"], ascending=False, kind="stable"),
        edits=pd.DataFrame(edits, columns=_COLUMNS),
    )


def _settings(
    argument: str, given: Mapping[str, float] | None, defaults: dict[str, float], **bounds: float
) -> dict[str, float]:
    """Defaults with the values that were given in their place."""
    for name, value in (given or {}).items():
        if name not in defaults:
            keys = ", ".join(defaults)
            raise ValueError(f"{argument} has the unknown key {short(name)}, not of {keys}")
        check_number(f"{argument}[{short(name)}]", value, **bounds)
    return defaults | dict(given or {})


class Sample(NamedTuple):
    """The annotations of a sample, in order of start, end and type."""

    rows: list[Any]  # Label of each in the input, or its position.
    types: NDArray[np.object_]
    times: NDArray[np.float64]  # Start and end, (n, 2).


def costs(
    predicted: Sample, manual: Sample, weights: Mapping[str, float], duration: float | None = None
) -> NDArray[np.float64]:
    """Cost of every pair, (n_predicted, n_manual)."""
    apart = np.abs(predicted.times[:, None] - manual.times) / (duration or 1.0)
    moved = apart @ np.array([weights["start"], weights["end"]])
    return np.asarray(weights["type"] * (predicted.types[:, None] != manual.types) + moved)


def changes(predicted: Sample, manual: Sample, tolerance: float) -> NDArray[np.bool_]:
    """Which of type, start and end of every pair differ, (n_predicted, n_manual, 3).

    Times are compared as they are written: 1.1 is within 0.1 of 1.0.
    """
    larger = np.maximum(np.abs(predicted.times)[:, None], np.abs(manual.times))
    allowed = tolerance + np.spacing(larger) if tolerance > 0 else 0.0
    moved = np.abs(predicted.times[:, None] - manual.times) > allowed
    types = np.asarray(predicted.types[:, None] != manual.types, dtype=bool)
    return np.concatenate([types[:, :, None], moved], axis=2)


def _scored(
    predicted: Sample,
    manual: Sample,
    weights: Mapping[str, float],
    penalties: Mapping[str, float],
    tolerance: float,
    duration: float | None,
) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """Numbers of `Impact`, and rows of its table of edits."""
    from scipy.optimize import linear_sum_assignment

    with np.errstate(over="ignore", invalid="ignore"):
        cost = costs(predicted, manual, weights, duration)
    if not (cost <= _LARGEST).all():
        raise ValueError("the cost of a pair overflows: times, weights or 1/duration are too large")
    changed = changes(predicted, manual, tolerance)
    tie = _TIE * (cost.max(initial=0.0) or 1.0)
    pairs = np.column_stack(linear_sum_assignment(cost + tie * changed.sum(axis=2)))
    fix, delete, add = (penalties[name] for name in ("fix", "delete", "add"))

    def one(sample: Sample, k: int | None) -> tuple[Any, ...]:
        if k is None:
            return None, None, math.nan, math.nan
        return sample.rows[k], sample.types[k], *sample.times[k].tolist()

    def edit(i: int | None, j: int | None, *work: Any) -> tuple[Any, ...]:
        both = zip(one(predicted, i), one(manual, j), strict=True)
        return *work, *(value for pair in both for value in pair)

    edits, fixes = [], 0
    for i, j in pairs.tolist():
        names = [name for name, differs in zip(FIELDS, changed[i, j], strict=True) if differs]
        fixes += len(names)
        edits.append(edit(i, j, "fix" if names else "keep", "; ".join(names), fix * len(names)))
    deleted = np.setdiff1d(np.arange(len(predicted.rows)), pairs[:, 0]).tolist()
    added = np.setdiff1d(np.arange(len(manual.rows)), pairs[:, 1]).tolist()
    edits += [edit(i, None, "delete", "", delete) for i in deleted]
    edits += [edit(None, j, "add", "", add) for j in added]
    penalty = fix * fixes + delete * len(deleted) + add * len(added)
    scratch = add * len(manual.rows)
    found = {
        "impact": _share(penalty, scratch),
        "penalty": penalty,
        "scratch": scratch,
        "cost": float(cost[pairs[:, 0], pairs[:, 1]].sum()),
        "fixes": fixes,
        "deletes": len(deleted),
        "adds": len(added),
    }
    return found, edits


def _share(penalty: float, scratch: float) -> float:
    """Penalty / scratch. If scratch is 0, 0 without a penalty and NaN with one."""
    if scratch == 0:
        return 0.0 if penalty == 0 else math.nan
    return penalty / scratch


def _by_sample(given: Any, argument: str) -> dict[str, Sample]:
    """Annotations of samples in the order of first occurrence. A single sample is unnamed."""
    if isinstance(given, Mapping):
        names = [_sample_name(label, argument) for label in given]
        check_unique(f"{argument} must have every sample once", names)
        found = {}
        for name, own in zip(names, given.values(), strict=True):
            place = f"{argument}, sample {short(name)}".lstrip(", ")
            is_checked = isinstance(own, Sample)
            found[name] = own if is_checked else _annotations(_table(own, place), place)
        return found
    table = _table(given, argument)
    if "sample" not in table:
        return {"": _annotations(table, argument)}
    samples: dict[str, list[Any]] = {}
    for row in table[["sample", *FIELDS]].itertuples(name=None):
        own = samples.setdefault(_sample_name(row[1], _place(argument, row[0])), [])
        if any(category_name(value) for value in row[2:]):
            own.append((row[0], *row[2:]))
    return {name: _annotations(own, argument) for name, own in samples.items()}


def _sample_name(label: Any, place: str) -> str:
    if not (name := category_name(label)):
        raise ValueError(f"{place}: sample is missing")
    return name


def _place(argument: str, row: Any) -> str:
    return f"{argument}, row {short(row)}" if argument else f"row {short(row)}"


def _table(given: Any, place: str) -> pd.DataFrame:
    """Rows as a frame with the columns type, start and end, and sample if they have it."""
    import pandas as pd

    if isinstance(given, str) or not hasattr(given, "__iter__"):
        kind = type(given).__name__
        raise TypeError(f"{place} must be a DataFrame, tuples or a mapping, got {kind}")
    if not hasattr(given, "columns"):
        rows = [*given]
        if rows and all(isinstance(row, Mapping) for row in rows):
            given = pd.DataFrame(rows)
        else:
            names = ["sample", *FIELDS] if rows and np.size(rows[0]) == 4 else FIELDS
            for k, row in enumerate(rows):
                if not isinstance(row, list | tuple) or len(row) != len(names):
                    rule = f"must be a tuple of {first_names(names)}"
                    raise ValueError(f"{_place(place, k)}: {rule}, got {short(row)}")
            given = pd.DataFrame(rows, columns=names)
    columns = [*given.columns]
    if sorted(map(str, columns)) not in (sorted(FIELDS), sorted([*FIELDS, "sample"])):
        raise ValueError(
            f"{place or 'the table'} must have just the columns type, start and end, and sample if "
            f"there are several, got {first_names(columns)}"
        )
    return cast("pd.DataFrame", given)


def _annotations(rows: Any, argument: str) -> Sample:
    """Annotations in order, of a frame or a list of (label, type, start, end)."""
    found = []
    rows = rows if isinstance(rows, list) else rows[FIELDS].itertuples(name=None)
    for row, kind, *given in rows:
        place, name = _place(argument, row), category_name(kind)
        start, end = map(as_number, given)
        if not name:
            raise ValueError(f"{place}: type is missing")
        for field, number, value in zip(("start", "end"), (start, end), given, strict=True):
            if not math.isfinite(number):
                raise ValueError(f"{place}: {field} must be a finite number, got {short(value)}")
        if end < start:
            raise ValueError(
                f"{place}: end must not be before start, but end {end} is before start {start}"
            )
        found.append((start, end, name, row))
    found.sort(key=lambda one: one[:3])
    times = np.array([one[:2] for one in found], dtype=np.float64).reshape(-1, 2)
    types = np.array([one[2] for one in found], dtype=object)
    return Sample([one[3] for one in found], types, times)


def read_annotations(path: str | os.PathLike[str]) -> dict[str, Sample]:
    """Read the annotations of many samples from a file, for `irtkit.impact`.

    A CSV has the columns sample, type, start and end. A row with nothing but the sample is a sample
    without annotations. JSON is a list of these records, or an object from each sample to its list.

    Raises
    ------
    ValueError
        If the content is not as it should be. The message begins with the name of the file.
    OSError
        If the file does not exist.
    """
    from irtkit.io.json_text import json_document
    from irtkit.io.text import naming

    file = as_path(path)
    with naming(file):
        if head_of(file).lstrip().startswith((b"[", b"{")):
            return _by_sample(json_document(file, unique=True), "")
        return _by_sample(_csv(file, "start", "end"), "")


def read_durations(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read a CSV with the columns ``sample`` and ``duration``.

    Raises
    ------
    ValueError
        If a column is absent or a sample occurs twice.
    """
    from irtkit.io.text import naming

    file = as_path(path)
    with naming(file):
        table = _csv(file, "duration")
        if "sample" not in table:
            raise ValueError("the table must have a column 'sample'")
        check_unique("every sample must occur once", table["sample"])
        return dict(zip(table["sample"], table["duration"], strict=True))


def _csv(file: Any, *numeric: str) -> pd.DataFrame:
    """Table of a file, rows numbered from 1. Cells that are not numbers stay text."""
    import pandas as pd

    from irtkit.io.text import read_text_table

    table = read_text_table(file)
    for name in numeric:
        if name not in table:
            raise ValueError(f"the table must have a column {short(name)}")
        found = pd.to_numeric(table[name], errors="coerce")
        table[name] = found.astype(object).where(found.notna(), table[name])
    return table.set_axis(range(1, len(table) + 1))
