"""Families of respondents: how much less their responses say than independent ones would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.audit.expected import expected, rows_of_fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult

    Array = NDArray[np.float64]


def clustered_share(result: FitResult, groups: Any) -> float:
    """Variance of item scores if respondents were independent, over that between families.

    At most 1. The scores are those of slopes, Σ (y − P)(θ − θ̄), with P of the fitted model; the
    variance between families is Σ (sum within the family)² (Liang & Zeger 1986), pooled over the
    items, which share their respondents.
    """
    from irtkit.calibration.evidence import strength_of

    strength = strength_of(rows_of_fit(result, "groups"))
    family = _family_codes(groups, result)[strength.kept]
    apart = together = 0.0
    for part in expected(result, strength.kept):
        score = part.residual * strength.logit[strength.kept, None]
        sums = np.zeros((int(family.max()) + 1, score.shape[1]))
        np.add.at(sums, family, score)
        apart += float((score**2).sum())
        together += float((sums**2).sum())
    return min(1.0, apart / together) if together > 0 else 1.0


def _family_codes(groups: Any, result: FitResult) -> NDArray[np.int64]:
    """Number of the family of every respondent; synthetic ones may be left out of a mapping."""
    labels = result.respondent_labels
    if isinstance(groups, Mapping) or hasattr(groups, "items"):  # a Series has items too
        by_label = {str(label): family for label, family in groups.items()}
        missing = [
            label
            for label, synthetic in zip(labels, result.synthetic, strict=True)
            if label not in by_label and not synthetic
        ]
        if missing:
            raise ValueError(f"groups has no family for respondent {missing[0]!r}")
        values = [by_label.get(label) for label in labels]
    else:
        values = list(groups)
        if len(values) != len(labels):
            raise ValueError(
                f"groups must have one family per respondent; got {len(values)} for {len(labels)}"
            )
    codes: dict[str, int] = {}
    for label, value, synthetic in zip(labels, values, result.synthetic, strict=True):
        if not synthetic and (value is None or (isinstance(value, float) and np.isnan(value))):
            raise ValueError(f"groups has no family for respondent {label!r}")
        codes.setdefault(str(value), len(codes))
    return np.array([codes[str(value)] for value in values], dtype=np.int64)
