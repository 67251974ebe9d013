"""Item response theory for evaluations of AI systems.

A matrix of right and wrong answers (respondents × items) becomes the difficulty, discrimination
and guessing of every item and the ability of every respondent. `docs/architecture.md` lists
the modules.
"""

from irtkit import plots
from irtkit.abilities.result import AbilitiesResult
from irtkit.calibration import FitResult, fit, load
from irtkit.calibration.fitting import EM, Variational
from irtkit.calibration.priors import Beta, Density, ItemPrior, LogNormal, Normal, WeakPrior
from irtkit.curves import characteristic_curves, expected_performance, learning_surface
from irtkit.datasets import load_digits_crowd
from irtkit.diagnostics import (
    differential_functioning,
    information,
    item_fit,
    likelihood_ratio_test,
    local_dependence,
    model_fit,
    respondent_fit,
)
from irtkit.difficulty import compare_difficulties, fleiss_kappa, impact
from irtkit.findings import Finding, IRTWarning
from irtkit.io import read_responses, read_table, write_responses, write_table
from irtkit.irf import ItemParameters
from irtkit.prediction import DifficultyPredictor
from irtkit.report import report
from irtkit.responses import ResponseMatrix
from irtkit.scoring import link, score
from irtkit.selection import adaptive, select_items
from irtkit.simulation import add_synthetic, simulate_responses
from irtkit.suspects import (
    audit,
    flag_items,
    shuffle_control,
    similar_respondents,
    wrong_keys,
)
from irtkit.systems import compare_systems, doubling_time, gate, horizon, pass_k, trend

__version__ = "0.1.0"

__all__ = [
    "EM",
    "AbilitiesResult",
    "Beta",
    "Density",
    "DifficultyPredictor",
    "Finding",
    "FitResult",
    "IRTWarning",
    "ItemParameters",
    "ItemPrior",
    "LogNormal",
    "Normal",
    "ResponseMatrix",
    "Variational",
    "WeakPrior",
    "adaptive",
    "add_synthetic",
    "audit",
    "characteristic_curves",
    "compare_difficulties",
    "compare_systems",
    "differential_functioning",
    "doubling_time",
    "expected_performance",
    "fit",
    "flag_items",
    "fleiss_kappa",
    "gate",
    "horizon",
    "impact",
    "information",
    "item_fit",
    "learning_surface",
    "likelihood_ratio_test",
    "link",
    "load",
    "load_digits_crowd",
    "local_dependence",
    "model_fit",
    "pass_k",
    "plots",
    "read_responses",
    "read_table",
    "report",
    "respondent_fit",
    "score",
    "select_items",
    "shuffle_control",
    "similar_respondents",
    "simulate_responses",
    "trend",
    "write_responses",
    "write_table",
    "wrong_keys",
]
