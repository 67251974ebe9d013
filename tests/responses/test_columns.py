"""Columns are recognised by their names, and doubt is an error."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from irtkit.findings import ReadingError
from irtkit.responses.columns import (
    is_long,
    item_positions,
    long_roles,
    matched,
)


def test_usual_names_are_recognised_in_any_spelling() -> None:
    respondents = ["respondent", "Model", "SUBJECT_ID", "Student ID", "user"]
    items = ["item", "question_id", "Instance-Id", "docId", "task_id"]
    for header in product(["response", "Correct", "is_correct", "acc"], items, ["?"], respondents):
        assert is_long(header, None, None, None)
        assert long_roles(header)[:5] == ([3], [1], 0, None, None)


@pytest.mark.parametrize(("header", "settings", "roles"), [
    (["model", "respondent", "item", "response"], {}, ([1], [2], 3, None, None)),
    (["user", "question", "Item", "score", "Response"], {}, ([0], [2], 4, None, None)),
    (["model", "user", "item", "right"], {"respondent": "user"}, ([1], [2], 3, None, None)),
    (["model", "item", "value", "acc"], {"item": "value"}, ([0], [2], 3, None, None)),
    (["model", "task", "item", "acc"], {}, ([0], [2], 3, 1, None)),
    (["model", "task", "item", "acc"], {"item": "item"}, ([0], [2], 3, None, None)),
    (["model", "subject", "item", "acc"], {}, ([0], [2], 3, 1, None)),
    (["model", "a", "b", "acc"], {"item": ["a", "b"]}, ([0], [1, 2], 3, None, None)),
    (["model", "item", "answer", "target"], {}, ([0], [1], 2, None, 3)),
    (["model", "item", "answer", "score"], {}, ([0], [1], 3, None, None)),
])  # fmt: skip
def test_a_column_has_one_role(header: list[str], settings: Any, roles: tuple[Any, ...]) -> None:
    assert long_roles(header, **settings)[:5] == roles


@pytest.mark.parametrize(("header", "code", "choices"), [
    (["item", "correct"], "no-respondent-column", [...]),
    (["model", "correct"], "no-item-column", [...]),
    (["model", "place", "correct"], "no-item-column", ["place"]),
    (["model", "benchmark", "note", "correct"], "no-item-column", ["benchmark"]),
    (["model", "item", "grade"], "no-response-column", [...]),
    (["model", "user", "item", "correct"], "several-columns", ["model", "user"]),
    (["model", "item", "correct", "score"], "several-columns", ["correct", "score"]),
])  # fmt: skip
def test_doubt_is_an_error_with_the_candidates(header: Any, code: str, choices: Any) -> None:
    with pytest.raises(ReadingError) as caught:
        long_roles(header)
    proposed = [name for one in caught.value.finding.remedies for name in one.settings.values()]
    assert (caught.value.finding.code, proposed) == (code, choices)


def test_columns_are_kept_and_left_out_by_name_or_pattern() -> None:
    header = ["model", "q1", "q2", "moe", "Total"]
    assert item_positions(header, [0], (), "q*") == ([1, 2], [])
    assert item_positions(header, [0], {3, 4}, None) == ([1, 2], [])
    assert item_positions(header, [0], {1}, ["q*", "moe"]) == ([2, 3], [])
    assert item_positions(header, [0], (), None) == ([1, 2, 3, 4], [3, 4])
    assert matched(header, ["q*", "mean"]) == ({1, 2}, ["mean"])
    with pytest.raises(ValueError, match="keep names 'q3', which is not a column"):
        item_positions(header, [0], (), "q3")
