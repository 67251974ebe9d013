"""Respondents scored on items that are already calibrated."""

from irtkit.scoring.bank import bank_of
from irtkit.scoring.linking import LINKS, Linking, link
from irtkit.scoring.scoring import METHODS, MethodName, score

__all__ = ["LINKS", "METHODS", "Linking", "MethodName", "bank_of", "link", "score"]
