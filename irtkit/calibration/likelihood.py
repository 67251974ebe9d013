"""The marginal likelihood of a response matrix as a function to maximise.

The objective is the log-likelihood of the responses with ability integrated out, N(0, 1) for real
respondents, plus the log prior of the items. Its gradient comes from the posterior of ability by
Fisher's identity, at the cost of one EM step; the maximiser is preconditioned by what an EM step
uses (one Newton block per item), plus the two directions in which EM is slow: the common scale
and the common location of the items. Along them the likelihood only sees the distribution of
ability, with information 2N and N, and a step there is the fold of parameter-expanded EM (Liu,
Rubin & Wu 1998). From the block of an item is taken what its slope loses because abilities are told
from the responses themselves (Louis 1982).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.ascent import Evaluation
from irtkit.patterns import REAL, SYNTHETIC
from irtkit.quadrature import Grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.layout import Layout
    from irtkit.calibration.priors import AtPrior
    from irtkit.quadrature import Engine, Nodes

    Array = NDArray[np.float64]

_JITTER = 1e-3
"""Added to the information of a parameter, in responses; one with less is as good as settled."""
_NOISE = 2e-7
"""Error of the log-likelihood of one respondent; the same for all, should all answer alike."""
_ITEMS_PER_NOISE = 20
"""Items of which a sum in 32 bits, with dense responses missing, is off by as much again."""


class Curvature(NamedTuple):
    """What the preconditioner needs."""

    information: Array
    """Complete-data information of every item, (n_items, k, k)."""
    prior: AtPrior | None
    logit_by_angle: Array | None
    """Derivative of the logit of guessing by its angle, (n_items,)."""


class MarginalLikelihood:
    """Penalised marginal log-likelihood of a vector of parameters, on given nodes.

    ``exact`` computes all of it in 64 bits, which takes up to twice as long.
    """

    def __init__(
        self, layout: Layout, engine: Engine, nodes: Nodes, *, exact: bool = False
    ) -> None:
        self.layout = layout
        self.engine = engine
        self.nodes = nodes
        self.n_real = engine.rows.n_real
        self.exact = exact
        rows = engine.rows
        wide = rows.complete or rows.sparse
        sums_of_items = 0.0 if wide else layout.n_items / _ITEMS_PER_NOISE
        self.noise = 0.0 if exact else _NOISE * rows.n * (1 + sums_of_items)
        self._grid: Grid | None = None
        """The grid, if it is the same at every x."""
        if layout.model != "Rasch" and not engine.rows.has_synthetic:
            weights = nodes.normal_log_weights(1.0)
            self._grid = Grid(nodes, np.stack([weights, weights]))

    def grid(self, x: Array) -> Grid:
        """Nodes with the prior weights of real and of synthetic respondents."""
        return grid_of(self.layout, self.nodes, x) if self._grid is None else self._grid

    def evaluate(self, x: Array) -> Evaluation:
        """Value, gradient and complete-data information at x."""
        layout, items = self.layout, self.layout.items(x)
        grid = self.grid(x)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            sums = self.engine.sums(items, grid, exact=self.exact)
        value = float(sums.log_marginal.sum())
        by_item, information = sums.gradient, sums.information
        if items.logit_guessing is not None:
            # where c → 0 it vanishes faster than the gradient, and the logarithm of the likelihood
            # is linear in c: half the gradient is what makes a step in the angle lead to 0
            information = information.copy()
            by_logit = by_item[:, 2]
            information[:, 2, 2] += np.where(by_logit < 0, -0.5 * by_logit, by_logit)
        prior = None
        learned = np.zeros(2)
        by_slope = by_item[:, 0] if layout.model != "Rasch" else np.zeros(layout.n_items)
        rest = [by_item[:, k] for k in range(1, by_item.shape[1])]
        if layout.prior is not None:
            prior = prior_at(layout, x)
            value += prior.log_density
            by_prior, learned = prior.gradient(), prior.by_learned()
            by_slope = by_slope + by_prior[:, 0] * layout.latent_sd(x)
            rest = [part + by_prior[:, k] for k, part in enumerate(rest, 1)]
        slopes = by_slope.sum(keepdims=True) if layout.common_slope else by_slope
        if self._grid is None:
            slopes = slopes + self._through_sds(x, grid, sums.node_mass)
        by_angle = layout.logit_by_angle(x)
        guessing = None if by_angle is None else rest[1] * by_angle
        gradient = layout.joined(slopes, rest[0], guessing, learned)
        curvature = Curvature(information, prior, by_angle)
        return Evaluation(value, gradient, float(sums.log_marginal[REAL]), curvature)

    def _through_sds(self, x: Array, grid: Grid, node_mass: Array) -> Array:
        """Gradient by the slopes through the SDs of ability."""
        sds = (self.layout.latent_sd(x), self.layout.synthetic_sd(x))
        total = np.zeros(self.layout.n_slopes)
        for group, by_log_sd in zip((REAL, SYNTHETIC), self.layout.sd_gradients(x), strict=True):
            square = (self.nodes.theta / sds[group]) ** 2
            deviation = square - np.exp(grid.log_weights[group]) @ square
            total += float(node_mass[group] @ deviation) * by_log_sd
        return total

    def precondition(self, x: Array, curvature: Curvature, v: Array) -> Array:
        """Newton block per item plus the common scale and location."""
        step = self._local_step(x, curvature, v)
        for tangent, information in zip(self.layout.tangents(x), (2.0, 1.0), strict=True):
            bend = information * self.n_real + self._along(tangent, curvature.prior)
            step = step + tangent * (float(tangent @ v) / bend)
        return step

    def _along(self, tangent: Array, prior: AtPrior | None) -> float:
        """Curvature of the prior along a common change of the items."""
        if prior is None or self.layout.n_learned:  # what is learned follows the items
            return 0.0
        slopes, intercepts, guessing, _ = self.layout.split(tangent)
        by_item = [np.broadcast_to(slopes, intercepts.shape), intercepts]
        return prior.along(by_item if guessing is None else [*by_item, guessing])

    def _local_step(self, x: Array, curvature: Curvature, v: Array) -> Array:
        """Newton step of every item by itself, and of what the prior learns."""
        layout = self.layout
        by_slope, by_intercept, by_guessing, by_learned = layout.split(v)
        blocks = curvature.information
        if layout.model == "2PL":
            blocks = _less_noise(blocks, layout.items(x).slope, self.engine.rows.n)
        learned = np.zeros(0)
        if curvature.prior is not None:
            blocks = blocks + curvature.prior.blocks()
            learned = by_learned / np.diag(curvature.prior.corner())[: len(by_learned)]
        if layout.common_slope:
            slope, intercept = self._common_slope_step(blocks, by_slope, by_intercept)
            return layout.joined(slope, intercept, None, learned)
        sides = [by_slope, by_intercept, *([] if by_guessing is None else [by_guessing])]
        if curvature.logit_by_angle is not None:
            stretch = np.ones((layout.n_items, 3))
            stretch[:, 2] = curvature.logit_by_angle
            blocks = blocks * stretch[:, :, None] * stretch[:, None, :]
        slope, intercept, *guessing = _solve_blocks(blocks, np.stack(sides, axis=1))
        return layout.joined(slope, intercept, guessing[0] if guessing else None, learned)

    def _common_slope_step(
        self, blocks: Array, by_slope: Array, by_intercept: Array
    ) -> tuple[Array, Array]:
        """Solve with one common slope: its Schur complement first, then the intercepts."""
        diagonal = blocks[:, 1, 1] + _JITTER
        if self.layout.model == "Rasch":  # the slope is 1; the SD moves with the scale alone
            return np.zeros(1), by_intercept / diagonal
        coupling = blocks[:, 0, 1] / diagonal
        schur = np.sum(blocks[:, 0, 0] - coupling * blocks[:, 0, 1]) + _JITTER
        slope = (by_slope - coupling @ by_intercept) / schur
        return slope, by_intercept / diagonal - coupling * slope


def prior_at(layout: Layout, x: Array) -> AtPrior:
    """Return the prior's density, gradient and curvature at x."""
    if layout.prior is None:
        raise ValueError("there is no prior")
    items = layout.items(x)
    if layout.model == "Rasch":  # the SD of ability plays the part of the common slope
        items = items._replace(slope=np.full(layout.n_items, layout.latent_sd(x)))
    return layout.prior.at(items, layout.hyper(x), common_slope=layout.common_slope)


def grid_of(layout: Layout, nodes: Nodes, x: Array) -> Grid:
    """Nodes with the prior weights of real and of synthetic respondents."""
    sds = (layout.latent_sd(x), layout.synthetic_sd(x))
    return Grid(nodes, np.stack([nodes.normal_log_weights(sd) for sd in sds]))


def _less_noise(information: Array, slope: Array, n: int) -> Array:
    """Information of every item less what its slope loses as abilities follow its responses.

    With posteriors of variance v the score (y − P)·θ of a response moves by (y − P)·√v, which takes
    v·ΣP(1 − P) from the information about the slope. Here v is 1/(1 + Σⱼ aⱼ²Pⱼ(1 − Pⱼ)), the same
    for all, and what is left stays above 0.
    """
    by_intercept = np.maximum(information[:, 1, 1], 1e-300)
    own = np.maximum(information[:, 0, 0] - information[:, 0, 1] ** 2 / by_intercept, 0.0)
    noise = by_intercept / (1 + slope**2 @ by_intercept / n)
    left = information.copy()
    left[:, 0, 0] -= own * noise / (own + noise)
    return left


def _solve_blocks(blocks: Array, sides: Array) -> list[Array]:
    """Solve one small positive definite system per item by Cholesky, unrolled over its size.

    blocks has shape (n_items, k, k), sides (n_items, k); the solution is a list of k arrays.
    """
    size = sides.shape[1]
    lower: dict[tuple[int, int], Array] = {}
    for i in range(size):
        for j in range(i + 1):
            rest = blocks[:, i, j] - sum(lower[i, p] * lower[j, p] for p in range(j))
            lower[i, j] = (
                np.sqrt(np.maximum(rest + _JITTER, _JITTER)) if i == j else rest / lower[j, j]
            )
    forward: list[Array] = []
    for i in range(size):
        rest = sides[:, i] - sum(lower[i, p] * forward[p] for p in range(i))
        forward.append(rest / lower[i, i])
    backward: dict[int, Array] = {}
    for i in reversed(range(size)):
        rest = forward[i] - sum(lower[p, i] * backward[p] for p in range(i + 1, size))
        backward[i] = rest / lower[i, i]
    return [backward[i] for i in range(size)]
