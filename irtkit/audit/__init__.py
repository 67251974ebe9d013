"""Suspect items: which they are, how sure that is, and what noise alone would look like."""

from irtkit.audit.families import similar_respondents
from irtkit.audit.flags import flag_items
from irtkit.audit.shuffle import ShuffleControl, shuffle_control

__all__ = ["ShuffleControl", "flag_items", "shuffle_control", "similar_respondents"]
