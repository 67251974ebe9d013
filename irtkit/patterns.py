"""The response matrix as plain arrays, with respondents in groups, and its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.packed import Packed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.responses import ResponseMatrix

    Array = NDArray[np.float64]

REAL, SYNTHETIC, PADDING = 0, 1, 2
"""Groups of respondents; each has an ability distribution of its own, padding has none."""
GROUPS = (REAL, SYNTHETIC)
_CELLS_AT_ONCE = 2**18
_MANY_ROWS = 256
"""Respondents from which on complete data are packed: as many as a byte has values."""


class Patterns(NamedTuple):
    """Responses of respondents in groups."""

    cells: Any
    """Shape (n, n_items): 1, 0 or −1 (missing) in one byte, or successes; or, of a sparse matrix,
    a sparse array of the successes of its observed cells."""
    trials: Any
    """Same shape: how many trials where they were repeated or cells are sparse, else None."""
    group: NDArray[np.int8]
    """Shape (n,): REAL or SYNTHETIC."""
    item_right: Array
    """Shape (2, n_items): right responses of real and of synthetic respondents."""
    item_responses: Array
    """Shape (2, n_items): their responses."""
    respondent_right: Array
    """Shape (n,): right responses of every respondent."""
    respondent_responses: Array
    complete: bool
    """Whether every respondent answered every item once; sparse cells count as incomplete."""
    packed: Packed | None
    """The cells once more, packed, if they are complete and respondents not few."""

    @property
    def n(self) -> int:
        """Number of respondents."""
        return len(self.group)

    @property
    def sparse(self) -> bool:
        """Whether cells are sparse arrays, in which missing cells are not stored."""
        return is_sparse(self.cells)

    @property
    def repeated(self) -> bool:
        """Whether some cell has more than one trial."""
        return bool(self.trials.data.max(initial=0) > 1) if self.sparse else self.trials is not None

    @property
    def real(self) -> NDArray[np.bool_]:
        """Which respondents are real."""
        return np.asarray(self.group == REAL)

    @property
    def n_real(self) -> int:
        """Number of real respondents."""
        return int(self.real.sum())

    @property
    def has_synthetic(self) -> bool:
        """Whether any respondent is synthetic."""
        return bool((self.group == SYNTHETIC).any())

    def sums_of(self, weights: Array) -> tuple[Array, Array]:
        """Sums over respondents of a weight times right responses, and times responses."""
        right_sum, answered_sum = np.zeros((2, self.cells.shape[1]))
        if self.packed is not None:
            return self.packed.sums(weights), answered_sum + weights.sum()
        for some, right, answered in float_blocks(self.cells, self.trials, complete=self.complete):
            right_sum += weights[some] @ right
            answered_sum += weights[some].sum() if answered is None else weights[some] @ answered
        return right_sum, answered_sum

    def chosen(self, which: NDArray[Any] | slice) -> Patterns:
        """Return some of the respondents."""
        trials = None if self.trials is None else self.trials[which]
        return with_margins(self.cells[which], trials, self.group[which])


def patterns_of(responses: ResponseMatrix, *, synthetic_is_real: bool) -> Patterns:
    """Patterns of a response matrix."""
    group = np.full(responses.n_respondents, REAL, dtype=np.int8)
    if not synthetic_is_real:
        group[responses.synthetic] = SYNTHETIC
    if responses.is_sparse:
        return with_margins(*responses.observed, group)
    if responses.has_repeats:
        return with_margins(responses.successes, responses.trials, group)
    return with_margins(responses.values, None, group)


def is_sparse(cells: Any) -> bool:
    """Whether cells are a sparse array."""
    return not isinstance(cells, np.ndarray)


def with_margins(cells: Any, trials: Any, group: NDArray[np.int8]) -> Patterns:
    """Patterns with the counts that go with them."""
    complete = trials is None and bool(cells.min() >= 0)
    if complete and len(cells) >= _MANY_ROWS:
        return _packed(cells, group)
    n, n_items = cells.shape
    item_right, item_responses = np.zeros((2, n_items)), np.zeros((2, n_items))
    respondent_right, respondent_responses = np.zeros(n), np.full(n, float(n_items))
    in_group = (group == np.array(GROUPS)[:, None]).astype(np.float64)
    for some, right, answered in float_blocks(cells, trials, complete=complete):
        item_right += in_group[:, some] @ right
        respondent_right[some] = right @ np.ones(n_items)
        if answered is None:
            item_responses += in_group[:, some].sum(axis=1, keepdims=True)
        else:
            item_responses += in_group[:, some] @ answered
            respondent_responses[some] = answered @ np.ones(n_items)
    return Patterns(
        *(cells, trials, group, item_right, item_responses),
        *(respondent_right, respondent_responses, complete, None),
    )


def _packed(cells: Any, group: NDArray[np.int8]) -> Patterns:
    """Patterns of complete data, counted by their bits."""
    bits, (n, n_items) = Packed.of(cells), cells.shape
    item_right, item_responses = np.zeros((2, n_items)), np.zeros((2, n_items))
    for which in GROUPS:
        in_group = group == which
        if in_group.any():
            item_right[which] = bits.sums(in_group)
            item_responses[which] = in_group.sum()
    return Patterns(
        *(cells, None, group, item_right, item_responses),
        *(bits.totals(), np.full(n, float(n_items)), True, bits),
    )


def float_blocks(
    cells: Any,
    trials: Any,
    most_cells: int = _CELLS_AT_ONCE,
    *,
    complete: bool = False,
    n_points: int = 1,
    dtype: Any = np.float64,
) -> Iterator[tuple[slice, Any, Any]]:
    """Right responses and responses (None if complete) as floats, some rows at a time.

    ``n_points`` is how many numbers are worked on for a row besides its cells. What is yielded
    lives until the next part: memory is taken once, which saves time. Of sparse cells it is sparse.
    """
    if is_sparse(cells):
        width = max(cells.nnz // cells.shape[0], n_points, 1)
        yield from _sparse_parts(cells, trials, max(1, most_cells // width), dtype)
        return
    step = max(1, most_cells // max(cells.shape[1], n_points))
    shape = (min(step, len(cells)), cells.shape[1])
    room = np.empty(shape, dtype), None if complete else np.empty(shape, dtype)
    for start in range(0, len(cells), step):
        some = slice(start, min(start + step, len(cells)))
        right = room[0][: some.stop - start]
        np.maximum(cells[some], 0, out=right, casting="unsafe")
        if room[1] is None:
            yield some, right, None
            continue
        answered = room[1][: some.stop - start]
        np.copyto(answered, cells[some] >= 0 if trials is None else trials[some])
        yield some, right, answered


def _sparse_parts(
    cells: Any, trials: Any, step: int, dtype: Any
) -> Iterator[tuple[slice, Any, Any]]:
    for start in range(0, cells.shape[0], step):
        some = slice(start, min(start + step, cells.shape[0]))
        yield some, cells[some].astype(dtype), trials[some].astype(dtype)


def right_of(xp: Any, cells: Any, *, complete: bool = False) -> Any:
    """Right responses of cells, in 64 bits; ``xp`` is NumPy or its counterpart in JAX."""
    return (cells if complete else xp.maximum(cells, 0)).astype(xp.float64)


def answered_of(xp: Any, cells: Any, trials: Any) -> Any:
    """Responses of cells, in 64 bits."""
    return (cells >= 0 if trials is None else trials).astype(xp.float64)
