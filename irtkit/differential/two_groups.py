"""Items calibrated on two groups at once, whose abilities differ.

Ability is N(0, 1) in the reference group and N(μ, σ²) in the focal one, with μ and σ estimated, and
items are the same for both (Bock & Zimowski 1997), but for those that are *split*: an item that the
groups find differently hard is two items, each answered by one group. What is maximised is the
marginal likelihood of the 2PL, under the weak prior of a fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.estimates import Population
from irtkit.calibration.lbfgs import Evaluation, PreconditionedLBFGS
from irtkit.calibration.likelihood import (
    Curvature,
    MarginalLikelihood,
    Parameterisation,
    PenalisedLikelihood,
    prior_at,
)
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.data.patterns import Patterns
from irtkit.quadrature import Grid, NodeDensity, engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.lbfgs import Objective
    from irtkit.irf import Array, Items
    from irtkit.quadrature import Nodes

REFERENCE, FOCAL = 0, 1
"""Groups of the patterns."""
_ABOUT_FOCAL = 2
"""Parameters before those of the items: log σ and μ."""
_HALF_WIDTH = 8.0
"""SDs of either group that the nodes reach to, as in a fit."""
_TOL, _MOST_EVALUATIONS, _GRIDS = 1e-4, 300, 2
"""Gain at which a search ends, estimates being within 0.014 standard errors, evaluations at most,
and grids, the second for the items found on the first."""


class Calibrated(NamedTuple):
    """Items and the focal group, on the scale of the reference group."""

    items: Items
    """Of all columns, those of split items for the focal group behind all others."""
    population: Population
    patterns: Patterns
    """With split items."""
    column: NDArray[np.intp]
    """Which column holds an item for the focal group, (n_items,)."""
    nodes: Nodes
    converged: bool

    @property
    def grid(self) -> Grid:
        """Nodes with the weights of both groups."""
        return grid_of(self.nodes, self.population)


def grid_of(nodes: Nodes, population: Population) -> Grid:
    """Nodes with the log weights of N(0, 1) and of N(μ, σ²)."""
    return Grid(nodes, np.stack([nodes.normal_log_weights(1.0), focal_weights(nodes, population)]))


def focal_weights(nodes: Nodes, population: Population) -> Array:
    """Log weights of N(μ, σ²), scaled to sum to 1 on the nodes."""
    moved = nodes._replace(theta=nodes.theta - population.mean)
    return moved.normal_log_weights(population.sd)


class _TwoGroupLikelihood(PenalisedLikelihood):
    """Marginal log-likelihood of (log σ, μ, items) plus the log prior of the items."""

    def __init__(self, patterns: Patterns, nodes: Nodes, parameters: Parameterisation) -> None:
        engine = engine_of(patterns, with_guessing=False)
        super().__init__(MarginalLikelihood(engine, nodes), parameters, WeakPrior())

    def evaluate(self, x: Array) -> Evaluation:
        """Value, gradient and complete-data information at x."""
        population, at = _population(x), self.parameters.values(x[_ABOUT_FOCAL:])
        nodes = self.likelihood.nodes
        grid = grid_of(nodes, population)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            found = self.likelihood.engine.sums(at.items, grid)
        prior = prior_at(WeakPrior(), self.parameters, at, None)
        z = (nodes.theta - population.mean) / population.sd
        mass, weights = found.node_mass[FOCAL], np.exp(grid.log_weights[FOCAL])
        by_focal = [float(mass @ (part - weights @ part)) for part in (z**2, z / population.sd)]
        by_item = found.gradient + prior.gradient
        of_items = self.parameters.pulled_back(at, by_item, 0.0, prior.by_hyper)
        log_likelihood = float(found.log_marginal.sum())
        curvature = Curvature(at, found.information, prior)
        gradient = np.concatenate([by_focal, of_items])
        return Evaluation(log_likelihood + prior.log_density, gradient, log_likelihood, curvature)

    def precondition(self, x: Array, curvature: Curvature, v: Array) -> Array:
        """Newton block per item, scale and location of all items, and the focal group."""
        group, sd = self.likelihood.engine.patterns.group, float(np.exp(x[0]))
        n_focal = int((group == FOCAL).sum())
        of_items = super().precondition(x[_ABOUT_FOCAL:], curvature, v[_ABOUT_FOCAL:])
        inverse = np.array([0.5, sd**2]) / n_focal  # n normal abilities tell log σ by 2n, μ by n/σ²
        return np.concatenate([v[:_ABOUT_FOCAL] * inverse, of_items])


def _population(x: Array) -> Population:
    return Population(float(x[1]), float(np.exp(x[0])))


def calibrated(
    patterns: Patterns,
    split: NDArray[np.bool_],
    start: Items,
    population: Population,
) -> Calibrated:
    """Calibrate all items on both groups, the split ones on each by itself.

    ``start`` has all items, on the scale of the reference group.
    """
    apart, column = _split(patterns, split)
    order = np.concatenate([np.arange(len(split)), np.flatnonzero(split)])
    parameters = Parameterisation("2PL", len(order), learns=True)
    typical = max(float(np.median(start.slope)), 0.1)
    items = start.chosen(order)
    hyper = Hyper(float(np.log(typical)), 0.0)
    about = [np.log(population.sd), population.mean]
    x = np.concatenate([about, parameters.vector(items, hyper)])
    for _ in range(_GRIDS):
        nodes = _nodes(parameters.values(x[_ABOUT_FOCAL:]).items, _population(x), apart)
        search = PreconditionedLBFGS(x)
        objective: Objective = _TwoGroupLikelihood(apart, nodes, parameters)
        for _ in range(_MOST_EVALUATIONS):
            search.evaluate(objective, _TOL)
            if search.done:
                break
        x = search.x
    found = parameters.values(x[_ABOUT_FOCAL:]).items
    return Calibrated(found, _population(x), apart, column, nodes, search.converged)


def _nodes(items: Items, population: Population, patterns: Patterns) -> Nodes:
    """Nodes that hold both groups."""
    half_width = max(_HALF_WIDTH, abs(population.mean) + _HALF_WIDTH * population.sd)
    answered = float(patterns.margins.respondent_responses.max()) / patterns.n_items
    return NodeDensity.of(items, half_width, answered).nodes()


def _split(patterns: Patterns, split: NDArray[np.bool_]) -> tuple[Patterns, NDArray[np.intp]]:
    """Give the focal group columns of its own for split items."""
    column, which = np.arange(len(split)), np.flatnonzero(split)
    if not len(which):
        return patterns, column
    column[which] = len(split) + np.arange(len(which))
    cells = np.concatenate([patterns.cells, patterns.cells[:, which]], axis=1)
    trials, focal = patterns.trials, patterns.group == FOCAL
    others, own = np.ix_(~focal, column[which]), np.ix_(focal, which)
    if trials is None:
        cells[others] = cells[own] = -1
    else:
        trials = np.concatenate([trials, trials[:, which]], axis=1)
        for table in (cells, trials):
            table[others] = table[own] = 0
    return Patterns(cells, trials, patterns.group), column
