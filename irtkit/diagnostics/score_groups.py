"""Expected share right of every item among respondents who got equally many items right.

Given θ answers are independent, and the probability S_k(θ) of k right answers follows item by item
(Lord & Wingersky 1984). Of those with k right the share that has item j right is

    E_jk = ∫ P_j(θ) S⁽ʲ⁾_{k−1}(θ) φ(θ) dθ / ∫ S_k(θ) φ(θ) dθ,

S⁽ʲ⁾ being of the other items. It is got out of S by undoing one step, from the end at which that
step is stable: S_k = (1 − P_j) S⁽ʲ⁾_k + P_j S⁽ʲ⁾_{k−1}, upwards where P_j ≤ ½, else downwards.

Of many items the recursion is replaced by its saddlepoint approximation. With logits raised by the
λ at which Σ p̃_j = k (p̃_j = σ(logit P_j + λ), v and κ the sums of p̃(1 − p̃) and of
p̃(1 − p̃)(1 − 2p̃)), log S_k ≈ Σ log(1 − P + P e^λ) − λk − ½ log 2πv (Daniels 1954), and the odds of
item j are those of p̃_j, raised for what one item takes from the sum of all:

    logit Pr(y_j = 1 | k, θ) ≈ logit p̃_j + (2p̃_j − 1)/(2v) + κ/(2v²).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.irf import logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array, ItemParameters

MANY_ITEMS = 250
"""Items from which on the saddlepoint is taken. At scores within 3 SDs it is off by 6e-4 at most
with 100 items, by 5e-5 with 250 and by 2e-5 with 500 (log slopes of SD 0.4); the recursion takes
n² steps and loses scores that are too improbable for 64 bits."""
_MOST_KNOTS = 64
"""Scores at which it is computed; between them the logit of a share is a cubic spline."""
_REACH = 6.0
"""SDs of the score, at a node, beyond which it is not looked for there: its density is 1e-8."""
_NEWTON_STEPS, _FAR = 12, 4.0
"""Most Newton steps for λ, and the longest of them."""
_LEAST = 1e-12
"""Least distance of a probability from 0 and 1."""


def expected_right(
    items: ItemParameters,
    scores: NDArray[np.intp],
    n: Array,
    first: NDArray[np.intp],
    grid: tuple[Array, Array],
) -> Array:
    """Expected number right of every item in groups of scores, (n_items, n_groups).

    ``n`` respondents have each of some different ``scores``, from 1 to n_items − 1; the groups
    begin at the places ``first`` among them. ``grid`` are nodes and weights of ability.
    """
    nodes, weights = grid
    p = np.clip(items.probability(nodes).T, _LEAST, 1 - _LEAST)
    if items.n_items < MANY_ITEMS:
        shares = by_recursion(p, weights)[:, scores - 1]
        return np.asarray(np.add.reduceat(shares * n, first, axis=1))
    if len(scores) <= _MOST_KNOTS:
        shares = by_saddlepoint(p, weights, scores.astype(np.float64))
        return np.asarray(np.add.reduceat(shares * n, first, axis=1))
    from scipy.interpolate import CubicSpline
    from scipy.special import expit, logit

    knots = np.unique(np.round(np.quantile(scores, np.linspace(0, 1, _MOST_KNOTS))))
    shares = by_saddlepoint(p, weights, knots)
    expected = np.empty((items.n_items, len(first)))
    for some in blocks(items.n_items, len(scores)):
        curve = CubicSpline(knots, logit(np.clip(shares[some], _LEAST, 1 - _LEAST)), axis=1)
        expected[some] = np.add.reduceat(expit(curve(scores)) * n, first, axis=1)
    return expected


def by_recursion(p: Array, weights: Array) -> Array:
    """E_jk at all scores from 1 to n − 1; ``p`` is P(right), (n_items, n_nodes)."""
    n = len(p)
    score = np.zeros((n + 1, p.shape[1]))
    score[0] = 1.0
    for k, right in enumerate(p):
        score[1 : k + 2] = score[1 : k + 2] * (1 - right) + score[: k + 1] * right
        score[0] *= 1 - right
    low = p <= 0.5
    up, down = np.where(low, p, 0.5), np.where(low, 0.5, p)
    weight_up, weight_down = (p * weights * part for part in (low, ~low))
    both = np.zeros((n, n - 1))
    others = score[0] / (1 - up)
    for k in range(1, n):
        both[:, k - 1] = np.einsum("jq,jq->j", others, weight_up)
        others = (score[k] - up * others) / (1 - up)
    others = score[n] / down
    for k in range(n - 1, 0, -1):
        others = (score[k] - (1 - down) * others) / down
        both[:, k - 1] += np.einsum("jq,jq->j", others, weight_down)
    return np.asarray(np.clip(both / (score[1:n] @ weights), 0.0, 1.0))


def by_saddlepoint(p: Array, weights: Array, scores: Array) -> Array:
    """E_jk at some scores; ``p`` is P(right), (n_items, n_nodes)."""
    total, mass = np.zeros((len(scores), len(p))), np.zeros(len(scores))
    peak = np.full(len(scores), -np.inf)
    mean, sd = p.sum(axis=0), np.sqrt((p * (1 - p)).sum(axis=0))
    distance = np.abs(scores[:, None] - mean) / sd
    near = (distance < _REACH) | (distance == distance.min(axis=1, keepdims=True))
    for q in np.flatnonzero(near.any(axis=0)):
        some = np.flatnonzero(near[:, q])
        log_density, share = _at_node(p[:, q], scores[some])
        log_density = log_density + np.log(weights[q])
        higher = np.maximum(peak[some], log_density)
        before, now = np.exp(peak[some] - higher), np.exp(log_density - higher)
        total[some] = total[some] * before[:, None] + share * now[:, None]
        mass[some] = mass[some] * before + now
        peak[some] = higher
    return np.asarray((total / mass[:, None]).T)


def _at_node(p: Array, scores: Array) -> tuple[Array, Array]:
    """Log of S_k, and Pr(y_j = 1 | k) of every item, (n_scores, n_items)."""
    logits = np.log(p) - np.log1p(-p)
    tilt = (scores - p.sum()) / (p * (1 - p)).sum()
    for _ in range(_NEWTON_STEPS):
        tilted = logistic(logits + tilt[:, None])
        variance = tilted * (1 - tilted)
        v = variance.sum(axis=1)
        step = np.clip((scores - tilted.sum(axis=1)) / v, -_FAR, _FAR)
        if np.abs(step).max() < 1e-6:  # the error is its square, times at most 1
            break
        tilt += step
    skew = (variance * (1 - 2 * tilted)).sum(axis=1)
    log_sum = np.log1p(p * np.expm1(tilt)[:, None]).sum(axis=1)
    density = log_sum - tilt * scores - 0.5 * np.log(2 * np.pi * v)
    raised = (2 * tilted - 1) / (2 * v[:, None]) + (skew / (2 * v**2))[:, None]
    return density, logistic(logits + tilt[:, None] + raised)
