"""The best systems of a range of difficulty: those that the best there is not told apart from.

A system is left out of the leaders of a range where the one with the highest share right beats it,
on the items of both, in a one-sided test at α / (m (k − 1)), of m ranges and k systems. That the
truly best one of any range is left out has therefore a probability of α at most: one of the other
k − 1 systems must beat it, in one of m ranges (Bonferroni). A single leader is the winner; so noise
alone makes a winner in one of 1/α tables at most.

Of items answered once the test is the exact sign test of the items on which both differ (McNemar
1947); of repeated trials Student's t of the differences by item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.systems.paired import mean_of, tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.systems.standing import Shares

    Array = NDArray[np.float64]


class Leaders(NamedTuple):
    """Who leads in a range."""

    best: int
    """With the highest share right, among the rows of the answers; the first of equal ones, and −1
    where nobody answered."""
    share: float
    leaders: NDArray[np.intp]
    """It, and those not told apart from it, by their share right."""


def leaders_of(answers: Shares, items: NDArray[np.intp], alpha: float) -> Leaders:
    """Leaders on some items; α is of this range."""
    share, tried = answers.right[:, items], answers.trials[:, items] > 0
    n = tried.sum(axis=1)
    if not n.any():
        return Leaders(-1, np.nan, np.arange(0))
    mean = np.divide((share * tried).sum(axis=1), n, out=np.full(len(n), -1.0), where=n > 0)
    best = int(np.argmax(mean))
    others = np.flatnonzero(n > 0)
    p_value = _behind(answers, items, best, others)
    level = alpha / max(len(others) - 1, 1)
    kept = others[(p_value > level) | (others == best)]
    return Leaders(best, float(mean[best]), kept[np.argsort(-mean[kept], kind="stable")])


def _behind(answers: Shares, items: NDArray[np.intp], best: int, others: NDArray[np.intp]) -> Array:
    """P-values of the others being no worse than the best, (n_others,)."""
    share, trials = answers.right[:, items], answers.trials[:, items]
    both = (trials[others] > 0) & (trials[best] > 0)
    ahead = np.where(both, share[best] - share[others], 0.0)
    if trials.max() <= 1:
        return sign_test((ahead > 0).sum(axis=1), (ahead < 0).sum(axis=1))
    found = np.ones(len(others))
    for k, own in enumerate(both):
        mean = mean_of(ahead[k, own], step=1 / float(trials.max()))
        if mean.df > 0 and mean.value > 0:
            found[k] = float(tail(mean.df, mean.value / mean.se))
    return found


def sign_test(wins: NDArray[np.intp], losses: NDArray[np.intp]) -> Array:
    """P(X ≥ wins) of X ~ Binomial(wins + losses, ½), 1 without any."""
    from scipy.special import betainc

    some = np.maximum(wins, 1)
    return np.where(wins > 0, betainc(some, losses + 1.0, 0.5), 1.0)
