"""The additive logistic model: how strong a respondent is plus how easy an item is, on logits.

logit P(right) = μ + αᵢ + βⱼ with αᵢ ~ N(0, σ²) of respondents and βⱼ ~ N(0, τ²) of items: the Rasch
model with crossed random effects (Van den Noortgate, De Boeck & Meulders 2003). For a complete
matrix the shares right of respondents and of items are all that it learns from, so that it predicts
what average error can. Adding the logits of both shares would not do: a share is an average over
respondents, or items, that differ, and its logit too flat.

The posterior of every effect is taken as normal, independent of the others, and as near to the true
one as such a posterior can be (Ormerod & Wand 2012). Then its mean m and variance v solve
m/σ² = Σ (y − E P) and 1/v = 1/σ² + Σ E P(1 − P) over the responses, the expectations being over
both effects. Respondents and items take Newton steps in turn. With them move the variances, toward
σ² = Σ m² / Σ (1 − v/σ²), which says the same as σ² = mean of m² + v and gets there sooner
(Schall 1991).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.data.patterns import float_blocks, merged
from irtkit.irf import NORMAL_POINTS, logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

    Places = NDArray[np.intp]

_MOST_SWEEPS = 50
"""A guard against sweeps without end: they end long before, by the next number."""
_SETTLED = 1e-3
"""Change of an effect, in logits, and of a variance, as a share, at which sweeps end. What is left
is a few times that where effects are largest, and moves held-out log-likelihoods by less than 1 %
of the standard errors of gains (``benchmarks/held_out.py``)."""
_LONGEST_STEP = 1.0
"""Of a Newton step, in logits: where P is near 0 or 1 a full one leads astray."""
_LEAST_VARIANCE, _MOST_CHANGE = 1e-6, 4.0
"""Of effects that do not differ, and the factor by which a sweep may change it."""


@dataclass(frozen=True)
class Effects:
    """Effects of respondents, or of items."""

    mean: Array
    """Posterior means, shape (n,)."""
    variance: Array
    """Posterior variances."""
    weight: Array
    """How many respondents, or items, share each effect."""
    spread: float
    """Variance among all of them."""

    def stepped(self, score: Array, information: Array) -> Effects:
        """Return effects after a Newton step."""
        precision = information + 1 / self.spread
        step = (score - self.mean / self.spread) / precision
        mean = self.mean + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        # halfway: mean and variance of an effect that few responses hold would chase each other
        return replace(self, mean=mean, variance=2 / (precision + 1 / self.variance))

    def centred(self) -> tuple[Effects, float]:
        """Return effects with mean 0 and the spread that they show, and the mean they had."""
        centre = float(np.average(self.mean, weights=self.weight))
        mean = self.mean - centre
        known = float(self.weight @ (1 - self.variance / self.spread))
        shown = float(self.weight @ mean**2) / max(known, _LEAST_VARIANCE)
        shown = float(np.clip(shown, self.spread / _MOST_CHANGE, self.spread * _MOST_CHANGE))
        return replace(self, mean=mean, spread=max(shown, _LEAST_VARIANCE)), centre

    def chosen(self, which: Places | slice) -> Effects:
        """Return some of the effects."""
        return replace(
            self, mean=self.mean[which], variance=self.variance[which], weight=self.weight[which]
        )


@dataclass(frozen=True)
class AdditiveModel:
    """Effects of respondents and items, in logits."""

    centre: float
    """μ."""
    respondents: Effects
    items: Effects

    def probability(self, respondent: Places, item: Places) -> Array:
        """P(right) of cells, given their respondents and items."""
        rows, columns = self.respondents.chosen(respondent), self.items.chosen(item)
        mean, variance = rows.mean + columns.mean, rows.variance + columns.variance
        p: Array = _expected(self.centre + mean, variance)[0]
        return p


def _expected(mean: Any, variance: Any) -> tuple[Any, Any]:
    """Means of P and of P(1 − P) where the logit is normal, by the Gauss–Hermite rule."""
    sd, p, information = np.sqrt(variance), np.zeros_like(mean), np.zeros_like(mean)
    for shift, weight in NORMAL_POINTS:
        at = logistic(mean + shift * sd)
        p += weight * at
        at *= weight * (1 - at)
        information += at
    return p, information


def _crossed(centre: float, rows: Effects, columns: Effects) -> tuple[Any, Any]:
    """Means of P and P(1 − P) of all respondents on all items, in 32 bits."""
    mean, variance = (
        one.astype(np.float32)[:, None] + other.astype(np.float32)
        for one, other in ((rows.mean + centre, columns.mean), (rows.variance, columns.variance))
    )
    return _expected(mean, variance)


def additive_model(whole: Patterns) -> AdditiveModel:
    """Fit the additive model to the observed cells, every trial of which counts.

    A respondent or an item without a response has the mean effect.
    """
    patterns, respondents, items = merged(whole)
    model = _start(patterns)
    for _ in range(_MOST_SWEEPS):
        before, model = model, _swept(patterns, model)
        if _change(before, model) < _SETTLED:
            break
    rows, columns = model.respondents.chosen(respondents), model.items.chosen(items)
    return AdditiveModel(model.centre, rows, columns)


def _start(patterns: Patterns) -> AdditiveModel:
    """Start from the logits of shares right."""
    margins = patterns.margins
    right, responses = margins.item_right.sum(axis=0), margins.item_responses.sum(axis=0)
    copies = np.asarray(patterns.copies(np.ones(len(right))))
    rows = _marginal(margins.respondent_right, margins.respondent_responses, patterns.weight)
    centre = np.log((copies @ right + 0.5) / (copies @ (responses - right) + 0.5))
    return AdditiveModel(float(centre), rows, _marginal(right, responses, copies))


def _marginal(right: Array, responses: Array, weight: Array) -> Effects:
    wrong = responses - right
    logit = np.log((right + 0.5) / (wrong + 0.5))
    logit -= np.average(logit, weights=weight)
    spread = max(float(np.average(logit**2, weights=weight)), _LEAST_VARIANCE)
    variance = 1 / (right * wrong / np.maximum(responses, 1) + 1 / spread)
    return Effects(logit, variance, weight, spread)


def _swept(patterns: Patterns, model: AdditiveModel) -> AdditiveModel:
    """Respondents take a step, and items one in view of it."""
    rows, columns = model.respondents, model.items
    mean, variance = np.empty((2, patterns.n))
    score, information = np.zeros((2, len(columns.mean)))
    for some, right, trials in float_blocks(patterns, complete=False, dtype=np.float32):
        now = rows.chosen(some)
        p, spread = _crossed(model.centre, now, columns)
        moved = now.stepped(
            (right - trials * p) @ columns.weight, (trials * spread) @ columns.weight
        )
        mean[some], variance[some] = moved.mean, moved.variance
        p, spread = _crossed(model.centre, moved, columns)
        score += moved.weight @ (right - trials * p)
        information += moved.weight @ (trials * spread)
    rows, shift = replace(rows, mean=mean, variance=variance).centred()
    columns, other = columns.stepped(score, information).centred()
    return AdditiveModel(model.centre + shift + other, rows, columns)


def _change(before: AdditiveModel, after: AdditiveModel) -> float:
    """Largest change of an effect, or of the logarithm of a variance."""
    changes = []
    for one, other in ((before.respondents, after.respondents), (before.items, after.items)):
        changes.append(float(np.abs(other.mean - one.mean).max()))
        changes.append(abs(float(np.log(other.spread / one.spread))))
    return max(changes)
