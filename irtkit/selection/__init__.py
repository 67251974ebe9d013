"""Fewer items: which to ask, fixed or one after another, and how well they tell the score of all."""

from irtkit.selection.adaptive import AdaptiveTest, adaptive
from irtkit.selection.subset import Selection, select_items

__all__ = ["AdaptiveTest", "Selection", "adaptive", "select_items"]
