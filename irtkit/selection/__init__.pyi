from .adaptive import AdaptiveTest, adaptive
from .subset import Selection, select_items

__all__ = ["AdaptiveTest", "Selection", "adaptive", "select_items"]
