"""How systems fare as items get harder, as they grow, and when something changes.

- ``logistic``: logistic regression with errors, and where it has no maximum
- ``binomial``, ``ranges``, ``leaders``, ``generality``: shares right with intervals, ranges of
  difficulty, the best systems of a range, capability and generality
- ``answered``: what systems answered to items of known difficulty
- ``characteristic``: system characteristic curves
- ``axis``, ``surface``, ``learning``: covariates; learning surfaces, time horizons
"""

from irtkit.curves.characteristic import CharacteristicCurves, characteristic_curves
from irtkit.curves.learning import learning_surface
from irtkit.curves.surface import LearningSurface

__all__ = [
    "CharacteristicCurves",
    "LearningSurface",
    "characteristic_curves",
    "learning_surface",
]
