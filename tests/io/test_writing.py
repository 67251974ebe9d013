"""Responses that are written read back equal, in every format and for every reader."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import irtkit
from irtkit import read_responses, read_table
from irtkit.io.merging import merge_responses
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from pathlib import Path

GAPS = ResponseMatrix(
    [[-1, 0, -1], [1, -1, -1]], ["=cmd", "NA"], ["sums/b", 'sums/a "quoted", one', "sums/c"]
)
COUNTS = ResponseMatrix.from_counts([[2, 0], [0, 1]], [[3, 0], [2, 1]], ["x", "y"], ["t/a", "t/b"])
SPARSE = ResponseMatrix([[1, 0], [0, -1]], ["gpt", "llama"], ["t/q1", "t/q2"]).to_sparse()
FILES = [
    *(("long", f"crowd{ending}") for ending in (".parquet", ".csv")),
    *(("wide", f"crowd{ending}") for ending in (".csv", ".tsv.gz")),
    ("every-eval-ever", "crowd_samples.jsonl"),
]


FAILED = pytest.mark.filterwarnings("ignore:.*failed:UserWarning")


@FAILED
@pytest.mark.parametrize(("form", "name"), FILES)
def test_what_is_written_reads_back_equal(tmp_path: Path, form: str, name: str) -> None:
    irtkit.write_responses(GAPS, tmp_path / name, format=form)
    assert read_responses(tmp_path / name) == GAPS
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@FAILED
@pytest.mark.parametrize(
    ("given", "settings", "word"),
    [(COUNTS, {"repeats": "count"}, "repeated trials"), (SPARSE, {"sparse": True}, "sparse")],
)
@pytest.mark.parametrize(("form", "name"), FILES)
def test_repeated_trials_and_sparse_matrices_read_back_equal_or_are_refused(
    tmp_path: Path, form: str, name: str, given: Any, settings: Any, word: str
) -> None:
    if form == "wide":
        with pytest.raises(ValueError, match=word):
            irtkit.write_responses(given, tmp_path / name, format=form)
        return
    irtkit.write_responses(given, tmp_path / name)
    assert read_responses(tmp_path / name, **settings) == given


def test_a_wide_table_is_what_mirt_reads(tmp_path: Path) -> None:
    path = tmp_path / "crowd.csv"
    values = [[1, 0, -1], [0, -1, 1]]
    responses = ResponseMatrix(values, ["007", "=cmd"], ["task/1", "2", "a b"])
    irtkit.write_responses(responses, path, format="wide")
    assert path.read_text() == ('"respondent","task/1","2","a b"\n"007",1,0,NA\n"\'=cmd",0,NA,1\n')
    with pytest.raises(ValueError, match="'respondent' occurs twice"):
        irtkit.write_responses(ResponseMatrix([[1]], items=["respondent"]), path, format="wide")


@pytest.mark.parametrize(("form", "name"), FILES)
def test_tables_are_stored_next_to_the_file_and_read_back(
    tmp_path: Path, form: str, name: str
) -> None:
    labels = ["t/q1", "t/q2"]
    texts = {"task": "t", "text": ["1 + 1?", None], "target": ["2", "=3"], "level": [1.5, 2.0]}
    about = pd.DataFrame({"family": ["o", None], "params": [7, 70]}, ["gpt", "llama"])
    responses = ResponseMatrix([[1, 0], [0, 1]], ["gpt", "llama"], labels)
    responses = responses.with_tables(pd.DataFrame(texts, labels), about)
    crowd = irtkit.add_synthetic(responses, ("always-right",))
    irtkit.write_responses(responses, tmp_path / name, format=form)
    again = read_responses(tmp_path / name)
    assert again == responses
    pd.testing.assert_frame_equal(again.item_table, responses.item_table)
    pd.testing.assert_frame_equal(again.respondent_table, responses.respondent_table)
    irtkit.write_responses(crowd, tmp_path / name, format=form)
    noted = read_table(tmp_path / f"{name}.respondents.json")
    assert noted["synthetic"].tolist() == [False, False, True]
    again = read_responses(tmp_path / name)
    assert again == crowd
    assert again.respondent_table.columns.tolist() == ["family", "params"]
    assert merge_responses([again, responses], repeats="count").synthetic.tolist() == [0, 0, 1]
    bare = ResponseMatrix([[1]], ["gpt"], ["t/q1"])
    with pytest.raises(ValueError, match="would be read: remove it"):
        irtkit.write_responses(bare, tmp_path / name, format=form)


def test_stored_tables_of_another_matrix_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "crowd.csv"
    responses = ResponseMatrix([[1]], ["gpt"], ["q1"])
    known = pd.DataFrame({"text": ["1 + 1?"]}, ["q1"])
    irtkit.write_responses(irtkit.add_synthetic(responses.with_tables(known), ("coin",)), path)
    path.write_text("model,item,correct\ngpt,q2,1\n")
    with pytest.raises(ValueError, match=r"crowd\.csv\.items\.json lacks a row for 'q2'.*remove"):
        read_responses(path)
    (tmp_path / "crowd.csv.items.json").unlink()
    assert read_responses(path).items == ("q2",)


@pytest.mark.parametrize("how", ["to_dense", "to_sparse"])
def test_items_without_a_task_keep_their_tables(tmp_path: Path, how: str) -> None:
    path = tmp_path / "crowd_samples.jsonl"
    known = pd.DataFrame({"text": ["1 + 1?", "2 + 2?"]}, ["q1", "t/q2"])
    given = {"respondent": ["gpt"], "item": ["q1"], "metric": ["cost"], "value": [0.5]}
    responses = getattr(ResponseMatrix([[1, 0]], ["gpt"], ["q1", "t/q2"]), how)()
    irtkit.write_responses(responses.with_tables(known, metrics=pd.DataFrame(given)), path)
    again = read_responses(path)
    assert again.item_table["text"].to_dict() == {"responses/q1": "1 + 1?", "t/q2": "2 + 2?"}
    assert again.metrics["item"].tolist() == ["responses/q1"]
    twice = ResponseMatrix([[1, 0]], items=["x", "responses/x"])
    with pytest.raises(ValueError, match="unique labels: 'responses/x' occurs twice"):
        irtkit.write_responses(twice, tmp_path / "twice_samples.jsonl")


def test_samples_are_of_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "crowd_samples.jsonl.gz"
    known = pd.DataFrame({"text": ["1 + 1?", None], "target": ["2", None], "level": [1.0, None]})
    responses = ResponseMatrix([[1, -1]], ["org/gpt"], ["sums/easy/1", "bare"])
    irtkit.write_responses(responses.with_tables(known.set_axis(responses.items)), path)
    one, other = map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
    names = ("model_id", "evaluation_name", "sample_id", "schema_version", "interaction_type")
    assert [one[name] for name in names] == ["org/gpt", "sums", "easy/1", "0.3.0", "single_turn"]
    assert (one["input"], one["metadata"]) == (
        {"raw": "1 + 1?", "reference": ["2"]},
        {"level": "1.0"},
    )
    assert one["evaluation"] == {"score": 1.0, "is_correct": True}
    assert one["sample_hash"].startswith("8d316411b0932805")
    assert (other["evaluation_name"], other["sample_id"]) == ("responses", "bare")
    assert (other["sample_hash"], other["error"]) == (None, "no response is known")


@pytest.mark.parametrize(("name", "form", "message"), [
    ("crowd.xls", None, "must end in .parquet or .csv or .tsv"),
    ("crowd.parquet", "wide", "must end in .csv or .tsv"),
    ("crowd.csv", "excel", "format must be one of every-eval-ever, long, wide"),
    ("crowd.jsonl", None, "must end in .parquet or .csv"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(
    tmp_path: Path, name: str, form: str | None, message: str
) -> None:
    responses = ResponseMatrix([[1, -1]], ["gpt"], ["q1", "q2"])
    with pytest.raises(ValueError, match=message):
        irtkit.write_responses(responses, tmp_path / name, format=form)
    assert not list(tmp_path.iterdir())
