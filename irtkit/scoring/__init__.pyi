from .drift import Change, Drift, drift
from .linking import LINKS, Linking, link
from .scores import METHODS, MethodName, items_for_scores, score

__all__ = [
    "LINKS",
    "METHODS",
    "Change",
    "Drift",
    "Linking",
    "MethodName",
    "drift",
    "items_for_scores",
    "link",
    "score",
]
