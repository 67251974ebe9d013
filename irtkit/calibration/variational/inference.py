"""Stochastic maximisation of the evidence lower bound.

Each step evaluates the bound at a few points drawn from the guide and moves its means by the
natural gradient, which for a normal guide is a Newton step. The *burn-in* takes full steps and
renews the guide's covariance after each. Once steps stop shrinking they are Monte-Carlo noise;
*Polyak–Ruppert averaging* then takes steps of 1/k, whose result is the mean of the k points that
full steps would have led to, until its Monte-Carlo error is small beside the posterior and the
bound has stopped rising.

With minibatches the information about the items is averaged over the steps as well, and the first
pass through them is the burn-in. All randomness of a step follows from the seed and the number of
the step, so that a run that was interrupted continues as if it had not been.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from irtkit.calibration.variational.bound import evaluate
from irtkit.calibration.variational.coordinates import Point
from irtkit.calibration.variational.guide import Guide, Information, guide_of, information_at
from irtkit.calibration.variational.posterior import Abilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.calibration.information import System
    from irtkit.calibration.variational.target import Target
    from irtkit.quadrature import Nodes, Posteriors

    Array = NDArray[np.float64]

_LEAST_BURN_IN = 3
"""Full steps before averaging may begin. With 2 the means of a 3PL are a quarter farther from
those at a fine tolerance; of 126 fits of all shapes none took more than 5."""
_SHRINKING = 0.5
"""Ratio of successive steps up to which they still converge rather than fluctuate: fluctuating
ones have a ratio near 1, and Newton steps far from the optimum one near 0."""
_WINDOW = 8
"""Steps of averaging whose mean bound is compared with that of as many before. The burn-in mean
counts for as many, and the covariance is renewed as often. WINDOWMEASURED"""
_MAX_STEP_SDS = 1.5
"""Longest step of an item, in posterior SDs. TRUSTMEASURED"""
_DAMPING = 0.5
"""Weight of new information in burn-in, against oscillation: where responses hardly pin an item
down, information depends much on its SD, and the SD on it."""
_FIRST_SD = 0.1
"""SD of own coordinates at the very first; from 0.01 to 0.5 no result depends on it."""
_FIRST_ROUNDS = 2
"""Covariances made before the first step. With none the first pass through minibatches is worth
less (means 13 % farther off); 4 are no better."""
_ABILITY_SETS = 4
"""Sets of points of the guide that the posterior of abilities and the final bound are means over.
SETSMEASURED"""


class Settings(NamedTuple):
    """When to stop, and where randomness comes from."""

    seed: int
    tol: float
    """Monte-Carlo error of posterior means, in posterior SDs, below which a fit has converged."""
    steps_per_pass: int
    """Steps that see every respondent once: 1 without minibatches."""
    max_steps: int


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
    """Everything that the next step depends on besides the responses and the settings."""

    target: Target
    guide: Guide
    information: Information
    nodes: Nodes
    """Nodes that suit the items in the middle of the guide."""
    by_slope: Array
    """Expected gradient of the likelihood by slopes at the last step."""
    round_from: Array | None = None
    """Means of own coordinates when the last pass through the minibatches began."""
    step: int = 0
    averaged: int = 0
    """Steps averaged so far; 0 during burn-in."""
    trace: tuple[TraceRow, ...] = ()
    converged: bool = False


class StepLikelihood(Protocol):
    """A likelihood, or a bound on it."""

    def evaluate(self, parameters: Array) -> tuple[float, Array]:
        """Value, and gradient by slope, intercept (and logit of guessing)."""

    def systems(self, parameters: Array, points: list[Array]) -> list[System]:
        """Information about items at some points, and about shifts that all abilities share."""


class Batches(Protocol):
    """Which responses each step sees: all of them, or a minibatch."""

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""

    def likelihood(self, step: int, nodes: Nodes) -> StepLikelihood:
        """Likelihood of the batch of a step, scaled up to all respondents."""

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent."""


def first_state(target: Target, mean: Point, batches: Batches, seed: int) -> State:
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
    state = State(target, guide, information, nodes, no_gradient)
    for _ in range(_FIRST_ROUNDS):
        state = renewed(state, batches, seed, _DAMPING)
    return state


def maximise_bound(
    state: State,
    batches: Batches,
    settings: Settings,
    *,
    report: Callable[[int, float], None],
    keep: Callable[[State], None],
) -> State:
    """Take steps until the bound has settled, or there are too many of them.

    ``keep`` is called with the state after every step, and may store it.
    """
    state = replace(state, converged=_converged(state, settings))
    while not state.converged and state.step < settings.max_steps:
        state = _stepped(state, batches, settings)
        state = replace(state, converged=_converged(state, settings))
        report(state.step, state.trace[-1].smoothed)
        keep(state)
    return state


def _stepped(state: State, batches: Batches, settings: Settings) -> State:
    """Return the state after one more step."""
    minibatches = settings.steps_per_pass > 1
    if minibatches and state.step % settings.steps_per_pass == 0:
        state = replace(state, round_from=state.guide.own)
    likelihood = batches.likelihood(state.step, state.nodes)
    generator = np.random.default_rng([settings.seed, state.step, 0])
    found = evaluate(state.target, state.guide, likelihood, generator)
    direction = state.guide.natural(found.gradient)
    change = _size(direction, found.gradient)
    averaged = _averaged(state, settings, change)
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
    if minibatches:
        return renewed(after, batches, settings.seed, rate)
    if averaged % _WINDOW:
        return after
    weight = _DAMPING if averaged == 0 else _WINDOW / (_WINDOW + averaged)
    return renewed(after, batches, settings.seed, weight)


def _size(direction: Point, gradient: Point) -> float:
    """Root mean square of a natural-gradient step, in posterior SDs of what it moves."""
    square = (direction.own * gradient.own).sum() + direction.shared @ gradient.shared
    return math.sqrt(max(float(square), 0.0) / (direction.own.size + direction.shared.size))


def _averaged(state: State, settings: Settings, change: float) -> int:
    """Steps averaged with the next one, whose size is ``change``; 0 during burn-in."""
    if settings.steps_per_pass == 1:
        begun = state.averaged or _burnt_in(state, change)
        return state.averaged + 1 if begun else 0
    # the first pass through minibatches is averaged too, and then left out
    return 1 if state.step == settings.steps_per_pass else state.averaged + 1


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


def renewed(state: State, batches: Batches, seed: int, weight: float) -> State:
    """Renew the nodes and the guide's covariance at the guide's mean.

    The information is an expectation under the guide as it was; ``weight`` is that of the new one
    in a running mean.
    """
    target, guide = state.target, state.guide
    to_parameters = target.coordinates.parameters
    points = guide.around(np.random.default_rng([seed, state.step, 6]))
    at_mean = to_parameters(guide.mean)
    nodes = batches.nodes_at(at_mean)
    likelihood = batches.likelihood(max(state.step - 1, 0), nodes)  # the batch of the last step
    systems = likelihood.systems(at_mean, [to_parameters(point) for point in points])
    latest = information_at(target, points, systems)
    information = state.information.averaged(latest, weight)
    by_prior = target.expected_prior(guide.own, guide.sds()).curvature
    guide = guide_of(target, guide.mean, information, state.by_slope, by_prior)
    return replace(state, guide=guide, information=information, nodes=nodes)


def _burnt_in(state: State, change: float) -> bool:
    """Whether steps have become Monte-Carlo noise."""
    return state.step >= _LEAST_BURN_IN and not change <= _SHRINKING * state.trace[-1].change


def _smoothed(state: State, elbo: float, averaged: int) -> float:
    """Exponential average of the bound, begun anew after burn-in; for reports only."""
    if averaged <= 1 or not state.trace:
        return elbo
    weight = max(2 / (_WINDOW + 1), 1 / averaged)  # the mean age of a moving average over a window
    return state.trace[-1].smoothed + weight * (elbo - state.trace[-1].smoothed)


def _converged(state: State, settings: Settings) -> bool:
    """Whether the bound has stopped rising and posterior means are known well enough.

    A rise counts if it exceeds what means off by ``tol`` SDs lose, tol²/2 for each parameter.
    """
    steps_per_pass = settings.steps_per_pass
    window = max(steps_per_pass, _WINDOW)
    # two windows to compare; of passes, after one of burn-in
    enough = state.averaged >= 2 * _WINDOW and state.step >= 3 * steps_per_pass
    if not enough or state.step % steps_per_pass:
        return False
    bounds = np.array([row.elbo for row in state.trace[-2 * window :]])
    rise = float(bounds[window:].mean() - bounds[:window].mean())
    negligible = 0.5 * (state.guide.own.size + len(state.guide.shared)) * settings.tol**2
    if state.round_from is not None:  # passes see the same respondents, and are compared
        moved = (state.guide.own - state.round_from) / state.guide.sds()
        return rise < negligible and float(np.mean(moved**2)) < (2 * settings.tol) ** 2
    changes = np.array([row.change for row in state.trace[-2 * window :]])
    # the steps averaged, and the burn-in mean, which counts as a window of them
    weights = state.averaged + _WINDOW**2
    error = math.sqrt(float(np.mean(changes**2)) * weights) / (state.averaged + _WINDOW)
    rise_error = float(np.std(bounds)) / math.sqrt(window)
    return error < settings.tol and rise < negligible + 2 * rise_error


def abilities_of(
    state: State, batches: Batches, real: NDArray[np.bool_], settings: Settings
) -> tuple[Abilities, float]:
    """Posteriors of abilities over points of the guide, and the bound at the guide."""
    target, guide = state.target, state.guide
    n = len(real)
    mean, square, within, population, given = np.zeros((5, n))
    bound, n_points = 0.0, 0
    generator = np.random.default_rng([settings.seed, 0, 1])
    for distance in guide.distances(generator, _ABILITY_SETS):
        for deviates in guide.deviates(generator, distance):
            point = guide.at(*deviates)
            found = batches.posteriors(target.coordinates.parameters(point), state.nodes)
            bound += float(found.log_marginal.sum()) + target.location_prior(point)[0]
            centre = float(found.mean[real].mean())
            spread = math.sqrt(
                float(np.mean((found.mean[real] - centre) ** 2 + found.sd[real] ** 2))
            )
            scaled = (found.mean - centre) / spread
            mean, square = mean + scaled, square + scaled**2
            within += (found.sd / spread) ** 2
            population, given = population + found.mean, given + found.sd**2
            n_points += 1
    mean, square, within = mean / n_points, square / n_points, within / n_points
    sd = np.sqrt(within + np.maximum(square - mean**2, 0.0))
    expected = target.expected_prior(guide.own, guide.sds())
    elbo = bound / n_points + expected.value + guide.entropy()
    return Abilities(mean, sd, population / n_points, np.sqrt(given / n_points)), elbo
