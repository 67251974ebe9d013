"""How hard each item is, by several measures, and how far the measures agree.

- ``average_error``: share of real respondents that got the item wrong;
- ``expected_error``: the same share as the item response model expects it;
- ``comparison``: measures side by side, with rank correlations and plain sentences;
- ``rank_agreement``: the rank correlations, and whether two orders contradict each other.
"""

from irtkit.difficulty.average_error import average_error
from irtkit.difficulty.comparison import DifficultyComparison, compare_difficulties
from irtkit.difficulty.expected_error import expected_error

__all__ = ["DifficultyComparison", "average_error", "compare_difficulties", "expected_error"]
