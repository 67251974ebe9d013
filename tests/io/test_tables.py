"""What is written reads back equal, in every form."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import read_table, write_table
from irtkit.difficulty.quality import quality_of
from irtkit.io.tables import TABLE_ENDINGS, as_metrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
def test_a_table_comes_back_equal(tmp_path: Path, name: str, suffix: str) -> None:
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


def test_json_is_strict(tmp_path: Path) -> None:
    index = pd.Index(["q1", "q2"], name="item")
    write_table(pd.DataFrame({"x": [np.nan, -np.inf], "n": [1, 2]}, index), tmp_path / "t.json")
    first, second = json.loads((tmp_path / "t.json").read_text(), parse_constant=pytest.fail)
    assert first == {"item": "q1", "x": None, "n": 1}
    assert second["x"] == -np.inf


def test_no_cell_is_one_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
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
def test_cells_of_a_table_by_another_program_say_what_their_column_is(
    file: Callable[..., Path], cells: list[str], values: list[object]
) -> None:
    table = read_table(file(f"item,x\r\n007,{cells[0]}\r\nNA,{cells[1]}\r\n\r\n"))
    expected = pd.DataFrame({"x": values}, pd.Index(["007", "NA"], name="item"))
    pd.testing.assert_frame_equal(table, expected, check_exact=True)


@pytest.mark.parametrize(("content", "labels"), [
    ("item;x\na,b;5\n", ["a,b"]), ('item,x\n5" a,3" b\n', ['5" a']),
    (",x\n0,5\n1,6\n", [0, 1]), (",x\n1,5\n2,6\n", ["1", "2"]),
    ('"",x\n"0",5\n"1",6\n', ["0", "1"]),
])  # fmt: skip
def test_labels_are_as_written_and_row_numbers_without_a_name_are_the_default_index(
    file: Callable[..., Path], content: str, labels: list[object]
) -> None:
    assert read_table(file(content)).index.tolist() == labels


@pytest.mark.parametrize(("frame", "message"), [
    (pd.DataFrame({"x": [1, 2]}, ["a", None]), "every row must have a label"),
    (pd.DataFrame([[1, 2]], columns=["x", "x"]), "unique: 'x' occurs twice"),
    (pd.DataFrame([[1]]), "names of columns must be text"),
])  # fmt: skip
def test_a_frame_that_would_not_come_back_equal_is_refused(
    tmp_path: Path, frame: pd.DataFrame, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^table.csv: .*{message}"):
        write_table(frame, tmp_path / "table.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "the file is empty"),
        ("t.csv", '"item",x\n"a",1,2\n', "line 2 has 3 cells, and the header has 2"),
        ("t.csv", "item,x,x\na,1,1\n", "unique: 'x' occurs twice"),
        ("t.json", "{", "line 1 column 2"),
        ("t.json", '{"item": "a"}', "a list of records"),
        ("t.json", '[{"item": "a"}, {"x": 1}]', "row 2 lacks a label"),
        ("t.parquet", "no", "Parquet|parquet"),
        ("t.xlsx", "", "a table ends in .csv, .tsv, .json"),
    ],
)
def test_a_file_without_a_table_is_refused_by_name(
    file: Callable[..., Path], name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{name}: .*({message})"):
        read_table(file(content, name))


# Metrics of answers


RESPONSES = irtkit.ResponseMatrix([[1, 0], [0, 1]], ["007", "NA"], ["1e5", "q,2"])
METRICS = pd.DataFrame(
    {
        "model": ["007", "007", "NA", "NA"],
        "item": ["1e5", "q,2", "1e5", "q,2"],
        "tokens": [1.0, 2.0, 4.0, None],
        "done": [True, False, False, True],
    }
)
STACKED = METRICS.astype({"done": float}).melt(["model", "item"], var_name="metric")


@pytest.mark.parametrize("write", ["to_csv", "to_parquet"])
@pytest.mark.parametrize("table", [METRICS, STACKED])
def test_a_file_scores_items_as_its_table_does(
    table: pd.DataFrame, write: str, tmp_path: Path
) -> None:
    getattr(table, write)(tmp_path / "metrics", index=False)
    expected = quality_of(RESPONSES, METRICS, ["done"])
    quality = quality_of(RESPONSES, as_metrics(str(tmp_path / "metrics")), ["done"])
    pd.testing.assert_frame_equal(quality.scores, expected.scores)
