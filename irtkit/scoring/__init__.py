"""Respondents scored on items that are already calibrated."""

from irtkit.scoring.calibrated import DESIGNS, RESULT_FILE, CalibratedItems, calibrated_items
from irtkit.scoring.scoring import METHODS, MethodName, score

__all__ = [
    "DESIGNS",
    "METHODS",
    "RESULT_FILE",
    "CalibratedItems",
    "MethodName",
    "calibrated_items",
    "score",
]
