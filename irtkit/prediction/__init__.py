"""The difficulty of items that nobody has answered, predicted from their features.

It needs scikit-learn (``pip install 'irtkit[predict]'``), which is loaded when first used.
"""

from irtkit.prediction.features import check_leaks, text_embedding
from irtkit.prediction.importance import feature_importances
from irtkit.prediction.predictor import REGRESSORS, DifficultyPredictor
from irtkit.prediction.targets import difficulty_targets

__all__ = [
    "REGRESSORS",
    "DifficultyPredictor",
    "check_leaks",
    "difficulty_targets",
    "feature_importances",
    "text_embedding",
]
