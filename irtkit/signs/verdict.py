"""The verdict on the sign of every item's slope: a local false sign rate, and a Bayes factor.

A negative slope means that the weak get an item right and the strong get it wrong. A test of one
item at a time has little power where respondents are few. Here every item is judged with the
distribution of slopes that all items teach as its prior (empirical Bayes): the posterior
probability that its slope lies below 0, 1 − the local false sign rate of Stephens (2017), and the
log Bayes factor of its being inverted against its being of another kind.

A matrix of noise can be told as slopes to both sides of 0 as well. The verdicts are therefore
averaged with ½ by the posterior probability that there are slopes at all, the mixture's likelihood
against that of slopes all 0.

Respondents that answer alike are fewer witnesses than they are many: evidence counts for the share
that ``dependence`` finds.

Which slopes are called negative is a decision at a false-discovery rate: items are taken in the
order of the probability that their slope is below 0, as long as that is above ½ and the mean of
the remaining doubt, 1 − p, over those taken stays at or under the rate (Newton, Noueiry, Sarkar &
Ahlquist 2004). Items whose fitted slope is above 0 are not taken: the fit and the test disagree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL, blocks
from irtkit.signs.dependence import Dependence, dependence_of
from irtkit.signs.mixture import SlopeGrid, SlopeMixture, learned_mixture, log_likelihood
from irtkit.signs.score_test import ProportionScore, SlopeScore, proportion_score, slope_score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array


_LOG_PRIOR_ODDS = -7.0
"""Of slopes against none: the mixture gains some 4 nats at most on coin flips, and 17 or more on
five items that 500 respondents answered. On 48 matrices of coin flips the posterior probability of
slopes is at most 0.03; with −3 in its place, 0.6."""
_DAMPED_FROM, _DAMPING = 10.0, 3.0
"""Log odds beyond this (a probability of 0.99995) grow logarithmically, at first as before and at
half the pace 3 nats on: nothing is as sure as a likelihood that is exact only if the model is, and
the order of the items stays visible in numbers that would otherwise all print as 1."""

FALSE_DISCOVERY_RATE = 0.05
"""Of what is called negative unasked: the level that is usual for statements."""


class Verdict(NamedTuple):
    """How likely slopes are negative, each of shape (n_items,); NaN without responses."""

    p_negative: Array
    """Probability that the slope is below 0."""
    wrong_key: Array
    """Log of how many times likelier the responses are if the item is inverted than if not."""


class SlopeSigns(NamedTuple):
    """What responses alone say about the sign of every slope, and what that rests on."""

    proportion: ProportionScore
    dependence: Dependence
    score: SlopeScore
    """Weighted by ``dependence.share``."""
    mixture: SlopeMixture
    p_any_slope: float
    """Probability that there are slopes at all, and not only noise."""
    verdict: Verdict

    def weighted(self, share: float) -> SlopeSigns:
        """Judge anew, with evidence that counts for this ``share`` and not for the one found."""
        answered = ~np.isnan(self.verdict.p_negative)
        score = self.score.weighted(share / self.dependence.share)
        return judged(self.proportion, self.dependence._replace(share=share), score, answered)


def slope_signs(patterns: Patterns) -> SlopeSigns:
    """Judge every item by the responses of real respondents."""
    proportion = proportion_score(patterns)
    dependence = dependence_of(patterns, proportion)
    score = slope_score(patterns, proportion).weighted(dependence.share)
    return judged(proportion, dependence, score, patterns.margins.item_responses[REAL] > 0)


@np.errstate(under="ignore")
def judged(
    proportion: ProportionScore,
    dependence: Dependence,
    score: SlopeScore,
    answered: NDArray[np.bool_],
) -> SlopeSigns:
    """Learn the mixture of slopes from the items that were answered, and judge these with it."""
    from scipy.special import expit

    distinct, place, n_alike = score.chosen(np.flatnonzero(answered)).distinct()
    grid = SlopeGrid.for_information(float(distinct.information.max()))
    mixture = learned_mixture(distinct, n_alike, grid)
    p_regular, p_inverted, p_flat = mixture.shares
    steep, flat = mixture.masses(grid)
    falling, inverted, flat_falling = _log_marginals(
        distinct, -grid.size, p_inverted * steep + p_flat * flat, steep, p_flat * flat
    )
    (rising,) = _log_marginals(distinct, grid.size, p_regular * steep + p_flat * flat)
    gain = float(n_alike @ np.logaddexp(falling, rising))
    p_any_slope = float(expit(gain + _LOG_PRIOR_ODDS))
    p_negative = p_any_slope * expit(_damped(falling - rising)) + (1 - p_any_slope) / 2
    wrong_key = inverted - np.logaddexp(rising, flat_falling) + np.log1p(-p_inverted)
    wrong_key[distinct.information == 0] = 0.0
    by_item = np.full((2, len(answered)), np.nan)
    by_item[:, answered] = p_negative[place], wrong_key[place]
    return SlopeSigns(proportion, dependence, score, mixture, p_any_slope, Verdict(*by_item))


def called_negative(
    p_negative: ArrayLike, rate: float = FALSE_DISCOVERY_RATE, *, slope: Array | None = None
) -> NDArray[np.bool_]:
    """Items whose slope is called negative.

    Items without a probability, or with a fitted ``slope`` above 0, are left out.
    """
    p = np.nan_to_num(np.asarray(p_negative, dtype=np.float64))
    if slope is not None:
        p = np.where(may_fall(slope), p, 0.0)
    order = np.argsort(-p, kind="stable")
    doubt = np.cumsum(1 - p[order]) / np.arange(1, len(order) + 1)
    found = np.zeros(len(p), dtype=np.bool_)
    found[order[: np.searchsorted(doubt, rate, side="right")]] = True
    return found & (p > 0.5)


def may_fall(slope: Array) -> NDArray[np.bool_]:
    """Items whose fitted slope is below 0; all, if they have a common slope (1PL)."""
    common = len(np.unique(slope[~np.isnan(slope)])) < 2
    return np.asarray((slope < 0) | common)


def _log_marginals(score: SlopeScore, slopes: Array, *masses: Array) -> Array:
    """Log of the likelihoods of every item, summed over slopes with several sets of masses."""
    found, weights = np.empty((len(masses), len(score.score))), np.stack(masses, axis=1)
    for some in blocks(len(score.score), len(slopes)):
        likelihood = log_likelihood(score.chosen(some), slopes)
        peak = likelihood.max(axis=1)
        likelihood -= peak[:, None]
        np.exp(likelihood, out=likelihood)
        found[:, some] = np.log(np.maximum(likelihood @ weights, 1e-300)).T + peak
    return found


def _damped(log_odds: Array) -> Array:
    size = np.abs(log_odds)
    beyond = np.maximum(size - _DAMPED_FROM, 0)
    damped = np.minimum(size, _DAMPED_FROM) + _DAMPING * np.log1p(beyond / _DAMPING)
    return np.asarray(np.copysign(damped, log_odds))


def false_discovery(p: Array) -> Array:
    """q-values of p-values: the least false-discovery rate at which each is called.

    NaN stays NaN and counts as no test (Benjamini & Hochberg 1995, *JRSS B* 57, 289–300).
    """
    q = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    if len(tested):
        order = tested[np.argsort(p[tested], kind="stable")]
        ratio = p[order] * len(order) / np.arange(1, len(order) + 1)
        q[order] = np.minimum(np.minimum.accumulate(ratio[::-1])[::-1], 1.0)
    return q
