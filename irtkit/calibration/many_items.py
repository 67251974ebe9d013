"""Covariances of the parameters of so many items that no items × items array is formed.

By itself an item has its complete-data information less what it misses as abilities follow its own
responses, and what the prior says: a block M of its own. Items depend on each other through few
directions W: the scale and the location of all abilities may move, all items with them, and so may
what the prior learns, or a common slope. Within W the information I is taken as it is, missing
information and all; what else couples items is left out. The inverse is then

    I⁻¹ ≈ M⁻¹ + W [(WᵀIW)⁻¹ − (WᵀMW)⁻¹] Wᵀ,

which is that of the matrix that differs from M by what I adds in W (Woodbury 1950). W holds the
directions themselves and how items answer to them, M⁻¹ times the coupling. Along a common scale
nearly all of the information about items by themselves is missing, and what is left is small: it is
there that I has to be exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.information import (
    UNKNOWN,
    expected_of,
    inverse_of,
    minus_missing_information,
    system_of,
)
from irtkit.data.patterns import blocks as parts_of
from irtkit.irf import curves_of
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.information import System
    from irtkit.calibration.prior_information import PriorInformation
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, Items
    from irtkit.quadrature import Grid

    Floats = NDArray[np.floating[Any]]

_SAME = 1e-10
"""Share of the information about a direction below which others make it up."""


def covariances_of_many(
    patterns: Patterns,
    items: Items,
    grid: Grid,
    *,
    prior: PriorInformation,
    sds: tuple[float, float],
    common_slope: bool,
) -> Array:
    """Covariance of (slope, intercept, logit of guessing) of every item, (n_items, k, k).

    Items by themselves have all but a common slope.
    """
    times = np.ones(len(items.slope)) if patterns.multiplicity is None else patterns.multiplicity
    expected = expected_of(patterns, items, grid, right_too=items.logit_guessing is not None)
    system = system_of(items, expected, sds, patterns.multiplicity)
    apart = by_themselves(system, prior, times, slice(int(common_slope), None))
    of_items = directions_of_items(items, apart, system.item_blocks, prior, times)
    directions = _all_directions(of_items, apart, prior, common_slope=common_slope)
    information = information_along(directions, system.item_blocks, prior, times)
    information -= missing_information_along(directions, patterns, items, grid, times)
    covariance, n_own = inverse_of(information), of_items.shape[2]
    more = covariance[:n_own, :n_own] - np.eye(n_own)
    found, known, own = np.full(prior.blocks.shape, np.nan), apart.known, apart.own
    found[known, own, own] = apart.inverses + of_items @ more @ of_items.swapaxes(1, 2)
    if common_slope:
        found[:, 0, 0] = covariance[n_own, n_own]
        found[known, 0, 1] = found[known, 1, 0] = of_items[:, 0] @ covariance[:n_own, n_own]
    return found


class Apart(NamedTuple):
    """What is known of items by themselves: M of those of which it determines all parameters."""

    own: slice
    """Parameters that items have to themselves: all but a common slope."""
    known: NDArray[np.bool_]
    """Which items these are, (n_items,); arrays below have shape (n_known, k, k)."""
    blocks: Array
    inverses: Array


def by_themselves(system: System, prior: PriorInformation, times: Array, own: slice) -> Apart:
    """M of every item: what data and prior say of it, less what it misses by its own responses."""
    blocks = (system.item_blocks + prior.blocks / times[:, None, None])[:, own, own]
    known = np.linalg.eigvalsh(blocks)[:, 0] > UNKNOWN
    blocks, missing = blocks[known], system.missing_information[known][:, own, own]
    blocks = minus_missing_information(blocks, _inverses(blocks), missing)
    return Apart(own, known, blocks, _inverses(blocks))


def directions_of_items(
    items: Items, apart: Apart, by_data: Array, prior: PriorInformation, times: Array
) -> Array:
    """W in parameters that items have to themselves, (n_known, k, r): see the module.

    A common scale, a common location, and how items answer to these and to what the prior learns.
    """
    moved = np.zeros((len(apart.known), len(prior.blocks[0]), 2))
    moved[:, 0, 0] = moved[:, 1, 1] = items.slope
    coupling = np.concatenate([by_data @ moved, prior.border / times[:, None, None]], axis=2)
    answers = apart.inverses @ coupling[apart.known][:, apart.own]
    spanned = np.concatenate([moved[apart.known][:, apart.own], answers], axis=2)
    return _orthonormal(spanned, apart.blocks, times[apart.known])


def _all_directions(
    of_items: Array, apart: Apart, prior: PriorInformation, *, common_slope: bool
) -> Array:
    """The same, then a common slope, then what the prior learns, which moves no item."""
    n_own, size = of_items.shape[2], len(prior.blocks[0])
    directions = np.zeros((len(apart.known), size, n_own + common_slope + len(prior.corner)))
    directions[apart.known, apart.own, :n_own] = of_items
    if common_slope:
        directions[:, 0, n_own] = 1.0
    return directions


def information_along(
    directions: Array, by_data: Array, prior: PriorInformation, times: Array
) -> Array:
    """Complete-data information along directions, what the prior learns being the last of them."""
    n_learned, n = len(prior.corner), directions.shape[2]
    learned = np.eye(n_learned, n, n - n_learned)
    weighted = times[:, None, None] * by_data + prior.blocks
    beside = np.tensordot(directions, prior.border, ((0, 1), (0, 1))) @ learned
    information = np.tensordot(directions, weighted @ directions, ((0, 1), (0, 1)))
    return np.asarray(information + beside + beside.T + learned.T @ prior.corner @ learned)


def _inverses(blocks: Array) -> Array:
    return np.asarray(np.linalg.inv(blocks), dtype=np.float64)


def _orthonormal(directions: Array, information: Array, times: Array) -> Array:
    """Return directions that span the same, whose information is 1."""
    weighted = (times[:, None, None] * information) @ directions
    gram = np.tensordot(directions, weighted, ((0, 1), (0, 1)))
    size = np.sqrt(np.diag(gram))
    size[size == 0] = np.inf
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    kept = values > _SAME
    return np.asarray(directions / size @ (vectors[:, kept] / np.sqrt(values[kept])))


def missing_information_along(
    directions: Array, patterns: Patterns, items: Items, grid: Grid, times: Array
) -> Array:
    """Posterior covariance of scores, summed over respondents, along some directions, (r, r).

    ``directions`` has shape (n_items, k, r). Along one the logit of an item moves by
    m(θ) = θ·slope + intercept, and its score is right · m − responses · s·m; with guessing
    right · (s·m + c·logit)/P − responses · s·m. What is constant in θ has no covariance.
    """
    theta, guesses = grid.nodes.theta, items.logit_guessing is not None
    counted = times[:, None, None] * directions
    of_slopes, each = counted[:, 0], np.moveaxis(counted, 2, 0)
    expected, total = np.zeros((len(each), len(theta))), np.zeros((len(each),) * 2)
    for some in parts_of(len(times), 2 * len(theta)):
        s = curves_of(items.chosen(some), theta).s
        expected += theta * (of_slopes[some].T @ s) + counted[some, 1].T @ s
    curves = curves_of(items, theta) if guesses or not patterns.complete else None
    for part in posterior_weights(patterns, items, grid):
        scores = np.empty((len(each), *part.weights.shape))
        scores[:] = -expected[:, :, None]
        if curves is not None:
            for score, along in zip(scores, each, strict=True):
                moved = curves.s * (np.multiply.outer(along[:, 0], theta) + along[:, 1:2])
                if part.answered is not None:
                    np.negative((part.answered @ moved).T, out=score)
                if guesses:
                    by_right = (moved + curves.c * along[:, 2:]) / curves.p
                    np.add(score, (part.right @ by_right).T, out=score)
        if not guesses:
            scores += np.multiply.outer((part.right @ of_slopes).T, theta).swapaxes(1, 2)
        scores -= np.einsum("rtn,tn->rn", scores, part.weights)[:, None]
        scores *= np.sqrt(part.counted)
        flat = scores.reshape(len(scores), -1)
        total += flat @ flat.T
    return total
