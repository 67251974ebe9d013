"""Systems: ranks with their intervals, and abilities beside the difficulties of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.summary import readable_difficulty
from irtkit.irf import EXTREME
from irtkit.pictures.scales import Scale

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array

_BINS = 30
"""Bins of a Wright map over the whole axis: 12 pixels on the page, 0.2 SDs or more."""
_LEAST_SHOWN = 3.0
"""SDs to either side of the mean that a Wright map shows at least: of 370 people all but one."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """First systems of a leaderboard, best first; arrays of shape (n,)."""

    system: list[str]
    rank: NDArray[np.int64]
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    x: Scale
    """Of ranks."""


def ranking(board: pd.DataFrame, top: int) -> Ranking:
    """First systems of ``result.leaderboard()``, and the ranks that items like these allow."""
    first = board.head(top)
    rank, low, high = (first[name].to_numpy() for name in ("rank", "rank_low", "rank_high"))
    x = Scale(0.5, float(high.max()) + 0.5)
    return Ranking(list(map(str, first.index)), rank, low, high, x)


@dataclass(frozen=True, eq=False)
class WrightMap:
    """Abilities of real respondents and difficulties of items, on one scale."""

    edges: Array
    """Ends of the bins, (n_bins + 1,)."""
    respondents: NDArray[np.int64]
    """How many are in each, (n_bins,)."""
    items: NDArray[np.int64]
    n_beyond: int
    """Items whose difficulty lies beyond the scale, counted in the outermost bins."""
    n_left_out: int
    """Items without a difficulty to speak of: flat, a slope below 0, or all right or wrong."""
    scale: Scale


def wright_map(result: FitResult) -> WrightMap:
    """Count respondents and items by ability and difficulty."""
    ability = result.ability[result.answering]
    found = readable_difficulty(result.items).to_numpy(dtype=np.float64)
    difficulty = found[np.isfinite(found)]
    mean, sd = result.latent_mean, result.latent_sd
    shown = Scale.by_quantiles(difficulty, within=EXTREME * sd, about=mean)
    reach = [mean - _LEAST_SHOWN * sd, mean + _LEAST_SHOWN * sd]
    scale = Scale.over(ability, [shown.low, shown.high], reach)
    edges = np.linspace(scale.low, scale.high, _BINS + 1)
    systems, items = (
        np.histogram(scale.clipped(values), edges)[0] for values in (ability, difficulty)
    )
    n_beyond = int(scale.is_beyond(difficulty).sum())
    return WrightMap(edges, systems, items, n_beyond, len(found) - len(difficulty), scale)
