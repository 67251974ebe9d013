"""How good estimated item parameters are, by one yardstick for all packages.

The marginal log-likelihood is that of the observed responses with ability N(0, 1), by the
trapezoid rule over [−16, 16] with nodes a quarter of the narrowest posterior SD apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

REACH = 16.0
MOST_NODES = 2**16
CELLS_PER_BLOCK = 2**21


class Items(NamedTuple):
    """Discrimination, intercept and guessing; each of shape (n_items,)."""

    discrimination: NDArray[np.float64]
    intercept: NDArray[np.float64]
    guessing: NDArray[np.float64]


def fine_grid(candidates):
    """Equally spaced nodes, fine enough for each of several sets of items.

    A posterior SD is at least (1 + max I(θ))^(−1/2), and I(θ) ≤ Σⱼ aⱼ² s(1 − s); the steepest
    slope is added, since its peak may fall between the places where this is looked up. Estimates
    that run off (perfectly separated items) are given at most ``MOST_NODES`` nodes.
    """
    precision = max(
        (
            1 + np.max(items.discrimination**2) / 4 + max(_information(items, theta))
            for items in candidates
            if np.isfinite(items).all()
            for theta in [np.linspace(-8, 8, 161)]
        ),
        default=1.0,
    )
    n_nodes = min(MOST_NODES, int(np.ceil(2 * REACH * 4 * np.sqrt(precision))))
    return np.linspace(-REACH, REACH, n_nodes)


def _information(items, abilities):
    logits = (items.discrimination * theta + items.intercept for theta in abilities)
    return [float(items.discrimination**2 @ (expit(z) * expit(-z))) for z in logits]


def marginal_log_likelihood(values, items, nodes):
    """Σᵢ log Σₖ h φ(θₖ) Πⱼ P(yᵢⱼ | θₖ) over observed cells; NaN if a parameter is not finite.

    Missing cells are −1. Works through the nodes in blocks; no array is larger than respondents (or
    items) × block.
    """
    if not np.isfinite(items).all():
        return np.nan
    slope, intercept, guessing = items
    answered = values >= 0
    complete, correct = answered.all(), values == 1
    linear = _products(correct, np.stack([slope, intercept], axis=1))
    log_prior = np.log(nodes[1] - nodes[0]) - 0.5 * nodes**2 - 0.5 * np.log(2 * np.pi)
    total = np.full(len(values), -np.inf)
    step = max(1, CELLS_PER_BLOCK // max(values.shape))
    for start in range(0, len(nodes), step):
        theta = nodes[start : start + step]
        z = slope[:, None] * theta + intercept[:, None]
        log_wrong = np.log1p(-guessing)[:, None] - _softplus(z)
        if guessing.any():
            with np.errstate(divide="ignore"):  # log 0 is a guessing of 0
                log_right = np.logaddexp(np.log(guessing)[:, None], z + log_wrong)
            right = _products(correct, log_right - log_wrong)
        else:
            right = linear[:, :1] * theta + linear[:, 1:]
        wrong = log_wrong.sum(axis=0) if complete else _products(answered, log_wrong)
        log_joint = right + wrong + log_prior[start : start + step]
        total = np.logaddexp(total, logsumexp(log_joint, axis=1))
    return float(total.sum())


def _softplus(z):
    """log(1 + eᶻ) without overflow."""
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def _products(cells, columns):
    """Matrix product of cells and columns, without a float copy of all cells."""
    step = max(1, CELLS_PER_BLOCK // cells.shape[1])
    return np.concatenate(
        [cells[k : k + step].astype(float) @ columns for k in range(0, len(cells), step)]
    )


def recovery(found, truth):
    """RMSE of discrimination, the direction of the scale being free.

    Perfectly separated items without a prior dominate it.
    """
    turn = -1.0 if found.discrimination @ truth.discrimination < 0 else 1.0
    off = turn * found.discrimination - truth.discrimination
    return {"rmse_discrimination": float(np.sqrt(np.mean(off**2)))}
