"""Samples of Every Eval Ever: marks, scores, and where the two disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from irtkit import read_responses
from irtkit.findings import ReadingError

if TYPE_CHECKING:
    from pathlib import Path


def evaluation(score: float | None, *, correct: bool | None) -> dict[str, Any]:
    return {"evaluation": {"score": score, "is_correct": correct}}


@pytest.mark.parametrize(("score", "correct"), [(0.7, None), (0.2, True), (1.0, False)])
def test_a_mark_that_is_absent_or_contradicts_the_score_is_not_taken_unasked(
    tmp_path: Path, make: Any, score: float, correct: bool | None
) -> None:
    records = [make.every_eval_ever_record("a", **evaluation(score, correct=correct))]
    path = make.write_every_eval_ever(tmp_path, [*records, make.every_eval_ever_record("b")])
    with pytest.raises(ReadingError) as error:
        read_responses(path)
    finding = error.value.finding
    assert (finding.code, finding.values["sample"]) == ("doubtful-mark", "a")
    mark = -1 if correct is None else int(correct)
    assert read_responses(path, metric="is_correct").values.tolist() == [[mark, 1]]
    assert read_responses(path, threshold=0.5).values.tolist() == [[int(score >= 0.5), 1]]


def test_several_results_of_one_sample_are_filters_and_no_repeats(
    tmp_path: Path, make: Any
) -> None:
    records = [
        make.every_eval_ever_record(
            "a", evaluation_result_id=f"sums.{name}", **evaluation(mark, correct=bool(mark))
        )
        for name, mark in (("strict", 0), ("lenient", 1))
    ]
    path = make.write_every_eval_ever(tmp_path, records)
    with pytest.raises(ValueError, match="several filters: strict, lenient"):
        read_responses(path, repeats="count")
    assert read_responses(path, filter="lenient").values.tolist() == [[1]]


def test_a_file_may_hold_several_models_and_evaluations(tmp_path: Path, make: Any) -> None:
    records = [
        make.every_eval_ever_record("a", model_id=model, evaluation_name=task)
        for model in ("one", "two")
        for task in ("sums", "words")
    ]
    responses = read_responses(make.write_every_eval_ever(tmp_path, records))
    assert responses.respondents == ("one", "two")
    assert responses.items == ("sums/a", "words/a")


def test_what_is_known_of_the_model_comes_from_the_summary(tmp_path: Path, make: Any) -> None:
    path = make.write_every_eval_ever(tmp_path, [make.every_eval_ever_record("a")])
    responses = read_responses(path)
    assert responses.respondent_table.to_dict("index") == {"org/gpt": {"developer": "org"}}
    assert read_responses(tmp_path / "f3a1.json") == responses
