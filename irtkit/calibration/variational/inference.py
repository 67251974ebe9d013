"""The ascent of the evidence lower bound.

Each step evaluates the bound at a handful of points of the guide and moves its means by the natural
gradient, which for a normal guide is a Newton step. There are two stages. In the *approach* steps
are full and the guide's covariance is made anew at every mean. Once steps no longer shrink, they
are the noise of the points; the *averaging* stage then takes steps of 1/k, whose result is the mean
of where k full steps would have led, until its Monte-Carlo error is small beside the posterior and
the smoothed bound has stopped rising.

With batches each step sees some respondents only, as a share of all, and the information about the
items is averaged over the steps as well; the first pass through them is the approach. All
randomness of a step follows from the seed and the number of the step, so that a run that is taken
up again goes on as if it had not been interrupted.
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

_FEWEST, _MOST = 3, 50
"""Steps of the approach."""
_SHRINKS = 0.5
"""Share of the last step's gain below which full steps still get nearer."""
_LEAST_AVERAGED, _LEAST_PASSES = 16, 3
_WEIGHT_OF_APPROACH = 8
"""Steps that the mean at the end of the approach counts for. From fewer, averaging would amplify
noise where the spread of items, which it holds fixed, is stiffer than their means."""
_SMOOTHING = 0.2
_TRUSTED = 1.5
"""Longest step of an item, in posterior SDs."""
_DAMPING = 0.5
"""Weight of new information in the approach: where responses hardly pin an item down, information
depends much on the spread, and the spread on it."""
_FIRST_ROUNDS = 2
_STEPS_PER_GUIDE = 8
"""Steps of the averaging stage after which the guide's covariance is made anew."""
_FIRST_SD = 0.1
_ABILITY_DRAWS = 4
"""Sets of points from which the posterior of abilities and the final bound are computed."""


class Settings(NamedTuple):
    """When to stop, and where randomness comes from."""

    seed: int
    tol: float
    """Monte-Carlo error of posterior means, in posterior SDs, below which the ascent may stop."""
    per_pass: int
    """Steps that see every respondent once."""
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
    """Means of own coordinates when the last round of batches began."""
    step: int = 0
    averaged: int = 0
    """Steps of the averaging stage so far; 0 in the approach."""
    trace: tuple[TraceRow, ...] = ()
    converged: bool = False


class StepLikelihood(Protocol):
    """A likelihood, or a bound on it."""

    def evaluate(self, parameters: Array) -> tuple[float, Array]:
        """Value, and gradient by slope, intercept (and logit of guessing)."""

    def systems(self, parameters: Array, points: list[Array]) -> list[System]:
        """Information about items at some points, and about shifts that all abilities share."""


class Source(Protocol):
    """Gives the likelihood that a step sees: of all respondents, or of some."""

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""

    def likelihood(self, step: int, nodes: Nodes) -> StepLikelihood:
        """What a step sees."""

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent."""


def first_state(target: Target, mean: Point, source: Source, seed: int) -> State:
    """Return the state before the first step, around a mean."""
    coordinates = target.coordinates
    parameters = coordinates.parameters(mean)
    nodes = source.nodes_at(parameters)
    systems = source.likelihood(0, nodes).systems(parameters, [parameters])
    information = information_at(target, [mean], systems)
    start = np.full_like(mean.own, _FIRST_SD)
    nothing = np.zeros(coordinates.n_items)
    by_prior = target.expected_prior(mean.own, start).curvature
    guide = guide_of(target, mean, information, nothing, by_prior)
    state = State(target, guide, information, nodes, nothing)
    for _ in range(_FIRST_ROUNDS):
        state = refreshed(state, source, seed, _DAMPING)
    return state


def ascend(
    state: State,
    source: Source,
    settings: Settings,
    *,
    report: Callable[[int, float], None],
    keep: Callable[[State], None],
) -> State:
    """Take steps until the bound has settled, or there are too many of them.

    ``keep`` is called with the state after every step, and may store it.
    """
    state = replace(state, converged=_settled(state, settings))
    while not state.converged and state.step < settings.max_steps:
        state = _stepped(state, source, settings)
        state = replace(state, converged=_settled(state, settings))
        report(state.step, state.trace[-1].smoothed)
        keep(state)
    return state


def _stepped(state: State, source: Source, settings: Settings) -> State:
    """Return the state after one more step."""
    if settings.per_pass > 1 and state.step % settings.per_pass == 0:
        state = replace(state, round_from=state.guide.own)
    likelihood = source.likelihood(state.step, state.nodes)
    generator = np.random.default_rng([settings.seed, state.step, 0])
    found = evaluate(state.target, state.guide, likelihood, generator)
    direction = state.guide.natural(found.gradient)
    gain = 0.5 * float(
        (direction.own * found.gradient.own).sum() + direction.shared @ found.gradient.shared
    )
    change = math.sqrt(2 * max(gain, 0.0) / (direction.own.size + direction.shared.size))
    averaged = state.averaged
    if state.step == settings.per_pass > 1:  # the first pass is the approach of batches
        averaged = 0
    if settings.per_pass > 1 or averaged or _approached(state, change):
        averaged += 1
    rate = 1 / (1 + _WEIGHT_OF_APPROACH + averaged) if averaged else 1.0
    mean = _updated(state.guide, direction, rate)
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
    if settings.per_pass > 1:
        return refreshed(after, source, settings.seed, rate)
    if averaged % _STEPS_PER_GUIDE:
        return after
    weight = _DAMPING if averaged == 0 else _STEPS_PER_GUIDE / (_STEPS_PER_GUIDE + averaged)
    return refreshed(after, source, settings.seed, weight)


def _updated(guide: Guide, direction: Point, rate: float) -> Point:
    """Take a share of a step, in which nothing goes further than a few of its posterior SDs.

    Farther out the expected information says nothing.
    """
    size = np.sqrt(np.mean((direction.own / guide.sds()) ** 2, axis=1, keepdims=True))
    sds = np.sqrt(np.diag(guide.common)[: len(direction.shared)])
    limit = _TRUSTED / rate
    own = direction.own * np.minimum(1.0, limit / np.maximum(size, 1e-300))
    shared = np.clip(direction.shared, -limit * sds, limit * sds)
    return Point(guide.own + rate * own, guide.shared + rate * shared)


def refreshed(state: State, source: Source, seed: int, weight: float) -> State:
    """Make nodes and the guide's covariance anew at the guide's mean.

    Information is expected under the guide, as it was before; ``weight`` is that of what is seen
    now.
    """
    target, guide = state.target, state.guide
    to_parameters = target.coordinates.parameters
    points = guide.around(np.random.default_rng([seed, state.step, 6]))
    at_mean = to_parameters(guide.mean)
    nodes = source.nodes_at(at_mean)
    likelihood = source.likelihood(max(state.step - 1, 0), nodes)  # what the step has seen
    systems = likelihood.systems(at_mean, [to_parameters(point) for point in points])
    seen = information_at(target, points, systems)
    information = state.information.averaged(seen, weight)
    by_prior = target.expected_prior(guide.own, guide.sds()).curvature
    renewed = guide_of(target, guide.mean, information, state.by_slope, by_prior)
    return replace(state, guide=renewed, information=information, nodes=nodes)


def _approached(state: State, change: float) -> bool:
    """Whether steps have become noise."""
    if state.step < _FEWEST or state.step >= _MOST:
        return state.step >= _MOST
    shrinks = change <= _SHRINKS * state.trace[-1].change
    return not shrinks and not _rising(state)


def _rising(state: State) -> bool:
    """Whether the bound rose over the last steps by more than its noise."""
    bounds = np.array([row.elbo for row in state.trace[-2 * _FEWEST :]])
    if len(bounds) < 2 * _FEWEST:
        return False
    before, after = bounds[:_FEWEST], bounds[_FEWEST:]
    noise = math.sqrt(float(before.var(ddof=1) + after.var(ddof=1)) / _FEWEST)
    return float(after.mean() - before.mean()) > noise


def _smoothed(state: State, elbo: float, averaged: int) -> float:
    """Exponential average of the bound, begun anew with the averaging stage."""
    if averaged <= 1 or not state.trace:
        return elbo
    weight = max(_SMOOTHING, 1 / averaged)
    return state.trace[-1].smoothed + weight * (elbo - state.trace[-1].smoothed)


def _settled(state: State, settings: Settings) -> bool:
    """Whether means are known well enough and the smoothed bound has stopped rising.

    A pass through batches sees every respondent once, so that passes are compared.
    """
    window = max(settings.per_pass, _LEAST_AVERAGED // 2)
    bounds = np.array([row.elbo for row in state.trace[-2 * window :]])
    if state.averaged < _LEAST_AVERAGED or state.step < _LEAST_PASSES * settings.per_pass:
        return False
    if settings.per_pass > 1 and state.step % settings.per_pass:
        return False
    n_parameters = state.guide.own.size + len(state.guide.shared)
    rise = float(bounds[window:].mean() - bounds[:window].mean())
    worth = 0.5 * n_parameters * settings.tol**2
    if state.round_from is not None:
        moved = (state.guide.own - state.round_from) / state.guide.sds()
        return rise < worth and float(np.mean(moved**2)) < (2 * settings.tol) ** 2
    changes = np.array([row.change for row in state.trace[-2 * window :]])
    # that of the steps averaged, and that of the mean they began from
    weights = state.averaged + _WEIGHT_OF_APPROACH**2
    noise = math.sqrt(float(np.mean(changes**2)) * weights)
    noise /= state.averaged + _WEIGHT_OF_APPROACH
    return noise < settings.tol and rise < worth + 2 * float(np.std(bounds)) / math.sqrt(window)


def abilities_of(
    state: State, source: Source, real: NDArray[np.bool_], settings: Settings
) -> tuple[Abilities, float]:
    """Posteriors of abilities over points of the guide, and the bound at the guide."""
    target, guide = state.target, state.guide
    n = len(real)
    mean, square, within, population, given = np.zeros((5, n))
    bound, n_points = 0.0, 0
    generator = np.random.default_rng([settings.seed, 0, 1])
    for distance in guide.distances(generator, _ABILITY_DRAWS):
        for deviates in guide.deviates(generator, distance):
            point = guide.at(*deviates)
            parameters = target.coordinates.parameters(point)
            found = source.posteriors(parameters, state.nodes)
            bound += float(found.log_marginal.sum()) + target.coupled(point, parameters).log_density
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
