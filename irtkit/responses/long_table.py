"""Long tables, one row per response, streamed into the cells of a response matrix.

A table, or several that are read as one, is a frame or a file that is gone through block by block,
a block being three columns of PyArrow or pandas. The first time through, labels are numbered in the
order in which they occur, and what is at fault is found; then the shape is known, and the second
time through every response is put in its place (`irtkit.responses.scatter`). While rows are few, numbers are
remembered from the first time instead of being read again. So what a dense matrix takes in memory
does not grow with the rows of its table, which is never turned into a wide one.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import and_more, short
from irtkit.progress import is_watched, progress_bar
from irtkit.responses.advice import what_to_type
from irtkit.responses.codes import (
    INVALID,
    LOOKED_AT,
    MISSING,
    column_array,
    evenly,
    invalid_response,
    response_codes,
)
from irtkit.responses.columns import find_columns
from irtkit.responses.frames import header_of
from irtkit.responses.labels import label_names
from irtkit.responses.marking import plain_value
from irtkit.responses.scatter import (
    cells_of,
    first_repeat,
    scatter_counts,
    scatter_observed,
    scatter_values,
    values_of_counts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from irtkit.responses.columns import Roles
    from irtkit.responses.labels import Names
    from irtkit.responses.marking import Marking
    from irtkit.responses.observed import Observed
    from irtkit.responses.scatter import Block
    from irtkit.responses.trials import CountTables

COUNT = '; repeats="count" counts such rows as trials'
"""What to type where rows are repeated."""
BLOCK_ROWS = 2**17
"""Rows of a block: arrays of 64 bits for each of them stay in the processor's cache."""
_REMEMBERED_ROWS = 10**7
"""Rows whose numbers and codes are remembered: nine bytes each, 86 MiB in all."""


@dataclass(frozen=True)
class LongTable:
    """A table of respondent, item and response, one row per response."""

    labels: tuple[str, str]
    """Names of the columns of respondents and items."""
    blocks: Callable[[], Iterator[tuple[Sequence[Any], int]]]
    """Go through the table: the three columns of each block, arrays of PyArrow or Series of pandas,
    and how much of the table has been read with it."""
    size: int
    """How much there is to read, in the unit of the blocks: rows or bytes."""
    is_text: bool = False
    """Whether the labels are text, so that a table may be read as one with others."""
    name: str = ""
    """What a message about a row begins with: the name of the file and a colon."""


def long_table_of(table: Any, columns: Roles | list[str]) -> LongTable:
    """Long table in a frame of pandas or a table of PyArrow, its columns named or recognised."""
    header = header_of(table)
    positions = find_columns(header, *columns)
    names = header[positions[0]], header[positions[1]]
    n = len(table)

    def of_pandas() -> Iterator[tuple[Sequence[Any], int]]:
        for start in range(0, n, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, n)
            yield [table.iloc[start:stop, position] for position in positions], stop

    def of_arrow() -> Iterator[tuple[Sequence[Any], int]]:
        done = 0
        for batch in table.select(positions).to_batches(max_chunksize=BLOCK_ROWS):
            done += batch.num_rows
            yield batch.columns, done

    return LongTable(names, of_pandas if hasattr(table, "iloc") else of_arrow, n)


def read_long(
    tables: Sequence[LongTable], *, marking: Marking, repeats: str, sparse: bool
) -> tuple[NDArray[np.int8] | CountTables | Observed, Names]:
    """Cells of the response matrix of long tables, one below the other, and its labels.

    A cell occurs once unless there may be repeats. Where the table of all cells does not fit into
    memory, the observed ones alone are kept, with a warning.
    """
    with contextlib.ExitStack() as stack:
        size = sum(table.size for table in tables) * (3 if sparse else 2)  # how often it is read
        bar = progress_bar("reading responses", size, shown=is_watched())
        rows = _Rows(tables, marking, lambda: stack.enter_context(bar))
        names = rows.names()
        shape = len(names[0]), len(names[1])
        try:
            cells, n_seen = scatter_rows(rows, shape, repeats, sparse=sparse)
        except MemoryError:
            if sparse:
                raise
            warnings.warn(
                f"a table of {shape[0]:,} respondents × {shape[1]:,} items does not fit into "
                "memory: the observed cells alone are kept, as with sparse=True",
                stacklevel=4,
            )
            sparse = True
            cells, n_seen = scatter_observed(rows, shape, repeats)
        if repeats == "error" and n_seen is not None and n_seen < rows.n:
            if sparse:
                refuse_repeats(np.concatenate([cells_of(block, shape) for block in rows]), *names)
            raise _repeated(*first_repeat(rows, shape), rows.n - n_seen, names)
    return cells, names


def scatter_rows(
    blocks: Iterable[Block], shape: tuple[int, int], repeats: str, *, sparse: bool
) -> tuple[NDArray[np.int8] | CountTables | Observed, int | None]:
    """Cells of the rows, and how many cells occur in them where that is to be known."""
    if sparse:
        return scatter_observed(blocks, shape, repeats)
    if repeats in {"error", "first", "last"}:
        return scatter_values(blocks, shape, repeats)
    counts = scatter_counts(blocks, shape)
    return (counts if repeats == "count" else values_of_counts(counts, repeats)), None


def refuse_repeats(
    cells: NDArray[np.int64], respondents: tuple[str, ...], items: tuple[str, ...]
) -> None:
    """Refuse a cell (row · n_items + column) that occurs twice."""
    order = np.argsort(cells, kind="stable")
    repeats = order[1:][np.diff(cells[order]) == 0]
    if repeats.size:
        row, column = divmod(int(cells[repeats.min()]), len(items))
        raise _repeated(row, column, repeats.size, (respondents, items))


def _repeated(row: int, column: int, n: int, names: Names) -> ValueError:
    return ValueError(
        f"a respondent answers an item once: respondent {short(names[0][row])}, "
        f"item {short(names[1][column])} occurs twice{and_more(n - 1, 'repeat')}{COUNT}"
    )


class _Rows:
    """Number of the respondent, number of the item and code of every row, block by block."""

    def __init__(
        self,
        tables: Sequence[LongTable],
        marking: Marking,
        show: Callable[[], Callable[[int, str], None]],
    ) -> None:
        self._tables, self._marking = tables, marking
        self._numbers = _Numbers(), _Numbers()
        self._invalid = _Invalid()
        self._passed = self._n_read = 0
        self._update: Callable[[int, str], None] | None = None
        self._remembered: list[Block] | None = []
        self.n = 0
        for block, columns in self._read():
            self._invalid.look_at(block, columns[2])
            kept = self._kept(block)
            self.n += len(kept[2])
            if self._remembered is not None:
                self._remembered.append(kept)
                if self.n > _REMEMBERED_ROWS:
                    self._remembered, self._update = None, show()

    def __iter__(self) -> Iterator[Block]:
        if self._remembered is not None:
            return iter(self._remembered)
        return (self._kept(block) for block, _ in self._read())

    def _kept(self, block: Block) -> Block:
        """Rows that may not occur twice: of several tables those that hold a response."""
        if len(self._tables) == 1:
            return block
        observed = block[2] != MISSING
        return block[0][observed], block[1][observed], block[2][observed]

    def _read(self) -> Iterator[tuple[Block, Sequence[Any]]]:
        """Blocks, and the columns that they are of."""
        respondents, items = self._numbers
        self._n_read = 0
        for table in self._tables:
            start, (one, other) = (
                0,
                (f"{table.name}column {short(label)}" for label in table.labels),
            )
            for (respondent, item, response), done in table.blocks():
                numbers = respondents.of(respondent, one, start), items.of(item, other, start)
                start += len(response)
                self._n_read += len(response)
                yield (*numbers, _codes(response, self._marking)), (respondent, item, response)
                if self._update is not None:
                    self._update(self._passed + done, f"{self._n_read:,} rows")
            self._passed += table.size

    def names(self) -> Names:
        """Labels of respondents and items; the error where a row lacks one, or has no response."""
        if not self._n_read:
            raise ValueError("the long table is empty: no row holds a response")
        names = self._numbers[0].labels("respondent"), self._numbers[1].labels("item")
        self._invalid.refuse(names, self._marking)
        return names


class _Numbers:
    """Numbers of the labels of columns, in the order in which they first occur."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}
        self._n_missing, self._first_missing = 0, ""
        self._dictionary: Any = None
        self._distinct: list[Any] = []
        self._number_of: NDArray[np.int32] = np.empty(0, np.int32)

    def of(self, column: Any, name: str, start: int) -> NDArray[np.int32]:
        """Number of every row of a block that begins at a row of the table; −1 without a label."""
        try:
            which, distinct = _factorised(column)
        except TypeError as error:  # a list or the like
            raise ValueError(f"{name} must hold labels: {error}") from error
        known_one = self._dictionary is not None and not isinstance(distinct, list)
        if not (known_one and self._dictionary.equals(distinct)):
            self._dictionary = None if isinstance(distinct, list) else distinct
            self._distinct = distinct if isinstance(distinct, list) else distinct.to_pylist()
            known = map(self._known.get, self._distinct, repeat(-1))
            self._number_of = np.array([*known, -1], np.int32)
        numbers: NDArray[np.int32] = self._number_of[which]
        if numbers.min(initial=0) < 0:
            self._learn(which[(numbers < 0) & (which >= 0)])
            numbers = self._number_of[which]
            missing = np.flatnonzero(numbers < 0)
            if missing.size and not self._n_missing:
                row = start + int(missing[0]) + 1
                self._first_missing = f"{name} has no label in row {row} of the table"
            self._n_missing += missing.size
        return numbers

    def _learn(self, which: NDArray[Any]) -> None:
        """Number the labels at these places, in this order."""
        import pandas as pd

        first = np.unique(which, return_index=True)[1]
        for place in which[np.sort(first)].tolist():
            label = self._distinct[place]
            if not pd.isna(label):  # in a dictionary
                self._number_of[place] = self._known.setdefault(label, len(self._known))

    def labels(self, kind: str) -> tuple[str, ...]:
        """Labels in the order of their numbers; the error for the first row without one."""
        if self._n_missing:
            raise ValueError(self._first_missing + and_more(self._n_missing - 1, "such row"))
        return label_names(self._known, len(self._known), kind)


class _Invalid:
    """Responses that are neither right, wrong nor missing."""

    def __init__(self) -> None:
        self._n = self._n_given = 0
        self._first: tuple[int, int, object] = (0, 0, None)
        self._distinct: dict[str | float, object] = {}

    def look_at(self, block: Block, column: Any) -> None:
        """Take note of those of a block."""
        rows, columns, codes = block
        self._n_given += int(np.count_nonzero(codes != MISSING))
        invalid = np.flatnonzero(codes == INVALID)
        if invalid.size:
            values = list(_series(column.take(evenly(invalid))))
            if not self._n:
                self._first = int(rows[invalid[0]]), int(columns[invalid[0]]), values[0]
            self._n += invalid.size
            for value in values:
                plain = plain_value(value)
                if plain in self._distinct or len(self._distinct) < LOOKED_AT:
                    self._distinct[plain] = value

    def refuse(self, names: Names, marking: Marking) -> None:
        """Raise the error for the first of them."""
        if self._n:
            row, column, value = self._first
            few = 2 * self._n < self._n_given
            advice = what_to_type(self._distinct.values(), marking, few=few)
            place = names[0][row], names[1][column]
            raise invalid_response(place, value, self._n - 1, marking, advice)


def _codes(column: Any, marking: Marking) -> NDArray[np.int8]:
    """Code of every response of a block."""
    column = _encoded(column)
    if not _is_dictionary(column):
        return response_codes(_array(column), marking)
    codes = response_codes(column_array(_series(column.dictionary)), marking)
    of_places: NDArray[np.int8] = np.append(codes, np.int8(MISSING))[_places(column)]
    return of_places


def _factorised(column: Any) -> tuple[NDArray[Any], Any]:
    """Place of every row's value among distinct ones, −1 if it is missing; and the distinct ones.

    These are a list, or the dictionary of PyArrow.
    """
    import pandas as pd

    column = _encoded(column)
    if _is_dictionary(column):
        return _places(column), column.dictionary
    which, distinct = pd.factorize(_series(column))
    return which, list(distinct)


def _encoded(column: Any) -> Any:
    """Text of PyArrow as places in a dictionary of what occurs, anything else as it is."""
    import pyarrow as pa

    if _is_dictionary(column) and len(column.dictionary) > len(column):
        column = column.dictionary_decode()
    is_text = isinstance(column, pa.StringArray | pa.LargeStringArray)
    return column.dictionary_encode() if is_text else column


def _is_dictionary(column: Any) -> bool:
    import pyarrow as pa

    return isinstance(column, pa.DictionaryArray)


def _places(column: Any) -> NDArray[Any]:
    """Place of every row in the dictionary, −1 if it is missing."""
    places = column.indices
    if places.null_count:
        places = places.cast("int64").fill_null(-1)
    return places.to_numpy()  # type: ignore[no-any-return]


def _array(column: Any) -> NDArray[Any]:
    """Values of a column as numbers, or as objects where they are none."""
    import pyarrow as pa

    if (
        isinstance(column, pa.Array)
        and not column.null_count
        and pa.types.is_primitive(column.type)
    ):
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind in "biuf":
            return values
    return column_array(_series(column))


def _series(column: Any) -> Any:
    """Column of PyArrow or pandas as a Series."""
    return column if hasattr(column, "iloc") else column.to_pandas()
