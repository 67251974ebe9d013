"""Stochastic maximisation of the evidence lower bound.

ELBO(q) = E_q[log p(y | items) + log p(items)] + H[q], abilities integrated out by quadrature. Each
step estimates it at points drawn from the guide and moves the means by the natural gradient, a
Newton step. *Burn-in* takes full steps and renews the guide's covariance after each. Once steps are
Monte-Carlo noise, *Polyak–Ruppert averaging* takes steps of 1/k. It stops when the error of the
means is small relative to posterior SDs and the bound no longer rises.

Minibatches go through all respondents in a new order in each pass. The first pass is the burn-in.
All randomness follows from the seed and the number of the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import MarginalLikelihood, synthetic_sd
from irtkit.calibration.standard_errors import System, expected_of, system_of
from irtkit.calibration.variational.guide import Guide, Information, guide_of, information_at
from irtkit.calibration.variational.target import Point
from irtkit.irf import Items
from irtkit.quadrature import Posteriors, engine_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.calibration.search import GridSchedule, Problem
    from irtkit.calibration.variational.target import Target
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes
    from irtkit.quadrature.engines import Engine

_LEAST_BURN_IN = 3
"""Full steps before averaging may begin."""
_SHRINKING = 0.5
"""Ratio of successive steps up to which they converge rather than fluctuate."""
_WINDOW = 8
"""Steps of averaging between new covariances, and whose mean bounds are compared."""
_MAX_STEP_SDS = 1.5
"""Longest step of an item, in posterior SDs."""
_DAMPING = 0.5
"""Weight of new information in burn-in, against oscillation."""
_FIRST_SD = 0.1
"""SD of own coordinates before the first covariance. Results do not depend on it."""
_FIRST_ROUNDS = 2
"""Covariances made before the first step."""
_ABILITY_SETS = 4
"""Sets of points for posteriors of abilities and the final bound: ``ability_se`` to 0.5 %."""


class Likelihood:
    """Marginal likelihood of some respondents, scaled to all ``n``, in 64 bits if ``exact``."""

    def __init__(self, engine: Engine, nodes: Nodes, n: int, *, exact: bool) -> None:
        self._marginal = MarginalLikelihood(engine, nodes, exact=exact)
        self._factor = n / engine.patterns.n

    def evaluate(self, parameters: Array) -> tuple[float, Array]:
        """Log-likelihood and its gradient by slope, intercept (and logit of guessing)."""
        found = self._marginal.terms(Items(*parameters.T))
        return self._factor * found.value, self._factor * found.gradient

    def systems(self, parameters: Array, points: list[Array]) -> list[System]:
        """Information at some points about items and shifts of all abilities.

        Posteriors of ability are those at ``parameters``.
        """
        marginal, items = self._marginal, Items(*parameters.T)
        expected = expected_of(marginal.engine.patterns, items, marginal.grid(items))
        systems = (
            system_of(Items(*p.T), expected, (1.0, synthetic_sd(Items(*p.T)))) for p in points
        )
        return [System(*(self._factor * part for part in system)) for system in systems]

    def posteriors(self, parameters: Array) -> Posteriors:
        """Posterior of each respondent."""
        return self._marginal.posteriors(Items(*parameters.T))


@dataclass
class Batches:
    """Respondents of each step, and their marginal likelihood."""

    problem: Problem
    """The problem of the start, of all respondents or a sample of them."""
    schedule: GridSchedule
    patterns: Patterns
    size: int | None
    """Respondents of a minibatch, or None to use all in each step."""
    seed: int

    @property
    def steps_per_pass(self) -> int:
        """Number of steps in a pass through all respondents."""
        return 1 if self.size is None else -(-self.patterns.n // self.size)

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return self.schedule.nodes(Items(*parameters.T), self.problem.engine.patterns)

    def likelihood(self, step: int, nodes: Nodes) -> Likelihood:
        """Likelihood of the minibatch of a step, scaled up to all respondents."""
        return self._of(None if self.size is None else self.minibatch(step), nodes)

    def minibatch(self, step: int) -> NDArray[np.intp]:
        """Respondents of a step. The last minibatch of a pass is filled up from the first."""
        size = self.size or self.patterns.n
        number, place = divmod(step, self.steps_per_pass)
        order = np.random.default_rng([self.seed, number, 2]).permutation(self.patterns.n)
        places = range(place * size, (place + 1) * size)
        return np.sort(np.take(order, places, mode="wrap"))

    def _of(self, rows: NDArray[np.intp] | None, nodes: Nodes) -> Likelihood:
        """Likelihood of some respondents (None: all), scaled up to all."""
        mesh, engine = self.problem.mesh, self.problem.engine
        with_guessing = self.problem.parameters.model == "3PL"
        if rows is not None:
            engine = engine_of(self.patterns.chosen(rows), with_guessing=with_guessing, mesh=mesh)
        return Likelihood(engine, nodes, self.patterns.n, exact=mesh is not None)

    def gradient(self, parameters: Array, nodes: Nodes) -> Array:
        """Gradient of the marginal likelihood of all respondents, (n_items, 2 or 3)."""
        if self.size is None:
            return self._of(None, nodes).evaluate(parameters)[1]
        n = self.patterns.n
        parts = [np.arange(k, min(k + self.size, n)) for k in range(0, n, self.size)]
        scaled = [self._of(rows, nodes).evaluate(parameters)[1] for rows in parts]
        return np.average(scaled, axis=0, weights=[len(rows) for rows in parts])

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of each respondent, from minibatches of equal size, the last filled up."""
        if self.size is None:
            return self._of(None, nodes).posteriors(parameters)
        n = self.patterns.n
        places = np.arange(-(-n // self.size) * self.size) % n
        parts = [
            self._of(rows, nodes).posteriors(parameters) for rows in places.reshape(-1, self.size)
        ]
        return Posteriors(*(np.concatenate(part)[:n] for part in zip(*parts, strict=True)))


class Evaluated(NamedTuple):
    """The bound at a guide, estimated at its points."""

    elbo: float
    log_likelihood: float
    """Expected log-likelihood of all responses."""
    gradient: Point
    """Gradient by the means of the guide."""
    by_slope: Array
    """Expected gradient of the likelihood by slopes."""


def evaluate(
    target: Target, guide: Guide, likelihood: Likelihood, generator: np.random.Generator
) -> Evaluated:
    """Estimate the bound and its gradient at points of the guide drawn from a generator.

    Expectations of the likelihood and the coupled prior are means over the points.
    """
    own, shared = np.zeros_like(guide.own), np.zeros_like(guide.shared)
    by_slope = np.zeros(len(own))
    log_likelihood = elbo = 0.0
    n_points = 2 * guide.n_directions
    for deviates in guide.deviates(generator):
        point = guide.at(*deviates)
        parameters = target.coordinates.parameters(point)
        value, gradient = likelihood.evaluate(parameters)
        log_prior, pulled = target.pulled_back(point, parameters, gradient)
        own += pulled.own
        shared += pulled.shared
        by_slope += gradient[:, 0]
        log_likelihood += value / n_points
        elbo += (value + log_prior) / n_points
    expected = target.expected_prior(guide.own, guide.sds())
    return Evaluated(
        elbo + expected.value + guide.entropy(),
        log_likelihood,
        Point(own / n_points + expected.gradient, shared / n_points),
        by_slope / n_points,
    )


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
    """Exponential average of the bound since burn-in, for reports."""


@dataclass(frozen=True)
class State:
    """What the next step depends on besides the batches."""

    target: Target
    guide: Guide
    information: Information
    nodes: Nodes
    """Nodes that suit the items in the middle of the guide."""
    by_slope: Array
    """Expected gradient of the likelihood by slopes at the last step."""
    round_from: Array | None
    """Means of own coordinates when the last pass of minibatches began."""
    step: int
    averaged: int
    """Steps averaged so far, 0 during burn-in."""
    trace: tuple[TraceRow, ...]
    converged: bool


def first_state(target: Target, mean: Point, batches: Batches) -> State:
    """The state before the first step, around a mean."""
    parameters = target.coordinates.parameters(mean)
    nodes = batches.nodes_at(parameters)
    systems = batches.likelihood(0, nodes).systems(parameters, [parameters])
    information = information_at(target, [mean], systems)
    sds = np.full_like(mean.own, _FIRST_SD)
    no_gradient = np.zeros(len(mean.own))
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
) -> State:
    """Take steps until the fit has converged, at most ``max_steps``.

    ``tol`` is the Monte-Carlo error of posterior means, in posterior SDs, below which it may have.
    """
    per_pass = batches.steps_per_pass
    state = replace(state, converged=_converged(state, per_pass, tol))
    while not state.converged and state.step < max_steps:
        state = _stepped(state, batches)
        state = replace(state, converged=_converged(state, per_pass, tol))
        report(state.step, state.trace[-1].smoothed)
    return state


def _stepped(state: State, batches: Batches) -> State:
    """The state after one more step."""
    guide, per_pass = state.guide, batches.steps_per_pass
    if per_pass > 1 and state.step % per_pass == 0:
        state = replace(state, round_from=guide.own)
    likelihood = batches.likelihood(state.step, state.nodes)
    generator = np.random.default_rng([batches.seed, state.step, 0])
    bound = evaluate(state.target, guide, likelihood, generator)
    step = guide.natural(bound.gradient)
    square = (step.own * bound.gradient.own).sum() + step.shared @ bound.gradient.shared
    change = math.sqrt(max(float(square), 0.0) / (step.own.size + step.shared.size))
    averaged = state.averaged + 1
    if per_pass > 1:  # steps of the first pass are averaged too, and then left out
        averaged = 1 if state.step == per_pass else averaged
    elif state.averaged == 0:  # burn-in ends when steps have become Monte-Carlo noise
        early = state.step < _LEAST_BURN_IN
        averaged = int(not early and not change <= _SHRINKING * state.trace[-1].change)
    rate = 1 / (_WINDOW + 1 + averaged) if averaged else 1.0
    # a trust region: farther out the expected information is not that of the bound
    limit = _MAX_STEP_SDS / rate
    size = np.sqrt(np.mean((step.own / guide.sds()) ** 2, axis=1, keepdims=True))
    own = step.own * np.minimum(1.0, limit / np.maximum(size, 1e-300))
    sds = np.sqrt(np.diag(guide.common)[: len(step.shared)])
    shared = np.clip(step.shared, -limit * sds, limit * sds)
    smoothed = bound.elbo
    if averaged > 1:  # as old on average as the mean of a window
        last, weight = state.trace[-1].smoothed, max(2 / (_WINDOW + 1), 1 / averaged)
        smoothed = last + weight * (bound.elbo - last)
    number, n_nodes = state.step + 1, state.nodes.n_nodes
    row = TraceRow(number, n_nodes, bound.log_likelihood, change, bound.elbo, smoothed)
    after = replace(
        state,
        guide=guide._replace(own=guide.own + rate * own, shared=guide.shared + rate * shared),
        by_slope=bound.by_slope,
        step=number,
        averaged=averaged,
        trace=(*state.trace, row),
    )
    if per_pass > 1:
        return renewed(after, batches, rate)
    if averaged % _WINDOW:
        return after
    weight = _DAMPING if averaged == 0 else _WINDOW / (_WINDOW + averaged)
    return renewed(after, batches, weight)


def renewed(state: State, batches: Batches, weight: float) -> State:
    """Renew the nodes and the guide's covariance at the guide's mean.

    The information is a running mean of expectations under the guide. The new one has ``weight``.
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


def _converged(state: State, per_pass: int, tol: float) -> bool:
    """Whether the bound has stopped rising and the error of posterior means is below ``tol``.

    A rise below tol²/2 for each parameter, which means off by ``tol`` SDs lose, is negligible.
    """
    window = max(per_pass, _WINDOW)
    # two windows to compare; of passes, after the burn-in
    enough = state.averaged >= 2 * _WINDOW and state.step >= 3 * per_pass
    if not enough or state.step % per_pass:
        return False
    bounds = np.array([row.elbo for row in state.trace[-2 * window :]])
    rise = float(bounds[window:].mean() - bounds[:window].mean())
    negligible = 0.5 * (state.guide.own.size + len(state.guide.shared)) * tol**2
    if state.round_from is not None:  # passes see the same responses
        moved = (state.guide.own - state.round_from) / state.guide.sds()
        return rise < negligible and float(np.mean(moved**2)) < (2 * tol) ** 2
    changes = np.array([row.change for row in state.trace[-2 * window :]])
    # the burn-in mean counts as a window of steps
    weights = state.averaged + _WINDOW**2
    error = math.sqrt(float(np.mean(changes**2)) * weights) / (state.averaged + _WINDOW)
    rise_error = float(np.std(bounds)) / math.sqrt(window)
    return error < tol and rise < negligible + 2 * rise_error


class Abilities(NamedTuple):
    """Posterior of abilities with uncertain items, each of shape (n_respondents,)."""

    mean: Array
    """On the scale of the sample, on which real respondents have mean 0 and SD 1."""
    sd: Array
    population_mean: Array
    """On the scale of the population, N(0, 1)."""
    given_items: Array
    """SD of ability with items known, on the scale of the population."""


def abilities_of(state: State, batches: Batches) -> tuple[Abilities, float, float]:
    """Posteriors of abilities over points of the guide, the bound there, and its standard error.

    The variance of an ability is the mean of its variances given the items plus the variance of its
    means, on the sample's scale at each point. The bound is the mean of the log density less the
    log density of the guide. Its error follows from the spread between stratified sets of points.
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
        posteriors = batches.posteriors(parameters, state.nodes)
        bounds[k] += float(posteriors.log_marginal.sum()) + target.log_density(point, parameters)
        centre = float(posteriors.mean[real].mean())
        squares = (posteriors.mean[real] - centre) ** 2 + posteriors.sd[real] ** 2
        unit = math.sqrt(float(np.mean(squares)))
        scaled = (posteriors.mean - centre) / unit
        mean, square = mean + scaled, square + scaled**2
        variance += (posteriors.sd / unit) ** 2
        population, given_items = population + posteriors.mean, given_items + posteriors.sd**2
    mean, square, variance = mean / n_points, square / n_points, variance / n_points
    sd = np.sqrt(variance + np.maximum(square - mean**2, 0.0))
    abilities = Abilities(mean, sd, population / n_points, np.sqrt(given_items / n_points))
    by_set = bounds.reshape(_ABILITY_SETS, -1).mean(axis=1)
    error = float(by_set.std(ddof=1)) / math.sqrt(_ABILITY_SETS)
    return abilities, float(by_set.mean()) + guide.entropy(), error
