"""Near-duplicate systems: the effective number of respondents, and one of each family.

Residuals of a Rasch model give every pair of respondents a statistic z. Pairs of near-duplicates
are those with a large z at a false-discovery rate (Benjamini & Hochberg 1995). False pairs are as
many as have a z as far below 0 (Barber & Candès 2015), or as the normal distribution expects if
these are more. Correlations of residuals of these pairs give Kish's effective sample size.
``benchmarks/near_copies.py`` measures how well they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL

if TYPE_CHECKING:
    from typing import Any

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array


@dataclass(frozen=True)
class _Pairs:
    """How pairs are compared (``benchmarks/near_copies.py``)."""

    most_respondents: int = 384  # Compared; a sample of more.
    most_cells: int = 2**17  # Compared; of more, some items.
    fewest_items: int = 10  # With fewer, pairs cannot be told apart.
    prior_variance: float = 9.0  # Of logits of the Rasch model, for finite ones.
    turns: int = 12  # Newton steps at most.
    settled: float = 0.02  # Largest change of a logit by the last step.
    middling: float = 3.0  # Largest size of z of pairs that may be unlike.
    ridge: float = 5.0  # Pairs that shrink the rise of z with abilities to 0.
    rate: float = 0.1  # False-discovery rate of pairs.
    likeness: float = 0.2  # Least correlation of two members of a family.
    standard_errors: float = 3.0  # Of the design effect, below which there is none.
    matters: float = 0.9  # Share of n below which n_eff counts.


_PAIRS = _Pairs()


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


def near_duplicates(patterns: Patterns) -> NearDuplicates:
    """Estimate the effective number of real respondents.

    Of two respondents z = Σ r r′ / √(½ Σ v v′ + ½ Σ r² r′²), with residuals r of variances v.
    The expected variance alone gives z a long right tail, from rare answers that two respondents
    share. The observed variance alone gives it a long left tail. An ability fitted to J answers
    takes 1/J of what copies have in common. n_eff = n / (1 + (n − 1) · mean correlation), summed
    over the pairs that are called alike. Pairs with a z as far below 0 count as negative, so that
    false pairs cancel. Of independent respondents the sum has a standard error of about √(2/J).
    """
    n, compared = patterns.n_answering, np.flatnonzero(patterns.answering)
    if len(compared) > _PAIRS.most_respondents:
        generator = np.random.default_rng(0)
        compared = np.sort(generator.choice(compared, _PAIRS.most_respondents, replace=False))
    independent = NearDuplicates(n, float(n), 1.0, compared)
    items = _items(patterns, _PAIRS.most_cells // max(len(compared), 1))
    if len(compared) < 2 or len(items) < _PAIRS.fewest_items:
        return independent
    residual, variance, ability = _rasch(*patterns.dense(compared, items, np.float32))
    spread, squares = np.sqrt(variance), residual**2
    of_copies = np.float32(1 - 1 / len(items)) * (spread @ spread.T)
    is_pair = np.triu(of_copies > 0, 1)
    if not is_pair.any():
        return independent
    error = np.sqrt((variance @ variance.T + squares @ squares.T)[is_pair] / 2)
    pull = np.outer(ability, ability)[is_pair]
    z = _without_slopes((residual @ residual.T)[is_pair] / error, pull)
    threshold = _threshold(z)
    if threshold == np.inf:
        return independent

    size = np.sqrt(variance.sum(axis=1))
    of_copies, of_all_items = of_copies[is_pair], np.outer(size, size)[is_pair]
    covariance = np.clip(z * error, -of_copies, of_copies)
    counted = np.abs(z) >= threshold
    of_each = 2 * (n - 1) / (len(compared) * (len(compared) - 1))
    effect = of_each * float((covariance / of_copies)[counted].sum())
    if effect < max(1 / _PAIRS.matters - 1, _PAIRS.standard_errors * (2 / len(items)) ** 0.5):
        return independent
    effect_on_means = of_each * float((covariance / of_all_items)[counted].sum())
    effect_on_slopes = of_each * float((covariance / of_all_items * pull)[counted].sum())
    share = 1 / (1 + max(effect_on_means, effect_on_slopes, 0.0))
    one_family = np.zeros_like(is_pair)
    one_family[is_pair] = (z >= threshold) & (covariance >= _PAIRS.likeness * of_copies)
    distinct = list[int]()
    for k in range(len(compared)):
        if not one_family[distinct, k].any():
            distinct.append(k)
    return NearDuplicates(n, n / (1 + effect), share, compared[distinct])


def _without_slopes(z: Array, pull: Array) -> Array:
    """Take off what z rises with the product of abilities, which it does if slopes differ."""
    middling = np.abs(z - np.median(z)) < _PAIRS.middling
    x = pull - pull[middling].mean()
    rise = float(x[middling] @ z[middling]) / (float(x[middling] @ x[middling]) + _PAIRS.ridge)
    left = z - max(rise, 0.0) * x
    left -= np.median(left)
    for _ in range(3):  # to the middle of the pairs that are not alike
        left -= np.median(left[np.abs(left) < _PAIRS.middling])
    return np.asarray(left)


def _threshold(z: Array) -> float:
    """Least z from which on few pairs are falsely called alike, or infinity."""
    lowest = -NormalDist().inv_cdf(_PAIRS.rate)  # at a lower one normal values alone are too many
    high = np.sort(z[z > lowest])[::-1]
    as_low = np.sort(-z[z < -lowest])
    n_mirrored = len(as_low) - np.searchsorted(as_low, high)
    normal_tail = np.exp(-(high**2) / 2) / (high * np.sqrt(2 * np.pi))  # Mills' bound
    n_false = np.maximum(n_mirrored, len(z) * normal_tail)
    return float(high[n_false <= _PAIRS.rate * np.arange(1, len(high) + 1)].min(initial=np.inf))


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
    easiness, ability = (
        np.log((share.sum(axis=axis) + 0.5) / ((answered - share).sum(axis=axis) + 0.5))
        for axis in (0, 1)
    )
    ability -= ability.mean()
    p = np.empty_like(share)

    def predict() -> None:
        np.subtract(-easiness, ability[:, None], out=p)
        np.exp(p, out=p)
        np.add(p, 1, out=p)
        np.divide(answered, p, out=p)

    predict()
    for _ in range(_PAIRS.turns):
        largest = 0.0
        for axis, mode in ((0, easiness), (1, ability)):
            expected = p.sum(axis=axis)
            squares = np.einsum(("ij,ij->j", "ij,ij->i")[axis], p, p)
            score = share.sum(axis=axis) - expected - mode / _PAIRS.prior_variance
            step = np.clip(score / (expected - squares + 1 / _PAIRS.prior_variance), -1, 1)
            np.add(mode, step, out=mode)
            largest = max(largest, float(np.abs(step).max()))
            predict()
        if largest < _PAIRS.settled:
            break
    standard = ability - ability.mean()
    return share - p, p - p**2, standard / max(float(standard.std()), 1e-9)
