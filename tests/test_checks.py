"""Arguments: what is taken, and what a refusal says."""

import math
from fractions import Fraction

import numpy as np
import pytest

from irtkit import FitResult, ResponseMatrix
from irtkit.checks import (
    as_number,
    as_numbers,
    check_number,
    check_type,
    check_whole,
    first_names,
)


@pytest.mark.parametrize(
    "value", [2, 3.0, np.float64(3), True, "3", None, math.nan, np.timedelta64(3)]
)
def test_a_number_that_is_not_whole_or_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="n must be a whole number, 3 or more, got"):
        check_whole("n", value, 3)


@pytest.mark.parametrize(("value", "bounds", "message"), [
    (1, {"least": 0, "below": 1}, "x must be at least 0 and below 1, got 1"),
    (0, {"above": 0, "most": 1}, "x must be above 0 and at most 1, got 0"),
    (math.nan, {"least": 0}, "x must be at least 0, got nan"),
    (math.inf, {"least": 0}, "x must be a finite number and at least 0, got inf"),
    (math.nan, {}, "x must be a finite number, got nan"),
])  # fmt: skip
def test_a_number_out_of_bounds_is_refused_with_them(value, bounds, message):
    assert check_number("x", Fraction(1, 2), above=0, most=1) == 0.5
    with pytest.raises(ValueError, match=f"^{message}"):
        check_number("x", value, **bounds)


@pytest.mark.parametrize("value", ["1", None, True, np.True_, [1.0], 1j, np.timedelta64(1, "s")])
def test_other_values_than_numbers_have_a_wrong_type(value):
    assert math.isnan(as_number(value))
    with pytest.raises(TypeError, match="x must be a number, got"):
        check_number("x", value)


@pytest.mark.parametrize(
    ("kind", "instead"), [(ResponseMatrix, r"irtkit\.read_responses"), (FitResult, r"irtkit\.fit")]
)
def test_another_type_is_refused_with_what_makes_the_right_one(kind, instead):
    with pytest.raises(TypeError, match=rf"x must be a {kind.__name__}, got list. .*{instead}"):
        check_type("x", [[1]], kind)


def test_a_message_repeats_no_more_than_a_line_of_a_value():
    for value in ("x" * 10**6, ["y" * 10**6], {"z" * 99: list(range(99))}, np.zeros(999)):
        with pytest.raises(ValueError, match=r"^n must be") as error:
            check_whole("n", value, 1)
        assert len(str(error.value)) < 250
    assert len(first_names(["x" * 10**6] * 9)) < 600


@pytest.mark.parametrize("given", [[[1], [1, 2]], np.ma.array([1, 2], mask=[0, 1])])
def test_other_values_than_numbers_are_refused_by_name(given):
    with pytest.raises(ValueError, match=r"^x must (be numbers|not be masked)"):
        as_numbers("x", given)
