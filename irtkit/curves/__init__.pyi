from .characteristic import CharacteristicCurves, characteristic_curves
from .expected import expected_performance
from .learning import LearningSurface, learning_surface

__all__ = [
    "CharacteristicCurves",
    "LearningSurface",
    "characteristic_curves",
    "expected_performance",
    "learning_surface",
]
