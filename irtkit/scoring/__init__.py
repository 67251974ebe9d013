"""Respondents scored on items that are already calibrated."""

from irtkit.scoring.scoring import METHODS, MethodName, score

__all__ = ["METHODS", "MethodName", "score"]
