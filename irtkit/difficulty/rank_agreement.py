"""How far two measures put the same items in the same order.

Everything works on levels: 0 for the lowest value, 1 for the next, the same number for values
that are tied. Values closer than 1e-6 (relative, above 1) are tied, since a fit is not exact and
rounding must not pass for a difference of order; infinite values are the lowest and the highest.
Ties get the average of the ranks they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_seed, check_times

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TOLERANCE = 1e-6
"""Relative difference below which values tie: far below a standard error, and above what another
machine's rounding changes an estimate by."""
_LARGEST = 1e100
"""Size from which on values tie, infinite ones included, so that differences stay finite."""


@dataclass(frozen=True, eq=False)
class RankAgreement:
    """Agreement of two measures on the order of the same items, made by `rank_agreement`."""

    first: NDArray[np.intp]
    """Levels of the items by the first measure, shape (n_items,)."""
    second: NDArray[np.intp]
    """Levels of the items by the second measure, shape (n_items,)."""
    spearman: float
    """NaN where all items of a measure are tied, as are the three below."""
    spearman_low: float
    spearman_high: float
    kendall: float
    same_order: bool
    """Whether no two items are ordered one way by one measure and the other way by the other."""


def rank_agreement(
    first: ArrayLike, second: ArrayLike, *, draws: int = 200, seed: int = 0
) -> RankAgreement:
    """Compare two measures of the same items, neither with NaN; see also `spearman_interval`."""
    x, y = levels(first), levels(second)
    low, high = spearman_interval(x, y, draws=draws, seed=seed)
    return RankAgreement(x, y, spearman(x, y), low, high, kendall(x, y), same_order(x, y))


def levels(values: ArrayLike) -> NDArray[np.intp]:
    """Position of every value among the distinct values, from 0 for the lowest; no NaN."""
    bounded = np.clip(np.asarray(values, dtype=np.float64), -_LARGEST, _LARGEST)
    order = np.argsort(bounded, kind="stable")
    ascending = bounded[order]
    gaps = np.diff(ascending) > _TOLERANCE * np.maximum(1, np.abs(ascending[1:]))
    result = np.zeros(len(bounded), dtype=np.intp)
    result[order[1:]] = np.cumsum(gaps)
    return result


def ranks(of: NDArray[np.intp], weights: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Rank of every item by its level, from 1 for the lowest, ties averaged.

    With whole-number weights, the ranks that the items have when each is repeated weight times.
    """
    counts = np.bincount(of, weights)
    return (np.cumsum(counts) - (counts - 1) / 2)[of]


def spearman(
    first: NDArray[np.intp], second: NDArray[np.intp], weights: NDArray[Any] | None = None
) -> float:
    """Spearman's ρ, the correlation of the ranks; NaN where all items of a measure are tied.

    The measures are levels of the same items; weights say how often each counts, by default once.
    """
    w: NDArray[Any] = np.ones(len(first)) if weights is None else weights
    centre = (w.sum() + 1) / 2
    x, y = ranks(first, w) - centre, ranks(second, w) - centre
    scale = np.sqrt((w * x * x).sum() * (w * y * y).sum())
    return float(np.clip((w * x * y).sum() / scale, -1, 1)) if scale > 0 else float("nan")


def spearman_interval(
    first: NDArray[np.intp], second: NDArray[np.intp], *, draws: int = 200, seed: int = 0
) -> tuple[float, float]:
    """95 % percentile interval of Spearman's ρ when the items are drawn anew.

    Each draw takes as many items as there are, with replacement (Efron 1979): the interval tells
    how far the agreement depends on which items the benchmark happens to hold. It does not cover
    the error of the difficulties themselves. Draws in which all items are tied are left out.
    """
    check_times("draws", draws, 1)
    check_seed(seed)
    n = len(first)
    if np.isnan(spearman(first, second)):
        return np.nan, np.nan
    generator = np.random.default_rng(seed)
    times = (np.bincount(generator.integers(n, size=n), minlength=n) for _ in range(draws))
    drawn = np.array([spearman(first, second, weights) for weights in times])
    kept = drawn[~np.isnan(drawn)]
    low, high = np.quantile(kept, [0.025, 0.975]).tolist() if kept.size else (np.nan, np.nan)
    return low, high


def kendall(first: NDArray[np.intp], second: NDArray[np.intp]) -> float:
    """Kendall's τ-b of two sets of levels; NaN where all items of a measure are tied."""
    from scipy import stats

    if np.isnan(spearman(first, second)):
        return float("nan")
    return float(stats.kendalltau(first, second, variant="b").statistic)


def same_order(first: NDArray[np.intp], second: NDArray[np.intp]) -> bool:
    """Return whether no two items are ordered in opposite ways by the two measures.

    Items that only one of the measures sets apart do not count as a difference.
    """
    both = np.lexsort((second, first))  # by the first measure, ties by the second
    return bool((np.diff(second[both]) >= 0).all())


def n_tied(of: NDArray[np.intp]) -> int:
    """Return the number of items that share their level with another item."""
    counts = np.bincount(of)
    return int(counts[counts > 1].sum())
