"""Which items are inverted: the probability that an item's slope lies below 0.

A negative slope means that the weak get the item right and the strong get it wrong. Wald tests of
single slopes have little power where respondents are few, because each item is judged as if it
were alone. Here every item is judged with what the others teach about slopes. Slopes come from
three kinds of item: regular ones with log a normal, inverted ones with the same distribution
mirrored, and flat ones, normal around 0 (such mixtures: Efron 2008). Their shares and spreads are
those that make the evidence most likely, found by EM on a grid of slopes, with the weight of a few
items given to mild values, so that a handful of items is not taken for a distribution.

A matrix of noise can be told as slopes to both sides of 0 as well. The verdicts are therefore
mixed with ½ by the odds of the mixture against no slope at all, with the prior odds below.

Log odds beyond 10 are damped. Nothing is as sure as a likelihood that is exact only if the model
is, and the order of the items stays visible in numbers that would otherwise all print as 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.evidence import Evidence

    Array = NDArray[np.float64]

_STEEPEST = 30.0
"""Steepest slope of the grid, in logits per SD of strength."""
_BEND = 2.0
"""Slope from which on the grid is coarser."""
_WIDEST, _FINEST = 0.15, 0.01
"""Distance of slopes on the grid where it is linear, at most and at least."""
_WIDTHS = 1.25
"""The same in widths of the narrowest likelihood."""
_STEP = 0.15
"""Distance of log slopes where the grid is logarithmic."""
_DEPTH = 6.0
"""How far the logarithmic part goes down."""
_STARTS = ((0.5, 0.05), (0.95, 0.8))
"""Quantile of the single slopes taken for that of regular items, and share of flat ones."""
_LEARNING_STEPS = 100
_LEARNED = 1e-4
"""Gain in log-likelihood below which nothing more is learned."""
_ITEMS_LEARNED_FROM = 4000
_CELLS_AT_ONCE = 2**21
_PRIOR_ITEMS = 10.0
"""Items' worth of weight on the shares of inverted and of flat items."""
_PRIOR_SHARE = 0.05
_SPREAD = 0.4
_SPREAD_ITEMS = 5.0
"""Items' worth of weight on spreads, for flat slopes on none."""
_LEAST_SPREAD = 0.35
"""The normal likelihood has the variance of no slope, too large for steep ones, and makes log
slopes look less spread than they are; false discoveries would be too many below this."""
_FLATNESS = 1 / 3
"""Spread of flat slopes, at most, relative to a typical regular slope."""
_LOG_ODDS_OF_NOISE = 7.0
"""Prior log odds of no slope at all; the mixture gains some 4 nats at most on coin flips, and 17 or
more on five items that 500 respondents answered."""
_DAMPED_FROM, _DAMPING = 10.0, 3.0


class Kinds(NamedTuple):
    """Distribution of slopes among items, in logits per SD of strength."""

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
    def shares(self) -> Array:
        """Shares of regular, inverted and flat items."""
        return np.array([1 - self.inverted - self.flat, self.inverted, self.flat])

    def densities(self, slopes: Array) -> Array:
        """Density of regular, inverted and flat items at some slopes, shares left out, (3, n)."""
        size = np.abs(slopes)
        folded = np.exp(-0.5 * ((np.log(size) - self.log_slope) / self.spread) ** 2)
        folded /= size * self.spread
        flat = np.exp(-0.5 * (slopes / self.flat_spread) ** 2) / self.flat_spread
        by_kind = np.stack([folded * (slopes > 0), folded * (slopes < 0), flat])
        return np.asarray(by_kind / np.sqrt(2 * np.pi))


class Inversion(NamedTuple):
    """The verdict on every item."""

    p_negative: Array
    """Probability that the slope is below 0, (n_items,)."""
    wrong_key: Array
    """Log of how many times likelier the responses are if the item is inverted than if not."""
    kinds: Kinds
    structure: float
    """Probability that there are slopes at all, and not only noise."""


def inversion(evidence: Evidence) -> Inversion:
    """Judge every item with the distribution of slopes that all items teach."""
    from scipy.special import expit

    slopes, width = _grid(float(evidence.information.max()))
    every = -(-len(evidence.score) // _ITEMS_LEARNED_FROM)
    in_order = np.lexsort((evidence.information, np.nan_to_num(evidence.trend)))
    sample = evidence.chosen(in_order[every // 2 :: every])  # whatever the order of the items
    kinds = _learned(_log_likelihood(sample, slopes), slopes, width)
    densities = _weights(kinds, slopes, width)
    mixture, inverted, falls = kinds.shares @ densities, densities[1], slopes < 0
    not_inverted = (mixture - kinds.inverted * inverted) / (1 - kinds.inverted)
    log_odds, wrong_key, gain = np.zeros((3, len(evidence.score)))
    step = max(1, _CELLS_AT_ONCE // len(slopes))
    for start in range(0, len(log_odds), step):
        some = slice(start, start + step)
        log_likelihood = _log_likelihood(evidence.chosen(some), slopes)
        falling, rising = log_likelihood[:, falls], log_likelihood[:, ~falls]
        log_odds[some] = _log_mean(falling, mixture[falls]) - _log_mean(rising, mixture[~falls])
        wrong_key[some] = _log_mean(falling, inverted[falls])
        wrong_key[some] -= _log_mean(log_likelihood, not_inverted)
        gain[some] = _log_mean(log_likelihood, mixture)
    structure = float(expit(gain.sum() - _LOG_ODDS_OF_NOISE))
    return Inversion(
        structure * expit(_damped(log_odds)) + (1 - structure) / 2,
        np.where(evidence.information > 0, wrong_key, 0.0),
        kinds,
        structure,
    )


def _grid(information: float) -> tuple[Array, Array]:
    """Slopes on both sides of 0, and their widths.

    Their logarithms are equally spaced near 0, where slopes of noise gather; further out slopes
    are, close enough for the narrowest likelihood, and more and more apart where they are steep.
    """
    narrowest = _WIDTHS / np.sqrt(information + 1e-9)
    turn = min(_WIDEST, max(narrowest, _FINEST)) / _BEND / _STEP
    u = np.arange(-_DEPTH, np.arcsinh(_STEEPEST / _BEND) / turn - 1, _STEP)
    near = np.exp(np.minimum(u, 0))
    at = turn * (near + np.maximum(u, 0))
    slopes, width = _BEND * np.sinh(at), _BEND * np.cosh(at) * turn * near * _STEP
    return np.concatenate([-slopes[::-1], slopes]), np.concatenate([width[::-1], width])


def _weights(kinds: Kinds, slopes: Array, width: Array) -> Array:
    """Weight of every slope within each kind, (3, n_slopes), rows summing to 1."""
    weights = kinds.densities(slopes) * width
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


def _log_likelihood(evidence: Evidence, slopes: Array) -> Array:
    """The quadratic aU − a²V/2, (n_items, n_slopes)."""
    return np.multiply.outer(evidence.score, slopes) - np.multiply.outer(
        evidence.information, 0.5 * slopes**2
    )


def _log_mean(log_likelihood: Array, weights: Array) -> Array:
    """Logarithm of the weighted sum of likelihoods by item."""
    peak = log_likelihood.max(axis=1)
    likelihood = np.exp(log_likelihood - peak[:, None])
    return np.asarray(np.log(np.maximum(likelihood @ weights, 1e-300)) + peak)


def _damped(log_odds: Array) -> Array:
    beyond = np.maximum(np.abs(log_odds) - _DAMPED_FROM, 0)
    least = np.minimum(np.abs(log_odds), _DAMPED_FROM)
    return np.asarray(np.sign(log_odds) * (least + _DAMPING * np.log1p(beyond / _DAMPING)))


def _learned(log_likelihood: Array, slopes: Array, width: Array) -> Kinds:
    """Kinds under which the evidence is most likely, the better of two ascents by EM."""
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    steepness = np.abs(slopes[likelihood.argmax(axis=1)])
    found = []
    for quantile, flat in _STARTS:
        typical = float(np.quantile(steepness, quantile))
        kinds = Kinds(float(np.log(typical)), _SPREAD, _FLATNESS * typical, _PRIOR_SHARE, flat)
        before = -np.inf
        for _ in range(_LEARNING_STEPS):
            kinds, reached = _better(kinds, likelihood, slopes, width)
            if reached < before + _LEARNED:
                break
            before = reached
        found.append((reached, kinds))
    return max(found)[1]


def _better(kinds: Kinds, likelihood: Array, slopes: Array, width: Array) -> tuple[Kinds, float]:
    """One step of EM, and the log-likelihood before it."""
    joint = kinds.shares[:, None] * _weights(kinds, slopes, width)
    of_item = np.maximum(likelihood @ joint.sum(axis=0), 1e-300)
    regular, inverted, flat = joint * ((1 / of_item) @ likelihood)
    folded, log_size = regular + inverted, np.log(np.abs(slopes))
    n_folded, n_flat = folded.sum() + 1e-9, flat.sum()
    log_least = float(log_size.min()) + 1
    log_slope = max(float(folded @ log_size / n_folded), log_least)
    variance = _pooled(folded @ (log_size - log_slope) ** 2, n_folded, _SPREAD**2)
    most_flat = float(_FLATNESS * np.exp(log_slope))
    flat_variance = _pooled(flat @ slopes**2, n_flat, 0.0)
    own, n_items = _PRIOR_ITEMS * _PRIOR_SHARE, len(likelihood) + _PRIOR_ITEMS
    better = Kinds(
        log_slope,
        max(variance**0.5, _LEAST_SPREAD),
        min(max(flat_variance**0.5, float(np.exp(log_least))), most_flat),
        min(float(inverted.sum() + own) / n_items, 0.5),
        float(n_flat + own) / n_items,
    )
    return better, float(np.log(of_item).sum())


def _pooled(squares: float, n: float, prior: float) -> float:
    return float((squares + _SPREAD_ITEMS * prior) / (n + _SPREAD_ITEMS))
