"""The marginal likelihood of several abilities by adaptive quadrature.

Each respondent has Gauss-Hermite nodes of its own, m_i + chol(V_i) x_q, about its posterior. The
gradient is the posterior mean of the gradient with abilities known (Fisher's identity).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.abilities.engine import Normals, fold_in
from irtkit.data.patterns import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.abilities.engine import Cells, Design, Fitted
    from irtkit.irf import Array

MOST_DIMENSIONS = 4  # Abilities that quadrature can integrate over: 5⁴ nodes.
PER_ABILITY = 5  # Nodes. An even number has no middle one, and fails.
_AT_ONCE = 2**18  # Numbers worked on at once.
_MOST_CELLS = 2e9  # Cells times nodes of a likelihood by quadrature.
_LIMIT = 6.0  # Of the grid of a bifactor model.
_ROUNDS, _SETTLED = 4, 0.01  # Times nodes are placed at most; the last gains less.


class _Nodes(NamedTuple):
    """Nodes of every respondent."""

    x: Array  # (n, n_nodes, K + 1), the last coordinate 1.
    log_weight: Array  # (n, n_nodes), without the density of abilities.


def log_likelihood(cells: Cells, fitted: Fitted) -> tuple[float, bool]:
    """Marginal log-likelihood, and whether it is by quadrature, else by Laplace's approximation."""
    k = fitted.design.n_abilities
    if is_bifactor(fitted.design):
        return _bifactor(cells, fitted.design.pattern, fitted.items.mean, _grid(fitted))[0], True
    dense = k <= MOST_DIMENSIONS and cells.y.size * PER_ABILITY**k <= _MOST_CELLS
    total = 0.0
    for rows in blocks(len(cells.y), 1, 512):
        nodes = nodes_of(fitted, rows, PER_ABILITY if dense else 1)
        value = _evaluated(cells.chosen(rows), nodes, fitted.items.mean, fitted.correlations)[0]
        total += value
    return total, dense


def polished(cells: Cells, fitted: Fitted) -> Fitted:
    """Return the fit at the maximum of the marginal likelihood, by L-BFGS."""
    reached = -np.inf
    for _ in range(_ROUNDS):
        fitted, value = _climbed(cells, fitted)
        fitted = replace(fitted, respondents=fold_in(cells, fitted, fitted.respondents))
        gained, reached = value - reached, value
        if gained < _SETTLED:
            break
    return fitted


def _climbed(cells: Cells, fitted: Fitted) -> tuple[Fitted, float]:
    """The fit at the maximum for the nodes of its posteriors, and the log-likelihood there.

    Coordinates are those in which each item's own curvature is 1.
    """
    from scipy.optimize import minimize

    k, design = fitted.design.n_abilities, fitted.design
    free = np.column_stack([design.pattern, np.ones(len(design.pattern), bool)])
    lower = np.tril_indices(k, -1) if design.correlated else (np.zeros(0, int),) * 2
    both = free[:, :, None] & free[:, None, :]
    whole = fitted.items.covariance * both
    whole[:, range(k + 1), range(k + 1)] += ~free
    scale = np.linalg.cholesky(whole) * both
    n_items = int(free.sum())
    root = np.linalg.cholesky(fitted.correlations)
    grid = _grid(fitted) if is_bifactor(design) else None
    parts = [
        (cells.chosen(rows), nodes_of(fitted, rows, PER_ABILITY))
        for rows in blocks(len(cells.y), 1, 512)
        if grid is None
    ]

    def moved(u: Array) -> tuple[Array, Array, Array]:
        own = np.zeros(free.shape)
        own[free] = u[:n_items]
        rows = root.copy()
        rows[lower] += u[n_items:] / np.sqrt(len(cells.y))
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return fitted.items.mean + np.einsum("jab,jb->ja", scale, own), rows / length, length

    def objective(u: Any) -> Any:
        b, unit, length = moved(u)
        value, of_b, of_r = 0.0, np.zeros_like(b), np.zeros((k, k))
        if grid is not None:
            value, of_b = _bifactor(cells, design.pattern, b, grid)
        for some, nodes in parts:
            more, slope, turn = _evaluated(some, nodes, b, unit @ unit.T)
            value, of_b, of_r = value + more, of_b + slope, of_r + turn
        of_unit = 2 * of_r @ unit
        of_rows = (of_unit - unit * (unit * of_unit).sum(axis=1, keepdims=True)) / length
        gradient = np.einsum("jba,jb->ja", scale, of_b)[free]
        return -value, -np.append(gradient, of_rows[lower] / np.sqrt(len(cells.y)))

    start = np.zeros(n_items + len(lower[0]))
    options: Any = {"maxiter": 200, "ftol": 1e-8, "maxcor": 20}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    b, unit, _ = moved(found.x)
    items = Normals(b, fitted.items.covariance)
    return replace(fitted, items=items, correlations=unit @ unit.T), -float(found.fun)


def is_bifactor(design: Design) -> bool:
    """Whether every item has one general ability and one specific one."""
    return not design.correlated and not design.free and design.n_abilities > 1


def _grid(fitted: Fitted) -> Array:
    """Equally spaced points, no farther apart than the narrowest posterior is wide."""
    variance = np.diagonal(fitted.ability_covariance, axis1=1, axis2=2)
    n = int(np.clip(2 * _LIMIT / np.sqrt(variance.min()), 41, 121))
    return np.linspace(-_LIMIT, _LIMIT, n)


def _bifactor(cells: Cells, pattern: NDArray[np.bool_], b: Array, t: Array) -> tuple[float, Array]:
    """Log-likelihood and its gradient by items, by integrals over two abilities at a time.

    Given the general ability the specific ones are independent (Gibbons & Hedeker 1992).
    """
    m, total, by_item = len(t), 0.0, np.zeros_like(b)
    log_w = -(t**2) / 2 - np.log(np.exp(-(t**2) / 2).sum())
    axes = np.stack([np.repeat(t, m), np.tile(t, m), np.ones(m * m)])  # general, specific, 1
    tasks = []
    for k in range(1, pattern.shape[1]):
        here = np.flatnonzero(pattern[:, k])
        places = np.ix_(here, np.array([0, k, b.shape[1] - 1]))
        z = b[places] @ axes
        tasks.append((here, places, z, np.logaddexp(0, z), 1 / (1 + np.exp(-z))))
    for rows in blocks(len(cells.y), m * m * len(tasks), 2**21):
        some = cells.chosen(rows)
        w = some.weights.astype(np.float64)
        right = w * some.y
        given, inner = [], []
        for here, _, z, soft, _ in tasks:
            joint = (right[:, here] @ z - w[:, here] @ soft).reshape(-1, m, m) + log_w
            top = joint.max(axis=2, keepdims=True)
            weight = np.exp(joint - top)
            mass = weight.sum(axis=2, keepdims=True)
            given.append(weight / mass)
            inner.append((np.log(mass) + top)[:, :, 0])
        of_general = log_w + sum(inner)
        top = of_general.max(axis=1, keepdims=True)
        weight = np.exp(of_general - top)
        mass = weight.sum(axis=1, keepdims=True)
        total += float((np.log(mass) + top).sum())
        for (here, places, _, _, p), own in zip(tasks, given, strict=True):
            both = (own * (weight / mass)[:, :, None]).reshape(len(own), -1)
            residual = right[:, here].T @ both - (w[:, here].T @ both) * p
            by_item[places] += residual @ axes.T
    return total, by_item


def nodes_of(fitted: Fitted, rows: slice, per_ability: int) -> _Nodes:
    """Nodes about the posteriors of some respondents."""
    k = fitted.design.n_abilities
    points, weights = np.polynomial.hermite_e.hermegauss(per_ability)
    axes = np.stack(np.meshgrid(*[points] * k, indexing="ij"), axis=-1).reshape(-1, k)
    log_w = np.log(weights / weights.sum())
    each = np.stack(np.meshgrid(*[log_w] * k, indexing="ij"), axis=-1).reshape(-1, k).sum(axis=1)
    root = np.linalg.cholesky(fitted.ability_covariance[rows])
    theta = fitted.ability[rows][:, None, :] + axes @ root.transpose(0, 2, 1)
    volume = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    log_weight = each + (axes**2).sum(axis=1) / 2 + k * np.log(2 * np.pi) / 2 + volume[:, None]
    return _Nodes(np.concatenate([theta, np.ones_like(theta[:, :, :1])], axis=2), log_weight)


def log_density(theta: Array, correlations: Array) -> Array:
    """Log density of abilities at nodes (n, n_nodes, K)."""
    k = len(correlations)
    inverse, log_volume = np.linalg.inv(correlations), np.linalg.slogdet(correlations)[1]
    squares = ((theta @ inverse) * theta).sum(axis=2)
    return np.asarray(-(squares + log_volume + k * np.log(2 * np.pi)) / 2)


def _evaluated(
    cells: Cells, nodes: _Nodes, b: Array, correlations: Array
) -> tuple[float, Array, Array]:
    """Log-likelihood, its gradients by items (n_items, K + 1) and correlations (K, K)."""
    n, q, d = nodes.x.shape
    total, by_item, second = 0.0, np.zeros_like(b), np.zeros((d - 1, d - 1))
    right = cells.y if cells.weight is None else cells.y * cells.weight
    by_score = right.astype(np.float64) @ b
    narrow = b.T.astype(np.float32)
    for rows in blocks(n, q * len(b), _AT_ONCE):
        x = nodes.x[rows]
        z = x.astype(np.float32) @ narrow
        h = np.exp(-np.abs(z))
        soft = np.log(1 + h) + np.maximum(z, 0)
        p = np.where(z >= 0, np.float32(1), h) / (1 + h)
        if cells.weight is not None:
            soft *= cells.weight[rows][:, None, :]
            p *= cells.weight[rows][:, None, :]
        log_joint = (x * by_score[rows][:, None, :]).sum(axis=2) - soft.sum(axis=2, dtype=float)
        log_joint += nodes.log_weight[rows] + log_density(x[:, :, :-1], correlations)
        top = log_joint.max(axis=1, keepdims=True)
        weight = np.exp(log_joint - top)
        mass = weight.sum(axis=1, keepdims=True)
        total += float((np.log(mass) + top).sum())
        weighted = x * (weight / mass)[:, :, None]
        expected = p.reshape(-1, len(b)).T @ weighted.reshape(-1, d).astype(np.float32)
        by_item += right[rows].T @ weighted.sum(axis=1) - expected
        flat = x.reshape(-1, d)[:, :-1]
        second += flat.T @ weighted.reshape(-1, d)[:, :-1]
    inverse = np.linalg.inv(correlations)
    return total, by_item, (inverse @ second @ inverse - n * inverse) / 2
