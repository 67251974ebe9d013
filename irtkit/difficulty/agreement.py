"""Agreement of raters beyond chance: Fleiss' kappa.

Several raters put each item into a category. Let P̄ be the proportion of pairs of ratings of an
item that agree, and P̄ₑ = Σⱼ pⱼ² its expectation if ratings are drawn from the category proportions
pⱼ. Then κ = (P̄ − P̄ₑ) / (1 − P̄ₑ) (Fleiss 1971): 1 is full agreement, 0 agreement by chance.

Items may have different numbers of ratings (Gwet 2014): P̄ is the mean over items with at least
two, pⱼ over all rated items. The standard error under κ = 0 is from Fleiss, Nee & Landis (1979),
the interval from Gwet (2021, *Educational and Psychological Measurement* 81, 781–790).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from irtkit.checks import check_one_of, short
from irtkit.responses.labels import category_name

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array

Missing = Literal["error", "omit"]


@dataclass(frozen=True, eq=False)
class FleissKappa:
    """Fleiss' kappa of a table of ratings, made by `fleiss_kappa`.

    All numbers are NaN if every rating is in one category: kappa is then 0 / 0.
    """

    kappa: float
    standard_error: float
    """Standard error if raters agree by chance alone, for a test of kappa = 0."""
    kappa_low: float
    kappa_high: float
    """95 % interval over other items and the same raters, NaN with fewer than two items."""
    interval_standard_error: float
    """Standard error of kappa as it is, used for the interval."""
    observed_agreement: float
    expected_agreement: float
    n_items: int
    """Items with at least one rating."""
    n_raters: int
    """Largest number of ratings of an item."""
    n_ratings: int
    categories: tuple[str, ...]
    by_category: pd.DataFrame
    """Index ``category``, columns ``share`` (of ratings), ``kappa`` and ``standard_error`` of the
    category against all others together."""

    def __str__(self) -> str:
        names = ("kappa", "kappa_low", "kappa_high", "observed_agreement", "expected_agreement")
        counts = ("n_items", "n_raters", "n_ratings")
        return "\n".join(f"{name}: {getattr(self, name):.4g}" for name in (*names, *counts))


def fleiss_kappa(ratings: Any, *, missing: Missing = "error") -> FleissKappa:
    """Fleiss' kappa of a table of ratings.

    Parameters
    ----------
    ratings : array-like of shape (n_items, n_raters)
        Categories, text or numbers. Rows are items, unlike in a response matrix. Categories are
        kept as text (1 and 1.0 are both ``1``) and sorted.
    missing : {"error", "omit"}, default "error"
        What a missing rating (NaN, None, blank) is. With "omit", items without ratings are left
        out, and single ratings enter the category proportions only.

    Returns
    -------
    FleissKappa
        ``kappa`` with interval, and ``by_category``.

    Raises
    ------
    ValueError
        If a rating is missing and not to be omitted, or no item has two ratings.

    Examples
    --------
    >>> import irtkit
    >>> ratings = [["cat", "cat", "dog"], ["dog", "dog", "dog"], ["cat", "cat", None]]
    >>> result = irtkit.fleiss_kappa(ratings, missing="omit")
    >>> round(result.kappa, 3), result.n_ratings, result.categories
    (0.55, 8, ('cat', 'dog'))
    """
    import pandas as pd
    from scipy.special import stdtrit

    check_one_of("missing", missing, get_args(Missing))
    try:
        frame = pd.DataFrame(ratings)
    except (ValueError, TypeError) as error:
        raise ValueError(f"ratings must be a table with a row per item: {error}") from error
    found, labels = pd.factorize(frame.to_numpy(dtype=object).ravel())
    names = np.array([*map(category_name, labels), ""], dtype=object)[found]  # −1 is missing.
    there = names != ""
    if missing == "error" and not there.all():
        row, column = divmod(int(there.argmin()), frame.shape[1])
        raise ValueError(
            f"ratings lacks the rating of item {short(frame.index[row])} by rater "
            f'{short(frame.columns[column])}. Use missing="omit" to leave out missing ratings'
        )
    categories = sorted(set(names[there]))
    item = np.repeat(np.arange(len(frame)), frame.shape[1])[there]
    counts = np.zeros((len(frame), len(categories)), dtype=np.int64)
    np.add.at(counts, (item, np.searchsorted(categories, names[there].astype(str))), 1)
    rated = counts[counts.sum(axis=1) > 0].astype(np.float64)
    ratings = rated.sum(axis=1)
    if ratings.max(initial=0) < 2:
        raise ValueError("ratings needs at least one item with two ratings")
    whole = _agreement(rated)
    own_error = _sampling_error(rated, whole)
    half = own_error * stdtrit(len(rated) - 1, 0.975)  # Student's t, as in Gwet's programs.
    low, high = np.clip([whole.kappa - half, whole.kappa + half], -1, 1).tolist()
    each = [_agreement(np.column_stack([column, ratings - column])) for column in rated.T]
    by_category = pd.DataFrame(each, index=pd.Index(categories, name="category"))
    return FleissKappa(
        kappa=whole.kappa,
        standard_error=whole.standard_error,
        kappa_low=low,
        kappa_high=high,
        interval_standard_error=own_error,
        observed_agreement=whole.observed,
        expected_agreement=whole.expected,
        n_items=len(rated),
        n_raters=int(ratings.max()),
        n_ratings=int(ratings.sum()),
        categories=tuple(categories),
        by_category=by_category.assign(share=whole.shares)[["share", "kappa", "standard_error"]],
    )


class _Agreement(NamedTuple):
    kappa: float
    standard_error: float
    observed: float
    expected: float
    shares: Array


def _agreement(counts: Array) -> _Agreement:
    """Agreement in counts of shape (n_items, n_categories), at least one in every row.

    With S₂ = Σp², S₃ = Σp³ and m items rated nᵢ times, m′ of them twice or more,

        (1 − S₂)² Var κ = (2 / m′²) (S₂ + S₂² − 2 S₃) Σ 1 / (nᵢ (nᵢ − 1))
                          + 4 (S₃ − S₂²) [(1/m′ − 1/m)² Σ 1/nᵢ + (m − m′) / m²]

    under κ = 0, sums over the m′ items. With equal nᵢ the second line is 0 (Fleiss, Nee & Landis).
    """
    n = counts.sum(axis=1)
    shares = (counts / n[:, None]).mean(axis=0)
    observed = float(_pair_agreement(counts)[n >= 2].mean())
    second, third = float((shares**2).sum()), float((shares**3).sum())
    if (counts.sum(axis=0) > 0).sum() < 2:
        return _Agreement(math.nan, math.nan, observed, second, shares)
    several = n[n >= 2]
    pairs = 2 * (second + second**2 - 2 * third) * (1 / (several * (several - 1))).sum()
    uneven = (1 / len(several) - 1 / len(n)) ** 2 * (1 / several).sum()
    alone = (len(n) - len(several)) / len(n) ** 2
    singles = 4 * (third - second**2) * (uneven + alone)
    error = float(np.sqrt(pairs / len(several) ** 2 + singles) / (1 - second))
    return _Agreement((observed - second) / (1 - second), error, observed, second, shares)


def _pair_agreement(counts: Array) -> Array:
    """Proportion of pairs of ratings that agree, by item, 0 without a pair."""
    n = counts.sum(axis=1)
    share: Array = (counts * (counts - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)
    return share


def _sampling_error(counts: Array, agreement: _Agreement) -> float:
    """Standard error of kappa over other items rated by the same raters (Gwet 2021).

    The standard error of the mean of κᵢ* = κᵢ − 2 (1 − κ) (eᵢ − P̄ₑ) / (1 − P̄ₑ). Here κᵢ = (m /
    m′) (Pᵢ − P̄ₑ) / (1 − P̄ₑ), or 0 for an item rated once. The probability that a rating of item i
    agrees with one drawn from the category proportions is eᵢ.
    """
    if len(counts) < 2 or math.isnan(agreement.kappa):
        return math.nan
    n = counts.sum(axis=1)
    excess = np.where(n >= 2, _pair_agreement(counts) - agreement.expected, 0.0)
    by_chance = counts @ agreement.shares / n - agreement.expected
    terms = excess / (n >= 2).mean() - 2 * (1 - agreement.kappa) * by_chance
    deviations = terms / (1 - agreement.expected) - agreement.kappa
    return float(np.sqrt((deviations**2).sum() / (len(n) * (len(n) - 1))))
