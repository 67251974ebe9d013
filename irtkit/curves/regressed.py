"""Estimated difficulties regressed to the mean of their set.

Of the items of a set whose difficulties were estimated from answers, the hardest look harder than
they are. Given the estimate b̂_j with its standard error s_j, and a set with mean μ and variance τ²,
the difficulty is on average

    E[b_j | b̂_j] = μ + τ² / (τ² + s_j²) · (b̂_j − μ).

A curve over these is the same for a set of easy items and one of hard items; over b̂ it is not, and
what is expected of one set by the other is off wherever the sets differ. μ and τ² are those of
Paule & Mandel (1982): Σ (b̂_j − μ)² / (τ² + s_j²) = n − 1, μ being the mean with these weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_HALVINGS = 60
"""Of the variance that there is, until rounding is reached: 2⁻⁵³ of it."""


def regressed(difficulty: Array, se: Array) -> Array:
    """Expected difficulties of the items of one set, each (n,)."""
    noise = se**2
    low, high = 0.0, float(difficulty.var(ddof=1)) if len(difficulty) > 1 else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        weight = 1 / np.maximum(middle + noise, 1e-300)
        mean = weight @ difficulty / weight.sum()
        above = weight @ (difficulty - mean) ** 2 > len(difficulty) - 1
        low, high = (middle, high) if above else (low, middle)
    variance = (low + high) / 2
    weight = 1 / np.maximum(variance + noise, 1e-300)
    mean = weight @ difficulty / weight.sum()
    return np.asarray(mean + variance * weight * (difficulty - mean))
