"""Average error (AvE): how often real respondents got an item wrong.

The simplest difficulty there is. It depends on who happened to answer, counts a weak respondent's
error like a strong one's, and cannot tell a hard item from a wrong label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irtkit.calibration.result import Counts

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.responses import ResponseMatrix


def average_error(responses: ResponseMatrix) -> pd.Series[float]:
    """Share of wrong among the observed responses of real respondents, by item.

    AvE = wrong / n, where n counts the observed responses of real respondents; every trial of a
    repeated response counts.

    Parameters
    ----------
    responses
        Synthetic respondents and missing cells are not counted.

    Returns
    -------
    pandas.Series
        Called ``average_error``, index ``item``; from 0 (all right) to 1 (all wrong), NaN for an
        item that no real respondent answered.

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

    share = Counts.of(responses, responses.synthetic).average_error
    return pd.Series(share, index=pd.Index(responses.items, name="item"), name="average_error")
