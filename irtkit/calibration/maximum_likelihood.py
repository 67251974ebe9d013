"""From response patterns to estimates: the marginal maximum, and standard errors there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.estimates import Estimates
from irtkit.calibration.likelihood import MarginalLikelihood, population_sds, prior_at
from irtkit.calibration.maximise import maximise, problem_of
from irtkit.calibration.parameterisation import Parameterisation
from irtkit.calibration.starting import start
from irtkit.patterns import merged

if TYPE_CHECKING:
    from jax.sharding import Mesh
    from numpy.typing import NDArray

    from irtkit.calibration.maximise import Control, Problem
    from irtkit.calibration.parameterisation import Values
    from irtkit.calibration.priors import Prior
    from irtkit.irf import ModelName
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Grid

    Array = NDArray[np.float64]


def maximum_likelihood(
    whole: Patterns,
    model: ModelName,
    prior: Prior | None,
    control: Control,
    *,
    empirical: bool,
    standard_errors: bool,
    mesh: Mesh | None,
) -> Estimates:
    """Maximise the likelihood of distinct patterns and items.

    Standard errors are those of the observed information.
    """
    patterns, respondents, columns = merged(whole)
    problem = problem_of(patterns, model, prior, mesh)
    maximum = maximise(problem, start(problem, control), control)
    if empirical:
        from irtkit.calibration.empirical import empirical_bayes

        problem, maximum = empirical_bayes(problem, maximum, control.schedule)
    at = problem.parameters.values(_tied(problem, maximum.x))
    items, latent_sd = at.items, at.latent_sd
    sds, covariances, information = population_sds(patterns, items, latent_sd), None, None
    if standard_errors:
        nodes = control.schedule.for_errors(items, patterns, maximum.nodes)
        grid = MarginalLikelihood(problem.engine, nodes).grid(items, latent_sd)
        covariances = _covariances(problem, grid, at, sds, columns)
    if problem.prior is None:
        likelihood = MarginalLikelihood(problem.engine, maximum.nodes)
        information = likelihood.terms(items, latent_sd).information[:, 1, 1]
        if patterns.multiplicity is not None:
            information = information / patterns.multiplicity
    monitor = control.monitor
    return Estimates(
        items=items.chosen(columns),
        covariances=covariances,
        information=None if information is None else information[columns],
        common_slope=problem.parameters.common_slope,
        ability=maximum.posteriors.mean[respondents],
        ability_se=maximum.posteriors.sd[respondents],
        latent_sd=latent_sd if model == "Rasch" else None,
        synthetic_sd=sds[1],
        prior=None if problem.prior is None else problem.prior.described(),
        log_likelihood=maximum.log_likelihood,
        converged=maximum.converged,
        n_iterations=monitor.n_evaluations,
        trace_rows=np.array(monitor.trace, dtype=np.float64).reshape(-1, 4),
        nodes=maximum.nodes,
        quadrature_error=maximum.quadrature_error,
    )


def _tied(problem: Problem, x: Array) -> Array:
    """Intercepts with a common slope: the same where complete responses have the same totals.

    They are at the maximum, since for complete data the total is sufficient for the intercept; a
    search stops with a difference of the size of its tolerance, which would pass for an order.
    """
    parameters, patterns = problem.parameters, problem.engine.patterns
    if not (parameters.common_slope and patterns.complete):
        return x
    tied, right = x.copy(), patterns.margins.item_right
    group = np.unique(right, axis=1, return_inverse=True)[1].ravel()
    mean = np.bincount(group, x[parameters.intercepts]) / np.bincount(group)
    tied[parameters.intercepts] = mean[group]
    return tied


def _covariances(
    problem: Problem,
    grid: Grid,
    at: Values,
    sds: tuple[float, float],
    columns: NDArray[np.intp],
) -> Array:
    """Covariances of the parameters of every item.

    Copies share their estimates, not their errors: where the information is formed as a whole,
    each has its own place in it.
    """
    from irtkit.calibration.standard_errors import formed_as_a_whole, item_covariances

    patterns, parameters, prior = problem.engine.patterns, problem.parameters, problem.prior
    if patterns.multiplicity is not None and formed_as_a_whole(at.items, patterns.n_items):
        patterns, at = patterns.with_columns(columns), at._replace(items=at.items.chosen(columns))
        parameters = Parameterisation(parameters.model, len(columns), learns=parameters.n_hyper > 0)
        # inverting leaves copies with errors that differ by rounding: all have those of the first
        columns = np.unique(columns, return_index=True)[1][columns]
    found = item_covariances(
        patterns,
        at.items,
        grid,
        model=parameters.model,
        sds=sds,
        prior=None if prior is None else prior_at(prior, parameters, at, patterns.multiplicity),
        n_learned=parameters.n_hyper,
    )
    return found[columns]
