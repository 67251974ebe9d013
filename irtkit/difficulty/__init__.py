"""How hard each item is, by several measures, and how far the measures agree.

- ``average_error``: share of real respondents that got the item wrong, and the same share as the
  item response model expects it;
- ``quality_standard``: several metrics of every answer on one scale (Kolena's difficulty score, in
  `irtkit.metrics`, below the fit that puts it beside its items);
- ``task_signals``: metrics of single answers from predictions and truths;
- ``held_out``: what models and average error say about responses they have not seen, the latter
  by the additive logistic model of ``additive``;
- ``systems``: whether systems rank otherwise by ability than by share right;
- ``comparison``: measures side by side, with rank correlations and plain sentences;
- ``rank_agreement``: the rank correlations, and whether two orders contradict each other;
- ``spearman_score``: how well a predictor orders the items, and what its ties do to the score.
"""

from irtkit.difficulty.average_error import average_error, average_error_interval, expected_error
from irtkit.difficulty.comparison import DifficultyComparison, compare_difficulties
from irtkit.difficulty.held_out import held_out_predictions
from irtkit.difficulty.spearman_score import SpearmanScore, spearman_score
from irtkit.difficulty.task_signals import absolute_error, detection_score, misclassifications
from irtkit.metrics import QualityStandard, quality_standard

__all__ = [
    "DifficultyComparison",
    "QualityStandard",
    "SpearmanScore",
    "absolute_error",
    "average_error",
    "average_error_interval",
    "compare_difficulties",
    "detection_score",
    "expected_error",
    "held_out_predictions",
    "misclassifications",
    "quality_standard",
    "spearman_score",
]
