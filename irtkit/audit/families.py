"""Families of respondents: how much less their responses say than independent ones would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.audit.expected import ItemBlock, dense_responses, item_blocks
from irtkit.audit.similar import similar_respondents
from irtkit.labels import is_missing_label, values_by_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult

    Array = NDArray[np.float64]

SIMILAR = "similar"


def clustered_share(result: FitResult, family: NDArray[np.int64]) -> float:
    """Variance of item slopes if respondents were independent, over that between families.

    ``family`` numbers the family of every respondent. At most 1. Both are jackknife variances of
    the slope of responses on the proportion score, Σ (b₍g₎ − b)² (G − 1)/G over the G slopes b₍g₎
    without one family, or without one respondent (cluster-robust in the form that is safe with few
    clusters: Bell & McCaffrey 2002). They are pooled over the items, which share their respondents.
    The inverse of a design effect.
    """
    theta, _, scored = result.signs.proportion
    theta, family = theta[scored], np.unique(family[scored], return_inverse=True)[1]
    if family.max(initial=0) < 1:
        raise ValueError("groups must name at least two families")
    apart = together = 0.0
    for block in item_blocks(result, scored):
        apart += _jackknife(np.arange(len(family)), theta, block)
        together += _jackknife(family, theta, block)
    return min(1.0, apart / together) if together > 0 else 1.0


def _jackknife(family: NDArray[np.int64], theta: Array, block: ItemBlock) -> float:
    """Sum over items of the jackknife variance of their slopes, each leaving out one family."""
    at, right, trials = theta[:, None], block.right, block.trials
    by_family = np.zeros((5, int(family.max()) + 1, right.shape[1]))
    terms = (trials, trials * at, trials * at**2, right, right * at)
    for sums, term in zip(by_family, terms, strict=True):
        np.add.at(sums, family, term)
    n, first, second, n_right, crossed = by_family.sum(axis=1)[:, None] - by_family
    n = np.maximum(n, 1)
    squares = second - first**2 / n
    slope = np.zeros_like(squares)
    np.divide(crossed - n_right * first / n, squares, out=slope, where=squares > 1e-9)
    size = len(slope)
    return float(((slope - slope.mean(axis=0)) ** 2).sum() * (size - 1) / size)


def family_codes(result: FitResult, groups: Any) -> NDArray[np.int64]:
    """Number the family of every respondent; synthetic ones may be left out of a mapping."""
    dense_responses(result, "groups")
    if isinstance(groups, str):
        return _alike(result, groups)
    labels = result.respondent_labels
    families = values_by_label("groups", groups, labels, value="family", kind="respondent")
    for label, family, synthetic in zip(labels, families, result.synthetic, strict=True):
        if is_missing_label(family) and not synthetic:
            raise ValueError(f"groups has no family for respondent {label!r}")
    return np.unique([str(family) for family in families], return_inverse=True)[1]


def _alike(result: FitResult, word: str) -> NDArray[np.int64]:
    """Families of respondents that are linked by answering alike."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if word != SIMILAR:
        raise ValueError(f"groups must be families by respondent, or {SIMILAR!r}; got {word!r}")
    pairs, n = similar_respondents(result), len(result.respondent_labels)
    place = {label: k for k, label in enumerate(result.respondent_labels)}
    ends = tuple([place[label] for label in pairs[name]] for name in ("respondent", "other"))
    links = coo_array((np.ones(len(pairs)), ends), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
