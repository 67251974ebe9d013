"""The sign of every item's slope, told by the responses alone, whatever model is fitted later.

:func:`slope_signs` does it all: ``score_test`` tests the slope of each item at 0 against the share
right of respondents, ``dependence`` says how much that counts where respondents answer alike,
``mixture`` learns how slopes are distributed among the items, and ``verdict`` puts all together:
:func:`called_negative` is the one rule by which anything is called negative. ``chance`` looks
whether systems differ at all, and ``guessing`` who scores no better than guessing.
"""

from irtkit.signs.chance import differ_by_chance
from irtkit.signs.dependence import Dependence
from irtkit.signs.guessing import AtChance, at_chance
from irtkit.signs.mixture import SlopeMixture
from irtkit.signs.score_test import (
    ProportionScore,
    SlopeScore,
    independent_share,
    proportion_score,
)
from irtkit.signs.verdict import (
    FALSE_DISCOVERY_RATE,
    SlopeSigns,
    Verdict,
    called_negative,
    false_discovery,
    may_fall,
    slope_signs,
)

__all__ = [
    "FALSE_DISCOVERY_RATE",
    "AtChance",
    "Dependence",
    "ProportionScore",
    "SlopeMixture",
    "SlopeScore",
    "SlopeSigns",
    "Verdict",
    "at_chance",
    "called_negative",
    "differ_by_chance",
    "false_discovery",
    "independent_share",
    "may_fall",
    "proportion_score",
    "slope_signs",
]
