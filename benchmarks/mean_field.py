"""The plain variational peer: every ability, slope and intercept a normal number by itself.

The usual way to a posterior of the 2PL, z = aθ + d with θ ~ N(0, 1) and the normal densities of an
``irtkit.ItemPrior``, written in JAX and optax. The guide is q(θ₁)…q(θₙ) q(a₁)q(d₁)…; its means and
log SDs follow the gradient of the evidence lower bound at one reparametrised draw (Kingma & Welling
2014) by Adam: 1,500 steps, all responses at each, compiled into one program.

Means start at those of the prior, as they do in py-irt. The rate of Adam falls to 0 along a cosine.
The settings are those with the highest bound at 500 × 5,000, of rates from 0.02 to 0.2 that fall or
stay, and of SDs that start at 0.05, 0.1 and 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import irtkit

STEPS = 1_500
RATE = 0.03
FIRST_SD = 0.1
PRIOR = irtkit.ItemPrior(irtkit.Normal(1.0, 0.5), irtkit.Normal(0.0, 2.0))
OF_PRIOR = ((0.0, 1.0), (1.0, 0.5), (0.0, 2.0))
"""Mean and SD of abilities, slopes and intercepts under it."""


class Numbers(NamedTuple):
    """A number for every ability (n_respondents,), slope and intercept (n_items,)."""

    ability: Any
    slope: Any
    intercept: Any


class Guide(NamedTuple):
    """Independent normal distributions."""

    mean: Numbers
    log_sd: Numbers


def fit(values):
    """Means and SDs from complete responses, respondents × items, on the population's scale."""
    sizes = (values.shape[0], values.shape[1], values.shape[1])
    mean = Numbers(*(jnp.full(n, centre) for n, (centre, _) in zip(sizes, OF_PRIOR, strict=True)))
    start = Guide(mean, jax.tree.map(lambda x: jnp.full_like(x, np.log(FIRST_SD)), mean))
    found = _ascended(start, values, jax.random.key(0))
    return jax.tree.map(np.asarray, found.mean), jax.tree.map(np.exp, found.log_sd)


@jax.jit
def _ascended(start, values, key):
    """Return the guide after all steps of Adam."""
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))
    right = values.astype(jnp.float32)

    def loss(guide, deviates):
        """Minus the bound at one draw, up to a constant."""
        drawn = jax.tree.map(
            lambda m, log_sd, e: m + jnp.exp(log_sd) * e, guide.mean, guide.log_sd, deviates
        )
        z = drawn.ability[:, None] * drawn.slope + drawn.intercept
        bound = jnp.sum(right * z - jax.nn.softplus(z))
        for x, log_sd, (centre, spread) in zip(drawn, guide.log_sd, OF_PRIOR, strict=True):
            bound += jnp.sum(log_sd) - 0.5 * jnp.sum(((x - centre) / spread) ** 2)
        return -bound

    def step(k, state):
        guide, adam = state
        keys = jax.random.split(jax.random.fold_in(key, k), len(guide.mean))
        deviates = Numbers(
            *(jax.random.normal(of, x.shape) for of, x in zip(keys, guide.mean, strict=True))
        )
        updates, adam = optimiser.update(jax.grad(loss)(guide, deviates), adam)
        return optax.apply_updates(guide, updates), adam

    return jax.lax.fori_loop(0, STEPS, step, (start, optimiser.init(start)))[0]
