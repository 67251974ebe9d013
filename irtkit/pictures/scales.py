"""Axes of pictures: where they begin and end, and what stands at their ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from irtkit.irf import Array

_ENDS = (0.005, 0.995)
"""Quantiles between which an axis shows what may run to −3,000, as difficulties of flat items."""
_MARGIN = 0.05
"""Part of its length by which an axis reaches beyond what it shows, as in matplotlib."""
_STEPS = (1, 2, 2.5, 5, 10)
"""Distances of ticks, times a power of ten."""
_SHORTEST, _POINT = 0.5, 1e-9
"""Length of an axis at least: of difficulties, which are in SDs of ability, so that items of one
difficulty look so; and of other numbers, so that one number has an axis."""


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``."""

    low: float
    high: float

    @classmethod
    def over(cls, *values: ArrayLike, least: float = _POINT) -> Scale:
        """An axis over all finite numbers, at least so long."""
        found = np.concatenate([np.ravel(np.asarray(part, np.float64)) for part in values])
        found = found[np.isfinite(found)]
        low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
        short = max(least - (high - low), 0.0) / 2
        low, high = low - short, high + short
        margin = _MARGIN * (high - low)
        return cls(low - margin, high + margin)

    @classmethod
    def by_quantiles(
        cls, values: ArrayLike, *, within: float = math.inf, about: float = 0
    ) -> Scale:
        """An axis over all but the outermost hundredth, which lies beyond its ends.

        It reaches no further than ``within`` from ``about``.
        """
        found = np.ravel(np.asarray(values, np.float64))
        found = found[np.isfinite(found)]
        if not len(found):
            return cls.over([about - 1, about + 1])
        ends = np.clip(np.quantile(found, _ENDS), about - within, about + within)
        return cls.over(ends, least=_SHORTEST)

    def clipped(self, values: ArrayLike) -> Array:
        """Values, those beyond an end moved there."""
        return np.clip(np.asarray(values, np.float64), self.low, self.high)

    def is_beyond(self, values: ArrayLike) -> Any:
        """Which values lie beyond an end."""
        found = np.asarray(values, np.float64)
        return (found < self.low) | (found > self.high)

    def share(self, values: ArrayLike) -> Array:
        """Where values lie, 0 at the low end and 1 at the high one; those beyond at the end."""
        return np.asarray((self.clipped(values) - self.low) / (self.high - self.low))

    def ticks(self, most: int = 7) -> list[float]:
        """Round numbers within, at most so many, 2 or more."""
        size = 10.0 ** math.floor(math.log10((self.high - self.low) / most))
        steps = [part * size for part in (*_STEPS, 20)]  # 20: ends may both be round
        step = next(one for one in steps if len(self._multiples(one)) <= most)
        return [float(f"{k * step:.12g}") for k in self._multiples(step)]

    def _multiples(self, step: float) -> range:
        """Which multiples of a step lie within."""
        return range(math.ceil(self.low / step), math.floor(self.high / step) + 1)


def tick_text(value: float) -> str:
    """A number beside an axis: −2, 0.5, 9000, 12k."""
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k".replace("-", "−")
    return f"{value:g}".replace("-", "−")


def number_text(value: float, decimals: int = 2) -> str:
    """A number in a table of a page: a true minus sign, 3.0e+03 if it is large, empty for NaN."""
    if math.isnan(value):
        return ""
    text = f"{value:.1e}" if 1e3 <= abs(value) < math.inf else f"{value:z.{decimals}f}"
    return text.replace("-", "−")
