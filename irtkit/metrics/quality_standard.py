"""Difficulty by a quality standard: several metrics of every answer, brought to one scale.

Kolena's difficulty score, after https://docs.kolena.com/metrics/difficulty-score. With q a
metric, negated where higher is better, and w its weight,

    z = (q − min q) / (max q − min q),    score = Σ w z / Σ w,    from 0 (easy) to 1 (hard),

and an item's score is the mean over respondents. The page leaves open what is decided here: a
metric that is constant tells no items apart and is left out, and so is a missing value, from both
sums; and min and max are taken over the items of one respondent, as on the page, or over
everybody (``scale="pooled"``), without which scores of two respondents cannot be compared.

The metrics may be anything that was measured per answer: cost, time, recall, or the task signals
of `irtkit.difficulty.task_signals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from irtkit.checks import check_number, check_one_of, first_names, short
from irtkit.metrics.tables import LABELS, cube, long_table

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Scale = Literal["respondent", "pooled"]
_ROUNDING = 1e-12  # far above that of a difference of shares, 1e-16
_SHOWN = 5  # items that are printed


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

    @property
    def settings(self) -> dict[str, Any]:
        """How the score was asked for, and ``constant``: metrics that are so for everybody."""
        telling = set(self.scaled["metric"])
        return {
            "higher_is_better": self.higher_is_better,
            "weights": self.weights,
            "scale": self.scale,
            "constant": [name for name in self.weights if name not in telling],
        }

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
        check_number("margin", margin, least=0, most=1)
        before, after = str(before), str(after)  # labels are text
        for name in (before, after):
            if name not in self.scores.columns:
                raise ValueError(f"there is no respondent {short(name)} among the scores")
        table = self.scores[[before, after]].set_axis(["before", "after"], axis=1)
        table["rise"] = table["after"] - table["before"]
        rose = (table["rise"] >= margin - _ROUNDING) & (table["rise"] > _ROUNDING)
        return table[rose].sort_values("rise", ascending=False, kind="stable")

    def common_failures(self, *, threshold: float = 0.9) -> pd.DataFrame:
        """Rows of `scores` above the threshold for every respondent, hardest item first.

        An item that some respondent has no score for is not among them.
        """
        check_number("threshold", threshold, least=0, most=1)
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
            lines.append(f"Left out as constant: {first_names(constant, '; ')}")
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

    check_one_of("scale", scale, get_args(Scale))
    values, (respondents, items, names) = cube(long_table(metrics, respondent, item, metric, value))
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


def quality_sentence(scores: Array, settings: Mapping[str, Any]) -> str:
    """Say which metrics items are scored by and which way each counts: a wrong one has to be seen.

    ``settings`` are those of `QualityStandard.settings`.
    """
    constant = settings["constant"]
    metrics = [
        f"{name} ({'higher' if higher else 'lower'} is better)"
        for name, higher in settings["higher_is_better"].items()
        if name not in constant
    ]
    left_out = f"; left out as constant: {', '.join(constant)}" if constant else ""
    without = int(np.isnan(scores).sum())
    lacking = f"; {without} of {len(scores)} items have no score" if without else ""
    return (
        "quality_standard scores items from 0 (easy) to 1 (hard) by "
        f"{', '.join(metrics) or 'nothing'}{left_out}{lacking}"
    )


def scale_metrics(values: Array, higher_is_better: NDArray[np.bool_], *, pooled: bool) -> Array:
    """Metrics from 0 for the best value (of all respondents if pooled) to 1 for the worst.

    Values have the shape (n_respondents, n_items, n_metrics). They are NaN where missing; so is
    the result, which is NaN as well where the metric is constant.
    """
    q = np.where(higher_is_better, -values, values) / 2  # halved so that no range overflows
    axis = (0, 1) if pooled else (1,)
    low: Array = np.fmin.reduce(q, axis, keepdims=True)
    high: Array = np.fmax.reduce(q, axis, keepdims=True)
    differs = high - low > _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return (q - low) / np.where(differs, high - low, np.nan)


def weigh(scaled: Array, weights: Array) -> Array:
    """Σ w z / Σ w over the metrics (last axis) that are not NaN; NaN where they weigh nothing."""
    known = ~np.isnan(scaled)
    total = np.where(known, weights, 0).sum(axis=-1)
    score: Array = np.where(known, weights * scaled, 0).sum(axis=-1)
    return score / np.where(total > 0, total, np.nan)


def _scaled(z: Array, *labels: list[str]) -> pd.DataFrame:
    """`QualityStandard.scaled`, from the array and the labels of its axes."""
    import pandas as pd

    known = np.nonzero(~np.isnan(z))
    columns = zip(LABELS, labels, known, strict=True)
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


def _directions(given: Mapping[str, bool] | Collection[str], names: list[str]) -> dict[str, bool]:
    """Whether higher is better, for every metric."""
    if not isinstance(given, Mapping):
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"higher_is_better must be a collection of names, got {short(given)}")
        better = {str(name) for name in given}
        _check_names("higher_is_better", better, names)
        return {name: name in better for name in names}
    stated = {str(name): higher for name, higher in given.items()}
    _check_names("higher_is_better", stated, names, complete=True)
    for name, higher in stated.items():
        if not isinstance(higher, bool | np.bool_):
            raise ValueError(
                f"higher_is_better of {short(name)} must be True or False, got {short(higher)}"
            )
    return {name: bool(stated[name]) for name in names}


def _weights(given: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    """Weight of every metric, checked."""
    if given is None:
        return dict.fromkeys(names, 1 / len(names))
    if not isinstance(given, Mapping):
        raise TypeError(f"weights must be a mapping from metric to weight, got {short(given)}")
    stated = {
        str(name): check_number(f"the weight of {short(str(name))}", weight, least=0)
        for name, weight in given.items()
    }
    _check_names("weights", stated, names, complete=True)
    if not abs(sum(stated.values()) - 1) <= 1e-9:
        raise ValueError(f"weights must sum to 1, got {sum(stated.values())}")
    return {name: stated[name] for name in names}


def _check_names(
    argument: str, given: Collection[str], names: list[str], *, complete: bool = False
) -> None:
    """Refuse metrics that do not exist and, in a complete argument, metrics without an entry."""
    for name in given:
        if name not in names:
            raise ValueError(
                f"{argument} names {short(name)}, but the metrics are {first_names(names)}"
            )
    for name in names:
        if complete and name not in given:
            raise ValueError(f"{argument} must name every metric, but {short(name)} is absent")
