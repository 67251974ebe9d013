"""Annotations as they come in: tables or lists, of one sample or of many.

Types are kept as text (1 and 1.0 are both ``1``). The annotations of a sample are put in order of
start, end and type, so that nothing depends on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from irtkit.checks import as_number, check_unique, first_names, short
from irtkit.responses.labels import category_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    AnnotationTable: TypeAlias = pd.DataFrame | Iterable[Sequence[Any]]
    """A DataFrame with the columns type, start and end, or (type, start, end) tuples."""
    AnnotationsBySample: TypeAlias = Mapping[Hashable, AnnotationTable] | AnnotationTable
    """Annotations by sample, or a long table with one more column, the sample."""


class Annotation(NamedTuple):
    """A type with a start and an end, both in one unit (seconds, characters)."""

    type: str
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Annotations:
    """The annotations of a sample, in order of start, end and type."""

    rows: tuple[Hashable, ...]
    """Where each was in the input: the label of its row, or its position from 0."""
    types: NDArray[np.object_]
    """Shape (n,)."""
    times: NDArray[np.float64]
    """Start and end, shape (n, 2)."""

    @classmethod
    def of(cls, annotations: Iterable[tuple[Hashable, Annotation]]) -> Annotations:
        """Put annotations and the labels of their rows in order."""
        ordered = sorted(annotations, key=lambda one: (one[1].start, one[1].end, one[1].type))
        return cls(
            tuple(row for row, _ in ordered),
            np.array([one.type for _, one in ordered], dtype=object),
            np.array([one[1:] for _, one in ordered], dtype=np.float64).reshape(-1, 2),
        )

    def __len__(self) -> int:
        return len(self.rows)


NO_ANNOTATIONS = Annotations.of([])


def annotation(type: Hashable, start: object, end: object) -> Annotation:  # noqa: A002 - its name
    """Check one annotation: its type is there, its times are finite and in order."""
    name = category_name(type)
    if not name:
        raise ValueError("type is missing")
    times = {"start": as_number(start), "end": as_number(end)}
    for (field, number), given in zip(times.items(), (start, end), strict=True):
        if not math.isfinite(number):
            raise ValueError(f"{field} must be a finite number, got {short(given)}")
    first, last = times.values()
    if last < first:
        raise ValueError(f"end must not be before start, but end {last} is before start {first}")
    return Annotation(name, first, last)


def one_sample(table: AnnotationTable, argument: str) -> Annotations:
    """Check the annotations of one sample."""
    return Annotations.of(
        (row, annotation_at(f"{argument}, row {short(row)}", *values))
        for row, *values in _rows(table, Annotation._fields, argument)
    )


def by_sample(tables: AnnotationsBySample, sample: str, argument: str) -> dict[str, Annotations]:
    """Check the annotations of many samples, in the order in which they first occur."""
    if isinstance(tables, Mapping):
        names = [sample_name(label, argument) for label in tables]
        check_unique(f"{argument} must have every sample once", names)
        return {
            name: one_sample(table, f"{argument}, sample {short(name)}")
            for name, table in zip(names, tables.values(), strict=True)
        }
    found: dict[str, list[tuple[Hashable, Annotation]]] = {}
    for row, label, *values in _rows(tables, (sample, *Annotation._fields), argument):
        name = sample_name(label, f"{argument}, row {short(row)}")
        one = annotation_at(f"{argument}, row {short(row)} (sample {short(name)})", *values)
        found.setdefault(name, []).append((row, one))
    return {name: Annotations.of(annotations) for name, annotations in found.items()}


def _rows(
    table: AnnotationTable, columns: tuple[str, ...], argument: str
) -> Iterator[tuple[Any, ...]]:
    """Label of every row, followed by its values in the order of the columns."""
    if hasattr(table, "columns"):
        frame: Any = table
        check_names(list(frame.columns), columns, argument)
        yield from frame[list(columns)].itertuples(name=None)
        return
    expected = f"a DataFrame or tuples of {first_names(columns)}"
    if isinstance(table, str | Mapping) or not hasattr(table, "__iter__"):
        raise TypeError(f"{argument} must be {expected}, got {type(table).__name__}")
    for row, values in enumerate(table):
        is_row = hasattr(values, "__len__") and not isinstance(values, str | Mapping)
        if not is_row or len(values) != len(columns):
            wrong = ValueError if is_row else TypeError
            raise wrong(f"{argument}, row {row}: must be {expected}, got {short(values)}")
        yield row, *values


def check_names(given: list[Any], names: tuple[str, ...], place: str) -> None:
    """Refuse columns or keys other than the names, each of which must be there once."""
    listed = first_names(names)
    for name in names:
        if name not in given:
            raise ValueError(f"{place} has no {short(name)}; there must be {listed}")
    for name in given:
        if name not in names:
            raise ValueError(
                f"{place} has the unknown name {short(name)}; there must be only {listed}"
            )
        if given.count(name) > 1:
            raise ValueError(f"{place} has {short(name)} twice")


def sample_name(label: Hashable, place: str) -> str:
    """Name of a sample as text; an error that begins with the place where it is missing."""
    name = category_name(label)
    if not name:
        raise ValueError(f"{place}: sample is missing")
    return name


def annotation_at(place: str, *values: Any, **fields: Any) -> Annotation:
    """Check one annotation; an error begins with the place where it stands."""
    try:
        return annotation(*values, **fields)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
