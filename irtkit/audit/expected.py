"""Responses beside what a fit expects of them, some items at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.patterns import Patterns

    Array = NDArray[np.float64]

_CELLS_AT_ONCE = 2**22


class Part(NamedTuple):
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


def expected(result: FitResult, kept: NDArray[np.bool_]) -> Iterator[Part]:
    """Responses of some respondents, and what the model expects."""
    responses, parameters = result.responses, result.parameters
    if responses is None:
        return
    where = np.flatnonzero(kept)
    successes, trials = responses.successes, responses.trials
    step = max(1, _CELLS_AT_ONCE // max(len(where), 1))
    for start in range(0, parameters.n_items, step):
        some = slice(start, start + step)
        yield Part(
            successes[where, some].astype(np.float64),
            trials[where, some].astype(np.float64),
            np.nan_to_num(parameters.chosen(some).probability(result.ability[where])),
        )


def rows_of_fit(result: FitResult, needed_by: str, *, dense: bool = False) -> Patterns:
    """The responses that were fitted, as the fit saw them.

    Raises
    ------
    ValueError
        If they were not saved with the result, or are sparse and must be ``dense``.
    """
    if result.responses is None:
        raise ValueError(f"{needed_by} needs the responses, which were not saved with this result")
    if dense:
        refuse_sparse(result.responses, needed_by)
    from irtkit.patterns import patterns_of

    ordinary = result.settings.synthetic == "ordinary"
    return patterns_of(result.responses, synthetic_is_real=ordinary)
