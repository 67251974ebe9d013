"""The difficulty of items that nobody has answered, predicted from what is known of them.

- ``features``: tables, images or texts as a table of features; what may not be one;
- ``text``: texts as numbers, by a small model that a package carries;
- ``targets``: what is predicted: difficulty of the 1PL and the 2PL, average and expected error;
- ``regressors``, ``stepwise``: the five families of regressors of the AAAI-22 paper;
- ``predictor``: a regressor around which predictions have intervals, and become a prior;
- ``protocol``: families compared as in the paper;
- ``importance``: which features make items hard, beside those a task model goes by.

It needs scikit-learn (``pip install 'irtkit[predict]'``), which is loaded when first used.
"""

from irtkit.prediction.features import check_leaks
from irtkit.prediction.importance import feature_importances
from irtkit.prediction.predictor import DifficultyPredictor
from irtkit.prediction.protocol import PredictorComparison, cross_validate_predictors
from irtkit.prediction.regressors import REGRESSORS
from irtkit.prediction.targets import difficulty_targets
from irtkit.prediction.text import text_embedding

__all__ = [
    "REGRESSORS",
    "DifficultyPredictor",
    "PredictorComparison",
    "check_leaks",
    "cross_validate_predictors",
    "difficulty_targets",
    "feature_importances",
    "text_embedding",
]
