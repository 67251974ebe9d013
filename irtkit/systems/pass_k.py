"""How often k trials of an item are all right, or not all wrong.

With c of n trials right, C(c, k)/C(n, k) is an unbiased estimate of p^k: *pass^k* (Yao et al.
2024). *pass@k* is 1 − C(n − c, k)/C(n, k) (Chen et al. 2021). Both are means over the items with k
trials or more. One other answer changes either by k/n of an item at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.capabilities import require
from irtkit.checks import check_whole, short
from irtkit.data.patterns import patterns_of
from irtkit.fitting import responses_for
from irtkit.systems.paired import mean_of
from irtkit.systems.scores import Shares

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array

_MOST = 16  # Numbers of trials that are listed where none is named.


def pass_k(responses: object, k: int | None = None, **reading: Any) -> pd.DataFrame:
    """Probability that k trials of an item are all right (pass^k), or one of them is (pass@k).

    Parameters
    ----------
    responses : ResponseMatrix, path or other responses
        Repeated trials: a ResponseMatrix or anything that :func:`irtkit.read_responses` takes, with
        its settings as ``reading``, such as ``repeats="count"``.
    k : int, optional
        Number of trials. By default every number up to 16 that half of the answered cells have.

    Returns
    -------
    pandas.DataFrame
        Index "respondent", for respondents with a response. For each k: pass^k and pass@k, means
        over the items with k trials or more (NaN without items). Their standard errors (_se) treat
        items as a random sample. pass^k_items is the number of items.

    Raises
    ------
    ValueError
        If no cell has k trials.

    References
    ----------
    Yao, Shinn, Razavi & Narasimhan (2024), arXiv 2406.12045.
    Chen et al. (2021), *Evaluating large language models trained on code*, arXiv 2107.03374.

    Examples
    --------
    >>> import irtkit
    >>> trials = irtkit.ResponseMatrix.from_counts([[4, 2, 0]], [[4, 4, 4]], ["agent"])
    >>> irtkit.pass_k(trials, 2)[["pass^2", "pass@2"]].round(3)
                pass^2  pass@2
    respondent
    agent        0.389   0.611
    """
    import pandas as pd

    matrix = responses_for(responses, **reading)
    require("pass_k", matrix)
    shares = Shares.of(patterns_of(matrix, synthetic_is_real=True))
    trials = shares.trials
    answered = trials > 0
    usual = int(np.quantile(trials[answered], 0.5, method="lower"))
    if k is not None:
        check_whole("k", k, 1)
        if k > (most := int(trials.max())):
            raise ValueError(f"k must be at most {most}, the most trials of a cell, got {short(k)}")
    right = np.rint(shares.right * trials)
    columns: dict[str, Any] = {}
    for number in range(1, min(usual, _MOST) + 1) if k is None else [k]:
        enough = trials >= number
        rates = {
            f"pass^{number}": _choices(right, trials, number),
            f"pass@{number}": 1 - _choices(trials - right, trials, number),
        }
        for name, rate in rates.items():
            rows = zip(rate, enough, number * shares.steps, strict=True)
            means = [mean_of(row[items], step) for row, items, step in rows]
            columns[name] = [mean.value for mean in means]
            columns[f"{name}_se"] = [mean.se for mean in means]
        columns[f"pass^{number}_items"] = enough.sum(axis=1)
    table = pd.DataFrame(columns, index=pd.Index(matrix.respondents, name="respondent"))
    return table.iloc[np.flatnonzero(answered.any(axis=1))]


def _choices(chosen: Array, trials: Array, k: int) -> Array:
    """C(chosen, k)/C(trials, k), the product of (chosen − i)/(trials − i) over i < k."""
    share = np.ones_like(chosen)
    for i in range(k):
        share *= np.maximum(chosen - i, 0) / np.maximum(trials - i, 1)
    return share
