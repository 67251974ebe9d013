"""How often k trials of an item are all right, or not all wrong.

With c of n trials right, the share of all choices of k trials that hold right ones alone is
C(c, k)/C(n, k), an unbiased estimate of p^k: *pass^k* (Yao et al. 2024, τ-bench, arXiv 2406.12045).
The share of those that hold a right one is 1 − C(n − c, k)/C(n, k): *pass@k* (Chen et al. 2021,
arXiv 2107.03374). Both are averaged over items. One answer otherwise changes either by k/n of an
item at most, which is how far the errors of a mean over items without any spread are told from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import as_number, check_whole, short
from irtkit.io.reading import as_responses
from irtkit.patterns import patterns_of
from irtkit.systems.paired import mean_of
from irtkit.systems.standing import Shares

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array

_MOST = 16
"""Numbers of trials that are listed where none is named."""


def pass_k(responses: object, k: int | None = None, **reading: Any) -> pd.DataFrame:
    """Probability that k trials of an item are all right (pass^k), or one of them is (pass@k).

    Parameters
    ----------
    responses
        Repeated trials: a ResponseMatrix or anything that :func:`irtkit.read_responses` takes, of
        which ``reading`` are the settings, such as ``repeats="count"``.
    k
        Number of trials; by default every number that all answered cells have, up to 16.

    Returns
    -------
    pandas.DataFrame
        Index "respondent", those without a response left out. Columns "pass^1", "pass@1", … with
        their standard errors in "pass^1_se" and so on, clustered by item, as if items like these
        were drawn anew; means over the items that each answered.

    Raises
    ------
    ValueError
        If a cell has fewer trials than k.

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

    matrix = as_responses(responses, **reading)
    shares = Shares.of(patterns_of(matrix, synthetic_is_real=True))
    trials, seen = shares.trials, shares.trials > 0
    least = int(trials[seen].min())
    if k is not None:
        check_whole("k", k, 1)
        if k > least:
            row, column = (int(place[0]) for place in np.nonzero(seen & (trials < as_number(k))))
            raise ValueError(
                f"k must be at most the number of trials of every cell; respondent "
                f"{short(matrix.respondents[row])}, item {short(matrix.items[column])} has "
                f"{int(trials[row, column])}, and k is {short(k)}"
            )
    right = np.rint(shares.right * trials)
    columns: dict[str, Any] = {}
    for number in range(1, min(least, _MOST) + 1) if k is None else [k]:
        all_right = _choices(right, trials, number)
        some_right = 1 - _choices(trials - right, trials, number)
        steps = number * shares.steps
        for name, values in ((f"pass^{number}", all_right), (f"pass@{number}", some_right)):
            means = [
                mean_of(row[own], step=step)
                for row, own, step in zip(values, seen, steps, strict=True)
            ]
            columns[name] = [mean.value for mean in means]
            columns[f"{name}_se"] = [mean.se for mean in means]
    table = pd.DataFrame(columns, index=pd.Index(matrix.respondents, name="respondent"))
    return table.iloc[np.flatnonzero(seen.any(axis=1))]


def _choices(chosen: Array, trials: Array, k: int) -> Array:
    """C(chosen, k)/C(trials, k), the product of (chosen − i)/(trials − i) over i < k."""
    share = np.ones_like(chosen)
    for i in range(k):
        share *= np.maximum(chosen - i, 0) / np.maximum(trials - i, 1)
    return share
