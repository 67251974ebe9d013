"""What a cell means, the response matrix, and the one way to it from a table."""

from irtkit.responses.matrix import ResponseMatrix, item_texts
from irtkit.responses.source import Source

__all__ = ["ResponseMatrix", "Source", "item_texts"]
