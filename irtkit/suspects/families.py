"""Respondents that answer alike, and families of them, which say less than independent ones do.

Checkpoints and fine-tunes of one family repeat each other's answers, right and wrong, and so make
evidence look stronger than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_number, check_type, short
from irtkit.data.patterns import blocks
from irtkit.responses.labels import is_missing_label, values_by_label
from irtkit.suspects.expected import ItemBlock, dense_responses, item_blocks

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array

SIMILAR = "similar"
_FALSE_PAIRS = 0.01
"""Pairs expected by chance in a table, were the model true (Bonferroni)."""
_MIXED = 5
"""Right and wrong responses to items both answered that identical respondents need to be listed
without further ado: ten answers, half of them right, can be given in 252 ways."""
_RESPONDENTS_AT_ONCE = 1024
"""Respondents set beside all others."""


def similar_respondents(result: FitResult, *, excess: float = 0.5) -> pd.DataFrame:
    """List the pairs of respondents that agree far beyond what the model expects.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    excess
        Least share of the agreement left over by the model that a pair must have:
        (observed − expected) / (1 − expected), 1 for identical answers. Pairs must also agree more
        than chance explains (one false pair in a hundred tables, were the model true). Identical
        ones, with five right and five wrong responses or more, are always listed.

    Returns
    -------
    pandas.DataFrame
        One row per pair, most alike first: respondent, other, agreement (share of the items both
        answered on which both are right or both wrong), expected (the same under the model),
        excess, n_items. Repeated trials enter by their share right. Families for ``groups=`` of
        :func:`irtkit.flag_items` can be read off it.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a fit with its responses, these are sparse, or ``excess`` lies outside
        0 to 1.

    Examples
    --------
    >>> import warnings, irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> with warnings.catch_warnings(action="ignore"):  # one ability does not explain these systems
    ...     result = irtkit.fit(crowd.responses, "2PL")
    >>> pairs = irtkit.similar_respondents(result, excess=0.7)
    >>> pairs[["respondent", "other"]].values.tolist()
    [['centroid-n50', 'bayes-multinomial-n50'], ['gp-rbf-n50', 'centroid-n50']]
    """
    import pandas as pd
    from scipy.special import ndtri

    check_type("result", result, FitResult)
    check_number("excess", excess, least=0, most=1)
    dense_responses(result, "similar_respondents")
    patterns = result.patterns
    kept = patterns.answering
    labels = np.array(result.respondent_labels, dtype=object)[kept]
    least_z = float(-ndtri(_FALSE_PAIRS / max(len(labels) * (len(labels) - 1) / 2, 1.0)))
    found: list[tuple[NDArray[Any], ...]] = []
    for start in range(0, len(labels), _RESPONDENTS_AT_ONCE):
        some = slice(start, start + _RESPONDENTS_AT_ONCE)
        both, agreed, chance, right = _agreements(result, kept, some)
        later = np.arange(len(labels)) > np.arange(len(labels))[some, None]
        identical = (agreed > both - 0.5) & (np.minimum(right, both - right) >= _MIXED)
        likely = (agreed - chance >= excess * (both - chance)) & (agreed > chance)
        one, other = np.nonzero(later & (both > 0) & (likely | identical))
        at = one, other
        exact, variance = _expected_of_pairs(result, kept, one + start, other)
        kept_pairs = identical[at] | (agreed[at] - exact > least_z * np.sqrt(variance))
        pairs = (one + start, other, both[at], agreed[at], exact)
        found.append(tuple(values[kept_pairs] for values in pairs))
    one, other, both, agreed, chance = map(np.concatenate, zip(*found, strict=True))
    table = pd.DataFrame(
        {
            "respondent": labels[one],
            "other": labels[other],
            "agreement": agreed / both,
            "expected": chance / both,
            "excess": (agreed - chance) / np.maximum(both - chance, 1e-9),
            "n_items": both.astype(np.int64),
        }
    )
    return table.sort_values("excess", ascending=False, kind="stable", ignore_index=True)


def _agreements(result: FitResult, kept: NDArray[np.bool_], some: slice) -> tuple[Array, ...]:
    """Of some respondents with all: items both answered, agreements, and roughly those expected.

    And how many of the items both answered those respondents got right. Two respondents agree on an
    item with probability e = PP′ + QQ′ = (1 + (P − Q)(P′ − Q′)) / 2.
    """
    total: Any = np.zeros(4)[:, None, None]
    for block in item_blocks(result, kept):
        answered = block.trials > 0
        right = (2 * block.right - block.trials) / np.maximum(block.trials, 1)
        parts = (answered, right, answered * (2 * block.probability - 1))
        single = [part.astype(np.float32) for part in parts]
        products = [part[some] @ part.T for part in single]
        total = total + np.stack([*products, single[1][some] @ single[0].T])
    both, alike, expected, right = total
    return both, (both + alike) / 2, (both + expected) / 2, (both + right) / 2


def _expected_of_pairs(
    result: FitResult, kept: NDArray[np.bool_], one: NDArray[Any], other: NDArray[Any]
) -> tuple[Array, Array]:
    """Agreements of pairs that the model expects, Σ e, and their variance, Σ e(1 − e)."""
    chance, variance = np.zeros((2, len(one)))
    for block in item_blocks(result, kept):
        answered, p = block.trials > 0, block.probability
        for some in blocks(len(one), p.shape[1]):
            i, j = one[some], other[some]
            e = (p[i] * p[j] + (1 - p[i]) * (1 - p[j])) * (answered[i] & answered[j])
            chance[some] += e.sum(axis=1)
            variance[some] += (e * (1 - e)).sum(axis=1)
    return chance, np.maximum(variance, 1e-12)


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
            raise ValueError(f"groups has no family for respondent {short(label)}")
    return np.unique([str(family) for family in families], return_inverse=True)[1]


def _alike(result: FitResult, word: str) -> NDArray[np.int64]:
    """Families of respondents that are linked by answering alike."""
    if word != SIMILAR:
        raise ValueError(
            f"groups must be families by respondent, or {short(SIMILAR)}; got {short(word)}"
        )
    return linked(result, similar_respondents(result))


def linked(result: FitResult, pairs: pd.DataFrame) -> NDArray[np.int64]:
    """Number the families of all respondents whom pairs link."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(result.respondent_labels)
    place = {label: k for k, label in enumerate(result.respondent_labels)}
    ends = tuple([place[label] for label in pairs[name]] for name in ("respondent", "other"))
    links = coo_array((np.ones(len(pairs)), ends), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
