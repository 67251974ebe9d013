"""Ranks that the data allow, from scores and their covariance.

Two systems *differ significantly* if the difference of their scores is larger than chance makes the
largest of all differences (stepwise: Romano & Wolf 2005, *Econometrica* 73, 1237-1282). The rank of
a system lies between one more than the number of significantly better systems, and the number of
those that are not significantly worse (Mogstad, Romano, Shaikh & Wilhelm 2024, *Review of Economic
Studies* 91, 476-518). The intervals hold all ranks together with the probability ``level`` or more.

The largest difference is drawn from normal scores with the same covariance. For many systems, the
bound is Holm's (1979), which assumes nothing about the dependence of differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.systems.paired import t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array

    Flags = NDArray[np.bool_]

_DRAWS = (500, 2000)  # Draws at least and at most: 95.0 ± 0.5 % of boards hold with 2,000.
_DIFFERENCES_DRAWN = 2**27  # Numbers that are drawn at most, which takes a second.
MOST_DRAWN = 600  # Systems up to which draws set the bound (500: 4.95 standard errors, Holm 5.07).
_AT_ONCE = 2**20  # Numbers in a table of draws: 4 MiB, which a processor's cache holds.


class Scores(NamedTuple):
    """Estimates of several systems, and how they err together."""

    value: Array  # (n,).
    covariance: Array  # (n, n).
    df: Array  # Degrees of freedom of each one's error, (n,).
    least: float = 0.0  # Variance that a difference has at least.

    def variance(self, rows: slice | Any = slice(None)) -> Array:
        """Variance of the difference of some systems (rows) to all."""
        own = np.diag(self.covariance)
        found = self.covariance[rows] * self.covariance.dtype.type(-2)
        found += own[rows, None] + own
        return np.maximum(found, self.least, out=found)


class Ranks(NamedTuple):
    """What is known of the ranks of n systems, 1 being the best."""

    low: NDArray[np.int64]  # Simultaneous intervals, (n,).
    high: NDArray[np.int64]
    apart: Flags  # Pairs that differ significantly among all pairs, (n, n).


def ranks_of(scores: Scores, *, level: float = 0.95, seed: int = 0) -> Ranks:
    """Rank intervals and the pairs that differ significantly."""
    t = _t_of_pairs(scores)
    worse = t > 0
    apart = _apart(np.abs(t, out=t), scores, 1 - level, seed)
    worse &= apart
    n_apart, n_worse = (np.count_nonzero(some, axis=1) for some in (apart, worse))
    return Ranks(1 + n_apart - n_worse, len(t) - n_worse, apart)


def _t_of_pairs(scores: Scores) -> NDArray[np.float32]:
    """Differences in standard errors, (n, n); infinite without an error, and NaN if both are 0."""
    n, value = len(scores.value), scores.value.astype(np.float32)
    t = np.empty((n, n), np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        for rows in blocks(n, n, _AT_ONCE):
            np.subtract(value[rows, None], value, out=t[rows])
            t[rows] /= np.sqrt(scores.variance(rows))
    return t


def _apart(size: NDArray[np.float32], scores: Scores, alpha: float, seed: int) -> Flags:
    """Pairs that differ significantly: beyond Holm's bound, and then beyond that of draws."""
    from scipy.special import ndtr

    n_pairs, n_apart, apart = len(size) * (len(size) - 1) // 2, -1, np.zeros(size.shape, bool)
    while n_apart < (found := int(np.count_nonzero(apart)) // 2) < n_pairs:
        n_apart = found
        apart = _beyond(size, scores.df, alpha / (n_pairs - n_apart))
    draws = None if len(size) > MOST_DRAWN else _draws(scores, seed)
    while draws is not None:
        pairs = np.nonzero(np.triu(~apart, 1))
        if not len(pairs[0]):
            break
        bound = np.quantile(_largest(scores, draws, *pairs), 1 - alpha, method="higher")
        new = _beyond(size, scores.df, 2 * ndtr(-float(bound))) & ~apart
        if not new.any():
            break
        apart |= new
    return apart


def _beyond(size: NDArray[np.float32], df: Array, p_value: float) -> Flags:
    """Pairs with a smaller two-sided p-value of Student's t, with the lesser df of both."""
    bound = t_quantile(df, 1 - p_value).astype(np.float32)
    if (bound == bound[0]).all():
        return np.asarray(size > bound[0])
    return np.asarray((size > bound) & (size > bound[:, None]))


def _draws(scores: Scores, seed: int) -> NDArray[np.float32]:
    """Normal scores with the covariance, (n, draws), whatever the order of systems and rounding."""
    n = len(scores.value)
    values, vectors = np.linalg.eigh(scores.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    normal = np.empty((n, int(np.clip(_DIFFERENCES_DRAWN // n**2, *_DRAWS))), np.float32)
    # of exponentials no two sums are the same but of the same covariances
    exponentials = np.exp(scores.covariance / max(np.diag(scores.covariance).max(), 1e-300))
    keys = exponentials.sum(axis=1), scores.value
    order = np.lexsort([np.round(key, 12) for key in keys])  # equal but for rounding
    normal[order] = np.random.default_rng(seed).standard_normal(normal.shape, dtype=np.float32)
    return np.asarray(root.astype(np.float32) @ normal)


def _largest(scores: Scores, draws: Any, one: Any, other: Any) -> NDArray[np.float32]:
    """Largest difference of some pairs in standard errors, in every draw."""
    variance = scores.variance()[one, other]
    inverse = np.zeros(variance.shape, np.float32)
    np.divide(1, np.sqrt(variance), out=inverse, where=variance > 0, casting="same_kind")
    largest = np.zeros(draws.shape[1], np.float32)
    for some in blocks(len(one), len(largest), _AT_ONCE):
        differences = np.abs(draws[one[some]] - draws[other[some]])
        differences *= inverse[some, None]
        np.maximum(largest, differences.max(axis=0), out=largest)
    return largest


def groups_of(apart: Flags) -> list[str]:
    """Letters of systems in order of rank: systems that share one do not differ significantly.

    A letter is a run of systems no two of which differ, as long as can be. A system of several runs
    has the first and the last letter, "b-d".
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


def _letters(number: int) -> str:
    """a, b, …, z, aa, ab, …."""
    higher, last = divmod(number, 26)
    return (_letters(higher - 1) if higher else "") + chr(ord("a") + last)
