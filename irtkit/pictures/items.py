"""Items as points: difficulty against discrimination, and average error against difficulty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.summary import readable_difficulty
from irtkit.irf import EXTREME
from irtkit.pictures.scales import Scale
from irtkit.suspects.flags import negatives

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array

ORDINARY, SUSPECT, NEGATIVE = 0, 1, 2
"""Kinds of items: suspect by `flag_items`, and called negative."""


@dataclass(frozen=True, eq=False)
class ItemPoints:
    """Items drawn as points; arrays of shape (n_items,)."""

    x_values: Array
    y_values: Array
    kind: NDArray[np.int64]
    """ORDINARY, SUSPECT or NEGATIVE."""
    visible: NDArray[np.bool_]
    """Which items have a place."""
    x: Scale
    y: Scale

    @property
    def n_beyond(self) -> int:
        """How many points lie beyond an axis, and are drawn at its end."""
        beyond = self.x.is_beyond(self.x_values) | self.y.is_beyond(self.y_values)
        return int((beyond & self.visible).sum())

    @property
    def n_left_out(self) -> int:
        """How many items have no place."""
        return int((~self.visible).sum())


def kinds_of(result: FitResult, suspects: pd.DataFrame) -> NDArray[np.int64]:
    """ORDINARY, SUSPECT or NEGATIVE for every item, by what `flag_items` returned."""
    kind = np.full(len(result.item_labels), ORDINARY)
    listed = suspects[suspects["suspect"]]
    for label, called in zip(listed.index, negatives(listed), strict=True):
        kind[result.places[str(label)]] = NEGATIVE if called else SUSPECT
    return kind


def item_map(result: FitResult, suspects: pd.DataFrame) -> ItemPoints:
    """Difficulty and discrimination of the items that some get right and some wrong.

    Those all or none get right have estimates by the prior alone, and no place.
    """
    a, b = result.parameters.discrimination, result.parameters.difficulty
    visible = ~np.isin(result.status, ["no variance", "no responses"]) & np.isfinite(a + b)
    about, within = result.latent_mean, EXTREME * result.latent_sd
    x = Scale.by_quantiles(b[visible], within=within, about=about)
    kind = kinds_of(result, suspects)
    usual = Scale.by_quantiles(np.append(a[visible], 0.0))
    lowest = a[visible & (kind != ORDINARY)].min(initial=0.0)
    y = Scale.over([usual.low, usual.high, max(lowest, -usual.high)])  # suspects are looked for
    return ItemPoints(b, a, kind, visible, x, y)


def error_and_difficulty(result: FitResult, suspects: pd.DataFrame) -> ItemPoints:
    """Average error and difficulty of the items that have one.

    Of a flat item, and where the slope is below 0, the difficulty says nothing of how hard it is.
    """
    difficulty = _readable(result)
    error = result.counts.average_error
    visible = np.isfinite(difficulty) & np.isfinite(error)
    about, within = result.latent_mean, EXTREME * result.latent_sd
    y = Scale.by_quantiles(difficulty[visible], within=within, about=about)
    x = Scale.over([0.0, 1.0])
    return ItemPoints(error, difficulty, kinds_of(result, suspects), visible, x, y)


def predicted_and_fitted(
    result: FitResult, suspects: pd.DataFrame, predicted: pd.Series[float]
) -> ItemPoints:
    """Predicted difficulties, by label, beside fitted ones."""
    fitted = _readable(result)
    values = np.asarray(predicted.reindex(result.item_labels), np.float64)
    visible = np.isfinite(fitted) & np.isfinite(values)
    about, within = result.latent_mean, EXTREME * result.latent_sd
    axes = (
        Scale.by_quantiles(values[visible]),
        Scale.by_quantiles(fitted[visible], within=within, about=about),
    )
    return ItemPoints(values, fitted, kinds_of(result, suspects), visible, *axes)


def _readable(result: FitResult) -> Array:
    """Difficulties of the items that rise with ability, NaN for others."""
    return np.asarray(readable_difficulty(result.items), np.float64)
