"""Metrics of answers in any layout, as one checked table or array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import and_more, as_number, first_names, short

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LABELS = ("respondent", "item", "metric")


def long_table(
    metrics: pd.DataFrame | Mapping[str, pd.DataFrame],
    respondent: str,
    item: str,
    metric: str,
    value: str,
) -> pd.DataFrame:
    """Any layout as a table of text labels ``respondent``, ``item``, ``metric`` and ``value``."""
    import pandas as pd

    if isinstance(metrics, Mapping):
        wide = []
        for who, table in metrics.items():
            check_columns(table)
            own = table if item in table else table.rename_axis(item).reset_index()
            wide.append(own.assign(**{respondent: who}))
    else:
        check_columns(metrics)
        if metrics.index.nlevels == 2:
            first, second = metrics.index.names
            swapped = first == item or second == respondent
            names = [item, respondent] if swapped else [respondent, item]
            metrics = metrics.reset_index(names=names)
        if metric in metrics:
            check_columns(metrics, respondent, item, value)
            rows = labelled(metrics[respondent], metrics[item], metrics[metric])
            return rows.assign(value=numbers(metrics[value], rows))
        wide = [metrics]
    blocks = []
    for table in wide:
        check_columns(table, respondent, item)
        for name, values in table.drop(columns=[respondent, item]).items():
            rows = labelled(table[respondent], table[item], name)
            blocks.append(rows.assign(value=numbers(values, rows)))
    if not blocks:
        raise ValueError("metrics holds no metric")
    return pd.concat(blocks)


def labelled(respondents: pd.Series[Any], items: pd.Series[Any], metrics: Any) -> pd.DataFrame:
    """Label columns as text, rows numbered from 0."""
    import pandas as pd

    columns = dict(zip(LABELS, (respondents, items, metrics), strict=True))
    rows = pd.DataFrame(columns).reset_index(drop=True)
    text = rows.astype(object).map(str)
    for kind in LABELS:
        absent = (rows[kind].isna() | (text[kind].str.strip() == "")).to_numpy()
        if absent.any():
            raise ValueError(f"row {int(absent.argmax()) + 1} of the table has no {kind}")
    return text


def floats(values: pd.Series[Any]) -> tuple[Array, NDArray[np.bool_]]:
    """Values as floats, NaN where missing or no number, and which are present but no number."""
    import pandas as pd

    plain = values if pd.api.types.is_numeric_dtype(values) else values.astype(object)
    try:
        found = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:
        found = np.array([*map(as_number, plain)])
    return found, np.isnan(found) & values.notna().to_numpy()


def numbers(values: pd.Series[Any], rows: pd.DataFrame, least: float = -np.inf) -> Array:
    """Values as floats, NaN where missing; the labels in `rows` say whose value is wrong."""
    numbers, wrong = floats(values)
    wrong |= np.isinf(numbers) | (numbers < least)
    if wrong.any():
        k = int(wrong.argmax())
        where = ", ".join(f"{kind} {short(rows[kind].iloc[k])}" for kind in LABELS)
        rule = "a finite number" if least < 0 else f"a finite number from {least}"
        raise ValueError(
            f"{values.name} must be {rule}, got {short(values.astype(object).iloc[k])} at {where}"
        )
    return numbers


def cube(rows: pd.DataFrame) -> tuple[Array, list[list[str]]]:
    """Values of shape (n_respondents, n_items, n_metrics) and the labels of the three axes."""
    import pandas as pd

    twice = rows.duplicated(list(LABELS)).to_numpy()
    if twice.any():
        first = rows.iloc[int(twice.argmax())]
        where = ", ".join(f"{kind} {short(first[kind])}" for kind in LABELS)
        more = and_more(int(twice.sum()) - 1, "repeat")
        raise ValueError(f"each value must occur once, but this occurs twice: {where}{more}")
    codes, labels = zip(*(pd.factorize(rows[kind]) for kind in LABELS), strict=True)
    values = np.full([len(of) for of in labels], np.nan)
    values[codes] = rows["value"]
    if np.isnan(values).all():
        raise ValueError("metrics holds no value: all are missing")
    return values, [list(of) for of in labels]


def check_columns(table: pd.DataFrame, *needed: str) -> None:
    """Refuse what is no table, or lacks a column."""
    if not hasattr(table, "columns"):
        raise TypeError(f"a table must be a pandas DataFrame, got {type(table).__name__}")
    for name in needed:
        if name not in table:
            raise ValueError(
                f"the table must have a column {short(name)}, it has "
                f"{first_names(list(table.columns))}"
            )
