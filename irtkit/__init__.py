"""Item response theory for evaluations of AI systems.

A matrix of right and wrong answers (respondents × items) becomes the difficulty, discrimination
and guessing of every item and the ability of every respondent. Modules, bottom up:

- ``memory``, ``files``, ``progress``: how much memory is left, writing whole files, showing
  progress
- ``checks``, ``labels``: arguments and labels that are refused
- ``printed``: tables and sentences on a terminal
- ``marking``, ``advice``, ``codes``: what a written response counts as, and what to type if it
  counts as nothing
- ``columns``, ``trials``: which column of a table means what, repeated trials
- ``observed``, ``frames``, ``scatter``, ``long_table``, ``responses``: observed cells, wide and
  long tables, the response matrix
- ``metrics``: further metrics of answers, and Kolena's score of the items by them
- ``io``: reading response matrices from files and memory, reading and writing tables
- ``storage``: arrays and plain values in one file, for results and checkpoints
- ``irf``: the item response function and item parameters
- ``wilson``: intervals of shares
- ``data``: response patterns in groups; parts of a matrix that share few responses or none
- ``signs``: which items have a negative slope, told by the responses alone
- ``quadrature``: the ability grid, the marginal likelihood, posteriors
- ``simulation``: simulated responses, synthetic respondents
- ``calibration``: fitting the models, and what a fit returns
- ``scoring``: respondents scored on calibrated items, calibrations put on one scale
- ``diagnostics``: fit of items, respondents, pairs of items and the whole; information; nested
  models compared
- ``differential``: items harder for one group than its ability explains
- ``systems``: systems ranked and compared, a gate for merge checks
- ``suspects``: suspect items, and what noise alone would look like
- ``selection``: the items to ask, fixed or one after another, and what they tell
- ``difficulty``: average error, difficulty measures compared, Fleiss' kappa
- ``prediction``: difficulty of items that nobody has answered, from their features
- ``curves``: systems as items get harder, as they grow, and when something changes
- ``annotation``: what it costs to mend predicted annotations
- ``datasets``: the digits crowd, real answers of 130 classifiers, and of eight that learn
- ``pictures``: points, bins, intervals and axes of what is drawn
- ``plots``: pictures by matplotlib
- ``report``: a page that a team lead reads, and results in notebooks
- ``cli``: the command line
"""

from irtkit import plots
from irtkit.annotation import impact, impact_summary
from irtkit.calibration import FitResult, fit, load
from irtkit.calibration.item_prior import ItemPrior, LogNormal
from irtkit.calibration.priors import Beta, Density, Normal, WeakPrior
from irtkit.calibration.variational.options import Variational
from irtkit.curves import characteristic_curves, expected_performance, learning_surface
from irtkit.datasets import DigitsCrowd, load_digits_crowd, load_digits_learning
from irtkit.diagnostics import (
    LikelihoodRatioTest,
    information,
    item_fit,
    likelihood_ratio_test,
    local_dependence,
    model_fit,
    respondent_fit,
)
from irtkit.differential import differential_functioning
from irtkit.difficulty import DifficultyComparison, average_error, compare_difficulties
from irtkit.difficulty.agreement import fleiss_kappa
from irtkit.io import read_responses, read_table, write_responses, write_table
from irtkit.irf import ItemParameters
from irtkit.prediction import DifficultyPredictor, cross_validate_predictors
from irtkit.report import report
from irtkit.responses import ResponseMatrix
from irtkit.scoring import Linking, link, score
from irtkit.selection import AdaptiveTest, Selection, adaptive, select_items
from irtkit.simulation import add_synthetic, simulate_responses
from irtkit.suspects import (
    Audit,
    ShuffleControl,
    audit,
    flag_items,
    shuffle_control,
    similar_respondents,
)
from irtkit.systems import Gate, SystemComparison, compare_systems, gate, pass_k

__version__ = "0.1.0"

__all__ = [
    "AdaptiveTest",
    "Audit",
    "Beta",
    "Density",
    "DifficultyComparison",
    "DifficultyPredictor",
    "DigitsCrowd",
    "FitResult",
    "Gate",
    "ItemParameters",
    "ItemPrior",
    "LikelihoodRatioTest",
    "Linking",
    "LogNormal",
    "Normal",
    "ResponseMatrix",
    "Selection",
    "ShuffleControl",
    "SystemComparison",
    "Variational",
    "WeakPrior",
    "adaptive",
    "add_synthetic",
    "audit",
    "average_error",
    "characteristic_curves",
    "compare_difficulties",
    "compare_systems",
    "cross_validate_predictors",
    "differential_functioning",
    "expected_performance",
    "fit",
    "flag_items",
    "fleiss_kappa",
    "gate",
    "impact",
    "impact_summary",
    "information",
    "item_fit",
    "learning_surface",
    "likelihood_ratio_test",
    "link",
    "load",
    "load_digits_crowd",
    "load_digits_learning",
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
    "write_responses",
    "write_table",
]
