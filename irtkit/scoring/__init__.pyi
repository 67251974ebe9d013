from .linking import LINKS, Linking, link
from .scores import METHODS, MethodName, items_for_scores, score

__all__ = [
    "LINKS",
    "METHODS",
    "Linking",
    "MethodName",
    "items_for_scores",
    "link",
    "score",
]
