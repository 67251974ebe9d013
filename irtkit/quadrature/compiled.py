"""The formulas as compiled JAX programs, for large matrices, accelerators and several devices.

On a mesh each device computes sums over its respondents by itself. The sums are then added over all
devices, and posteriors are gathered, so that every device and every process gets the same numbers.
Items and grid are on every device.
"""

from __future__ import annotations

import zlib
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from irtkit.data.patterns import BLOCK
from irtkit.quadrature import engines
from irtkit.quadrature.engines import Inputs, Posteriors, Rows, Sums, Traits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Items
    from irtkit.quadrature.engines import Grid

_TYPICAL_NODES = 48
"""Nodes that parts of the matrix are cut for, before nodes are placed. Usual are 32 to 160."""
_AXIS = "respondents"
_untyped: Any = jax  # For those of its functions that have no types.
_SHARED_OUT = _untyped.P(_AXIS)
_EVERYWHERE = _untyped.P()
"""How arrays lie on a mesh: respondents by first axis, all else whole on every device."""
_MOST_PROGRAMS = 40
"""Shapes of matrices that programs are kept for: a quarter of what there are maps for."""
_compiled_for: set[tuple[Any, ...]] = set()


class JaxEngine:
    """Computes with JAX, in 64 bits set locally.

    The matrix is kept on the device in one byte a cell, with its rows padded to whole parts. On a
    mesh of any shape, each device keeps an equal part of the respondents. Each of several processes
    has the whole matrix, and puts parts of it on its own devices.
    """

    def __init__(self, patterns: Patterns, mesh: Mesh | None = None) -> None:
        self.patterns = patterns
        on_one_axis = None if mesh is None else Mesh(mesh.devices.ravel(), (_AXIS,))
        self._parts = Parts(on_one_axis)
        n_devices = 1 if mesh is None else mesh.size
        n_items = patterns.cells.shape[1]
        n = -(-patterns.n // n_devices)  # by device
        parts_for_cells = -(-n * n_items // (4 * BLOCK))
        parts_for_nodes = -(-n * _TYPICAL_NODES // BLOCK)
        size = -(-n // max(parts_for_cells, parts_for_nodes))
        n_parts = n_devices * -(-n // size)
        frequency = patterns.frequency
        if frequency is None and n_parts * size > patterns.n:
            frequency = np.ones(patterns.n)  # rows that only fill a part up occur 0 times
        self._traits = Traits(patterns.complete)

        def placed(table: Any) -> Any:
            if table is None:
                return None

            def cut(index: tuple[slice, ...]) -> Any:
                first, last, _ = index[0].indices(n_parts)
                rows = table[first * size : last * size]
                padding = (last - first) * size - len(rows)
                if padding:
                    others = [(0, 0)] * (table.ndim - 1)
                    rows = np.pad(rows, [(0, padding), *others])
                return rows.reshape(-1, size, *table.shape[1:])

            return self._parts.placed((n_parts, size, *table.shape[1:]), cut)

        self._parts.check_alike(patterns)
        group = patterns.group if patterns.grouped else None
        self._rows = Rows(*map(placed, (patterns.cells, patterns.trials, group, frequency)))
        # Each shape of matrix is compiled separately and holds some 400 memory maps, and Linux
        # allows a process 65,530. Without a limit, a study over hundreds of shapes would crash.
        program = self._parts, self._traits, self._rows.cells.shape
        if program not in _compiled_for and len(_compiled_for) >= _MOST_PROGRAMS:
            _sums.clear_cache()
            _posteriors.clear_cache()
            _compiled_for.clear()
        _compiled_for.add(program)

    def sums(self, items: Items, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""
        return Sums(*self._run(_sums, self._traits._replace(exact=exact), items, grid))

    def posteriors(self, items: Items, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        n = self.patterns.n
        padded = self._run(_posteriors, self._traits, items, grid)
        return Posteriors(*(values[:n] for values in padded))

    def _run(self, program: Any, traits: Traits, items: Items, grid: Grid) -> Iterator[Any]:
        item_right = self.patterns.margins.item_right
        inputs = Inputs(self._rows, item_right, self.patterns.multiplicity, items, grid)
        with (
            jax.enable_x64(new_val=True),
            jax.default_matmul_precision("highest"),
            self._parts.in_use(),
        ):
            return map(np.asarray, program(self._parts, traits, inputs))


@dataclass(frozen=True)
class Parts:
    """Goes over parts by ``jax.lax.scan``, on every device of a mesh over its own."""

    mesh: Mesh | None  # A mesh with one axis, or None for the default device.
    xp: Any = jnp

    def in_use(self) -> AbstractContextManager[Any]:
        """Context in which programs run on the mesh, whichever the caller may have set."""
        return nullcontext() if self.mesh is None else jax.set_mesh(self.mesh)

    def placed(self, shape: tuple[int, ...], cut: Callable[..., Any]) -> Any:
        """Return an array whose first axis is shared out. ``cut`` gives what an index takes."""
        if self.mesh is None:
            return jnp.asarray(cut((slice(None),)))
        return jax.make_array_from_callback(shape, NamedSharding(self.mesh, _SHARED_OUT), cut)

    def scores(self, by_item: Any) -> None:
        """Scores are taken part by part, where the matrix is."""

    def right_sums(self, by_respondent: Any) -> Any:
        """Never called, because scores are unknown beforehand."""
        raise NotImplementedError

    def check_alike(self, patterns: Patterns) -> None:
        """Refuse other responses on other processes: shares of them would not make one matrix."""
        if self.mesh is None or not self.mesh.is_multi_process:
            return
        counts = b"".join(part.tobytes() for part in patterns.margins)
        mark = np.full(1, zlib.crc32(counts), dtype=np.uint32)
        marks = self.placed((self.mesh.size,), lambda _: mark)
        with self.in_use():
            spread = jax.jit(jnp.ptp, out_shardings=NamedSharding(self.mesh, _EVERYWHERE))(marks)
        if int(spread) != 0:
            raise ValueError("responses must be the same on every process of the mesh")

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: Rows, n_nodes: int
    ) -> tuple[Any, Any]:
        """Go over the parts that the matrix was cut into."""
        del n_nodes
        total, values = _scan(step, start, tuple(rows))
        if self.mesh is None:
            return total, values
        added = _untyped.lax.psum(total, _AXIS)
        return added, jax.lax.all_gather(values, _AXIS, tiled=True)

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
        size = -(-n // -(-n * n_points // BLOCK))

        def cut(array: Any, fill: float) -> Any:
            others = [(0, 0)] * (array.ndim - 1)
            padded = jnp.pad(array, [(0, -n % size), *others], constant_values=fill)
            return padded.reshape(-1, size, *array.shape[1:])

        parts = tuple(
            None if array is None else cut(array, fill)
            for array, fill in zip(arrays, fills, strict=True)
        )
        total, padded = _scan(step, start, parts)
        return total, jax.tree.map(lambda table: table[:n], padded)


def _scan(step: Callable[..., Any], start: Any, parts: tuple[Any, ...]) -> tuple[Any, Any]:
    """Scan, without a loop where there is one part only: it compiles faster."""
    n_parts = jax.tree.leaves(parts)[0].shape[0]
    if n_parts == 1:
        only = jax.tree.map(lambda part: part[0], parts)
        return tuple(step(start, only))

    def joined(table: Any) -> Any:
        return table.reshape(-1, *table.shape[2:])

    total, by_part = jax.lax.scan(step, start, parts)
    return total, jax.tree.map(joined, by_part)


def _program(formula: Callable[..., Any]) -> Any:
    """Compile a formula. On a mesh every device has all inputs, and respondents of its own."""

    def on_all_devices(parts: Parts, traits: Traits, inputs: Inputs) -> Any:
        on_one = partial(formula, parts, traits)
        if parts.mesh is None:
            return on_one(inputs)
        layout = Inputs(_SHARED_OUT, *[_EVERYWHERE] * (len(Inputs._fields) - 1))
        return jax.shard_map(
            on_one, mesh=parts.mesh, in_specs=(layout,), out_specs=_EVERYWHERE, check_vma=False
        )(inputs)

    return jax.jit(on_all_devices, static_argnums=(0, 1))


_sums = _program(lambda *inputs: engines.sums(*inputs)[0])
_posteriors = _program(engines.posteriors)
