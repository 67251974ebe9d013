from .comparison import SystemComparison, compare_systems
from .gate import Gate, gate
from .leaderboard import leaderboard
from .pass_k import pass_k
from .trend import Horizon, Trend, horizon, trend

__all__ = [
    "Gate",
    "Horizon",
    "SystemComparison",
    "Trend",
    "compare_systems",
    "gate",
    "horizon",
    "leaderboard",
    "pass_k",
    "trend",
]
