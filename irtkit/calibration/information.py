"""Information about items: complete-data information, and the arrowhead matrix of many items.

The observed information about the items is the *complete-data information*, which known abilities
would give and which has a block for every item, minus the *missing information*, the posterior
covariance of the complete-data score summed over respondents (Louis 1982).

With many items no items × items array is formed. Posteriors of ability are then narrow, and items
depend on each other because all abilities may move together: θ → θ + Σᵣ εᵣφᵣ(θ) with a basis of
smooth functions φᵣ, among them 1 and θ, location and scale. The information about items and ε is
an arrowhead (block-bordered) matrix: a block for every item, a narrow border that couples items
with ε, and a common block, to which the normal distribution of ability adds φ² + φ′² of every
respondent. Left out is the uncertainty of each single ability, of the order of one over the number
of items, but for the information that every item by itself misses through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from irtkit.patterns import GROUPS, blocks
from irtkit.quadrature.formulas import LEAST_LOGIT
from irtkit.quadrature.posterior_weights import posterior_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Items
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Grid

    Array = NDArray[np.float64]

N_COMMON = 8
"""Functions in the common ability basis; tests compare with the whole matrix what they find."""


class Curves(NamedTuple):
    """Item curves at some abilities, each (n_items, n_nodes)."""

    s: Array
    """σ(aθ + d)."""
    p: Array
    """P(right)."""
    c: Array
    """Guessing, (n_items, 1)."""


class System(NamedTuple):
    """Arrowhead information about items and common changes of ability, priors left out."""

    item_blocks: Array
    """Shape (n_items, k, k): complete-data information about the parameters of each item."""
    missing_information: Array
    """Same shape: what of it each item by itself misses, as abilities are known from responses."""
    coupling: Array
    """Shape (n_items, k, N_COMMON): between items and the common ability basis."""
    common_block: Array
    """Shape (N_COMMON, N_COMMON): about the coefficients of the basis."""


class Expected(NamedTuple):
    """What is expected of the responses at each node under the posteriors of ability."""

    theta: Array
    """Nodes that some respondent may be at, (n_nodes,)."""
    mass: Array
    """Real and synthetic respondents, (2, n_nodes)."""
    responses: Array
    """Responses of every item, (n_items, n_nodes), or (1, n_nodes) with complete data."""
    right: Array | None
    """Right ones, (n_items, n_nodes), if they are wanted."""
    variance: Array
    """Mean posterior variance of ability, (n_nodes,)."""


def curves_of(items: Items, theta: Array) -> Curves:
    """Curves of items at abilities θ."""
    s = np.asarray(expit(np.multiply.outer(items.slope, theta) + items.intercept[:, None]))
    if items.logit_guessing is None:
        return Curves(s, s, np.zeros((len(s), 1)))
    c = np.asarray(expit(np.maximum(items.logit_guessing, LEAST_LOGIT)))[:, None]
    return Curves(s, c + (1 - c) * s, c)


def expected_of(
    patterns: Patterns, items: Items, grid: Grid, *, right_too: bool = False
) -> Expected:
    """Go over the respondents once."""
    theta, n_items = grid.nodes.theta, len(items.slope)
    mass, variance = np.zeros((len(GROUPS), len(theta))), np.zeros(len(theta))
    responses = np.zeros((len(theta), 1 if patterns.complete else n_items))
    right_sum = np.zeros((len(theta), n_items)) if right_too else None
    for some, right, answered, weights, counted in posterior_weights(patterns, items, grid):
        mass += (patterns.group[some] == np.array(GROUPS)[:, None]) @ counted.T
        variance += counted @ (theta**2 @ weights - (theta @ weights) ** 2)
        responses += counted.sum(axis=1)[:, None] if answered is None else counted @ answered
        if right_sum is not None:
            right_sum += counted @ right
    kept = mass.any(axis=0)
    return Expected(
        theta[kept],
        mass[:, kept],
        responses[kept].T,
        None if right_sum is None else right_sum[kept].T,
        variance[kept] / mass[:, kept].sum(axis=0),
    )


def system_of(
    items: Items, expected: Expected, sds: tuple[float, float], copies: Array | None = None
) -> System:
    """Arrowhead information about items beside common changes of ability.

    The items need not be those that the posteriors were taken at; ``sds`` are the SDs of ability
    of real and of synthetic respondents, ``copies`` how many items share each column. The
    information is the observed one where right responses
    were counted, and else the expected one, which is positive definite with guessing as well.
    """
    theta, n_items = expected.theta, len(items.slope)
    size = 2 if items.logit_guessing is None else 3
    values, derivatives = common_ability_basis(theta)
    with_theta = np.concatenate([theta[:, None] * values, values], axis=1)
    item_blocks, missing = np.empty((2, n_items, size, size))
    coupling = np.empty((n_items, size, N_COMMON))
    about_common = np.zeros(len(theta))
    for some in blocks(n_items, 2 * len(theta)):
        part = items.chosen(some)
        curves, slope = curves_of(part, theta), part.slope[:, None]
        responses = expected.responses[some if len(expected.responses) > 1 else slice(None)]
        right = None if expected.right is None else expected.right[some]
        second = curvatures(curves, responses, right)
        item_blocks[some] = complete_data_information(second, theta)
        missing[some] = _missing_information(curves, slope, second[0], responses, expected)
        by_logit = (second[0] @ with_theta).reshape(-1, 2, N_COMMON)
        coupling[some, :2] = slope[:, :, None] * by_logit
        weight = slope[:, 0] ** 2 if copies is None else copies[some] * slope[:, 0] ** 2
        about_common += weight @ second[0]
        if size == 3:
            coupling[some, 2] = slope * (second[1] @ values)
    common = values.T @ (about_common[:, None] * values)
    for of_group, sd in zip(expected.mass[:, :, None], sds, strict=True):
        common += values.T @ (of_group / sd**2 * values) + derivatives.T @ (of_group * derivatives)
    return System(item_blocks, missing, coupling, common)


def minus_missing_information(blocks: Array, inverse: Array, missing: Array) -> Array:
    """Information of each item less what it misses, which is held to half of what there is."""
    share = np.einsum("jkl,jlk->j", inverse, missing)
    kept = np.minimum(1.0, 0.5 / np.maximum(share, 1e-300))
    return np.asarray(blocks - kept[:, None, None] * missing)


def curvatures(curves: Curves, responses: Array, right: Array | None = None) -> list[Array]:
    """Minus the second derivatives of the complete-data log-likelihood at each ability.

    By the logit z = aθ + d twice, and with guessing by z and γ and by γ twice; ``responses`` and
    ``right`` are those at each ability, right ones being as many as the curves say if not given.
    """
    s, p, c = curves
    rising = s * (1 - s)
    if not c.any():
        return [responses * rising]
    right = responses * p if right is None else right
    by_chance = c * (1 - c)
    return [
        responses * rising - right * rising / p * (1 - s * (1 - c) / p),
        right * rising * by_chance / p**2,
        responses * by_chance - right * by_chance / p * (1 - c * (1 - s) / p),
    ]


def complete_data_information(curvatures: list[Array], theta: Array) -> Array:
    """Curvatures summed by the parameters of each item, (n_items, k, k)."""
    powers = np.stack([theta**2, theta, np.ones_like(theta)], axis=1)
    by_logit = (curvatures[0] @ powers)[:, [[0, 1], [1, 2]]]
    if len(curvatures) == 1:
        return np.asarray(by_logit)
    _, mixed, by_guessing = curvatures
    found = np.empty((len(mixed), 3, 3))
    found[:, :2, :2] = by_logit
    found[:, :2, 2] = found[:, 2, :2] = mixed @ powers[:, 1:]
    found[:, 2, 2] = by_guessing.sum(axis=1)
    return found


def common_ability_basis(theta: Array) -> tuple[Array, Array]:
    """Smooth functions of ability and their derivatives, (n_nodes, N_COMMON).

    Legendre polynomials of tanh(θ/2), which are bounded, and θ itself.
    """
    bounded = np.tanh(theta / 2)
    values = np.polynomial.legendre.legvander(bounded, N_COMMON - 2)
    by_bounded = np.polynomial.legendre.legder(np.eye(N_COMMON - 1))
    derivatives = np.polynomial.legendre.legval(bounded, by_bounded).T
    derivatives *= (1 - bounded[:, None] ** 2) / 2
    return np.column_stack([values, theta]), np.column_stack([derivatives, np.ones_like(theta)])


def _missing_information(
    curves: Curves, slope: Array, second: Array, responses: Array, expected: Expected
) -> Array:
    """Information each item by itself misses as abilities follow its responses, (n_items, k, k).

    Its score at a response y is (y − P)·v(θ) with v = (θs, s, c)/P less what does not depend on
    y, and moves with θ by (y − P)·v′(θ) plus what common changes account for.
    """
    s, p, c = curves
    if not c.any():
        missing = np.zeros((len(s), 2, 2))
        missing[:, 0, 0] = second @ expected.variance
        return missing
    weight = responses * expected.variance * p * (1 - p)
    rising = slope * c * s * (1 - s) / p**2
    moved = np.stack([s / p + expected.theta * rising, rising, -(1 - c) * rising], axis=1)
    return np.asarray((moved * weight[:, None]) @ moved.transpose(0, 2, 1))
