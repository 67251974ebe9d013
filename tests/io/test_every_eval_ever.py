"""Samples of Every Eval Ever: marks, scores, and where the two disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from irtkit.findings import ReadingError
from irtkit.io import read_responses

if TYPE_CHECKING:
    from pathlib import Path


def evaluation(score: float | None, *, correct: bool | None) -> dict[str, Any]:
    return {"evaluation": {"score": score, "is_correct": correct}}


@pytest.mark.parametrize(
    ("score", "correct", "held"),
    [
        (0.7, None, "lacks is_correct and has"),
        (0.2, True, "has is_correct True and"),
        (1.0, False, "has is_correct False and"),
    ],
)
def test_a_mark_that_is_absent_or_contradicts_the_score_is_not_taken_unasked(
    tmp_path: Path, make: Any, score: float, correct: bool | None, held: str
) -> None:
    records = [make.every_eval_ever_record("a", **evaluation(score, correct=correct))]
    path = make.write_every_eval_ever(tmp_path, [*records, make.every_eval_ever_record("b")])
    with pytest.raises(ReadingError, match=f"sample 'a' {held} a score of .*threshold="):
        read_responses(path)
    mark = -1 if correct is None else int(correct)
    assert read_responses(path, metric="is_correct").values.tolist() == [[mark, 1]]
    assert read_responses(path, threshold=0.5).values.tolist() == [[int(score >= 0.5), 1]]


def test_marks_are_taken_where_scores_are_other_numbers(tmp_path: Path, make: Any) -> None:
    path = make.write_every_eval_ever(
        tmp_path, [make.every_eval_ever_record("a", **evaluation(37.5, correct=False))]
    )
    assert read_responses(path).values.tolist() == [[0]]


def test_several_results_of_one_sample_are_filters_and_no_repeats(
    tmp_path: Path, make: Any
) -> None:
    records = [
        make.every_eval_ever_record("a", evaluation_result_id=f"sums.{name}", **of)
        for name, of in (
            ("strict", evaluation(0, correct=False)),
            ("lenient", evaluation(1, correct=True)),
        )
    ]
    path = make.write_every_eval_ever(tmp_path, records)
    with pytest.raises(ValueError, match="several filters: strict, lenient"):
        read_responses(path, repeats="count")
    assert read_responses(path, filter="lenient").values.tolist() == [[1]]


def test_several_lines_of_one_sample_are_repeats(tmp_path: Path, make: Any) -> None:
    path = make.write_every_eval_ever(tmp_path, [make.every_eval_ever_record("a")] * 2)
    assert read_responses(path, repeats="count").trials.tolist() == [[2]]


def test_version_0_2_has_no_results_to_choose_from(tmp_path: Path, make: Any) -> None:
    fields = {"schema_version": "0.2.1", "evaluation_id": "None_samples", "metadata": None}
    records = []
    for item, score in (("id1", 0.0), ("id2", 1.0), ("id3", 1.0)):
        record = make.every_eval_ever_record(item, **fields, **evaluation(score, correct=score > 0))
        del record["evaluation_result_id"]
        record["input"] |= {"formatted": None, "choices": ["1", "2"]}
        records.append(record | {"error": "timeout" if item == "id3" else None})
    path = make.write_every_eval_ever(tmp_path, records)
    with pytest.warns(UserWarning, match="1 sample failed"):
        responses = read_responses(path)
    assert responses.items == ("sums/id1", "sums/id2", "sums/id3")
    assert responses.values.tolist() == [[0, 1, -1]]
    assert responses.item_table["choices"].tolist() == ["1 | 2"] * 3


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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"schema_version": "0.1.0"}, "schema_version must be 0.2 or 0.3, got '0.1.0'"),
        ({"model_id": None}, "model_id must be text"),
        ({"evaluation": None}, "'NoneType' object has no attribute"),
        ({"evaluation": {"score": "high"}}, "is_correct and score must be numbers"),
        ({"sample_id": {}}, "sample_id must be text"),
        ({"evaluation_id": []}, "unhashable"),
    ],
)
def test_a_fault_is_named_with_its_line(
    tmp_path: Path, make: Any, fields: dict[str, Any], message: str
) -> None:
    path = make.write_every_eval_ever(tmp_path, [make.every_eval_ever_record("a", **fields)])
    with pytest.raises(ValueError, match=f"^{path.name}: line 1: .*{message}"):
        read_responses(path)


def test_a_summary_without_its_samples_says_so(tmp_path: Path, make: Any) -> None:
    make.write_every_eval_ever(tmp_path).unlink()
    with pytest.raises(ValueError, match=r"its samples, in f3a1_samples.jsonl, are not beside it"):
        read_responses(tmp_path / "f3a1.json")
