"""The search on functions whose maximum is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit.calibration.lbfgs import Evaluation, PreconditionedLBFGS

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


def climb(search: PreconditionedLBFGS, name: str, most: int = 400) -> list[float]:
    """Values at accepted points."""
    values = []
    for _ in range(most):
        if search.done:
            break
        if search.evaluate(Hill(name), TOL) and search.current is not None:
            values.append(search.current.value)
    return values


@pytest.mark.parametrize("name", ["quadratic", "rosenbrock"])
def test_the_top_is_found_and_said_to_be(name: str) -> None:
    search = PreconditionedLBFGS(np.array([-1.2, 1.0]))
    climb(search, name)
    assert search.converged
    assert search.x == pytest.approx(np.ones(2), abs=1e-5)


def test_no_accepted_step_goes_down() -> None:
    values = climb(PreconditionedLBFGS(np.array([-1.2, 1.0])), "rosenbrock")
    assert (np.diff(values) > -1e-12).all()


def test_stopping_early_is_not_called_convergence_and_going_on_ends_at_the_same_point() -> None:
    half, whole = (
        PreconditionedLBFGS(np.array([-1.2, 1.0])),
        PreconditionedLBFGS(np.array([-1.2, 1.0])),
    )
    climb(half, "rosenbrock", 20)
    assert not half.converged
    climb(half, "rosenbrock")
    climb(whole, "rosenbrock")
    assert np.array_equal(half.x, whole.x)


def test_a_search_goes_on_with_a_changed_function_and_finds_the_top_of_the_new_function() -> None:
    search = PreconditionedLBFGS(np.array([-1.2, 1.0]))
    climb(search, "rosenbrock", 10)
    place = search.x
    search.swap_objective()
    assert np.array_equal(search.x, place)
    assert not search.converged
    climb(search, "quadratic")
    assert search.converged
    assert search.x == pytest.approx(np.ones(2), abs=1e-5)


def test_a_function_without_a_value_is_left_at_the_start() -> None:
    search = PreconditionedLBFGS(np.zeros(2))
    climb(search, "nowhere")
    assert search.done
    assert not search.converged
    assert not search.x.any()


def test_a_search_that_starts_anew_goes_on_from_where_it_is() -> None:
    search = PreconditionedLBFGS(np.array([-1.2, 1.0]))
    climb(search, "rosenbrock", 10)
    place = search.x
    search.restart()
    assert (search.current, search.done, search.converged) == (None, False, False)
    search.evaluate(Hill("rosenbrock"), TOL)
    assert np.array_equal(search.x, place)
    climb(search, "rosenbrock")
    assert search.x == pytest.approx(np.ones(2), abs=1e-5)


def test_what_a_search_expects_of_a_full_step_on_a_parabola_is_what_the_step_brings() -> None:
    search, hill = PreconditionedLBFGS(np.zeros(1)), Hill("quadratic")
    search.evaluate(hill, TOL)
    gain = hill.evaluate(np.ones(1)).value - hill.evaluate(np.zeros(1)).value
    assert search.expected == pytest.approx(gain)


class Rough(Hill):
    """The same function with values that are off by up to a thousandth."""

    def evaluate(self, x: Array) -> Evaluation:
        found = super().evaluate(x)
        return found._replace(value=found.value + 1e-3 * np.sin(1e9 * x.sum()))


@pytest.mark.parametrize(("noise", "converged"), [(0.0, False), (2e-3, True)])
def test_values_off_by_no_more_than_is_said_are_no_obstacle(noise: float, converged: bool) -> None:
    search = PreconditionedLBFGS(np.array([-1.2, 1.0]))
    for _ in range(200):
        if not search.done:
            search.evaluate(Rough("rosenbrock", noise), TOL)
    assert search.converged == converged
