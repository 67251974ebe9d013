from .features import check_leaks, text_embedding
from .importance import feature_importances
from .predictor import REGRESSORS, DifficultyPredictor
from .targets import difficulty_targets

__all__ = [
    "REGRESSORS",
    "DifficultyPredictor",
    "check_leaks",
    "difficulty_targets",
    "feature_importances",
    "text_embedding",
]
