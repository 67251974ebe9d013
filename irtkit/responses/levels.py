"""Ordered levels, such as a judge's marks from 1 to 5, kept as points out of the highest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short
from irtkit.responses.cells import Cells
from irtkit.responses.matrix import ResponseMatrix, refuse_sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDEST = (0, 10)  # Range of levels that is read if none is declared.
MOST_POINTS = 9  # Of ten levels.
_ROUNDING = 1e-4  # Of a level that was kept as a share in 32 bits.


def levels_of(matrix: ResponseMatrix, score_range: Any) -> ResponseMatrix:
    """Points of every cell, out of those of the highest level of its item.

    ``matrix`` has scores of the declared range, or of `WIDEST`. Without a declared one levels are
    counted from 0, or from 1 if no cell of the matrix is 0, up to the highest that an item reached.
    """
    refuse_sparse(matrix, "levels")
    if matrix.has_repeats:
        raise ValueError("levels are for one response a cell: read one of each (repeats='first')")
    declared = score_range is not None
    pairs: Any = score_range if declared else WIDEST
    if hasattr(pairs, "get"):
        pairs = [pairs.get(item, (0, 1)) for item in matrix.items]
    ends = np.broadcast_to(np.array(pairs, np.float64), (matrix.n_items, 2))
    span = np.abs(ends[:, 1] - ends[:, 0])
    exact = matrix.scores.astype(np.float64) * span
    levels: NDArray[Any] = np.rint(exact)
    seen = ~np.isnan(exact)
    odd = (np.abs(exact - levels) > _ROUNDING * span) | (span % 1 > 0)
    if (odd & seen).any():
        row, k = divmod(int((odd & seen).argmax()), matrix.n_items)
        value = matrix.scores[row, k] * (ends[k, 1] - ends[k, 0]) + ends[k, 0]
        raise ValueError(
            f"levels must be whole numbers: respondent {short(matrix.respondents[row])}, item "
            f"{short(matrix.items[k])} has {value:.6g}. The 2PL takes other scores"
        )
    if not declared:
        levels = levels - (1 if np.nanmin(levels) > 0 else 0)
        span = np.maximum(np.where(seen, levels, 0).max(axis=0), 1)
    if (many := span > MOST_POINTS).any():
        k = int(many.argmax())
        raise ValueError(
            f"an item must have at most {MOST_POINTS + 1} levels, and {short(matrix.items[k])} has "
            f"{span[k] + 1:.0f}. The 2PL takes them as scores"
        )
    points = np.where(seen, levels, 0).astype(np.uint8)
    cells = Cells(points, np.where(seen, span, 0).astype(np.uint8))
    names = matrix.respondents, matrix.items
    return ResponseMatrix.of_cells(cells, names, matrix.synthetic).with_known(matrix)


def check_levels(matrix: ResponseMatrix, model: str) -> None:
    """Refuse a matrix whose cells are not points out of those of the highest level of an item."""
    refuse_sparse(matrix, f"model={model}")
    if matrix.has_scores:
        raise ValueError(
            f"model={model} is for ordered levels, and the responses hold scores between 0 and 1. "
            "Read them with irtkit.read_responses(…, levels=True)"
        )
    if matrix.synthetic.any():
        raise ValueError(f"model={model} is not for synthetic respondents")
    tried = matrix.trials
    top = tried.max(axis=0)
    wrong = ((tried > 0) & (tried != top)) | (top > MOST_POINTS)
    if wrong.any():
        k = int(wrong.any(axis=0).argmax())
        raise ValueError(
            f"model={model} needs one highest level for all cells of an item, at most "
            f"{MOST_POINTS}, and item {short(matrix.items[k])} has "
            f"{tried[:, k][tried[:, k] > 0].min()} to {top[k]}. Use from_counts(levels, highest)"
        )
