"""Signs of the slopes of items that may measure several abilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.abilities.engine import probabilities
from irtkit.data.patterns import blocks
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, called_negative
from irtkit.findings import Finding

if TYPE_CHECKING:
    from irtkit.abilities.engine import Cells, Fitted
    from irtkit.irf import Array

_USUAL = 1.0  # Pseudo-items of each kind: regular, negative, and without a slope.
_FLOOR = 0.05  # Pseudo-variance of slopes, of one item.
_STEPS = 50  # Of the EM for the share of negative items.


def p_negative(cells: Cells, fitted: Fitted, evidence: float = 1.0) -> Array:
    """Probability that the slopes of an item are turned round, given the others.

    The likelihood of the slopes a of an item near 0 is about exp(h'a − a'La/2), the score and the
    information of abilities that leave the item out. Slopes come from N(μ, Ω), from N(−μ, Ω), or
    are 0. EM estimates μ, Ω and the three shares from h and L. The result is the same for every
    rotation. ``evidence`` weighs responses, and is below 1 if respondents repeat each other.
    """
    pattern = fitted.design.pattern
    n, k = pattern.shape
    kinds = np.arange(k) if fitted.design.free else fitted.design.kind
    same = (kinds[:, None] == kinds).astype(np.float64)
    n_of_kind = np.maximum(same @ pattern.sum(axis=0), 1)
    score, information = _near_zero(cells, fitted)
    score = evidence * score
    information = evidence * information
    slopes = fitted.items.mean[:, :-1] * pattern
    centre = same @ slopes.sum(axis=0) / n_of_kind
    squares = ((slopes - centre) ** 2 * pattern).sum(axis=0)
    spread = np.diag(same @ squares / n_of_kind + _FLOOR)
    shares = np.array([0.9, 0.05, 0.05])  # Of regular and negative items, and without a slope.
    p = np.zeros((3, n))
    for _ in range(_STEPS):
        inside = np.eye(k) + spread @ information
        log_volume = np.linalg.slogdet(inside)[1]
        inverse = np.linalg.inv(inside)
        shrunk = inverse @ centre
        covariance = inverse @ spread
        pull = np.einsum("nij,nj->ni", covariance, score)
        odds = (score * shrunk).sum(axis=1)
        level = (score * pull - (information @ centre) * shrunk).sum(axis=1) / 2 - log_volume / 2
        log_p = np.stack([level + odds, level - odds, np.zeros(n)]) + np.log(shares)[:, None]
        p = np.exp(log_p - log_p.max(axis=0))
        p /= p.sum(axis=0)
        shares = (p.sum(axis=1) + _USUAL) / (n + 3 * _USUAL)

        regular = p[0][:, None] * pattern
        negative = p[1][:, None] * pattern
        weight = regular + negative
        weight_of_kind = same @ weight.sum(axis=0) + _USUAL / 100
        # slopes of negative items are turned round
        total = (regular * (shrunk + pull) + negative * (shrunk - pull)).sum(axis=0)
        centre = same @ total / weight_of_kind
        second = np.einsum("ni,nij->ij", weight, covariance * pattern[:, None, :])
        off = shrunk + pull - centre
        second += (regular * off).T @ (off * pattern)
        off = shrunk - pull - centre
        second += (negative * off).T @ (off * pattern)
        if fitted.design.free:
            spread = second / weight_of_kind[0]
        else:
            spread = np.diag(same @ np.diag(second) / weight_of_kind)
        spread += _FLOOR / n * np.eye(k)
    return np.asarray(p[1])


def _near_zero(cells: Cells, fitted: Fitted) -> tuple[Array, Array]:
    """Score and information of the slopes of every item at 0, its intercept at its maximum.

    Each response is taken out of the abilities that it is compared with, in one Newton step.
    """
    theta, pattern = fitted.ability, fitted.design.pattern
    n_items, k = pattern.shape
    tried = np.maximum(cells.weights.sum(axis=0, dtype=np.float64), 1e-9)
    mean = cells.weighed.sum(axis=0, dtype=np.float64) / tried
    first, score = np.zeros((2, n_items, k))
    second, taken = np.zeros((2, n_items, k * k))
    for rows in blocks(*cells.y.shape):
        answers = cells.chosen(rows)
        p = probabilities(fitted.respondents.chosen(rows), fitted.known_items)
        products = theta[rows, :, None] * theta[rows, None, :]
        first += answers.weights.T @ theta[rows]
        second += answers.weights.T @ products.reshape(-1, k * k)
        residual = answers.weights * (answers.y - mean)
        score += residual.T @ theta[rows]
        of_itself = residual * answers.weights * (answers.y - p)
        taken += of_itself.T @ fitted.ability_covariance[rows].reshape(-1, k * k)
    score -= np.einsum("nij,nj->ni", taken.reshape(-1, k, k), fitted.items.mean[:, :-1])
    centred = second.reshape(-1, k, k)
    centred -= first[:, :, None] * first[:, None, :] / tried[:, None, None]
    information = (mean * (1 - mean))[:, None, None] * centred
    return score * pattern, information * (pattern[:, :, None] & pattern[:, None, :])


def negative_items(p: Array, slope: Array) -> Finding | None:
    """How many items are called negative, given all abilities."""
    n = int(called_negative(p, slope=slope).sum())
    values = {"n": n, "n_items": len(p), "fdr": FALSE_DISCOVERY_RATE, "n_unsure": 0}
    return Finding("negative-items", "note", values) if n else None
