from .linking import LINKS, Linking, link
from .scores import DESIGNS, METHODS, Design, MethodName, items_for_scores, score

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
