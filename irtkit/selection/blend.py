"""A ranking of items for the score: what a subset leaves unknown about the mean of all items.

Items are taken one by one, each that which most lowers the variance of the mean of all items given
those taken, under the covariance

    Σ = (1 − α)·S + α·(Cov_θ[Pᵢ, Pⱼ] + δᵢⱼ·E[Pᵢ(1 − Pᵢ)])

of answers: S is the sample covariance among the calibrated respondents, which knows what items have
in common beyond ability but is noise where respondents are few; the rest is what the model says. At
α = 0 it is the forward selection of a regression of the score, at 1 the model alone. Choosing by
Fisher information instead takes steep items that say the same, and loses to items drawn at random.

Σ = FFᵀ + D with D diagonal and F as wide as there are respondents and abilities integrated over. So
the covariance of the rest given those taken follows from columns of Σ made on the way (a pivoted
Cholesky decomposition), and no array is items × items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.scoring.scores import Cells
from irtkit.suspects.flags import flag_items, flagged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array, ItemParameters

    Single = NDArray[np.float32]

_ALPHA = 0.5
"""Share of the model in Σ: 0.35 to 0.65 differ by less than the luck of splits."""
_SPREAD = 1.25
"""SD of the abilities of Σ, in SDs of the population. New respondents lie farther out than the
fitted ones say; of 1, 1.25 and 1.5 the errors on real boards differ by their luck."""
_REACH, _N_NODES = 4.0, 41
"""Abilities integrated over go so many SDs to each side, in steps of 0.25 SDs of the population,
which errs by 1e-3 of a probability at a slope of 10."""
_LEAST = 1e-6
"""Share of the variance of an item that is none: rounding of sums in 32 bits."""


class ItemCovariance(NamedTuple):
    """Σ of the items of a fit that something is known of, as what it is made of."""

    known: Places
    """Which items of the fit they are."""
    allowed: NDArray[np.bool_]
    """Which of them may be asked: those that :func:`irtkit.flag_items` does not list."""
    items: ItemParameters
    """In SDs of ability in the population."""
    answers: Single
    """Share right of real respondents, (n, n_items); where missing, what the model expects."""

    @classmethod
    def of(cls, result: FitResult, like: ItemCovariance | None = None) -> ItemCovariance:
        """Return that of the items of a fit, or of those that another one with the same has."""
        unit = result.parameters.standardised(result.latent_sd, result.latent_mean)
        if like is None:
            known = np.flatnonzero(unit.known)
            allowed = _not_suspect(result)[known]
        else:
            known, allowed = like.known, like.allowed
        items = type(unit)(*(np.nan_to_num(part[known]) for part in vars(unit).values()))
        patterns = result.patterns
        rows = np.flatnonzero(patterns.real & (patterns.margins.respondent_responses > 0))
        cells = Cells.of(patterns, rows, known)
        answers = np.asarray(cells.right, dtype=np.float32)
        for row in np.flatnonzero((cells.tried == 0).any(axis=1)):
            missing = cells.tried[row] == 0
            ability = (result.ability[rows[row]] - result.latent_mean) / result.latent_sd
            answers[row, missing] = items.chosen(missing).probability(ability)
        return cls(known, allowed, items, answers)

    def ranking(self, k: int) -> Places:
        """Places of the k items to ask first, best first; fewer if no more may be asked."""
        factor, noise = _factored(self)
        return _greedy(factor, noise, k, self.allowed & (self.items.discrimination > 0))


def _not_suspect(result: FitResult) -> NDArray[np.bool_]:
    """Which items `flag_items` does not list, (n_items,)."""
    settings: Any = flag_items.__kwdefaults__
    suspect = set(flagged(result, **settings)[0].index)
    return np.array([label not in suspect for label in result.item_labels])


def _factored(covariance: ItemCovariance) -> tuple[Single, Array]:
    """F and the diagonal of D."""
    theta = _SPREAD * np.linspace(-_REACH, _REACH, _N_NODES)
    weight = np.exp(-0.5 * (theta / _SPREAD) ** 2)
    weight /= weight.sum()
    p = covariance.items.probability(theta)
    n, n_items = covariance.answers.shape
    factor = np.empty((n_items, n + len(theta)), dtype=np.float32)
    spread = np.sqrt((1 - _ALPHA) / max(n - 1, 1))
    factor[:, :n] = ((covariance.answers - covariance.answers.mean(axis=0)) * np.float32(spread)).T
    factor[:, n:] = ((p - weight @ p) * np.sqrt(_ALPHA * weight)[:, None]).T
    return factor, _ALPHA * (weight @ (p * (1 - p)))


def _greedy(factor: Single, noise: Array, k: int, allowed: NDArray[np.bool_]) -> Places:
    """Pivots of the decomposition: each the item with the largest Cov(item, mean)²/Var(item)."""
    n_items = len(factor)
    variance = np.einsum("ij,ij->i", factor, factor).astype(np.float64) + noise
    with_mean = (factor @ factor.sum(axis=0)).astype(np.float64) + noise
    least = np.maximum(_LEAST * variance, np.finfo(np.float64).tiny)
    columns, taken = np.empty((min(k, n_items), n_items)), []
    open_ = allowed.copy()
    for step in range(len(columns)):
        open_ &= variance > least
        if not open_.any():
            break
        gain = np.where(open_, with_mean**2 / np.maximum(variance, least), -1.0)
        pivot = int(gain.argmax())
        before = columns[:step]
        column = factor @ factor[pivot] - before.T @ before[:, pivot]
        column[pivot] += noise[pivot]
        column /= np.sqrt(variance[pivot])
        with_mean -= column * (with_mean[pivot] / np.sqrt(variance[pivot]))
        variance -= column**2
        columns[step] = column
        open_[pivot] = False
        taken.append(pivot)
    return np.array(taken, dtype=np.intp)
