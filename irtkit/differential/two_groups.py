"""Items calibrated on two groups at once, whose abilities differ.

Ability is N(0, 1) in the reference group and N(μ, σ²) in the focal one, with μ and σ estimated, and
items are the same for both (Bock & Zimowski 1997), but for those that are *split*: an item that the
groups find differently hard is two items, each answered by one group. What is maximised is the
marginal likelihood of the 2PL, under the weak prior of a fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.lbfgs import PreconditionedLBFGS
from irtkit.calibration.likelihood import FreeGroups, MarginalLikelihood, Population
from irtkit.calibration.maximise import (
    Control,
    GridSchedule,
    Monitor,
    Stopping,
    maximise,
    problem_of,
)
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.data.patterns import REAL, SYNTHETIC, Patterns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array, Items
    from irtkit.quadrature import Grid, Nodes

REFERENCE, FOCAL = REAL, SYNTHETIC + 1
"""Groups of the patterns."""
_TOL, _MOST_EVALUATIONS = 1e-4, 600
"""Gain at which a search ends, estimates being within 0.014 standard errors, and evaluations at
most."""


class Calibrated(NamedTuple):
    """Items and the focal group, on the scale of the reference group."""

    items: Items
    """Of all columns, those of split items for the focal group behind all others."""
    population: Population
    patterns: Patterns
    """With split items."""
    column: NDArray[np.intp]
    """Which column holds an item for the focal group, (n_items,)."""
    grid: Grid
    """Nodes with the weights of both groups."""
    converged: bool


def focal_weights(nodes: Nodes, population: Population) -> Array:
    """Log weights of N(μ, σ²), scaled to sum to 1 on the nodes."""
    return nodes.normal_log_weights(population.sd, population.mean)


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
    focal = FreeGroups(n_groups=2, means=(1,), sds=(1,))
    problem = problem_of(apart, "2PL", WeakPrior(), groups=focal)
    typical = max(float(np.median(start.slope)), 0.1)
    hyper, groups = Hyper(float(np.log(typical)), 0.0), (Population(), population)
    search = PreconditionedLBFGS(problem.parameters.vector(start.chosen(order), hyper, groups))
    stopping, monitor = Stopping(_TOL, _MOST_EVALUATIONS), Monitor(lambda _step, _value: None)
    found = maximise(problem, search, Control(GridSchedule(), stopping, monitor))
    at = problem.parameters.values(found.x)
    grid = MarginalLikelihood(problem.engine, found.nodes).grid(at.items, at.populations)
    return Calibrated(at.items, at.populations[1], apart, column, grid, found.converged)


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
