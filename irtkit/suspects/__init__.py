"""Suspect items: which they are, how sure that is, and what noise alone would look like."""

from irtkit.suspects.audit import Audit, audit
from irtkit.suspects.families import similar_respondents
from irtkit.suspects.flags import flag_items
from irtkit.suspects.health import Health
from irtkit.suspects.shuffle import ShuffleControl, shuffle_control
from irtkit.suspects.wrong_keys import wrong_keys

__all__ = [
    "Audit",
    "Health",
    "ShuffleControl",
    "audit",
    "flag_items",
    "shuffle_control",
    "similar_respondents",
    "wrong_keys",
]
