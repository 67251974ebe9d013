"""Respondents scored on items that are already calibrated."""

from irtkit.scoring.bank import DESIGNS, Bank, Design, bank_of
from irtkit.scoring.linking import LINKS, Linking, link
from irtkit.scoring.scoring import METHODS, MethodName, score

__all__ = [
    "DESIGNS",
    "LINKS",
    "METHODS",
    "Bank",
    "Design",
    "Linking",
    "MethodName",
    "bank_of",
    "link",
    "score",
]
