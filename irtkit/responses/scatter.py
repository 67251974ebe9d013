"""Responses put into their cells, block by block: tables of values, of counts, or observed cells.

The blocks can be gone through again, and each holds the number of the respondent, that of the item
and the code of the response of some rows. What is needed beside the table itself is a few arrays
as long as a block; where the observed cells alone are kept, five bytes a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.memory import LESS_MEMORY, check_memory
from irtkit.responses.codes import MISSING
from irtkit.responses.observed import Observed
from irtkit.responses.trials import (
    CountTables,
    count_rows,
    count_type,
    one_of_repeats,
    right_on_the_whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.signedinteger[Any]]
    Block: TypeAlias = tuple[Numbers, Numbers, NDArray[np.int8]]
    """Number of the respondent, number of the item and code of the response of some rows."""
    Shape: TypeAlias = tuple[int, int]

_CODE_OF_SEEN = 3
"""Added to codes, of which the lowest is −2, so that 0 is a cell of no row."""
_AT_ONCE = 2**20
"""Rows of a sparse matrix that are sorted together: 8 MiB of cells."""


def cells_of(block: Block, shape: Shape) -> NDArray[np.int64]:
    """Cell of every row of a block: row · n_items + column."""
    cells = block[0].astype(np.int64)
    cells *= shape[1]
    cells += block[1]
    return cells


def _check_memory(shape: Shape, n_tables: int) -> None:
    check_memory(
        n_tables * float(shape[0]) * shape[1],
        f"a table of {shape[0]} respondents × {shape[1]} items",
        LESS_MEMORY,
    )


def scatter_values(
    blocks: Iterable[Block], shape: Shape, repeats: str
) -> tuple[NDArray[np.int8], int]:
    """Table of responses, and how many of its cells occur in the rows.

    Of several rows of a cell the "first" or "last" observed counts, or it is not said which one
    does ("error").
    """
    _check_memory(shape, 1)
    values = np.zeros(shape, np.int8)
    flat = values.reshape(-1)
    for block in blocks:
        cells, codes = cells_of(block, shape), block[2]
        if repeats != "error":
            cells, codes = one_of_repeats(cells, codes, repeats)
        if repeats == "first":
            fresh = flat[cells] == 0
            cells, codes = cells[fresh], codes[fresh]
        flat[cells] = codes + np.int8(_CODE_OF_SEEN)
    n_seen = int(np.count_nonzero(values))
    values -= _CODE_OF_SEEN
    np.maximum(values, MISSING, out=values)
    return values, n_seen


def scatter_counts(blocks: Iterable[Block], shape: Shape) -> CountTables:
    """Tables of successes and trials."""
    _check_memory(shape, 2)
    kind = count_type(0)
    tables = CountTables(np.zeros(shape, kind), np.zeros(shape, kind))
    for block in blocks:
        tried = block[2] != MISSING
        cells, right, trials = count_rows(cells_of(block, shape)[tried], block[2][tried] == 1)
        right += tables.successes.reshape(-1)[cells]
        trials += tables.trials.reshape(-1)[cells]
        needed = count_type(int(trials.max(initial=0)))
        if needed.itemsize > kind.itemsize:
            kind = needed
            tables = CountTables(*(table.astype(kind) for table in tables))
        tables.successes.reshape(-1)[cells] = right
        tables.trials.reshape(-1)[cells] = trials
    return tables


def values_of_counts(counts: CountTables, repeats: str) -> NDArray[np.int8]:
    """Table of responses that are right where the share of right trials is large enough."""
    values = np.full(counts.trials.shape, MISSING, np.int8)
    for value, right, tried in zip(values, *counts, strict=True):
        observed = tried > 0
        value[observed] = right_on_the_whole(right[observed], tried[observed], repeats)
    return values


def scatter_observed(blocks: Iterable[Block], shape: Shape, repeats: str) -> tuple[Observed, int]:
    """Observed cells alone, and how many cells occur in the rows.

    Rows are counted by respondent, put where those of the respondent are, and sorted by item.
    """
    n_rows = np.zeros(shape[0], np.int64)
    for rows, _, _ in blocks:
        n_rows += np.bincount(rows, minlength=shape[0])
    columns, codes = _by_respondent(blocks, n_rows)
    ends = np.cumsum(n_rows)
    n_seen, parts = 0, []
    for some in _runs(ends):
        part = slice(ends[some.start] - n_rows[some.start], ends[some.stop - 1])
        row = np.repeat(np.arange(some.stop - some.start, dtype=np.int32), n_rows[some])
        marks = codes[part]
        cells = cells_of((row, columns[part], marks), shape)
        n_seen += int(np.count_nonzero(np.diff(np.sort(cells), prepend=-1)))
        if repeats not in {"error", "count"}:
            cells, marks = one_of_repeats(cells, marks, repeats)
        tried = marks != MISSING
        kept, right, trials = count_rows(cells[tried], marks[tried] == 1)
        kind = count_type(int(trials.max(initial=0)))
        n_each = np.bincount(kept // shape[1], minlength=some.stop - some.start)
        places = (kept % shape[1]).astype(np.int32)
        parts.append((n_each, places, right.astype(kind), trials.astype(kind)))
    n_cells, places, right, trials = map(np.concatenate, zip(*parts, strict=True))
    starts = np.concatenate([[0], np.cumsum(n_cells)])
    return Observed.of_parts(starts, places, right, trials, shape), n_seen


def _by_respondent(
    blocks: Iterable[Block], n_rows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Item and code of every row, those of a respondent together and in their order."""
    n = int(n_rows.sum())
    items, codes = np.empty(n, np.int32), np.empty(n, np.int8)
    free = np.cumsum(n_rows) - n_rows
    for rows, columns, marks in blocks:
        order = np.argsort(rows, kind="stable")
        row = rows[order]
        first = np.flatnonzero(np.diff(row, prepend=-1))
        n_each = np.diff(first, append=len(row))
        at = np.arange(len(row)) + np.repeat(free[row[first]] - first, n_each)
        free[row[first]] += n_each
        items[at], codes[at] = columns[order], marks[order]
    return items, codes


def _runs(ends: NDArray[np.int64]) -> Iterator[slice]:
    """Runs of respondents with at most `_AT_ONCE` rows or one respondent, from where rows end."""
    start = 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _AT_ONCE, "right")))
        yield slice(start, stop)
        start = stop


def first_repeat(blocks: Iterable[Block], shape: Shape) -> tuple[int, int]:
    """Respondent and item of the first row whose cell an earlier row has."""
    seen = np.zeros(shape[0] * shape[1], np.bool_)
    for block in blocks:
        cells = cells_of(block, shape)
        repeated = np.ones(len(cells), np.bool_)
        repeated[np.unique(cells, return_index=True)[1]] = False
        repeated |= seen[cells]
        if repeated.any():
            k = int(np.argmax(repeated))
            return int(block[0][k]), int(block[1][k])
        seen[cells] = True
    raise ValueError("no cell occurs twice")
