"""Score a predictor by Spearman's ρ between predictions and labels, as GUANinE does.

After https://github.com/ni-lab/guanine (docs/scoring.rst). Only the order of the predictions
counts. A missing prediction is set to the mean of the others (the page's own line throws the
filled values away). Tied predictions share the average of their ranks.

Whether ties carry the score is seen by adding small noise that breaks them. This is not neutral:
breaking ties at random keeps the covariance of the ranks but restores the full spread of theirs,
so that |ρ| falls by the factor SD(average ranks) / SD(untied ranks), √(3 p (1 − p)) for a yes–no
predictor that says yes to the share p. So both numbers are given, and a report must say which it
uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_seed, check_times, check_unique, short
from irtkit.difficulty.rank_agreement import n_tied, spearman
from irtkit.metrics.tables import floats
from irtkit.printed import p_words

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.irf import Array

_LARGEST = 1e100  # beyond it a variance would overflow
_MOST_PERMUTED = 7
"""Items up to which all orders are gone through: 7! = 5,040."""
_STREAM = 4
"""Noise from default_rng(0) itself could be the very draws of somebody's simulated labels."""


@dataclass(frozen=True, eq=False)
class SpearmanScore:
    """Agreement of predictions with labels in order, made by `spearman_score`."""

    rho: float
    """Spearman's ρ with average ranks for ties; NaN where predictions or labels are constant, as
    are the numbers below."""
    p_value: float
    """Two-sided, of no association: over all permutations up to 7 predictions, and by Student's t
    beyond, which is rough below some 50."""
    jittered: Array
    """ρ of each run with jittered predictions, shape (jitter_runs,)."""
    n: int
    n_filled: int
    """Missing predictions that were set to the mean of the others."""
    n_tied: int
    """Predictions that share their value with another, filled ones included."""
    undefined: str
    """Why there is no ρ, in a sentence; empty where there is one."""
    jitter: float
    seed: int

    @property
    def jitter_mean(self) -> float:
        """Mean of `jittered`."""
        return float(self.jittered.mean())

    @property
    def jitter_sd(self) -> float:
        """Sample standard deviation of `jittered` (runs − 1)."""
        return float(self.jittered.std(ddof=1))

    @property
    def jitter_range(self) -> tuple[float, float]:
        """Lowest and highest of `jittered`."""
        return float(self.jittered.min()), float(self.jittered.max())

    def __str__(self) -> str:
        filled = f", {self.n_filled} of them filled with the mean" if self.n_filled else ""
        of = f"{self.n} predictions{filled}"
        if self.undefined:
            return f"No Spearman's ρ of {of}: {self.undefined}"
        p = p_words(self.p_value)
        low, high = self.jitter_range
        text = (
            f"Spearman's ρ {self.rho:.4f} ({p}) of {of}\n"
            f"With jitter of {self.jitter:g} SD: mean {self.jitter_mean:.4f}, "
            f"SD {self.jitter_sd:.4f}, from {low:.4f} to {high:.4f} in {len(self.jittered)} runs"
        )
        if not self.n_tied:
            return text
        return (
            f"{text}\n{self.n_tied} predictions are tied: ρ gives them the average of their ranks, "
            "jitter an order at random, which lowers |ρ|. Say which of the two you report."
        )


def spearman_score(
    predictions: ArrayLike | pd.Series[float],
    labels: ArrayLike | pd.Series[float],
    *,
    jitter_runs: int = 50,
    jitter: float = 0.01,
    seed: int = 0,
) -> SpearmanScore:
    """Spearman's ρ of predictions and labels, and how far it depends on ties.

    Parameters
    ----------
    predictions
        Shape (n,), NaN or None where missing. Only their order counts.
    labels
        Shape (n,), none missing. Two pandas Series are matched by the labels of their indexes, as
        text; anything else by position.
    jitter_runs
        Runs with noise, 2 to 100,000.
    jitter
        Standard deviation of the normal noise, in standard deviations of the (filled) predictions.
        Small, so that it does little but break ties.
    seed
        The same number gives the same noise.

    Returns
    -------
    SpearmanScore
        Printing it shows ρ, its p-value and the runs. Constant predictions or labels have no ρ.

    Raises
    ------
    ValueError
        If a label is missing, every prediction is, a value is no number of size up to 1e100,
        lengths or indexes differ, an index holds a label twice, or a setting is out of range.

    Examples
    --------
    >>> from irtkit.difficulty import spearman_score
    >>> score = spearman_score([0.1, 0.4, None, 0.9, 0.8], [1, 2, 3, 4, 5])
    >>> round(score.rho, 3), score.n_filled
    (0.9, 1)
    >>> print(spearman_score([7, 7, 7], [1, 2, 3]))
    No Spearman's ρ of 3 predictions: all predictions are the same, so they order nothing.
    """
    check_times("jitter_runs", jitter_runs, 2)
    check_number("jitter", jitter, above=0)
    check_seed(seed)
    x, y = _vectors(predictions, labels)
    missing = np.isnan(x)
    x = fill_with_mean(x)
    undefined = _undefined(x, y)
    rho, p_value = (np.nan, np.nan) if undefined else _correlation(x, y)
    return SpearmanScore(
        rho=rho,
        p_value=p_value,
        jittered=jittered_correlations(x, y, runs=jitter_runs, jitter=jitter, seed=seed),
        n=len(x),
        n_filled=int(missing.sum()),
        n_tied=n_tied(_levels(x)),
        undefined=undefined,
        jitter=float(jitter),
        seed=int(seed),
    )


def fill_with_mean(values: Array) -> Array:
    """Return the values with NaN replaced by the mean of the others; not all may be NaN."""
    known = values[~np.isnan(values)]
    mean = np.clip(known.mean(), known.min(), known.max())  # rounding sets no equal numbers apart
    return np.where(np.isnan(values), mean, values)


def jittered_correlations(
    predictions: Array, labels: Array, *, runs: int, jitter: float, seed: int
) -> Array:
    """ρ of predictions + jitter · SD(predictions) · N(0, 1) and labels, shape (runs,)."""
    if not (predictions != predictions[:1]).any():
        return np.full(runs, np.nan)
    generator = np.random.default_rng((_STREAM, seed))
    ordered, sd = _levels(labels), jitter * predictions.std()
    noise = (sd * generator.standard_normal(len(predictions)) for _ in range(runs))
    return np.array([spearman(_levels(predictions + each), ordered) for each in noise])


def _levels(values: Array) -> NDArray[np.intp]:
    """Levels of numbers that are tied only if they are equal: predictions are what they are."""
    return np.unique(values, return_inverse=True)[1]


def _correlation(predictions: Array, labels: Array) -> tuple[float, float]:
    """Spearman's ρ and its p-value."""
    from scipy import stats

    found = stats.spearmanr(predictions, labels)
    if len(labels) > _MOST_PERMUTED:
        return float(found.statistic), float(found.pvalue)
    x, y = (values - values.mean() for values in map(stats.rankdata, (predictions, labels)))
    orders = np.array(list(permutations(range(len(x)))))
    as_far = np.abs(x[orders] @ y) >= np.abs(x @ y) - 1e-9
    return float(found.statistic), float(as_far.mean())


def _undefined(predictions: Array, labels: Array) -> str:
    """Why ρ has no value; empty where it has one."""
    if len(labels) == 1:
        return "a single prediction has no order."
    if np.ptp(predictions) == 0:
        return "all predictions are the same, so they order nothing."
    if np.ptp(labels) == 0:
        return "all labels are the same, so there is no order to predict."
    return ""


def _vectors(
    predictions: ArrayLike | pd.Series[float], labels: ArrayLike | pd.Series[float]
) -> tuple[Array, Array]:
    """Both as checked arrays in the same order."""
    import pandas as pd

    given, right = (
        values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
        for values in (predictions, labels)
    )
    if given is predictions and right is labels:
        given = _matched(given, right)
    x, y = _numbers(given, "predictions"), _numbers(right, "labels")
    if len(x) != len(y):
        raise ValueError(f"there must be a prediction per label, got {len(x)} and {len(y)}")
    if np.isnan(y).any():
        raise ValueError(f"labels must have no missing value: {_name(right, np.isnan(y))} is")
    if np.isnan(x).all():
        raise ValueError("predictions holds no value: all are missing")
    return x, y


def _matched(predictions: pd.Series[Any], labels: pd.Series[Any]) -> pd.Series[Any]:
    """Predictions in the order of the labels, matched by their indexes as text."""
    own, wanted = (series.set_axis(series.index.map(str)) for series in (predictions, labels))
    both = {"predictions": own.index, "labels": wanted.index}
    for argument, index in both.items():
        check_unique(f"{argument} must have each label once", index)
    for has, lacks in (("predictions", "labels"), ("labels", "predictions")):
        for name in both[has].difference(both[lacks], sort=False)[:1]:
            raise ValueError(f"{has} has a value for {short(name)}, {lacks} has none")
    return own.loc[wanted.index]


def _numbers(values: pd.Series[Any], argument: str) -> Array:
    """Values as floats, NaN where missing."""
    numbers, wrong = floats(values)
    wrong |= np.abs(numbers) > _LARGEST
    if wrong.any():
        raise ValueError(
            f"{argument} must be numbers of size up to {_LARGEST:g}, "
            f"got {short(values.astype(object).iloc[int(wrong.argmax())])} for "
            f"{_name(values, wrong)}"
        )
    return numbers


def _name(values: pd.Series[Any], marked: NDArray[np.bool_]) -> str:
    """Index label of the first value that is marked."""
    return repr(str(values.index[int(marked.argmax())]))
