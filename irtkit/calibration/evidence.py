"""What responses say about the slope of each item, before any model is fitted.

**Strength** of a respondent is the share of responses that are right; where cells are missing,
less how easy the items were that were answered, an item's ease being its share right less how
strong those were who answered it (additive effects, by turns). It takes no model: with several
dimensions in a matrix the fitted ability may follow one that has little to do with being right,
and noise always looks like a dimension of its own.

**Evidence** of an item is the score of its slope at 0, U = Σ (yᵢ − p)(θᵢ − θ̄), with its variance
V under no slope (Rao 1948; that of a permutation, which n respondents make n/(n − 1) times
larger), so that log L(a) ≈ aU − a²V/2. An item raises the strength of those
who get it right; that part of U, Σ (yᵢ − p)² ∂θᵢ/∂xᵢ, is taken out, or else noise would have
slopes above 0. Repeated trials of one respondent may all but repeat each other; their evidence
counts for less, by Σ (y − p)²(θᵢ − θ̄)² over single trials against the same with the trials of a
respondent added up first, pooled over the items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.patterns import float_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.patterns import Patterns

    Array = NDArray[np.float64]

_ADJUSTMENTS = 20
_ADJUSTED = 1e-3
"""Change of a share below which strength is settled."""
_NO_VARIANCE = 1e-9
_LEAST_RESPONDENTS = 4
"""Of two or three nothing can be told: a single split of theirs is all there is."""


class Strength(NamedTuple):
    """How strong the respondents are, without a model."""

    value: Array
    """Standardised among the respondents kept, 0 for the others; (n_respondents,)."""
    gain: Array
    """Derivative of the value by the number right; 0 for those not kept."""
    kept: NDArray[np.bool_]
    """Real respondents with a response."""


class Evidence(NamedTuple):
    """What the responses to each item say about its slope, in logits per SD of strength."""

    score: Array
    """U, (n_items,)."""
    information: Array
    """V, (n_items,); 0 where all responses are alike."""

    @property
    def trend(self) -> Array:
        """U/√V, standard normal where there is no slope; NaN where all responses are alike."""
        root = np.sqrt(self.information)
        trend = np.full_like(root, np.nan)
        np.divide(self.score, root, out=trend, where=root > 0)
        return trend

    def chosen(self, some: slice | NDArray[np.intp]) -> Evidence:
        """Return the evidence of some items."""
        return Evidence(self.score[some], self.information[some])

    def weighted(self, share: float) -> Evidence:
        """Return the evidence of a ``share`` of the respondents."""
        return Evidence(share * self.score, share * self.information)


def evidence_of(rows: Patterns) -> Evidence:
    """What the responses of real respondents say about the slope of every item."""
    strength = strength_of(rows)
    responses = np.maximum(rows.margins.item_responses[0], 1)
    share = rows.margins.item_right[0] / responses
    right, answered = rows.weighted_sums(strength.value)
    spread = rows.weighted_sums(strength.value**2)[1] - answered**2 / responses
    information = share * (1 - share) * np.maximum(spread, 0)
    n = np.minimum(responses, strength.kept.sum())
    information *= n / np.maximum(n - 1, 1)
    score = right - share * answered - _squares(rows, strength.gain, share)
    varied = (information > _NO_VARIANCE) & (strength.kept.sum() >= _LEAST_RESPONDENTS)
    found = Evidence(np.where(varied, score, 0.0), np.where(varied, information, 0.0))
    if not (rows.repeated and varied.any()):
        return found
    together = _squares(rows, strength.value**2, share)[varied].sum()
    apart = _squares_of_trials(rows, strength.value**2, share)[varied].sum()
    return found.weighted(min(1.0, float(apart / together)))


def strength_of(rows: Patterns) -> Strength:
    """Strength of all respondents."""
    kept = rows.real & (rows.margins.respondent_responses > 0)
    share = np.where(kept, 1 / np.maximum(rows.margins.respondent_responses, 1), 0.0)
    value = share * rows.margins.respondent_right
    if not rows.complete:
        value -= _ease_met(rows, value, share)
    value[kept] -= value[kept].mean()
    spread = max(float(value[kept].std()), _NO_VARIANCE)
    return Strength(value / spread, share / spread, kept)


def _ease_met(rows: Patterns, right: Array, share: Array) -> Array:
    """Mean ease of the items that each respondent answered, 0 for those not kept.

    ``right`` is the share right of every respondent, ``share`` that of one response.
    """
    responses = np.maximum(rows.margins.item_responses[0], 1)
    item_share, kept = rows.margins.item_right[0] / responses, share > 0
    met = np.zeros_like(right)
    for _ in range(_ADJUSTMENTS):
        ease = item_share - rows.weighted_sums((right - met) * kept)[1] / responses
        before, met = met, np.zeros(len(met))
        for some, _, answered in float_blocks(rows):
            met[some] = ease.sum() if answered is None else answered @ ease
        met *= share
        met[kept] -= met[kept].mean()
        if np.abs(met - before).max() < _ADJUSTED:
            break
    return met


def _squares(rows: Patterns, weights: Array, share: Array) -> Array:
    """Sum over respondents of a weight times (right − share · responses)², by item."""
    if not rows.repeated:
        return _squares_of_trials(rows, weights, share)
    total = np.zeros_like(share)
    for some, right, tried in float_blocks(rows):
        of_part = weights[some]
        total += of_part @ right**2 - 2 * share * (of_part @ (right * tried))
        total += share**2 * (of_part @ tried**2)
    return total


def _squares_of_trials(rows: Patterns, weights: Array, share: Array) -> Array:
    """The same, each trial by itself: y² = y for a response of 0 or 1."""
    right, answered = rows.weighted_sums(weights)
    return (1 - 2 * share) * right + share**2 * answered
