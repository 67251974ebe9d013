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
from irtkit.systems.paired import tail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from irtkit.irf import Array

    Flags = NDArray[np.bool_]

_DRAWS, _LEAST_DRAWS, _PAIRS_DRAWN = 2000, 500, 2**26
"""Draws of all scores at most and at least, and differences drawn: draws leave the share of boards
without an error at 95.0 ± 0.5 %, and ± 1 % of 500 systems."""
_MOST_DRAWN = 600
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

    def z(self, rows: slice) -> Array:
        """Differences of some to all in SEs: the normal deviate as improbable as Student's t."""
        from scipy.special import ndtri

        difference, variance = self.value[rows, None] - self.value, self.variance(rows)
        t = np.divide(
            difference, np.sqrt(variance), out=np.zeros_like(difference), where=variance > 0
        )
        t[(variance == 0) & (difference != 0)] = np.inf
        df = np.minimum(self.df[rows, None], self.df)
        return np.asarray(np.sign(difference) * -ndtri(np.minimum(tail(df, t), 0.5)))


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
    n = len(scores.value)
    z = np.empty((n, n), np.float32)
    for rows in blocks(n, n, _PAIRS_AT_ONCE):
        z[rows] = scores.z(rows)
    return z


def _draws(scores: Scores, seed: int) -> NDArray[np.float32] | None:
    """Normal scores with the covariance, (n, draws); None of more systems than are drawn.

    Drawn from the lowest score to the highest, with the symmetric root, so that neither the order
    of systems nor rounding changes them.
    """
    n = len(scores.value)
    if n > _MOST_DRAWN:
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
    """Which pairs are told apart."""
    one, other = np.triu_indices(len(z), 1)
    size = np.abs(z[one, other])

    def largest(left: Any) -> Any:
        highest = np.zeros(_DRAWS if draws is None else draws.shape[1], np.float32)
        at_once = _PAIRS_AT_ONCE // len(highest)
        for start in range(0, len(left), at_once):
            i, k = (end[left[start : start + at_once]] for end in (one, other))
            np.maximum(highest, _in_errors(scores, draws, i, k).max(axis=0), out=highest)
        return highest

    found = _stepwise(size, alpha, None if draws is None else largest)
    apart = np.zeros(z.shape, bool)
    apart[one[found], other[found]] = apart[other[found], one[found]] = True
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


def _stepwise(size: Array, alpha: float, largest: Callable[[Any], Any] | None) -> Flags:
    """Which differences, in standard errors, exceed what chance makes of the largest one left.

    The bar of draws lies below Holm's, so that what passes his needs no draws.
    """
    apart = _holm(size, alpha)
    while largest is not None and not apart.all():
        left = np.flatnonzero(~apart)
        bar = np.quantile(largest(left), 1 - alpha, method="higher")
        new = left[size[left] > bar]
        if not len(new):
            break
        apart[new] = True
    return apart


def _holm(size: Array, alpha: float) -> Flags:
    """Holm's stepwise Bonferroni correction."""
    from scipy.special import ndtri

    apart = np.zeros(len(size), bool)
    if not len(size):
        return apart
    ordered = np.argsort(-size, kind="stable")
    bars = -ndtri(alpha / 2 / np.arange(len(size), 0, -1))
    failed = size[ordered] <= bars
    apart[ordered[: int(failed.argmax()) if failed.any() else len(size)]] = True
    return apart


def groups_of(apart: Flags) -> list[str]:
    """Letters of systems in order of rank: those that share one cannot be told apart.

    A group is a run of systems no two of which are told apart, as long as can be. One that belongs
    to several has the first and the last letter, "b-d".
    """
    n, end, runs = len(apart), 0, []
    for start in range(n):
        first = end
        while end < n and not apart[start:end, end].any():
            end += 1
        if end > first:
            runs.append((start, end))
    names: list[str] = []
    for k in range(n):
        own = [_letters(number) for number, (start, stop) in enumerate(runs) if start <= k < stop]
        names.append(own[0] if len(own) == 1 else f"{own[0]}-{own[-1]}")
    return names


def share_a_letter_with_the_first(groups: Sequence[str]) -> list[bool]:
    """Which systems, in order of rank, cannot be told apart from the first; itself among them.

    It has one letter, as only one group begins with it, and others that have it, have it first.
    """
    return [name.split("-")[0] == groups[0] for name in groups]


def _letters(number: int) -> str:
    """a, b, …, z, aa, ab, …."""
    higher, last = divmod(number, 26)
    return (_letters(higher - 1) if higher else "") + chr(ord("a") + last)
