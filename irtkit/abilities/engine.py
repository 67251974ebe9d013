"""Fit several abilities: Gaussian posteriors of respondents and items, updated in turn.

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

from irtkit.data.patterns import blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.irf import Array

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
_AT_ONCE = 2**16  # Cells worked on at once, in 32 bits.
_RESPONDENT_CAP, _ITEM_CAP = 1.0, 2.0  # Largest step in a coordinate.
_BACK, _ON = 0.5, 1.15  # Change of a row's share of a full step: if it turns back, and otherwise.
_FLOOR = 0.05  # Pseudo-variance of the item distribution, of one item.
_FLOOR_OF_KIND = 1.5  # The same with a pattern, where few items understate their variance.
WEAK = 1e-4  # Precision of an item without a prior, which keeps it finite.
_LEAST_SLOPES = 0.4  # Size of slopes that their change is relative to at least: noise has none.
TASK_PULL = 3.0  # Pseudo-items of the overall mean in the mean of a task.
_POWER = 6  # Power iterations of the start.
_LEAST_KEPT = 0.1  # Share of slopes of the start that is left if all of them may be noise.
_ROUNDING = 1e-7  # Of 32 bits: a probability is not closer to 0 or 1.
FOLD_IN = 15  # Half steps at most for new respondents.


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
        return bool(self.pattern.all()) and self.pattern.shape[1] > 1

    @property
    def n_abilities(self) -> int:
        """Number of abilities."""
        return int(self.pattern.shape[1])

    def chosen(self, items: NDArray[Any]) -> Design:
        """Return the design of some of the items."""
        return replace(self, pattern=self.pattern[items], group=self.group[items])


@dataclass(frozen=True)
class Cells:
    """Scores, 0 where missing, and how much each weighs (None if all weigh 1), in 32 bits."""

    y: NDArray[np.float32]
    weight: NDArray[np.float32] | None

    @property
    def turned(self) -> Cells:
        """Items × respondents."""
        weight = None if self.weight is None else np.ascontiguousarray(self.weight.T)
        return Cells(np.ascontiguousarray(self.y.T), weight)

    @property
    def weights(self) -> NDArray[np.float32]:
        """Weight of every cell."""
        return np.ones_like(self.y) if self.weight is None else self.weight

    @property
    def weighed(self) -> NDArray[np.float32]:
        """Scores times weights."""
        return self.y if self.weight is None else self.y * self.weight

    def chosen(self, rows: Any, kept: NDArray[np.bool_] | None = None) -> Cells:
        """Return some rows, without the cells that are not kept."""
        if kept is not None:
            return Cells(self.y[rows], np.where(kept, self.weights[rows], np.float32(0)))
        return Cells(self.y[rows], None if self.weight is None else self.weight[rows])


@dataclass(frozen=True)
class Side:
    """Posteriors of respondents or items: means (n, K + 1) and covariances (n, K + 1, K + 1)."""

    mean: Array
    covariance: Array

    def moved(self, by: Array) -> Side:
        """Return the side in other coordinates, ``mean @ by.T``."""
        return Side(self.mean @ by.T, by @ self.covariance @ by.T)


@dataclass(frozen=True)
class Fitted:
    """A fit: posteriors, the correlations of abilities, and the distribution of items."""

    design: Design
    respondents: Side
    items: Side
    correlations: Array  # (K, K)
    mean: Array  # Prior mean of every item, (n_items, K + 1).
    spread: Array  # Prior covariance of every item, (n_items, K + 1, K + 1); 0 if not free.
    prior: bool  # Whether the item distribution took part, else plain maximum likelihood.
    converged: bool
    n_iterations: int
    change: float

    @property
    def ability(self) -> Array:
        """Posterior means, (n, K)."""
        return self.respondents.mean[:, :-1]

    @property
    def ability_covariance(self) -> Array:
        """Posterior covariances, (n, K, K)."""
        return self.respondents.covariance[:, :-1, :-1]

    @property
    def known_items(self) -> Side:
        """Items with the covariance that predictions take account of."""
        side = self.items
        return side if self.prior else Side(side.mean, np.zeros_like(side.covariance))

    def moved(self, theta: Array) -> Fitted:
        """Return the fit with abilities θ* = θ @ theta and slopes to match; all else follows."""
        of_x, of_b = np.eye(len(theta) + 1), of_items(theta)
        of_x[:-1, :-1] = theta.T
        return replace(
            self,
            respondents=self.respondents.moved(of_x),
            items=self.items.moved(of_b),
            correlations=theta.T @ self.correlations @ theta,
            mean=self.mean @ of_b.T,
            spread=of_b @ self.spread @ of_b.T,
        )


def of_items(theta: Array) -> Array:
    """How parameters of items turn with abilities."""
    found = np.eye(len(theta) + 1)
    found[:-1, :-1] = np.linalg.inv(theta)
    return found


@dataclass(frozen=True)
class _Steps:
    """What the steps of one side need to remember."""

    share: Array
    last: Array

    @classmethod
    def start(cls, mean: Array) -> _Steps:
        return cls(np.ones(len(mean)), np.zeros_like(mean))


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
    (n, n_items), k = cells.y.shape, design.n_abilities
    turned = cells.turned
    people, things = _start(cells, design)
    correlations, precision = np.eye(k), np.eye(k + 1)
    of_people, of_items = _Steps.start(people.mean), _Steps.start(things.mean)
    ones = np.append(np.ones(k, bool), False)
    free_items = np.column_stack([design.pattern, np.ones(len(things.mean), bool)])
    mean, spread = _item_distribution(things, design, free_items)
    nothing, iteration, change = np.zeros_like(things.covariance), 0, np.inf
    for iteration in range(1, max_iterations + 1):
        known = things if prior else Side(things.mean, nothing)
        precision[:k, :k] = np.linalg.inv(correlations)
        people, of_people = _half_step(
            cells, people, known, np.zeros(k + 1), precision, ones, of_people, _RESPONDENT_CAP
        )
        theta = people.mean[:, :-1]
        middle = theta.mean(axis=0)
        second = theta.T @ theta / n - np.outer(middle, middle)
        second += people.covariance[:, :-1, :-1].mean(axis=0)
        before = things.mean[:, :-1]
        people, things, mean, spread = _expanded(
            people, things, mean, spread, middle, second, design
        )
        if design.correlated:
            sd = np.sqrt(np.diag(second))
            correlations = second / np.outer(sd, sd)
            if prior:
                correlations = _pulled(correlations, n)
        if prior:
            mean, spread = _item_distribution(things, design, free_items)
            item_precision = _masked_inverse(spread, free_items)
        else:
            mean, item_precision = np.zeros_like(mean), WEAK * np.eye(k + 1)
        own = things if prior else Side(things.mean, nothing)
        things, of_items = _half_step(
            turned, own, people, mean, item_precision, free_items, of_items, _ITEM_CAP
        )
        slopes = things.mean[:, :-1]
        step, size = (np.linalg.norm(part) / np.sqrt(n_items) for part in (slopes - before, slopes))
        change = float(step / max(size, _LEAST_SLOPES))
        if report is not None:
            report(iteration, change)
        if change < tol:
            break
    mean, spread = _item_distribution(things, design, free_items)
    state = Fitted(
        design, people, things, correlations, mean, spread, prior, change < tol, iteration, change
    )
    return replace(state, respondents=fold_in(cells, state, people))


def fold_in(cells: Cells, fitted: Fitted, start: Side | None = None) -> Side:
    """Posteriors of respondents with the items of a fit."""
    k = fitted.design.n_abilities
    precision = np.eye(k + 1)
    precision[:k, :k] = np.linalg.inv(fitted.correlations)
    side = start or Side(
        np.column_stack([np.zeros((len(cells.y), k)), np.ones(len(cells.y))]),
        np.pad(np.tile(fitted.correlations, (len(cells.y), 1, 1)), ((0, 0), (0, 1), (0, 1))),
    )
    steps, ones = _Steps.start(side.mean), np.append(np.ones(k, bool), False)
    for _ in range(FOLD_IN):
        before = side.mean
        side, steps = _half_step(
            *(cells, side, fitted.known_items, np.zeros(k + 1)),
            *(precision, ones, steps, _RESPONDENT_CAP),
        )
        if np.abs(side.mean - before).max() < 1e-3:
            break
    return side


def probabilities(respondents: Side, items: Side) -> Array:
    """P(right) of every cell, averaged over both posteriors, (n, n_items)."""
    found = np.empty((len(respondents.mean), len(items.mean)))
    packed = _Packed(items)
    for rows in blocks(*found.shape, _AT_ONCE):
        found[rows] = packed.moments(respondents, rows)[0]
    return np.clip(found, _ROUNDING, 1 - _ROUNDING)


class _Packed:
    """The other side of a half step, in 32 bits: means, and upper triangles of covariances."""

    def __init__(self, side: Side) -> None:
        d = side.mean.shape[1]
        self.upper = np.triu_indices(d)
        self.twice = np.where(self.upper[0] == self.upper[1], 1.0, 2.0)
        self.mean = side.mean.astype(np.float32)
        covariance = self.pack(side.covariance)
        self.known = not covariance.any()
        products = self.pack(side.mean[:, :, None] * side.mean[:, None, :])
        self.second = products + covariance
        self.covariance = covariance

    def pack(self, matrices: Array) -> NDArray[np.float32]:
        """Upper triangles, (n, d(d + 1)/2)."""
        return matrices[:, *self.upper].astype(np.float32)

    def unpack(self, packed: Any) -> Array:
        """Symmetric matrices of upper triangles."""
        d = self.mean.shape[1]
        full = np.empty((len(packed), d, d))
        full[:, *self.upper] = packed
        full[:, self.upper[1], self.upper[0]] = packed
        return full

    def moments(self, side: Side, rows: slice) -> tuple[Any, Any]:
        """E σ(z) and E σ'(z) of some rows of a side, z taken as normal."""
        mean, covariance = side.mean[rows], side.covariance[rows]
        z = mean.astype(np.float32) @ self.mean.T
        variance = (self.pack(covariance) * self.twice.astype(np.float32)) @ self.second.T
        if not self.known:
            products = self.pack(mean[:, :, None] * mean[:, None, :])
            variance += (products * self.twice.astype(np.float32)) @ self.covariance.T
        sd = np.sqrt(np.maximum(variance, 0, out=variance), out=variance)
        z *= np.float32(0.5)
        sd *= np.float32(0.5)
        first, second, h = np.zeros_like(z), np.zeros_like(z), np.empty_like(z)
        for node, weight in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
            np.multiply(sd, np.float32(node), out=h)
            h += z
            np.tanh(h, out=h)
            first += np.float32(weight) * h
            np.square(h, out=h)
            h *= np.float32(weight)
            second += h
        first *= np.float32(0.5)
        first += np.float32(0.5)
        np.subtract(1, second, out=second)
        second *= np.float32(0.25)
        return first, second


def _half_step(
    cells: Cells,
    own: Side,
    other: Side,
    prior_mean: Array,
    prior_precision: Array,
    free: NDArray[np.bool_],
    steps: _Steps,
    cap: float,
) -> tuple[Side, _Steps]:
    """One damped Newton step of every row on the evidence lower bound."""
    packed = _Packed(other)
    gradient, curvature = np.empty_like(own.mean), np.empty_like(own.covariance)
    for rows in blocks(len(cells.y), len(packed.mean), _AT_ONCE):
        p, k = packed.moments(own, rows)
        residual = np.subtract(cells.y[rows], p, out=p)
        if cells.weight is not None:
            residual *= cells.weight[rows]
            k *= cells.weight[rows]
        gradient[rows] = residual @ packed.mean
        curvature[rows] = packed.unpack(k @ packed.second)
        if not packed.known:
            noise = packed.unpack(k @ packed.covariance)
            gradient[rows] -= np.einsum("nij,nj->ni", noise, own.mean[rows])
    pull = np.einsum("...ij,...j->...i", prior_precision, own.mean - prior_mean)
    curvature += prior_precision
    fixed = np.broadcast_to(~free, own.mean.shape)
    both = ~(fixed[:, :, None] | fixed[:, None, :])
    curvature *= both
    d = np.arange(curvature.shape[1])
    curvature[:, d, d] += fixed
    covariance = np.asarray(np.linalg.inv(curvature) * both, float)
    step = np.einsum("nij,nj->ni", covariance, gradient - pull)
    back = (step * steps.last).sum(axis=1) < 0
    share = np.where(back, steps.share * _BACK, np.minimum(steps.share * _ON, 1.0))
    moved = share[:, None] * step
    moved /= np.maximum(np.abs(moved).max(axis=1, keepdims=True) / cap, 1.0)
    return Side(own.mean + moved, covariance), _Steps(share, moved)


def _expanded(
    people: Side,
    things: Side,
    mean: Array,
    spread: Array,
    middle: Array,
    second: Array,
    design: Design,
) -> tuple[Side, Side, Array, Array]:
    """Abilities with mean 0 and covariance 1 (variances 1 with a pattern), moved into the items."""
    k = len(middle)
    values, vectors = np.linalg.eigh(second if design.free else np.diag(np.diag(second)))
    root = (vectors * np.sqrt(np.maximum(values, 1e-8))) @ vectors.T
    of_b: Any = np.eye(k + 1)
    of_b[:k, :k], of_b[k, :k] = root, middle
    of_x: Any = np.linalg.inv(of_b).T  # b'x stays
    return people.moved(of_x), things.moved(of_b), mean @ of_b.T, of_b @ spread @ of_b.T


def _pulled(correlations: Array, n: int) -> Array:
    """Correlations drawn to equal ones, with the weight of K + 1 respondents."""
    k = len(correlations)
    equal = np.full((k, k), (correlations.sum() - k) / max(k * (k - 1), 1))
    np.fill_diagonal(equal, 1.0)
    return np.asarray((n * correlations + (k + 1) * equal) / (n + k + 1))


def item_means(values: Array, design: Design, free: NDArray[np.bool_]) -> Array:
    """Mean that every item is drawn from, linear in the ``values`` (n_items, K + 1) of items."""
    n_groups = int(design.group.max()) + 1
    if design.free or values.shape[1] == 2:
        return _by_group(values, values.mean(axis=0), design.group, n_groups)
    mean, kinds = np.zeros_like(values), np.append(design.kind, -1)
    for kind in np.unique(kinds):
        here = free & (kinds == kind)
        mean[here] = (values * here).sum() / max(int(here.sum()), 1)
    mean[:, -1:] = _by_group(values[:, -1:], mean[:1, -1], design.group, n_groups)
    return mean


def _item_distribution(
    things: Side, design: Design, free: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Mean and covariance of the distribution that every item is drawn from."""
    b, d = things.mean, things.mean.shape[1]
    mean = item_means(b, design, free)
    deviation = b - mean
    if design.free or d == 2:
        total = deviation.T @ deviation + things.covariance.sum(axis=0) + _FLOOR * np.eye(d)
        return mean, np.broadcast_to(total / (len(b) + 1), (len(b), d, d))
    variance = np.zeros_like(b)
    squares = deviation**2 + np.diagonal(things.covariance, axis1=1, axis2=2)
    kinds = np.append(design.kind, -1)
    for kind in np.unique(kinds):
        here = free & (kinds == kind)
        variance[here] = ((squares * here).sum() + _FLOOR_OF_KIND) / (max(int(here.sum()), 1) + 1)
    return mean, variance[:, :, None] * np.eye(d)


def _by_group(values: Array, overall: Any, group: Any, n_groups: int) -> Array:
    """Mean of each item's task, drawn to the mean of all."""
    if n_groups == 1:
        return np.broadcast_to(overall, values.shape)
    sums = np.stack([np.bincount(group, column, n_groups) for column in values.T], axis=1)
    n = np.bincount(group, minlength=n_groups)[:, None]
    return np.asarray(((sums + TASK_PULL * overall) / (n + TASK_PULL))[group])


def _masked_inverse(spread: Array, free: NDArray[np.bool_]) -> Array:
    """Inverse of covariances among free parameters."""
    if free.all():
        return np.asarray(np.linalg.inv(spread[0]))
    d = np.arange(spread.shape[1])
    whole = spread.copy()
    whole[:, d, d] += ~free
    return np.asarray(np.linalg.inv(whole))


def _start(cells: Cells, design: Design) -> tuple[Side, Side]:
    """Abilities from shares right and singular vectors of residuals, and slopes by regression.

    Slopes are shrunk by what chance gives: EM takes noise back by a few percent at a time.
    """
    w, (n, n_items), k = cells.weights, cells.y.shape, design.n_abilities
    answered = w > 0
    total = w.sum(axis=0)
    share = ((w * cells.y).sum(axis=0) + 0.5) / (total + 1.0)
    scale = np.sqrt(share * (1 - share))
    standard = np.where(answered, (cells.y - share) / scale, 0).astype(np.float32)
    residual, theta, kept = standard.copy(), np.zeros((n, k)), np.ones(k)
    of_itself = np.zeros(k)  # What an item contributes to its loading on a mean.
    n_answers = np.maximum(answered.sum(axis=0), 1)
    for column in range(k):
        here = design.pattern[:, column]
        if column and design.free:
            direction = _leading(residual)
            kept[column] = _beyond_noise(residual, float(np.linalg.norm(direction)))
            theta[:, column] = _standard(direction)
        else:
            count = np.maximum(answered[:, here].sum(axis=1), 1)
            mean = residual[:, here].sum(axis=1) / count
            theta[:, column] = _standard(mean)
            of_itself[column] = (1 / count).mean() / max(float(mean.std()), 1e-9)
        if here.all():  # what others see is left of it
            slope = residual.T @ theta[:, column].astype(np.float32) / n
            residual -= np.outer(theta[:, column], slope).astype(np.float32) * answered
    loading = (standard.T @ theta / n_answers[:, None] - of_itself) * design.pattern
    for column, here in enumerate(design.pattern.T):
        if of_itself[column]:  # James & Stein
            own = loading[here, column]
            chance = (1 / n_answers[here]).mean() / max(float(own.var()), 1e-9)
            loading[here, column] -= min(chance, 1 - _LEAST_KEPT) * (own - own.mean())
    loading *= kept
    loading *= np.minimum(1, 0.8 / np.maximum(np.sqrt((loading**2).sum(axis=1)), 1e-9))[:, None]
    stretch = 1.7 / np.sqrt(1 - (loading**2).sum(axis=1))
    intercept = np.log(share / (1 - share)) * stretch / 1.7
    d = k + 1
    respondents = Side(np.column_stack([theta, np.ones(n)]), np.zeros((n, d, d)))
    respondents.covariance[:, range(k), range(k)] = 0.3
    items = Side(
        np.column_stack([loading * stretch[:, None], intercept]), np.zeros((n_items, d, d))
    )
    items.covariance[:, range(d), range(d)] = 1 / ((total + 1) * scale**2)[:, None]
    items.covariance[:, range(k), range(k)] *= design.pattern
    return respondents, items


def _leading(residual: NDArray[np.float32]) -> Array:
    """Leading left singular vector times its value, from the row that is largest."""
    vector = residual[np.argmax((residual**2).sum(axis=1))]
    for _ in range(_POWER):
        vector = (residual @ vector) @ residual
        vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
    return np.asarray(residual @ vector, dtype=np.float64)


def _beyond_noise(residual: NDArray[np.float32], value: float) -> float:
    """Share of a singular value that is not noise (Gavish & Donoho 2017)."""
    n, m = sorted(residual.shape)
    noise = float((residual**2).mean())
    square, ratio = value**2 / max(noise * m, 1e-12), n / m
    if square <= (1 + ratio**0.5) ** 2:
        return _LEAST_KEPT
    return float(np.sqrt((square - ratio - 1) ** 2 - 4 * ratio) / square)


def _standard(values: Any) -> Array:
    """Values with mean 0 and SD 1."""
    centred = np.asarray(values, dtype=np.float64) - np.mean(values)
    return np.asarray(centred / max(float(centred.std()), 1e-9))


def principal_axes(fitted: Fitted) -> Array:
    """Turn of abilities to principal axes (K, K), each with slopes that sum to more than 0."""
    slopes = fitted.items.mean[:, :-1]
    axes = np.eye(slopes.shape[1])
    if fitted.design.free:
        axes = np.linalg.svd(slopes, full_matrices=False)[2].T
    return np.asarray(axes * np.where((slopes @ axes).sum(axis=0) < 0, -1.0, 1.0))


def oblique_axes(fitted: Fitted) -> Array:
    """Turn of abilities by direct quartimin (oblimin with γ = 0) with Kaiser weights, (K, K).

    Abilities rise with their slopes, and come in the order of the sums of squared slopes.
    """
    axes = principal_axes(fitted)
    if not fitted.design.free:
        return axes
    slopes = fitted.items.mean[:, :-1] @ axes
    length = np.sqrt((slopes**2).sum(axis=1, keepdims=True))
    turn = _quartimin(slopes / np.maximum(length, 1e-9))
    turned = slopes @ np.linalg.inv(turn).T
    turn = turn * np.where(turned.sum(axis=0) < 0, -1.0, 1.0)
    return np.asarray(axes @ turn[:, np.argsort(-(turned**2).sum(axis=0), kind="stable")])


def _quartimin(loadings: Array) -> Array:
    """Axes T with unit columns for A T⁻¹' (gradient projection, Jennrich 2002)."""
    k = loadings.shape[1]
    turn, step = np.eye(k), 1.0

    def of(axes: Array) -> tuple[float, Array]:
        inverse = np.linalg.inv(axes)
        found = loadings @ inverse.T
        squares = found**2
        others = squares.sum(axis=1, keepdims=True) - squares
        return float((squares * others).sum()) / 4, -(found.T @ (found * others) @ inverse).T

    value, gradient = of(turn)
    for _ in range(1000):
        tangent = gradient - turn * (turn * gradient).sum(axis=0)
        size = float((tangent**2).sum())
        if size < 1e-10 * len(loadings):
            break
        step *= 2
        for _ in range(30):
            trial = turn - step * tangent
            trial /= np.sqrt((trial**2).sum(axis=0))
            new, new_gradient = of(trial)
            if new < value - step * size / 2:
                break
            step /= 2
        else:
            break
        turn, value, gradient = trial, new, new_gradient
    return turn
