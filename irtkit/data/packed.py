"""A matrix of right answers, eight items to a byte.

What eight items add to a weighted score is one of 256 sums. So a product with the matrix takes one
look-up in a table for eight cells, and a product with its transpose adds weights up by byte before
it looks at items (the "method of the four Russians"). Sums are in 64 bits throughout, and the
packed matrix takes an eighth of what cells of one byte take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array

_PER_BYTE, _BYTES, _CELLS_AT_ONCE = 8, 256, 2**18
_BITS = (np.arange(_BYTES)[:, None] >> np.arange(_PER_BYTE) & 1).astype(np.float64)
"""The answers that a byte stands for, (256, 8)."""


class Packed(NamedTuple):
    """Right answers as set bits."""

    groups: NDArray[np.uint8]
    """Shape (n_groups, n): answers to eight items by every respondent, the first item lowest."""
    n_items: int

    @classmethod
    def of(cls, cells: NDArray[np.int8 | np.bool_]) -> Packed:
        """Pack a matrix of 0, 1 and −1 (missing, packed as 0), respondents × items."""
        n, n_items = cells.shape
        n_groups = -(-n_items // _PER_BYTE)
        groups = np.empty((n_groups, n), dtype=np.uint8)
        step = max(1, _CELLS_AT_ONCE // (_PER_BYTE * n_groups))
        # a row made up to whole bytes: NumPy packs a flat array much faster than many short rows
        room = np.zeros((min(step, n), _PER_BYTE * n_groups), dtype=np.bool_)
        for first in range(0, n, step):
            part = cells[first : first + step]
            whole = room[: len(part)]
            np.greater(part, 0, out=whole[:, :n_items])
            packed = np.packbits(whole.ravel(), bitorder="little")
            groups[:, first : first + step] = packed.reshape(-1, n_groups).T
        return cls(groups, n_items)

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
