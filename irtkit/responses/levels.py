"""Ordered levels, such as a judge's marks from 1 to 5, kept as points out of the highest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.capabilities import require
from irtkit.checks import short
from irtkit.responses.cells import Cells
from irtkit.responses.marking import Ranges
from irtkit.responses.matrix import ResponseMatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDEST = (0, 10)  # Range of levels that is read if none is declared.
MOST_POINTS = 9  # Of ten levels.
KINDS = ("binary", "fraction", "levels", "counts")  # Of items, in the column kind of their table.
_ROUNDING = 1e-4  # Of a level that was kept as a share in 32 bits.


def levels_of(matrix: ResponseMatrix, score_range: Any) -> ResponseMatrix:
    """Points of every cell, out of those of the highest level of its item.

    ``matrix`` has scores of the declared range, or of `WIDEST`. Without a declared one levels are
    counted from 0, or from 1 if no cell of the matrix is 0, up to the highest of the matrix. Beside
    levels from 0, items of 0 and 1 alone are right or wrong. An item with scores between 0 and 1
    and no others keeps them, if others have levels. The column kind of the item table then says so.
    """
    require("levels=", matrix)
    declared = score_range is not None
    pairs: Any = score_range if declared else WIDEST
    if hasattr(pairs, "get"):
        pairs = [pairs.get(item, (0, 1)) for item in matrix.items]
    ends = np.broadcast_to(np.array(pairs, np.float64), (matrix.n_items, 2))
    worst, best = ends.T
    span = np.abs(best - worst)
    exact = matrix.scores * span
    seen = ~np.isnan(exact)
    levels: NDArray[Any] = np.rint(exact)
    distance = np.abs(exact - levels)
    is_part = (distance > _ROUNDING * span) | (span % 1 > 0)
    part = seen & is_part
    highest = np.fmax.reduce(exact, axis=0)
    scored = part.any(axis=0) & (highest < 1 + _ROUNDING)
    if declared:
        in_order = np.sort(ends, axis=1)
        scored &= (in_order == (0, 1)).all(axis=1)
    scored &= not scored.all() or isinstance(score_range, Ranges)
    part &= ~scored
    if part.any():
        row, k = divmod(int(part.argmax()), matrix.n_items)
        score = matrix.scores[row, k]
        value = worst[k] + score * (best[k] - worst[k])
        raise ValueError(
            f"levels must be whole numbers: respondent {short(matrix.respondents[row])}, item "
            f"{short(matrix.items[k])} has {value:.6g}. The 2PL takes other scores, and "
            "score_range= declares their range"
        )
    if not declared:
        lowest = np.nanmin(exact)
        first = 1 if lowest > 0 else 0
        levels = levels - first
        top = np.fmax(np.fmax.reduce(levels, axis=0), 0)
        marks = (top <= 1) & (lowest == 0)  # right or wrong
        span = np.where(marks, 1, top.max(initial=1, where=~scored))
        worst = np.where(scored, 0, first)
    k = int(span.argmax())
    if span[k] > MOST_POINTS:
        raise ValueError(
            f"an item must have at most {MOST_POINTS + 1} levels, and {short(matrix.items[k])} has "
            f"{span[k] + 1:.0f}. The 2PL takes them as scores"
        )
    span = np.where(scored, 1, span)
    shares = np.minimum(np.round(exact, 7), 1)
    points = np.where(scored, shares, levels)
    trials = np.where(seen, span, 0)
    cells = Cells(np.where(seen, points, 0), trials)
    names = matrix.respondents, matrix.items
    leveled = ResponseMatrix.of_cells(cells, names, matrix.synthetic).with_known(matrix)
    of_two = np.where(scored, "fraction", "binary")
    kinds = np.where(span > 1, "levels", of_two)
    best = best if declared else worst + span
    return leveled.with_columns(kind=kinds, worst_score=worst, best_score=best)


def has_points(matrix: ResponseMatrix) -> bool:
    """Whether some cell holds several points of one trial, as `Marking.points` keeps them."""
    cells = matrix.cells
    if cells.is_sparse or cells.has_repeats:
        return False
    return bool(cells.codes.max() > 1)


def levels_found(matrix: ResponseMatrix) -> ResponseMatrix | None:
    """Levels of a matrix with points, if all items with several have levels from 0.

    None if they do not: numbers from 1 may be answers as well.
    """
    codes = matrix.cells.codes
    shares = np.where(codes < 0, codes, codes / WIDEST[1])
    names = matrix.respondents, matrix.items
    scores = ResponseMatrix.of_cells(Cells(shares), names, matrix.synthetic).with_known(matrix)
    try:
        leveled = levels_of(scores, None)
    except ValueError:
        return None
    lowest = np.where(codes < 0, np.inf, codes).min(axis=0)
    above_0 = lowest[kinds_of(leveled) == "levels"] > 0
    return None if lowest.min() > 0 or above_0.any() else leveled


def score_ranges(matrix: ResponseMatrix | None) -> Ranges | None:
    """Worst and best score of the items, None if levels were not read."""
    table = None if matrix is None else matrix.item_table
    if table is None or not {"worst_score", "best_score"} <= {*table.columns}:
        return None
    pairs = zip(table["worst_score"], table["best_score"], strict=True)
    return Ranges(zip(table.index, pairs, strict=True))


def level_items(matrix: ResponseMatrix, model: str) -> NDArray[np.bool_]:
    """Which items have levels, by the column kind of the item table, or else by their values.

    Others are right or wrong, scores between 0 and 1, or trials.
    """
    require(model, matrix)
    tried = matrix.trials
    scored = matrix.cells.scored
    top = tried.max(axis=0)
    kinds = kinds_of(matrix)
    scored = np.zeros(matrix.n_items, bool) if scored is None else scored
    undeclared = kinds == ""
    levels = (kinds == "levels") | (undeclared & (top > 1))
    several = tried > 1
    unequal = (tried > 0) & (tried != top)
    part = matrix.successes % 1 > 0
    of_levels = (
        "a level out of the highest one, the same for all of them and at most "
        f"{MOST_POINTS}, as from_counts(levels, highest) takes"
    )
    for which, odd, rule in (
        (kinds == "binary", several | part, "1 right, 0 wrong, of one trial"),
        (kinds == "fraction", several, "a score from 0 to 1, of one trial"),
        (kinds == "counts", part, "right trials out of all, as from_counts takes"),
        (levels, unequal | part | (top > MOST_POINTS), of_levels),
    ):
        refused = odd & which & (tried > 0)
        if refused.any():
            row, k = divmod(int(refused.argmax()), matrix.n_items)
            kind = kinds[k] or "levels"
            raise ValueError(
                f'cells of an item of kind "{kind}" must be {rule}: respondent '
                f"{short(matrix.respondents[row])}, item {short(matrix.items[k])} has "
                f"{matrix.successes[row, k]:.6g} out of {tried[row, k]}. The column kind of the "
                f"item_table declares one of {', '.join(KINDS)}"
            )
    return levels


def kinds_of(matrix: ResponseMatrix) -> NDArray[np.str_]:
    """Kinds that the item table declares, "" where it does not. Other words declare nothing."""
    table = matrix.item_table
    kinds = np.full(matrix.n_items, "", dtype="<U8")
    if table is None or "kind" not in table:
        return kinds
    words = table["kind"]
    declared = words.isin(KINDS)
    unknown = words[words.notna() & ~declared]
    if declared.any() and len(unknown):
        raise ValueError(
            f"kind in the item_table must be {', '.join(KINDS)} or missing, and for "
            f"{short(unknown.index[0])} it is {short(unknown.iloc[0])}"
        )
    kinds[declared] = words[declared]
    return kinds
