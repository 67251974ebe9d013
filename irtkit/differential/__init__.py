"""Differential item functioning: items harder for one group than its ability explains.

:func:`differential_functioning` is the way in; ``groups`` says who is in which of two groups,
``mantel_haenszel`` and ``likelihood_ratio`` test items, and ``functioning`` chooses anchors and
makes the table.
"""

from irtkit.differential.functioning import METHODS, DifferentialMethod, differential_functioning

__all__ = ["METHODS", "DifferentialMethod", "differential_functioning"]
