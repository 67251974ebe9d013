"""Pairs of items that have more in common than ability: Yen's Q3.

Residuals are correlated item by item in blocks of items, so that no items × items array is made.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.checks import check_number, check_whole
from irtkit.diagnostics.fitted import Fitted, false_discovery, fitted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array

    Singles = NDArray[np.float32]

_ITEMS_AT_ONCE = 512
"""Items set beside as many others: 1 MiB of correlations in 32 bits."""
_LEAST_COMMON = 5
"""Respondents that answered both items of a pair, at least."""
_LEAST_SQUARES = 1e-6
"""Sum of squared residuals below which an item has none."""


def local_dependence(
    result: FitResult, *, threshold: float = 0.2, top: int | None = 1000
) -> pd.DataFrame:
    """List the pairs of items whose residuals correlate: near-copies, items about one text.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    threshold
        Least size of Q3, from 0 to 1.
    top
        Most pairs that are returned, those with the largest size; None for all.

    Returns
    -------
    pandas.DataFrame
        One row per pair, largest size of q3 first:

        - item, other
        - q3: correlation of y − P(θ) between the two items, over respondents who answered both,
          at the fitted abilities (EAP).
        - excess: q3 less its mean over all pairs, which abilities that are fitted to the items
          draw below 0 (to about −1/(items − 1)).
        - n_respondents: who answered both.
        - p_value: of Fisher's transform of q3 about that mean, to both sides, q_value: the
          false-discovery rate over all pairs, those below the threshold counted.

        p_value takes respondents as independent: families of near-copies make it too small.

    Raises
    ------
    TypeError
        If ``result`` is not a FitResult.
    ValueError
        If its responses were not saved, are sparse, or hold repeated trials, or an argument is out
        of range.

    References
    ----------
    Yen (1984), *Applied Psychological Measurement* 8, 125–145: Q3.
    Christensen, Makransky & Horton (2017), *Applied Psychological Measurement* 41, 178–194: Q3
    beside its mean.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(30), np.linspace(-2, 2, 30))
    >>> values = irtkit.simulate_responses(items, np.linspace(-2, 2, 300), seed=1).values.copy()
    >>> values[:200, 7] = values[:200, 20]  # asked twice, for most
    >>> pairs = irtkit.local_dependence(irtkit.fit(irtkit.ResponseMatrix(values)))
    >>> pairs[["item", "other"]].values[0].tolist(), round(float(pairs["q3"].iloc[0]), 1)
    (['item-8', 'item-21'], 0.6)
    """
    import pandas as pd
    from scipy.special import erfc

    check_number("threshold", threshold, least=0, most=1)
    if top is not None:
        check_whole("top", top, 1)
    parts = fitted(result, "local_dependence")
    found = _pairs(parts, threshold, math.inf if top is None else top)
    mean = found.total / max(found.n_pairs, 1)
    one, other, q3, n = found.rows
    bound = np.clip(q3, -1 + 1e-12, 1 - 1e-12)
    z = (np.arctanh(bound) - np.arctanh(mean)) * np.sqrt(n - 3)
    p = erfc(np.abs(z) / np.sqrt(2))
    labels = np.array(result.item_labels, dtype=object)[parts.places]
    columns = {
        "item": labels[one.astype(np.intp)],
        "other": labels[other.astype(np.intp)],
        "q3": q3,
        "excess": q3 - mean,
        "n_respondents": n.astype(np.int64),
        "p_value": p,
        "q_value": false_discovery(p, found.n_pairs),
    }
    return pd.DataFrame(columns)


class _Pairs(NamedTuple):
    """Pairs above a threshold, and what all of them come to."""

    rows: Array
    """Item, other item, Q3 and number of respondents of every pair kept, (4, n)."""
    total: float
    """Sum of Q3 over all pairs that have one."""
    n_pairs: int

    def with_more(self, more: _Pairs, top: float) -> _Pairs:
        """Return these and those, of which so many with the largest Q3 are kept."""
        rows = np.concatenate([self.rows, more.rows], axis=1)
        order = np.argsort(-np.abs(rows[2]), kind="stable")
        kept = order if len(order) <= top else order[: int(top)]
        return _Pairs(rows[:, kept], self.total + more.total, self.n_pairs + more.n_pairs)


class _Block(NamedTuple):
    """Residuals of some items, 0 where missing, and which were answered."""

    start: int
    residual: Singles
    answered: Singles | None
    """None if all were."""


def _pairs(parts: Fitted, threshold: float, top: float) -> _Pairs:
    found = _Pairs(np.empty((4, 0)), 0.0, 0)
    complete = bool(parts.complete.all())
    starts = range(0, parts.items.n_items, _ITEMS_AT_ONCE)
    for first in starts:
        one = _block(parts, first, complete=complete)
        for second in starts:
            if second >= first:
                other = one if second == first else _block(parts, second, complete=complete)
                found = found.with_more(_of_blocks(one, other, threshold), top)
    return found


def _block(parts: Fitted, start: int, *, complete: bool) -> _Block:
    some = slice(start, start + _ITEMS_AT_ONCE)
    cells = parts.cells[:, some]
    residual = (cells - parts.items.chosen(some).probability(parts.ability)).astype(np.float32)
    if not complete:
        answered = (cells >= 0).astype(np.float32)
        return _Block(start, residual * answered, answered)
    residual -= residual.mean(axis=0)
    squares = (residual**2).sum(axis=0)
    size = np.where(squares > _LEAST_SQUARES, np.sqrt(squares), np.float32(np.nan))
    return _Block(start, (residual / size).astype(np.float32), None)


def _of_blocks(one: _Block, other: _Block, threshold: float) -> _Pairs:
    """Q3 of every item of one block with every later one of the other."""
    if one.answered is None or other.answered is None:
        q3 = one.residual.T @ other.residual
        n = np.float32(len(one.residual)) * np.ones_like(q3)
    else:
        q3, n = _over_common(one.residual, one.answered, other.residual, other.answered)
    before = one.start + np.arange(len(q3))[:, None] >= other.start + np.arange(q3.shape[1])
    told = ~before & np.isfinite(q3) & (n >= _LEAST_COMMON)
    j, k = np.nonzero(told & (np.abs(np.where(told, q3, 0)) >= threshold))
    total = float(q3[told].sum(dtype=np.float64))
    rows = np.stack([one.start + j, other.start + k, np.clip(q3[j, k], -1, 1), n[j, k]])
    return _Pairs(rows.astype(np.float64), total, int(told.sum()))


def _over_common(
    residual: Singles, answered: Singles, others: Singles, theirs: Singles
) -> tuple[Singles, Singles]:
    """Correlations over the respondents who answered both, and how many these are."""
    n = answered.T @ theirs
    count = np.maximum(n, 1)
    sums, their_sums = residual.T @ theirs, answered.T @ others
    squares = (residual**2).T @ theirs - sums**2 / count
    their_squares = answered.T @ (others**2) - their_sums**2 / count
    common = residual.T @ others - sums * their_sums / count
    told = (squares > _LEAST_SQUARES) & (their_squares > _LEAST_SQUARES)
    size = np.sqrt(np.where(told, squares * their_squares, 1))
    return np.where(told, common / size, np.nan), n
