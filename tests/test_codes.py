"""What a written value counts as."""

from __future__ import annotations

import decimal
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.responses import codes as module
from irtkit.responses.codes import (
    INVALID,
    MISSING,
    WrittenCodes,
    codes_of_rows,
    response_code,
    response_codes,
)
from irtkit.responses.marking import Marking


@pytest.mark.parametrize(
    ("value", "threshold", "code"),
    [
        ("1.00", None, 1),
        ("-0", None, 0),
        (decimal.Decimal("1.0"), None, 1),
        (np.True_, None, 1),
        ("n/a", None, MISSING),
        (pd.NA, None, MISSING),
        ("-1", None, INVALID),
        ("yes", None, INVALID),
        ([1], None, INVALID),
        (10**400, None, INVALID),
        ("true", 0.5, 1),
        ("0.4", 0.5, 0),
        ("high", 0.5, INVALID),
    ],
)
def test_a_written_value_has_the_code(value: Any, threshold: float | None, code: int) -> None:
    assert response_code(value, Marking(threshold)) == code


def test_the_first_row_without_a_code_is_named_and_the_others_counted() -> None:
    column = pd.Series(["1", None, "2", [3], "4", "0"], dtype=object)
    with pytest.raises(ValueError, match=r"'y', item 'q2' has '2' \(and 2 more such cells\)"):
        codes_of_rows(column, lambda row: ("y", f"q{row}"), Marking())
    assert codes_of_rows(column[[0, 1, 5]], lambda _: ("", ""), Marking()).tolist() == [1, -1, 0]


def test_more_different_scores_than_are_remembered_have_the_same_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = np.random.default_rng(0).uniform(size=200).astype(str).tolist()
    expected = [*map(WrittenCodes(Marking(0.5)).__getitem__, scores)]
    monkeypatch.setattr(module, "_REMEMBERED", 10)
    codes = WrittenCodes(Marking(0.5))
    assert [*map(codes.__getitem__, scores)] == expected
    assert len(codes) == 10


def test_numbers_too_large_for_others_are_compared_without_a_warning() -> None:
    cells = np.array([np.complex64(2j), 1e308], dtype=object)
    with warnings.catch_warnings(record=True, action="always") as caught:  # pandas swallows errors
        assert response_codes(cells, Marking()).tolist() == [-2, -2]
    assert not caught
