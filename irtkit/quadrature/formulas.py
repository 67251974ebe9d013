"""The marginal likelihood, its gradient and the posteriors, for NumPy and for JAX alike.

Everything is computed in logarithms. For 1PL and 2PL the log-likelihood of a respondent at
ability θ is θ·(Y a) + (Y d) − Σⱼ softplus(aⱼθ + dⱼ), an exponential family: with complete data the
last term is shared by all respondents, and one evaluation costs two passes over the matrix. The
3PL and missing responses need products over items.

Each function takes a *backend*: the array module, and how to go over an array part by part, so
that only one part of the matrix at a time is widened from one byte a cell. Tables are by node
first, respondents last. In the search for the maximum posterior weights are taken in 32 bits,
relative to the largest of each respondent: that moves a respondent's log-likelihood by 1e-7 and
estimates, where they are well determined, by far less than a millionth of their standard errors;
where they are not, the search ends with *exact* sums in 64 bits. What is reported comes from
:func:`posteriors`, which is always exact.

Dense responses are taken as complete with some cells missing: what all items say is shared, and
missing responses are taken off. Of sparse ones nearly all are missing, so that nothing is shared
and what the observed ones say is added up; their products are those of sparse arrays.

Frequencies of respondents and multiplicities of items weigh the sums over them; derivatives are
those of the whole likelihood by the parameters that all copies of an item share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from irtkit.data.patterns import REAL, right_of
from irtkit.irf import LEAST_LOGIT, logistic, softplus

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.irf import Items
    from irtkit.quadrature.nodes import Nodes

LEAST_LOG_WEIGHT = -80.0
"""Log weight, relative to the largest, below which 32 bits would lose speed and then the number:
e⁻⁸⁷ is the least that they hold in full."""
_LOGARITHMS_SHARED = 8
"""Items whose log(1 + e^−|z|) are taken as one logarithm of their product, at most 2⁸."""
_NO_ITEM = (0.0, -1e4, -1e4, 0.0)
"""Slope, intercept, logit of guessing and multiplicity of items that only fill a part up: they add
0 to sums."""


class Backend(Protocol):
    """NumPy or JAX."""

    xp: Any

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: Rows, n_nodes: int
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

    def scores(self, by_item: Any) -> Any:
        """Weighted sum of the right answers of every respondent; None to take it part by part."""

    def right_sums(self, by_respondent: Any) -> Any:
        """Weighted sum of the right answers to every item, where there are scores."""


class Rows(NamedTuple):
    """What is known of respondents."""

    cells: Any
    trials: Any
    """None unless trials were repeated or cells are sparse."""
    group: Any
    """None if all are in the group REAL."""
    frequency: Any
    """How many respondents share each row; None if each is one."""
    score: Any = None
    """Sums of the slopes of the items got right, where they are known beforehand."""


class Traits(NamedTuple):
    """What decides which formulas apply."""

    complete: bool
    sparse: bool = False
    """Whether cells and trials are sparse arrays of the observed responses."""
    exact: bool = False
    """Whether posterior weights are taken in 64 bits when summed."""


class Grid(NamedTuple):
    """Nodes and the log prior weights of each group of respondents at them."""

    nodes: Nodes
    log_weights: Any
    """Shape (n_groups, n_nodes): each row sums to 1 on the natural scale."""


class Inputs(NamedTuple):
    """What one evaluation is made of."""

    rows: Rows
    item_right: Any
    """Right responses by group and item, (n_groups, n_items)."""
    multiplicity: Any
    """How many items share each column, (n_items,); None if each is one."""
    items: Items
    grid: Grid

    def copies(self, values: Any) -> Any:
        """Values of every item (first axis), times how many share its column."""
        if self.multiplicity is None:
            return values
        return values * self.multiplicity.reshape(-1, *[1] * (values.ndim - 1))


class Sums(NamedTuple):
    """The marginal log-likelihood and its derivatives, each respondent at their own posterior."""

    log_marginal: Any
    """Shape (n_groups,): sum over the respondents of every group."""
    node_mass: Any
    """Expected number of respondents of every group at each node, (n_groups, n_nodes)."""
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
    """Item curves at the curve points, and what is shared by all respondents at the nodes."""

    s: Any
    """σ(z), (n_items, n_points)."""
    log_odds: Any
    """log P/(1 − P) of all copies, (n_items, n_points); None without guessing, where it is z."""
    log_wrong: Any
    """log(1 − P) of all copies, (n_items, n_points); None with complete data."""
    all_wrong: Any
    """Its sum over the items that rows are taken to have answered, (n_nodes,): all, or 0 of none
    if rows are sparse."""


def curves(backend: Backend, traits: Traits, inputs: Inputs) -> Curves:
    """Curves of all items."""
    xp, nodes, complete = backend.xp, inputs.grid.nodes, traits.complete
    points = nodes.points

    def step(total: Any, part: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        slope, intercept, logit, copies = part
        z = slope[:, None] * points + intercept[:, None]
        decay = xp.exp(-xp.abs(z))
        s = xp.where(z >= 0, 1.0, decay) / (1 + decay)
        if logit is None and copies is None and complete:
            rise = xp.maximum(z, 0.0).sum(axis=0) + _sum_of_logs(xp, 1 + decay)
            return total - rise, (s, None, None)
        log_wrong = -xp.maximum(z, 0.0) - xp.log(1 + decay)
        log_odds = None
        if logit is not None:
            log_c = -softplus(-logit, xp)[:, None]
            log_wrong = log_wrong - softplus(logit, xp)[:, None]
            log_odds = xp.logaddexp(log_c, z + log_wrong) - log_wrong
        if copies is not None:
            log_wrong = log_wrong * copies[:, None]
            log_odds = None if log_odds is None else log_odds * copies[:, None]
        kept = None if complete else log_wrong
        return total + log_wrong.sum(axis=0), (s, log_odds, kept)

    arrays = (*inputs.items, inputs.multiplicity)
    n_points = points.shape[0]
    total, (s, log_odds, log_wrong) = backend.over_items(
        step, xp.zeros(n_points), arrays, _NO_ITEM, n_points
    )
    return Curves(s, log_odds, log_wrong, nodes.interpolated(0 * total if traits.sparse else total))


def sums(backend: Backend, traits: Traits, inputs: Inputs) -> Sums:
    """One pass over the matrix: the marginal log-likelihood and its derivatives."""
    xp, nodes = backend.xp, inputs.grid.nodes
    n_items, n_nodes, n_points = (a.shape[0] for a in (inputs.items[0], nodes.theta, nodes.points))
    n_groups = inputs.grid.log_weights.shape[0]
    shared = curves(backend, traits, inputs)
    with_guessing, complete = shared.log_odds is not None, traits.complete
    rows = _scored(backend, inputs, shared)
    dtype = xp.float64 if traits.exact else xp.float32
    moments = xp.stack([xp.ones(n_nodes), nodes.theta]).astype(dtype)

    def step(total: tuple[Any, ...], part: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        some = _answers(xp, traits, Rows(*part), dtype)
        joint = log_joint(inputs, shared, some)
        peak = joint.max(axis=0)
        joint -= peak
        weights = xp.exp(xp.maximum(joint.astype(dtype), LEAST_LOG_WEIGHT))
        mass, first = moments @ weights
        log_marginal = peak + xp.log(mass.astype(xp.float64))
        frequency = 1 if some.frequency is None else some.frequency.astype(dtype)
        weights *= frequency / mass
        mean = (frequency * (first / mass)).astype(xp.float64)
        by_item: tuple[Any, ...] = ()
        if with_guessing or some.extra is not None:
            at_points = nodes.gathered(weights)
        if some.extra is not None:
            by_item += (at_points @ some.extra,)
        if with_guessing:
            by_item += (at_points @ some.right.astype(dtype),)
        elif some.score is None:
            by_item += (mean @ some.right,)
        found = (
            _by_group(xp, some.group, n_groups, frequency * log_marginal),
            _by_group(xp, some.group, n_groups, weights),
            *by_item,
        )
        added = tuple(a + b for a, b in zip(total, found, strict=True))
        return added, () if some.score is None else (mean,)

    zeros = [(n_groups,), (n_groups, n_nodes)]
    zeros += [] if complete else [(n_points, n_items)]
    zeros += [(n_points, n_items)] if with_guessing else [(n_items,)] if rows.score is None else []
    total, means = backend.over_rows(step, tuple(map(xp.zeros, zeros)), rows, n_nodes)
    log_marginal, node_mass, *by_item = total
    extra = None if complete else by_item.pop(0).T
    right = by_item[0].T if rows.score is None else backend.right_sums(means[0])
    return assembled(backend, traits, inputs, shared, Totals(log_marginal, node_mass, right, extra))


class Totals(NamedTuple):
    """What a pass over respondents adds up."""

    log_marginal: Any
    """Shape (n_groups,); for models without guessing without Σⱼ yⱼdⱼ."""
    node_mass: Any
    """Shape (n_groups, n_nodes)."""
    right: Any
    """Σ over right responses of E[θ], (n_items,), or with guessing of posteriors at the points."""
    extra: Any
    """Σ of posteriors at the points over responses beyond those shared, (n_items, n_points), or
    None."""


def assembled(
    backend: Backend, traits: Traits, inputs: Inputs, shared: Curves, totals: Totals
) -> Sums:
    """From sums over respondents to derivatives by item."""
    nodes, right, expected = inputs.grid.nodes, totals.right, totals.extra
    if not traits.sparse:
        expected = nodes.gathered(totals.node_mass.sum(axis=0)[:, None])[:, 0]
        expected = expected if totals.extra is None else expected + totals.extra
    log_marginal = totals.log_marginal
    if shared.log_odds is None:
        log_marginal = log_marginal + inputs.item_right @ inputs.copies(inputs.items.intercept)
        right = backend.xp.stack([right, inputs.item_right.sum(axis=0)], axis=1)
    gradient, information = _derivatives(backend, inputs, shared.s, expected, right)
    return Sums(log_marginal, totals.node_mass, inputs.copies(gradient), inputs.copies(information))


def _derivatives(
    backend: Backend, inputs: Inputs, s: Any, expected: Any, right: Any
) -> tuple[Any, Any]:
    """Gradient by Fisher's identity and expected complete-data information of every item.

    With residual r = R − N·P at a node, ∂/∂z = r·s/P and ∂/∂logit c = r·c/P; the information
    has N·(1 − P)/P times the products of s and c. ``expected`` is N, by point, if data are
    complete, else by item and point; ``right`` is R, without guessing its sums with θ and with 1.
    """
    xp, points = backend.xp, inputs.grid.nodes.points
    n_points = points.shape[0]
    powers = xp.stack([points, xp.ones(n_points), points**2], axis=1)
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
            c = logistic(xp.maximum(logit, LEAST_LOGIT), xp)[:, None]
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
    found: tuple[Any, Any] = backend.over_items(step, None, parts, (0.0,) * len(parts), n_points)[1]
    return found


def posteriors(backend: Backend, traits: Traits, inputs: Inputs) -> Posteriors:
    """Posterior of every respondent, in 64 bits throughout."""
    xp, items, theta = backend.xp, inputs.items, inputs.grid.nodes.theta
    shared = curves(backend, traits, inputs)
    rows = _scored(backend, inputs, shared)
    moments = xp.stack([xp.ones(theta.shape[0]), theta, theta**2])

    def step(_: None, part: tuple[Any, ...]) -> tuple[None, tuple[Any, ...]]:
        some = _answers(xp, traits, Rows(*part), xp.float64)
        joint = log_joint(inputs, shared, some)
        peak = joint.max(axis=0)
        mass, first, second = moments @ xp.exp(joint - peak)
        mean = first / mass
        log_marginal = peak + xp.log(mass)
        if items.logit_guessing is None and some.score is None:
            log_marginal = log_marginal + some.right @ inputs.copies(items.intercept)
        return None, (log_marginal, mean, xp.sqrt(xp.maximum(second / mass - mean**2, 0.0)))

    log_marginal, mean, sd = backend.over_rows(step, None, rows, theta.shape[0])[1]
    if rows.score is not None:
        log_marginal = log_marginal + backend.scores(inputs.copies(items.intercept))
    return Posteriors(log_marginal, mean, sd)


def _scored(backend: Backend, inputs: Inputs, shared: Curves) -> Rows:
    """Rows with the scores that the posterior depends on, if the backend has them beforehand."""
    if shared.log_odds is not None:
        return inputs.rows
    return inputs.rows._replace(score=backend.scores(inputs.copies(inputs.items.slope)))


class Answers(NamedTuple):
    """Some respondents, and their answers as numbers to compute with."""

    group: Any
    frequency: Any
    score: Any
    right: Any
    """Right responses in 64 bits; None where scores tell all."""
    extra: Any
    """Responses beyond those shared: −1 where one is missing, trials less one; None if data are
    complete. Of sparse rows, the responses."""


def _answers(xp: Any, traits: Traits, some: Rows, dtype: Any) -> Answers:
    known, cells, trials = some[2:], some.cells, some.trials
    if traits.sparse:
        return Answers(*known, cells.astype(xp.float64), trials.astype(xp.float64))
    right = None if some.score is not None else right_of(xp, cells, complete=traits.complete)
    if traits.complete:
        return Answers(*known, right, None)
    extra = ((cells >= 0) if trials is None else trials).astype(dtype)
    extra -= dtype(1)
    return Answers(*known, right, extra)


def log_joint(inputs: Inputs, shared: Curves, some: Answers) -> Any:
    """Log of likelihood times prior of some respondents at each node, (n_nodes, n).

    For models without guessing Σⱼ yⱼdⱼ, which is the same at every node, is left out. What
    missing or repeated responses change is the smaller part of the sum over items, so that
    ``some.extra`` may be narrow; it is wide in sparse rows, where it is the whole of it.
    """
    grid, nodes, extra = inputs.grid, inputs.grid.nodes, some.extra
    prior = (grid.log_weights[REAL] + shared.all_wrong)[:, None]
    if some.group is not None:
        prior = (grid.log_weights + shared.all_wrong).T[:, some.group]
    if shared.log_odds is not None:
        joint = nodes.interpolated(shared.log_odds.T @ some.right.T)
    else:
        slope = inputs.copies(inputs.items.slope)
        score = some.right @ slope if some.score is None else some.score
        joint = nodes.theta[:, None] * score
    joint += prior  # in place where arrays can be changed
    if extra is not None:
        joint += nodes.interpolated(shared.log_wrong.T.astype(extra.dtype) @ extra.T)
    return joint


def _by_group(xp: Any, group: Any, n_groups: int, table: Any) -> Any:
    """Sum over the respondents (last axis) of every group, (n_groups, …)."""
    total = table.sum(axis=-1)
    if group is None:
        return xp.stack([total] + [xp.zeros_like(total)] * (n_groups - 1))
    others = [(table * (group == k)).sum(axis=-1) for k in range(1, n_groups)]
    return xp.stack([total - sum(others), *others])


def _sum_of_logs(xp: Any, factors: Any) -> Any:
    """Sum over the first axis of the logarithms of numbers between 1 and 2."""
    n = factors.shape[0]
    whole = n - n % _LOGARITHMS_SHARED
    grouped = factors[:whole].reshape(-1, _LOGARITHMS_SHARED, factors.shape[1])
    return xp.log(grouped.prod(axis=1)).sum(axis=0) + xp.log(factors[whole:]).sum(axis=0)
