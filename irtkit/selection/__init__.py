"""Fewer items: which to ask, at once or one after another, and how well they predict the score."""

from irtkit.selection.adaptive import AdaptiveTest, adaptive
from irtkit.selection.subset import Selection, select_items

__all__ = ["AdaptiveTest", "Selection", "adaptive", "select_items"]
