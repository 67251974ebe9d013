"""Two ways to compute: NumPy for ordinary matrices, compiled JAX programs for large ones.

A JAX program takes seconds to compile for each shape of matrix, and then runs about twice as fast
as NumPy, on all cores or on an accelerator. A fit to an ordinary matrix is over in NumPy before
a program would have been compiled; so it is where answers are complete and there is no guessing,
of any size, because products with packed answers are look-ups.

Posteriors as weights at the nodes, which standard errors and learning from other items want once
or a few times, come from NumPy too.

Sparse rows, of any size, are for NumPy and the sparse products of SciPy: an evaluation costs as
many multiplications as there are responses times curve points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from irtkit.data.patterns import BLOCK, float_blocks
from irtkit.quadrature import formulas, tabulated
from irtkit.quadrature.formulas import Inputs, Rows, Traits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jax.sharding import Mesh
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Items
    from irtkit.quadrature.formulas import Grid, Posteriors, Sums

_MANY_CELLS = 2**22
"""Cells from which on JAX computes products over items."""
_ROWS_PER_ITEM = 10
"""Respondents per item from which on a table of scores costs less than posteriors at nodes."""
_TABLE = BLOCK // 2
"""Numbers in a table that NumPy works on at once: half of what fits a processor's second
cache, beside their exponentials."""
_ZERO_BELOW = -40.0
"""Log weight, relative to the largest, that is taken for 0: e⁻⁴⁰ is below the rounding of either
type of number, and products of two weights stay numbers that 32 bits hold at full speed."""


class Engine(Protocol):
    """Computes the marginal likelihood of one response matrix."""

    patterns: Patterns

    def sums(self, items: Items, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""

    def posteriors(self, items: Items, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""


def engine_of(patterns: Patterns, *, with_guessing: bool, mesh: Mesh | None = None) -> Engine:
    """Return the engine that suits the matrix, or computes on the devices of a mesh."""
    by_score = patterns.complete and not with_guessing
    few = by_score or patterns.cells.size < _MANY_CELLS
    if patterns.sparse or (few and mesh is None):
        return NumpyEngine(patterns)
    from irtkit.quadrature.compiled import JaxEngine

    return JaxEngine(patterns, mesh)


class NumpyEngine:
    """Computes with NumPy, and with SciPy where rows are sparse."""

    xp: Any = np

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.traits = Traits(patterns.complete, patterns.sparse)
        self.scores, self.right_sums = patterns.scores, patterns.right_sums
        many = patterns.n > _ROWS_PER_ITEM * patterns.cells.shape[1]
        packed = patterns.complete and patterns.packed is not None
        self._by_score = many and packed and not patterns.grouped
        """Whether respondents are many and their posteriors depend on their scores alone, but for
        guessing."""

    def sums(self, items: Items, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""
        inputs = self.inputs(items, grid)
        if items.logit_guessing is not None or not self._by_score:
            return formulas.sums(self, self.traits._replace(exact=exact), inputs)
        shared = formulas.curves(self, self.traits, inputs)
        totals = tabulated.summed(inputs, self.patterns, tabulated.Table(inputs, shared))
        return formulas.assembled(self, self.traits, inputs, shared, totals)

    def posteriors(self, items: Items, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        inputs = self.inputs(items, grid)
        if items.logit_guessing is not None or not self._by_score:
            return formulas.posteriors(self, self.traits, inputs)
        table = tabulated.Table(inputs, formulas.curves(self, self.traits, inputs), fine=True)
        return tabulated.posteriors(inputs, self.patterns, table)

    def inputs(self, items: Items, grid: Grid) -> Inputs:
        """What one evaluation is made of."""
        p = self.patterns
        rows = Rows(p.cells, p.trials, p.group if p.grouped else None, p.frequency)
        return Inputs(rows, p.margins.item_right, p.multiplicity, items, grid)

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: Rows, n_nodes: int
    ) -> tuple[Any, Any]:
        """Go over slices of the matrix."""
        if self.traits.sparse:
            # each part also costs a table by item and point
            return _over_slices(step, start, rows, n_nodes, 4 * BLOCK)
        # where scores do not tell all, cells come into products as well
        width = 0 if self.traits.complete and rows.score is not None else rows.cells.shape[1]
        return _over_slices(step, start, rows, max(n_nodes, width // 2), _TABLE)

    def over_items(
        self,
        step: Callable[..., Any],
        start: Any,
        arrays: tuple[Any, ...],
        fills: tuple[float, ...],
        n_points: int,
    ) -> tuple[Any, Any]:
        """Go over slices of the items; the last may be smaller."""
        del fills
        return _over_slices(step, start, arrays, n_points, _TABLE)


class Part(NamedTuple):
    """Some respondents and their posteriors."""

    respondents: slice
    right: Any
    """Right responses, (n, n_items); sparse if the cells are."""
    answered: Any
    """Responses, as `right`; None with complete data."""
    weights: NDArray[np.floating[Any]]
    """Shape (n_nodes, n), columns summing to 1."""
    counted: NDArray[np.floating[Any]]
    """The same times how many respondents share each pattern."""


def posterior_weights(
    patterns: Patterns, items: Items, grid: Grid, dtype: Any = np.float64
) -> Iterator[Part]:
    """Posteriors of all respondents, and their responses, as numbers of a type.

    In 32 bits the log weight of a node is off by some 1e-7 of the log-likelihood of a respondent,
    at random: with a few hundred items by 1e-5.
    """
    engine = NumpyEngine(patterns)
    inputs = engine.inputs(items, grid)
    shared = formulas.curves(engine, engine.traits, inputs)
    shared = formulas.Curves(*(None if part is None else part.astype(dtype) for part in shared))
    theta = grid.nodes.theta.astype(dtype)
    nodes = formulas.Grid(grid.nodes._replace(theta=theta), grid.log_weights.astype(dtype))
    inputs = inputs._replace(grid=nodes)
    scores = None
    if items.logit_guessing is None:
        scores = patterns.scores(patterns.copies(items.slope)).astype(dtype)
    least = np.asarray(2 * np.exp(_ZERO_BELOW), dtype=dtype)
    for some, right, answered in float_blocks(patterns, n_points=len(theta), dtype=dtype):
        group = patterns.group[some] if patterns.grouped else None
        frequency = None if patterns.frequency is None else patterns.frequency[some].astype(dtype)
        score = None if scores is None else scores[some]
        extra = answered if answered is None or patterns.sparse else answered - dtype(1)
        answers = formulas.Answers(group, frequency, score, right, extra)
        weights = formulas.log_joint(inputs, shared, answers)
        weights -= weights.max(axis=0)
        np.exp(np.maximum(weights, _ZERO_BELOW, out=weights), out=weights)
        np.multiply(weights, weights > least, out=weights)
        weights /= weights.sum(axis=0)
        counted = weights if frequency is None else weights * frequency
        yield Part(some, right, answered, weights, counted)


def _over_slices(
    step: Callable[..., Any],
    start: Any,
    arrays: tuple[Any, ...],
    n_points: int,
    at_once: int,
) -> tuple[Any, Any]:
    n = next(array.shape[0] for array in arrays if array is not None)
    n_parts = max(1, round(n * n_points / at_once))
    size = -(-n // n_parts)
    total, found = start, []
    for first in range(0, n, size):
        part = tuple(None if a is None else a[first : first + size] for a in arrays)
        total, values = step(total, part)
        found.append(values)
    if len(found) == 1:
        return total, found[0]
    parts = zip(*found, strict=True)
    return total, tuple(None if part[0] is None else np.concatenate(part) for part in parts)
