"""Labels of respondents, items and categories, kept as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import and_more, check_unique

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    import pandas as pd
    from numpy.typing import NDArray


def is_missing_label(label: Hashable) -> bool:
    """None, NaN, NaT, pandas.NA or blank text; the text "NA" is a label like any other."""
    if isinstance(label, str):
        return not label.strip()
    return label is None or str(label) in {"nan", "NaT", "<NA>"}


def category_name(label: Hashable) -> str:
    """Name of a category as text, empty where the label is missing; 1.0 is ``1``.

    Examples
    --------
    >>> from irtkit.labels import category_name
    >>> [category_name(label) for label in ("cat", 1, 1.0, 0.5, float("nan"), None)]
    ['cat', '1', '1', '0.5', '', '']
    """
    if is_missing_label(label):
        return ""
    whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return f"{label:.0f}" if whole else str(label)


def label_names(labels: Iterable[Hashable] | None, n: int, kind: str) -> tuple[str, ...]:
    """Labels as text, checked: as many as there are rows or columns, none missing, none twice."""
    if labels is None:
        return tuple(f"{kind}-{k}" for k in range(1, n + 1))
    given = list(labels)
    if len(given) != n:
        raise ValueError(f"{kind}s must hold {n} labels, one per {kind}, got {len(given)}")
    for position, label in enumerate(given, start=1):
        if is_missing_label(label):
            raise ValueError(f"{kind} {position} has no label")
    names = tuple(map(str, given))
    check_unique(f"{kind} labels must be unique", names)
    return names


def table_labels(
    tables: dict[str, Any], labels: Iterable[Hashable] | None, n: int, kind: str
) -> tuple[str, ...]:
    """Labels of tables of respondents × items along one axis: those given, else the DataFrames'.

    Parameters
    ----------
    tables
        By the names of the arguments; the labels of DataFrames among them must agree.
    labels, n, kind
        As for `label_names`.
    """
    axis = "index" if kind == "respondent" else "columns"
    own = {
        argument: label_names(getattr(table, axis), n, kind)
        for argument, table in tables.items()
        if hasattr(table, "index") and hasattr(table, "columns")
    }
    for argument, names in own.items():
        first = next(iter(own))
        if names != own[first]:
            k = next(k for k in range(n) if names[k] != own[first][k])
            raise ValueError(
                f"{first} and {argument} must have the same {kind}s in the same order: "
                f"{kind} {k + 1} is {own[first][k]!r} in {first} and {names[k]!r} in {argument}"
            )
    return next(iter(own.values())) if own and labels is None else label_names(labels, n, kind)


def label_numbers(
    frame: pd.DataFrame, column: str, kind: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number of the label in every row, in the order of first occurrence, and the labels."""
    import pandas as pd

    codes, labels = pd.factorize(frame[column])
    if (codes < 0).any():
        more = and_more(int((codes < 0).sum()) - 1, "such row")
        raise ValueError(
            f"column {column!r} has no label in row {int(np.argmax(codes < 0)) + 1} "
            f"of the table{more}"
        )
    return codes.astype(np.int64, copy=False), label_names(labels, len(labels), kind)
