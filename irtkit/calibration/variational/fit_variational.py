"""From response patterns to a variational posterior.

The optimisation starts near the maximum of the penalised likelihood, found with a coarse tolerance,
or with minibatches from a sample of the respondents. An empirical prior is learned there. A
checkpoint file holds the state after the last step, and a fingerprint of responses and settings, so
that a run continues only with its own.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from irtkit.calibration.empirical import ItemDistribution, empirical_bayes
from irtkit.calibration.estimates import Estimates, unbounded_items
from irtkit.calibration.estimation import maximum_of, start
from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.priors import ItemPrior
from irtkit.calibration.search import FAR, MOST_REPAIRS, Control, maximise, problem_of
from irtkit.calibration.variational.bent import bent_posterior, with_likeliest_chance
from irtkit.calibration.variational.guide import Guide, Information
from irtkit.calibration.variational.inference import (
    Batches,
    State,
    TraceRow,
    abilities_of,
    first_state,
    maximise_bound,
)
from irtkit.calibration.variational.posterior import Posterior, moments_of
from irtkit.calibration.variational.target import Coordinates, Target, target_of
from irtkit.data.patterns import SYNTHETIC
from irtkit.irf import Items
from irtkit.quadrature import Nodes
from irtkit.storage import Format, fields_of, read, with_parts, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from jax.sharding import Mesh

    from irtkit.calibration.result import Settings
    from irtkit.calibration.search import GridSchedule, Problem
    from irtkit.data.patterns import Patterns
    from irtkit.irf import ModelName
    from irtkit.responses import ResponseMatrix

_FORMAT = Format("irtkit variational checkpoint", 5)
_NEAR = 1e-3
"""Tolerance of the search for the start, in nats: within √(2·tol) = 0.04 standard errors."""
_BATCHES_AT_START = 4
"""Minibatches whose respondents the start is found from."""
_LEAST_LOGIT = -4.0
"""Least logit of guessing at the start: where its estimate is 0 no normal distribution is."""


def variational_estimates(
    patterns: Patterns,
    responses: ResponseMatrix,
    *,
    models: tuple[ModelName, ModelName],
    prior: Any,
    learns_chance: bool,
    settings: Settings,
    mesh: Mesh | None,
    checkpoint: str | PathLike[str] | None,
    schedule: GridSchedule,
    report: Callable[[int, float], None],
) -> Estimates:
    """Fit a posterior, with repeated trials at their effective number.

    ``models`` are the model asked for, and the model of the items. ``learns_chance`` is whether all
    items have one chance level, which was not given.
    """
    (model, of_items), size = models, settings.batch
    some, correlation = patterns, None
    if size is not None and _BATCHES_AT_START * size < patterns.n:
        order = np.random.default_rng([settings.seed, 0, 3]).permutation(patterns.n)
        some = patterns.chosen(np.sort(order[: _BATCHES_AT_START * size]))
    # the start does not depend on max_iterations, so that a fit which ran out of steps can go on
    control = Control(schedule, _NEAR)
    if patterns.repeated:
        correlation = settings.trial_correlation
        if correlation is None and some.repeated:
            _, _, correlation = maximum_of(some, of_items, prior, control, mesh=mesh)
        correlation = correlation or 0.0
        some, patterns = (part.with_trial_correlation(correlation) for part in (some, patterns))
    problem = problem_of(some, of_items, prior, mesh)
    settings = replace(settings, trial_correlation=correlation)
    size = None if size is None else min(size, patterns.n)
    batches = Batches(problem, schedule, patterns, size, settings.seed)
    held = None if settings.prior == "empirical" else problem.prior
    path = None if checkpoint is None else Path(checkpoint)
    fingerprint = {
        "model": model,
        "prior": None if held is None else held.described(),
        "seed": settings.seed,
        "batch": settings.batch,
        "quadrature": settings.quadrature,
        "responses": None if path is None else digest_of(patterns),
    }

    def keep(state: State) -> None:
        """Store the state after a step, if there is a checkpoint."""
        learned, coordinates = state.target.prior, state.target.coordinates
        if path is not None:
            record = {
                "fingerprint": fingerprint,
                "coordinates": coordinates,
                "learned": learned if isinstance(learned, ItemDistribution) else None,
                "chance": getattr(learned, "chance", None),
                "state": {**fields_of(state), "target": None},
            }
            write(path, _FORMAT, record, compressed=False)

    state = None if path is None else _resumed(path, fingerprint, held)
    if state is None:
        state = _start(model, problem, held, control, batches)
        if learns_chance:
            state = with_likeliest_chance(state, batches)
        keep(state)
    state = maximise_bound(
        state,
        batches,
        tol=settings.tol,
        max_steps=settings.max_iterations,
        report=report,
        keep=keep,
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
        log_scale, location = math.log(prior.slope), -prior.difficulty
    items = problem.items(maximum.x)
    if items.logit_guessing is not None:
        items = items._replace(logit_guessing=np.maximum(items.logit_guessing, _LEAST_LOGIT))
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
    patterns, target, guide, bent = batches.patterns, state.target, state.guide, None
    abilities, elbo, elbo_se = abilities_of(state, batches)
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
    real, reached = patterns.real, 0.0
    dense = found = batches.posteriors(parameters, state.nodes)
    for _ in range(MOST_REPAIRS):
        farthest = float((np.abs(dense.mean) + FAR * dense.sd)[real].max())
        if farthest <= reached:
            break
        density = batches.schedule.density(items, batches.problem.engine.patterns, farthest)
        dense, reached = batches.posteriors(parameters, density.nodes(2, 2)), density.theta[-1]
    log_likelihood = float(dense.log_marginal[real].sum())
    error = abs(log_likelihood - float(found.log_marginal[real].sum()))
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
        n_iterations=state.step,
        trace_rows=np.array(state.trace, dtype=np.float64).reshape(-1, 6),
        nodes=state.nodes,
        quadrature_error=error,
        trial_correlation=settings.trial_correlation,
        posterior=Posterior(
            item_labels=responses.items,
            respondent_labels=responses.respondents,
            synthetic=patterns.group == SYNTHETIC,
            coordinates=target.coordinates,
            guide=guide,
            abilities=abilities,
            elbo=elbo,
            elbo_se=elbo_se,
            stretch=1.0,
            bent=bent,
        ),
    )


def _resumed(path: Path, fingerprint: dict[str, Any], prior: Any) -> State | None:
    """The stored state, or None without a file. ``prior`` is the prior of the fit unless learned.

    Raises
    ------
    ValueError
        If the file is not a checkpoint, is damaged, or has other responses or settings.
    """
    if not path.exists():
        return None
    record = read(path, _FORMAT, _made)
    for name, wanted in fingerprint.items():
        if record["fingerprint"].get(name) != wanted:
            raise ValueError(
                f"checkpoint {path} was made with other {name}. "
                "Choose another path, or delete it to start again"
            )
    state: State = record["state"]
    prior = record["learned"] or prior
    if not isinstance(prior, ItemPrior):
        prior = replace(prior, chance=record["chance"])
    return replace(state, target=Target(record["coordinates"], prior))


def _made(record: dict[str, Any]) -> dict[str, Any]:
    """The parts of a record as objects, except the target of the state."""
    state = with_parts(record["state"], guide=Guide, information=Information, nodes=Nodes)
    state["trace"] = tuple(TraceRow(**row) for row in state["trace"])
    kinds = {"coordinates": Coordinates, "learned": ItemDistribution, "state": State}
    return with_parts({**record, "state": state}, **kinds)


def digest_of(rows: Patterns) -> str:
    """A digest of the responses, cell by cell."""
    found = hashlib.sha256(str(rows.cells.shape).encode())
    parts: list[Any] = [part for part in (rows.group, rows.cells, rows.trials) if part is not None]
    for part in parts:
        dense = isinstance(part, np.ndarray)
        for array in (part,) if dense else (part.indptr, part.indices, part.data):
            found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
