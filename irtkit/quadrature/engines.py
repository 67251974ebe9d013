"""Two ways to compute: NumPy for ordinary matrices, compiled JAX programs for large ones.

A JAX program takes seconds to compile for each shape of matrix, and then runs a few times as fast
as NumPy, on all cores or on an accelerator. A fit to an ordinary matrix is over in NumPy before
JAX would have been loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from irtkit.quadrature import formulas
from irtkit.quadrature.formulas import Inputs, Kind, RowArrays

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.quadrature.formulas import Grid, Posteriors, Sums
    from irtkit.quadrature.grid import ItemArrays
    from irtkit.quadrature.rows import Rows

_MANY_CELLS = 2**20
"""Cells from which on JAX computes."""
_TABLE = 2**14
"""Numbers in a table that NumPy works on at once: what fits the processor's cache."""


class Engine(Protocol):
    """Computes the marginal likelihood of one response matrix."""

    rows: Rows

    def sums(self, items: ItemArrays, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""

    def posteriors(self, items: ItemArrays, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""


def engine_of(rows: Rows) -> Engine:
    """Return the engine that suits the size of the matrix."""
    if rows.cells.size < _MANY_CELLS:
        return NumpyEngine(rows)
    from irtkit.quadrature.compiled import JaxEngine

    return JaxEngine(rows)


class NumpyEngine:
    """Computes with NumPy."""

    xp: Any = np

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._kind = Kind(rows.complete, rows.has_synthetic, padded=False)
        self._arrays = RowArrays(rows.cells, rows.trials, rows.group)

    def sums(self, items: ItemArrays, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""
        return formulas.sums(self, self._kind._replace(exact=exact), self._inputs(items, grid))

    def posteriors(self, items: ItemArrays, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        return formulas.posteriors(self, self._kind, self._inputs(items, grid))

    def _inputs(self, items: ItemArrays, grid: Grid) -> Inputs:
        return Inputs(self._arrays, self.rows.item_right, items, grid)

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: RowArrays, n_nodes: int
    ) -> tuple[Any, Any]:
        """Go over slices of the matrix."""
        return _over_slices(step, start, tuple(rows), max(n_nodes, rows.cells.shape[1] // 8))

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
        return _over_slices(step, start, arrays, n_points)


def _over_slices(
    step: Callable[..., Any], start: Any, arrays: tuple[Any, ...], n_points: int
) -> tuple[Any, Any]:
    n = next(len(array) for array in arrays if array is not None)
    n_parts = max(1, round(n * n_points / _TABLE))
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
