"""Response patterns: the response matrix as plain arrays, with its margins.

Respondents are in groups, and each group has its own ability distribution. Respondents with the
same responses are one pattern with a frequency (Bock & Aitkin 1981). Items with the same responses
are one item with a multiplicity. The likelihood is a sum over both, so each distinct row and column
is computed once. Language models often answer alike: of 41,871 items that 12 of them answered,
2,099 are distinct.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

    Places = NDArray[np.intp]
    Mask = NDArray[np.bool_]

REAL, SYNTHETIC = 0, 1  # Groups of respondents; further groups of real ones are 2, 3, …
SCORE_TRIALS = 10_000
"""Trials that a score between 0 and 1 is the mean of: as good as infinitely many."""
BLOCK = 2**18  # Numbers worked on at once: 2 MiB, what a processor's second cache holds.
MANY_ROWS = 256  # Respondents from which on answers are packed: as many as a byte has values.
_KEPT_CELLS = 2**20  # Cells up to which answers are kept in 64 bits: products take half as long.
_WORTH_MERGING = 0.75  # Share of distinct rows or columns below which copies are merged.
_PER_BYTE, _BYTES = 8, 256
_BITS = (np.arange(_BYTES)[:, None] >> np.arange(_PER_BYTE) & 1).astype(np.float64)
"""The answers that a byte stands for, (256, 8)."""


def blocks(n: int, width: int, most: int = BLOCK) -> Iterator[slice]:
    """Slices of n rows, each with at most ``most`` numbers if a row has ``width`` of them."""
    step = max(1, most // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def drawn(places: Places, most: int) -> Places:
    """At most so many of some places, drawn with a seed of their own, in order."""
    if len(places) <= most:
        return places
    return np.sort(np.random.default_rng(0).choice(places, most, replace=False))


class Packed(NamedTuple):
    """Right answers, eight items to a byte, as set bits.

    The contribution of eight items to a weighted score is one of 256 sums. A product with the
    matrix therefore takes one look-up for eight cells. A product with its transpose first adds up
    weights by byte (the "method of the four Russians"). Sums are in 64 bits.
    """

    groups: NDArray[np.uint8]
    """Shape (n_groups, n): answers to eight items by every respondent, the first item lowest."""
    n_items: int

    @classmethod
    def of(cls, cells: NDArray[np.int8 | np.bool_]) -> Packed:
        """Pack a matrix of 0, 1 and −1 (missing, packed as 0), respondents × items."""
        bits = (cells[rows].T > 0 for rows in blocks(*cells.shape))
        parts = [np.packbits(part, axis=0, bitorder="little") for part in bits]
        return cls(np.concatenate(parts, axis=1), cells.shape[1])

    def scores(self, by_item: Array) -> Array:
        """Sum of the weights of the items that each respondent got right, (n,)."""
        weights = np.zeros((len(self.groups), _PER_BYTE))
        weights.flat[: self.n_items] = by_item
        tables = weights @ _BITS.T
        total, part = np.zeros((2, self.groups.shape[1]))
        for table, group in zip(tables, self.groups, strict=True):
            # a byte is never out of bounds; told so, NumPy writes to `out` without a copy of it
            total += table.take(group, out=part, mode="clip")
        return total

    def sums(self, by_respondent: Array | NDArray[np.bool_]) -> Array:
        """Sum of the weights of the respondents who got each item right, (n_items,)."""
        weights = np.asarray(by_respondent, dtype=np.float64)
        by_byte = [np.bincount(group, weights, _BYTES) for group in self.groups]
        return np.asarray((np.stack(by_byte) @ _BITS).ravel()[: self.n_items])


class Patterns:
    """Responses of respondents in groups.

    Parameters
    ----------
    cells
        Shape (n, n_columns): 1, 0 or −1 (missing) in one byte, or successes, or scores. If the
        matrix is sparse, a sparse array of the successes of its observed cells.
    trials
        Same shape: how many trials where they were repeated or cells are sparse, else None.
    group
        Shape (n,): REAL, SYNTHETIC, or a further group of real respondents.
    frequency
        Shape (n,): how many respondents share each pattern. None means one each.
    multiplicity
        Shape (n_columns,): how many items share each column. None means one each.
    scored
        Shape (n_columns,): which items have scores between 0 and 1, of one trial each. None means
        that no item has, or that scores are multiplied by their trials already.
    """

    def __init__(
        self,
        cells: Any,
        trials: Any,
        group: NDArray[np.signedinteger[Any]],
        frequency: Array | None = None,
        multiplicity: Array | None = None,
        scored: NDArray[np.bool_] | None = None,
    ) -> None:
        self.cells, self.trials, self.group, self.scored = cells, trials, group, scored
        self.frequency, self.multiplicity = frequency, multiplicity
        self.n = len(group)
        self.sparse = not isinstance(cells, np.ndarray)
        """Whether cells are sparse arrays, in which missing cells are not stored."""
        self.complete = not self.sparse and trials is None and bool(cells.min() >= 0)
        """Whether every respondent answered every item once; sparse cells count as incomplete."""
        self.real: NDArray[np.bool_] = group != SYNTHETIC
        """Which patterns are those of real respondents."""
        self.has_synthetic = not self.real.all()
        self.grouped = bool(group.any())  # Whether some respondent is in another group than REAL.
        self.n_items = int(cells.shape[1] if multiplicity is None else multiplicity.sum())
        """Number of items, each as many times as it occurs."""
        self.weight = np.ones(self.n) if frequency is None else frequency
        """How many respondents each pattern counts for."""
        self.n_respondents = int(self.weight.sum())
        self.n_real = int(self.weight[self.real].sum())

    @property
    def repeated(self) -> bool:
        """Whether some cell has more than one trial, or a score."""
        if self.sparse:
            return self.scored is not None or bool(self.trials.data.max(initial=0) > 1)
        return self.trials is not None

    @cached_property
    def answering(self) -> NDArray[np.bool_]:
        """Whether each pattern belongs to real respondents with a response, (n,)."""
        return np.asarray(self.real & (self.margins.respondent_responses > 0))

    @property
    def n_answering(self) -> int:
        """Number of real respondents with a response."""
        return int(self.weight[self.answering].sum())

    @cached_property
    def packed(self) -> Packed | None:
        """Right answers packed, if they are many and cells hold one trial each."""
        few = self.n < MANY_ROWS or self.cells.size <= _KEPT_CELLS
        if self.sparse or self.trials is not None or few:
            return None
        return Packed.of(self.cells)

    @cached_property
    def _observed(self) -> Packed | None:
        """Observed cells packed, if right answers are and some cell is missing."""
        return None if self.packed is None else Packed.of(self.cells >= 0)

    @cached_property
    def _kept(self) -> Any:
        """Right answers and responses to multiply with: sparse, or few and in 64 bits."""
        if self.sparse:
            return self.cells, self.trials
        return self.dense() if self.cells.size <= _KEPT_CELLS else None

    @cached_property
    def margins(self) -> Margins:
        """Right responses and responses by item and by respondent."""
        columns = self.cells.shape[1]
        n_groups = max(2, int(self.group.max()) + 1)
        item_right, item_responses = np.zeros((2, n_groups, columns))
        for group in range(n_groups):
            if (self.group == group).any():
                weight = self.weight * (self.group == group)
                item_right[group] = self.right_sums(weight)
                item_responses[group] = self.response_sums(weight)
        ones = np.ones(columns) if self.multiplicity is None else self.multiplicity
        return Margins(item_right, item_responses, self.scores(ones), self.response_scores(ones))

    @property
    def counts(self) -> Counts:
        """Counts of all responses, those by item of real respondents alone."""
        margins = self.margins
        of_scores = self.cells.dtype.kind == "f" and self.trials.dtype.kind != "f"
        kind = np.float64 if of_scores else np.int64
        return Counts(
            margins.item_right[REAL].astype(kind),
            margins.item_responses[REAL].astype(np.int64),
            margins.respondent_right.astype(kind),
            margins.respondent_responses.astype(np.int64),
        )

    @property
    def points(self) -> Counts:
        """Counts of cells that are points out of as many as there are trials, each one response."""
        share, tried = self.shares()
        return Patterns(share, (tried > 0).astype(np.uint8), self.group).counts

    def copies(self, values: Any) -> Any:
        """Values of every item (first axis), times how many items share its column."""
        if self.multiplicity is None:
            return values
        return values * self.multiplicity.reshape(-1, *[1] * (np.ndim(values) - 1))

    def scores(self, by_item: Array) -> Array:
        """Sum of the weights of the items that each respondent got right, (n,)."""
        return self._by_respondent(by_item, 0, self.packed)

    def right_sums(self, by_respondent: Array) -> Array:
        """Sum of the weights of the respondents who got each item right, (n_items,)."""
        return self._by_item(by_respondent, 0, self.packed)

    def response_scores(self, by_item: Array) -> Array:
        """Sum of the weights of the items that each respondent answered, (n,)."""
        if self.complete:
            return np.full(self.n, by_item.sum())
        return self._by_respondent(by_item, 1, self._observed)

    def response_sums(self, by_respondent: Array) -> Array:
        """Sum of the weights of the respondents who answered each item, (n_items,)."""
        if self.complete:
            return np.full(self.cells.shape[1], by_respondent.sum())
        return self._by_item(by_respondent, 1, self._observed)

    def _by_respondent(self, weights: Array, which: int, packed: Packed | None) -> Array:
        """Product with right answers (0) or responses (1)."""
        if packed is not None:
            return packed.scores(weights)
        if self._kept is not None:
            return np.asarray(self._kept[which] @ weights)
        products = []
        for _, *numbers in float_blocks(self, complete=which == 0):
            products.append(numbers[which] @ weights)
        return np.concatenate(products)

    def _by_item(self, weights: Array, which: int, packed: Packed | None) -> Array:
        """Product with right answers (0) or responses (1), transposed."""
        if packed is not None:
            return packed.sums(weights)
        if self._kept is not None:
            return np.asarray(weights @ self._kept[which])
        total = np.zeros(self.cells.shape[1])
        for rows, *numbers in float_blocks(self, complete=which == 0):
            total += weights[rows] @ numbers[which]
        return total

    def dense(
        self, rows: Any = slice(None), items: Any = slice(None), dtype: Any = np.float64
    ) -> tuple[Any, Any]:
        """Right responses, 0 where missing, and how many there are, of some rows and items."""
        right = self.cells[rows][:, items]
        trials: Any = None if self.trials is None else self.trials[rows][:, items]
        if self.sparse:
            right = right.toarray()
            trials = trials.toarray()
        right = np.ascontiguousarray(right)  # columns that were picked lie one after another
        tried = right >= 0 if trials is None else trials
        return np.maximum(right, 0).astype(dtype), tried.astype(dtype, order="C")

    def shares(
        self, rows: Any = slice(None), items: Any = slice(None), dtype: Any = np.float64
    ) -> tuple[Any, Any]:
        """Proportions right of the trials of cells, 0 where missing, and how many these are."""
        right, tried = self.dense(rows, items, dtype)
        share = right if self.trials is None else right / np.maximum(tried, 1)
        return share, tried

    def chosen(self, which: NDArray[Any] | slice) -> Patterns:
        """Return some of the patterns."""
        frequency = None if self.frequency is None else self.frequency[which]
        trials = None if self.trials is None else self.trials[which]
        cells = self.cells[which]
        group = self.group[which]
        return Patterns(cells, trials, group, frequency, self.multiplicity, self.scored)

    def with_weights(self, frequency: Array | None, multiplicity: Array | None = None) -> Patterns:
        """Return the same rows and columns with other frequencies and multiplicities."""
        return Patterns(self.cells, self.trials, self.group, frequency, multiplicity, self.scored)

    def column_keys(self, generator: np.random.Generator) -> Array:
        """Sums with random weights, the same for items with identical responses, (n_columns,)."""
        weights = generator.integers(1, self.most_weight // 2, size=(2, self.n)).astype(np.float64)
        keys = self.right_sums(weights[0])
        return keys if self.complete else keys + self.response_sums(weights[1])

    @property
    def most_weight(self) -> int:
        """Bound of random whole weights whose sums are exact in 64 bits, whatever their order.

        Copies then have the same sum. From 2⁵⁰ trials on they may go unnoticed.
        """
        trials = 1 if self.trials is None else int(self.trials.max())
        return max(2**52 // (int(max(self.cells.shape)) * trials), 4)

    def with_trial_correlation(self, correlation: Any) -> Patterns:
        """Return the same cells, n trials of one counting for n/(1 + (n − 1) · correlation).

        A score is `SCORE_TRIALS` trials. Dense cells may have a correlation for each item.
        """
        if not self.repeated or (not np.any(correlation) and self.scored is None):
            return self
        worth = self.score_worth(correlation)
        return self._times(worth, lambda n: 1 / (1 + np.maximum(n - 1, 0) * correlation))

    def with_scored(self, scored: NDArray[np.bool_]) -> Patterns:
        """Return the same cells, with scores for some items, those of others for one trial each."""
        if self.scored is None and not scored.any():
            return self
        cells = self.cells
        trials = self.trials
        if trials is None:
            cells, trials = np.maximum(cells, 0), (cells >= 0).astype(np.uint8)
        of_items = scored if scored.any() else None
        return Patterns(cells, trials, self.group, self.frequency, self.multiplicity, of_items)

    def with_item_weights(self, weights: Array) -> Patterns:
        """Return the same shares right, the numbers of every item times its weight."""
        return self._times(weights, np.ones_like)

    def score_worth(self, correlation: Any) -> Any:
        """Trials that a score of every item is worth, 1 for items of right and wrong."""
        if self.scored is None:
            return 1.0
        correlation = 0.0 if correlation is None else correlation
        return np.where(self.scored, SCORE_TRIALS / (1 + (SCORE_TRIALS - 1) * correlation), 1.0)

    def with_most_trials(self, most: int = 100_000) -> Patterns:
        """Return the same proportions, with at most ``most`` trials in a cell.

        Time grows with the square root of trials. With 10⁷ in each of 30 × 6 cells in place of 10⁵,
        estimates of items change by 0.01 standard errors and their errors by 2 %.
        """
        if self.trials is None or self.scored is not None or self.trials.max() <= most:
            return self
        return self._times(1.0, lambda n: np.minimum(most / np.maximum(n, 1), 1))

    def _times(self, by_item: Any, by_trials: Callable[[Array], Array]) -> Patterns:
        """Multiply the numbers of every cell by a factor of its item and one of its trials."""
        right = self.cells.astype(np.float32)
        tried = self.trials.astype(np.float32)
        if self.sparse:
            factor = np.broadcast_to(by_item, self.cells.shape[1])[tried.indices]
            factor = (factor * by_trials(tried.data)).astype(np.float32)
            right.data *= factor
            tried.data *= factor
        else:
            factor = (by_item * by_trials(tried)).astype(np.float32)
            right *= factor
            tried *= factor
        return Patterns(right, tried, self.group, self.frequency, self.multiplicity)

    def with_columns(self, columns: Places) -> Patterns:
        """Return some items, or the same several times, each as one."""
        if self.sparse:
            cells = self.cells[:, columns]
            trials = self.trials[:, columns]
        else:
            cells = np.ascontiguousarray(self.cells[:, columns])
            trials = None if self.trials is None else np.ascontiguousarray(self.trials[:, columns])
        scored = None if self.scored is None else self.scored[columns]
        return Patterns(cells, trials, self.group, self.frequency, None, scored)


class Counts(NamedTuple):
    """Counts of responses, in trials. Counts by item include real respondents only.

    Sums of scores stand for counts of right responses.
    """

    item_right: NDArray[Any]
    item_responses: NDArray[np.int64]
    respondent_right: NDArray[Any]
    respondent_responses: NDArray[np.int64]

    @property
    def average_error(self) -> Array:
        """Share wrong of the counted responses to every item, NaN without any."""
        return _share(self.item_responses - self.item_right, self.item_responses)

    @property
    def all_wrong(self) -> NDArray[np.bool_]:
        """Items with responses, none of them right."""
        return np.asarray((self.item_responses > 0) & (self.item_right == 0))

    @property
    def all_right(self) -> NDArray[np.bool_]:
        """Items with responses, none of them wrong."""
        return np.asarray((self.item_responses > 0) & (self.item_right == self.item_responses))

    @property
    def accuracy(self) -> Array:
        """Proportion correct of every respondent, NaN without responses."""
        return _share(self.respondent_right, self.respondent_responses)


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Array:
    share = np.full(len(whole), np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


class Margins(NamedTuple):
    """Counts of responses, in trials."""

    item_right: Array  # Of every group, two at least: (n_groups, n_items).
    item_responses: Array
    respondent_right: Array
    respondent_responses: Array


def patterns_of(responses: ResponseMatrix, *, synthetic_is_real: bool) -> Patterns:
    """Patterns of a response matrix, one for every respondent."""
    synthetic = responses.synthetic & (not synthetic_is_real)
    group = np.where(synthetic, SYNTHETIC, REAL).astype(np.int8)
    return Patterns(*responses.cells.stored, group, scored=responses.cells.scored)


def part_of(patterns: Patterns, rows: Places, columns: Places) -> Patterns:
    """Return some respondents and items, or the same patterns if all are chosen."""
    if (len(rows), len(columns)) == patterns.cells.shape:
        return patterns
    return patterns.chosen(rows).with_columns(columns)


def merged(whole: Patterns, of_items: Array | None = None) -> tuple[Patterns, Places, Places]:
    """Merge identical rows and columns, where there are many; with the places of all in them.

    ``of_items``, (k, n_columns), is what identical columns must have in common as well.
    """
    n, columns = whole.cells.shape
    patterns = whole
    respondents = np.arange(n)
    items = np.arange(columns)
    if whole.sparse:
        return patterns, respondents, items
    generator = np.random.default_rng(0)
    weights = generator.integers(1, whole.most_weight // 2, size=(2, columns)).astype(np.float64)
    keys = whole.group * float(whole.most_weight) + whole.scores(weights[0])
    keys += 0.0 if whole.complete else whole.response_scores(weights[1])
    copies = _duplicates(keys, whole.cells, whole.trials, whole.group)
    if copies is not None:
        first, respondents = copies
        frequency = np.bincount(respondents).astype(np.float64)
        patterns = patterns.chosen(first).with_weights(frequency)
    totals = patterns.margins.item_right.sum(axis=0)
    if len(np.unique(totals)) > _WORTH_MERGING * columns:  # copies have equal totals
        return patterns, respondents, items
    keys = patterns.column_keys(generator)
    trials = patterns.trials
    if of_items is not None:
        alike = np.unique(np.vstack([keys, of_items]), axis=1, return_inverse=True)[1]
        keys = alike.ravel().astype(np.float64)
    copies = _duplicates(keys, patterns.cells.T, None if trials is None else trials.T)
    if copies is not None:
        first, items = copies
        multiplicity = np.bincount(items).astype(np.float64)
        patterns = patterns.with_columns(first).with_weights(patterns.frequency, multiplicity)
    return patterns, respondents, items


def _duplicates(keys: Array, *tables: Any) -> tuple[Places, Places] | None:
    """First of each set of copies, and the set of every row, or None if there are few copies."""
    if len(np.unique(keys)) > _WORTH_MERGING * len(keys):
        return None
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    for table in tables:  # different rows may have one key, if hardly ever
        if table is None:
            continue
        for rows in blocks(len(keys), table[:1].size):
            if (table[rows] != table[first[place[rows]]]).any():
                return None
    return first, place


def float_blocks(
    patterns: Patterns, *, complete: bool | None = None, n_points: int = 1, dtype: Any = np.float64
) -> Iterator[tuple[slice, Any, Any]]:
    """Right responses and responses (None if complete) as floats, some rows at a time.

    ``n_points`` is how many numbers are worked on for a row besides its cells. What is yielded
    lives until the next part: memory is taken once, which saves time. Of sparse cells it is sparse.
    """
    cells = patterns.cells
    trials = patterns.trials
    n, columns = cells.shape
    if patterns.sparse:
        for rows in blocks(n, max(cells.nnz // n, n_points)):
            yield rows, cells[rows].astype(dtype), trials[rows].astype(dtype)
        return
    complete = patterns.complete if complete is None else complete
    parts = list(blocks(n, max(columns, n_points)))
    room = np.empty((2, parts[0].stop, columns), dtype)
    for rows in parts:
        right, answered = room[:, : rows.stop - rows.start]
        np.copyto(right, cells[rows] > 0 if trials is None else cells[rows])
        if not complete:
            np.copyto(answered, cells[rows] >= 0 if trials is None else trials[rows])
        yield rows, right, None if complete else answered
