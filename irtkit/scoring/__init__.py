"""Respondents scored on items that are already calibrated."""

from irtkit.scoring.linking import LINKS, Linking, link
from irtkit.scoring.scores import DESIGNS, METHODS, Design, MethodName, items_for_scores, score

__all__ = [
    "DESIGNS",
    "LINKS",
    "METHODS",
    "Design",
    "Linking",
    "MethodName",
    "items_for_scores",
    "link",
    "score",
]
