"""The response matrix: who answered what, and whether it was right.

Rows are respondents (AI systems, checkpoints, people), columns are items (test questions).
A cell is 1 (right), 0 (wrong) or −1 (missing), stored in one byte; a row may be marked
synthetic, which keeps it out of the scale and of every count that describes real systems.
Where respondents tried an item several times a cell is successes out of trials instead
(`irtkit.responses.trials`); as soon as no cell has more than one trial it is the plain matrix again.
Where few cells are observed a matrix may be sparse: it keeps these alone (`irtkit.responses.observed`).
Input of any other kind stops here, with the first offending respondent and item named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from irtkit.checks import check_unique, check_unmasked, short
from irtkit.memory import check_memory
from irtkit.responses.codes import MISSING, refuse_invalid, response_codes
from irtkit.responses.frames import as_frame, as_table, read_wide, with_index
from irtkit.responses.labels import matrix_names
from irtkit.responses.long_table import (
    COUNT,
    long_table_of,
    read_long,
    refuse_repeats,
    scatter_rows,
)
from irtkit.responses.marking import Marking
from irtkit.responses.observed import Observed
from irtkit.responses.scatter import cells_of
from irtkit.responses.trials import CountTables, check_repeats, checked_counts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.responses.labels import Names
    from irtkit.responses.long_table import LongTable
    from irtkit.responses.scatter import Block

    Columns: TypeAlias = str | Iterable[str]
    """The name of a column, or several."""
    Words: TypeAlias = str | float | Iterable[str | float] | None
    """A word or number, or several."""
    Cells: TypeAlias = NDArray[np.int8] | CountTables | Observed

_METRICS = ("respondent", "item", "metric", "value")
Repeats: TypeAlias = str
"""What several rows of one respondent and item are: error, count, first, or mean>= and a share."""


class ResponseMatrix:
    """Right and wrong answers of respondents (rows) to items (columns).

    Parameters
    ----------
    values
        Array of shape (n_respondents, n_items) holding 1 or True for right, 0 or False for
        wrong, and NaN, None, masked or (in an array of integers) −1 for missing.
    respondents, items
        Unique labels, one per row and per column; they are kept as text. By default
        ``respondent-1``, … and ``item-1``, ….
    synthetic
        Which rows are synthetic respondents, shape (n_respondents,); by default none.
    threshold
        If given, cells are graded scores and a score at or above the threshold is right.
    right, wrong
        If given, the word or number that counts as right ("correct", "C", 2), or several, and
        those that count as wrong; capitals do not matter. Without `wrong` every other word is
        wrong (or every other number, if `right` is a number).

    Raises
    ------
    ValueError
        If a cell is neither right, wrong nor missing, if a label occurs twice or is missing, if
        shapes disagree, or if there is no response at all.

    Examples
    --------
    >>> import numpy as np
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, np.nan]], items=["easy", "hard"])
    >>> responses
    ResponseMatrix(2 respondents × 2 items, 25.0% missing)
    >>> responses.values
    array([[ 1,  0],
           [ 1, -1]], dtype=int8)
    """

    respondents: tuple[str, ...]
    items: tuple[str, ...]
    synthetic: NDArray[np.bool_]
    """Shape (n_respondents,), read-only: True where the respondent is synthetic."""

    _cells: Cells
    """Values; or counts of every cell where one has several trials; or, if sparse, the observed
    cells alone. None of them can be changed."""

    item_table: pd.DataFrame | None
    """Index "item": text, target and metadata of the items, where the source has them."""
    respondent_table: pd.DataFrame | None
    """Index "respondent": release date, size, family, where the source has them."""
    metrics: pd.DataFrame | None
    """Further numbers of the answers (scores, tokens, seconds), where evaluation logs have them: a
    row per value, with the columns respondent, item, metric (categories) and value; of repeated
    trials their mean. The metric by which answers were marked is among them."""

    __slots__ = (
        *("_cells", "item_table", "items", "metrics", "respondent_table", "respondents"),
        "synthetic",
    )

    def __init__(
        self,
        values: ArrayLike,
        respondents: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        *,
        synthetic: ArrayLike | None = None,
        threshold: float | None = None,
        right: Words = None,
        wrong: Words = None,
    ) -> None:
        cells = _as_table(values, "values")
        marking = Marking.of(threshold, right, wrong)
        names = matrix_names(cells.shape, respondents, items)
        codes = response_codes(cells, marking)
        given = values.dtype if isinstance(values, np.ma.MaskedArray) else cells.dtype
        signed = threshold is None and np.issubdtype(given, np.signedinteger)
        if signed and not marking.names(float(MISSING)):
            codes[cells == MISSING] = MISSING
        refuse_invalid(codes, cells, names, marking)
        self._keep(codes, names, synthetic)

    def _keep(self, cells: Cells, names: Names, synthetic: ArrayLike | None) -> None:
        """Keep labels and cells that are known to be valid; counts only where one is above 1."""
        if isinstance(cells, CountTables):
            cells.successes.flags.writeable = cells.trials.flags.writeable = False
            if cells.trials.max() <= 1:
                values = cells.successes.astype(np.int8)
                values[cells.trials == 0] = MISSING
                cells = values
        if isinstance(cells, np.ndarray):
            if cells.max() == MISSING:
                raise ValueError("values holds no response: every cell is missing")
            cells.flags.writeable = False
        elif isinstance(cells, Observed) and not cells.n_cells:
            raise ValueError("values holds no response: every cell is missing")
        self.respondents, self.items = names
        self.synthetic = _synthetic_marks(synthetic, self.n_respondents)
        self._cells = cells
        self.item_table = self.respondent_table = self.metrics = None

    @classmethod
    def _of(cls, cells: Cells, names: Names, synthetic: ArrayLike | None = None) -> Self:
        matrix = cls.__new__(cls)
        matrix._keep(cells, names, synthetic)  # noqa: SLF001  # of its own
        return matrix

    @classmethod
    def from_counts(
        cls,
        successes: ArrayLike | pd.DataFrame,
        trials: ArrayLike | pd.DataFrame,
        respondents: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        *,
        synthetic: ArrayLike | None = None,
    ) -> Self:
        """Response matrix of repeated trials: how often each respondent got each item right.

        If no cell has more than one trial this is the matrix of right and wrong answers, in every
        respect. Otherwise `successes` and `trials` hold the responses, and `values` raises.

        Parameters
        ----------
        successes, trials
            Tables of shape (n_respondents, n_items) that hold whole numbers (as integers or
            floats), 0 ≤ successes ≤ trials. A cell is missing if its trials are NaN or masked, if
            they are 0 and its successes 0 or NaN, or if its successes are masked. Two DataFrames
            must have the same labels in the same order.
        respondents, items, synthetic
            As for the class itself; labels are by default those of the DataFrames.

        Raises
        ------
        ValueError
            If a cell is no whole number from 0 to 2147483647, has more successes than trials or
            trials without successes, if shapes or labels disagree, or if there is no trial at all.

        Examples
        --------
        >>> import irtkit
        >>> responses = irtkit.ResponseMatrix.from_counts(
        ...     [[5, 2], [3, 0]], [[5, 5], [5, 0]], respondents=["gpt", "llama"]
        ... )
        >>> responses
        ResponseMatrix(2 respondents × 2 items, 25.0% missing, 5 trials a cell on average)
        >>> responses.successes / responses.trials.clip(min=1)
        array([[1. , 0.4],
               [0.6, 0. ]])
        """
        right, tried = _as_table(successes, "successes"), _as_table(trials, "trials")
        if isinstance(successes, np.ma.MaskedArray) and right.shape == tried.shape:
            tried = np.where(np.ma.getmaskarray(successes), 0, tried)
        if right.shape != tried.shape:
            raise ValueError(
                "successes and trials must be tables of the same shape, "
                f"got {right.shape} and {tried.shape}"
            )
        tables = {"successes": successes, "trials": trials}
        names = matrix_names(right.shape, respondents, items, **tables)
        counts = checked_counts(right, tried, names)
        if not counts.trials.any():
            raise ValueError("trials holds no response: every cell is missing")
        return cls._of(counts, names, synthetic)

    @classmethod
    def from_observed(
        cls,
        successes: Any,
        trials: Any,
        respondents: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        *,
        synthetic: ArrayLike | None = None,
    ) -> Self:
        """Sparse response matrix from two sparse arrays, the inverse of `observed`.

        Arguments and errors are those of `from_counts`, but the tables are arrays or matrices of
        `scipy.sparse` (a TypeError if not), in which a cell without trials is missing.

        Examples
        --------
        >>> import irtkit
        >>> from scipy.sparse import csr_array
        >>> irtkit.ResponseMatrix.from_observed(csr_array([[1, 0]]), csr_array([[1, 1]]))
        ResponseMatrix(1 respondent × 2 items, sparse with 2 cells observed)
        """
        observed = Observed.checked(successes, trials)
        return cls._of(observed, matrix_names(observed.shape, respondents, items), synthetic)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        respondent: str | None = None,
        threshold: float | None = None,
        right: Words = None,
        wrong: Words = None,
        ignore: Columns = (),
        keep: Columns | None = None,
        repeats: Repeats = "error",
    ) -> Self:
        """Response matrix from a wide table.

        Parameters
        ----------
        frame
            A data frame of pandas, polars, PyArrow or another library that narwhals knows: a row
            per respondent and a column per item, cells 0/1, booleans, "0"/"1", nullable types or
            empty (missing).
        respondent
            The column of respondents. By default the index of a pandas frame, unless it is numbers
            without a name; then, as in a file, a column with a usual name (respondent, model,
            subject_id and the like), the first column if it holds anything but responses, or
            numbers, ``respondent-1`` and so on.
        threshold, right, wrong
            As for the class itself.
        ignore, keep
            Columns to leave out, and columns that are items, if others are not: one name, or
            several.
        repeats
            What several rows of the same respondent are, see `from_long`.

        Raises
        ------
        TypeError
            If it is no data frame.
        ValueError
            As for the class itself, or if there is no such column.

        Warns
        -----
        UserWarning
            If the column or index of respondents has a usual name of items, such as "question".

        Examples
        --------
        >>> import pandas as pd
        >>> from irtkit import ResponseMatrix
        >>> frame = pd.DataFrame({"q1": [True, None], "q2": [0, 1]}, index=["gpt", "llama"])
        >>> ResponseMatrix.from_frame(frame).values
        array([[ 1,  0],
               [-1,  1]], dtype=int8)
        >>> marks = pd.DataFrame({"model": ["gpt", "o1"], "size": [7, 70], "q1": ["ok", "fail"]})
        >>> responses = ResponseMatrix.from_frame(marks, right="ok", wrong="fail", ignore="size")
        >>> responses.respondents, responses.values.tolist()
        (('gpt', 'o1'), [[1], [0]])
        """
        check_repeats(repeats)
        marking = Marking.of(threshold, right, wrong)
        codes, names = read_wide(
            as_frame(frame), respondent=respondent, ignore=ignore, keep=keep, marking=marking
        )
        return cls.of_wide(codes, names, repeats=repeats)

    @classmethod
    def of_wide(cls, codes: NDArray[np.int8], names: Names, *, repeats: Repeats = "error") -> Self:
        """Response matrix of a wide table that is known to be valid, see `from_frame`.

        Several rows, codes of shape (n_rows, n_items), may be of one respondent.
        """
        if repeats == "error" or len(set(names[0])) == len(names[0]):
            check_unique("respondent labels must be unique", names[0], COUNT)
            return cls._of(codes, names)
        number = {label: k for k, label in enumerate(dict.fromkeys(names[0]))}
        rows = np.repeat([number[label] for label in names[0]], len(names[1]))
        columns = np.tile(np.arange(len(names[1])), len(names[0]))
        names = tuple(number), names[1]
        return cls.of_rows((rows, columns, codes.reshape(-1)), names, repeats=repeats)

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        respondent: str | None = None,
        item: str | None = None,
        response: str | None = None,
        threshold: float | None = None,
        right: Words = None,
        wrong: Words = None,
        repeats: Repeats = "error",
        sparse: bool = False,
    ) -> Self:
        """Response matrix from a long table, one row per response.

        Parameters
        ----------
        frame
            A data frame of pandas, polars, PyArrow or another library that narwhals knows, with
            one row per respondent × item, or several where trials were repeated; pairs that do not
            occur are missing. Labels are in the order in which they first occur.
        respondent, item, response
            The columns that hold the labels and the response. By default they are recognised by
            the usual names (model, item_id, correct and the like), as in files.
        threshold, right, wrong
            As for the class itself.
        repeats
            What several rows of the same respondent and item are: an "error" (default),
            repeated trials to "count", see `from_counts`, or one response: the "first", the
            "last", or right if the share of right ones is large enough ("mean>=0.5", or any other
            share). A row whose response is missing is no trial.
        sparse
            Whether to keep the observed cells alone, for tables in which few of all cells are: a
            table of respondents × items is then never made, here nor when the matrix is fitted.
            `irtkit.fit` and what follows from it give what they give for the dense matrix. What
            needs every cell (`values`, `to_frame`, predictions of what was left out, a wide file
            and the like) refuses a sparse one; `to_dense` is the way there.

        Raises
        ------
        TypeError
            If it is no data frame.
        ValueError
            If a column is absent or may be several, a label is missing, a pair occurs twice (unless
            repeats say otherwise), or a response is neither right, wrong nor missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from irtkit import ResponseMatrix
        >>> frame = pd.DataFrame(
        ...     {"model": ["a", "a", "b"], "item": ["q1", "q2", "q1"], "correct": [1, 0, 1]}
        ... )
        >>> ResponseMatrix.from_long(frame).values
        array([[ 1,  0],
               [ 1, -1]], dtype=int8)
        >>> again = pd.concat([frame, frame, frame])
        >>> ResponseMatrix.from_long(again, repeats="count").successes
        array([[3, 0],
               [3, 0]], dtype=uint8)
        """
        check_repeats(repeats)
        columns, marking = (respondent, item, response), Marking.of(threshold, right, wrong)
        table = long_table_of(with_index(as_table(frame)), columns)
        return cls.of_long([table], marking=marking, repeats=repeats, sparse=sparse)

    @classmethod
    def of_long(
        cls,
        tables: Sequence[LongTable],
        *,
        marking: Marking,
        repeats: Repeats = "error",
        sparse: bool = False,
    ) -> Self:
        """Response matrix of long tables, one below the other, see `from_long`."""
        return cls._of(*read_long(tables, marking=marking, repeats=repeats, sparse=sparse))

    @classmethod
    def of_rows(
        cls,
        block: Block,
        names: Names,
        *,
        repeats: Repeats = "error",
        sparse: bool = False,
    ) -> Self:
        """Response matrix of rows that are known to be valid, see `from_long`.

        They are numbers of respondents and of items, and codes of the responses.
        """
        rows, columns, codes = block
        shape = (len(names[0]), len(names[1]))
        if repeats == "error":
            tried = codes != MISSING
            block = rows[tried], columns[tried], codes[tried]
            refuse_repeats(cells_of(block, shape), *names)
        found, _ = scatter_rows([block], shape, repeats, sparse=sparse)
        return cls._of(found, names)

    @property
    def values(self) -> NDArray[np.int8]:
        """Shape (n_respondents, n_items), read-only: 1 right, 0 wrong, −1 missing.

        Raises
        ------
        ValueError
            If the matrix holds repeated trials, which are no single answer, or is sparse.
        """
        refuse_sparse(self, ".values")
        if not isinstance(self._cells, np.ndarray):
            raise ValueError(
                "the response matrix holds repeated trials; use .successes and .trials"
            )
        return self._cells

    @property
    def successes(self) -> NDArray[Any]:
        """Shape (n_respondents, n_items), read-only whole numbers: right trials, 0 if missing.

        Small unsigned integers, as `trials`: name a larger type before arithmetic that may leave
        their range, as in ``successes.sum(axis=1, dtype=int)``.

        Examples
        --------
        >>> import irtkit
        >>> irtkit.ResponseMatrix([[1, 0, -1]]).successes
        array([[1, 0, 0]], dtype=uint8)
        """
        refuse_sparse(self, ".successes")
        cells = self._cells
        return _read_only_bytes(cells == 1) if isinstance(cells, np.ndarray) else cells.successes

    @property
    def trials(self) -> NDArray[Any]:
        """Shape (n_respondents, n_items), read-only whole numbers: trials, 0 if missing.

        Examples
        --------
        >>> import irtkit
        >>> irtkit.ResponseMatrix([[1, 0, -1]]).trials
        array([[1, 1, 0]], dtype=uint8)
        """
        refuse_sparse(self, ".trials")
        cells = self._cells
        return _read_only_bytes(cells >= 0) if isinstance(cells, np.ndarray) else cells.trials

    @property
    def observed(self) -> Observed:
        """The observed cells: ``successes`` and ``trials``, two `scipy.sparse.csr_array`.

        Both store the same cells, a wrong answer being a stored 0 of the successes. Those of a
        sparse matrix are its own and read-only; of a dense one they are made anew each time.

        Examples
        --------
        >>> import irtkit
        >>> observed = irtkit.ResponseMatrix([[1, 0, -1], [-1, -1, 1]]).observed
        >>> observed.trials.indices, observed.successes.data
        (array([0, 1, 2], dtype=int32), array([1, 0, 1], dtype=uint8))
        """
        if isinstance(self._cells, Observed):
            return self._cells
        return Observed.of_tables(self.successes, self.trials)

    def with_tables(
        self,
        item_table: pd.DataFrame | None = None,
        respondent_table: pd.DataFrame | None = None,
        metrics: pd.DataFrame | None = None,
        *,
        synthetic: ArrayLike | None = None,
    ) -> Self:
        """Return the same matrix with what is known of items, respondents and answers.

        The first two are tables with the labels as index, of which labels without a row get an
        empty one; metrics have the columns respondent, item, metric and value. Rows of other labels
        are left out, and so is a table that is None. Which rows are synthetic stays as it is,
        unless marks of shape (n_respondents,) are given.

        Examples
        --------
        >>> import irtkit, pandas as pd
        >>> responses = irtkit.ResponseMatrix([[1, 0]], items=["q1", "q2"])
        >>> texts = pd.DataFrame({"text": ["1 + 1?", "7 × 8?"]}, index=["q1", "q2"])
        >>> responses.with_tables(texts).item_table
                text
        item
        q1    1 + 1?
        q2    7 × 8?
        """
        marks = self.synthetic if synthetic is None else synthetic
        copy = self._of(self._cells, (self.respondents, self.items), marks)
        copy.item_table = _by_label("item", item_table, self.items)
        copy.respondent_table = _by_label("respondent", respondent_table, self.respondents)
        copy.metrics = _of_answers(metrics, self.respondents, self.items)
        return copy

    def drop(self, respondents: str | Iterable[Hashable]) -> Self:
        """Return the matrix without some respondents, named by their labels.

        Raises
        ------
        ValueError
            If there is no such respondent, or none is left.

        Examples
        --------
        >>> import irtkit
        >>> responses = irtkit.ResponseMatrix([[1, 0], [0, 0]], ["gpt", "coin"])
        >>> responses.drop("coin").respondents
        ('gpt',)
        """
        given = [respondents] if isinstance(respondents, str) else respondents
        names = {str(name) for name in given}
        if unknown := names.difference(self.respondents):
            raise ValueError(f"drop names {short(min(unknown))}, which is not a respondent")
        kept = np.flatnonzero([name not in names for name in self.respondents])
        if not len(kept):
            raise ValueError("drop names all respondents")
        cells: Any = self._cells
        if isinstance(cells, Observed):
            right, tried = (table[kept] for table in cells)
            parts = tried.indptr, tried.indices, right.data, tried.data
            cells = Observed.of_parts(*parts, tried.shape)
        elif isinstance(cells, CountTables):
            cells = CountTables(*(table[kept] for table in cells))
        else:
            cells = cells[kept]
        rows = tuple(self.respondents[k] for k in kept)
        fewer = self._of(cells, (rows, self.items), self.synthetic[kept])
        return fewer.with_tables(self.item_table, self.respondent_table, self.metrics)

    def _as(self, cells: Cells) -> Self:
        """Return the same matrix with its cells kept in another way."""
        copy = self._of(cells, (self.respondents, self.items), self.synthetic)
        return copy.with_tables(self.item_table, self.respondent_table, self.metrics)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix keeps its observed cells alone."""
        return isinstance(self._cells, Observed)

    def to_sparse(self) -> ResponseMatrix:
        """Return the same matrix, keeping its observed cells alone; see `from_long`."""
        return self._as(self.observed)

    def to_dense(self) -> ResponseMatrix:
        """Return the same matrix with every cell in a table, however large that is."""
        what = f"a table of {self.n_respondents} respondents × {self.n_items} items"
        check_memory(self.observed.dense_bytes, what)
        counts = CountTables(*(table.toarray() for table in self.observed))
        return self._as(counts)

    @property
    def has_repeats(self) -> bool:
        """Whether some cell has more than one trial; if not, `values` holds the responses."""
        cells = self._cells
        return cells.has_repeats if isinstance(cells, Observed) else isinstance(cells, CountTables)

    @property
    def n_respondents(self) -> int:
        """Number of rows, synthetic ones included."""
        return len(self.respondents)

    @property
    def n_items(self) -> int:
        """Number of columns."""
        return len(self.items)

    @property
    def n_missing(self) -> int:
        """Number of missing cells, synthetic respondents included."""
        if isinstance(self._cells, Observed):
            return self.n_respondents * self.n_items - self._cells.n_cells
        return self.trials.size - int(np.count_nonzero(self.trials))

    @property
    def T(self) -> ResponseMatrix:  # noqa: N802 - the name that NumPy and pandas give it
        """The matrix with rows and columns exchanged, for a table that had items in its rows.

        Raises
        ------
        ValueError
            If the matrix has synthetic respondents.

        Examples
        --------
        >>> import irtkit
        >>> irtkit.ResponseMatrix([[1, 0]], ["q1"], ["gpt", "llama"]).T.respondents
        ('gpt', 'llama')
        """
        if self.synthetic.any():
            raise ValueError("synthetic respondents are no items: transpose before adding them")
        names = self.items, self.respondents
        if isinstance(self._cells, Observed):
            turned = self._of(self._cells.transposed(), names)
        else:
            turned = self._of(CountTables(self.successes.T.copy(), self.trials.T.copy()), names)
        metrics = self.metrics
        if metrics is not None:
            metrics = metrics.rename(columns={"respondent": "item", "item": "respondent"})
        return turned.with_tables(self.respondent_table, self.item_table, metrics)

    def to_frame(self) -> pd.DataFrame:
        """Return the wide table: index respondents, columns items, Int8 cells, missing as NA.

        Raises
        ------
        ValueError
            If the matrix holds repeated trials or is sparse, as for `values`.

        Examples
        --------
        >>> import irtkit
        >>> irtkit.ResponseMatrix([[1, -1]], ["gpt"], ["q1", "q2"]).to_frame()
        item        q1    q2
        respondent
        gpt          1  <NA>
        """
        import pandas as pd

        frame = pd.DataFrame(
            self.values,
            index=pd.Index(self.respondents, name="respondent"),
            columns=pd.Index(self.items, name="item"),
        )
        return frame.astype("Int8").mask(frame == MISSING)

    def __eq__(self, other: object) -> bool:
        """Return whether labels, cells and synthetic marks are all the same, sparse or not."""
        if not isinstance(other, ResponseMatrix):
            return NotImplemented
        return (
            self.respondents == other.respondents
            and self.items == other.items
            and self.has_cells_of(other)
            and np.array_equal(self.synthetic, other.synthetic)
        )

    def has_cells_of(self, other: ResponseMatrix) -> bool:
        """Whether another matrix holds the same responses in the same cells."""
        if self.is_sparse or other.is_sparse:
            return self.observed.equals(other.observed)
        return np.array_equal(self.trials, other.trials) and np.array_equal(
            self.successes, other.successes
        )

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        from irtkit.report.notebook import of_responses

        return of_responses(self)

    def __repr__(self) -> str:
        n_synthetic = int(self.synthetic.sum())
        synthetic = f" ({n_synthetic} synthetic)" if n_synthetic else ""
        n_cells, n_missing = self.n_respondents * self.n_items, self.n_missing
        missing = f", {n_missing / n_cells:.1%} missing" if n_missing else ""
        if self.is_sparse:
            n_observed = n_cells - n_missing
            missing = f", sparse with {n_observed} cell{'s' * (n_observed != 1)} observed"
        trials = ""
        if self.has_repeats:
            tried = self.observed.trials if self.is_sparse else self.trials
            mean = tried.sum(dtype=np.int64) / (n_cells - n_missing)
            trials = f", {f'{mean:.1f}'.removesuffix('.0')} trials a cell on average"
        respondents, items = self.n_respondents, self.n_items
        return (
            f"ResponseMatrix({respondents} respondent{'s' * (respondents != 1)}{synthetic} × "
            f"{items} item{'s' * (items != 1)}{missing}{trials})"
        )


def refuse_sparse(responses: ResponseMatrix, needed_by: str) -> None:
    """Refuse a sparse matrix, with a message that begins with what needs a dense one."""
    if responses.is_sparse:
        raise ValueError(
            f"{needed_by} needs every cell in a table, but the response matrix is sparse; a dense "
            f"one would take {responses.observed.dense_bytes:,} bytes; use .observed (the observed "
            "cells alone), or .to_dense() where that is small enough"
        )


def _by_label(kind: str, table: pd.DataFrame | None, labels: tuple[str, ...]) -> Any:
    if table is None:
        return None
    check_unique(f"{kind}_table must have one row per {kind}", table.index)
    return table.set_axis(table.index.map(str), axis=0).reindex(labels).rename_axis(kind)


def item_texts(responses: ResponseMatrix | None) -> pd.DataFrame | None:
    """Text and target of the items, or one of these; None where nothing is known of them."""
    if responses is None or responses.item_table is None:
        return None
    known = responses.item_table
    return known[[name for name in ("text", "target") if name in known.columns]]


def _of_answers(
    metrics: pd.DataFrame | None, respondents: tuple[str, ...], items: tuple[str, ...]
) -> pd.DataFrame | None:
    """Metrics of the answers to these items by these respondents."""
    if metrics is None:
        return None
    import pandas as pd

    if absent := {*_METRICS}.difference(metrics.columns):
        raise ValueError(f"metrics has no column {short(min(absent))}; it must have {_METRICS}")
    columns: dict[str, Any] = {}
    for kind, labels in (("respondent", respondents), ("item", items)):
        given, wanted = metrics[kind], pd.Index(labels)
        if isinstance(given.dtype, pd.CategoricalDtype) and given.cat.categories.equals(wanted):
            columns[kind] = given.array  # a reader's own, which may be long
            continue
        codes, names = pd.factorize(given)
        places = wanted.get_indexer(pd.Index([str(name) for name in names]))
        columns[kind] = pd.Categorical.from_codes(np.append(places, -1)[codes], wanted)
    known = np.logical_and(*(column.codes >= 0 for column in columns.values()))
    columns |= {"metric": pd.Categorical(metrics["metric"]), "value": metrics["value"].to_numpy()}
    table = pd.DataFrame(columns, copy=False)
    if known.all():
        return table
    kept: pd.DataFrame = table[known].reset_index(drop=True)
    return kept.assign(metric=kept["metric"].cat.remove_unused_categories())


def _as_table(values: ArrayLike | pd.DataFrame, argument: str) -> NDArray[Any]:
    """Array of two dimensions with at least one row and one column; what is masked is missing."""
    try:
        cells = np.asarray(_unmasked(values))
        if cells.dtype.kind in "US" and not hasattr(values, "dtype"):
            cells = np.array(values, dtype=object)  # NumPy makes 'Fals' of False beside text
    except ValueError as error:
        raise ValueError(
            f"{argument} must be a rectangular table: its rows differ in length"
        ) from error
    if cells.ndim != 2:
        raise ValueError(
            f"{argument} must be a table of respondents × items (2 dimensions), got {cells.ndim}"
        )
    n_respondents, n_items = cells.shape
    if n_respondents == 0 or n_items == 0:
        raise ValueError(
            f"{argument} is empty: {n_respondents} respondents × {n_items} items; "
            "at least one of each is needed"
        )
    return cells


def _unmasked(values: Any) -> Any:
    """Values of an array, or a list of arrays, with NaN where they are masked."""
    masked = np.ma.MaskedArray
    if isinstance(values, list | tuple) and any(isinstance(row, masked) for row in values):
        values = np.ma.vstack([*map(np.ma.asarray, values)])
    if not isinstance(values, masked) or values.dtype.names:
        return values
    numbers = values.dtype.kind in "biuf"
    cells = np.array(values.data, np.float64 if numbers else object)
    cells[np.ma.getmaskarray(values)] = np.nan
    return cells


def _synthetic_marks(synthetic: ArrayLike | None, n_respondents: int) -> NDArray[np.bool_]:
    check_unmasked("synthetic", synthetic)
    marks = np.zeros(n_respondents, bool) if synthetic is None else np.array(synthetic)
    if marks.shape != (n_respondents,) or marks.dtype != bool:
        raise ValueError(
            f"synthetic must be {n_respondents} booleans, one per respondent, "
            f"got shape {marks.shape} of {marks.dtype}"
        )
    marks.flags.writeable = False
    return marks


def _read_only_bytes(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    numbers = flags.view(np.uint8)
    numbers.flags.writeable = False
    return numbers
