"""Whether respondents differ in how much they get right by more than chance.

Where nobody is abler than anybody else, a response is right with the share p of its item, whoever
gives it. Given how often each item was got right, a respondent's number right r then has the mean
M = Σp and the variance V = Σp(1 − p) over the items answered, and S = Σ(r − M)²/V over n
respondents is about n/(n − 1) times a χ² with n − 1 degrees of freedom: homogeneity of shares,
with items of any difficulty (Cochran 1950 tests so whether items differ). With few right or wrong
responses S varies more, by the excess kurtosis of r, Σp(1 − p)(1 − 6p(1 − p))/V².

That a test finds nothing tells something only where it would find what is usual. Abilities with an
SD of 0.8 on items with slopes of 1 add about half of V² − Σ(p(1 − p))², the products of different
items, to the variance of r. It is chance only if S is below the 99.9 % quantile of chance and below
the 1 % quantile of such abilities; both are taken as multiples of a χ² with their mean and variance
(Satterthwaite 1946).

Repeated trials that agree are to count for as many as they are worth: of noise that is copied S
would be larger by the number of copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.data.patterns import REAL

if TYPE_CHECKING:
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

_LEVEL, _MISSED = 0.001, 0.01
"""Share of matrices of noise that are not told, and of those with usual abilities that may be."""
_USUAL = 0.5
"""Of the products: (0.8 · 0.9)², as P(1 − P) is 0.9 p(1 − p) on average over such abilities."""
_FEWEST = 3
"""Respondents: two have but one difference."""


def differ_by_chance(patterns: Patterns) -> bool:
    """Whether shares right differ no more than by chance, and usual abilities would show."""
    from scipy.special import chdtri

    deviation, variance, kurtosis, inflation = _numbers_right(patterns)
    n = len(variance)
    if n < _FEWEST or inflation.max() <= 1:  # of one item everybody has the same variance
        return False
    found = float((deviation**2 / variance).sum()) * (n - 1) / n
    spread = 2 + kurtosis
    of_chance = _multiple(n - 1.0, float(spread.mean()) * (n - 1))
    usual = float((spread * inflation**2).mean()) * (n - 1)
    of_ability = _multiple(float(inflation.mean()) * (n - 1), usual)
    return bool(
        found < chdtri(of_chance[1], _LEVEL) * of_chance[0]
        and found < chdtri(of_ability[1], 1 - _MISSED) * of_ability[0]
    )


def _numbers_right(patterns: Patterns) -> tuple[Array, Array, Array, Array]:
    """Of respondents with V above 0: r − M, V, kurtosis, and usual variance by V."""
    margins = patterns.margins
    share = margins.item_right[REAL] / np.maximum(margins.item_responses[REAL], 1)
    by_response = share * (1 - share)
    variance = patterns.response_scores(by_response)
    some = patterns.real & (variance > 0)
    deviation = margins.respondent_right - patterns.response_scores(share)
    variance, deviation = variance[some], deviation[some]
    squares = patterns.response_scores(by_response**2)[some]
    inflation = 1 + _USUAL * (variance - squares / variance)
    return deviation, variance, (variance - 6 * squares) / variance**2, inflation


def _multiple(mean: float, variance: float) -> tuple[float, float]:
    """A factor and degrees of freedom of χ² that give a mean and a variance."""
    return variance / (2 * mean), 2 * mean**2 / variance
