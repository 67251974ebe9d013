"""Agreement of raters beyond chance: Fleiss' kappa.

Several raters put each item into one of some categories. With P̄ the share of pairs of ratings of
the same item that agree, and P̄ₑ = Σⱼ pⱼ² the share expected if every rating were drawn from the
category shares pⱼ whatever the item, κ = (P̄ − P̄ₑ) / (1 − P̄ₑ): 1 where raters always agree, 0 where
no more than by chance, below 0 where less. It takes raters to be interchangeable, and where almost
all ratings are in one category it is low however often they agree.

Items may have different numbers of ratings nᵢ. The generalisation is Gwet's: P̄ is the mean over
the items with two ratings or more of the share of their pairs that agree, and pⱼ the mean over
all rated items of the share of their ratings in category j. With equal nᵢ it is Fleiss' own.

- Fleiss (1971), *Psychological Bulletin* 76, 378–382: κ, and κ of each category. The standard
  error given there is wrong.
- Fleiss, Nee & Landis (1979), *Psychological Bulletin* 86, 974–977: its correction, for a test of
  κ = 0.
- Gwet (2014), *Handbook of Inter-Rater Reliability*, 4th ed.: unequal numbers of ratings.
- Gwet (2021), *Educational and Psychological Measurement* 81, 781–790: the variance where κ is
  not 0, for intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from irtkit.checks import check_one_of, check_unique, short
from irtkit.responses.labels import category_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    RatingsTable: TypeAlias = ArrayLike | pd.DataFrame | Sequence[Sequence[Hashable]]

Missing = Literal["error", "omit"]


@dataclass(frozen=True, eq=False)
class FleissKappa:
    """Fleiss' kappa of a table of ratings, made by `fleiss_kappa`.

    ``print(result)`` says it in one sentence. All numbers of agreement are NaN where every rating
    is in one category: chance alone then agrees fully, and kappa is 0 / 0.
    """

    kappa: float
    standard_error: float
    """Of kappa if raters agreed by chance alone; kappa / standard_error is the test of kappa 0."""
    kappa_low: float
    kappa_high: float
    """95% interval: other items, the same raters. NaN with fewer than two items."""
    interval_standard_error: float
    """Of kappa as it is, not 0; the interval is made with it."""
    observed_agreement: float
    """Share of pairs of ratings of the same item that agree, from 0 to 1."""
    expected_agreement: float
    """The same share by chance."""
    n_items: int
    """Items with at least one rating."""
    n_raters: int
    """Most ratings of an item: the number of raters if one at least has them all."""
    n_ratings: int
    categories: tuple[str, ...]
    by_category: pd.DataFrame
    """Index ``category``; columns ``share`` (of ratings), ``kappa`` and ``standard_error`` of the
    category against all others together."""

    def __str__(self) -> str:
        table = f"{self.n_ratings} ratings of {self.n_items} items by up to {self.n_raters} raters"
        if math.isnan(self.kappa):
            used = self.by_category["share"].idxmax()
            return f"Fleiss' kappa is undefined: all {table} are in one category, {short(used)}."
        interval = f"95% interval {self.kappa_low:.3f} to {self.kappa_high:.3f}; "
        return (
            f"Fleiss' kappa {self.kappa:.3f} "
            f"({'' if math.isnan(self.kappa_low) else interval}"
            f"standard error {self.standard_error:.2g} if they agreed by chance alone): "
            f"{table} into {len(self.categories)} categories; {self.observed_agreement:.1%} of "
            f"pairs agree, {self.expected_agreement:.1%} expected by chance."
        )


def fleiss_kappa(ratings: RatingsTable, *, missing: Missing = "error") -> FleissKappa:
    """Fleiss' kappa of a table of ratings.

    Parameters
    ----------
    ratings
        Table of shape (n_items, n_raters) of categories, text or numbers: rows are items, unlike
        in a response matrix. Categories are kept as text (1 and 1.0 are both ``1``) and sorted.
    missing
        What a missing rating (NaN, None, blank) is: an "error" (default), or something to "omit",
        so that items have unequal numbers of ratings. An item without ratings is left out, and
        one with a single rating counts for the category shares only.

    Raises
    ------
    ValueError
        If a rating is missing and not to be omitted, or no item has two ratings.

    Examples
    --------
    >>> from irtkit.difficulty.agreement import fleiss_kappa
    >>> ratings = [["cat", "cat", "dog"], ["dog", "dog", "dog"], ["cat", "cat", None]]
    >>> result = fleiss_kappa(ratings, missing="omit")
    >>> round(result.kappa, 3), result.n_ratings, result.categories
    (0.55, 8, ('cat', 'dog'))
    """
    check_one_of("missing", missing, get_args(Missing))
    frame = _table(ratings, "ratings")
    codes, categories = _codes(frame)
    if missing == "error" and (codes < 0).any():
        row, column = np.argwhere(codes < 0)[0]
        raise ValueError(
            f"ratings has no rating of item {short(frame.index[row])} by rater "
            f'{short(frame.columns[column])}; missing="omit" leaves out what is missing'
        )
    cells = np.arange(len(codes))[:, np.newaxis] * len(categories) + codes
    counts = np.bincount(cells[codes >= 0], minlength=len(codes) * len(categories))
    return _result(counts.reshape(len(codes), len(categories)), categories, "ratings")


def fleiss_kappa_from_counts(counts: ArrayLike | pd.DataFrame) -> FleissKappa:
    """Fleiss' kappa from how many raters put each item into each category.

    Parameters
    ----------
    counts
        Table of shape (n_items, n_categories) of whole numbers; a DataFrame's columns name the
        categories. Rows may have different sums; a row of zeros, an item without ratings, is
        left out, and one with a single rating counts for the category shares only.

    Raises
    ------
    ValueError
        If a count is no whole number from 0 (NaN is none), or no item has two ratings.

    Examples
    --------
    The example of Fleiss' kappa in many manuals, ten items rated fourteen times:

    >>> from irtkit.difficulty.agreement import fleiss_kappa_from_counts
    >>> counts = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0],
    ...           [2, 2, 8, 1, 1], [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2],
    ...           [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
    >>> print(fleiss_kappa_from_counts(counts))
    Fleiss' kappa 0.210 (95% interval 0.001 to 0.419; standard error 0.017 if they agreed by
    chance alone): 140 ratings of 10 items by up to 14 raters into 5 categories; 37.8% of pairs
    agree, 21.3% expected by chance.
    """
    import pandas as pd

    frame = _table(counts, "counts")
    values = frame.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    wrong = ~((values >= 0) & (values < 2**53) & (values == np.round(values)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"counts must be whole numbers, 0 or more; item {short(frame.index[row])}, category "
            f"{short(frame.columns[column])} has {short(frame.iloc[row, column])}"
        )
    categories = tuple(map(category_name, frame.columns))
    check_unique("counts must have unique categories", categories)
    return _result(values.astype(np.int64), categories, "counts")


def _table(values: Any, argument: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.DataFrame(values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{argument} must be a table with a row per item: {error}") from error


def _codes(frame: pd.DataFrame) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Position of every rating's category in the sorted categories, −1 where it is missing."""
    import pandas as pd

    found, labels = pd.factorize(frame.to_numpy(dtype=object).ravel())
    names = [category_name(label) for label in labels]
    categories = sorted(set(names) - {""})
    position = {"": -1} | {name: k for k, name in enumerate(categories)}
    positions = np.array([*map(position.__getitem__, names), -1], dtype=np.intp)
    return positions[found].reshape(frame.shape), tuple(categories)


def _result(counts: NDArray[Any], categories: tuple[str, ...], argument: str) -> FleissKappa:
    import pandas as pd
    from scipy.special import stdtrit

    rated = counts[counts.sum(axis=1) > 0].astype(np.float64)
    ratings = rated.sum(axis=1)
    if ratings.max(initial=0) < 2:
        raise ValueError(f"{argument} needs at least one item with two ratings")
    whole = _Agreement.of(rated)
    error = _sampling_error(rated, whole)
    half_width = error * stdtrit(len(rated) - 1, 0.975)  # Student's t, as in Gwet's programs
    low, high = np.clip([whole.kappa - half_width, whole.kappa + half_width], -1, 1).tolist()
    against_others = [np.column_stack([column, ratings - column]) for column in rated.T]
    by_category = pd.DataFrame(
        map(_Agreement.of, against_others), index=pd.Index(categories, name="category")
    ).assign(share=whole.shares)
    return FleissKappa(
        kappa=whole.kappa,
        standard_error=whole.standard_error,
        kappa_low=low,
        kappa_high=high,
        interval_standard_error=error,
        observed_agreement=whole.observed,
        expected_agreement=whole.expected,
        n_items=len(rated),
        n_raters=int(ratings.max()),
        n_ratings=int(ratings.sum()),
        categories=categories,
        by_category=by_category[["share", "kappa", "standard_error"]],
    )


class _Agreement(NamedTuple):
    """Agreement in counts of shape (n_items, n_categories), at least one in every row."""

    kappa: float
    standard_error: float
    observed: float
    expected: float
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, counts: NDArray[np.float64]) -> _Agreement:
        n = counts.sum(axis=1)
        shares = (counts / n[:, np.newaxis]).mean(axis=0)
        observed = float(_pair_agreement(counts)[n >= 2].mean())
        expected = float((shares**2).sum())
        if (counts.sum(axis=0) > 0).sum() < 2:
            return cls(math.nan, math.nan, observed, expected, shares)
        kappa = (observed - expected) / (1 - expected)
        return cls(kappa, _chance_error(n, shares), observed, expected, shares)


def _pair_agreement(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of pairs of ratings that agree, by item; 0 where there is no pair."""
    n = counts.sum(axis=1)
    share: NDArray[np.float64] = (counts * (counts - 1)).sum(axis=1) / np.maximum(n * (n - 1), 1)
    return share


def _chance_error(n: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Standard error of kappa where all ratings are drawn from the category shares p.

    With S₂ = Σp², S₃ = Σp³ and m items rated nᵢ times, m′ of them twice or more,

        (1 − S₂)² Var κ = (2 / m′²) (S₂ + S₂² − 2 S₃) Σ 1 / (nᵢ (nᵢ − 1))
                          + 4 (S₃ − S₂²) [(1/m′ − 1/m)² Σ 1/nᵢ + (m − m′) / m²],

    sums over the m′ items. With equal nᵢ the second line is 0 and the first is the formula of
    Fleiss, Nee & Landis (1979). It follows by splitting the agreement of an item's pairs into
    its projection on single ratings, which only items rated once leave over, and a rest that is
    uncorrelated with it (Hoeffding 1948).
    """
    second, third = (shares**2).sum(), (shares**3).sum()
    several = n[n >= 2]
    pairs = 2 * (second + second**2 - 2 * third) * (1 / (several * (several - 1))).sum()
    uneven = (1 / len(several) - 1 / len(n)) ** 2 * (1 / several).sum()
    alone = (len(n) - len(several)) / len(n) ** 2
    singles = 4 * (third - second**2) * (uneven + alone)
    return float(np.sqrt(pairs / len(several) ** 2 + singles) / (1 - second))


def _sampling_error(counts: NDArray[np.float64], agreement: _Agreement) -> float:
    """Standard error of kappa over other items rated by the same raters (Gwet 2021).

    The standard error of the mean of κᵢ* = κᵢ − 2 (1 − κ) (eᵢ − P̄ₑ) / (1 − P̄ₑ), where
    κᵢ = (m / m′) (Pᵢ − P̄ₑ) / (1 − P̄ₑ), 0 for an item rated once, and eᵢ is the chance that a
    rating of item i agrees with one drawn from the category shares.
    """
    if len(counts) < 2 or math.isnan(agreement.kappa):
        return math.nan
    n = counts.sum(axis=1)
    excess = np.where(n >= 2, _pair_agreement(counts) - agreement.expected, 0.0)
    by_chance = counts @ agreement.shares / n - agreement.expected
    terms = excess / (n >= 2).mean() - 2 * (1 - agreement.kappa) * by_chance
    deviations = terms / (1 - agreement.expected) - agreement.kappa
    return float(np.sqrt((deviations**2).sum() / (len(n) * (len(n) - 1))))
