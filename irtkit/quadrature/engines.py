"""Two ways to compute: NumPy for ordinary matrices, compiled JAX programs for large ones.

A JAX program takes seconds to compile for each shape of matrix, and then runs about twice as fast
as NumPy, on all cores or on an accelerator. A fit to an ordinary matrix is over in NumPy before
a program would have been compiled.

Sparse rows, of any size, are for NumPy and the sparse products of SciPy: an evaluation costs as
many multiplications as there are responses times knots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from irtkit.quadrature import formulas, tabulated
from irtkit.quadrature.formulas import Inputs, Kind, RowArrays

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax.sharding import Mesh

    from irtkit.irf import Items
    from irtkit.packed import Packed
    from irtkit.patterns import Patterns
    from irtkit.quadrature.formulas import Grid, Posteriors, Sums

_MANY_CELLS, _MANY_BY_PRODUCT = 2**21, 2**20
"""Cells from which on JAX computes: complete data without guessing, and all else."""
_ROWS_PER_ITEM = 10
"""Respondents per item from which on a table of scores is worth making."""
_TABLE = 2**15
"""Numbers in a table that NumPy works on at once: what fits the processor's cache."""
_SPARSE_TABLE = 2**20
"""The same with sparse rows, where each part also costs a table by item and knot."""


class Engine(Protocol):
    """Computes the marginal likelihood of one response matrix."""

    rows: Patterns

    def sums(self, items: Items, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""

    def posteriors(self, items: Items, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""


def engine_of(rows: Patterns, *, with_guessing: bool, mesh: Mesh | None = None) -> Engine:
    """Return the engine that suits the matrix, or computes on the devices of a mesh."""
    many = _MANY_CELLS if rows.complete and not with_guessing else _MANY_BY_PRODUCT
    few = rows.cells.size < many or _to_tabulate(rows, with_guessing=with_guessing) is not None
    if rows.sparse or (few and mesh is None):
        return NumpyEngine(rows)
    from irtkit.quadrature.compiled import JaxEngine

    return JaxEngine(rows, mesh)


class NumpyEngine:
    """Computes with NumPy, and with SciPy where rows are sparse."""

    xp: Any = np

    def __init__(self, rows: Patterns) -> None:
        self.rows = rows
        self.kind = Kind(rows.complete, rows.has_synthetic, padded=False, sparse=rows.sparse)
        self._arrays = RowArrays(rows.cells, rows.trials, rows.group)

    def sums(self, items: Items, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""
        inputs = self._inputs(items, grid)
        bits = _to_tabulate(self.rows, with_guessing=items.logit_guessing is not None)
        if bits is not None:
            shared = formulas.curves(self, self.kind, items, grid.nodes)
            totals = tabulated.summed(inputs, bits, tabulated.Table(inputs, shared))
            return formulas.finished(self, self.kind, inputs, shared, totals)
        return formulas.sums(self, self.kind._replace(exact=exact), inputs)

    def posteriors(self, items: Items, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        inputs = self._inputs(items, grid)
        bits = _to_tabulate(self.rows, with_guessing=items.logit_guessing is not None)
        if bits is not None:
            shared = formulas.curves(self, self.kind, items, grid.nodes)
            return tabulated.posteriors(inputs, bits, tabulated.Table(inputs, shared, fine=True))
        return formulas.posteriors(self, self.kind, inputs)

    def _inputs(self, items: Items, grid: Grid) -> Inputs:
        return Inputs(self._arrays, self.rows.item_right, items, grid)

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: RowArrays, n_nodes: int
    ) -> tuple[Any, Any]:
        """Go over slices of the matrix."""
        if self.kind.sparse:
            return _over_slices(step, start, tuple(rows), n_nodes, _SPARSE_TABLE)
        # rows of the matrix are widened once if complete, and come into products if not
        cells = rows.cells.shape[1] // (8 if self.kind.complete else 2)
        return _over_slices(step, start, tuple(rows), max(n_nodes, cells), _TABLE)

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


def _to_tabulate(rows: Patterns, *, with_guessing: bool) -> Packed | None:
    """Answers of respondents who are many and whose posteriors depend on their scores alone."""
    by_score = not with_guessing and not rows.has_synthetic
    return rows.packed if by_score and rows.n > _ROWS_PER_ITEM * rows.cells.shape[1] else None


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
