"""How hard items are by several measures, how far these agree, and seed methods without a model.

- ``comparison``: measures side by side, and systems ranked by accuracy and by ability
- ``held_out``: predictions of responses that models have not seen
- ``rank_agreement``: rank correlations with intervals, and how well a predictor orders the items
- ``quality``: metrics of every answer, also on one scale (Kolena's difficulty score)
- ``agreement``: Fleiss' kappa;
- ``annotation``: the impact of predicted annotations.
"""

from irtkit.difficulty.agreement import FleissKappa, fleiss_kappa
from irtkit.difficulty.annotation import Impact, impact
from irtkit.difficulty.comparison import DifficultyComparison, compare_difficulties
from irtkit.difficulty.held_out import held_out_predictions
from irtkit.difficulty.quality import (
    QualityStandard,
    absolute_error,
    detection_score,
    misclassifications,
    quality_standard,
)
from irtkit.difficulty.rank_agreement import SpearmanScore, spearman_score

__all__ = [
    "DifficultyComparison",
    "FleissKappa",
    "Impact",
    "QualityStandard",
    "SpearmanScore",
    "absolute_error",
    "compare_difficulties",
    "detection_score",
    "fleiss_kappa",
    "held_out_predictions",
    "impact",
    "misclassifications",
    "quality_standard",
    "spearman_score",
]
