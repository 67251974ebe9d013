"""Samples of lm-evaluation-harness, of the versions whose files differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from irtkit.io import read_responses

if TYPE_CHECKING:
    from pathlib import Path


def test_before_0_4_7_metrics_are_the_numbers_that_no_field_is(tmp_path: Path, make: Any) -> None:
    record = make.lm_eval_record(0)
    del record["filter"], record["metrics"]
    path = make.write_lm_eval(tmp_path, [record])
    assert read_responses(path).values.tolist() == [[1]]


def test_before_0_4_3_the_file_is_an_array_by_model_and_task(tmp_path: Path, make: Any) -> None:
    record = make.lm_eval_record(0, arguments=[["Q: 0 + 1?", {"until": []}]], doc={"x": 1})
    for name in ("filter", "metrics", "doc_hash"):
        del record[name]
    path = tmp_path / "pretrained=org__gpt,dtype=float_sums_easy.jsonl"
    path.write_text(json.dumps([record], indent=2))
    responses = read_responses(path)
    assert responses.items == ("pretrained=org__gpt,dtype=float_sums_easy/0",)
    results = {"configs": {"easy": {}, "sums_easy": {}}}
    results["config"] = {"model_args": "pretrained=org/gpt,dtype=float"}
    (tmp_path / "results.json").write_text(json.dumps(results))
    responses = read_responses(path)
    assert (responses.respondents, responses.items) == (("org/gpt",), ("sums_easy/0",))
    assert responses.item_table.loc["sums_easy/0", "text"] == "Q: 0 + 1?"


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


def test_lists_and_what_was_only_generated_are_no_metrics(tmp_path: Path, make: Any) -> None:
    metrics = ["bypass", "inst_level", "strict"]
    fields = {"metrics": metrics, "bypass": 999, "inst_level": [True, False], "strict": False}
    path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0, **fields)])
    assert read_responses(path).values.tolist() == [[0]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"doc_id": 1, "doc"', "line 2 is not JSON"),
        ("[]", "line 2 is not a JSON object"),
        ('{"doc": {}}', "line 2: doc_id must be text, got None"),
        ('{"doc_id": [1], "doc": {}}', r"line 2: doc_id must be text, got \[1\]"),
        ('{"doc_id": "", "doc": {}}', "line 2: doc_id must be text"),
        ('{"doc_id": 1, "filter": 3.5}', "line 2: filter must be text"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, make: Any, line: str, message: str) -> None:
    path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0)])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=f"^{path.name}: {message}"):
        read_responses(path)


def test_a_byte_order_mark_and_blank_lines_are_no_trouble(tmp_path: Path, make: Any) -> None:
    path = make.write_lm_eval(tmp_path)
    expected = read_responses(path)
    text = "\ufeff" + path.read_text().replace("\n", "\r\n\r\n")
    path.write_bytes(text.encode())
    assert read_responses(path) == expected


def test_results_may_go_by_another_name_and_are_never_skipped_aloud(
    tmp_path: Path, make: Any
) -> None:
    path = make.write_lm_eval(tmp_path)
    (tmp_path / f"results_{make.TIME}.json").rename(tmp_path / f"mine_{make.TIME}.json")
    assert read_responses(tmp_path).respondents == ("org/gpt",)
    path.rename(tmp_path / "samples_sums_2020-01-02T03-04-05.jsonl")
    with pytest.warns(UserWarning, match=f"skipped 1 file .*: mine_{make.TIME}.json"):
        read_responses(tmp_path)
