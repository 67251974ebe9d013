"""The marginal likelihood, its gradient and the posteriors, for NumPy and for JAX alike.

Everything is computed in logarithms. For 1PL and 2PL the log-likelihood of a respondent at
ability θ is θ·(Y a) + (Y d) − Σⱼ softplus(aⱼθ + dⱼ), an exponential family: with complete data the
last term is shared by all respondents, and one evaluation costs two passes over the matrix. The
3PL and missing responses need products over items.

Each function takes a *backend*: the array module, and how to go over an array part by part, so
that only one part of the matrix at a time is widened from one byte a cell. Tables are by node
first, respondents last. In the climb posterior weights are taken in 32 bits, relative to the
largest of each respondent: that moves a respondent's log-likelihood by 1e-7 and estimates, where
they are well determined, by far less than a millionth of their standard errors; where they are
not, the climb ends with *exact* sums in 64 bits. What is reported comes from :func:`posteriors`,
which is always exact.

Dense rows are taken as complete with some cells missing: what all items say is shared, and missing
responses are taken off. In sparse rows nearly all are missing, so that nothing is shared and what
the observed ones say is added up; their products are those of sparse arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from irtkit.patterns import PADDING, REAL, SYNTHETIC, answered_of, right_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.irf import Items
    from irtkit.quadrature.nodes import Nodes

LEAST_LOG_WEIGHT = -80.0
"""Log weight, relative to the largest, below which 32 bits would lose speed and then the number."""
_LOGARITHMS_SHARED = 8
"""Items whose log(1 + e^−|z|) are taken as one logarithm of their product."""
_NO_ITEM = (0.0, -1e4, -1e4)
"""Slope, intercept and logit of guessing of items that only fill a part up: they add 0 to sums."""


class Backend(Protocol):
    """NumPy or JAX."""

    xp: Any

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: RowArrays, n_nodes: int
    ) -> tuple[Any, Any]:
        """Go over respondents part by part.

        ``step`` takes a running total, zero at the ``start``, and a part, and returns the new total
        and arrays found for this part, which come back put together.
        """

    def over_items(
        self,
        step: Callable[..., Any],
        start: Any,
        arrays: tuple[Any, ...],
        fills: tuple[float, ...],
        n_points: int,
    ) -> tuple[Any, Any]:
        """Go over arrays by item in the same way, a part made up to full size by ``fills``.

        ``n_points`` is how many numbers are worked on for each item.
        """


class RowArrays(NamedTuple):
    """What is known of respondents: cells, trials (or None) and group."""

    cells: Any
    trials: Any
    group: Any


class Kind(NamedTuple):
    """What decides which formulas apply."""

    complete: bool
    has_synthetic: bool
    padded: bool
    """Whether there are rows that only fill a part up."""
    exact: bool = False
    """Whether posterior weights are taken in 64 bits when summed."""
    sparse: bool = False
    """Whether cells and trials are sparse arrays of the observed responses."""


class Grid(NamedTuple):
    """Nodes and the log prior weights of each group of respondents at them."""

    nodes: Nodes
    log_weights: Any
    """Shape (2, n_nodes): rows REAL and SYNTHETIC, each summing to 1 on the natural scale."""


class Inputs(NamedTuple):
    """What one evaluation is made of."""

    rows: RowArrays
    item_right: Any
    """Right responses by group and item, (2, n_items)."""
    items: Items
    grid: Grid


class Sums(NamedTuple):
    """The marginal log-likelihood and its derivatives, each respondent at their own posterior."""

    log_marginal: Any
    """Shape (2,): sum over real and over synthetic respondents."""
    node_mass: Any
    """Expected number of real and of synthetic respondents at each node, shape (2, n_nodes)."""
    gradient: Any
    """Shape (n_items, 2 or 3): by slope, intercept (and logit of guessing)."""
    information: Any
    """Complete-data information of every item, (n_items, 2, 2) or (n_items, 3, 3)."""


class Posteriors(NamedTuple):
    """Log marginal likelihood, posterior mean and SD of ability of every respondent, (n,)."""

    log_marginal: Any
    mean: Any
    sd: Any


class Curves(NamedTuple):
    """Item curves at the knots, and what is shared by all respondents at the nodes."""

    s: Any
    """σ(z), (n_items, n_knots)."""
    log_odds: Any
    """log P/(1 − P), (n_items, n_knots); None without guessing, where it is z = aθ + d."""
    log_wrong: Any
    """log(1 − P), (n_items, n_knots); None with complete data."""
    all_wrong: Any
    """Its sum over the items that rows are taken to have answered, (n_nodes,): all, or 0 of none
    if rows are sparse."""


def curves(backend: Backend, kind: Kind, items: Items, nodes: Nodes) -> Curves:
    """Curves of all items."""
    xp, knots, complete = backend.xp, nodes.knots, kind.complete
    n_knots = knots.shape[0]

    def step(total: Any, part: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        slope, intercept, logit = part
        z = slope[:, None] * knots + intercept[:, None]
        decay = xp.exp(-xp.abs(z))
        s = xp.where(z >= 0, 1.0, decay) / (1 + decay)
        if logit is None and complete:
            softplus = xp.maximum(z, 0.0).sum(axis=0) + _sum_of_logs(xp, 1 + decay)
            return total - softplus, (s, None, None)
        log_wrong = -xp.maximum(z, 0.0) - xp.log(1 + decay)
        log_odds = None
        if logit is not None:
            log_c = -_softplus(xp, -logit)[:, None]
            log_wrong = log_wrong - _softplus(xp, logit)[:, None]
            log_odds = xp.logaddexp(log_c, z + log_wrong) - log_wrong
        kept = None if complete else log_wrong
        return total + log_wrong.sum(axis=0), (s, log_odds, kept)

    total, (s, log_odds, log_wrong) = backend.over_items(
        step, xp.zeros(n_knots), tuple(items), _NO_ITEM, n_knots
    )
    return Curves(s, log_odds, log_wrong, _to_nodes(0 * total if kind.sparse else total, nodes))


def sums(backend: Backend, kind: Kind, inputs: Inputs) -> Sums:
    """One pass over the matrix: the marginal log-likelihood and its derivatives."""
    xp, items, nodes = backend.xp, inputs.items, inputs.grid.nodes
    n_items, n_nodes, n_knots = items.slope.shape[0], nodes.theta.shape[0], nodes.knots.shape[0]
    shared = curves(backend, kind, items, nodes)
    with_guessing = shared.log_odds is not None
    by_product = with_guessing or not kind.complete
    dtype = xp.float64 if kind.exact else xp.float32
    moments = xp.stack([xp.ones(n_nodes), nodes.theta]).astype(dtype)

    def step(total: tuple[Any, ...], part: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[()]]:
        some = _widened(xp, kind, part)
        joint = log_joint(xp, some, inputs, shared, xp.float64 if kind.sparse else dtype)
        peak = joint.max(axis=0)
        weights = xp.exp(xp.maximum(joint - peak, LEAST_LOG_WEIGHT).astype(dtype))
        mass, first = moments @ weights
        log_marginal = peak + xp.log(mass.astype(xp.float64))
        kept = (part[2] != PADDING).astype(dtype) if kind.padded else 1
        scaled = weights * (kept / mass)
        node_mass = _by_group(xp, some.group, scaled, dtype=xp.float64)
        by_item: tuple[Any, ...] = ()
        if by_product:
            by_knot = _to_knots(scaled, nodes)
        if some.extra is not None:
            by_item += (by_knot @ some.extra.astype(dtype),)
        if with_guessing:
            by_item += (by_knot @ some.right.astype(dtype),)
        else:
            by_item += ((kept * (first / mass)).astype(xp.float64) @ some.right,)
        found = (_by_group(xp, some.group, kept * log_marginal), node_mass, *by_item)
        return tuple(a + b for a, b in zip(total, found, strict=True)), ()

    zeros = [(2,), (2, n_nodes)]
    zeros += [] if kind.complete else [(n_knots, n_items)]
    zeros += [(n_knots, n_items) if with_guessing else (n_items,)]
    total, _ = backend.over_rows(step, tuple(map(xp.zeros, zeros)), inputs.rows, n_nodes)
    log_marginal, node_mass, *by_item = total
    expected = None if kind.complete else by_item.pop(0).T
    totals = Totals(log_marginal, node_mass, by_item[0].T, expected)
    return finished(backend, kind, inputs, shared, totals)


class Totals(NamedTuple):
    """What a pass over respondents adds up."""

    log_marginal: Any
    """Shape (2,); for models without guessing without Σⱼ yⱼdⱼ."""
    node_mass: Any
    """Shape (2, n_nodes)."""
    right: Any
    """Σ over right responses of E[θ], (n_items,), or with guessing of posteriors at the knots."""
    extra: Any
    """Σ of posteriors at the knots over responses beyond those shared, (n_items, n_knots), or
    None."""


def finished(backend: Backend, kind: Kind, inputs: Inputs, shared: Curves, totals: Totals) -> Sums:
    """From sums over respondents to derivatives by item."""
    nodes, right, expected = inputs.grid.nodes, totals.right, totals.extra
    if not kind.sparse:
        expected = _to_knots(totals.node_mass.sum(axis=0)[:, None], nodes)[:, 0]
        expected = expected if totals.extra is None else expected + totals.extra
    log_marginal = totals.log_marginal
    if shared.log_odds is None:
        log_marginal = log_marginal + inputs.item_right @ inputs.items.intercept
        right = backend.xp.stack([right, inputs.item_right.sum(axis=0)], axis=1)
    gradient, information = _score(backend, inputs, shared.s, expected, right)
    return Sums(log_marginal, totals.node_mass, gradient, information)


def _score(backend: Backend, inputs: Inputs, s: Any, expected: Any, right: Any) -> tuple[Any, Any]:
    """Gradient by Fisher's identity and expected complete-data information of every item.

    With residual r = R − N·P at a node, ∂/∂z = r·s/P and ∂/∂logit c = r·c/P; the information
    has N·(1 − P)/P times the products of s and c. ``expected`` is N, by knot, if data are complete,
    else by item and knot; ``right`` is R, without guessing its sums with θ and with 1.
    """
    xp, knots = backend.xp, inputs.grid.nodes.knots
    n_knots = knots.shape[0]
    powers = xp.stack([knots, xp.ones(n_knots), knots**2], axis=1)
    shared = expected if expected.ndim == 1 else None

    def step(_: None, part: tuple[Any, ...]) -> tuple[None, tuple[Any, Any]]:
        logit, s, right, own = part
        if logit is None:
            if shared is None:
                predicted, functions = own * s, powers
            else:
                predicted, functions = s, shared[:, None] * powers
            gradient = right - predicted @ functions[:, :2]
            entries, place = (predicted * (1 - s)) @ functions, [[2, 0], [0, 1]]
        else:
            tried = shared if own is None else own
            c = 1 / (1 + xp.exp(-xp.maximum(logit, -700.0)))[:, None]
            p = c + (1 - c) * s
            residual = (right - tried * p) / p
            gradient = xp.concatenate(
                [(residual * s) @ powers[:, :2], (residual * c).sum(axis=1, keepdims=True)], axis=1
            )
            weight = tried * (1 - c) * (1 - s) / p
            by_c = [(weight * s * c) @ powers[:, :2], (weight * c * c).sum(axis=1, keepdims=True)]
            entries = xp.concatenate([(weight * s * s) @ powers, *by_c], axis=1)
            place = [[2, 0, 3], [0, 1, 4], [3, 4, 5]]
        return None, (gradient, entries[:, xp.array(place)])

    parts = (inputs.items.logit_guessing, s, right, None if shared is not None else expected)
    found: tuple[Any, Any] = backend.over_items(step, None, parts, (0.0,) * len(parts), n_knots)[1]
    return found


def posteriors(backend: Backend, kind: Kind, inputs: Inputs) -> Posteriors:
    """Posterior of every respondent, in 64 bits throughout."""
    xp, items, theta = backend.xp, inputs.items, inputs.grid.nodes.theta
    shared = curves(backend, kind, items, inputs.grid.nodes)
    moments = xp.stack([xp.ones(theta.shape[0]), theta, theta**2])

    def step(_: None, part: tuple[Any, ...]) -> tuple[None, tuple[Any, ...]]:
        some = _widened(xp, kind, part)
        joint = log_joint(xp, some, inputs, shared, xp.float64)
        peak = joint.max(axis=0)
        mass, first, second = moments @ xp.exp(joint - peak)
        mean = first / mass
        log_marginal = peak + xp.log(mass)
        if items.logit_guessing is None:
            log_marginal = log_marginal + some.right @ items.intercept
        return None, (log_marginal, mean, xp.sqrt(xp.maximum(second / mass - mean**2, 0.0)))

    return Posteriors(*backend.over_rows(step, None, inputs.rows, theta.shape[0])[1])


class Answers(NamedTuple):
    """Some respondents, their responses widened to 64 bits."""

    group: Any
    """None if all are real."""
    right: Any
    extra: Any
    """Responses beyond those shared: less 1, −1 where one is missing; None if complete. If sparse,
    responses."""


def answers_of(kind: Kind, group: Any, right: Any, answered: Any) -> Answers:
    """Answers from right responses and responses in 64 bits, the latter None if complete."""
    extra = answered if kind.complete or kind.sparse else answered - 1
    return Answers(group if kind.has_synthetic else None, right, extra)


def _widened(xp: Any, kind: Kind, part: tuple[Any, ...]) -> Answers:
    cells, trials, group = part
    if kind.sparse:
        return answers_of(kind, group, cells.astype(xp.float64), trials.astype(xp.float64))
    right = right_of(xp, cells, complete=kind.complete)
    return answers_of(kind, group, right, None if kind.complete else answered_of(xp, cells, trials))


def log_joint(xp: Any, some: Answers, inputs: Inputs, shared: Curves, dtype: Any) -> Any:
    """Log of likelihood times prior of some respondents at each node, (n_nodes, n).

    For models without guessing Σⱼ yⱼdⱼ, which is the same at every node, is left out. What
    missing or repeated responses change is the smaller part of the sum over items, so that
    ``dtype`` may be narrow; it must be wide in sparse rows, where it is the whole of it.
    """
    grid, theta = inputs.grid, inputs.grid.nodes.theta
    joint = (grid.log_weights[REAL] + shared.all_wrong)[:, None]
    if some.group is not None:
        wide = (grid.log_weights[SYNTHETIC] + shared.all_wrong)[:, None]
        joint = xp.where(some.group == SYNTHETIC, wide, joint)
    if shared.log_odds is None:
        joint = joint + theta[:, None] * (some.right @ inputs.items.slope)
    else:
        joint = joint + _to_nodes(shared.log_odds.T @ some.right.T, grid.nodes)
    if some.extra is not None:
        product = shared.log_wrong.T.astype(dtype) @ some.extra.T.astype(dtype)
        joint = joint + _to_nodes(product, grid.nodes)
    return joint


def _by_group(xp: Any, group: Any, table: Any, dtype: Any = None) -> Any:
    """Sum over respondents (last axis) of either group, (2, …)."""
    total = table.sum(axis=-1, dtype=dtype)
    if group is None:
        return xp.stack([total, xp.zeros_like(total)])
    synthetic = (table * (group == SYNTHETIC)).sum(axis=-1, dtype=dtype)
    return xp.stack([total - synthetic, synthetic])


def _softplus(xp: Any, z: Any) -> Any:
    """log(1 + eᶻ) without overflow."""
    return xp.maximum(z, 0.0) + xp.log1p(xp.exp(-xp.abs(z)))


def _sum_of_logs(xp: Any, factors: Any) -> Any:
    """Sum over the first axis of the logarithms of numbers between 1 and 2."""
    n = factors.shape[0]
    whole = n - n % _LOGARITHMS_SHARED
    grouped = factors[:whole].reshape(-1, _LOGARITHMS_SHARED, factors.shape[1])
    return xp.log(grouped.prod(axis=1)).sum(axis=0) + xp.log(factors[whole:]).sum(axis=0)


def _to_nodes(at_knots: Any, nodes: Nodes) -> Any:
    """Interpolate values at knots (first axis) to the nodes."""
    if nodes.spread is None:
        return at_knots
    return nodes.spread.astype(at_knots.dtype) @ at_knots


def _to_knots(at_nodes: Any, nodes: Nodes) -> Any:
    """Carry masses at nodes (first axis) to the knots: the transpose of interpolation."""
    if nodes.spread is None:
        return at_nodes
    return nodes.spread.T.astype(at_nodes.dtype) @ at_nodes
