"""The response matrix: who answered what, and whether it was right.

Rows are respondents (AI systems, checkpoints, people) and columns are items (test questions).
A cell is 1 (right), 0 (wrong) or −1 (missing), a score between 0 and 1, or successes out of
repeated trials. A row may be marked synthetic, which keeps it out of the scale and of all counts of
real systems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from irtkit import capabilities
from irtkit.capabilities import require
from irtkit.checks import check_number, check_unique, check_unmasked, counted, short
from irtkit.printed import InNotebooks
from irtkit.responses.cells import BLOCK_ROWS, MISSING, CellBuilder, Cells, counts_of
from irtkit.responses.labels import matrix_names
from irtkit.responses.marking import Coder, Marking

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.responses.cells import Block, Observed
    from irtkit.responses.labels import Array, Names
    from irtkit.responses.source import Source

    Words: TypeAlias = str | float | Iterable[str | float] | None


class ResponseMatrix(InNotebooks):
    """Right and wrong answers, or scores, of respondents (rows) on items (columns).

    Parameters
    ----------
    values : array of shape (n_respondents, n_items)
        Table of 1 or True (right), 0 or False (wrong), scores between them, and NaN, None or
        masked (missing). In an array of integers −1 is missing as well.
    respondents, items : sequence of labels, optional
        Unique labels, kept as text. The default is ``respondent-1``, … and ``item-1``, ….
    synthetic : array of bool, optional
        Which rows are synthetic respondents, shape (n_respondents,). The default is none.
    threshold : float, optional
        If given, cells are scores, and a score at or above the threshold is right.
    right, wrong, missing : str, float or list, optional
        Words or numbers that mean right, wrong and missing, in any case. Without `wrong` every
        other word is wrong, or every other number if `right` is a number.
    score_range : pair or mapping, optional
        Worst and best score, (0, 100), or (100, 0) where lower is better. A mapping has a pair for
        each item that it names, and others have (0, 1), the default.

    Raises
    ------
    ValueError
        If a cell is neither a score of its range nor missing, or all are missing.
        If labels are not unique or shapes disagree.

    Examples
    --------
    >>> import irtkit
    >>> irtkit.ResponseMatrix([[1, 0], [1, None]], items=["easy", "hard"]).values
    array([[ 1,  0],
           [ 1, -1]], dtype=int8)
    """

    cells: Cells  #: Successes and trials, dense or sparse, for code that computes.
    respondents: tuple[str, ...]
    items: tuple[str, ...]
    synthetic: NDArray[np.bool_]  #: True if the respondent is synthetic, read-only.
    item_table: pd.DataFrame | None  #: Index "item": text, target and metadata, if known.
    respondent_table: pd.DataFrame | None  #: Index "respondent": release date, size, family.
    metrics: pd.DataFrame | None  #: Scores or seconds: respondent, item, metric and value.
    predictions: pd.DataFrame | None  #: The answers as text, respondents × items.
    source: Source | None  #: How the responses were read, None if they were made of arrays.
    trial_correlation: float | None  #: Of repeated trials, None if `fit` estimates it.

    __slots__ = tuple(__annotations__)

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
        missing: Words = None,
        score_range: Any = None,
    ) -> None:
        marking = Marking.of(threshold, right, wrong, missing, score_range)
        self._mark(values, marking, respondents, items, synthetic)

    @classmethod
    def of_marks(cls, values: ArrayLike, marking: Marking) -> Self:
        """Response matrix of an array, by a marking."""
        matrix = cls.__new__(cls)
        matrix._mark(values, marking)  # noqa: SLF001  # of its own
        return matrix

    def _mark(
        self,
        values: ArrayLike,
        marking: Marking,
        respondents: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        synthetic: ArrayLike | None = None,
    ) -> None:
        cells = _as_table(values, "values")
        names = matrix_names(cells.shape, respondents, items)
        signed = np.issubdtype(getattr(values, "dtype", cells.dtype), np.signedinteger)
        plain = not marking.of_scores
        if signed and plain and float(MISSING) not in marking.right | marking.wrong:
            marking = marking._replace(missing=marking.missing | {float(MISSING)})
        rows, columns = np.ogrid[: cells.shape[0], : cells.shape[1]]
        coder = Coder(marking)
        codes, trials = coder.codes(cells, rows, columns, names[1])
        if coder.mixed:
            coder = Coder(marking.literal())
            codes, trials = coder.codes(cells, rows, columns, names[1])
        coder.refuse(*names)
        if trials is not None:
            trials = np.where(codes < 0, 0, trials)
            codes = np.rint(codes * trials)
        self._keep(Cells(codes, trials), names, synthetic)

    def _keep(self, cells: Cells, names: Names, synthetic: ArrayLike | None) -> None:
        if not cells.n_observed:
            raise ValueError("values holds no response: every cell is missing")
        self.cells = cells
        self.respondents, self.items = names
        marks = np.zeros(len(names[0]), bool) if synthetic is None else np.array(synthetic)
        if marks.shape != (len(names[0]),) or marks.dtype != bool:
            rule = f"{len(names[0])} booleans, one per respondent"
            raise ValueError(f"synthetic must be {rule}, got shape {marks.shape} of {marks.dtype}")
        marks.flags.writeable = False
        self.synthetic = marks
        self.item_table = self.respondent_table = self.metrics = None
        self.predictions = self.source = self.trial_correlation = None

    @classmethod
    def of_cells(cls, cells: Cells, names: Names, synthetic: ArrayLike | None = None) -> Self:
        """Response matrix of cells and labels that are known to be valid."""
        matrix = cls.__new__(cls)
        matrix._keep(cells, names, synthetic)  # noqa: SLF001  # of its own
        return matrix

    @classmethod
    def of_rows(
        cls, block: Block, names: Names, *, repeats: str = "error", sparse: bool = False
    ) -> Self:
        """Response matrix of rows as numbers of respondents and items, and codes."""
        builder = CellBuilder(repeats, sparse=sparse, shape=(len(names[0]), len(names[1])))
        for start in range(0, len(block[2]), BLOCK_ROWS):
            builder.add(*(part[start : start + BLOCK_ROWS] for part in block))
        cells = builder.build((len(names[0]), len(names[1])))
        builder.refuse_repeats(names)
        return cls.of_cells(cells, names)

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
        """Response matrix of repeated trials, or of single answers if no cell has several trials.

        Parameters
        ----------
        successes, trials : DataFrame or array of int
            Tables of whole numbers, 0 ≤ successes ≤ trials. A cell is missing if its trials are 0,
            NaN or masked. Two DataFrames must have the same labels.
        respondents, items, synthetic : optional
            As for the class. The default labels are those of the DataFrames.

        Examples
        --------
        >>> import irtkit
        >>> irtkit.ResponseMatrix.from_counts([[5, 2], [3, 0]], [[5, 5], [5, 0]])
        ResponseMatrix(2 systems × 2 items, 25.0% missing, 5 trials a cell on average)
        """
        given: dict[str, Any] = {"successes": successes, "trials": trials}
        right, tried = (_as_table(table, name) for name, table in given.items())
        if right.shape != tried.shape:
            shapes = f"{right.shape} and {tried.shape}"
            raise ValueError(f"successes and trials must be tables of the same shape, got {shapes}")
        names = matrix_names(right.shape, respondents, items, **given)
        return cls.of_cells(Cells(*counts_of(right, tried, names)), names, synthetic)

    @classmethod
    def from_frame(cls, frame: Any, **reading: Any) -> Self:
        """Response matrix from a wide table, one row per respondent and one column per item.

        Parameters
        ----------
        frame : DataFrame
            A data frame of pandas, polars, PyArrow or another library that narwhals supports. The
            index of a pandas frame holds the respondents, unless it is only numbered.
        **reading : optional
            Settings of `irtkit.read_responses`: respondent, ignore, keep, right, repeats, ….

        Examples
        --------
        >>> import irtkit, pandas as pd
        >>> marks = pd.DataFrame({"model": ["gpt", "o1"], "q1": ["ok", "fail"]})
        >>> irtkit.ResponseMatrix.from_frame(marks, right="ok", wrong="fail").respondents
        ('gpt', 'o1')
        """
        from irtkit.responses.tables import Settings, frame_table
        from irtkit.responses.wide import read_wide

        return read_wide(frame_table(frame), Settings(**reading))[0]  # type: ignore[return-value]

    @classmethod
    def from_long(cls, frame: Any, **reading: Any) -> Self:
        """Response matrix from a long table, one row per response.

        Labels keep the order in which they first occur. Pairs that do not occur are missing.

        Parameters
        ----------
        frame : DataFrame
            A data frame, as for `from_frame`.
        **reading : optional
            Settings of `irtkit.read_responses`: respondent, item, response, repeats, sparse, ….

        Examples
        --------
        >>> import irtkit, pandas as pd
        >>> frame = pd.DataFrame({"model": list("aab"), "item": list("xyx"), "correct": [1, 0, 1]})
        >>> irtkit.ResponseMatrix.from_long(frame).values
        array([[ 1,  0],
               [ 1, -1]], dtype=int8)
        """
        from irtkit.responses.long import read_long
        from irtkit.responses.tables import Settings, frame_table

        return read_long([frame_table(frame)], Settings(**reading))[0]  # type: ignore[return-value]

    @property
    def values(self) -> NDArray[np.int8]:
        """Table of 1 (right), 0 (wrong) and −1 (missing).

        It is refused if cells have several trials, or scores between 0 and 1.
        """
        require(".values", self)
        return self.cells.values

    @property
    def scores(self) -> NDArray[np.float32]:
        """Table of scores from 0 to 1, of several trials their mean, and NaN where missing."""
        require(".scores", self)
        right = self.cells.successes
        tried = self.cells.trials
        with np.errstate(invalid="ignore"):
            return np.divide(right, tried, dtype=np.float32)

    @property
    def successes(self) -> Array:
        """Table of right trials, 0 if missing, of small integers: sum them with ``dtype=int``.

        With scores between 0 and 1 it holds these, of one trial each.
        """
        require(".successes", self)
        return self.cells.successes

    @property
    def trials(self) -> Array:
        """Table of trials, 0 if missing, of small integers."""
        require(".trials", self)
        return self.cells.trials

    @property
    def observed(self) -> Observed:
        """Successes and trials as two `scipy.sparse.csr_array` with the observed cells stored."""
        return self.cells.observed

    def with_tables(
        self,
        item_table: pd.DataFrame | None = None,
        respondent_table: pd.DataFrame | None = None,
        metrics: pd.DataFrame | None = None,
        *,
        synthetic: ArrayLike | None = None,
        predictions: pd.DataFrame | None = None,
        source: Source | None = None,
    ) -> Self:
        """Return the matrix with what is known of items, respondents and answers.

        The index of the tables are labels. Labels without a row get an empty one. By default
        `synthetic`, `predictions` and `source` stay as they are.

        Examples
        --------
        >>> import irtkit, pandas as pd
        >>> texts = pd.DataFrame({"text": ["7 × 8?"]}, index=["item-1"])
        >>> irtkit.ResponseMatrix([[1]]).with_tables(texts).item_table["text"].tolist()
        ['7 × 8?']
        """
        marks = self.synthetic if synthetic is None else synthetic
        copy = self.of_cells(self.cells, (self.respondents, self.items), marks)
        copy.item_table = _by_label("item", item_table, self.items)
        copy.respondent_table = _by_label("respondent", respondent_table, self.respondents)
        copy.metrics = _metrics(metrics, self.respondents, self.items)
        copy.predictions = self.predictions
        if predictions is not None:
            answers = predictions.rename(index=str, columns=str)
            answers = answers.reindex(index=self.respondents, columns=self.items).astype(object)
            copy.predictions = answers.where(answers.notna(), None)
        copy.source = self.source if source is None else source
        copy.trial_correlation = self.trial_correlation
        return copy

    def with_columns(self, **columns: Any) -> Self:
        """Return the matrix with further columns in its item table, in the order of the items."""
        import pandas as pd

        table = pd.DataFrame(index=[*self.items]) if self.item_table is None else self.item_table
        copy = self.with_known(self)
        copy.item_table = table.assign(**columns).rename_axis("item")
        return copy

    def with_trial_correlation(self, correlation: float | None) -> Self:
        """Return the matrix with the correlation of repeated trials of a cell.

        n trials count for n/(1 + (n − 1) · correlation) in `fit`: at 0 trials are independent, and
        at 1 all together count as one. A score between 0 and 1 is the mean of 10,000 trials. With
        None `fit` estimates the correlation.

        Examples
        --------
        >>> import irtkit
        >>> trials = irtkit.ResponseMatrix.from_counts([[3, 1], [0, 2]], [[3, 3], [3, 3]])
        >>> trials.with_trial_correlation(0.5).trial_correlation
        0.5
        """
        if correlation is not None:
            correlation = check_number("trial_correlation", correlation, least=0, most=1)
        copy = self.with_known(self)
        copy.trial_correlation = correlation
        return copy

    def with_known(self, other: ResponseMatrix) -> Self:
        """Return the matrix with what is known of the answers in another one."""
        answers: Any = {"predictions": other.predictions, "source": other.source}
        tables = other.item_table, other.respondent_table, other.metrics
        copy = self.with_tables(*tables, **answers)
        copy.trial_correlation = other.trial_correlation
        return copy

    def part(self, rows: Any, columns: Any = None) -> Self:
        """Return the answers in some rows and columns, by their numbers, without tables."""
        cells = self.cells.part(rows, columns)
        respondents = tuple(self.respondents[k] for k in rows)
        items = self.items if columns is None else tuple(self.items[k] for k in columns)
        return self.of_cells(cells, (respondents, items), self.synthetic[rows])

    def drop(self, respondents: str | Iterable[Hashable]) -> Self:
        """Return the matrix without some respondents, by their labels."""
        names = {*map(str, [respondents] if isinstance(respondents, str) else respondents)}
        if unknown := names.difference(self.respondents):
            raise ValueError(f"drop names {short(min(unknown))}, which no system is called")
        kept = np.flatnonzero([name not in names for name in self.respondents])
        if not len(kept):
            raise ValueError("drop names all respondents")
        return self.part(kept).with_known(self)

    @property
    def traits(self) -> frozenset[str]:
        """Traits that some functions have no meaning for, see `irtkit.capabilities`."""
        table = self.item_table
        declared = table is not None and "kind" in table and (table["kind"] == "levels").any()
        holds = {
            capabilities.LEVELS: declared,
            capabilities.SCORES: self.has_scores,
            capabilities.TRIALS: self.has_repeats,
            capabilities.SPARSE: self.is_sparse,
            capabilities.SYNTHETIC: self.synthetic.any(),
            capabilities.FEW: np.count_nonzero(~self.synthetic) < capabilities.FEWEST,
        }
        return frozenset(trait for trait, held in holds.items() if held)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix keeps only the observed cells."""
        return self.cells.is_sparse

    def to_sparse(self) -> ResponseMatrix:
        """Return the same matrix with only the observed cells kept, see `from_long`."""
        names = self.respondents, self.items
        return self.of_cells(self.cells.to_sparse(), names, self.synthetic).with_known(self)

    def to_dense(self) -> ResponseMatrix:
        """Return the same matrix with every cell in a table, however large that is."""
        names = self.respondents, self.items
        return self.of_cells(self.cells.to_dense(), names, self.synthetic).with_known(self)

    @property
    def has_repeats(self) -> bool:
        """Whether some cell has more than one trial, so that `values` is refused."""
        return self.cells.has_repeats

    @property
    def has_scores(self) -> bool:
        """Whether some cell has a score between 0 and 1, so that `values` is refused."""
        return self.cells.has_scores

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
        return self.n_respondents * self.n_items - self.cells.n_observed

    @property
    def T(self) -> ResponseMatrix:  # noqa: N802 - the name that NumPy and pandas give it
        """The matrix with rows and columns exchanged, for a table with items in its rows."""
        if self.synthetic.any():
            raise ValueError("synthetic respondents are not items: transpose before adding them")
        turned = self.of_cells(self.cells.transposed(), (self.items, self.respondents))
        metrics = self.metrics
        swapped = {"respondent": "item", "item": "respondent"}
        metrics = None if metrics is None else metrics.rename(columns=swapped)
        tables = self.respondent_table, self.item_table, metrics
        return turned.with_tables(*tables, source=self.source)

    def to_frame(self) -> pd.DataFrame:
        """Return the wide table: index respondents, columns items, Int8 cells, missing as NA.

        Scores between 0 and 1, and shares of repeated trials that are right, are in 32 bits, with
        missing as NaN.
        """
        import pandas as pd

        index, columns = (
            pd.Index(self.respondents, name="respondent"),
            pd.Index(self.items, name="item"),
        )
        if self.has_scores or self.has_repeats:
            return pd.DataFrame(self.scores, index, columns)
        frame = pd.DataFrame(self.values, index, columns)
        return frame.astype("Int8").mask(frame == MISSING)

    def __eq__(self, other: object) -> bool:
        """Return whether labels, cells and synthetic marks are the same, dense or sparse."""
        if not isinstance(other, ResponseMatrix):
            return NotImplemented
        return (
            self.respondents == other.respondents
            and self.items == other.items
            and self.cells == other.cells
            and np.array_equal(self.synthetic, other.synthetic)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shape = self.n_respondents * self.n_items
        n_observed = self.cells.n_observed
        shown = counted(self.n_respondents, "system")
        if n_synthetic := int(self.synthetic.sum()):
            shown += f" ({n_synthetic} synthetic)"
        shown += f" × {counted(self.n_items, 'item')}"
        if self.is_sparse:
            shown += f", sparse with {counted(n_observed, 'cell')} observed"
        elif n_observed < shape:
            shown += f", {1 - n_observed / shape:.1%} missing"
        if self.has_scores:
            shown += ", scores"
        if capabilities.LEVELS in self.traits:
            shown += ", levels"
        elif self.has_repeats:
            mean = self.cells.stored[1].sum(dtype=np.int64) / n_observed
            shown += f", {f'{mean:.1f}'.removesuffix('.0')} trials a cell on average"
        return f"ResponseMatrix({shown})"


def item_texts(responses: ResponseMatrix | None) -> pd.DataFrame | None:
    """Text and target of the items, as far as they are known, else None."""
    if responses is None or responses.item_table is None:
        return None
    table = responses.item_table
    return table[[name for name in ("text", "target") if name in table.columns]]


def _by_label(kind: str, table: pd.DataFrame | None, labels: tuple[str, ...]) -> Any:
    if table is None:
        return None
    check_unique(f"{kind}_table must have one row per {kind}", table.index)
    return table.set_axis(table.index.map(str), axis=0).reindex(labels).rename_axis(kind)


def _metrics(
    metrics: pd.DataFrame | None, respondents: tuple[str, ...], items: tuple[str, ...]
) -> pd.DataFrame | None:
    """Metrics of the answers to these items by these respondents."""
    if metrics is None:
        return None
    needed = ("respondent", "item", "metric", "value")
    table = metrics[[*needed]].astype(dict.fromkeys(needed[:3], "category"))
    for kind, labels in (("respondent", respondents), ("item", items)):
        table[kind] = table[kind].cat.rename_categories(str).cat.set_categories(labels)
    kept: pd.DataFrame = table.dropna(subset=["respondent", "item"]).reset_index(drop=True)
    return kept.assign(metric=kept["metric"].cat.remove_unused_categories())


def _as_table(values: Any, argument: str) -> Array:
    """Array of two dimensions with NaN where cells are masked."""
    if isinstance(values, list | tuple):
        check_unmasked(argument, values)
    if isinstance(values, np.ma.MaskedArray):
        kind = np.float64 if values.dtype.kind in "biuf" else object
        values = np.ma.filled(values.astype(kind), np.nan)
    cells = np.asarray(values)
    if cells.dtype.kind in "US" and not hasattr(values, "dtype"):
        cells = np.array(values, dtype=object)  # NumPy makes 'Fals' of False next to text
    if cells.ndim != 2 or not cells.size:
        raise ValueError(
            f"{argument} must be a table of 2 dimensions, respondents × items, with at least one "
            f"cell, got shape {cells.shape}"
        )
    return cells
