from .agreement import FleissKappa, fleiss_kappa
from .annotation import Impact, impact
from .comparison import DifficultyComparison, compare_difficulties
from .held_out import held_out_predictions
from .quality import (
    QualityStandard,
    absolute_error,
    detection_score,
    misclassifications,
    quality_standard,
)
from .rank_agreement import spearman_score

__all__ = [
    "DifficultyComparison",
    "FleissKappa",
    "Impact",
    "QualityStandard",
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
