"""The response matrix: who answered what, and whether it was right.

Rows are respondents (AI systems, checkpoints, people), columns are items (test questions).
A cell is 1 (right), 0 (wrong) or −1 (missing), stored in one byte; a row may be marked
synthetic, which keeps it out of the scale and of every count that describes real systems.
Where respondents tried an item several times a cell is successes out of trials instead
(`irtkit.trials`); as soon as no cell has more than one trial it is the plain matrix again.
Where few cells are observed a matrix may be sparse: it keeps these alone (`irtkit.observed`).
Input of any other kind stops here, with the first offending respondent and item named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from irtkit.codes import (
    INVALID,
    MISSING,
    column_array,
    invalid_response_message,
    response_codes,
    without_missing_code,
)
from irtkit.observed import Observed
from irtkit.trials import checked_counts, count_rows, count_tables

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

Repeats = Literal["error", "count"]
REPEATS: tuple[Repeats, ...] = get_args(Repeats)


class ResponseMatrix:
    """Right and wrong answers of respondents (rows) to items (columns).

    Parameters
    ----------
    values
        Array of shape (n_respondents, n_items) holding 1 or True for right, 0 or False for
        wrong, and NaN, None or (in an array of integers) −1 for missing.
    respondents, items
        Unique labels, one per row and per column; they are kept as text. By default
        ``respondent-1``, … and ``item-1``, ….
    synthetic
        Which rows are synthetic respondents, shape (n_respondents,); by default none.
    threshold
        If given, cells are graded scores and a score at or above the threshold is right.

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

    _values: NDArray[np.int8] | None
    _counts: tuple[NDArray[Any], NDArray[Any]] | None
    """Successes and trials where a cell has several trials; then there are no values."""
    _observed: Observed | None
    """The observed cells of a sparse matrix, which has neither values nor tables of counts."""

    __slots__ = ("_counts", "_observed", "_values", "items", "respondents", "synthetic")

    def __init__(
        self,
        values: ArrayLike,
        respondents: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        *,
        synthetic: ArrayLike | None = None,
        threshold: float | None = None,
    ) -> None:
        cells = _as_table(values, "values")
        n_respondents, n_items = cells.shape
        self.respondents = _labels(respondents, n_respondents, "respondent")
        self.items = _labels(items, n_items, "item")
        codes = response_codes(cells, threshold)
        if threshold is None and np.issubdtype(cells.dtype, np.signedinteger):
            codes[cells == MISSING] = MISSING
        invalid = codes == INVALID
        if invalid.any():
            row, column = (int(k) for k in np.argwhere(invalid)[0])
            raise ValueError(
                invalid_response_message(
                    self.respondents[row],
                    self.items[column],
                    cells[row, column],
                    int(invalid.sum()) - 1,
                    threshold,
                )
            )
        if not (codes != MISSING).any():
            raise ValueError("values holds no response: every cell is missing")
        codes.flags.writeable = False
        self._values = codes
        self._counts = self._observed = None
        self.synthetic = _synthetic_marks(synthetic, n_respondents)

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

        Parameters
        ----------
        successes, trials
            Tables of shape (n_respondents, n_items) that hold whole numbers (as integers or
            floats), 0 ≤ successes ≤ trials. A cell is missing if its trials are NaN, or if they
            are 0 and its successes 0 or NaN. Two DataFrames must have the same labels in the same
            order.
        respondents, items
            Unique labels, one per row and per column; by default those of the DataFrames, or
            ``respondent-1``, … and ``item-1``, ….
        synthetic
            Which rows are synthetic respondents, shape (n_respondents,); by default none.

        Returns
        -------
        ResponseMatrix
            If no cell has more than one trial this is the matrix of right and wrong answers, in
            every respect. Otherwise `successes` and `trials` hold the responses, and `values`
            raises.

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
        if right.shape != tried.shape:
            raise ValueError(
                "successes and trials must be tables of the same shape, "
                f"got {right.shape} and {tried.shape}"
            )
        row_names = _labels_of_counts(successes, trials, "index", respondents, len(right))
        column_names = _labels_of_counts(successes, trials, "columns", items, right.shape[1])
        counts = checked_counts(right, tried, row_names, column_names)
        if not counts[1].any():
            raise ValueError("trials holds no response: every cell is missing")
        return cls._of_counts(*counts, row_names, column_names, synthetic)

    @classmethod
    def _of_counts(
        cls,
        successes: NDArray[Any],
        trials: NDArray[Any],
        respondents: tuple[str, ...],
        items: tuple[str, ...],
        synthetic: ArrayLike | None = None,
    ) -> Self:
        """Matrix of counts that are known to be valid; the plain one where none is above 1."""
        if trials.max() <= 1:
            values = successes.astype(np.int8)
            values[trials == 0] = MISSING
            return cls(values, respondents, items, synthetic=synthetic)
        matrix = cls.__new__(cls)
        matrix.respondents, matrix.items = respondents, items
        matrix.synthetic = _synthetic_marks(synthetic, len(respondents))
        successes.flags.writeable = trials.flags.writeable = False
        matrix._values = matrix._observed = None  # noqa: SLF001  # of its own
        matrix._counts = (successes, trials)  # noqa: SLF001
        return matrix

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

        Parameters
        ----------
        successes, trials
            Arrays or matrices of `scipy.sparse` of shape (n_respondents, n_items) that hold whole
            numbers, 0 ≤ successes ≤ trials. A cell without trials is missing.
        respondents, items, synthetic
            As for the class itself.

        Raises
        ------
        TypeError
            If they are not sparse.
        ValueError
            If a cell is no count or has more successes than trials, if shapes or labels disagree,
            or if there is no trial at all.

        Examples
        --------
        >>> import irtkit
        >>> from scipy.sparse import csr_array
        >>> irtkit.ResponseMatrix.from_observed(csr_array([[1, 0]]), csr_array([[1, 1]]))
        ResponseMatrix(1 respondents × 2 items, sparse with 2 cells observed)
        """
        observed = Observed.checked(successes, trials)
        n_respondents, n_items = observed.shape
        return cls._of_observed(
            observed,
            _labels(respondents, n_respondents, "respondent"),
            _labels(items, n_items, "item"),
            synthetic,
        )

    @classmethod
    def _of_observed(
        cls,
        observed: Observed,
        respondents: tuple[str, ...],
        items: tuple[str, ...],
        synthetic: ArrayLike | None = None,
    ) -> Self:
        """Sparse matrix of observed cells that are known to be valid."""
        matrix = cls.__new__(cls)
        matrix.respondents, matrix.items = respondents, items
        matrix.synthetic = _synthetic_marks(synthetic, len(respondents))
        matrix._values = matrix._counts = None  # noqa: SLF001  # of its own
        matrix._observed = observed  # noqa: SLF001
        return matrix

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, threshold: float | None = None) -> Self:
        """Response matrix from a wide table.

        Parameters
        ----------
        frame
            Index = respondents, columns = items, cells 0/1, booleans, "0"/"1", nullable types
            or empty (missing).
        threshold
            If given, cells are graded scores and a score at or above the threshold is right.

        Raises
        ------
        ValueError
            As for the class itself.

        Examples
        --------
        >>> import pandas as pd
        >>> from irtkit import ResponseMatrix
        >>> frame = pd.DataFrame({"q1": [True, None], "q2": [0, 1]}, index=["gpt", "llama"])
        >>> ResponseMatrix.from_frame(frame).values
        array([[ 1,  0],
               [-1,  1]], dtype=int8)
        """
        if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
            raise TypeError(f"frame must be a pandas DataFrame, got {type(frame).__name__}")
        numpy_types = {kind if isinstance(kind, np.dtype) else None for kind in frame.dtypes}
        if (
            len(numpy_types) == 1
            and None not in numpy_types
            and np.dtype(object) not in numpy_types
        ):
            return cls(
                without_missing_code(frame.to_numpy()),
                frame.index,
                frame.columns,
                threshold=threshold,
            )
        respondents = _labels(frame.index, frame.shape[0], "respondent")
        items = _labels(frame.columns, frame.shape[1], "item")
        codes = np.empty(frame.shape, dtype=np.int8)
        for column in range(frame.shape[1]):
            codes[:, column] = response_codes(column_array(frame.iloc[:, column]), threshold)
        invalid = codes == INVALID
        if invalid.any():
            row, column = (int(k) for k in np.argwhere(invalid)[0])
            raise ValueError(
                invalid_response_message(
                    respondents[row],
                    items[column],
                    frame.iloc[row, column],
                    int(invalid.sum()) - 1,
                    threshold,
                )
            )
        return cls(codes, respondents, items)

    @classmethod
    def from_long(
        cls,
        frame: pd.DataFrame,
        *,
        respondent: str = "respondent",
        item: str = "item",
        response: str = "response",
        threshold: float | None = None,
        repeats: Repeats = "error",
        sparse: bool = False,
    ) -> Self:
        """Response matrix from a long table, one row per response.

        Parameters
        ----------
        frame
            A table with one row per respondent × item, or several where trials were repeated;
            pairs that do not occur are missing.
        respondent, item, response
            The columns that hold the labels and the response.
        threshold
            If given, responses are graded scores and a score at or above it is right.
        repeats
            What several rows of the same respondent and item are: an "error" (default), or
            repeated trials to "count", see `from_counts`. A row whose response is missing is no
            trial.
        sparse
            Whether to keep the observed cells alone, for tables in which few of all cells are: a
            table of respondents × items is then never made, here nor when the matrix is fitted.
            `irtkit.fit`, `add_synthetic`, `average_error`, `flag_items` and
            `likelihood_ratio_test` take such a matrix or its fit, and give what they give for the
            dense one. `values`, `successes`, `trials` and `to_frame` refuse it, and so do
            `shuffle_control`, `similar_respondents`, the arguments ``groups`` and ``predictions``
            of `flag_items`, ``mesh`` of `fit`, `compare_difficulties` unless
            ``folds=0``, `write_py_irt`, and `FitResult.probability` of all respondents; `to_dense`
            is the way there for a small one.

        Returns
        -------
        ResponseMatrix
            Respondents and items in the order in which they first occur.

        Raises
        ------
        ValueError
            If a column is absent, a label is missing, a pair occurs twice (unless repeats are
            counted), or a response is neither right, wrong nor missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from irtkit import ResponseMatrix
        >>> frame = pd.DataFrame(
        ...     {"model": ["a", "a", "b"], "item": ["q1", "q2", "q1"], "correct": [1, 0, 1]}
        ... )
        >>> ResponseMatrix.from_long(frame, respondent="model", response="correct").values
        array([[ 1,  0],
               [ 1, -1]], dtype=int8)
        >>> again = pd.concat([frame, frame, frame])
        >>> ResponseMatrix.from_long(
        ...     again, respondent="model", response="correct", repeats="count"
        ... ).successes
        array([[3, 0],
               [3, 0]], dtype=uint8)
        """
        check_repeats(repeats)
        _check_long(frame, {"respondent": respondent, "item": item, "response": response})
        rows, row_labels = _numbered(frame, respondent)
        columns, column_labels = _numbered(frame, item)
        row_names = _labels(row_labels, len(row_labels), "respondent")
        column_names = _labels(column_labels, len(column_labels), "item")
        cells = rows * len(column_names) + columns
        if repeats == "error":
            _refuse_repeated_pairs(cells, row_names, column_names)
        responses = response_codes(column_array(frame[response]), threshold)
        invalid = np.flatnonzero(responses == INVALID)
        if invalid.size:
            first = invalid[0]
            raise ValueError(
                invalid_response_message(
                    row_names[rows[first]],
                    column_names[columns[first]],
                    frame[response].iloc[first],
                    invalid.size - 1,
                    threshold,
                )
            )
        shape = (len(row_names), len(column_names))
        if sparse or repeats == "count":
            observed = responses != MISSING
            if not observed.any():
                raise ValueError("values holds no response: every cell is missing")
            counted = count_rows(cells[observed], responses[observed] == 1)
            if sparse:
                return cls._of_observed(Observed.of_cells(*counted, shape), row_names, column_names)
            return cls._of_counts(*count_tables(*counted, shape), row_names, column_names)
        codes = np.full(shape, MISSING, dtype=np.int8)
        codes[rows, columns] = responses
        return cls(codes, row_names, column_names)

    @property
    def values(self) -> NDArray[np.int8]:
        """Shape (n_respondents, n_items), read-only: 1 right, 0 wrong, −1 missing.

        Raises
        ------
        ValueError
            If the matrix holds repeated trials, which are no single answer, or is sparse.
        """
        self._refuse_if_sparse()
        if self._values is None:
            raise ValueError(
                "the response matrix holds repeated trials; use .successes and .trials"
            )
        return self._values

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
        self._refuse_if_sparse()
        if self._counts is not None:
            return self._counts[0]
        return _read_only_bytes(self.values == 1)

    @property
    def trials(self) -> NDArray[Any]:
        """Shape (n_respondents, n_items), read-only whole numbers: trials, 0 if missing.

        Examples
        --------
        >>> import irtkit
        >>> irtkit.ResponseMatrix([[1, 0, -1]]).trials
        array([[1, 1, 0]], dtype=uint8)
        """
        self._refuse_if_sparse()
        if self._counts is not None:
            return self._counts[1]
        return _read_only_bytes(self.values >= 0)

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
        if self._observed is not None:
            return self._observed
        return Observed.of_tables(self.successes, self.trials)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix keeps its observed cells alone."""
        return self._observed is not None

    def to_sparse(self) -> ResponseMatrix:
        """Return the same matrix, keeping its observed cells alone; see `from_long`."""
        return self._of_observed(self.observed, self.respondents, self.items, self.synthetic)

    def to_dense(self) -> ResponseMatrix:
        """Return the same matrix with every cell in a table, however large that is."""
        successes, trials = (table.toarray() for table in self.observed)
        return self._of_counts(successes, trials, self.respondents, self.items, self.synthetic)

    def _refuse_if_sparse(self) -> None:
        if self._observed is not None:
            raise ValueError(
                "the response matrix is sparse, and a dense one would take "
                f"{self._observed.dense_bytes:,} bytes; use .observed (the observed cells alone), "
                "or .to_dense() where that is small enough"
            )

    @property
    def has_repeats(self) -> bool:
        """Whether some cell has more than one trial; if not, `values` holds the responses."""
        return self._counts is not None if self._observed is None else self._observed.has_repeats

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
        if self._observed is not None:
            return self.n_respondents * self.n_items - self._observed.n_cells
        return self.trials.size - int(np.count_nonzero(self.trials))

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
        nullable = frame.astype("Int8")
        return nullable.mask(frame == MISSING) if self.n_missing else nullable

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

    def __repr__(self) -> str:
        n_synthetic = int(self.synthetic.sum())
        synthetic = f" ({n_synthetic} synthetic)" if n_synthetic else ""
        n_cells, n_missing = self.n_respondents * self.n_items, self.n_missing
        missing = f", {n_missing / n_cells:.1%} missing" if n_missing else ""
        if self.is_sparse:
            missing = f", sparse with {n_cells - n_missing} cells observed"
        trials = ""
        if self.has_repeats:
            tried = self.observed.trials if self.is_sparse else self.trials
            mean = tried.sum(dtype=np.int64) / (n_cells - n_missing)
            trials = f", {f'{mean:.1f}'.removesuffix('.0')} trials a cell on average"
        return (
            f"ResponseMatrix({self.n_respondents} respondents{synthetic} × "
            f"{self.n_items} items{missing}{trials})"
        )


def check_repeats(repeats: str) -> None:
    """Refuse an unknown way to take several rows of the same respondent and item."""
    if repeats not in REPEATS:
        raise ValueError(f"repeats must be one of {', '.join(REPEATS)}; got {repeats!r}")


def refuse_sparse(responses: ResponseMatrix, needed_by: str) -> None:
    """Refuse a sparse matrix, with a message that begins with what needs a dense one."""
    if responses.is_sparse:
        raise ValueError(
            f"{needed_by} needs every cell in a table, but the response matrix is sparse; "
            f"its .to_dense() is that table, of {responses.observed.dense_bytes:,} bytes"
        )


def _as_table(values: ArrayLike | pd.DataFrame, argument: str) -> NDArray[Any]:
    """Array of two dimensions with at least one row and one column."""
    try:
        cells = np.asarray(values)
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


def _synthetic_marks(synthetic: ArrayLike | None, n_respondents: int) -> NDArray[np.bool_]:
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


def _labels(labels: Iterable[Hashable] | None, n: int, kind: str) -> tuple[str, ...]:
    """Labels as text, checked: as many as there are rows or columns, none missing, none twice."""
    if labels is None:
        return tuple(f"{kind}-{k}" for k in range(1, n + 1))
    given = list(labels)
    if len(given) != n:
        raise ValueError(f"{kind}s must hold {n} labels, one per {kind}, got {len(given)}")
    for position, label in enumerate(given, start=1):
        if _is_missing_label(label):
            raise ValueError(f"{kind} {position} has no label")
    names = tuple(map(str, given))
    if len(set(names)) < n:
        seen: set[str] = set()
        repeated = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        more = f" (and {len(repeated) - 1} more repeats)" if len(repeated) > 1 else ""
        raise ValueError(f"{kind} labels must be unique: {repeated[0]!r} occurs twice{more}")
    return names


def _labels_of_counts(
    successes: object,
    trials: object,
    axis: Literal["index", "columns"],
    labels: Iterable[Hashable] | None,
    n: int,
) -> tuple[str, ...]:
    """Labels of two tables of counts along an axis: those given, else those of the DataFrames."""
    kind = "respondent" if axis == "index" else "item"
    frames = [
        table for table in (successes, trials) if hasattr(table, axis) and hasattr(table, "columns")
    ]
    own = [_labels(getattr(frame, axis), n, kind) for frame in frames]
    if len(own) == 2 and own[0] != own[1]:
        k = next(k for k in range(n) if own[0][k] != own[1][k])
        raise ValueError(
            f"successes and trials must have the same {kind}s in the same order: "
            f"{kind} {k + 1} is {own[0][k]!r} in successes and {own[1][k]!r} in trials"
        )
    return own[0] if own and labels is None else _labels(labels, n, kind)


def _is_missing_label(label: Hashable) -> bool:
    """None, NaN, NaT, pandas.NA or blank text; the text "NA" is a label like any other."""
    if isinstance(label, str):
        return not label.strip()
    return label is None or str(label) in {"nan", "NaT", "<NA>"}


def _check_long(frame: pd.DataFrame, columns: dict[str, str]) -> None:
    """Refuse a long table without rows, or without a column; the keys are the arguments' names."""
    for argument, column in columns.items():
        if column not in frame.columns:
            raise ValueError(
                f"{argument}={column!r} is not a column of the table; "
                f"it has {', '.join(map(repr, map(str, frame.columns)))}"
            )
    if frame.empty:
        raise ValueError("the long table is empty: no row holds a response")


def _numbered(frame: pd.DataFrame, column: str) -> tuple[NDArray[np.int64], pd.Index[Any]]:
    """Number of the label in every row, in the order of first occurrence, and the labels."""
    import pandas as pd

    codes, labels = pd.factorize(frame[column])
    if (codes < 0).any():
        n_more = int((codes < 0).sum()) - 1
        raise ValueError(
            f"column {column!r} has no label in row {int(np.argmax(codes < 0)) + 1} "
            f"of the table{f' (and {n_more} more such rows)' if n_more else ''}"
        )
    return codes.astype(np.int64, copy=False), labels


def _refuse_repeated_pairs(
    cells: NDArray[np.int64], row_names: Sequence[str], column_names: Sequence[str]
) -> None:
    order = np.argsort(cells, kind="stable")
    repeats = order[1:][np.diff(cells[order]) == 0]
    if repeats.size:
        row, column = divmod(int(cells[repeats.min()]), len(column_names))
        more = f" (and {repeats.size - 1} more repeats)" if repeats.size > 1 else ""
        raise ValueError(
            f"a respondent answers an item once: respondent {row_names[row]!r}, "
            f"item {column_names[column]!r} occurs twice{more}; "
            'repeats="count" counts such rows as trials'
        )
