"""Respondents that answer alike, and families of them, which say less than independent ones do.

Checkpoints and fine-tunes of one family repeat each other's answers, right and wrong, and so make
evidence look stronger than it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.responses.labels import by_label, is_missing_label

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.data.slopes import ProportionScore
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

    Families = Mapping[Hashable, Hashable] | Sequence[Hashable] | pd.Series[str] | str

SIMILAR = "similar"
USUAL_EXCESS = 0.5  # Agreement beyond that of the model, of that which there could be.


@dataclass(frozen=True)
class _Search:
    """How pairs of similar respondents are searched for."""

    false_pairs: float = 0.01  # Expected by chance in a table, were the model true (Bonferroni).
    mixed: int = 5  # Right and wrong answers of identical ones: ten can be given in 252 ways.
    # Sampling errors by which pairs that are not alike fall short on the items searched.
    unlike: float = 6.0
    screened_cells: int = 2**24  # Cells that are searched if some are missing: 64 MiB.
    shortfall: float = 3.0  # Sampling errors by which a pair may fall short on these.
    cells_at_once: int = 2**20  # Of an item block: 8 MiB in each of its arrays.
    rounding: float = 1e-3  # How far below the limit candidates may have their excess.


_SEARCH = _Search()


class Expecting(Protocol):
    """A fit, as far as answers that are alike need it."""

    @property
    def item_labels(self) -> tuple[str, ...]:
        """Labels of items."""

    @property
    def respondent_labels(self) -> tuple[str, ...]:
        """Labels of respondents."""

    @property
    def responses(self) -> ResponseMatrix | None:
        """The matrix the model was fitted to."""

    @property
    def patterns(self) -> Patterns:
        """The responses of the fit."""

    def expected(self, rows: Any, items: Any) -> Array:
        """P(right) of some respondents on some items, both by place."""


def alike_pairs(result: Expecting, excess: float) -> pd.DataFrame:
    """Pairs of respondents that agree far beyond what the model expects, most alike first.

    ``excess`` is the least value of (observed − expected) / (1 − expected) agreement. On an item
    that both answered, two agree with probability e = (1 + (2P − 1)(2P′ − 1)) / 2. The excess is
    (A − E) / (B − E). Over these items, A sums (2y − 1)(2y′ − 1), E sums (2P − 1)(2P′ − 1), and B
    is their number. Pairs are searched for on a sample of items, with a sampling error of at most
    √(B · share of the items left out).
    """
    import pandas as pd
    from scipy.special import ndtri

    compared = np.flatnonzero(result.patterns.answering)
    n = len(compared)
    n_items = len(result.item_labels)
    complete = result.patterns.complete
    n_screened = min(n_items, max(_SEARCH.screened_cells // n, 1))
    if complete:  # noise in A − E, of at most √B, leaves room for both errors below excess · B
        errors = _SEARCH.unlike + _SEARCH.shortfall
        n_screened = int(min(n_items, (errors / max(excess, 1e-3)) ** 2))
    items = np.sort(np.random.default_rng(0).choice(n_items, n_screened, replace=False))
    share, trials = result.patterns.shares(compared, items, np.float32)
    answered = np.minimum(trials, 1)
    signs = 2 * share - answered
    p = np.nan_to_num(result.expected(compared, items)).astype(np.float32)
    expected_signs = (2 * p - 1) * answered
    allowed = _SEARCH.shortfall * (1 - n_screened / n_items) ** 0.5
    observed = None if complete else answered
    first, second = agreeing_pairs(signs, expected_signs, observed, excess, allowed)
    sums = _compared(result, compared, first, second)
    n_common, agreed, expected, variance, n_right = sums
    beyond = agreed - expected
    possible = n_common - expected
    n_pairs = max(n * (n - 1) / 2, 1.0)
    least_z = -ndtri(_SEARCH.false_pairs / n_pairs)
    is_alike = (beyond >= excess * possible) & (beyond > least_z * np.sqrt(variance))
    n_mixed = np.minimum(n_right, n_common - n_right)
    is_identical = (agreed > n_common - 0.5) & (n_mixed >= _SEARCH.mixed)
    labels = np.array(result.respondent_labels, dtype=object)[compared]
    columns = {
        "respondent": labels[first],
        "other": labels[second],
        "agreement": agreed / np.maximum(n_common, 1),
        "expected": expected / np.maximum(n_common, 1),
        "excess": beyond / np.maximum(possible, 1e-9),
        "n_items": n_common.astype(np.int64),
    }
    pairs: pd.DataFrame = pd.DataFrame(columns)[is_identical | is_alike]
    return pairs.sort_values("excess", ascending=False, kind="stable", ignore_index=True)


def agreeing_pairs(
    signs: Any, expected_signs: Any, answered: Any, excess: float, allowed: float = 0.0
) -> NDArray[np.intp]:
    """Pairs of rows with A − E ≥ excess · (B − E), or less by ``allowed`` · √B, (2, n_pairs).

    A, E and B are products of rows of the three tables in 32 bits. ``answered`` is None if no cell
    is missing. E is then a product of the few functions of ability that curves are made of.
    """
    n, n_columns = signs.shape
    expected_signs = np.float32((1 - excess) ** 0.5) * expected_signs
    if answered is None:
        values, functions = np.linalg.eigh(expected_signs.T @ expected_signs)
        expected_signs = expected_signs @ functions[:, values > 1e-6 * values.max(initial=0)]
    observed = np.hstack([signs, expected_signs])
    beyond_expected = np.hstack([signs, -expected_signs])
    pairs = [np.empty((2, 0), np.intp)]
    for rows in blocks(n, n, _SEARCH.cells_at_once):
        later = slice(rows.start, None)
        n_common: Any = n_columns if answered is None else answered[rows] @ answered[later].T
        limit = (excess - _SEARCH.rounding) * n_common - allowed * np.sqrt(n_common)
        beyond = observed[rows] @ beyond_expected[later].T > limit
        first, second = np.divmod(np.flatnonzero(beyond), n - rows.start)
        later_second = second > first
        pairs.append(np.stack([first[later_second], second[later_second]]) + rows.start)
    return np.concatenate(pairs, axis=1)


def _compared(
    result: Expecting,
    compared: NDArray[np.int64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> Array:
    """Number of items that pairs answered, agreements, Σ e, Σ e(1 − e) and right, (5, n_pairs)."""
    sums = np.zeros((5, len(first)))
    members, places = np.unique([first, second], return_inverse=True)
    first, second = places.reshape(2, -1)
    rows = compared[members]
    for items in blocks(len(result.item_labels), len(rows), _SEARCH.cells_at_once):
        share, trials = result.patterns.shares(rows, items)
        answered = (trials > 0).astype(np.float64)
        p = np.nan_to_num(result.expected(rows, items)) * answered
        for pairs in blocks(len(first), p.shape[1]):
            k = first[pairs]
            m = second[pairs]
            common = answered[k] * answered[m]
            agreed = _both(share[k], share[m])
            expected = _both(p[k], p[m])
            terms = (common, agreed, expected, expected * (1 - expected), share[k])
            sums[:, pairs] += [np.einsum("ij,ij->i", common, term) for term in terms]
    sums[3] = np.maximum(sums[3], 1e-12)
    return sums


def _both(p: Array, q: Array) -> Array:
    """Probability that two are both right or both wrong."""
    agreement: Array = p * q + (1 - p) * (1 - q)
    return agreement


def clustered_share(
    result: Expecting, proportion: ProportionScore, family: NDArray[np.int64]
) -> float:
    """Variance of item slopes if respondents were independent, over that between families.

    ``family`` numbers the family of every respondent. At most 1. Both are jackknife variances of
    the slope b of responses on the proportion score, summed over items. They are Σ (b₍g₎ − b)² (G −
    1)/G over the G slopes b₍g₎ without one family, or without one respondent (CR3: Bell & McCaffrey
    2002).
    """
    scored = proportion.scored
    score = proportion.value[scored, None]
    family = np.unique(family[scored], return_inverse=True)[1]
    if family.max(initial=0) < 1:
        raise ValueError("families must name at least two families")
    by_respondent = 0.0
    by_family = 0.0
    respondents = np.arange(len(family))
    for items in blocks(len(result.item_labels), len(family), _SEARCH.cells_at_once):
        right, trials = result.patterns.dense(scored, items)
        terms = (trials, trials * score, right, trials * score**2, right * score)
        by_respondent += _jackknife(terms, respondents)
        by_family += _jackknife(terms, family)
    return min(1.0, by_respondent / by_family) if by_family > 0 else 1.0


def _jackknife(terms: tuple[Array, ...], cluster: NDArray[np.int64]) -> float:
    """Sum over items of the jackknife variances of slopes, leaving out one cluster at a time."""
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(cluster.max()) + 1))
    sums = np.stack([term.sum(axis=0) for term in terms])
    left_out = np.stack([np.add.reduceat(term[order], starts, axis=0) for term in terms])
    change = _slopes(sums[:, None] - left_out) - _slopes(sums)
    return float((change**2).sum() * (1 - 1 / len(starts)))


def _slopes(sums: Array) -> Array:
    """Slopes of right responses y on scores x, by the sums of 1, x, y, x² and yx; 0 without any."""
    n, x, y, squares, products = sums
    n = np.maximum(n, 1)
    variation = squares - x**2 / n
    covariation = products - y * x / n
    slopes: Array = np.zeros_like(variation)
    np.divide(covariation, variation, out=slopes, where=variation > 1e-9)
    return slopes


def family_names(
    result: Expecting, families: Any, pairs: pd.DataFrame | None = None
) -> list[str | None]:
    """Name the family of every respondent, None without one.

    ``families`` is a mapping or list by respondent, a column of the respondent table, or "similar".
    Families of ``pairs`` that are similar are named after their first member.
    """
    labels = result.respondent_labels
    if isinstance(families, str) and families == SIMILAR:
        if pairs is None:
            pairs = alike_pairs(result, USUAL_EXCESS)
        codes = linked(labels, pairs)
        first = np.unique(codes, return_index=True)[1]
        return [labels[k] for k in first[codes]]
    names = by_label("families", families, labels, result.responses, "family")
    return [None if is_missing_label(name) else str(name) for name in names]


def family_codes(result: Expecting, families: Any) -> NDArray[np.int64]:
    """Number the family of every respondent. One without a family is its own family."""
    if isinstance(families, str) and families == SIMILAR:
        return linked(result.respondent_labels, alike_pairs(result, USUAL_EXCESS))
    members = []
    for name, label in zip(family_names(result, families), result.respondent_labels, strict=True):
        members.append(f"system {label}" if name is None else f"of {name}")
    return np.unique(members, return_inverse=True)[1]


def linked(labels: tuple[str, ...], pairs: pd.DataFrame) -> NDArray[np.int64]:
    """Number the families of all labels that pairs, in the first two columns, link."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(labels)
    place = {label: k for k, label in enumerate(labels)}
    ends = [pairs.iloc[:, k].map(place) for k in (0, 1)]
    links = coo_array((np.ones(len(pairs)), ends), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
