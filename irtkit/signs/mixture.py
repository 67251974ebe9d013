"""How slopes are distributed among the items of a matrix: a mixture learned by empirical Bayes.

Items are of three kinds (the two-groups model of Efron 2008, its non-null group split by sign):
**regular** with log a normal, **inverted** with the same distribution mirrored, a < 0, and **flat**
with a normal around 0. Shares and spreads are those that make the score tests of all items most
likely, with a few pseudo-items' weight on mild values, so that a handful of items is not taken for
a distribution. As in Stephens (2017) the likelihood of an item is the normal one of its estimate,
here exp(aU − a²V/2), and slopes are summed over a grid, so that EM needs no more than products with
one matrix.

The constants below were varied, most by a factor of two each way, on 94 matrices with inverted
items planted (``benchmarks/sign_constants.py``). At a false-discovery rate of 5 %, 69 % of these
are called negative and 1.2 % of those called are false; neither moves by a point where nothing else
is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.signs.score_test import SlopeScore


_STEEPEST = 30.0
"""Steepest slope of the grid: a tenth of an SD below and above its difficulty, an item of that
slope is answered right with 5 and 95 %, and a steeper one cannot be told from it."""
_BEND = 2.0
"""Slope from which on spacing grows with the slope, as the width of a log-normal density does."""
_WIDTHS = 1.25
"""Spacing in SDs of the narrowest likelihood: the trapezoidal rule is off by a share of
2·exp(−2π²/1.25²) = 7e-6."""
_FINEST = 0.01
"""Least spacing, reached where V is 15,625, as 60,000 respondents give it: signs are plain there,
and the grid need not grow beyond 1,500 slopes."""
_STEP = 0.15
"""Greatest spacing, and spacing of log slopes near 0: less than half of the least spread of
log slopes, with which the rule is off by less than 2·exp(−2π²·2²) = 1e-34."""
_DEPTH = 6.0
"""How far log slopes go down from where steps become linear: to 0.017 of the spacing, which leaves
out as much of what lies within one spacing of 0, on both sides alike."""
_MAX_ITEMS = 4000
"""Items learned from: the standard error of a share of 5 % is 0.3 %."""
_MAX_STEPS, _MIN_GAIN = 100, 1e-4
"""Steps of EM at most, and gain in log-likelihood below which it ends (after 5 to 60 steps):
1e-6 in its place moves probabilities by 1e-6 on average, 0.0015 at most."""
_PSEUDO_ITEMS, _PSEUDO_SHARE = 10.0, 0.05
"""Pseudo-items, and the share of inverted and of flat ones among them: half an item each, as in
Jeffreys' prior. With 30 items, twice as many find 63 and half as many 69 % in place of 67 %."""
_STARTS = ((0.5, _PSEUDO_SHARE), (0.95, 0.8))
"""EM starts from most items regular, and from most items flat: the quantile of the likeliest steep
slopes taken for that of regular items, and the share of flat ones."""
_SPREAD, _SPREAD_PSEUDO_ITEMS = 0.4, 5.0
"""SD of log slopes among as many pseudo-items; 14 real matrices teach 0.13 to 0.48 if let."""
_MIN_SPREAD = 0.35
"""V is that of no slope, too large for steep items, and makes log slopes look less spread than they
are. With 0.2 in its place 5.7 % of the items called at 30 × 1,000 are false and 10 % at 12 × 1,000,
with 0.35 4.3 % and none; 0.5 finds 42 in place of 56 %."""
_FLATNESS = 1 / 3
"""Spread of flat slopes, at most, relative to a typical regular slope: wider, the kinds could not
be told apart."""


class SlopeGrid(NamedTuple):
    """Sizes of slopes, the same on both sides of 0, from the steepest down."""

    size: Array
    log_size: Array
    width: Array
    """What each size stands for in an integral."""

    @classmethod
    def for_information(cls, largest: float) -> SlopeGrid:
        """Return a grid for likelihoods with an information of so much at most.

        Logarithms are equally spaced near 0, where slopes of noise gather; further out slopes
        are, close enough for the narrowest likelihood, and more and more apart where they are
        steep: size = 2·sinh(t), with t growing as exp(u) below u = 0 and as 1 + u above.
        """
        spacing = min(_STEP, max(_WIDTHS / np.sqrt(largest + 1e-9), _FINEST))
        turn = spacing / _BEND / _STEP
        u = np.arange(-_DEPTH, np.arcsinh(_STEEPEST / _BEND) / turn - 1, _STEP)[::-1]
        growth = np.exp(np.minimum(u, 0))
        t = turn * (growth + np.maximum(u, 0))
        size = _BEND * np.sinh(t)
        return cls(size, np.log(size), _BEND * np.cosh(t) * turn * growth * _STEP)


class SlopeMixture(NamedTuple):
    """Distribution of slopes among items, in logits per SD of the proportion score."""

    log_slope: float
    """Mean of log a of regular items, and of log(−a) of inverted ones."""
    spread: float
    """SD of the same."""
    flat_spread: float
    """SD of the slopes of flat items."""
    inverted: float
    """Share of inverted items."""
    flat: float
    """Share of flat items."""

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of regular, inverted and flat items."""
        return 1 - self.inverted - self.flat, self.inverted, self.flat

    def masses(self, grid: SlopeGrid) -> tuple[Array, Array]:
        """Probability of every size of a regular or inverted slope, and of a flat one on a side."""
        steep = np.exp(-0.5 * ((grid.log_size - self.log_slope) / self.spread) ** 2)
        steep *= grid.width / grid.size
        flat = np.exp(-0.5 * (grid.size / self.flat_spread) ** 2) * grid.width
        return steep / steep.sum(), flat / (2 * flat.sum())


def log_likelihood(score: SlopeScore, slopes: Array) -> Array:
    """The quadratic aU − a²V/2, (n_items, n_slopes)."""
    return np.asarray(np.stack(score, axis=1) @ np.stack([slopes, -0.5 * slopes**2]))


def learned_mixture(score: SlopeScore, n_alike: NDArray[np.intp], grid: SlopeGrid) -> SlopeMixture:
    """Mixture under which the score tests are most likely, the better of two ascents by EM.

    ``n_alike`` is how many items each score and information stands for. Of very many items every
    k-th is learned from, in the order of z, so that the order of the items makes no difference.
    """
    in_order = np.lexsort((score.information, np.nan_to_num(score.z)))
    every = -(-int(n_alike.sum()) // _MAX_ITEMS)
    sample = np.repeat(in_order, n_alike[in_order])[every // 2 :: every]
    sample, n_alike = np.unique(sample, return_counts=True)
    slopes = np.concatenate([-grid.size, grid.size])
    likelihood = log_likelihood(score.chosen(sample), slopes)
    likelihood -= likelihood.max(axis=1, keepdims=True)
    np.exp(likelihood, out=likelihood)
    likely = np.repeat(np.abs(slopes)[likelihood.argmax(axis=1)], n_alike)
    found = []
    for quantile, flat in _STARTS:
        typical = float(np.quantile(likely, quantile))
        mixture = SlopeMixture(np.log(typical), _SPREAD, _FLATNESS * typical, _PSEUDO_SHARE, flat)
        reached = -np.inf
        for _ in range(_MAX_STEPS):
            before = reached
            mixture, reached = _em_step(mixture, likelihood, n_alike, grid)
            if reached < before + _MIN_GAIN:
                break
        found.append((reached, mixture))
    return max(found)[1]


def _em_step(
    mixture: SlopeMixture, likelihood: Array, n_alike: NDArray[np.intp], grid: SlopeGrid
) -> tuple[SlopeMixture, float]:
    """One step of EM, and the log-likelihood before it."""
    p_regular, p_inverted, p_flat = mixture.shares
    steep, flat = mixture.masses(grid)
    regular, inverted, flat = p_regular * steep, p_inverted * steep, p_flat * flat
    marginal = likelihood @ np.concatenate([inverted + flat, regular + flat])
    falling, rising = ((n_alike / marginal) @ likelihood).reshape(2, -1)
    inverted, steep = inverted * falling, inverted * falling + regular * rising
    flat = flat * (falling + rising)
    n_steep, n_flat = steep.sum(), flat.sum()
    log_least = grid.log_size[-1] + 1
    log_slope = max(steep @ grid.log_size / n_steep, log_least)
    variance = _pooled(steep @ (grid.log_size - log_slope) ** 2, n_steep, _SPREAD**2)
    flat_spread = _pooled(flat @ grid.size**2, n_flat, 0.0) ** 0.5
    n_items = n_alike.sum() + _PSEUDO_ITEMS
    better = SlopeMixture(
        log_slope,
        max(variance**0.5, _MIN_SPREAD),
        min(max(flat_spread, np.exp(log_least)), _FLATNESS * np.exp(log_slope)),
        min((inverted.sum() + _PSEUDO_ITEMS * _PSEUDO_SHARE) / n_items, 0.5),
        (n_flat + _PSEUDO_ITEMS * _PSEUDO_SHARE) / n_items,
    )
    return better, float(n_alike @ np.log(marginal))


def _pooled(squares: float, n: float, prior: float) -> float:
    """Variance of n items together with that of pseudo-items."""
    return (squares + _SPREAD_PSEUDO_ITEMS * prior) / (n + _SPREAD_PSEUDO_ITEMS)
