"""Average error (AvE): how often respondents got an item wrong.

It depends on who answered and cannot tell a hard item from a wrong label. The expected error of a
fit (column ``expected_error``) averages the probability of an error over its population.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.checks import check_yes_or_no
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import independent_share
from irtkit.io.reading import as_responses

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.data.patterns import Patterns


def average_error(responses: object, *, synthetic: bool = False) -> pd.Series[float]:
    """Proportion of wrong responses of real respondents, by item.

    Parameters
    ----------
    responses
        A response matrix, or what :func:`irtkit.read_responses` takes. Missing cells do not count,
        every trial of a repeated response does.
    synthetic
        Whether to count synthetic respondents as well.

    Returns
    -------
    Series
        Called ``average_error``, index ``item``; from 0 (all right) to 1 (all wrong), NaN for an
        item that nobody answered.

    Raises
    ------
    TypeError
        If ``responses`` cannot be read.

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
    share = patterns_of(responses, synthetic_is_real=synthetic).counts.average_error
    return pd.Series(share, index=pd.Index(responses.items, name="item"), name="average_error")


def respondents_per_trial(patterns: Patterns) -> float:
    """Independent responses to an item that a trial is worth."""
    error = patterns.counts.average_error
    varied = (error > 0) & (error < 1)
    if not (patterns.repeated and varied.any()):
        return 1.0
    share = np.where(varied, 1 - error, 0.0)
    return independent_share(patterns, patterns.weight * patterns.real, share, varied)
