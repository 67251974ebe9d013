"""Content decides how responses are read, several files are one matrix, settings must fit."""

import csv
import gzip
import inspect
import logging
import shlex
import sys
import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import irtkit
from irtkit import ResponseMatrix, add_synthetic, fit, read_responses
from irtkit.cli.commands import cli
from irtkit.findings import IRTWarning, ReadingError
from irtkit.io.overview import overview
from irtkit.io.reading import as_responses
from irtkit.responses.tables import Settings

INSPECT = cli.commands["inspect"]
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


def save(frame, path):
    (frame.to_csv if path.suffix == ".csv" else frame.to_parquet)(path, index=False)


@pytest.mark.parametrize(
    ("name", "compress"), [("results.csv", gzip.compress), ("results.jsonl", bytes), ("r", bytes)]
)
@pytest.mark.parametrize("kind", TEXTS)
def test_the_content_decides_not_the_name(file, kind, name, compress):
    path = file(compress(TEXTS[kind].encode()), name)
    for given, form in ((path, kind), (str(path), None)):
        assert read_responses(given, format=form) == EXPECTED


def test_settings_are_arguments_documented_and_options_as_the_table_declares_them():
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
    ("wide", {"keep": "q9"}, "keep names 'q9', which is not a column"),
    ("long", {"transpose": True}, "transpose is for a wide table"),
    ("py-irt", {"ignore": "q9"}, "ignore names 'q9', which is not a column"),
    ([[1, 0]], {"ignore": "q1"}, "ignore is for tables with labels"), ([], {}, "2 dimensions"),
])  # fmt: skip
def test_settings_that_do_not_fit_are_refused(file, kind, how, message):
    given = file(TEXTS[kind]) if isinstance(kind, str) else kind
    with pytest.raises(ValueError, match=message):
        read_responses(given, **how)


def test_other_data_than_a_table_is_refused_and_a_matrix_is_unchanged():
    for given in (5, None, {}, WIDE["q1"], {1, 2}):
        with pytest.raises(TypeError, match=r"responses must be a path, .*, got "):
            fit(given)
    assert as_responses(EXPECTED) is EXPECTED
    with pytest.raises(TypeError, match="threshold is for responses that are not read yet"):
        as_responses(EXPECTED, threshold=0.5)
    assert read_responses(((1, 0), [0, 1])) == ResponseMatrix([[1, 0], [0, 1]])
    assert add_synthetic(WIDE) == add_synthetic(EXPECTED)


@pytest.mark.parametrize("repeats", ["count", "first", "last", "mean>=0.3"])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_tables_in_a_folder_are_read_as_one(tmp_path, end, repeats):
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


def test_a_file_with_a_fault_is_named_and_left_out(tmp_path):
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
def test_a_key_is_a_table_of_items_or_a_row(file, key):
    answers = file("model,q1,q2\ngpt,A,D\nllama,,c\n")
    responses = read_responses(answers, key=str(file(key, "key.csv")))
    assert responses == EXPECTED
    assert responses.predictions.fillna("").to_numpy().tolist() == [["A", "D"], ["", "c"]]
    assert [str(one).upper() for one in responses.item_table["target"]] == ["A", "C"]


def test_the_source_says_how_a_matrix_was_read(file, caplog):
    caplog.set_level(logging.INFO, logger="irtkit")
    path = file("task,model,item,correct\nm,x,a,0.2\nm,y,a,\nn,x,b,-\nn,y,b,0.9\n")
    source = read_responses(path, threshold=0.5, missing="-", task=["m", "n"]).source
    assert (source.files, source.format) == ((str(path),), "long table")
    assert source.settings == {"task": ["m", "n"], "threshold": 0.5, "missing": "-"}
    assert [(one.code, one.values["n"]) for one in source.findings] == [("rows-missing", 2)]
    assert caplog.messages[0].startswith("2 systems × 2 items")
    assert read_responses([[1, 0]]).source.format == "array"


# Text tables: separators, quotes, blocks, and faults with their lines


AWKWARD = ["007", "1e5", "NA", "None", "true", "1.0", "<NA>", "a,b", 'say "x"', "two\nlines"]
AWKWARD += [" space", "=1+1", "ä\u2028ö", "semi;colon", "tab\there", "-1", "#N/A"]


@pytest.mark.parametrize(
    ("separator", "quoting", "ending"),
    [(",", csv.QUOTE_MINIMAL, "\r\n"), ("\t", csv.QUOTE_ALL, "\n"), (";", csv.QUOTE_MINIMAL, "\n")],
)
def test_labels_are_kept_as_they_are_written(file, separator, quoting, ending):
    values = np.random.default_rng(0).integers(-1, 2, (len(AWKWARD), len(AWKWARD)))
    responses = ResponseMatrix(values, AWKWARD, AWKWARD)
    wide = responses.to_frame().reset_index()
    long = wide.melt("respondent", var_name="item", value_name="response")
    for frame in (wide, long):
        text = frame.to_csv(
            None, sep=separator, index=False, quoting=quoting, lineterminator=ending
        )
        assert read_responses(file(text)) == responses
        assert read_responses(file("\ufeff" + text + 2 * ending)) == responses


NOTE = "x" * 30_000
MANY_ROWS = [f"respondent {k % 7},item {k // 7},1,{NOTE}\n" for k in range(630)]
"""Rows of a long table of several blocks, all right."""


@pytest.mark.parametrize(("row", "respondents"), [
    ("respondent 0,item 1e9,1,\n", 7), ('"q",item 0,1,\n', 8), ('"two\nlines",item 0,1,\n', 8),
    ('new "quoted" here,item 0,1,\n', 8), (" \n", 7), ("'=new,item 0,1,\r\n", 8),
])  # fmt: skip
def test_a_long_table_of_many_blocks_is_read_whole(file, row, respondents):
    rows = [*MANY_ROWS[:560], row, *MANY_ROWS[561:]]
    content = ("model,item,correct,note\n" + "".join(rows)).encode()
    packed = gzip.compress(content, 1) if respondents == 7 else content
    responses = read_responses(file(packed))
    assert responses.n_respondents == respondents
    assert (responses.values == 1).sum() == len(rows) - (not row.strip())
    assert responses.items[:3] == ("item 0", "item 1", "item 2")


@pytest.mark.parametrize(("content", "message"), [
    *((("model,item,correct,note\n" + "".join([*MANY_ROWS[:560], row, *MANY_ROWS[561:]])
        ).encode("latin-1"), message) for row, message in (
        ("x,1\n", "line 562 has 2 cells, and the header has 4"),
        ('x,a,1,"not closed\n', "line 631: unexpected end of data"),
        ("caf\u00e9,a,1,\n", "the text is not UTF-8 .byte 0xe9."))),
    ("", "the file is empty"), (gzip.compress(b"", mtime=0), "the file is empty"),
    ("a,b\n".encode("utf-16-le"), "format .* is unknown .*UTF-8"),
    ("PK\3\0", "format .* is unknown"),
    ("model,q1,q1\nx,1,1\n", "item labels must be unique: 'q1' occurs twice"),
    ('model,q1,q2\n"x\ny",1,0\n\nz,1\n', "line 5 has 2 cells, and the header has 3"),
    ('model,q1\n"x,1\ny,1\n', "line 3: unexpected end of data"),
    ("model,item,correct\nx,a,1\n,a,0\n", "row 2 lacks a label in 'model'"),
    (gzip.compress(b"model,q1\nx,1\n" * 500, mtime=0)[:-20], "the compressed data are damaged"),
])  # fmt: skip
def test_a_fault_is_named_with_its_file(file, content, message):
    with pytest.raises(ReadingError, match=f"^results.csv: .*{message}"):
        read_responses(file(content))


# Tables in JSON, NumPy files, Excel and lines of py-irt


SAMPLE = Path(__file__).parents[1] / "data" / "py_irt_minitest.jsonlines"


def test_the_sample_of_py_irt_is_read():
    responses = read_responses(SAMPLE)
    assert responses.respondents == ("pedro", "pinguino", "ken", "burt")
    assert responses.values.tolist() == [[1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]


@pytest.mark.parametrize(("content", "message"), [
    *(('{"subject_id": "x", "responses": {"a": 1}}\n' + second, message) for second, message in (
        ('{"subject_id": "y", "responses": {"a": 1}', "line 2 is not JSON"),
        ('{"subject_id": "y", "responses": {"a": 1, "a": 1}}', "line 2: 'a' occurs twice"),
        ('{"subject_id": "x", "responses": {}}', "line 2: system 'x' occurs twice"))),
    *((content, "the JSON is not a table: a list of records, a record per line")
      for content in ("1", "[]", "[1, 0]", '{"a": [1], "b": [0]}',
                      '{"results": [{"model": "a", "q1": 1}], "meta": 1}')),
    *((content, "line [12] is not") for content in ('{"a": 1, "b": [', '{"model": "a"}\n[1]\n')),
    ('[{"model": "a", "item": "q", "correct": [1]}]', "'correct' holds lists or objects"),
    ('{"model": {"x": 1}, "item": "q", "correct": 1}', "'model' holds lists or objects"),
    ('[{"model": "a", "q1": [1], "q2": 1}]', r"not responses: 'q1'. Pass ignore='q1'"),
])  # fmt: skip
def test_json_other_than_a_table_of_single_values_is_refused(file, content, message):
    with pytest.raises(ReadingError, match=f"^results.json: .*{message}"):
        read_responses(file(content, "results.json"))


def test_arrays_of_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
    with pytest.raises(ReadingError, match="allow_pickle=False"):
        read_responses(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.array([[0.2, 0.7]]))
    assert read_responses(tmp_path / "b.npy", threshold=0.5).values.tolist() == [[0, 1]]


def test_excel_keeps_labels_as_they_are_written(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"model": ["NA", "007"], "q1": [True, None], 2: [0, "NA"]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    expected = ResponseMatrix([[1, 0], [-1, -1]], ["NA", "007"], ["q1", "2"])
    assert read_responses(tmp_path / "a.xlsx") == expected


def test_excel_needs_an_extra(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"pip install 'irtkit\[excel\]'"):
        read_responses(file(b"PK\3\4", "a.xlsx"))


# Wide and long tables in Parquet


STORED_ROWS = pd.DataFrame({"note": list("abc"), "model": ["007", "007", "NA"]})
STORED_ROWS = STORED_ROWS.assign(item=["q1", "q2", "q2"], score=[1, 0, 1])


@pytest.fixture
def stored(tmp_path):
    """Write a frame as Parquet under another name and return the path."""
    path = tmp_path / "results.csv"
    return lambda frame, **how: frame.to_parquet(path, **how) or path


def test_dictionaries_that_differ_between_blocks_are_one(tmp_path):
    rows = [(f"m{(k * 7) % 11}", f"q{k // 11}", k % 3 == 0) for k in range(143_000)]
    frame = pd.DataFrame(rows, columns=["model", "item", "correct"])
    table = pa.Table.from_pandas(frame).set_column(0, "model", pa.array(frame["model"]))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=30_000)
    assert read_responses(tmp_path / "a.parquet") == ResponseMatrix.from_long(frame)


def test_a_fault_of_parquet_is_named_with_its_file(stored):
    faults = {
        "column 'item' holds list": STORED_ROWS.assign(item=[["x"], ["y"], ["z"]]),
        "row 1 lacks a label in 'item'": STORED_ROWS.assign(item=[None, "a", "b"]),
        "the long table is empty": STORED_ROWS.iloc[:0],
    }
    for message, frame in faults.items():
        with pytest.raises(ReadingError, match=f"^results.csv: {message}"):
            read_responses(stored(frame))
    path = stored(STORED_ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReadingError, match=r"^results.csv: the Parquet data cannot be read"):
        read_responses(path)


# Tables whose rows are items: recognised without a corner label, with a warning


def table(n_systems, n_items):
    """Table of systems and items, whose marks depend on both."""
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 1.2, n_items) + generator.normal(0, 0.7, (n_systems, 1))
    marks = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    names = [f"{name}-{k}b" for k in range(1, n_systems + 1) for name in ("llama-3", "qwen2")]
    return pd.DataFrame(marks, names[:n_systems], [f"q{k + 1}" for k in range(n_items)])


def written(frame, corner, folder):
    frame.rename_axis(corner).to_csv(folder / "results.csv")
    return folder / "results.csv"


def codes(path):
    """Codes of the findings."""
    return {one.code for one in overview(path).findings}


@pytest.mark.parametrize(("corner", "shape"), [(None, (12, 60)), ("item_id", (40, 30))])
def test_a_table_on_its_side_is_recognised(tmp_path, corner, shape):
    upright = table(*shape)
    path = written(upright.T, corner, tmp_path)
    assert codes(path) == {"transposed"}
    with pytest.warns(IRTWarning, match="transpose"):
        irtkit.read_responses(path)
    turned = irtkit.read_responses(path, transpose=True)
    assert turned == irtkit.ResponseMatrix(upright.to_numpy(), upright.index, upright.columns)


@pytest.mark.parametrize(
    ("corner", "shape"), [(None, (12, 60)), ("model", (300, 8)), ("student", (60, 60))]
)
def test_an_upright_table_is_left_alone(tmp_path, shape, corner):
    upright = table(*shape)
    people = upright.set_axis([f"S{k:03}" for k in range(shape[0])])
    for frame in (upright, people):
        assert codes(written(frame, corner, tmp_path)) == set()


@pytest.mark.parametrize("name", ["sat12", "lsat7", "wirs", "nlu_rte", "lalor2016_snli_5gs_human"])
def test_real_tables_raise_no_doubts(shared_data, name):
    assert codes(shared_data / f"{name}.csv.gz") == set()


# What a path holds, and that typing what is proposed works


def test_the_settings_that_are_proposed_read_what_is_shown(log):
    name, path = log
    found = overview(path.parent)
    with warnings.catch_warnings(action="ignore"):
        assert read_responses(path.parent, **found.settings) == found.matrix
    assert name in next(iter(found.formats))
    assert found.command in str(found)
    assert shlex.split(found.command)[:3] == ["irtkit", "fit", str(path.parent)]


@pytest.mark.parametrize(("content", "command"), [
    ("model,q1,q2\na,1,0\nb,0,1\n", ""),
    ("model,q1,q2\na,correct,wrong\nb,wrong,correct\n", ""),
    ("model,q1,q2,q3\na,0.7,-,0.2\nb,0.2,1,0.5\n", " --missing -"),
    ("model,q1,q2\na,20,35\nb,75,50\n", " --score-range 0,100"),
])  # fmt: skip
def test_tables_have_their_command_too(tmp_path, content, command):
    path = tmp_path / "results.csv"
    path.write_text(content)
    assert overview(path).command == f"irtkit fit {path}{command}"


def test_settings_that_are_given_go_into_the_command(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("task,model,question_id,epoch,correct\nm,a,1,1,0.2\nn,a,1,1,1\nn,a,1,2,0\n")
    found = overview(path, task="n", threshold=0.5)
    assert found.settings == {"task": "n", "threshold": 0.5, "repeats": "count"}
    assert found.matrix == read_responses(path, **found.settings)
    assert "tasks (1): n (1)" in str(found)
    assert found.command.startswith(f"irtkit fit {path} --task n --threshold 0.5")
