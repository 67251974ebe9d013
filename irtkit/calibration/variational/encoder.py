"""An encoder: from a respondent's answers to a normal posterior of ability, in one pass.

What the encoder sees are sums over the answered items of the slope and the curvature of the
log-likelihood at a few abilities, which the current items give: a respondent costs a handful of
products instead of one for every node, and new items need no new encoder. A small network corrects
the Newton step that these sums imply. It is trained on the local bound

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
    from numpy.typing import NDArray

    from irtkit.patterns import Patterns

    Array = NDArray[np.float64]

ANCHORS = np.array([-1.5, 0.0, 1.5])
"""Abilities at which the encoder looks at the log-likelihood."""
_WIDTH = 32
_RATE = 0.003
_HERMITE = 7
_LEAST_LOG_SD, _MOST_LOG_SD = -7.0, 2.0


class Encoder(NamedTuple):
    """Weights of the network, layer by layer, and the state of their optimiser, as flat arrays."""

    weights: tuple[Any, ...]
    optimiser: tuple[Any, ...]

    @classmethod
    def untrained(cls, seed: int) -> Encoder:
        """Random first layers and a last one of zeros: the Newton step alone."""
        generator = np.random.default_rng([seed, 0, 4])
        sizes = (2 * len(ANCHORS), _WIDTH, _WIDTH, 2)
        weights: list[Any] = []
        for k, (before, after) in enumerate(pairwise(sizes)):
            scale = 0.0 if k == len(sizes) - 2 else np.sqrt(2 / before)
            weights.append((scale * generator.normal(size=(before, after))).astype(np.float32))
            weights.append(np.zeros(after, dtype=np.float32))
        state = _optimiser().init(tuple(weights))
        return cls(tuple(weights), _flat(state))


class Seen(NamedTuple):
    """What is known of some respondents: features, and some of their answers."""

    features: Any
    """Shape (n, 2·anchors): slopes of the log-likelihood at the anchors, then curvatures."""
    precision: Any
    """Shape (n,): 1/σ² of the distribution of ability."""
    items: Any
    """Shape (n, m) or (1, m): which items."""
    right: Any
    """Shape (n, m)."""
    trials: Any
    """Shape (n, m): 0 where there is no answer."""
    weight: Any
    """Shape (n,): how many answers each of these stands for."""


def features_of(parameters: Array, rows: Patterns) -> Array:
    """Slope and curvature of the log-likelihood at the anchors for every respondent."""
    from scipy.special import expit

    slope, intercept = parameters[:, 0, None], parameters[:, 1, None]
    s = expit(slope * ANCHORS + intercept)
    odds = slope
    if parameters.shape[1] == 3:
        c = expit(parameters[:, 2, None])
        odds = slope * s / (c + (1 - c) * s)
        bend = slope * odds * (1 - s) * s * (1 - c)
    else:
        bend = slope**2 * s * (1 - s)
    by_right = np.broadcast_to(odds, s.shape)
    by_trial = np.concatenate([-slope * s, bend], axis=1)
    found = []
    for _, right, answered in float_blocks(rows):
        total = np.zeros((right.shape[0], 2 * len(ANCHORS)))
        total += by_trial.sum(axis=0) if answered is None else answered @ by_trial
        total[:, : len(ANCHORS)] += right @ by_right
        found.append(total)
    return np.concatenate(found)


def encoded(encoder: Encoder, features: Array, precision: Array) -> tuple[Array, Array]:
    """Mean and SD of ability of every respondent."""
    mean, log_sd = _programs().encode(encoder.weights, _floats(features), _floats(precision))
    return np.asarray(mean, dtype=np.float64), np.exp(np.asarray(log_sd, dtype=np.float64))


def trained(encoder: Encoder, parameters: Array, seen: Seen) -> tuple[Encoder, Array, Array]:
    """Return the encoder after a step of Adam, the bound of each respondent, and its gradient.

    The gradient is that of their sum by the parameters of the items.
    """
    bounds, by_weights, by_items = _programs().bound(
        encoder.weights, _floats(parameters), Seen(*map(np.asarray, seen))
    )
    import optax

    optimiser = _optimiser()
    state = _unflat(encoder.optimiser, optimiser.init(encoder.weights))
    updates, state = _programs().update(by_weights, state)
    weights = optax.apply_updates(encoder.weights, updates)
    after = Encoder(tuple(np.asarray(w) for w in weights), _flat(state))
    return after, np.asarray(bounds, dtype=np.float64), np.asarray(by_items, dtype=np.float64)


def bounds_of(encoder: Encoder, parameters: Array, seen: Seen) -> Array:
    """Return the bound of each respondent, nothing trained."""
    found = _programs().local(encoder.weights, _floats(parameters), Seen(*map(np.asarray, seen)))
    return np.asarray(found, dtype=np.float64)


class _Programs(NamedTuple):
    encode: Any
    local: Any
    bound: Any
    update: Any


@cache
def _programs() -> _Programs:
    """Compiled programs, made when first used."""
    import jax
    import jax.numpy as jnp

    at, weights_at = np.polynomial.hermite_e.hermegauss(_HERMITE)
    weights_at = weights_at / weights_at.sum()
    middle = len(ANCHORS) // 2

    def encode(weights: Any, features: Any, precision: Any) -> tuple[Any, Any]:
        slopes, bends = jnp.split(features, 2, axis=1)
        total = precision[:, None] + jnp.maximum(bends, 0.0)
        newton = ANCHORS + (slopes - ANCHORS * precision[:, None]) / total
        hidden = jnp.concatenate([jnp.tanh(newton / 3), jnp.log(total) / 4], axis=1)
        for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            hidden = jax.nn.gelu(hidden @ w + b)
        shift, log_factor = (hidden @ weights[-2] + weights[-1]).T
        log_sd = -0.5 * jnp.log(total[:, middle]) + log_factor
        log_sd = jnp.clip(log_sd, _LEAST_LOG_SD, _MOST_LOG_SD)
        mean = jnp.clip(newton[:, middle], -6.0, 6.0) + shift
        return mean, log_sd

    def local_bounds(weights: Any, parameters: Any, seen: Seen) -> Any:
        mean, log_sd = encode(weights, seen.features, seen.precision)
        theta = mean[:, None] + jnp.exp(log_sd)[:, None] * at
        chosen = parameters[seen.items]
        z = chosen[..., 0, None] * theta[:, None, :] + chosen[..., 1, None]
        wrong = -jax.nn.softplus(z)
        right = z + wrong
        if parameters.shape[1] == 3:
            log_c = -jax.nn.softplus(-chosen[..., 2, None])
            log_rest = -jax.nn.softplus(chosen[..., 2, None])
            right, wrong = jnp.logaddexp(log_c, log_rest + right), log_rest + wrong
        cells = seen.right[..., None] * right + (seen.trials - seen.right)[..., None] * wrong
        expected = (cells.sum(axis=1) @ weights_at) * seen.weight
        square = (mean**2 + jnp.exp(2 * log_sd)) * seen.precision
        return expected - 0.5 * (square - 1 - jnp.log(seen.precision)) + log_sd

    def total(weights: Any, parameters: Any, seen: Seen) -> tuple[Any, Any]:
        bounds = local_bounds(weights, parameters, seen)
        return bounds.sum(), bounds

    def bound(weights: Any, parameters: Any, seen: Seen) -> tuple[Any, Any, Any]:
        by = jax.value_and_grad(total, argnums=(0, 1), has_aux=True)
        (_, bounds), (by_weights, by_items) = by(weights, parameters, seen)
        scale = -1 / bounds.shape[0]
        return bounds, jax.tree.map(lambda g: scale * g, by_weights), by_items

    return _Programs(
        jax.jit(encode), jax.jit(local_bounds), jax.jit(bound), jax.jit(_optimiser().update)
    )


def _optimiser() -> Any:
    import optax

    return optax.chain(optax.clip_by_global_norm(10.0), optax.adam(_RATE))


def _flat(state: Any) -> tuple[Any, ...]:
    import jax

    return tuple(np.asarray(leaf) for leaf in jax.tree.leaves(state))


def _unflat(leaves: tuple[Any, ...], like: Any) -> Any:
    import jax

    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _floats(values: Array) -> Any:
    return np.asarray(values, dtype=np.float32)
