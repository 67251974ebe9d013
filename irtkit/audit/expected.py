"""Responses beside what a fit expects of them, some items at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.audit.checks import responses_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult

    Array = NDArray[np.float64]

_CELLS_AT_ONCE = 2**22
"""Cells of an item block: 32 MiB in each of its arrays."""


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


def item_blocks(
    result: FitResult, kept: NDArray[np.bool_] | NDArray[np.int64]
) -> Iterator[ItemBlock]:
    """Responses of some respondents, and what the model expects."""
    responses, parameters = responses_of(result, "audit", dense=True), result.parameters
    successes, trials, ability = responses.successes, responses.trials, result.ability[kept]
    step = max(1, _CELLS_AT_ONCE // max(len(ability), 1))
    for start in range(0, parameters.n_items, step):
        some = slice(start, start + step)
        yield ItemBlock(
            successes[kept, some].astype(np.float64),
            trials[kept, some].astype(np.float64),
            np.nan_to_num(parameters.chosen(some).probability(ability)),
        )
