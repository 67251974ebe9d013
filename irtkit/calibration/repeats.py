"""Repeated trials that agree more than the model explains count for less.

Runs of a system that hardly vary are not independent, and neither are trials of a cell whose
probability the model misses: both are a correlation ρ between the trials of a cell, by which n of
them say as much as n/(1 + (n − 1)ρ) independent ones (a quasi-likelihood: Williams 1982).

With y the share right of a cell, s² = y(1 − y)n/(n − 1) the variance of its trials and
T = y(1 − P)² + (1 − y)P² their mean square about the model's P, ρ = Σw(T − s²)/ΣwT, the intraclass
correlation about a known mean (Ridout, Demétrio & Firth 1999). T is the mean over the posterior of
ability and over an item that was estimated. The weights n(n − 1)/(1 + (n − 1)ρ)² are the inverse
variance of T − s² at the ρ of the fit; fit and estimate take turns. At ρ = 0 the sum over its
standard error is the score test of Dean (1992) for variance beyond the binomial's.

A score between 0 and 1 is the mean of many trials, and counts for φ = 1/ρ of them: its variance is
P(1 − P)/φ, and ρ = Σ(y − P)²/ΣT (the quasi-likelihood of Papke & Wooldridge 1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import MarginalLikelihood, prior_at
from irtkit.data.patterns import REAL, SCORE_TRIALS
from irtkit.irf import NORMAL_POINTS, logistic

if TYPE_CHECKING:
    from irtkit.calibration.search import Maximum, Problem
    from irtkit.data.patterns import Mask, Patterns, Places
    from irtkit.irf import Array


class Cells(NamedTuple):
    """Cells with several trials, of real respondents; every array has shape (n_cells,)."""

    row: Places
    column: Places
    right: Array
    trials: Array
    copies: Array  # How many respondents and items share the cell.

    def chosen(self, which: Mask) -> Cells | None:
        """Some of the cells, None if there are none."""
        columns: Any = (values[which] for values in self)
        return Cells(*columns) if which.any() else None

    @property
    def most(self) -> float:
        """Trials of the cell that was tried most often."""
        return float(self.trials.max())

    def correlation(
        self, mean: Array, square: Array, at: float, spread: Array | None = None
    ) -> float:
        """Correlation from the means of P and P², with weights that are best at some correlation.

        With the ``spread`` P(1 − P), 0 if it may be noise: if it is not significant at 1 %.
        """
        share = self.right / self.trials
        others = self.trials - 1
        pairs = self.copies * self.trials * others
        total = share - 2 * share * mean + square
        of_trials = share * (1 - share) * self.trials / others
        beyond = total - of_trials
        if spread is not None:
            error = np.sqrt(2 * (pairs @ spread**2))
            if pairs @ beyond <= 2.33 * error:
                return 0.0
        weight = pairs / (1 + others * at) ** 2
        correlation = weight @ beyond / np.maximum(weight @ total, 1e-300)
        return float(np.clip(correlation, 0.0, 1.0))


def moments(cells: Cells, problem: Problem, maximum: Maximum) -> tuple[Array, Array, Array, Array]:
    """Means of P, of P² and of P(1 − P) of cells, and how many numbers of each item were learned.

    That of P² allows for an item that was estimated.
    """
    items = problem.items(maximum.x)
    patterns = problem.engine.patterns
    # means of P and P² over a normal posterior of ability
    ability = maximum.posteriors.mean[cells.row]
    sd = maximum.posteriors.sd[cells.row]
    slope = items.slope[cells.column]
    intercept = items.intercept[cells.column]
    mean, square = np.zeros((2, len(ability)))
    for shift, weight in NORMAL_POINTS:
        p = logistic(slope * (ability + shift * sd) + intercept)
        if items.logit_guessing is not None:
            guessing = logistic(items.logit_guessing[cells.column])
            p = guessing + (1 - guessing) * p
        mean += weight * p
        square += weight * p**2
    # how many numbers responses determined of every item, tr (I + Π)⁻¹I with Π by the prior: a
    # common slope is none, and fixed items have none
    parameters = problem.parameters
    free = problem.parameters.free
    values = parameters.values(maximum.x)
    likelihood = MarginalLikelihood(problem.engine, maximum.nodes)
    of_data = likelihood.terms(items, values.populations).information[free]
    both = of_data
    if problem.prior is not None:
        of_prior = parameters.of_prior(values)
        copies = patterns.multiplicity
        density = prior_at(problem.prior, parameters, of_prior, values.hyper, copies)
        both = of_data + density.blocks
    if parameters.common_slope:
        of_data = of_data[:, 1:2, 1:2]
        both = both[:, 1:2, 1:2]
    both = both + 1e-3 * np.eye(of_data.shape[1])  # in responses: keeps it finite
    learned = np.zeros(len(items.slope))
    learned[free] = np.trace(np.linalg.solve(both, of_data), axis1=1, axis2=2)
    responses = np.maximum(patterns.margins.item_responses[REAL], 1e-300)
    spread = mean - square
    square = square + spread * (learned / responses)[cells.column]
    return mean, square, spread, learned


def trial_correlation(cells: Cells, problem: Problem, maximum: Maximum, at: float) -> float:
    """Correlation of the trials beyond what the model explains; 0 if that may be noise."""
    mean, square, spread, _ = moments(cells, problem, maximum)
    return cells.correlation(mean, square, at, spread)


def dispersions(
    cells: Cells, problem: Problem, maximum: Maximum, correlation: float, scored: Mask
) -> Array:
    """Variance of the scores of every item, in that of all items, shrunk to these (Smyth 2004).

    It is 1 without scores. Shrinkage is that of variances with q₀ and d₀ by maximum likelihood, and
    with log d₀ ~ N(log 8, 1).
    """
    from scipy.optimize import minimize
    from scipy.special import gammaln

    mean, square, _, learned = moments(cells, problem, maximum)
    share = cells.right / cells.trials
    score = scored[cells.column]

    def sums(values: Any) -> Array:
        return np.bincount(cells.column[score], values[score], len(scored)).astype(np.float64)

    n = sums(np.ones_like(share))
    of = np.flatnonzero(n)
    n = n[of]
    total = sums(share - 2 * share * mean + square)[of]
    of_trials = sums(share * (1 - share))[of]
    q = 1 - of_trials / total
    df = np.maximum(n - learned[of], 0.05 * n)

    def loss(x: Array) -> float:
        q0, d0 = np.exp(x)
        squares = d0 * q0
        half = d0 / 2
        both = half + df / 2
        log_likelihood = gammaln(both) - gammaln(half) + half * np.log(squares)
        log_likelihood -= both * np.log(squares + df * q)
        off = x[1] - np.log(8)
        return float(off**2 / 2 - log_likelihood.sum())

    usual = max(float(np.average(q, weights=df)), 1e-6)
    least = minimize(loss, np.log([usual, 8.0]), method="Nelder-Mead")
    q0, d0 = np.exp(np.clip(least.x, -14, 14))
    shrunk = (d0 * q0 + df * q) / (d0 + df)
    common = max(correlation, 1 / SCORE_TRIALS)
    by_item = np.ones(len(scored))
    by_item[of] = np.maximum(shrunk / common, 0.1)  # a constant score would have none
    return by_item


def first_correlation(patterns: Patterns, cells: Cells) -> float:
    """Correlation to begin with: that about the share right of items, 0 if it changes little.

    Without it 12 × 400 with 5 identical trials takes 214 evaluations in place of 13.
    """
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    share = (patterns.margins.item_right[REAL] / responses)[cells.column]
    correlation = cells.correlation(share, share**2, 0.0)
    # the design effect decides whether the first fit is with the correlation
    return correlation if 1 + (cells.most - 1) * correlation > 4.0 else 0.0


def repeated_cells(patterns: Patterns) -> Cells | None:
    """Cells that were tried several times, or have scores, None if there are none.

    Of about 2²⁰ cells 1 + (n − 1)ρ has an error of √(2/2²⁰), 0.14 %: others are left out.
    """
    rows = np.flatnonzero(patterns.real)  # stored, if sparse
    n_cells = patterns.trials.size
    rows = rows[:: max(1, -(-n_cells // 2**20))]
    sample = patterns.chosen(rows).with_trial_correlation(0.0)  # scores as trials
    place, column = (sample.trials > 1).nonzero()
    if not len(place):
        return None
    right = np.asarray(sample.cells[place, column], float)
    tried = np.asarray(sample.trials[place, column], float)
    copies = sample.weight[place]
    if patterns.multiplicity is not None:
        copies = copies * patterns.multiplicity[column]
    return Cells(rows[place], column, right, tried, copies)
