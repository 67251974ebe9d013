"""Standard errors of item parameters from the observed information.

The observed information is that of known abilities minus what not knowing them costs (Louis
1982): Σᵢ Covᵢ[sᵢ(θ)] over each respondent's posterior, sᵢ being the score of the items at ability
θ. For ordinary numbers of items the whole matrix is formed: sᵢ is expanded in polynomials that are
orthonormal under the posterior, until a further one adds nothing, so that the result is exact.

For many items no items × items array is formed: items and shifts that all abilities share make a
system that is block-diagonal in the items with a narrow border (:mod:`.information`). Standard
errors thus hold the common uncertainty of scale and location.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.information import (
    blocks,
    curvatures,
    expected_of,
    less_noise,
    outer,
    system_of,
)
from irtkit.calibration.likelihood import prior_at
from irtkit.patterns import REAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.fitted import Fitted, Tables
    from irtkit.irf import ItemParameters, ModelName

    Array = NDArray[np.float64]

_MOST_DENSE = 300
"""Parameters up to which the information is formed as a whole."""
_MANY_RESPONDENTS = 1500
_MOST_POLYNOMIALS = 16
_NEGLIGIBLE = 1e-9
"""Share of the information that a further polynomial must add."""


class _Covariances(NamedTuple):
    """Inverse of a system with blocks by item and a border of what items share."""

    own: Array
    """Shape (n_items, k, k): covariance of each item's parameters."""
    shared: Array
    """Shape (n_shared, n_shared)."""
    cross: Array
    """Shape (n_items, k, n_shared)."""


def item_covariances(fitted: Fitted) -> Array:
    """Covariance of (slope, intercept, logit of guessing) of every item, (n_items, k, k).

    For 1PL the slope is the common one; for Rasch it has variance NaN.
    """
    layout, n_items = fitted.layout, fitted.layout.n_items
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = _dense(fitted) if fitted.n_parameters <= _MOST_DENSE else _bordered(fitted)
    if not layout.common_slope:
        return found.own
    whole = np.empty((n_items, 2, 2))
    whole[:, 0, 0] = found.shared[0, 0] if layout.model == "1PL" else np.nan
    whole[:, 0, 1] = whole[:, 1, 0] = found.cross[:, 0, 0]
    whole[:, 1, 1] = found.own[:, 0, 0]
    return whole


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


def _dense(fitted: Fitted) -> _Covariances:
    """Invert the observed information as a whole."""
    n_items, size = fitted.layout.n_items, fitted.size
    if fitted.complete and not fitted.with_guessing:
        known, lost = _parts_of_family(fitted)
    else:
        known, lost = _parts(fitted)
    place = np.arange(size) * n_items + np.arange(n_items)[:, None]
    information = -lost
    information[place[:, :, None], place[:, None, :]] += known
    return _inverted(fitted, information, place)


def _parts(fitted: Fitted) -> tuple[Array, Array]:
    """Information by item of known abilities, and what is lost as they are not known."""
    n_items, size, theta = fitted.layout.n_items, fitted.size, fitted.theta
    tables = fitted.tables()
    by_right, by_response = _scores(tables, theta)
    expected_right = np.zeros((n_items, len(theta)))
    expected = np.zeros_like(expected_right)
    lost = np.zeros((size * n_items, size * n_items))
    for right, answered, weights, _ in fitted.posteriors():
        expected_right += right.T @ weights
        expected += answered.T @ weights
        for weighted in _orthonormal(weights, theta):
            parts = [
                _table(right) * (weighted @ on_right.T)
                + _table(answered) * (weighted @ on_response.T)
                for on_right, on_response in zip(by_right, by_response, strict=True)
            ]
            added = np.concatenate(parts, axis=1)
            step = added.T @ added
            lost += step
            if np.trace(step) < _NEGLIGIBLE * np.trace(lost):
                break
    return blocks(curvatures(tables, expected, expected_right), theta), lost


def _table(cells: Any) -> Array:
    """A part of the responses to a few items, which may be sparse, as a table."""
    return cells if isinstance(cells, np.ndarray) else cells.toarray()


def _parts_of_family(fitted: Fitted) -> tuple[Array, Array]:
    """The same for complete data without guessing, where scores are θ·y − θ·P and y − P.

    The sums over respondents of the covariances of θ and of functions of θ need only sums
    over respondents by node and by pair of nodes.
    """
    n_items, theta = fitted.layout.n_items, fitted.theta
    mass, pairs = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    by_right, by_both = np.zeros((n_items, len(theta))), np.zeros((n_items, n_items))
    # 32 bits for many respondents: standard errors are then good to some 4e-5 of themselves
    dtype: Any = np.float32 if fitted.rows.n > _MANY_RESPONDENTS else np.float64
    for right, _, weights, _ in fitted.posteriors(dtype):
        mass += weights.sum(axis=0, dtype=np.float64)
        deviation = (theta - (weights @ theta)[:, None]).astype(dtype)
        centred = weights * deviation
        pairs += weights.T @ weights
        by_right += right.T @ centred
        by_both += right.T @ ((centred * deviation).sum(axis=1, keepdims=True) * right)
    p = fitted.tables().p
    curves = np.concatenate([theta * p, p])
    lost = (curves * mass) @ curves.T - curves @ pairs @ curves.T
    crossed = by_right @ curves.T
    lost[:n_items] -= crossed
    lost[:, :n_items] -= crossed.T
    lost[:n_items, :n_items] += by_both
    return outer(mass * p * (1 - p), theta), lost


def _inverted(fitted: Fitted, information: Array, place: NDArray[np.int64]) -> _Covariances:
    """Add the prior, make slopes common where they are, and invert."""
    n_items = fitted.layout.n_items
    by_prior = _prior(fitted)
    information[place[:, :, None], place[:, None, :]] += by_prior.own
    shared = by_prior.shared
    border = np.zeros((len(information), len(shared)))
    border[place] = by_prior.cross
    if fitted.layout.common_slope:
        if fitted.layout.model == "Rasch":
            by_sd = _by_latent_sd(fitted)
            slope, with_rest = by_sd[0], by_sd[1:]
        else:
            slope = information[:n_items, :n_items].sum()
            with_rest = information[n_items:, :n_items].sum(axis=1)
        head = np.concatenate([[slope], border[:n_items].sum(axis=0)])
        shared = np.block([[head[None]], [head[1:, None], shared]])
        information = information[n_items:, n_items:]
        border = np.concatenate([with_rest[:, None], border[n_items:]], axis=1)
        place = np.arange(n_items)[:, None]
    whole = np.block([[information, border], [border.T, shared]])
    covariance = _inverse(whole)
    n = len(information)
    return _Covariances(
        covariance[place[:, :, None], place[:, None, :]],
        covariance[n:, n:],
        covariance[place, n:] if n < len(whole) else np.zeros((*place.shape, 0)),
    )


def _by_latent_sd(fitted: Fitted) -> Array:
    """Observed information of log σ (Rasch) with itself and with every intercept.

    The log weight of a node has the derivative h(θ) = θ²/σ² less its mean on the grid.
    """
    square = (fitted.theta / fitted.sds[REAL]) ** 2
    weights = np.exp(fitted.log_weights[REAL])
    mean = weights @ square
    spread = weights @ square**2 - mean**2
    curves = fitted.tables().s
    total = np.zeros(fitted.layout.n_items + 1)
    for _, answered, posterior, real in fitted.posteriors():
        of_real = posterior[real]
        deviation = of_real * (square - (of_real @ square)[:, None])
        total[0] += (2 * (of_real @ square - mean) + spread - deviation @ square).sum()
        total[1:] += ((answered[real].T @ deviation) * curves).sum(axis=1)
    return total


def _bordered(fitted: Fitted) -> _Covariances:
    """Items beside shifts that all abilities share; no items × items array."""
    expected = expected_of(fitted, right_too=fitted.with_guessing)
    own, noise, cross, shared = system_of(fitted, expected)
    by_prior = _prior(fitted)
    own += by_prior.own
    shared = _block_diagonal(by_prior.shared, shared)
    cross = np.concatenate([by_prior.cross, cross], axis=2)
    if fitted.layout.common_slope:
        head = np.concatenate([[own[:, 0, 0].sum()], cross[:, 0].sum(axis=0)])
        shared = np.block([[head[None]], [head[1:, None], shared]])
        cross = np.concatenate([own[:, 1:, :1], cross[:, 1:]], axis=2)
        own = own[:, 1:, 1:]
        noise = np.zeros_like(own)
    return _solved(own, cross, shared, noise)


def _prior(fitted: Fitted) -> _Covariances:
    """What the prior adds to the information: by item, shared, and between them."""
    layout, size = fitted.layout, fitted.size
    if layout.prior is None:
        n_items = layout.n_items
        return _Covariances(
            np.zeros((n_items, size, size)), np.zeros((0, 0)), np.zeros((n_items, size, 0))
        )
    prior, n = prior_at(layout, fitted.x), layout.n_learned
    return _Covariances(prior.blocks(), prior.corner()[:n, :n], prior.border()[:, :, :n])


def _scores(tables: Tables, theta: Array) -> tuple[list[Array], list[Array]]:
    """Score of an item as right · A(θ) + responses · B(θ): A and B by parameter."""
    s, p, c = tables
    odds = s / p
    by_right, by_response = [theta * odds, odds], [-theta * s, -s]
    if c.any():
        by_right.append(c / p)
        by_response.append(np.broadcast_to(-c, s.shape))
    return by_right, by_response


def _orthonormal(weights: Array, theta: Array) -> Iterator[Array]:
    """Weights times polynomials 1, 2, … of θ, orthonormal under each row of weights."""
    mean = weights @ theta
    before, now = np.zeros_like(weights), np.ones_like(weights)
    scale = np.zeros(len(weights))
    centred = theta - mean[:, None]
    for _ in range(_MOST_POLYNOMIALS):
        drift = ((weights * now**2) * centred).sum(axis=1)
        after = (centred - drift[:, None]) * now - scale[:, None] * before
        norm = np.sqrt((weights * after**2).sum(axis=1))
        kept = norm > 1e-12
        before, now, scale = now, after / np.where(kept, norm, np.inf)[:, None], norm
        yield weights * now


def _solved(own: Array, cross: Array, shared: Array, noise: Array) -> _Covariances:
    """Invert a system with blocks by item and a narrow border.

    ``noise`` is what an item by itself loses as abilities follow the chance in its responses, held
    to half of what there is; shifts of all abilities lose nothing by it.
    """
    inverse = np.full_like(own, np.nan)
    diagonal = np.einsum("jkk->jk", own)
    known = (diagonal > 1e-10).all(axis=1)
    some = own[known] + 1e-12 * np.eye(own.shape[1])
    inverse[known] = np.linalg.inv(some)
    reach = inverse @ cross
    rest = shared - np.einsum("jkr,jks->rs", cross[known], reach[known])
    common = _inverse(rest)
    inverse[known] = np.linalg.inv(less_noise(some, inverse[known], noise[known]))
    return _Covariances(
        inverse + np.einsum("jkr,rs,jls->jkl", reach, common, reach, optimize=True),
        common,
        -reach @ common,
    )


def _block_diagonal(first: Array, second: Array) -> Array:
    n = len(first)
    whole = np.zeros((n + len(second), n + len(second)))
    whole[:n, :n], whole[n:, n:] = first, second
    return whole


def _inverse(information: Array) -> Array:
    """Inverse of a symmetric matrix; NaN where a parameter is not identified."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    known = np.diag(information) > 1e-10
    inverse = np.full_like(information, np.nan)
    kept = np.ix_(known, known)
    scaled = information[kept] / np.outer(scale[known], scale[known])
    try:
        inverse[kept] = np.linalg.inv(scaled) / np.outer(scale[known], scale[known])
    except np.linalg.LinAlgError:
        return inverse
    return inverse
