"""Local dependence: pairs of items that have more in common than ability (Yen's Q3).

Abilities are fitted to the items, which draws Q3 below 0 if the model holds. Let e = y − P(θ), and
θ̂ − θ ≈ (Σ eᵢPᵢ'/(Pᵢ(1 − Pᵢ)) − θ)/(I + 1). The residuals of items j and k have about the
covariance −∫ Pⱼ'Pₖ'/(I + 1) φ(θ) dθ. Item j has the variance ∫ Pⱼ(1 − Pⱼ) − Pⱼ'²/(I + 1) φ(θ) dθ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import check_number, check_whole
from irtkit.data.patterns import blocks
from irtkit.diagnostics.fitted import fitted, rise_by_logit
from irtkit.fitting import result_for
from irtkit.irf import outer

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.diagnostics.fitted import Fitted
    from irtkit.irf import Array

    Places = NDArray[np.intp]
    Singles = NDArray[np.float32]

_ITEMS_AT_ONCE = 1024  # Compared with as many others: 4 MiB of correlations.
_LEAST_COMMON = 5  # Common respondents of a pair, and right and wrong responses to an item.
_LEAST_SQUARES = 1e-6  # Sum of squared residuals below which an item is left out.


def local_dependence(
    result: FitResult, *, threshold: float = 0.2, top: int | None = 1000
) -> pd.DataFrame:
    """List the pairs of items whose residuals correlate, such as near-copies.

    Parameters
    ----------
    result : FitResult
        With its responses.
    threshold : float, default 0.2
        Least absolute Q3, from 0 to 1.
    top : int, default 1000
        Largest number of pairs, those with the largest absolute Q3. None returns all.

    Returns
    -------
    pandas.DataFrame
        One row per pair, largest absolute q3 first:

        - item, other
        - q3: correlation of y − P(θ) between the two items, over respondents who answered both, at
          the fitted abilities (EAP). Items with under five right, or wrong, responses are left out.
        - excess: q3 less its expectation if the model holds, which is below 0.
        - n_respondents: who answered both.
        - p_value: two-sided, by Fisher's transform of q3, for a single pair. It is too small for
          the largest of many pairs. Judge these by excess.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a FitResult, its responses were not saved, are sparse, or hold repeated
        trials, or an argument is out of range.

    Notes
    -----
    With several abilities residuals are from P given all of them. The p-value uses the effective
    number of near-duplicate respondents. With one ability fitted to J items, q3 is about −1/(J − 1)
    on average.

    References
    ----------
    Yen (1984), *Applied Psychological Measurement* 8, 125–145: Q3.
    Christensen, Makransky & Horton (2017), *Applied Psychological Measurement* 41, 178–194.

    See Also
    --------
    irtkit.model_fit, irtkit.similar_respondents

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
    result = result_for("local_dependence", result)
    parts = fitted(result)
    pairs = _largest(parts, threshold, top)
    items, others = pairs[:2].astype(np.intp)
    q3, n = pairs[2:]
    expected = _expected(parts, items, others)
    bound = np.clip(q3, -1 + 1e-12, 1 - 1e-12)
    error = 1 / np.sqrt(np.maximum(result.evidence * n - 3, 1))
    z = (np.arctanh(bound) - np.arctanh(expected)) / error
    labels = np.array(result.item_labels, dtype=object)[parts.places]
    columns = {
        "item": labels[items],
        "other": labels[others],
        "q3": q3,
        "excess": q3 - expected,
        "n_respondents": n.astype(np.int64),
        "p_value": erfc(np.abs(z) / np.sqrt(2)),
    }
    return pd.DataFrame(columns)


def _largest(parts: Fitted, threshold: float, top: int | None) -> Array:
    """Item, other item, Q3 and number of respondents of the pairs with the largest Q3, (4, n)."""
    complete = bool(parts.complete.all())
    pairs = np.empty((4, 0))
    least = threshold
    starts = range(0, parts.items.n_items, _ITEMS_AT_ONCE)
    for first in starts:
        block = _block(parts, first, complete=complete)
        for second in range(first, starts.stop, _ITEMS_AT_ONCE):
            other = block if second == first else _block(parts, second, complete=complete)
            if block.answered is None or other.answered is None:
                q3 = block.residual.T @ other.residual
                n = np.full(q3.shape, len(block.residual), dtype=np.float32)
            else:
                # correlations over the respondents who answered both
                n = block.answered.T @ other.answered
                count = np.maximum(n, 1)
                sums = block.residual.T @ other.answered
                other_sums = block.answered.T @ other.residual
                squares = (block.residual**2).T @ other.answered
                squares -= sums**2 / count
                other_squares = block.answered.T @ other.residual**2
                other_squares -= other_sums**2 / count
                common = block.residual.T @ other.residual
                common -= sums * other_sums / count
                varied = (squares > _LEAST_SQUARES) & (other_squares > _LEAST_SQUARES)
                size = np.sqrt(np.where(varied, squares * other_squares, 1))
                q3 = np.where(varied, common / size, np.nan)
            large = np.abs(q3) >= least  # not where it is NaN
            if second == first:
                large &= ~np.tri(len(q3), dtype=np.bool_)
            j, k = np.nonzero(large & (n >= _LEAST_COMMON))
            if not len(j):
                continue
            within = np.clip(q3[j, k], -1, 1)
            values = first + j, second + k, within, n[j, k]
            pairs = np.hstack([pairs, np.stack(values, dtype=np.float64)])
            order = np.argsort(-np.abs(pairs[2]), kind="stable")[:top]
            pairs = pairs[:, order]
            if len(order) == top:
                least = max(threshold, float(np.abs(pairs[2, -1])))
    return pairs


def _expected(parts: Fitted, items: Places, others: Places) -> Array:
    """Q3 of pairs if the model holds, (n_pairs,)."""
    nodes, weights = parts.grid()
    slopes = parts.slopes
    # Posterior variance of abilities at every node.
    answered = (parts.cells >= 0).mean()
    precision: Any = np.linalg.inv(parts.correlation)
    squares = outer(slopes, slopes)
    for block in blocks(len(slopes), len(nodes)):
        items_here = parts.items.chosen(block)
        p = items_here.probability(nodes)
        rise = rise_by_logit(items_here, p)
        by_logit = rise**2 / np.maximum(p * (1 - p), 1e-12)
        precision = precision + answered * np.tensordot(by_logit, squares[block], 1)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    # What fitted abilities take from residuals, (n_nodes, K, n_items).
    involved, places = np.unique([items, others], return_inverse=True)
    items_involved = parts.items.chosen(involved)
    p = items_involved.probability(nodes)
    rise = rise_by_logit(items_involved, p)
    weighted_rise = np.sqrt(weights)[:, None] * rise
    by_rise = root.transpose(0, 2, 1) @ slopes[involved].T
    taken = np.concatenate(weighted_rise[:, None] * by_rise)
    variance = weights @ (p * (1 - p))
    left = variance - (taken**2).sum(axis=0)
    taken /= np.sqrt(np.maximum(left, _LEAST_SQUARES))
    expected = np.empty(len(items))
    first, second = places.reshape(2, -1)
    for block in blocks(len(items), len(taken)):
        product = taken[:, first[block]] * taken[:, second[block]]
        expected[block] = -product.sum(axis=0)
    return expected


class _Block(NamedTuple):
    """Residuals of some items, 0 if missing, and standardised if all were answered."""

    residual: Singles
    answered: Singles | None  # None if all were.


def _block(parts: Fitted, start: int, *, complete: bool) -> _Block:
    """Residuals of the items from a place on."""
    block = slice(start, start + _ITEMS_AT_ONCE)
    cells = parts.cells[:, block]
    p = parts.items.chosen(block).probability(parts.ability)
    residual = (cells - p).astype(np.float32)
    n_right = (cells == 1).sum(axis=0)
    n_wrong = (cells == 0).sum(axis=0)
    varied = np.minimum(n_right, n_wrong) >= _LEAST_COMMON
    if not complete:
        answered = ((cells >= 0) & varied).astype(np.float32)
        return _Block(residual * answered, answered)
    residual -= residual.mean(axis=0)
    squares = (residual**2).sum(axis=0)
    size = np.where(varied & (squares > _LEAST_SQUARES), np.sqrt(squares), np.nan)
    return _Block((residual / size).astype(np.float32), None)
