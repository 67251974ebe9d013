"""The ascent on functions whose maximum is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from irtkit.calibration.ascent import Ascent, Evaluation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TOL = 1e-14


@dataclass(frozen=True)
class Hill:
    """A function with its top at 1, …, 1."""

    name: str
    noise: float = 0.0

    def evaluate(self, x: Array) -> Evaluation:
        if self.name == "quadratic":
            weight = np.arange(1.0, len(x) + 1)
            return self._at(-0.5 * weight @ (x - 1) ** 2, -weight * (x - 1))
        if self.name == "nowhere":
            return self._at(np.nan, x)
        rise, rest = x[1] - x[0] ** 2, 1 - x[0]  # Rosenbrock
        gradient = np.array([400 * rise * x[0] + 2 * rest, -200 * rise])
        return self._at(-100 * rise**2 - rest**2, gradient)

    @staticmethod
    def _at(value: float, gradient: Array) -> Evaluation:
        return Evaluation(float(value), gradient, float(value), None)

    @staticmethod
    def precondition(_x: Array, _curvature: Any, v: Array) -> Array:
        return v


def climb(ascent: Ascent, name: str, most: int = 400) -> list[float]:
    """Values at accepted points."""
    values = []
    for _ in range(most):
        if ascent.converged or ascent.stalled:
            break
        if ascent.evaluate(Hill(name), TOL) and ascent.there is not None:
            values.append(ascent.there.value)
    return values


@pytest.mark.parametrize("name", ["quadratic", "rosenbrock"])
def test_the_top_is_found_and_said_to_be(name: str) -> None:
    ascent = Ascent(np.array([-1.2, 1.0]))
    climb(ascent, name)
    assert ascent.converged
    assert ascent.x == pytest.approx(np.ones(2), abs=1e-5)


def test_no_accepted_step_goes_down() -> None:
    values = climb(Ascent(np.array([-1.2, 1.0])), "rosenbrock")
    assert (np.diff(values) > -1e-12).all()


def test_stopping_early_is_not_called_convergence_and_going_on_ends_at_the_same_point() -> None:
    half, whole = Ascent(np.array([-1.2, 1.0])), Ascent(np.array([-1.2, 1.0]))
    climb(half, "rosenbrock", 20)
    assert not half.converged
    climb(half, "rosenbrock")
    climb(whole, "rosenbrock")
    assert np.array_equal(half.x, whole.x)


def test_an_ascent_goes_on_with_a_changed_function_and_finds_the_top_of_the_new_function() -> None:
    ascent = Ascent(np.array([-1.2, 1.0]))
    climb(ascent, "rosenbrock", 10)
    place = ascent.x
    ascent.continue_with_another()
    assert np.array_equal(ascent.x, place)
    assert not ascent.converged
    climb(ascent, "quadratic")
    assert ascent.converged
    assert ascent.x == pytest.approx(np.ones(2), abs=1e-5)


def test_a_function_without_a_value_is_left_at_the_start() -> None:
    ascent = Ascent(np.zeros(2))
    climb(ascent, "nowhere")
    assert ascent.stalled
    assert not ascent.converged
    assert not ascent.x.any()
