"""Difficulty by a quality standard: several metrics of every answer, brought to one scale.

Kolena's difficulty score, after https://docs.kolena.com/metrics/difficulty-score. With q a metric,
negated if higher is better, and w its weight,

    z = (q − min q) / (max q − min q),    score = Σ w z / Σ w,    from 0 (easy) to 1 (hard),

and the score of an item is the mean over respondents. Constant metrics and missing values, which
the page does not treat, are left out of both sums. Minimum and maximum are over the items of one
respondent, as on the page, or over all respondents (``scale="pooled"``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from irtkit.checks import (
    and_more,
    check_number,
    check_one_of,
    did_you_mean,
    first_names,
    short,
)
from irtkit.findings import Finding
from irtkit.responses.columns import recognised
from irtkit.responses.tables import as_frame, with_index

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

Scale = Literal["respondent", "pooled"]
_LABELS = ("respondent", "item", "metric")
_ROUNDING = 1e-12  # Relative difference that rounding may cause.
_SHOWN = 5  # Items that are printed.


@dataclass(frozen=True, eq=False)
class QualityStandard:
    """Difficulty of items by several metrics, made by `quality_standard`."""

    scores: pd.DataFrame
    """Items × respondents, 0 (easy) to 1 (hard); NaN without any metric that varies."""
    items: pd.Series[float]
    """Index ``item``: mean over the respondents that have a score; NaN if none has."""
    scaled: pd.DataFrame
    """``respondent``, ``item``, ``metric``, ``value``: the metrics from 0 (easy) to 1 (hard);
    missing values and constant metrics have no row."""
    constant: dict[str, tuple[str, ...]]
    """Metrics left out because they are constant, by respondent."""
    n_missing: int
    """Missing values, of respondents × items × metrics."""
    higher_is_better: dict[str, bool]
    """For every metric."""
    weights: dict[str, float]
    """Of every metric, before any is left out."""
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

    def regressions(self, before: str, after: str, *, margin: float = 0.0) -> pd.DataFrame:
        """Items whose score rose from one respondent to another, by `margin` or more.

        Index ``item``, largest rise first; columns ``before``, ``after`` and ``rise``. Items
        without one of the two scores are left out.

        Raises
        ------
        ValueError
            If the metrics were scaled per respondent: such scores cannot be compared.
        """
        if self.scale != "pooled":
            raise ValueError(
                "scores scaled per respondent cannot be compared between respondents: call "
                'quality_standard(..., scale="pooled")'
            )
        check_number("margin", margin, least=0, most=1)
        names = [str(before), str(after)]
        for name in names:
            if name not in self.scores.columns:
                raise ValueError(f"there is no respondent {short(name)} among the scores")
        table = self.scores[names].set_axis(["before", "after"], axis=1)
        table["rise"] = table["after"] - table["before"]
        rose = (table["rise"] >= margin - _ROUNDING) & (table["rise"] > _ROUNDING)
        return table[rose].sort_values("rise", ascending=False, kind="stable")

    def common_failures(self, *, threshold: float = 0.9) -> pd.DataFrame:
        """Rows of `scores` above the threshold for every respondent, hardest item first."""
        check_number("threshold", threshold, least=0, most=1)
        failed = self.scores[(self.scores > threshold).all(axis=1)]
        order = failed.mean(axis=1).sort_values(ascending=False, kind="stable").index
        return failed.loc[order]

    def __str__(self) -> str:
        n_items, n_respondents = self.scores.shape
        pooled = "over all respondents" if self.scale == "pooled" else "per respondent"
        lines = [f"Quality standard: items {n_items}, respondents {n_respondents}, scaled {pooled}"]
        for name, higher in self.higher_is_better.items():
            better = "higher" if higher else "lower"
            lines.append(f"- {name}: {better} is better, weight {self.weights[name]:.3g}")
        if self.n_missing:
            n_values = n_items * n_respondents * len(self.weights)
            lines.append(f"Missing values: {self.n_missing} of {n_values}")
        if self.constant:
            constant = [f"{', '.join(names)} ({who})" for who, names in self.constant.items()]
            lines.append(f"Left out as constant: {first_names(constant, '; ')}")
        hardest = self.items.dropna().sort_values(ascending=False, kind="stable").head(_SHOWN)
        shown = ", ".join(f"{item} {score:.3f}" for item, score in hardest.items())
        return "\n".join([*lines, f"Hardest items: {shown or 'no item has a score'}"])


def quality_standard(
    metrics: object,
    higher_is_better: Mapping[str, bool] | Collection[str],
    *,
    weights: Mapping[str, float] | None = None,
    scale: Scale = "respondent",
) -> QualityStandard:
    """Score how hard each item was for each respondent, by all metrics together.

    Parameters
    ----------
    metrics
        A long table (a row per value, with the columns respondent, item, metric and value), a wide
        one (a row per answer, a column per metric), or a mapping of respondents to tables of items
        × metrics. See Notes.
    higher_is_better
        Either a collection of all metrics that are better when higher, ``[]`` for none, or a
        mapping that says True or False for every metric. There is no default: a wrong direction
        reverses the score.
    weights
        Weight of every metric, summing to 1. The default is equal weights. Metrics that are present
        keep their proportions.
    scale
        Range that is brought to 0–1: that of each ``"respondent"``, so that a score compares an
        item with the other items of the respondent, or of all respondents, ``"pooled"``, so that
        respondents can be compared.

    Returns
    -------
    QualityStandard
        `scores` per respondent and `items` over respondents.

    Raises
    ------
    ValueError
        If a column is absent, a label is missing, a value occurs twice or is not a finite number,
        a metric is unknown or has no direction or weight, or weights do not sum to 1.

    Notes
    -----
    Columns of respondents and items are recognised by their usual names, as in
    :func:`irtkit.read_responses`. They may be an index of two levels, or for a mapping the index or
    a column ``item``. Labels are kept as text. NaN, None and absent rows are missing values. A
    metric whose range is below 1e-12 of its largest value is constant.

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
    values, (respondents, items, names) = _cube(_long_table(metrics))
    directions, shares = _directions(higher_is_better, names), _weights(weights, names)
    z = scale_metrics(values, np.array(list(directions.values())), pooled=scale == "pooled")
    weight = np.array(list(shares.values()))
    total = np.where(np.isnan(z), 0, weight).sum(axis=2)
    scores = pd.DataFrame(
        (np.nansum(z * weight, axis=2) / np.where(total > 0, total, np.nan)).T,
        index=pd.Index(items, name="item"),
        columns=pd.Index(respondents, name="respondent"),
    )
    known = np.nonzero(~np.isnan(z))
    columns = zip(_LABELS, (respondents, items, names), known, strict=True)
    scaled = pd.DataFrame({kind: pd.Index(of)[k] for kind, of, k in columns})
    dropped = np.any(np.isnan(z) & ~np.isnan(values), axis=1)
    return QualityStandard(
        scores=scores,
        items=scores.mean(axis=1).rename("quality_standard"),
        scaled=scaled.assign(value=z[known]),
        constant={
            respondents[k]: tuple(name for name, out in zip(names, dropped[k], strict=True) if out)
            for k in np.flatnonzero(dropped.any(axis=1))
        },
        n_missing=int(np.isnan(values).sum()),
        higher_is_better=directions,
        weights=shares,
        scale=scale,
    )


def scale_metrics(values: Array, higher_is_better: NDArray[np.bool_], *, pooled: bool) -> Array:
    """Metrics, (n_respondents, n_items, n_metrics), from 0 for the best value to 1 for the worst.

    The range is that of all respondents if pooled. NaN if missing, or if the metric is constant.
    """
    q = np.where(higher_is_better, -values, values) / 2  # Halved so that no range overflows.
    axis = (0, 1) if pooled else (1,)
    low: Array = np.fmin.reduce(q, axis, keepdims=True)
    high: Array = np.fmax.reduce(q, axis, keepdims=True)
    differs = high - low > _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return (q - low) / np.where(differs, high - low, np.nan)


def quality_finding(scores: Any, settings: Mapping[str, Any]) -> Finding:
    """Metrics that items are scored by, and their directions; settings of a `QualityStandard`."""
    directions = settings["higher_is_better"].items()
    used = [(name, higher) for name, higher in directions if name not in settings["constant"]]
    values = {
        "higher": [name for name, higher in used if higher],
        "lower": [name for name, higher in used if not higher],
        "constant": list(settings["constant"]),
        "n": int(np.isnan(scores).sum()),
    }
    return Finding("quality-standard", "note", values)


def quality_of(
    responses: ResponseMatrix,
    metrics: object,
    higher_is_better: Mapping[str, bool] | Collection[str] | None = None,
) -> QualityStandard:
    """Kolena's score of the items of a response matrix.

    ``metrics`` are as in :func:`quality_standard`, or names of ``responses.metrics``, or a
    QualityStandard. All labels must be those of the real respondents and the items.
    """
    if isinstance(metrics, QualityStandard) != (higher_is_better is None):
        raise ValueError(
            "higher_is_better= must name the metrics that are better when higher, [] for none (on "
            "the command line: none), and be left out with a QualityStandard"
        )
    if not isinstance(metrics, QualityStandard):
        names: Any = [metrics] if isinstance(metrics, str) else metrics
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            own = responses.metrics
            known = [] if own is None else list(own["metric"].cat.categories)
            strange = [name for name in names or [""] if name not in known]
            if own is None or strange:
                raise ValueError(
                    f"metrics={short(strange[0])} is neither a file nor a metric of the responses"
                    f"{did_you_mean(strange[0], known)}; they have "
                    f"{first_names(known, shown=20) or 'none'}"
                )
            metrics = own[own["metric"].isin(names)]
        metrics = quality_standard(metrics, higher_is_better or ())
    known = np.array(responses.respondents)[~responses.synthetic].tolist()
    labels = (metrics.scores.columns, known), (metrics.scores.index, responses.items)
    for kind, (found, there) in zip(("respondent", "item"), labels, strict=True):
        if len(others := found[~found.isin(list(there))]):
            more = and_more(len(others) - 1, kind)
            raise ValueError(
                f"metrics has values of the {kind} {short(others[0])}{more}, which the responses "
                f"do not have{did_you_mean(others[0], there)}; theirs are "
                f"{first_names(there, shown=3)}"
            )
    return metrics


def _long_table(metrics: Any) -> pd.DataFrame:
    """Any layout as a table of text labels ``respondent``, ``item``, ``metric`` and ``value``."""
    import pandas as pd

    if isinstance(metrics, Mapping):
        tables = []
        for who, given in metrics.items():
            own = as_frame(given)
            own = own if "item" in own else own.rename_axis("item").reset_index()
            tables.append(own.assign(respondent=who).melt(["respondent", "item"], None, "metric"))
        if not tables:
            raise ValueError("metrics holds no metric")
        rows = pd.concat(tables)
    else:
        try:
            rows = as_frame(metrics)
        except TypeError as error:
            kinds = "a table, a mapping, a file, names of metrics or a QualityStandard"
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
    check_columns(rows, *_LABELS, "value")
    labels = labelled(rows["respondent"], rows["item"], rows["metric"])
    return labels.assign(value=numbers(rows["value"], labels))


def labelled(respondents: pd.Series[Any], items: pd.Series[Any], metrics: Any) -> pd.DataFrame:
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


def floats(values: pd.Series[Any]) -> tuple[Array, NDArray[np.bool_]]:
    """Values as floats, NaN if missing or no number, and which are present but no number."""
    import pandas as pd

    plain = values if pd.api.types.is_numeric_dtype(values) else values.astype(object)
    found = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return found, np.isnan(found) & values.notna().to_numpy()


def numbers(values: pd.Series[Any], rows: pd.DataFrame, least: float = -np.inf) -> Array:
    """Values as floats, NaN if missing; the labels in `rows` say whose value is wrong."""
    found, wrong = floats(values)
    wrong |= np.isinf(found) | (found < least)
    if wrong.any():
        k = int(wrong.argmax())
        where = ", ".join(f"{kind} {short(rows[kind].iloc[k])}" for kind in _LABELS)
        rule = "a finite number" if least < 0 else f"a finite number from {least}"
        raise ValueError(
            f"{values.name} must be {rule}, got {short(values.astype(object).iloc[k])} at {where}"
        )
    return found


def check_columns(table: pd.DataFrame, *needed: str) -> None:
    """Refuse a table that lacks a column."""
    for name in needed:
        if name not in table:
            listed = first_names(list(table.columns))
            raise ValueError(f"the table must have a column {short(name)}, it has {listed}")


def _cube(rows: pd.DataFrame) -> tuple[Array, list[list[str]]]:
    """Values of shape (n_respondents, n_items, n_metrics) and the labels of the three axes."""
    import pandas as pd

    twice = rows.duplicated(list(_LABELS)).to_numpy()
    if twice.any():
        first = rows.iloc[int(twice.argmax())]
        where = ", ".join(f"{kind} {short(first[kind])}" for kind in _LABELS)
        more = and_more(int(twice.sum()) - 1, "repeat")
        raise ValueError(f"each value must occur once, but this occurs twice: {where}{more}")
    codes, labels = zip(*(pd.factorize(rows[kind]) for kind in _LABELS), strict=True)
    values = np.full([len(of) for of in labels], np.nan)
    values[codes] = rows["value"]
    if np.isnan(values).all():
        raise ValueError("metrics holds no value: all are missing")
    return values, [list(of) for of in labels]


def _directions(given: Mapping[str, bool] | Collection[str], names: list[str]) -> dict[str, bool]:
    """Whether higher is better, for every metric."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"higher_is_better must be a collection of names, got {short(given)}")
    complete = isinstance(given, Mapping)
    stated = {str(name): given[name] if isinstance(given, Mapping) else True for name in given}
    _check_names("higher_is_better", stated, names, complete=complete)
    for name, higher in stated.items():
        if not isinstance(higher, bool | np.bool_):
            raise ValueError(
                f"higher_is_better of {short(name)} must be True or False, got {short(higher)}"
            )
    return {name: bool(stated.get(name, False)) for name in names}


def _weights(given: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    """Weight of every metric, checked."""
    if given is None:
        return dict.fromkeys(names, 1 / len(names))
    stated = {
        str(name): check_number(f"the weight of {short(str(name))}", weight, least=0)
        for name, weight in given.items()
    }
    _check_names("weights", stated, names, complete=True)
    if abs(sum(stated.values()) - 1) > 1e-9:
        raise ValueError(f"weights must sum to 1, got {sum(stated.values())}")
    return {name: stated[name] for name in names}


def _check_names(
    argument: str, given: Collection[str], names: list[str], *, complete: bool = False
) -> None:
    """Refuse metrics that do not exist and, in a complete argument, metrics without an entry."""
    for name in given:
        if name not in names:
            listed = first_names(names)
            raise ValueError(f"{argument} names {short(name)}, but the metrics are {listed}")
    for name in names:
        if complete and name not in given:
            raise ValueError(f"{argument} must name every metric, but {short(name)} is absent")
