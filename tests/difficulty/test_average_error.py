"""Claims about average error."""

from __future__ import annotations

import numpy as np

from irtkit.difficulty import average_error
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
