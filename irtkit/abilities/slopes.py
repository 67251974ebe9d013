"""Signs of the slopes of items that may measure several abilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.abilities.engine import item_distribution, masked_inverse, probabilities
from irtkit.data.slopes import SlopeScore, signs_of
from irtkit.irf import outer

if TYPE_CHECKING:
    from irtkit.abilities.engine import Cells, Fitted
    from irtkit.irf import Array


def p_negative(cells: Cells, fitted: Fitted, evidence: float = 1.0) -> Array:
    """Probability that the slopes of an item are turned round, given the others.

    The slopes a of an item near 0 have the score h and the information L. Its slope along an axis u
    is estimated by u'L⁻¹h with the information 1/u'L⁻¹u, and judged as that of one ability. With
    the mean μ and the covariance Ω of the slopes of all items, the axis (Ω + L⁻¹)⁻¹μ tells slopes
    about μ and about −μ apart best (Fisher's discriminant). The result is the same for every
    rotation. ``evidence`` weighs responses, and is below 1 if respondents repeat each other.

    The intercept is at its maximum at slopes of 0. Each response is taken out of the abilities that
    it is compared with, in one Newton step.
    """
    pattern = fitted.design.pattern
    theta = fitted.ability
    n, k = theta.shape
    weights = cells.weight.astype(np.float64)
    tried = np.maximum(weights.sum(axis=0), 1e-9)
    share = cells.weighed.sum(axis=0, dtype=np.float64) / tried
    residual = weights * (cells.y - share)
    p = probabilities(fitted.respondents, fitted.known_items)
    of_itself = residual * weights * (cells.y - p)
    abilities = fitted.ability_covariance.reshape(n, -1)
    taken = (of_itself.T @ abilities).reshape(-1, k, k)
    score = residual.T @ theta
    score -= np.einsum("nij,nj->ni", taken, fitted.slopes)
    score *= pattern
    squares = outer(theta, theta).reshape(n, -1)
    first = weights.T @ theta
    second = (weights.T @ squares).reshape(-1, k, k)
    second -= outer(first, first) / tried[:, None, None]
    by_chance = share * (1 - share)
    information = by_chance[:, None, None] * second * outer(pattern, pattern)
    varied = np.trace(information, axis1=1, axis2=2) > 0
    unit = np.eye(pattern.shape[1])
    invertible = np.where(varied[:, None, None], information, information + unit)
    error = masked_inverse(invertible, pattern)
    mean, covariance = item_distribution(fitted.items, fitted.design)
    of_slopes = covariance[:, :-1, :-1] + error
    spread = masked_inverse(of_slopes, pattern)
    axes = spread @ mean[:, :-1, None]
    size = np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-9)
    axes = (axes / size).mT @ error
    slope = (axes @ score[:, :, None])[:, 0, 0]
    variance = (axes @ information @ axes.mT)[:, 0, 0]
    along = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)
    of_axes = SlopeScore(slope * along, along).weighted(evidence)
    answered = np.asarray(cells.weight.any(axis=0))
    return signs_of(of_axes, answered)[2]
