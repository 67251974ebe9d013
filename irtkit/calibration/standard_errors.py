"""Standard errors of item parameters from the observed information.

The observed information is the complete-data information minus the missing information
Σᵢ Covᵢ[sᵢ(θ)], sᵢ(θ) being the score of the items at ability θ and the covariance that of the
posterior of respondent i (Louis 1982). For ordinary numbers of items the whole matrix is formed;
for many, an arrowhead matrix of items and common changes of ability (:mod:`.information`), so that
standard errors hold the common uncertainty of scale and location either way.

The sums over respondents are in 32 bits. What they make up is taken from the complete-data
information, which is in 64 bits, so that their relative error of some 1e-6 grows by one over the
share of the information that is left.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from irtkit.calibration.information import (
    complete_data_information,
    curvatures,
    curves_of,
    expected_of,
    minus_missing_information,
    system_of,
)
from irtkit.patterns import REAL
from irtkit.quadrature.posterior_weights import posterior_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.information import Curves, System
    from irtkit.calibration.priors import AtPrior
    from irtkit.irf import ItemParameters, Items, ModelName
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Grid

    Array = NDArray[np.float64]

COMMON = {"1PL", "Rasch"}
"""Models with one slope for all items."""
_MOST_DENSE = 300
"""Parameters up to which the information is formed as a whole: inverting it then takes 2 ms."""
_NEGLIGIBLE = 3e-4
"""Share of the missing information about a parameter that may be left out. It bounds the relative
error of a standard error where half of the information is missing; measured, one is off by as
much at most, in 22 fits of every kind."""
_MOST_POLYNOMIALS = 16
"""Reached only by a posterior on as many nodes that steep items cut in pieces."""
_LEAST_NORM = 1e-3
"""Norm of a polynomial, by that of the one before, that 32 bits tell from 0; a posterior that has
less has a millionth of its mass beyond as many nodes as there are polynomials."""
_UNKNOWN = 1e-10
"""Information below which a parameter is not identified."""


def item_covariances(
    patterns: Patterns,
    items: Items,
    grid: Grid,
    *,
    model: ModelName,
    sds: tuple[float, float],
    prior: AtPrior | None,
    n_learned: int,
) -> Array:
    """Covariance of (slope, intercept, logit of guessing) of every item, (n_items, k, k).

    For 1PL the slope is the common one; for Rasch it has variance NaN.

    Parameters
    ----------
    sds
        SDs of ability of real and of synthetic respondents.
    prior, n_learned
        The prior at these items, and how many of its location and log scale are estimated too.
    """
    with_guessing = items.logit_guessing is not None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if not formed_as_a_whole(items, patterns.n_items):
            expected = expected_of(patterns, items, grid, right_too=with_guessing)
            copies = patterns.multiplicity
            system = system_of(items, expected, sds, copies)
            found = _by_arrowhead(system, prior, n_learned, copies, common_slope=model in COMMON)
        else:
            found = _by_whole_matrix(patterns, items, grid, prior, n_learned, model, sds[REAL])
    if model == "Rasch":
        found[:, 0, 0] = np.nan
    return found


def formed_as_a_whole(items: Items, n_items: int) -> bool:
    """Whether the information about so many items is formed as a whole."""
    return n_items * (2 if items.logit_guessing is None else 3) <= _MOST_DENSE


def of_parameters(
    parameters: ItemParameters,
    model: ModelName,
    covariances: Array,
    stretch: float,
) -> Array:
    """Standard errors of discrimination, difficulty, guessing and intercept, (n_items, 4).

    Delta method: b = −d/a gives ∂b/∂a = −b/a and ∂b/∂d = −1/a; c = σ(γ) gives ∂c/∂γ = c(1 − c).
    ``stretch`` is the factor from the ability of the fit to that of ``parameters``.
    """
    var_slope = covariances[:, 0, 0] / stretch**2
    cov = covariances[:, 0, 1] / stretch
    var_intercept = covariances[:, 1, 1]
    a, b, c = parameters.discrimination, parameters.difficulty, parameters.guessing
    if model == "Rasch":
        var_slope = np.full_like(a, np.nan)
        var_difficulty = var_intercept
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            var_difficulty = (var_intercept + 2 * b * cov + b**2 * var_slope) / a**2
    var_guessing = np.full_like(a, np.nan)
    if model == "3PL":
        var_guessing = (c * (1 - c)) ** 2 * covariances[:, 2, 2]
    variances = np.stack([var_slope, var_difficulty, var_guessing, var_intercept], axis=1)
    return np.sqrt(np.where(variances >= 0, variances, np.nan))


def _from_complete_data(patterns: Patterns, items: Items, grid: Grid) -> tuple[Array, Array]:
    """Complete-data information by item, and the missing information, of complete data.

    Without guessing the score is θ·y − θ·P and y − P. With complete data the functions of θ are
    the same for all respondents, so that their covariances need only sums over respondents by node
    and by pair of nodes.
    """
    n_items, theta = len(items.slope), grid.nodes.theta
    narrow = theta.astype(np.float32)
    mass, pairs = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    by_right, by_both = np.zeros((len(theta), n_items)), np.zeros((n_items, n_items))
    for _, right, _, weights, frequency in posterior_weights(patterns, items, grid, np.float32):
        often = weights if frequency is None else weights * frequency
        centred = often * (narrow[:, None] - narrow @ weights)
        mass += often.sum(axis=1)
        pairs += often @ weights.T
        by_right += centred @ right
        right *= np.sqrt(np.maximum(narrow @ centred, 0.0))[:, None]  # the posterior SD
        by_both += right.T @ right
    curves = curves_of(items, theta)
    functions = np.concatenate([theta * curves.p, curves.p])
    missing = functions @ (np.diag(mass) - pairs) @ functions.T
    crossed = functions @ by_right
    missing[:, :n_items] -= crossed
    missing[:n_items] -= crossed.T
    missing[:n_items, :n_items] += by_both
    return complete_data_information(curvatures(curves, mass[None]), theta), missing


def _from_incomplete_data(patterns: Patterns, items: Items, grid: Grid) -> tuple[Array, Array]:
    """The same where cells are missing or repeated, or items are guessed.

    Scores are expanded in polynomials orthonormal under each posterior, of which the linear one has
    nearly all of the covariance. What further ones add falls about geometrically: they are added
    until what would follow is negligible, and that is then added as a geometric series.
    """
    curves = curves_of(items, grid.nodes.theta)
    by_right, by_response = _score_functions(items, curves, grid.nodes.theta)
    n_parameters = by_response.shape[1] * len(items.slope)
    blocks, missing = 0.0, np.zeros((n_parameters, n_parameters))
    for _, right, answered, weights, frequency in posterior_weights(
        patterns, items, grid, np.float32
    ):
        if patterns.sparse:
            right, answered = right.toarray(), answered.toarray()
        often = weights if frequency is None else weights * frequency
        responses = often.sum(axis=1)[:, None] if answered is None else often @ answered
        second = curvatures(curves, responses.T, (often @ right).T)
        of_part = complete_data_information(second, grid.nodes.theta)
        blocks = blocks + of_part
        known = np.abs(np.einsum("jkk->kj", of_part)).ravel()
        lost, before = np.zeros((2, n_parameters), np.float32)
        for degree, weighted in enumerate(_orthonormal(weights, grid.nodes.theta), 1):
            if frequency is not None:
                weighted = weighted * np.sqrt(frequency)
            scores = _along(weighted, by_response, answered)
            if degree == 1 or items.logit_guessing is not None:  # θ itself is linear
                scores[:, : by_right.shape[1]] += _along(weighted, by_right, right)
            scores = scores.reshape(-1, n_parameters)
            step = scores.T @ scores
            missing += step
            added = np.diag(step)
            lost += added
            fall = np.minimum(added / np.maximum(before, 1e-30), 0.9)
            series = fall / (1 - fall)
            before = added
            if (series * added <= _NEGLIGIBLE * (known + lost)).all():
                missing += step * np.sqrt(np.multiply.outer(series, series))
                break
    return np.asarray(blocks), missing


def _score_functions(items: Items, curves: Curves, theta: Array) -> tuple[Array, Array]:
    """Score of an item as right · A(θ) + responses · B(θ), each (n_nodes, n_parameters, n_items).

    With z = aθ + d it is (right/P − responses) times θs, s and c. Without guessing that is
    right · θ − responses · θs and right − responses · s; what is constant in θ has no covariance
    and is left out.
    """
    s, p, c = (np.asarray(part.T, dtype=np.float32) for part in curves)
    at = theta.astype(np.float32)[:, None]
    by_response = np.stack([-at * s, -s], axis=1)
    if items.logit_guessing is None:
        return at[:, None], by_response
    by_response = np.concatenate([by_response, np.zeros_like(s)[:, None]], axis=1)
    return np.stack([at * s / p, s / p, c / p], axis=1), by_response


def _along(weighted: Array, functions: Array, counts: Array | None) -> Array:
    """Expectations of functions of ability times a polynomial, times counts of responses.

    Shape (n, n_parameters, n_items).
    """
    n_nodes, n_parameters, _ = functions.shape
    expected = weighted.T @ functions.reshape(n_nodes, -1)
    expected = expected.reshape(len(expected), n_parameters, -1)
    if counts is None or expected.shape[2] == 1:
        return expected if counts is None else expected * counts[:, None]
    expected *= counts[:, None]
    return expected


def _orthonormal(weights: Array, theta: Array) -> Iterator[Array]:
    """Weights times polynomials 1, 2, … of θ, orthonormal under each column of weights."""
    theta = theta.astype(weights.dtype)
    centred = theta[:, None] - theta @ weights
    before, after = np.ones_like(weights), centred
    norm = np.ones_like(weights[0])
    for _ in range(_MOST_POLYNOMIALS):
        weighted = weights * after
        square = (weighted * after).sum(axis=0)
        kept = square > (_LEAST_NORM * norm) ** 2
        norm = np.where(kept, np.sqrt(square), 0.0)
        factor = np.where(kept, 1 / norm, 0.0)
        weighted *= factor
        yield weighted
        now = after * factor
        after = centred * now
        after -= (weighted * after).sum(axis=0) * now
        after -= norm * before
        before = now


def _by_whole_matrix(
    patterns: Patterns,
    items: Items,
    grid: Grid,
    prior: AtPrior | None,
    n_learned: int,
    model: ModelName,
    latent_sd: float,
) -> Array:
    """Covariance of the parameters of every item by inverting the whole observed information."""
    complete = patterns.complete and items.logit_guessing is None
    of_data = _from_complete_data if complete else _from_incomplete_data
    blocks, missing = of_data(patterns, items, grid)
    n_items, n = len(blocks), len(missing)
    # slopes of all items, then intercepts, then logits of guessing, then what the prior learns
    places = np.arange(blocks.shape[1]) * n_items + np.arange(n_items)[:, None]
    information = np.zeros((n + n_learned, n + n_learned))
    information[:n, :n] = -missing
    if prior is not None:
        blocks = blocks + prior.blocks
        information[places, n:] = prior.border[:, :, :n_learned]
        information[n:] = information[:, n:].T
        information[n:, n:] = prior.corner[:n_learned, :n_learned]
    information[places[:, :, None], places[:, None, :]] += blocks
    if model in COMMON:  # one slope in place of all, which come first
        first = [0, *range(n_items, len(information))]
        information = np.add.reduceat(np.add.reduceat(information, first, axis=0), first, axis=1)
        places[:, 0], places[:, 1] = 0, 1 + np.arange(n_items)
        if model == "Rasch":
            by_sd = _about_latent_sd(patterns, items, grid, latent_sd)
            information[0, : n_items + 1] = information[: n_items + 1, 0] = by_sd
    return np.asarray(_inverse(information)[places[:, :, None], places[:, None, :]])


def _by_arrowhead(
    system: System,
    prior: AtPrior | None,
    n_learned: int,
    copies: Array | None,
    *,
    common_slope: bool,
) -> Array:
    """Covariance of the parameters of every item beside all that items have in common.

    A common slope, and what the prior learns, join the common block. The information that each
    item by itself misses is no part of what couples items: common changes miss none of it.
    """
    blocks, missing, coupling, common = system
    times = np.ones(len(blocks)) if copies is None else copies
    if prior is not None:  # whose parts are those of all copies of an item
        blocks = blocks + prior.blocks / times[:, None, None]
        border = prior.border[:, :, :n_learned] / times[:, None, None]
        coupling = np.concatenate([border, coupling], axis=2)
        of_items, common = common, np.zeros((len(common) + n_learned,) * 2)
        common[:n_learned, :n_learned] = prior.corner[:n_learned, :n_learned]
        common[n_learned:, n_learned:] = of_items
    if common_slope:
        head = np.concatenate([[times @ blocks[:, 0, 0]], times @ coupling[:, 0]])
        common = np.block([[head[None]], [head[1:, None], common]])
        coupling = np.concatenate([blocks[:, 1:, :1], coupling[:, 1:]], axis=2)
        blocks, missing = blocks[:, 1:, 1:], np.zeros_like(blocks[:, 1:, 1:])
    known = (np.einsum("jkk->jk", blocks) > _UNKNOWN).all(axis=1)
    blocks, coupling = blocks[known], coupling[known]
    inverses = np.linalg.inv(blocks)
    solved = inverses @ coupling
    weighted = coupling * times[known, None, None]
    of_common = _inverse(common - np.tensordot(weighted, solved, axes=((0, 1), (0, 1))))
    left = minus_missing_information(blocks, inverses, missing[known])
    found = np.linalg.inv(left) + (solved @ of_common) @ solved.transpose(0, 2, 1)
    if common_slope:
        with_slope = -(solved @ of_common)[:, :, :1]
        slope = np.broadcast_to(of_common[:1, :1], with_slope.shape)
        found = np.block([[slope, with_slope.transpose(0, 2, 1)], [with_slope, found]])
    covariances = np.full((len(known), *found.shape[1:]), np.nan)
    covariances[known] = found
    return covariances


def _about_latent_sd(patterns: Patterns, items: Items, grid: Grid, sd: float) -> Array:
    """Observed information of log σ (Rasch) with itself and with every intercept.

    The log weight of a node has the derivative h(θ) = θ²/σ² less its mean on the grid.
    """
    square = (grid.nodes.theta / sd) ** 2
    at_nodes = np.exp(grid.log_weights[REAL])
    mean = at_nodes @ square
    variance = at_nodes @ square**2 - mean**2
    s = curves_of(items, grid.nodes.theta).s.T
    total = np.zeros(1 + len(items.slope))
    for some, right, answered, weights, _ in posterior_weights(patterns, items, grid):
        real = weights[:, patterns.group[some] == REAL]
        often = patterns.counting(np.ones(patterns.n))[some][patterns.group[some] == REAL]
        deviation = real * (square[:, None] - square @ real) * often
        total[0] += often @ (2 * (square @ real - mean) + variance) - (square @ deviation).sum()
        given = np.ones_like(right) if answered is None else answered
        total[1:] += ((deviation @ given[patterns.group[some] == REAL]) * s).sum(axis=0)
    return total


def _inverse(information: Array) -> Array:
    """Inverse of a symmetric matrix; NaN where a parameter is not identified.

    By Cholesky where it is positive definite, which away from a maximum it need not be.
    """
    known = np.diag(information) > _UNKNOWN
    kept = np.ix_(known, known)
    scale = np.sqrt(np.outer(np.diag(information)[known], np.diag(information)[known]))
    inverse = np.full_like(information, np.nan)
    factor, indefinite = lapack.dpotrf(information[kept] / scale)
    if not indefinite:
        half = np.triu(lapack.dpotri(factor)[0])
        inverse[kept] = (half + np.triu(half, 1).T) / scale
        return inverse
    with suppress(np.linalg.LinAlgError):
        inverse[kept] = np.linalg.inv(information[kept] / scale) / scale
    return inverse
