"""How far two measures put the same items in the same order.

Values closer than 1e-6 (relative, above 1) are tied, since a fit is not exact. Ties share the
average of their ranks. Infinite values are the lowest and the highest.

The interval of Spearman's ρ is over other items of the same kind. Its standard error comes from the
influence of every item on ρ, ranks included (Hampel 1974), and it is symmetric in Fisher's
z = artanh ρ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from irtkit.irf import Array

    Levels = NDArray[np.intp]

_TOLERANCE = 1e-6  # Relative difference of a tie: above the rounding of a fit, below its errors.
_LARGEST = 1e100  # Size from which on values tie, infinite ones included.
_Z95 = 1.96  # Normal quantile of 95 % intervals.


class RankAgreement(NamedTuple):
    """Agreement of two measures on the order of the same items; NaN if one ties all items."""

    spearman: float
    spearman_low: float
    spearman_high: float
    kendall: float


def rank_agreement(first: Levels, second: Levels) -> RankAgreement:
    """Spearman's ρ with its 95 % interval, and Kendall's τ-b, of two sets of levels."""
    from scipy import stats

    if first.max(initial=0) == 0 or second.max(initial=0) == 0:
        return RankAgreement(*[float("nan")] * 4)
    rho = spearman(first, second)
    low, high = rho, rho
    if abs(rho) < 1:
        half = _Z95 * _error(first, second) / (1 - rho**2)
        low, high = np.tanh([np.arctanh(rho) - half, np.arctanh(rho) + half]).tolist()
    kendall = float(stats.kendalltau(first, second, variant="b").statistic)
    return RankAgreement(rho, low, high, kendall)


def levels(values: ArrayLike) -> Levels:
    """Position of every value among the distinct values, from 0 for the lowest; no NaN."""
    bounded = np.clip(np.asarray(values, dtype=np.float64), -_LARGEST, _LARGEST)
    order = np.argsort(bounded, kind="stable")
    ascending = bounded[order]
    gaps = np.diff(ascending) > _TOLERANCE * np.maximum(1, np.abs(ascending[1:]))
    result = np.zeros(len(bounded), dtype=np.intp)
    result[order[1:]] = np.cumsum(gaps)
    return result


def spearman(first: Levels, second: Levels) -> float:
    """Spearman's ρ; NaN if a measure ties all items."""
    x, y = (_deviations(of) for of in (first, second))
    scale = np.sqrt((x @ x) * (y @ y))
    return float(np.clip(x @ y / scale, -1, 1)) if scale > 0 else float("nan")


def n_tied(of: Levels) -> int:
    """Return the number of items that share their level with another item."""
    counts = np.bincount(of)
    return int(counts[counts > 1].sum())


def same_order(first: Levels, second: Levels) -> bool:
    """Whether no two items are ordered in opposite ways; ties are no difference."""
    both = np.lexsort((second, first))
    return bool((np.diff(second[both]) >= 0).all())


def _deviations(of: Levels) -> Array:
    """Ranks less their mean, as proportions of the items."""
    from scipy.stats import rankdata

    return np.asarray((rankdata(of) - (len(of) + 1) / 2) / max(len(of), 1))


def _error(first: Levels, second: Levels) -> float:
    """Standard error of Spearman's ρ."""
    x, y = _deviations(first), _deviations(second)
    of_x = x**2 + 2 * _mean_above(first, x)
    of_y = y**2 + 2 * _mean_above(second, y)
    of_both = x * y + _mean_above(first, y) + _mean_above(second, x)
    sx, sy = x.std(), y.std()
    rho = np.mean(x * y) / (sx * sy)
    influence = of_both / (sx * sy) - rho / 2 * (of_x / sx**2 + of_y / sy**2)
    return float(influence.std() / np.sqrt(len(x)))


def _mean_above(of: Levels, values: Array) -> Array:
    """Sum of the values of the items above each item, ties by half, over the number of items."""
    at = np.bincount(of, values)
    return np.asarray((at[::-1].cumsum()[::-1] - at / 2)[of] / len(of))
