"""The marginal likelihood of a response matrix as a function to maximise.

The objective is the log-likelihood of the responses with ability integrated out, N(0, 1) for real
respondents, plus the log prior of the items. Its gradient comes from the posterior of ability by
Fisher's identity, at the cost of one EM step; the maximiser is preconditioned by what an EM step
uses (one Newton block per item), plus the two directions in which EM is slow: the common scale
and the common location of the items. Along them the likelihood only sees the distribution of
ability, with information 2N and N, and a step there is the fold of parameter-expanded EM (Liu,
Rubin & Wu 1998).

Synthetic respondents have the ability distribution N(0, σ² + (w/τ)²), σ the SD of real ability, τ
the typical slope and w wide on the logit scale. The wide part follows the items when they are
rescaled, so that synthetic respondents do not pull on the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from irtkit import quadrature
from irtkit.calibration.ascent import Evaluation
from irtkit.calibration.priors import Hyper, Prior
from irtkit.quadrature import Blocks, Grid, ItemArrays, Nodes

if TYPE_CHECKING:
    from irtkit.irf import ModelName

SYNTHETIC_LOGIT_SD = 5.0
"""w: what synthetic respondents' ability varies more than that of real ones, in logits."""
_JITTER = 1e-8


class Data(NamedTuple):
    """What the likelihood is made of."""

    blocks: Blocks
    nodes: Nodes
    n_real: Any


@dataclass(frozen=True)
class MarginalLikelihood:
    """Penalised marginal log-likelihood as a function of one vector of parameters.

    The vector holds the slopes (one if they are common; log SD of ability for Rasch), the
    intercepts, the logits of guessing (3PL), and with a prior its location and, unless slopes
    are common, its log scale.
    """

    model: ModelName
    n_items: int
    prior: Prior | None
    complete: bool

    @property
    def common_slope(self) -> bool:
        """Whether all items have the same slope."""
        return self.model in {"1PL", "Rasch"}

    @property
    def n_slopes(self) -> int:
        """How many leading entries are slopes."""
        return 1 if self.common_slope else self.n_items

    def split(self, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array | None, jax.Array]:
        """Slopes, intercepts, logits of guessing (or None), and what the prior learns."""
        after_intercepts = self.n_slopes + self.n_items
        after_guessing = after_intercepts + (self.n_items if self.model == "3PL" else 0)
        return (
            x[: self.n_slopes],
            x[self.n_slopes : after_intercepts],
            x[after_intercepts:after_guessing] if self.model == "3PL" else None,
            x[after_guessing:],
        )

    def items(self, x: jax.Array) -> ItemArrays:
        """Slope, intercept and logit of guessing of every item."""
        slopes, intercepts, guessing, _ = self.split(x)
        slope = jnp.ones(1) if self.model == "Rasch" else slopes
        return ItemArrays(jnp.broadcast_to(slope, (self.n_items,)), intercepts, guessing)

    def latent_sd(self, x: jax.Array) -> jax.Array:
        """SD of ability among real respondents: 1 except for Rasch."""
        return jnp.exp(x[0]) if self.model == "Rasch" else jnp.ones(())

    def typical_slope(self, x: jax.Array) -> jax.Array:
        """τ: geometric mean of the sizes of slopes, held off 0."""
        return jnp.exp(0.5 * jnp.mean(jnp.log(self.items(x).slope ** 2 + 0.01)))

    def synthetic_sd(self, x: jax.Array) -> jax.Array:
        """SD of ability among synthetic respondents: wide in logits, and above the real one."""
        wide = SYNTHETIC_LOGIT_SD / self.typical_slope(x)
        return jnp.sqrt(self.latent_sd(x) ** 2 + wide**2)

    def grid(self, x: jax.Array, nodes: Nodes) -> Grid:
        """Nodes with the prior weights of real and of synthetic respondents."""
        sds = (self.latent_sd(x), self.synthetic_sd(x))
        weights = [quadrature.normal_log_weights(nodes, sd) for sd in sds]
        return Grid(nodes, jnp.stack(weights))

    def rescaled(self, x: jax.Array, mean: float, sd: float) -> jax.Array:
        """Parameters for ability measured from ``mean`` in units of ``sd``."""
        slopes, intercepts, guessing, learned = self.split(x)
        parts = [slopes * sd, intercepts + self.items(x).slope * mean]
        if guessing is not None:
            parts.append(guessing)
        if learned.size:
            moved = jnp.array([(learned[0] + mean) / sd, learned[-1] + math.log(sd)])
            parts.append(moved[: learned.size])
        return jnp.concatenate(parts)

    def log_prior(self, x: jax.Array) -> jax.Array:
        """Log prior density of the items up to a constant."""
        if self.prior is None:
            return jnp.zeros(())
        items = self.items(x)
        if self.model == "Rasch":  # the SD of ability plays the part of the common slope
            items = items._replace(slope=jnp.broadcast_to(jnp.exp(x[0]), (self.n_items,)))
        return self.prior.log_density(items, self.hyper(x), common_slope=self.common_slope)

    def evaluate(self, data: Data, x: jax.Array) -> Evaluation:
        """Value, gradient and complete-data information at x."""
        items, pull_items = jax.vjp(self.items, x)
        grid, pull_grid = jax.vjp(lambda at: self.grid(at, data.nodes).log_weights, x)
        weighted = Grid(data.nodes, grid)
        moments = quadrature.moments(data.blocks, items, weighted, complete=self.complete)
        score = quadrature.item_score(moments, items, data.nodes)
        by_item = ItemArrays(*(score.gradient[:, k] for k in range(score.gradient.shape[1])))
        log_prior, prior_gradient = jax.value_and_grad(self.log_prior)(x)
        (gradient,) = pull_items(by_item)
        (grid_gradient,) = pull_grid(moments.node_mass)
        return Evaluation(
            moments.log_marginal.sum() + log_prior,
            gradient + grid_gradient + prior_gradient,
            moments.log_marginal[quadrature.REAL],
            score.information,
        )

    def precondition(
        self, data: Data, x: jax.Array, curvature: jax.Array, v: jax.Array
    ) -> jax.Array:
        """Newton block per item plus the common scale and location."""
        scale, location = self._tangents(x)
        along_scale = scale * jnp.vdot(scale, v) / (2 * data.n_real)
        along_location = location * jnp.vdot(location, v) / data.n_real
        step: jax.Array = self._local_step(x, curvature, v) + along_scale + along_location
        return step

    def _tangents(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """How parameters move with a common factor of ability (in log) and a common shift."""
        slopes, intercepts, guessing, learned = self.split(x)
        still = [] if guessing is None else [jnp.zeros_like(guessing)]
        factor = jnp.ones(1) if self.model == "Rasch" else slopes
        with_scale = jnp.stack([-learned[0], jnp.ones(())]) if learned.size else learned
        with_location = jnp.array([1.0, 0.0])
        return (
            jnp.concatenate(
                [factor, jnp.zeros_like(intercepts), *still, with_scale[: learned.size]]
            ),
            jnp.concatenate(
                [
                    jnp.zeros_like(slopes),
                    self.items(x).slope * self.latent_sd(x),
                    *still,
                    with_location[: learned.size],
                ]
            ),
        )

    def _local_step(self, x: jax.Array, curvature: jax.Array, v: jax.Array) -> jax.Array:
        """Newton step of every item by itself, and of what the prior learns."""
        by_slope, by_intercept, by_guessing, by_learned = self.split(v)
        if self.prior is not None:
            by_prior, _, learned_curvature = self.prior_curvature(x)
            curvature = curvature + by_prior
        if self.common_slope:
            step = self._common_slope_step(curvature, by_slope, by_intercept)
        else:
            sides = [by_slope, by_intercept, *([] if by_guessing is None else [by_guessing])]
            step = _solve_blocks(curvature, jnp.stack(sides, axis=1))
        if self.prior is not None:
            step.append(by_learned / jnp.diag(learned_curvature))
        return jnp.concatenate(step)

    def prior_curvature(self, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Curvature of the prior: blocks by item, border and corner of what it learns."""
        if self.prior is None:
            raise ValueError("there is no prior")
        items, n_learned = self.items(x), self.split(x)[-1].shape[0]
        blocks, border, corner = self.prior.curvature(
            items, self.hyper(x), common_slope=self.common_slope
        )
        return blocks, border[:, :, :n_learned], corner[:n_learned, :n_learned]

    def hyper(self, x: jax.Array) -> Hyper:
        """What the prior learns: scale and location of the items."""
        *_, learned = self.split(x)
        if not learned.size:
            return Hyper(jnp.zeros(()), jnp.zeros(()))
        return Hyper(jnp.zeros(()) if self.common_slope else learned[1], learned[0])

    def _common_slope_step(
        self, curvature: jax.Array, by_slope: jax.Array, by_intercept: jax.Array
    ) -> list[jax.Array]:
        """Solve with one common slope: its Schur complement first, then the intercepts."""
        diagonal = curvature[:, 1, 1] + _JITTER
        coupling = curvature[:, 0, 1] / diagonal
        schur = jnp.sum(curvature[:, 0, 0] - coupling * curvature[:, 0, 1]) + _JITTER
        slope = (by_slope - jnp.vdot(coupling, by_intercept)) / schur
        if self.model == "Rasch":  # the slope is 1; the SD of ability moves with the scale alone
            return [jnp.zeros(1), by_intercept / diagonal]
        return [slope, by_intercept / diagonal - coupling * slope]


def _solve_blocks(blocks: jax.Array, sides: jax.Array) -> list[jax.Array]:
    """Solve one small positive definite system per item by Cholesky, unrolled over its size.

    blocks has shape (n_items, k, k), sides (n_items, k); the solution is a list of k arrays.
    """
    size = sides.shape[1]
    lower: dict[tuple[int, int], jax.Array] = {}
    for i in range(size):
        for j in range(i + 1):
            rest = blocks[:, i, j] - sum(lower[i, p] * lower[j, p] for p in range(j))
            lower[i, j] = (
                jnp.sqrt(jnp.maximum(rest + _JITTER, _JITTER)) if i == j else rest / lower[j, j]
            )
    forward: list[jax.Array] = []
    for i in range(size):
        rest = sides[:, i] - sum(lower[i, p] * forward[p] for p in range(i))
        forward.append(rest / lower[i, i])
    backward: dict[int, jax.Array] = {}
    for i in reversed(range(size)):
        rest = forward[i] - sum(lower[p, i] * backward[p] for p in range(i + 1, size))
        backward[i] = rest / lower[i, i]
    return [backward[i] for i in range(size)]


class Described(NamedTuple):
    """What a vector of parameters stands for."""

    items: ItemArrays
    latent_sd: jax.Array
    synthetic_sd: jax.Array


@partial(jax.jit, static_argnums=0)
def described(likelihood: MarginalLikelihood, x: jax.Array) -> Described:
    """Items and the SDs of ability at x, in one program."""
    return Described(likelihood.items(x), likelihood.latent_sd(x), likelihood.synthetic_sd(x))


@partial(jax.jit, static_argnums=0)
def prior_curvature(likelihood: MarginalLikelihood, x: jax.Array) -> tuple[jax.Array, ...]:
    """Curvature of the prior at x, in one program."""
    return likelihood.prior_curvature(x)


@partial(jax.jit, static_argnums=0)
def starting_values(likelihood: MarginalLikelihood, blocks: Blocks) -> jax.Array:
    """Start from proportions right and from the correlation of each item with the total score.

    Real respondents alone count: an always-right row would turn inverted items round, and the
    ascent might not find its way back.
    """
    score = (blocks.respondent_right.ravel() + 0.5) / (blocks.respondent_responses.ravel() + 1)
    ability = jnp.log(score / (1 - score))
    real = blocks.group.ravel() == quadrature.REAL
    centre = ability.mean(where=real)
    ability = (ability - centre) / jnp.maximum(ability.std(where=real), 1e-3)
    ability = jnp.clip(ability, -4.0, 4.0)
    with_right, with_answered = _sums_of_ability(blocks, ability, complete=likelihood.complete)
    right, answered = blocks.item_right[quadrature.REAL], blocks.item_responses[quadrature.REAL]
    share = (right + 0.5) / (answered + 1)
    covariance = (with_right - share * with_answered) / jnp.maximum(answered, 1)
    correlation = jnp.clip(covariance / jnp.sqrt(share * (1 - share)), -0.9, 0.9)
    slope = 1.7 * correlation / jnp.sqrt(1 - correlation**2)
    intercept = jnp.log(share / (1 - share)) * jnp.sqrt(1 + slope**2 / 2.9)
    typical = jnp.maximum(slope.mean(), 0.3)[None]
    if likelihood.prior is not None:  # what few respondents say about a slope is mostly noise
        noise = 1 / (share * (1 - share) * jnp.maximum(answered, 1.0))
        spread = (slope - typical) ** 2
        kept = jnp.clip(1 - noise.mean() / jnp.maximum(spread.mean(), 1e-9), 0.1, 1.0)
        slope = typical + kept * (slope - typical)
    parts = {
        "Rasch": [jnp.log(typical), intercept],
        "1PL": [typical, intercept],
        "2PL": [slope, intercept],
        "3PL": [slope, intercept, jnp.full_like(slope, -2.0)],
    }[likelihood.model]
    if likelihood.prior is not None and likelihood.prior.learns:
        parts.append(jnp.zeros(1))
        if not likelihood.common_slope:
            parts.append(jnp.log(typical))
    start: jax.Array = jnp.concatenate(parts)
    return start


def _sums_of_ability(blocks: Blocks, ability: jax.Array, *, complete: bool) -> jax.Array:
    """Sums of the ability of real respondents over right and over all responses, (2, n_items)."""

    def add(total: jax.Array, block: tuple[Any, ...]) -> tuple[jax.Array, None]:
        cells, trials, theta = block
        right = theta @ quadrature.right_of(cells)
        answered = theta.sum() if complete else theta @ quadrature.answered_of(cells, trials)
        return total + jnp.stack([right, jnp.broadcast_to(answered, right.shape)]), None

    weighted = ability.reshape(blocks.group.shape) * (blocks.group == quadrature.REAL)
    zero = jnp.zeros((2, blocks.cells.shape[2]))
    return jax.lax.scan(add, zero, (blocks.cells, blocks.trials, weighted))[0]
