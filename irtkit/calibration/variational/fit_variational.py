"""From response patterns to a variational posterior.

The optimisation starts near the maximum of the penalised likelihood, found with a coarse tolerance,
or with batches from a sample of the respondents. An empirical prior is learned there.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from irtkit.calibration.empirical import empirical_bayes
from irtkit.calibration.estimates import Estimates, unbounded_items
from irtkit.calibration.estimation import maximum_of, start
from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.search import FAR, MOST_REPAIRS, Control, maximise, problem_of
from irtkit.calibration.variational.bent import bent_posterior, with_likeliest_chance
from irtkit.calibration.variational.inference import (
    Batches,
    State,
    abilities_of,
    first_state,
    maximise_bound,
)
from irtkit.calibration.variational.posterior import Posterior, moments_of
from irtkit.calibration.variational.target import target_of
from irtkit.data.patterns import SYNTHETIC
from irtkit.irf import Items

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax.sharding import Mesh

    from irtkit.calibration.result import Settings
    from irtkit.calibration.search import GridSchedule, Problem
    from irtkit.data.patterns import Patterns
    from irtkit.irf import ModelName
    from irtkit.responses import ResponseMatrix

_BATCHES_AT_START = 4
"""Batches whose respondents the start is found from."""


def variational_estimates(
    patterns: Patterns,
    responses: ResponseMatrix,
    *,
    models: tuple[ModelName, ModelName],
    prior: Any,
    learns_chance: bool,
    settings: Settings,
    mesh: Mesh | None,
    schedule: GridSchedule,
    report: Callable[[int, float], None],
) -> Estimates:
    """Fit a posterior, with repeated trials at their effective number.

    ``models`` are the model asked for, and the model of the items. ``learns_chance`` is whether all
    items have one chance level, which was not given.
    """
    model, of_items = models
    size = settings.batch
    sampled = patterns
    correlation = None
    if size is not None and _BATCHES_AT_START * size < patterns.n:
        order = np.random.default_rng([settings.seed, 0, 3]).permutation(patterns.n)
        sampled = patterns.chosen(np.sort(order[: _BATCHES_AT_START * size]))
    control = Control(schedule, 1e-3)  # in nats: within √(2·tol) = 0.04 standard errors
    if patterns.repeated:
        correlation = settings.trial_correlation
        if correlation is None and sampled.repeated:
            _, _, correlation = maximum_of(sampled, of_items, prior, control, mesh=mesh)
        correlation = correlation or 0.0
        sampled, patterns = (
            part.with_trial_correlation(correlation) for part in (sampled, patterns)
        )
    problem = problem_of(sampled, of_items, prior, mesh)
    settings = replace(settings, trial_correlation=correlation)
    size = None if size is None else min(size, patterns.n)
    batches = Batches(problem, schedule, patterns, size, settings.seed)
    held = None if settings.prior == "empirical" else problem.prior
    state = _start(model, problem, held, control, batches)
    if learns_chance:
        state = with_likeliest_chance(state, batches)
    state = maximise_bound(
        state,
        batches,
        tol=settings.tol,
        max_steps=settings.max_iterations,
        report=report,
    )
    return _summary(state, batches, responses, settings, learns_chance=learns_chance)


def _start(
    model: ModelName, problem: Problem, prior: Any, control: Control, batches: Batches
) -> State:
    """State near the maximum of the penalised likelihood, where a prior of None is learned."""
    maximum = maximise(problem, start(problem, control), control)
    log_scale, location = problem.parameters.values(maximum.x).hyper
    if prior is None:
        problem, maximum = empirical_bayes(problem, maximum, batches.schedule)
        prior = problem.prior
        log_scale = math.log(prior.slope)
        location = -prior.difficulty
    items = problem.items(maximum.x)
    if items.logit_guessing is not None:
        # where the estimate of guessing is 0 no normal distribution is
        items = items._replace(logit_guessing=np.maximum(items.logit_guessing, -4.0))
    target = target_of(model, prior, items.slope, batches.patterns.n)
    return first_state(target, target.coordinates.point(items, location, log_scale), batches)


def _summary(
    state: State,
    batches: Batches,
    responses: ResponseMatrix,
    settings: Settings,
    *,
    learns_chance: bool,
) -> Estimates:
    """Posterior means and SDs, and the likelihood at the means."""
    patterns = batches.patterns
    target = state.target
    guide = state.guide
    bent = None
    abilities = abilities_of(state, batches)
    if target.coordinates.model == "3PL":
        guide, bent = bent_posterior(state, batches, chance_is_learned=learns_chance)
    parameters, covariance = moments_of(target.coordinates, guide, bent)
    if bent is not None:  # guessing c as its logit, whose derivative is 1/(c(1 − c))
        slope = parameters[:, 2] * (1 - parameters[:, 2])
        parameters[:, 2] = logit(parameters[:, 2])
        covariance[:, 2, :] /= slope[:, None]
        covariance[:, :, 2] /= slope[:, None]
    items = Items(*parameters.T)
    # of real respondents, on dense nodes that reach as far beyond each posterior mean as after EM
    real = patterns.real
    reached = 0.0
    dense = posteriors = batches.posteriors(parameters, state.nodes)
    for _ in range(MOST_REPAIRS):
        reaches = np.abs(dense.mean) + FAR * dense.sd
        farthest = float(reaches[real].max())
        if farthest <= reached:
            break
        density = batches.schedule.density(items, batches.problem.engine.patterns, farthest)
        dense = batches.posteriors(parameters, density.nodes(2, 2))
        reached = density.theta[-1]
    log_likelihood = float(dense.log_marginal[real].sum())
    by_nodes = float(posteriors.log_marginal[real].sum())
    return Estimates(
        items=items,
        covariances=covariance if settings.standard_errors else None,
        unbounded=unbounded_items(batches.problem.prior, items, None),
        common_slope=target.coordinates.common_slope,
        ability=abilities.mean,
        ability_se=abilities.sd,
        synthetic_sd=synthetic_sd(items),
        prior=target.described(guide.shared),
        log_likelihood=log_likelihood,
        converged=state.converged,
        n_iterations=len(state.trace),
        trace_rows=np.array(state.trace, dtype=np.float64).reshape(-1, 5),
        nodes=state.nodes,
        quadrature_error=abs(log_likelihood - by_nodes),
        trial_correlation=settings.trial_correlation,
        posterior=Posterior(
            item_labels=responses.items,
            respondent_labels=responses.respondents,
            synthetic=patterns.group == SYNTHETIC,
            coordinates=target.coordinates,
            guide=guide,
            abilities=abilities,
            elbo=float(state.elbo),
            stretch=1.0,
            bent=bent,
        ),
    )
