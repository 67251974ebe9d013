"""Systems ranked and compared: leaderboard, differences of pairs, a gate for merge checks."""

from irtkit.systems.comparison import SystemComparison, compare_systems
from irtkit.systems.gate import Gate, gate
from irtkit.systems.leaderboard import leaderboard
from irtkit.systems.pass_k import pass_k
from irtkit.systems.trend import Doubling, Horizon, Trend, doubling_time, horizon, trend

__all__ = [
    "Doubling",
    "Gate",
    "Horizon",
    "SystemComparison",
    "Trend",
    "compare_systems",
    "doubling_time",
    "gate",
    "horizon",
    "leaderboard",
    "pass_k",
    "trend",
]
