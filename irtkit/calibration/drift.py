"""Whether fixed items still have their earlier parameters: a score test of each intercept.

Ability is measured in SDs of the respondents. The parameters of fixed item j have the score s_j and
the complete-data information D_j, and their earlier estimates have the covariance C_j. If the mean
and log SD of ability are off by η, then the parameters are off by H_j η, so that

    D_j⁻¹ s_j ~ N(H_j η, f D_j⁻¹ + C_j),

where f is the number of respondents for each independent one. Missing information couples items
almost only along H_j: η becomes less certain, and the residuals stay as they are. Generalised least
squares estimates η, and the residual of each intercept is tested. The item with the largest
residual is set aside until none is significant (Holm 1979). Abilities are then estimated without
these items, and the other items are tested again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from irtkit.calibration.likelihood import MarginalLikelihood
from irtkit.calibration.maximise import GridSchedule
from irtkit.data.patterns import REAL, part_of
from irtkit.irf import Items, complete_data_information, curvatures, curves_of, logits_of_guessing
from irtkit.quadrature import engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

LEVEL = 0.01
"""Chance of a false warning if no anchor has drifted."""
_FEWEST = 3
"""Anchors left from which one is tested: of two that disagree either may have drifted."""
_AT_ONCE = 0.5
"""Share of the largest z down to which items are set aside in one round: smaller ones may follow
from the others."""
_LEAST_INFORMATION = 1e-6
"""Information about an intercept below which an item is not tested."""
_MOST_VARIANCE = 1e6
"""Variance of an earlier estimate, at most."""
_MOST_LEVERAGE = 0.9
"""Share of the variance of a score that the estimate of η takes off it, at most."""
_ABILITIES = np.linspace(-5.0, 5.0, 61)


class Drift(NamedTuple):
    """What the test finds."""

    z: Array
    """Of each item: above 0 if it became easier; NaN if it is not tested."""
    drifts: NDArray[np.bool_]
    variances: Array
    """Variances of the mean and the log SD of ability that errors of the anchors add, (2,)."""


class _Scores(NamedTuple):
    """Fixed items at some mean and SD of ability; the first axis is items."""

    off: Array
    """One-step estimate of how far the intercept is off."""
    by: Array
    """Its derivatives by η, (n, 2)."""
    variance: Array
    skewed: Array
    """The variance with a correction for the skewness of small counts."""
    of_score: Array
    """Terms of the right-hand side of generalised least squares, (n, 2)."""
    of_moves: Array
    """Terms of its matrix, (n, 2, 2)."""
    of_errors: Array
    """Covariance of η by the sampling errors of each anchor, (n, 2, 2)."""


def with_drift(result: FitResult, patterns: Patterns, anchors: CalibratedItems) -> FitResult:
    """Test the fixed items, and add their sampling errors to those of the latent mean and SD.

    The effective number of respondents is computed only if a test is significant without it.
    """
    with np.errstate(all="ignore"):
        covariances = earlier_covariances(result, anchors.latent_mean, anchors.latent_sd)
        found = drift_of(result, patterns, covariances)
        dependence = result.dependence if found.drifts.any() else None
        if dependence is not None and dependence.independent < result.n_answering:
            copies = result.n_answering / dependence.independent
            found = drift_of(result, patterns, covariances, copies)
    result = replace(result, drift_z=found.z, drifts=found.drifts)
    if result.latent_mean_se is None or result.latent_sd_se is None:
        return result
    of_mean, of_sd = result.latent_sd * found.variances**0.5
    of_unit, of_zero = anchors.scale_se
    mean_se = [result.latent_mean_se, of_mean, of_zero, result.latent_mean * of_unit]
    sd_se = [result.latent_sd_se, of_sd, result.latent_sd * of_unit]
    of_mean, of_sd = (float(np.linalg.norm(parts)) for parts in (mean_se, sd_se))
    return replace(result, latent_mean_se=of_mean, latent_sd_se=of_sd)


def earlier_covariances(result: FitResult, mean: float, sd: float) -> Array:
    """Covariances of slope, intercept (and logit of guessing) by standard errors, (n_items, k, k).

    With d = −ab, Cov(a, d) follows from Var b = (b² Var a + Var d + 2b Cov(a, d)) / a². A change of
    the logit of guessing moves a and d to their best values for abilities from
    N(``mean``, ``sd``²), which gives the other covariances. Unknown errors count as 0.
    """
    a, b, c = (getattr(result.parameters, n) for n in ("discrimination", "difficulty", "guessing"))
    of_a, of_b, of_c, of_d = np.nan_to_num(result.standard_errors).T ** 2
    of_a, of_d = (np.minimum(values, _MOST_VARIANCE) for values in (of_a, of_d))
    both = np.nan_to_num((a**2 * of_b - of_d - b**2 * of_a) / (2 * b))
    of_logit = np.minimum(np.nan_to_num(of_c / (c * (1 - c)) ** 2), _MOST_VARIANCE)
    both = np.clip(both, -np.sqrt(of_a * of_d), np.sqrt(of_a * of_d))
    found = np.stack([of_a, both, both, of_d], axis=1).reshape(-1, 2, 2)
    if result.model != "3PL":
        return found
    theta = mean + sd * _ABILITIES
    curves = curves_of(Items(a, result.parameters.intercept, logits_of_guessing(c)), theta)
    information = complete_data_information(curvatures(curves, np.exp(-(_ABILITIES**2) / 2)), theta)
    follows = np.nan_to_num(np.linalg.pinv(np.nan_to_num(information[:, :2, :2])))
    moved = np.ones((len(a), 3, 1))
    moved[:, :2] = -follows @ np.nan_to_num(information[:, :2, 2:])
    by_guessing = of_logit[:, None, None] * moved @ moved.swapaxes(1, 2)
    values, axes = np.linalg.eigh(found - by_guessing[:, :2, :2])
    by_guessing[:, :2, :2] += axes * np.maximum(values, 0)[:, None] @ axes.swapaxes(1, 2)
    return np.asarray(by_guessing)


def drift_of(
    result: FitResult, patterns: Patterns, covariances: Array, copies: float = 1.0
) -> Drift:
    """Test the fixed items; ``copies`` is the number of respondents for each independent one."""
    mean, sd, fixed = result.latent_mean, result.latent_sd, np.asarray(result.fixed)
    own, variances = result.parameters, None
    a, inside = own.discrimination, own.standardised(sd, mean)
    slope, intercept = inside.discrimination.copy(), inside.intercept.copy()
    rows = np.flatnonzero(patterns.answering)
    responses = patterns.margins.item_responses[REAL]
    used = own.known & (responses > 0)
    z, drifts = np.full(len(fixed), np.nan), np.zeros(len(fixed), bool)
    while True:
        columns = np.flatnonzero(used & ~drifts)
        logits = logits_of_guessing(own.guessing) if result.model == "3PL" else None
        items = Items(slope, intercept, logits).chosen(columns)
        some = part_of(patterns, rows, columns)
        engine = engine_of(some, with_guessing=logits is not None)
        terms = MarginalLikelihood(engine, GridSchedule().nodes(items, some)).terms(items)
        tested = fixed[columns] & (terms.information[:, 1, 1] > _LEAST_INFORMATION)
        places = columns[tested]
        share = patterns.margins.item_right[REAL, places] / responses[places]
        expected = own.chosen(places).expected_error(sd, mean)
        scores = _scores(
            slope[places],
            terms.gradient[tested],
            terms.information[tested],
            _in_sds(covariances[places], mean, sd),
            copies=copies,
            ratio=share * (1 - share) / (expected * (1 - expected)),
        )
        if variances is None:
            variances = np.diag(scores.of_errors.sum(axis=0))
        if len(places) < _FEWEST:
            break
        staying, z[places], step = _set_aside(scores)
        if staying.all():
            break
        drifts[places[~staying]] = True
        mean, sd = mean + sd * step[0], sd * np.exp(step[1])
        slope[fixed], intercept[fixed] = sd * a[fixed], (own.intercept + mean * a)[fixed]
    return Drift(z, drifts, variances)


def _in_sds(covariances: Array, mean: float, sd: float) -> Array:
    """Covariances of slope, intercept (and logit) in SDs of the respondents."""
    turn = np.eye(covariances.shape[1])
    turn[0, 0], turn[1, 0] = sd, mean
    return np.asarray(turn @ covariances @ turn.T)


def _scores(
    slope: Array, score: Array, information: Array, errors: Array, *, copies: float, ratio: Array
) -> _Scores:
    """Return one-step estimates, their variances, and the terms of generalised least squares.

    ``ratio`` is the binomial variance at the observed proportion over that at the expected one. A
    variance one third of the way between them makes z nearly normal for small counts as well: to
    first order it gives the signed root of the deviance.
    """
    size = score.shape[1]
    moves = np.zeros((len(slope), size, 2))
    moves[:, 1, 0] = moves[:, 0, 1] = slope
    plain: Any = moves.swapaxes(1, 2) @ information
    effect = np.linalg.pinv((plain @ moves).sum(axis=0)) @ plain
    weighted = moves.swapaxes(1, 2) @ np.linalg.inv(copies * np.eye(size) + information @ errors)
    about = information[:, 1, 1]
    along = information[:, 1] / about[:, None]
    earlier = np.einsum("jk,jkl,jl->j", along, errors, along)
    return _Scores(
        off=score[:, 1] / about,
        by=np.einsum("jk,jkr->jr", along, moves),
        variance=copies / about + earlier,
        skewed=copies * (2 + ratio) / 3 / about + earlier,
        of_score=np.einsum("jrk,jk->jr", weighted, score),
        of_moves=weighted @ information @ moves,
        of_errors=effect @ errors @ effect.swapaxes(1, 2),
    )


def _set_aside(scores: _Scores) -> tuple[NDArray[np.bool_], Array, Array]:
    """Return which items stay, z of all items, and η estimated from those that stay."""
    staying, largest = np.ones(len(scores.off), bool), 0.0
    while True:
        inverse = np.linalg.pinv(scores.of_moves[staying].sum(axis=0))
        step = inverse @ scores.of_score[staying].sum(axis=0)
        leverage = np.einsum("jr,rs,js->j", scores.by, inverse, scores.by) / scores.variance
        left = np.where(staying, 1 - np.minimum(leverage, _MOST_LEVERAGE), 1 + leverage)
        z = (scores.off - scores.by @ step) / np.sqrt(scores.skewed * left)
        size = np.where(staying, np.abs(z), 0.0)
        worst, n = int(size.argmax()), int(staying.sum())
        if n < _FEWEST or n * 2 * ndtr(-size[worst]) >= LEVEL or size[worst] < _AT_ONCE * largest:
            return staying, z, step
        staying[worst], largest = False, max(largest, float(size[worst]))
