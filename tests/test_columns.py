"""Columns are recognised by their names, and doubt is an error."""

from __future__ import annotations

from typing import Any

import pytest

from irtkit.responses.columns import find_columns, holds_respondents, is_long, respondent_column
from irtkit.responses.marking import Marking


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
def test_a_table_without_respondent_or_item_is_not_long(missing: str) -> None:
    header = [name for name in ["model", "item", "correct", "q1"] if name != missing]
    assert is_long(header) is (missing == "correct")
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
    ("values", "settings", "expected"),
    [
        (["0", "1"], {}, False),
        (["0", "", "1"], {}, False),
        (["1", "1"], {}, False),
        (["True", "False", "NA"], {}, False),
        (["0", "1", "2"], {}, True),
        (["1", "1.0"], {}, True),
        (["NA", "None"], {}, True),
        (["NA"], {}, True),
        (["0.2", "0.9", ""], {"threshold": 0.5}, False),
        (["1", "2", "3"], {"threshold": 0.5}, True),
        (["0", "1", "2"], {"threshold": 0.5}, True),
        (["4", "2", "3"], {"threshold": 0.5}, False),
        (["gpt", "llama"], {"threshold": 0.5}, True),
        (["gpt", "llama"], {"right": "pass"}, True),
        (["pass", "timeout"], {"right": "pass"}, False),
        (["fail", "fail"], {"right": "pass", "wrong": "fail"}, False),
    ],
)
def test_only_an_unmistakable_first_column_is_labels(
    values: list[str], settings: dict[str, Any], *, expected: bool
) -> None:
    assert holds_respondents(values, Marking.of(**settings)) is expected


@pytest.mark.parametrize(
    ("header", "position"),
    [
        (["", "q1"], 0),
        (["Unnamed: 0", "q1"], 0),
        (["Model", "q1"], 0),
        (["", "q1", "Model"], 2),
        (["model", "system", "q1"], 0),
        (["name", "q1"], 0),
        (["ID", "model", "q1"], 1),
        (["q1", "name"], None),
    ],
)
def test_a_column_is_the_respondents_by_its_name(header: list[str], position: int | None) -> None:
    assert respondent_column(header) == position


def test_the_name_of_items_before_the_rows_is_asked_about() -> None:
    with pytest.warns(UserWarning, match=r"are rows items here\? .*'question_id'.*\.T"):
        assert respondent_column(["question_id", "gpt", "llama"]) is None
