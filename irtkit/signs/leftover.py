"""Whether what one ability leaves unexplained has a pattern of its own.

A second dimension makes the deviations of responses from what one ability explains a sum of
products, of respondents with items, on top of noise. The squared singular values of noise fall off
smoothly, and one that belongs to a dimension stands out (parallel analysis compares it with noise
of its own; Horn 1965). Here it is held against the next one: many families of near-copies, of whom
:mod:`irtkit.signs.dependence` speaks, make many large singular values, and none stands out.

- **What is expected** of a respondent is, for every item by itself, a straight line in ability with
  kinks at its quantiles, so that slopes, guessing and skewed abilities are no pattern. Ability is
  the sum of the deviations from the share right, each weighed by the regression of its item on the
  proportion score, so that inverted items count against it: one step of the power method.
- **Deviations are scaled** to the same mean square in every item and every respondent.
- **What stands out** is the largest of the first three to ten ratios of a squared singular value to
  the next: so many further dimensions of equal strength, or families.

It is silent where there is little to go by: with fewer than 30 respondents, or fewer than 20 items
that are neither too easy nor too hard and have enough responses. Of few of both it misses much: an
uncorrelated ability that half of the items ask for is told in nearly all sets from 50 × 100 on and
in most of 30 × 200; one that a fifth asks for, correlated −0.5, from 100 × 200 on, but in a third
of 60 × 200 and hardly ever at 50 × 100 or 30 × 200, where at best it makes pairs disagree.

What it sees, and what its constants do, is measured in ``benchmarks/warnings_of_fit.py`` (20 sets
each; ``--constants``). A few families in all make a pattern, too, and so does a part of the
respondents for whom other items are hard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL
from irtkit.signs.dependence import dense_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array
    from irtkit.signs.score_test import ProportionScore

    Floats = NDArray[np.float32]

_MAX_ITEMS, _MAX_CELLS = 512, 2**17
"""Items and cells looked at: a few milliseconds at any shape."""
_RARE = 0.05
"""Share right, or wrong, below which an item is left out: rare answers of a few respondents make
patterns of chance. With all of them 18 of 20 sets of 200 × 500 with 95 % right are warned of."""
_LEAST_RESPONDENTS, _LEAST_ITEMS, _LEAST_RESPONSES = 30, 20, 10
"""Of fewer nothing is said; the last is of a respondent to the items looked at, and of an item by
the respondents. 30 respondents, or 20 items, show a second ability in few sets as it is."""
_LEAST_KINKS, _PER_KINK, _MOST_KINKS = 2, 20, 8
"""Kinks that curves have at least, respondents for each further one, and most kinks. With three at
most, abilities with an SD of 3 are warned of in 10 of 20 sets of 2,000 × 40; with one for 50
respondents the largest ratio of 60 × 200 is 1.36, not 1.15; twice as many change nothing."""
_RIDGE = 1e-3
"""Of responses, added where an item was not answered on both sides of a kink."""
_LEAST_SQUARE = 0.02
"""Mean square that deviations are taken to have at least: 0.16 is that of an item of middling
difficulty with a slope of 1, and what is known almost surely is not blown up to that. With a
quarter, abilities with an SD of 3 are warned of in 4 of 20 sets of 2,000 × 40."""
_LEAST_RATIO, _FEW, _SPREADS, _RARELY, _WIDE = 1.13, 4.0, 8.0, 4.0, 0.2
"""Ratio from which a pattern is said to stand out where responses are many, and what is added where
they are few: the second over the number n of respondents; the square of the third times the spread
of the largest value in noise; the fourth times the excess of the mean fourth power over that of
usual items, over n, since a few answers that nobody expected make patterns where items are easy or
abilities far apart; and the fifth times m/n², for m items, of which curves with few kinks leave as
much in all. Without the second one of 20 sets of 30 × 1,000 with a guessing of 0.4 is warned of,
and without the fourth four of 30 × 1,000 with 80 % right."""
_USUAL_FOURTH, _MOST_FOURTH = 3.0, 4.5
"""Mean fourth power of scaled deviations, of normal abilities and difficulties (SD 1), and slopes
of 1; and the most that is counted: far abilities, and easy items, make it more, but so do a few
families, who are to be told of."""
_LEAST_VALUES, _PER_VALUE, _MOST_VALUES = 3, 8, 10
"""How many of the first are each compared with the next: two patterns of one strength stand out
after the second, ten families of one size after the ninth. Of few respondents or items, whose last
are near 0, one for so many of them, but no fewer than the first."""


class Leftover(NamedTuple):
    """How strong a pattern there is in what one ability leaves unexplained."""

    ratio: float
    """Of its variance to that of the next one; 1 where nothing can be told."""
    bound: float
    """What one ability leaves stays below."""

    @property
    def stands_out(self) -> bool:
        """Whether one ability is not all that responses have in common."""
        return self.ratio > self.bound


def leftover_of(patterns: Patterns, proportion: ProportionScore) -> Leftover:
    """Look for a pattern in the deviations of some respondents to some items."""
    nothing = Leftover(1.0, 1.0)
    items, who = _chosen(patterns, proportion)
    right, tried = dense_cells(patterns, who, items)
    kept = np.count_nonzero(tried, axis=1) >= _LEAST_RESPONSES
    asked = np.count_nonzero(tried[kept], axis=0) >= _LEAST_RESPONSES
    if kept.sum() < _LEAST_RESPONDENTS or asked.sum() < _LEAST_ITEMS:
        return nothing
    if not (kept.all() and asked.all()):
        right, tried = right[kept][:, asked], tried[kept][:, asked]
    deviation = _deviations(right, tried, proportion.value[who[kept]].astype(np.float32))
    return Leftover(_largest_ratio(deviation), _bound_of(deviation, int(np.count_nonzero(tried))))


def _bound_of(deviation: Floats, n_cells: int) -> float:
    """What the ratio stays below where nothing is left."""
    n, m = deviation.shape
    root = np.sqrt([n, m])
    spread = (1 / root).sum() ** (1 / 3) / root.sum()  # of the largest in noise (Johnstone 2001)
    fourth = float(np.square(np.square(deviation)).sum()) / n_cells
    excess = min(max(fourth, _USUAL_FOURTH), _MOST_FOURTH) - _USUAL_FOURTH
    few = _FEW + _RARELY * excess + _WIDE * m / n
    return float(_LEAST_RATIO + few / n + (_SPREADS * spread) ** 2)


def _chosen(patterns: Patterns, proportion: ProportionScore) -> tuple[Places, Places]:
    """Items, every k-th by easiness or of sparse cells the most answered, and respondents."""
    right, responses = patterns.margins.item_right[REAL], patterns.margins.item_responses[REAL]
    share = right / np.maximum(responses, 1)
    items = np.flatnonzero((share > _RARE) & (share < 1 - _RARE))
    order = -responses[items] if patterns.sparse else share[items]
    every = 1 if patterns.sparse else max(-(-len(items) // _MAX_ITEMS), 1)
    items = items[np.argsort(order, kind="stable")][every // 2 :: every][:_MAX_ITEMS]
    who = np.flatnonzero(proportion.scored)
    most = _MAX_CELLS // max(len(items), 1)
    if len(who) > most:
        who = np.sort(np.random.default_rng(0).choice(who, most, replace=False))
    return items, who


def _deviations(right: Floats, tried: Floats, ability: Floats) -> Floats:
    """Deviations from what one ability explains, of mean square 1, 0 where missing."""
    count = tried.sum(axis=0)
    share = right.sum(axis=0) / count
    deviation = right - tried * share
    slope = ability @ deviation / np.maximum(count * share * (1 - share), 1)
    weighed = np.maximum(tried @ np.abs(slope), np.finfo(np.float32).tiny)
    basis = _basis(deviation @ slope / weighed)
    curves = _curves(right, tried, basis)
    deviation = right - tried * (basis @ curves.T)
    if tried.max() > 1:
        deviation /= np.sqrt(np.maximum(tried, 1))
    n = [np.maximum(np.count_nonzero(tried, axis=axis, keepdims=True), 1) for axis in (0, 1)]
    for axis in (0, 1, 0):
        square = np.square(deviation).sum(axis=axis, keepdims=True) / n[axis]
        deviation *= 1 / np.sqrt(np.maximum(square, _LEAST_SQUARE), dtype=np.float32)
    return deviation


def _curves(right: Floats, tried: Floats, basis: Floats) -> Floats:
    """Coefficients of every item, by least squares."""
    found = right.T @ basis
    if tried.min() == tried.max():  # the basis is orthogonal, and of mean square 1
        return np.asarray(found / (tried[0, 0] * len(basis)))
    one, other = np.triu_indices(basis.shape[1])
    squares = np.empty((right.shape[1], basis.shape[1], basis.shape[1]), np.float32)
    squares[:, one, other] = squares[:, other, one] = tried.T @ (basis[:, one] * basis[:, other])
    squares += _RIDGE * np.eye(basis.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.solve(squares, found[:, :, None])[:, :, 0])


def _basis(ability: Floats) -> Floats:
    """Straight lines with kinks at quantiles, made orthogonal, of mean square 1."""
    n = min(_LEAST_KINKS + len(ability) // _PER_KINK, _MOST_KINKS)
    kinks = np.unique(np.quantile(ability, (np.arange(n) + 0.5) / n))
    bent = [np.maximum(ability - kink, 0) for kink in kinks]
    columns = np.column_stack([np.ones_like(ability), ability, *bent]).astype(np.float64)
    return np.asarray(np.linalg.qr(columns)[0] * len(ability) ** 0.5, dtype=np.float32)


def _largest_ratio(deviation: Floats) -> float:
    """Largest ratio of one of the first squared singular values to the next."""
    from scipy.linalg import eigh

    wide = deviation.shape[0] < deviation.shape[1]
    product: Array = (deviation @ deviation.T if wide else deviation.T @ deviation).astype(float)
    last = len(product) - 1
    first = [last - max(min(len(product) // _PER_VALUE, _MOST_VALUES), _LEAST_VALUES), last]
    squares = np.maximum(eigh(product, eigvals_only=True, subset_by_index=first), 1e-9)
    return float((squares[1:] / squares[:-1]).max())
