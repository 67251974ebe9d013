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

from irtkit.data.patterns import REAL
from irtkit.irf import logistic, softplus

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array

_MOST_RESPONDENTS = 384  # Compared; of more a sample.
_MOST_CELLS = 2**17  # Compared; of more items a sample.
_FEWEST_ITEMS = 10  # With fewer, pairs cannot be told apart.
_MOST_PAIRS = 2**14  # Pairs with |z| > 3, and other pairs, that the groups are learned from.
_TURNS, _SETTLED = 24, 0.02  # Newton steps at most; the last changes logits by less.
_STEPS, _LEAST_GAIN = 50, 0.05  # Of the EM at most; the last gains less in log-likelihood.
_LARGEST_LOG = 600.0  # Of a ratio of densities that is formed.


@dataclass(frozen=True)
class _Tuned:
    """Constants chosen together on ``benchmarks/near_copies.py`` and ``likelihood_ratio.py``."""

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


_TUNED = _Tuned()


class NearDuplicates(NamedTuple):
    """How many respondents there are, and as how many independent ones they answer."""

    n: int  # Real respondents with a response.
    n_eff: float  # Kish's effective sample size of them; n if it is 0.9 n or more.
    share: float  # Evidence on slopes, of that of as many independent respondents.
    distinct: Places  # Respondents compared, at most 384, without those alike to an earlier one.

    @property
    def found(self) -> bool:
        """Whether there are near-duplicates enough to matter."""
        return self.n_eff < self.n


class _Pairs(NamedTuple):
    """Pairs of respondents with common items. Each array has one value per pair."""

    one: Places
    other: Places
    weight: Array  # How many pairs each stands for.
    z: Array
    error: Array  # Standard error of the sum of products of residuals.
    common: Array  # The sum of products if both were copies, over the common items.
    own: Array  # The same over all items of each.
    pull: Array  # Product of standardised abilities.
    x: Array  # Pull times √(Σ v v′ / error), scaled: z rises with it if slopes differ.


def near_duplicates(patterns: Patterns) -> NearDuplicates:
    """Estimate the effective number of real respondents.

    n_eff = n / (1 + (n − 1) · mean of P(alike) · likeness over the pairs).
    """
    n = patterns.n_answering
    who = np.flatnonzero(patterns.answering)
    if len(who) > _MOST_RESPONDENTS:
        who = np.sort(np.random.default_rng(0).choice(who, _MOST_RESPONDENTS, replace=False))
    independent = NearDuplicates(n, float(n), 1.0, who)
    pairs = _pairs_of(patterns, who)
    groups = None if pairs is None else _alike(pairs)
    if pairs is None or groups is None:
        return independent
    p, covariance = groups
    of_alike = pairs.weight * p
    as_copies = float(of_alike @ pairs.common)
    shared = float(of_alike @ covariance)
    if shared > as_copies:  # nobody is more alike than copies are, on average
        covariance *= as_copies / shared
    others = 2 * (n - 1) / (len(who) * (len(who) - 1))  # of one respondent, by pair compared
    shares = others * of_alike * covariance
    # Kish's design effects less 1: of a mean, and of slopes on ability
    of_mean = max(float((shares / pairs.common).sum()), 0.0)
    of_intercepts = max(float((shares / pairs.own).sum()), 0.0)
    of_slopes = max(float((shares / pairs.own * pairs.pull).sum()), 0.0)
    if of_mean < 1 / _TUNED.matters - 1:
        return independent
    likeness = covariance / pairs.common
    linked = (p > _TUNED.linked) & (likeness > _TUNED.likeness)
    share = 1 / (1 + max(of_intercepts, of_slopes))
    return NearDuplicates(n, n / (1 + of_mean), share, who[_first_of_each(pairs, linked, len(who))])


def _first_of_each(pairs: _Pairs, linked: NDArray[np.bool_], n: int) -> list[int]:
    """Places of respondents that are not linked to an earlier one of these."""
    links = np.zeros((n, n), np.bool_)
    links[pairs.other[linked], pairs.one[linked]] = True
    distinct: list[int] = []
    for k in range(n):
        if not links[k, distinct].any():
            distinct.append(k)
    return distinct


def _pairs_of(patterns: Patterns, who: Places) -> _Pairs | None:
    """Statistics of the pairs, or None if no two respondents can be compared.

    z = Σ r r′ / √(½ Σ v v′ + ½ Σ r² r′² + ¼). The expected variance alone gives z a long right
    tail, from rare answers that two respondents share. The observed variance alone gives it a long
    left tail. The ¼ makes z narrow. From about 20 items on z is divided by its expected SD. An
    ability fitted to J answers takes 1/J of what copies have in common.
    """
    items = _items(patterns, _MOST_CELLS // max(len(who), 1))
    if len(who) < 2 or len(items) < _FEWEST_ITEMS:
        return None
    residual, variance, ability = _rasch(*patterns.dense(who, items, np.float32))
    root = np.sqrt(variance)
    common, product = root @ root.T, residual @ residual.T
    common *= np.float32(1 - 1 / len(items))
    expected, observed = (part @ part.T for part in (variance, np.square(residual)))
    error = np.sqrt((expected + observed) / 2 + np.float32(_TUNED.pseudo_variance))
    upper = np.triu(common > 0, 1)
    z = product / error
    if not upper.any():
        return None
    z -= np.median(z[upper])
    far = np.abs(z) > _TUNED.first_z
    generator = np.random.default_rng(0)
    places, weights = [], []
    for part in (np.flatnonzero(upper & far), np.flatnonzero(upper & ~far)):
        some = part
        if len(part) > _MOST_PAIRS:
            some = part[generator.integers(len(part), size=_MOST_PAIRS)]
        places.append(some)
        weights.append(np.full(len(some), len(part) / max(len(some), 1)))
    chosen = np.concatenate(places)
    one, other = np.divmod(chosen, len(who))
    weight, of_matrices = np.concatenate(weights), (z, error, common, np.sqrt(expected / error))
    z, error, common, size = (values.ravel()[chosen].astype(np.float64) for values in of_matrices)
    sums = np.sqrt(variance.sum(axis=1, dtype=np.float64))
    own, pull = (values[one] * values[other] for values in (sums, ability))
    steeper = pull * size / (weight @ size / weight.sum())
    spread = float(np.sqrt(weight @ (size**2 * error) / (weight @ error**2)))
    if spread > _TUNED.nearly_normal:
        z, error = z / spread, error * spread
    return _Pairs(one, other, weight, z, error, common, own, pull, steeper)


def _items(patterns: Patterns, most: int) -> Places:
    """Items compared: those with right and wrong responses.

    If there are more than ``most``, they are evenly spaced in easiness, or the most answered if the
    responses are sparse.
    """
    right, responses = patterns.margins.item_right[REAL], patterns.margins.item_responses[REAL]
    varied = np.flatnonzero((right > 0) & (right < responses))
    if patterns.sparse:
        return varied[np.argsort(-responses[varied], kind="stable")[:most]]
    every = max(-(-len(varied) // most), 1)
    return varied[np.argsort(right[varied] / responses[varied], kind="stable")[every // 2 :: every]]


def _rasch(right: Any, tried: Any) -> tuple[Any, Any, Array]:
    """Residuals and variances of a Rasch model at its posterior mode, and standardised abilities.

    Repeated trials enter by their mean, as one response.
    """
    answered = (tried > 0).astype(np.float32)
    share = right / np.maximum(tried, 1)
    ability, easiness = (
        np.log((share.sum(axis=k) + 0.5) / ((answered - share).sum(axis=k) + 0.5)) for k in (1, 0)
    )
    ability -= ability.mean()
    weight, settled = np.float32(1 / _TUNED.prior_sd**2), [False, False]
    p = np.empty_like(share)
    for turn in range(_TURNS + 1):
        np.subtract(-easiness, ability[:, None], out=p)
        np.exp(p, out=p)
        p += 1
        np.divide(answered, p, out=p)
        if turn == _TURNS or all(settled):
            break
        axis, mode = (0, easiness) if turn % 2 == 0 else (1, ability)
        expected, squares = p.sum(axis=axis), np.einsum(("ij,ij->j", "ij,ij->i")[axis], p, p)
        step = (share.sum(axis=axis) - expected - weight * mode) / (expected - squares + weight)
        mode += np.clip(step, -1, 1)
        settled[axis] = bool(np.abs(step).max() < _SETTLED)
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
    z, x, weight = pairs.z, pairs.x, pairs.weight
    n, p, reached = weight.sum(), (z > _TUNED.first_z).astype(np.float64), -np.inf
    for step in range(1, _STEPS + 1):
        alike, rest = weight * p, weight * (1 - p)
        if min(alike.sum(), rest.sum()) < 1:  # less than one pair
            return None
        centred = x - rest @ x / rest.sum()
        slope = max(float(rest @ (centred * z) / (rest @ centred**2 + _TUNED.ridge)), 0.0)
        beyond = z - slope * x
        together = beyond - weight @ beyond / n
        beyond -= rest @ beyond / rest.sum()
        mean = max(float(alike @ beyond / alike.sum()), _TUNED.least_mean)
        share, sd = alike.sum() / n, _sd(beyond - mean, alike)
        usual = np.log(1 - share) + _log_normal(beyond, _sd(beyond, rest * (beyond < 0)))
        near = np.log(share) + _log_normal(beyond - mean, sd)
        p, both = logistic(near - usual), near + softplus(usual - near)
        before, reached = reached, float(weight @ both)
        of_one_group = float(weight @ _log_normal(together, _sd(together, weight)))
        needed = of_one_group + _TUNED.gain / 2 * weight.max()
        if reached < before + _LEAST_GAIN * weight.max():
            break
        if reached + (_STEPS - step) * (reached - before) < needed:  # gains of the EM fall
            return None
    if reached <= needed:
        return None
    far = np.exp(np.minimum(_log_normal(beyond + mean, sd) - both, _LARGEST_LOG))
    for _ in range(_STEPS):
        unlike = share * far / (1 + share * far)
        last_share, share = share, max(float(weight @ unlike) / n, 1e-12)
        if abs(share - last_share) < 1e-6 * last_share:
            break
    p = p * (1 - unlike) + unlike
    return p, beyond * pairs.error


def _sd(deviation: Array, weight: Array) -> float:
    """Standard deviation about 0, at least 1."""
    variance = float(weight @ deviation**2 / max(weight.sum(), 1e-9))
    return float(np.sqrt(max(variance, 1.0)))


def _log_normal(deviation: Array, sd: float) -> Array:
    return np.asarray(-((deviation / sd) ** 2) / 2 - np.log(sd * np.sqrt(2 * np.pi)))
