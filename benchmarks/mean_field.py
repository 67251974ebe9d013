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

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import irtkit

if TYPE_CHECKING:
    from jax import Array
    from numpy.typing import NDArray

    Densities = tuple[tuple[float, float], ...]

STEPS = 1_500
RATE = 0.03
FIRST_SD = 0.1
PRIOR = irtkit.ItemPrior(irtkit.Normal(1.0, 0.5), irtkit.Normal(0.0, 2.0))
_HERMITE = 11
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_HERMITE)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


class Numbers(NamedTuple):
    """A number for every ability (n_respondents,), slope and intercept (n_items,)."""

    ability: Array
    slope: Array
    intercept: Array


class Guide(NamedTuple):
    """Independent normal distributions."""

    mean: Numbers
    log_sd: Numbers


@dataclass(frozen=True)
class MeanField:
    """Means and SDs after the last step, on the scale of the population, and what was fitted."""

    mean: Numbers
    sd: Numbers
    values: NDArray[np.int8]
    prior: irtkit.ItemPrior

    @cached_property
    def elbo(self) -> float:
        """Evidence lower bound E_q[log p(y, θ, a, d)] + H[q] in nats, with all constants.

        By quadrature: over θ, and over z, which is normal given θ.
        """
        with jax.enable_x64(new_val=True):
            mean, sd = (Numbers(*map(jnp.float64, of)) for of in (self.mean, self.sd))
            total = float(_expected_log_likelihood(self.values, mean, sd))
            for m, s, (centre, spread) in zip(mean, sd, densities(self.prior), strict=True):
                # E log N(x; centre, spread²) + H[N(m, s²)]
                # is log s/spread + ½ − E(x − centre)²/2spread²
                square = ((m - centre) ** 2 + s**2) / spread**2
                total += float(np.sum(np.log(s / spread) + 0.5 * (1 - square)))
        return total


def densities(prior: irtkit.ItemPrior) -> Densities:
    """Mean and SD of the prior of abilities, slopes and intercepts."""
    slope, intercept = prior.discrimination, prior.intercept
    if not (isinstance(slope, irtkit.Normal) and isinstance(intercept, irtkit.Normal)):
        raise ValueError(f"the plain peer takes normal slopes and intercepts, got {prior!r}")
    return (0.0, 1.0), (slope.mean, slope.sd), (intercept.mean, intercept.sd)


def fit(
    values: NDArray[np.int8],
    prior: irtkit.ItemPrior = PRIOR,
    *,
    seed: int = 0,
    steps: int = STEPS,
    rate: float = RATE,
    first_sd: float = FIRST_SD,
) -> MeanField:
    """Fit complete responses, respondents × items."""
    of_prior = densities(prior)
    sizes = (values.shape[0], values.shape[1], values.shape[1])
    mean = Numbers(*(jnp.full(n, centre) for n, (centre, _) in zip(sizes, of_prior, strict=True)))
    start = Guide(mean, jax.tree.map(lambda x: jnp.full_like(x, np.log(first_sd)), mean))
    found = _ascended(start, values, jax.random.key(seed), rate, (of_prior, steps))
    sd = jax.tree.map(np.exp, found.log_sd)
    return MeanField(jax.tree.map(np.asarray, found.mean), sd, values, prior)


@partial(jax.jit, static_argnames="fixed")
def _ascended(
    start: Guide, values: Array, key: Array, rate: float, fixed: tuple[Densities, int]
) -> Guide:
    """Return the guide after all steps of Adam; what is fixed is compiled in."""
    of_prior, steps = fixed
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))
    right = values.astype(jnp.float32)

    def loss(guide: Guide, deviates: Numbers) -> Array:
        """Minus the bound at one draw, up to a constant."""
        drawn = jax.tree.map(
            lambda m, log_sd, e: m + jnp.exp(log_sd) * e, guide.mean, guide.log_sd, deviates
        )
        z = drawn.ability[:, None] * drawn.slope + drawn.intercept
        bound = jnp.sum(right * z - jax.nn.softplus(z))
        for x, log_sd, (centre, spread) in zip(drawn, guide.log_sd, of_prior, strict=True):
            bound += jnp.sum(log_sd) - 0.5 * jnp.sum(((x - centre) / spread) ** 2)
        return -bound

    def step(k: Array, state: tuple[Guide, optax.OptState]) -> tuple[Guide, optax.OptState]:
        guide, adam = state
        keys = jax.random.split(jax.random.fold_in(key, k), len(guide.mean))
        deviates = Numbers(
            *(jax.random.normal(of, x.shape) for of, x in zip(keys, guide.mean, strict=True))
        )
        updates, adam = optimiser.update(jax.grad(loss)(guide, deviates), adam)
        return optax.apply_updates(guide, updates), adam

    found: Guide = jax.lax.fori_loop(0, steps, step, (start, optimiser.init(start)))[0]
    return found


@jax.jit
def _expected_log_likelihood(values: Array, mean: Numbers, sd: Numbers) -> Array:
    """Σ E_q[yz − softplus(z)], item by item."""
    theta = mean.ability[:, None] + sd.ability[:, None] * _NODES

    def of_item(item: tuple[Array, ...]) -> Array:
        right, slope, intercept, slope_sd, intercept_sd = item
        centre = slope * theta + intercept
        spread = jnp.sqrt((slope_sd * theta) ** 2 + intercept_sd**2)
        wrong = jax.nn.softplus(centre[..., None] + spread[..., None] * _NODES)
        return jnp.sum(right * (slope * mean.ability + intercept) - wrong @ _WEIGHTS @ _WEIGHTS)

    items = (values.T, mean.slope, mean.intercept, sd.slope, sd.intercept)
    return jnp.sum(jax.lax.map(of_item, items))
