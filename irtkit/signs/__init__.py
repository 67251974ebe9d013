"""What responses alone show, before any model: signs of slopes, near-duplicates, dimensions.

:func:`slope_signs` judges the sign of every item's slope (``slopes``), with evidence weighed by how
far respondents answer alike (``dependence``). :func:`called_negative` is the one rule by which
anything is called negative. ``guessing`` finds the systems that score no better than
guessing.
"""

from irtkit.signs.dependence import Dependence
from irtkit.signs.guessing import AtChance, at_chance
from irtkit.signs.slopes import (
    FALSE_DISCOVERY_RATE,
    ProportionScore,
    SlopeMixture,
    SlopeScore,
    SlopeSigns,
    Verdict,
    called_negative,
    false_discovery,
    independent_share,
    may_fall,
    proportion_score,
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
    "false_discovery",
    "independent_share",
    "may_fall",
    "proportion_score",
    "slope_signs",
]
