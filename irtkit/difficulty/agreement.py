"""Agreement of raters beyond chance: Fleiss' kappa.

Several raters put each item into a category. Let P̄ be the proportion of pairs of ratings of an
item that agree, and P̄ₑ = Σⱼ pⱼ² its expectation if ratings are drawn from the category proportions
pⱼ. Then κ = (P̄ − P̄ₑ) / (1 − P̄ₑ) (Fleiss 1971): 1 is full agreement, 0 agreement by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from irtkit.checks import check_one_of, short
from irtkit.responses.labels import category_name


@dataclass(frozen=True)
class FleissKappa:
    """Fleiss' kappa of a table of ratings, made by `fleiss_kappa`."""

    kappa: float
    """NaN if every rating is in one category: kappa is then 0 / 0."""
    kappa_low: float
    kappa_high: float
    """95 % interval over other items and the same raters, NaN with fewer than two items."""
    n_items: int
    n_raters: int
    categories: tuple[str, ...]


@np.errstate(invalid="ignore", divide="ignore")
def fleiss_kappa(ratings: Any, *, missing: Literal["error", "omit"] = "error") -> FleissKappa:
    """Fleiss' kappa of a table of ratings, by statsmodels.

    Parameters
    ----------
    ratings : array-like of shape (n_items, n_raters)
        Categories, text or numbers. Rows are items, unlike in a response matrix. Categories are
        kept as text (1 and 1.0 are both ``1``) and sorted.
    missing : {"error", "omit"}, default "error"
        What a missing rating (NaN, None, blank) is. With "omit", items that lack a rating are left
        out.

    Returns
    -------
    FleissKappa
        ``kappa`` with its 95 % interval.

    Raises
    ------
    ImportError
        If statsmodels, which comes with the extra ``irtkit[curves]``, is not installed.
    ValueError
        If a rating is missing and not to be omitted, or no item has two ratings.

    Notes
    -----
    The standard error is that of the mean of κᵢ* = (Pᵢ − P̄ₑ − 2 (1 − κ)(eᵢ − P̄ₑ)) / (1 − P̄ₑ) over
    the items. Here Pᵢ is the proportion of pairs of ratings of item i that agree, and eᵢ the
    probability that a rating of the item agrees with one drawn from the category proportions (Gwet
    2021, *Educational and Psychological Measurement* 81, 781–790). The interval uses Student's t.

    Examples
    --------
    >>> import irtkit
    >>> ratings = [["cat", "cat", "dog"], ["dog", "dog", "dog"], ["cat", "cat", "cat"]]
    >>> result = irtkit.fleiss_kappa(ratings)
    >>> round(result.kappa, 3), result.n_items, result.categories
    (0.55, 3, ('cat', 'dog'))
    """
    import pandas as pd
    from scipy.special import stdtrit

    try:
        from statsmodels.stats import inter_rater
    except ImportError as error:
        raise ImportError("fleiss_kappa needs statsmodels: pip install 'irtkit[curves]'") from error
    check_one_of("missing", missing, ("error", "omit"))
    names = pd.DataFrame(ratings).map(category_name)
    rated = names[(names != "").all(axis=1)]
    if missing == "error" and len(rated) < len(names):
        item = short(names.index.difference(rated.index, sort=False)[0])
        raise ValueError(f'ratings lacks a rating of item {item}. missing="omit" leaves it out')
    n_items, n_raters = rated.shape
    if n_items == 0 or n_raters < 2:
        raise ValueError("ratings needs at least one item with two ratings")
    counts, categories = inter_rater.aggregate_raters(rated)
    kappa = float(inter_rater.fleiss_kappa(counts))
    shares = counts.sum(axis=0) / rated.size
    expected = shares @ shares
    agreement = (counts * (counts - 1)).sum(axis=1) / (n_raters * (n_raters - 1))
    by_chance = counts @ shares / n_raters - expected
    terms = (agreement - expected - 2 * (1 - kappa) * by_chance) / (1 - expected)
    half = terms.std() / np.sqrt(n_items - 1) * stdtrit(n_items - 1, 0.975)
    low, high = np.clip([kappa - half, kappa + half], -1, 1).tolist()
    return FleissKappa(kappa, low, high, n_items, n_raters, tuple(categories))
