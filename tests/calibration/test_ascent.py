"""The ascent on functions whose maximum is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irtkit.calibration import ascent

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(new_val=True):
        yield


@dataclass(frozen=True)
class Hill:
    """A function with its top at 1, …, 1; ``data`` is not used."""

    name: str

    def value(self, x: jax.Array) -> jax.Array:
        if self.name == "quadratic":
            return -0.5 * jnp.sum(jnp.arange(1.0, x.shape[0] + 1) * (x - 1) ** 2)
        return -jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)  # Rosenbrock

    def evaluate(self, _data: Any, x: jax.Array) -> ascent.Evaluation:
        value, gradient = jax.value_and_grad(self.value)(x)
        return ascent.Evaluation(value, gradient, value, None)

    def precondition(self, _data: Any, _x: jax.Array, _curvature: Any, v: jax.Array) -> jax.Array:
        return v


def climb(name: str, n_steps: int) -> tuple[ascent.Ascent, ascent.Trace]:
    start = ascent.begin(jnp.array([-1.2, 1.0]))
    return ascent.advance(Hill(name), None, start, tol=1e-14, n_steps=n_steps, most=400)


@pytest.mark.parametrize("name", ["quadratic", "rosenbrock"])
def test_the_top_is_found_and_said_to_be(name: str) -> None:
    state, _ = climb(name, 400)
    assert state.converged
    assert np.asarray(state.x) == pytest.approx(np.ones(2), abs=1e-5)


def test_no_accepted_step_goes_down() -> None:
    _, trace = climb("rosenbrock", 400)
    values = np.asarray(trace.log_likelihood)
    assert (np.diff(values[np.isfinite(values)]) > -1e-12).all()


def test_stopping_early_is_not_called_convergence_and_going_on_ends_at_the_same_point() -> None:
    half, _ = climb("rosenbrock", 20)
    assert not half.converged
    rest, _ = ascent.advance(Hill("rosenbrock"), None, half, tol=1e-14, n_steps=400, most=400)
    whole, _ = climb("rosenbrock", 400)
    assert np.array_equal(np.asarray(rest.x), np.asarray(whole.x))


def test_a_function_without_a_value_is_left_at_the_start() -> None:
    @dataclass(frozen=True)
    class Nowhere(Hill):
        def value(self, x: jax.Array) -> jax.Array:
            return jnp.nan * x.sum()

    start = ascent.begin(jnp.zeros(2))
    state, _ = ascent.advance(Nowhere("x"), None, start, tol=1e-9, n_steps=400, most=400)
    assert state.stalled
    assert not state.converged
