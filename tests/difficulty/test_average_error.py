"""Claims about average error, as observed and as the model expects it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special

from irtkit.difficulty import average_error
from irtkit.irf import ItemParameters
from irtkit.responses import ResponseMatrix
from irtkit.simulation import add_synthetic

RESPONSES = ResponseMatrix(
    [[1, 0, -1, -1], [0, 0, 1, -1], [1, 0, 1, -1], [1, 0, 0, -1]], items=["a", "b", "c", "d"]
)


def test_average_error_is_the_share_of_wrong_among_observed_responses() -> None:
    error = average_error(RESPONSES)
    np.testing.assert_allclose(error, [1 / 4, 1, 1 / 3, np.nan])


def test_average_error_is_labelled_by_item() -> None:
    error = average_error(RESPONSES)
    assert (error.name, error.index.name) == ("average_error", "item")
    assert tuple(error.index) == RESPONSES.items


def test_synthetic_respondents_do_not_count() -> None:
    crowd = add_synthetic(RESPONSES, ("always-right", "always-wrong", "coin"), draws=3)
    assert average_error(crowd).equals(average_error(RESPONSES))


def test_an_item_that_only_synthetic_respondents_answered_has_no_average_error() -> None:
    assert np.isnan(average_error(add_synthetic(RESPONSES))["d"])


def test_average_error_of_repeated_trials_is_the_share_of_wrong_trials() -> None:
    responses = ResponseMatrix.from_counts([[200, 0, 0], [3, 1, 0]], [[250, 0, 0], [3, 2, 0]])
    expected = [50 / 253, 1 / 2, np.nan]
    np.testing.assert_allclose(average_error(responses), expected, rtol=1e-15)
    np.testing.assert_allclose(average_error(add_synthetic(responses)), expected, rtol=1e-15)


def test_synthetic_respondents_count_when_asked_for() -> None:
    crowd = add_synthetic(RESPONSES, ("always-right", "always-wrong"))
    np.testing.assert_array_equal(average_error(crowd), average_error(RESPONSES))
    assert average_error(crowd, synthetic=True)["a"] == (1 + 1) / 6


# Expected error


def items(
    discrimination: list[float], difficulty: list[float], guessing: float = 0.0
) -> ItemParameters:
    return ItemParameters.from_difficulty(discrimination, difficulty, guessing)


def test_an_item_at_the_mean_ability_is_missed_by_half() -> None:
    np.testing.assert_allclose(items([0.3, 1.0, 40.0], [0.0] * 3).expected_error(), 0.5, atol=1e-12)


def test_a_steep_item_is_missed_by_those_below_its_difficulty() -> None:
    difficulty = [-2.003, -0.517, 0.0, 1.111]
    # slope 300 stands for a step: φ(b) π² / 6 / 300² < 1e-5 away, and the grid 1e-3
    np.testing.assert_allclose(
        items([300.0] * 4, difficulty).expected_error(), special.ndtr(difficulty), atol=1e-3
    )


@pytest.mark.parametrize("slope", [0.5, 3.0, 20.0])
def test_expected_error_is_the_integral(slope: float) -> None:
    item = items([slope], [0.7], 0.2)

    def density_of_error(theta: float) -> float:
        wrong = 1 - item.probability([theta])[0, 0]
        return float(wrong * np.exp(-0.5 * (theta / 1.5) ** 2) / (1.5 * np.sqrt(2 * np.pi)))

    exact = integrate.quad(density_of_error, -15, 15, points=[0.7], limit=500, epsabs=1e-11)[0]
    np.testing.assert_allclose(item.expected_error(1.5), exact, atol=1e-9)


def test_turning_an_item_round_turns_its_expected_error_round() -> None:
    forward, backward = items([1.3, -1.3], [0.8, 0.8]).expected_error()
    assert forward + backward == pytest.approx(1, abs=1e-12)
    assert forward > 0.5


def test_guessing_takes_its_share_of_the_errors() -> None:
    without = items([1.0, 2.0], [0.0, 1.0]).expected_error()
    np.testing.assert_allclose(items([1.0, 2.0], [0.0, 1.0], 0.25).expected_error(), 0.75 * without)
