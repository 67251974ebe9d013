"""Means over items, and differences of two systems, with errors clustered by item.

Items stand for others like them (Miller 2024, *Adding error bars to evals*, arXiv 2411.00640).
Trials of an item are one cluster, and items of one passage may be a larger one. With e_g the sum
over cluster g of (d_j − d̄), the variance of d̄ over J items in G clusters is

    G/(G − 1) · Σ_g e_g² / J²,

for Student's t with G − 1 degrees of freedom. If two systems answered the same items, d_j is the
difference of their accuracies on item j. Σ e_g² is at least what one other answer would make of it,
since twenty items on which both agree do not prove that they agree on the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array

    Clusters = NDArray[np.intp]

POWER = 0.8  # Power for which numbers of items are given, as studies are planned (Cohen 1988).


class Estimate(NamedTuple):
    """Means over items, or differences of accuracies, with their errors: numbers or arrays."""

    value: Any
    se: Any
    df: Any  # Clusters less one, or 0 if an error cannot be estimated.

    def interval(self, level: float) -> tuple[Any, Any]:
        """Bounds of differences at equal tails."""
        reach = t_quantile(self.df, level) * self.se
        return np.maximum(self.value - reach, -1.0), np.minimum(self.value + reach, 1.0)

    def columns(self, level: float) -> dict[str, Any]:
        """Columns of a table of differences."""
        low, high = self.interval(level)
        columns = {"difference": self.value, "se": self.se, "low": low, "high": high}
        return columns | {"p_value": self.p_value}

    @property
    def p_value(self) -> Any:
        """Two-sided, of a mean of 0, NaN without an item."""
        t = np.asarray(self.value / self.se)
        return np.where(np.isnan(t), np.nan, 2 * t_distribution(self.df, -np.abs(t)))[()]


def mean_of(values: Array, step: float = 1.0) -> Estimate:
    """Mean of values, one per item. ``step`` is what one other answer would change a value by."""
    n = len(values)
    if not n:
        return Estimate(np.nan, np.nan, 0)
    mean = values.mean()
    deviation = values - mean
    variance = max(deviation @ deviation, step**2) * correction(n) / n**2
    return Estimate(mean, variance**0.5, n - 1)


def correction(n_clusters: Any) -> Any:
    """G/(G − 1), and 1 for a single one."""
    return n_clusters / np.maximum(n_clusters - 1, 1)


def t_distribution(df: Any, t: Any) -> Any:
    """P(T < t) of Student's t, a half without degrees of freedom.

    From 50 degrees of freedom on it is Hill's expansion (1970, *CACM* 13, 617-619), whose error is
    below 1e-13. It takes a tenth of the time.
    """
    from scipy.special import ndtr, stdtr

    if not np.all(np.asarray(df) >= 50):
        estimated = np.asarray(df) > 0
        return np.where(estimated, stdtr(np.where(estimated, df, 1), t), 0.5)
    t = np.clip(t, -1e6, 1e6)  # beyond it the probability is 0 or 1
    a = df - 0.5
    b = 48 * a**2
    y = a * np.log1p(t**2 / df)
    series = ((-0.4 * y - 3.3) * y - 24) * y - 85.5
    deviate = np.sqrt(y) * (1 + (y + 3 + series / (0.8 * y**2 + 100 + b)) / b)
    return ndtr(np.copysign(deviate, t))


def t_quantile(df: Any, level: float) -> Any:
    """Half-width in standard errors of an interval at equal tails, infinite without df."""
    from scipy.special import stdtrit

    different, place = np.unique(df, return_inverse=True)  # of many pairs, few
    reach = np.full(len(different), np.inf)
    estimated = different > 0
    reach[estimated] = stdtrit(different[estimated], (1 + level) / 2)
    return reach[place].reshape(np.shape(df))[()]


def wilson_interval(
    share: Any, n: Any, level: float = 0.95, df: Any = np.inf
) -> tuple[Array, Array]:
    """Score interval of a true share (Wilson 1927, *JASA* 22, 209-212).

    From the share p among n independent answers, of any shape. With t the quantile of Student's t,

        (p + t²/2n ± t √(p(1 − p)/n + t²/4n²)) / (1 + t²/n).

    The quantile is normal by default. If the variance v of a share was estimated with ``df``
    degrees of freedom, n is p(1 − p)/v. Without degrees of freedom the bounds are 0 and 1.

    Examples
    --------
    >>> from irtkit.systems.paired import wilson_interval
    >>> [round(float(bound), 3) for bound in wilson_interval(0.75, 4)]
    [0.301, 0.954]
    """
    quantile = np.minimum(t_quantile(df, level), 1e6)
    ratio = quantile**2 / n
    centre = (share + ratio / 2) / (1 + ratio)
    reach = np.sqrt(ratio * (share * (1 - share) + ratio / 4)) / (1 + ratio)
    # with rounding a bound of a share of 0 or 1 would pass it
    return np.clip(centre - reach, 0.0, share), np.clip(centre + reach, share, 1.0)


def power_of(
    n_items: Any,
    difference: Any,
    se_of_one: float,
    *,
    level: float,
    clusters_per_item: float,
    shared: float = 0.0,
) -> Any:
    """Power of a two-sided test with n items, by noncentral t with shift difference / SE.

    SE² is SE₁²/n and the ``shared`` variance, which no number of items reduces.
    """
    from scipy.special import nctdtr, ndtr

    n = np.asarray(n_items, dtype=np.float64)
    df = np.maximum(n * clusters_per_item - 1, 1)
    shift = np.abs(difference) / np.sqrt(se_of_one**2 / n + shared)
    bound = t_quantile(df, level)
    power = 1 - nctdtr(df, shift, bound) + nctdtr(df, shift, -bound)
    return np.where(np.isnan(power), ndtr(shift - bound), power)  # where scipy's series fails


def items_needed(
    se_of_one: Any,
    difference: Any,
    *,
    tail_probability: float,
    clusters_per_item: Any,
    shared: Any = 0.0,
) -> Any:
    """Items that find a difference with a probability of 80 %, infinite if no number does.

    G clusters do if G = ((t_α + t_0.8) · SE of one cluster / difference)², with quantiles of
    Student's t with G − 1 degrees of freedom. G/(t_α + t_0.8)² rises with G and is inverted by
    interpolation. No number of items reduces the ``shared`` variance, which takes (z_α + z_0.8)²
    of itself from the square of the difference, with normal quantiles.
    """
    from scipy.special import ndtri, stdtrit

    clusters = np.geomspace(1e-9, 1e15, 2000)
    df = np.maximum(clusters - 1, 1)
    deviate = stdtrit(df, 1 - tail_probability) + stdtrit(df, POWER)
    of_shared = (ndtri(1 - tail_probability) + ndtri(POWER)) ** 2 * shared
    square = np.square(difference) - of_shared
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.log(se_of_one**2 / square * clusters_per_item)
        needed = np.exp(np.interp(ratio, np.log(clusters / deviate**2), np.log(clusters)))
        needed = np.ceil(needed / clusters_per_item)
    return np.where(square <= 0, np.inf, needed)[()]
