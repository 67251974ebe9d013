"""Maximisation of an objective by a preconditioned quasi-Newton ascent.

One evaluation costs a pass over the response matrix, so there is no inner line search: every pass
evaluates a trial point, which is taken if the objective rises enough and shortened if not. The
direction is limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.4) started from the
objective's own approximate inverse Hessian. With the complete-data information as that inverse,
the first step is an EM step (one Newton step for every item), and the pairs that follow
accelerate it, as in quasi-Newton EM (Jamshidian & Jennrich 1997).

Half the directional derivative of a full step is the gain that the quadratic model still expects.
The ascent has converged when two evaluations in a row expect less than ``tol``, which leaves
every estimate within about √(2·tol) of its standard error from the optimum.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

_MEMORY = 8
_ARMIJO = 1e-4
_SHRINK = 0.4
_ROUNDING = 1e-11
"""Relative rounding error of the objective: a drop this small is not one."""
LONGEST_STEP = 3.0
LEAST_STEP = 1e-8


class Evaluation(NamedTuple):
    """An objective at a point."""

    value: jax.Array
    gradient: jax.Array
    log_likelihood: jax.Array
    """What the trace reports, without priors."""
    curvature: Any
    """What the objective's preconditioner needs."""


class Objective(Protocol):
    """A function to maximise; hashable, so that one compiled program serves equal objectives."""

    def evaluate(self, data: Any, x: jax.Array) -> Evaluation:
        """Return value and gradient at x."""

    def precondition(self, data: Any, x: jax.Array, curvature: Any, v: jax.Array) -> jax.Array:
        """Return an approximate inverse Hessian of −value at x, times v."""

    def __hash__(self) -> int: ...


class Ascent(NamedTuple):
    """State of an ascent between evaluations."""

    x: jax.Array
    value: jax.Array
    log_likelihood: jax.Array
    gradient: jax.Array
    direction: jax.Array
    slope: jax.Array
    """Directional derivative along the direction, above 0."""
    step: jax.Array
    differences: jax.Array
    """Last steps, shape (memory, n), newest last."""
    gradient_differences: jax.Array
    inverse_products: jax.Array
    n_evaluations: jax.Array
    n_small: jax.Array
    """How many of the last evaluations expected a gain below the tolerance."""
    change: jax.Array
    """Largest change of a parameter in a full step."""

    @property
    def converged(self) -> bool:
        """Whether two evaluations in a row expected next to no gain."""
        return int(self.n_small) >= 2

    @property
    def stalled(self) -> bool:
        """Whether no step along the direction, however short, raises the objective."""
        return not float(self.step) >= LEAST_STEP


class Trace(NamedTuple):
    """One entry per accepted point; NaN where an evaluation was not accepted or not made."""

    log_likelihood: jax.Array
    change: jax.Array


def begin(x: jax.Array) -> Ascent:
    """State before the first evaluation, which is always accepted."""
    n = x.shape[0]
    # NumPy arrays: every JAX call outside a compiled function is a program of its own.
    state: Any = {
        "x": x,
        "value": np.array(-np.inf),
        "log_likelihood": np.array(-np.inf),
        "gradient": np.zeros(n),
        "direction": np.zeros(n),
        "slope": np.zeros(()),
        "step": np.ones(()),
        "differences": np.zeros((_MEMORY, n)),
        "gradient_differences": np.zeros((_MEMORY, n)),
        "inverse_products": np.zeros(_MEMORY),
        "n_evaluations": np.zeros((), np.int64),
        "n_small": np.zeros((), np.int64),
        "change": np.array(np.inf),
    }
    return Ascent(**state)


@partial(jax.jit, static_argnames=("objective", "most"))
def advance(
    objective: Objective, data: Any, ascent: Ascent, *, tol: float, n_steps: int, most: int = 64
) -> tuple[Ascent, Trace]:
    """Make up to ``n_steps`` (at most ``most``) evaluations or stop at convergence."""
    empty = Trace(jnp.full(most, jnp.nan), jnp.full(most, jnp.nan))
    first = ascent.n_evaluations

    def going_on(carry: tuple[Ascent, Trace]) -> jax.Array:
        a, _ = carry
        made = a.n_evaluations - first
        return (made < jnp.minimum(n_steps, most)) & (a.n_small < 2) & (a.step >= LEAST_STEP)

    def body(carry: tuple[Ascent, Trace]) -> tuple[Ascent, Trace]:
        before, trace = carry
        made = before.n_evaluations - first
        trial = before.x + before.step * before.direction
        there = objective.evaluate(data, trial)
        wanted = _ARMIJO * before.step * before.slope - _ROUNDING * jnp.abs(before.value)
        accepted = jnp.isfinite(there.value) & (there.value - before.value >= wanted)
        after = jax.lax.cond(
            accepted,
            lambda: _accept(objective, data, before, (trial, there), tol),
            lambda: before._replace(step=_SHRINK * before.step),
        )._replace(n_evaluations=before.n_evaluations + 1)
        entry = jnp.where(accepted, jnp.stack([there.log_likelihood, after.change]), jnp.nan)
        return after, Trace(
            trace.log_likelihood.at[made].set(entry[0]), trace.change.at[made].set(entry[1])
        )

    return jax.lax.while_loop(going_on, body, (ascent, empty))


def _accept(
    objective: Objective,
    data: Any,
    before: Ascent,
    accepted: tuple[jax.Array, Evaluation],
    tol: float,
) -> Ascent:
    """State at an accepted point: memory updated, next direction chosen."""
    trial, there = accepted
    difference = trial - before.x
    gradient_difference = before.gradient - there.gradient
    product = jnp.vdot(difference, gradient_difference)
    lengths = jnp.linalg.norm(difference) * jnp.linalg.norm(gradient_difference)
    curved = (product > 1e-10 * lengths) & (before.n_evaluations > 0)

    def push(memory: jax.Array, new: jax.Array) -> jax.Array:
        return jnp.where(curved, jnp.concatenate([memory[1:], new[None]]), memory)

    after = before._replace(
        x=trial,
        value=there.value,
        log_likelihood=there.log_likelihood,
        gradient=there.gradient,
        differences=push(before.differences, difference),
        gradient_differences=push(before.gradient_differences, gradient_difference),
        inverse_products=push(before.inverse_products, 1 / jnp.where(curved, product, 1.0)),
    )
    direction = _direction(objective, data, after, there.curvature)
    slope = jnp.vdot(direction, there.gradient)
    change = jnp.abs(direction).max()
    return after._replace(
        direction=direction,
        slope=slope,
        step=jnp.minimum(1.0, LONGEST_STEP / change),
        n_small=jnp.where(0.5 * slope < tol, before.n_small + 1, 0),
        change=change,
    )


def _direction(objective: Objective, data: Any, at: Ascent, curvature: Any) -> jax.Array:
    """Two-loop recursion; an unused memory slot has inverse product 0 and changes nothing."""
    pairs = (at.differences, at.gradient_differences, at.inverse_products)

    def back(v: jax.Array, pair: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        difference, gradient_difference, inverse_product = pair
        weight = inverse_product * jnp.vdot(difference, v)
        return v - weight * gradient_difference, weight

    def forth(v: jax.Array, pair: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        difference, gradient_difference, inverse_product, weight = pair
        return v + difference * (weight - inverse_product * jnp.vdot(gradient_difference, v)), None

    v, weights = jax.lax.scan(back, at.gradient, pairs, reverse=True)
    v = objective.precondition(data, at.x, curvature, v)
    direction: jax.Array = jax.lax.scan(forth, v, (*pairs, weights))[0]
    return direction
