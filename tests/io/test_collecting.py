"""Labels and values are looked at once."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit.io import collecting
from irtkit.io.collecting import LongTable, Numbering, ResponseCodes


def test_labels_are_numbered_in_the_order_of_their_first_occurrence() -> None:
    numbering = Numbering()
    assert numbering.of(["b", "a", "", "b"]).tolist() == [0, 1, -1, 0]
    assert numbering.of(["c", " ", "a"]).tolist() == [2, -1, 1]
    assert numbering.labels == ["b", "a", "c"]


def test_the_first_value_without_a_code_is_remembered_and_the_others_counted() -> None:
    codes = ResponseCodes(None)
    assert np.frombuffer(codes.encode(0, ["1", "0", ""]), np.int8).tolist() == [1, 0, -1]
    codes.refuse_invalid(["x"], ["a", "b", "c"])
    codes.encode(1, ["1", "2", [3]])
    codes.encode(2, ["4", "1", "1"])
    with pytest.raises(ValueError, match=r"'y', item 'b' has '2' \(and 2 more such cells\)"):
        codes.refuse_invalid(["x", "y", "z"], ["a", "b", "c"])


def test_more_different_scores_than_are_remembered_have_the_same_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = np.random.default_rng(0).uniform(size=200).astype(str).tolist()
    expected = ResponseCodes(0.5).encode(0, scores)
    monkeypatch.setattr(collecting, "_REMEMBERED", 10)
    codes = ResponseCodes(0.5)
    assert codes.encode(0, scores) == expected
    assert len(codes) == 10


def test_blocks_of_a_long_table_make_one_matrix() -> None:
    table = LongTable("model", "item", "correct")
    table.add(["x", "y"], ["b", "b"], ["1", ""])
    table.add(["y"], ["a"], ["0"])
    responses = table.matrix()
    assert responses.respondents == ("x", "y")
    assert responses.items == ("b", "a")
    assert responses.values.tolist() == [[1, -1], [-1, 0]]


def test_a_long_table_names_its_own_columns_in_errors() -> None:
    table = LongTable("model", "item", "correct")
    table.add([""], ["a"], ["1"])
    with pytest.raises(ValueError, match="column 'model' has no label in row 1"):
        table.matrix()


def test_repeats_of_a_long_table_are_counted_across_blocks() -> None:
    table = LongTable("model", "item", "correct")
    table.add(["x", "y"], ["b", "b"], ["1", "0"])
    table.add(["x", "x"], ["b", "b"], ["0", ""])
    responses = table.matrix(repeats="count")
    assert responses.successes.tolist() == [[1], [0]]
    assert responses.trials.tolist() == [[2], [1]]
