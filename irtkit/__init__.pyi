# Public names, and the module that is imported when each of them is first used.

from . import (
    curves,
    datasets,
    diagnostics,
    difficulty,
    findings,
    inspect_ai,
    io,
    plots,
    prediction,
    scoring,
    selection,
    suspects,
    systems,
)
from .calibration.priors import Beta, ItemPrior, Normal, WeakPrior
from .curves.characteristic import characteristic_curves
from .curves.expected import expected_performance
from .curves.learning import learning_surface
from .datasets.digits import load_digits_crowd
from .diagnostics.functioning import differential_functioning
from .diagnostics.item_statistics import item_fit, respondent_fit
from .diagnostics.limited_information import model_fit
from .diagnostics.nested_models import likelihood_ratio_test
from .diagnostics.q3 import local_dependence
from .diagnostics.reliability import information
from .difficulty.agreement import fleiss_kappa
from .difficulty.annotation import impact
from .difficulty.comparison import compare_difficulties
from .findings import Finding, IRTWarning
from .io.reading import read_responses
from .io.tables import read_table, write_table
from .io.writing import write_responses
from .irf import ItemParameters
from .judges.judges import judges
from .prediction.predictor import DifficultyPredictor
from .report.report import report
from .responses.matrix import ResponseMatrix
from .results import EM, FitResult, Variational, fit, load
from .scoring.drift import drift
from .scoring.linking import link
from .scoring.scores import score
from .selection.adaptive import adaptive
from .selection.subset import select_items
from .simulation import add_synthetic, simulate_responses
from .suspects.audit import audit
from .suspects.families import similar_respondents
from .suspects.flags import flag_items
from .suspects.health import health
from .suspects.wrong_keys import wrong_keys
from .systems.comparison import compare_systems
from .systems.gate import gate
from .systems.leaderboard import leaderboard
from .systems.pass_k import pass_k
from .systems.trend import horizon, trend

__all__ = [
    "EM",
    "Beta",
    "DifficultyPredictor",
    "Finding",
    "FitResult",
    "IRTWarning",
    "ItemParameters",
    "ItemPrior",
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
    "curves",
    "datasets",
    "diagnostics",
    "differential_functioning",
    "difficulty",
    "drift",
    "expected_performance",
    "findings",
    "fit",
    "flag_items",
    "fleiss_kappa",
    "gate",
    "health",
    "horizon",
    "impact",
    "information",
    "inspect_ai",
    "io",
    "item_fit",
    "judges",
    "leaderboard",
    "learning_surface",
    "likelihood_ratio_test",
    "link",
    "load",
    "load_digits_crowd",
    "local_dependence",
    "model_fit",
    "pass_k",
    "plots",
    "prediction",
    "read_responses",
    "read_table",
    "report",
    "respondent_fit",
    "score",
    "scoring",
    "select_items",
    "selection",
    "similar_respondents",
    "simulate_responses",
    "suspects",
    "systems",
    "trend",
    "write_responses",
    "write_table",
    "wrong_keys",
]

__version__: str
