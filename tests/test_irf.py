"""The item response function against its formula and its limits."""

import numpy as np
import pytest

from irtkit import ItemParameters

ABILITIES = np.linspace(-4, 4, 9)


def test_probability_is_the_three_parameter_logistic():
    items = ItemParameters.from_difficulty([1.3, -0.7], [0.5, -1.0], [0.2, 0.0])
    a, b, c = 1.3, 0.5, 0.2
    expected = c + (1 - c) / (1 + np.exp(-a * (ABILITIES - b)))
    assert items.probability(ABILITIES)[:, 0] == pytest.approx(expected, abs=1e-15)


def test_probability_stays_finite_where_exponentials_overflow():
    items = ItemParameters(np.array([1e4, -1e4]), np.zeros(2), np.array([0.0, 0.25]))
    assert items.probability([-1.0, 1.0]).tolist() == [[0.0, 1.0], [1.0, 0.25]]
    assert np.isfinite(items.information([-1.0, 0.0, 1.0])).all()


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_probability_in_32_bits_is_the_same_to_seven_digits(guessing):
    items = ItemParameters([0.5, -1.2, 3.0], [0.0, 0.7, -400.0], [guessing] * 3)
    abilities = np.linspace(-4, 4, 9)
    narrow = items.narrow_probability(abilities)
    assert narrow.dtype == np.float32
    assert narrow == pytest.approx(items.probability(abilities), abs=2e-7)


def test_information_is_the_squared_derivative_over_the_variance():
    items = ItemParameters.from_difficulty([1.3, -0.7, 2.0], [0.5, -1.0, 0.0], [0.2, 0.0, 0.1])
    step = 1e-5
    slope = (items.probability(ABILITIES + step) - items.probability(ABILITIES - step)) / (2 * step)
    p = items.probability(ABILITIES)
    assert items.information(ABILITIES) == pytest.approx(slope**2 / (p * (1 - p)), rel=1e-6)


def test_difficulty_is_where_the_curve_is_halfway_and_nan_for_a_flat_item():
    items = ItemParameters(np.array([2.0, 0.0]), np.array([-1.0, 1.0]), np.zeros(2))
    assert items.difficulty[0] == 0.5
    assert np.isnan(items.difficulty[1])


@pytest.mark.parametrize(("slope", "intercept", "guessing", "named"), [
    ([1.0], [0.0, 1.0], [0.0], "intercept"),
    ([np.inf], [0.0], [0.0], "discrimination"),
    ([1.0], [0.0], [1.0], "guessing"),
    ([1.0, np.inf], [0.0, 0.0], [0.0, 0.0], "discrimination .*: item 1"),
])  # fmt: skip
def test_impossible_parameters_are_refused_by_name(slope, intercept, guessing, named):
    with pytest.raises(ValueError, match=named):
        ItemParameters(np.array(slope), np.array(intercept), np.array(guessing))


def test_an_item_is_known_by_all_its_parameters():
    one, other = np.ones(4), np.full(4, np.nan)
    parts = [np.where(np.arange(4) == k, other, one) for k in (1, 2)]
    items = ItemParameters(*parts, np.where(np.arange(4) == 3, other, 0.0))
    assert items.known.tolist() == [True, False, False, False]
    with pytest.raises(TypeError, match="guessing must be numbers"):
        ItemParameters.from_difficulty([1.0], [0.0], None)
