"""Signs of the slopes of items that may measure several abilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.abilities.engine import Normals, probabilities
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
    free, design = fitted.design.pattern, fitted.design
    n, k = free.shape
    kinds = np.arange(k) if design.free else design.kind
    same = (kinds[:, None] == kinds).astype(np.float64)
    pool = same / np.maximum(same @ free.sum(axis=0), 1)[:, None]  # sums by ability to kinds' means
    h, information = (evidence * part for part in _near_zero(cells, fitted))
    slopes, shares = fitted.items.mean[:, :-1] * free, np.array([0.9, 0.05, 0.05])
    centre, p = pool @ slopes.sum(axis=0), np.zeros((3, n))
    spread = np.diag(pool @ ((slopes - centre) ** 2 * free).sum(axis=0) + _FLOOR)
    for _ in range(_STEPS):
        inside = np.eye(k) + spread @ information
        log_volume, inverse = np.linalg.slogdet(inside)[1], np.linalg.inv(inside)
        about, by_score = inverse @ centre, inverse @ spread
        pull, odds = np.einsum("nij,nj->ni", by_score, h), (h * about).sum(axis=1)
        level = (h * pull - (information @ centre) * about).sum(axis=1) / 2 - log_volume / 2
        log_p = np.stack([level + odds, level - odds, np.zeros(n)]) + np.log(shares)[:, None]
        p = np.exp(log_p - log_p.max(axis=0))
        p /= p.sum(axis=0)
        shares = (p.sum(axis=1) + _USUAL) / (n + 3 * _USUAL)
        of_items = [(p[at][:, None] * free, about + sign * pull) for at, sign in ((0, 1), (1, -1))]
        weight = sum(w for w, _ in of_items)
        inside_kind = same @ weight.sum(axis=0) + _USUAL / 100
        centre = same @ sum((w * a).sum(axis=0) for w, a in of_items) / inside_kind
        second = sum((w * (a - centre)).T @ ((a - centre) * free) for w, a in of_items)
        second = second + np.einsum("ni,nij->ij", weight, by_score * free[:, None, :])
        if design.free:
            spread = second / inside_kind[0]
        else:
            spread = np.diag(same @ np.diag(second) / inside_kind)
        spread += _FLOOR / n * np.eye(k)
    return np.asarray(p[1])


def _near_zero(cells: Cells, fitted: Fitted) -> tuple[Array, Array]:
    """Score and information of the slopes of every item at 0, its intercept at its maximum.

    Each response is taken out of the abilities that it is compared with, in one Newton step.
    """
    theta, variance = fitted.ability, fitted.ability_covariance
    free, k = fitted.design.pattern, theta.shape[1]
    sums = np.zeros((len(free), 1 + k + k * k))
    tried, right = (part.sum(axis=0, dtype=np.float64) for part in (cells.weights, cells.weighed))
    mean = right / np.maximum(tried, 1e-9)
    h, taken = np.zeros((len(free), k)), np.zeros((len(free), k * k))
    for rows in blocks(*cells.y.shape):
        some, people = (
            cells.chosen(rows),
            Normals(fitted.respondents.mean[rows], fitted.respondents.covariance[rows]),
        )
        squares = (theta[rows, :, None] * theta[rows, None, :]).reshape(-1, k * k)
        sums += some.weights.T @ np.column_stack([np.ones(len(squares)), theta[rows], squares])
        residual = some.weights * (some.y - mean)
        h += residual.T @ theta[rows]
        own = residual * some.weights * (some.y - probabilities(people, fitted.known_items))
        taken += own.T @ variance[rows].reshape(-1, k * k)
    h -= np.einsum("nij,nj->ni", taken.reshape(-1, k, k), fitted.items.mean[:, :-1])
    first, square = sums[:, 1 : k + 1], sums[:, k + 1 :].reshape(-1, k, k)
    square = square - first[:, :, None] * first[:, None, :] / np.maximum(sums[:, :1, None], 1e-9)
    information = (mean * (1 - mean))[:, None, None] * square
    return h * free, information * (free[:, :, None] & free[:, None, :])


def negative_items(p: Array) -> Finding | None:
    """How many items are called negative, given all abilities."""
    n = int(called_negative(p).sum())
    values = {"n": n, "n_items": len(p), "fdr": FALSE_DISCOVERY_RATE, "n_unsure": 0}
    return Finding("negative-items", "note", values) if n else None
