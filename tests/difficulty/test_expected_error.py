"""Claims about the error that a model expects of its population."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special

from irtkit.difficulty import expected_error
from irtkit.irf import ItemParameters


def items(
    discrimination: list[float], difficulty: list[float], guessing: float = 0.0
) -> ItemParameters:
    return ItemParameters.from_difficulty(discrimination, difficulty, guessing)


def test_an_item_at_the_mean_ability_is_missed_by_half() -> None:
    np.testing.assert_allclose(expected_error(items([0.3, 1.0, 40.0], [0.0] * 3)), 0.5, atol=1e-12)


def test_a_steep_item_is_missed_by_those_below_its_difficulty() -> None:
    difficulty = [-2.003, -0.517, 0.0, 1.111]
    # slope 300 stands for a step: φ(b) π² / 6 / 300² < 1e-5 away, and the grid 1e-3
    np.testing.assert_allclose(
        expected_error(items([300.0] * 4, difficulty)), special.ndtr(difficulty), atol=1e-3
    )


@pytest.mark.parametrize("slope", [0.5, 3.0, 20.0])
def test_expected_error_is_the_integral(slope: float) -> None:
    item = items([slope], [0.7], 0.2)

    def density_of_error(theta: float) -> float:
        wrong = 1 - item.probability([theta])[0, 0]
        return float(wrong * np.exp(-0.5 * (theta / 1.5) ** 2) / (1.5 * np.sqrt(2 * np.pi)))

    exact = integrate.quad(density_of_error, -15, 15, points=[0.7], limit=500, epsabs=1e-11)[0]
    np.testing.assert_allclose(expected_error(item, latent_sd=1.5), exact, atol=1e-9)


def test_turning_an_item_round_turns_its_expected_error_round() -> None:
    forward, backward = expected_error(items([1.3, -1.3], [0.8, 0.8]))
    assert forward + backward == pytest.approx(1, abs=1e-12)
    assert forward > 0.5


def test_guessing_takes_its_share_of_the_errors() -> None:
    without = expected_error(items([1.0, 2.0], [0.0, 1.0]))
    np.testing.assert_allclose(expected_error(items([1.0, 2.0], [0.0, 1.0], 0.25)), 0.75 * without)


def test_the_number_of_items_changes_nothing() -> None:
    many = items([1.0, 2.0] * 1500, [0.5, -0.5] * 1500)
    np.testing.assert_allclose(
        expected_error(many), np.tile(expected_error(items([1.0, 2.0], [0.5, -0.5])), 1500)
    )


@pytest.mark.parametrize("latent_sd", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_spread_of_ability_is_refused(latent_sd: float) -> None:
    with pytest.raises(ValueError, match=r"latent_sd must be .*above 0"):
        expected_error(items([1.0], [0.0]), latent_sd=latent_sd)
