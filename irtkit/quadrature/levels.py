"""The marginal likelihood of ordered levels: generalised partial credit and graded responses.

P(y = k | θ) ∝ exp(k·aθ + d_k) of the generalised partial credit model (GPCM; Muraki 1992) is an
exponential family. As for the 2PL, the log-likelihood of a respondent is θ·(Y a) + Σ d − Σ S(θ), S
the log of the sum over levels, and complete data take two passes over the matrix. The graded
response model (GRM; Samejima 1969), P(y ≥ k | θ) = σ(aθ + d_k), takes a product for each level.

Right and wrong answers, trials and scores between 0 and 1 are cells of items with two levels, which
have a weight for each. In either model these are items of the 2PL, with its likelihood.

A level that nobody reached is left out: of the sum of the GPCM, where the others keep their scores,
and of the steps of the GRM, where it is part of its neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.data.patterns import REAL, blocks
from irtkit.irf import Items, Levels, level_curves, log_probability
from irtkit.quadrature.engines import Part, Posteriors, Sums
from irtkit.quadrature.posterior import Posterior, normalised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.data.patterns import Mask, Patterns
    from irtkit.irf import Array, ModelName
    from irtkit.quadrature.engines import Grid

_AT_ONCE = 2**20  # Numbers worked on at once.


class LevelEngine:
    """Computes with NumPy; cells hold levels, or right and wrong trials of the items in ``marks``.

    ``reached`` says which levels the items have, (n_items, n_levels), where it is known.
    """

    def __init__(
        self,
        patterns: Patterns,
        model: ModelName,
        reached: Mask | None = None,
        marks: Mask | None = None,
    ) -> None:
        self.patterns = patterns
        self.model = model
        score, trials = patterns.dense()
        observed = trials > 0
        n_items = score.shape[1]
        self.marks = np.zeros(n_items, bool) if marks is None else marks
        """Items with two levels, of which cells have weights."""
        self.tried = np.where(self.marks, trials, observed)
        """Trials of every cell, or whether it is observed."""
        answered = max(1.0, float(self.tried.sum(axis=1).max()) / n_items)
        right = score[:, self.marks]
        self._of_marks = trials[:, self.marks] - right, right
        has_level = observed & ~self.marks
        level = np.where(has_level, score, 0).astype(np.intp)
        if reached is None:
            n_levels = max(int(level.max()) + 1, 2)
            by_level = [(has_level & (level == k)).any(axis=0) for k in range(n_levels)]
            reached = np.stack(by_level, axis=1)
            reached[self.marks, :2] = True
        n_reached = reached.sum(axis=1)
        width = max(int(n_reached.max()), 2)
        order = np.argsort(~reached, axis=1, kind="stable")[:, :width]
        self.scores = order.astype(np.float64)
        """Score of every level that was reached, (n_items, width)."""
        place = np.cumsum(reached, axis=1) - 1
        number = np.maximum(np.take_along_axis(place.T, level, axis=0), 0)
        self.codes = np.where(has_level, number, -1).astype(np.int8)
        """Number of the level among those reached, −1 if missing or of items in `marks`."""
        counts = [self.at(k, slice(None)).sum(axis=0) for k in range(width)]
        self.counts = np.stack(counts, axis=1)
        of_levels = np.take_along_axis(self.scores.T, number, axis=0)
        self.score = np.where(self.marks, score, of_levels * observed)
        """Score of every cell, 0 where it is missing."""
        self.complete = bool((self.tried == 1).all())
        is_step = np.arange(1, width) < n_reached[:, None]
        steps = np.where(is_step, 0.0, -np.inf)
        self.levels = Levels(steps, self.scores, model, answered)
        """Levels of the items, with steps of 0."""

    def items(self, slope: Array, steps: Array) -> Items:
        """Items with some slopes and steps; those that an item does not have are −∞."""
        steps = np.where(self.levels.free, steps, -np.inf)
        return Items.of_levels(slope, self.levels._replace(steps=steps))

    def sums(self, items: Any, grid: Grid, *, exact: bool = True) -> Sums:
        """Marginal log-likelihood and its derivatives by slope and every step, in 64 bits."""
        del exact
        theta = grid.nodes.theta
        n_nodes = len(theta)
        n_items, width = self.scores.shape
        free = self.levels.free
        log_p = self._log_p(items, theta)
        gradient = np.zeros((n_items, width))
        information = np.zeros((n_items, width, width))
        if not np.isfinite(log_p).all():  # steps out of order
            nothing = np.zeros_like(grid.log_weights)
            impossible = np.full(len(nothing), -np.inf)
            return Sums(impossible, nothing, gradient, information)
        of_gpcm = self.model == "GPCM"
        log_marginal = np.zeros(len(grid.log_weights))
        node_mass = np.zeros_like(grid.log_weights)
        by_item = np.zeros((0 if self.complete else n_items, n_nodes))
        by_level = np.zeros((0 if of_gpcm else width, n_items, n_nodes))
        for rows, weights, log_marginals in self.weights(items, grid, log_p):
            groups = self.patterns.group[rows]
            log_marginal += np.bincount(groups, log_marginals, len(log_marginal))
            for group in np.unique(groups):
                in_group = groups == group
                node_mass[group] += weights[in_group].sum(axis=0)
            if of_gpcm:
                mean = weights @ theta
                gradient[:, 0] += self.score[rows].T @ mean
            if not self.complete:
                by_item += self.tried[rows].T @ weights
            for k in range(1, len(by_level)):
                by_level[k] += self.at(k, rows).T @ weights
        if of_gpcm:
            n_reached = self.counts[:, 1:][free]
            steps = items.levels.steps[free]
            log_marginal[REAL] += float(n_reached @ steps)
        mass = node_mass.sum(axis=0)
        tried = np.broadcast_to(mass, (n_items, n_nodes)) if self.complete else by_item
        for part in blocks(n_items, width**2 * n_nodes, _AT_ONCE // 4):
            p = np.exp(log_p[part])
            p[:, 1:] *= free[part, :, None]
            expected = tried[part, None] * p
            _, by_logit, by_step = level_curves(items.chosen(part), theta)
            by_slope = (theta * by_logit)[:, :, None]
            functions = np.concatenate([by_slope, by_step], axis=2)
            root_of_expected = np.sqrt(expected)[:, :, None]
            root = (functions * root_of_expected).swapaxes(1, 2)
            root = root.reshape(len(p), width, -1)
            information[part] = root @ root.mT
            if of_gpcm:
                expected_score = (self.scores[part, :, None] * expected).sum(axis=1)
                gradient[part, 0] -= expected_score @ theta
                gradient[part, 1:] = self.counts[part, 1:] - expected[:, 1:].sum(axis=2)
                continue
            reached = by_level[:, part].swapaxes(0, 1)
            reached[:, 0] = tried[part] - reached.sum(axis=1)
            gradient[part] = np.einsum("jct,jcpt->jp", reached, functions)
        gradient[:, 1:] *= free
        return Sums(log_marginal, node_mass, gradient, information)

    def posteriors(self, items: Any, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        of_all = Posteriors(*np.empty((3, self.patterns.n)))
        steps = items.steps
        for rows, weights, log_marginal in self.weights(items, grid):
            posterior = Posterior(grid.nodes.theta, weights)
            of_all.log_marginal[rows] = log_marginal
            of_all.mean[rows] = posterior.mean
            of_all.sd[rows] = posterior.sd
            if self.model == "GPCM":
                for k, step in enumerate(steps.T, 1):
                    of_all.log_marginal[rows] += self.at(k, rows) @ step
        return of_all

    def weights(
        self, items: Any, grid: Grid, log_p: Array | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Posterior weights of some respondents, (n, n_nodes), and log marginal likelihoods.

        Those of the GPCM are without the d of the levels reached.
        """
        theta = grid.nodes.theta
        log_p = self._log_p(items, theta) if log_p is None else log_p
        lowest = log_p[:, 0]
        of_all = lowest.sum(axis=0)
        for rows in blocks(self.patterns.n, max(len(lowest), len(theta)), _AT_ONCE):
            log_lowest = of_all if self.complete else self.tried[rows] @ lowest
            joint = log_lowest + grid.log_weights[self.patterns.group[rows]]
            if self.model == "GPCM":
                least = self.scores[:, 0] * items.slope
                score = self.score[rows] @ items.slope
                score -= self.tried[rows] @ least
                joint = joint + np.multiply.outer(score, theta)
            else:
                for k in range(1, self.scores.shape[1]):
                    above_lowest = log_p[:, k] - lowest
                    joint = joint + self.at(k, rows) @ above_lowest
            log_mass, weights = normalised(joint)
            yield rows, weights, log_mass

    def parts(self, items: Any, grid: Grid) -> Iterator[Part]:
        """Scores and observed cells of some respondents, and their posteriors."""
        for rows, weights, _ in self.weights(items, grid):
            by_node = np.ascontiguousarray(weights.T)
            yield Part(rows, self.score[rows], self.tried[rows], by_node, by_node)

    def at(self, k: int, rows: slice) -> Array:
        """Whether some cells have the level k, or its weight."""
        weight: Array = (self.codes[rows] == k).astype(np.float64)
        if k < 2:
            weight[:, self.marks] = self._of_marks[k][rows]
        return weight

    def reached_of(self, of_levels: Array, rows: slice) -> Array:
        """Values of the levels that some cells have, of (n_items, n_levels, n), as a table."""
        by_level = enumerate(of_levels.swapaxes(0, 1))
        parts = (self.at(k, rows) * values.T for k, values in by_level)
        return sum(parts)

    def _log_p(self, items: Items, theta: Array) -> Array:
        """Log probabilities of levels, (n_items, n_levels, n_nodes), some items at a time."""
        width = self.scores.shape[1]
        parts = blocks(len(self.scores), width * len(theta), _AT_ONCE // 4)
        return np.concatenate([log_probability(items.chosen(k), theta) for k in parts])
