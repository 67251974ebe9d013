"""The sign of every item's slope, as the responses alone show it, whatever model is fitted later.

**Score test.** The *proportion score* θ stands in for ability, with mean 0 and SD 1. It is the
proportion correct of a respondent. If cells are missing, the mean easiness of the items answered is
subtracted (an additive two-way fit). At a = 0, the log-likelihood of a slope a has the derivative U
= Σ (yᵢ − p)(θᵢ − θ̄) and the information V = p(1 − p) Σ (θᵢ − θ̄)² n/(n − 1) (Rao 1948). It changes
by about aU − a²V/2. An item's own part in θ, Σ (yᵢ − p)² ∂θᵢ/∂yᵢ, is taken out of U. Design effects
lower the weight of repeated trials and near-duplicates.

**Prior.** Slopes are N(μ, τ²) for regular, N(−μ, τ²) for inverted and N(0, φ²) for flat items,
learned from all items of the matrix by EM (Efron 2008). p_negative is the probability of a slope
below 0, one minus the local false sign rate (Stephens 2017), averaged with ½ by the probability
that there are slopes at all. Items are called negative at a false-discovery rate (Newton et al.
2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.mixtures import memberships
from irtkit.data.patterns import REAL, float_blocks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

FALSE_DISCOVERY_RATE = 0.05  # Default level at which items are called negative.


@dataclass(frozen=True)
class _Learning:
    """How the mixture of slopes is learned (``benchmarks/near_copies.py``)."""

    most_turns: int = 20  # Of the additive fit.
    settled: float = 1e-3  # Change of scores that ends it.
    no_variance: float = 1e-9  # Far below the least variance, and above rounding errors.
    least_respondents: int = 4  # Three split in one way.
    most_items: int = 4000  # That the mixture is learned from.
    most_steps: int = 100  # Of the EM.
    least_gain: float = 1e-3  # In log-likelihood, by which the EM goes on.
    pseudo_items: float = 10.0  # That the prior shares count for.
    spread_items: float = 5.0  # That the prior spread counts for.
    least_spread: float = 0.3  # Of τ/μ, as V of steep items is too large.
    spread: float = 0.35  # Prior value of τ/μ.
    flatness: float = 1 / 3  # Largest φ/μ.
    log_prior_odds: float = -7.0  # Of slopes: on coin flips the mixture gains 4 nats.
    damped_from: float = 10.0  # Log odds beyond which grow logarithmically.
    damping: float = 3.0  # Log odds that are the unit of this growth.


_LEARNING = _Learning()
_USUAL = np.array([0.9, 0.05, 0.05])  # Prior shares of regular, inverted and flat items.


class ProportionScore(NamedTuple):
    """Total-score proxy for ability, 0 for respondents who are not scored."""

    value: Array  # Mean 0 and SD 1 among the respondents scored.
    derivative: Array  # Of the value by the number right.
    scored: NDArray[np.bool_]  # Real respondents with a response.


class SlopeScore(NamedTuple):
    """Score U and information V of every item's slope at 0, in logits per SD of the score."""

    score: Array
    information: Array  # 0 where all responses are alike.

    @property
    def z(self) -> Array:
        """U/√V, standard normal if the slope is 0, and NaN if all responses are alike."""
        root = np.sqrt(self.information)
        return np.divide(self.score, root, out=np.full_like(root, np.nan), where=root > 0)

    def weighted(self, share: float) -> SlopeScore:
        """Return the score and information of a ``share`` of the respondents."""
        return SlopeScore(share * self.score, share * self.information)


class SlopeMixture(NamedTuple):
    """Distribution of slopes among items, in logits per SD of the proportion score."""

    typical: float  # Mean μ of regular slopes; of inverted ones −μ.
    spread: float  # SD τ of both.
    flat_spread: float  # SD φ of flat slopes.
    shares: Array  # Of regular, inverted and flat items.


class SlopeSigns(NamedTuple):
    """What responses alone say about the sign of every slope, and what that rests on."""

    proportion: ProportionScore
    share: float  # What evidence counts for, of that of as many independent respondents.
    score: SlopeScore  # Weighted by the share.
    mixture: SlopeMixture
    p_any_slope: float  # Probability that there are slopes at all, and not only noise.
    p_negative: Array  # Probability that each slope is below 0, NaN without responses.

    def weighted(self, share: float) -> SlopeSigns:
        """Judge again with another share."""
        answered = ~np.isnan(self.p_negative)
        return _judged(self.proportion, share, self.score.weighted(share / self.share), answered)


def slope_signs(patterns: Patterns, share: float = 1.0) -> SlopeSigns:
    """Judge every item by real respondents, with their evidence multiplied by ``share``."""
    proportion = proportion_score(patterns)
    score = slope_score(patterns, proportion).weighted(share)
    return _judged(proportion, share, score, patterns.margins.item_responses[REAL] > 0)


def proportion_score(patterns: Patterns) -> ProportionScore:
    """Proportion correct of all respondents, less the mean easiness of the items answered."""
    scored = patterns.answering
    margins = patterns.margins
    per_response = np.where(scored, 1 / np.maximum(margins.respondent_responses, 1), 0.0)
    value = right = per_response * margins.respondent_right
    if not patterns.complete:
        responses = np.maximum(margins.item_responses[REAL], 1)
        share = margins.item_right[REAL] / responses
        easiness_met = np.zeros_like(right)
        for _ in range(_LEARNING.most_turns):
            ability = (right - easiness_met) * scored
            easiness = share - patterns.response_sums(ability) / responses
            last = easiness_met
            easiness_met = per_response * patterns.response_scores(easiness)
            easiness_met[scored] -= easiness_met[scored].mean()
            if np.abs(easiness_met - last).max() < _LEARNING.settled:
                break
        value = right - easiness_met
    value = np.where(scored, value - value[scored].mean(), value)
    sd = max(float(value[scored].std()), _LEARNING.no_variance)
    return ProportionScore(value / sd, per_response / sd, scored)


def slope_score(patterns: Patterns, proportion: ProportionScore) -> SlopeScore:
    """Score and information of every item, from the responses of real respondents."""
    n_scored = proportion.scored.sum()
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    share = patterns.margins.item_right[REAL] / responses
    right = patterns.right_sums(proportion.value)
    answered = patterns.response_sums(proportion.value)
    squares = patterns.response_sums(proportion.value**2) - answered**2 / responses
    n = np.minimum(responses, n_scored)
    information = share * (1 - share) * np.maximum(squares, 0) * (n / np.maximum(n - 1, 1))
    score = right - share * answered - _squares(patterns, proportion.derivative, share)
    varied = (information > _LEARNING.no_variance) & (n_scored >= _LEARNING.least_respondents)
    tested = SlopeScore(np.where(varied, score, 0.0), np.where(varied, information, 0.0))
    if not (patterns.repeated and varied.any()):
        return tested
    return tested.weighted(independent_share(patterns, proportion.value**2, share, varied))


def independent_share(
    patterns: Patterns, weights: Array, share: Array, varied: NDArray[np.bool_]
) -> float:
    """Independent responses that the trials of respondents are worth, of as many trials.

    This is a ratio of two variances about the proportion correct of an item: of single trials, and
    of the sums of each respondent's trials. Respondents have weights. Only ``varied`` items enter.
    """
    together = _squares(patterns, weights, share)[varied].sum()
    apart = _squares_of_trials(patterns, weights, share)[varied].sum()
    return min(1.0, float(apart / together))


def _squares(patterns: Patterns, weights: Array, share: Array) -> Array:
    """Sum over respondents of a weight times (right − share · responses)², by item."""
    if not patterns.repeated:
        return _squares_of_trials(patterns, weights, share)
    total = np.zeros_like(share)
    for rows, right, tried in float_blocks(patterns):
        total += weights[rows] @ (right - tried * share) ** 2
    return total


def _squares_of_trials(patterns: Patterns, weights: Array, share: Array) -> Array:
    """The same, each trial by itself: y² = y for a response of 0 or 1."""
    answered = patterns.response_sums(weights)
    return (1 - 2 * share) * patterns.right_sums(weights) + share**2 * answered


def _judged(
    proportion: ProportionScore, share: float, score: SlopeScore, answered: NDArray[np.bool_]
) -> SlopeSigns:
    """Judge every item, and keep what the judgement rests on."""
    mixture, p_any_slope, p_negative = signs_of(score, answered)
    return SlopeSigns(proportion, share, score, mixture, p_any_slope, p_negative)


def signs_of(score: SlopeScore, answered: NDArray[np.bool_]) -> tuple[SlopeMixture, float, Array]:
    """Learn the mixture of slopes from the items that were answered, and judge these with it.

    The numbers are the probabilities that there are slopes at all, and that each is below 0.
    """
    from scipy.special import expit, log_ndtr

    evidence = SlopeScore(score.score[answered], score.information[answered])
    mixture = learned_mixture(evidence)
    kinds = _Kinds.of(evidence, mixture)
    z = kinds.mean / np.sqrt(kinds.variance)
    falling = np.logaddexp.reduce(kinds.log_joint + log_ndtr(-z))
    rising = np.logaddexp.reduce(kinds.log_joint + log_ndtr(z))
    gain = float(np.logaddexp.reduce(kinds.log_joint).sum())
    p_any_slope = float(expit(gain + _LEARNING.log_prior_odds))
    log_odds = falling - rising
    size = np.abs(log_odds)
    beyond = np.maximum(size - _LEARNING.damped_from, 0)  # grows logarithmically
    size -= beyond
    size += _LEARNING.damping * np.log1p(beyond / _LEARNING.damping)
    p_falling = expit(np.copysign(size, log_odds))
    p_negative = np.full(len(answered), np.nan)
    p_negative[answered] = p_any_slope * p_falling + (1 - p_any_slope) / 2
    return mixture, p_any_slope, p_negative


def learned_mixture(score: SlopeScore) -> SlopeMixture:
    """Mixture under which the score tests are most likely, by EM from their second moment.

    If there are very many items, every k-th in the order of z is used, so that the order of the
    items makes no difference.
    """
    every = -(-len(score.score) // _LEARNING.most_items)
    sample = np.lexsort((score.information, np.nan_to_num(score.z)))[every // 2 :: every]
    u = score.score[sample]
    v = score.information[sample]
    least = 0.1 / np.sqrt(v.max() + _LEARNING.no_variance)
    second_moment = max((u**2 - v).sum(), 0) / max((v**2).sum(), _LEARNING.no_variance)
    typical = max(np.sqrt(second_moment), least)
    spread = _LEARNING.spread * typical
    flat_spread = _LEARNING.flatness * typical
    mixture = SlopeMixture(typical, spread, flat_spread, _USUAL)
    pseudo = _LEARNING.pseudo_items * _USUAL
    reached = -np.inf
    for _ in range(_LEARNING.most_steps):
        kinds = _Kinds.of(SlopeScore(u, v), mixture)
        p, log_density = memberships(kinds.log_joint)
        last = reached
        reached = float(log_density.sum())
        if reached < last + _LEARNING.least_gain:
            break
        steep = p[:2]
        n_steep = steep.sum()
        size = kinds.mean[:2] * [[1.0], [-1.0]]  # inverted items turned round
        typical = max(float((steep * size).sum() / n_steep), least)
        squares = (steep * ((size - typical) ** 2 + kinds.variance[:2])).sum()
        squares += _LEARNING.spread_items * (_LEARNING.spread * typical) ** 2
        spread = float(np.sqrt(squares / (n_steep + _LEARNING.spread_items)))
        most_flat = _LEARNING.flatness * typical
        squares = p[2] @ (kinds.mean[2] ** 2 + kinds.variance[2]) + pseudo[2] * most_flat**2
        flat_spread = float(np.sqrt(squares / (p[2].sum() + pseudo[2])))
        mixture = SlopeMixture(
            typical,
            max(spread, _LEARNING.least_spread * typical),
            min(flat_spread, most_flat),
            (p.sum(axis=1) + pseudo) / (len(u) + _LEARNING.pseudo_items),
        )
    return mixture


class _Kinds(NamedTuple):
    """What items would be as regular, inverted and flat ones, (3, n_items) each."""

    log_joint: Array  # Log of share times likelihood ratio to a slope of 0.
    mean: Array  # Of the posterior of the slope.
    variance: Array

    @classmethod
    def of(cls, score: SlopeScore, mixture: SlopeMixture) -> _Kinds:
        """Kinds of items with these scores, by the distribution of slopes."""
        typical, spread, flat_spread, shares = mixture
        prior_mean = np.array([[typical], [-typical], [0.0]])
        precision = np.array([[spread], [spread], [flat_spread]]) ** -2.0
        posterior = precision + score.information
        mean = (prior_mean * precision + score.score) / posterior
        ratio = np.log(precision / posterior) + mean**2 * posterior - prior_mean**2 * precision
        return cls(np.log(shares)[:, None] + ratio / 2, mean, 1 / posterior)


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
    called = np.zeros(len(p), dtype=np.bool_)
    called[order[: np.searchsorted(doubt, rate, side="right")]] = True
    return called & (p > 0.5)


def may_fall(slope: Array) -> NDArray[np.bool_]:
    """Items whose fitted slope is below 0, or all if they have a common slope (1PL)."""
    common = len(np.unique(slope[~np.isnan(slope)])) < 2
    return np.asarray((slope < 0) | common)


def false_discovery(p: Array) -> Array:
    """q-values of p-values: the least false-discovery rate at which each is called.

    NaN stays NaN and is not a test (Benjamini & Hochberg 1995, *JRSS B* 57, 289–300).
    """
    from scipy.stats import false_discovery_control

    q = np.full(len(p), np.nan)
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = false_discovery_control(p[tested])
    return q
