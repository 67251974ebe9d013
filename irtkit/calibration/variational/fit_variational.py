"""From response patterns to a variational posterior.

The optimisation starts near the maximum of the penalised likelihood, which the search for it
finds in a dozen evaluations with a coarse tolerance; with minibatches, near that of as many
respondents as a few of them hold. An empirical prior is learned at this maximum too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from irtkit.calibration.empirical import empirical_bayes
from irtkit.calibration.estimates import Estimates, unbounded
from irtkit.calibration.expected import of_some
from irtkit.calibration.item_prior import ItemPrior
from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.maximise import (
    FAR,
    MOST_REPAIRS,
    Control,
    Monitor,
    Stopping,
    maximise,
    problem_of,
)
from irtkit.calibration.maximum_likelihood import maximum_of, start
from irtkit.calibration.variational import inference
from irtkit.calibration.variational.bent import bent_posterior
from irtkit.calibration.variational.checkpoint import Checkpoint, digest_of
from irtkit.calibration.variational.minibatches import Batches
from irtkit.calibration.variational.posterior import Posterior, moments_of
from irtkit.calibration.variational.target import target_of
from irtkit.data.patterns import SYNTHETIC, part_of
from irtkit.irf import Items

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.calibration.maximise import GridSchedule, Problem
    from irtkit.calibration.methods import Variational
    from irtkit.calibration.result import Settings
    from irtkit.calibration.variational.inference import State
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ModelName
    from irtkit.responses import ResponseMatrix


_NEAR = 1e-3
"""Tolerance of the EM fit to start from, in nats: it ends within √(2·tol) = 0.04 standard errors of
the maximum, about as far as posterior means may be off at the end."""
_BATCHES_AT_START = 4
"""Minibatches whose respondents the start is found from, for half the standard error of one. From
one a fit takes up to 16 % more steps."""
_LEAST_LOGIT = -4.0
"""Of guessing at the start, 0.02: the likeliest guessing may be 0, where no normal density is."""


def starting_patterns(patterns: Patterns, options: Variational, seed: int) -> Patterns:
    """Return the patterns to start from: all, or as many as a few minibatches hold."""
    size, n = options.batch, patterns.n
    if size is None or _BATCHES_AT_START * size >= n:
        return patterns
    order = np.random.default_rng([seed, 0, 3]).permutation(n)
    return patterns.chosen(np.sort(order[: _BATCHES_AT_START * size]))


def correlation_at_start(some: Patterns, problem: Problem, schedule: GridSchedule) -> float | None:
    """Correlation of repeated trials near the maximum; None if there are none."""
    if not some.repeated:
        return None
    control = Control(schedule, Stopping(_NEAR), Monitor(lambda _step, _value: None))
    model, prior, mesh = problem.parameters.model, problem.prior, problem.mesh
    return maximum_of(some, model, prior, control, mesh=mesh).trial_correlation


def variational_estimates(
    patterns: Patterns,
    responses: ResponseMatrix,
    *,
    models: tuple[ModelName, ModelName],
    prior: Any,
    settings: Settings,
    options: Variational,
    schedule: GridSchedule,
    mesh: Any,
    report: Callable[[int, float], None],
) -> Estimates:
    """Fit from a start on some of the respondents, repeated trials counting for what they are.

    ``models`` are the one asked for, and that of the items. Respondents and items without a
    response are set aside, but not items that have a density of their own.
    """
    model, of_items = models
    group, n_items = patterns.group, patterns.n_items
    rows, columns = patterns.answered(np.full(n_items, isinstance(prior, ItemPrior)))
    patterns, prior = part_of(patterns, rows, columns), of_some(prior, columns)
    some, correlation = starting_patterns(patterns, options, settings.seed), None
    problem = problem_of(some, of_items, prior, mesh)
    if patterns.repeated:
        correlation = settings.trial_correlation
        if correlation is None:
            correlation = correlation_at_start(some, problem, schedule) or 0.0
        some, patterns = (part.with_trial_correlation(correlation) for part in (some, patterns))
        problem = problem_of(some, of_items, prior, mesh)
    settings = replace(settings, trial_correlation=correlation)
    found = VariationalFit(
        problem, schedule, patterns, responses, model, settings, options, report
    ).estimates()
    return found.beside_unanswered(rows, columns, group, n_items)


@dataclass(frozen=True)
class VariationalFit:
    """One variational fit.

    ``problem`` is that of the start, perhaps of some of the respondents; ``responses`` have those
    who answered nothing as well.
    """

    problem: Problem
    schedule: GridSchedule
    patterns: Patterns
    responses: ResponseMatrix
    model: ModelName
    settings: Settings
    options: Variational
    report: Callable[[int, float], None]

    def estimates(self) -> Estimates:
        """Find a start or the state of a checkpoint, maximise the bound, sum up the posterior."""
        prior = None if self.settings.prior == "empirical" else self.problem.prior
        file = self._checkpoint(prior)
        stored = None if file is None else file.resumed(prior)
        state, batches = self._start(prior) if stored is None else stored, self._batches()

        def keep(now: State) -> None:
            if file is not None:
                file.keep(now)

        if stored is None:
            keep(state)
        state = inference.maximise_bound(
            state,
            batches,
            tol=self.settings.tol,
            max_steps=self.settings.max_iterations,
            report=self.report,
            keep=keep,
        )
        return self._summary(state, batches)

    def _start(self, prior: Any) -> State:
        """State near the maximum of the penalised likelihood; a prior of None is learned there."""
        problem = self.problem
        # the same however few steps are then allowed, so that a fit which ran out of them
        # continues as one that did not
        silent = Monitor(lambda _step, _value: None)
        control = Control(self.schedule, Stopping(_NEAR), silent)
        maximum = maximise(problem, start(problem, control), control)
        log_scale, location = problem.parameters.values(maximum.x).hyper
        if prior is None:
            problem, maximum = empirical_bayes(problem, maximum, self.schedule)
            prior = problem.prior
            log_scale, location = math.log(prior.slope), -prior.difficulty
        items = problem.items(maximum.x)
        if items.logit_guessing is not None:
            items = items._replace(logit_guessing=np.maximum(items.logit_guessing, _LEAST_LOGIT))
        target = target_of(self.model, prior, items.slope, self.patterns.n)
        mean = target.coordinates.point(items, location, log_scale)
        return inference.first_state(target, mean, self._batches())

    def _batches(self) -> Batches:
        size, seed = self.options.batch, self.settings.seed
        size = None if size is None else min(size, self.patterns.n)
        return Batches(self.problem, self.schedule, self.patterns, size, seed)

    def _checkpoint(self, prior: Any) -> Checkpoint | None:
        options = self.options
        if options.checkpoint is None:
            return None
        fingerprint = {
            "model": self.model,
            "prior": None if prior is None else prior.described(),
            "seed": self.settings.seed,
            "batch": options.batch,
            "quadrature": self.settings.quadrature,
            "responses": digest_of(self.patterns),
        }
        return Checkpoint(Path(options.checkpoint), fingerprint)

    def _summary(self, state: State, batches: Batches) -> Estimates:
        """Posterior means and SDs, and the likelihood at the means."""
        patterns, target = self.patterns, state.target
        abilities, bound = inference.abilities_of(state, batches)
        coordinates, guide, bent = target.coordinates, state.guide, None
        if self.model == "3PL":
            guide, bent = bent_posterior(target, guide, batches, state.nodes)
        parameters, covariance = _by_logit(*moments_of(coordinates, guide, bent))
        log_likelihood, error = self._log_likelihood(parameters, state, batches)
        return Estimates(
            items=Items(*parameters.T),
            covariances=covariance if self.settings.standard_errors else None,
            unbounded=unbounded(self.problem.prior, Items(*parameters.T), None),
            common_slope=coordinates.common_slope,
            ability=abilities.mean,
            ability_se=abilities.sd,
            synthetic_sd=synthetic_sd(Items(*parameters.T)),
            prior=target.described(guide.shared),
            log_likelihood=log_likelihood,
            converged=state.converged,
            n_iterations=state.step,
            trace_rows=np.array(state.trace, dtype=np.float64).reshape(-1, 6),
            nodes=state.nodes,
            quadrature_error=error,
            trial_correlation=self.settings.trial_correlation,
            posterior=Posterior(
                item_labels=self.responses.items,
                respondent_labels=self.responses.respondents,
                synthetic=patterns.group == SYNTHETIC,
                coordinates=coordinates,
                guide=guide,
                abilities=abilities,
                elbo=bound.value,
                elbo_se=bound.error,
                stretch=1.0,
                bent=bent,
            ),
        )

    def _log_likelihood(
        self, parameters: Array, state: State, batches: Batches
    ) -> tuple[float, float]:
        """Log-likelihood of real respondents on dense nodes, and its distance from that on few.

        The dense nodes reach as far beyond every posterior mean as they do after EM.
        """
        real = self.patterns.real
        dense = found = batches.posteriors(parameters, state.nodes)
        items, patterns, reached = Items(*parameters.T), self.problem.engine.patterns, 0.0
        for _ in range(MOST_REPAIRS):
            farthest = float((np.abs(dense.mean) + FAR * dense.sd)[real].max())
            if farthest <= reached:
                break
            density = self.schedule.density(items, patterns, farthest)
            dense, reached = batches.posteriors(parameters, density.nodes(2, 2)), density.theta[-1]
        log_likelihood = float(dense.log_marginal[real].sum())
        return log_likelihood, abs(log_likelihood - float(found.log_marginal[real].sum()))


def _by_logit(mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Moments with guessing c turned into its logit, whose derivative is 1/(c(1 − c))."""
    parameters = mean.copy()
    if mean.shape[1] == 3:
        slope = mean[:, 2] * (1 - mean[:, 2])
        parameters[:, 2] = logit(mean[:, 2])
        covariance[:, 2, :] /= slope[:, None]
        covariance[:, :, 2] /= slope[:, None]
    return parameters, covariance
