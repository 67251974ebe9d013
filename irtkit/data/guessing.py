"""Systems that score no better than guessing.

Guessing among m options gets 1/m of the items right. A system is at chance if its number right is
below the 99 % quantile of guessing, and its accuracy at most a quarter of the way from guessing to
1: on fewer than 87 items with two options the quantile alone lies higher.

If the numbers of options are not known, two options are inferred from opposite answers: some
systems with about half of the items right are right exactly where others are wrong, as if one
always answered the first class and another the second. Systems that one ability explains agree on
about half of the items or more. With two options hardly any system is less accurate than the rarer
class. Systems that score no higher than one with opposite answers are then at chance, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

_QUANTILE = 2.33  # 99 % quantile of the normal distribution.
_FEWEST_ITEMS, _FEWEST, _LEAST_SHARE = 20, 2, 0.1  # Items of a system; systems, and their share.
_BALANCED, _MOST_BELOW = 0.15, 0.1  # Of constant answers: from one half; systems below the rarer.
_JOINT, _OPPOSITE = 40, 0.05  # Common items of a pair, and their agreement: 10⁻⁹ by chance.
_COMPARED, _ITEMS = 300, 1000  # Systems and items of the comparison in pairs, at most.


class AtChance(NamedTuple):
    """Who scores no better than guessing, and how that is known."""

    rows: NDArray[np.intp]
    level: float  # Accuracy of guessing on the items that these answered.
    highest: float  # Accuracy of the best of them.
    opposite: bool  # Whether two options are inferred from opposite answers.


def at_chance(patterns: Patterns, item_table: Any = None) -> AtChance | None:
    """Real respondents at chance, if they are enough to matter.

    ``item_table`` is that of the responses, with the column n_options where that is known.
    """
    guess = _guess(item_table)
    inferred = guess is None
    guess = np.full(patterns.n_items, 0.5) if guess is None else guess
    known = (guess > 0).astype(np.float64)
    asked, right = patterns.response_scores(known), patterns.scores(known)
    expected = patterns.response_scores(guess)
    reach = _QUANTILE * np.sqrt(patterns.response_scores(guess * (1 - guess)))
    judged = patterns.real & (asked >= _FEWEST_ITEMS)
    accuracy = right / np.maximum(asked, 1)
    limit = (expected + np.minimum(reach, (asked - expected) / 4)) / np.maximum(asked, 1)
    if inferred:
        near = judged & (abs(accuracy - 0.5) <= _BALANCED)
        if not near.any() or not len(opposite := _opposite(patterns, np.flatnonzero(near))):
            return None
        limit = np.maximum(limit, accuracy[opposite].max())
        if (judged & (accuracy < 1 - limit)).sum() > _MOST_BELOW * near.sum():
            return None
    rows = np.flatnonzero(judged & (accuracy <= limit))
    if len(rows) < max(_FEWEST, _LEAST_SHARE * patterns.n_answering):
        return None
    level = expected[rows].sum() / asked[rows].sum()
    return AtChance(rows, float(level), float(accuracy[rows].max()), inferred)


def _guess(item_table: Any) -> Array | None:
    """Share of guesses that are right, by item, 0 where it is not known; None if nowhere."""
    if item_table is None or "n_options" not in item_table:
        return None
    import pandas as pd

    n = pd.to_numeric(item_table["n_options"], errors="coerce").to_numpy(np.float64, na_value=0)
    return np.divide(1, n, out=np.zeros(len(n)), where=n > 1) if (n > 1).any() else None


def _opposite(patterns: Patterns, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Which of these respondents give answers opposite to those of another."""
    rows = rows[:: -(-len(rows) // _COMPARED)]
    right, tried = patterns.dense(rows, slice(None, None, -(-patterns.n_items // _ITEMS)))
    share, answered = right / np.maximum(tried, 1), np.minimum(tried, 1)
    wrong = answered - share
    joint = answered @ answered.T
    alike = share @ share.T + wrong @ wrong.T
    found = ((joint >= _JOINT) & (alike <= _OPPOSITE * joint)).any(axis=1)
    return np.asarray(rows[found])
