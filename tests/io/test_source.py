"""Columns are recognised by their names, and doubt is an error."""

from __future__ import annotations

from typing import Any

import pytest

from irtkit.io.source import find_columns, holds_respondents, is_long


@pytest.mark.parametrize("respondent", ["respondent", "Model", "SUBJECT_ID", "Student ID", "user"])
@pytest.mark.parametrize("item", ["item", "question_id", "Instance-Id", "docId", "task_id"])
@pytest.mark.parametrize("response", ["response", "Correct", "is_correct", "score", "accuracy"])
def test_usual_names_are_recognised_in_any_spelling(
    respondent: str, item: str, response: str
) -> None:
    header = ["split", response, item, "prompt", respondent]
    assert is_long(header)
    assert find_columns(header) == (4, 2, 1)


@pytest.mark.parametrize("missing", ["model", "item", "correct"])
def test_a_table_without_one_of_the_three_is_not_long(missing: str) -> None:
    header = [name for name in ["model", "item", "correct", "q1"] if name != missing]
    assert not is_long(header)
    with pytest.raises(ValueError, match=r"no column is recognised as the .* pass .*='?"):
        find_columns(header)


@pytest.mark.parametrize(
    ("header", "positions"),
    [
        (["model", "respondent", "item", "response"], (1, 2, 3)),
        (["user", "Item", "item", "score"], (0, 2, 3)),
        (["user", "question", "Item", "score", "Response"], (0, 2, 4)),
    ],
)
def test_the_role_itself_goes_before_its_other_names(
    header: list[str], positions: tuple[int, int, int]
) -> None:
    assert find_columns(header) == positions


def test_doubt_is_an_error_that_lists_the_candidates() -> None:
    header = ["model", "user", "item", "correct"]
    with pytest.raises(ValueError, match=r"the respondent \('model', 'user'\): pass respondent="):
        find_columns(header)
    assert find_columns(header, respondent="user") == (1, 2, 3)


def test_a_column_named_for_one_role_is_not_taken_for_another() -> None:
    assert find_columns(["model", "item", "value", "score"], item="value") == (0, 2, 3)
    with pytest.raises(ValueError, match="name the same column 'item'"):
        find_columns(["model", "item", "correct"], respondent="item", item="item")


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("q1", ["0", "1"], False),
        ("q1", ["0", "", "1"], False),
        ("q1", ["1", "1"], False),
        ("q1", ["True", "False", "NA"], False),
        ("q1", ["0", "1", "2"], True),
        ("q1", ["1", "1.0"], True),
        ("q1", ["NA", "None"], True),
        ("q1", ["NA"], True),
        ("", ["0", "1"], True),
        ("Model", ["0", "1"], True),
    ],
)
def test_only_a_nameless_or_unmistakable_first_column_is_labels(
    name: str, values: Any, *, expected: bool
) -> None:
    assert holds_respondents(name, values) is expected
