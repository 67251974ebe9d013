"""Whether a model holds, of items, respondents, pairs and as a whole; and what items tell."""

from irtkit.diagnostics.information import Information, information
from irtkit.diagnostics.item_fit import item_fit
from irtkit.diagnostics.local_dependence import local_dependence
from irtkit.diagnostics.model_fit import ModelFit, model_fit
from irtkit.diagnostics.nested_models import LikelihoodRatioTest, likelihood_ratio_test
from irtkit.diagnostics.respondent_fit import respondent_fit

__all__ = [
    "Information",
    "LikelihoodRatioTest",
    "ModelFit",
    "information",
    "item_fit",
    "likelihood_ratio_test",
    "local_dependence",
    "model_fit",
    "respondent_fit",
]
