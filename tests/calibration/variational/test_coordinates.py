"""Coordinates of items: there and back, and their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit.calibration.variational.coordinates import Coordinates, Point
from irtkit.irf import Items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.variational.guide import Guide
    from irtkit.calibration.variational.target import Target

    Array = NDArray[np.float64]

STEP = 1e-6


def items_like(coordinates: Coordinates) -> Items:
    generator = np.random.default_rng(3)
    slope = np.array([0.7, 1.0, 1.4, -0.8, 0.3])
    if coordinates.common_slope:
        slope = np.full(5, 1.3)
    intercept, logit = generator.normal(size=(2, 5))
    return Items(slope, intercept, logit if coordinates.model == "3PL" else None)


def test_items_come_back_from_their_coordinates(target: Target) -> None:
    coordinates = target.coordinates
    items = items_like(coordinates)
    found = coordinates.parameters(coordinates.point(items, location=0.4, log_scale=-0.3))
    expected = np.stack([part for part in items if part is not None], axis=1)
    assert found == pytest.approx(expected, abs=1e-12)


def test_what_is_learned_is_kept_among_the_shared_coordinates(target: Target) -> None:
    coordinates = target.coordinates
    shared = coordinates.point(items_like(coordinates), location=0.4, log_scale=-0.3).shared
    scale = np.log(1.3) if coordinates.common_slope else -0.3
    expected = [0.4] * coordinates.learns + [scale] * (coordinates.n_shared > 0)
    assert shared[: len(expected)] == pytest.approx(expected[: len(shared)], abs=1e-12)
    assert len(shared) == coordinates.n_shared


def test_jacobians_are_differences_of_parameters(target: Target, point: Point) -> None:
    coordinates = target.coordinates
    by_own, by_shared = coordinates.jacobian(point)

    def moved(own: Array, shared: Array) -> Array:
        ends = [
            coordinates.parameters(Point(point.own + sign * own, point.shared + sign * shared))
            for sign in (STEP, -STEP)
        ]
        return (ends[0] - ends[1]) / (2 * STEP)

    for k in range(coordinates.n_own):
        own = np.zeros_like(point.own)
        own[:, k] = 1.0
        assert by_own[:, :, k] == pytest.approx(moved(own, 0 * point.shared), abs=1e-8)
    for k, unit in enumerate(np.eye(coordinates.n_shared)):
        assert by_shared[:, :, k] == pytest.approx(moved(0 * point.own, unit), abs=1e-8)


def test_slopes_come_with_two_derivatives(target: Target, point: Point) -> None:
    coordinates = target.coordinates
    if coordinates.common_slope:
        pytest.skip("a common slope has no coordinate of its own")
    up, down = point.own.copy(), point.own.copy()
    up[:, 0] += STEP
    down[:, 0] -= STEP
    ends = [coordinates.slopes(point._replace(own=own)) for own in (up, down)]
    slope, first, second = coordinates.slopes(point)
    assert first == pytest.approx((ends[0][0] - ends[1][0]) / (2 * STEP), abs=1e-8)
    assert second == pytest.approx((ends[0][1] - ends[1][1]) / (2 * STEP), abs=1e-8)
    assert coordinates.parameters(point)[:, 0] == pytest.approx(slope)


def test_some_items_have_the_parameters_they_have_among_all(target: Target, guide: Guide) -> None:
    coordinates, mean, some = target.coordinates, guide.mean, slice(1, 4)
    part = coordinates.some(some)
    assert part.n_items == 3
    found = part.parameters(Point(mean.own[some], mean.shared))
    assert found == pytest.approx(coordinates.parameters(mean)[some])


def test_repeated_items_have_the_same_parameters(target: Target, point: Point) -> None:
    found = target.coordinates.repeated(3).parameters(
        Point(np.repeat(point.own, 3, axis=0), point.shared)
    )
    expected = np.repeat(target.coordinates.parameters(point), 3, axis=0)
    assert found == pytest.approx(expected)


def test_every_item_may_have_shared_coordinates_of_its_own(target: Target, point: Point) -> None:
    # as the points have from which moments of every item by itself are computed
    coordinates = target.coordinates
    n_shared = len(point.shared)
    apart = point.shared + 0.1 * np.arange(5)[:, None] * np.ones(n_shared)
    together = coordinates.parameters(Point(point.own, apart))
    for j in range(5):
        one = coordinates.parameters(Point(point.own, apart[j]))
        assert together[j] == pytest.approx(one[j])


def test_probabilities_stay_when_ability_is_rescaled_and_shifted(target: Target) -> None:
    coordinates = target.coordinates
    if not coordinates.learns:
        pytest.skip("this prior speaks of sizes on the scale of the population")
    # θ → (θ − 0.5)/2: slopes double, and m, the intercept per slope, is 0.5 less per old unit
    items = items_like(coordinates)
    theta = np.linspace(-2, 2, 9)
    there = coordinates.point(items, location=0.4, log_scale=-0.3)
    moved = items._replace(slope=2 * items.slope, intercept=items.intercept + 0.5 * items.slope)
    here = coordinates.point(moved, location=(0.4 + 0.5) / 2, log_scale=-0.3 + np.log(2))
    if not coordinates.common_slope:
        assert here.own[:, 0] == pytest.approx(there.own[:, 0])
    if coordinates.intercepts_move:
        assert here.own == pytest.approx(there.own)
    logits = [np.outer(theta, part.slope) + part.intercept for part in (items, moved)]
    again = np.outer((theta - 0.5) / 2, moved.slope) + moved.intercept
    assert again == pytest.approx(logits[0])
