"""Differential item functioning by likelihood ratio, with anchors.

Ability is N(0, 1) in the reference group and N(μ, σ²) in the focal group. All items are calibrated
on both groups at once (2PL, weak prior), a split item as two items. Then the parameters of one item
are maximised with μ and σ, once shared by the groups and once free in each (Thissen, Steinberg &
Wainer 1993). With posterior weights wᵢₖ of respondent i at node k,

    log L − log L₀ = Σᵢ log Σₖ wᵢₖ · P(yᵢ | θₖ)/P₀(yᵢ | θₖ) · g(θₖ)/g₀(θₖ).

The other items stay as calibrated, which makes the statistic smaller by about 1/J with J items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from irtkit.calibration.likelihood import FreeGroups, MarginalLikelihood, Population
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.calibration.search import Control, PreconditionedLBFGS, maximise, problem_of
from irtkit.data.patterns import REAL, SYNTHETIC, Patterns, blocks
from irtkit.irf import logistic, softplus
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array, Items
    from irtkit.quadrature import Grid

    Marks = NDArray[np.bool_]
    Places = NDArray[np.intp]

REFERENCE, FOCAL = REAL, SYNTHETIC + 1  # Groups of the patterns.
_LEAST_ANSWERS = 5  # Right, and wrong, in each group. With fewer the statistic is not chi-square.
_MOST_EVALUATIONS, _LEAST_GAIN = 100, 1e-6  # Of an item, and the expected gain that ends a search.
_AT_ONCE = 2**20  # Numbers in an array of a block of items: products of fewer are slow.
_RIDGE = 1e-2  # Added to the information of each parameter. It shortens steps only.
_LIMITS = np.array([20.0, 30.0, 20.0, 30.0, 3.0, 10.0])  # A perfect split has no finite maximum.
_SHARED = np.eye(4)[[0, 1, 0, 1, 2, 3]]  # Both groups have one slope and one intercept.


class Calibrated(NamedTuple):
    """Items and the focal group, on the scale of the reference group."""

    items: Items  # Of all columns. Split items for the focal group are last.
    population: Population
    patterns: Patterns  # With split items.
    column: Places  # Column of every item for the focal group, (n_items,).
    grid: Grid
    converged: bool


def calibrated(
    patterns: Patterns, split: Marks, start: Items, population: Population
) -> Calibrated:
    """Calibrate all items on both groups, the split ones on each group alone.

    ``start`` has all items on the scale of the reference group.
    """
    apart, column = _split(patterns, split)
    order = np.concatenate([np.arange(len(split)), np.flatnonzero(split)])
    focal = FreeGroups(n_groups=2, means=(1,), sds=(1,))
    problem = problem_of(apart, "2PL", WeakPrior(), groups=focal)
    typical = max(float(np.median(start.slope)), 0.1)
    hyper, groups = Hyper(float(np.log(typical)), 0.0), (Population(), population)
    search = PreconditionedLBFGS(problem.parameters.vector(start.chosen(order), hyper, groups))
    found = maximise(problem, search, Control(tol=1e-4, max_evaluations=600))
    at = problem.parameters.values(found.x)
    grid = MarginalLikelihood(problem.engine, found.nodes).grid(at.items, at.populations)
    return Calibrated(at.items, at.populations[1], apart, column, grid, found.converged)


def _split(patterns: Patterns, split: Marks) -> tuple[Patterns, Places]:
    """Give the focal group columns of its own for split items."""
    column, which = np.arange(len(split)), np.flatnonzero(split)
    column[which] = len(split) + np.arange(len(which))
    focal = patterns.group == FOCAL

    def wider(table: NDArray[np.integer], missing: int) -> NDArray[np.integer]:
        found = np.concatenate([table, table[:, which]], axis=1)
        found[np.ix_(~focal, column[which])] = found[np.ix_(focal, which)] = missing
        return found

    trials = patterns.trials
    cells = wider(patterns.cells, -1 if trials is None else 0)
    return Patterns(cells, None if trials is None else wider(trials, 0), patterns.group), column


class Ratios(NamedTuple):
    """Comparison of items in two groups, (n_items,), NaN with few right or wrong answers."""

    statistic: Array
    slope_difference: Array  # Focal group less reference group, as all differences.
    difficulty_difference: Array
    score_difference: Array  # Mean difference in P(right) over the abilities of the focal group.
    opposite: Array  # Share of the area between the curves on its smaller side, 0 to ½.


def ratios(found: Calibrated) -> Ratios:
    """Compare every item between the groups."""
    parts = posterior_weights(found.patterns, found.items, found.grid)
    weights = np.concatenate([part.weights.T for part in parts])
    some_items = blocks(len(found.column), max(weights.shape), _AT_ONCE)
    return Ratios(*np.hstack([_compared(found, weights, some) for some in some_items]))


def _compared(found: Calibrated, weights: Array, some: slice) -> Array:
    """Values of `Ratios` for some items, (5, n)."""
    columns = np.arange(len(found.column))[some], found.column[some]
    model = _SomeItems(found, weights, columns)
    slope, intercept = (np.mean([part[k] for k in columns], 0) for part in found.items[:2])
    x = np.empty((len(slope), 6))
    x[:, ::2][:, :2], x[:, 1::2][:, :2] = slope[:, None], intercept[:, None]
    x[:, 4:] = np.log(found.population.sd), found.population.mean
    before = model.at(x, np.arange(len(x)))
    shared = model.maximum(_Reached(x, *before), _SHARED)
    own = model.maximum(shared, np.eye(6))
    gain = np.maximum(2 * (own.value - shared.value), 0)
    values = np.stack([gain, *model.differences(own.x)])
    return np.where(model.usable, values, np.nan)


class _Reached(NamedTuple):
    """Parameters of some items, and their log-likelihood with its derivatives."""

    x: Array  # (n_items, 6)
    value: Array  # Log-likelihood ratio to what was found, (n_items,).
    gradient: Array
    squares: Array  # Sum of products of scores, (n_items, 6, 6).


class _SomeItems:
    """Likelihood of (a, d) of some items in each group, and of (log σ, μ): vectors (n_items, 6)."""

    def __init__(self, found: Calibrated, weights: Array, columns: tuple[Places, Places]) -> None:
        patterns, self.nodes = found.patterns, found.grid.nodes
        self.theta, self.log_weights = self.nodes.theta, found.grid.log_weights[FOCAL]
        self.usable = np.ones(len(columns[0]), np.bool_)
        self.groups = []
        for group, of in zip((REFERENCE, FOCAL), columns, strict=True):
            rows = np.flatnonzero(patterns.group == group)
            right, tried = (part.T for part in patterns.chosen(rows).with_columns(of).dense())
            n_right, n = right.sum(axis=1), tried.sum(axis=1)
            self.usable &= np.minimum(n_right, n - n_right) >= _LEAST_ANSWERS
            kind: Places = (right + tried).astype(np.intp)
            kinds = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
            if patterns.trials is not None:
                both = np.stack([right.ravel(), tried.ravel()], axis=1)
                kinds, kind = np.unique(both, axis=0, return_inverse=True)
            own = weights[rows].T
            before = np.outer(found.items.slope[of], self.theta) + found.items.intercept[of, None]
            answers = kinds, kind.reshape(right.shape)
            self.groups.append((own, own.astype(np.float32), *answers, before))

    def _log_normal(self, x: Array) -> Array:
        """Log weights of N(μ, σ²) at the nodes, (n_items, n_nodes)."""
        z = (self.theta - x[:, [5]]) / np.exp(x[:, [4]])
        log_density = -0.5 * z**2 + self.nodes.log_width
        return np.asarray(log_density - logsumexp(log_density, axis=1, keepdims=True))

    def at(self, x: Array, items: Places) -> tuple[Array, Array, Array]:
        """Log-likelihood ratio to what was found, its gradient and the sum of squared scores."""
        sd, mean = np.exp(x[:, [4]]), x[:, [5]]
        value, gradient, squares = np.zeros(len(x)), np.zeros((len(x), 6)), np.zeros((len(x), 6, 6))
        z = (self.theta - mean) / sd
        moved = self._log_normal(x)
        mass = np.exp(moved)
        density = [z**2 - (mass * z**2).sum(axis=1, keepdims=True)]
        density += [(z - (mass * z).sum(axis=1, keepdims=True)) / sd]
        for focal, (weights, singles, kinds, *of_all) in enumerate(self.groups):
            own = [2 * focal, 2 * focal + 1] + [4, 5] * focal
            kind, before = (part[items] for part in of_all)
            after = x[:, [own[0]]] * self.theta + x[:, [own[1]]]
            p, lost = logistic(after), softplus(after) - softplus(before)
            likelihood, scores = np.ones(kind.shape), np.zeros((len(own), *kind.shape), np.float32)
            for number, (k, n) in enumerate(kinds):
                among = kind == number
                if not among.any():
                    continue
                log_ratio = k * (after - before) - n * lost + (moved - self.log_weights) * focal
                ratio, slope = np.exp(np.minimum(log_ratio, 600)), k - n * p
                np.copyto(likelihood, ratio @ weights, where=among)
                by_node = [slope * self.theta, slope, *density][: len(own)]
                for score, part in zip(scores, by_node, strict=True):
                    product = (ratio * part).astype(np.float32) @ singles
                    np.copyto(score, product, where=among)
            scores /= likelihood.astype(np.float32)
            value += np.log(likelihood).sum(axis=1)
            gradient[:, own] += scores.sum(axis=2).T
            by_item = scores.transpose(1, 0, 2)
            squares[np.ix_(range(len(x)), own, own)] += by_item @ by_item.transpose(0, 2, 1)
        return value, gradient, squares

    def maximum(self, start: _Reached, directions: Array) -> _Reached:
        """Maximise along directions, (6, k), by steps of Berndt, Hall, Hall & Hausman (1974)."""
        best = _Reached(*(part.copy() for part in start))
        change, share = np.zeros_like(best.x), np.ones(len(best.x))
        items = better = np.flatnonzero(self.usable)
        for _ in range(_MOST_EVALUATIONS):
            along = best.gradient[better] @ directions
            information = directions.T @ best.squares[better] @ directions
            information += _RIDGE * np.eye(along.shape[1])
            step = np.linalg.solve(information, along[..., None])[..., 0]
            change[better] = step @ directions.T
            longest = np.abs(change[better]).max(axis=1, initial=1.0)
            share[better] = np.where((step * along).sum(axis=1) / 2 < _LEAST_GAIN, 0, 1 / longest)
            items = items[share[items] > 1e-3]
            if not len(items):
                break
            x = np.clip(best.x[items] + share[items, None] * change[items], -_LIMITS, _LIMITS)
            found = _Reached(x, *self.at(x, items))
            rises = found.value > best.value[items]
            better = items[rises]
            for kept, own in zip(best, found, strict=True):
                kept[better] = own[rises]
            share[items[~rises]] *= 0.4
        return best

    def differences(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Differences of slope, difficulty and P(right), and how far the curves cross."""
        a, d, own_a, own_d = x.T[:4, :, None]
        focal = np.exp(self._log_normal(x))
        gain = logistic(own_a * self.theta + own_d) - logistic(a * self.theta + d)
        areas = (focal + np.exp(self.nodes.normal_log_weights(1.0))) * gain
        rise, whole = np.maximum(areas, 0).sum(axis=1), np.abs(areas).sum(axis=1)
        opposite = np.minimum(rise, whole - rise) / np.maximum(whole, 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            difficulty = (d / a - own_d / own_a)[:, 0]
        return (own_a - a)[:, 0], difficulty, (focal * gain).sum(axis=1), opposite
