"""Systems ranked and compared: leaderboard, differences of pairs, a gate for merge checks."""

from irtkit.systems.comparison import SystemComparison
from irtkit.systems.gate import Gate, gate
from irtkit.systems.leaderboard import board_in_words, leaderboard
from irtkit.systems.pairs import compare_systems
from irtkit.systems.pass_k import pass_k

__all__ = [
    "Gate",
    "SystemComparison",
    "board_in_words",
    "compare_systems",
    "gate",
    "leaderboard",
    "pass_k",
]
