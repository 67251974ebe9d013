"""Near-duplicate systems: the effective number of respondents, and one of each family.

Residuals of a Rasch model give every pair of respondents a statistic z, standard normal if they are
independent. Pairs of near-duplicates are a second group of larger z: a mixture of two normals, if
its likelihood ratio is large. The probabilities that pairs are alike, times how alike they are,
give Kish's effective sample size. ``benchmarks/near_copies.py`` measures how well they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.mixtures import known_components, memberships
from irtkit.data.patterns import REAL

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
    who = np.flatnonzero(patterns.answering)
    if len(who) > _TUNED.most_respondents:
        who = np.sort(np.random.default_rng(0).choice(who, _TUNED.most_respondents, replace=False))
    independent = NearDuplicates(n, float(n), 1.0, who)
    pairs = pairs_of(patterns, who)
    groups = None if pairs is None else _alike(pairs)
    if pairs is None or groups is None:
        return independent
    p_alike, covariance = groups
    alike = pairs.weight * p_alike
    as_copies = float(alike @ pairs.common)
    shared = float(alike @ covariance)
    if shared > as_copies:  # nobody is more alike than copies are, on average
        covariance *= as_copies / shared

    # Kish's design effects less 1: of a mean, and of slopes on ability.
    others = 2 * (n - 1) / (len(who) * (len(who) - 1))  # of one respondent, by pair compared
    excess = others * alike * covariance
    of_mean = max(float((excess / pairs.common).sum()), 0.0)
    of_intercepts = max(float((excess / pairs.whole).sum()), 0.0)
    of_slopes = max(float((excess / pairs.whole * pairs.pull).sum()), 0.0)
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
    common = root @ root.T
    common *= np.float32(1 - 1 / len(items))
    product = residual @ residual.T
    squares = np.square(residual)
    expected = variance @ variance.T
    observed = squares @ squares.T
    error = np.sqrt((expected + observed) / 2 + np.float32(_TUNED.pseudo_variance))
    z = product / error
    compared = np.triu(common > 0, 1)
    if not compared.any():
        return None
    z -= np.median(z[compared])
    chosen, weight = _sampled(compared, np.abs(z) > _TUNED.first_z)

    def of_pairs(matrix: Any) -> Array:
        return np.asarray(matrix.ravel()[chosen], dtype=np.float64)

    first, second = np.divmod(chosen, len(who))
    z = of_pairs(z)
    error = of_pairs(error)
    common = of_pairs(common)
    size = np.sqrt(of_pairs(expected) / error)
    whole = np.sqrt(variance.sum(axis=1, dtype=np.float64))
    pull = ability[first] * ability[second]
    steeper = pull * size / (weight @ size / weight.sum())
    spread = float(np.sqrt(weight @ (size**2 * error) / (weight @ error**2)))
    if spread > _TUNED.nearly_normal:
        z /= spread
        error *= spread
    return _Pairs(
        first, second, weight, z, error, common, whole[first] * whole[second], pull, steeper
    )


def _sampled(compared: NDArray[np.bool_], far: NDArray[np.bool_]) -> tuple[Places, Array]:
    """Flat places of pairs, at most 16,384 of each side of the limit, and their weights."""
    generator = np.random.default_rng(0)
    places = []
    weights = []
    for side in (np.flatnonzero(compared & far), np.flatnonzero(compared & ~far)):
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
    wrong = answered - share
    ability = np.log((share.sum(axis=1) + 0.5) / (wrong.sum(axis=1) + 0.5))
    easiness = np.log((share.sum(axis=0) + 0.5) / (wrong.sum(axis=0) + 0.5))
    ability -= ability.mean()
    precision = np.float32(1 / _TUNED.prior_sd**2)
    settled = [False, False]
    p = np.empty_like(share)
    for turn in range(_TUNED.turns + 1):
        np.subtract(-easiness, ability[:, None], out=p)
        np.exp(p, out=p)
        p += 1
        np.divide(answered, p, out=p)
        if turn == _TUNED.turns or all(settled):
            break
        axis, mode, sums = (0, easiness, "ij,ij->j") if turn % 2 == 0 else (1, ability, "ij,ij->i")
        expected = p.sum(axis=axis)
        score = share.sum(axis=axis) - expected - precision * mode
        step = score / (expected - np.einsum(sums, p, p) + precision)
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
    """
    z = pairs.z
    x = pairs.steeper
    weight = pairs.weight
    n = weight.sum()
    p = (z > _TUNED.first_z).astype(np.float64)
    reached = -np.inf
    for step in range(1, _TUNED.steps + 1):
        alike = weight * p
        rest = weight * (1 - p)
        if min(alike.sum(), rest.sum()) < 1:  # less than one pair
            return None
        centred = x - rest @ x / rest.sum()
        slope = max(float(rest @ (centred * z) / (rest @ centred**2 + _TUNED.ridge)), 0.0)
        beyond = z - slope * x
        of_all = beyond - weight @ beyond / n
        beyond -= rest @ beyond / rest.sum()
        mean = max(float(alike @ beyond / alike.sum()), _TUNED.least_mean)
        sd = _sd(beyond - mean, alike)
        usual_sd = _sd(beyond, rest * (beyond < 0))
        share = alike.sum() / n
        log_usual = np.log(1 - share) + _log_normal(beyond, usual_sd)
        log_alike = np.log(share) + _log_normal(beyond - mean, sd)
        (_, p), log_density = memberships(np.stack([log_usual, log_alike]))
        last = reached
        reached = float(weight @ log_density)
        of_one_group = float(weight @ _log_normal(of_all, _sd(of_all, weight)))
        needed = of_one_group + _TUNED.gain / 2 * weight.max()
        if reached < last + _TUNED.least_gain * weight.max():
            break
        if reached + (_TUNED.steps - step) * (reached - last) < needed:  # gains of the EM fall
            return None
    if reached <= needed:
        return None
    log_ratio = _log_normal(beyond + mean, sd) - log_density
    _, unlike = known_components(log_ratio, share, weight=weight, steps=_TUNED.steps)
    return p * (1 - unlike) + unlike, beyond * pairs.error


def _sd(deviation: Array, weight: Array) -> float:
    """Standard deviation about 0, at least 1."""
    variance = float(weight @ deviation**2 / max(weight.sum(), 1e-9))
    return float(np.sqrt(max(variance, 1.0)))


def _log_normal(deviation: Array, sd: float) -> Array:
    return np.asarray(-((deviation / sd) ** 2) / 2 - np.log(sd * np.sqrt(2 * np.pi)))
