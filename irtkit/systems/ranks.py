"""Ranks that the data allow, from scores and how they err together.

Two systems *differ significantly* if the difference of their scores is larger than chance makes the
largest of all differences (stepwise: Romano & Wolf 2005, *Econometrica* 73, 1237-1282). The rank of
a system then lies between one more than the number of significantly better systems, and the number
of systems that are not significantly worse (Mogstad, Romano, Shaikh & Wilhelm 2024). These
intervals hold all ranks together with the probability ``level`` or more. The largest difference is
drawn from normal scores with the same covariance. For many systems, the bound is Holm's (1979),
which assumes nothing about the dependence of differences.

*Likely ranks* are posterior intervals, one system at a time. True scores are a mixture of three
normals, fitted by EM with the error variance v of each system. A draw of a true score is
μ_k + B(m − μ_k) + √(Bv) z with B = τ²_k/(τ²_k + v). The errors z are Student's t, correlated like
the errors of the scores. The components k are too, so that copies stay copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.systems.paired import t_quantile
from irtkit.systems.standing import MOST_DRAWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.systems.standing import Standing

    Flags = NDArray[np.bool_]
    Places = NDArray[np.int64]

_DRAWS = (500, 2000)  # Draws at least and at most: 95.0 ± 0.5 % of boards hold with 2,000.
_DIFFERENCES_DRAWN = 2**27  # Numbers that are drawn at most.
_AT_ONCE = 2**20  # Numbers in a block. Products of a few rows are several times slower.
_LIKELY_DRAWS = 400  # Draws of likely ranks, each taken with either sign. Half for many systems.
_POSTERIOR_DRAWS = 1000  # Of abilities, each taken with either sign.
_COMPONENTS, _SYSTEMS_EACH = 3, 6  # Normals of the mixture, and systems that one needs.
_STEPS = 150  # Of EM.
_LEAST_SPREAD = 0.05  # Variance of a component, by the mean variance of errors.
_PSEUDO = 2.0  # Observations of the mean variance of errors that a component begins with.


def simultaneous_ranks(apart: Flags) -> tuple[Places, Places]:
    """Rank intervals of all systems at once, by which pairs differ, with the best system first."""
    later = np.triu(apart)
    return 1 + np.count_nonzero(later, axis=0), len(apart) - np.count_nonzero(later, axis=1)


def pairs_apart(standing: Standing, *, level: float = 0.95, seed: int = 0) -> Flags:
    """Pairs that differ significantly, by Holm's bound for all pairs or the bound by draws."""
    from scipy.special import ndtr

    n = len(standing.scores)
    n_pairs, n_apart, apart = n * (n - 1) // 2, -1, np.zeros((n, n), bool)
    bounds = _bounds(standing, (1 - level) / max(n_pairs, 1))
    parts = [*_t_of_pairs(standing, float(bounds.max()))]
    while n_apart < (found := int(np.count_nonzero(apart))) < n_pairs:
        n_apart = found
        apart = _beyond(parts, _bounds(standing, (1 - level) / (n_pairs - n_apart)))
    if n <= MOST_DRAWN:
        n_draws = int(np.clip(_DIFFERENCES_DRAWN // n**2, *_DRAWS))
        draws = _draws(standing, n_draws, seed).astype(np.float32)
        while len(apart) > 1 and not apart[np.triu_indices(n, 1)].all():
            bound = np.quantile(_largest(standing, draws, ~apart), level, method="higher")
            new = _beyond(parts, _bounds(standing, 2 * ndtr(-float(bound)))) & ~apart
            if not new.any():
                break
            apart |= new
    for rows in blocks(n, n):  # a transposed matrix is slow as a whole
        apart[:, rows] |= apart[rows].T
    return apart


def _t_of_pairs(standing: Standing, most: float) -> Iterator[tuple[slice, slice, Any]]:
    """Differences to later systems in standard errors, by blocks of rows: rows, columns, t.

    t is 0 for earlier systems, infinite without an error, and NaN if difference and error are 0.
    Systems after the columns are left out. Their t exceeds ``most``, since the error of a
    difference is at most the sum of both errors.
    """
    n, scores, se = len(standing.scores), standing.scores, np.sqrt(standing.squares)
    value = scores.astype(np.float32)
    for rows in blocks(n, n, _AT_ONCE):
        reach = most * max(se[rows].max() + se.max(), standing.least**0.5)
        end = int(np.searchsorted(-scores, reach - scores[rows.stop - 1], side="right"))
        columns = slice(rows.start, end if np.isfinite(reach) else n)
        t = value[rows, None] - value[columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            se_of = standing.variances(rows, columns)
            t /= np.sqrt(se_of, out=se_of)
        t[:, : len(t)] = np.triu(t[:, : len(t)], 1)
        yield rows, columns, t


def _bounds(standing: Standing, p_value: float) -> NDArray[np.float32]:
    """Two-sided quantile of Student's t of each system."""
    return np.asarray(t_quantile(standing.df, 1 - p_value), np.float32)


def _beyond(parts: Any, bounds: NDArray[np.float32]) -> Flags:
    """Pairs of parts that are beyond the bound of both, the better one first, (n, n)."""
    apart = np.zeros((len(bounds), len(bounds)), bool)
    for rows, columns, t in parts:
        apart[rows, columns] = t > np.maximum(bounds[rows, None], bounds[columns])
        apart[rows, columns.stop :] = True
    return apart


def _draws(standing: Standing, n_draws: int, seed: int) -> Array:
    """Normal scores with the covariance, (n, n_draws).

    With up to 600 systems, they do not depend on the order of systems and items, or on rounding.
    """
    own, generator = standing.contributions, np.random.default_rng(seed)
    if len(own) > MOST_DRAWN:
        return own @ generator.standard_normal((own.shape[1], n_draws), dtype=np.float32)
    covariance = own @ own.T
    values, vectors = np.linalg.eigh(covariance)
    values = np.where(values > 1e-12 * values[-1], values, 0)
    root = (vectors * np.sqrt(values)) @ vectors.T
    normal = np.empty((len(own), n_draws))
    # Sums of exponentials are equal for equal covariances only.
    exponentials = np.exp(covariance / max(np.diag(covariance).max(), 1e-300))
    keys = exponentials.sum(axis=1), standing.scores
    order = np.lexsort([np.round(key, 12) for key in keys])  # equal but for rounding
    normal[order] = generator.standard_normal(normal.shape, dtype=np.float32)
    return np.asarray(root @ normal)


def _largest(standing: Standing, draws: NDArray[np.float32], pairs: Flags) -> NDArray[np.float32]:
    """Largest difference of some pairs in standard errors, in every draw."""
    n = len(draws)
    variances = standing.variances(slice(None), slice(None))
    inverse = np.zeros((n, n), np.float32)
    np.divide(1, np.sqrt(variances), out=inverse, where=variances > 0, casting="same_kind")
    largest = np.zeros(draws.shape[1], np.float32)
    for one in range(n - 1):
        others = one + 1 + np.flatnonzero(pairs[one, one + 1 :])
        differences = draws[others] - draws[one]
        differences *= inverse[one, others, None]
        np.abs(differences, out=differences)
        np.maximum(largest, differences.max(axis=0, initial=0), out=largest)
    return largest


def likely_ranks(
    standing: Standing, *, level: float = 0.95, seed: int = 0
) -> tuple[Places, Places]:
    """Likely rank of each system, from and to, by draws of all true scores."""
    from scipy.special import ndtr

    n, generator = len(standing.scores), np.random.default_rng(seed)
    if n == 1 or standing.df.min() < 1:
        return np.ones(n, np.int64), np.full(n, n)
    m = standing.scores - standing.scores.mean()
    drawn = _draws(standing, _LIKELY_DRAWS if n <= MOST_DRAWN else _LIKELY_DRAWS // 2, seed)
    drawn = drawn - drawn.mean(axis=0)
    mean = standing.contributions.mean(axis=0)
    own = standing.squares - 2 * standing.contributions @ mean + mean @ mean
    v = np.maximum(own, max(standing.least / 2, 1e-12))  # one that is always right may err as well
    drawn += np.sqrt(v - own)[:, None] * generator.standard_normal(drawn.shape[1])
    z = np.hstack([drawn, -drawn]) / np.sqrt(v)[:, None]
    some = slice(None, None, -(-n // MOST_DRAWN))  # of sorted scores
    share, centre, spread = _mixture(m[some], v[some])
    belonging = np.cumsum(_belonging(m, v, share, centre, spread), axis=1)
    kept = spread / (spread + v[:, None])
    middle, error = centre + kept * (m[:, None] - centre), np.sqrt(kept * v[:, None])
    # Wilson and Hilferty: a cubed normal for the χ² of Student's t.
    part = 2 / (9 * (standing.df[:1] if np.ptp(standing.df) == 0 else standing.df))[:, None]
    chi = 1 - part + np.sqrt(part) * generator.standard_normal(z.shape[1])
    wider = np.broadcast_to(np.maximum(chi, 0.01) ** -1.5, z.shape)
    true = np.empty(z.shape[::-1])
    for some in blocks(n, z.shape[1]):
        uniform, component = ndtr(np.roll(z[some], 1, axis=1)), np.zeros(z[some].shape, np.int8)
        for beyond in belonging[some, :-1].T:
            component += uniform > beyond[:, None]
        rows = np.arange(some.start, some.stop)[:, None]
        drawn_errors = error[rows, component] * z[some] * wider[some]
        true[:, some] = (middle[rows, component] + drawn_errors).T
    np.round(true, 7 if n <= MOST_DRAWN else 5, out=true)
    return _rank_interval(true, standing, level)


def drawn_ranks(standing: Standing, *, level: float = 0.95, seed: int = 0) -> tuple[Places, Places]:
    """Likely rank of each system, from and to, by draws from the posterior of its ability."""
    n_draws = _POSTERIOR_DRAWS if len(standing.scores) <= MOST_DRAWN else _LIKELY_DRAWS
    drawn = _draws(standing, n_draws, seed)
    true = standing.scores[:, None] + np.hstack([drawn, -drawn])
    return _rank_interval(true.T, standing, level)


def _rank_interval(true: Array, standing: Standing, level: float) -> tuple[Places, Places]:
    """Equal-tailed interval of ranks over draws of true scores, (n_draws, n), with the own rank."""
    n = len(standing.scores)
    ranks = np.empty(true.shape, np.int32)
    for row, rank in zip(true, ranks, strict=True):
        order = np.argsort(row)  # Sorted values are found faster than those of a row.
        rank[order] = 1 + n - np.searchsorted(row[order], row[order], side="right")
    ends = ((1 - level) / 2 * (len(ranks) - 1), (1 + level) / 2 * (len(ranks) - 1))
    low, high = int(np.floor(ends[0])), int(np.ceil(ends[1]))
    sorted_ranks = np.partition(ranks.T.copy(), [low, high], axis=1)
    rank = 1 + np.searchsorted(-standing.scores, -standing.scores)
    return np.minimum(sorted_ranks[:, low], rank), np.maximum(sorted_ranks[:, high], rank)


def _belonging(m: Array, v: Array, share: Array, centre: Array, spread: Array) -> Array:
    """Probability that a system is of each component, (n, n_components)."""
    of_all = spread + v[:, None]
    log = np.log(share) - 0.5 * (np.log(of_all) + (m[:, None] - centre) ** 2 / of_all)
    found = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _mixture(m: Array, v: Array) -> tuple[Array, Array, Array]:
    """Shares, means and variances of normals that true scores are a mixture of, by EM."""
    n, noise = len(m), float(v.mean())
    k = min(_COMPONENTS, max(n // _SYSTEMS_EACH, 1))
    share, centre = np.full(k, 1 / k), np.quantile(m, (np.arange(k) + 0.5) / k)
    least = _LEAST_SPREAD * noise
    spread = np.full(k, max(float(m.var()) - noise, least))
    for _ in range(_STEPS):
        r = _belonging(m, v, share, centre, spread)
        kept = spread / (spread + v[:, None])
        mean = centre + kept * (m[:, None] - centre)
        sums = r.sum(axis=0)
        centre = (r * mean).sum(axis=0) / np.maximum(sums, 1e-12)
        squares = (r * ((mean - centre) ** 2 + kept * v[:, None])).sum(axis=0)
        spread = np.maximum((squares + _PSEUDO * noise) / (sums + _PSEUDO), least)
        share = (sums + 0.5) / (n + 0.5 * k)
    order = np.argsort(centre)
    return share[order], centre[order], spread[order]


def groups_of(apart: Flags) -> list[str]:
    """Letters of systems in order of rank: systems that share one do not differ significantly.

    A letter stands for a run of systems without a significant difference, as long as possible. A
    system of several runs has the first and the last letter, "b-d".
    """
    n, end, runs = len(apart), 0, []
    for start in range(n):
        reached = end
        while end < n and not apart[end, start:end].any():
            end += 1
        if end > reached:
            runs.append((start, end))
    starts, stops = np.array(runs).T
    first = np.searchsorted(stops, np.arange(n), side="right")
    last = np.searchsorted(starts, np.arange(n), side="right") - 1
    letters = [*map(_letters, range(len(runs)))]
    ends = zip(first, last, strict=True)
    return [letters[k] if k == m else f"{letters[k]}-{letters[m]}" for k, m in ends]


def _letters(number: int) -> str:
    """a, b, …, z, aa, ab, …."""
    higher, last = divmod(number, 26)
    return (_letters(higher - 1) if higher else "") + chr(ord("a") + last)
