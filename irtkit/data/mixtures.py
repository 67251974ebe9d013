"""EM of small mixtures: probabilities of components, and shares of components that are known.

Slopes of items (`irtkit.data.slopes`), pairs of respondents that are alike
(`irtkit.data.near_duplicates`) and wrong keys are told apart by mixtures. What an M-step learns
besides shares is the matter of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.irf import logistic

if TYPE_CHECKING:
    from irtkit.irf import Array

_SETTLED = 1e-10  # Relative change of a share that ends EM.


def memberships(log_joint: Array) -> tuple[Array, Array]:
    """Probability of each component (k, n), and the log density of the mixture (n,).

    ``log_joint`` is the log of share times density of each component, (k, n).
    """
    largest = log_joint.max(axis=0)
    p = np.exp(log_joint - largest)
    total = p.sum(axis=0)
    p /= total
    return p, largest + np.log(total)


def known_components(
    log_ratio: Array,
    share: float,
    *,
    weight: Any = 1.0,
    steps: int = 100,
) -> tuple[float, Array]:
    """Share of the second of two components, and the probability of it for each value, by EM.

    Parameters
    ----------
    log_ratio
        Log density of the second component less that of the first, (n,).
    share
        First value.
    weight
        Of each value.
    steps
        Steps of EM at most.
    """
    weight = np.broadcast_to(weight, log_ratio.shape)
    total = float(weight.sum())
    for _ in range(steps):
        p = logistic(log_ratio + np.log(share / (1 - share)))
        last = share
        share = max(float(weight @ p) / total, 1e-12)
        if abs(share - last) < _SETTLED * last:
            break
    return share, p
