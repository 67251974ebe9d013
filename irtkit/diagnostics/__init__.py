"""Fit of items, respondents, pairs of items and the model, information, and differential items."""

from irtkit.diagnostics.functioning import differential_functioning
from irtkit.diagnostics.item_statistics import item_fit, poorly_fitting, respondent_fit
from irtkit.diagnostics.limited_information import ModelFit, model_fit
from irtkit.diagnostics.nested_models import LikelihoodRatioTest, likelihood_ratio_test
from irtkit.diagnostics.q3 import local_dependence
from irtkit.diagnostics.reliability import Information, information

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
