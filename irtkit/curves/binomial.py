"""Shares right with intervals: Wilson's, of items answered once or several times.

The share p expected on items like those asked, drawn anew with their answers, lies where

    (p̂ − p)² ≤ z² p (1 − p) / n

(Wilson 1927). Of items answered once each n is their number, whatever their difficulty: answers to
items drawn anew are draws with one probability. For these very items the interval is too long, if
anything: their Σ P (1 − P) is at most n p (1 − p). Several trials of one item go together, so there
n is what the spread of the shares right between items says, p̂ (1 − p̂) / variance (Kish), a little
less for that spread being an estimate (Korn & Graubard 1998): at least the number of items, at most
that of trials.

Where 1 to 3 answers are right, or wrong, Wilson's bound next to them is too tight, and that of
a Poisson variable takes its place (Brown, Cai & DasGupta 2001, *Statistical Science* 16, 101-133).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.data.wilson import wilson_interval
from irtkit.systems.paired import correction, t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FEW = 3.0
"""Right, or wrong, answers up to which the bound next to them is replaced, as Brown et al. do where
n is above 50 (2 up to there: one more of them widens the interval)."""


def share_interval(share: Any, n: Any, level: float) -> tuple[Array, Array]:
    """Bounds of p at equal tails, from 0 to 1 where nothing was answered (share NaN, or n = 0)."""
    from scipy.special import gammaincinv

    share, n = np.broadcast_arrays(np.asarray(share, float), np.asarray(n, float))
    known = (n > 0) & np.isfinite(share)
    p, size = np.where(known, share, 0.5), np.where(known, n, 1)
    low, high = wilson_interval(p, size, level)
    bounds = []
    for part, bound in ((p, low), (1 - p, 1 - high)):
        few = (part * size > 0) & (part * size <= _FEW)
        poisson = gammaincinv(np.where(few, part * size, 1.0), 1 - level) / size
        bounds.append(np.where(known, np.where(few, np.minimum(bound, poisson), bound), 0.0))
    # rounding must not leave a share outside
    low, high = np.minimum(bounds[0], p), np.maximum(1 - bounds[1], p)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def effective_number(share: Array, trials: Array, level: float) -> float:
    """How many independent answers the shares right of some items are worth.

    Both (n_items,), of items with a trial; the mean of the shares weighs items alike.
    """
    from scipy.special import ndtri

    n, most = len(share), float(trials.sum())
    p = float(share.mean()) if n else np.nan
    if most == n or n < 2 or not 0 < p < 1:
        return float(n)
    variance = float(share.var()) * correction(n) / n
    if variance == 0:
        return most
    shrunk = (ndtri((1 + level) / 2) / t_quantile(n - 1, level)) ** 2
    return float(np.clip(p * (1 - p) / variance * shrunk, n, max(most, n)))
