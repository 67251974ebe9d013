"""Labels of respondents, items and categories, kept as text."""

from __future__ import annotations

from collections.abc import Iterable, KeysView
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from irtkit.checks import check_unique, half_character, short

if TYPE_CHECKING:
    from collections.abc import Hashable

    Names: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
    """Labels of respondents and of items."""

_LONGEST = 2**17 - 1
"""Characters of a label: Python's csv reads cells of one more, an apostrophe before it included."""


def is_missing_label(label: object) -> bool:
    """None, NaN, NaT, pandas.NA, masked or blank text; the text "NA" is a label like any other."""
    if isinstance(label, str):
        return not label.strip()
    return label is None or label is np.ma.masked or str(label) in {"nan", "NaT", "<NA>"}


def category_name(label: Hashable) -> str:
    """Name of a category as text, empty where the label is missing; 1.0 is ``1``."""
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
    if isinstance(labels, AbstractSet) and not isinstance(labels, KeysView):
        raise TypeError(f"{kind}s must be in the order of the table, and a set has none")
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise TypeError(
            f"{kind}s must be a list of labels, one per {kind}, got {type(labels).__name__}"
        )
    given = list(labels)
    if len(given) != n:
        raise ValueError(f"{kind}s must hold {n} labels, one per {kind}, got {len(given)}")
    for position, label in enumerate(given, start=1):
        if is_missing_label(label):
            raise ValueError(f"{kind} {position} has no label")
    names = tuple(map(str, given))
    _refuse_unwritable(names, kind)
    if unique:
        check_unique(f"{kind} labels must be unique", names)
    return names


def _refuse_unwritable(names: tuple[str, ...], kind: str) -> None:
    """Refuse labels that no file could hold, or no table in text."""
    for name in names if half_character("".join(names)) else ():
        if half_character(name):
            raise ValueError(f"{kind} label {short(name)} is no text that UTF-8 has")
    if len(longest := max(names, key=len, default="")) > _LONGEST:
        rule = f"has {len(longest):,} characters; a label has at most {_LONGEST:,}"
        raise ValueError(f"{kind} label {short(longest)} {rule}")


def values_by_label(
    argument: str, given: Any, labels: tuple[str, ...], *, value: str, kind: str
) -> list[Any]:
    """Value of each label, from a mapping or Series by label, or a list in the labels' order.

    None where a mapping has no such label; further labels in it are ignored.
    """
    if isinstance(given, str) or not isinstance(given, Iterable) or hasattr(given, "columns"):
        raise TypeError(
            f"{argument} must be a mapping or Series from {kind} to {value}, or a list with one "
            f"{value} per {kind}, got {type(given).__name__}"
        )
    if hasattr(given, "items"):
        pairs = [(str(label), one) for label, one in given.items()]
        check_unique(f"{argument} must have one {value} per {kind}", (label for label, _ in pairs))
        by_label = dict(pairs)
        return [by_label.get(label) for label in labels]
    values = list(given)
    if len(values) != len(labels):
        raise ValueError(
            f"{argument} must have one {value} per {kind}; got {len(values)} for {len(labels)}"
        )
    return values


def matrix_names(
    shape: tuple[int, ...],
    respondents: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    **tables: Any,
) -> Names:
    """Labels of respondents and items: those given, else those of the DataFrames among `tables`.

    The labels of DataFrames must agree; tables go by the names of their arguments.
    """
    frames = {
        name: t for name, t in tables.items() if hasattr(t, "index") and hasattr(t, "columns")
    }
    names = []
    for kind, axis, given, n in zip(
        ("respondent", "item"), ("index", "columns"), (respondents, items), shape, strict=True
    ):
        own = {name: label_names(getattr(frame, axis), n, kind) for name, frame in frames.items()}
        check_same_labels(kind, own)
        known = next(iter(own.values()), None) if given is None else None
        names.append(known or label_names(given, n, kind))
    return names[0], names[1]


def check_same_labels(kind: str, labels: dict[str, tuple[str, ...]]) -> None:
    """Refuse labels that are not those of the first argument, in its order."""
    first, wanted = next(iter(labels.items()), ("", ()))
    for argument, own in labels.items():
        if own == wanted:
            continue
        if len(own) != len(wanted):
            seen = f"{first} has {len(wanted)} and {argument} {len(own)}"
        else:
            k = next(k for k in range(len(own)) if own[k] != wanted[k])
            seen = (
                f"{kind} {k + 1} is {short(wanted[k])} in {first} and {short(own[k])} in {argument}"
            )
        raise ValueError(
            f"{first} and {argument} must have the same {kind}s in the same order: {seen}"
        )
