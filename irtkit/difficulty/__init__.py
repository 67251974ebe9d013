"""How hard items are by several measures, how far these agree, and seed methods without a model.

- ``average_error``: proportion of wrong responses;
- ``comparison``: measures side by side, and systems ranked by accuracy and by ability;
- ``held_out``: predictions of responses that models have not seen;
- ``rank_agreement``: rank correlations with intervals;
- ``quality``: several metrics of every answer on one scale (Kolena's difficulty score);
- ``task_signals``: metrics of single answers from predictions and truths;
- ``spearman_score``: how well a predictor orders the items (GUANinE);
- ``agreement``: Fleiss' kappa;
- ``annotation``: the impact of predicted annotations.
"""

from irtkit.difficulty.agreement import FleissKappa, fleiss_kappa
from irtkit.difficulty.annotation import Impact, impact
from irtkit.difficulty.average_error import average_error
from irtkit.difficulty.comparison import DifficultyComparison, compare_difficulties
from irtkit.difficulty.held_out import held_out_predictions
from irtkit.difficulty.quality import QualityStandard, quality_standard
from irtkit.difficulty.spearman_score import SpearmanScore, spearman_score
from irtkit.difficulty.task_signals import absolute_error, detection_score, misclassifications

__all__ = [
    "DifficultyComparison",
    "FleissKappa",
    "Impact",
    "QualityStandard",
    "SpearmanScore",
    "absolute_error",
    "average_error",
    "compare_difficulties",
    "detection_score",
    "fleiss_kappa",
    "held_out_predictions",
    "impact",
    "misclassifications",
    "quality_standard",
    "spearman_score",
]
