"""Labels of respondents, items and categories, kept as text."""

from __future__ import annotations

from collections.abc import Iterable, KeysView
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeAlias
from unicodedata import normalize

import numpy as np

from irtkit.checks import check_unique, short

if TYPE_CHECKING:
    from collections.abc import Hashable

    Names: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
    """Labels of respondents and of items."""


def is_missing_label(label: object) -> bool:
    """Whether a label is None, NaN, NaT, pandas.NA, masked or blank. The text "NA" is a label."""
    if isinstance(label, str):
        return not label.strip()
    return label is None or label is np.ma.masked or str(label) in {"nan", "NaT", "<NA>"}


def normalised(labels: Iterable[str]) -> list[str]:
    """Labels in Unicode form NFC, without outer blanks and with single blanks between words."""
    return [" ".join(normalize("NFC", label).split()) for label in labels]


def category_name(label: Hashable) -> str:
    """Name of a category as text, empty where the label is missing. The number 1.0 is ``1``."""
    if is_missing_label(label):
        return ""
    whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return f"{label:.0f}" if whole else str(label)


def label_names(
    labels: Iterable[Hashable] | None, n: int, kind: str, *, unique: bool = True
) -> tuple[str, ...]:
    """Labels as text, checked: as many as there are rows or columns, none missing, none twice."""
    if labels is None:
        return tuple(f"{kind}-{k}" for k in range(1, n + 1))
    unordered = isinstance(labels, AbstractSet) and not isinstance(labels, KeysView)
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable) or unordered:
        kept = type(labels).__name__
        raise TypeError(f"{kind}s must be a list of labels, one per {kind}, got {kept}")
    given = list(labels)
    if len(given) != n:
        raise ValueError(f"{kind}s must hold {n} labels, one per {kind}, got {len(given)}")
    if (k := next((k for k, one in enumerate(given, 1) if is_missing_label(one)), 0)) > 0:
        raise ValueError(f"{kind} {k} has no label")
    names = tuple(map(str, given))
    if unique:
        check_unique(f"{kind} labels must be unique", names)
    return names


def values_by_label(
    argument: str, given: Any, labels: tuple[str, ...], *, value: str, kind: str
) -> list[Any]:
    """Value of each label, from a mapping or Series (None if absent), or a list in their order."""
    one_each = f"one {value} per {kind}"
    if isinstance(given, str) or not isinstance(given, Iterable) or hasattr(given, "columns"):
        allowed = f"a mapping or Series from {kind} to {value}, or a list with {one_each}"
        raise TypeError(f"{argument} must be {allowed}, got {type(given).__name__}")
    if hasattr(given, "items"):
        pairs = [(str(label), one) for label, one in given.items()]
        check_unique(f"{argument} must have {one_each}", (label for label, _ in pairs))
        by_label = dict(pairs)
        if by_label.keys().isdisjoint(labels):
            named = f"{short(pairs[0][0])} is not one" if pairs else "it is empty"
            raise ValueError(f"{argument} has no {value} for any {kind}: {named}")
        return [by_label.get(label) for label in labels]
    values = list(given)
    if len(values) != len(labels):
        raise ValueError(f"{argument} must have {one_each}, got {len(values)} for {len(labels)}")
    return values


def matrix_names(
    shape: tuple[int, ...],
    respondents: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    **tables: Any,
) -> Names:
    """Labels of respondents and items as given, else from the DataFrames, which must agree."""
    labelled = ("index", "columns")
    frames = {k: one for k, one in tables.items() if all(hasattr(one, axis) for axis in labelled)}

    def along(kind: str, axis: str, given: Iterable[Hashable] | None, n: int) -> tuple[str, ...]:
        own = {name: label_names(getattr(frame, axis), n, kind) for name, frame in frames.items()}
        check_same_labels(kind, own)
        return next(iter(own.values())) if own and given is None else label_names(given, n, kind)

    return (
        along("respondent", "index", respondents, shape[0]),
        along("item", "columns", items, shape[1]),
    )


def check_same_labels(kind: str, labels: dict[str, tuple[str, ...]]) -> None:
    """Refuse labels that differ from the first argument's, or are in another order."""
    first, wanted = next(iter(labels.items()), ("", ()))
    for argument, own in labels.items():
        if own == wanted:
            continue
        seen = f"{first} has {len(wanted)} and {argument} {len(own)}"
        if len(own) == len(wanted):
            k, a, b = next((k, a, b) for k, (a, b) in enumerate(zip(wanted, own), 1) if a != b)  # noqa: B905
            seen = f"{kind} {k} is {short(a)} in {first} and {short(b)} in {argument}"
        same = f"{first} and {argument} must have the same {kind}s in the same order"
        raise ValueError(f"{same}: {seen}")
