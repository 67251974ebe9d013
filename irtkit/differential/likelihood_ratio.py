"""Differential item functioning by likelihood ratio, with anchors.

Two models of the same responses are compared for each item: in one its slope and intercept are the
same for both groups, in the other each group has its own. Twice the difference of the maximal
log-likelihoods is chi-square distributed with two degrees of freedom where the item is the same
(Thissen, Steinberg & Wainer 1993). The other items, its anchors, say how the groups differ in
ability: the mean and SD of the focal group are free in both models.

**Calibration.** Ability is N(0, 1) in the reference group and N(μ, σ²) in the focal one, with μ and
σ estimated, and items are the same for both (Bock & Zimowski 1997), but for those that are *split*:
an item that the groups find differently hard is two items, each answered by one group. What is
maximised is the marginal likelihood of the 2PL, under the weak prior of a fit.

**One item at a time.** All items are calibrated on both groups once; then the two models of an item
are maximised over its own parameters and over μ and σ, the other items staying as they were found.
With posterior weights wᵢₖ of respondent i at node k,

    log L − log L₀ = Σᵢ log Σₖ wᵢₖ · P(yᵢ | θₖ)/P₀(yᵢ | θₖ) · g(θₖ)/g₀(θₖ),

where the fractions are the same for all respondents of one group and answer, so that an item costs
a few products of a vector with the weights. That the others do not follow makes the statistic
smaller by about one part in as many as there are items: of 10 items 3.4 % differ by chance at the
5 % level, of 20 4.9 % (``benchmarks/differential.py``).

**Purification.** An item that differs is no anchor: its parameters are split between the groups,
the rest are calibrated anew, and all are tested again, until the same items differ.
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
from irtkit.irf import logistic, softplus
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array, Items
    from irtkit.quadrature import Grid

REFERENCE, FOCAL = REAL, SYNTHETIC + 1
"""Groups of the patterns."""
_TOL, _MOST_EVALUATIONS = 1e-4, 600
"""Gain at which a search ends, estimates being within 0.014 standard errors, and evaluations at
most."""
DEGREES_OF_FREEDOM = 2
_LEAST_ANSWERS = 5
"""Right and wrong responses that an item needs in each group: of fewer the statistic is no
chi-square."""
_MOST_STEPS, _LEAST_GAIN = 40, 1e-6
"""Newton steps at most, and the expected gain that ends them."""
_RIDGE = 1e-2
"""Added to the information of a parameter, in squared scores, which makes steps shorter and leaves
the maximum where it is: with none, or ten times as much, statistics of 40 items differ by 4e-4 at
most (60, 100 and 800 respondents)."""
_LONGEST = 1.0
"""Largest change of a parameter in one step."""
_LIMITS = np.array([20.0, 30.0, 20.0, 30.0, 3.0, 10.0])
"""Sizes of slopes, intercepts, log σ and μ that a search stays within: the likelihood of an item
that splits a group rises for ever. Half of them leave all statistics of 40 items as they are, with
30 respondents in each group and more; a quarter moves one by 0.6."""
_SHORTEST, _LARGEST = 1e-3, 600.0
"""Share of a step below which it is given up, and the largest logarithm of a ratio."""
_NO_AREA = 1e-12
"""Area between two curves below which there is none."""
_SIZE = 6
"""What moves when an item is tested: its slope and intercept in each group, log σ and μ."""
_SHARED = np.zeros((_SIZE, 4))
_SHARED[[0, 2], 0] = _SHARED[[1, 3], 1] = _SHARED[4, 2] = _SHARED[5, 3] = 1.0
"""Directions along which both groups have the same parameters."""


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


class Ratios(NamedTuple):
    """How items compare between two groups, (n_items,); NaN where few were right, or wrong."""

    statistic: Array
    slope_difference: Array
    """Slope in the focal group less that in the reference group."""
    difficulty_difference: Array
    score_difference: Array
    """P(right) in the focal group less what it would be with the reference group's parameters, a
    mean over the abilities of the focal group."""
    opposite: Array
    """Share of the area between the curves, over the abilities of both groups, that lies on the
    side where less does: 0 if one group is favoured at every ability, ½ at most."""


class _Answers(NamedTuple):
    """Posterior weights of those who gave one answer to an item: so many of n trials right."""

    focal: int
    """1 in the focal group, else 0."""
    weights: Array
    """Shape (n, n_nodes)."""
    right: float
    n: float

    def log_likelihood(self, z: Array) -> Array:
        """Log-likelihood at some logits of a right answer."""
        return np.asarray(self.right * z - self.n * softplus(z))


def ratios(found: Calibrated) -> Ratios:
    """Compare every item between the groups."""
    n_items = len(found.column)
    parts = posterior_weights(found.patterns, found.items, found.grid)
    weights = np.concatenate([part.weights.T for part in parts])
    statistic, *differences = np.full((5, n_items), np.nan)
    for item in range(n_items):
        model = _OneItem(found, weights, item)
        if not model.answered_both_ways:
            continue
        shared, x = model.maximum(model.start(), _SHARED)
        own, x = model.maximum(x, np.eye(_SIZE))
        statistic[item] = max(2 * (own - shared), 0.0)
        for values, value in zip(differences, model.differences(x), strict=True):
            values[item] = value
    return Ratios(statistic, *differences)


class _OneItem:
    """The likelihood of an item's parameters (a, d) of both groups, and of (log σ, μ)."""

    def __init__(self, found: Calibrated, weights: Array, item: int) -> None:
        patterns, nodes = found.patterns, found.grid.nodes
        self.nodes, self.theta, self.before = nodes, nodes.theta, found
        self.columns = item, int(found.column[item])
        self.log_weights = found.grid.log_weights[FOCAL]
        self.answers, self.answered_both_ways = [], True
        for focal, column in enumerate(self.columns):
            rows = np.flatnonzero(patterns.group == (FOCAL if focal else REFERENCE))
            cells = patterns.cells[rows, column].astype(np.float64)
            tried = (cells >= 0) if patterns.trials is None else patterns.trials[rows, column]
            right, tried = np.maximum(cells, 0), np.asarray(tried, dtype=np.float64)
            self.answered_both_ways &= min(right.sum(), (tried - right).sum()) >= _LEAST_ANSWERS
            kinds, kind = np.unique(np.stack([right, tried]), axis=1, return_inverse=True)
            for k, (n_right, n) in enumerate(kinds.T):
                if n or focal:  # without an answer, the focal group tells of itself
                    own = weights[rows[kind.ravel() == k]]
                    self.answers.append(_Answers(focal, own, float(n_right), float(n)))

    def start(self) -> Array:
        """Return parameters that both groups share, and the focal group as it was found."""
        slope, intercept = (part[list(self.columns)].mean() for part in self.before.items[:2])
        population = self.before.population
        about = [np.log(population.sd), population.mean]
        return np.array([slope, intercept, slope, intercept, *about])

    def at(self, x: Array) -> tuple[float, Array]:
        """Log-likelihood ratio to what was found, and the score of every respondent, (n, 6)."""
        population = Population(float(x[5]), float(np.exp(x[4])))
        moved = self.nodes.normal_log_weights(population.sd, population.mean)
        mass, z = np.exp(moved), (self.theta - population.mean) / population.sd
        value, scores = 0.0, []
        for answer in self.answers:
            column, own = self.columns[answer.focal], slice(2 * answer.focal, 2 * answer.focal + 2)
            found, (slope, intercept) = self.before.items, x[own]
            before = found.slope[column] * self.theta + found.intercept[column]
            after = slope * self.theta + intercept
            p = logistic(after)
            log_ratio = answer.log_likelihood(after) - answer.log_likelihood(before)
            by_node = np.zeros((len(z), _SIZE))
            by_node[:, own] = ((answer.right - answer.n * p) * np.stack([self.theta, 1 + 0 * z])).T
            if answer.focal:
                log_ratio += moved - self.log_weights
                by_node[:, 4] = z**2 - mass @ z**2
                by_node[:, 5] = (z - mass @ z) / population.sd
            ratio = np.exp(np.minimum(log_ratio, _LARGEST))
            likelihood = answer.weights @ ratio
            value += float(np.log(likelihood).sum())
            scores.append((answer.weights @ (ratio[:, None] * by_node)) / likelihood[:, None])
        return value, np.concatenate(scores)

    def maximum(self, x: Array, directions: Array) -> tuple[float, Array]:
        """Maximise along some directions, (6, k), by steps of Berndt, Hall, Hall & Hausman."""
        value, scores = self.at(x)
        for _ in range(_MOST_STEPS):
            along = scores @ directions
            gradient = along.sum(axis=0)
            information = along.T @ along + _RIDGE * np.eye(len(gradient))
            step = np.linalg.solve(information, gradient)
            expected = 0.5 * float(step @ gradient)
            if expected < _LEAST_GAIN:
                break
            change = directions @ step
            share = min(1.0, _LONGEST / float(np.abs(change).max()))
            while share > _SHORTEST:
                trial = np.clip(x + share * change, -_LIMITS, _LIMITS)
                reached, own = self.at(trial)
                if reached > value:
                    break
                share *= 0.4
            else:
                break
            x, value, scores = trial, reached, own
        return value, x

    def differences(self, x: Array) -> tuple[float, ...]:
        """Differences of slope, difficulty and P(right), and how far the curves cross."""
        a, d, own_a, own_d, log_sd, mean = x
        focal = np.exp(self.nodes.normal_log_weights(float(np.exp(log_sd)), mean))
        gain = logistic(own_a * self.theta + own_d) - logistic(a * self.theta + d)
        areas = (focal + np.exp(self.nodes.normal_log_weights(1.0))) * gain
        rise, whole = float(areas[gain > 0].sum()), float(np.abs(areas).sum())
        opposite = min(rise, whole - rise) / max(whole, _NO_AREA)
        return own_a - a, d / a - own_d / own_a, float(focal @ gain), opposite
