"""What responses say of the items, given what is known of abilities: information by item.

For many items no items × items array is formed. There the posteriors of ability are narrow, and
what one item owes to the others is that all abilities may shift together: θ → θ + ε·φ(θ) for smooth
functions φ, among them 1 and θ, location and scale. Items and shifts make a system that is
block-diagonal in the items with a narrow border. A shift has the information of the items about it
and that of the normal distribution of ability, φ² + φ′² of every respondent. Left out is the
uncertainty of each single ability, of the order of one over the number of items, but for what it
takes from each item by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.patterns import REAL, SYNTHETIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.fitted import Fitted, Tables

    Array = NDArray[np.float64]

N_SHIFTS = 8


class System(NamedTuple):
    """Information about items and about shifts that all abilities share, priors of items left out.

    Its parts are sums over respondents.
    """

    own: Array
    """Shape (n_items, k, k): of the parameters of each item, abilities known."""
    noise: Array
    """What of it an item by itself loses as abilities follow the chance in its responses."""
    cross: Array
    """Shape (n_items, k, n_shifts): between items and shifts."""
    shared: Array
    """Shape (n_shifts, n_shifts): of the shifts."""


class Expected(NamedTuple):
    """What is expected of the responses at each node under the posteriors of ability."""

    mass: dict[int, Array]
    """Respondents of either group at each node, (n_nodes,)."""
    responses: Array
    """Responses of every item, (n_items, n_nodes), or (1, n_nodes) with complete data."""
    right: Array | None
    """Right ones, (n_items, n_nodes), if they are wanted."""
    spread: Array
    """Mean posterior variance of ability at each node."""


def expected_of(fitted: Fitted, *, right_too: bool = False) -> Expected:
    """Go over the respondents once."""
    n_items, theta = fitted.layout.n_items, fitted.theta
    complete = fitted.complete
    mass = {REAL: np.zeros(len(theta)), SYNTHETIC: np.zeros(len(theta))}
    responses = np.zeros((1 if complete else n_items, len(theta)))
    expected_right = np.zeros((n_items, len(theta))) if right_too else None
    spread = np.zeros(len(theta))
    for right, answered, weights, real in fitted.posteriors():
        mass[REAL] += weights[real].sum(axis=0)
        mass[SYNTHETIC] += weights[~real].sum(axis=0)
        spread += (weights @ theta**2 - (weights @ theta) ** 2) @ weights
        responses += weights.sum(axis=0) if complete else answered.T @ weights
        if expected_right is not None:
            expected_right += right.T @ weights
    spread /= np.maximum(mass[REAL] + mass[SYNTHETIC], 1e-300)
    return Expected(mass, responses, expected_right, spread)


def system_of(fitted: Fitted, expected: Expected) -> System:
    """Items beside shifts that all abilities share; no items × items array.

    The items of ``fitted`` need not be those that the posteriors were taken at. The information is
    the observed one where right responses were counted, and else the expected one, which is
    positive definite with guessing as well.
    """
    n_items, size, theta = fitted.layout.n_items, fitted.size, fitted.theta
    complete = fitted.complete
    values, slopes = shifts(theta)
    with_shift = np.concatenate([theta[:, None] * values, values], axis=1)
    own = np.empty((n_items, size, size))
    cross = np.empty((n_items, size, N_SHIFTS))
    noise = np.empty((n_items, size, size))
    about_shifts = np.zeros(len(theta))
    for some in fitted.parts_of_items():
        tables, slope = fitted.tables(some), fitted.items.slope[some, None]
        tried = expected.responses if complete else expected.responses[some]
        right = tried * tables.p if expected.right is None else expected.right[some]
        bends = curvatures(tables, tried, right)
        own[some] = blocks(bends, theta)
        noise[some] = _noise(tables, theta, slope, tried * expected.spread)
        weight = slope * bends[0]
        cross[some, :2] = (weight @ with_shift).reshape(-1, 2, N_SHIFTS)
        about_shifts += (slope * weight).sum(axis=0)
        if size == 3:
            cross[some, 2] = (slope * bends[1]) @ values
    shared = values.T @ (about_shifts[:, None] * values)
    for which, sd in fitted.sds.items():
        of_group = expected.mass[which][:, None]
        shared += values.T @ (of_group / sd**2 * values) + slopes.T @ (of_group * slopes)
    return System(own, noise, cross, shared)


def less_noise(own: Array, inverse: Array, noise: Array) -> Array:
    """Information of each item less ``noise``, which is held to half of what there is."""
    share = np.einsum("jkl,jlk->j", inverse, noise)
    kept = np.minimum(1.0, 0.5 / np.maximum(share, 1e-300))
    return np.asarray(own - kept[:, None, None] * noise)


def curvatures(tables: Tables, expected: Array, right: Array) -> list[Array]:
    """Minus the second derivatives at each node, abilities known.

    By the logit z = aθ + d twice, and with guessing by z and γ and by γ twice; ``expected`` and
    ``right`` are the responses and the right responses at each node.
    """
    s, p, c = tables
    rising = s * (1 - s)
    if not c.any():
        return [expected * rising]
    by_chance = c * (1 - c)
    return [
        expected * rising - right * rising / p * (1 - s * (1 - c) / p),
        right * rising * by_chance / p**2,
        expected * by_chance - right * by_chance / p * (1 - c * (1 - s) / p),
    ]


def blocks(curvatures: list[Array], theta: Array) -> Array:
    """The same by the parameters of each item, (n_items, k, k)."""
    by_logit = outer(curvatures[0], theta)
    if len(curvatures) == 1:
        return by_logit
    _, mixed, by_guessing = curvatures
    found = np.empty((len(mixed), 3, 3))
    found[:, :2, :2] = by_logit
    found[:, :2, 2] = found[:, 2, :2] = np.stack([mixed @ theta, mixed.sum(axis=1)], 1)
    found[:, 2, 2] = by_guessing.sum(axis=1)
    return found


def outer(weight: Array, theta: Array) -> Array:
    """Sum over nodes of weight times the outer product of (θ, 1), (n_items, 2, 2)."""
    entries = weight @ np.stack([theta**2, theta, np.ones_like(theta)], axis=1)
    return np.asarray(entries[:, [[0, 1], [1, 2]]])


def shifts(theta: Array) -> tuple[Array, Array]:
    """Smooth functions of ability and their derivatives, (n_nodes, N_SHIFTS)."""
    bounded = np.tanh(theta / 2)
    values = np.polynomial.legendre.legvander(bounded, N_SHIFTS - 2)
    slopes = np.stack(
        [
            np.polynomial.legendre.Legendre.basis(k).deriv()(bounded) * (1 - bounded**2) / 2
            for k in range(N_SHIFTS - 1)
        ],
        axis=1,
    )
    return np.column_stack([values, theta]), np.column_stack([slopes, np.ones_like(theta)])


def _noise(tables: Tables, theta: Array, slope: Array, spread: Array) -> Array:
    """What an item by itself loses as abilities follow the chance in its responses, (n, k, k).

    Its score at a response y is (y − P)·v(θ) with v = (θs, s, c)/P less what does not depend on
    y, and moves by (y − P)·v′(θ) plus what shifts account for. ``spread`` is the sum of posterior
    variances at each node.
    """
    s, p, c = tables
    weight = spread * p * (1 - p)
    if not c.any():
        noise = np.zeros((len(s), 2, 2))
        noise[:, 0, 0] = weight.sum(axis=1)
        return noise
    rising = slope * c * s * (1 - s) / p**2
    moved = np.stack([s / p + theta * rising, rising, -(1 - c) * rising], axis=1)
    return np.asarray((moved * weight[:, None]) @ moved.transpose(0, 2, 1))
