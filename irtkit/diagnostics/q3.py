"""Pairs of items that have more in common than ability: Yen's Q3.

Residuals are correlated item by item in blocks of items, so that no items × items array is made.

Abilities are fitted to the items, which draws Q3 below 0 where the model holds, and the more the
steeper the items. With θ̂ − θ ≈ (Σ eᵢPᵢ'/(Pᵢ(1 − Pᵢ)) − θ)/(I + 1), e = y − P(θ), the residuals of
items j and k have about the covariance −∫ Pⱼ'Pₖ'/(I + 1) φ(θ) dθ, and that of j the variance
∫ Pⱼ(1 − Pⱼ) − Pⱼ'²/(I + 1) φ(θ) dθ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.checks import check_number, check_whole
from irtkit.data.patterns import blocks
from irtkit.diagnostics.fitted import Fitted, fitted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ItemParameters

    Singles = NDArray[np.float32]

_ITEMS_AT_ONCE = 512
"""Items set beside as many others: 1 MiB of correlations in 32 bits."""
_LEAST_COMMON = 5
"""Respondents that answered both items of a pair, at least; and right and wrong responses to an
item: two items that the same one respondent gets wrong have a Q3 of 1."""
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
          at the fitted abilities (EAP). Items with fewer than five right or five wrong responses
          are left out.
        - excess: q3 less what it is expected to be if the model holds, which is below 0, since
          abilities are fitted to the items (on average about −1/(items − 1)).
        - n_respondents: who answered both.
        - p_value: of Fisher's transform of q3 about that, to both sides, for one pair looked at by
          itself; respondents that answer alike count for as many as are independent
          (``result.dependence``). In the far tail, where the largest of many pairs lie, it is too
          small: tell these by the size of excess.

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
    Christensen, Makransky & Horton (2017), *Applied Psychological Measurement* 41, 178–194: that
    critical values must hold what is expected.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(30), np.linspace(-2, 2, 30))
    >>> values = irtkit.simulate_responses(items, np.linspace(-2, 2, 300), seed=1).values.copy()
    >>> values[:180, 7] = values[:180, 20]  # asked twice, for most
    >>> pairs = irtkit.local_dependence(irtkit.fit(irtkit.ResponseMatrix(values)))
    >>> pairs[["item", "other"]].values[0].tolist(), round(float(pairs["q3"].iloc[0]), 1)
    (['item-8', 'item-21'], 0.4)
    """
    import pandas as pd
    from scipy.special import erfc

    check_number("threshold", threshold, least=0, most=1)
    if top is not None:
        check_whole("top", top, 1)
    parts = fitted(result, "local_dependence")
    found = _pairs(parts, threshold, math.inf if top is None else top)
    one, other, q3, n, expected = found
    bound = np.clip(q3, -1 + 1e-12, 1 - 1e-12)
    share = 1.0 if result.dependence is None else result.dependence.share
    z = (np.arctanh(bound) - np.arctanh(expected)) * np.sqrt(np.maximum(share * n - 3, 1))
    p = erfc(np.abs(z) / np.sqrt(2))
    labels = np.array(result.item_labels, dtype=object)[parts.places]
    columns = {
        "item": labels[one.astype(np.intp)],
        "other": labels[other.astype(np.intp)],
        "q3": q3,
        "excess": q3 - expected,
        "n_respondents": n.astype(np.int64),
        "p_value": p,
    }
    return pd.DataFrame(columns)


class _Block(NamedTuple):
    """Residuals of some items, 0 where missing, and which were answered."""

    start: int
    residual: Singles
    answered: Singles | None
    """None if all were."""
    drawn: Array
    """√φ P'/√(I + 1) at the nodes, over the SD of the residual, (n_items, n_nodes)."""


def _pairs(parts: Fitted, threshold: float, top: float) -> Array:
    """Item, other item, Q3, number of respondents and expected Q3 of pairs, (5, n)."""
    found = np.empty((5, 0))
    complete = bool(parts.complete.all())
    nodes, weights = parts.grid()
    information = np.zeros(len(nodes))
    for some in blocks(parts.items.n_items, len(nodes)):
        information += parts.items.chosen(some).information(nodes).sum(axis=1)
    information *= (parts.cells >= 0).mean()
    grid = nodes, weights, information
    starts = range(0, parts.items.n_items, _ITEMS_AT_ONCE)
    for first in starts:
        one = _block(parts, grid, first, complete=complete)
        for second in starts:
            if second >= first:
                other = one if second == first else _block(parts, grid, second, complete=complete)
                found = _largest(np.hstack([found, _of_blocks(one, other, threshold)]), top)
    return found


def _largest(rows: Array, top: float) -> Array:
    """Return so many pairs with the largest Q3, in that order."""
    order = np.argsort(-np.abs(rows[2]), kind="stable")
    return rows[:, order if len(order) <= top else order[: int(top)]]


def _block(
    parts: Fitted, grid: tuple[Array, Array, Array], start: int, *, complete: bool
) -> _Block:
    some = slice(start, start + _ITEMS_AT_ONCE)
    cells, items = parts.cells[:, some], parts.items.chosen(some)
    drawn = _drawn(items, *grid)
    varied = np.minimum((cells == 1).sum(axis=0), (cells == 0).sum(axis=0)) >= _LEAST_COMMON
    residual = (cells - items.probability(parts.ability)).astype(np.float32)
    if not complete:
        answered = ((cells >= 0) & varied).astype(np.float32)
        return _Block(start, residual * answered, answered, drawn)
    residual -= residual.mean(axis=0)
    squares = (residual**2).sum(axis=0)
    size = np.where(varied & (squares > _LEAST_SQUARES), np.sqrt(squares), np.nan)
    return _Block(start, (residual / size).astype(np.float32), None, drawn)


def _drawn(items: ItemParameters, nodes: Array, weights: Array, information: Array) -> Array:
    """What fitted abilities take from residuals; products of it are expected correlations."""
    p = items.probability(nodes)
    variance = p * (1 - p)
    rise = np.sqrt(items.information(nodes) * variance) * np.sign(items.discrimination)
    taken = np.sqrt(weights / (information + 1))[:, None] * rise
    left = weights @ variance - (taken**2).sum(axis=0)
    return np.asarray((taken / np.sqrt(np.maximum(left, _LEAST_SQUARES))).T)


def _of_blocks(one: _Block, other: _Block, threshold: float) -> Array:
    """Q3 of every item of one block with every later one of the other."""
    if one.answered is None or other.answered is None:
        q3 = one.residual.T @ other.residual
        n = np.float32(len(one.residual)) * np.ones_like(q3)
    else:
        q3, n = _over_common(one.residual, one.answered, other.residual, other.answered)
    before = one.start + np.arange(len(q3))[:, None] >= other.start + np.arange(q3.shape[1])
    usable = ~before & np.isfinite(q3) & (n >= _LEAST_COMMON)
    j, k = np.nonzero(usable & (np.abs(np.where(usable, q3, 0)) >= threshold))
    expected = -np.einsum("pq,pq->p", one.drawn[j], other.drawn[k])
    rows = np.stack([one.start + j, other.start + k, np.clip(q3[j, k], -1, 1), n[j, k], expected])
    return np.asarray(rows, dtype=np.float64)


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
    varied = (squares > _LEAST_SQUARES) & (their_squares > _LEAST_SQUARES)
    size = np.sqrt(np.where(varied, squares * their_squares, 1))
    return np.where(varied, common / size, np.nan), n
