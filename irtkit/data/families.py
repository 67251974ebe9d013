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
    from collections.abc import Hashable, Iterator, Mapping, Sequence

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
    cells_at_once: int = 2**22  # Of an item block: 32 MiB in each of its arrays.
    pairs_at_once: int = 2**26  # Numbers of a table of pairs: 256 MiB.
    products_at_once: int = 2**20  # Numbers of a part of it: 4 MiB.
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


def item_blocks(
    result: Expecting, kept: NDArray[np.bool_] | NDArray[np.int64]
) -> Iterator[tuple[slice, Array, Array]]:
    """Some items, right responses of some respondents and how many there are, 0 where missing."""
    for some in blocks(
        len(result.item_labels), len(np.arange(result.patterns.n)[kept]), _SEARCH.cells_at_once
    ):
        yield some, *result.patterns.dense(kept, some)


def _compared_blocks(
    result: Expecting, kept: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.bool_], Array, Array]]:
    """Which of some items respondents answered, the shares right, and P(right) of the model."""
    for some, right, trials in item_blocks(result, kept):
        p = np.nan_to_num(result.expected(kept, some))
        yield trials > 0, right / np.maximum(trials, 1), p


def alike_pairs(result: Expecting, excess: float) -> pd.DataFrame:
    """Pairs of respondents that agree far beyond what the model expects, most alike first.

    ``excess`` is the least value of (observed − expected) / (1 − expected) agreement.
    """
    import pandas as pd
    from scipy.special import ndtri

    who = np.flatnonzero(result.patterns.answering)
    labels, n = np.array(result.respondent_labels, dtype=object)[who], len(who)
    least_z = float(-ndtri(_SEARCH.false_pairs / max(n * (n - 1) / 2, 1.0)))
    one, other = _candidates(result, who, excess)
    both, agreed, chance, variance, n_right = _compared(result, who, one, other)
    beyond = agreed - chance
    identical = (agreed > both - 0.5) & (np.minimum(n_right, both - n_right) >= _SEARCH.mixed)
    alike = (beyond >= excess * (both - chance)) & (beyond > least_z * np.sqrt(variance))
    table = pd.DataFrame(
        {
            "respondent": labels[one],
            "other": labels[other],
            "agreement": agreed / np.maximum(both, 1),
            "expected": chance / np.maximum(both, 1),
            "excess": beyond / np.maximum(both - chance, 1e-9),
            "n_items": both.astype(np.int64),
        }
    )
    found: pd.DataFrame = table[(both > 0) & (identical | alike)]
    return found.sort_values("excess", ascending=False, kind="stable", ignore_index=True)


def _candidates(result: Expecting, who: NDArray[np.int64], excess: float) -> NDArray[np.intp]:
    """Pairs of respondents that may have the excess, (2, n_pairs).

    On an item that both answered, they agree with probability e = (1 + (2P − 1)(2P′ − 1)) / 2. The
    excess is (A − E) / (B − E). Over these items, A sums (2y − 1)(2y′ − 1), E sums (2P − 1)(2P′ −
    1), and B is their number. A product in 32 bits suffices, and a second where cells are missing.
    """
    n, complete, n_items = len(who), result.patterns.complete, result.patterns.n_items
    found = [np.empty((2, 0), np.intp)]
    for rows in blocks(n, n, _SEARCH.pairs_at_once):
        sums: Any = np.zeros((rows.stop - rows.start, n - rows.start), np.float32)
        common: Any = np.float32(n_items) if complete else np.zeros_like(sums)
        for items in blocks(n_items, n - rows.start, _SEARCH.cells_at_once):
            answered, right, expected = _signs(result, who[rows.start :], items)
            expected *= np.float32((1 - excess) ** 0.5)
            both, signed = np.hstack([right, expected]), np.hstack([right, -expected])
            for some in blocks(len(sums), len(both), _SEARCH.products_at_once):
                upper = (some, slice(some.start, None))
                sums[upper] += both[some] @ signed[some.start :].T
                if not complete:
                    common[upper] += answered[some] @ answered[some.start :].T
        for some in blocks(len(sums), sums.shape[1], _SEARCH.products_at_once):
            number = common if complete else common[some]
            may_have = sums[some] >= np.float32(excess - _SEARCH.rounding) * number
            pairs = np.stack(np.divmod(np.flatnonzero(may_have & (number > 0)), sums.shape[1]))
            pairs[0] += some.start
            found.append(pairs[:, pairs[0] < pairs[1]] + rows.start)
    return np.concatenate(found, axis=1)


def _signs(result: Expecting, who: NDArray[np.int64], items: slice) -> Any:
    """Cells that are answered, 2y − 1 and 2P − 1, 0 where missing, in 32 bits, (3, n, n_items)."""
    found = np.empty((3, len(who), items.stop - items.start), np.float32)
    for some in blocks(*found[0].shape):
        right, trials = result.patterns.dense(who[some], items)
        answered, p = trials > 0, np.nan_to_num(result.expected(who[some], items))
        signs = 2 * right / np.maximum(trials, 1) - 1, 2 * p - 1
        found[:, some] = answered, *(answered * sign for sign in signs)
    return found


def _compared(
    result: Expecting, who: NDArray[np.int64], one: NDArray[np.intp], other: NDArray[np.intp]
) -> Array:
    """Number of items that pairs answered, agreements, Σ e, Σ e(1 − e) and right, (5, n_pairs)."""
    found = np.zeros((5, len(one)))
    some_of, ends = np.unique([one, other], return_inverse=True)
    one, other = ends.reshape(2, -1)
    for answered, y, p in _compared_blocks(result, who[some_of]):
        for some in blocks(len(one), p.shape[1]):
            i, j = one[some], other[some]
            both = answered[i] & answered[j]
            agreed, e = (both * (x[i] * x[j] + (1 - x[i]) * (1 - x[j])) for x in (y, p))
            parts = (both, agreed, e, e * (1 - e), both * y[i])
            found[:, some] += [part.sum(axis=1) for part in parts]
    found[3] = np.maximum(found[3], 1e-12)
    return found


def clustered_share(
    result: Expecting, proportion: ProportionScore, family: NDArray[np.int64]
) -> float:
    """Variance of item slopes if respondents were independent, over that between families.

    ``family`` numbers the family of every respondent. At most 1. Both are jackknife variances of
    the slope b of responses on the proportion score, summed over items. They are Σ (b₍g₎ − b)² (G −
    1)/G over the G slopes b₍g₎ without one family, or without one respondent (CR3: Bell & McCaffrey
    2002).
    """
    theta, _, scored = proportion
    at, family = theta[scored, None], np.unique(family[scored], return_inverse=True)[1]
    if family.max(initial=0) < 1:
        raise ValueError("families must name at least two families")
    variances = [0.0, 0.0]
    for _, right, trials in item_blocks(result, scored):
        terms = trials, trials * at, right, trials * at**2, right * at
        sums = np.stack([term.sum(axis=0) for term in terms])
        slope = _slopes(sums)
        for k, number in enumerate((np.arange(len(family)), family)):
            order = np.argsort(number, kind="stable")
            starts = np.searchsorted(number[order], np.arange(int(number.max()) + 1))
            left_out = np.stack([np.add.reduceat(term[order], starts, axis=0) for term in terms])
            without = _slopes(sums[:, None] - left_out)
            spread = ((without - slope) ** 2).sum() * (1 - 1 / len(without))
            variances[k] += float(spread)
    apart, together = variances
    return min(1.0, apart / together) if together > 0 else 1.0


def _slopes(sums: Array) -> Array:
    """Slopes of right responses y on scores x, by the sums of 1, x, y, x² and yx; 0 without any."""
    n, first, n_right, squares, crossed = sums
    n = np.maximum(n, 1)
    squares, crossed = squares - first**2 / n, crossed - n_right * first / n
    slopes: Array = np.divide(crossed, squares, out=np.zeros_like(squares), where=squares > 1e-9)
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
        codes = linked(result, alike_pairs(result, USUAL_EXCESS) if pairs is None else pairs)
        return [labels[k] for k in np.unique(codes, return_index=True)[1][codes]]
    names = by_label("families", families, labels, result.responses, "family")
    return [None if is_missing_label(name) else str(name) for name in names]


def family_codes(result: Expecting, families: Any) -> NDArray[np.int64]:
    """Number the family of every respondent. One without a family is its own family."""
    if isinstance(families, str) and families == SIMILAR:
        return linked(result, alike_pairs(result, USUAL_EXCESS))
    names = zip(family_names(result, families), result.respondent_labels, strict=True)
    own = [f"of {name}" if name is not None else f"respondent {label}" for name, label in names]
    return np.unique(own, return_inverse=True)[1]


def linked(result: Expecting, pairs: pd.DataFrame) -> NDArray[np.int64]:
    """Number the families of all respondents whom pairs link."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(result.respondent_labels)
    place = {label: k for k, label in enumerate(result.respondent_labels)}
    ends = tuple([place[label] for label in pairs[name]] for name in ("respondent", "other"))
    links = coo_array((np.ones(len(pairs)), ends), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
