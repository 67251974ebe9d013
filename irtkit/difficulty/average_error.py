"""Average error (AvE): how often respondents got an item wrong, and how often the model says.

The simplest difficulty there is. It depends on who happened to answer, counts a weak respondent's
error like a strong one's, and cannot tell a hard item from a wrong label.

Difficulties of items with different slopes are not on one footing: the order of two items depends
on the ability at which they are compared. The expected error averages the probability of an error
over the population: one number in [0, 1] per item, comparable between all of them and with the
average error that was observed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.checks import check_number, check_yes_or_no
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import independent_share
from irtkit.data.wilson import wilson_interval
from irtkit.io.reading import as_responses

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.patterns import Counts, Patterns
    from irtkit.irf import ItemParameters
    from irtkit.responses import ResponseMatrix


def average_error(responses: object, *, synthetic: bool = False) -> pd.Series[float]:
    """Share of wrong among the observed responses of real respondents, by item.

    AvE = wrong / n, where n counts the observed responses of real respondents; every trial of a
    repeated response counts.

    Parameters
    ----------
    responses
        A response matrix, or what :func:`irtkit.read_responses` takes; missing cells are not
        counted.
    synthetic
        Whether to count synthetic respondents as well.

    Returns
    -------
    pandas.Series
        Called ``average_error``, index ``item``; from 0 (all right) to 1 (all wrong), NaN for an
        item that no real respondent answered.

    Raises
    ------
    TypeError
        If ``responses`` is nothing that can be read.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.difficulty import average_error
    >>> responses = irtkit.ResponseMatrix([[1, 0, -1], [0, 0, -1]], items=["a", "b", "c"])
    >>> average_error(responses)
    item
    a    0.5
    b    1.0
    c    NaN
    Name: average_error, dtype: float64
    """
    import pandas as pd

    responses = as_responses(responses)
    check_yes_or_no(synthetic=synthetic)
    share = _counts(responses, synthetic=synthetic).average_error
    return pd.Series(share, index=pd.Index(responses.items, name="item"), name="average_error")


def average_error_interval(responses: object, *, level: float = 0.95) -> pd.DataFrame:
    """Average error with its binomial interval, by item.

    The score interval (Wilson 1927): with z the normal quantile and p the share wrong of n, centre
    (p + z²/2n) / (1 + z²/n) and half-width z √(p(1 − p)/n + z²/4n²) / (1 + z²/n). It takes the
    respondents as drawn at random. Their repeated trials are no further respondents: n is less by
    a design effect, the variance of the trials of a respondent together over that of single ones,
    pooled over the items.

    Parameters
    ----------
    responses
        As for :func:`average_error`.
    level
        Share of such intervals that hold the true share.

    Returns
    -------
    pandas.DataFrame
        Index ``item``; columns ``average_error``, ``low``, ``high``, ``n_responses``; NaN for an
        item that no real respondent answered.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.difficulty import average_error_interval
    >>> responses = irtkit.ResponseMatrix([[1], [0], [0], [0]], items=["a"])
    >>> average_error_interval(responses).round(3).loc["a", ["low", "high"]].tolist()
    [0.301, 0.954]
    """
    import pandas as pd

    check_number("level", level, above=0, below=1)
    responses = as_responses(responses)
    patterns = patterns_of(responses, synthetic_is_real=False)
    error, n = patterns.counts.average_error, patterns.counts.item_responses
    tried = np.maximum(n, 1) * respondents_per_trial(patterns)
    low, high = wilson_interval(error, tried, level)
    columns = {"average_error": error, "low": low, "high": high}
    index = pd.Index(responses.items, name="item")
    return pd.DataFrame(columns, index=index).assign(n_responses=n)


def expected_error(items: ItemParameters, *, latent_sd: float = 1.0) -> NDArray[np.float64]:
    """Mean of 1 − P(right | θ) over abilities θ ~ N(0, latent_sd²).

    By the trapezoid rule, exact to 1e-8 for slopes up to 50 per SD of ability and to 0.001 up to
    300.

    Parameters
    ----------
    items
        Item parameters; discrimination may have either sign.
    latent_sd
        Standard deviation s of ability: 1, except for a Rasch model.

    Returns
    -------
    numpy.ndarray
        Shape (n_items,), from 0 to 1; at most 1 − c for an item with guessing c.

    Raises
    ------
    ValueError
        If `latent_sd` is not a positive number.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.difficulty import expected_error
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 3.0, -1.0], [0.0, 1.0, 1.0])
    >>> expected_error(items).round(3)
    array([0.5  , 0.806, 0.303])
    """
    check_number("latent_sd", latent_sd, above=0)
    return items.expected_error(latent_sd)


def respondents_per_trial(patterns: Patterns) -> float:
    """Independent responses to an item that a trial is worth."""
    error = patterns.counts.average_error
    varied = (error > 0) & (error < 1)
    if not (patterns.repeated and varied.any()):
        return 1.0
    share = np.where(varied, 1 - error, 0.0)
    return independent_share(patterns, patterns.weight * patterns.real, share, varied)


def _counts(responses: ResponseMatrix, *, synthetic: bool) -> Counts:
    return patterns_of(responses, synthetic_is_real=synthetic).counts
