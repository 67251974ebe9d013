from .comparison import SystemComparison, compare_systems
from .gate import Gate, gate
from .leaderboard import leaderboard
from .pass_k import pass_k
from .trend import Doubling, Horizon, Trend, doubling_time, horizon, trend

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
