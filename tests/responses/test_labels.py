"""Labels as text: what is missing, what must agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.responses.labels import category_name, is_missing_label, matrix_names, normalised


@pytest.mark.parametrize("label", [None, float("nan"), np.nan, pd.NA, pd.NaT, "", "  "])
def test_what_stands_for_no_label_names_no_category(label: Any) -> None:
    assert is_missing_label(label)
    assert category_name(label) == ""


def test_labels_given_go_before_those_of_a_table() -> None:
    frame = pd.DataFrame([[1, 0]], ["x"], ["a", "b"])
    assert matrix_names((1, 2), None, ["c", "d"], table=frame) == (("x",), ("c", "d"))
    assert matrix_names((1, 2), None, None, table=[[1, 0]]) == (
        ("respondent-1",),
        ("item-1", "item-2"),
    )


@pytest.mark.parametrize(
    "labels", [{"a", "b"}, frozenset({"a", "b"}), "ab", b"ab", 2, {"a": 1}.items()]
)
def test_labels_without_an_order_or_that_are_no_list_are_refused(labels: Any) -> None:
    with pytest.raises(TypeError, match=r"^respondents must be "):
        matrix_names((2, 1), labels, None)


def test_labels_that_differ_only_in_blanks_or_unicode_form_are_the_same() -> None:
    assert normalised(["  GPT \t 4 ", "Cafe\u0301"]) == ["GPT 4", "Caf\u00e9"]
