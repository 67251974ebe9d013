"""Near-duplicate systems: the effective number of respondents, and one of each family.

Residuals of a Rasch model give every pair of respondents a statistic z, standard normal if they are
independent. Pairs of near-duplicates are a second group of larger z: a mixture of two normals, if
its likelihood ratio is large. The probabilities that pairs are alike, times how alike they are,
give Kish's effective sample size. ``benchmarks/near_copies.py`` measures how well they do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.mixtures import known_components, memberships
from irtkit.data.patterns import REAL, drawn

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array


@dataclass(frozen=True)
class _Tuned:
    """Constants chosen together on ``benchmarks/near_copies.py`` and ``model_tests.py``."""

    prior_sd: float = 3.0  # Of logits of the Rasch model, for finite ones.
    pseudo_variance: float = 0.25  # Of a pair, as of four flips.
    nearly_normal: float = 0.8  # Least expected SD of z by which it is divided.
    first_z: float = 3.0  # From which on pairs are alike at first.
    least_mean: float = 2.0  # Of z of pairs that are alike. 3 misses families with 20 items.
    gain: float = 16.3  # Least gain in 2 log L by a second group: χ² with 3 df at 0.001.
    ridge: float = 5.0  # Pairs that shrink λ to 0: two families of two abilities do not show it.
    linked: float = 0.2  # Least P(alike) of two members of a family.
    likeness: float = 0.1  # Least likeness of two members of a family.
    matters: float = 0.9  # Share of n below which the effective number counts.
    most_respondents: int = 384  # Compared; of more a sample.
    most_cells: int = 2**17  # Compared; of more items a sample.
    fewest_items: int = 10  # With fewer, pairs cannot be told apart.
    # Pairs with |z| > 3, and other pairs, that the groups are learned from.
    most_pairs: int = 2**14
    turns: int = 24  # Newton steps of the Rasch model at most.
    settled: float = 0.02  # Change of logits that ends them.
    steps: int = 50  # Of the EM at most.
    least_gain: float = 0.05  # In log-likelihood, by which the EM goes on.


_TUNED = _Tuned()


class NearDuplicates(NamedTuple):
    """How many respondents there are, and as how many independent ones they answer."""

    n: int  # Real respondents with a response.
    n_eff: float  # Kish's effective sample size of them; n if it is 0.9 n or more.
    share: float  # Evidence on slopes, of that of as many independent respondents.
    distinct: Places  # Respondents compared, at most 384, without those alike to an earlier one.

    @property
    def matter(self) -> bool:
        """Whether there are near-duplicates enough to matter."""
        return self.n_eff < self.n

    @property
    def copies(self) -> float:
        """Respondents per independent one, 1 if there are no near-duplicates."""
        return self.n / self.n_eff


class _Pairs(NamedTuple):
    """Pairs of respondents with common items. Each array has one value per pair."""

    first: Places
    second: Places
    weight: Array  # How many pairs each stands for.
    z: Array
    error: Array  # Standard error of the sum of products of residuals.
    common: Array  # The sum of products if both were copies, over the common items.
    whole: Array  # The same over all items of each.
    pull: Array  # Product of standardised abilities.
    steeper: Array  # Pull times √(Σ v v′ / error), scaled: z rises with it if slopes differ.


def near_duplicates(patterns: Patterns) -> NearDuplicates:
    """Estimate the effective number of real respondents.

    n_eff = n / (1 + (n − 1) · mean of P(alike) · likeness over the pairs).
    """
    n = patterns.n_answering
    who = drawn(np.flatnonzero(patterns.answering), _TUNED.most_respondents)
    independent = NearDuplicates(n, float(n), 1.0, who)
    pairs = pairs_of(patterns, who)
    groups = None if pairs is None else _alike(pairs)
    if pairs is None or groups is None:
        return independent
    p_alike, covariance = groups
    alike = pairs.weight * p_alike
    as_copies = alike @ pairs.common
    shared = alike @ covariance
    if shared > as_copies:  # nobody is more alike than copies are, on average
        covariance *= as_copies / shared

    # Kish's design effects less 1: of a mean, and of slopes on ability.
    others = 2 * (n - 1) / (len(who) * (len(who) - 1))  # of one respondent, by pair compared
    excess = others * alike * covariance
    weights = np.stack([1 / pairs.common, 1 / pairs.whole, pairs.pull / pairs.whole])
    of_mean, of_intercepts, of_slopes = np.maximum(weights @ excess, 0.0).tolist()
    if of_mean < 1 / _TUNED.matters - 1:
        return independent
    likeness = covariance / pairs.common
    linked = (p_alike > _TUNED.linked) & (likeness > _TUNED.likeness)
    links = np.zeros((len(who), len(who)), np.bool_)
    links[pairs.second[linked], pairs.first[linked]] = True
    distinct: list[int] = []
    for k in range(len(who)):
        if not links[k, distinct].any():
            distinct.append(k)
    share = 1 / (1 + max(of_intercepts, of_slopes))
    return NearDuplicates(n, n / (1 + of_mean), share, who[distinct])


def pairs_of(patterns: Patterns, who: Places) -> _Pairs | None:
    """Statistics of the pairs, or None if no two respondents can be compared.

    z = Σ r r′ / √(½ Σ v v′ + ½ Σ r² r′² + ¼). The expected variance alone gives z a long right
    tail, from rare answers that two respondents share. The observed variance alone gives it a long
    left tail. The ¼ makes z narrow. From about 20 items on z is divided by its expected SD. An
    ability fitted to J answers takes 1/J of what copies have in common.
    """
    items = spread_items(patterns, _TUNED.most_cells // max(len(who), 1))
    if len(who) < 2 or len(items) < _TUNED.fewest_items:
        return None
    residual, variance, ability = _rasch(*patterns.shares(who, items, np.float32))
    root = np.sqrt(variance)
    common = _products(root)
    common *= np.float32(1 - 1 / len(items))
    expected = _products(variance)
    squares = np.square(residual)
    error = _products(squares)
    error += expected
    error = np.sqrt(error / 2 + np.float32(_TUNED.pseudo_variance))
    statistic = _products(residual) / error
    compared = np.flatnonzero(np.triu(common > 0, 1))
    if not len(compared):
        return None
    z_compared = statistic.ravel()[compared]
    z_compared -= np.partition(z_compared, len(compared) // 2)[len(compared) // 2]
    sample, weight = _sampled(np.abs(z_compared) > _TUNED.first_z)
    chosen = compared[sample]

    first, second = np.divmod(chosen, len(who))
    z = z_compared[sample].astype(np.float64)
    common, expected, error = (
        table.ravel()[chosen].astype(np.float64) for table in (common, expected, error)
    )
    size = np.sqrt(expected / error)
    whole = np.sqrt(variance.sum(axis=1, dtype=np.float64))
    pull = ability[first] * ability[second]
    steeper = pull * size / (weight @ size / weight.sum())
    spread = np.sqrt(weight @ (size**2 * error) / (weight @ error**2))
    if spread > _TUNED.nearly_normal:
        z /= spread
        error *= spread
    return _Pairs(
        first, second, weight, z, error, common, whole[first] * whole[second], pull, steeper
    )


def _products(rows: Any) -> Any:
    """Products of all pairs of rows. Of an array with itself BLAS takes longer, for few columns."""
    return rows @ rows.T.copy()


def _sampled(far: NDArray[np.bool_]) -> tuple[Places, Array]:
    """Places of pairs, at most 16,384 beyond the limit and as many others, and their weights."""
    generator = np.random.default_rng(0)
    places = []
    weights = []
    for side in (np.flatnonzero(far), np.flatnonzero(~far)):
        sample = side
        if len(side) > _TUNED.most_pairs:
            sample = side[generator.integers(len(side), size=_TUNED.most_pairs)]
        places.append(sample)
        weights.append(np.full(len(sample), len(side) / max(len(sample), 1)))
    return np.concatenate(places), np.concatenate(weights)


def spread_items(patterns: Patterns, most: int, rare: float = 0.0) -> Places:
    """Items with shares right and wrong above ``rare``, at most so many.

    They are evenly spaced in easiness, or the most answered if the responses are sparse.
    """
    right = patterns.margins.item_right[REAL]
    responses = patterns.margins.item_responses[REAL]
    share = right / np.maximum(responses, 1)
    varied = np.flatnonzero((share > rare) & (share < 1 - rare))
    every = 1 if patterns.sparse else max(-(-len(varied) // most), 1)
    order = np.argsort((-responses if patterns.sparse else share)[varied], kind="stable")
    return varied[order][every // 2 :: every][:most]


def _rasch(share: Any, tried: Any) -> tuple[Any, Any, Array]:
    """Residuals and variances of a Rasch model at its posterior mode, and standardised abilities.

    Repeated trials enter by their mean, as one response. Newton steps move easiness and ability in
    turn.
    """
    answered = (tried > 0).astype(np.float32)
    right = share.sum(axis=0), share.sum(axis=1)
    wrong = answered.sum(axis=0) - right[0], answered.sum(axis=1) - right[1]
    easiness, ability = (np.log((r + 0.5) / (w + 0.5)) for r, w in zip(right, wrong, strict=True))
    ability -= ability.mean()
    precision = np.float32(1 / _TUNED.prior_sd**2)
    settled = [False, False]
    for turn in range(_TUNED.turns + 1):
        p = np.exp(-easiness - ability[:, None])
        p += 1
        np.divide(answered, p, out=p)
        if turn == _TUNED.turns or all(settled):
            break
        axis = turn % 2
        mode = (easiness, ability)[axis]
        expected = p.sum(axis=axis)
        score = right[axis] - expected - precision * mode
        step = score / (expected - np.square(p).sum(axis=axis) + precision)
        mode += np.clip(step, -1, 1)
        settled[axis] = bool(np.abs(step).max() < _TUNED.settled)
    standard = (ability - ability.mean()).astype(np.float64)
    return share - p, p - p**2, standard / max(float(standard.std()), 1e-9)


@np.errstate(under="ignore")
def _alike(pairs: _Pairs) -> tuple[Array, Array] | None:
    """Probability that each pair is alike, or as unlike, and its excess covariance.

    z ~ N(d + λx, s₀²) for most pairs and N(d + λx + m, s₁²) for pairs that are alike. x is the
    product of abilities, whose weight λ ≥ 0 is positive if slopes differ. s₀ is learned below the
    mean. None unless two groups are likelier by far than one with the same λ. A further ability
    makes as many pairs unlike, N(d + λx − m, s₁²): their share is learned last.

    All but s₀ follows from sums of products of 1, x and z, in 64 bits. Densities are in 32 bits.
    """
    weight = pairs.weight
    of_a_pair = weight.max()
    terms = np.stack([np.ones_like(pairs.z), pairs.steeper, pairs.z])
    of_all = (weight * terms) @ terms.T
    n = of_all[0, 0]
    p = (pairs.z > _TUNED.first_z).astype(np.float64)
    reached = -np.inf
    for step in range(1, _TUNED.steps + 1):
        alike = weight * p
        rest = weight - alike
        of_alike = (alike * terms) @ terms.T
        of_rest = of_all - of_alike
        n_alike = of_alike[0, 0]
        n_rest = of_rest[0, 0]
        if min(n_alike, n_rest) < 1:  # less than one pair
            return None
        spread = n_rest * of_rest - np.outer(of_rest[0], of_rest[0])
        slope = max(spread[1, 2] / (spread[1, 1] + _TUNED.ridge * n_rest), 0.0)
        contrast = np.array([0.0, -slope, 1.0])
        contrast[0] = -(of_rest[0] @ contrast) / n_rest
        deviation = contrast @ terms
        mean = max(float(of_alike[0] @ contrast / n_alike), _TUNED.least_mean)
        off = contrast - [mean, 0.0, 0.0]
        sd = _sd(off @ of_alike @ off / n_alike)
        beyond = deviation.astype(np.float32)
        below = np.minimum(beyond, 0)
        usual_sd = _sd(rest @ below**2 / max(rest @ (below < 0), 1e-9))
        share = n_alike / n
        log_usual = _log_normal(beyond, usual_sd) + math.log(1 - share)
        log_alike = _log_normal(beyond - mean, sd) + math.log(share)
        (_, p), log_density = memberships(np.stack([log_usual, log_alike]))
        last = reached
        reached = float(weight @ log_density)
        variance = contrast @ of_all @ contrast / n - (of_all[0] @ contrast / n) ** 2
        of_one_group = n * _log_normal(np.sqrt(variance), _sd(variance))
        needed = of_one_group + _TUNED.gain / 2 * of_a_pair
        if reached < last + _TUNED.least_gain * of_a_pair:
            break
        if reached + (_TUNED.steps - step) * (reached - last) < needed:  # gains of the EM fall
            return None
    if reached <= needed:
        return None
    log_ratio = _log_normal(beyond + mean, sd) - log_density
    _, unlike = known_components(log_ratio, share, weight=weight, steps=_TUNED.steps)
    return p * (1 - unlike) + unlike, deviation * pairs.error


def _sd(variance: float) -> float:
    """Standard deviation, at least 1."""
    return float(np.sqrt(max(variance, 1.0)))


def _log_normal(deviation: Any, sd: float) -> Any:
    return -0.5 * (deviation / sd) ** 2 - math.log(sd * math.sqrt(2 * math.pi))
