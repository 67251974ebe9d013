"""Latent regression: ability θ = r·x + ε, ε ~ N(0, 1 − r²), integrated out (Mislevy 1984).

With x standardised over systems, ability has mean 0 and variance 1 and r is its correlation with x.
Given r, items follow from the search of a fit in which every system has the prior N(r·x, 1 − r²).
That leaves the profile likelihood of z = artanh r (Fisher's z). Its maximum is the estimate and its
curvature the error, with n − 2 degrees of freedom for the variance about the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.estimation import starting_values
from irtkit.calibration.likelihood import Population
from irtkit.calibration.priors import WeakPrior, of_some, prior_of
from irtkit.calibration.search import Control, PreconditionedLBFGS, maximise, problem_of
from irtkit.data.patterns import REAL, SYNTHETIC, Patterns
from irtkit.irf import OF_LEVELS

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult
    from irtkit.calibration.search import Maximum
    from irtkit.data.patterns import Places
    from irtkit.irf import Array

_LARGEST_Z = 3.0  # The SD about the line is then 0.1: with less, grids would grow without end.


class LatentRegression(NamedTuple):
    """A latent regression at its maximum, of the systems with a value and a response."""

    z: float  # artanh of the correlation of ability and x.
    se: float  # Of z, with items estimated.
    se_known: float  # Of the correlation with items and the SD about the line known.
    typical_slope: float  # Mean discrimination.
    x: Array  # Standardised.
    x_sd: float
    ability: Array  # Posterior means.
    ability_sd: Array
    places: Places  # Of these systems among the respondents.


def latent_regression(result: FitResult, values: Array) -> LatentRegression:
    """Regress ability on a value of every respondent, NaN if it is missing."""
    from scipy.optimize import minimize_scalar

    places = np.flatnonzero(result.answering & np.isfinite(values))
    n = len(places)
    if n < 3 or np.ptp(values[places]) == 0:
        raise ValueError(
            "a trend needs three systems with a date (or compute), and two different dates"
        )
    x_sd = float(values[places].std())
    x = (values[places] - values[places].mean()) / x_sd
    counted = result.patterns.chosen(places).with_trial_correlation(result.correlation_by_item)
    columns = np.flatnonzero(counted.margins.item_responses[REAL])
    counted = counted.with_columns(columns)
    group = np.arange(n)
    group += group >= SYNTHETIC  # a group for each system
    patterns = Patterns(counted.cells, counted.trials, group)
    model = "1PL" if result.model == "Rasch" else result.model
    levels = result.parameters.top[columns] > 1 if model in OF_LEVELS else None
    if levels is not None and not levels.any():
        model = "2PL"
        levels = None
    prior = prior_of(result.settings.prior, result.item_labels, result.item_labels)
    prior = WeakPrior() if prior == "empirical" else prior
    if isinstance(prior, WeakPrior):
        prior = prior.for_items(result.item_labels)
    problem = problem_of(patterns, model, of_some(prior, columns), levels=levels)
    start = starting_values(problem, counted)

    def fitted(z: float) -> tuple[Maximum, float]:
        """Items at a correlation, and their penalised log-likelihood."""
        nonlocal start
        sd = float(1 / np.cosh(z))
        means = np.tanh(z) * x
        problem.parameters.populations = tuple(Population(mean, sd) for mean in means.tolist())
        search = PreconditionedLBFGS(start)
        maximum = maximise(problem, search, Control(tol=1e-5))
        start = maximum.x
        return maximum, search.current.value if search.current else -np.inf

    def loss(z: float) -> float:
        return -fitted(z)[1]

    bounds = (-_LARGEST_Z, _LARGEST_Z)
    z = float(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x)
    maximum, value = fitted(z)
    step = n**-0.5
    rise = loss(z + step) + loss(z - step) + 2 * value
    curvature = max(rise / step**2, 1e-9)
    se = float(np.sqrt(n / (n - 2) / curvature))
    variance = 1 / np.cosh(z) ** 2
    posteriors = maximum.posteriors
    kept = np.maximum(1 - posteriors.sd**2 / variance, 1e-9)  # of the information about the line
    se_known = float(np.sqrt(variance / (kept @ x**2)))
    typical_slope = float(problem.items(maximum.x).slope.mean())
    return LatentRegression(
        z, se, se_known, typical_slope, x, x_sd, posteriors.mean, posteriors.sd, places
    )
