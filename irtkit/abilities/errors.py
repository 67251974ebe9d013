"""Standard errors of several abilities and of their items, from the observed information.

The information is what known abilities would give less what is missing of it, the posterior
variance of the scores (Louis 1982), and minus the second derivatives of the prior, whose mean
follows the items. With few parameters it is formed as a whole, by quadrature. With many it is taken
along the directions W in which items move together, as for one ability
(:mod:`irtkit.calibration.standard_errors`): as abilities are mapped linearly and shifted, and as
items answer to that. With M the information of items by themselves and WᵀMW = 1, by Woodbury (1950)

    I⁻¹ ≈ M⁻¹ + W [(WᵀIW)⁻¹ − 1] Wᵀ.

Rotations of free axes are projected out. A posterior mean of abilities moves with the items by
VG, G the second derivatives of the log-likelihood by abilities and items, so that it errs by
V + VG Cov GᵀV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.abilities.engine import WEAK, item_means, items_turned_by
from irtkit.abilities.likelihood import MOST_DIMENSIONS, PER_ABILITY, log_density, nodes_of
from irtkit.calibration.standard_errors import ItemCovariance
from irtkit.data.patterns import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.abilities.engine import Cells, Fitted
    from irtkit.irf import Array

_MOST_DENSE, _MOST_WORK = 600, 5e9  # Parameters and products of an information formed as a whole.
_FEW_NODES = 3  # Nodes per ability of sums along directions.
_AT_ONCE = 2**18  # Cells times nodes worked on at once.
_SAME = 1e-8  # Share of the information about a direction below which others make it up.
_MOST_MISSING = 0.95  # Share of what is known of an item that it may miss by itself.
_LEAST_SHARE = 1e-4  # Share of what items know by themselves that is left of a direction at least.


def covariances(cells: Cells, fitted: Fitted) -> tuple[ItemCovariance, Array]:
    """Covariance of the parameters of all items, and errors of correlations."""
    k, design = fitted.design.n_abilities, fitted.design
    free = np.column_stack([design.pattern, np.ones(len(design.pattern), bool)])
    n_free, errors = int(free.sum()), np.full((k, k), np.nan)
    pairs = np.tril_indices(k, -1) if design.correlated else (np.zeros(0, int),) * 2
    n_nodes, size = float(PER_ABILITY**k), n_free + len(pairs[0])
    if design.correlated:
        errors = _by_scores(fitted, cells)
    work = len(cells.y) * n_nodes * size**2
    if k <= MOST_DIMENSIONS and size <= _MOST_DENSE and work <= _MOST_WORK:
        whole = _inverse(_louis(cells, fitted, free, pairs), fitted, free)
        if whole is not None:
            variance = np.diag(whole)[n_free:]
            errors[pairs] = errors[pairs[::-1]] = np.sqrt(variance)
            return _joint(np.zeros_like(fitted.items.covariance), _each(free), whole), errors
    return _in_common(cells, fitted, free), errors


def turned(joint: ItemCovariance, theta: Array) -> ItemCovariance:
    """Return the covariance of items with abilities θ @ theta."""
    by = items_turned_by(theta)
    return joint._replace(own=by @ joint.own @ by.T, moves=by @ joint.moves)


def _joint(own: Array, moves: Array, core: Array) -> ItemCovariance:
    n = moves.shape[2]
    return ItemCovariance(own, moves, core[:n, :n], np.zeros((2, n)))


def _each(free: NDArray[np.bool_]) -> Array:
    """Directions of single parameters, (n_items, K + 1, n_free)."""
    n_free = int(free.sum())
    found = np.zeros((*free.shape, n_free))
    found[free] = np.eye(n_free)
    return found


def _turns(fitted: Fitted) -> Array:
    """Orthonormal directions in which rotations of free axes move the items."""
    slopes, k = fitted.items.mean[:, :-1], fitted.design.n_abilities
    columns = []
    for one, other in zip(*(part.tolist() for part in np.tril_indices(k, -1)), strict=True):
        moved = np.zeros_like(fitted.items.mean)
        moved[:, one], moved[:, other] = slopes[:, other], -slopes[:, one]
        columns.append(moved.ravel())
    if not fitted.design.free:
        return np.zeros((*fitted.items.mean.shape, 0))
    turns = np.linalg.qr(np.stack(columns, axis=1))[0]
    return turns.reshape(*fitted.items.mean.shape, -1)


def _inverse(whole: Array, fitted: Fitted, free: NDArray[np.bool_]) -> Array | None:
    """Inverse of the information, rotations projected out; None if it is not positive definite."""
    turns = _turns(fitted)[free]
    turns = np.pad(turns, ((0, len(whole) - len(turns)), (0, 0)))
    weight = float(np.mean(np.diag(whole)))
    try:
        root = np.linalg.cholesky(whole + weight * turns @ turns.T)
    except np.linalg.LinAlgError:
        return None
    inverse = np.linalg.inv(root)
    return np.asarray(inverse.T @ inverse - turns @ turns.T / weight)


class _Piece(NamedTuple):
    """Nodes of the posteriors of some respondents, and the scores of items there."""

    rows: slice
    x: Array  # (n, n_nodes, K + 1), the last coordinate 1.
    weight: Array  # (n, n_nodes), of sum 1.
    residual: Any  # Scores of intercepts, (n, n_nodes, n_items).
    curvature: Any  # Information about logits, of the same shape.

    def along(self, moves: Any) -> Array:
        """Scores along directions, less their posterior means, (n, n_nodes, n_directions)."""
        by_parameter = np.tensordot(self.residual, moves, (2, 0))
        scores = np.einsum("nqd,nqdr->nqr", self.x, by_parameter, optimize=True)
        return np.asarray(scores - np.einsum("nq,nqr->nr", self.weight, scores)[:, None])


def _pieces(cells: Cells, fitted: Fitted, most: float, per_ability: int = 0) -> Iterator[_Piece]:
    """Go over the respondents, with at most so many cells times nodes at once.

    Without a number of nodes, or with many abilities, they are of the cubature rule of degree 3.
    """
    b, k = fitted.items.mean, fitted.design.n_abilities
    few = per_ability > 0 and k <= MOST_DIMENSIONS
    n_nodes = per_ability**k if few else 2 * k
    for rows in blocks(len(cells.y), n_nodes * len(b), int(most)):
        some = cells.chosen(rows)
        if few:
            x, log_weight = nodes_of(fitted, rows, per_ability)
        else:
            root = np.sqrt(k) * np.linalg.cholesky(fitted.ability_covariance[rows])
            moved = np.pad(np.concatenate([root, -root], axis=2), ((0, 0), (0, 1), (0, 0)))
            x = fitted.respondents.mean[rows][:, None] + moved.transpose(0, 2, 1)
        z = x.astype(np.float32) @ b.T.astype(np.float32)
        h = np.exp(-np.abs(z))
        p = np.where(z >= 0, np.float32(1), h) / (1 + h)
        residual, curvature = some.y[:, None, :] - p, p * (1 - p)
        if some.weight is not None:
            residual *= some.weight[:, None, :]
            curvature *= some.weight[:, None, :]
        weight = np.full(x.shape[:2], 1 / n_nodes)
        if few:
            right = some.weighed.astype(np.float64) @ b
            log_joint = (x * right[:, None, :]).sum(axis=2) + log_weight
            soft = np.log(1 + h) + np.maximum(z, 0)
            if some.weight is not None:
                soft *= some.weight[:, None, :]
            log_joint -= soft.sum(axis=2, dtype=np.float64)
            log_joint += log_density(x[:, :, :-1], fitted.correlations)
            weight = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
            weight /= weight.sum(axis=1, keepdims=True)
        yield _Piece(rows, x, weight, residual, curvature)


def _in_common(cells: Cells, fitted: Fitted, free: NDArray[np.bool_]) -> ItemCovariance:
    """Covariance by items' own information and the directions in which they move together."""
    k, (n_items, d) = fitted.design.n_abilities, free.shape
    of_prior, reached = _prior_precision(fitted, free), fitted.items.covariance
    slopes, group = fitted.items.mean[:, None, None, :k], fitted.design.group
    of_group = (group[:, None] == np.arange(group.max() + 1)).astype(np.float64)
    learned = np.einsum("jg,ab->jagb", of_group, np.eye(d))
    mapped = np.eye(d)[:, :, None] * slopes
    if not fitted.design.free:  # tasks of a bifactor model share their variance in several ways
        mapped = mapped[..., None] * of_group[:, None, None, None]
    mapped, learned = (part.reshape(n_items, d, -1) for part in (mapped, learned))
    mapped, learned = (part * free[:, :, None] for part in (mapped, learned))
    by_prior = of_prior @ np.concatenate([mapped, learned], axis=2)
    spanned = np.concatenate([mapped, reached @ mapped, reached @ by_prior], axis=2)
    spanned = spanned[:, :, spanned.any(axis=(0, 1))]
    spanned /= np.sqrt((spanned**2).sum(axis=(0, 1)))
    narrow, missing_along = spanned.astype(np.float32), np.zeros((spanned.shape[2],) * 2)
    known, missing = np.zeros((2, n_items, d * d))
    for piece in _pieces(cells, fitted, _AT_ONCE, _FEW_NODES):
        squares = (piece.x[..., :, None] * piece.x[..., None, :]).reshape(-1, d * d)
        squares = (squares * piece.weight.reshape(-1, 1)).astype(np.float32)
        flat = piece.residual.reshape(-1, n_items)
        known += piece.curvature.reshape(-1, n_items).T @ squares
        missing += (flat**2).T @ squares
        weighted = (piece.x * piece.weight[..., None]).astype(np.float32)
        mean = weighted.transpose(0, 2, 1) @ piece.residual  # (n, d, n_items)
        missing -= np.einsum("naj,nbj->jab", mean, mean, optimize=True).reshape(n_items, -1)
        scores = piece.along(narrow) * np.sqrt(piece.weight)[..., None]
        missing_along += np.tensordot(scores, scores, ((0, 1), (0, 1)))
    both = free[:, :, None] & free[:, None, :]
    known = (known.reshape(n_items, d, d) + of_prior) * both
    missing, fixed = missing.reshape(n_items, d, d) * both, ~free[:, :, None] * np.eye(d)
    alone = _less(known + fixed, missing)
    inverses = np.linalg.inv(alone) * both
    if fitted.prior:
        missing_along += _of_means(spanned, of_prior, fitted)

    gram = np.tensordot(spanned, alone @ spanned, ((0, 1), (0, 1)))
    lengths = np.sqrt(np.diag(gram))
    lengths[lengths == 0] = np.inf
    values, vectors = np.linalg.eigh(gram / np.outer(lengths, lengths))
    kept = values > _SAME
    turn = vectors[:, kept] / np.sqrt(values[kept]) / lengths[:, None]
    directions = spanned @ turn
    information = np.tensordot(directions, known @ directions, ((0, 1), (0, 1)))
    information -= turn.T @ missing_along @ turn
    turns, weight = _turns(fitted), float(known[free[:, :, None] * np.eye(d, dtype=bool)].mean())
    along = np.tensordot(directions, turns, ((0, 1), (0, 1)))
    information += weight * along @ along.T
    values, vectors = np.linalg.eigh(information)
    inverse = (vectors / np.maximum(values, _LEAST_SHARE)) @ vectors.T
    core = np.zeros((len(inverse) + turns.shape[2],) * 2)
    core[: len(inverse), : len(inverse)] = inverse - np.eye(len(inverse))
    core[len(inverse) :, len(inverse) :] = -np.eye(turns.shape[2]) / weight
    return _joint(np.asarray(inverses, float), np.concatenate([directions, turns], axis=2), core)


def _less(known: Array, missing: Array) -> Array:
    """What is known of items less what is missing, at most a share of it in every direction."""
    root = np.linalg.cholesky(known)
    inverse = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(inverse @ missing @ inverse.transpose(0, 2, 1))
    turned = root @ vectors
    left = 1 - np.minimum(values, _MOST_MISSING)
    return np.asarray((turned * left[:, None]) @ turned.transpose(0, 2, 1))


def _of_means(moves: Array, of_prior: Array, fitted: Fitted) -> Array:
    """What the prior does not say of directions, since its mean follows the items."""
    means = [item_means(one, fitted.design) for one in np.moveaxis(moves, 2, 0)]
    return np.asarray(np.tensordot(moves, of_prior @ np.stack(means, axis=2), ((0, 1), (0, 1))))


def ability_covariances(cells: Cells, fitted: Fitted, joint: ItemCovariance) -> Array:
    """Covariances of the errors of abilities, those of items included, (n, K, K).

    Posterior covariances of the fit treat the uncertainty of slopes as information. Posteriors with
    known items take their place here.
    """
    variance, k = fitted.ability_covariance, fitted.design.n_abilities
    known, found = np.empty_like(variance), np.empty_like(variance)
    own, narrow = joint.own.astype(np.float32), joint.moves.astype(np.float32)
    (n_items, d), slopes = own.shape[:2], fitted.items.mean[:, :-1]
    products = (slopes[:, :, None] * slopes[:, None, :]).reshape(n_items, -1).astype(np.float32)
    for piece in _pieces(cells, fitted, _AT_ONCE):
        theta = piece.x[:, :, :-1]
        mean = np.einsum("nq,nqk->nk", piece.weight, theta)
        theta = (theta - mean[:, None]) * piece.weight[..., None]
        by_moves = theta.transpose(0, 2, 1) @ piece.along(narrow)
        added = by_moves @ joint.core @ by_moves.transpose(0, 2, 1)
        if own.any():
            each = (theta[..., :, None] * piece.x[..., None, :]).astype(np.float32)
            by_item = each.reshape(*theta.shape[:2], -1).transpose(0, 2, 1) @ piece.residual
            by_item = by_item.reshape(len(theta), -1, d, n_items)  # Cov(θ, score)
            moved = np.einsum("nkaj,jab->nkbj", by_item, own, optimize=True)
            flat = (part.reshape(*part.shape[:2], -1) for part in (by_item, moved))
            added += next(flat) @ next(flat).transpose(0, 2, 1)
        found[piece.rows] = added
        known[piece.rows] = (piece.curvature.mean(axis=1) @ products).reshape(-1, k, k)
    posterior = np.linalg.inv(known + np.linalg.inv(fitted.correlations))
    wider = posterior @ np.linalg.inv(variance)
    whole = posterior + wider @ found @ wider.transpose(0, 2, 1)
    size = np.diagonal(whole, axis1=1, axis2=2) / np.diag(fitted.correlations)
    shrink = np.minimum(1 / np.sqrt(size), 1.0)  # the population varies no more
    return np.asarray(whole * shrink[:, :, None] * shrink[:, None, :])


def _prior_precision(fitted: Fitted, free: NDArray[np.bool_]) -> Array:
    """Precision of the item distribution, (n_items, K + 1, K + 1); next to 0 without a prior."""
    d = free.shape[1]
    if not fitted.prior:
        return np.broadcast_to(WEAK * np.eye(d), (len(free), d, d))
    whole = fitted.spread.copy()
    whole[:, range(d), range(d)] += ~free
    return np.asarray(np.linalg.inv(whole))


def _own_blocks(blocks_of_items: Array, free: NDArray[np.bool_], size: int) -> Array:
    """Matrix with the blocks of items on its diagonal."""
    place = np.cumsum(free.ravel()).reshape(free.shape) - 1
    whole = np.zeros((size, size))
    j, a, b = np.nonzero(free[:, :, None] & free[:, None, :])
    whole[place[j, a], place[j, b]] = blocks_of_items[j, a, b]
    return whole


def _louis(cells: Cells, fitted: Fitted, free: NDArray[np.bool_], pairs: Any) -> Array:
    """Observed information of items and correlations, with the prior."""
    n_items, d = free.shape
    n_free, inverse = int(free.sum()), np.linalg.inv(fitted.correlations)
    of_prior = _prior_precision(fitted, free)
    own, whole = of_prior.copy(), np.zeros((n_free + len(pairs[0]),) * 2)
    flat = np.flatnonzero(free.ravel())
    second, n = np.zeros((d - 1, d - 1)), len(cells.y)
    for piece in _pieces(cells, fitted, 4e6 / d, PER_ABILITY):
        weight, points = piece.weight.reshape(-1, 1), piece.x.reshape(-1, d)
        squares = (points[:, :, None] * points[:, None, :]).reshape(-1, d * d)
        pieces = piece.curvature.reshape(-1, n_items) * weight
        own += (pieces.T @ squares).reshape(n_items, d, d)
        residual = piece.residual.reshape(-1, n_items)
        scores = (residual[:, :, None] * points[:, None, :]).reshape(len(points), -1)[:, flat]
        if len(pairs[0]):
            theta = points[:, :-1] @ inverse
            scores = np.hstack([scores, theta[:, pairs[0]] * theta[:, pairs[1]]])
            second += theta.T @ (theta * weight)
        mean = (scores.reshape(*piece.x.shape[:2], -1) * piece.weight[:, :, None]).sum(axis=1)
        rooted = scores * np.sqrt(weight)
        whole -= rooted.T @ rooted - mean.T @ mean
    whole += _own_blocks(own, free, len(whole))
    if fitted.prior:
        whole[:n_free, :n_free] -= _of_means(_each(free), of_prior, fitted)
    # of Σ log φ(θ; R): −∂²/∂r∂s = tr(R⁻¹ E_r R⁻¹ E_s R⁻¹ S) − n/2 tr(R⁻¹ E_r R⁻¹ E_s)
    units = []
    for one, other in zip(*pairs, strict=True):
        unit = np.zeros_like(inverse)
        unit[one, other] = unit[other, one] = 1.0
        units.append(unit)
    for r, first in enumerate(units):
        for s, other in enumerate(units):
            value = np.trace(first @ inverse @ other @ second)
            value -= n / 2 * np.trace(inverse @ first @ inverse @ other)
            whole[n_free + r, n_free + s] += value
    return whole


def _by_scores(fitted: Fitted, cells: Cells) -> Array:
    """Errors of correlations by cross products of scores, variances of abilities free as well."""
    k, n = fitted.design.n_abilities, len(cells.y)
    inverse = np.linalg.inv(fitted.correlations)
    second = fitted.ability_covariance + fitted.ability[:, :, None] * fitted.ability[:, None, :]
    score = (inverse @ second @ inverse - inverse) / 2
    rows, columns = np.tril_indices(k)
    parts = score[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)
    covariance = np.linalg.pinv(parts.T @ parts * (n / max(n - 1, 1)))
    errors = np.full((k, k), np.nan)
    place = {pair: at for at, pair in enumerate(zip(rows.tolist(), columns.tolist(), strict=True))}
    for one, other in zip(*(part.tolist() for part in np.tril_indices(k, -1)), strict=True):
        at = [place[one, other], place[one, one], place[other, other]]
        r = fitted.correlations[one, other]
        slope = np.array([1.0, -r / 2, -r / 2])  # of σ₁₂/√(σ₁₁σ₂₂)
        errors[one, other] = errors[other, one] = np.sqrt(
            slope @ covariance[np.ix_(at, at)] @ slope
        )
    return errors
