"""Maximisation of the evidence lower bound.

ELBO(q) = E_q[log p(y | items) + log p(items)] + H[q], abilities integrated out by quadrature.
Expectations are means over points of the guide, whose directions are drawn once. Each step takes
the expected information at these points, whose inverse is the guide's covariance, and moves the
means by that covariance times the expected gradient: Newton's method. The fit has converged when a
step is short relative to posterior SDs. All randomness follows from the seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import MarginalLikelihood, synthetic_sd
from irtkit.calibration.standard_errors import System, expected_of, system_of
from irtkit.calibration.variational.guide import Guide, guide_of, information_at
from irtkit.calibration.variational.target import Point
from irtkit.irf import Items
from irtkit.quadrature import Posteriors, engine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from irtkit.calibration.search import GridSchedule, Problem
    from irtkit.calibration.variational.target import Target
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes


@dataclass(frozen=True)
class _Tuned:
    """How far steps go, and which are taken back (``benchmarks/posterior.py``)."""

    # Longest step of an item, in posterior SDs: farther out the information is another.
    max_step_sds: float = 1.5
    shrinking: float = 0.9  # Ratio of a step to the last one up to which steps converge.
    # Least share of a step that is taken: steps of that share shrink by as much.
    least_rate: float = 1 / 8
    # A step is taken back if the bound falls by more than means off by as many posterior SDs lose.
    slack: float = 0.3
    # SD of own coordinates before the first covariance. Results do not depend on it.
    first_sd: float = 0.1


_TUNED = _Tuned()


@dataclass
class Batches:
    """Marginal likelihood of all respondents, of whom a batch is looked at at a time."""

    problem: Problem
    """The problem of the start, of all respondents or a sample of them."""
    schedule: GridSchedule
    patterns: Patterns
    size: int | None
    """Respondents of a batch, or None for all of them."""
    seed: int

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return self.schedule.nodes(Items(*parameters.T), self.problem.engine.patterns)

    def marginals(self, nodes: Nodes) -> Iterator[MarginalLikelihood]:
        """Marginal likelihood of every batch, in 64 bits on a mesh."""
        mesh = self.problem.mesh
        exact = mesh is not None
        if self.size is None:
            yield MarginalLikelihood(self.problem.engine, nodes, exact=exact)
            return
        with_guessing = self.problem.parameters.model == "3PL"
        for start in range(0, self.patterns.n, self.size):
            rows = np.arange(start, min(start + self.size, self.patterns.n))
            chosen = self.patterns.chosen(rows)
            engine = engine_of(chosen, with_guessing=with_guessing, mesh=mesh)
            yield MarginalLikelihood(engine, nodes, exact=exact)

    def evaluate(self, points: Array, nodes: Nodes) -> tuple[Array, Array]:
        """Log-likelihoods at parameters (n, n_items, 2 or 3), and their gradients by these."""
        values = np.zeros(len(points))
        gradients = np.zeros_like(points)
        for marginal in self.marginals(nodes):
            for k, parameters in enumerate(points):
                terms = marginal.terms(Items(*parameters.T))
                values[k] += terms.value
                gradients[k] += terms.gradient
        return values, gradients

    def systems(self, parameters: Array, points: Array, nodes: Nodes) -> list[System]:
        """Information at some points about items and shifts of all abilities.

        Posteriors of ability are those at ``parameters``.
        """
        at = [Items(*point.T) for point in points]
        items = Items(*parameters.T)
        by_batch = []
        for marginal in self.marginals(nodes):
            expected = expected_of(marginal.engine.patterns, items, marginal.grid(items))
            by_batch.append([system_of(i, expected, (1.0, synthetic_sd(i))) for i in at])
        of_points = []
        for systems in zip(*by_batch, strict=True):
            sums: Any = map(sum, zip(*systems, strict=True))
            of_points.append(System(*sums))
        return of_points

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of each respondent."""
        items = Items(*parameters.T)
        by_batch = [marginal.posteriors(items) for marginal in self.marginals(nodes)]
        return Posteriors(*map(np.concatenate, zip(*by_batch, strict=True)))


class Bound(NamedTuple):
    """The bound at a guide, estimated at its points."""

    elbo: float
    log_likelihood: float
    """Expected log-likelihood of all responses."""
    gradient: Point
    """Gradient by the means of the guide."""
    by_slope: Array
    """Expected gradient of the likelihood by slopes."""


def bound_at(target: Target, guide: Guide, batches: Batches, nodes: Nodes) -> Bound:
    """The bound and its gradient.

    Expectations of the likelihood and the coupled prior are means over the points.
    """
    points = guide.points(batches.seed)
    parameters = np.stack([target.coordinates.parameters(point) for point in points])
    values, gradients = batches.evaluate(parameters, nodes)
    log_likelihood = float(values.mean())
    log_prior, gradient = target.mean_gradient(points, parameters, gradients)
    expected = target.expected_prior(guide.own, guide.sds())
    return Bound(
        guide.entropy() + log_likelihood + log_prior + expected.value,
        log_likelihood,
        Point(gradient.own + expected.gradient, gradient.shared),
        gradients[:, :, 0].mean(axis=0),
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


@dataclass(frozen=True)
class State:
    """What the next step depends on besides the batches."""

    target: Target
    guide: Guide
    nodes: Nodes
    """Nodes that suit the items in the middle of the guide."""
    elbo: float = -math.inf
    trace: tuple[TraceRow, ...] = ()
    converged: bool = False


def first_state(target: Target, mean: Point, batches: Batches) -> State:
    """The state before the first step, around a mean."""
    parameters = target.coordinates.parameters(mean)
    nodes = batches.nodes_at(parameters)
    systems = batches.systems(parameters, parameters[None], nodes)
    sds = np.full_like(mean.own, _TUNED.first_sd)
    by_prior = target.expected_prior(mean.own, sds).curvature
    information = information_at(target, [mean], systems)
    guide = guide_of(target, mean, information, np.zeros(len(mean.own)), by_prior)
    return State(target, guide, nodes)


def maximise_bound(
    state: State,
    batches: Batches,
    *,
    tol: float,
    max_steps: int,
    report: Callable[[int, float], None],
) -> State:
    """Take steps until one is shorter than ``tol`` posterior SDs, at most ``max_steps``.

    A step that is hardly shorter than the last one halves the share of it that is taken: mean and
    covariance may swing around where both stay. One that loses much of the bound is taken back.
    """
    bound = bound_at(state.target, state.guide, batches, state.nodes)
    slack = _TUNED.slack**2 / 2 * bound.gradient.size
    rate = 1.0
    change = np.inf
    trace: list[TraceRow] = []
    while change >= tol and len(trace) < max_steps:
        last = change
        before = state
        state = renewed(before, bound, batches)
        step = state.guide.natural(bound.gradient)
        gradient = bound.gradient
        square = (step.own * gradient.own).sum() + step.shared @ gradient.shared
        change = math.sqrt(max(float(square), 0.0) / step.size)
        number = len(trace) + 1
        n_nodes = state.nodes.n_nodes
        trace.append(TraceRow(number, n_nodes, bound.log_likelihood, change, bound.elbo))
        report(number, bound.elbo)
        if change > _TUNED.shrinking * last:
            rate = max(rate / 2, _TUNED.least_rate)
        state = _moved(state, step, rate, batches)
        after = bound_at(state.target, state.guide, batches, state.nodes)
        if after.elbo >= bound.elbo - slack:
            bound = after
            continue
        state = before
        change = np.inf
        if rate == _TUNED.least_rate:
            break
        rate /= 2
    state = renewed(state, bound, batches)
    return replace(state, elbo=bound.elbo, trace=tuple(trace), converged=change < tol)


def _moved(state: State, step: Point, rate: float, batches: Batches) -> State:
    """The state after part of a step."""
    guide = state.guide
    squares = (step.own / guide.sds()) ** 2
    size = np.sqrt(squares.mean(axis=1, keepdims=True))
    own = step.own / np.maximum(size / _TUNED.max_step_sds, 1.0)
    variance = np.diag(guide.common)[: len(step.shared)]
    limit = _TUNED.max_step_sds * np.sqrt(variance)
    shared = np.clip(step.shared, -limit, limit)
    guide = guide.moved(Point(own, shared), rate)
    nodes = batches.nodes_at(state.target.coordinates.parameters(guide.mean))
    return replace(state, guide=guide, nodes=nodes)


def renewed(state: State, bound: Bound, batches: Batches) -> State:
    """The state with the covariance that information at the guide's points gives."""
    target = state.target
    guide = state.guide
    points = guide.around(batches.seed)
    to_parameters = target.coordinates.parameters
    parameters = np.stack([to_parameters(point) for point in points])
    systems = batches.systems(to_parameters(guide.mean), parameters, state.nodes)
    information = information_at(target, points, systems)
    by_prior = target.expected_prior(guide.own, guide.sds()).curvature
    guide = guide_of(target, guide.mean, information, bound.by_slope, by_prior)
    return replace(state, guide=guide)


class Abilities(NamedTuple):
    """Posterior of abilities with uncertain items, each of shape (n_respondents,)."""

    mean: Array
    """On the scale of the sample, on which real respondents have mean 0 and SD 1."""
    sd: Array
    population_mean: Array
    """On the scale of the population, N(0, 1)."""
    given_items: Array
    """SD of ability with items known, on the scale of the population."""


def abilities_of(state: State, batches: Batches) -> Abilities:
    """Posteriors of abilities over points of the guide.

    The variance of an ability is the mean of its variances given the items plus the variance of its
    means, on the sample's scale at each point.
    """
    target = state.target
    guide = state.guide
    real = batches.patterns.real
    points = guide.points(batches.seed)
    shape = len(points), len(real)
    mean, sd, scaled, scaled_sd = (np.empty(shape) for _ in range(4))
    for k, point in enumerate(points):
        posteriors = batches.posteriors(target.coordinates.parameters(point), state.nodes)
        mean[k] = posteriors.mean
        sd[k] = posteriors.sd
        centre = mean[k, real].mean()
        centred = mean[k] - centre
        squares = centred**2 + sd[k] ** 2
        unit = np.sqrt(squares[real].mean())
        scaled[k] = centred / unit
        scaled_sd[k] = sd[k] / unit
    return Abilities(
        scaled.mean(axis=0),
        np.sqrt((scaled_sd**2).mean(axis=0) + scaled.var(axis=0)),
        mean.mean(axis=0),
        np.sqrt((sd**2).mean(axis=0)),
    )
