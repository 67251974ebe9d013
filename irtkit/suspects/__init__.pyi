from .audit import Audit, audit
from .families import similar_respondents
from .flags import flag_items
from .health import Health
from .wrong_keys import wrong_keys

__all__ = [
    "Audit",
    "Health",
    "audit",
    "flag_items",
    "similar_respondents",
    "wrong_keys",
]
