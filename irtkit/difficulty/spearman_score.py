"""Score a predictor by Spearman's ρ between predictions and labels, as GUANinE does.

After https://github.com/ni-lab/guanine (docs/scoring.rst). A missing prediction is set to the mean
of the others (the page's own line discards the filled values). Tied predictions share the average
of their ranks.

Small noise that breaks ties shows whether they carry the score. It is not neutral: |ρ| falls by the
factor SD(average ranks) / SD(untied ranks), √(3 p (1 − p)) for a yes–no predictor that says yes to
the proportion p. So both numbers are given, and a report must say which it uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_seed, check_times, check_unique, short
from irtkit.difficulty.quality import floats
from irtkit.difficulty.rank_agreement import levels, n_tied, spearman
from irtkit.printed import p_words

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.irf import Array

_LARGEST = 1e100  # Size of numbers whose variance does not overflow.
_MOST_PERMUTED = 7  # Items up to which the p-value goes through all orders: 7! = 5,040.
_STREAM = 4  # Makes the noise differ from labels that were simulated from the same seed.


@dataclass(frozen=True, eq=False)
class SpearmanScore:
    """Agreement of predictions with labels in order, made by `spearman_score`."""

    rho: float
    """Spearman's ρ; NaN, as the numbers below, if predictions or labels are constant."""
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
        if np.isnan(self.rho):
            return f"No Spearman's ρ of {of}: predictions or labels are all the same."
        low, high = self.jitter_range
        text = (
            f"Spearman's ρ {self.rho:.4f} ({p_words(self.p_value)}) of {of}\n"
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
        Shape (n,), NaN or None if missing. Only their order counts.
    labels
        Shape (n,), none missing. Two pandas Series are matched by the labels of their indexes, as
        text. Anything else is matched by position.
    jitter_runs
        Runs with noise, 2 to 100,000.
    jitter
        Standard deviation of the normal noise, in standard deviations of the (filled) predictions.
    seed
        Seed of the noise.

    Raises
    ------
    ValueError
        If a label is missing, every prediction is, a value is not a number of size up to 1e100,
        lengths or indexes differ, an index holds a label twice, or a setting is out of range.

    Examples
    --------
    >>> from irtkit.difficulty import spearman_score
    >>> score = spearman_score([0.1, 0.4, None, 0.9, 0.8], [1, 2, 3, 4, 5])
    >>> round(score.rho, 3), score.n_filled
    (0.9, 1)
    >>> print(spearman_score([7, 7, 7], [1, 2, 3]))
    No Spearman's ρ of 3 predictions: predictions or labels are all the same.
    """
    from scipy.stats import rankdata

    check_times("jitter_runs", jitter_runs, 2)
    check_number("jitter", jitter, above=0)
    check_seed(seed)
    x, y = _vectors(predictions, labels)
    missing = np.isnan(x)
    known = x[~missing]  # The mean is clipped, so that rounding sets no equal numbers apart.
    x[missing] = np.clip(known.mean(), known.min(), known.max())
    rho = p_value = np.nan
    jittered = np.full(jitter_runs, np.nan)
    if np.ptp(x) > 0 and np.ptp(y) > 0:
        rho, p_value = _correlation(x, y)
        generator, sd = np.random.default_rng((_STREAM, seed)), jitter * x.std()
        noise = (sd * generator.standard_normal(len(x)) for _ in range(jitter_runs))
        ordered = levels(rankdata(y))
        jittered = np.array([spearman(levels(rankdata(x + one)), ordered) for one in noise])
    return SpearmanScore(
        rho=rho,
        p_value=p_value,
        jittered=jittered,
        n=len(x),
        n_filled=int(missing.sum()),
        n_tied=n_tied(levels(rankdata(x))),
        jitter=float(jitter),
        seed=int(seed),
    )


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


def _vectors(predictions: Any, labels: Any) -> tuple[Array, Array]:
    """Both as checked arrays in the same order."""
    import pandas as pd

    given, right = (
        values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
        for values in (predictions, labels)
    )
    if given is predictions and right is labels:
        given, right = (series.set_axis(series.index.map(str)) for series in (given, right))
        check_unique("predictions must have each label once", given.index)
        check_unique("labels must have each label once", right.index)
        if others := [*given.index.symmetric_difference(right.index)]:
            raise ValueError(f"predictions and labels must have the same index: {short(others[0])}")
        given = given.loc[right.index]
    x, y = _numbers(given, "predictions"), _numbers(right, "labels")
    if len(x) != len(y):
        raise ValueError(f"there must be a prediction per label, got {len(x)} and {len(y)}")
    if np.isnan(y).any():
        raise ValueError(f"labels must have no missing value: {_name(right, np.isnan(y))} is")
    if np.isnan(x).all():
        raise ValueError("predictions holds no value: all are missing")
    return x.copy(), y


def _numbers(values: pd.Series[Any], argument: str) -> Array:
    """Values as floats, NaN if missing."""
    found, wrong = floats(values)
    wrong |= np.abs(found) > _LARGEST
    if wrong.any():
        value = short(values.astype(object).iloc[int(wrong.argmax())])
        raise ValueError(
            f"{argument} must be numbers of size up to {_LARGEST:g}, got {value} for "
            f"{_name(values, wrong)}"
        )
    return found


def _name(values: pd.Series[Any], marked: NDArray[np.bool_]) -> str:
    """Index label of the first value that is marked."""
    return repr(str(values.index[int(marked.argmax())]))
