"""The marginal likelihood of several abilities by adaptive quadrature.

Each respondent has Gauss-Hermite nodes of its own, m_i + chol(V_i) x_q, about its posterior. The
gradient is the posterior mean of the gradient with abilities known (Fisher's identity).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.abilities.engine import Normals, fold_in
from irtkit.data.patterns import blocks
from irtkit.irf import logistic, normal_rule, outer, softplus
from irtkit.quadrature.posterior import normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.abilities.engine import Cells, Design, Fitted
    from irtkit.irf import Array

MOST_DIMENSIONS = 4  # Abilities that quadrature can integrate over: 5⁴ nodes.
_AT_ONCE = 2**18  # Numbers worked on at once.


@dataclass(frozen=True)
class _Tuned:
    """Where the likelihood is integrated, and when nodes are in place."""

    per_ability: int = 5  # Nodes. An even number has no middle one, and fails.
    most_cells: float = 2e9  # Cells times nodes of a likelihood by quadrature.
    limit: float = 6.0  # Of the grid of a bifactor model.
    rounds: int = 40  # Times that nodes are placed at most: 2 to 4 are usual.
    far: float = 1.0  # Errors of an item's parameter by which its nodes are out of place.
    settled: float = 0.01  # Gain in log-likelihood below which a round is the last.


_TUNED = _Tuned()


class Nodes(NamedTuple):
    """Nodes of every respondent."""

    x: Array  # (n, n_nodes, K + 1), the last coordinate 1.
    log_weight: Array  # (n, n_nodes), without the density of abilities.

    def chosen(self, rows: slice) -> Nodes:
        """Return those of some respondents."""
        return Nodes(self.x[rows], self.log_weight[rows])


def log_likelihood(cells: Cells, fitted: Fitted) -> tuple[float, bool]:
    """Marginal log-likelihood, and whether it is by quadrature, else by Laplace's approximation."""
    b = fitted.items.mean
    n_abilities = fitted.design.n_abilities
    if is_bifactor(fitted.design):
        return _bifactor(cells, fitted.design.pattern, b, _grid(fitted))[0], True
    n_nodes = _TUNED.per_ability**n_abilities
    few_cells = cells.y.size * n_nodes <= _TUNED.most_cells
    by_quadrature = n_abilities <= MOST_DIMENSIONS and few_cells
    per_ability = _TUNED.per_ability if by_quadrature else 1
    total = 0.0
    n_cells = per_ability**n_abilities * len(b)
    for rows in blocks(len(cells.y), n_cells, _AT_ONCE):
        nodes = nodes_of(fitted, rows, per_ability)
        log_mass, *_ = posterior_at(cells.chosen(rows), nodes, b, fitted.correlations)
        total += float(log_mass.sum())
    return total, by_quadrature


def polished(cells: Cells, fitted: Fitted) -> Fitted:
    """Return the fit at the maximum of the marginal likelihood, by L-BFGS.

    Nodes follow the posteriors whenever items have moved far, as steep items would else gain from
    what lies between nodes (Rabe-Hesketh, Skrondal & Pickles 2005). An item that gets too steep for
    a finite maximum stays where it is.
    """
    reached = -np.inf
    for _ in range(_TUNED.rounds):
        moving = ~fitted.unbounded
        fitted, value, far = _climbed(cells, fitted, moving)
        fitted = replace(fitted, respondents=fold_in(cells, fitted, fitted.respondents))
        gain = value - reached
        reached = value
        stays = np.array_equal(moving, ~fitted.unbounded)
        if gain < _TUNED.settled and stays and not far:
            break
    return fitted


def _climbed(cells: Cells, fitted: Fitted, moving: NDArray[np.bool_]) -> tuple[Fitted, float, bool]:
    """The fit at the maximum for the nodes of its posteriors, and the log-likelihood there.

    It ends on the way, and says so, if an item moves too far for these nodes. Coordinates of items
    are those in which each item's own curvature is 1. Correlations are the products of rows of
    length 1, with a row for every ability, and are 0 above the diagonal.
    """
    from scipy.optimize import minimize

    design = fitted.design
    estimated = design.estimated & moving[:, None]
    n_of_items = int(estimated.sum())
    both = outer(estimated, estimated)
    unit = np.eye(estimated.shape[1])
    covariance = np.where(both, fitted.items.covariance, unit)
    scale = np.linalg.cholesky(covariance) * both
    lower = np.tril_indices(design.n_abilities if design.correlated else 0, -1)
    root = np.linalg.cholesky(fitted.correlations)
    of_root = 1 / np.sqrt(len(cells.y))
    grid = _grid(fitted) if is_bifactor(design) else None
    nodes = None if is_bifactor(design) else nodes_of(fitted, slice(None), _TUNED.per_ability)

    def items_at(u: Array) -> Array:
        along = np.zeros(estimated.shape)
        along[estimated] = u[:n_of_items]
        return fitted.items.mean + np.einsum("jab,jb->ja", scale, along)

    def rows_at(u: Array) -> tuple[Array, Array]:
        rows = root.copy()
        rows[lower] += u[n_of_items:] * of_root
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return rows / length, length

    def objective(u: Array) -> tuple[float, Array]:
        rows, length = rows_at(u)
        by_correlations = np.zeros_like(root)
        if nodes is None:
            value, by_item = _bifactor(cells, design.pattern, items_at(u), grid)
        else:
            correlations = rows @ rows.T
            value, by_item, by_correlations = _evaluated(cells, nodes, items_at(u), correlations)
        by_rows = 2 * by_correlations @ rows
        along = (rows * by_rows).sum(axis=1, keepdims=True)
        by_row = (by_rows - rows * along) / length
        by_along = np.einsum("jba,jb->ja", scale, by_item)[estimated]
        return -value, -np.append(by_along, by_row[lower] * of_root)

    def is_far(u: Array) -> bool:
        return nodes is not None and bool((np.abs(u[:n_of_items]) > _TUNED.far).any())

    def stop_far_away(intermediate_result: Any) -> None:
        if is_far(intermediate_result.x):
            raise StopIteration

    maximum = minimize(
        objective,
        np.zeros(n_of_items + len(lower[0])),
        jac=True,
        method="L-BFGS-B",
        callback=stop_far_away,
        options={"maxiter": 200, "ftol": 1e-8, "maxcor": 20},
    )
    rows = rows_at(maximum.x)[0]
    items = Normals(items_at(maximum.x), fitted.items.covariance)
    climbed = replace(fitted, items=items, correlations=rows @ rows.T)
    return climbed, -float(maximum.fun), is_far(maximum.x)


def nodes_of(fitted: Fitted, rows: slice, per_ability: int) -> Nodes:
    """Nodes about the posteriors of some respondents."""
    k = fitted.design.n_abilities
    points, weights = normal_rule(per_ability)
    places = np.indices((per_ability,) * k).reshape(k, -1).T
    axes = points[places]
    log_weight = np.log(weights)[places].sum(axis=1)
    log_weight += (axes**2).sum(axis=1) / 2
    root = np.linalg.cholesky(fitted.ability_covariance[rows])
    mean = fitted.ability[rows]
    theta = mean[:, None, :] + axes @ root.mT
    log_volume = np.log(np.linalg.diagonal(root)).sum(axis=1)
    return Nodes(with_ones(theta), log_weight + log_volume[:, None])


def with_ones(theta: Array) -> Array:
    """Abilities at nodes with a last coordinate of 1."""
    return np.pad(theta, ((0, 0), (0, 0), (0, 1)), constant_values=1.0)


def posterior_at(
    cells: Cells, nodes: Nodes, b: Array, correlations: Array
) -> tuple[Array, Array, Any]:
    """Log marginal likelihoods and posteriors of respondents, and P(right) at their nodes.

    Posteriors (n, n_nodes) have a sum of 1. P(right), (n, n_nodes, n_items), is in 32 bits.
    """
    z = nodes.x.astype(np.float32) @ b.T.astype(np.float32)
    p = logistic(z)
    larger = np.maximum(p, 1 - p)
    log_wrong = np.maximum(z, 0) - np.log(larger)  # log(1 + eᶻ), without eᶻ anew
    log_wrong *= cells.weight[:, None, :]
    by_right = cells.weighed.astype(np.float64) @ b
    log_joint = (nodes.x * by_right[:, None, :]).sum(axis=2)
    log_joint -= log_wrong.sum(axis=2, dtype=float)
    theta = nodes.x[:, :, :-1]
    precision = np.linalg.inv(correlations)
    squares = ((theta @ precision) * theta).sum(axis=2)
    log_determinant = np.linalg.slogdet(correlations)[1]
    log_density = -(squares + log_determinant) / 2
    log_mass, weight = normalised(log_joint + nodes.log_weight + log_density)
    return log_mass, weight, p


def _evaluated(
    cells: Cells, nodes: Nodes, b: Array, correlations: Array
) -> tuple[float, Array, Array]:
    """Log-likelihood, its gradients by items (n_items, K + 1) and correlations (K, K)."""
    n, n_nodes, d = nodes.x.shape
    total = 0.0
    by_item = np.zeros_like(b)
    second = np.zeros((d, d))
    for rows in blocks(n, n_nodes * len(b), _AT_ONCE):
        answers = cells.chosen(rows)
        here = nodes.chosen(rows)
        log_mass, weight, p = posterior_at(answers, here, b, correlations)
        total += float(log_mass.sum())
        points = here.x.reshape(-1, d)
        weighted = points * weight.reshape(-1, 1)
        residual = answers.residual(p).reshape(-1, len(b))
        by_item += residual.T @ weighted.astype(np.float32)
        second += points.T @ weighted
    inverse = np.linalg.inv(correlations)
    of_abilities = second[:-1, :-1]
    by_correlations = (inverse @ of_abilities @ inverse - n * inverse) / 2
    return total, by_item, by_correlations


def is_bifactor(design: Design) -> bool:
    """Whether every item has one general ability and one specific one."""
    return not design.correlated and not design.free


def _grid(fitted: Fitted) -> Array:
    """Equally spaced points, no farther apart than the narrowest posterior is wide."""
    variance = np.linalg.diagonal(fitted.ability_covariance)
    narrowest = np.sqrt(variance.min())
    n = int(np.clip(2 * _TUNED.limit / narrowest, 41, 121))
    return np.linspace(-_TUNED.limit, _TUNED.limit, n)


def _bifactor(cells: Cells, pattern: NDArray[np.bool_], b: Array, grid: Any) -> tuple[float, Array]:
    """Log-likelihood and its gradient by items, by integrals over two abilities at a time.

    Given the general ability the specific ones are independent (Gibbons & Hedeker 1992).
    """
    m = len(grid)
    log_density = -(grid**2) / 2
    log_density -= np.log(np.exp(log_density).sum())
    general_at = np.repeat(grid, m)
    specific_at = np.tile(grid, m)
    pairs = np.stack([general_at, specific_at, np.ones(m * m)])
    of_tasks = []
    places = []
    for k, in_task in enumerate(pattern.T[1:], start=1):
        items = np.flatnonzero(in_task)
        of_tasks.append(items)
        places.append(np.ix_(items, np.array([0, k, -1])))
    logits = [b[place] @ pairs for place in places]
    total = 0.0
    by_item = np.zeros_like(b)
    n_nodes = m * m * len(of_tasks)
    for rows in blocks(len(cells.y), n_nodes, 8 * _AT_ONCE):
        answers = cells.chosen(rows)
        tried = answers.weight.astype(np.float64)
        right = tried * answers.y
        log_general = log_density
        specific = []  # Posteriors of specific abilities given the general one.
        for items, z in zip(of_tasks, logits, strict=True):
            log_joint = right[:, items] @ z
            log_joint -= tried[:, items] @ softplus(z)
            log_mass, weight = normalised(log_joint.reshape(-1, m, m) + log_density)
            log_general = log_general + log_mass
            specific.append(weight)
        log_mass, general = normalised(log_general)
        total += float(log_mass.sum())
        for items, place, z, weight in zip(of_tasks, places, logits, specific, strict=True):
            posterior = weight * general[:, :, None]
            posterior = posterior.reshape(len(weight), -1)
            n_right = right[:, items].T @ posterior
            n_tried = tried[:, items].T @ posterior
            by_item[place] += (n_right - n_tried * logistic(z)) @ pairs.T
    return total, by_item
