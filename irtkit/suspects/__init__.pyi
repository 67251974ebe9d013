from .audit import Audit, audit
from .families import similar_respondents
from .flags import flag_items
from .health import Health
from .shuffle import ShuffleControl, shuffle_control
from .wrong_keys import wrong_keys

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
