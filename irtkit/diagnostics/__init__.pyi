from .functioning import differential_functioning
from .item_statistics import item_fit, poorly_fitting, respondent_fit
from .limited_information import ModelFit, model_fit
from .nested_models import LikelihoodRatioTest, likelihood_ratio_test
from .q3 import local_dependence
from .reliability import Information, information

__all__ = [
    "Information",
    "LikelihoodRatioTest",
    "ModelFit",
    "differential_functioning",
    "information",
    "item_fit",
    "likelihood_ratio_test",
    "local_dependence",
    "model_fit",
    "poorly_fitting",
    "respondent_fit",
]
