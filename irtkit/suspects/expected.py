"""Responses beside what a fit expects of them, some items at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

_CELLS_AT_ONCE = 2**22
"""Cells of an item block: 32 MiB in each of its arrays. Signs are drawn block by block."""


class ItemBlock(NamedTuple):
    """Some items; each array has the shape (n_respondents, n)."""

    right: Array
    """Right responses, 0 where missing."""
    trials: Array
    """Responses: 0 where missing, 1, or the number of repeated trials."""
    probability: Array
    """P(right) of the model; 0 for an item of which nothing is known."""

    @property
    def residual(self) -> Array:
        """Right responses less their expectation, 0 where missing."""
        return np.asarray(self.right - self.trials * self.probability)


def dense_responses(result: FitResult, needed_by: str) -> ResponseMatrix:
    """Return the responses of a fit; an error if they were not saved with it, or are sparse."""
    if result.responses is None:
        raise ValueError(f"{needed_by} needs the responses, which were not saved with this result")
    refuse_sparse(result.responses, needed_by)
    return result.responses


def item_blocks(
    result: FitResult, kept: NDArray[np.bool_] | NDArray[np.int64]
) -> Iterator[ItemBlock]:
    """Responses of some respondents, and what the model expects."""
    patterns, parameters, ability = result.patterns, result.parameters, result.ability[kept]
    for some in blocks(parameters.n_items, len(ability), _CELLS_AT_ONCE):
        expected = np.nan_to_num(parameters.chosen(some).probability(ability))
        yield ItemBlock(*patterns.dense(kept, some), expected)
