"""Ability grid and each respondent's posterior on it.

The marginal likelihood integrates over ability by the trapezoid rule. A fixed grid has equally
spaced nodes. The adaptive grid spaces them by the width 1/√(1 + I(θ)) that a posterior has at θ,
I being the information of the items: dense where respondents are pinned down, sparse in the tails,
so that a wide range costs little. The rule is equally spaced in a smooth transform of θ, which
keeps its accuracy: with spacing 1.1 posterior SDs the error of a normal posterior is about
2·exp(−2π²/1.1²) ≈ 2e-7.
Everything is computed in logarithms. For 1PL and 2PL the log-likelihood of a respondent at
ability θ is θ·(Y a) + (Y d) − Σⱼ softplus(aⱼθ + dⱼ), an exponential family: with complete data the
last term is shared by all respondents, and one evaluation costs two passes over the matrix plus
(respondents + items) × nodes exponentials. The 3PL needs products over items at every node.

Arrays here are JAX arrays in 64 bits; labels live elsewhere. Respondents come in blocks of equal
size so that never more than one block of the matrix is widened from one byte a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.responses import ResponseMatrix

REAL, SYNTHETIC, PADDING = 0, 1, 2
"""Groups of respondents; each has an ability distribution of its own, padding has none."""
_GROUPS = (REAL, SYNTHETIC)
_CELLS_PER_BLOCK = 2**21
_WIDENED, _SMOOTHED = 9, 4.0
"""How far peaks of the resolution curve are widened and smoothed, in its 1024 points."""
_SPACING = 1.1
"""Spacing of adaptive nodes in units of the posterior SD."""
_NODE_COUNTS = tuple(k for power in range(5, 14) for k in (2**power, 3 * 2 ** (power - 1)))
"""Node counts in use: few, so that compiled programs are shared, and divisible by 16."""


class Blocks(NamedTuple):
    """The response matrix cut into blocks of respondents."""

    cells: jax.Array
    """int8, shape (n_blocks, block, n_items): 1, 0 or −1; padding rows hold −1."""
    group: jax.Array
    """int8, shape (n_blocks, block): REAL, SYNTHETIC or PADDING."""


class Nodes(NamedTuple):
    """Nodes of the grid and the log width of the interval each stands for (−inf: padding)."""

    theta: jax.Array
    log_width: jax.Array


class Grid(NamedTuple):
    """Nodes and the log prior weights of each group of respondents at them."""

    nodes: jax.Array
    """Shape (n_nodes,)."""
    log_weights: jax.Array
    """Shape (2, n_nodes): rows REAL and SYNTHETIC, each summing to 1 on the natural scale."""


class ItemArrays(NamedTuple):
    """Slope, intercept and logit of guessing per item (None for models without guessing)."""

    slope: jax.Array
    intercept: jax.Array
    logit_guessing: jax.Array | None = None


class Moments(NamedTuple):
    """What the items need to know about the posterior of all respondents."""

    log_marginal: jax.Array
    """Shape (2,): sum over real and over synthetic respondents."""
    expected: jax.Array
    """Expected responses at each node: (n_nodes,) if complete, else (n_items, n_nodes)."""
    right: jax.Array
    """2PL: (n_items, 2), sums over right responses of E[θ] and of 1. 3PL: (n_items, n_nodes)."""
    node_mass: jax.Array
    """Expected number of real and of synthetic respondents at each node, shape (2, n_nodes)."""


class Posterior(NamedTuple):
    """Posterior of every respondent: log marginal likelihood, mean and SD of ability."""

    log_marginal: jax.Array
    mean: jax.Array
    sd: jax.Array


def blocks_of(responses: ResponseMatrix, *, synthetic_is_real: bool) -> Blocks:
    """Cut the matrix into blocks of about two million cells."""
    values = responses.values
    n, n_items = values.shape
    size = int(2 ** np.clip(np.floor(np.log2(_CELLS_PER_BLOCK / n_items)), 0, 13))
    n_blocks = -(-n // size)
    size = -(-n // n_blocks)
    cells = np.full((n_blocks * size, n_items), -1, dtype=np.int8)
    cells[:n] = values
    group = np.full(n_blocks * size, PADDING, dtype=np.int8)
    group[:n] = REAL if synthetic_is_real else np.where(responses.synthetic, SYNTHETIC, REAL)
    return Blocks(
        jnp.asarray(cells.reshape(n_blocks, size, n_items)),
        jnp.asarray(group.reshape(n_blocks, size)),
    )


def fold_nodes(nodes: jax.Array, n_items: int) -> jax.Array:
    """Nodes as (n_chunks, chunk), so that items × chunk stays small."""
    n_nodes = nodes.shape[0]
    chunk = n_nodes
    while chunk % 2 == 0 and chunk > 16 and chunk * n_items > _CELLS_PER_BLOCK // 2:
        chunk //= 2
    return nodes.reshape(-1, chunk)


def log_normaliser(items: ItemArrays, nodes: jax.Array) -> jax.Array:
    """S(θ) = Σⱼ softplus(aⱼθ + dⱼ) at every node: minus the log-likelihood of all wrong (c = 0)."""

    def chunk_sum(theta: jax.Array) -> jax.Array:
        return softplus(items.slope[:, None] * theta + items.intercept[:, None]).sum(axis=0)

    sums: jax.Array = jax.lax.map(chunk_sum, fold_nodes(nodes, items.slope.shape[0]))
    return sums.ravel()


@jax.custom_jvp
def softplus(z: jax.Array) -> jax.Array:
    """Return log(1 + eᶻ) without overflow; several times faster than jax.nn.softplus."""
    return jnp.maximum(z, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(z)))


@softplus.defjvp
def _softplus_derivative(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """σ(z), also at 0, where the derivatives of the two terms jump."""
    return softplus(*primals), jax.nn.sigmoid(primals[0]) * tangents[0]


def log_odds_and_wrong(items: ItemArrays, nodes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return log P/(1 − P) and log(1 − P), each (n_items, n_nodes)."""
    z = items.slope[:, None] * nodes + items.intercept[:, None]
    log_wrong = -softplus(z)
    if items.logit_guessing is None:
        return z, log_wrong
    log_c = -softplus(-items.logit_guessing)[:, None]
    log_wrong = log_wrong - softplus(items.logit_guessing)[:, None]
    log_right = jnp.logaddexp(log_c, z + log_wrong)
    return log_right - log_wrong, log_wrong


def _log_joint(
    cells: jax.Array,
    items: ItemArrays,
    grid: Grid,
    tables: tuple[jax.Array, ...],
    *,
    complete: bool,
) -> jax.Array:
    """Log-likelihood of each respondent of one block at each node, (block, n_nodes)."""
    right = (cells == 1).astype(jnp.float64)
    if items.logit_guessing is None:
        sums = right @ jnp.stack([items.slope, items.intercept], axis=1)
        log_right = sums[:, :1] * grid.nodes + sums[:, 1:]
        if complete:
            return log_right - tables[0]
        return log_right + (cells >= 0).astype(jnp.float64) @ tables[1]
    log_odds, log_wrong = tables
    log_likelihood = right @ log_odds
    if complete:
        return log_likelihood + log_wrong.sum(axis=0)
    return log_likelihood + (cells >= 0).astype(jnp.float64) @ log_wrong


def _tables(items: ItemArrays, grid: Grid, *, complete: bool) -> tuple[jax.Array, ...]:
    """What all blocks share: sums or tables over items at the nodes."""
    if items.logit_guessing is None and complete:
        return (log_normaliser(items, grid.nodes),)
    return log_odds_and_wrong(items, grid.nodes)


def _posterior(
    log_likelihood: jax.Array, group: jax.Array, grid: Grid
) -> tuple[jax.Array, jax.Array]:
    """Posterior weights (block, n_nodes) and log marginal likelihood (block,) of one block."""
    log_joint = log_likelihood + jnp.where(
        (group == SYNTHETIC)[:, None], grid.log_weights[1], grid.log_weights[0]
    )
    peak = log_joint.max(axis=1, keepdims=True)
    weights = jnp.exp(log_joint - peak)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, (peak + jnp.log(total))[:, 0]


def moments(blocks: Blocks, items: ItemArrays, grid: Grid, *, complete: bool) -> Moments:
    """One pass over the matrix: the marginal log-likelihood and what the items need."""
    tables = _tables(items, grid, complete=complete)
    with_guessing = items.logit_guessing is not None
    n_items, n_nodes = items.slope.shape[0], grid.nodes.shape[0]

    def add(total: Moments, block: tuple[jax.Array, jax.Array]) -> tuple[Moments, None]:
        cells, group = block
        weights, log_marginal = _posterior(
            _log_joint(cells, items, grid, tables, complete=complete), group, grid
        )
        kept = (group != PADDING)[:, None]
        weights = jnp.where(kept, weights, 0.0)
        right = (cells == 1).astype(jnp.float64)
        statistic = (
            weights
            if with_guessing
            else jnp.concatenate(
                [(weights @ grid.nodes)[:, None], kept.astype(jnp.float64)], axis=1
            )
        )
        answered = (cells >= 0).astype(jnp.float64)
        expected = weights.sum(axis=0) if complete else answered.T @ weights
        return Moments(
            total.log_marginal
            + jnp.stack([jnp.where(group == g, log_marginal, 0.0).sum() for g in _GROUPS]),
            total.expected + expected,
            total.right + right.T @ statistic,
            total.node_mass
            + jnp.stack(
                [jnp.where((group == g)[:, None], weights, 0.0).sum(axis=0) for g in _GROUPS]
            ),
        ), None

    zero = Moments(
        jnp.zeros(2),
        jnp.zeros(n_nodes) if complete else jnp.zeros((n_items, n_nodes)),
        jnp.zeros((n_items, n_nodes if with_guessing else 2)),
        jnp.zeros((2, n_nodes)),
    )
    return jax.lax.scan(add, zero, blocks)[0]


class ItemScore(NamedTuple):
    """Gradient of the marginal log-likelihood per item, and the complete-data information."""

    gradient: jax.Array
    """Shape (n_items, 2 or 3): by slope, intercept (and logit of guessing)."""
    information: jax.Array
    """Shape (n_items, 2, 2) or (n_items, 3, 3)."""


def item_score(statistics: Moments, items: ItemArrays, grid: Grid) -> ItemScore:
    """Gradient by Fisher's identity and expected complete-data information of every item.

    With residual r = R − N·P at a node, ∂/∂z = r·s/P and ∂/∂logit c = r·c/P; the information
    has N·(1 − P)/P times the products of s and c.
    """
    shape = items.slope.shape[0]
    folded = fold_nodes(grid.nodes, shape)
    n_chunks, chunk = folded.shape
    powers = jnp.stack([folded, jnp.ones_like(folded), folded**2], axis=2)

    def cut(table: jax.Array) -> jax.Array:
        """(…, n_nodes) → (n_chunks, …, chunk)."""
        return jnp.moveaxis(table.reshape(*table.shape[:-1], n_chunks, chunk), -2, 0)

    if items.logit_guessing is None:

        def part(inputs: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            theta, power, expected = inputs
            p = jax.nn.sigmoid(items.slope[:, None] * theta + items.intercept[:, None])
            predicted = expected * p
            return predicted @ power[:, :2], (predicted * (1 - p)) @ power

        predicted, info = jax.lax.map(part, (folded, powers, cut(statistics.expected)))
        theta_w, one_w, square_w = jnp.moveaxis(info.sum(axis=0), 1, 0)
        gradient = statistics.right - predicted.sum(axis=0)
        rows = [[square_w, theta_w], [theta_w, one_w]]
        return ItemScore(gradient, jnp.stack([jnp.stack(r, axis=1) for r in rows], axis=1))

    c = jax.nn.sigmoid(items.logit_guessing)[:, None]

    def part3(inputs: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        theta, power, expected, right = inputs
        s = jax.nn.sigmoid(items.slope[:, None] * theta + items.intercept[:, None])
        p = c + (1 - c) * s
        residual = (right - expected * p) / p
        weight = expected * (1 - c) * (1 - s) / p
        gradient = jnp.concatenate(
            [(residual * s) @ power[:, :2], (residual * c).sum(axis=1, keepdims=True)], axis=1
        )
        theta_ss, ss, square_ss = jnp.moveaxis((weight * s * s) @ power, 1, 0)
        theta_sc, sc = jnp.moveaxis((weight * s * c) @ power[:, :2], 1, 0)
        cc = (weight * c * c).sum(axis=1)
        return gradient, jnp.stack([square_ss, theta_ss, theta_sc, ss, sc, cc])

    gradient, info = jax.lax.map(
        part3, (folded, powers, cut(statistics.expected), cut(statistics.right))
    )
    aa, ad, ag, dd, dg, gg = info.sum(axis=0)
    rows = [[aa, ad, ag], [ad, dd, dg], [ag, dg, gg]]
    return ItemScore(gradient.sum(axis=0), jnp.stack([jnp.stack(r, axis=1) for r in rows], axis=1))


def posterior(blocks: Blocks, items: ItemArrays, grid: Grid, *, complete: bool) -> Posterior:
    """Log marginal likelihood, posterior mean and SD of ability of every respondent."""
    tables = _tables(items, grid, complete=complete)

    def one(block: tuple[jax.Array, jax.Array]) -> Posterior:
        cells, group = block
        weights, log_marginal = _posterior(
            _log_joint(cells, items, grid, tables, complete=complete), group, grid
        )
        mean = weights @ grid.nodes
        variance = (weights * (grid.nodes - mean[:, None]) ** 2).sum(axis=1)
        return Posterior(log_marginal, mean, jnp.sqrt(variance))

    log_marginal, mean, sd = jax.lax.map(one, blocks)
    return Posterior(log_marginal.ravel(), mean.ravel(), sd.ravel())


def normal_log_weights(nodes: Nodes, sd: jax.Array | float) -> jax.Array:
    """Log weights of N(0, sd²) at the nodes, scaled to sum to 1 on the grid (as mirt does)."""
    log_density = -0.5 * (nodes.theta / sd) ** 2 + nodes.log_width
    return log_density - jax.nn.logsumexp(log_density)


def fixed_nodes(n_nodes: int, limit: float) -> Nodes:
    """Equally spaced nodes from −limit to limit, padded to a multiple of 16."""
    theta = np.linspace(-limit, limit, n_nodes)
    padding = -n_nodes % 16
    return Nodes(
        jnp.asarray(np.concatenate([theta, np.full(padding, limit)])),
        jnp.asarray(np.concatenate([np.zeros(n_nodes), np.full(padding, -np.inf)])),
    )


@jax.jit
def total_information(items: ItemArrays, theta: jax.Array) -> jax.Array:
    """Information of all items together at each ability: Σⱼ aⱼ² (s/P)² P(1 − P)."""

    def chunk_sum(at: jax.Array) -> jax.Array:
        s = jax.nn.sigmoid(items.slope[:, None] * at + items.intercept[:, None])
        c = 0.0 if items.logit_guessing is None else jax.nn.sigmoid(items.logit_guessing)[:, None]
        p = c + (1 - c) * s
        return (items.slope[:, None] ** 2 * s**2 / (p + 1e-300) * (1 - c) * (1 - s)).sum(axis=0)

    sums: jax.Array = jax.lax.map(chunk_sum, fold_nodes(theta, items.slope.shape[0]))
    return sums.ravel()


@dataclass(frozen=True)
class Resolution:
    """How narrow a posterior is at each ability: 1/SD as a smooth curve over the grid's range."""

    theta: NDArray[np.float64]
    inverse_sd: NDArray[np.float64]

    @classmethod
    def of(cls, items: ItemArrays, reach: float, answered: float) -> Resolution:
        """Resolution for items over [−reach, reach]; a respondent answers a share of them.

        Steep items make peaks; they are widened and smoothed, since the rule is only as accurate
        as the curve is smooth.
        """
        from scipy.ndimage import gaussian_filter1d, maximum_filter1d

        theta = np.linspace(-reach, reach, 1024)
        information = np.asarray(total_information(items, jnp.asarray(theta)))
        inverse_sd = np.sqrt(1 + answered * information)
        smooth = gaussian_filter1d(maximum_filter1d(inverse_sd, _WIDENED), _SMOOTHED)
        return cls(theta, smooth)

    def nodes(self, refine: int = 1) -> Nodes:
        """Nodes _SPACING posterior SDs apart, or ``refine`` times as dense."""
        from scipy.interpolate import CubicSpline

        density = CubicSpline(self.theta, self.inverse_sd)
        position = density.antiderivative()
        length = float(position(self.theta[-1]))
        wanted = length / _SPACING + 1
        count = refine * next((k for k in _NODE_COUNTS if k >= wanted), _NODE_COUNTS[-1])
        target = np.linspace(0.0, length, count)
        theta = np.interp(target, position(self.theta), self.theta)
        for _ in range(4):  # Newton: the map must be solved exactly for the rule to stay accurate
            theta = np.clip(
                theta - (position(theta) - target) / density(theta), *self.theta[[0, -1]]
            )
        log_width = np.log(length / (count - 1)) - np.log(density(theta))
        return Nodes(jnp.asarray(theta), jnp.asarray(log_width))


def count_nodes(nodes: Nodes) -> int:
    """Number of nodes without padding."""
    return int(np.isfinite(np.asarray(nodes.log_width)).sum())
