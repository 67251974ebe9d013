"""Claims about what pictures show."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

import irtkit
from irtkit import pictures
from irtkit.curves.characteristic import wilson_interval
from irtkit.pictures.scales import Scale, number_text, tick_text


@pytest.fixture(scope="module")
def result() -> irtkit.FitResult:
    items = irtkit.ItemParameters.from_difficulty(
        [*np.linspace(0.5, 2, 38), -1.5, 0.001], np.linspace(-2, 2, 40)
    )
    responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 200), seed=0)
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(responses)


@pytest.mark.parametrize("n", [1, 7, 150])
def test_intervals_are_those_of_statsmodels(n: int) -> None:
    right = np.arange(n + 1)
    expected = proportion_confint(right, n, method="wilson")
    np.testing.assert_allclose(wilson_interval(right / n, n), expected, atol=1e-12)


@pytest.mark.parametrize(("n", "groups"), [(1, 1), (4, 2), (12, 3), (130, 10), (5000, 10)])
def test_groups_are_of_one_size_and_in_order_of_ability(n: int, groups: int) -> None:
    ability = np.linspace(-1, 1, n)
    items = irtkit.ItemParameters.from_difficulty([1.0, 1.2, 0.8], [0.0, 0.3, -0.4])
    with warnings.catch_warnings(action="ignore"):
        found = irtkit.fit(irtkit.simulate_responses(items, ability, seed=1))
    cut = pictures.ability_groups(found)
    assert len(cut.ability) == groups
    sizes = np.bincount(cut.number)
    assert np.ptp(sizes) <= 1
    assert (np.diff(cut.ability) >= 0).all()
    low_to_high = found.ability[np.argsort(cut.number, kind="stable")]
    ends = np.cumsum(sizes)[:-1]
    assert all(low_to_high[:k].max() <= low_to_high[k:].min() + 1e-12 for k in ends)


def test_counts_are_the_same_however_responses_are_kept(result: irtkit.FitResult) -> None:
    with warnings.catch_warnings(action="ignore"):
        sparse = irtkit.fit(result.responses.to_sparse())
    groups = pictures.ability_groups(result)
    some = np.array([3, 1])
    for one, other in zip(
        pictures.group_counts(result, groups, some),
        pictures.group_counts(sparse, groups, some),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_synthetic_respondents_are_in_no_picture(result: irtkit.FitResult) -> None:
    crowd = irtkit.add_synthetic(result.responses, ("always-right", "always-wrong"))
    with warnings.catch_warnings(action="ignore"):
        found = irtkit.fit(crowd)
    assert (pictures.ability_groups(found).number[-2:] == -1).all()
    assert pictures.wright_map(found).respondents.sum() == 200
    assert len(pictures.precision(found).respondents) == 200


def test_a_curve_is_inside_where_respondents_are(result: irtkit.FitResult) -> None:
    [curve] = pictures.item_curves(result, ["item-7"])
    inside = curve.ability[curve.inside]
    assert (inside[0], inside[-1]) == (result.ability.min(), result.ability.max())
    assert curve.ability[0] < inside[0]
    np.testing.assert_array_equal(
        curve.probability, result.probability(curve.ability)["item-7"].to_numpy()
    )


def test_maps_place_what_has_a_place_and_count_the_rest(result: irtkit.FitResult) -> None:
    with warnings.catch_warnings(action="ignore"):
        suspects = irtkit.flag_items(result)
    drawn = pictures.item_map(result, suspects)
    assert drawn.visible.all()
    inverted = result.item_labels.index("item-39")
    assert drawn.kind[inverted] == pictures.NEGATIVE
    assert not drawn.y.is_beyond(drawn.y_values[inverted])
    assert (drawn.kind == pictures.ORDINARY).sum() == 40 - suspects["suspect"].sum()
    errors = pictures.error_and_difficulty(result, suspects)
    assert not errors.visible[inverted]
    assert errors.n_left_out == 40 - errors.visible.sum()
    predicted = pd.Series({"item-1": 0.5, "item-39": 0.5, "elsewhere": 1.0})
    both = pictures.predicted_and_fitted(result, suspects, predicted)
    assert list(np.flatnonzero(both.visible)) == [0]


def test_an_axis_goes_by_quantiles_and_no_further_than_it_should() -> None:
    values = [*np.linspace(-1, 1, 1000), -2969.0, 40.0]
    axis = Scale.by_quantiles(values, within=6.0)
    assert -1.2 < axis.low < -0.9
    assert list(axis.clipped([-2969, 0, 40])) == [axis.low, 0, axis.high]
    assert axis.is_beyond([-2969, 0, 40]).tolist() == [True, False, True]
    wide = Scale.by_quantiles(np.linspace(-100, 100, 1000), within=6.0, about=1.0)
    assert (round(wide.low, 1), round(wide.high, 1)) == (-5.6, 7.6)
    assert Scale.by_quantiles([np.nan]).low < 0
    assert Scale.over([3.0, 3.0]).high > Scale.over([3.0, 3.0]).low


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (-3.3, 2.9), (0.001, 0.002), (-9e4, 3e5), (1, 59), (0, 7), (0, 14), (0, 70)],
)
def test_ticks_are_round_few_and_within(low: float, high: float) -> None:
    axis = Scale(low, high)
    ticks = axis.ticks(7)
    assert 2 <= len(ticks) <= 7
    assert all(low <= tick <= high for tick in ticks)
    assert np.allclose(np.diff(ticks), ticks[1] - ticks[0])


def test_numbers_have_a_true_minus_and_no_more_digits_than_they_need() -> None:
    assert [tick_text(value) for value in (-2.0, 0.5, 9000, 12_000)] == ["−2", "0.5", "9000", "12k"]
    told = [number_text(value) for value in (-0.001, -1.239, float("nan"), -2969.0, float("inf"))]
    assert told == ["0.00", "−1.24", "", "−3.0e+03", "inf"]


def test_a_wright_map_counts_every_item_with_a_difficulty(result: irtkit.FitResult) -> None:
    drawn = pictures.wright_map(result)
    assert drawn.items.sum() + drawn.n_left_out == 40
    assert drawn.n_left_out >= 1
    assert drawn.respondents.sum() == 200
