"""How far respondents answer alike beyond what their ability explains, learned from the matrix.

The score test takes respondents as independent given ability. Near-copies are not. With rᵢⱼ what a
response differs from what is expected, and Cᵢₖ = Σⱼ rᵢⱼrₖⱼ, the variance of U is larger by a design
effect 1 + L, L = (1/n) Σ Cᵢₖ/√(CᵢᵢCₖₖ) over the pairs that are alike (Kish 1965), and evidence
counts for 1/(1 + L). Twenty copies of each of ten respondents count as ten, 200 independent
respondents as 200 (``benchmarks/near_copies.py``).

- **What is expected** follows the proportion score in the same way for all items of one easiness:
  a cubic whose coefficients depend on the share right, fitted to all cells at once. An item has no
  slope of its own, which would take a family far from the mean for a slope. That slopes differ
  adds λθᵢθₖ to the likeness of all pairs, most of which are no copies: λ is taken out, the slope
  of least absolute deviations. (Left in, evidence of independent respondents with exponential
  abilities counts for 0.76 and not 1.00, and for 0.27 where 20 % of the items are inverted.)
- **How sure the likeness of a pair is**: z = C/SE, its variance half the observed Σ r²ᵢⱼr²ₖⱼ and
  half the expected Σ vᵢⱼvₖⱼ. With the expected one alone rare answers that two share give z a long
  tail to the right, with the observed one alone, as in Student's t, to the left.
- **Which pairs are alike** cannot be said of one pair, but of all: noise makes as many unlike as
  alike, and so does a further dimension. Therefore C is summed up over pairs with |z| > t, unlike
  ones counting double, as they are fewer and less unlike than others are alike where some stand
  apart in that dimension; less twice the standard error of the sum in noise; and t is the one that
  leaves most: an estimate of covariances by thresholding (Bickel & Levina 2008).

Two to four families in all look like slopes that differ. Of 64 respondents or fewer they are
therefore counted as well (:func:`_families`): of what is left after the share right of respondents
and items, members of one family have much in common. Evidence counts for no more than families.

What it does not see: few families of more respondents, or in part if they differ in a fifth of
their answers (``benchmarks/few_families.py``), and two dimensions that oppose each other. Of large
families that differ in 30 % of their answers it sees a part. A minority of respondents for whom
other items are hard is taken for a family.

The constants below were varied, mostly by a factor of two each way, on twelve kinds of simulated
matrices and two real ones (``benchmarks/near_copies.py --constants``). Where nothing else is said,
no share of evidence moves by more than 0.05.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL, blocks, dense_cells

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array
    from irtkit.signs.slopes import ProportionScore

_MAX_ITEMS, _MAX_PAIRS = 2000, 2**20
"""Items and pairs of respondents looked at. Of 983 people (Lalor, Wu & Yu 2016), who are
independent, 2¹⁶ pairs leave 0.69 of the evidence in place of 1.00, and 2²¹ take twice the time;
250 items see a fifth of the respondents standing apart as 0.61 in place of 0.49."""
_MAX_RESPONDENTS = 2**15
"""Respondents looked at, of more that many at random: a copy of one of them is met less often, and
counts for more."""
_MAX_LEARNED = 2**17
"""Pairs from which slopes that differ are learned."""
_DEGREE, _BENDS = 3, 4
"""Degree of the curve in the proportion score, and coefficients of each of its powers as functions
of the share right. A line leaves 0.96 for the 983 people and, as two coefficients do, 0.97 for
exponential abilities; more of either change nothing."""
_LEAST_VARIANCE = 0.01
"""Of a response: curves may leave the range of probabilities."""
_OBSERVED = 0.5
"""Part of the observed in the variance. Of 200 independent respondents with 95 % right a third
leaves 0.87 and a half 1.00 of the evidence; with all observed, 30 families of seven count for 0.24
in place of 0.21 where items are 20."""
_PSEUDO_VARIANCE = 0.25
"""Added to it, as of four coin flips, 1/16 each: few rare answers, or few common items, prove
nothing. Four times as much leaves these families 0.28."""
_LEAST_Z, _GUARD, _UNLIKE = 2.0, 2.0, 2.0
"""Least threshold, standard errors in noise by which the sum must exceed 0, and weight of a pair
that is unlike. A threshold of 3 leaves these families 0.36. With a weight of 1 the 983 people count
for 0.29, with 1.5 for 0.95, with 2 for 1.00; with 4, 40 families of five that differ in 20 % of
their answers count for 0.74 in place of 0.67 on 100 items."""
_STRONGEST_PULL = 4.0
"""A family counts by θ², its part of V, up to that at 2 SDs; beyond, curves are extrapolated."""
_FEW_ITEMS, _FEWEST = 500, 20
"""Items at most, and at least, from which families are counted."""
_FEWEST_COUNTED, _MOST_COUNTED, _ALIKE = 6, 64, 0.35
"""Respondents at least and at most of whom families are counted, and the correlation left after
shares right from which on clusters are one: of copies that flip 10 % of a parent's answers it is
about 0.6, and of independent respondents few pairs have more than 0.35, where items are
inverted."""
_GUARD_ALIKE = 2.5
"""Standard errors that it is at least, 1/√J or more of J common items: of 60 independent
respondents and 25 items 6 matrices of 20 would otherwise fall into families, and none does."""
_ALIKE_BEYOND, _GUARD_BEYOND = 0.22, 3.0
"""The same of what is left beyond the product of abilities: of copies with 20 % flipped it is about
0.36; and how many standard errors that is at least. With 0.28 in its place 63 % of what is called
negative of three families of eight is false, with 0.22 9 %."""
_MOST_LINKED, _LINKED_Z = 2**10, 2.5
"""Respondents linked to families at most, and mean z from which on families are one."""
_SAID_BELOW, _SAID_OF_FEW, _LEAST_SAID = 0.9, 0.5, 30
"""Share of the respondents below which their effective number is said, the second of fewer than the
third. Families are counted only where they are fewer than the second as well: of independent
respondents clusters are more (``benchmarks/few_families.py``)."""


class Dependence(NamedTuple):
    """How dependent respondents are."""

    n_respondents: int
    """Real respondents with a response."""
    share: float
    """Evidence on slopes, of that of as many independent respondents: at most 1."""
    effective: float
    """Independent respondents whose answers would vary as much."""
    of_families: float = 1.0
    """Evidence if families take in respondents who are alike in part, where they are linked."""

    @property
    def evidence(self) -> float:
        """Share for tests that must keep their level: the smaller one, 1 if nothing is said."""
        return min(self.share, self.of_families) if self.sentence else 1.0

    @property
    def independent(self) -> int:
        """The number that is said: effective, or all where they are few or hardly depend."""
        below = _SAID_BELOW if self.n_respondents >= _LEAST_SAID else _SAID_OF_FEW
        depend = self.effective < below * self.n_respondents
        return max(round(self.effective), 1) if depend else self.n_respondents

    @property
    def unit(self) -> str:
        """What they are, in a sentence with their number."""
        return (
            "respondents" if self.independent == self.n_respondents else "independent respondents"
        )

    @property
    def sentence(self) -> str:
        """What is said of near-copies, or nothing."""
        if self.independent == self.n_respondents:
            return ""
        return (
            f"{self.n_respondents} respondents answer like about {self.independent} independent "
            "ones"
        )


class _Curves(NamedTuple):
    """Expected responses to some items: base + powers @ bend, powers of the proportion score."""

    items: Places
    base: Array
    bend: Array


class _Deviations(NamedTuple):
    """Responses of some respondents less what is expected, and their variances."""

    residual: NDArray[np.float32]
    variance: NDArray[np.float32]


class _Pairs(NamedTuple):
    """Pairs of respondents with common items, each an array over pairs but for the last."""

    one: Places
    """Place of the first among those looked at, and of the other among all."""
    other: Places
    z: NDArray[np.float32]
    common: NDArray[np.float32]
    error: NDArray[np.float32]
    root: NDArray[np.float32]
    """SD of the sum of every respondent's deviations, (n_respondents,)."""
    some: Places
    """Respondents looked at."""


def dependence_of(patterns: Patterns, proportion: ProportionScore) -> Dependence:
    """Estimate how dependent real respondents are; independent where nothing can be told."""
    n_respondents = int(proportion.scored.sum())
    who = _respondents(proportion, _MAX_RESPONDENTS)
    ability, n = proportion.value[who], len(who)
    pairs = _pairs(patterns, who, ability, _items(patterns, _MAX_ITEMS), _MAX_PAIRS)
    if pairs is None:
        return Dependence(n_respondents, 1.0, float(n_respondents))
    one, other, z, common, error, root, some = pairs
    unit = error / (root[some][one] * root[other])
    twice = 1 + len(some) / n  # a pair may stand here in both orders
    pull = np.minimum(ability.astype(np.float32)[some] ** 2, _STRONGEST_PULL)[one]
    met_by = n_respondents / n / len(some)
    alike, pulling = (_sum_alike(z, w, twice) * met_by for w in (unit, pull * unit))
    overlap = 1.0 if patterns.complete else float(np.mean(common * unit / error))
    families = _families(patterns, who, ability)
    effective = n_respondents * min(1 / (1 + alike / overlap), families / n)
    share = min(1 / (1 + max(alike, pulling)), families / n)
    found = Dependence(n_respondents, share, effective)
    return found._replace(of_families=_linked(patterns, proportion)) if found.sentence else found


def _linked(patterns: Patterns, proportion: ProportionScore) -> float:
    """Evidence that is left of families whose members are alike on average, by average linkage.

    Of 20 to 30 items, copies are alike too uncertainly to be found pair by pair.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    who = _respondents(proportion, _MOST_LINKED)
    n, ability = len(who), proportion.value[who]
    pairs = _pairs(patterns, who, ability, _items(patterns, _MAX_ITEMS), n**2)
    if pairs is None:
        return 1.0
    z, likeness = np.zeros((2, n, n), np.float32)
    one = pairs.some[pairs.one]
    z[one, pairs.other] = pairs.z
    likeness[one, pairs.other] = pairs.z * pairs.error / (pairs.root[one] * pairs.root[pairs.other])
    apart = (z.max() - (z + z.T) / 2)[np.triu_indices(n, 1)]
    family = fcluster(linkage(apart, "average"), z.max() - _LINKED_Z, "distance")
    alike = float(likeness[family[:, None] == family].sum()) / n
    return 1 / (1 + max(alike, 0.0) * int(proportion.scored.sum()) / n)


def _families(patterns: Patterns, who: Places, ability: Array) -> float:
    """As how many families few respondents count, where that is less than half of these; else all.

    Clusters, by average linkage, of the correlations of responses less the share right p of their
    item and what respondents are above that. That slopes differ makes pairs alike by the product of
    their abilities, as far as most are. Less that, and with what respondents are above p taken as
    proportional to p(1 − p), lower correlations tell of families, and of a large one beside single
    respondents, who count as n²/Σ s² families of sizes s; but two in all are lost.
    """
    n, items = len(who), _items(patterns, _FEW_ITEMS)
    if not _FEWEST_COUNTED <= n <= _MOST_COUNTED or len(items) < _FEWEST:
        return n
    right, tried = dense_cells(patterns, who, items)
    share = right.sum(axis=0) / np.maximum(tried.sum(axis=0), 1)
    left, pull = right - tried * share, np.outer(ability, ability)[np.triu_indices(n, 1)]
    likeness, error = _likeness(left, tried)
    counted = len(_clusters(likeness, max(_ALIKE, _GUARD_ALIKE * error)))
    likeness, error = _likeness(left, tried * (share * (1 - share)))
    likeness -= _median_slope(pull, likeness) * pull
    sizes = _clusters(likeness, max(_ALIKE_BEYOND, _GUARD_BEYOND * error))
    found = min(counted, n**2 / float((sizes**2).sum()))
    return found if found < _SAID_OF_FEW * n else n


def _likeness(left: Array, above: Array) -> tuple[Array, float]:
    """Correlations of pairs of rows, less a multiple of other rows; and their usual error.

    They are −1/(n − 1) where all n are independent, which is taken out. The error is at least that
    of so many common cells.
    """
    n, pairs = len(left), np.triu_indices(len(left), 1)
    times = (left * above).sum(axis=1) / np.maximum((above**2).sum(axis=1), 1e-9)
    left, answered = left - above * times[:, None], (above > 0).astype(np.float32)
    squares = left**2 @ answered.T
    root = np.sqrt(squares * squares.T)[pairs]
    product, both = (left @ left.T)[pairs], np.sqrt(left**2 @ (left**2).T)[pairs]
    likeness = np.divide(product, root, out=np.zeros_like(root), where=root > 0) + 1 / (n - 1)
    error = np.median(both / np.maximum(root, 1e-9))
    return likeness, max(float(error), max(np.median((answered @ answered.T)[pairs]), 1) ** -0.5)


def _clusters(likeness: Array, least: float) -> Array:
    """Sizes of the clusters whose mean likeness is so much at least, of the likeness of pairs."""
    from scipy.cluster.hierarchy import fcluster, linkage

    apart = np.maximum(1 - likeness, 0).astype(np.float64)
    found = fcluster(linkage(apart, "average"), 1 - least, "distance")
    return np.asarray(np.bincount(found)[1:], np.float64)


def _respondents(proportion: ProportionScore, most: int) -> Places:
    """Respondents scored; of more than so many that many at random."""
    who = np.flatnonzero(proportion.scored)
    if len(who) <= most:
        return who
    return np.sort(np.random.default_rng(0).choice(who, most, replace=False))


def _pairs(
    patterns: Patterns, who: Places, ability: Array, items: Places, most: int
) -> _Pairs | None:
    """How sure the likeness of pairs is, about so many of them; None where nothing can be told."""
    n, degree = len(who), min(_DEGREE, len(np.unique(ability)) - 1)
    if degree < 1 or not len(items):
        return None
    powers = np.linalg.qr(np.vander(ability, degree + 1, increasing=True))[0][:, 1:] * n**0.5
    curves = _curves(patterns, who, items, powers)
    every = -(-(n**2) // most)
    some = np.argsort(ability, kind="stable")[every // 2 :: every]
    compared, root = _all_pairs(patterns, who, powers, curves, some)
    met = compared[1] > 0
    met[np.arange(len(some)), some] = False
    if not met.any():
        return None
    one, other = np.divmod(np.flatnonzero(met), n)
    product, common, error = compared[:, one, other]
    theta = ability.astype(np.float32)
    slopes = theta[some][one] * theta[other] * common / error
    z, few = product / error, slice(None, None, -(-len(one) // _MAX_LEARNED))
    z -= _median_slope(slopes[few], z[few]) * slopes
    z -= np.median(z[few])
    return _Pairs(one, other, z, common, error, root, some)


def _items(patterns: Patterns, most: int) -> Places:
    """Items with variance: of many every k-th by easiness, of sparse ones the most answered."""
    right, responses = patterns.margins.item_right[REAL], patterns.margins.item_responses[REAL]
    varied = np.flatnonzero((right > 0) & (right < responses))
    if patterns.sparse:
        return varied[np.argsort(-responses[varied], kind="stable")[:most]]
    every = max(-(-len(varied) // most), 1)
    return varied[np.argsort(right[varied] / responses[varied], kind="stable")[every // 2 :: every]]


def _cells(
    patterns: Patterns, who: Places, items: Places, at_once: int = 1024
) -> Iterator[tuple[slice, Any, Any]]:
    """Such responses, some respondents at once."""
    for some in blocks(len(who), 1, at_once):
        yield some, *dense_cells(patterns, who[some], items)


def _curves(patterns: Patterns, who: Places, items: Places, powers: Array) -> _Curves:
    """Least squares over all cells; each coefficient is p(1 − p) times a cubic in 1 − 2p."""
    degree = powers.shape[1]
    one, other = np.triu_indices(degree)
    terms = np.column_stack([np.ones(len(who)), powers, powers[:, one] * powers[:, other]])
    terms = terms.astype(np.float32)
    tried_sums, right_sums = np.zeros((2, len(items), terms.shape[1]))
    for some, right, tried in _cells(patterns, who, items):
        tried_sums += tried.T @ terms[some]
        right_sums += right.T @ terms[some]
    count, first = np.maximum(tried_sums[:, :1], 1), slice(1, degree + 1)
    p, mean = right_sums[:, :1] / count, tried_sums[:, first] / count
    squares = np.empty((len(items), degree, degree))
    squares[:, one, other] = squares[:, other, one] = tried_sums[:, degree + 1 :]
    squares -= count[:, :, None] * mean[:, :, None] * mean[:, None]
    features = p * (1 - p) * (1 - 2 * p) ** np.arange(_BENDS)
    left = np.einsum("ja,jb,jkl->akbl", features, features, squares)
    rightmost = np.einsum("ja,jk->ak", features, right_sums[:, first] - count * p * mean)
    size = _BENDS * degree
    found = np.linalg.lstsq(left.reshape(size, size), rightmost.ravel(), rcond=1e-9)[0]
    bend = features @ found.reshape(_BENDS, degree)
    return _Curves(items, p[:, 0] - (mean * bend).sum(axis=1), bend.T)


def _deviations(
    patterns: Patterns, who: Places, powers: Array, curves: _Curves, at_once: int = 1024
) -> Iterator[tuple[slice, _Deviations]]:
    """Deviations of some respondents at once, variances scaled to those of each respondent."""
    for some, right, tried in _cells(patterns, who, curves.items, at_once):
        p = (curves.base + powers[some] @ curves.bend).astype(np.float32)
        residual = right - tried * p
        variance = tried * np.maximum(p * (1 - p), _LEAST_VARIANCE)
        expected = np.maximum(variance.sum(axis=1, keepdims=True), _LEAST_VARIANCE)
        variance *= (residual**2).sum(axis=1, keepdims=True) / expected
        yield some, _Deviations(residual, variance)


def _all_pairs(
    patterns: Patterns, who: Places, powers: Array, curves: _Curves, some: Places
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What `_compared` says of some with all, and the SD of the sum of every one's deviations."""
    pairs, own = np.empty((3, len(some), len(who)), np.float32), np.empty(len(who), np.float32)
    ((_, sample),) = _deviations(patterns, who[some], powers[some], curves, len(some))
    for others, part in _deviations(patterns, who, powers, curves):
        pairs[:, :, others] = _compared(sample, part)
        own[others] = part.variance.sum(axis=1)
    return pairs, np.sqrt(np.maximum(own, _LEAST_VARIANCE))


def _compared(one: _Deviations, other: _Deviations) -> Array:
    """C of every pair, what it is for copies, and its standard error."""
    observed = one.residual**2 @ (other.residual**2).T
    expected = one.variance @ other.variance.T
    error = np.sqrt(_OBSERVED * observed + (1 - _OBSERVED) * expected + _PSEUDO_VARIANCE)
    common = np.sqrt(one.variance) @ np.sqrt(other.variance).T
    return np.stack([one.residual @ other.residual.T, common, error])


def _median_slope(x: Array, y: Array) -> float:
    """Slope through the origin with least absolute deviations, at least 0: a weighted median."""
    x, y = x[x != 0], y[x != 0]
    order = np.argsort(y / x)
    weight = np.cumsum(np.abs(x)[order], dtype=np.float64)
    middle = order[np.searchsorted(weight, weight[-1] / 2)] if len(x) else None
    return 0.0 if middle is None else max(0.0, float(y[middle] / x[middle]))


@np.errstate(under="ignore")
def _sum_alike(z: Any, unit: Array, twice: float) -> float:
    """Sum of z times its unit over pairs with |z| > t, less what noise may give, at best; or 0.

    In noise its variance is Σ unit² · E[z²; |z| > t], and E[z²; |z| > t] = 2(tφ(t) + Φ(−t)) lies
    below 2φ(t)(t + 1/t).
    """
    far = np.flatnonzero(np.abs(z) > _LEAST_Z)
    far = far[np.argsort(-np.abs(z[far]), kind="stable")]
    t = np.abs(z[far])
    tail = 2 * np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * (t + 1 / t)
    value = (z * unit)[far]
    value[value < 0] *= _UNLIKE
    gain = np.cumsum(value, dtype=np.float64) - _GUARD * np.sqrt(twice * (unit**2).sum() * tail)
    return float(gain.max(initial=0.0))
