"""The marginal likelihood, its gradient and the posteriors: formulas, and NumPy to compute them.

Everything is in logarithms. For 1PL and 2PL the log-likelihood of a respondent at ability θ is θ·(Y
a) + (Y d) − Σⱼ softplus(aⱼθ + dⱼ), an exponential family. With complete data all respondents share
the last term, and one evaluation costs two passes over the matrix. The 3PL and missing responses
need products over items. Dense responses are treated as complete, and missing ones are subtracted.
For sparse responses, only the observed ones are added.

Formulas take a *backend*: the array module, how to go over an array part by part, and ``scores``
and ``right_sums``, the weighted sums of right answers if known. Tables are by node first,
respondents last. In the search posterior weights are in 32 bits, relative to the largest of each
respondent: that moves a respondent's log-likelihood by 1e-7. *Exact* sums are in 64 bits, and so is
what is reported (:func:`posteriors`). Frequencies of respondents and multiplicities of items are
weights.

NumPy computes ordinary matrices, sparse ones, and complete ones of any size without guessing, as
products with packed answers are look-ups. A JAX program (:mod:`.compiled`) takes seconds to compile
for each shape of a matrix, and then runs about twice as fast, on all cores or on an accelerator.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from irtkit.data.patterns import BLOCK, MANY_ROWS, REAL, float_blocks
from irtkit.irf import LEAST_LOGIT, logistic, softplus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jax.sharding import Mesh
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Items
    from irtkit.quadrature.compiled import JaxEngine, Parts
    from irtkit.quadrature.nodes import Nodes

    Backend: TypeAlias = "NumpyEngine | Parts"  # Goes over arrays part by part.
    Engine: TypeAlias = "NumpyEngine | JaxEngine"  # Of one response matrix.

LEAST_LOG_WEIGHT = -80.0
"""Log weight, relative to the largest, below which 32 bits would lose speed and then the number:
e⁻⁸⁷ is the least that they hold in full."""
_LOGARITHMS_SHARED = 8
"""Items whose log(1 + e^−|z|) are taken as one logarithm of their product, at most 2⁸."""
_NO_ITEM = (0.0, -1e4, -1e4, 0.0)
"""Slope, intercept, logit of guessing and multiplicity of items that only fill a part up."""
_MANY_CELLS = 2**22  # Cells from which on JAX computes products over items.
_TABLE = BLOCK // 2
"""Numbers in a table that NumPy works on at once: half of what fits a processor's second cache."""
_ZERO_BELOW = -40.0
"""Log weight, relative to the largest, that is treated as 0. It is below the rounding of either
number type. Above it, products of two weights are numbers that 32 bits hold at full speed."""


class Rows(NamedTuple):
    """What is known of respondents."""

    cells: Any
    trials: Any  # None unless trials were repeated or cells are sparse.
    group: Any  # None if all are in the group REAL.
    frequency: Any  # How many respondents share each row, or None if each is one.
    score: Any = None  # Sums of the slopes of the items got right, where they are known beforehand.


class Traits(NamedTuple):
    """What decides which formulas apply."""

    complete: bool
    sparse: bool = False  # Whether cells and trials are sparse arrays of the observed responses.
    exact: bool = False  # Whether posterior weights are taken in 64 bits when summed.


class Grid(NamedTuple):
    """Nodes and the log prior weights of each group of respondents at them."""

    nodes: Nodes
    log_weights: Any  # Shape (n_groups, n_nodes): each row sums to 1 on the natural scale.


class Inputs(NamedTuple):
    """What one evaluation is made of."""

    rows: Rows
    item_right: Any  # Right responses by group and item, (n_groups, n_items).
    multiplicity: Any  # How many items share each column, (n_items,), or None if each is one.
    items: Items
    grid: Grid

    def copies(self, values: Any) -> Any:
        """Values of every item (first axis), times how many share its column."""
        if self.multiplicity is None:
            return values
        return values * self.multiplicity.reshape(-1, *[1] * (values.ndim - 1))


class Sums(NamedTuple):
    """The marginal log-likelihood and its derivatives, each respondent at their own posterior."""

    log_marginal: Any  # Shape (n_groups,): sum over the respondents of every group.
    node_mass: Any
    """Expected number of respondents of every group at each node, (n_groups, n_nodes)."""
    gradient: Any  # Shape (n_items, 2 or 3): by slope, intercept (and logit of guessing).
    information: Any  # Complete-data information of every item, (n_items, 2, 2) or (n_items, 3, 3).


class Posteriors(NamedTuple):
    """Log marginal likelihood, posterior mean and SD of ability of every respondent, (n,)."""

    log_marginal: Any
    mean: Any
    sd: Any


class Curves(NamedTuple):
    """Item curves at the curve points, and what is shared by all respondents at the nodes."""

    s: Any  # σ(z), (n_items, n_points).
    log_odds: Any
    """log P/(1 − P) of all copies, (n_items, n_points), or None without guessing, where it is z."""
    log_wrong: Any  # log(1 − P) of all copies, (n_items, n_points), or None with complete data.
    all_wrong: Any
    """Its sum over the items that rows are taken to have answered, (n_nodes,): all, or 0 of none
    if rows are sparse."""


def moments(xp: Any, joint: Any, powers: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Posteriors by the log of likelihood times prior at nodes, the first axis, which is changed.

    Log marginal likelihoods, means and variances, weights up to factors, and the sums of these.
    ``powers`` are those of θ at the nodes, 0 to 2, in the number type of the weights.
    """
    peak = joint.max(axis=0)
    joint -= peak
    log_weights = xp.maximum(joint.astype(powers.dtype), LEAST_LOG_WEIGHT)
    weights = xp.exp(log_weights)
    mass, first, second = powers @ weights
    mean = first / mass
    variance = second / mass - mean**2
    log_mass = peak + xp.log(mass.astype(xp.float64))
    return log_mass, mean, variance, weights, mass


def curves(backend: Backend, traits: Traits, inputs: Inputs) -> Curves:
    """Curves of all items."""
    xp = backend.xp
    nodes = inputs.grid.nodes
    complete = traits.complete
    points = nodes.points
    n_points = points.shape[0]

    def step(total: Any, part: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        slope, intercept, logit, copies = part
        along = slope[:, None] * points
        z = along + intercept[:, None]
        above = xp.maximum(z, 0.0)
        decay = xp.exp(-xp.abs(z))
        top = xp.where(z >= 0, 1.0, decay)
        s = top / (1 + decay)
        if logit is None and copies is None and complete:
            factors = 1 + decay
            whole = len(z) - len(z) % _LOGARITHMS_SHARED
            groups = factors[:whole].reshape(-1, _LOGARITHMS_SHARED, n_points)
            products = groups.prod(axis=1)
            logs = xp.log(products).sum(axis=0)
            logs += xp.log(factors[whole:]).sum(axis=0)
            minus_log_wrong = above.sum(axis=0) + logs
            return total - minus_log_wrong, (s, None, None)
        log_wrong = -above - xp.log(1 + decay)
        log_odds = None
        if logit is not None:
            log_c = -softplus(-logit, xp)[:, None]
            log_no_guess = -softplus(logit, xp)[:, None]
            log_wrong = log_wrong + log_no_guess
            log_right = xp.logaddexp(log_c, z + log_wrong)
            log_odds = log_right - log_wrong
        if copies is not None:
            log_wrong = log_wrong * copies[:, None]
            log_odds = None if log_odds is None else log_odds * copies[:, None]
        kept = None if complete else log_wrong
        return total + log_wrong.sum(axis=0), (s, log_odds, kept)

    arrays = (*inputs.items[:3], inputs.multiplicity)
    start = xp.zeros(n_points)
    total, tables = backend.over_items(step, start, arrays, _NO_ITEM, n_points)
    s, log_odds, log_wrong = tables
    if traits.sparse:
        total = 0 * total
    return Curves(s, log_odds, log_wrong, nodes.interpolated(total))


def sums(backend: Backend, traits: Traits, inputs: Inputs) -> tuple[Sums, Posteriors]:
    """One pass over the matrix: the likelihood with its derivatives, and posteriors.

    Log marginal likelihoods of respondents leave out Σⱼ yⱼdⱼ if scores are known beforehand.
    """
    xp = backend.xp
    nodes = inputs.grid.nodes
    n_items = inputs.items.slope.shape[0]
    n_nodes = nodes.theta.shape[0]
    n_points = nodes.points.shape[0]
    n_groups = inputs.grid.log_weights.shape[0]
    shared = curves(backend, traits, inputs)
    with_guessing = shared.log_odds is not None
    rows = inputs.rows
    slope = inputs.copies(inputs.items.slope)
    intercept = inputs.copies(inputs.items.intercept)
    if not with_guessing:  # posteriors depend on scores, which a backend may have beforehand
        rows = rows._replace(score=backend.scores(slope))
    dtype = xp.float64 if traits.exact else xp.float32
    theta = nodes.theta
    powers = xp.stack([xp.ones(n_nodes), theta, theta**2])
    powers = powers.astype(dtype)

    def step(total: tuple[Any, ...], part: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        answers = _answers(xp, traits, Rows(*part), dtype)
        joint = log_joint(inputs, shared, answers)
        log_marginal, mean, variance, weights, mass = moments(xp, joint, powers)
        frequency = 1 if answers.frequency is None else answers.frequency.astype(dtype)
        weights *= frequency / mass
        sd = xp.sqrt(xp.maximum(variance, 0.0))
        counted_mean = (frequency * mean).astype(xp.float64)
        by_item: tuple[Any, ...] = ()
        if with_guessing or answers.extra is not None:
            at_points = nodes.gathered(weights)
        if answers.extra is not None:
            by_item += (at_points @ answers.extra,)
        if with_guessing:
            by_item += (at_points @ answers.right.astype(dtype),)
        elif answers.score is None:
            by_item += (counted_mean @ answers.right,)
        log_marginals = _by_group(xp, answers.group, n_groups, frequency * log_marginal)
        masses = _by_group(xp, answers.group, n_groups, weights)
        sums_of_part = (log_marginals, masses, *by_item)
        added = tuple(a + b for a, b in zip(total, sums_of_part, strict=True))
        if not with_guessing and answers.score is None:
            log_marginal = log_marginal + answers.right @ intercept
        return added, (log_marginal, mean, sd, counted_mean)

    shapes: list[tuple[int, ...]] = [(n_groups,), (n_groups, n_nodes)]
    if not traits.complete:
        shapes.append((n_points, n_items))
    if with_guessing:
        shapes.append((n_points, n_items))
    elif rows.score is None:
        shapes.append((n_items,))
    start = tuple(map(xp.zeros, shapes))
    total, of_rows = backend.over_rows(step, start, rows, n_nodes)
    log_of_rows, mean, sd, counted_mean = of_rows
    log_marginal, node_mass, *by_item = total
    extra = None if traits.complete else by_item.pop(0).T
    right = by_item[0].T if rows.score is None else backend.right_sums(counted_mean)
    totals = Totals(log_marginal, node_mass, right, extra)
    of_items = assembled(backend, traits, inputs, shared, totals)
    return of_items, Posteriors(log_of_rows, mean, sd)


class Totals(NamedTuple):
    """What a pass over respondents adds up."""

    log_marginal: Any  # Shape (n_groups,); for models without guessing without Σⱼ yⱼdⱼ.
    node_mass: Any  # Shape (n_groups, n_nodes).
    right: Any
    """Σ over right responses of E[θ], (n_items,), or with guessing of posteriors at the points."""
    extra: Any
    """Σ of posteriors at the points over responses beyond those shared, (n_items, n_points), or
    None."""


def assembled(
    backend: Backend, traits: Traits, inputs: Inputs, shared: Curves, totals: Totals
) -> Sums:
    """From sums over respondents to the gradient and complete-data information of every item.

    With the residual r = R − N·P at a node, Fisher's identity gives ∂/∂z = r·s/P and ∂/∂logit c =
    r·c/P. The information is N·(1 − P)/P times the products of s and c. N is by point if data are
    complete, else by item and point. Without guessing, R is given by its sums with θ and with 1.
    """
    xp = backend.xp
    nodes = inputs.grid.nodes
    points = nodes.points
    n_points = points.shape[0]
    expected = totals.extra
    if not traits.sparse:
        mass = totals.node_mass.sum(axis=0)
        expected = nodes.gathered(mass[:, None])[:, 0]
        expected = expected if totals.extra is None else expected + totals.extra
    right = totals.right
    log_marginal = totals.log_marginal
    if shared.log_odds is None:
        intercept = inputs.copies(inputs.items.intercept)
        log_marginal = log_marginal + inputs.item_right @ intercept
        n_right = inputs.item_right.sum(axis=0)
        right = xp.stack([right, n_right], axis=1)
    powers = xp.stack([points, xp.ones(n_points), points**2], axis=1)
    of_all: Any = expected if expected.ndim == 1 else None

    def step(_: None, part: tuple[Any, ...]) -> tuple[None, tuple[Any, Any]]:
        logit, s, right, tried = part
        tried = of_all if tried is None else tried
        if logit is None:
            predicted = tried * s
            gradient = right - predicted @ powers[:, :2]
            entries = (predicted * (1 - s)) @ powers
            places = xp.array([[2, 0], [0, 1]])
            return None, (gradient, entries[:, places])
        c = logistic(xp.maximum(logit, LEAST_LOGIT), xp)[:, None]
        p = c + (1 - c) * s
        residual = (right - tried * p) / p
        by_logit = (residual * s) @ powers[:, :2]
        by_guessing = (residual * c).sum(axis=1, keepdims=True)
        gradient = xp.concatenate([by_logit, by_guessing], axis=1)
        wrong = (1 - c) * (1 - s)
        weight = tried * wrong / p
        twice_by_logit = (weight * s * s) @ powers
        by_chance = weight * c
        by_both = (by_chance * s) @ powers[:, :2]
        twice_by_guessing = (by_chance * c).sum(axis=1, keepdims=True)
        entries = xp.concatenate([twice_by_logit, by_both, twice_by_guessing], axis=1)
        places = xp.array([[2, 0, 3], [0, 1, 4], [3, 4, 5]])
        return None, (gradient, entries[:, places])

    by_item = expected if of_all is None else None
    parts = (inputs.items.logit_guessing, shared.s, right, by_item)
    fills = (0.0,) * len(parts)
    _, derivatives = backend.over_items(step, None, parts, fills, n_points)
    return Sums(log_marginal, totals.node_mass, *map(inputs.copies, derivatives))


def posteriors(backend: Backend, traits: Traits, inputs: Inputs) -> Posteriors:
    """Posterior of every respondent, in 64 bits throughout."""
    of_rows = sums(backend, traits._replace(exact=True), inputs)[1]
    items = inputs.items
    score = backend.scores(inputs.copies(items.intercept))
    if items.logit_guessing is not None or score is None:
        return of_rows
    return of_rows._replace(log_marginal=of_rows.log_marginal + score)


class Answers(NamedTuple):
    """Some respondents, and their answers as numbers to compute with."""

    group: Any
    frequency: Any
    score: Any
    right: Any  # Right responses in 64 bits, or None if scores are sufficient.
    extra: Any
    """Responses beyond the shared ones: −1 if one is missing, trials less one, or None if data are
    complete. In sparse rows, the responses."""


def _answers(xp: Any, traits: Traits, rows: Rows, dtype: Any) -> Answers:
    cells, trials, group, frequency, score = rows
    if traits.sparse:
        right = cells.astype(xp.float64)
        extra = trials.astype(xp.float64)
        return Answers(group, frequency, score, right, extra)
    right = None
    if score is None:
        n_right = cells if traits.complete else xp.maximum(cells, 0)
        right = n_right.astype(xp.float64)
    if traits.complete:
        return Answers(group, frequency, score, right, None)
    responses = cells >= 0 if trials is None else trials
    extra = responses.astype(dtype)
    extra -= dtype(1)
    return Answers(group, frequency, score, right, extra)


def log_joint(inputs: Inputs, shared: Curves, answers: Answers) -> Any:
    """Log of likelihood times prior of some respondents at each node, (n_nodes, n).

    For models without guessing Σⱼ yⱼdⱼ, which is the same at every node, is left out. What missing
    or repeated responses change is the smaller part of the sum over items, so that
    ``answers.extra`` may be narrow. In sparse rows it is the whole sum, and wide.
    """
    grid = inputs.grid
    nodes = grid.nodes
    extra = answers.extra
    prior = (grid.log_weights[REAL] + shared.all_wrong)[:, None]
    if answers.group is not None:
        prior = (grid.log_weights + shared.all_wrong).T[:, answers.group]
    if shared.log_odds is not None:
        joint = nodes.interpolated(shared.log_odds.T @ answers.right.T)
    else:
        slope = inputs.copies(inputs.items.slope)
        score = answers.right @ slope if answers.score is None else answers.score
        joint = nodes.theta[:, None] * score
    joint += prior  # in place where arrays can be changed
    if extra is not None:
        log_wrong = shared.log_wrong.T.astype(extra.dtype)
        joint += nodes.interpolated(log_wrong @ extra.T)
    return joint


def _by_group(xp: Any, group: Any, n_groups: int, table: Any) -> Any:
    """Sum over the respondents (last axis) of every group, (n_groups, …)."""
    total = table.sum(axis=-1)
    if group is None:
        nobody = [xp.zeros_like(total)] * (n_groups - 1)
        return xp.stack([total, *nobody])
    tables = (table * (group == k) for k in range(1, n_groups))
    synthetic = [of_group.sum(axis=-1) for of_group in tables]
    return xp.stack([total - sum(synthetic), *synthetic])


def engine_of(patterns: Patterns, *, with_guessing: bool, mesh: Mesh | None = None) -> Engine:
    """Return the engine that suits the matrix, or computes on the devices of a mesh.

    An installation without JAX computes everything else with NumPy.
    """
    by_score = patterns.complete and not with_guessing
    few = by_score or patterns.cells.size < _MANY_CELLS
    if patterns.sparse or (mesh is None and (few or find_spec("jax") is None)):
        return NumpyEngine(patterns)
    from irtkit.quadrature.compiled import JaxEngine

    return JaxEngine(patterns, mesh)


class NumpyEngine:
    """Computes with NumPy, and with SciPy where rows are sparse."""

    xp: Any = np

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.traits = Traits(patterns.complete, patterns.sparse)
        self.scores = patterns.scores
        self.right_sums = patterns.right_sums
        # a table of scores then costs less than posteriors at nodes
        many = patterns.n >= MANY_ROWS and patterns.n > 10 * patterns.cells.shape[1]
        self._by_score = many and patterns.complete and not patterns.grouped
        """Whether respondents are many and their posteriors depend on their scores alone, but for
        guessing."""

    def sums(self, items: Items, grid: Grid, *, exact: bool = False) -> Sums:
        """Marginal log-likelihood and its derivatives, in 64 bits throughout if exact."""
        inputs = self.inputs(items, grid)
        if items.logit_guessing is not None or not self._by_score:
            return sums(self, self.traits._replace(exact=exact), inputs)[0]
        from irtkit.quadrature import tabulated

        shared = curves(self, self.traits, inputs)
        totals = tabulated.summed(inputs, self.patterns, tabulated.Table(inputs, shared))
        return assembled(self, self.traits, inputs, shared, totals)

    def posteriors(self, items: Items, grid: Grid) -> Posteriors:
        """Posterior of every respondent."""
        inputs = self.inputs(items, grid)
        if items.logit_guessing is not None or not self._by_score:
            return posteriors(self, self.traits, inputs)
        from irtkit.quadrature import tabulated

        table = tabulated.Table(inputs, curves(self, self.traits, inputs), fine=True)
        return tabulated.posteriors(inputs, self.patterns, table)

    def inputs(self, items: Items, grid: Grid) -> Inputs:
        """What one evaluation is made of."""
        p = self.patterns
        group = p.group if p.grouped else None
        rows = Rows(p.cells, p.trials, group, p.frequency)
        return Inputs(rows, p.margins.item_right, p.multiplicity, items, grid)

    def over_rows(
        self, step: Callable[..., Any], start: Any, rows: Rows, n_nodes: int
    ) -> tuple[Any, Any]:
        """Go over respondents part by part.

        ``step`` takes a running total, zero at the ``start``, and a part, and returns the new total
        and arrays found for this part, which come back put together.
        """
        if self.traits.sparse:
            # each part also costs a table by item and point
            return _over_slices(step, start, rows, n_nodes, 4 * BLOCK)
        # where scores are not sufficient, cells come into products as well
        by_score = self.traits.complete and rows.score is not None
        width = 0 if by_score else rows.cells.shape[1]
        return _over_slices(step, start, rows, max(n_nodes, width // 2), _TABLE)

    def over_items(
        self,
        step: Callable[..., Any],
        start: Any,
        arrays: tuple[Any, ...],
        fills: tuple[float, ...],
        n_points: int,
    ) -> tuple[Any, Any]:
        """Go over arrays by item in the same way, ``n_points`` numbers for each item.

        ``fills`` make up a part to full size where all parts must be equal.
        """
        del fills
        return _over_slices(step, start, arrays, n_points, _TABLE)


class Part(NamedTuple):
    """Some respondents and their posteriors."""

    respondents: slice
    right: Any  # Right responses, (n, n_items); sparse if the cells are.
    answered: Any  # Responses, as `right`; None with complete data.
    weights: NDArray[np.floating[Any]]  # Shape (n_nodes, n), columns summing to 1.
    counted: NDArray[np.floating[Any]]  # The same times how many respondents share each pattern.

    def thinned(self, every: int) -> Part:
        """Every k-th of the respondents."""
        answered = None if self.answered is None else self.answered[::every]
        return Part(
            slice(self.respondents.start, self.respondents.stop, every),
            self.right[::every],
            answered,
            self.weights[:, ::every],
            self.counted[:, ::every],
        )


def posterior_weights(
    patterns: Patterns, items: Items, grid: Grid, dtype: Any = np.float64
) -> Iterator[Part]:
    """Posteriors of all respondents, and their responses, as numbers of a type.

    In 32 bits the log weight of a node is off by some 1e-7 of the log-likelihood of a respondent,
    at random: with a few hundred items by 1e-5.
    """
    engine = NumpyEngine(patterns)
    inputs = engine.inputs(items, grid)
    tables = curves(engine, engine.traits, inputs)
    narrow = (None if table is None else table.astype(dtype) for table in tables)
    shared = Curves(*narrow)
    theta = grid.nodes.theta.astype(dtype)
    nodes = grid.nodes._replace(theta=theta)
    inputs = inputs._replace(grid=Grid(nodes, grid.log_weights.astype(dtype)))
    scores = None
    if items.logit_guessing is None:
        scores = patterns.scores(patterns.copies(items.slope)).astype(dtype)
    least = np.asarray(2 * np.exp(_ZERO_BELOW), dtype=dtype)
    for rows, right, answered in float_blocks(patterns, n_points=len(theta), dtype=dtype):
        group = patterns.group[rows] if patterns.grouped else None
        frequency = patterns.frequency
        if frequency is not None:
            frequency = frequency[rows].astype(dtype)
        score = None if scores is None else scores[rows]
        extra = answered if answered is None or patterns.sparse else answered - dtype(1)
        answers = Answers(group, frequency, score, right, extra)
        weights = log_joint(inputs, shared, answers)
        weights -= weights.max(axis=0)
        np.maximum(weights, _ZERO_BELOW, out=weights)
        np.exp(weights, out=weights)
        np.multiply(weights, weights > least, out=weights)
        weights /= weights.sum(axis=0)
        counted = weights if frequency is None else weights * frequency
        yield Part(rows, right, answered, weights, counted)


def _over_slices(
    step: Callable[..., Any], start: Any, arrays: tuple[Any, ...], n_points: int, at_once: int
) -> tuple[Any, Any]:
    n = next(array.shape[0] for array in arrays if array is not None)
    n_parts = max(1, round(n * n_points / at_once))
    size = -(-n // n_parts)
    total = start
    by_part = []
    for first in range(0, n, size):
        rows = slice(first, first + size)
        part = tuple(None if array is None else array[rows] for array in arrays)
        total, values = step(total, part)
        by_part.append(values)
    if len(by_part) == 1:
        return total, by_part[0]
    by_value = zip(*by_part, strict=True)
    whole = tuple(None if parts[0] is None else np.concatenate(parts) for parts in by_value)
    return total, whole
