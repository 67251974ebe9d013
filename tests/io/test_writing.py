"""What is written reads back equal, in every form."""

import csv

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import read_responses, read_table, write_table
from irtkit.io.merging import merge_responses
from irtkit.io.tables import TABLE_ENDINGS
from irtkit.responses import ResponseMatrix

LABELS = ["007", "NA", "1.0", "a,b", "=1+1", "ünï \U0001f600", "", 'say "x"', "two\nlines\r", "0"]
FLOATS = [0.1, np.nan, np.inf, -np.inf, -0.0, 5e-324, 1 / 3, 1e300, 3.0, -1e-7]
TEXTS = ["ok", None, "", "no variance; …", "nan", "1", "True", "a,b", '"', "\ufeffx"]
NONE = {"reasons": "str", "p_negative": "float64", "n_responses": "int64", "synthetic": "bool"}
FRAMES = {
    "floats": pd.DataFrame({"difficulty": FLOATS}, pd.Index(LABELS, name="item")),
    "texts": pd.DataFrame({"status": TEXTS, "synthetic": [True, False] * 5}, pd.Index(LABELS)),
    "integers": pd.DataFrame({"n": [0, -(2**63), 2**63 - 1], "x": [1.0, 2.0, 3.0]}, list("abc")),
    "names": pd.DataFrame({"nothing": [np.nan] * 2, "a,b": [True, True], "=": [1, 2]}, ["0", "2"]),
    "no text": pd.DataFrame({"none": pd.Series([None, None], dtype="str")}),
    "numbered": pd.DataFrame({"step": [1, 2], "log_likelihood": [-3.5, -3.25]}),
    "no rows": pd.DataFrame(columns=[*NONE], index=pd.Index([], dtype="str", name="item")).astype(
        NONE
    ),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("suffix", TABLE_ENDINGS)
def test_a_table_comes_back_equal(tmp_path, name, suffix):
    frame, path = FRAMES[name], tmp_path / f"table{suffix}"
    write_table(frame, path)
    again = read_table(str(path))
    if suffix != ".parquet":  # the documented limits of text
        empty = frame.columns[frame.isna().all()]
        frame = frame.astype(dict.fromkeys(empty, "float64"))
        if suffix.startswith(".json") and frame.empty:
            frame = pd.DataFrame()
    pd.testing.assert_frame_equal(again, frame, check_exact=True, check_index_type=True)
    for column in frame.select_dtypes("float64"):
        assert np.array_equal(np.signbit(again[column]), np.signbit(frame[column]))
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_no_cell_is_one_that_a_spreadsheet_would_run(tmp_path):
    starts = ["=1+1", "+cmd|'/C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "-1", "it's"]
    index = pd.Index(starts, name="=item")
    frame = pd.DataFrame({"@x": starts, "-y": [*range(-9, 0)], "z": [-np.inf] * 9}, index)
    path = tmp_path / "table.csv"
    write_table(frame, path)
    pd.testing.assert_frame_equal(read_table(path), frame)
    with path.open(newline="") as text:
        for row in csv.reader(text):
            for cell in row:
                number = cell.removeprefix("-").isdigit() or cell == "-inf"
                assert number or not cell.startswith(tuple("=+-@\t\r"))


@pytest.mark.parametrize(("cells", "values"), [
    (["1", ""], [1.0, np.nan]), (["1e3", "-inf"], [1000.0, -np.inf]),
    (["True", "false"], [True, False]), (["ok", '"a ""b"""'], ["ok", 'a "b"']),
    (["NA", ""], ["NA", None]),
])  # fmt: skip
def test_cells_of_a_table_by_another_program_say_what_their_column_is(file, cells, values):
    table = read_table(file(f"item,x\r\n007,{cells[0]}\r\nNA,{cells[1]}\r\n\r\n"))
    expected = pd.DataFrame({"x": values}, pd.Index(["007", "NA"], name="item"))
    pd.testing.assert_frame_equal(table, expected, check_exact=True)


@pytest.mark.parametrize(("content", "labels"), [
    ("item;x\na,b;5\n", ["a,b"]), ('item,x\n5" a,3" b\n', ['5" a']),
    (",x\n0,5\n1,6\n", [0, 1]), (",x\n1,5\n2,6\n", ["1", "2"]),
    ('"",x\n"0",5\n"1",6\n', ["0", "1"]),
])  # fmt: skip
def test_labels_are_as_written_and_row_numbers_without_a_name_are_the_default_index(
    file, content, labels
):
    assert read_table(file(content)).index.tolist() == labels


@pytest.mark.parametrize(("frame", "message"), [
    (pd.DataFrame({"x": [1, 2]}, ["a", None]), "every row must have a label"),
    (pd.DataFrame([[1, 2]], columns=["x", "x"]), "unique: 'x' occurs twice"),
    (pd.DataFrame([[1]]), "names of columns must be text"),
])  # fmt: skip
def test_a_frame_that_would_not_come_back_equal_is_refused(tmp_path, frame, message):
    with pytest.raises(ValueError, match=f"^table.csv: .*{message}"):
        write_table(frame, tmp_path / "table.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "content", "message"), [
    ("t.csv", "", "the file is empty"),
    ("t.csv", '"item",x\n"a",1,2\n', "line 2 has 3 cells, and the header has 2"),
    ("t.csv", "item,x,x\na,1,1\n", "unique: 'x' occurs twice"),
    ("t.json", "{", "line 1 column 2"),
    ("t.json", '{"item": "a"}', "a list of records"),
    ("t.json", '[{"item": "a"}, {"x": 1}]', "row 2 lacks a label"),
    ("t.parquet", "no", "Parquet|parquet"),
    ("t.xlsx", "", "a table ends in .csv, .tsv, .json"),
])  # fmt: skip
def test_a_file_without_a_table_is_refused_by_name(file, name, content, message):
    with pytest.raises(ValueError, match=f"^{name}: .*({message})"):
        read_table(file(content, name))


# Responses that are written read back equal, in every format and for every reader


GAPS = ResponseMatrix(
    [[-1, 0, -1], [1, -1, -1]], ["=cmd", "NA"], ["sums/b", 'sums/a "quoted", one', "sums/c"]
)
COUNTS = ResponseMatrix.from_counts([[2, 0], [0, 1]], [[3, 0], [2, 1]], ["x", "y"], ["t/a", "t/b"])
SPARSE = ResponseMatrix([[1, 0], [0, -1]], ["gpt", "llama"], ["t/q1", "t/q2"]).to_sparse()
FILES = [
    *(("long", f"crowd{ending}") for ending in (".parquet", ".csv")),
    *(("wide", f"crowd{ending}") for ending in (".csv", ".tsv.gz")),
]


@pytest.mark.filterwarnings("ignore:.*failed:UserWarning")
@pytest.mark.parametrize(("given", "settings", "not_wide"), [
    (GAPS, {}, None),
    (COUNTS, {"repeats": "count"}, "repeated trials"),
    (SPARSE, {"sparse": True}, "sparse"),
])  # fmt: skip
@pytest.mark.parametrize(("form", "name"), FILES)
def test_what_is_written_reads_back_equal_or_is_refused(
    tmp_path, form, name, given, settings, not_wide
):
    if form == "wide" and not_wide:
        with pytest.raises(ValueError, match=not_wide):
            irtkit.write_responses(given, tmp_path / name, format=form)
        return
    irtkit.write_responses(given, tmp_path / name, format=form)
    assert read_responses(tmp_path / name, **settings) == given
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_wide_table_is_what_mirt_reads(tmp_path):
    path = tmp_path / "crowd.csv"
    values = [[1, 0, -1], [0, -1, 1]]
    responses = ResponseMatrix(values, ["007", "=cmd"], ["task/1", "2", "a b"])
    irtkit.write_responses(responses, path, format="wide")
    assert path.read_text() == ('"respondent","task/1","2","a b"\n"007",1,0,NA\n"\'=cmd",0,NA,1\n')
    with pytest.raises(ValueError, match="'respondent' occurs twice"):
        irtkit.write_responses(ResponseMatrix([[1]], items=["respondent"]), path, format="wide")


@pytest.mark.parametrize(("form", "name"), FILES)
def test_tables_are_stored_next_to_the_file_and_read_back(tmp_path, form, name):
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


def test_stored_tables_of_another_matrix_are_refused(tmp_path):
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
def test_metrics_are_stored_next_to_the_file(tmp_path, how):
    given = {"respondent": ["gpt"], "item": ["q1"], "metric": ["cost"], "value": [0.5]}
    responses = getattr(ResponseMatrix([[1, 0]], ["gpt"], ["q1", "t/q2"]), how)()
    path = tmp_path / "crowd.csv"
    irtkit.write_responses(responses.with_tables(metrics=pd.DataFrame(given)), path)
    assert read_responses(path).metrics.to_dict("list") == given


@pytest.mark.parametrize(("name", "form", "message"), [
    ("crowd.xls", None, "must end in .parquet or .csv or .tsv"),
    ("crowd.parquet", "wide", "must end in .csv or .tsv"),
    ("crowd.csv", "excel", "format must be one of long, wide"),
    ("crowd.jsonl", None, "must end in .parquet or .csv"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path, name, form, message):
    responses = ResponseMatrix([[1, -1]], ["gpt"], ["q1", "q2"])
    with pytest.raises(ValueError, match=message):
        irtkit.write_responses(responses, tmp_path / name, format=form)
    assert not list(tmp_path.iterdir())


# Matrices put together


ONE = ResponseMatrix([[1, 0], [0, -1]], ["gpt", "llama"], ["q1", "q2"])
OTHER = ResponseMatrix([[1, 1]], ["llama"], ["q3", "q2"])


def test_labels_are_united_and_cells_keep_their_places():
    merged = merge_responses([ONE, OTHER])
    values = [[1, 0, -1], [0, 1, 1]]
    assert merged == ResponseMatrix(values, ["gpt", "llama"], ["q1", "q2", "q3"])
    assert merge_responses([ONE]) == ONE
    assert merge_responses([ONE.to_sparse(), OTHER]) == merged


def test_a_cell_of_several_is_an_error_or_repeats():
    again = ResponseMatrix([[0]], ["gpt"], ["q1"])
    with pytest.raises(
        ValueError, match=r"system 'gpt', item 'q1' occurs in several.*repeats='count'"
    ):
        merge_responses([ONE, again])
    counted = merge_responses([ONE, again], repeats="count")
    assert counted.successes.tolist() == [[1, 0], [0, 0]]
    assert counted.trials.tolist() == [[2, 1], [1, 0]]
    for repeats in ("first", "mean>=0.5"):
        assert merge_responses([ONE, again], repeats=repeats) == ONE
    assert merge_responses([ONE, again], repeats="last").values[0, 0] == 0
    for repeats in ("first", "last"):
        with pytest.raises(ValueError, match=f"'{repeats}' needs the order of trials"):
            merge_responses([counted, ONE], repeats=repeats)
    with pytest.raises(ValueError, match="at least one matrix"):
        merge_responses([])
