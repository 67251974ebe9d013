"""How systems perform as items get harder, as systems grow, and after a change."""

from irtkit.curves.characteristic import CharacteristicCurves, characteristic_curves
from irtkit.curves.expected import expected_performance
from irtkit.curves.learning import LearningSurface, learning_surface

__all__ = [
    "CharacteristicCurves",
    "LearningSurface",
    "characteristic_curves",
    "expected_performance",
    "learning_surface",
]
