"""Systems ranked and compared: leaderboard, differences of pairs, a gate for merge checks."""

from irtkit.systems.comparison import SystemComparison, compare_systems
from irtkit.systems.gate import Gate, gate
from irtkit.systems.leaderboard import leaderboard
from irtkit.systems.pass_k import pass_k

__all__ = ["Gate", "SystemComparison", "compare_systems", "gate", "leaderboard", "pass_k"]
