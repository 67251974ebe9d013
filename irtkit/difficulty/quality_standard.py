"""Difficulty by a quality standard: several metrics of every answer, brought to one scale.

Kolena's difficulty score, after https://docs.kolena.com/metrics/difficulty-score. With q a
metric, negated where higher is better, and w its weight,

    z = (q − min q) / (max q − min q),    score = Σ w z / Σ w,    from 0 (easy) to 1 (hard),

and an item's score is the mean over respondents. The page leaves open what is decided here: a
metric that is constant tells no items apart and is left out, and so is a missing value, from both
sums; and min and max are taken over the items of one respondent, as on the page, or over
everybody (``scale="pooled"``), without which scores of two respondents cannot be compared.

The metrics may be anything that was measured per answer: cost, time, recall, or the task signals
of this module (`absolute_error`, `misclassifications`, `detection_score`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Scale = Literal["respondent", "pooled"]
_LABELS = ("respondent", "item", "metric")
_ROUNDING = 1e-12
_SHOWN = 5  # items and names that are printed


@dataclass(frozen=True, eq=False)
class QualityStandard:
    """Difficulty of items by several metrics, made by `quality_standard`."""

    scores: pd.DataFrame
    """Items × respondents, 0 (easy) to 1 (hard); NaN without any metric that tells."""
    items: pd.Series[float]
    """Index ``item``: mean over the respondents that have a score; NaN where none has."""
    scaled: pd.DataFrame
    """``respondent``, ``item``, ``metric``, ``value``: the metrics from 0 (easy) to 1 (hard);
    missing values and constant metrics have no row."""
    constant: dict[str, tuple[str, ...]]
    """Metrics left out because they are constant, by respondent."""
    n_missing: int
    """Values that are missing, of respondents × items × metrics."""
    higher_is_better: dict[str, bool]
    """For every metric."""
    weights: dict[str, float]
    """Of every metric, before any is left out."""
    scale: Scale

    def regressions(self, before: str, after: str, *, margin: float = 0.0) -> pd.DataFrame:
        """Items whose score rose from one respondent to another, by `margin` or more.

        Index ``item``, largest rise first; columns ``before``, ``after`` and ``rise``. Items that
        lack one of the two scores are not among them.

        Raises
        ------
        ValueError
            If the metrics were scaled per respondent: such a score compares an item with the
            respondent's other items, and rises where those got easier.
        """
        if self.scale != "pooled":
            raise ValueError(
                "scores scaled per respondent cannot be compared between respondents: call "
                'quality_standard(..., scale="pooled")'
            )
        _check_fraction(margin, "margin")
        for name in (before, after):
            if name not in self.scores.columns:
                raise ValueError(f"there is no respondent {name!r} among the scores")
        table = self.scores[[before, after]].set_axis(["before", "after"], axis=1)
        table["rise"] = table["after"] - table["before"]
        rose = (table["rise"] >= margin - _ROUNDING) & (table["rise"] > _ROUNDING)
        return table[rose].sort_values("rise", ascending=False, kind="stable")

    def common_failures(self, *, threshold: float = 0.9) -> pd.DataFrame:
        """Rows of `scores` above the threshold for every respondent, hardest item first.

        An item that some respondent has no score for is not among them.
        """
        _check_fraction(threshold, "threshold")
        failed = self.scores[(self.scores > threshold).all(axis=1)]
        order = failed.mean(axis=1).sort_values(ascending=False, kind="stable").index
        return failed.loc[order]

    def __str__(self) -> str:
        n_items, n_respondents = self.scores.shape
        pooled = "over all respondents" if self.scale == "pooled" else "per respondent"
        lines = [
            f"Quality standard: items {n_items}, respondents {n_respondents}, scaled {pooled}",
            *(
                f"- {name}: {'higher' if higher else 'lower'} is better, "
                f"weight {self.weights[name]:.3g}"
                for name, higher in self.higher_is_better.items()
            ),
        ]
        if self.n_missing:
            n_values = n_items * n_respondents * len(self.weights)
            lines.append(f"Missing values: {self.n_missing} of {n_values}")
        constant = [f"{', '.join(names)} ({who})" for who, names in self.constant.items()]
        if constant:
            lines.append(f"Left out as constant: {_first(constant, '; ')}")
        hardest = self.items.dropna().sort_values(ascending=False, kind="stable")
        shown = [f"{item} {score:.3f}" for item, score in hardest.head(_SHOWN).items()]
        lines.append(f"Hardest items: {', '.join(shown) or 'no item has a score'}")
        return "\n".join(lines)


def quality_standard(
    metrics: pd.DataFrame | Mapping[str, pd.DataFrame],
    higher_is_better: Mapping[str, bool] | Collection[str],
    *,
    weights: Mapping[str, float] | None = None,
    scale: Scale = "respondent",
    respondent: str = "respondent",
    item: str = "item",
    metric: str = "metric",
    value: str = "value",
) -> QualityStandard:
    """Score how hard each item was for each respondent, by all metrics together.

    Parameters
    ----------
    metrics
        One of three layouts, which is not changed. Long: a row per value, with the columns
        respondent, item, metric and value; a table with a column ``metric`` is long. Wide: a row
        per answer, a column per metric, respondent and item in two more columns or in an index of
        two levels (in this order, unless they are named). Or a mapping of respondents to tables of
        items × metrics, with the items in the index or in a column ``item``. Labels are kept as
        text. NaN, None and absent rows are missing values.
    higher_is_better
        Which metrics are better when higher. There is no default, since a wrong direction turns
        the score round: either a mapping that says True or False for *every* metric, or a
        collection of *all* that are better when higher, ``[]`` for none.
    weights
        Weight of every metric, from 0, summing to 1 (0 leaves a metric out); by default equal.
        Among the metrics that are present they keep their proportions.
    scale
        Range that is brought to 0–1: that of each ``"respondent"``, so that a score says how hard
        an item was compared with the respondent's other items, or that of all respondents,
        ``"pooled"``, so that respondents can be compared. A metric whose range is below 1e-12 of
        its largest value is constant.
    respondent, item, metric, value
        Names of the columns.

    Returns
    -------
    QualityStandard
        `scores` per respondent and `items` over respondents; printing it shows what was left out.

    Raises
    ------
    ValueError
        If a column is absent, a label is missing, a value occurs twice or is not a finite number,
        a metric is unknown or has no direction or weight, or weights do not sum to 1.

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
    >>> print(standard)
    Quality standard: items 4, respondents 1, scaled per respondent
    - recall: higher is better, weight 0.333
    - cost: lower is better, weight 0.333
    - accuracy: higher is better, weight 0.333
    Hardest items: 1 1.000, 4 0.477, 2 0.391, 3 0.000
    """
    import pandas as pd

    if scale not in get_args(Scale):
        raise ValueError(f"scale must be one of {get_args(Scale)}, got {scale!r}")
    values, (respondents, items, names) = _cube(_long(metrics, respondent, item, metric, value))
    directions = _directions(higher_is_better, names)
    shares = _weights(weights, names)
    z = scale_metrics(values, np.array(list(directions.values())), pooled=scale == "pooled")
    scores = pd.DataFrame(
        weigh(z, np.array(list(shares.values()))).T,
        index=pd.Index(items, name="item"),
        columns=pd.Index(respondents, name="respondent"),
    )
    return QualityStandard(
        scores=scores,
        items=scores.mean(axis=1).rename("quality_standard"),
        scaled=_scaled(z, respondents, items, names),
        constant=_constant(z, values, respondents, names),
        n_missing=int(np.isnan(values).sum()),
        higher_is_better=directions,
        weights=shares,
        scale=scale,
    )


def scale_metrics(values: Array, higher_is_better: NDArray[np.bool_], *, pooled: bool) -> Array:
    """Metrics from 0 for the best value to 1 for the worst.

    Parameters
    ----------
    values
        Shape (n_respondents, n_items, n_metrics), NaN where missing.
    higher_is_better
        Shape (n_metrics,).
    pooled
        Whether best and worst are taken over all respondents.

    Returns
    -------
    numpy.ndarray
        The same shape; NaN where missing, and where the metric is constant.
    """
    q = np.where(higher_is_better, -values, values) / 2  # halved so that no range overflows
    axis = (0, 1) if pooled else (1,)
    low: Array = np.fmin.reduce(q, axis, keepdims=True)
    high: Array = np.fmax.reduce(q, axis, keepdims=True)
    differs = high - low > _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    scaled: Array = (q - low) / np.where(differs, high - low, np.nan)
    return scaled


def weigh(scaled: Array, weights: Array) -> Array:
    """Σ w z / Σ w over the metrics (last axis) that are not NaN; NaN where they weigh nothing."""
    known = ~np.isnan(scaled)
    total = np.where(known, weights, 0).sum(axis=-1)
    score: Array = np.where(known, weights * scaled, 0).sum(axis=-1)
    return score / np.where(total > 0, total, np.nan)


def absolute_error(
    answers: pd.DataFrame,
    *,
    prediction: str = "prediction",
    truth: str = "truth",
    respondent: str = "respondent",
    item: str = "item",
) -> pd.DataFrame:
    """|prediction − truth|, the signal of regression and of binary classification.

    Lower is better. In binary classification the prediction is the probability of class 1 and the
    truth is 0 or 1.

    Parameters
    ----------
    answers
        A row per answer, with these four columns.
    prediction, truth, respondent, item
        Names of the columns.

    Returns
    -------
    pandas.DataFrame
        A long table for `quality_standard` (``respondent``, ``item``, ``metric``, ``value``) of the
        metric ``absolute_error``, to be joined with others by ``pandas.concat``.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import absolute_error
    >>> answers = {"respondent": "A", "item": ["a", "b"], "prediction": [0.2, 8], "truth": [1, 6]}
    >>> absolute_error(pd.DataFrame(answers))["value"].tolist()
    [0.8, 2.0]
    """
    _check_columns(answers, respondent, item, prediction, truth)
    rows = _labelled(answers[respondent], answers[item], "absolute_error")
    error = np.abs(_numbers(answers[prediction], rows) - _numbers(answers[truth], rows))
    return rows.assign(value=error)


def misclassifications(
    answers: pd.DataFrame,
    *,
    prediction: str = "prediction",
    truth: str = "truth",
    respondent: str = "respondent",
    item: str = "item",
) -> pd.DataFrame:
    """Number of respondents that put the item into a wrong class, the signal of multiclass tasks.

    Lower is better. It belongs to the item: the same number stands beside each of its answers. An
    answer without prediction or truth is not counted, and its value is NaN. Parameters and result
    are as for `absolute_error`; classes are numbers or text, the same in both columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import misclassifications
    >>> answers = pd.DataFrame({
    ...     "respondent": ["A", "B", "A", "B"], "item": ["a", "a", "b", "b"],
    ...     "prediction": ["cat", "dog", "cow", "cat"], "truth": ["cat", "cat", "dog", "dog"],
    ... })
    >>> misclassifications(answers)["value"].tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    from pandas.api.types import is_numeric_dtype

    _check_columns(answers, respondent, item, prediction, truth)
    rows = _labelled(answers[respondent], answers[item], "misclassifications")
    known = answers[[prediction, truth]].notna().all(axis=1).to_numpy()
    given, right = (answers.loc[known, name].infer_objects() for name in (prediction, truth))
    if is_numeric_dtype(given) != is_numeric_dtype(right):
        raise ValueError(
            f"{prediction} and {truth} must both be numbers or both be text, "
            f"got {given.iloc[0]!r} and {right.iloc[0]!r}"
        )
    wrong = np.full(len(rows), np.nan)
    wrong[known] = given.to_numpy(dtype=object) != right.to_numpy(dtype=object)
    counts = rows.assign(value=wrong).groupby("item")["value"].transform("sum")
    return rows.assign(value=counts.where(known))


def detection_score(
    counts: pd.DataFrame,
    measure: Literal["F1", "recall"] = "F1",
    *,
    respondent: str = "respondent",
    item: str = "item",
) -> pd.DataFrame:
    """F1 = TP / (TP + (FP + FN)/2) or recall = TP / (TP + FN), the signals of object detection.

    *Higher* is better, so name the metric in `higher_is_better` (the page forgets to). Where there
    was nothing to detect and nothing was detected the value is 0/0, thus NaN: missing.

    Parameters
    ----------
    counts
        A row per answer, with labels and the columns ``TP``, ``FN`` and, for F1, ``FP``.
    measure
        ``"F1"`` or ``"recall"``; the metric is called the same.
    respondent, item
        Names of the columns of labels.

    Returns
    -------
    pandas.DataFrame
        As for `absolute_error`.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import detection_score
    >>> counts = pd.DataFrame({"respondent": "A", "item": [1], "TP": [3], "FP": [2], "FN": [0]})
    >>> detection_score(counts)["value"].tolist()
    [0.75]
    """
    if measure not in {"F1", "recall"}:
        raise ValueError(f'measure must be "F1" or "recall", got {measure!r}')
    needed = ["TP", "FN", *(["FP"] if measure == "F1" else [])]
    _check_columns(counts, respondent, item, *needed)
    rows = _labelled(counts[respondent], counts[item], measure)
    hit, missed, *false = (_numbers(counts[name], rows, least=0) for name in needed)
    total = hit + ((missed + false[0]) / 2 if false else missed)
    return rows.assign(value=hit / np.where(total > 0, total, np.nan))


def _scaled(z: Array, *labels: list[str]) -> pd.DataFrame:
    """`QualityStandard.scaled`, from the array and the labels of its axes."""
    import pandas as pd

    known = np.nonzero(~np.isnan(z))
    columns = zip(_LABELS, labels, known, strict=True)
    table = pd.DataFrame({kind: pd.Index(of)[k] for kind, of, k in columns})
    return table.assign(value=z[known])


def _constant(
    z: Array, values: Array, respondents: list[str], names: list[str]
) -> dict[str, tuple[str, ...]]:
    """`QualityStandard.constant`: metrics that have values, but no scaled ones."""
    dropped = np.any(np.isnan(z) & ~np.isnan(values), axis=1)
    return {
        respondents[k]: tuple(name for name, out in zip(names, dropped[k], strict=True) if out)
        for k in np.flatnonzero(dropped.any(axis=1))
    }


def _long(
    metrics: pd.DataFrame | Mapping[str, pd.DataFrame],
    respondent: str,
    item: str,
    metric: str,
    value: str,
) -> pd.DataFrame:
    """Any layout as a table of text labels ``respondent``, ``item``, ``metric`` and ``value``."""
    import pandas as pd

    if isinstance(metrics, Mapping):
        wide = [_of_respondent(table, name, respondent, item) for name, table in metrics.items()]
    else:
        _check_columns(metrics)
        if metrics.index.nlevels == 2:
            first, second = metrics.index.names
            swapped = first == item or second == respondent
            names = [item, respondent] if swapped else [respondent, item]
            metrics = metrics.reset_index(names=names)
        if metric in metrics:
            _check_columns(metrics, respondent, item, value)
            rows = _labelled(metrics[respondent], metrics[item], metrics[metric])
            return rows.assign(value=_numbers(metrics[value], rows))
        wide = [metrics]
    blocks = []
    for table in wide:
        _check_columns(table, respondent, item)
        for name, values in table.drop(columns=[respondent, item]).items():
            rows = _labelled(table[respondent], table[item], name)
            blocks.append(rows.assign(value=_numbers(values, rows)))
    if not blocks:
        raise ValueError("metrics holds no metric")
    return pd.concat(blocks)


def _of_respondent(table: pd.DataFrame, name: str, respondent: str, item: str) -> pd.DataFrame:
    """A table of items × metrics with both labels in columns."""
    _check_columns(table)
    own = table if item in table else table.rename_axis(item).reset_index()
    return own.assign(**{respondent: name})


def _labelled(respondents: pd.Series[Any], items: pd.Series[Any], metrics: Any) -> pd.DataFrame:
    """Label columns as text, rows numbered from 0."""
    import pandas as pd

    columns = dict(zip(_LABELS, (respondents, items, metrics), strict=True))
    rows = pd.DataFrame(columns).reset_index(drop=True)
    text = rows.astype(object).map(str)
    for kind in _LABELS:
        absent = (rows[kind].isna() | (text[kind].str.strip() == "")).to_numpy()
        if absent.any():
            raise ValueError(f"row {int(absent.argmax()) + 1} of the table has no {kind}")
    return text


def _numbers(values: pd.Series[Any], rows: pd.DataFrame, least: float = -np.inf) -> Array:
    """Values as floats, NaN where missing; the labels in `rows` say whose value is wrong."""
    import pandas as pd

    plain = values if pd.api.types.is_numeric_dtype(values) else values.astype(object)
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = (np.isnan(numbers) & values.notna().to_numpy()) | np.isinf(numbers) | (numbers < least)
    if wrong.any():
        k = int(wrong.argmax())
        where = ", ".join(f"{kind} {rows[kind].iloc[k]!r}" for kind in _LABELS)
        rule = "a finite number" if least < 0 else f"a finite number from {least}"
        raise ValueError(
            f"{values.name} must be {rule}, got {values.astype(object).iloc[k]!r} at {where}"
        )
    return numbers


def _cube(rows: pd.DataFrame) -> tuple[Array, list[list[str]]]:
    """Values of shape (n_respondents, n_items, n_metrics) and the labels of the three axes."""
    import pandas as pd

    twice = rows.duplicated(list(_LABELS)).to_numpy()
    if twice.any():
        first = rows.iloc[int(twice.argmax())]
        where = ", ".join(f"{kind} {first[kind]!r}" for kind in _LABELS)
        more = f" (and {twice.sum() - 1} more repeats)" if twice.sum() > 1 else ""
        raise ValueError(f"each value must occur once, but this occurs twice: {where}{more}")
    codes, labels = zip(*(pd.factorize(rows[kind]) for kind in _LABELS), strict=True)
    values = np.full([len(of) for of in labels], np.nan)
    values[codes] = rows["value"]
    if np.isnan(values).all():
        raise ValueError("metrics holds no value: all are missing")
    return values, [list(of) for of in labels]


def _directions(given: Mapping[str, bool] | Collection[str], names: list[str]) -> dict[str, bool]:
    """Whether higher is better, for every metric."""
    if not isinstance(given, Mapping):
        if isinstance(given, str):
            raise ValueError(f"higher_is_better must be a collection of names, got {given!r}")
        better = {str(name) for name in given}
        _check_names("higher_is_better", better, names)
        return {name: name in better for name in names}
    stated = {str(name): higher for name, higher in given.items()}
    _check_names("higher_is_better", stated, names, complete=True)
    for name, higher in stated.items():
        if not isinstance(higher, bool | np.bool_):
            raise ValueError(f"higher_is_better of {name!r} must be True or False, got {higher!r}")
    return {name: bool(stated[name]) for name in names}


def _weights(given: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    """Weight of every metric, checked."""
    if given is None:
        return dict.fromkeys(names, 1 / len(names))
    stated = {str(name): float(weight) for name, weight in given.items()}
    _check_names("weights", stated, names, complete=True)
    for name, weight in stated.items():
        if not weight >= 0:
            raise ValueError(f"the weight of {name!r} must be 0 or more, got {weight}")
    if not abs(sum(stated.values()) - 1) <= 1e-9:
        raise ValueError(f"weights must sum to 1, got {sum(stated.values())}")
    return {name: stated[name] for name in names}


def _check_names(
    argument: str, given: Collection[str], names: list[str], *, complete: bool = False
) -> None:
    """Refuse metrics that do not exist and, in a complete argument, metrics without an entry."""
    for name in given:
        if name not in names:
            raise ValueError(f"{argument} names {name!r}, but the metrics are {_first(names)}")
    for name in names:
        if complete and name not in given:
            raise ValueError(f"{argument} must name every metric, but {name!r} is absent")


def _check_columns(table: pd.DataFrame, *needed: str) -> None:
    if not hasattr(table, "columns"):
        raise TypeError(f"a table must be a pandas DataFrame, got {type(table).__name__}")
    for name in needed:
        if name not in table:
            raise ValueError(f"the table must have a column {name!r}, it has {_first(table)}")


def _check_fraction(number: float, argument: str) -> None:
    if not 0 <= number <= 1:
        raise ValueError(f"{argument} must be from 0 to 1, got {number!r}")


def _first(labels: Collection[Hashable], separator: str = ", ") -> str:
    """The first labels, and how many more there are."""
    more = [f"{len(labels) - _SHOWN} more"] if len(labels) > _SHOWN else []
    return separator.join([*(str(label) for label in list(labels)[:_SHOWN]), *more])
