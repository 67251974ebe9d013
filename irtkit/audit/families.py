"""Families of respondents: how much less their responses say than independent ones would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.audit.expected import expected, rows_of_fit
from irtkit.audit.similar import similar_respondents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult

    Array = NDArray[np.float64]

SIMILAR = "similar"


def clustered_share(result: FitResult, groups: Any) -> float:
    """Variance of item slopes if respondents were independent, over that between families.

    At most 1. Both are jackknife variances of the slope of responses on strength, Σ (b₍g₎ − b)²
    (G − 1)/G over the G slopes b₍g₎ without one family, or without one respondent (cluster-robust
    in the form that is safe with few clusters: Bell & McCaffrey 2002). They are pooled over the
    items, which share their respondents.

    Raises
    ------
    ValueError
        If there are fewer than two families, a respondent has none, or responses are sparse.
    """
    from irtkit.calibration.evidence import strength_of

    strength = strength_of(rows_of_fit(result, "groups", dense=True))
    family = _family_codes(groups, result)[strength.kept]
    family = np.unique(family, return_inverse=True)[1]
    if family.max(initial=0) < 1:
        raise ValueError("groups must name at least two families")
    theta, alone = strength.value[strength.kept], np.arange(len(family))
    apart = together = 0.0
    for part in expected(result, strength.kept):
        apart += _jackknife(alone, theta, part.right, part.trials)
        together += _jackknife(family, theta, part.right, part.trials)
    return min(1.0, apart / together) if together > 0 else 1.0


def count_families(groups: Any, result: FitResult) -> int:
    """Number of families of real respondents."""
    return len(np.unique(_family_codes(groups, result)[~result.synthetic]))


def _jackknife(family: NDArray[np.int64], theta: Array, right: Array, trials: Array) -> float:
    """Sum over items of the jackknife variance of their slopes, each leaving out one family."""
    at = theta[:, None]
    by_family = np.zeros((5, int(family.max()) + 1, right.shape[1]))
    terms = (trials, trials * at, trials * at**2, right, right * at)
    for sums, term in zip(by_family, terms, strict=True):
        np.add.at(sums, family, term)
    n, first, second, n_right, crossed = by_family.sum(axis=1)[:, None] - by_family
    n = np.maximum(n, 1)
    spread = second - first**2 / n
    slope = np.zeros_like(spread)
    np.divide(crossed - n_right * first / n, spread, out=slope, where=spread > 1e-9)
    size = len(slope)
    return float(((slope - slope.mean(axis=0)) ** 2).sum() * (size - 1) / size)


def _family_codes(groups: Any, result: FitResult) -> NDArray[np.int64]:
    """Number of the family of every respondent; synthetic ones may be left out of a mapping."""
    import pandas as pd

    labels = result.respondent_labels
    if isinstance(groups, str):
        return _alike(result, groups)
    if isinstance(groups, pd.DataFrame) or not isinstance(groups, Iterable):
        raise TypeError(
            "groups must be a mapping or Series from respondent to family, or a list of families, "
            f"got {type(groups).__name__}"
        )
    if isinstance(groups, pd.Series) and groups.index.has_duplicates:
        twice = groups.index[groups.index.duplicated()][0]
        raise ValueError(f"groups has respondent {twice!r} twice")
    if isinstance(groups, Mapping | pd.Series):
        by_label = {str(label): family for label, family in groups.items()}
        values = [by_label.get(label) for label in labels]
    else:
        values = list(groups)
        if len(values) != len(labels):
            raise ValueError(
                f"groups must have one family per respondent; got {len(values)} for {len(labels)}"
            )
    codes: dict[str, int] = {}
    unknown = pd.isna(pd.array(values, dtype=object))
    for label, value, missing, synthetic in zip(
        labels, values, unknown, result.synthetic, strict=True
    ):
        if missing and not synthetic:
            raise ValueError(f"groups has no family for respondent {label!r}")
        codes.setdefault(str(value), len(codes))
    return np.array([codes[str(value)] for value in values], dtype=np.int64)


def _alike(result: FitResult, word: str) -> NDArray[np.int64]:
    """Families of respondents that are linked by answering alike."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if word != SIMILAR:
        raise ValueError(f"groups must be families by respondent, or {SIMILAR!r}; got {word!r}")
    pairs = similar_respondents(result)
    place = {label: k for k, label in enumerate(result.respondent_labels)}
    ends = [[place[label] for label in pairs[name]] for name in ("respondent", "other")]
    n = len(place)
    links = coo_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
