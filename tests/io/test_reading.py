"""Content decides how responses are read, several files are one matrix, settings must fit."""

from __future__ import annotations

import gzip
import inspect
import json
import logging
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from irtkit import ResponseMatrix, add_synthetic, fit, read_responses
from irtkit.cli.commands import cli
from irtkit.findings import IRTWarning, ReadingError
from irtkit.io.reading import as_responses
from irtkit.responses.tables import Settings

INSPECT = cli.commands["inspect"]
STORED = sorted((Path(__file__).parents[3] / "shared" / "data").glob("*.meta.json"))
EXPECTED = ResponseMatrix([[1, 0], [-1, 1]], ["gpt", "llama"], ["q1", "q2"])
TEXTS = {
    "wide": "model,q1,q2\ngpt,1,0\nllama,,1\n",
    "long": "model,item,correct\ngpt,q1,1\ngpt,q2,0\nllama,q2,1\n",
    "py-irt": '{"subject_id": "gpt", "responses": {"q1": 1, "q2": 0}}\n'
    '{"subject_id": "llama", "responses": {"q2": 1}}\n',
}
WIDE = EXPECTED.to_frame().reset_index()
ROWS = [("b", "q1", 0), ("a", "q1", 1), ("a", "q1", 0), ("a", "q2", None), ("d", "q1", 1)]
LONG = pd.DataFrame(ROWS, columns=["model", "item", "correct"])
ROWS = [("a", "q1", 0), ("a", "q2", 1), ("b", "q1", 1), ("c", "q3", None)]
OTHER = pd.DataFrame(ROWS, columns=["system", "task_id", "acc"])


def save(frame: pd.DataFrame, path: Path) -> None:
    (frame.to_csv if path.suffix == ".csv" else frame.to_parquet)(path, index=False)


@pytest.mark.parametrize(
    ("name", "compress"), [("results.csv", gzip.compress), ("results.jsonl", bytes), ("r", bytes)]
)
@pytest.mark.parametrize("kind", TEXTS)
def test_the_content_decides_not_the_name(file: Any, kind: str, name: str, compress: Any) -> None:
    path = file(compress(TEXTS[kind].encode()), name)
    for given, form in ((path, kind), (str(path), None)):
        assert read_responses(given, format=form) == EXPECTED


@pytest.mark.parametrize("meta", STORED or [None], ids=lambda meta: meta and meta.name)
@pytest.mark.usefixtures("shared_data")
def test_stored_matrices_have_the_shape_they_state(meta: Path) -> None:
    stated = json.loads(meta.read_text())
    responses = read_responses(meta.with_name(stated["file"]))
    assert (responses.n_respondents, responses.n_items) == tuple(stated["shape"].values())
    assert responses.n_missing == stated["missing_cells"]
    assert responses.values[responses.values >= 0].mean() == pytest.approx(stated["mean"], abs=1e-4)


def test_settings_are_arguments_documented_and_options_as_the_table_declares_them() -> None:
    parameters = dict(inspect.signature(read_responses).parameters)
    assert parameters.pop("path").default is inspect.Parameter.empty
    assert [*parameters] == [setting.name for setting in fields(Settings)]
    options = {str(option.name): option for option in INSPECT.params}
    for setting in fields(Settings):
        parameter, text = parameters[setting.name], " ".join(read_responses.__doc__.split())
        assert (parameter.default, parameter.annotation) == (setting.default, setting.type)
        assert setting.metadata["text"] in text
        assert (setting.name in options) is setting.metadata["option"]


@pytest.mark.parametrize(("kind", "how", "message"), [
    ("wide", {"repeats": "sum"}, "repeats must be one of error, count, .* got 'sum'"),
    ("wide", {"errors": "missing"}, "errors is for evaluation logs"),
    ("wide", {"format": "wide", "item": "topic"}, "item is for a long table"),
    ("long", {"transpose": True}, "transpose is for a wide table"),
    ("py-irt", {"ignore": "q9"}, "ignore names 'q9', which is not a column"),
    ([[1, 0]], {"ignore": "q1"}, "ignore is for tables with labels"), ([], {}, "2 dimensions"),
])  # fmt: skip
def test_settings_that_do_not_fit_are_refused(file: Any, kind: Any, how: Any, message: str) -> None:
    given = file(TEXTS[kind]) if isinstance(kind, str) else kind
    with pytest.raises(ValueError, match=message):
        read_responses(given, **how)


def test_other_data_than_a_table_is_refused_and_a_matrix_is_unchanged() -> None:
    for given in (5, None, {}, WIDE["q1"], {1, 2}):
        with pytest.raises(TypeError, match=r"responses must be a path, .*, got "):
            fit(given)
    assert as_responses(EXPECTED) is EXPECTED
    with pytest.raises(TypeError, match="threshold says how to read responses"):
        as_responses(EXPECTED, threshold=0.5)
    assert read_responses(((1, 0), [0, 1])) == ResponseMatrix([[1, 0], [0, 1]])
    assert add_synthetic(WIDE) == add_synthetic(EXPECTED)


@pytest.mark.parametrize("repeats", ["count", "first", "last", "mean>=0.3"])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_tables_in_a_folder_are_read_as_one(tmp_path: Path, end: str, repeats: str) -> None:
    save(LONG, tmp_path / f"0.{end}")
    save(OTHER, tmp_path / "1.parquet")
    whole = pd.concat([LONG, OTHER.set_axis(LONG.columns, axis=1)])
    for sparse in (False, True):
        together = read_responses(tmp_path, repeats=repeats, sparse=sparse)
        assert together == ResponseMatrix.from_long(whole, repeats=repeats)
        assert together.is_sparse is sparse
    rows = [["x", 1, 0], ["y", 0, 1], ["x", 0, 0], ["y", 1, None], ["x", 0, 1], ["y", 0, 0]]
    wide = pd.DataFrame(rows, columns=["model", "q1", "q2"])
    save(wide.iloc[:2], tmp_path / f"0.{end}")
    save(wide.iloc[2:], tmp_path / "1.parquet")
    assert read_responses(tmp_path, repeats=repeats) == read_responses(wide, repeats=repeats)
    with pytest.raises(ReadingError, match=r"^1.parquet: .*'x' occurs in several rows"):
        read_responses(tmp_path)


def test_a_file_with_a_fault_is_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["long"])
    (tmp_path / "b.csv").write_text("model,item,correct\nx,q1\n")
    with pytest.warns(IRTWarning, match="line 2 has 2 cells") as caught:
        assert read_responses(tmp_path) == EXPECTED
    assert caught[0].message.finding.values["file"] == "b.csv"
    with pytest.raises(ReadingError, match=r"^b.csv: line 2"):
        read_responses(tmp_path, strict=True)
    (tmp_path / "b.csv").write_text("system,item,correct\nx,q1,1\n,q1,1\n")
    with pytest.raises(ReadingError, match=r"b\.csv: row 2 lacks a label"):
        read_responses(tmp_path)


@pytest.mark.parametrize(
    "key", ["q1,q2,q3\nA,C,B\n", "item,key\nq2,C\nq1,a\n", "question,text,answer\nq1,?,A\nq2,?,C\n"]
)
def test_a_key_is_a_table_of_items_or_a_row(file: Any, key: str) -> None:
    answers = file("model,q1,q2\ngpt,A,D\nllama,,c\n")
    responses = read_responses(answers, key=str(file(key, "key.csv")))
    assert responses == EXPECTED
    assert responses.predictions.fillna("").to_numpy().tolist() == [["A", "D"], ["", "c"]]
    assert [str(one).upper() for one in responses.item_table["target"]] == ["A", "C"]


def test_the_source_says_how_a_matrix_was_read(file: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="irtkit")
    path = file("task,model,item,correct\nm,x,a,0.2\nm,y,a,\nn,x,b,-\nn,y,b,0.9\n")
    source = read_responses(path, threshold=0.5, missing="-", task=["m", "n"]).source
    assert (source.files, source.format) == ((str(path),), "long table")
    assert source.settings == {"task": ["m", "n"], "threshold": 0.5, "missing": "-"}
    assert [(one.code, one.values["n"]) for one in source.findings] == [("rows-missing", 2)]
    assert caplog.messages[0].startswith("2 systems × 2 items")
    assert read_responses([[1, 0]]).source.format == "array"
