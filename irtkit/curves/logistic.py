"""Logistic regression of right answers, by maximum likelihood or with Jeffreys' prior.

Let r_i of n_i trials be right at covariates x_i, whose first element is 1. Then P_i = σ(x_i'β). The
maximum and its clustered errors agree with statsmodels (Liang & Zeger 1986, Cameron, Gelbach &
Miller 2011). Jeffreys' prior adds log |I|/2 to the log-likelihood, where I is the information. It
keeps estimates finite if all is right or all is wrong, and removes most of their bias (Firth 1993).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.irf import logistic, softplus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from irtkit.irf import Array

Status = Literal["ok", "unbounded", "no variance", "collinear", "no responses", "not converged"]
_MOST_STEPS = 100  # Newton's method needs about 10.
_GAIN = 1e-13  # Relative gain in the objective below which a Newton step was the last one.
_FAR = 8.0  # Logit beyond which the maximum may be at infinity: it grows by 1 in each step.
_RANK = 1e-10  # Relative size of a singular value that is treated as 0.


@dataclass(frozen=True)
class Regression:
    """A logistic regression with k coefficients, NaN unless the status is "ok"."""

    status: Status
    coefficients: Array
    fisher: Array  # Covariance for independent responses, (k, k).
    covariance: Array  # The same, or the clustered one. NaN with k clusters or fewer.
    df: float = np.inf  # Of Student's t: clusters less one, infinite for independent responses.
    log_likelihood: float = np.nan

    def log_odds(self, x: Array) -> Array:
        """x'β of each row."""
        return np.asarray(x @ self.coefficients)

    def se(self, x: Array) -> Array:
        """Standard error of x'β of each row."""
        return np.asarray(np.sqrt(np.einsum("...i,ij,...j->...", x, self.covariance, x)))

    def quantile(self, level: float) -> float:
        """Half-width of an interval in standard errors."""
        from scipy.stats import t

        return float(t.ppf((1 + level) / 2, self.df))


def with_intercept(*columns: Array) -> Array:
    """Covariates after a column of ones, (n, 1 + k)."""
    return np.stack([np.ones(len(columns[0])), *columns], axis=1)


def jeffreys_regression(x: Array, right: Array, trials: Array) -> Regression:
    """Fit with Jeffreys' prior. Errors of repeated trials are clustered by row."""
    k = x.shape[1]
    if (status := _without_estimate(x, trials)) is not None:
        return _nothing(k, status)
    q, triangle = np.linalg.qr(x)  # orthonormal columns, whatever the units

    def objective(beta: Array) -> float:
        information = _information(q, beta, trials)
        likelihood = right @ (q @ beta) - trials @ softplus(q @ beta)
        return float(likelihood + 0.5 * np.linalg.slogdet(information)[1])

    beta = np.zeros(k)
    now, gain = objective(beta), np.inf
    for _ in range(_MOST_STEPS):
        p, inverse = logistic(q @ beta), np.linalg.inv(_information(q, beta, trials))
        leverage = trials * p * (1 - p) * np.einsum("ij,jk,ik->i", q, inverse, q)
        step = inverse @ q.T @ (right - trials * p + leverage * (0.5 - p))
        new = objective(beta + step)
        while not new >= now - _GAIN * abs(now) and np.abs(step).max() > 1e-12:
            step /= 2
            new = objective(beta + step)
        beta, gain, now = beta + step, new - now, new
        if gain <= _GAIN * abs(now):
            break
    else:
        return _nothing(k, "not converged")
    back = np.linalg.inv(triangle)
    fisher = back @ np.linalg.inv(_information(q, beta, trials)) @ back.T
    beta = back @ beta
    if trials.max() <= 1:
        return Regression("ok", beta, fisher, fisher)
    n = len(x)
    if n <= k:
        return Regression("ok", beta, fisher, np.full((k, k), np.nan), n - 1)
    influence = x * (right - trials * logistic(x @ beta))[:, None] @ fisher
    return Regression("ok", beta, fisher, influence.T @ influence * n / (n - 1), n - 1)


def likelihood_regression(
    x: Array, right: Array, trials: Array, clusters: Sequence[NDArray[Any]]
) -> Regression:
    """Fit by maximum likelihood, with errors clustered by up to two ways of numbering rows."""
    try:
        from statsmodels.genmod.families import Binomial
        from statsmodels.genmod.generalized_linear_model import GLM
        from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups
    except ImportError as error:
        raise ImportError(
            "learning_surface needs statsmodels: pip install 'irtkit[curves]'"
        ) from error
    k, tried = x.shape[1], trials > 0
    x, right, trials, clusters = x[tried], right[tried], trials[tried], [c[tried] for c in clusters]
    if (status := _without_estimate(x, trials)) is not None:
        return _nothing(k, status)
    if not 0 < right.sum() < trials.sum():
        return _nothing(k, "no variance")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a separation, which is looked for below
        found = GLM(np.stack([right, trials - right], axis=1), x, family=Binomial())
        found = found.fit(tol=1e-10, rtol=1e-14)
    if np.abs(x @ found.params).max() > _FAR and _separated(x, right, trials):
        return _nothing(k, "unbounded")
    if not found.converged:
        return _nothing(k, "not converged")
    beta, fisher = np.asarray(found.params), np.asarray(found.cov_params())
    z = x @ beta
    log_likelihood = float(right @ z - trials @ softplus(z))
    if not clusters:
        return Regression("ok", beta, fisher, fisher, log_likelihood=log_likelihood)
    df = min(len(np.unique(one)) for one in clusters) - 1
    covariance = np.full((k, k), np.nan)
    if df >= k:
        covariance = (
            cov_cluster(found, clusters[0])
            if len(clusters) == 1
            else cov_cluster_2groups(found, *clusters)[0]
        )
        values, vectors = np.linalg.eigh(covariance)  # of two ways some may be below 0
        covariance = (vectors * np.maximum(values, 0)) @ vectors.T
    return Regression("ok", beta, fisher, covariance, df, log_likelihood)


def _without_estimate(x: Array, trials: Array) -> Status | None:
    """Why covariates and trials determine no coefficients, None if they do."""
    if not trials.sum():
        return "no responses"
    scaled = x / np.maximum(np.linalg.norm(x, axis=0), 1e-300)
    return "collinear" if np.linalg.matrix_rank(scaled, tol=_RANK) < x.shape[1] else None


def _nothing(k: int, status: Status) -> Regression:
    return Regression(status, np.full(k, np.nan), *np.full((2, k, k), np.nan))


def _information(x: Array, beta: Array, trials: Array) -> Array:
    p = logistic(x @ beta)
    return np.asarray(x.T @ (x * (trials * p * (1 - p))[:, None]))


def _separated(x: Array, right: Array, trials: Array) -> bool:
    """Whether a plane separates right from wrong responses, so that the maximum is infinite.

    That is a linear program (Konis 2007): max Σ s_i x_i'γ with s_i x_i'γ ≥ 0 and |γ| ≤ 1. Here s is
    1 for right rows and −1 for wrong ones, and x_i'γ = 0 for rows with both.
    """
    from scipy.optimize import linprog

    x, both = x / np.abs(x).max(axis=0), (right > 0) & (right < trials)
    signed = np.where(right > 0, 1.0, -1.0)[~both, None] * x[~both]
    basis = np.linalg.qr(x[both])[1]  # rows of both, as few equations
    solved = linprog(
        -signed.sum(axis=0),
        A_ub=-signed,
        b_ub=np.zeros(len(signed)),
        A_eq=basis,
        b_eq=np.zeros(len(basis)),
        bounds=(-1, 1),
    )
    return solved.status == 0 and float(solved.fun or 0) < -1e-6


def crossing(
    found: Regression, start: Array, step: Array, log_odds: float, level: float
) -> tuple[float, float, float]:
    """Value of t at which (start + t · step)'β is some log-odds, with Fieller's interval (1954).

    The interval is without ends if the slope is not significantly different from 0.
    """
    rise, off = float(step @ found.coefficients), float(start @ found.coefficients) - log_odds
    if np.isnan(rise):
        return np.nan, np.nan, np.nan
    reach, v = found.quantile(level) ** 2, found.covariance
    square = rise**2 - reach * (step @ v @ step)
    half = rise * off - reach * (start @ v @ step)
    constant = off**2 - reach * (start @ v @ start)
    at = -off / rise if rise else np.nan
    if not square > 0:
        return at, -np.inf, np.inf
    root = max(float(half**2 - square * constant), 0.0) ** 0.5
    return at, float((-half - root) / square), float((-half + root) / square)
