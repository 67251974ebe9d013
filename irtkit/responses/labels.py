"""Labels of respondents, items and categories, kept as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias
from unicodedata import normalize

import numpy as np

from irtkit.checks import check_unique, did_you_mean, first_names, short
from irtkit.findings import Finding, ReadingError, as_typed, failed

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from irtkit.responses import ResponseMatrix

    Array: TypeAlias = NDArray[Any]
    Names: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
    """Labels of respondents and of items."""

_NO_LABEL, _IGNORED = -1, -2  # Numbers of labels that are missing or left out.


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
    if isinstance(labels, str | bytes | set | frozenset) or not isinstance(labels, Iterable):
        got = type(labels).__name__
        raise TypeError(f"{kind}s must be a list of labels, one per {kind}, got {got}")
    given = list(labels)
    if len(given) != n:
        raise ValueError(f"{kind}s must hold {n} labels, one per {kind}, got {len(given)}")
    for k, label in enumerate(given, start=1):
        if is_missing_label(label):
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
        pairs = [(str(label), entry) for label, entry in given.items()]
        check_unique(f"{argument} must have {one_each}", (label for label, _ in pairs))
        by_label = dict(pairs)
        if by_label.keys().isdisjoint(labels):
            named = f"{short(pairs[0][0])} is not one" if pairs else "it is empty"
            raise ValueError(
                f"{argument} must have a {value} for some {kind}: {named}. Keys or index must be "
                f"labels, such as {short(labels[0])}"
            )
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
    axes_names = []
    axes = ("respondent", "index", respondents), ("item", "columns", items)
    for n, (kind, axis, given) in zip(shape, axes, strict=True):
        of_frames = {
            name: label_names(getattr(table, axis), n, kind)
            for name, table in tables.items()
            if hasattr(table, "columns")
        }
        check_same_labels(kind, of_frames)
        if given is None and of_frames:
            axes_names.append(next(iter(of_frames.values())))
        else:
            axes_names.append(label_names(given, n, kind))
    return axes_names[0], axes_names[1]


def check_same_labels(kind: str, labels: dict[str, tuple[str, ...]]) -> None:
    """Refuse labels that differ from the first argument's, or are in another order."""
    first, wanted = next(iter(labels.items()), ("", ()))
    for argument, names in labels.items():
        pairs = zip_longest(wanted, names, fillvalue="absent")
        for k, (label, other) in enumerate(pairs, start=1):
            if label != other:
                raise ValueError(
                    f"{first} and {argument} must have the same {kind}s in the same order: {kind} "
                    f"{k} is {short(label)} in {first} and {short(other)} in {argument}"
                )


def tasks_and_ids(labels: Iterable[str], item_table: Any) -> list[tuple[str, str]]:
    """Task of each item, empty if it is not known, and its id: labels of logs are ``task/id``."""
    has_tasks = item_table is not None and "task" in item_table
    tasks = item_table["task"].dropna().to_dict() if has_tasks else {}
    pairs = []
    for label in labels:
        task = tasks.get(label, "")
        pairs.append((task, label.removeprefix(f"{task}/") if task else label))
    return pairs


class _Column:
    """Distinct values of a column of labels, over all of its blocks."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.plain: list[str] = []  # The same normalised, empty if missing.
        self._numbers: dict[Any, int] = {}
        self._dictionary: Any = None
        self._of_dictionary = np.empty(0, np.int64)

    def numbers(self, column: Any) -> NDArray[np.int64]:
        """Number of the value in every row of a block."""
        import pandas as pd
        import pyarrow as pa

        if isinstance(column, pa.Array):
            if not isinstance(column, pa.DictionaryArray):
                column = column.dictionary_encode()
            elif len(column.dictionary) > len(column):
                column = column.dictionary_decode().dictionary_encode()
            distinct: Any = column.dictionary
            places = column.indices
            if places.null_count:
                places = places.cast("int64").fill_null(-1)
            places = places.to_numpy(zero_copy_only=False)
        else:
            places, values = pd.factorize(column)
            distinct = pd.Index(values)
        is_same = type(self._dictionary) is type(distinct) and self._dictionary.equals(distinct)
        if not is_same:
            self._dictionary = distinct
            values = distinct.to_pylist() if hasattr(distinct, "to_pylist") else distinct.tolist()
            values.append(None)
            for value in values:  # most are known from another block
                if value not in self._numbers:
                    self._numbers[value] = len(self.texts)
                    text = "" if is_missing_label(value) else str(value)
                    self.texts.append(text)
                    self.plain += normalised([text])
            self._of_dictionary = np.array([self._numbers[value] for value in values])
        return self._of_dictionary[places]


class Labels:
    """Numbers of the labels in one column, or in several that are joined with "/".

    Labels that differ only by blanks or Unicode form are one label. Labels to be left out have a
    number below 0. If the labels are `prefixed`, the first column is their task. If they are
    `described`, the last column says something about them and is no part of the label.
    """

    def __init__(
        self,
        columns: Sequence[str],
        ignored: Iterable[str],
        *,
        prefixed: bool = False,
        described: bool = False,
    ) -> None:
        self.columns = columns
        self.prefixed = prefixed
        self.described = described
        self.ignored = dict.fromkeys(ignored, False)
        """Labels to be left out, and whether they occurred."""
        self.names: list[str] = []
        self.parts: list[tuple[Any, ...]] = []
        """Values of the columns that each name is made of."""
        self.merged: dict[str, str] = {}
        self._numbers: dict[str, int] = {}  # By the normalised label.
        self._columns = defaultdict[int, _Column](_Column)
        self._rows = defaultdict[int, dict[int, int]](dict)  # Numbers of values side by side.
        self._known = np.empty(0, np.int32)  # Number of the label of these values.

    def numbers(self, columns: Sequence[Any], place: str, start: int) -> NDArray[np.int32]:
        """Number of every row of a block that begins at a row of the table."""
        import pandas as pd

        parts = [self._columns[k].numbers(column) for k, column in enumerate(columns)]
        which = parts[0]
        for k, part in enumerate(parts[1:]):
            places, pairs = pd.factorize(which << 32 | part)
            of_pairs = self._rows[k]
            of_block = [of_pairs.setdefault(pair, len(of_pairs)) for pair in pairs.tolist()]
            which = np.array(of_block, np.int64)[places]
        n_values = int(which.max(initial=-1)) + 1
        n_new = max(n_values - len(self._known), 0)
        self._known = np.append(self._known, np.full(n_new, _NO_LABEL, np.int32))
        numbers: NDArray[np.int32] = self._known[which]
        if numbers.min(initial=0) < 0:
            rows = np.flatnonzero(numbers < 0)
            rows = rows[~pd.Series(which[rows]).duplicated()]
            texts = list[list[str]]()
            plain = list[list[str]]()
            for k, part in enumerate(parts):
                of_column = part[rows].tolist()
                texts.append([self._columns[k].texts[n] for n in of_column])
                plain.append([self._columns[k].plain[n] for n in of_column])
            new = map(self._number, zip(*texts, strict=True), zip(*plain, strict=True))
            self._known[which[rows]] = [*new]
            numbers = self._known[which]
            is_missing = numbers == _NO_LABEL
            if is_missing.any():
                first = int(is_missing.argmax())
                n_named = len(parts) - self.described
                blank = []
                for k, name in enumerate(self.columns[:n_named]):
                    if not self._columns[k].plain[parts[k][first]]:
                        blank.append(name)
                missing = {"row": start + first + 1, "column": blank}
                raise ReadingError(Finding("no-label", "error", missing), place)
        return numbers

    def joined(self, parts: Sequence[str]) -> str:
        """Label of values of the columns."""
        return in_task(*parts) if self.prefixed else "/".join(parts)

    def _number(self, parts: tuple[str, ...], plain_parts: tuple[str, ...]) -> int:
        n_named = len(parts) - self.described
        if not all(plain_parts[:n_named]):
            return _NO_LABEL
        written = self.joined(parts[:n_named])
        if written in self.ignored:
            self.ignored[written] = True
            return _IGNORED
        plain = self.joined(plain_parts[:n_named])
        number = self._numbers.setdefault(plain, len(self.names))
        if number == len(self.names):
            self.names.append(written)
            self.parts.append(parts)
        elif written != self.names[number]:
            self.merged[written] = self.names[number]
        if self.described and parts[-1] != self.parts[number][-1]:
            values = [self.parts[number][-1], parts[-1]]
            raise failed("two-values", column=self.columns[-1], label=written, values=values)
        return number


def in_task(task: str, *label: str) -> str:
    """Label of an item after its task, unless it begins with the task already."""
    item = "/".join(label)
    return item if item.startswith(f"{task}/") else f"{task}/{item}"


def by_label(
    argument: str,
    given: Any,
    labels: tuple[str, ...],
    responses: ResponseMatrix | None,
    value: str,
    kind: str = "respondent",
) -> list[Any]:
    """Value of every respondent or item, from a mapping, a list or a column of its table."""
    if not isinstance(given, str):
        return values_by_label(argument, given, labels, value=value, kind=kind)
    table = None if responses is None else getattr(responses, f"{kind}_table")
    columns = [] if table is None else list(map(str, table.columns))
    if table is None or given not in columns:
        kind = kind.replace("respondent", "system")
        others = f"; these are {first_names(columns)}" if columns else ""
        mapping = f"Pass a mapping from {kind} to {value}"
        instead = as_typed(f"<{mapping}|Give a table with the {value} of each {kind}>")
        raise ValueError(
            f"{argument} names {short(given)}, which is not a column that describes {kind}s"
            f"{did_you_mean(given, columns)}{others}. {instead}"
        )
    return list(table.iloc[:, columns.index(given)].reindex(labels))
