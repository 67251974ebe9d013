"""Frames of any library, wide or long, whole or in blocks, give one matrix."""

import decimal
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import irtkit
from irtkit import ResponseMatrix, read_responses
from irtkit.cli.outputs import fit_files, write_files
from irtkit.findings import Finding, ReadingError, Remedy
from irtkit.responses import Source
from irtkit.responses.labels import by_label
from irtkit.responses.marking import INVALID, MISSING, Coder, Marking
from tests.crowds import crowd

VALUES = [[1, 0, -1], [0, 1, 1], [1, 1, 0]]
EXPECTED = ResponseMatrix(VALUES, ["007", "NA", "b"], ["q1", "2", "q 3"])
WIDE = pd.DataFrame(VALUES, columns=list(EXPECTED.items)).replace(-1, np.nan)
WIDE.insert(0, "model", EXPECTED.respondents)
LONG = WIDE.melt("model", var_name="item", value_name="correct")[["item", "correct", "model"]]
LONG = LONG.iloc[[0, 3, 6, 1, 4, 7, 2, 5, 8]]  # by respondent
WORDS = pd.DataFrame({"model": ["a", "b"], "q1": ["ok", "no"], "family": ["x", "y"]})


def polars(frame, kind):
    library = pytest.importorskip("polars")
    if kind == "Object":
        return library.DataFrame([library.Series(k, [*frame[k]], library.Object) for k in frame])
    one = library.from_pandas(frame)
    return one.lazy() if kind == "lazy" else one.cast({"model": getattr(library, kind)})


FORMS = {
    "indexed": lambda frame: frame.set_index("model"),
    "other numbers": lambda frame: frame.set_axis(range(5, 5 + len(frame)), axis=0),
    "objects": lambda frame: frame.astype(object),
    **{k: lambda frame, k=k: polars(frame, k) for k in ("Categorical", "Object", "lazy")},
    "pyarrow, indexed": lambda frame: pa.Table.from_pandas(frame.set_index("model")),
    "records with gaps": lambda frame: [row.dropna().to_dict() for _, row in frame.iterrows()],
}


@pytest.mark.parametrize("table", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("form", FORMS)
def test_the_same_data_give_the_same_matrix(form, table):
    assert read_responses(FORMS[form](table)) == EXPECTED


@pytest.mark.parametrize("content", [["1", "0", ""], [True, False, None], [1.0, 0.0, np.nan]])
def test_a_first_column_of_responses_or_of_nothing_is_an_item(content):
    responses = read_responses(pd.DataFrame({"q1": content, "q2": content[::-1]}))
    assert responses.values.tolist() == [[1, -1], [0, 0], [-1, 1]]
    assert (responses.respondents[0], responses.items[0]) == ("respondent-1", "q1")
    empty = pd.DataFrame({"q0": [None, None], "q1": [1, 0], "model": ["a", "b"]})
    assert read_responses(empty).values.tolist() == [[-1, 1], [-1, 0]]


def test_a_wide_table_may_have_other_columns_and_repeats():
    frame = WIDE.assign(size=[7, 70, 1], note=["x", "x", "y"])
    named = read_responses(frame, respondent="size", keep="q*")
    assert (named.respondents, named.items) == (("7", "70", "1"), ("q1", "q 3"))
    both = read_responses(frame, ignore=["size", "model"], respondent="note", repeats="count")
    counts = [[1, 1, 1], [1, 1, 0]], [[2, 2, 1], [1, 1, 1]]
    assert both == ResponseMatrix.from_counts(*counts, ["x", "y"], EXPECTED.items)
    frame = pd.DataFrame({"model": list("aabaa"), "q1": [0, 1, 1, 0, 1], "q2": [1, 0, 1, None, 0]})
    taken = {"first": [[0, 1], [1, 1]], "last": [[1, 0], [1, 1]], "mean>=0.25": [[1, 1], [1, 1]]}
    for repeats, values in taken.items():
        assert read_responses(frame, repeats=repeats).values.tolist() == values


@pytest.mark.parametrize("form", ["objects", "pyarrow, indexed", "records with gaps"])
def test_a_column_with_one_value_for_each_system_describes_the_systems(form):
    labs = LONG["model"].map({"007": "x", "NA": "y", "b": "x"})
    table = LONG.assign(lab=labs, ms=[*range(9)], made=labs.where(LONG["model"] != "b"))
    read = read_responses(FORMS[form](table))
    assert read == EXPECTED
    known = {"007": ["x", "x"], "NA": ["y", "y"], "b": ["x", ""]}
    expected = pd.DataFrame(known, ["lab", "made"]).T.rename_axis("respondent")
    pd.testing.assert_frame_equal(read.respondent_table, expected, check_dtype=False)
    fewer = read_responses(FORMS[form](table), ignore=["ma*", "ms", "NA"])
    assert fewer.respondent_table["lab"].to_dict() == {"007": "x", "b": "x"}
    assert [*fewer.respondent_table] == ["lab"]
    with pytest.raises(ValueError, match=r"'la', .* did you mean 'lab'.*; these are lab, made"):
        by_label("families", "la", read.respondents, read, "family")


@pytest.mark.parametrize("column", [
    pa.array(["a", None, "b", None]), pa.array(["a", " ", "b", "c"]), pa.array([1, None, 2, 3]),
    pa.DictionaryArray.from_arrays([0, 1, 0, 2], pa.array(["a", None, "b"])),
])  # fmt: skip
def test_a_row_without_a_label_is_named(column):
    table = pa.table({"model": column, "item": list("qrst"), "correct": [1, 0, 1, 0]})
    for given in (table, table.drop_columns("item")):  # long and wide
        with pytest.raises(ValueError, match="row 2 lacks a label in 'model'"):
            read_responses(given)


@pytest.mark.parametrize(("table", "settings", "code"), [
    (WIDE, {"key": "gold"}, "no-key"),
    (WIDE, {"key": dict.fromkeys(EXPECTED.items, "A")}, "no-match"),
    (WORDS, {"right": "ok"}, "not-items"),
    (WORDS[["model", "q1"]].replace("x", "late"), {"right": "ok", "wrong": "never"}, "unnamed"),
    (LONG.drop(columns="item"), {"response": "correct"}, "no-item-column"),
    (WIDE.replace({0: "2", 1: "5 - great"}), {}, "words"),
    (pd.DataFrame([["o1", "1", "0"]], columns=["gpt", "1", "0"]), {}, "no-header"),
    (WIDE.rename(columns={"2": "q1 "}), {}, "items-alike"),
])  # fmt: skip
def test_a_problem_is_a_finding(table, settings, code):
    with pytest.raises(ReadingError) as caught:
        read_responses(table, **settings)
    assert caught.value.finding.code == code


# What a value of a cell counts for, and which settings a table needs


@pytest.mark.parametrize(("value", "how", "code"), [
    ("1.00", {}, 1), ("-0", {}, 0), (" TRUE ", {}, 1), (decimal.Decimal("1.0"), {}, 1),
    (np.True_, {}, 1), ("n/a", {}, MISSING), (pd.NA, {}, MISSING), ("-1", {}, INVALID),
    ("yes", {}, 1), ("Incorrect", {}, 0), ("good", {}, INVALID), ([1], {}, INVALID),
    ("true", {"threshold": 0.5}, 1),
    ("0,5", {"threshold": 0.5}, 1), ("49 %", {"threshold": 0.5}, 0),
    ("high", {"threshold": 0.5}, INVALID), ("Correct", {"right": "correct"}, 1),
    (" C ", {"right": ["c", "p"]}, 1), ("timeout", {"right": "pass"}, 0),
    ("timeout", {"right": "pass", "wrong": "fail"}, INVALID),
    ("timeout", {"right": "pass", "wrong": "fail", "missing": "TIMEOUT"}, MISSING),
    (0.25, {}, 0.25), ("0,5", {}, 0.5), ("25 %", {}, 0.25), (np.inf, {}, INVALID),
    (30, {"score_range": (0, 40)}, 0.75), (30, {"score_range": (40, 0)}, 0.25),
    (41, {"score_range": (0, 40)}, INVALID), (-1, {"score_range": [-2, 2]}, 0.25),
    ("", {"right": "pass"}, MISSING), ("none", {"right": "pass", "wrong": ["fail", "none"]}, 0),
    (1, {"right": "yes"}, INVALID), ("no", {"right": 1}, INVALID), ("2.0", {"right": 2}, 1),
    (0, {"right": 2, "wrong": 1}, INVALID), ("true", {"right": True, "wrong": "no"}, 1),
    (-1, {"missing": "-1"}, MISSING),
])  # fmt: skip
def test_a_value_has_the_code_alone_and_in_a_table(value, how, code):
    assert Marking.of(**how).code(value) == code
    cells = np.array([[value, None]], dtype=object)
    codes, _ = Coder(Marking.of(**how)).codes(cells, np.zeros((1, 1), int), np.arange(2))
    assert codes.tolist() == [[code, MISSING]]


@pytest.mark.parametrize(("settings", "message"), [
    ({"right": "1", "threshold": 1}, "pass one of them"), ({"wrong": 0}, "wrong needs right"),
    ({"right": [1, 2], "wrong": ["2"]}, "right and wrong both name 2"),
    ({"right": []}, "right must be a word or number"),
    ({"threshold": float("nan")}, "threshold must be a finite number"),
    ({"threshold": 1, "score_range": (0, 2)}, "score_range is for scores"),
    ({"score_range": 100}, "score_range must be two different numbers"),
    ({"score_range": (1, 1)}, "score_range must be two different numbers"),
    ({"score_range": {"q": (0, float("inf"))}}, "score_range must be a finite number"),
])  # fmt: skip
def test_settings_that_contradict_each_other_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Marking.of(**settings)


def test_a_threshold_and_words_that_nothing_has_are_noted():
    for threshold, codes in ((0.5, []), (0.1, ["threshold-flat"]), (2, ["threshold-flat"])):
        coder = Coder(Marking.of(threshold))
        coder.codes(np.array([[0.2, 1.0], [0.9, 0.6]]), np.array([[0], [1]]), np.arange(2))
        assert [note.code for note in coder.notes(2)] == codes
    for right, severities in (("ok", []), ("okay", ["warning"])):
        coder = Coder(Marking.of(right=right))
        coder.codes(np.array([["ok", "no"]]), np.zeros((1, 1), int), np.arange(2))
        assert [note.severity for note in coder.notes(2)] == severities


# How responses were read: in words, in JSON and put together


def left_out(n):
    return Finding("rows-missing", "note", {"n": n})


SOURCE = Source(
    ("a.csv", "b.csv"),
    "long",
    {"task": ("gsm8k", "arc"), "threshold": 0.5, "right": frozenset({"C", 1.0})},
    (Finding("scores", "note", {"low": np.int64(0)}, (Remedy({"threshold": ...}),)), left_out(1)),
)


def test_a_source_comes_back_from_json():
    back = Source.from_dict(json.loads(json.dumps(SOURCE.to_dict())))
    assert (back.files, back.settings) == (SOURCE.files, {**SOURCE.settings, "right": (1.0, "C")})
    assert back.findings == (Finding("scores", "note", {"low": 0}), left_out(1))
    assert Source.from_dict(back.to_dict()) == back


def test_sources_put_together_keep_the_settings_that_they_share():
    other = Source(("b.csv", "c.csv"), "wide", {"threshold": 0.5}, (left_out(2),))
    merged = Source.merged([None, SOURCE, other])
    assert merged is not None
    assert merged.files == ("a.csv", "b.csv", "c.csv")
    assert (merged.format, merged.settings) == ("long/wide", {"threshold": 0.5})
    assert str(merged).endswith("(long/wide, threshold 0.5). 3 rows were left out.")
    assert Source.merged([None]) is None
    assert Source.merged([None, other]) is other


def test_a_result_and_its_files_say_how_responses_were_read(tmp_path):
    source = Source(("runs/<1>",), "lm-eval", {"metric": "acc"})
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(crowd("small").responses.with_tables(source=source))
        irtkit.report(result, tmp_path / "page.html")
    assert "Read from runs/<1> (lm-eval, metric acc)." in str(result)
    assert "Read from runs/&lt;1&gt; (lm-eval" in (tmp_path / "page.html").read_text()
    write_files(tmp_path, fit_files, result, "")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert Source.from_dict(summary["source"]) == source
