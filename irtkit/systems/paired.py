"""Means over items, and differences of two systems, with errors clustered by item.

A benchmark's items stand for others like them (Miller 2024, *Adding error bars to evals*, arXiv
2411.00640): the error of a mean over items holds the luck of their choice, and with it that of
every answer. Repeated trials of an item are one cluster, and items of one passage or task may be
a larger one. With e_g the sum over cluster g of (d_j − d̄), the variance of d̄ over J items in G
clusters is

    G/(G − 1) · Σ_g e_g² / J²,

referred to Student's t with G − 1 degrees of freedom. Where two systems answered the same items d_j
is the difference of their shares right, and what makes an item hard for both drops out. Twenty
items on which both agree have no spread, and yet do not prove that they agree on the next one:
Σ e_g² is taken to be at least what one answer otherwise would make of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array

    Clusters = NDArray[np.intp]

_MANY_CLUSTERS, _HALVINGS = 300, 20
"""Clusters from which on normal quantiles ask for 1 % too few at most, and halvings of the distance
to what Student's t asks for, which is some ten times as many at most."""
POWER = 0.8
"""Probability to find a difference that is there, for which a number of items is named."""
_FEW_DF = 30  # Degrees of freedom below which normal deviates are computed exactly.


class Estimate(NamedTuple):
    """A mean over items with its error."""

    value: float
    se: float
    df: float
    """Degrees of freedom: clusters less one; 0 where nothing tells an error."""

    def interval(self, level: float) -> tuple[float, float]:
        """Bounds at equal tails; infinite without degrees of freedom."""
        reach = float(t_quantile(self.df, level)) * self.se
        return self.value - reach, self.value + reach

    @property
    def p_value(self) -> float:
        """Two-sided, of a mean of 0; NaN without an item."""
        if np.isnan(self.value):
            return np.nan
        return float(2 * tail(self.df, self.value / self.se))


def mean_of(values: Array, cluster: Clusters | None = None, *, step: float = 1.0) -> Estimate:
    """Mean of values, one per item, with its clustered error.

    ``cluster`` numbers the cluster of every item; None makes each its own. ``step`` is what one
    answer otherwise would change a value by.
    """
    n = len(values)
    if not n:
        return Estimate(np.nan, np.nan, 0)
    mean = float(values.mean())
    sums: Any = values - mean
    if cluster is not None:
        sums = np.bincount(cluster, sums)[np.bincount(cluster) > 0]
    variance = max(float(sums @ sums), step**2) * correction(len(sums)) / n**2
    return Estimate(mean, variance**0.5, len(sums) - 1)


def correction(n_clusters: Any) -> Any:
    """G/(G − 1), and 1 for a single one."""
    return n_clusters / np.maximum(n_clusters - 1, 1)


def apart(one: Estimate, other: Estimate) -> Estimate:
    """Difference of two means as if their items had nothing in common.

    Degrees of freedom are those of Welch and Satterthwaite, (v + v')² / (v²/df + v'²/df') with
    squared errors v, 0 where one mean has none (Welch 1947, *Biometrika* 34, 28–35).
    """
    v, of_other = one.se**2, other.se**2
    df = 0.0
    if one.df > 0 and other.df > 0:
        df = (v + of_other) ** 2 / (v**2 / one.df + of_other**2 / other.df)
    return Estimate(one.value - other.value, (v + of_other) ** 0.5, df)


def tail(df: Any, t: Any) -> Any:
    """P(T > |t|) of Student's t; a half where there are no degrees of freedom."""
    from scipy.special import stdtr

    known = np.asarray(df) > 0
    return np.where(known, stdtr(np.where(known, df, 1), -np.abs(t)), 0.5)


@np.errstate(invalid="ignore")
def normal_deviate(t: Array, df: Array) -> Array:
    """Normal deviate above 0 that is exceeded as rarely as |t| by Student's t.

    From 30 degrees of freedom on by Algorithm 395 (Hill 1970, *Communications of the ACM* 13,
    617-619), with an error below 1e-7.
    """
    from scipy.special import ndtri

    a = np.maximum(df, 1) - 0.5
    b = 48 * a**2
    y = a * np.log1p(t**2 / np.maximum(df, 1))
    by_b = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y**2 + 100 + b) + y + 3
    found = np.sqrt(y) * (by_b / b + 1)
    few = (df < _FEW_DF) & np.isfinite(t)
    if few.any():
        found[few] = -ndtri(np.minimum(tail(df[few], t[few]), 0.5))
    return np.where(np.isinf(t), np.inf, found)


def t_quantile(df: Any, level: float) -> Any:
    """Half-width in standard errors of an interval at equal tails; infinite without df."""
    from scipy.special import stdtrit

    different, place = np.unique(df, return_inverse=True)  # of many pairs, few
    reach = np.full(len(different), np.inf)
    known = different > 0
    reach[known] = stdtrit(different[known], (1 + level) / 2)
    return reach[place].reshape(np.shape(df))[()]


def design_effect(values: Array, n_trials: Array, cluster: Clusters | None = None) -> float:
    """Variance of a mean by its clusters, over that of as many independent trials.

    ``values`` are shares right of ``n_trials`` each.
    """
    trials = n_trials.sum()
    p = float(values.mean()) if len(values) else np.nan
    if trials < 2 or not 0 < p < 1:
        return np.nan
    found = mean_of(values, cluster, step=1 / float(n_trials.max()))
    return float(found.se**2 / (p * (1 - p) / (trials - 1)))


def power_of(
    n_items: Any, difference: Any, se_of_one: float, *, level: float, clusters_per_item: float
) -> Any:
    """Probability that so many items tell a difference from 0, in a two-sided test.

    The test statistic is noncentral t, its shift √n · difference / ``se_of_one``, the latter being
    the standard error of the mean times √n.
    """
    from scipy.special import nctdtr, ndtr

    n = np.asarray(n_items, dtype=np.float64)
    df = np.maximum(n * clusters_per_item - 1, 1)
    shift = np.abs(difference) * np.sqrt(n) / se_of_one
    bound = t_quantile(df, level)
    found = 1 - nctdtr(df, shift, bound) + nctdtr(df, shift, -bound)
    return np.where(np.isnan(found), ndtr(shift - bound), found)  # where scipy's series fails


def items_needed(
    se_of_one: Any, difference: Any, *, tail_probability: float, clusters_per_item: Any = 1.0
) -> Any:
    """Items with which a difference is found with a probability of 80 %, if it is as it looks.

    ((t_α + t_0.8) · SE of one item / difference)², t being the quantiles of Student's t of so many
    clusters; infinite for none.
    """
    from scipy.special import ndtri, stdtrit

    deviate = ndtri(1 - tail_probability) + ndtri(POWER)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_deviate = np.asarray((se_of_one / np.abs(difference)) ** 2)
        needed = np.asarray(deviate**2 * of_deviate)
        few = needed * clusters_per_item < _MANY_CLUSTERS
        squares, clusters = of_deviate[few], np.broadcast_to(clusters_per_item, few.shape)[few]

        known = np.geomspace(1, 10 * _MANY_CLUSTERS, 500)
        deviates = stdtrit(known, 1 - tail_probability) + stdtrit(known, POWER)

        def asked(n: Any) -> Any:
            return np.interp(n * clusters - 1, known, deviates) ** 2 * squares

        low, high = needed[few], asked(needed[few])  # the more items, the fewer are asked for
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = asked(middle) <= middle
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        needed[few] = high
        return np.ceil(needed)[()]
