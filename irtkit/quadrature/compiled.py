"""The formulas as compiled JAX programs, for large matrices and accelerators."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from irtkit.quadrature import formulas
from irtkit.quadrature.formulas import Inputs, Kind, Posteriors, RowArrays, Sums
from irtkit.quadrature.rows import PADDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from irtkit.quadrature.formulas import Grid
    from irtkit.quadrature.grid import ItemArrays
    from irtkit.quadrature.rows import Rows

_TYPICAL_NODES = 48
_TABLE, _CELLS = 2**18, 2**20
"""Numbers in a table, and cells of the matrix, that are worked on at once."""
_MOST_PROGRAMS = 40
_compiled_for: set[tuple[Any, ...]] = set()


class JaxEngine:
    """Computes with JAX, in 64 bits set locally.

    The matrix is kept on the device in one byte a cell, its rows padded to whole parts.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        n, n_items = rows.cells.shape
        n_parts = max(-(-n * n_items // _CELLS), -(-n * _TYPICAL_NODES // _TABLE))
        size = -(-n // n_parts)
        padding = -n % size
        self._kind = Kind(rows.complete, rows.has_synthetic, padded=padding > 0)

        def cut(table: Any, fill: int = 0) -> Any:
            if table is None:
                return None
            widths = [(0, padding)] + [(0, 0)] * (table.ndim - 1)
            padded = np.pad(table, widths, constant_values=fill) if padding else table
            return jnp.asarray(padded.reshape(-1, size, *table.shape[1:]))

        self._arrays = RowArrays(cut(rows.cells), cut(rows.trials), cut(rows.group, PADDING))
        _remember_program((self._kind, self._arrays.cells.shape))

    def sums(self, items: ItemArrays, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""
        return Sums(*self._run(_sums, self._kind._replace(exact=exact), items, grid))

    def posteriors(self, items: ItemArrays, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        n = len(self.rows.group)
        return Posteriors(*(part[:n] for part in self._run(_posteriors, self._kind, items, grid)))

    def _run(self, program: Any, kind: Kind, items: ItemArrays, grid: Grid) -> Iterator[Any]:
        inputs = Inputs(self._arrays, self.rows.item_right, items, grid)
        with jax.enable_x64(new_val=True), jax.default_matmul_precision("highest"):
            return map(np.asarray, program(_PARTS, kind, inputs))


class _Parts:
    """Goes over parts by ``jax.lax.scan``."""

    xp: Any = jnp

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: RowArrays, n_nodes: int
    ) -> tuple[Any, Any]:
        """Go over the parts that the matrix was cut into."""
        del n_nodes
        return _scan(step, start, tuple(rows))

    def over_items(
        self,
        step: Callable[..., Any],
        start: Any,
        arrays: tuple[Any, ...],
        fills: tuple[float, ...],
        n_points: int,
    ) -> tuple[Any, Any]:
        """Go over equal parts of the items."""
        n = next(array.shape[0] for array in arrays if array is not None)
        size = -(-n // -(-n * n_points // _TABLE))

        def cut(array: Any, fill: float) -> Any:
            widths = [(0, -n % size)] + [(0, 0)] * (array.ndim - 1)
            padded = jnp.pad(array, widths, constant_values=fill)
            return padded.reshape(-1, size, *array.shape[1:])

        parts = tuple(
            None if array is None else cut(array, fill)
            for array, fill in zip(arrays, fills, strict=True)
        )
        total, found = _scan(step, start, parts)
        return total, jax.tree.map(lambda table: table[:n], found)


_PARTS = _Parts()


def _scan(step: Callable[..., Any], start: Any, parts: tuple[Any, ...]) -> tuple[Any, Any]:
    """Scan, without a loop where there is one part only: it compiles faster."""
    if jax.tree.leaves(parts)[0].shape[0] == 1:
        total, found = step(start, jax.tree.map(lambda part: part[0], parts))
        return total, found
    total, found = jax.lax.scan(step, start, parts)
    return total, jax.tree.map(lambda table: table.reshape(-1, *table.shape[2:]), found)


def _remember_program(key: tuple[Any, ...]) -> None:
    """Drop compiled programs once there are many.

    Each shape of matrix is compiled for itself and holds some 400 memory maps, of which Linux
    grants a process 65,530; without a limit, a study over hundreds of shapes would crash.
    """
    if key not in _compiled_for and len(_compiled_for) >= _MOST_PROGRAMS:
        for program in (_sums, _posteriors):
            program.clear_cache()
        _compiled_for.clear()
    _compiled_for.add(key)


_sums: Any = partial(jax.jit, static_argnums=(0, 1))(formulas.sums)
_posteriors: Any = partial(jax.jit, static_argnums=(0, 1))(formulas.posteriors)
