"""How far a fit draws together respondents who answered different items.

All respondents are taken as drawn from one normal population. Where groups of them answered items
of their own, and a few in common, the fit would rather have all of them at its mean, and a gap
between them comes out too small.

**How much of a gap shows.** Let x tell respondents apart by what they answered, with Σ x = 0 and
Σ x² = 1, and let abilities be N(γ x, 1), in SDs. With W the information of cells, R and C its sums
by respondent and by item, the information on abilities when difficulties are free is
L = R − W C⁻¹ Wᵀ. Along an eigenvector of L with eigenvalue λ, posterior means taken for N(0, 1) are
γ λ/(1 + λ) on average: so much of the gap shows. Undrawn it would be (1 + λ)/λ times as large as
fitted; and if there is none, the fitted s = Σ x θ̂ has a variance of λ/(1 + λ), so that
s √((1 + λ)/λ) is the score test of one.

**Which x**, the random walk of `irtkit.data.weak_links` tells, with the information of cells: those
that are slow in it, and for λ stands xᵀLx. Of two blocks that is I/h in the words there. Items that
are held fixed are not free, and draw nobody to anybody.

Where earlier answers chose the items, as in an adaptive test, x is made of them. A likelihood of
all answers is right then (Mislevy & Wu 1996) and no gap is lost, which these numbers cannot know.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from irtkit.data.components import part_of
from irtkit.data.patterns import REAL
from irtkit.data.weak_links import slow_directions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

_SHOWN, _LOST = 0.85, 0.15
"""Share of a gap from which on it is taken to show, and SDs that one must lose to be spoken of."""
_BY_CHANCE = 0.01
"""Probability of speaking of a gap where there is none, over all directions looked at."""
_SURELY_SEEN = 4.5
"""z of a gap of 1 SD on average, from which on one is told of in nearly all samples: bounds are 2.6
to 2.9, and z is a little less as slopes are estimated (``benchmarks/warnings_of_fit.py``)."""
_SPREAD = (16 * np.sqrt(3) / 15 / np.pi) ** 2
"""The mean over N(0, 1) of a logistic curve with slope a is nearly one with a/√(1 + this · a²)
(Johnson & Kotz 1970)."""
_LEAST_KNOWN = 1e-9
"""Information below which nothing is known."""


class DrawnTogether(NamedTuple):
    """Respondents on two sides, by what they answered, whose abilities are drawn together."""

    x: Array
    """Shape (n_respondents,): the direction; below 0 on one side, above 0 on the other."""
    shown: float
    """Share of a gap that abilities show, λ/(1 + λ)."""
    gap: float
    """Between the means of the sides, as fitted, in SDs of ability."""
    z: float
    """Of no gap, in SDs of what chance makes it."""
    of_one: float
    """What z would be on average of a gap of 1 SD."""
    within: float
    """Information on the ability of a respondent."""

    @property
    def undrawn(self) -> float:
        """The gap if respondents were not drawn together."""
        return self.gap / self.shown

    def is_significant(self, n: int) -> bool:
        """Whether there is a gap, one of n looked at, that loses what matters."""
        lost = self.undrawn - self.gap
        return lost > _LOST and self.z > -float(ndtri(_BY_CHANCE / n / 2))

    @property
    def might_be_missed(self) -> bool:
        """Whether a gap of 1 SD could go untold, and lose more than the error of a difference."""
        error = math.sqrt(2 / (1 + self.within))
        return self.of_one < _SURELY_SEEN and 1 - self.shown > error


def drawn_together(result: FitResult, patterns: Patterns) -> tuple[DrawnTogether, bool] | None:
    """A gap that is drawn together, the surest one, with True; else one that would be, with False.

    None where there is none, and none that matters could go untold.
    """
    if patterns.complete:
        return None
    weak = [found for found in _directions(result, patterns) if found.shown < _SHOWN]
    gaps = [found for found in weak if found.is_significant(len(weak))]
    if gaps:
        return max(gaps, key=lambda found: found.z), True
    missed = [found for found in weak if found.might_be_missed]
    return (min(missed, key=lambda found: found.shown), False) if missed else None


def _directions(result: FitResult, patterns: Patterns) -> Iterator[DrawnTogether]:
    """How far respondents are drawn together along those x that are slow."""
    who = np.flatnonzero(patterns.real & (patterns.margins.respondent_responses > 0))
    real = part_of(patterns, who, np.arange(patterns.cells.shape[1]))
    ability = (result.ability[who] - result.latent_mean) / result.latent_sd
    for value, _ in slow_directions(real):
        x = value - value.mean()
        x /= np.linalg.norm(x)
        known, within = _known(result, real, x)
        shown, apart = known / (1 + known), x[x > 0].mean() - x[x < 0].mean()
        s, of_one = abs(x @ ability), np.sqrt(shown) / apart
        of_all = np.zeros(patterns.n)
        of_all[who] = x
        yield DrawnTogether(of_all, shown, s * apart, s / np.sqrt(shown), of_one, within)


def _known(result: FitResult, real: Patterns, x: Array) -> tuple[float, float]:
    """xᵀLx and xᵀRx, with the information of cells by item and by the side of respondents."""
    right, responses = (counts[REAL] for counts in real.margins[:2])
    overall, sums = right / np.maximum(responses, 1), np.zeros((3, len(right)))
    for side in (x < 0, x > 0):
        n, first, second = (real.response_sums(side * x**power) for power in range(3))
        share = (real.right_sums(side.astype(np.float64)) + overall) / (n + 1)
        sums += _information(result, share) * np.stack([n, first, second])
    drawn = np.divide(sums[1] ** 2, sums[0], out=np.zeros(len(right)), where=sums[0] > 0)
    if result.fixed is not None:
        drawn[result.fixed] = 0
    within = float(sums[2].sum())
    return max(within - float(drawn.sum()), _LEAST_KNOWN), within


def _information(result: FitResult, p: Array) -> Array:
    """Of a response on ability, in SDs, by item: a²(p − c)²(1 − p)/(p(1 − c)²) at a share right p.

    It is less where abilities spread, over which p is a mean.
    """
    parameters = result.parameters
    a, c = parameters.discrimination * result.latent_sd, parameters.guessing
    risen = a * np.maximum(p - c, 0) / (1 - c)
    found = risen**2 * (1 - p) / np.maximum(p, 1e-300) / np.sqrt(1 + _SPREAD * a**2)
    return np.asarray(np.nan_to_num(found))
