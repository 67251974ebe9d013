"""Scores, texts and names as logs write them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from irtkit.io.samples import Samples, metadata_of, name_of, named_by_file, score_of, text_of


def test_numbers_and_yes_or_no_are_scores_and_nothing_else() -> None:
    assert [score_of(value) for value in (True, False, 3, 0.5)] == [1.0, 0.0, 3.0, 0.5]
    assert math.isnan(score_of(None))
    assert [score_of(value) for value in ("1", [1], {})] == [None, None, None]


def test_texts_are_texts_numbers_and_lists_of_texts() -> None:
    assert [text_of(value) for value in ("a", 3, ["a", "b"])] == ["a", "3", "a | b"]
    assert [text_of(value) for value in ("", None, [], ["a", 1], {})] == [None] * 5


def test_metadata_are_short() -> None:
    record = {"subject": "sums", "level": 3, "hard": True, "long": "x" * 2000, "deep": {}, "": 1}
    assert metadata_of(record, ("level",)) == {"subject": "sums", "hard": True}
    assert metadata_of([record]) == {}


@pytest.mark.parametrize("value", [None, True, 1.5, [], "", " "])
def test_a_name_is_text_or_a_whole_number(value: object) -> None:
    assert name_of(7, "id") == "7"
    with pytest.raises(ValueError, match="id must be text"):
        name_of(value, "id")


def test_samples_say_whose_they_are() -> None:
    with pytest.raises(ValueError, match="does not name the respondent"):
        Samples(Path("x"), " ", "task")


@pytest.mark.parametrize("name", ["gpt_predictions.arff", "gpt.arff.gz", "gpt-predictions.arff"])
def test_a_system_goes_by_the_name_of_its_file_or_folder(name: str) -> None:
    assert named_by_file(Path("runs/llama") / name, "[._-]?predictions") == "gpt"
    assert named_by_file(Path("runs/llama/predictions.arff"), "[._-]?predictions") == "llama"
