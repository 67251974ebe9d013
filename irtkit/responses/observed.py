"""The observed cells of a response matrix, in compressed sparse rows.

A long table may hold ten responses of each of a million respondents to ten thousand items: one
cell in a thousand. Then only the observed cells are kept, as successes and trials, in two arrays
that share one list of places. A wrong answer is a stored 0 of the successes, so that both have the
same cells stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.responses.trials import MOST_TRIALS, count_type

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Observed(NamedTuple):
    """Successes and trials of the observed cells."""

    successes: Any
    """``scipy.sparse.csr_array`` of shape (n_respondents, n_items); wrong answers are stored 0s."""
    trials: Any
    """The same cells; 1 and more."""

    @classmethod
    def of_parts(
        cls,
        starts: NDArray[Any],
        columns: NDArray[Any],
        successes: NDArray[Any],
        trials: NDArray[Any],
        shape: tuple[int, int],
    ) -> Observed:
        """From where each row begins, and the column and counts of every cell, read-only."""
        from scipy.sparse import csr_array

        kind = count_type(int(trials.max(initial=0)))
        # the numbers of columns fit 32 bits; one type for both spares SciPy a look at each
        places = np.int32 if len(columns) <= np.iinfo(np.int32).max else np.int64
        starts, columns = starts.astype(places, copy=False), columns.astype(places, copy=False)
        counts = [table.astype(kind, copy=False) for table in (successes, trials)]
        for array in (starts, columns, *counts):
            array.flags.writeable = False
        tables: list[Any] = [csr_array((table, columns, starts), shape=shape) for table in counts]
        for table in tables:
            table.has_canonical_format = True
        return cls(*tables)

    @classmethod
    def of_tables(cls, successes: NDArray[Any], trials: NDArray[Any]) -> Observed:
        """From dense tables of valid counts."""
        n, n_items = trials.shape
        rows, columns = np.nonzero(trials)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        right, tried = (table[rows, columns] for table in (successes, trials))
        return cls.of_parts(starts, columns, right, tried, (n, n_items))

    @classmethod
    def checked(cls, successes: Any, trials: Any) -> Observed:
        """From sparse arrays or matrices from outside, whichever cells they store.

        Raises
        ------
        ValueError
            If shapes differ, a cell is no count, or has more successes than trials.
        """
        right, tried = _as_rows(successes, "successes"), _as_rows(trials, "trials")
        if right.shape != tried.shape:
            raise ValueError(
                "successes and trials must be tables of the same shape, "
                f"got {right.shape} and {tried.shape}"
            )
        tried.eliminate_zeros()
        if not tried.nnz:
            raise ValueError("trials holds no response: every cell is missing")
        above = np.transpose((right > tried).nonzero())
        if len(above):
            row, column = above[0]
            raise ValueError(
                f"successes must be at most trials: row {row}, column {column} (counted from 0) "
                f"has {right[row, column]} out of {tried[row, column]}"
            )
        n_right = np.asarray(right[tried.nonzero()]).reshape(-1)
        return cls.of_parts(tried.indptr, tried.indices, n_right, tried.data, tried.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Respondents × items."""
        n_respondents, n_items = self.trials.shape
        return n_respondents, n_items

    @property
    def n_cells(self) -> int:
        """Number of observed cells."""
        return len(self.trials.data)

    @property
    def has_repeats(self) -> bool:
        """Whether some cell has more than one trial."""
        return bool(self.trials.data.max(initial=0) > 1)

    @property
    def dense_bytes(self) -> int:
        """How much a dense matrix of the same responses would take."""
        n_respondents, n_items = self.shape
        tables = 2 * self.trials.dtype.itemsize if self.has_repeats else 1
        return n_respondents * n_items * tables

    def below(self, other: Observed) -> Observed:
        """Return these rows and below them those of another."""
        starts = np.concatenate(
            [self.trials.indptr, self.trials.indptr[-1] + other.trials.indptr[1:].astype(np.int64)]
        )
        columns = np.concatenate([self.trials.indices, other.trials.indices])
        right, tried = (
            np.concatenate([one.data, two.data]) for one, two in zip(self, other, strict=True)
        )
        n = self.shape[0] + other.shape[0]
        return Observed.of_parts(starts, columns, right, tried, (n, self.shape[1]))

    def transposed(self) -> Observed:
        """Return these cells with rows and columns exchanged."""
        right, tried = (table.T.tocsr() for table in self)
        n_respondents, n_items = self.shape
        parts = tried.indptr, tried.indices, right.data, tried.data
        return Observed.of_parts(*parts, (n_items, n_respondents))

    def equals(self, other: Observed) -> bool:
        """Whether the same cells hold the same counts."""
        one, two = self.trials, other.trials
        return bool(
            one.shape == two.shape
            and np.array_equal(one.indptr, two.indptr)
            and np.array_equal(one.indices, two.indices)
            and np.array_equal(one.data, two.data)
            and np.array_equal(self.successes.data, other.successes.data)
        )


def _as_rows(table: Any, argument: str) -> Any:
    """Sparse counts in compressed rows, sorted, each cell stored once."""
    from scipy.sparse import csr_array, issparse

    if not issparse(table):
        raise TypeError(
            f"{argument} must be a scipy.sparse array, got {type(table).__name__}; "
            "from_counts takes dense tables"
        )
    given: Any = table
    rows = csr_array(given, copy=True)
    rows.check_format(full_check=True)
    rows.sum_duplicates()
    if not _are_counts(rows.data):
        raise ValueError(f"{argument} must be whole numbers from 0 to {MOST_TRIALS}")
    rows.data = rows.data.astype(np.int64)
    return rows


def _are_counts(values: NDArray[Any]) -> bool:
    if values.dtype.kind not in "biuf":
        return False
    numbers = values.astype(np.float64)
    return bool(((numbers >= 0) & (numbers <= MOST_TRIALS) & (np.floor(numbers) == numbers)).all())
