"""The share right of all items, told from the answers to some.

By p-IRT (Polo et al. 2024) it is the answers seen and, of the items not asked, the expected number
right over the posterior of ability, with M(θ) = Σ P and V(θ) = Σ P(1 − P) over these:

    mean E[M(θ)], variance Var[M(θ)] + E[V(θ)].

Of items drawn at random it can be told by a model that need not be true (model-assisted: Särndal,
Swensson & Wretman 1992), see :func:`irtkit.score`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from irtkit.irf import Array
    from irtkit.scoring.abilities import Abilities

_TINY = 1e-300  # Replaces 0 in a beta distribution, which has no quantiles there.


class NumberRight(NamedTuple):
    """How many items not asked would be right, each (n,)."""

    mean: Array
    variance: Array


@np.errstate(under="ignore")
def number_right(posterior: Array, by_node: Array, noise: Array) -> NumberRight:
    """Mean and variance over posteriors, of M and V at their nodes, each (n, n_nodes)."""
    mean = (posterior * by_node).sum(axis=1)
    spread = (posterior * (by_node - mean[:, None]) ** 2).sum(axis=1)
    noise_too = spread + (posterior * noise).sum(axis=1)
    return NumberRight(mean, np.maximum(noise_too, 0))  # rounding where nothing is left to ask


class Known(NamedTuple):
    """What is known of every respondent's score."""

    right: Array
    """Sum over the items answered of the share of right trials, (n,)."""
    n_asked: Array
    """How many items each answered, (n,)."""
    n_items: int


class Score(NamedTuple):
    """Share right of all items, each (n,)."""

    mean: Array
    low: Array
    high: Array


def bounded(known: Known, mean: Array, half: Array) -> Score:
    """Score with its interval, within what the answers seen leave possible."""
    least, most = known.right / known.n_items, 1 - (known.n_asked - known.right) / known.n_items
    bounds = np.maximum(mean - half, least), np.minimum(mean + half, most)
    return Score(np.clip(mean, least, most), *bounds)


def model_based(known: Known, found: Abilities, misfit: Array, level: float) -> Score:
    """Score by p-IRT; ``misfit`` is a variance of scores beyond that of the model."""
    from scipy.special import ndtri

    spread = np.sqrt(found.rest_variance / known.n_items**2 + misfit)
    mean = (known.right + found.rest) / known.n_items
    return bounded(known, mean, ndtri((1 + level) / 2) * spread)


def opened(score: Score, known: Known, drawn: Known | None, level: float) -> Score:
    """Open the upper ends of intervals, because curves end at the best calibrated respondent.

    The upper end is the score if all items not asked are right. Items asked at random bound the
    share right of the rest (Clopper & Pearson 1934).
    """
    from scipy.special import betaincinv

    most = 1 - (known.n_asked - known.right) / known.n_items
    if drawn is None:
        return Score(score.mean, score.low, most)
    right, wrong, tail = drawn.right, drawn.n_asked - drawn.right, (1 - level) / 2
    least = np.where(right > 0, betaincinv(np.maximum(right, _TINY), wrong + 1, tail), 0)
    largest = np.where(wrong > 0, betaincinv(right + 1, np.maximum(wrong, _TINY), 1 - tail), 1)
    rest = known.n_items - known.n_asked + drawn.n_asked
    low, high = ((known.right - right + rest * share) / known.n_items for share in (least, largest))
    low = np.where(high < score.low, low, np.maximum(low, score.low))
    low, high = np.maximum(low, known.right / known.n_items), np.minimum(high, most)
    return Score(np.clip(score.mean, low, high), low, high)


def model_assisted(known: Known, found: Abilities, level: float) -> Score:
    """Score by a model that need not be true, for items drawn at random (`score` has the formula).

    One item says nothing about the spread of residuals: it leaves all possible.
    """
    from scipy.special import stdtrit

    n_asked, n_items = np.maximum(known.n_asked, 1), known.n_items
    residual = (known.right - found.expected_right) / n_asked
    freedom = np.maximum(known.n_asked - 1, 0)
    spread = np.maximum(found.squares - n_asked * residual**2, 0) / np.maximum(freedom, 1)
    variance = (1 - n_asked / n_items) / n_asked * np.maximum(spread, found.noise / n_asked)
    quantile = np.where(freedom > 0, stdtrit(np.maximum(freedom, 1), (1 + level) / 2), np.inf)
    half = np.where(freedom > 0, quantile, 1) * np.sqrt(variance)
    mean = (found.rest + found.expected_right) / n_items + residual
    return bounded(known, mean, np.where(freedom > 0, half, 1.0))
