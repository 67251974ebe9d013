"""How systems fare as items get harder, as they grow, and when something changes.

- ``logistic``: logistic regression with errors, and where it has no maximum
- ``binomial``, ``ranges``, ``regressed``: shares right with intervals; ranges of difficulty, and
  difficulties that owe nothing to a system, or to their errors
- ``leaders``, ``generality``: the best systems of a range; capability and generality
- ``answered``: what systems answered to items of known difficulty
- ``characteristic``: system characteristic curves
- ``expected``, ``perturbation``: expected performance and the alarm; changed inputs, other problems
- ``axis``, ``surface``, ``learning``: covariates, learning surfaces, time horizons
"""

from irtkit.curves.characteristic import CharacteristicCurves, characteristic_curves
from irtkit.curves.expected import expected_performance
from irtkit.curves.learning import learning_surface
from irtkit.curves.perturbation import perturbation_table, problem_shift
from irtkit.curves.surface import LearningSurface

__all__ = [
    "CharacteristicCurves",
    "LearningSurface",
    "characteristic_curves",
    "expected_performance",
    "learning_surface",
    "perturbation_table",
    "problem_shift",
]
