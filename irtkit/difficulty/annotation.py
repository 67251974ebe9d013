"""The impact metric: how much work predicted annotations save the people who annotate.

An annotation is a type with a start and an end. Predicted annotations of a sample are paired with
the manual ones at the least cost (Kuhn 1955), which is for a pair

    W_type [types differ] + W_start |Δstart| + W_end |Δend|,

times divided by the duration of the sample, if given. Among assignments of equal cost the one with
the fewest changed fields is taken, so that the order of rows does not matter. Then

    impact = penalty / scratch,    scratch = 3 × manual annotations,
    penalty = changed fields + 2 × predictions left over + 3 × annotations left over,

0 is perfect, below 1 helpful, above 1 worse than no predictions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_unique, first_names, short
from irtkit.files import as_path, head_of
from irtkit.findings import Finding, warn
from irtkit.printed import Printed, Shown
from irtkit.responses.labels import category_name

if TYPE_CHECKING:
    import os

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array

    Places = NDArray[np.intp]
    Rows = NDArray[np.object_]

FIELDS = ["type", "start", "end"]
_DELETE, _ADD = 2, 3  # Penalties, where a changed field has 1.
_TIE = 1e-12  # Cost of a changed field, as a proportion of the largest cost, or of 1.
_ROUNDING = 1e-12  # Relative rounding of a mean: a maximum that is met is not exceeded.


@dataclass(frozen=True, eq=False)
class Impact(Printed):
    """Impact on one sample or a data set, made by `impact`."""

    impact: float
    """penalty / scratch, the mean over the samples that have one, or NaN without such a sample."""
    penalty: float
    scratch: float
    """Totals over the samples, like the numbers below."""
    cost: float
    """Cost of the assignments, in the units of the weights and times."""
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

    def shown(self) -> Shown:
        """Return the sums over the samples, and the samples with the most work."""
        values = {name: value for name, value in vars(self).items() if name != "table"}
        columns = ["impact", "penalty", "scratch", "fixes", "deletes", "adds"]
        lines = [f"{name}: {value:.4g}" for name, value in values.items()]
        return Shown(findings=lines, further=[Shown("", self.table[columns])])


def impact(
    predicted: Any,
    manual: Any,
    *,
    weights: Mapping[str, float] | None = None,
    duration: float | Mapping[Any, float] | pd.Series[float] | None = None,
    tolerance: float = 0.0,
) -> Impact:
    """Impact of predicted annotations on the work of annotating a sample or a data set.

    Parameters
    ----------
    predicted, manual : DataFrame, list or mapping
        Table with the columns type, start and end, or list of (type, start, end). For several
        samples, a table with the column sample as well, or a mapping from the sample to its list.
    weights : mapping, optional
        Weights of the cost that decides which annotations are paired: "type", "start" and "end",
        each 1 by default. Times enter in their own unit.
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
        If a column or type is missing, a time is not finite, an end is before its start, a sample
        lacks a duration, or a setting is out of range.

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
    >>> found.table[["impact", "fixes", "deletes", "adds"]]
            impact  fixes  deletes  adds
    sample
    clip-2     1.0      1        1     0
    clip-1     0.0      0        0     0
    """
    import pandas as pd

    check_number("tolerance", tolerance, least=0)
    cost_of = dict.fromkeys(FIELDS, 1.0) | dict(weights or {})
    if strange := cost_of.keys() - {*FIELDS}:
        raise ValueError(f"weights must be of type, start and end, got {first_names(strange)}")
    for field, weight in cost_of.items():
        check_number(f"weights[{field!r}]", weight, least=0)
    of_predicted = _by_sample(predicted, "predicted")
    of_manual = _by_sample(manual, "manual")
    if of_predicted and of_manual and of_predicted.keys().isdisjoint(of_manual):
        examples = {"predicted": next(iter(of_predicted)), "manual": next(iter(of_manual))}
        warn(Finding("no-common-sample", "warning", examples))
    samples = list(dict.fromkeys((*of_manual, *of_predicted))) or [""]
    scales: Any = 1.0 if duration is None else duration
    if hasattr(scales, "items"):
        scales = {category_name(sample): scale for sample, scale in scales.items()}
    durations = pd.Series(scales, samples, dtype=np.float64)
    nothing = np.empty((0, len(FIELDS)), dtype=object)
    rows = []
    for sample, scale in zip(samples, durations, strict=True):
        check_number(f"duration of the sample {short(sample)}", scale, above=0)
        spans = of_predicted.get(sample, nothing)
        manual_spans = of_manual.get(sample, nothing)
        weight = np.array(list(cost_of.values())) / [1, scale, scale]
        (of_pairs, _), cost, fixes = paired(spans, manual_spans, weight, tolerance)
        rows.append((cost, fixes, len(of_pairs), len(spans), len(manual_spans)))
    columns = ["cost", "fixes", "n_pairs", "n_predicted", "n_manual"]
    table = pd.DataFrame(rows, pd.Index(samples, name="sample"), columns)
    n_pairs = table.pop("n_pairs")
    table.insert(2, "deletes", table["n_predicted"] - n_pairs)
    table.insert(3, "adds", table["n_manual"] - n_pairs)
    penalty = table["fixes"] + _DELETE * table["deletes"] + _ADD * table["adds"]
    scratch = _ADD * table["n_manual"]
    ratio = penalty / scratch.where(scratch > 0)
    table.insert(0, "impact", ratio.where(penalty > 0, 0.0))
    table.insert(1, "penalty", penalty)
    table.insert(2, "scratch", scratch)
    totals: Any = table.loc[:, "penalty":"adds"].sum().to_dict()
    return Impact(
        impact=float(table["impact"].mean()),
        **totals,
        n_undefined=int(table["impact"].isna().sum()),
        table=table.sort_values(["impact", "penalty"], ascending=False, kind="stable"),
    )


def paired(
    predicted: Rows, manual: Rows, weights: Array, tolerance: float
) -> tuple[tuple[Places, Places], float, int]:
    """Rows of the pairs of annotations at the least cost, their cost and their changed fields.

    Annotations have the columns type, start and end. Times are compared as they are written: 1.1 is
    within 0.1 of 1.0.
    """
    from scipy.optimize import linear_sum_assignment

    differs = np.not_equal.outer(predicted[:, 0], manual[:, 0]).astype(float)
    times = predicted[:, None, 1:].astype(float)
    others = manual[:, 1:].astype(float)
    apart = np.abs(times - others)
    largest = np.maximum(np.abs(times), np.abs(others))
    allowed = (tolerance + np.spacing(largest)) * (tolerance > 0)
    n_changed = differs + (apart > allowed).sum(axis=2)
    cost = differs * weights[0] + apart @ weights[1:]
    tie = _TIE * cost.max(initial=1.0)
    pairs = linear_sum_assignment(cost + tie * n_changed)
    return pairs, float(cost[pairs].sum()), int(n_changed[pairs].sum())


def annotations_of(given: Any, argument: str = "") -> pd.DataFrame:
    """Sample, type, start and end of every annotation, checked. A single sample is unnamed.

    A sample without annotations has one row, with nothing but its name.
    """
    import pandas as pd

    if isinstance(given, Mapping):
        check_unique(f"{argument} must have every sample once", map(category_name, given))
        given = [
            {**_record(row), "sample": sample}
            for sample, rows in given.items()
            for row in rows or [{}]
        ]
    if not hasattr(given, "columns"):
        given = pd.DataFrame([_record(row) for row in given])
    table: pd.DataFrame = given.reindex(columns=["sample", *FIELDS])
    table["sample"] = table["sample"].map(category_name)
    table["type"] = table["type"].map(category_name)
    times = table[["start", "end"]].apply(pd.to_numeric, errors="coerce")
    has_name = (table["sample"] != "").to_numpy()
    has_type = (table["type"] != "").to_numpy()
    start, end = times.to_numpy(dtype=np.float64).T
    in_order = np.isfinite(start) & np.isfinite(end) & (start <= end)
    is_empty = has_name & ~has_type & np.isnan(start) & np.isnan(end)
    wrong = ~(has_type & in_order | is_empty) | (~has_name & has_name.any())
    if wrong.any():
        place = f"{argument}, row {short(given.index[wrong][0])}".lstrip(", ")
        values = first_names(tuple(table[wrong].iloc[0]))
        rule = "sample, type, start and end must be a label, a label and finite times in order"
        raise ValueError(f"{place}: {rule}, got {values}")
    return table.assign(**times)


def _record(row: Any) -> Mapping[str, Any]:
    """Fields by name of a tuple of type, start and end, which a sample may precede."""
    if isinstance(row, Mapping):
        return row
    return dict(zip(["sample", *FIELDS][-len(row) :], row, strict=False))


def _by_sample(given: Any, argument: str) -> dict[str, Rows]:
    """Type, start and end of the annotations of every sample, (n, 3)."""
    table = annotations_of(given, argument)
    values = table[FIELDS].to_numpy(object)
    has_type = table["type"].to_numpy() != ""
    groups = table.groupby("sample", sort=False).indices
    return {str(sample): values[rows[has_type[rows]]] for sample, rows in groups.items()}


def read_annotations(path: str | os.PathLike[str]) -> pd.DataFrame:
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
    from irtkit.io.text import naming, read_text_table

    file = as_path(path)
    with naming(file):
        is_json = head_of(file).lstrip().startswith((b"[", b"{"))
        return annotations_of(
            json_document(file, unique=True) if is_json else read_text_table(file)
        )
