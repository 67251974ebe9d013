"""Ability grid and each respondent's posterior on it.

The marginal likelihood integrates over ability by the trapezoid rule. A fixed grid has equally
spaced nodes. The adaptive grid spaces them by the width 1/√(1 + I(θ)) that a posterior has at θ,
I being the information of the items: dense where respondents are pinned down, sparse in the tails,
so that a wide range costs little. The rule is equally spaced in a smooth transform of θ, which
keeps its accuracy: with spacing 1.1 posterior SDs the error of a normal posterior is about
2·exp(−2π²/1.1²) ≈ 2e-7.

Everything is computed in logarithms. For 1PL and 2PL the log-likelihood of a respondent at
ability θ is θ·(Y a) + (Y d) − Σⱼ softplus(aⱼθ + dⱼ), an exponential family: with complete data the
last term is shared by all respondents, and one evaluation costs two passes over the matrix. The
3PL and missing responses need products over items.

Item curves are far smoother in ability than the posterior of a respondent who answers a thousand
items. So they are computed at *knots*, spaced by the steepness of the items, and carried to the
nodes by local polynomial interpolation; what items need is carried back by its transpose, which
makes the gradient that of the interpolated likelihood.

Arrays here are JAX arrays in 64 bits; labels live elsewhere. Respondents come in blocks of equal
size so that never more than one block of the matrix is widened from one byte a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

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
_TABLE_CELLS = 2**19
"""Cells of the item tables that are worked through at once: what fits the processor's cache."""
_SPACING = 1.1
"""Spacing of adaptive nodes in units of the posterior SD."""
_KNOT_SPACING = 0.55
"""Spacing of knots in units of one over the steepness of the items."""
_LEAST_STEEPNESS = 0.6
_STENCIL = 12
"""Knots that an interpolated value is made of."""
_NODE_COUNTS = (32, 48, *(k * 2**power for power in range(4, 12) for k in (4, 5, 6, 7)))
"""Node counts in use: few, so that compiled programs are shared, and divisible by 16."""
_CURVE_POINTS, _CURVE_ITEMS = 512, 2048
"""Points at which, and most items from which, the resolution curves are computed."""
_WIDENED, _SMOOTHED = 0.1, 0.1
"""How far peaks of the resolution curves are widened and smoothed, in units of ability."""


class Blocks(NamedTuple):
    """The response matrix cut into blocks of respondents, and its counts."""

    cells: jax.Array
    """Shape (n_blocks, block, n_items): 1, 0 or −1 (missing) in one byte, or successes."""
    trials: jax.Array | None
    """Where trials were repeated, how many; same shape. Padding rows have none, or answer 0."""
    group: jax.Array
    """int8, shape (n_blocks, block): REAL, SYNTHETIC or PADDING."""
    item_right: jax.Array
    """Shape (2, n_items): right responses of real and of synthetic respondents."""
    item_responses: jax.Array
    """Shape (2, n_items): their responses."""
    respondent_right: jax.Array
    """Shape (n_blocks, block): right responses of every respondent."""
    respondent_responses: jax.Array


class Nodes(NamedTuple):
    """Nodes of the grid, and the knots at which item curves are computed.

    Made of NumPy arrays, which become JAX arrays inside compiled functions.
    """

    theta: Any
    log_width: Any
    """Log width of the interval each node stands for; −inf marks padding."""
    knots: Any
    spread: Any | None
    """Shape (n_nodes, n_knots): interpolates from knots to nodes. None: the knots are the nodes."""


class Grid(NamedTuple):
    """Nodes and the log prior weights of each group of respondents at them."""

    nodes: Nodes
    log_weights: jax.Array
    """Shape (2, n_nodes): rows REAL and SYNTHETIC, each summing to 1 on the natural scale."""


class ItemArrays(NamedTuple):
    """Slope, intercept and logit of guessing per item (None for models without guessing)."""

    slope: jax.Array
    intercept: jax.Array
    logit_guessing: jax.Array | None = None


class Posterior(NamedTuple):
    """Posterior of every respondent, shape (n_blocks, block): its mean and SD of ability."""

    log_marginal: jax.Array
    mean: jax.Array
    sd: jax.Array


class Moments(NamedTuple):
    """What the items need to know about the posterior of all respondents."""

    log_marginal: jax.Array
    """Shape (2,): sum over real and over synthetic respondents."""
    expected: jax.Array
    """Expected responses at each knot: (n_knots,) if complete, else (n_items, n_knots)."""
    right: jax.Array
    """2PL: (n_items, 2), sums over right responses of E[θ] and of 1. 3PL: (n_items, n_knots)."""
    node_mass: jax.Array
    """Expected number of real and of synthetic respondents at each node, shape (2, n_nodes)."""
    mean: jax.Array
    """Posterior mean of every respondent, shape (n_blocks, block)."""
    variance: jax.Array
    """Posterior variance of every respondent."""


def blocks_of(responses: ResponseMatrix, *, synthetic_is_real: bool) -> Blocks:
    """Cut the matrix into blocks of about two million cells."""
    n, n_items = responses.n_respondents, responses.n_items
    size = int(2 ** np.clip(np.floor(np.log2(_CELLS_PER_BLOCK / n_items)), 0, 13))
    n_blocks = -(-n // size)
    size = -(-n // n_blocks)

    def cut(table: NDArray[Any]) -> NDArray[Any]:
        padded = np.zeros((n_blocks * size, n_items), dtype=table.dtype)
        padded[:n] = table
        return padded.reshape(n_blocks, size, n_items)

    group = np.full(n_blocks * size, PADDING, dtype=np.int8)
    group[:n] = REAL if synthetic_is_real else np.where(responses.synthetic, SYNTHETIC, REAL)
    repeats = responses.has_repeats
    blocks: Blocks = counted(
        jnp.asarray(cut(responses.successes if repeats else responses.values)),
        jnp.asarray(cut(responses.trials)) if repeats else None,
        jnp.asarray(group.reshape(n_blocks, size)),
    )
    return blocks


@jax.jit
def counted(cells: jax.Array, trials: jax.Array | None, group: jax.Array) -> Blocks:
    """Blocks with the counts that go with them."""

    def add(total: jax.Array, block: tuple[Any, ...]) -> tuple[jax.Array, tuple[Any, ...]]:
        right, answered = right_of(block[0]), answered_of(*block[:2])
        in_group = _in_groups(block[2])
        by_item = jnp.stack([in_group @ right, in_group @ answered])
        return total + by_item, (right.sum(axis=1), answered.sum(axis=1))

    zero = jnp.zeros((2, len(_GROUPS), cells.shape[2]))
    by_item, by_respondent = jax.lax.scan(add, zero, (cells, trials, group))
    counts: tuple[jax.Array, ...] = (by_item[0], by_item[1], *by_respondent)
    return Blocks(cells, trials, group, *counts)


def regrouped(blocks: Blocks, group: jax.Array) -> Blocks:
    """Return the same responses with respondents in other groups."""
    other: Blocks = counted(blocks.cells, blocks.trials, group)
    return other


def every(blocks: Blocks, stride: int) -> Blocks:
    """Return every so-manieth respondent of each block."""

    def thinned(table: jax.Array) -> jax.Array:
        return jnp.asarray(np.ascontiguousarray(np.asarray(table)[:, ::stride]))

    trials = None if blocks.trials is None else thinned(blocks.trials)
    some: Blocks = counted(thinned(blocks.cells), trials, thinned(blocks.group))
    return some


def _in_groups(group: jax.Array) -> jax.Array:
    """Rows of ones and zeros: which respondents of a block are real, and which synthetic."""
    return jnp.stack([(group == g).astype(jnp.float64) for g in _GROUPS])


def right_of(cells: jax.Array) -> jax.Array:
    """Right responses of cells, in 64 bits."""
    return jnp.maximum(cells, 0).astype(jnp.float64)


def answered_of(cells: jax.Array, trials: jax.Array | None) -> jax.Array:
    """Responses of cells, in 64 bits."""
    return (cells >= 0 if trials is None else trials).astype(jnp.float64)


def _to_nodes(at_knots: jax.Array, nodes: Nodes) -> jax.Array:
    """Interpolate values at knots (last axis) to the nodes."""
    return at_knots if nodes.spread is None else at_knots @ nodes.spread.T


def to_knots(at_nodes: jax.Array, nodes: Nodes) -> jax.Array:
    """Carry masses at nodes (last axis) to the knots: the transpose of interpolation."""
    return at_nodes if nodes.spread is None else at_nodes @ nodes.spread


def _in_chunks(table: jax.Array, n_points: int, fill: float = 0.0) -> jax.Array:
    """Cut the first axis, items, into chunks of which tables over ``n_points`` stay small.

    Shape (n_items, …) → (n_chunks, chunk, …), padded with ``fill``.
    """
    n_items = table.shape[0]
    n_chunks = -(-n_items * n_points // _TABLE_CELLS)
    chunk = -(-n_items // n_chunks)
    padding = [(0, n_chunks * chunk - n_items), *[(0, 0)] * (table.ndim - 1)]
    padded = jnp.pad(table, padding, constant_values=fill)
    return padded.reshape(n_chunks, chunk, *table.shape[1:])


def _items_in_chunks(items: ItemArrays, n_points: int) -> ItemArrays:
    """Items cut into chunks; items of the padding are hopeless, and add 0 to every sum."""
    logit = items.logit_guessing
    return ItemArrays(
        _in_chunks(items.slope, n_points),
        _in_chunks(items.intercept, n_points, -1e4),
        None if logit is None else _in_chunks(logit, n_points, -1e4),
    )


def log_normaliser(items: ItemArrays, theta: jax.Array) -> jax.Array:
    """S(θ) = Σⱼ softplus(aⱼθ + dⱼ): minus the log-likelihood of all wrong (c = 0)."""

    def add(total: jax.Array, some: ItemArrays) -> tuple[jax.Array, None]:
        z = some.slope[:, None] * theta + some.intercept[:, None]
        return total + softplus(z).sum(axis=0), None

    n_points = theta.shape[0]
    return jax.lax.scan(add, jnp.zeros(n_points), _items_in_chunks(items, n_points))[0]


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


def log_odds_and_wrong(items: ItemArrays, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return log P/(1 − P) and log(1 − P), each (n_items, n_nodes)."""
    z = items.slope[:, None] * theta + items.intercept[:, None]
    log_wrong = -softplus(z)
    if items.logit_guessing is None:
        return z, log_wrong
    log_c = -softplus(-items.logit_guessing)[:, None]
    log_wrong = log_wrong - softplus(items.logit_guessing)[:, None]
    log_right = jnp.logaddexp(log_c, z + log_wrong)
    return log_right - log_wrong, log_wrong


def _tables(items: ItemArrays, nodes: Nodes, *, complete: bool) -> tuple[jax.Array, ...]:
    """What all blocks share: sums over items at the nodes, or tables by item at the knots."""
    if items.logit_guessing is None and complete:
        return (_to_nodes(-log_normaliser(items, nodes.knots), nodes),)
    log_odds, log_wrong = log_odds_and_wrong(items, nodes.knots)
    if items.logit_guessing is None:
        return (log_wrong,)
    return log_odds, (_to_nodes(log_wrong.sum(axis=0), nodes) if complete else log_wrong)


def _log_likelihood(
    block: tuple[Any, ...],
    items: ItemArrays,
    nodes: Nodes,
    tables: tuple[jax.Array, ...],
    *,
    complete: bool,
) -> jax.Array:
    """Log-likelihood of each respondent of a block at each node, (block, n_nodes).

    For models without guessing Σⱼ yⱼdⱼ, which is the same at every node, is left out.
    """
    cells, trials, _ = block
    right = right_of(cells)
    *odds, wrong = tables
    by_knot = right @ odds[0] if odds else None
    if not complete:
        wrong_by_knot = answered_of(cells, trials) @ wrong
        by_knot = wrong_by_knot if by_knot is None else by_knot + wrong_by_knot
    total = wrong if complete else 0.0
    if by_knot is not None:
        total += _to_nodes(by_knot, nodes)
    if not odds:
        total += (right @ items.slope)[:, None] * nodes.theta
    return jnp.asarray(total)


class _Weights(NamedTuple):
    """Posterior of one block on the nodes, not yet scaled to sum to 1."""

    weights: jax.Array
    inverse_total: jax.Array
    log_marginal: jax.Array
    mean: jax.Array
    variance: jax.Array


def _weights(log_likelihood: jax.Array, group: jax.Array, grid: Grid) -> _Weights:
    log_joint = log_likelihood + jnp.where(
        (group == SYNTHETIC)[:, None], grid.log_weights[1], grid.log_weights[0]
    )
    theta = grid.nodes.theta
    peak = log_joint.max(axis=1)
    weights = jnp.exp(log_joint - peak[:, None])
    sums = weights @ jnp.stack([jnp.ones_like(theta), theta, theta**2], axis=1)
    inverse_total = 1 / sums[:, 0]
    mean = sums[:, 1] * inverse_total
    variance = jnp.maximum(sums[:, 2] * inverse_total - mean**2, 0.0)
    return _Weights(weights, inverse_total, peak + jnp.log(sums[:, 0]), mean, variance)


def moments(blocks: Blocks, items: ItemArrays, grid: Grid, *, complete: bool) -> Moments:
    """One pass over the matrix: the marginal log-likelihood and what the items need."""
    nodes = grid.nodes
    tables = _tables(items, nodes, complete=complete)
    with_guessing = items.logit_guessing is not None
    n_items, n_knots = items.slope.shape[0], nodes.knots.shape[0]

    def add(total: Moments, block: tuple[Any, ...]) -> tuple[Moments, tuple[jax.Array, ...]]:
        cells, trials, group = block
        found = _weights(
            _log_likelihood(block, items, nodes, tables, complete=complete), group, grid
        )
        in_group = _in_groups(group)
        kept = in_group.sum(axis=0)
        node_mass = (in_group * found.inverse_total) @ found.weights
        right = right_of(cells)
        if with_guessing or not complete:
            scaled = found.weights * (kept * found.inverse_total)[:, None]
            by_knot = to_knots(scaled, nodes)
        if complete:
            expected = to_knots(node_mass.sum(axis=0), nodes)
        else:
            expected = answered_of(cells, trials).T @ by_knot
        by_right = right.T @ by_knot if with_guessing else (kept * found.mean) @ right
        return Moments(
            total.log_marginal + in_group @ found.log_marginal,
            total.expected + expected,
            total.right + by_right,
            total.node_mass + node_mass,
            *nothing,
        ), (found.mean, found.variance)

    nothing = (jnp.zeros(0), jnp.zeros(0))
    zero = Moments(
        jnp.zeros(2),
        jnp.zeros(n_knots) if complete else jnp.zeros((n_items, n_knots)),
        jnp.zeros((n_items, n_knots) if with_guessing else n_items),
        jnp.zeros((2, nodes.theta.shape[0])),
        *nothing,
    )
    total, (mean, variance) = jax.lax.scan(add, zero, (blocks.cells, blocks.trials, blocks.group))
    total = total._replace(mean=mean, variance=variance)
    if with_guessing:
        return total
    return total._replace(
        log_marginal=total.log_marginal + blocks.item_right @ items.intercept,
        right=jnp.stack([total.right, blocks.item_right.sum(axis=0)], axis=1),
    )


class ItemScore(NamedTuple):
    """Gradient of the marginal log-likelihood per item, and the complete-data information."""

    gradient: jax.Array
    """Shape (n_items, 2 or 3): by slope, intercept (and logit of guessing)."""
    information: jax.Array
    """Shape (n_items, 2, 2) or (n_items, 3, 3)."""


def item_score(statistics: Moments, items: ItemArrays, nodes: Nodes) -> ItemScore:
    """Gradient by Fisher's identity and expected complete-data information of every item.

    With residual r = R − N·P at a node, ∂/∂z = r·s/P and ∂/∂logit c = r·c/P; the information
    has N·(1 − P)/P times the products of s and c.
    """
    theta = nodes.knots
    n_items, n_knots = items.slope.shape[0], theta.shape[0]
    powers = jnp.stack([theta, jnp.ones_like(theta), theta**2], axis=1)
    complete = statistics.expected.ndim == 1

    def cut(table: jax.Array) -> jax.Array:
        return _in_chunks(table, n_knots)

    def whole(chunks: jax.Array) -> jax.Array:
        return chunks.reshape(-1, *chunks.shape[2:])[:n_items]

    def part(some: ItemArrays, expected: jax.Array) -> tuple[jax.Array, jax.Array]:
        p = jax.nn.sigmoid(some.slope[:, None] * theta + some.intercept[:, None])
        if complete:
            weighted = statistics.expected[:, None] * powers
            return p @ weighted[:, :2], (p * (1 - p)) @ weighted
        predicted = expected * p
        return predicted @ powers[:, :2], (predicted * (1 - p)) @ powers

    def part_with_guessing(
        some: ItemArrays, expected: jax.Array, right: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        c = jax.nn.sigmoid(jnp.asarray(some.logit_guessing))[:, None]
        s = jax.nn.sigmoid(some.slope[:, None] * theta + some.intercept[:, None])
        p = c + (1 - c) * s
        residual = (right - expected * p) / p
        weight = expected * (1 - c) * (1 - s) / p
        gradient = jnp.concatenate(
            [(residual * s) @ powers[:, :2], (residual * c).sum(axis=1, keepdims=True)], axis=1
        )
        theta_ss, ss, square_ss = jnp.moveaxis((weight * s * s) @ powers, 1, 0)
        theta_sc, sc = jnp.moveaxis((weight * s * c) @ powers[:, :2], 1, 0)
        cc = (weight * c * c).sum(axis=1)
        return gradient, jnp.stack([square_ss, theta_ss, theta_sc, ss, sc, cc], axis=1)

    chunks = _items_in_chunks(items, n_knots)
    n_chunks = chunks.slope.shape[0]
    expected = jnp.zeros((n_chunks, 1)) if complete else cut(statistics.expected)
    if items.logit_guessing is None:
        predicted, entries = jax.lax.map(lambda inputs: part(*inputs), (chunks, expected))
        gradient = statistics.right - whole(predicted)
        theta_w, one_w, square_w = jnp.moveaxis(whole(entries), 1, 0)
        rows = [[square_w, theta_w], [theta_w, one_w]]
    else:
        if complete:
            expected = jnp.broadcast_to(statistics.expected, (n_chunks, 1, n_knots))
        gradient, entries = jax.lax.map(
            lambda inputs: part_with_guessing(*inputs), (chunks, expected, cut(statistics.right))
        )
        gradient = whole(gradient)
        aa, ad, ag, dd, dg, gg = jnp.moveaxis(whole(entries), 1, 0)
        rows = [[aa, ad, ag], [ad, dd, dg], [ag, dg, gg]]
    return ItemScore(gradient, jnp.stack([jnp.stack(row, axis=1) for row in rows], axis=1))


def posterior(blocks: Blocks, items: ItemArrays, grid: Grid, *, complete: bool) -> Posterior:
    """Log marginal likelihood, posterior mean and SD of ability of every respondent."""
    tables = _tables(items, grid.nodes, complete=complete)

    def one(block: tuple[Any, ...]) -> Posterior:
        cells, _, group = block
        found = _weights(
            _log_likelihood(block, items, grid.nodes, tables, complete=complete), group, grid
        )
        log_marginal = found.log_marginal
        if items.logit_guessing is None:
            log_marginal += right_of(cells) @ items.intercept
        return Posterior(log_marginal, found.mean, jnp.sqrt(found.variance))

    found: Posterior = jax.lax.map(one, (blocks.cells, blocks.trials, blocks.group))
    return Posterior(*(array.ravel() for array in found))


def normal_log_weights(nodes: Nodes, sd: jax.Array | float) -> jax.Array:
    """Log weights of N(0, sd²) at the nodes, scaled to sum to 1 on the grid (as mirt does)."""
    log_density = -0.5 * (nodes.theta / sd) ** 2 + nodes.log_width
    total: jax.Array = jax.nn.logsumexp(log_density)
    return jnp.asarray(log_density - total)


def fixed_nodes(n_nodes: int, limit: float) -> Nodes:
    """Equally spaced nodes from −limit to limit, padded to a multiple of 16."""
    theta = np.linspace(-limit, limit, n_nodes)
    padding = -n_nodes % 16
    padded = np.concatenate([theta, np.full(padding, limit)])
    log_width = np.concatenate([np.zeros(n_nodes), np.full(padding, -np.inf)])
    return Nodes(padded, log_width, padded, None)


@jax.jit
def _curves(items: ItemArrays, theta: jax.Array) -> jax.Array:
    """Information of all items together at each ability, and their steepness there, (2, n).

    The steepness is a mean of slopes that is close to the largest of those that count:
    (Σ I |a|⁸ / Σ I)^⅛ with the information I = a² (s/P)² P(1 − P) of every item.
    """

    def add(total: jax.Array, some: ItemArrays) -> tuple[jax.Array, None]:
        s = jax.nn.sigmoid(some.slope[:, None] * theta + some.intercept[:, None])
        c = 0.0 if some.logit_guessing is None else jax.nn.sigmoid(some.logit_guessing)[:, None]
        p = c + (1 - c) * s
        square = some.slope**2
        share = s**2 / (p + 1e-300) * (1 - c) * (1 - s)
        return total + jnp.stack([square, square**5]) @ share, None

    n_points = theta.shape[0]
    zero = jnp.zeros((2, n_points))
    information, weighted = jax.lax.scan(add, zero, _items_in_chunks(items, n_points))[0]
    return jnp.stack([information, (weighted / (information + 1e-9)) ** 0.125])


@dataclass(frozen=True)
class Resolution:
    """How fine the grid must be at each ability, as smooth curves over its range.

    ``density`` holds one over the posterior SD for the nodes, and the steepness of item curves
    for the knots.
    """

    theta: NDArray[np.float64]
    density: NDArray[np.float64]
    """Shape (2, n_points)."""

    @classmethod
    def of(cls, items: ItemArrays, reach: float, answered: float) -> Resolution:
        """Resolution for items over [−reach, reach]; a respondent answers a share of them.

        Steep items make peaks; they are widened and smoothed, since the rule is only as accurate
        as the curve is smooth. Of very many items, every so-manieth is enough.
        """
        from scipy.ndimage import gaussian_filter1d, maximum_filter1d

        n_items = items.slope.shape[0]
        stride = -(-n_items // _CURVE_ITEMS)
        some = jax.tree.map(lambda array: np.asarray(array)[::stride], items)
        theta = np.linspace(-reach, reach, _CURVE_POINTS)
        information, steepness = np.asarray(_curves(some, theta))
        share = answered * n_items / len(some.slope)
        rough = np.stack(
            [np.sqrt(1 + share * information), np.maximum(steepness, _LEAST_STEEPNESS)]
        )
        per_unit = _CURVE_POINTS / (2 * reach)
        widened = maximum_filter1d(rough, 2 * int(_WIDENED * per_unit) + 1, axis=1)
        return cls(theta, gaussian_filter1d(widened, max(_SMOOTHED * per_unit, 2.0), axis=1))

    def nodes(
        self, refine: int = 1, *, knots_per_node: float = 0.0, refine_knots: int = 1
    ) -> Nodes:
        """Nodes and knots, or ``refine`` and ``refine_knots`` times as many.

        The nodes themselves are the knots unless fewer than ``knots_per_node`` per node suffice.
        """
        theta, log_width, _ = self._placed(0, _SPACING, refine)
        knots, _, place = self._placed(1, _KNOT_SPACING, refine_knots)
        if len(knots) > knots_per_node * len(theta):
            return Nodes(theta, log_width, theta, None)
        return Nodes(theta, log_width, knots, _local_interpolation(place(theta), len(knots)))

    def _placed(self, row: int, spacing: float, refine: int) -> tuple[Any, Any, Any]:
        """Points, log width of the interval each stands for, and ability → place among them.

        The place of an ability is the integral of the density: a cubic by Simpson's rule between
        the points of the curve.
        """
        at, density = self.theta, self.density[row]
        step = at[1] - at[0]
        halfway = (density[:-1] + density[1:]) / 2
        halfway[1:-1] += (density[1:-2] + density[2:-1] - density[:-3] - density[3:]) / 16
        pieces = (density[:-1] + 4 * halfway + density[1:]) * (step / 6)
        start = np.concatenate([[0.0], np.cumsum(pieces)])

        def place(theta: NDArray[np.float64]) -> tuple[Any, Any]:
            """Integral and value of the density, its quadratic through the ends and halfway."""
            k = np.clip(((theta - at[0]) / step).astype(int), 0, len(at) - 2)
            t = (theta - at[k]) / step
            low, middle, high = density[k], halfway[k], density[k + 1]
            linear, square = 4 * middle - 3 * low - high, 2 * (low + high) - 4 * middle
            value = low + t * (linear + t * square)
            integral = start[k] + step * t * (low + t * (linear / 2 + t * square / 3))
            return integral, value

        length = float(start[-1])
        wanted = length / spacing + 1
        count = refine * next((k for k in _NODE_COUNTS if k >= wanted), _NODE_COUNTS[-1])
        target = np.linspace(0.0, length, count)
        theta = np.interp(target, start, at)
        for _ in range(4):  # Newton: the map must be solved exactly for the rule to stay accurate
            position, value = place(theta)
            theta = np.clip(theta - (position - target) / value, at[0], at[-1])
        log_width = np.log(length / (count - 1)) - np.log(place(theta)[1])
        return theta, log_width, lambda theta: place(theta)[0] * ((count - 1) / length)


def _local_interpolation(place: NDArray[np.float64], n_knots: int) -> NDArray[np.float64]:
    """Matrix of Lagrange interpolation at fractional places from the nearest of equal steps."""
    first = np.clip(np.floor(place).astype(int) - _STENCIL // 2 + 1, 0, n_knots - _STENCIL)
    steps = np.arange(_STENCIL)
    distance = place[:, None] - first[:, None] - steps
    matrix = np.zeros((len(place), n_knots))
    for k in steps:
        others = steps != k
        weight = (distance[:, others] / (k - steps[others])).prod(axis=1)
        matrix[np.arange(len(place)), first + k] = weight
    return matrix


def count_nodes(nodes: Nodes) -> int:
    """Number of nodes without padding."""
    return int(np.isfinite(np.asarray(nodes.log_width)).sum())
