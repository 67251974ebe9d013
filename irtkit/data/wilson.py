"""The score interval of a share (Wilson 1927, *JASA* 22, 209-212)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from irtkit.irf import Array


def wilson_interval(share: Any, n: Any, level: float = 0.95) -> tuple[Array, Array]:
    """Bounds of a true share, given the share among n independent responses, of any shape.

    With z the normal quantile, (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n).

    Examples
    --------
    >>> from irtkit.data.wilson import wilson_interval
    >>> [round(float(bound), 3) for bound in wilson_interval(0.75, 4)]
    [0.301, 0.954]
    """
    from scipy.special import ndtri

    more = ndtri((1 + level) / 2) ** 2 / n
    middle = (share + more / 2) / (1 + more)
    half = np.sqrt(more * (share * (1 - share) + more / 4)) / (1 + more)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)
