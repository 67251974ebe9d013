"""Fit several abilities: normal posteriors of respondents and items, updated in turn.

logit P(y_ij = 1) = a_j'θ_i + d_j = b_j'x_i with x_i = (θ_i, 1) and b_j = (a_j, d_j). Abilities are
N(0, R) and items N(μ, Ω), μ and Ω learned from all items. Both sides have a normal posterior, and
one half step updates either side given the other: a Newton step on the evidence lower bound, with
the logistic function averaged over z_ij by five Gauss-Hermite nodes. After each half step of the
respondents their mean and covariance move into the items (parameter expansion), which removes the
slow directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.priors import WeakPrior
from irtkit.data.patterns import blocks
from irtkit.irf import normal_rule, outer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from irtkit.irf import Array

_NODES, _WEIGHTS = normal_rule(5)
_AT_ONCE = 2**16  # Cells worked on at once, in 32 bits.


@dataclass(frozen=True)
class _Tuned:
    """How far updates step, and what keeps them and variances within bounds.

    ``benchmarks/abilities.py`` measures whether the intervals of such fits hold.
    """

    respondent_cap: float = 1.0  # Largest step in a coordinate of a respondent.
    item_cap: float = 2.0  # The same of an item.
    back: float = 0.5  # A row's share of a full step changes by this factor if its step turns back,
    on: float = 1.15  # and by this one otherwise.
    # Size of slopes that their change is relative to at least: noise has none.
    least_slopes: float = 0.4
    floor: float = 0.05  # Pseudo-variance of the item distribution, of one item.
    # The same with a pattern, where few items understate their variance.
    floor_of_kind: float = 1.5
    task_pull: float = 3.0  # Pseudo-items of the overall mean in the mean of a task.


_TUNED = _Tuned()


@dataclass(frozen=True)
class Design:
    """What each item may measure."""

    pattern: NDArray[np.bool_]  # (n_items, n_abilities)
    kind: NDArray[np.intp]  # Kind of each ability: slopes of one kind have one mean and variance.
    group: NDArray[np.intp]  # Task of each item, all 0 if unknown.
    correlated: bool  # Whether R is estimated.

    @property
    def free(self) -> bool:
        """Whether each item may measure each ability, so that the axes are a choice."""
        return bool(self.pattern.all())

    @property
    def estimated(self) -> NDArray[np.bool_]:
        """Which slopes and intercepts are estimated, (n_items, K + 1)."""
        return np.pad(self.pattern, ((0, 0), (0, 1)), constant_values=True)

    @property
    def n_abilities(self) -> int:
        """Number of abilities."""
        return int(self.pattern.shape[1])


@dataclass(frozen=True)
class Cells:
    """Scores, 0 where missing, and how much each weighs, in 32 bits."""

    y: NDArray[np.float32]
    weight: NDArray[np.float32]

    @property
    def turned(self) -> Cells:
        """Items × respondents."""
        return Cells(np.ascontiguousarray(self.y.T), np.ascontiguousarray(self.weight.T))

    @property
    def weighed(self) -> NDArray[np.float32]:
        """Scores times weights."""
        return self.y * self.weight

    def chosen(self, rows: Any) -> Cells:
        """Return some rows."""
        return Cells(self.y[rows], self.weight[rows])

    def residual(self, p: Any) -> Any:
        """Weighted differences of scores from probabilities at nodes, (n, n_nodes, n_items)."""
        difference = self.y[:, None, :] - p
        return difference * self.weight[:, None, :]


@dataclass(frozen=True)
class Normals:
    """Posteriors of respondents or items: means (n, K + 1) and covariances (n, K + 1, K + 1)."""

    mean: Array
    covariance: Array

    @property
    def leading(self) -> Array:
        """Abilities, or slopes of items: means but for the last coordinate, (n, K)."""
        return self.mean[:, :-1]

    @property
    def leading_covariance(self) -> Array:
        """Covariances of these, (n, K, K)."""
        return self.covariance[:, :-1, :-1]

    def chosen(self, rows: Any) -> Normals:
        """Return some rows."""
        return Normals(self.mean[rows], self.covariance[rows])

    def moved(self, by: Array) -> Normals:
        """Return the posteriors in other coordinates, ``mean @ by.T``."""
        return Normals(self.mean @ by.T, by @ self.covariance @ by.T)

    def without_errors(self) -> Normals:
        """Return the means as if they were known."""
        return Normals(self.mean, np.zeros_like(self.covariance))


@dataclass(frozen=True)
class Fitted:
    """A fit: posteriors, and the correlations of abilities."""

    design: Design
    respondents: Normals
    items: Normals
    correlations: Array  # (K, K)
    prior: bool  # Whether the item distribution took part, else plain maximum likelihood.
    converged: bool
    n_iterations: int
    change: float

    @property
    def ability(self) -> Array:
        """Posterior means, (n, K)."""
        return self.respondents.leading

    @property
    def ability_covariance(self) -> Array:
        """Posterior covariances, (n, K, K)."""
        return self.respondents.leading_covariance

    @property
    def slopes(self) -> Array:
        """Slopes of items, (n_items, K)."""
        return self.items.leading

    @property
    def unbounded(self) -> NDArray[np.bool_]:
        """Which items are too steep for a finite maximum of the likelihood, without a prior."""
        squares = ((self.slopes @ self.correlations) * self.slopes).sum(axis=1)
        return ~np.bool_(self.prior) & (squares > WeakPrior.steep**2)

    @property
    def known_items(self) -> Normals:
        """Items with the covariance that predictions take account of."""
        return self.items if self.prior else self.items.without_errors()

    def moved(self, theta: Array) -> Fitted:
        """Return the fit with abilities θ* = θ @ theta and slopes to match; all else follows."""
        of_abilities = np.eye(len(theta) + 1)
        of_abilities[:-1, :-1] = theta.T
        of_items = items_turned_by(theta)
        return replace(
            self,
            respondents=self.respondents.moved(of_abilities),
            items=self.items.moved(of_items),
            correlations=theta.T @ self.correlations @ theta,
        )


def items_turned_by(theta: Array) -> Array:
    """How parameters of items turn if abilities become θ @ theta."""
    turn = np.eye(len(theta) + 1)
    turn[:-1, :-1] = np.linalg.inv(theta)
    return turn


def fit_design(
    cells: Cells,
    design: Design,
    *,
    prior: bool = True,
    tol: float = 0.002,
    max_iterations: int = 500,
    report: Callable[[int, float], None] | None = None,
) -> Fitted:
    """Fit the abilities of a design, from a start by the singular vectors of residuals."""
    respondents, items = _start(cells, design)
    correlations = np.eye(design.n_abilities)
    steps_of_respondents = _respondent_steps(cells, design)
    steps_of_items = _Newton(cells.turned, design.estimated, _TUNED.item_cap)
    least_size = _TUNED.least_slopes * np.sqrt(len(items.mean))
    iteration = 0
    change = np.inf
    for iteration in range(1, max_iterations + 1):
        before = items.leading
        respondents = steps_of_respondents.step(
            respondents,
            items if prior else items.without_errors(),
            0.0,
            _ability_precision(correlations),
        )
        theta = respondents.leading
        mean = theta.mean(axis=0)
        between = theta.T @ theta / len(theta) - np.outer(mean, mean)
        covariance = between + respondents.leading_covariance.mean(axis=0)
        respondents, items = _expanded(respondents, items, mean, covariance, design)
        if design.correlated:
            correlations = _correlations(covariance, len(cells.y), prior=prior)
        item_mean, precision = item_prior(items, design, prior=prior)
        items = steps_of_items.step(
            items if prior else items.without_errors(), respondents, item_mean, precision
        )
        size = max(float(np.linalg.norm(items.leading)), least_size)
        change = float(np.linalg.norm(items.leading - before)) / size
        if report is not None:
            report(iteration, change)
        if change < tol:
            break
    converged = change < tol
    fitted = Fitted(design, respondents, items, correlations, prior, converged, iteration, change)
    return replace(fitted, respondents=fold_in(cells, fitted, respondents))


def fold_in(cells: Cells, fitted: Fitted, start: Normals | None = None) -> Normals:
    """Posteriors of respondents with the items of a fit."""
    n = len(cells.y)
    k = fitted.design.n_abilities
    respondents = start
    if respondents is None:
        mean = np.zeros((n, k + 1))
        mean[:, k] = 1.0
        covariance = np.zeros((n, k + 1, k + 1))
        covariance[:, :k, :k] = fitted.correlations
        respondents = Normals(mean, covariance)
    steps = _respondent_steps(cells, fitted.design)
    precision = _ability_precision(fitted.correlations)
    for _ in range(15):
        before = respondents.mean
        respondents = steps.step(respondents, fitted.known_items, 0.0, precision)
        if np.abs(respondents.mean - before).max() < 1e-3:
            break
    return respondents


def _ability_precision(correlations: Array) -> Array:
    """Prior precision of respondents, (K + 1, K + 1)."""
    k = len(correlations)
    precision = np.eye(k + 1)
    precision[:k, :k] = np.linalg.inv(correlations)
    return precision


def probabilities(respondents: Normals, items: Normals) -> Array:
    """P(right) of every cell, averaged over both posteriors, (n, n_items)."""
    p = np.empty((len(respondents.mean), len(items.mean)))
    packed = _Packed(items)
    for rows in blocks(*p.shape, _AT_ONCE):
        p[rows] = packed.moments(respondents.chosen(rows))[0]
    return np.clip(p, 1e-7, 1 - 1e-7)  # rounding errors of 32 bits


class _Packed:
    """The other side of a half step, in 32 bits: means, and upper triangles of matrices."""

    def __init__(self, side: Normals) -> None:
        rows, columns = np.triu_indices(side.mean.shape[1])
        self.upper = rows, columns
        self.times = np.where(rows == columns, np.float32(1), np.float32(2))
        self.mean = side.mean.astype(np.float32)
        self.covariance = self.triangles(side.covariance)
        self.certain = not self.covariance.any()
        self.second = self.triangles(outer(side.mean, side.mean)) + self.covariance

    def triangles(self, matrices: Array) -> NDArray[np.float32]:
        """Upper triangles, (n, d(d + 1)/2)."""
        return matrices[:, *self.upper].astype(np.float32)

    def matrices(self, triangles: Any) -> Array:
        """Symmetric matrices of upper triangles."""
        d = self.mean.shape[1]
        full = np.empty((len(triangles), d, d))
        full[:, *self.upper] = triangles
        full[:, *self.upper[::-1]] = triangles
        return full

    def moments(self, side: Normals) -> tuple[Any, Any]:
        """E σ(z) and E σ'(z) of some rows of the one side, z taken as normal.

        By σ(z) = (1 + tanh(z/2))/2 and σ'(z) = (1 − tanh²(z/2))/4, in place: this is where the time
        of a fit goes.
        """
        half_mean = side.mean.astype(np.float32) @ self.mean.T
        half_mean *= np.float32(0.5)
        variance = (self.triangles(side.covariance) * self.times) @ self.second.T
        if not self.certain:
            squares = self.triangles(outer(side.mean, side.mean)) * self.times
            variance += squares @ self.covariance.T
        np.maximum(variance, 0, out=variance)
        half_sd = np.sqrt(variance, out=variance)
        half_sd *= np.float32(0.5)
        first = np.zeros_like(half_mean)
        second = np.zeros_like(half_mean)
        node_values = np.empty_like(half_mean)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            np.multiply(half_sd, np.float32(node), out=node_values)
            node_values += half_mean
            np.tanh(node_values, out=node_values)
            first += np.float32(weight) * node_values
            np.square(node_values, out=node_values)
            node_values *= np.float32(weight)
            second += node_values
        first *= np.float32(0.5)
        first += np.float32(0.5)
        np.subtract(1, second, out=second)
        second *= np.float32(0.25)
        return first, second


class _Newton:
    """Damped Newton steps on the evidence lower bound, of all rows of one side at once.

    Every row keeps its share of a full step, which is halved when the step turns back and grows
    otherwise (Rprop, Riedmiller & Braun 1993). Without it items with one odd answer go round for
    ever where there is no prior: on the 1,200 × 102 answers of metabench's ARC the slopes still
    changed by 0.7 % after 500 iterations, and by 0.2 to 0.5 % with shares of 0.7 to 0.9 for all.
    With it 38 were enough. L-BFGS on the same bound took 1 to 11 times as long on five matrices
    with 20 to 1,200 rows, although it was given the covariances of the maximum and the item
    distribution. A line search needs the bound, and so a logarithm for every cell and node.
    """

    def __init__(self, cells: Cells, estimated: NDArray[np.bool_], cap: float) -> None:
        self.cells = cells
        self.estimated = estimated
        self.cap = cap
        self.share = np.ones(len(estimated))
        self.last = np.zeros(estimated.shape)

    def step(self, side: Normals, other: Normals, prior_mean: Any, precision: Array) -> Normals:
        """Move the rows of a side, given the other side and their prior."""
        packed = _Packed(other)
        gradient = np.empty_like(side.mean)
        information = np.empty_like(side.covariance)
        for rows in blocks(len(side.mean), len(other.mean), _AT_ONCE):
            of_rows = side.chosen(rows)
            p, curvature = packed.moments(of_rows)
            residual = np.subtract(self.cells.y[rows], p, out=p)
            residual *= self.cells.weight[rows]
            curvature *= self.cells.weight[rows]
            gradient[rows] = residual @ packed.mean
            information[rows] = packed.matrices(curvature @ packed.second)
            if not packed.certain:
                noise = packed.matrices(curvature @ packed.covariance)
                gradient[rows] -= np.einsum("nij,nj->ni", noise, of_rows.mean)
        deviation = side.mean - prior_mean
        gradient -= np.einsum("...ij,...j->...i", precision, deviation)
        covariance = masked_inverse(information + precision, self.estimated)
        full = np.einsum("nij,nj->ni", covariance, gradient)
        turned_back = (full * self.last).sum(axis=1) < 0
        larger = np.minimum(self.share * _TUNED.on, 1.0)
        self.share = np.where(turned_back, self.share * _TUNED.back, larger)
        step = self.share[:, None] * full
        largest = np.abs(step).max(axis=1, keepdims=True)
        step /= np.maximum(largest / self.cap, 1.0)
        self.last = step
        return Normals(side.mean + step, covariance)


def _respondent_steps(cells: Cells, design: Design) -> _Newton:
    """Steps of respondents, whose last coordinate is 1."""
    estimated = np.ones((len(cells.y), design.n_abilities + 1), bool)
    estimated[:, -1] = False
    return _Newton(cells, estimated, _TUNED.respondent_cap)


def masked_inverse(matrices: Array, estimated: NDArray[np.bool_]) -> Array:
    """Inverses among the estimated parameters, 0 for the others."""
    pairs = outer(estimated, estimated)
    unit = np.eye(estimated.shape[-1])
    inverses = np.linalg.inv(np.where(pairs, matrices, unit))
    return inverses * pairs


def _expanded(
    respondents: Normals, items: Normals, mean: Array, covariance: Array, design: Design
) -> tuple[Normals, Normals]:
    """Abilities with mean 0 and covariance 1 (variances 1 with a pattern), moved into the items."""
    k = len(mean)
    if not design.free:
        variance = np.diag(covariance)
        covariance = np.diag(variance)
    values, vectors = np.linalg.eigh(covariance)
    sd = np.sqrt(np.maximum(values, 1e-8))
    root = (vectors * sd) @ vectors.T
    of_items: Any = np.eye(k + 1)
    of_items[:k, :k] = root
    of_items[k, :k] = mean
    of_respondents: Any = np.linalg.inv(of_items).T  # b'x stays
    return respondents.moved(of_respondents), items.moved(of_items)


def _correlations(covariance: Array, n: int, *, prior: bool) -> Array:
    """Correlations, with a prior drawn to equal ones with the weight of K + 1 respondents."""
    sd = np.sqrt(np.diag(covariance))
    correlations = covariance / np.outer(sd, sd)
    if not prior:
        return correlations
    k = len(correlations)
    n_pairs = max(k * (k - 1), 1)
    mean = (correlations.sum() - k) / n_pairs
    equal = np.full((k, k), mean)
    np.fill_diagonal(equal, 1.0)
    total = n * correlations + (k + 1) * equal
    return total / (n + k + 1)


def item_prior(items: Normals, design: Design, *, prior: bool) -> tuple[Any, Array]:
    """Mean and precision of the distribution that every item is drawn from."""
    if not prior:
        return 0.0, 1e-4 * np.eye(items.mean.shape[1])  # which keeps items finite
    mean, spread = item_distribution(items, design)
    if design.free:  # the same for all items
        return mean, np.linalg.inv(spread[0])
    return mean, masked_inverse(spread, design.estimated)


def item_means(values: Array, design: Design) -> Array:
    """Mean that every item is drawn from, linear in the ``values`` (n_items, K + 1) of items."""
    if design.free:
        return _by_group(values, values.mean(axis=0), design.group)
    mean = np.zeros_like(values)
    for places in _places_by_kind(design):
        mean[places] = values[places].mean()
    intercept = values[:, -1:]
    mean[:, -1:] = _by_group(intercept, intercept.mean(), design.group)
    return mean


def _places_by_kind(design: Design) -> Iterator[NDArray[np.bool_]]:
    """Where the parameters of each kind are, which have one mean and one variance."""
    kinds = np.append(design.kind, -1)
    for kind in np.unique(kinds):
        yield design.estimated & (kinds == kind)


def item_distribution(items: Normals, design: Design) -> tuple[Array, Array]:
    """Mean and covariance of the distribution that every item is drawn from."""
    n, d = items.mean.shape
    mean = item_means(items.mean, design)
    deviation = items.mean - mean
    if design.free:
        total = deviation.T @ deviation + items.covariance.sum(axis=0)
        total += _TUNED.floor * np.eye(d)
        return mean, np.broadcast_to(total / (n + 1), (n, d, d))
    squares = deviation**2 + np.linalg.diagonal(items.covariance)
    variance = np.zeros_like(squares)
    for places in _places_by_kind(design):
        total = squares[places].sum() + _TUNED.floor_of_kind
        variance[places] = total / (places.sum() + 1)
    return mean, variance[:, :, None] * np.eye(d)


def _by_group(values: Array, overall: Any, group: NDArray[np.intp]) -> Array:
    """Mean of each item's task, drawn to the mean of all."""
    n = np.bincount(group)[:, None]
    if len(n) == 1:
        return np.broadcast_to(overall, values.shape)
    sums = np.stack([np.bincount(group, column) for column in values.T], axis=1)
    means = (sums + _TUNED.task_pull * overall) / (n + _TUNED.task_pull)
    return means[group]


def _start(cells: Cells, design: Design) -> tuple[Normals, Normals]:
    """Abilities from shares right and singular vectors of residuals, and slopes by regression."""
    answered = cells.weight > 0
    total = cells.weight.sum(axis=0)
    right = cells.weighed.sum(axis=0)
    share = (right + 0.5) / (total + 1)
    scale = np.sqrt(share * (1 - share))
    residual = (cells.y - share) / scale
    standard = np.where(answered, residual, 0).astype(np.float32)
    theta, kept = _first_abilities(standard, answered, design)
    n_answers = np.maximum(answered.sum(axis=0), 1)
    loading = standard.T @ theta / n_answers[:, None]
    loading *= design.pattern * kept
    length = np.sqrt((loading**2).sum(axis=1, keepdims=True))
    shrink = 0.8 / np.maximum(length, 1e-9)  # no loading starts above 0.8
    loading *= np.minimum(1, shrink)
    # normal ogive to logistic: the slope of a loading λ is 1.7 λ/√(1 − λ²)
    uniqueness = 1 - (loading**2).sum(axis=1)
    stretch = 1 / np.sqrt(uniqueness)
    slopes = 1.7 * loading * stretch[:, None]
    odds = share / (1 - share)
    intercept = np.log(odds) * stretch

    n, k = theta.shape
    precision = np.full((n, k + 1), 1 / 0.3)
    precision[:, -1] = np.inf
    information = (total + 1) * scale**2
    precision_of_items = np.where(design.estimated, information[:, None], np.inf)
    unit = np.eye(k + 1)
    x = np.column_stack([theta, np.ones(n)])
    b = np.column_stack([slopes, intercept])
    respondents = Normals(x, unit / precision[:, :, None])
    items = Normals(b, unit / precision_of_items[:, :, None])
    return respondents, items


def _first_abilities(
    standard: NDArray[np.float32], answered: NDArray[np.bool_], design: Design
) -> tuple[Array, Array]:
    """Abilities with mean 0 and SD 1, and the share of each that is no noise.

    They are means of standardised answers, less what items of all abilities show. Free abilities
    after the first are singular vectors. Their slopes are shrunk by what chance gives, since EM
    takes noise back by a few percent at a time.
    """
    n = len(standard)
    k = design.n_abilities
    residual = standard.copy()
    theta = np.zeros((n, k))
    kept = np.ones(k)
    for column, items in enumerate(design.pattern.T):
        if column and design.free:
            # the leading left singular vector times its value, by power iterations
            vector = residual[np.argmax((residual**2).sum(axis=1))]
            for _ in range(6):
                vector = (residual @ vector) @ residual
                vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
            values = np.asarray(residual @ vector, dtype=np.float64)
            kept[column] = _beyond_noise(residual, float(np.linalg.norm(values)))
        else:
            count = np.maximum(answered[:, items].sum(axis=1), 1)
            values = residual[:, items].sum(axis=1) / count
        centred = values - values.mean()
        theta[:, column] = centred / max(float(centred.std()), 1e-9)
        if items.all():  # what others see is left of it
            ability = theta[:, column].astype(np.float32)
            slope = residual.T @ ability / n
            residual -= np.outer(ability, slope) * answered
    return theta, kept


def _beyond_noise(residual: NDArray[np.float32], value: float) -> float:
    """Share of a singular value that is not noise (Gavish & Donoho 2017)."""
    shorter, longer = sorted(residual.shape)
    ratio = shorter / longer
    noise = float((residual**2).mean())
    square = value**2 / max(noise * longer, 1e-12)
    edge = (1 + ratio**0.5) ** 2
    if square <= edge:
        return 0.1  # although all may be noise
    signal = (square - ratio - 1) ** 2 - 4 * ratio
    return float(np.sqrt(signal) / square)


def principal_axes(fitted: Fitted) -> Array:
    """Turn of abilities to principal axes (K, K), each with slopes that sum to more than 0."""
    slopes = fitted.slopes
    axes = np.eye(slopes.shape[1])
    if fitted.design.free:
        axes = np.linalg.svd(slopes, full_matrices=False)[2].T
    falls = (slopes @ axes).sum(axis=0) < 0
    return np.where(falls, -axes, axes)


def oblique_axes(fitted: Fitted) -> Array:
    """Turn of abilities by direct quartimin (oblimin with γ = 0) with Kaiser weights, (K, K).

    Axes have unit columns (Jennrich 2002). Abilities rise with their slopes, and come in the order
    of the sums of squared slopes.
    """
    from scipy.optimize import minimize

    axes = principal_axes(fitted)
    if not fitted.design.free:
        return axes
    slopes = fitted.slopes @ axes
    length = np.sqrt((slopes**2).sum(axis=1, keepdims=True))
    loadings = slopes / np.maximum(length, 1e-9)
    k = len(axes)

    def criterion(free: Array) -> tuple[float, Array]:
        """Σ of products of squared loadings on two axes T, A T⁻¹', and its derivatives."""
        free = free.reshape(k, k)
        size = np.sqrt((free**2).sum(axis=0))
        turn = free / size
        inverse = np.linalg.inv(turn)
        turned = loadings @ inverse.T
        squares = turned**2
        others = squares.sum(axis=1, keepdims=True) - squares
        complexity = float((squares * others).sum()) / 4
        by_axes = -(turned.T @ (turned * others) @ inverse).T
        along = (turn * by_axes).sum(axis=0)
        by_free = (by_axes - turn * along) / size
        return complexity, by_free.ravel()

    options: Any = {"gtol": 1e-6 * np.sqrt(len(loadings)), "ftol": 1e-15, "maxiter": 1000}
    least = minimize(criterion, np.eye(k).ravel(), jac=True, method="L-BFGS-B", options=options)
    turn = least.x.reshape(k, k)
    turn /= np.sqrt((turn**2).sum(axis=0))
    turned = slopes @ np.linalg.inv(turn).T
    falls = turned.sum(axis=0) < 0
    turn = np.where(falls, -turn, turn)
    sizes = (turned**2).sum(axis=0)
    order = np.argsort(-sizes, kind="stable")
    return axes @ turn[:, order]
