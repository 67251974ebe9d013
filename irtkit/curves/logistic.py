"""Logistic regression by maximum likelihood, and what is known of its coefficients.

With r_i right of n_i trials at the covariates x_i (the first of which is 1), P = σ(x'β),

    score  Σ_i x_i (r_i − n_i P_i),        information  I = Σ_i n_i P_i (1 − P_i) x_i x_i'.

Errors are those of I⁻¹ (Fisher), for independent responses; or, where responses of one item (or of
one system) go together, I⁻¹ M I⁻¹ with M = G/(G − 1) Σ_g s_g s_g', s_g being the score of cluster
g (Liang & Zeger 1986). Of two kinds of clusters the matrices are added, that of both at once taken
off (Cameron, Gelbach & Miller 2011).

Where a plane parts right from wrong there is no maximum: the likelihood rises without end (Albert &
Anderson 1984), which a linear program tells (Konis 2007). Jeffreys' prior keeps estimates finite,
and takes away most of their bias (Firth 1993): with a mere intercept it adds half a response right
and half a one wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.irf import logistic, softplus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Status = Literal["ok", "unbounded", "no variance", "collinear", "no responses", "not converged"]
_MOST_STEPS = 100
"""Newton steps at most: without a maximum logits grow by about 1 in each, so that 8, from where a
linear program is asked, is passed long before."""
_GAIN = 1e-13
"""Relative gain in likelihood below which a Newton step, whose error is squared each time, was the
last one."""
_FAR = 8.0
"""Logit from which on a linear program asks whether there is a maximum: without one some logit
grows by about 1 in every step, and so passes it."""
_RANK = 1e-10
"""Share of the length of a covariate below which what others leave of it is rounding."""


@dataclass(frozen=True)
class Regression:
    """A fitted logistic regression with k coefficients, NaN unless ``status`` is "ok"."""

    coefficients: Array
    """(k,)."""
    covariance: Array
    """(k, k), of independent responses, or clustered; NaN of k clusters or fewer."""
    log_likelihood: float
    """Of the sequence of trials."""
    status: Status
    """"ok"; "unbounded" (a plane parts right from wrong: no maximum); "no variance" (all right, or
    all wrong); "collinear" (covariates say the same); "no responses"; "not converged"."""
    df: float = np.inf
    """Of Student's t: clusters less one; infinite for independent responses."""

    def log_odds(self, x: Array) -> Array:
        """x'β of every row."""
        return np.asarray(x @ self.coefficients)

    def se(self, x: Array) -> Array:
        """Standard error of x'β of every row."""
        variance = np.einsum("...i,ij,...j->...", x, self.covariance, x)
        return np.asarray(np.sqrt(np.maximum(variance, 0)))

    def p_value(self, estimate: Array, error: Array) -> Array:
        """Two-sided, of estimates being 0."""
        from scipy.special import ndtr, stdtr

        size = -np.abs(
            np.divide(estimate, error, out=np.full_like(estimate, np.nan), where=error > 0)
        )
        return np.asarray(2 * (ndtr(size) if np.isinf(self.df) else stdtr(self.df, size)))

    def quantile(self, level: float) -> float:
        """Standard errors to either side of an interval at equal tails."""
        from scipy.special import ndtri, stdtrit

        share = (1 + level) / 2
        return float(ndtri(share) if np.isinf(self.df) else stdtrit(self.df, share))


def logistic_regression(
    x: Array, right: Array, trials: Array | None = None, *, jeffreys: bool = False
) -> Regression:
    """Fit by Newton's method.

    Parameters
    ----------
    x
        (n, k), the first column being 1.
    right, trials
        (n,); one trial each by default.
    jeffreys
        Whether to add log |I|/2 to the likelihood; coefficients are then finite wherever covariates
        are not collinear.
    """
    n = np.ones(len(x)) if trials is None else trials
    if not n.sum():
        return _without(x.shape[1], "no responses")
    # orthonormal columns, whatever the units of covariates are
    q, triangle = np.linalg.qr(x)
    diagonal = np.abs(np.diag(triangle))
    if len(x) < x.shape[1] or (diagonal <= _RANK * np.linalg.norm(triangle, axis=0)).any():
        return _without(x.shape[1], "collinear")
    if not jeffreys and not 0 < right.sum() < n.sum():
        return _without(x.shape[1], "no variance")
    gamma, converged = _maximum(q, right, n, jeffreys=jeffreys)
    if not jeffreys and np.abs(q @ gamma).max() > _FAR:
        parted = _parted(q, right, n)
        if parted:
            return _without(x.shape[1], "unbounded")
        if not converged and parted is not None:
            gamma, converged = _maximum(q, right, n, jeffreys=False, far=np.inf)
    if not converged:
        return _without(x.shape[1], "not converged")
    back = np.linalg.inv(triangle)
    covariance = back @ np.linalg.inv(_information(q, gamma, n)) @ back.T
    return Regression(back @ gamma, covariance, _log_likelihood(q @ gamma, right, n), "ok")


def clustered(
    found: Regression,
    x: Array,
    right: Array,
    trials: Array | None,
    clusters: Sequence[NDArray[Any]],
) -> Regression:
    """Return a regression with errors clustered by one or two ways of numbering rows, each (n,).

    Scores add up to 0, so G clusters tell errors along G − 1 directions: of k coefficients, fewer
    than k + 1 tell none, and the covariance is NaN.
    """
    if found.status != "ok" or not clusters:
        return found
    n = np.ones(len(x)) if trials is None else trials
    score = x * (right - n * logistic(found.log_odds(x)))[:, None]
    bread = found.covariance
    parts = [_meat(score, one) for one in clusters]
    df = min(count for _, count in parts) - 1
    if df < x.shape[1]:
        return replace(found, covariance=np.full_like(bread, np.nan), df=df)
    meat = sum(part for part, _ in parts)
    if len(clusters) == 2:
        both = np.unique(np.stack(clusters), axis=1, return_inverse=True)[1].reshape(-1)
        meat = meat - _meat(score, both)[0]
    values, vectors = np.linalg.eigh(bread @ meat @ bread)
    covariance = (vectors * np.maximum(values, 0)) @ vectors.T
    return replace(found, covariance=covariance, df=df)


def _meat(score: Array, cluster: NDArray[Any]) -> tuple[Array, int]:
    """G/(G − 1) Σ s s' over the clusters, and their number."""
    names, place = np.unique(cluster, return_inverse=True)
    sums = np.zeros((len(names), score.shape[1]))
    np.add.at(sums, place, score)
    return sums.T @ sums * len(names) / max(len(names) - 1, 1), len(names)


def _without(k: int, status: Status) -> Regression:
    nothing = np.full(k, np.nan)
    return Regression(nothing, np.full((k, k), np.nan), np.nan, status)


def _log_likelihood(z: Array, right: Array, n: Array) -> float:
    return float(right @ z - n @ softplus(z))


def _information(x: Array, beta: Array, n: Array) -> Array:
    p = logistic(x @ beta)
    return np.asarray(x.T @ (x * (n * p * (1 - p))[:, None]))


def _maximum(
    x: Array, right: Array, n: Array, *, jeffreys: bool, far: float = 4 * _FAR
) -> tuple[Array, bool]:
    """Coefficients, and whether they converged; not where some logit is as far off first."""

    def height(beta: Array) -> float:
        value = _log_likelihood(x @ beta, right, n)
        return value + (0.5 * np.linalg.slogdet(_information(x, beta, n))[1] if jeffreys else 0.0)

    beta = np.zeros(x.shape[1])
    now = height(beta)
    for _ in range(_MOST_STEPS):
        p = logistic(x @ beta)
        information = _information(x, beta, n)
        score = right - n * p
        if jeffreys:
            inverse = np.linalg.inv(information)
            score = score + n * p * (1 - p) * np.einsum("ij,jk,ik->i", x, inverse, x) * (0.5 - p)
        try:
            step = np.linalg.solve(information, x.T @ score)
        except np.linalg.LinAlgError:
            break
        new = height(beta + step)
        while not new >= now - _GAIN * abs(now) and np.abs(step).max() > 1e-12:
            step /= 2
            new = height(beta + step)
        beta, gain, now = beta + step, new - now, new
        if gain <= _GAIN * abs(now):
            return beta, True
        if not jeffreys and np.abs(x @ beta).max() > far:
            break
    return beta, False


def _parted(x: Array, right: Array, n: Array) -> bool | None:
    """Whether some direction makes every right response likelier, or no less so, and no wrong one.

    The linear program max Σ s_i x_i'γ with s_i x_i'γ ≥ 0, s = 1 for right rows and −1 for wrong
    ones, and x_i'γ = 0 for rows of both, within |γ| ≤ 1. None if it was not solved.
    """
    from scipy.optimize import linprog

    tried = n > 0
    both = tried & (right > 0) & (right < n)
    one_sided = tried & ~both
    sided = np.where(right > 0, 1.0, -1.0)[one_sided, None] * x[one_sided]
    scale = np.abs(x[tried]).max()
    held: dict[str, Any] = {}
    if both.any():
        basis = _row_space(x[both])
        if len(basis) == x.shape[1]:
            return False
        held = {"A_eq": basis, "b_eq": np.zeros(len(basis))}
    solved = linprog(
        -sided.sum(axis=0) / scale,
        A_ub=-sided / scale,
        b_ub=np.zeros(len(sided)),
        bounds=(-1, 1),
        **held,
    )
    return bool(-solved.fun > 1e-6) if solved.status == 0 else None


def _row_space(x: Array) -> Array:
    """Orthonormal directions that rows have, as few rows."""
    _, sizes, basis = np.linalg.svd(x, full_matrices=False)
    return np.asarray(basis[sizes > _RANK * sizes[0]])


def crossing(
    found: Regression, start: Array, step: Array, log_odds: float, level: float
) -> tuple[float, float, float]:
    """Where (start + x · step)'β reaches some log-odds: x with its interval (Fieller 1954).

    The interval is of the x whose log-odds are not told from these, and without ends where the
    slope is not told from 0.
    """
    if found.status != "ok":
        return np.nan, np.nan, np.nan
    rise, off = float(step @ found.coefficients), float(start @ found.coefficients) - log_odds
    reach = found.quantile(level) ** 2
    v = found.covariance
    square = rise**2 - reach * (step @ v @ step)
    half = rise * off - reach * (start @ v @ step)
    constant = off**2 - reach * (start @ v @ start)
    at = -off / rise if rise else np.nan
    if not square > 0:
        return at, -np.inf, np.inf
    root = max(float(half**2 - square * constant), 0.0) ** 0.5
    return at, float((-half - root) / square), float((-half + root) / square)
