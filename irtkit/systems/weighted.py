"""A paired t-test with items weighted by how well they separate systems.

The difference on item j has the weight w_j, the slope of the answers of all other systems on
their abilities, c_j/(p_j(1 − p_j)). Slopes are shrunk towards their mean by their own errors
(DerSimonian & Laird 1986, *Controlled Clinical Trials* 7, 177-188), and are 0 where negative. The
two systems take no part in their weights, so that the test is valid whether or not the model holds.

The *gain* is (mean t_w² − 1)/(mean t² − 1) over pairs of other systems, with the weighted t_w and
the plain t. The plain test would need this multiple of the items. The gain is unknown if one
ability does not explain responses, or if the median of t² is below 2 (mostly noise).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.systems.paired import mean_of
from irtkit.systems.standing import Shares

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array
    from irtkit.systems.paired import Clusters, Estimate

LEAST_GAIN = 1.1  # Gain from which the weighted test decides.
LEAST_SYSTEMS = 20  # With fewer, slopes are hardly known.
_PAIRS = 1000  # Pairs that measure the gain.
_LEAST_MEDIAN = 2.0  # Median of t² from which the gain is known (0.45 for equal systems).


class Slopes(NamedTuple):
    """Sums over systems from which slopes of items without two of them follow."""

    sums: Array  # Of 1, θ, θ², y, θy and y² over the answers to each item, (6, n_items).
    ability: Array  # Of all respondents.

    @classmethod
    def of(cls, result: FitResult, places: Places) -> Slopes:
        """Sum over the systems at some places."""
        spread = float(result.ability[places].std())
        ability = (result.ability - result.ability[places].mean()) / (spread if spread > 0 else 1)
        sums = np.zeros((6, result.patterns.n_items))
        for some in blocks(len(places), result.patterns.n_items):
            own = places[some]
            sums += _terms(Shares.of(result.patterns.chosen(own)), ability[own])
        return cls(sums, ability)

    def weights(self, shares: Shares, pair: Places) -> Array:
        """Weights of items without a pair of systems, from the accuracies of the others."""
        left = self.sums - _terms(shares, self.ability[pair])
        with np.errstate(divide="ignore", invalid="ignore"):
            n, theta, squares, y, product, y_squares = left
            about = squares - theta**2 / n
            c = (product - theta * y / n) / about
            residual = (y_squares - y**2 / n - c**2 * about) / (n - 2)
            variance = (y / n) * (1 - y / n)
            slope, precision = c / variance, about * variance**2 / residual
        known = np.isfinite(slope) & np.isfinite(precision) & (precision > 0) & (n > 2)
        if not known.any():
            return np.ones(len(n))
        slope, w = np.where(known, slope, 0.0), np.where(known, precision, 0.0)
        total = w.sum()
        q = float(w @ (slope - w @ slope / total) ** 2)
        spread = max(q - (known.sum() - 1), 0.0) / max(total - w @ w / total, 1e-300)
        of_all = np.divide(w, 1 + spread * w)
        mean = of_all @ slope / of_all.sum()
        shrunk = mean + spread * w / (1 + spread * w) * (slope - mean)
        found = np.maximum(shrunk, 0.0)
        return np.asarray(found / found.max()) if found.any() else np.ones(len(n))


def _terms(shares: Shares, ability: Array) -> Array:
    """Sums of 1, θ, θ², y, θy and y² over the answers of some systems."""
    seen, y = (shares.trials > 0).astype(np.float64), shares.right
    by_system = np.stack([np.ones_like(ability), ability, ability**2])
    return np.vstack([by_system @ seen, by_system[:2] @ y, (y**2).sum(axis=0)])


def both_tests(
    slopes: Slopes, shares: Shares, pair: Places, cluster: Clusters | None
) -> tuple[Estimate, Estimate]:
    """Mean difference of a pair on the items of both, plain and weighted."""
    both = (shares.trials > 0).all(axis=0)
    difference, step = np.subtract(*shares.right)[both], float(shares.steps.min())
    cluster = None if cluster is None else cluster[both]
    weights = slopes.weights(shares, pair)[both]
    return tuple(  # type: ignore[return-value]
        mean_of(each, cluster, step=step) for each in (difference, weights * difference)
    )


def gain_of(result: FitResult, slopes: Slopes, others: Places, cluster: Clusters | None) -> float:
    """Gain over at most 1,000 pairs of some systems, NaN where it is unknown."""
    one, other = np.triu_indices(len(others), 1)
    chosen = np.random.default_rng(0).permutation(len(one))[:_PAIRS]
    squares = []
    for pair in zip(others[one[chosen]], others[other[chosen]], strict=True):
        places = np.array(pair)
        found = both_tests(slopes, Shares.of(result.patterns.chosen(places)), places, cluster)
        squares.append([(each.value / each.se) ** 2 for each in found])
    t = np.array([one for one in squares if np.isfinite(one).all()])
    if result.one_ability_doubted or not len(t) or np.median(t[:, 0]) < _LEAST_MEDIAN:
        return np.nan
    plain, weighted = t.mean(axis=0)
    return float((weighted - 1) / (plain - 1))
