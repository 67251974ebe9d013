"""Responses that are written read back equal, in every format and for every reader."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtkit
from irtkit.io import read_responses, read_table
from irtkit.io.merging import merge_responses
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from pathlib import Path

GAPS = ResponseMatrix(
    [[-1, 0, -1], [1, -1, -1]], ["=cmd", "NA"], ["sums/b", 'sums/a "quoted", one', "sums/c"]
)
COUNTS = ResponseMatrix.from_counts([[2, 0], [0, 1]], [[3, 0], [2, 1]], ["x", "y"], ["t/a", "t/b"])
FILES = [
    *(("long", f"crowd{ending}") for ending in (".parquet", ".csv", ".tsv", ".csv.gz")),
    *(("wide", f"crowd{ending}") for ending in (".csv", ".tsv", ".tsv.gz")),
    *(("py-irt", f"crowd.{ending}") for ending in ("jsonl", "jsonlines", "jsonl.gz")),
    *(("every-eval-ever", f"crowd_samples.jsonl{ending}") for ending in ("", ".gz")),
]


FAILED = pytest.mark.filterwarnings("ignore:.*failed:UserWarning")


@FAILED
@pytest.mark.parametrize(("form", "name"), FILES)
def test_what_is_written_reads_back_equal(tmp_path: Path, form: str, name: str) -> None:
    values = [[1, 0], [-1, 1], [-1, -1]]
    orderly = ResponseMatrix(values, ["=cmd", "007", "NA"], ["b", 'a "quoted", one'])
    gaps = orderly if form == "py-irt" else GAPS
    irtkit.write_responses(gaps, tmp_path / name, format=form)
    assert read_responses(tmp_path / name) == gaps
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@FAILED
@pytest.mark.parametrize(("form", "name"), FILES)
def test_repeated_trials_read_back_equal_or_are_refused(
    tmp_path: Path, form: str, name: str
) -> None:
    if form in {"wide", "py-irt"}:
        with pytest.raises(ValueError, match="repeated trials"):
            irtkit.write_responses(COUNTS, tmp_path / name, format=form)
        return
    irtkit.write_responses(COUNTS, tmp_path / name)
    assert read_responses(tmp_path / name, repeats="count") == COUNTS


@pytest.mark.parametrize(("form", "name"), FILES)
def test_a_sparse_matrix_reads_back_equal_or_is_refused(
    tmp_path: Path, form: str, name: str
) -> None:
    sparse = ResponseMatrix([[1, 0], [0, -1]], ["gpt", "llama"], ["t/q1", "t/q2"]).to_sparse()
    if form in {"wide", "py-irt"}:
        with pytest.raises(ValueError, match="sparse"):
            irtkit.write_responses(sparse, tmp_path / name, format=form)
        return
    irtkit.write_responses(sparse, tmp_path / name)
    assert read_responses(tmp_path / name, sparse=True) == sparse


LABELS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(str.strip)
    | st.text(st.sampled_from("=+-@\t\r'1a,\";"), min_size=1).filter(str.strip),
    min_size=1,
    max_size=4,
    unique=True,
)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "name"), FILES[::2])
@settings(derandomize=True, deadline=None, max_examples=30)
@given(respondents=LABELS, items=LABELS)
def test_any_labels_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    name: str,
    respondents: list[str],
    items: list[str],
) -> None:
    path = tmp_path_factory.mktemp("labels") / name
    values = np.ones((len(respondents), len(items)), int)
    items = [f"task/{item}" for item in items]
    responses = ResponseMatrix(values, respondents, items)
    irtkit.write_responses(responses, path, format=form)
    how: dict[str, Any] = {"format": form} if form == "wide" else {}
    assert read_responses(path, **how) == responses


def test_a_wide_table_is_what_mirt_reads(tmp_path: Path) -> None:
    path = tmp_path / "crowd.csv"
    values = [[1, 0, -1], [0, -1, 1]]
    responses = ResponseMatrix(values, ["007", "=cmd"], ["task/1", "2", "a b"])
    irtkit.write_responses(responses, path, format="wide")
    assert path.read_text() == ('"respondent","task/1","2","a b"\n"007",1,0,NA\n"\'=cmd",0,NA,1\n')
    with pytest.raises(ValueError, match="'respondent' occurs twice"):
        irtkit.write_responses(ResponseMatrix([[1]], items=["respondent"]), path, format="wide")


@pytest.mark.parametrize("form", ["long", "wide"])
def test_no_label_is_one_that_a_spreadsheet_would_run(tmp_path: Path, form: str) -> None:
    labels = ["=1+1", "+1+1", "-a", "@a", "\t+", "\r="]
    responses = ResponseMatrix(np.eye(6, dtype=int), labels, labels)
    irtkit.write_responses(responses, tmp_path / "crowd.csv", format=form)
    assert read_responses(tmp_path / "crowd.csv") == responses
    with (tmp_path / "crowd.csv").open(newline="") as text:
        cells = [cell for row in csv.reader(text) for cell in row]
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))]


@pytest.mark.parametrize(("form", "name"), FILES)
def test_what_is_known_lies_beside_and_comes_back(tmp_path: Path, form: str, name: str) -> None:
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


def test_tables_beside_that_are_of_another_matrix_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "crowd.csv"
    responses = ResponseMatrix([[1]], ["gpt"], ["q1"])
    known = pd.DataFrame({"text": ["1 + 1?"]}, ["q1"])
    irtkit.write_responses(irtkit.add_synthetic(responses.with_tables(known), ("coin",)), path)
    path.write_text("model,item,correct\ngpt,q2,1\n")
    with pytest.raises(ValueError, match=r"crowd\.csv\.items\.json has no row for 'q2'.*remove"):
        read_responses(path)
    (tmp_path / "crowd.csv.items.json").unlink()
    assert read_responses(path).items == ("q2",)


@FAILED
def test_the_same_data_in_every_form_give_equal_matrices_labels_and_tables(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    values = np.random.default_rng(0).integers(-1, 2, (8, 6))
    names = ["007", "NA", "1e5", "nan", "=1+1", "a,b", 'say "x"', "-1"]
    labels = [f"t/{name}" for name in names[:6]]
    texts = pd.DataFrame({"task": "t", "text": names[:6], "target": "1"}, index=labels)
    about = pd.DataFrame({"family": names[::-1]}, index=names)
    responses = ResponseMatrix(values, names, labels).with_tables(texts, about)
    rows = [
        {"model": name, "item": label, "correct": None if value < 0 else int(value)}
        for name, row in zip(names, values, strict=True)
        for label, value in zip(labels, row, strict=True)
    ]
    given: dict[str, Any] = {"dict records": rows, "polars": polars.DataFrame(rows)}
    for name in ("long.csv", "long.parquet", "every_samples.jsonl"):
        given[name] = tmp_path / name
        irtkit.write_responses(responses, given[name])
    given["wide.csv"] = tmp_path / "wide.csv"
    irtkit.write_responses(responses, given["wide.csv"], format="wide")
    expected = irtkit.fit(responses, "Rasch")
    for name, data in given.items():
        read = read_responses(data)
        assert (read, read.respondents, read.items) == (responses, tuple(names), tuple(labels))
        fitted = irtkit.fit(data, "Rasch")
        pd.testing.assert_frame_equal(fitted.items, expected.items, check_exact=True)
        pd.testing.assert_frame_equal(fitted.respondents, expected.respondents, check_exact=True)
        if "." in name:  # what is in memory has no place for what is known of items
            pd.testing.assert_frame_equal(read.item_table, responses.item_table)
            pd.testing.assert_frame_equal(read.respondent_table, responses.respondent_table)


def test_tables_beside_are_read_with_folders_too(tmp_path: Path) -> None:
    for name, item in (("one", "q1"), ("other", "q2")):
        responses = ResponseMatrix([[1]], ["gpt"], [item])
        known = pd.DataFrame({"text": [f"{item}?"], "easy": [True]}, [item])
        irtkit.write_responses(responses.with_tables(known), tmp_path / f"{name}.csv")
    table = read_responses(tmp_path).item_table
    assert table is not None
    assert table["text"].to_dict() == {"q1": "q1?", "q2": "q2?"}


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
    assert one.pop("evaluation_id").startswith("sums/org_gpt/")
    assert one == {
        "schema_version": "0.3.0",
        "model_id": "org/gpt",
        "evaluation_name": "sums",
        "evaluation_result_id": "sums",
        "sample_id": "easy/1",
        "sample_hash": "8d316411b09328056baeb76e5f31d71d741b037706010d085c4fb63f73ed8cad",
        "interaction_type": "single_turn",
        "input": {"raw": "1 + 1?", "reference": ["2"]},
        "output": {"raw": []},
        "answer_attribution": [],
        "metadata": {"level": "1.0"},
        "evaluation": {"score": 1.0, "is_correct": True},
    }
    assert (other["evaluation_name"], other["sample_id"]) == ("responses", "bare")
    assert (other["sample_hash"], other["error"]) == (None, "no response is known")


@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("crowd.xls", None, "must end in .parquet or .csv or .tsv"),
        ("crowd.parquet", "wide", "must end in .csv or .tsv"),
        ("crowd.csv", "py-irt", "must end in .jsonlines"),
        ("crowd.csv", "excel", "format must be one of every-eval-ever, py-irt, long, wide"),
        ("crowd.jsonl", None, "cannot hold items without a response, such as 'q2'"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, name: str, form: str | None, message: str
) -> None:
    responses = ResponseMatrix([[1, -1]], ["gpt"], ["q1", "q2"])
    with pytest.raises(ValueError, match=message):
        irtkit.write_responses(responses, tmp_path / name, format=form)
    assert not list(tmp_path.iterdir())
