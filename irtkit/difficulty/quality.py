"""Difficulty by a quality standard: several metrics of every answer, brought to one scale.

Kolena's difficulty score, after https://docs.kolena.com/metrics/difficulty-score. With q a metric,
negated if higher is better, and w its weight,

    z = (q − min q) / (max q − min q),    score = Σ w z / Σ w,    from 0 (easy) to 1 (hard),

and the score of an item is the mean over respondents. Constant metrics and missing values, which
the page does not treat, are left out of both sums. Minimum and maximum are over the items of one
respondent, as on the page, or over all respondents (``scale="pooled"``).

`absolute_error`, `misclassifications` and `detection_score` make metrics of single answers. They
take a table with a row per answer and return a value per row, to be a column of a wide table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from irtkit.calibration.summary import quality_finding
from irtkit.checks import (
    and_more,
    check_number,
    check_one_of,
    did_you_mean,
    first_names,
    short,
)
from irtkit.printed import Printed, Shown
from irtkit.responses.columns import recognised
from irtkit.responses.tables import as_frame, with_index

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from irtkit.responses import ResponseMatrix

Scale = Literal["respondent", "pooled"]
_LABELS = ("respondent", "item", "metric")
_ROUNDING = 1e-12  # Relative difference that rounding may cause.
_SHOWN = 5  # Items that are printed.


@dataclass(frozen=True, eq=False)
class QualityStandard(Printed):
    """Difficulty of items by several metrics, made by `quality_standard`."""

    scores: pd.DataFrame
    """Items × respondents, 0 (easy) to 1 (hard), NaN without any metric that varies."""
    items: pd.Series[float]
    """Index ``item``: mean over the respondents that have a score, NaN without scores."""
    scaled: pd.DataFrame
    """``respondent``, ``item``, ``metric``, ``value``: the metrics from 0 (easy) to 1 (hard).
    Missing values and constant metrics are left out."""
    higher_is_better: dict[str, bool]
    """For every metric."""
    weights: dict[str, float]
    """Weight of every metric, before any is left out."""
    scale: Scale

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the score, and ``constant``: metrics that are constant for everybody."""
        varied = set(self.scaled["metric"])
        return {
            "higher_is_better": self.higher_is_better,
            "weights": self.weights,
            "scale": self.scale,
            "constant": [name for name in self.weights if name not in varied],
        }

    def shown(self) -> Shown:
        """Return the hardest items, and the metrics with their directions."""
        hardest = self.items.sort_values(ascending=False, kind="stable").head(_SHOWN)
        finding = f"{quality_finding(self.items, self.settings)}."
        return Shown("", hardest.to_frame(), findings=[finding])


def quality_standard(
    metrics: object,
    higher_is_better: Collection[str],
    *,
    weights: Mapping[str, float] | None = None,
    scale: Scale = "respondent",
) -> QualityStandard:
    """Score how hard each item was for each respondent, by all metrics together.

    Parameters
    ----------
    metrics : DataFrame
        A long table (a row per value, with the columns respondent, item, metric and value), or a
        wide one (a row per answer, a column per metric). See Notes.
    higher_is_better : str or list of str
        All metrics that are better when higher, ``[]`` for none. It must be given, because a wrong
        direction reverses the score.
    weights : mapping, optional
        Weight of every metric, summing to 1, equal by default. Present metrics keep their
        proportions.
    scale : {"respondent", "pooled"}, default "respondent"
        Range that is mapped to 0–1. With the range of each ``"respondent"``, a score compares items
        of the respondent. With the ``"pooled"`` range, respondents are comparable.

    Returns
    -------
    QualityStandard
        `scores` per respondent and `items` over respondents.

    Raises
    ------
    ValueError
        If a column or label is missing, a value occurs twice or is not a finite number, a metric is
        unknown or lacks a weight, or weights do not sum to 1.

    Notes
    -----
    Columns of respondents and items are recognised by their usual names, as in
    :func:`irtkit.read_responses`. They may be an index of two levels. Labels are kept as text. NaN,
    None and absent rows are missing values. A metric with a range below 1e-12 of its largest value
    is constant.

    Examples
    --------
    The example of Kolena's page, which truncates 0.3907 and 0.4765:

    >>> import pandas as pd
    >>> from irtkit.difficulty import quality_standard
    >>> metrics = pd.DataFrame({
    ...     "respondent": "A", "item": [1, 2, 3, 4], "recall": [0.1, 0.5, 0.9, 0.6],
    ...     "cost": [3.14, 0.90, 0.01, 0.50], "accuracy": [0.50, 0.80, 0.99, 0.55],
    ... })
    >>> standard = quality_standard(metrics, ["recall", "accuracy"])
    >>> standard.items.round(4).to_dict()
    {'1': 1.0, '2': 0.3907, '3': 0.0, '4': 0.4765}
    """
    check_one_of("scale", scale, get_args(Scale))
    rows = _long_table(metrics)
    names = list(rows["metric"].unique())
    if isinstance(higher_is_better, str | Mapping) or not isinstance(higher_is_better, Iterable):
        raise ValueError(
            f"higher_is_better must be a collection of names, got {short(higher_is_better)}"
        )
    for name in higher_is_better:
        if name not in names:
            listed = first_names(names)
            raise ValueError(f"higher_is_better names {short(name)}, but the metrics are {listed}")
    directions = {name: name in higher_is_better for name in names}
    shares = _weights(weights, names)
    is_better = rows["metric"].map(directions)
    q = rows["value"].where(~is_better, -rows["value"]) / 2  # No range overflows.
    ranged = ["metric"] if scale == "pooled" else ["respondent", "metric"]
    groups = q.groupby([rows[kind] for kind in ranged])
    low = groups.transform("min")
    high = groups.transform("max")
    differs = high - low > _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    z = (q - low) / (high - low).where(differs)
    scaled = rows.assign(value=z, weight=rows["metric"].map(shares)).dropna(subset="value")
    cells = scaled.assign(value=scaled["value"] * scaled["weight"]).groupby(["item", "respondent"])
    total = cells[["value", "weight"]].sum()
    score = total["value"] / total["weight"].where(total["weight"] > 0)
    scores = score.unstack().reindex(rows["item"].unique())  # noqa: PD010
    scores = scores.reindex(columns=rows["respondent"].unique())
    return QualityStandard(
        scores=scores,
        items=scores.mean(axis=1).rename("quality_standard"),
        scaled=scaled.drop(columns="weight"),
        higher_is_better=directions,
        weights=shares,
        scale=scale,
    )


def quality_of(
    responses: ResponseMatrix,
    metrics: object,
    higher_is_better: Collection[str] | None = None,
) -> QualityStandard:
    """Kolena's score of the items of a response matrix.

    ``metrics`` are as in :func:`quality_standard`, or names of ``responses.metrics``, or a
    QualityStandard. All labels must belong to the real respondents and the items.
    """
    if isinstance(metrics, QualityStandard) != (higher_is_better is None):
        raise ValueError(
            "higher_is_better= must name the metrics that are better when higher, [] for none (on "
            "the command line: none), and be left out with a QualityStandard"
        )
    if not isinstance(metrics, QualityStandard):
        names: Any = [metrics] if isinstance(metrics, str) else metrics
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            of_responses = responses.metrics
            categories = [] if of_responses is None else list(of_responses["metric"].cat.categories)
            strange = [name for name in names or [""] if name not in categories]
            if of_responses is None or strange:
                raise ValueError(
                    f"metrics={short(strange[0])} is neither a file nor a metric of the responses "
                    f"({first_names(categories, shown=20) or 'without metrics'})"
                    f"{did_you_mean(strange[0], categories)}"
                )
            metrics = of_responses[of_responses["metric"].isin(names)]
        metrics = quality_standard(metrics, higher_is_better or ())
    respondents = np.array(responses.respondents)[~responses.synthetic].tolist()
    scores = metrics.scores
    labels = {
        "respondent": (scores.columns, respondents),
        "item": (scores.index, responses.items),
    }
    for kind, (scored, there) in labels.items():
        others = scored[~scored.isin(list(there))]
        if len(others):
            more = and_more(len(others) - 1, kind)
            raise ValueError(
                f"metrics has values of the {kind} {short(others[0])}{more}, which the responses "
                f"do not have. They have {first_names(there, shown=3)}"
                f"{did_you_mean(others[0], there)}"
            )
    return metrics


def _long_table(metrics: Any) -> pd.DataFrame:
    """Any layout as a table of text labels ``respondent``, ``item``, ``metric`` and ``value``."""
    import pandas as pd

    try:
        rows = as_frame(metrics)
    except TypeError as error:
        kinds = "a table, a file, names of metrics or a QualityStandard"
        raise TypeError(f"metrics must be {kinds}, got {type(metrics).__name__}") from error
    if list(rows.index.names) == [None, None]:
        rows = rows.rename_axis(["respondent", "item"])
    rows = with_index(rows)
    header = [*map(str, rows.columns)]
    for role in ("respondent", "item"):
        header[recognised(header, role)] = role
    rows = rows.set_axis(header, axis=1)
    if "metric" not in rows:
        rows = rows.melt(["respondent", "item"], None, "metric")
    if "value" not in rows:
        listed = first_names(list(rows.columns))
        raise ValueError(f"the table must have a column 'value', it has {listed}")
    rows = rows[[*_LABELS, "value"]].reset_index(drop=True).astype({"value": object})
    labels = rows[[*_LABELS]].astype(object).map(str)
    absent = rows[[*_LABELS]].isna() | (labels.map(str.strip) == "")
    for kind in _LABELS:
        if absent[kind].any():
            raise ValueError(f"row {absent[kind].argmax() + 1} of the table lacks the {kind}")
    table = labels.assign(value=pd.to_numeric(rows["value"], errors="coerce").astype(float))
    wrong = np.isinf(table["value"]) | (table["value"].isna() & rows["value"].notna())
    again = labels.duplicated()
    for refused in (wrong, again):
        row = int(refused.argmax())
        where = ", ".join(f"{kind} {short(labels[kind].iloc[row])}" for kind in _LABELS)
        if refused.any() and refused is wrong:
            value = short(rows["value"].iloc[row])
            raise ValueError(f"value must be a finite number, got {value} at {where}")
        if refused.any():
            more = and_more(int(again.sum()) - 1, "repeat")
            raise ValueError(f"each value must occur once, but this occurs twice: {where}{more}")
    if table["value"].isna().all():
        raise ValueError("metrics holds no value: all are missing")
    return table


def _weights(given: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    """Weight of every metric, checked."""
    if given is None:
        return dict.fromkeys(names, 1 / len(names))
    if set(given) != set(names):
        listed = first_names(names)
        raise ValueError(f"weights must name every metric ({listed}), got {first_names(given)}")
    weights = {
        name: check_number(f"the weight of {short(name)}", given[name], least=0) for name in names
    }
    if abs(sum(weights.values()) - 1) > 1e-9:
        raise ValueError(f"weights must sum to 1, got {sum(weights.values())}")
    return weights


def absolute_error(answers: pd.DataFrame) -> pd.Series[float]:
    """|prediction − truth|, a metric of regression and of binary classification.

    Lower is better. ``answers`` has the columns ``prediction`` and ``truth``: in binary
    classification the probability of class 1, and 0 or 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import absolute_error
    >>> answers = pd.DataFrame({"prediction": [0.2, 8], "truth": [1, 6]})
    >>> absolute_error(answers).tolist()
    [0.8, 2.0]
    """
    return (answers["prediction"] - answers["truth"]).abs().rename("absolute_error")


def misclassifications(answers: pd.DataFrame) -> pd.Series[float]:
    """Number of respondents that misclassify the item, a metric of multiclass tasks.

    Lower is better. All answers to an item have the same number. Answers without prediction or
    truth have NaN. ``answers`` has the columns ``item``, ``prediction`` and ``truth``, both numbers
    or both text.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import misclassifications
    >>> answers = pd.DataFrame({
    ...     "item": ["a", "a", "b", "b"],
    ...     "prediction": ["cat", "dog", "cow", "cat"], "truth": ["cat", "cat", "dog", "dog"],
    ... })
    >>> misclassifications(answers).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    from pandas.api.types import is_numeric_dtype

    complete = answers.dropna(subset=["prediction", "truth"]).infer_objects()
    if is_numeric_dtype(complete["prediction"]) != is_numeric_dtype(complete["truth"]):
        raise ValueError("prediction and truth must both be numbers or both be text")
    is_wrong = (complete["prediction"] != complete["truth"]).astype(float)
    counts = is_wrong.groupby(complete["item"]).transform("sum")
    return counts.reindex(answers.index).rename("misclassifications")


def detection_score(
    counts: pd.DataFrame, measure: Literal["F1", "recall"] = "F1"
) -> pd.Series[float]:
    """F1 = TP / (TP + (FP + FN)/2) or recall = TP / (TP + FN), metrics of object detection.

    Higher is better, so name the metric in `higher_is_better`, which the page forgets. ``counts``
    has the columns ``TP``, ``FN`` and, for F1, ``FP``. The value is NaN if nothing was to be
    detected and nothing was.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import detection_score
    >>> detection_score(pd.DataFrame({"TP": [3], "FP": [2], "FN": [0]})).tolist()
    [0.75]
    """
    check_one_of("measure", measure, ("F1", "recall"))
    missed = counts["FN"] if measure == "recall" else (counts["FN"] + counts["FP"]) / 2
    return (counts["TP"] / (counts["TP"] + missed)).rename(measure)
