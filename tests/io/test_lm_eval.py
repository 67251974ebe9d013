"""Samples of lm-evaluation-harness, of the versions whose files differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from irtkit.io import read_responses

if TYPE_CHECKING:
    from pathlib import Path


def test_the_model_is_that_of_the_results_and_else_the_folder(tmp_path: Path, make: Any) -> None:
    folder = tmp_path / "org__llama"
    folder.mkdir()
    path = make.write_lm_eval(folder)
    assert read_responses(path).respondents == ("org/gpt",)
    (folder / f"results_{make.TIME}.json").unlink()
    assert read_responses(path).respondents == ("org/llama",)


@pytest.mark.parametrize(
    ("fields", "mark"),
    [({"exact_match": True}, 1), ({"exact_match": 0}, 0), ({"exact_match": None}, -1)],
)
def test_marks_may_be_yes_or_no_or_missing(
    tmp_path: Path, make: Any, fields: dict[str, Any], mark: int
) -> None:
    records = [make.lm_eval_record(0, **fields), make.lm_eval_record(1)]
    assert read_responses(make.write_lm_eval(tmp_path, records)).values.tolist() == [[mark, 1]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"doc_id": 1, "doc"', "line 2 is not JSON"),
        ('{"doc": {}}', "line 2: doc_id must be text, got None"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, make: Any, line: str, message: str) -> None:
    path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0)])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=f"^{path.name}: {message}"):
        read_responses(path)
