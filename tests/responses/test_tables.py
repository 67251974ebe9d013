"""Frames of any library, wide or long, whole or in blocks, give one matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from irtkit import ResponseMatrix, read_responses
from irtkit.findings import ReadingError

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = [[1, 0, -1], [0, 1, 1], [1, 1, 0]]
EXPECTED = ResponseMatrix(VALUES, ["007", "NA", "b"], ["q1", "2", "q 3"])
WIDE = pd.DataFrame(VALUES, columns=list(EXPECTED.items)).replace(-1, np.nan)
WIDE.insert(0, "model", EXPECTED.respondents)
LONG = WIDE.melt("model", var_name="item", value_name="correct")[["item", "correct", "model"]]
LONG = LONG.iloc[[0, 3, 6, 1, 4, 7, 2, 5, 8]]  # by respondent
WORDS = pd.DataFrame({"model": ["a", "b"], "q1": ["ok", "no"], "family": ["x", "y"]})


def polars(frame: pd.DataFrame, kind: str) -> Any:
    library = pytest.importorskip("polars")
    if kind == "Object":
        return library.DataFrame([library.Series(k, [*frame[k]], library.Object) for k in frame])
    one = library.from_pandas(frame)
    return one.lazy() if kind == "lazy" else one.cast({"model": getattr(library, kind)})


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "indexed": lambda frame: frame.set_index("model"),
    "other numbers": lambda frame: frame.set_axis(range(5, 5 + len(frame)), axis=0),
    "objects": lambda frame: frame.astype(object),
    **{k: lambda frame, k=k: polars(frame, k) for k in ("Categorical", "Object", "lazy")},
    "pyarrow, indexed": lambda frame: pa.Table.from_pandas(frame.set_index("model")),
    "records with gaps": lambda frame: [row.dropna().to_dict() for _, row in frame.iterrows()],
}


@pytest.mark.parametrize("table", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("form", FORMS)
def test_the_same_data_give_the_same_matrix(form: str, table: pd.DataFrame) -> None:
    assert read_responses(FORMS[form](table)) == EXPECTED


def test_labels_may_be_in_the_index() -> None:
    for name in (None, "model", "who"):
        assert read_responses(WIDE.set_index("model").rename_axis(name)) == EXPECTED
    assert read_responses(LONG.set_index(["model", "item"])) == EXPECTED


def test_rows_of_items_without_labels_are_numbered() -> None:
    responses = read_responses(pd.DataFrame({"gpt": [1, 0], "o1": [0, 0]}), transpose=True)
    assert (responses.respondents, responses.items) == (("gpt", "o1"), ("item-1", "item-2"))


@pytest.mark.parametrize("content", [["1", "0", ""], [True, False, None], [1.0, 0.0, np.nan]])
def test_a_first_column_of_responses_or_of_nothing_is_an_item(content: list[Any]) -> None:
    responses = read_responses(pd.DataFrame({"q1": content, "q2": content[::-1]}))
    assert responses.values.tolist() == [[1, -1], [0, 0], [-1, 1]]
    assert (responses.respondents[0], responses.items[0]) == ("respondent-1", "q1")
    empty = pd.DataFrame({"q0": [None, None], "q1": [1, 0], "model": ["a", "b"]})
    assert read_responses(empty).values.tolist() == [[-1, 1], [-1, 0]]


def test_a_wide_table_may_have_other_columns_and_repeats() -> None:
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


@pytest.mark.parametrize("column", [
    pa.array(["a", None, "b", None]), pa.array(["a", " ", "b", "c"]), pa.array([1, None, 2, 3]),
    pa.DictionaryArray.from_arrays([0, 1, 0, 2], pa.array(["a", None, "b"])),
])  # fmt: skip
def test_a_row_without_a_label_is_named(column: Any) -> None:
    table = pa.table({"model": column, "item": list("qrst"), "correct": [1, 0, 1, 0]})
    for given in (table, table.drop_columns("item")):  # long and wide
        with pytest.raises(ValueError, match="row 2 lacks a label in 'model'"):
            read_responses(given)


@pytest.mark.parametrize(("table", "settings", "code"), [
    (WIDE, {"key": "gold"}, "no-key"),
    (WIDE, {"key": dict.fromkeys(EXPECTED.items, "A")}, "no-match"),
    (WORDS, {"right": "ok"}, "not-items"),
    (pd.DataFrame([["o1", "1", "0"]], columns=["gpt", "1", "0"]), {}, "no-header"),
    (WIDE.rename(columns={"2": "q1 "}), {}, "items-alike"),
])  # fmt: skip
def test_a_problem_is_a_finding(table: Any, settings: dict[str, Any], code: str) -> None:
    with pytest.raises(ReadingError) as caught:
        read_responses(table, **settings)
    assert caught.value.finding.code == code
