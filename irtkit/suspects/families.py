"""Respondents that answer alike: checkpoints and fine-tunes of one family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irtkit.checks import check_number
from irtkit.data.families import USUAL_EXCESS, alike_pairs
from irtkit.fitting import result_for
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.calibration.result import FitResult


@one_thread()
def similar_respondents(result: FitResult, *, excess: float = USUAL_EXCESS) -> pd.DataFrame:
    """List the pairs of respondents that agree far beyond what the model expects.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    excess
        Least value of (observed − expected) / (1 − expected) agreement, which is 1 for identical
        answers.

    Returns
    -------
    pandas.DataFrame
        One row per pair, most alike first: respondent, other, agreement (share of the items both
        answered on which both are right or both wrong), expected (the same under the model),
        excess, n_items. ``families="similar"`` of :func:`irtkit.flag_items` joins these pairs.

    Raises
    ------
    TypeError, ValueError
        If the responses are sparse or not saved, or ``excess`` lies outside 0 to 1.

    Notes
    -----
    Pairs must also agree more than chance explains: one false pair is expected in a hundred tables
    if the model is true. Identical respondents with at least five right and five wrong responses
    are always listed. Repeated trials enter by their mean.

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> result = irtkit.fit(crowd.responses, "2PL")
    >>> pairs = irtkit.similar_respondents(result, excess=0.7)
    >>> pairs[["respondent", "other"]].values.tolist()
    [['centroid-n50', 'bayes-multinomial-n50'], ['gp-rbf-n50', 'centroid-n50']]
    """
    result = result_for("similar_respondents", result)
    check_number("excess", excess, least=0, most=1)
    return alike_pairs(result, excess)
