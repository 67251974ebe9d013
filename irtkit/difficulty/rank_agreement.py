"""How far two measures put the same items in the same order.

Values closer than 1e-6 (relative, above 1) are tied, since a fit is not exact. Ties share the
average of their ranks. Infinite values are the lowest and the highest.

The interval of Spearman's ρ is over other items of the same kind. Its standard error comes from the
influence of every item on ρ, ranks included (Hampel 1974), and it is symmetric in Fisher's
z = artanh ρ.

`spearman_score` scores a predictor as GUANinE does (https://github.com/ni-lab/guanine,
docs/scoring.rst). A missing prediction is set to the mean of the others (the page's own line
discards the filled values). Small noise that breaks ties shows whether they carry the score. It is
not neutral: |ρ| falls by the factor SD(average ranks) / SD(untied ranks). For a yes–no predictor
that says yes to the proportion p, the factor is √(3 p (1 − p)). So both numbers are given, and a
report must say which it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.checks import check_number, check_seed, check_times, check_unique
from irtkit.irf import Z95

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.irf import Array

    Levels = NDArray[np.intp]

_TOLERANCE = 1e-6  # Relative difference of a tie: above the rounding of a fit, below its errors.
_LARGEST = 1e100  # Size from which on values tie, infinite ones included.
_STREAM = 4  # Makes the noise differ from labels that were simulated from the same seed.


class RankAgreement(NamedTuple):
    """Agreement of two measures on the order of the same items, NaN if one ties all items."""

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
    low = rho
    high = rho
    if abs(rho) < 1:
        z = np.arctanh(rho)
        half = Z95 * _error(first, second) / (1 - rho**2)
        low = float(np.tanh(z - half))
        high = float(np.tanh(z + half))
    kendall = float(stats.kendalltau(first, second, variant="b").statistic)
    return RankAgreement(rho, low, high, kendall)


def levels(values: ArrayLike) -> Levels:
    """Position of every value among the distinct values, from 0 for the lowest, without NaN."""
    bounded = np.clip(np.asarray(values, dtype=np.float64), -_LARGEST, _LARGEST)
    order = np.argsort(bounded, kind="stable")
    ascending = bounded[order]
    gaps = np.diff(ascending) > _TOLERANCE * np.maximum(1, np.abs(ascending[1:]))
    result = np.zeros(len(bounded), dtype=np.intp)
    result[order[1:]] = np.cumsum(gaps)
    return result


def spearman(first: Array | Levels, second: Array | Levels) -> float:
    """Spearman's ρ, NaN if a measure ties all items."""
    x = _deviations(first)
    y = _deviations(second)
    scale = np.sqrt((x @ x) * (y @ y))
    return float(np.clip(x @ y / scale, -1, 1)) if scale > 0 else float("nan")


def n_tied(of: Levels) -> int:
    """Return the number of items that share their level with another item."""
    counts = np.bincount(of)
    return int(counts[counts > 1].sum())


def same_order(first: Levels, second: Levels) -> bool:
    """Whether no two items are ordered in opposite ways. Ties are not opposite."""
    both = np.lexsort((second, first))
    return bool((np.diff(second[both]) >= 0).all())


def _deviations(values: Array | Levels) -> Array:
    """Ranks less their mean, as proportions of the items."""
    from scipy.stats import rankdata

    n = len(values)
    return np.asarray((rankdata(values) - (n + 1) / 2) / max(n, 1))


def _error(first: Levels, second: Levels) -> float:
    """Standard error of Spearman's ρ."""
    x = _deviations(first)
    y = _deviations(second)
    sx = x.std()
    sy = y.std()
    rho = np.mean(x * y) / (sx * sy)
    square_x = x**2 + 2 * _mean_above(first, x)
    square_y = y**2 + 2 * _mean_above(second, y)
    product = x * y + _mean_above(first, y) + _mean_above(second, x)
    influence = product / (sx * sy) - rho / 2 * (square_x / sx**2 + square_y / sy**2)
    return float(influence.std() / np.sqrt(len(x)))


def _mean_above(of: Levels, values: Array) -> Array:
    """Sum of the values of the items above each item, ties by half, over the number of items."""
    sums = np.bincount(of, values)
    above = sums[::-1].cumsum()[::-1] - sums / 2
    return np.asarray(above[of] / len(of))


def spearman_score(
    predictions: ArrayLike | pd.Series[float],
    labels: ArrayLike | pd.Series[float],
    *,
    jitter_runs: int = 50,
    jitter: float = 0.01,
    seed: int = 0,
) -> tuple[float, Array]:
    """Spearman's ρ of predictions and labels, and how far it depends on ties.

    Parameters
    ----------
    predictions : array-like
        Shape (n,), NaN or None if missing. Only their order counts.
    labels : array-like
        Shape (n,), none missing. Two pandas Series are matched by the labels of their indexes, as
        text. Anything else is matched by position.
    jitter_runs : int, default 50
        Runs with noise, 2 to 100,000.
    jitter : float, default 0.01
        Standard deviation of the normal noise, in standard deviations of the (filled) predictions.
    seed : int, default 0
        Seed of the noise.

    Returns
    -------
    rho : float
        Spearman's ρ, NaN if predictions or labels are constant. A missing prediction is set to the
        mean of the others.
    jittered : array of shape (jitter_runs,)
        ρ of each run with jittered predictions. Its mean is below ρ if ties carry the score.

    Raises
    ------
    ValueError
        If a label or every prediction is missing, a value is not a finite number, lengths or
        indexes differ, an index holds a label twice, or a setting is out of range.

    Examples
    --------
    >>> from irtkit.difficulty import spearman_score
    >>> rho, jittered = spearman_score([0.1, 0.4, None, 0.9, 0.8], [1, 2, 3, 4, 5])
    >>> round(rho, 3), round(float(jittered.mean()), 3)
    (0.9, 0.9)
    """
    import pandas as pd

    check_times("jitter_runs", jitter_runs, 2)
    check_number("jitter", jitter, above=0)
    check_seed(seed)
    if isinstance(predictions, pd.Series) and isinstance(labels, pd.Series):
        predictions = predictions.rename(index=str)
        labels = labels.rename(index=str)
        check_unique("predictions must have each label once", predictions.index)
        if sorted(predictions.index) != sorted(labels.index):
            raise ValueError("predictions and labels must have the same index")
        predictions = predictions[labels.index]
    x: Array = np.array(pd.Series(np.array(predictions)), dtype=np.float64)
    y: Array = np.array(pd.Series(np.array(labels)), dtype=np.float64)
    missing = np.isnan(x)
    if len(x) != len(y) or missing.all() or np.isinf(x).any() or not np.isfinite(y).all():
        raise ValueError(
            "predictions and labels must be as many finite numbers, predictions or NaN"
        )
    present = x[~missing]
    # The mean is clipped, so that rounding sets no equal numbers apart.
    x[missing] = np.clip(present.mean(), present.min(), present.max())
    generator = np.random.default_rng((_STREAM, seed))
    noise = jitter * x.std() * generator.standard_normal((jitter_runs, len(x)))
    return spearman(x, y), np.array([spearman(x + run, y) for run in noise])
