"""Latent regression: ability θ = xβ + ε, ε ~ N(0, s²), integrated out (Mislevy 1984).

Turns of two steps maximise the likelihood: EM for β and s with items known, where s² counts the
errors of β (REML); and the search of a fit for items, with the prior N(xβ, s²) of every system.
Between them ability is scaled to mean 0 and variance 1 of xβ + ε over systems.

With posterior variances v the information about β is Σ(1 − v/s²)xxᵀ/s². With items estimated, s and
the intercept hold scale and location, and the information about items has the border
Σ Cov(θ, score of items)xᵀ/s². The delta method leads back to the slope at variance 1.

With dispersions r of scores the variance is a sandwich: the information S about slopes becomes
S + Σ (r − 1)wqqᵀ over cells. w is the information about the logit of a cell, and q says how its
residual moves the score of slopes: vax/s² by ability, less what items follow it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import FreeGroups, MarginalLikelihood, Population
from irtkit.calibration.priors import Hyper, WeakPrior, prior_of
from irtkit.calibration.search import (
    Control,
    GridSchedule,
    PreconditionedLBFGS,
    maximise,
    problem_of,
)
from irtkit.calibration.standard_errors import covariances
from irtkit.data.patterns import SYNTHETIC, Patterns, float_blocks
from irtkit.irf import Items, curves_of, logits_of_guessing
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.quadrature import Grid

_LEAST_SD = 0.05  # Of ability about the line: with less, grids would grow without end.
_MOST_TURNS, _STEPS = 100, 10  # Of items and regression, and of EM in each.
_SETTLED = 1e-4  # Change of ability on the line and of s that ends turns.


class LatentRegression(NamedTuple):
    """A latent regression at its maximum."""

    items: Items
    coefficients: Array  # Of 1, x less its mean, and whether x is missing if some are.
    sd: float
    expected: Array  # Of every system with a response, in SDs of ability if items are estimated.
    ability: Array  # Posterior means.
    ability_sd: Array
    se_known: float  # Of the slope, with items known.
    se: float  # With items estimated, unless they are held.
    x_sd: float  # Times the slope it is at most 1. 0 if items are held.


def latent_regression(result: FitResult, values: Array) -> LatentRegression:
    """Regress ability on a value of every respondent, NaN if it is missing.

    Items of a result with fixed items are held.
    """
    counted = result.patterns.chosen(np.flatnonzero(result.answering))
    counted = counted.with_trial_correlation(result.settings.trial_correlation or 0.0)
    group = np.arange(counted.n) + (np.arange(counted.n) >= SYNTHETIC)  # a group for each system
    patterns = Patterns(counted.cells, counted.trials, group)
    design = _design(values[result.answering])
    held, model = result.fixed is not None, result.model
    own, prior = result.parameters, None
    if not held:
        own = own.standardised(result.latent_sd, result.latent_mean)
        model = "1PL" if model == "Rasch" else model
        prior = prior_of(result.settings.prior, result.item_labels, result.item_labels)
        prior = WeakPrior() if prior == "empirical" else prior
        if isinstance(prior, WeakPrior):
            prior = prior.for_items(result.item_labels)
    typical = max(float(np.nanmedian(np.abs(own.discrimination))), 0.1)
    items = Items(np.where(own.known, own.discrimination, 0.0), np.nan_to_num(own.intercept))
    if model == "3PL":
        items = items._replace(logit_guessing=logits_of_guessing(np.nan_to_num(own.guessing)))
    problem = problem_of(patterns, model, prior, groups=FreeGroups(counted.n))
    parameters = problem.parameters
    x = parameters.vector(items, Hyper(float(np.log(typical)), 0.0))
    beta, sd, last = np.zeros(design.shape[1]), 1.0, np.inf
    for turn in range(_MOST_TURNS):
        before, sd_before = design @ beta, sd
        parameters.populations = tuple(Population(mean, sd) for mean in before.tolist())
        if turn and not held:
            x = maximise(problem, PreconditionedLBFGS(x), Control(tol=1e-4)).x
            items = parameters.values(x).items
        density = GridSchedule().density(items, patterns, 0.0, parameters.populations)
        likelihood = MarginalLikelihood(problem.engine, density.nodes(2, interpolates=False))
        grid = likelihood.grid(items, parameters.populations)
        beta, sd = _regressed(patterns, items, grid, design, beta, sd)
        if not held:
            line = design @ beta
            shift, scale = float(line.mean()), float(np.hypot(line.std(), sd))
            x = parameters.rescaled(x, shift, scale)
            items, beta, sd = parameters.values(x).items, beta / scale, sd / scale
            beta[0] -= shift / scale
        change = float(np.abs(design @ beta - before).max()) + abs(sd - sd_before)
        if max(change, last) < _SETTLED:
            break
        last = change
    parameters.populations = tuple(Population(mean, sd) for mean in (design @ beta).tolist())
    posteriors = likelihood.posteriors(items, parameters.populations)
    kept = np.maximum(1 - (posteriors.sd / sd) ** 2, 1e-9)
    information = design.T @ (kept[:, None] * design) / sd**2
    follows: Any = np.zeros((len(own.known), 2, design.shape[1]))
    beyond: Any = 0.0 if result.dispersion is None else np.nan_to_num(result.dispersion - 1)

    def error(by: Array, information: Array, follows: Array) -> float:
        extra: Any = np.zeros_like(information)
        if np.any(beyond):
            x = design[:, -len(by) :] / sd**2
            extra = _dispersed(patterns, items, posteriors, x, follows, beyond)
        along = np.linalg.solve(information, by)
        least = 0.1 * float(by @ along)
        return float(np.sqrt(max(float(along @ (information + extra) @ along), least)))

    se = se_known = error(np.eye(design.shape[1])[1], information, follows)
    if not held:
        of_slopes, line = information[1:, 1:], design[:, 1:] - design[:, 1:].mean(axis=0)
        follows = follows[..., 1:]
        if result.settings.standard_errors:
            grid = likelihood.grid(items, parameters.populations)
            joint = covariances(patterns, parameters, parameters.values(x), grid, prior)[2]
            border = _border(patterns, items, grid, design[:, 1:]) / sd**2
            known = joint._replace(own=np.nan_to_num(joint.own))
            follows = known.times(border, np.zeros((2, border.shape[2])))[0]
            of_slopes = of_slopes - np.tensordot(border, follows, ((0, 1), (0, 1)))
        by = -beta[1] * line.T @ (line @ beta[1:]) / counted.n  # of the slope at variance 1
        by[0] += 1
        se = error(by, of_slopes, follows)
    x_sd = 0.0 if held else float(design[:, 1].std())
    estimates = design @ beta, posteriors.mean, posteriors.sd
    return LatentRegression(items, beta, sd, *estimates, se_known, se, x_sd)


def _design(values: Array) -> Array:
    """Columns: intercept, x less its mean and, if some have none, whether it is missing."""
    missing = np.isnan(values)
    if (~missing).sum() < 3 or np.ptp(values[~missing]) == 0:
        raise ValueError(
            "a trend needs three systems with a date (or compute), and two different dates"
        )
    x = np.where(missing, 0.0, values - values[~missing].mean())
    columns = [np.ones_like(x), x, missing.astype(np.float64)]
    return np.stack(columns[: 2 + int(missing.any())], axis=1)


def _regressed(
    patterns: Patterns, items: Items, grid: Grid, design: Array, beta: Array, sd: float
) -> tuple[Array, float]:
    """Coefficients and residual SD after some steps of EM, items known."""
    theta = grid.nodes.theta
    weights = np.hstack([part.weights for part in posterior_weights(patterns, items, grid)]).T
    with np.errstate(divide="ignore"):
        likelihood = np.log(weights) + 0.5 * ((theta - (design @ beta)[:, None]) / sd) ** 2
    for _ in range(_STEPS):
        log = likelihood - 0.5 * ((theta - (design @ beta)[:, None]) / sd) ** 2
        weights = np.exp(log - log.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        mean = weights @ theta
        variance = weights @ theta**2 - mean**2
        beta = np.linalg.lstsq(design, mean)[0]
        kept = np.maximum(1 - variance / sd**2, 0)  # of a move of the line that residuals follow
        errors = np.linalg.pinv(design.T @ (kept[:, None] * design)) * sd**2
        squares = (mean - design @ beta) ** 2 + variance
        squares += kept**2 * np.einsum("nk,kl,nl->n", design, errors, design)
        sd = max(float(np.sqrt(squares.mean())), _LEAST_SD)
    return beta, sd


def _border(patterns: Patterns, items: Items, grid: Grid, x: Array) -> Array:
    """Σ Cov(θ, score of an item)xᵀ over systems, (n_items, 2 or 3, columns of x)."""
    theta, (s, p, c) = grid.nodes.theta, curves_of(items, grid.nodes.theta)
    by_right, by_answer = [theta * s / p, s / p, c / p], [theta * s, s]  # as in standard errors
    size = 2 if items.logit_guessing is None else 3
    found = np.zeros((len(p), size, x.shape[1]))
    for some, right, answered, weights, _ in posterior_weights(patterns, items, grid):
        centred = weights * (theta[:, None] - theta @ weights)
        tried: Any = np.ones(right.shape) if answered is None else answered
        for sign, cells, functions in ((1, right, by_right), (-1, tried, by_answer)):
            for k, function in enumerate(functions[:size]):
                moved = (function @ centred).T
                product = cells.multiply(moved) if patterns.sparse else cells * moved
                found[:, k] += sign * (product.T @ x[some])
    return found


def _dispersed(
    patterns: Patterns, items: Items, posteriors: Any, x: Array, follows: Array, beyond: Array
) -> Array:
    """Σ (r − 1)wqqᵀ of the module, at posterior means, with x divided by s²."""
    found, a = np.zeros((x.shape[1],) * 2), np.asarray(items.slope)
    for some, right, answered in float_blocks(patterns):
        tried: Any = np.ones(right.shape) if answered is None else answered
        theta, v = posteriors.mean[some, None], posteriors.sd[some, None] ** 2
        p = curves_of(items, theta[:, 0]).p.T
        w = (tried.toarray() if patterns.sparse else tried) * p * (1 - p)
        moves = [theta * one[:, 0] + one[:, 1] for one in np.moveaxis(follows, 2, 0)]
        q = [
            v * a * (own[:, None] + (w * a * move).sum(axis=1, keepdims=True)) - move
            for own, move in zip(x[some].T, moves, strict=True)
        ]
        found += np.einsum("kij,lij,ij->kl", q, q, w * beyond)
    return found
