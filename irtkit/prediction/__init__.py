"""The difficulty of items that nobody has answered, predicted from their features.

It needs scikit-learn (``pip install 'irtkit[predict]'``), which is loaded when first used.
"""

from irtkit.prediction.features import check_leaks
from irtkit.prediction.importance import feature_importances
from irtkit.prediction.predictor import DifficultyPredictor
from irtkit.prediction.regressors import REGRESSORS
from irtkit.prediction.targets import difficulty_targets
from irtkit.prediction.text import text_embedding

__all__ = [
    "REGRESSORS",
    "DifficultyPredictor",
    "check_leaks",
    "difficulty_targets",
    "feature_importances",
    "text_embedding",
]
