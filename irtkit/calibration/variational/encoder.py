"""An encoder: from a respondent's answers to a normal posterior of ability, in one pass.

Its features are the score (derivative of the log-likelihood) and the Fisher information of ability
at a few abilities, sums over the answered items that the current items give: a respondent costs a
handful of products instead of one for every node, and new items need no new encoder. A small
network corrects the scoring step that these sums imply. It is trained on the local bound

    E_q[log p(y | θ, items)] − KL(q(θ) ‖ N(0, σ²)),  q(θ) = N(m, s²),

one integral over θ by Gauss–Hermite quadrature for each answer, over some of the items at a time,
weighted to stand for all (Wu, Davis, Domingue, Piech & Goodman 2020 condition on items likewise).
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.patterns import float_blocks

if TYPE_CHECKING:
    from irtkit.irf import Array
    from irtkit.patterns import Patterns


# Measured on 3,000 × 60, 400 × 30 3PL and 60 × 800: what the bound lacks to the integral over
# ability, per respondent, and the error of abilities in posterior SDs.
ANCHORS = np.array([-1.5, 0.0, 1.5])
"""Abilities of the features: the bound lacks 0.002, 0.007 and 0.38; with 0 alone 0.003, 0.015 and
0.48."""
_WIDTH = 32
"""Units of each hidden layer: abilities are off by 0.03, 0.04 and 0.36; with 16 units by 0.04, 0.06
and 0.44, with 64 by a fifth less at nearly four times the weights."""
_RATE = 0.003
"""Learning rate of Adam. With 0.001 errors are up to twice as large, with 0.01 no smaller where
respondents are many."""
_GRADIENT_NORM = 10.0
"""Norm that gradients are clipped to; unclipped the bound of 60 × 800 ends 10 nats lower."""
_QUADRATURE_POINTS = 7
"""Gauss–Hermite points for each answer, exact for polynomials of degree 13; 15 change no bound."""
_FARTHEST_STEP = 6.0
"""Largest ability that the scoring step alone leads to; forty hard right answers would, to 23."""


class Encoder(NamedTuple):
    """Weights of the network, layer by layer, and the state of their optimiser, as flat arrays."""

    weights: tuple[Any, ...]
    optimiser: tuple[Any, ...]

    @classmethod
    def untrained(cls, seed: int) -> Encoder:
        """Random first layers and a last one of zeros: the scoring step alone."""
        generator = np.random.default_rng([seed, 0, 4])
        sizes = (2 * len(ANCHORS), _WIDTH, _WIDTH, 2)
        weights: list[Any] = []
        for k, (before, after) in enumerate(pairwise(sizes)):
            scale = 0.0 if k == len(sizes) - 2 else np.sqrt(2 / before)
            weights.append((scale * generator.normal(size=(before, after))).astype(np.float32))
            weights.append(np.zeros(after, dtype=np.float32))
        state = _optimiser().init(tuple(weights))
        return cls(tuple(weights), _flat(state))


class EncoderBatch(NamedTuple):
    """Respondents as the encoder takes them: features, and some of their answers."""

    features: Any
    """Shape (n, 2·anchors): scores at the anchors, then information."""
    precision: Any
    """Shape (n,): 1/σ² of the distribution of ability."""
    items: Any
    """Shape (n, m) or (1, m): indices of items."""
    right: Any
    """Shape (n, m)."""
    trials: Any
    """Shape (n, m): 0 where there is no answer."""
    weight: Any
    """Shape (n,): how many answers each of these stands for."""


def features_of(parameters: Array, rows: Patterns) -> Array:
    """Score and Fisher information of ability at the anchors, by respondent.

    With P = c + (1 − c)σ they are Σa(y·σ/P − σ) and Σa²(1 − c)σ²(1 − σ)/P over answers y.
    """
    from scipy.special import expit

    slope, intercept = parameters[:, 0, None], parameters[:, 1, None]
    s = expit(slope * ANCHORS + intercept)
    if parameters.shape[1] == 3:
        c = expit(parameters[:, 2, None])
        by_right = slope * s / (c + (1 - c) * s)
        information = slope * by_right * (1 - s) * s * (1 - c)
    else:
        by_right = np.broadcast_to(slope, s.shape)
        information = slope**2 * s * (1 - s)
    by_trial = np.concatenate([-slope * s, information], axis=1)
    found = []
    for _, right, answered in float_blocks(rows):
        total = np.zeros((right.shape[0], 2 * len(ANCHORS)))
        total += by_trial.sum(axis=0) if answered is None else answered @ by_trial
        total[:, : len(ANCHORS)] += right @ by_right
        found.append(total)
    return np.concatenate(found)


def encoded(encoder: Encoder, features: Array, precision: Array) -> tuple[Array, Array]:
    """Mean and SD of ability of every respondent."""
    mean, log_sd = _compiled(_encode)(encoder.weights, features, precision)
    return np.asarray(mean, dtype=np.float64), np.exp(np.asarray(log_sd, dtype=np.float64))


def bounds_of(encoder: Encoder, parameters: Array, batch: EncoderBatch) -> Array:
    """Return the bound of each respondent."""
    found = _compiled(_local_bounds)(encoder.weights, parameters, batch)
    return np.asarray(found, dtype=np.float64)


def trained(
    encoder: Encoder, parameters: Array, batch: EncoderBatch
) -> tuple[Encoder, Array, Array]:
    """Return the encoder after a step of Adam, the bound of each respondent, and its gradient.

    The gradient is that of their sum by the parameters of the items.
    """
    import jax
    import optax

    bounds, by_weights, by_items = _compiled(_bounds_and_gradients)(
        encoder.weights, parameters, batch
    )
    optimiser = _optimiser()
    structure = jax.tree.structure(optimiser.init(encoder.weights))
    state = jax.tree.unflatten(structure, encoder.optimiser)
    updates, state = _compiled(optimiser.update)(by_weights, state)
    weights = optax.apply_updates(encoder.weights, updates)
    after = Encoder(tuple(np.asarray(w) for w in weights), _flat(state))
    return after, np.asarray(bounds, dtype=np.float64), np.asarray(by_items, dtype=np.float64)


def _encode(weights: Any, features: Any, precision: Any) -> tuple[Any, Any]:
    """Mean and log SD: the scoring step from the middle anchor, corrected by the network.

    The network sees the scoring steps from all anchors, and the information there.
    """
    import jax
    import jax.numpy as jnp

    middle = len(ANCHORS) // 2
    score, information = jnp.split(features, 2, axis=1)
    total = precision[:, None] + jnp.maximum(information, 0.0)
    step = ANCHORS + (score - ANCHORS * precision[:, None]) / total
    # of the order of 1, as layers expect it
    hidden = jnp.concatenate([jnp.tanh(step / 3), jnp.log(total) / 4], axis=1)
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        hidden = jax.nn.gelu(hidden @ w + b)
    shift, log_factor = (hidden @ weights[-2] + weights[-1]).T
    mean = jnp.clip(step[:, middle], -_FARTHEST_STEP, _FARTHEST_STEP) + shift
    return mean, log_factor - 0.5 * jnp.log(total[:, middle])


def _local_bounds(weights: Any, parameters: Any, batch: EncoderBatch) -> Any:
    """E_q[log p(y | θ, items)] − KL(q(θ) ‖ N(0, σ²)) of every respondent."""
    import jax
    import jax.numpy as jnp

    points, point_weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_POINTS)
    point_weights = point_weights / point_weights.sum()
    mean, log_sd = _encode(weights, batch.features, batch.precision)
    theta = mean[:, None] + jnp.exp(log_sd)[:, None] * points
    chosen = parameters[batch.items]
    z = chosen[..., 0, None] * theta[:, None, :] + chosen[..., 1, None]
    wrong = -jax.nn.softplus(z)
    right = z + wrong
    if parameters.shape[1] == 3:
        log_c = -jax.nn.softplus(-chosen[..., 2, None])
        log_rest = -jax.nn.softplus(chosen[..., 2, None])
        right, wrong = jnp.logaddexp(log_c, log_rest + right), log_rest + wrong
    cells = batch.right[..., None] * right + (batch.trials - batch.right)[..., None] * wrong
    expected = (cells.sum(axis=1) @ point_weights) * batch.weight
    square = (mean**2 + jnp.exp(2 * log_sd)) * batch.precision
    return expected - 0.5 * (square - 1 - jnp.log(batch.precision)) + log_sd


def _bounds_and_gradients(
    weights: Any, parameters: Any, batch: EncoderBatch
) -> tuple[Any, Any, Any]:
    """Bounds, and the gradients of minus their mean by weights and of their sum by parameters."""
    import jax

    def total(weights: Any, parameters: Any) -> tuple[Any, Any]:
        bounds = _local_bounds(weights, parameters, batch)
        return bounds.sum(), bounds

    by = jax.value_and_grad(total, argnums=(0, 1), has_aux=True)
    (_, bounds), (by_weights, by_items) = by(weights, parameters)
    scale = -1 / bounds.shape[0]
    return bounds, jax.tree.map(lambda g: scale * g, by_weights), by_items


@cache
def _compiled(function: Any) -> Any:
    """Compile a function when it is first used."""
    import jax

    return jax.jit(function)


@cache
def _optimiser() -> Any:
    import optax

    return optax.chain(optax.clip_by_global_norm(_GRADIENT_NORM), optax.adam(_RATE))


def _flat(state: Any) -> tuple[Any, ...]:
    import jax

    return tuple(np.asarray(leaf) for leaf in jax.tree.leaves(state))
