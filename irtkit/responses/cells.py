"""The cells of a response matrix: successes and trials, kept dense or sparse behind one interface.

A dense matrix without repeated trials is one table of 1, 0 and −1 (missing), a byte a cell.
Repeated trials are two tables of counts, in the smallest type that holds them. A sparse matrix
keeps two `scipy.sparse.csr_array` of the observed cells, in which a wrong answer is a stored 0.
Scores between 0 and 1 are successes, in 32 bits, of one trial each.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import and_more, check_memory, short
from irtkit.findings import Remedy, failed

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from irtkit.responses.labels import Array, Names

    Shape: TypeAlias = tuple[int, int]
    # Number of the respondent, number of the item and code or score of some rows.
    Block: TypeAlias = tuple[Array, Array, Array]

MISSING = -1  # Code of a missing response. Right is 1 and wrong is 0.
BLOCK_ROWS = 2**17  # Rows of a block: their arrays of 64 bits stay in the processor's cache.
_TYPES = (np.uint8, np.uint16, np.int32)
MOST_TRIALS = int(np.iinfo(_TYPES[-1]).max)
_MEAN = "mean>="
_ROUNDING = 1e-9  # Part of a trial: 0.1 × 10 trials is 1 although 0.1 is not a binary number.
_ITEM_BITS = 31  # Bits of the number of an item in the number of a cell of a sparse matrix.


class Observed(NamedTuple):
    """Successes and trials of the observed cells, two arrays with the same cells stored."""

    successes: Any
    trials: Any


class Cells:
    """Successes and trials of every cell, which cannot be changed.

    Without `trials`, `marks` are 1, 0 and −1 (missing), or scores and −1. Otherwise they are
    successes, and both are dense tables or ``csr_array`` with the same cells stored.
    """

    __slots__ = ("stored",)

    def __init__(self, marks: Any, trials: Any = None) -> None:
        if trials is None and marks.dtype.kind == "f":
            trials = marks >= 0
            marks = np.where(trials, marks, 0)
        is_dense = isinstance(marks, np.ndarray)
        if trials is not None:
            right, tried = (marks, trials) if is_dense else (marks.data, trials.data)
            kind = count_type(int(tried.max(initial=0)))
            has_scores = right.dtype.kind == "f" and (right % 1).any()
            right = right.astype(np.float32 if has_scores else kind, copy=False)
            tried = tried.astype(kind, copy=False)
            if not is_dense:
                marks = _with_data(marks, right)
                trials = _with_data(trials, tried)
            elif has_scores or tried.max(initial=0) > 1:
                marks = np.ascontiguousarray(right)
                trials = np.ascontiguousarray(tried)
            else:
                marks = np.add(right, tried, dtype=np.int8, casting="unsafe")
                trials = None
                marks += np.int8(MISSING)
        if is_dense:
            marks = np.ascontiguousarray(marks)
        self.stored = marks, trials  # Marks and None, or successes and trials, dense or sparse.
        for array in self.arrays().values():
            array.flags.writeable = False

    @classmethod
    def of_places(cls, shape: Shape, rows: Array, columns: Any, right: Any, tried: Any) -> Cells:
        """Sparse cells from row, column and counts of each, sorted by row and column."""
        from scipy.sparse import csr_array

        n_of_rows = np.bincount(rows, minlength=shape[0])
        starts = np.concatenate([[0], np.cumsum(n_of_rows)])
        tables = [csr_array((data, columns, starts), shape=shape) for data in (right, tried)]
        return cls(*tables)

    @property
    def shape(self) -> Shape:
        """Respondents × items."""
        n_respondents, n_items = self.stored[0].shape
        return n_respondents, n_items

    @property
    def is_sparse(self) -> bool:
        """Whether only the observed cells are kept."""
        return not isinstance(self.stored[0], np.ndarray)

    @property
    def has_repeats(self) -> bool:
        """Whether some cell has more than one trial."""
        tried = self.stored[1]
        if self.is_sparse:
            return bool(tried.data.max(initial=0) > 1)
        return tried is not None and not (self.has_scores and tried.max() <= 1)

    @property
    def has_scores(self) -> bool:
        """Whether some cell has a score between right and wrong."""
        return bool(self.stored[0].dtype.kind == "f")

    @property
    def scored(self) -> NDArray[np.bool_] | None:
        """Which items have scores between right and wrong, (n_items,); None if none has."""
        if not self.has_scores:
            return None
        if self.is_sparse:
            scores = self.stored[0]
            columns = scores.indices[scores.data % 1 > 0]
            return np.bincount(columns, minlength=self.shape[1]) > 0
        is_part = self.stored[0] % 1 > 0
        return np.any(is_part, axis=0)

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        marks, trials = self.stored
        if self.is_sparse:
            return int(trials.nnz)
        observed = marks >= 0 if trials is None else trials
        return int(np.count_nonzero(observed))

    @property
    def n_bytes(self) -> int:
        """Memory that the cells take."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def dense_bytes(self) -> int:
        """Memory that a dense matrix of the same responses would take."""
        several = self.has_repeats or self.has_scores
        each = sum(table.dtype.itemsize for table in self.stored) if several else 1
        return math.prod(self.shape) * int(each)

    @property
    def values(self) -> NDArray[np.int8]:
        """Table of 1, 0 and −1, for dense cells without repeats."""
        return self.stored[0]

    @property
    def codes(self) -> Array:
        """Table of 1, 0 and −1, and scores between, for dense cells without repeats."""
        marks, trials = self.stored
        if trials is not None:
            marks = np.where(trials, marks, MISSING)
        return marks

    @property
    def successes(self) -> Array:
        """Dense table of right trials."""
        return self._table(0)

    @property
    def trials(self) -> Array:
        """Dense table of trials."""
        return self._table(1)

    def _table(self, which: int) -> Array:
        marks, trials = self.stored
        if trials is None:
            table = (marks >= 1 - which).view(np.uint8)
        else:
            table = self.stored[which]
            table = table.toarray() if self.is_sparse else table
        table.flags.writeable = False
        return table

    @property
    def observed(self) -> Observed:
        """Observed cells, made again from a dense matrix at each call."""
        return Observed(*self.to_sparse().stored)

    def to_sparse(self) -> Cells:
        """Return the same cells, only the observed ones kept."""
        if self.is_sparse:
            return self
        trials = self.trials
        rows, columns = np.nonzero(trials)
        right = self.successes[rows, columns]
        return Cells.of_places(self.shape, rows, columns, right, trials[rows, columns])

    def to_dense(self) -> Cells:
        """Return the same cells in tables, however large these are."""
        check_memory(self.dense_bytes, "a table of {} systems × {} items".format(*self.shape))
        return Cells(self.successes, self.trials)

    def part(self, rows: Any, columns: Any = None) -> Cells:
        """Return the cells of some rows and columns, in the order of their numbers given."""
        tables = []
        for table in self.stored:
            if table is not None:
                part = table[rows]
                tables.append(part if columns is None else part[:, columns])
                if self.is_sparse:
                    tables[-1].sort_indices()
        return Cells(*tables)

    def transposed(self) -> Cells:
        """Return the cells with rows and columns exchanged."""
        tables = [table.T for table in self.stored if table is not None]
        if self.is_sparse:
            return Cells(*(table.tocsr() for table in tables))
        return Cells(*(table.copy() for table in tables))

    def below(self, other: Cells) -> Cells:
        """Return these cells with the rows of another matrix below, sparse if these are."""
        if self.is_sparse:
            from scipy.sparse import vstack

            both = zip(self.observed, other.observed, strict=True)
            return Cells(*(vstack(pair, format="csr") for pair in both))
        pairs = (self.successes, other.successes), (self.trials, other.trials)
        return Cells(*map(np.concatenate, pairs))

    def rows(self) -> Block:
        """Respondent, item and code of every trial, right before wrong in each cell.

        Trials with scores have the mean score of the cell.
        """
        right, tried = self.observed
        n_trials = tried.data
        rows = np.repeat(np.arange(self.shape[0]), np.diff(tried.indptr))
        if self.has_scores:
            codes = np.repeat(right.data / n_trials, n_trials)
        else:
            counts = np.stack([right.data, n_trials - right.data], axis=1)
            right_and_wrong = np.tile(np.array([1, 0], np.int8), tried.nnz)
            codes = np.repeat(right_and_wrong, counts.ravel())
        return np.repeat(rows, n_trials), np.repeat(tried.indices, n_trials), codes

    def __eq__(self, other: object) -> bool:
        """Whether the same cells hold the same counts, however they are stored."""
        if not isinstance(other, Cells) or self.shape != other.shape:
            return False
        if not (self.is_sparse or other.is_sparse):
            return all(map(np.array_equal, self.stored, other.stored))
        pairs = zip(self.observed, other.observed, strict=True)
        return not any((mine != theirs).nnz for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def arrays(self) -> dict[str, Array]:
        """Arrays to be stored, which `of_arrays` makes the same cells of."""
        right, tried = self.stored
        if not self.is_sparse:
            return {"values": right} if tried is None else {"successes": right, "trials": tried}
        counts = {"successes": right.data, "trials": tried.data}
        return {**counts, "columns": tried.indices, "starts": tried.indptr}

    @classmethod
    def of_arrays(cls, arrays: dict[str, Array], shape: Shape) -> Cells:
        """Cells of stored arrays, whose shapes are checked."""
        names = ("values", "successes", "trials")
        tables: list[Any] = [arrays[name] for name in names if name in arrays]
        if "starts" in arrays:
            from scipy.sparse import csr_array

            inner = arrays["columns"], arrays["starts"]
            tables = [csr_array((table, *inner), shape=shape) for table in tables]
            tables[0].check_format(full_check=True)
        for table, kinds in zip(tables, ("iuf", "iu"), strict=False):
            if table.shape != shape or table.dtype.kind not in kinds:
                raise ValueError(f"responses must be numbers of shape {shape}")
        return cls(*tables)


class CellBuilder:
    """Puts rows into cells, block by block, of a shape that need not be known before.

    What several rows of a cell are is "error", "count", "first", "last" or "mean>=SHARE". Rows of
    one trial go into a table at once if several are an error. Others are put in order at the end.
    """

    def __init__(
        self, repeats: str = "error", *, sparse: bool = False, shape: Shape = (0, 0)
    ) -> None:
        self._share = check_repeats(repeats)
        self.repeats = repeats
        self.sparse = sparse
        self._shape = shape
        self.repeated = 0  # With "error", rows whose cell another row has, known after `build`.
        self.first_repeat = (-1, -1)  # Row and column of the first cell with several rows.
        # Right trials and trials of each cell, side by side.
        self._table: Array = np.zeros((0, 0, 2), np.uint8)
        self._kept: list[tuple[Array, ...]] = []
        """Cells, as numbers that sort by row and column, codes and trials of other rows."""
        self._n = 0

    def add(self, rows: Array, columns: Array, codes: Array, trials: Any = None) -> None:
        """Put rows of one trial, or of several, into cells. A code below 0 is not a trial."""
        if codes.min(initial=0) < 0:
            tried = codes >= 0
            rows = rows[tried]
            columns = columns[tried]
            codes = codes[tried]
            trials = None if trials is None else trials[tried]
        if not len(codes):
            return
        self._n += len(codes)
        if self.sparse or self.repeats != "error" or trials is not None:
            cells = rows.astype(np.int64) << _ITEM_BITS | columns
            trials = np.ones(1, np.uint8) if trials is None else trials
            self._kept.append((cells, codes, trials))
            return
        self._make_room(int(rows.max()) + 1, int(columns.max()) + 1)
        if codes.dtype.kind == "f" and self._table.dtype.kind != "f":
            self._table = self._table.astype(np.float32)
        # a right trial and a trial are added as one number, of both halves of a cell
        pair: Any = "<u2"
        trial: Any = 256  # a count of 256 becomes 0, which `build` notices
        if self._table.dtype.kind == "f":
            pair = np.complex64
            trial = 1j
        counts = self._table.reshape(-1, 2).view(pair)[:, 0]
        cells = rows.astype(np.int64)
        cells *= self._table.shape[1]
        cells += columns
        np.add.at(counts, cells, codes.astype(pair) + trial)

    def _make_room(self, n_rows: int, n_columns: int) -> None:
        """Enlarge a table that is too small, by a quarter or more: doubling takes more memory."""
        have = self._table.shape[:2]
        if n_rows <= have[0] and n_columns <= have[1]:
            return
        room = []
        for needed, size, expected in zip((n_rows, n_columns), have, self._shape, strict=True):
            enlarged = size + size // 4 if needed > size else size
            room.append(max(needed, expected, enlarged))
        n_bytes = 2.0 * math.prod(room) * self._table.itemsize
        check_memory(n_bytes, "the table of all cells", "sparse=True keeps the observed ones")
        larger = np.zeros((*room, 2), self._table.dtype)
        larger[: have[0], : have[1]] = self._table
        self._table = larger

    def build(self, shape: Shape) -> Cells:
        """Return the cells of all rows."""
        if not (self.sparse or self._kept):
            self._make_room(*shape)
            table = self._table[: shape[0], : shape[1]]
            right, tried = np.moveaxis(table, 2, 0)
            self.repeated = self._n - int(np.count_nonzero(tried))
            if self.repeated:
                self.first_repeat = divmod(int((tried > 1).argmax()), shape[1])
            return Cells(right, tried)
        if self._table.size:
            rows, columns, codes = Cells(*np.moveaxis(self._table, 2, 0)).rows()
            self._kept.append((rows << _ITEM_BITS | columns, codes, np.ones(1, np.uint8)))
        empty = [np.empty(0, kind) for kind in (np.int64, np.int8, np.uint8)]
        blocks = [np.broadcast_arrays(*block) for block in self._kept]
        cells, codes, tried = map(np.concatenate, zip(*blocks, empty, strict=True))
        self._kept = []
        is_ordered = self.repeats in {"first", "last"}
        order = np.argsort(cells, kind="stable" if is_ordered else None)  # None is twice as fast
        cells = cells[order]
        tried = tried[order]
        right = codes[order]
        if tried.max(initial=1) > 1:
            tried = tried.astype(np.int64)
            right = np.where(tried > 1, np.rint(right * tried), right)
        first = np.flatnonzero(np.diff(cells, prepend=-1))
        if len(first) < len(cells):
            n_rows = np.diff(first, append=len(cells))
            if is_ordered:
                taken = first if self.repeats == "first" else first + n_rows - 1
                right = right[taken]
                tried = tried[taken]
            else:
                right = np.add.reduceat(right, first, dtype=np.float64)
                tried = np.add.reduceat(tried, first, dtype=np.int64)
            cells = cells[first]
            if self.repeats == "error":
                self.repeated = self._n - len(first)
                first_cell = int(cells[(n_rows > 1).argmax()])
                self.first_repeat = divmod(first_cell, 1 << _ITEM_BITS)
        rows = cells >> _ITEM_BITS
        columns = (cells & (1 << _ITEM_BITS) - 1).astype(np.int32)
        if self._share:
            right = right >= self._share * tried - _ROUNDING
            tried = np.ones_like(tried)
        built = Cells.of_places(shape, rows, columns, right, tried)
        return built if self.sparse else built.to_dense()

    def refuse_repeats(self, names: Names) -> None:
        """Refuse repeated rows of the cells that were built, with "error"."""
        if not self.repeated:
            return
        row, column = self.first_repeat
        place = {"respondent": names[0][row], "item": names[1][column]}
        count = Remedy({"repeats": "count"}, "count", safe=False)
        raise failed("repeated", count, **place, more=self.repeated - 1)


def count_type(most: int) -> np.dtype[Any]:
    """Smallest type that holds every count from 0 to `most`, which is at most `MOST_TRIALS`."""
    fitting = [kind for kind in _TYPES if most <= np.iinfo(kind).max]
    return np.dtype(fitting[0])


def check_repeats(repeats: str) -> float:
    """Refuse an unknown way to take repeats. Return the share of "mean>=SHARE", otherwise 0."""
    share = 0.0
    if str(repeats).startswith(_MEAN):
        with suppress(ValueError):
            share = float(repeats.removeprefix(_MEAN))
    if not 0 < share <= 1 and str(repeats) not in {"error", "count", "first", "last"}:
        raise ValueError(
            "repeats must be one of error, count, first, last and mean>=0.5 (or another share "
            f"above 0 and at most 1), got {short(repeats)}"
        )
    return share


def counts_of(successes: Array, trials: Array, names: Names) -> tuple[Array, Array]:
    """Tables of counts of any type as whole numbers, 0 if missing."""
    import pandas as pd

    right, tried = (
        pd.DataFrame(table).apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
        for table in (successes, trials)
    )
    bad = (tried > MOST_TRIALS) | (right > tried)
    bad |= np.isnan(right) & (tried > 0)
    for numbers, given in ((right, successes), (tried, trials)):
        is_part = numbers != np.floor(numbers)
        bad |= (numbers < 0) | (np.isfinite(numbers) & is_part)
        bad |= np.isnan(numbers) & ~pd.isna(given)  # what is no number and not missing
    if bad.any():
        row, column = divmod(int(bad.argmax()), bad.shape[1])
        shown = f"{short(successes[row, column])} out of {short(trials[row, column])}"
        raise ValueError(
            f"successes and trials must be whole numbers, 0 ≤ successes ≤ trials ≤ {MOST_TRIALS}: "
            f"system {short(names[0][row])}, item {short(names[1][column])} has {shown}"
            + and_more(int(bad.sum()) - 1, "such cell")
        )
    tried = np.nan_to_num(tried)
    return np.where(tried > 0, right, 0), tried


def _with_data(table: Any, data: Array) -> Any:
    """Sparse table with other values in the same places, sorted and unique."""
    from scipy.sparse import csr_array

    other = csr_array((data, table.indices, table.indptr), shape=table.shape)
    other.has_canonical_format = True
    return other
