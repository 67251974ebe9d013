"""The impact metric: how much work predicted annotations save the people who annotate.

An annotation is a type with a start and an end (an event in a recording, a span of a text).
Predicted annotations of a sample are paired with the manual ones at the least cost, and what is
left to do by hand (fields to fix, predictions to delete, annotations to add) is set against
starting from nothing: 0 is perfect, below 1 helpful, above 1 worse than no predictions.

- ``annotations``: tables and lists of annotations, checked
- ``matching``: weights and penalties, the cost matrix, the assignment and what it leaves to do
- ``scoring``: the impact of one sample
- ``summary``: the impact over a data set, and a gate
"""

from irtkit.annotation.annotations import Annotation
from irtkit.annotation.matching import Penalties, Weights
from irtkit.annotation.scoring import Impact, impact
from irtkit.annotation.summary import ImpactSummary, impact_summary

__all__ = [
    "Annotation",
    "Impact",
    "ImpactSummary",
    "Penalties",
    "Weights",
    "impact",
    "impact_summary",
]
