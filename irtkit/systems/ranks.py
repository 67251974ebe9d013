"""Ranks that the data allow, from scores and their covariance.

Two systems are *told apart* where the difference of their scores is larger than chance makes the
largest of all differences (Romano & Wolf 2005, stepwise: what has been told apart is no longer
looked at, which lowers the bar for the rest). The rank of a system lies between one more than the
number of those told to be better, and the number of those not told to be worse (Mogstad, Romano,
Shaikh & Wilhelm 2024, *Review of Economic Studies* 91, 476-518). The intervals hold all ranks
together with the probability ``level`` at least. They follow from the same pairs as the letters of
:func:`groups_of`, so that systems that share a letter have intervals that overlap.

The largest difference is that of normal scores with the same covariance, drawn; of many systems
the bar is Holm's (1979), who supposes nothing about how differences depend on each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.systems.paired import normal_deviate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from irtkit.irf import Array

    Flags = NDArray[np.bool_]

_DRAWS, _LEAST_DRAWS, _PAIRS_DRAWN = 2000, 500, 2**26
"""Draws of all scores at most and at least, and differences drawn: draws leave the share of boards
without an error at 95.0 ± 0.5 %, and ± 1 % of 500 systems."""
MOST_DRAWN = 600
"""Systems up to which draws tell the bar, in a second or two. Holm's bar for the pairs of 500
independent systems is 5.07 standard errors, that of draws 4.95; of ten families of copies it is
5.07 and 3.16."""
_PAIRS_AT_ONCE = 2**20  # numbers in a table of draws: 4 MiB, what a processor keeps at hand


class Scores(NamedTuple):
    """Estimates of several systems, and how they err together."""

    value: Array
    """(n,)."""
    covariance: Array
    """(n, n)."""
    df: Array
    """Degrees of freedom of each one's error, (n,)."""
    least: float = 0.0
    """Variance that a difference has at least."""

    def variance(self, rows: slice | Any = slice(None)) -> Array:
        """Variance of the difference of some systems (rows) to all."""
        own = np.diag(self.covariance)
        return np.maximum(own[rows, None] + own - 2 * self.covariance[rows], self.least)


class Ranks(NamedTuple):
    """What is known of the ranks of n systems, 1 being the best."""

    low: NDArray[np.int64]
    """Simultaneous intervals, (n,)."""
    high: NDArray[np.int64]
    apart: Flags
    """Which pairs are told apart, looked at all pairs, (n, n)."""


def ranks_of(scores: Scores, *, level: float = 0.95, seed: int = 0) -> Ranks:
    """Rank intervals and pairs told apart."""
    z = _z_of_pairs(scores)
    apart = _all_pairs(z, scores, _draws(scores, seed), 1 - level)
    better, worse = ((apart & some).sum(axis=1) for some in (z < 0, z > 0))
    return Ranks(1 + better, len(z) - worse, apart)


def _z_of_pairs(scores: Scores) -> NDArray[np.float32]:
    """Differences in standard errors, as normal deviates, (n, n)."""
    n = len(scores.value)
    value, df = (part.astype(np.float32) for part in (scores.value, scores.df))
    own, z = np.diag(scores.covariance), np.zeros((n, n), np.float32)
    for rows in blocks(n, n, _PAIRS_AT_ONCE):
        difference = value[rows, None] - value[rows.start :]
        both = scores.covariance[rows, rows.start :]
        variance = np.maximum(own[rows, None] + own[rows.start :] - 2 * both, scores.least)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(difference / np.sqrt(variance), posinf=np.inf, neginf=-np.inf)
        least_df = np.minimum(df[rows, None], df[rows.start :])
        found = np.copysign(normal_deviate(t, least_df), t)
        z[rows, rows.start :] = found
        z[rows.start :, rows] = -found.T
    return z


def _draws(scores: Scores, seed: int) -> NDArray[np.float32] | None:
    """Normal scores with the covariance, (n, draws); None of more systems than are drawn.

    Drawn from the lowest score to the highest, with the symmetric root, so that neither the order
    of systems nor rounding changes them.
    """
    n = len(scores.value)
    if n > MOST_DRAWN:
        return None
    values, vectors = np.linalg.eigh(scores.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    n_draws = int(np.clip(2 * _PAIRS_DRAWN // n**2, _LEAST_DRAWS, _DRAWS))
    normal = np.empty((n, n_draws), np.float32)
    # of exponentials no two sums are the same but of the same covariances
    exponentials = np.exp(scores.covariance / max(np.diag(scores.covariance).max(), 1e-300))
    keys = exponentials.sum(axis=1), scores.value
    order = np.lexsort([np.round(key, 12) for key in keys])  # equal but for rounding
    normal[order] = np.random.default_rng(seed).standard_normal(normal.shape, dtype=np.float32)
    return np.asarray(root.astype(np.float32) @ normal)


def _all_pairs(
    z: NDArray[np.float32], scores: Scores, draws: NDArray[np.float32] | None, alpha: float
) -> Flags:
    """Which pairs are told apart.

    The bar of draws lies below Holm's, so that what passes his needs no draws.
    """
    size = np.abs(z)
    apart = _holm(size, alpha)
    while draws is not None:
        one, other = np.nonzero(np.triu(~apart, 1))
        if not len(one):
            break
        largest = np.zeros(draws.shape[1], np.float32)
        at_once = _PAIRS_AT_ONCE // len(largest)
        for start in range(0, len(one), at_once):
            i, k = (end[start : start + at_once] for end in (one, other))
            np.maximum(largest, _in_errors(scores, draws, i, k).max(axis=0), out=largest)
        new = size[one, other] > np.quantile(largest, 1 - alpha, method="higher")
        if not new.any():
            break
        apart[one[new], other[new]] = apart[other[new], one[new]] = True
    return apart


def _in_errors(scores: Scores, draws: Any, one: Any, other: Any) -> NDArray[np.float32]:
    """Differences of drawn scores in standard errors, (pairs, draws)."""
    own, both = np.diag(scores.covariance), scores.covariance[one, other]
    variance = np.maximum(own[one] + own[other] - 2 * both, scores.least)
    inverse = np.zeros_like(variance)
    np.divide(1, np.sqrt(variance), out=inverse, where=variance > 0)
    differences = np.abs(draws[one] - draws[other])
    differences *= inverse[:, None].astype(np.float32)
    return np.asarray(differences)


def _holm(size: NDArray[np.float32], alpha: float) -> Flags:
    """Which pairs exceed Holm's stepwise Bonferroni bar; sizes are (n, n), 0 on the diagonal.

    The bar falls with the number of pairs that exceed it, until no more do.
    """
    from scipy.special import ndtri

    n_pairs, n_apart, apart = len(size) * (len(size) - 1) // 2, -1, np.zeros(size.shape, bool)
    while n_apart < (found := int(apart.sum()) // 2) < n_pairs:
        n_apart = found
        apart = size > -ndtri(alpha / 2 / (n_pairs - n_apart))
    return apart


def groups_of(apart: Flags) -> list[str]:
    """Letters of systems in order of rank: those that share one cannot be told apart.

    A group is a run of systems no two of which are told apart, as long as can be. One that belongs
    to several has the first and the last letter, "b-d".
    """
    n, end, runs = len(apart), 0, []
    for start in range(n):
        reached = end
        while end < n and not apart[start:end, end].any():
            end += 1
        if end > reached:
            runs.append((start, end))
    starts, stops = np.array(runs).T
    first = np.searchsorted(stops, np.arange(n), side="right")
    last = np.searchsorted(starts, np.arange(n), side="right") - 1
    letters = [*map(_letters, range(len(runs)))]
    ends = zip(first, last, strict=True)
    return [letters[k] if k == m else f"{letters[k]}-{letters[m]}" for k, m in ends]


def share_a_letter_with_the_first(groups: Sequence[str]) -> list[bool]:
    """Which systems, in order of rank, cannot be told apart from the first; itself among them.

    It has one letter, as only one group begins with it, and others that have it, have it first.
    """
    return [name.split("-")[0] == groups[0] for name in groups]


def _letters(number: int) -> str:
    """a, b, …, z, aa, ab, …."""
    higher, last = divmod(number, 26)
    return (_letters(higher - 1) if higher else "") + chr(ord("a") + last)
