"""Frames, arrays, records and dicts give the matrix that a file of the same data gives."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from irtkit import ResponseMatrix, add_synthetic, average_error, fit, read_responses
from irtkit.io.reading import as_responses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pl = pytest.importorskip("polars")

VALUES = [[1, 0, -1], [0, 1, 1], [1, 1, 0]]
EXPECTED = ResponseMatrix(VALUES, ["007", "NA", "b"], ["q1", "2", "q 3"])
WIDE = pd.DataFrame(VALUES, columns=list(EXPECTED.items)).replace(-1, np.nan)
WIDE.insert(0, "model", EXPECTED.respondents)
LONG = WIDE.melt("model", var_name="item", value_name="correct")[["item", "correct", "model"]]
LONG = LONG.iloc[[0, 3, 6, 1, 4, 7, 2, 5, 8]]  # by respondent


def _without_gaps(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value == value}  # noqa: PLR0124


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas, indexed": lambda frame: frame.set_index("model"),
    "pandas, numbered anew": lambda frame: frame.set_axis(range(5, 5 + len(frame)), axis=0),
    "pandas, nullable": lambda frame: frame.convert_dtypes(),
    "pandas, objects": lambda frame: frame.astype(object),
    "polars": pl.from_pandas,
    "polars, text": lambda frame: pl.from_pandas(frame).cast(pl.String),
    "polars, categories": lambda frame: pl.from_pandas(frame).cast({"model": pl.Categorical}),
    "polars, objects": lambda frame: pl.DataFrame(
        [pl.Series(name, frame[name].tolist(), dtype=pl.Object) for name in frame]
    ),
    "polars, lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": pa.Table.from_pandas,
    "pyarrow, indexed": lambda frame: pa.Table.from_pandas(frame.set_index("model")),
    "columns": lambda frame: {name: frame[name].tolist() for name in frame},
    "records": lambda frame: frame.to_dict("records"),
    "records with gaps": lambda frame: [_without_gaps(r) for r in frame.to_dict("records")],
}


@pytest.mark.parametrize("table", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("form", FORMS)
def test_the_same_data_give_the_same_matrix(
    file: Callable[..., Path], form: str, table: pd.DataFrame
) -> None:
    assert read_responses(file(table.to_csv(index=False))) == EXPECTED
    assert read_responses(FORMS[form](table)) == EXPECTED


@pytest.mark.parametrize("name", [None, "model", "who"])
def test_an_index_of_labels_is_the_respondents(name: str | None) -> None:
    frame = WIDE.set_index("model").rename_axis(name)
    assert read_responses(frame) == read_responses(frame.set_index(pd.Index(EXPECTED.respondents)))


def test_a_long_table_may_have_its_labels_in_the_index() -> None:
    assert read_responses(LONG.set_index(["model", "item"])) == EXPECTED


def test_a_dict_of_dicts_is_a_response_for_each_respondent_and_item() -> None:
    given = {"gpt": {"q1": True, "q2": False}, 7: {"q2": None, "q3": 1}}
    expected = ResponseMatrix([[1, 0, -1], [-1, -1, 1]], ["gpt", "7"], ["q1", "q2", "q3"])
    assert read_responses(given) == expected


@pytest.mark.parametrize("form", [np.array, list, tuple])
def test_arrays_and_lists_are_respondents_by_items(form: Any) -> None:
    assert read_responses(form(VALUES)) == ResponseMatrix(VALUES)
    assert read_responses(np.array([["C", "I"]]), right="c").values.tolist() == [[1, 0]]


def test_a_table_without_labels_has_numbered_respondents() -> None:
    expected = ResponseMatrix(VALUES, items=EXPECTED.items)
    assert read_responses(WIDE.drop(columns="model")) == expected
    assert read_responses(pl.from_pandas(WIDE.drop(columns="model"))) == expected
    graded = pd.DataFrame([[0.9, 0.1], [0.3, 0.7]], columns=["q1", "q2"])
    assert read_responses(graded, threshold=0.5).values.tolist() == [[1, 0], [0, 1]]


def test_an_index_that_pandas_wrote_is_no_item(file: Callable[..., Path]) -> None:
    assert read_responses(file(WIDE.to_csv())) == EXPECTED
    assert (
        read_responses(pd.read_csv(file(WIDE.to_csv()), dtype=str, keep_default_na=False))
        == EXPECTED
    )


@pytest.mark.parametrize("as_file", [True, False])
def test_columns_are_left_out_or_kept(file: Callable[..., Path], *, as_file: bool) -> None:
    frame = WIDE.assign(size=[7, 70, 1], note=["x", "x", "y"])
    given: Any = file(frame.to_csv(index=False)) if as_file else frame
    assert read_responses(given, ignore=["size", "note"]) == EXPECTED
    assert read_responses(given, keep=EXPECTED.items) == EXPECTED
    assert read_responses(given, keep="q1").items == ("q1",)
    named = read_responses(given, respondent="size", keep="q1")
    assert named.respondents == ("7", "70", "1")
    both = read_responses(given, ignore=["size", "model"], respondent="note", repeats="count")
    assert both == ResponseMatrix.from_counts(
        [[1, 1, 1], [1, 1, 0]], [[2, 2, 1], [1, 1, 1]], ["x", "y"], EXPECTED.items
    )
    with pytest.raises(ValueError, match=r"keep='notes' is not a column, did you mean 'note'\?"):
        read_responses(given, keep="notes")


def test_what_was_understood_is_logged(
    file: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="irtkit")
    read_responses(file(WIDE.to_csv(index=False)))
    for given in (WIDE, LONG, VALUES):
        read_responses(given)
    ends = ["results.csv (wide)", "a wide table", "a long table", "an array"]
    assert caplog.messages == [f"3 respondents × 3 items from {end}" for end in ends]


@pytest.mark.parametrize("given", [5, None, {}, WIDE["q1"], {1, 2}])
def test_what_is_no_table_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match=r"responses must be a path, .*, got "):
        fit(given)


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        (WIDE, {"item": "q1"}, "no column is recognised as the response"),
        (WIDE, {"sparse": True}, "is for the rows of a long table"),
        (WIDE, {"format": "parquet"}, "format must be wide or long"),
        (WIDE, {"repeats": "sum"}, "repeats must be one of"),
        (LONG, {"keep": "q1"}, "keep= names the items of a wide table"),
        (LONG, {"ignore": "mdl"}, "ignore='mdl' is not a column, did you mean 'model'"),
        (VALUES, {"ignore": "q1"}, "is for a table, but the format is 'array'"),
        ([], {}, "2 dimensions"),
        (WIDE[["model"]], {}, "3 respondents × 0 items"),
        (WIDE, {"right": "1", "threshold": 1}, "pass one of them"),
        (WIDE, {"wrong": 0}, "wrong= goes with right="),
        (WIDE, {"right": [1, 2], "wrong": ["2"]}, "both name 2"),
        (WIDE, {"right": []}, "right must be a word or number"),
        (WIDE, {"right": 3}, "no response is right: right=3"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    given: object, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read_responses(given, **settings)


def test_a_matrix_is_taken_as_it_is() -> None:
    assert as_responses(EXPECTED) is EXPECTED
    with pytest.raises(TypeError, match=r"threshold= says how to read .* a ResponseMatrix"):
        as_responses(EXPECTED, threshold=0.5)


def test_functions_on_responses_take_what_can_be_read() -> None:
    assert average_error(WIDE).equals(average_error(EXPECTED))
    assert add_synthetic(LONG) == add_synthetic(EXPECTED)


def test_only_what_is_no_matrix_loads_the_library_of_frames() -> None:
    code = (
        "import sys, irtkit; irtkit.average_error(irtkit.ResponseMatrix([[1, 0]])); "
        "sys.exit('narwhals' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_eval_ever_gives_the_matrix_of_the_same_data(tmp_path: Path, make: Any) -> None:
    cells = zip(*np.where(EXPECTED.trials), strict=True)
    records = [
        make.every_eval_ever_record(
            EXPECTED.items[j],
            model_id=EXPECTED.respondents[i],
            evaluation={"score": float(VALUES[i][j]), "is_correct": VALUES[i][j] == 1},
        )
        for i, j in cells
    ]
    items = [f"sums/{item}" for item in EXPECTED.items]
    expected = ResponseMatrix(VALUES, EXPECTED.respondents, items)
    assert read_responses(make.write_every_eval_ever(tmp_path, records)) == expected
    renamed = WIDE.rename(columns=dict(zip(EXPECTED.items, items, strict=True)))
    assert read_responses(renamed) == expected
