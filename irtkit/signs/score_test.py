"""Score test of every item's slope at 0, with a total score in place of ability.

The **proportion score** stands in for ability before any model is fitted: the share of a
respondent's responses that are right. Where cells are missing, it is less the mean easiness of the
items answered, an item's easiness being its share right less the mean score of those who answered
it (an additive two-way fit, by turns). No fitted ability takes its place: with several dimensions
in a matrix that may follow one which has little to do with being right, and in noise it always
finds a dimension.

With scores θ taken as known, the log-likelihood of a slope a, in logits per SD of the score, has
at a = 0 the derivative U = Σ (yᵢ − p)(θᵢ − θ̄) and the information V = p(1 − p) Σ (θᵢ − θ̄)² (Rao
1948), times n/(n − 1): the variance of U over permutations of the responses. So
log L(a) − log L(0) ≈ aU − a²V/2. Two corrections:

- an item raises the scores of those who get it right, and noise would have slopes above 0. That
  part of U, Σ (yᵢ − p)² ∂θᵢ/∂yᵢ, is taken out, as in a corrected item–total correlation;
- repeated trials of a respondent may all but repeat each other. U and V count for less by the
  variance of U over single trials against that with the trials of a respondent added up first,
  Σ (y − p)²(θᵢ − θ̄)² both times, pooled over the items (a design effect).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL, float_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array


_MAX_TURNS, _SETTLED = 20, 1e-3
"""Turns of the additive fit at most, and the change of a share right at which it ends. With 30 to
95 % of cells missing at random 2 to 5 turns are made, and scores are within 0.001 of their limit;
after 20 they are within 0.14 where two booklets share 10 of 100 items, and far from it with 2."""
_NO_VARIANCE = 1e-9
"""Far below the least variance there is, and above rounding errors of sums in 64 bits."""
_MIN_RESPONDENTS = 4
"""Three respondents split in one way only, one against two: nothing is told of any item."""


class ProportionScore(NamedTuple):
    """Total-score proxy for the ability of respondents."""

    value: Array
    """Mean 0 and SD 1 among the respondents scored, 0 for the others; (n_respondents,)."""
    derivative: Array
    """Of the value by the number right; 0 for those not scored."""
    scored: NDArray[np.bool_]
    """Real respondents with a response."""


class SlopeScore(NamedTuple):
    """Score and information of every item's slope at 0, in logits per SD of the score."""

    score: Array
    """U, (n_items,)."""
    information: Array
    """V, (n_items,); 0 where all responses are alike."""

    @property
    def z(self) -> Array:
        """U/√V, standard normal where there is no slope; NaN where all responses are alike."""
        root = np.sqrt(self.information)
        return np.divide(self.score, root, out=np.full_like(root, np.nan), where=root > 0)

    def chosen(self, some: slice | NDArray[np.intp]) -> SlopeScore:
        """Return those of some items."""
        return SlopeScore(self.score[some], self.information[some])

    def distinct(self) -> tuple[SlopeScore, NDArray[np.intp], NDArray[np.intp]]:
        """Every pair of values once, where each item's stands among them, and how many have it."""
        pairs, place, n_alike = np.unique(
            np.stack(self), axis=1, return_inverse=True, return_counts=True
        )
        return SlopeScore(*pairs), place, n_alike

    def weighted(self, share: float) -> SlopeScore:
        """Return those of a ``share`` of the respondents."""
        return SlopeScore(share * self.score, share * self.information)


def proportion_score(patterns: Patterns) -> ProportionScore:
    """Proportion score of all respondents."""
    scored = patterns.answering
    per_response = np.where(scored, 1 / np.maximum(patterns.margins.respondent_responses, 1), 0.0)
    value = per_response * patterns.margins.respondent_right
    if not patterns.complete:
        value -= _easiness_met(patterns, value, per_response)
    value[scored] -= value[scored].mean()
    sd = max(float(value[scored].std()), _NO_VARIANCE)
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
    varied = (information > _NO_VARIANCE) & (n_scored >= _MIN_RESPONDENTS)
    found = SlopeScore(np.where(varied, score, 0.0), np.where(varied, information, 0.0))
    if not (patterns.repeated and varied.any()):
        return found
    return found.weighted(independent_share(patterns, proportion.value**2, share, varied))


def independent_share(
    patterns: Patterns, weights: Array, share: Array, varied: NDArray[np.bool_]
) -> float:
    """Independent responses that the trials of respondents are worth, of as many trials.

    The variance of single trials about the share right of their item over that with the trials of
    a respondent added up first; respondents have weights, and some items are left out.
    """
    together = _squares(patterns, weights, share)[varied].sum()
    apart = _squares_of_trials(patterns, weights, share)[varied].sum()
    return min(1.0, float(apart / together))


def _easiness_met(patterns: Patterns, right: Array, per_response: Array) -> Array:
    """Mean easiness of the items that each respondent answered, 0 for those not scored.

    ``right`` is the share right of every respondent, ``per_response`` that of one response.
    """
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    share, scored = patterns.margins.item_right[REAL] / responses, per_response > 0
    met = np.zeros_like(right)
    for _ in range(_MAX_TURNS):
        easiness = share - patterns.response_sums((right - met) * scored) / responses
        before, met = met, np.zeros_like(met)
        for some, _, answered in float_blocks(patterns):
            met[some] = answered @ easiness
        met *= per_response
        met[scored] -= met[scored].mean()
        if np.abs(met - before).max() < _SETTLED:
            break
    return met


def _squares(patterns: Patterns, weights: Array, share: Array) -> Array:
    """Sum over respondents of a weight times (right − share · responses)², by item."""
    if not patterns.repeated:
        return _squares_of_trials(patterns, weights, share)
    total = np.zeros_like(share)
    for some, right, tried in float_blocks(patterns):
        w = weights[some]
        total += w @ right**2 - 2 * share * (w @ (right * tried)) + share**2 * (w @ tried**2)
    return total


def _squares_of_trials(patterns: Patterns, weights: Array, share: Array) -> Array:
    """The same, each trial by itself: y² = y for a response of 0 or 1."""
    answered = patterns.response_sums(weights)
    return (1 - 2 * share) * patterns.right_sums(weights) + share**2 * answered
