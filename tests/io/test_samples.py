"""Scores, texts and names as logs write them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from irtkit.io.samples import name_of, named_by_file, score_of


def test_numbers_and_yes_or_no_are_scores_and_nothing_else() -> None:
    assert [score_of(value) for value in (True, False, 3, 0.5)] == [1.0, 0.0, 3.0, 0.5]
    assert math.isnan(score_of(None))
    assert [score_of(value) for value in ("1", [1], {})] == [None, None, None]


@pytest.mark.parametrize("value", [None, True, 1.5, [], "", " "])
def test_a_name_is_text_or_a_whole_number(value: object) -> None:
    assert name_of(7, "id") == "7"
    with pytest.raises(ValueError, match="id must be text"):
        name_of(value, "id")


@pytest.mark.parametrize("name", ["gpt_predictions.arff", "gpt.arff.gz", "gpt-predictions.arff"])
def test_a_system_goes_by_the_name_of_its_file_or_folder(name: str) -> None:
    assert named_by_file(Path("runs/llama") / name, "[._-]?predictions") == "gpt"
    assert named_by_file(Path("runs/llama/predictions.arff"), "[._-]?predictions") == "llama"
