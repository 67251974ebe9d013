"""What pictures show: points, bins, intervals and axes, for `irtkit.plots` and the page alike."""

from irtkit.pictures.curves import (
    AbilityGroups,
    ItemCurve,
    ability_groups,
    ability_scale,
    group_counts,
    item_curves,
)
from irtkit.pictures.items import (
    NEGATIVE,
    ORDINARY,
    SUSPECT,
    ItemPoints,
    error_and_difficulty,
    item_map,
    kinds_of,
    predicted_and_fitted,
)
from irtkit.pictures.precision import Precision, Trace, precision, trace
from irtkit.pictures.scales import Scale, number_text, tick_text
from irtkit.pictures.systems import Ranking, WrightMap, ranking, wright_map

__all__ = [
    "NEGATIVE",
    "ORDINARY",
    "SUSPECT",
    "AbilityGroups",
    "ItemCurve",
    "ItemPoints",
    "Precision",
    "Ranking",
    "Scale",
    "Trace",
    "WrightMap",
    "ability_groups",
    "ability_scale",
    "error_and_difficulty",
    "group_counts",
    "item_curves",
    "item_map",
    "kinds_of",
    "number_text",
    "precision",
    "predicted_and_fitted",
    "ranking",
    "tick_text",
    "trace",
    "wright_map",
]
