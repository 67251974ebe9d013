"""Near-duplicate systems: the effective number of respondents, and their families.

Residuals of a Rasch model give every pair of respondents a statistic z, standard normal if they are
independent. Pairs of near-duplicates are a second group of larger z: a mixture of two normals, if
its likelihood ratio is large. The probabilities that pairs are alike, times how alike they are,
give Kish's effective sample size. ``benchmarks/near_copies.py`` measures how well they do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL, dense_cells

if TYPE_CHECKING:
    from typing import Any

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array

_MOST_RESPONDENTS = 1024  # Respondents whose pairs are compared, a random sample of more.
_MOST_ITEMS = 2000  # Items compared, evenly spaced in easiness; the most answered if sparse.
_MOST_PAIRS = 2**16  # Pairs that the groups are learned from, at most half with |z| > 3.
_PRIOR_SD = 3.0  # Of abilities and easinesses in logits: keeps all-correct rows finite.
_TURNS = 12  # Newton steps of items and respondents by turns.
_PSEUDO_VARIANCE = 0.25  # Added to the variance of a pair, as of four coin flips.
_FIRST_Z = 3.0  # z from which pairs are alike at the start of the EM.
_LEAST_MEAN = 2.0  # Of z in the group of pairs alike. 1.5 changes nothing, 3 misses 20-item copies.
_STEPS = 50  # Of the EM.
_GAIN = 16.3  # Least gain in 2 log L by a second group: χ² with 3 degrees of freedom at 0.001.
_ONE_FAMILY = 0.25  # Least likeness of two members of a family.
_CLEARLY = 0.9  # Share of the respondents below which their effective number is reported.


class NearDuplicates(NamedTuple):
    """How many respondents there are, and as how many independent ones they answer."""

    n: int
    """Real respondents with a response."""
    n_eff: float
    """Kish's effective sample size of the respondents; n if no pair is alike."""

    @property
    def found(self) -> bool:
        """Whether the effective number is clearly smaller than the number of respondents."""
        return self.n_eff < _CLEARLY * self.n


class _Pairs(NamedTuple):
    """Pairs of respondents with common items; each array has one value per pair."""

    one: Places
    other: Places
    weight: Array  # How many pairs each stands for.
    z: Array
    error: Array  # Standard error of the sum of products of residuals.
    common: Array  # The sum of products if both were copies, over the common items.
    pull: Array  # Product of standardised abilities.


def near_duplicates(patterns: Patterns) -> NearDuplicates:
    """Estimate the effective number of real respondents.

    n_eff = n / (1 + (n − 1) · mean of P(alike) · likeness over the pairs).
    """
    n = patterns.n_answering
    pairs = _pairs_of(patterns)
    if pairs is None:
        return NearDuplicates(n, float(n))
    p, beyond = _alike(pairs)
    among = min(n, _MOST_RESPONDENTS)
    shared = 2 * (n - 1) / (among * (among - 1)) * pairs.weight * p * beyond
    return NearDuplicates(n, n / (1 + max(float((shared / pairs.common).sum()), 0.0)))


def families_of(patterns: Patterns) -> Places:
    """Number the families of all respondents, of whom at most 1,024 are real.

    Pairs that are probably alike, with a likeness of 0.25 or more, are linked.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = _pairs_of(patterns)
    if pairs is None:
        return np.arange(patterns.n)
    p, beyond = _alike(pairs)
    linked = (p > 0.5) & (beyond >= _ONE_FAMILY * pairs.common)
    ends = pairs.one[linked], pairs.other[linked]
    links = coo_array((np.ones(len(ends[0])), ends), shape=(patterns.n, patterns.n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


def _pairs_of(patterns: Patterns) -> _Pairs | None:
    """Statistics of the pairs, or None if no two respondents can be compared.

    z = Σ r r′ / √(½ Σ v v′ + ½ Σ r² r′² + ¼). With the expected variance alone rare answers that
    two respondents share give z a long tail to the right; with the observed one, to the left.
    """
    generator = np.random.default_rng(0)
    who = np.flatnonzero(patterns.answering)
    if len(who) > _MOST_RESPONDENTS:
        who = np.sort(generator.choice(who, _MOST_RESPONDENTS, replace=False))
    items = _items(patterns)
    if len(who) < 2 or not len(items):
        return None
    residual, variance, ability = _rasch(*dense_cells(patterns, who, items))
    one, other = np.triu_indices(len(who), 1)
    root = np.sqrt(variance)
    common = (root @ root.T)[one, other]
    met = np.flatnonzero(common > 0)
    one, other, common = one[met], other[met], common[met]
    squares = variance @ variance.T + (residual**2) @ (residual**2).T
    error = np.sqrt(squares[one, other] / 2 + _PSEUDO_VARIANCE)
    z = (residual @ residual.T)[one, other] / error
    far = np.abs(z) > _FIRST_Z
    parts = [generator.permutation(np.flatnonzero(part)) for part in (far, ~far)]
    kept = [np.sort(part[: _MOST_PAIRS // 2]) for part in parts]
    weight = [
        np.full(len(some), len(part) / max(len(some), 1))
        for some, part in zip(kept, parts, strict=True)
    ]
    some = np.concatenate(kept)
    if not len(some):
        return None
    one, other = one[some], other[some]
    numbers = (*(values[some] for values in (z, error, common)), ability[one] * ability[other])
    in_64_bits = (values.astype(np.float64) for values in numbers)
    return _Pairs(who[one], who[other], np.concatenate(weight), *in_64_bits)


def _items(patterns: Patterns) -> Places:
    """Items compared: those with right and wrong responses."""
    right, responses = patterns.margins.item_right[REAL], patterns.margins.item_responses[REAL]
    varied = np.flatnonzero((right > 0) & (right < responses))
    if patterns.sparse:
        return varied[np.argsort(-responses[varied], kind="stable")[:_MOST_ITEMS]]
    every = max(-(-len(varied) // _MOST_ITEMS), 1)
    return varied[np.argsort(right[varied] / responses[varied], kind="stable")[every // 2 :: every]]


def _rasch(right: Any, tried: Any) -> tuple[Any, Any, Any]:
    """Residuals and variances of a Rasch model at its posterior mode, and standardised abilities.

    Repeated trials enter by their share right, as if they all agreed.
    """
    answered = (tried > 0).astype(np.float32)
    share = right / np.maximum(tried, 1)
    ability, easiness = (np.zeros(n, np.float32) for n in share.shape)
    p, weight = np.empty_like(share), np.float32(1 / _PRIOR_SD**2)
    for turn in range(2 * _TURNS + 1):
        np.subtract(-easiness, ability[:, None], out=p)
        np.exp(p, out=p)
        p += 1
        np.divide(answered, p, out=p)
        if turn == 2 * _TURNS:
            break
        axis, mode = (0, easiness) if turn % 2 == 0 else (1, ability)
        expected, squares = p.sum(axis=axis), np.einsum(("ij,ij->j", "ij,ij->i")[axis], p, p)
        step = (share.sum(axis=axis) - expected - weight * mode) / (expected - squares + weight)
        mode += np.clip(step, -1, 1)
    ability -= ability.mean()
    return share - p, p - p**2, ability / max(float(ability.std()), 1e-9)


@np.errstate(under="ignore")
def _alike(pairs: _Pairs) -> tuple[Array, Array]:
    """Probability that each pair is alike, or as unlike, and its covariance beyond that of others.

    z ~ N(d + λx, s₀²) of most pairs and N(d + λx + m, s₁²) of those alike; x is the product of
    abilities, which λ ≥ 0 multiplies if slopes differ, and s₀ is learned below the mean. The EM
    starts with λ = 0 and with the slope of all pairs. No pair is alike unless two groups are
    likelier by far than one with the same λ. A further ability makes as many pairs unlike,
    N(d + λx − m, s₁²): their share is learned last. The covariance is at most that of copies.
    """
    z, x, weight = pairs.z, pairs.pull, pairs.weight
    n, best = weight.sum(), -np.inf
    nothing = found = np.zeros_like(z), np.zeros_like(z)
    for start in {0.0, _slope(x, z, weight)}:
        p = (z - start * x > _FIRST_Z).astype(np.float64)
        for step in range(_STEPS):
            alike, rest = weight * p, weight * (1 - p)
            if min(alike.sum(), rest.sum()) < 1:  # less than one pair
                break
            slope = start if step == 0 else _slope(x, z, rest)
            beyond = z - slope * x
            beyond -= rest @ beyond / rest.sum()
            mean = max(float(alike @ beyond / alike.sum()), _LEAST_MEAN)
            share, sd = alike.sum() / n, _sd(beyond - mean, alike)
            spread = _sd(beyond, rest * (beyond < 0))
            usual = np.log(1 - share) + _log_normal(beyond, spread)
            near = np.log(share) + _log_normal(beyond - mean, sd)
            p = np.exp(near - np.logaddexp(near, usual))
        else:
            both = np.logaddexp(near, usual)
            together = z - slope * x
            together -= weight @ together / n
            likelihood, alone = weight @ both, weight @ _log_normal(together, _sd(together, weight))
            if likelihood <= best:
                continue
            best, found = likelihood, nothing
            if 2 * (likelihood - alone) > _GAIN * weight.max():
                for _ in range(_STEPS):
                    far = np.log(share) + _log_normal(beyond + mean, sd)
                    unlike = np.exp(far - np.logaddexp(both, far))
                    share = max(weight @ unlike / n, 1e-12)
                p = np.exp(near - np.logaddexp(both, far)) + unlike
                found = p, np.clip(beyond * pairs.error, -pairs.common, pairs.common)
    return found


def _sd(deviation: Array, weight: Array) -> float:
    """Standard deviation about 0, at least 1."""
    variance = float(weight @ deviation**2 / max(weight.sum(), 1e-9))
    return float(np.sqrt(max(variance, 1.0)))


def _log_normal(deviation: Array, sd: float) -> Array:
    return np.asarray(-((deviation / sd) ** 2) / 2 - np.log(sd * np.sqrt(2 * np.pi)))


def _slope(x: Array, z: Array, weight: Array) -> float:
    """Weighted least-squares slope, at least 0."""
    centred = x - weight @ x / weight.sum()
    squares = float((weight * centred) @ centred)
    return max(float((weight * centred) @ z / squares), 0.0) if squares > 0 else 0.0
