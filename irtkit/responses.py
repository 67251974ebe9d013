"""The response matrix: who answered what, and whether it was right.

Rows are respondents (AI systems, checkpoints, people), columns are items (test questions).
A cell is 1 (right), 0 (wrong) or −1 (missing), stored in one byte; a row may be marked
synthetic, which keeps it out of the scale and of every count that describes real systems.
Input of any other kind stops here, with the first offending respondent and item named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

MISSING = -1
INVALID = -2
_SHOWN = 80  # characters of a wrong value that a message repeats
_BOOLEAN_WORDS = {"true": 1, "false": 0}
_MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "<na>", "none", "null"})


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

    values: NDArray[np.int8]
    """Shape (n_respondents, n_items), read-only: 1 right, 0 wrong, −1 missing."""
    respondents: tuple[str, ...]
    items: tuple[str, ...]
    synthetic: NDArray[np.bool_]
    """Shape (n_respondents,), read-only: True where the respondent is synthetic."""

    __slots__ = ("items", "respondents", "synthetic", "values")

    def __init__(
        self,
        values: ArrayLike,
        respondents: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        *,
        synthetic: ArrayLike | None = None,
        threshold: float | None = None,
    ) -> None:
        cells = _as_array(values)
        if cells.ndim != 2:
            raise ValueError(
                f"values must be a table of respondents × items (2 dimensions), got {cells.ndim}"
            )
        n_respondents, n_items = cells.shape
        if n_respondents == 0 or n_items == 0:
            raise ValueError(
                f"values is empty: {n_respondents} respondents × {n_items} items; "
                "at least one of each is needed"
            )
        self.respondents = _labels(respondents, n_respondents, "respondent")
        self.items = _labels(items, n_items, "item")
        codes = _response_codes(cells, threshold)
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
        flags = np.zeros(n_respondents, bool) if synthetic is None else np.array(synthetic)
        if flags.shape != (n_respondents,) or flags.dtype != bool:
            raise ValueError(
                f"synthetic must be {n_respondents} booleans, one per respondent, "
                f"got shape {flags.shape} of {flags.dtype}"
            )
        codes.flags.writeable = False
        flags.flags.writeable = False
        self.values = codes
        self.synthetic = flags

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
                _without_missing_code(frame.to_numpy()),
                frame.index,
                frame.columns,
                threshold=threshold,
            )
        respondents = _labels(frame.index, frame.shape[0], "respondent")
        items = _labels(frame.columns, frame.shape[1], "item")
        codes = np.empty(frame.shape, dtype=np.int8)
        for column in range(frame.shape[1]):
            codes[:, column] = _response_codes(_column_array(frame.iloc[:, column]), threshold)
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
    ) -> Self:
        """Response matrix from a long table, one row per response.

        Parameters
        ----------
        frame
            A table with one row per respondent × item; pairs that do not occur are missing.
        respondent, item, response
            The columns that hold the labels and the response.
        threshold
            If given, responses are graded scores and a score at or above it is right.

        Returns
        -------
        ResponseMatrix
            Respondents and items in the order in which they first occur.

        Raises
        ------
        ValueError
            If a column is absent, a label is missing, a pair occurs twice, or a response is
            neither right, wrong nor missing.

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
        """
        import pandas as pd

        for argument, column in (
            ("respondent", respondent),
            ("item", item),
            ("response", response),
        ):
            if column not in frame.columns:
                raise ValueError(
                    f"{argument}={column!r} is not a column of the table; "
                    f"it has {', '.join(map(repr, map(str, frame.columns)))}"
                )
        if frame.empty:
            raise ValueError("the long table is empty: no row holds a response")
        rows, row_labels = pd.factorize(frame[respondent])
        columns, column_labels = pd.factorize(frame[item])
        for argument, codes in ((respondent, rows), (item, columns)):
            if (codes < 0).any():
                n_more = int((codes < 0).sum()) - 1
                raise ValueError(
                    f"column {argument!r} has no label in row {int(np.argmax(codes < 0)) + 1} "
                    f"of the table{f' (and {n_more} more such rows)' if n_more else ''}"
                )
        row_names = _labels(row_labels, len(row_labels), "respondent")
        column_names = _labels(column_labels, len(column_labels), "item")
        _refuse_repeated_pairs(rows, columns, row_names, column_names)
        responses = _response_codes(_column_array(frame[response]), threshold)
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
        codes = np.full((len(row_names), len(column_names)), MISSING, dtype=np.int8)
        codes[rows, columns] = responses
        return cls(codes, row_names, column_names)

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
        return int(np.count_nonzero(self.values == MISSING))

    def to_frame(self) -> pd.DataFrame:
        """Return the wide table: index respondents, columns items, Int8 cells, missing as NA.

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
        """Return whether labels, cells and synthetic marks are all the same."""
        if not isinstance(other, ResponseMatrix):
            return NotImplemented
        return (
            self.respondents == other.respondents
            and self.items == other.items
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.synthetic, other.synthetic)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        n_synthetic = int(self.synthetic.sum())
        synthetic = f" ({n_synthetic} synthetic)" if n_synthetic else ""
        missing = f", {self.n_missing / self.values.size:.1%} missing" if self.n_missing else ""
        return (
            f"ResponseMatrix({self.n_respondents} respondents{synthetic} × "
            f"{self.n_items} items{missing})"
        )


def response_code(value: object, threshold: float | None = None) -> int:
    """Code of one value of a text or mixed column: 1, 0, `MISSING`, or `INVALID`."""
    word = str(value).strip().lower()
    if word in _MISSING_WORDS:
        return MISSING
    number = _as_number(_BOOLEAN_WORDS.get(word, value))
    if number is None:
        return INVALID
    if threshold is not None:
        return int(number >= threshold)
    return int(number) if number in {0.0, 1.0} else INVALID


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold that no comparison with a score could make sense of."""
    if threshold is not None and not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}")


def invalid_response_message(
    respondent: str, item: str, value: object, n_more: int, threshold: float | None
) -> str:
    """Return the one message for a cell that is neither right, wrong nor missing."""
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    more = f" (and {n_more} more such cell{'s' * (n_more > 1)})" if n_more else ""
    where = f"respondent {respondent!r}, item {item!r} has {shown}{more}"
    if threshold is not None:
        return f"a graded response must be a number: {where}"
    advice = ""
    number = _as_number(value)
    if number is not None and 0 < number < 1:
        advice = "; to count graded scores, pass threshold= (a score at or above it is right)"
    return f"a response must be 0, 1 or missing: {where}{advice}"


def _as_array(values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError("values must be a rectangular table: its rows differ in length") from error


def _without_missing_code(cells: NDArray[Any]) -> NDArray[Any]:
    """Keep −1 from being read as missing: in a table from outside it is a wrong value."""
    return cells.astype(np.float64) if np.issubdtype(cells.dtype, np.signedinteger) else cells


def _column_array(column: pd.Series[Any]) -> NDArray[Any]:
    """Values of one column as bool, float, or object when they are text or mixed."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):  # booleans and nullable types included
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def _response_codes(cells: NDArray[Any], threshold: float | None) -> NDArray[np.int8]:
    """1, 0, −1 (missing) or −2 (none of these) for every cell."""
    check_threshold(threshold)
    if cells.dtype.kind in "biuf":
        return _numeric_codes(cells, threshold)
    import pandas as pd

    flat = cells.astype(object).ravel()
    try:
        which, distinct = pd.factorize(flat, use_na_sentinel=True)
    except TypeError:  # a cell that cannot be hashed, such as a list
        which, distinct = np.arange(flat.size), flat
    code_of = np.array([*(response_code(value, threshold) for value in distinct), MISSING], np.int8)
    return code_of[which].reshape(cells.shape)


def _numeric_codes(cells: NDArray[Any], threshold: float | None) -> NDArray[np.int8]:
    missing = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(cells.shape, bool)
    if threshold is not None:
        codes = (cells >= threshold).astype(np.int8)
    else:
        codes = np.full(cells.shape, INVALID, dtype=np.int8)
        codes[cells == 0] = 0
        codes[cells == 1] = 1
    codes[missing] = MISSING
    return codes


def _as_number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return None if np.isnan(number) else number


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


def _is_missing_label(label: Hashable) -> bool:
    """None, NaN, NaT, pandas.NA or blank text; the text "NA" is a label like any other."""
    if isinstance(label, str):
        return not label.strip()
    return label is None or str(label) in {"nan", "NaT", "<NA>"}


def _refuse_repeated_pairs(
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    row_names: Sequence[str],
    column_names: Sequence[str],
) -> None:
    pair = rows.astype(np.int64) * len(column_names) + columns
    order = np.argsort(pair, kind="stable")
    repeats = order[1:][np.diff(pair[order]) == 0]
    if repeats.size:
        first = repeats.min()
        more = f" (and {repeats.size - 1} more repeats)" if repeats.size > 1 else ""
        raise ValueError(
            f"a respondent answers an item once: respondent {row_names[rows[first]]!r}, "
            f"item {column_names[columns[first]]!r} occurs twice{more}"
        )
