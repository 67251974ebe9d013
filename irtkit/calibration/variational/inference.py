"""Stochastic maximisation of the evidence lower bound.

Each step evaluates the bound at a few points drawn from the guide and moves its means by the
natural gradient, which for a normal guide is a Newton step. The *burn-in* takes full steps and
renews the guide's covariance after each. Once steps stop shrinking they are Monte-Carlo noise;
*Polyak–Ruppert averaging* then takes steps of 1/k, whose result is the mean of the k points that
full steps would have led to, until its Monte-Carlo error is small beside the posterior and the
bound has stopped rising.

With minibatches the information about the items is averaged over the steps as well, and the first
round of them, which sees every answer once, is the burn-in. All randomness of a step follows from
the seed and the number of the step, so that a run that was interrupted continues as if it had not
been.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.variational.coordinates import Point
from irtkit.calibration.variational.elbo import evaluate
from irtkit.calibration.variational.guide import Guide, Information, guide_of, information_at
from irtkit.calibration.variational.posterior import Abilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.calibration.variational.minibatches import Batches
    from irtkit.calibration.variational.target import Target
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes


# Errors are those of posterior means against a fine tolerance, over three seeds of six shapes.
_LEAST_BURN_IN = 3
"""Full steps before averaging may begin; with 2 errors of a 3PL are a quarter larger. Of 126 fits
of all shapes none took more than 5."""
_SHRINKING = 0.5
"""Ratio of successive steps up to which they converge rather than fluctuate: that of Newton steps
is near 0, that of noise near 1. From 0.25 to 0.8 no fit takes more than a step more or less."""
_WINDOW = 8
"""Steps of averaging whose mean bound is compared with that of as many before; the burn-in mean
counts for as many, and the covariance is renewed as often. 4 save 8 of 19 steps for errors 2 to
10 % larger, but cost minibatches half as many again; 16 double the steps for 4 to 10 % less."""
_MAX_STEP_SDS = 1.5
"""Longest step of an item, in posterior SDs: without a limit 9 of 54 fits of extreme shapes end up
to a nat lower."""
_DAMPING = 0.5
"""Weight of new information in burn-in, against oscillation where the information depends much on
the SD and the SD on it. With 1 one more of 24 awkward fits does not converge, with 0.25 errors of a
3PL are half as large again."""
_FIRST_SD = 0.1
"""SD of own coordinates at the very first; from 0.01 to 0.5 no result depends on it."""
_FIRST_ROUNDS = 2
"""Covariances made before the first step; without any, errors of minibatches are 13 % larger."""
_ABILITY_SETS = 4
"""Sets of points that the posterior of abilities and the final bound are means over: Monte-Carlo
errors of ability_se are then 0.5 % (4 % with 12 respondents)."""


class TraceRow(NamedTuple):
    """One step."""

    step: int
    nodes: int
    log_likelihood: float
    """Expected under the guide."""
    change: float
    """Root mean square step of the means, in posterior SDs."""
    elbo: float
    smoothed: float


@dataclass(frozen=True)
class State:
    """Everything that the next step depends on besides the batches."""

    target: Target
    guide: Guide
    information: Information
    nodes: Nodes
    """Nodes that suit the items in the middle of the guide."""
    by_slope: Array
    """Expected gradient of the likelihood by slopes at the last step."""
    round_from: Array | None
    """Means of own coordinates when the last round of minibatches began."""
    step: int
    averaged: int
    """Steps averaged so far; 0 during burn-in."""
    trace: tuple[TraceRow, ...]
    converged: bool


def first_state(target: Target, mean: Point, batches: Batches) -> State:
    """Return the state before the first step, around a mean."""
    coordinates = target.coordinates
    parameters = coordinates.parameters(mean)
    nodes = batches.nodes_at(parameters)
    systems = batches.likelihood(0, nodes).systems(parameters, [parameters])
    information = information_at(target, [mean], systems)
    sds = np.full_like(mean.own, _FIRST_SD)
    no_gradient = np.zeros(coordinates.n_items)
    by_prior = target.expected_prior(mean.own, sds).curvature
    guide = guide_of(target, mean, information, no_gradient, by_prior)
    state = State(
        *(target, guide, information, nodes),
        by_slope=no_gradient,
        round_from=None,
        step=0,
        averaged=0,
        trace=(),
        converged=False,
    )
    for _ in range(_FIRST_ROUNDS):
        state = renewed(state, batches, _DAMPING)
    return state


def maximise_bound(
    state: State,
    batches: Batches,
    *,
    tol: float,
    max_steps: int,
    report: Callable[[int, float], None],
    keep: Callable[[State], None],
) -> State:
    """Take steps until the bound has settled, or there are ``max_steps`` of them.

    ``tol`` is the Monte-Carlo error of posterior means, in posterior SDs, below which a fit has
    converged. ``keep`` is called with the state after every step, and may store it.
    """
    per_round = batches.steps_per_pass
    state = replace(state, converged=_converged(state, per_round, tol))
    while not state.converged and state.step < max_steps:
        state = _stepped(state, batches)
        state = replace(state, converged=_converged(state, per_round, tol))
        report(state.step, state.trace[-1].smoothed)
        keep(state)
    return state


def _stepped(state: State, batches: Batches) -> State:
    """Return the state after one more step."""
    per_round = batches.steps_per_pass
    if per_round > 1 and state.step % per_round == 0:
        state = replace(state, round_from=state.guide.own)
    likelihood = batches.likelihood(state.step, state.nodes)
    generator = np.random.default_rng([batches.seed, state.step, 0])
    found = evaluate(state.target, state.guide, likelihood, generator)
    direction = state.guide.natural(found.gradient)
    change = _size(direction, found.gradient)
    averaged = _averaged(state, per_round, change)
    rate = 1 / (_WINDOW + 1 + averaged) if averaged else 1.0
    mean = _moved(state.guide, direction, rate)
    row = TraceRow(
        state.step + 1,
        state.nodes.n_nodes,
        found.log_likelihood,
        change,
        found.elbo,
        _smoothed(state, found.elbo, averaged),
    )
    after = replace(
        state,
        guide=state.guide._replace(own=mean.own, shared=mean.shared),
        by_slope=found.by_slope,
        step=state.step + 1,
        averaged=averaged,
        trace=(*state.trace, row),
    )
    if per_round > 1:
        return renewed(after, batches, rate)
    if averaged % _WINDOW:
        return after
    weight = _DAMPING if averaged == 0 else _WINDOW / (_WINDOW + averaged)
    return renewed(after, batches, weight)


def _size(direction: Point, gradient: Point) -> float:
    """Root mean square of a natural-gradient step, in posterior SDs of what it moves."""
    square = (direction.own * gradient.own).sum() + direction.shared @ gradient.shared
    return math.sqrt(max(float(square), 0.0) / (direction.own.size + direction.shared.size))


def _averaged(state: State, per_round: int, change: float) -> int:
    """Steps averaged with the next one, whose size is ``change``; 0 during burn-in."""
    if per_round == 1:
        if state.averaged == 0 and state.step < _LEAST_BURN_IN:
            return 0
        # burn-in ends when steps have become Monte-Carlo noise
        begun = state.averaged or not change <= _SHRINKING * state.trace[-1].change
        return state.averaged + 1 if begun else 0
    # the first round of minibatches is averaged too, and then left out
    return 1 if state.step == per_round else state.averaged + 1


def _moved(guide: Guide, direction: Point, rate: float) -> Point:
    """Means after a share of a step, cut to a trust region of a few posterior SDs.

    Farther out the expected information is not that of the bound.
    """
    size = np.sqrt(np.mean((direction.own / guide.sds()) ** 2, axis=1, keepdims=True))
    sds = np.sqrt(np.diag(guide.common)[: len(direction.shared)])
    limit = _MAX_STEP_SDS / rate
    own = direction.own * np.minimum(1.0, limit / np.maximum(size, 1e-300))
    shared = np.clip(direction.shared, -limit * sds, limit * sds)
    return Point(guide.own + rate * own, guide.shared + rate * shared)


def renewed(state: State, batches: Batches, weight: float) -> State:
    """Renew the nodes and the guide's covariance at the guide's mean.

    The information is an expectation under the guide as it was; ``weight`` is that of the new one
    in a running mean.
    """
    target, guide = state.target, state.guide
    to_parameters = target.coordinates.parameters
    points = guide.around(np.random.default_rng([batches.seed, state.step, 6]))
    at_mean = to_parameters(guide.mean)
    nodes = batches.nodes_at(at_mean)
    likelihood = batches.likelihood(max(state.step - 1, 0), nodes)  # the batch of the last step
    systems = likelihood.systems(at_mean, [to_parameters(point) for point in points])
    latest = information_at(target, points, systems)
    information = state.information.averaged(latest, weight)
    by_prior = target.expected_prior(guide.own, guide.sds()).curvature
    guide = guide_of(target, guide.mean, information, state.by_slope, by_prior)
    return replace(state, guide=guide, information=information, nodes=nodes)


def _smoothed(state: State, elbo: float, averaged: int) -> float:
    """Exponential average of the bound, begun anew after burn-in; for reports only."""
    if averaged <= 1:
        return elbo
    weight = max(2 / (_WINDOW + 1), 1 / averaged)  # the mean age of a moving average over a window
    return state.trace[-1].smoothed + weight * (elbo - state.trace[-1].smoothed)


def _converged(state: State, per_round: int, tol: float) -> bool:
    """Whether the bound has stopped rising and posterior means are known well enough.

    A rise counts if it exceeds what means off by ``tol`` SDs lose, tol²/2 for each parameter.
    """
    window = max(per_round, _WINDOW)
    # two windows to compare; of rounds, after one of burn-in
    enough = state.averaged >= 2 * _WINDOW and state.step >= 3 * per_round
    if not enough or state.step % per_round:
        return False
    bounds = np.array([row.elbo for row in state.trace[-2 * window :]])
    rise = float(bounds[window:].mean() - bounds[:window].mean())
    negligible = 0.5 * (state.guide.own.size + len(state.guide.shared)) * tol**2
    if state.round_from is not None:  # rounds see the same answers, and are compared
        moved = (state.guide.own - state.round_from) / state.guide.sds()
        return rise < negligible and float(np.mean(moved**2)) < (2 * tol) ** 2
    changes = np.array([row.change for row in state.trace[-2 * window :]])
    # the steps averaged, and the burn-in mean, which counts as a window of them
    weights = state.averaged + _WINDOW**2
    error = math.sqrt(float(np.mean(changes**2)) * weights) / (state.averaged + _WINDOW)
    rise_error = float(np.std(bounds)) / math.sqrt(window)
    return error < tol and rise < negligible + 2 * rise_error


class Bound(NamedTuple):
    """The evidence lower bound at a guide."""

    value: float
    error: float
    """Its Monte-Carlo standard error."""


def abilities_of(state: State, batches: Batches) -> tuple[Abilities, Bound]:
    """Posteriors of abilities, means over points of the guide, and the bound at the guide.

    On the sample's scale, on which real abilities have mean 0 and SD 1 at every point, the
    variance of an ability is the mean of its variances given the items plus the variance of its
    means.

    The bound is the mean of the log density of all but for that of the guide, which varies little
    where the two are alike. Sets of points share nothing but that their distances are spread
    evenly, so that the spread of sets says no less than what their mean is off by.
    """
    target, guide, real = state.target, state.guide, batches.patterns.real
    mean, square, variance, population, given_items = np.zeros((5, len(real)))
    generator = np.random.default_rng([batches.seed, 0, 1])
    deviates = [
        pair
        for distances in guide.distances(generator, _ABILITY_SETS)
        for pair in guide.deviates(generator, *distances)
    ]
    n_points = len(deviates)
    own, common = (np.stack(parts) for parts in zip(*deviates, strict=True))
    bounds = 0.5 * (guide.squares(own, common) - own[0].size - len(guide.shared))
    for k, pair in enumerate(deviates):
        point = guide.at(*pair)
        parameters = target.coordinates.parameters(point)
        found = batches.posteriors(parameters, state.nodes)
        bounds[k] += float(found.log_marginal.sum()) + target.log_density(point, parameters)
        centre = float(found.mean[real].mean())
        squares = (found.mean[real] - centre) ** 2 + found.sd[real] ** 2
        unit = math.sqrt(float(np.mean(squares)))
        scaled = (found.mean - centre) / unit
        mean, square = mean + scaled, square + scaled**2
        variance += (found.sd / unit) ** 2
        population, given_items = population + found.mean, given_items + found.sd**2
    mean, square, variance = mean / n_points, square / n_points, variance / n_points
    sd = np.sqrt(variance + np.maximum(square - mean**2, 0.0))
    abilities = Abilities(mean, sd, population / n_points, np.sqrt(given_items / n_points))
    by_set = bounds.reshape(_ABILITY_SETS, -1).mean(axis=1)
    error = float(by_set.std(ddof=1)) / math.sqrt(_ABILITY_SETS)
    return abilities, Bound(float(by_set.mean()) + guide.entropy(), error)
