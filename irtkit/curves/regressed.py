"""Estimated difficulties regressed to the mean of their set.

Of the items of a set whose difficulties were estimated from answers, the hardest look harder than
they are. Given estimates b̂ with mean m and variance v over the set, and standard errors s, the
difficulty is on average, as far as a line can tell (Kelley 1927),

    E[b_j | b̂_j] = m + ρ (b̂_j − m),        reliability ρ = 1 − mean s² / v.

A curve over these is the same for a set of easy items and one of hard items; over b̂ it is not, and
what is expected of one set by the other is off wherever the sets differ. One reliability serves all
items. To regress each by its own error, μ + τ²/(τ² + s_j²) · (b̂_j − μ), supposes errors that do not
depend on difficulties. They do: those of items that few get right, or wrong, are larger, and all
that is hard would be taken for easier than it is.

An error above the spread of the set says that nothing is known of the item, and counts as this: by
the delta method they run off where slopes are near 0, and difficulties, which are cut, do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def regressed(difficulty: Array, se: Array) -> Array:
    """Expected difficulties of the items of one set, each (n,)."""
    mean, variance = difficulty.mean(), difficulty.var()
    if variance == 0:
        return difficulty
    reliability = 1 - np.minimum(se**2 / variance, 1).mean()
    return np.asarray(mean + reliability * (difficulty - mean))
