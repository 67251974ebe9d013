"""Claims about average error."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit.difficulty import average_error, average_error_interval
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


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(6)
    truth = generator.uniform(0.05, 0.95, 2000)
    responses = ResponseMatrix((generator.random((40, 2000)) > truth).astype(int))
    table = average_error_interval(responses)
    held = ((table["low"] <= truth) & (truth <= table["high"])).mean()
    assert held == pytest.approx(0.95, abs=0.015)  # 3 binomial SDs


def test_the_interval_of_an_item_without_responses_is_nan() -> None:
    table = average_error_interval(ResponseMatrix([[1, -1], [0, -1]]))
    assert table.iloc[1][["average_error", "low", "high"]].isna().all()
    assert table["n_responses"].tolist() == [2, 0]


def test_a_level_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="level"):
        average_error_interval(ResponseMatrix([[1, 0]]), level=1.0)


def test_synthetic_respondents_count_when_asked_for() -> None:
    crowd = add_synthetic(RESPONSES, ("always-right", "always-wrong"))
    np.testing.assert_array_equal(average_error(crowd), average_error(RESPONSES))
    assert average_error(crowd, synthetic=True)["a"] == (1 + 1) / 6
