"""Mistakes that people make with their tables: what the message says to type works."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VALUES = np.array(
    [[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [0, 1, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]]
)
EXPECTED = irtkit.ResponseMatrix(VALUES, list("uvwxyz"), ["q1", "q2", "q3", "q4"])
TABLE = pd.DataFrame(VALUES, columns=EXPECTED.items)
TABLE.insert(0, "model", EXPECTED.respondents)
CELLS = TABLE.set_index("model")


def of_marks(right: Any, wrong: Any) -> pd.DataFrame:
    return CELLS.astype(object).where(CELLS != 1, right).where(CELLS == 1, wrong).reset_index()


def spread(low: int, high: int) -> pd.DataFrame:
    """Scores of which those for right answers are higher."""
    return (CELLS * (high - low) + low + np.arange(24).reshape(6, 4) % 7).reset_index()


MISTAKES: dict[str, tuple[pd.DataFrame, str]] = {
    "words": (of_marks("correct", "incorrect"), "right='correct', wrong='incorrect'"),
    "marks of Inspect": (of_marks("C", "I"), "right='C', wrong='I'"),
    "passed or not": (of_marks("PASS", "FAIL"), "right='PASS', wrong='FAIL'"),
    "0 and 100": (of_marks(100, 0), "right=100, wrong=0"),
    "percentages": (spread(20, 80), "threshold=50"),
    "shares": (of_marks(0.9, 0.3), "threshold="),
    "sizes": (TABLE.assign(size_b=[7, 13, 70, 1, 8, 405]), "ignore='size_b'"),
    "dates and names": (
        TABLE.assign(released=pd.Timestamp("2025-02-03"), family=list("aabbcc")).drop(columns="q4"),
        "ignore=['released', 'family']",
    ),
    "labels elsewhere": (TABLE.rename(columns={"model": "name"})[["q1", "q2", "q3", "q4", "name"]],
                         "respondent='name'"),
    "rows twice": (pd.concat([TABLE, TABLE], ignore_index=True), 'repeats="count"'),
    "words in a long table": (
        of_marks("right", "wrong").melt("model", var_name="item", value_name="score"),
        "right='right', wrong='wrong'",
    ),
    "a long table with another name": (
        TABLE.melt("model", var_name="question", value_name="grade"),
        "response=",
    ),
    "long rows twice": (
        pd.concat([TABLE.melt("model", var_name="item", value_name="score")] * 2),
        'repeats="count"',
    ),
}  # fmt: skip
TYPED = {
    "shares": "threshold=0.5",
    "a long table with another name": "response='grade'",
}


@pytest.mark.filterwarnings("ignore:repeated trials of a cell agree")
@pytest.mark.parametrize("form", ["pandas", "pyarrow", "polars", "records", "file"])
@pytest.mark.parametrize("name", MISTAKES)
def test_what_the_message_says_to_type_works(
    file: Callable[..., Path], name: str, form: str
) -> None:
    table, said = MISTAKES[name]
    given: Any = table
    if form == "polars":
        given = pytest.importorskip("polars").from_pandas(table.infer_objects())
    elif form != "pandas":
        given = {
            "pyarrow": lambda: pa.Table.from_pandas(table, preserve_index=False),
            "records": lambda: table.to_dict("records"),
            "file": lambda: file(table.to_csv(index=False)),
        }[form]()
    with pytest.raises(ValueError, match=re.escape(said)):
        irtkit.fit(given)
    typed = eval(f"dict({TYPED.get(name, said)})")  # noqa: S307 - what a message says
    read = irtkit.read_responses(given, **typed)
    times = 2 if "repeats" in typed else 1
    items = list(read.items)
    assert read.respondents == EXPECTED.respondents
    assert (read.successes == times * CELLS[items].to_numpy()).all()
    assert irtkit.fit(given, "1pl", standard_errors=False, **typed).model == "1PL"


@pytest.mark.parametrize("heading", ["question", "item_id"])
def test_a_table_on_its_side_is_asked_about_and_turned(
    file: Callable[..., Path], heading: str
) -> None:
    side = CELLS.T.rename_axis(heading)
    for given in (side, side.reset_index(), file(side.to_csv())):
        with pytest.warns(UserWarning, match=rf"are rows items here\? .*{heading}.*\.T"):
            turned = irtkit.read_responses(given).T
        assert turned == EXPECTED


def test_a_column_of_respondents_beside_an_index_of_them_is_left_out() -> None:
    given = CELLS.assign(model=list("uvwxyz"))
    with pytest.raises(ValueError, match=r"item 'model' has 'u' .* ignore='model' leaves it out"):
        irtkit.fit(given)
    assert irtkit.read_responses(given, ignore="model") == EXPECTED


@pytest.mark.parametrize("labels", [range(6), range(10, 16)])
def test_an_index_that_was_forgotten_is_the_column_of_respondents(labels: range) -> None:
    assert irtkit.read_responses(TABLE.set_axis(labels, axis=0)) == EXPECTED


@pytest.mark.parametrize("word", ["NaN", "nan", "NA", "None", "null", "<NA>", "", "n/a"])
def test_words_for_missing_are_missing(word: str) -> None:
    given = CELLS.astype(object)
    given.iloc[2, 1] = word
    assert irtkit.read_responses(given).values[2].tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize("argument", ["filter", "metric"])
def test_each_of_two_filters_or_metrics_that_are_named_can_be_typed(
    tmp_path: Path, argument: str
) -> None:
    path = tmp_path / "samples_sums_2026-01-02T03-04-05.jsonl"
    names = ("strict-match", "flexible-extract") if argument == "filter" else ("acc", "acc_norm")
    records = []
    for name, marks in zip(names, (VALUES[0], 1 - VALUES[0]), strict=True):
        metric = "exact_match" if argument == "filter" else name
        by = name if argument == "filter" else "none"
        records += [
            {"doc_id": k, "doc": {}, "filter": by, "metrics": [metric], metric: float(mark)}
            for k, mark in enumerate(marks)
        ]
    path.write_text("\n".join(map(json.dumps, records)))
    for repeats in ("error", "count"):
        with pytest.raises(ValueError, match=f"pass {argument}='{names[0]}' or") as error:
            irtkit.fit(path, repeats=repeats)
    typed = re.findall(rf"{argument}='[^']+'", str(error.value))
    assert len(typed) == 2
    for said, marks in zip(typed, (VALUES[0], 1 - VALUES[0]), strict=True):
        read = irtkit.read_responses(path, **eval(f"dict({said})"))  # noqa: S307 - what it says
        assert read.values.tolist() == [marks.tolist()]


def test_another_word_for_missing_is_named_with_what_leaves_it_out() -> None:
    frame = CELLS.astype(object)
    frame.iloc[2, 1] = "missing"
    said = "frame.replace('missing', None)"
    with pytest.raises(ValueError, match=re.escape(said)):
        irtkit.fit(frame)
    replaced = eval(said)  # noqa: S307 - what a message says
    assert irtkit.read_responses(replaced).values[2].tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize("as_file", [True, False])
def test_a_column_of_other_words_is_no_item_that_nobody_got_right(
    file: Callable[..., Path], *, as_file: bool
) -> None:
    frame = of_marks("correct", "incorrect").assign(family=list("aabbcc"), q4="incorrect")
    given: Any = file(frame.to_csv(index=False)) if as_file else frame
    with pytest.raises(ValueError, match=r"column 'family' .* ignore='family' leaves it out"):
        irtkit.read_responses(given, right="correct")
    read = irtkit.read_responses(given, right="correct", ignore="family")
    assert (read.values == CELLS.assign(q4=0).to_numpy()).all()


def test_minus_one_in_a_frame_is_told_from_missing() -> None:
    with pytest.raises(ValueError, match="a missing response is empty, None or NaN"):
        irtkit.fit(CELLS - 1)


@pytest.mark.parametrize("letters", ["ABCD", "0123"])
def test_answers_are_compared_with_the_right_ones(letters: str) -> None:
    key = pd.Series(list(letters), CELLS.columns)
    other = pd.Series(list(letters[1:] + letters[0]), CELLS.columns)
    predictions: Any = CELLS.astype(object)
    for item in CELLS:
        predictions[item] = np.where(CELLS[item] == 1, key[item], other[item])
    predictions.iloc[2, 1] = None
    said = "(predictions == key).where(predictions.notna())"
    with pytest.raises(ValueError, match=re.escape(said)):
        irtkit.fit(predictions)
    marked = eval(said)  # noqa: S307 - what a message says
    expected = VALUES.copy()
    expected[2, 1] = -1
    assert (irtkit.read_responses(marked).values == expected).all()


@pytest.mark.parametrize(("wrong", "right"), [("2PLM", "2PL"), ("rash", "Rasch"), ("3-PL", "3PL")])
def test_a_wrong_model_is_asked_about(wrong: Any, right: Any) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{right}'"):
        irtkit.fit(TABLE, wrong)
    assert irtkit.fit(TABLE, right.lower(), standard_errors=False).model == right


@pytest.mark.parametrize(
    ("argument", "advice"),
    [
        ("rigth", ", did you mean 'right'"),
        ("modle", ", did you mean 'model'"),
        ("batch", "; write method=irtkit.Variational"),
        ("colour", ""),
    ],
)
def test_an_argument_that_there_is_not_is_refused(argument: str, advice: str) -> None:
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{argument}'{advice}"):
        irtkit.fit(TABLE, **{argument: 1})


def test_decimal_commas_are_read_as_the_message_says(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("model;q1;q2\na;1,0;0,0\nb;0,0;1,0\n")
    with pytest.raises(ValueError, match=r"pandas\.read_csv\(path, sep=';', decimal=','\)"):
        irtkit.read_responses(path)
    read = irtkit.read_responses(pd.read_csv(path, sep=";", decimal=","))
    assert read.values.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("values", [[0.4, 1.2], [7, 70]])
def test_numbers_that_are_no_percentages_are_not_taken_for_such(values: list[float]) -> None:
    frame = pd.DataFrame({"model": ["a", "b"], "q1": [0, 1], "other": values})
    with pytest.raises(ValueError, match="'other' is no item, ignore='other'") as caught:
        irtkit.read_responses(frame)
    assert "percentages" not in str(caught.value)
    with pytest.raises(ValueError, match="to count scores, pass threshold= ") as caught:
        irtkit.read_responses([[0.4, 1.2], [0.1, 0.0]])
    assert "percentages" not in str(caught.value)
