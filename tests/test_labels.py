"""Labels as text: what is missing, what must agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.labels import category_name, is_missing_label, matrix_names


@pytest.mark.parametrize("label", [None, float("nan"), np.nan, pd.NA, pd.NaT, "", "  "])
def test_what_stands_for_no_label_names_no_category(label: Any) -> None:
    assert is_missing_label(label)
    assert category_name(label) == ""


@pytest.mark.parametrize(
    ("label", "name"), [("None", "None"), ("1.0", "1.0"), (np.float32(2), "2"), (0, "0")]
)
def test_a_category_is_called_as_it_is_written(label: Any, name: str) -> None:
    assert category_name(label) == name


def test_labels_given_go_before_those_of_a_table() -> None:
    frame = pd.DataFrame([[1, 0]], ["x"], ["a", "b"])
    assert matrix_names((1, 2), None, ["c", "d"], table=frame) == (("x",), ("c", "d"))
    assert matrix_names((1, 2), None, None, table=[[1, 0]]) == (
        ("respondent-1",),
        ("item-1", "item-2"),
    )
