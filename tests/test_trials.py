"""Counts of trials: the smallest type that holds them, and what is no count."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.responses import ResponseMatrix
from irtkit.responses.trials import (
    MOST_TRIALS,
    check_repeats,
    checked_counts,
    one_of_repeats,
)

NAMES = (("x", "y"), ("a", "b"))


@pytest.mark.parametrize(
    ("most", "kind"),
    [
        (255, np.uint8),
        (256, np.uint16),
        (65_535, np.uint16),
        (65_536, np.int32),
        (MOST_TRIALS, np.int32),
    ],
)
@pytest.mark.parametrize("given", [np.int64, np.uint64, np.float64, object])
def test_counts_are_kept_whole_in_the_smallest_type(most: int, kind: type, given: type) -> None:
    tables = np.array([[1, most], [0, 0]], given), np.array([[2, most], [0, 1]], given)
    successes, trials = checked_counts(*tables, NAMES)
    assert successes.dtype == trials.dtype == kind
    assert successes.tolist() == [[1, most], [0, 0]]
    assert trials.tolist() == [[2, most], [0, 1]]


@pytest.mark.parametrize(
    "value", [-1, 0.5, np.inf, -np.inf, "2", "", b"2", [1], 1j, decimal.Decimal("0.5"), 10**400]
)
@pytest.mark.parametrize("argument", ["successes", "trials"])
def test_a_cell_that_is_no_count_is_named(argument: str, value: Any) -> None:
    bad = np.array([[1, 1], [None, 1]], dtype=object)
    bad[1, 0] = value
    bad[1, 1] = "many"
    tables = {"successes": np.full((2, 2), 1), "trials": np.full((2, 2), 1), argument: bad}
    rule = f"^{argument} must be whole numbers, 0 or more: respondent 'y', item 'a' has .* .and 1 m"
    with pytest.raises(ValueError, match=rule) as caught:
        checked_counts(tables["successes"], tables["trials"], NAMES)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("right", "tried", "message"),
    [
        (4, 3, r"at most trials: respondent 'x', item 'b' has 4(\.0)? out of 3(\.0)?$"),
        (1, 0, r"at most trials: respondent 'x', item 'b' has 1(\.0)? out of 0(\.0)?$"),
        (np.nan, 3, r"number where there are trials: .*'x', item 'b' has nan out of 3"),
        (1, MOST_TRIALS + 1, "trials must be at most 2147483647: .* has 2147483648"),
    ],
)
@pytest.mark.parametrize("kind", [None, np.float64, object])
def test_successes_and_trials_must_go_together(
    kind: type | None, right: float, tried: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        checked_counts(
            np.array([[1, right], [0, 0]], kind), np.array([[1, tried], [0, 0]], kind), NAMES
        )


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT])
def test_what_stands_for_missing_is_no_trial(missing: Any) -> None:
    successes, trials = checked_counts(
        np.array([[1, missing], [7, 0]], object),
        np.array([[2, missing], [missing, 0]], object),
        NAMES,
    )
    assert (successes.tolist(), trials.tolist()) == ([[1, 0], [0, 0]], [[2, 0], [0, 0]])


def test_a_wider_type_than_a_byte_does_not_wrap_around() -> None:
    place = np.repeat([0, 1], [300, 2])
    codes = (np.arange(302) >= 10).astype(np.int8)
    responses = ResponseMatrix.of_rows((place, place, codes), NAMES, repeats="count")
    successes, trials = responses.successes, responses.trials
    assert successes.tolist() == [[290, 0], [0, 2]]
    assert trials.tolist() == [[300, 0], [0, 2]]
    assert trials.dtype == np.uint16


def test_one_of_several_trials_is_the_first_the_last_or_their_mean() -> None:
    cells, codes = np.array([5, 2, 5, 5, 2, 9]), np.array([0, -1, 1, 1, 1, -1], np.int8)
    for repeats, expected in (
        ("first", [1, 0]),
        ("last", [1, 1]),
        ("mean>=0.5", [1, 1]),
        ("mean>=0.7", [1, 0]),
    ):
        kept, responses = one_of_repeats(cells, codes, repeats)
        assert kept.tolist() == [2, 5]
        assert responses.tolist() == expected
    assert one_of_repeats(cells[::-1], codes[::-1], "last")[1].tolist() == [1, 0]


def test_a_share_is_met_exactly_where_it_is_no_binary_number() -> None:
    codes = np.array([1] * 3 + [0] * 7, np.int8)
    assert one_of_repeats(np.zeros(10, np.int64), codes, "mean>=0.3")[1].tolist() == [1]


@pytest.mark.parametrize("repeats", ["mean>=0", "mean>=1.1", "mean>=x", "mean", "", "sum"])
def test_an_unknown_way_to_take_repeats_is_refused(repeats: str) -> None:
    with pytest.raises(ValueError, match="repeats must be one of"):
        check_repeats(repeats)
