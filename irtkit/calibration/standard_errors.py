"""Standard errors of item parameters from the observed information.

The observed information is minus the Hessian of the penalised marginal log-likelihood, got exactly
by differentiating its gradient forward once per parameter. Its inverse holds the common
uncertainty of scale and location, which items share.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.likelihood import Data, MarginalLikelihood
    from irtkit.irf import ItemParameters, ModelName

_AT_ONCE = 16


def item_covariances(
    likelihood: MarginalLikelihood, data: Data, x: jax.Array
) -> NDArray[np.float64]:
    """Covariance of (slope, intercept, logit of guessing) of every item, (n_items, k, k)."""
    information = -np.asarray(_hessian(likelihood, data, x))
    n_items, n_slopes = likelihood.n_items, likelihood.n_slopes
    covariance = _inverse(0.5 * (information + information.T))
    item = np.arange(n_items)
    entries = [np.zeros(n_items, int) if n_slopes == 1 else item, n_slopes + item]
    if likelihood.model == "3PL":
        entries.append(n_slopes + n_items + item)
    index = np.stack(entries, axis=1)
    return covariance[index[:, :, None], index[:, None, :]]


def of_parameters(
    parameters: ItemParameters,
    model: ModelName,
    covariances: NDArray[np.float64],
    stretch: float,
) -> NDArray[np.float64]:
    """Standard errors of discrimination, difficulty, guessing and intercept, (n_items, 4).

    Delta method: b = −d/a gives ∂b/∂a = −b/a and ∂b/∂d = −1/a; c = σ(γ) gives ∂c/∂γ = c(1 − c).
    ``stretch`` is the factor from the ability of the fit to that of ``parameters``.
    """
    var_slope = covariances[:, 0, 0] / stretch**2
    cov = covariances[:, 0, 1] / stretch
    var_intercept = covariances[:, 1, 1]
    a, b, c = parameters.discrimination, parameters.difficulty, parameters.guessing
    if model == "Rasch":
        var_slope, cov = np.full_like(a, np.nan), np.zeros_like(a)
        var_difficulty = var_intercept
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            var_difficulty = (var_intercept + 2 * b * cov + b**2 * var_slope) / a**2
    var_guessing = np.full_like(a, np.nan)
    if model == "3PL":
        var_guessing = (c * (1 - c)) ** 2 * covariances[:, 2, 2]
    variances = np.stack([var_slope, var_difficulty, var_guessing, var_intercept], axis=1)
    return np.sqrt(np.where(variances >= 0, variances, np.nan))


@partial(jax.jit, static_argnums=0)
def _hessian(likelihood: MarginalLikelihood, data: Data, x: jax.Array) -> jax.Array:
    def column(v: jax.Array) -> jax.Array:
        tangent: jax.Array = jax.jvp(lambda at: likelihood.evaluate(data, at).gradient, (x,), (v,))[
            1
        ]
        return tangent

    columns: jax.Array = jax.lax.map(column, jnp.eye(x.shape[0]), batch_size=_AT_ONCE)
    return columns


def _inverse(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of a symmetric matrix; NaN where a parameter is not identified."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    known = np.diag(information) > 1e-10
    inverse = np.full_like(information, np.nan)
    kept = np.ix_(known, known)
    scaled = information[kept] / np.outer(scale[known], scale[known])
    with contextlib.suppress(np.linalg.LinAlgError):
        inverse[kept] = np.linalg.inv(scaled) / np.outer(scale[known], scale[known])
    return inverse
