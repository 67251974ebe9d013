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
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from irtkit.calibration.likelihood import MarginalLikelihood
from irtkit.calibration.search import GridSchedule
from irtkit.data.patterns import REAL, part_of
from irtkit.irf import (
    ItemParameters,
    Items,
    complete_data_information,
    curvatures,
    curves_of,
    logits_of_guessing,
)
from irtkit.quadrature import engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

LEVEL = 0.01  # Chance of a false warning if no anchor has drifted.
_FEWEST = 3  # Anchors for a test: of two that disagree either may have drifted.
_AT_ONCE = 0.5  # Share of the largest z down to which items are set aside in one round.
_MOST_VARIANCE = 1e6  # Of an earlier estimate, and of a later one that is tested.
_MOST_LEVERAGE = 0.9  # Share of the variance of a score that the estimate of η takes off it.
_ABILITIES = np.linspace(-5.0, 5.0, 61)


def with_fixed(result: FitResult, patterns: Patterns, anchors: CalibratedItems) -> FitResult:
    """Give the fixed items of a result their own parameters to the last digit, and test them.

    Their sampling errors are added to those of the latent mean and SD. The effective number of
    respondents is computed only if a test is significant without it.
    """
    places, own = anchors.places_of(result.item_labels), result.parameters
    fixed, earlier = places >= 0, anchors.parameters.chosen(places)
    free = int((~fixed & (result.counts.item_responses > 0)).sum())
    result = replace(
        result,
        parameters=ItemParameters(
            np.where(fixed, earlier.discrimination, own.discrimination),
            np.where(fixed, earlier.intercept, own.intercept),
            np.where(fixed, earlier.guessing, own.guessing),
        ),
        standard_errors=np.where(
            fixed[:, None], anchors.standard_errors[places], result.standard_errors
        ),
        n_parameters=free * {"2PL": 2, "3PL": 3}.get(result.model, 1) + 2,
        fixed=fixed,
    )
    with np.errstate(all="ignore"):
        covariances = earlier_covariances(result, anchors.latent_mean, anchors.latent_sd)
        z, drifts, variances = drift_of(result, patterns, covariances)
        if result.near_duplicates.found:
            copies = result.near_duplicates.n / result.near_duplicates.n_eff
            z, drifts, variances = drift_of(result, patterns, covariances, copies)
    result = replace(result, drift_z=z, drifts=drifts)
    if result.latent_mean_se is None or result.latent_sd_se is None:
        return result
    of_mean, of_sd = result.latent_sd * variances**0.5
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
) -> tuple[Array, NDArray[np.bool_], Array]:
    """Test the fixed items; ``copies`` is the number of respondents for each independent one.

    With the z of each item (above 0 if it became easier, NaN if it is not tested) come which drift,
    and the variances of the mean and the log SD of ability that errors of the anchors add. A
    variance one third of the way from the binomial one at the expected proportion to that at the
    observed one makes z nearly normal for small counts as well: to first order it gives the signed
    root of the deviance.
    """
    mean, sd, fixed = result.latent_mean, result.latent_sd, np.asarray(result.fixed)
    own, variances = result.parameters, None
    logits = logits_of_guessing(own.guessing) if result.model == "3PL" else None
    rows = np.flatnonzero(patterns.answering)
    responses = patterns.margins.item_responses[REAL]
    used = own.known & (responses > 0)
    z, drifts = np.full(len(fixed), np.nan), np.zeros(len(fixed), bool)
    inside = own.standardised(sd, mean)
    while True:
        columns = np.flatnonzero(used & ~drifts)
        items = Items(inside.discrimination, inside.intercept, logits).chosen(columns)
        some = part_of(patterns, rows, columns)
        engine = engine_of(some, with_guessing=logits is not None)
        terms = MarginalLikelihood(engine, GridSchedule().nodes(items, some)).terms(items)
        tested = fixed[columns] & (terms.information[:, 1, 1] > 1 / _MOST_VARIANCE)
        places, score, information = (
            columns[tested],
            terms.gradient[tested],
            terms.information[tested],
        )
        size = score.shape[1]
        moves = np.zeros((len(places), size, 2))  # H
        moves[:, 1, 0] = moves[:, 0, 1] = inside.discrimination[places]
        in_sds = np.eye(size)
        in_sds[0, 0], in_sds[1, 0] = sd, mean
        errors = in_sds @ covariances[places] @ in_sds.T
        if variances is None:
            plain: Any = moves.swapaxes(1, 2) @ information
            effect = np.linalg.pinv((plain @ moves).sum(axis=0)) @ plain
            variances = np.diag((effect @ errors @ effect.swapaxes(1, 2)).sum(axis=0))
        if len(places) < _FEWEST:
            break
        weighted = moves.swapaxes(1, 2) @ np.linalg.inv(
            copies * np.eye(size) + information @ errors
        )
        of_score = np.einsum("jrk,jk->jr", weighted, score)
        of_moves = weighted @ information @ moves
        about = information[:, 1, 1]
        along = information[:, 1] / about[:, None]
        off, by = score[:, 1] / about, np.einsum("jk,jkr->jr", along, moves)
        earlier = np.einsum("jk,jkl,jl->j", along, errors, along)
        share = patterns.margins.item_right[REAL, places] / responses[places]
        expected = own.chosen(places).expected_error(sd, mean)
        ratio = share * (1 - share) / (expected * (1 - expected))
        skewed = copies * (2 + ratio) / 3 / about + earlier
        staying, largest = np.ones(len(places), bool), 0.0
        while True:
            inverse = np.linalg.pinv(of_moves[staying].sum(axis=0))
            step = inverse @ of_score[staying].sum(axis=0)
            leverage = np.einsum("jr,rs,js->j", by, inverse, by) / (copies / about + earlier)
            left = np.where(staying, 1 - np.minimum(leverage, _MOST_LEVERAGE), 1 + leverage)
            z[places] = (off - by @ step) / np.sqrt(skewed * left)
            sizes = np.where(staying, np.abs(z[places]), 0.0)
            worst, n = int(sizes.argmax()), int(staying.sum())
            significant = n >= _FEWEST and n * 2 * ndtr(-sizes[worst]) < LEVEL
            if not significant or sizes[worst] < _AT_ONCE * largest:
                break
            staying[worst], largest = False, max(largest, float(sizes[worst]))
        if staying.all():
            break
        drifts[places[~staying]] = True
        mean, sd = mean + sd * step[0], sd * np.exp(step[1])
        moved = own.standardised(sd, mean)
        inside = ItemParameters(
            np.where(fixed, moved.discrimination, inside.discrimination),
            np.where(fixed, moved.intercept, inside.intercept),
            own.guessing,
        )
    return z, drifts, variances
