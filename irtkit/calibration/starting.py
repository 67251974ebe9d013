"""Where the ascent starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.patterns import REAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.layout import Layout
    from irtkit.patterns import Patterns

    Array = NDArray[np.float64]

_ANGLE_OF_GUESSING = 0.35
"""Of c = sin² φ: 0.12."""
_OUT_OF_REACH = 20.0
"""Logit at which an item without variance is as good as certain."""


def starting_values(layout: Layout, rows: Patterns) -> Array:
    """Start from proportions right and from the correlation of each item with the total score.

    Real respondents alone count: an always-right row would turn inverted items round, and the
    ascent might not find its way back.
    """
    real = rows.real
    score = (rows.respondent_right + 0.5) / (rows.respondent_responses + 1)
    ability = np.log(score / (1 - score))
    ability = (ability - ability[real].mean()) / max(float(ability[real].std()), 1e-3)
    ability = np.where(real, np.clip(ability, -4.0, 4.0), 0.0)
    right, answered = rows.item_right[REAL], rows.item_responses[REAL]
    with_right, with_answered = rows.sums_of(ability)
    share = (right + 0.5) / (answered + 1)
    covariance = (with_right - share * with_answered) / np.maximum(answered, 1)
    correlation = np.clip(covariance / np.sqrt(share * (1 - share)), -0.9, 0.9)
    slope = 1.7 * correlation / np.sqrt(1 - correlation**2)
    intercept = np.log(share / (1 - share)) * np.sqrt(1 + slope**2 / 2.9)
    typical = max(float(slope.mean()), 0.3)
    if layout.prior is not None:  # what few respondents say about a slope is mostly noise
        noise = 1 / (share * (1 - share) * np.maximum(answered, 1.0))
        spread = np.mean((slope - typical) ** 2)
        kept = np.clip(1 - noise.mean() / max(float(spread), 1e-9), 0.1, 1.0)
        slope = typical + kept * (slope - typical)
    else:  # nothing holds the intercept of an item without variance: it need not climb for ever
        all_right, all_wrong = _without_variance(rows)
        intercept = np.where(
            all_right, _OUT_OF_REACH, np.where(all_wrong, -_OUT_OF_REACH, intercept)
        )
    if layout.common_slope:
        slope = np.array([np.log(typical) if layout.model == "Rasch" else typical])
    guessing = np.full_like(intercept, _ANGLE_OF_GUESSING) if layout.model == "3PL" else None
    return layout.joined(slope, intercept, guessing, np.array([0.0, np.log(typical)]))


def _without_variance(rows: Patterns) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Items that all who answered got right, and those that all got wrong."""
    right, answered = rows.item_right.sum(axis=0), rows.item_responses.sum(axis=0)
    return (right == answered) & (answered > 0), (right == 0) & (answered > 0)
