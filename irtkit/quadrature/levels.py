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

from irtkit.data.patterns import blocks
from irtkit.irf import Items, Levels, level_curves, log_probability
from irtkit.quadrature.engines import Posteriors, Sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ModelName
    from irtkit.quadrature.engines import Grid

_AT_ONCE = 2**20  # Numbers worked on at once.


class LevelEngine:
    """Computes with NumPy; cells hold levels, or right and wrong trials of the items in `marks`."""

    def __init__(
        self,
        patterns: Patterns,
        model: ModelName,
        reached: NDArray[np.bool_] | None = None,
        marks: NDArray[np.bool_] | None = None,
    ) -> None:
        self.patterns, self.model = patterns, model
        cells, tried = patterns.cells, patterns.trials
        observed = cells >= 0 if tried is None else tried > 0
        self.marks = np.flatnonzero(np.zeros(cells.shape[1], bool) if marks is None else marks)
        """Items with two levels, of which cells have weights."""
        right, tried = (part[:, 0] for part in np.zeros((2, len(cells), 1, 0)))
        if len(self.marks):
            right, tried = patterns.dense(items=self.marks)
            cells = np.where(observed, cells, 0).astype(np.int64)
            cells[:, self.marks] = 0
        self.of_marks = tried - right, right
        most = tried.sum(axis=1).max() + cells.shape[1] - len(self.marks)
        self.answered = max(1.0, float(most) / cells.shape[1])
        n_levels = max(int(cells.max()) + 1, 2) if reached is None else reached.shape[1]
        counts = [((cells == k) & observed).sum(axis=0) for k in range(n_levels)]
        number = np.stack(counts, axis=1).astype(np.float64)
        for k, weights in enumerate(self.of_marks):
            number[self.marks, k] = weights.sum(axis=0)
        self.reached = number > 0 if reached is None else reached
        """Which levels of each item were reached, (n_items, n_levels)."""
        self.reached[self.marks, :2] |= reached is None
        n_reached = self.reached.sum(axis=1)
        width = max(int(n_reached.max()), 2)
        order = np.argsort(~self.reached, axis=1, kind="stable")[:, :width]
        self.scores = order.astype(np.float64)
        """Score of every level that was reached, (n_items, width)."""
        self.free: NDArray[np.bool_] = np.arange(1, width) < n_reached[:, None]
        """Which steps the items have, (n_items, width − 1)."""
        place = np.maximum(np.cumsum(self.reached, axis=1) - 1, 0).astype(np.int8)
        columns = np.arange(cells.shape[1])
        self.codes = np.where(observed, place[columns, np.maximum(cells, 0)], np.int8(-1))
        """Number of the level among those reached, −1 if missing, 0 of items in `marks`."""
        self.counts = np.take_along_axis(number, order, axis=1)
        self.complete = bool(observed.all() and (tried == 1).all())

    def items(self, slope: Array, steps: Array) -> Items:
        """Items with some slopes and steps; those that an item does not have are −∞."""
        steps = np.where(self.free, steps, -np.inf)
        return Items.of_levels(slope, Levels(steps, self.scores, self.model, self.answered))

    def sums(self, items: Any, grid: Grid, *, exact: bool = True) -> Sums:
        """Marginal log-likelihood and its derivatives by slope and every step, in 64 bits."""
        del exact
        theta, gpcm = grid.nodes.theta, self.model == "GPCM"
        (n_items, width), n_nodes = self.scores.shape, len(theta)
        log_p = self._log_p(items, theta)
        gradient, information = np.zeros((n_items, width)), np.zeros((n_items, width, width))
        if not np.isfinite(log_p).all():  # steps out of order
            nothing = np.array([-np.inf, 0.0]), np.zeros((2, n_nodes))
            return Sums(*nothing, gradient, information)
        total, mass = 0.0, np.zeros(n_nodes)
        each = None if self.complete else np.zeros((n_items, n_nodes))
        of_levels = np.zeros((0 if gpcm else width, n_items, n_nodes))
        for some, weights, log_marginal in self.weights(items, grid, log_p):
            total += float(log_marginal.sum())
            mass += weights.sum(axis=0)
            if gpcm:
                gradient[:, 0] += self.scored(some).T @ (weights @ theta)
            if each is not None:
                each += self.seen(some).T @ weights
            for k in range(1, len(of_levels)):
                of_levels[k] += self.at(k, some).T @ weights
        if gpcm:
            total += float(self.counts[:, 1:][self.free] @ items.levels.steps[self.free])
        for part in blocks(n_items, width**2 * n_nodes, _AT_ONCE // 4):
            p = np.exp(log_p[part])
            p[:, 1:] *= self.free[part, :, None]
            tried = mass if each is None else each[part, None]
            if gpcm:
                scores = self.scores[part, :, None]
                off = scores - (scores * p).sum(axis=1, keepdims=True)
                weighted = tried * p
                along, of_steps = weighted * off, weighted[:, 1:].sum(axis=2)
                gradient[part, 0] -= ((tried * (scores - off)[:, :1])[:, 0]) @ theta
                gradient[part, 1:] = self.counts[part, 1:] - of_steps
                found = information[part]
                found[:, 0, 0] = (along * off).sum(axis=1) @ theta**2
                found[:, 0, 1:] = found[:, 1:, 0] = along[:, 1:] @ theta
                found[:, 1:, 1:] = -weighted[:, 1:] @ p[:, 1:].swapaxes(1, 2)
                found[:, range(1, width), range(1, width)] += of_steps
                continue
            _, by_logit, by_step = level_curves(items.chosen(part), theta)
            functions = np.concatenate([(theta * by_logit)[:, :, None], by_step], axis=2)
            found = of_levels[:, part].swapaxes(0, 1)
            found[:, 0] = (mass if each is None else each[part]) - found.sum(axis=1)
            gradient[part] = np.einsum("jct,jcpt->jp", found, functions)
            root = functions * np.sqrt(tried * p)[:, :, None]
            root = root.swapaxes(1, 2).reshape(len(p), width, -1)
            information[part] = root @ root.swapaxes(1, 2)
        gradient[:, 1:] *= self.free
        return Sums(np.array([total, 0.0]), np.stack([mass, 0 * mass]), gradient, information)

    def posteriors(self, items: Any, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        theta, found = grid.nodes.theta, np.empty((3, self.patterns.n))
        steps = np.where(self.free, items.levels.steps, 0.0)
        for some, weights, log_marginal in self.weights(items, grid):
            mean = weights @ theta
            variance = np.maximum(weights @ theta**2 - mean**2, 0.0)
            found[:, some] = log_marginal, mean, np.sqrt(variance)
            if self.model == "GPCM":
                for k in range(steps.shape[1]):
                    found[0, some] += self.at(k + 1, some) @ steps[:, k]
        return Posteriors(*found)

    def weights(
        self, items: Any, grid: Grid, log_p: Array | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Posterior weights of some respondents, (n, n_nodes), and log marginal likelihoods.

        Those of the GPCM are without the d of the levels reached.
        """
        theta = grid.nodes.theta
        log_p = self._log_p(items, theta) if log_p is None else log_p
        lowest, whole = log_p[:, 0], log_p[:, 0].sum(axis=0)
        for some in blocks(self.patterns.n, max(len(lowest), len(theta)), _AT_ONCE):
            joint = whole if self.complete else self.seen(some) @ lowest
            joint = joint + grid.log_weights[0]
            if self.model == "GPCM":
                least = self.scores[:, 0] * items.slope
                score = self.scored(some) @ items.slope - self.seen(some) @ least
                joint = joint + np.multiply.outer(score, theta)
            else:
                for k in range(1, self.scores.shape[1]):
                    joint = joint + self.at(k, some) @ (log_p[:, k] - lowest)
            peak = joint.max(axis=1, keepdims=True)
            weights = np.exp(joint - peak)
            mass = weights.sum(axis=1, keepdims=True)
            weights /= mass
            yield some, weights, (peak + np.log(mass))[:, 0]

    def at(self, k: int, some: slice) -> Array:
        """Whether some cells have the level k, or its weight."""
        found: Array = (self.codes[some] == k).astype(np.float64)
        found[:, self.marks] = self.of_marks[k][some] if k < 2 else 0.0
        return found

    def seen(self, some: slice) -> Array:
        """Whether some cells are observed, or their trials."""
        found: Array = (self.codes[some] >= 0).astype(np.float64)
        found[:, self.marks] = self.of_marks[0][some] + self.of_marks[1][some]
        return found

    def scored(self, some: slice) -> Array:
        """Scores of some cells, 0 where they are missing."""
        codes = self.codes[some]
        found: Array = np.maximum(codes, 0).astype(np.float64)
        if not (self.scores == np.arange(self.scores.shape[1])).all():
            found = self.scores[np.arange(codes.shape[1]), np.maximum(codes, 0)]
            found = np.asarray(np.where(codes >= 0, found, 0.0))
        found[:, self.marks] = self.of_marks[1][some]
        return found

    def reached_of(self, of_levels: Array, some: slice) -> Array:
        """Values of the levels that some cells have, of (n_items, n_levels, n), as a table."""
        codes = self.codes[some]
        found = np.take_along_axis(of_levels, np.maximum(codes, 0).T[:, None].astype(np.intp), 1)
        table: Array = np.asarray(found[:, 0].T * (codes >= 0))
        of_marks = of_levels[self.marks]
        both = (weights[some] * of_marks[:, k].T for k, weights in enumerate(self.of_marks))
        table[:, self.marks] = sum(both)
        return table

    def _log_p(self, items: Items, theta: Array) -> Array:
        """Log probabilities of levels, (n_items, n_levels, n_nodes), some items at a time."""
        width = self.scores.shape[1]
        parts = blocks(len(self.scores), width * len(theta), _AT_ONCE // 4)
        return np.concatenate([log_probability(items.chosen(k), theta) for k in parts])
