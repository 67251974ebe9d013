"""Ranks that the data allow, from scores and how they err together.

Two systems *differ significantly* if the difference of their scores is larger than chance makes the
largest of all differences (stepwise: Romano & Wolf 2005, *Econometrica* 73, 1237-1282). The rank of
a system then lies between one more than the number of significantly better systems, and the number
of systems that are not significantly worse (Mogstad, Romano, Shaikh & Wilhelm 2024). These
intervals hold all ranks together with the probability ``level`` or more. The largest difference is
drawn from normal scores with the same covariance. For many systems, the bound is Bonferroni's,
which assumes nothing about the dependence of differences.

*Likely ranks* are posterior intervals, one system at a time. The prior of true scores is learned
from all systems of the board: a distribution on a grid, by a few steps of EM from a flat one (Laird
& Louis 1991, *JCGS* 1, 27-38). The score of a system follows Student's t about its true score. True
scores are drawn together, with the mean and SD of each posterior and the correlations of the errors
of the scores, so that copies stay copies. The interval is the shortest that holds the share
``level`` of the drawn ranks (``benchmarks/systems.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.systems.paired import t_quantile
from irtkit.systems.scores import MOST_DRAWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.systems.scores import Scores

    Flags = NDArray[np.bool_]
    Places = NDArray[np.int64]

_AT_ONCE = 2**20  # Numbers in a block. Products of a few rows are several times slower.


@dataclass(frozen=True)
class _Tuned:
    """How ranks are drawn (``benchmarks/systems.py``)."""

    # Draws at least and at most: 95.0 ± 0.5 % of boards hold with 2,000.
    draws: tuple[int, int] = (500, 2000)
    differences_drawn: int = 2**27  # Numbers that are drawn at most.
    # Draws of likely ranks, each taken with either sign. Half for many systems.
    likely_draws: int = 400
    grid: int = 250  # True scores of the prior.
    steps: int = 5  # Of EM. More make the prior rougher (Laird & Louis 1991).
    places: int = 2**12  # Of drawn scores, from the lowest to the highest.
    posterior_draws: int = 1000  # Of abilities, each taken with either sign.


_TUNED = _Tuned()


def simultaneous_ranks(apart: Flags) -> tuple[Places, Places]:
    """Rank intervals of all systems at once, by which pairs differ, with the best system first."""
    return 1 + np.count_nonzero(apart, axis=0), len(apart) - np.count_nonzero(apart, axis=1)


def pairs_apart(scores: Scores, among: Any = None, *, level: float = 0.95, seed: int = 0) -> Flags:
    """Pairs that differ significantly on the whole board, the better one first, or those of some.

    By Bonferroni's bound for many systems, else by draws.
    """
    from scipy.special import ndtr

    n = len(scores.value)
    of_each = (1 - level) / max(n * (n - 1) / 2, 1)
    if n > MOST_DRAWN:
        return _beyond(scores if among is None else scores.chosen(among), of_each)
    apart = _beyond(scores, of_each)
    n_draws = int(np.clip(_TUNED.differences_drawn // n**2, *_TUNED.draws))
    draws = _draws(scores, n_draws, seed).astype(np.float32)
    while True:
        bound = np.quantile(_largest(scores, draws, ~apart), level, method="higher")
        further = _beyond(scores, 2 * ndtr(-float(bound))) & ~apart
        if not further.any():
            return apart if among is None else np.asarray(apart[among][:, among])
        apart |= further


def _beyond(scores: Scores, p_value: float) -> Flags:
    """Pairs whose difference has a smaller p-value by Student's t, the better one first, (n, n).

    The error of a difference is at most the sum of both errors about the mean error of all systems.
    Differences that exceed the bound with this sum are left out.
    """
    n = len(scores.value)
    value = scores.value.astype(np.float32)
    se = np.sqrt(np.maximum(scores.relative_variance, scores.least))
    bounds = t_quantile(scores.df, 1 - p_value).astype(np.float32)
    reach = bounds.max() * se
    lowest = scores.value - reach
    apart = np.zeros((n, n), bool)
    for rows in blocks(n, n, _AT_ONCE):
        end = 1 + int(np.flatnonzero(scores.value + reach >= lowest[rows].min())[-1])
        columns = slice(rows.start, end)
        limit = np.sqrt(scores.difference_variance(rows, columns))
        limit *= np.maximum(bounds[rows, None], bounds[columns])
        apart[rows, columns] = value[rows, None] - value[columns] > limit
        apart[rows, end:] = True
    return apart


def _draws(scores: Scores, n_draws: int, seed: int) -> Array:
    """Normal scores with the covariance, (n, n_draws).

    With up to 600 systems, they do not depend on the order of systems and items, or on rounding.
    """
    root = scores.root
    generator = np.random.default_rng(seed)
    normal = generator.standard_normal((root.shape[1], n_draws), dtype=np.float32)
    if len(root) > MOST_DRAWN:
        return root @ normal
    # Sums of exponentials are equal for equal covariances only.
    exponentials = np.exp(scores.covariance / max(scores.variance.max(), 1e-300))
    keys = [np.round(exponentials.sum(axis=1), 12), np.round(scores.value, 12)]
    order = np.lexsort(keys)  # equal but for rounding
    return np.asarray(root[:, order] @ normal)


def _largest(scores: Scores, draws: NDArray[np.float32], pairs: Flags) -> NDArray[np.float32]:
    """Largest difference of some pairs in standard errors, in every draw."""
    n = len(draws)
    variance = scores.difference_variance(slice(None), slice(None))
    inverse = np.zeros((n, n), np.float32)
    np.divide(1, np.sqrt(variance), out=inverse, where=variance > 0, casting="same_kind")
    largest = np.zeros(draws.shape[1], np.float32)
    for first in range(n - 1):
        others = first + 1 + np.flatnonzero(pairs[first, first + 1 :])
        differences = draws[others] - draws[first]
        differences *= inverse[first, others, None]
        np.abs(differences, out=differences)
        np.maximum(largest, differences.max(axis=0, initial=0), out=largest)
    return largest


def likely_ranks(scores: Scores, *, level: float = 0.95, seed: int = 0) -> tuple[Places, Places]:
    """Likely rank of each system, from and to, by draws of all true scores."""
    n = len(scores.value)
    value = scores.value
    if n == 1 or scores.df.min() < 1:
        return np.ones(n, np.int64), np.full(n, n)
    n_draws = _TUNED.likely_draws if n <= MOST_DRAWN else _TUNED.likely_draws // 2
    normal = _draws(scores, n_draws, seed)
    normal = normal - normal.mean(axis=0)
    # A system that is always right may err as well.
    variance = np.maximum(scores.relative_variance, max(scores.least / 2, 1e-12))
    further = np.sqrt(variance - scores.relative_variance).astype(normal.dtype)
    generator = np.random.default_rng(seed)
    normal += further[:, None] * generator.standard_normal(n_draws, dtype=np.float32)
    se = np.sqrt(variance)

    # Posteriors of true scores on a grid, whose step is an error at least.
    low = (value - 3 * se).min()
    high = (value + 3 * se).max()
    grid, step = np.linspace(low, high, _TUNED.grid, retstep=True)
    df = scores.df[:, None]
    t = (value[:, None] - grid) / np.maximum(se, step)[:, None]
    likelihood = np.exp(-(df + 1) / 2 * np.log(1 + t**2 / df))
    prior = np.full(_TUNED.grid, 1 / _TUNED.grid)
    for _ in range(_TUNED.steps):
        prior *= (1 / (likelihood @ prior)) @ likelihood / n
    posterior = likelihood * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    mean = posterior @ grid
    sd = np.sqrt(posterior @ grid**2 - mean**2)
    deviation = (sd / se).astype(normal.dtype)[:, None] * normal
    return _rank_interval(mean, deviation, scores, level)


def posterior_ranks(
    abilities: Scores, *, level: float = 0.95, seed: int = 0
) -> tuple[Places, Places]:
    """Likely rank of each system, from and to, by draws from the posterior of its ability."""
    n_draws = _TUNED.posterior_draws if len(abilities.value) <= MOST_DRAWN else _TUNED.likely_draws
    drawn = _draws(abilities, n_draws, seed)
    return _rank_interval(abilities.value, drawn, abilities, level)


def _rank_interval(
    mean: Array, deviation: Array, scores: Scores, level: float
) -> tuple[Places, Places]:
    """Shortest interval of ranks over draws of true scores, with the own rank.

    Every deviation from the means, (n, n_draws), is taken with either sign. Ranks of a draw are
    counted on a grid over the range of all draws.
    """
    mean = mean.astype(deviation.dtype)
    true = np.concatenate([mean + deviation.T, mean - deviation.T])
    n_draws, n = true.shape
    true -= true.min()
    places = (true * ((_TUNED.places - 1) / max(true.max(), 1e-300))).astype(np.intp)
    ranks = np.empty(true.shape, np.int32)
    for place, rank in zip(places, ranks, strict=True):
        rank_at = 1 + n - np.bincount(place, minlength=_TUNED.places).cumsum()
        rank[:] = rank_at.astype(np.int32).take(place)
    ranks = np.sort(ranks.T.copy(), axis=1)
    n_held = int(np.ceil(level * n_draws))
    lows = ranks[:, : n_draws - n_held + 1]
    highs = ranks[:, n_held - 1 :]
    shortest = np.arange(n), np.argmin(highs - lows, axis=1)
    return np.minimum(lows[shortest], scores.rank), np.maximum(highs[shortest], scores.rank)


def groups_of(apart: Flags) -> list[str]:
    """Letters of systems in order of rank: systems that share one do not differ significantly.

    A letter stands for a run of systems without a significant difference, as long as possible. A
    system of several runs has the first and the last letter, "b-d".
    """
    n = len(apart)
    first_apart = np.where(apart.any(axis=1), apart.argmax(axis=1), n)
    reached = np.minimum.accumulate(first_apart[::-1])[::-1]  # by a run from each system on
    stops, starts = np.unique(reached, return_index=True)
    first = np.searchsorted(stops, np.arange(n), side="right")
    last = np.searchsorted(starts, np.arange(n), side="right") - 1
    letters = [*map(_letters, range(len(stops)))]
    groups = []
    for k, m in zip(first, last, strict=True):
        groups.append(letters[k] if k == m else f"{letters[k]}-{letters[m]}")
    return groups


def _letters(number: int) -> str:
    """a, b, …, z, aa, ab, …."""
    higher, last = divmod(number, 26)
    return (_letters(higher - 1) if higher else "") + chr(ord("a") + last)
