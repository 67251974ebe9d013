"""Information about items: complete-data information, and the arrowhead matrix of many items.

The observed information about the items is the *complete-data information*, which known abilities
would give and which has a block for every item, minus the *missing information*, the posterior
covariance of the complete-data score summed over respondents (Louis 1982).

With many items no items × items array is formed. All abilities may move together,
θ → θ + Σᵣ εᵣφᵣ(θ), with smooth φᵣ, and the information about items and ε is an arrowhead matrix: a
block for every item, a narrow border, and a common block, to which the distribution of ability adds
φ² + φ′² of every respondent. Standard errors take its blocks (:mod:`.standard_errors`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import GROUPS, blocks
from irtkit.irf import complete_data_information, curvatures, curves_of
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, Curves, Items
    from irtkit.quadrature import Grid

UNKNOWN = 1e-10  # Information below which a parameter is not identified; of a response it is 0.25.
N_COMMON = 8  # Functions in the common ability basis.


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
