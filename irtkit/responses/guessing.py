"""How many options items have, and whether many systems score as guessing between them does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import is_whole, short
from irtkit.findings import Finding
from irtkit.responses.proposals import ask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.responses.cells import Cells
    from irtkit.responses.matrix import ResponseMatrix


@dataclass(frozen=True)
class _Tuned:
    """When many systems seem to guess (``benchmarks/false_findings.py``)."""

    usual: tuple[int, ...] = (2, 3, 4, 5)  # Numbers of options.
    fewest_items: int = 400  # Two standard errors of an accuracy are then at most 0.05.
    fewest: int = 3  # Systems at chance that are many,
    least_share: float = 0.25  # if they have this share.
    reach: int = 2  # Standard errors of an accuracy.
    # Of scores of a system with those of others (Ebel's limit for items).
    least_correlation: float = 0.2


_TUNED = _Tuned()


def with_options(matrix: ResponseMatrix, n_options: Any) -> ResponseMatrix:
    """Return the matrix with the number of options of every item in its table."""
    if not is_whole(n_options) or n_options < 2:
        raise ValueError(f"options must be a whole number of at least 2, got {short(n_options)}")
    return matrix.with_columns(n_options=n_options)


def near_chance(matrix: ResponseMatrix) -> list[Finding]:
    """Say that many systems seem to guess between 2, 3, 4 or 5 options, which are not declared.

    Their accuracy is within two standard errors of chance, and they get easy items right hardly
    more often than hard ones: their scores correlate with those of other systems by at most 0.2.
    """
    table = matrix.item_table
    if matrix.has_scores or (table is not None and {"n_options", "kind"} & {*table.columns}):
        return []
    if matrix.n_items < _TUNED.fewest_items and not matrix.cells.has_repeats:
        return []
    n_right, n_tried = (table.sum(axis=1, dtype=np.int64) for table in _counts(matrix.cells))
    judged = np.flatnonzero(~matrix.synthetic & (n_tried >= _TUNED.fewest_items))
    many = max(_TUNED.fewest, _TUNED.least_share * len(judged))
    n_guessing = {}
    for n_options in _TUNED.usual:
        chance = 1 / n_options
        expected = chance * n_tried[judged]
        error = np.sqrt((1 - chance) * expected)
        excess = (n_right[judged] - expected) / error
        near = judged[abs(excess) <= _TUNED.reach]
        above = judged[excess > _TUNED.reach]
        others = above if len(above) >= _TUNED.fewest else judged
        n_guessing[n_options] = 0
        if len(near) >= many:
            n_guessing[n_options] = _n_blind(matrix.cells, near, others)
    likeliest = max(n_guessing, key=n_guessing.__getitem__)
    n = n_guessing[likeliest]
    if n < many:
        return []
    values = {"n": n, "n_systems": len(judged), "level": 1 / likeliest, "n_options": likeliest}
    return [Finding("near-chance", "warning", values, (ask("options", options=likeliest),))]


def _counts(cells: Cells) -> Any:
    """Successes and trials, dense or sparse."""
    return cells.stored if cells.is_sparse else (cells.successes, cells.trials)


def _n_blind(cells: Cells, near: NDArray[Any], others: NDArray[Any]) -> int:
    """Number of systems near chance whose scores hardly rise with those of other systems."""
    sums = [table[others].sum(axis=0, dtype=np.int64) for table in _counts(cells)]
    right, tried = sums
    n_blind = 0
    for row in near:
        system = cells.part([row])
        successes = system.successes[0]
        trials = system.trials[0]
        of_others = tried - trials * (row in others)
        seen = (trials > 0) & (of_others > 0)
        score = successes[seen] / trials[seen]
        right_of_others = right - successes * (row in others)
        ease = right_of_others[seen] / of_others[seen]
        with np.errstate(invalid="ignore"):  # items that all get right
            correlation = np.corrcoef(score, ease)[0, 1]
        n_blind += not correlation > _TUNED.least_correlation
    return n_blind
