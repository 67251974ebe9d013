"""Wide and long tables in text."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtkit.io import read_responses, text
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


AWKWARD = ["007", "1e5", "NA", "None", "true", "1.0", "<NA>", "nan", "a,b", 'say "x"', "two\nlines"]
AWKWARD += [" space ", "=1+1", "ä\u2028ö", "semi;colon", "tab\there", "-1", "#N/A"]

labels = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
        lambda text: bool(text.strip())
    ),
    min_size=1,
    max_size=4,
    unique=True,
)


def _table(rows: Iterable[Any], **how: Any) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, **how).writerows(rows)
    return text.getvalue()


def _wide_rows(responses: ResponseMatrix, corner: str = "respondent") -> list[list[Any]]:
    cells = np.where(responses.values < 0, "", responses.values.astype(str))
    body = zip(responses.respondents, cells.tolist(), strict=True)
    return [[corner, *responses.items], *([label, *row] for label, row in body)]


def _long_rows(responses: ResponseMatrix) -> Iterator[list[Any]]:
    yield ["respondent", "item", "response"]
    for respondent, row in zip(responses.respondents, responses.values.tolist(), strict=True):
        for item, value in zip(responses.items, row, strict=True):
            yield [respondent, item, "" if value < 0 else value]


@pytest.mark.parametrize("shape", [_wide_rows, _long_rows])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_labels_survive_as_they_are_written(
    file: Callable[..., Path],
    shape: Callable[[ResponseMatrix], Iterable[list[Any]]],
    separator: str,
    quoting: Literal[0, 1],
    ending: str,
) -> None:
    values = np.random.default_rng(0).integers(-1, 2, (len(AWKWARD), len(AWKWARD)))
    responses = ResponseMatrix(values, AWKWARD, AWKWARD)
    how = {"delimiter": separator, "quoting": quoting, "lineterminator": ending}
    assert read_responses(file(_table(shape(responses), **how))) == responses
    assert (
        read_responses(file("\ufeff" + _table(shape(responses), **how) + 2 * ending)) == responses
    )


@settings(derandomize=True, deadline=None, max_examples=50)
@given(respondents=labels, items=labels, data=st.data())
def test_any_matrix_comes_back_from_either_shape(
    respondents: list[str], items: list[str], data: st.DataObject
) -> None:
    cell = st.sampled_from([1, 0, -1])
    rows = st.lists(cell, min_size=len(items), max_size=len(items))
    values = data.draw(st.lists(rows, min_size=len(respondents), max_size=len(respondents)))
    values[0][0] = 1
    responses = ResponseMatrix(values, respondents, items)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.csv")
        for rows_of in (_wide_rows, _long_rows):
            path.write_text(_table(rows_of(responses)), encoding="utf-8", newline="")
            assert read_responses(path) == responses


def test_guarded_labels_are_read_as_they_were(file: Callable[..., Path]) -> None:
    labels, items = ("=1", "x"), ("@q", "-q")
    for content in (
        "model,'@q,'-q\n'=1,1,0\nx,0,1\n",
        "model,'@q,'-q\n'=1,ok,no\nx,no,ok\n",
        "model,item,right\n'=1,'@q,1\n'=1,'-q,0\nx,'@q,0\nx,'-q,1\n",
    ):
        words = {"right": "ok"} if "ok" in content else {}
        assert read_responses(file(content), **words) == ResponseMatrix(np.eye(2), labels, items)


@pytest.mark.parametrize("corner", ["", "respondent", "Respondent", "model", "subject_id"])
def test_a_first_column_that_is_called_respondent_or_nothing_is_labels(
    file: Callable[..., Path], corner: str
) -> None:
    responses = ResponseMatrix([[1, 0], [0, 1]], ["0", "1"], ["q1", "q2"])
    assert read_responses(file(_table(_wide_rows(responses, corner)))) == responses


def test_what_pandas_writes_by_default_is_read(file: Callable[..., Path]) -> None:
    frame = pd.DataFrame({"q1": [1, None], "q2": [True, False]}, index=["x", "y"])
    assert read_responses(file(frame.to_csv())) == ResponseMatrix.from_frame(frame)


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("q1,q2\n1,0\n0,1\n1,1\n", [[1, 0], [0, 1], [1, 1]]),
        ("q1,q2\nTrue,False\nFalse,False\n", [[1, 0], [0, 0]]),
        ("q1,q2\n1,0\n,1\n1,1\n", [[1, 0], [-1, 1], [1, 1]]),
        ("q1\n1\n0\n", [[1], [0]]),
    ],
)
def test_a_first_column_of_responses_is_an_item(
    file: Callable[..., Path], content: str | bytes, values: Any
) -> None:
    responses = read_responses(file(content))
    assert responses.values.tolist() == values
    assert responses.respondents[0] == "respondent-1"
    assert responses.items[0] == "q1"


@pytest.mark.parametrize("first", [["a", "b"], ["0", "2"], ["1", "true"], ["NA", "nan"]])
def test_a_first_column_of_anything_else_is_labels(
    file: Callable[..., Path], first: list[str]
) -> None:
    content = f"name,q1\n{first[0]},1\n{first[1]},0\n"
    assert read_responses(file(content)).respondents == tuple(first)


def test_cells_may_be_written_in_several_ways(file: Callable[..., Path]) -> None:
    content = "respondent,q1,q2,q3,q4\nx,1,True,1.0,NA\ny,0,false,,nan\nz, 1,TRUE,0,1\n"
    values = [[1, 1, 1, -1], [0, 0, -1, -1], [1, 1, 0, 1]]
    assert read_responses(file(content)).values.tolist() == values


def test_a_header_may_hold_other_separators_than_its_own(file: Callable[..., Path]) -> None:
    responses = read_responses(file("model,a;b;c,d\te\nx,1,0\n"))
    assert responses.items == ("a;b;c", "d\te")
    assert read_responses(file("model\ta, b, c\nx\t1\n")).items == ("a, b, c",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model,q1,q2\n", "a header and no rows"),
        ("model\nx\n", "no items: its one column is 'model'"),
        ("model,q1,q1\nx,1,1\n", "column names must be unique: 'q1' occurs twice"),
        ("model,model,q1\nx,1,1\n", "column names must be unique: 'model' occurs twice"),
        ("model,q1,\nx,1,1\n", "item 2 has no label"),
        ("model,q1\nx,1\n,1\n", "respondent 2 has no label"),
        ("model,q1\nx,1\nx,1\n", "respondent labels must be unique: 'x' occurs twice"),
        ("model,q1\nx,1\ny,1,0\n", "line 3 has 3 cells where the header has 2"),
        ('model,q1,q2\n"x\ny",1,0\n\nz,1\n', "line 5 has 2 cells where the header has 3"),
        ("model,q1\nx,\ny,NA\n", "every cell is missing"),
        ("model,q1,q2\nx,1,3\ny,4,5\n", "'x', item 'q2' has '3' .and 2 more such cells"),
        ('model,q1\n"x,1\ny,1\n', "line 3: unexpected end of data"),
        ('model,q1\n"x"y,1\n', "line 2: ',' expected after"),
    ],
)
def test_a_fault_in_a_wide_table_is_named(
    file: Callable[..., Path], content: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^results.csv: .*{message}"):
        read_responses(file(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model,item,correct\n", "the long table is empty"),
        ("model,item,correct\nx,a,1\nx,a,0\n", "respondent 'x', item 'a' occurs twice"),
        ("model,item,correct\nx,a,1\n,a,0\n", "column 'model' has no label in row 2"),
        ("model,item,correct\nx,a,1\nx,b\n", "line 3 has 2 cells where the header has 3"),
        ('model,item,correct\n"x",a,1\n\ny,b,1,1\n', "line 4 has 4 cells where the header has 3"),
        ("model,item,correct,score\nx,a,1,2\n", r"response \('correct', 'score'\): pass response="),
        ("model,item,item,correct\nx,a,a,1\n", "'item' occurs twice"),
        ("model,item,correct\nx,a,3\nx,b,5\n", "item 'a' has '3' .and 1 more such cell"),
    ],
)
def test_a_fault_in_a_long_table_is_named(
    file: Callable[..., Path], content: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^results.csv: .*{message}"):
        read_responses(file(content))


def test_columns_of_a_long_table_may_be_named(file: Callable[..., Path]) -> None:
    path = file("who,item,question,mark,score\nx,1,a,1,9\ny,1,b,0,9\n")
    responses = read_responses(path, respondent="who", item="question", response="mark")
    assert responses == ResponseMatrix([[1, -1], [-1, 0]], ["x", "y"], ["a", "b"])
    assert read_responses(path, respondent="who", response="mark").items == ("1",)
    with pytest.raises(ValueError, match="item='task' is not a column; the columns are 'who'"):
        read_responses(path, item="task")


@pytest.fixture
def long_rows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Rows of a long table of several blocks, all right."""
    monkeypatch.setattr(text, "_BLOCK_BYTES", 2**16)
    return [f"respondent {k % 7},item {k // 7},1\n" for k in range(12_000)]


@pytest.mark.parametrize(
    ("row", "respondents"),
    [
        ("respondent 0,item 1e9,1\n", 7),
        ('"q",item 0,1\n', 8),
        ("\n", 7),
        (" \n", 7),
        ("new,item 0,1\r\n", 8),
    ],
)
def test_a_long_table_of_many_blocks_is_read_whole(
    file: Callable[..., Path], long_rows: list[str], row: str, respondents: int
) -> None:
    long_rows[10_000] = row
    responses = read_responses(file("model,item,correct\n" + "".join(long_rows)))
    assert responses.n_respondents == respondents
    assert (responses.values == 1).sum() == len(long_rows) - (not row.strip())
    assert responses.items[:3] == ("item 0", "item 1", "item 2")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,1\n", "line 10002 has 2 cells where the header has 4"),
        ('x,a,1,"not closed\n', "line 12001: unexpected end of data"),
        ('x,a,1,"not" here\n', "line 10002: ',' expected after"),
        ("caf\u00e9,a,1,\n", "line 10002 is not UTF-8 text .byte 0xe9."),
    ],
)
def test_a_fault_far_down_is_found_by_its_line(
    file: Callable[..., Path], long_rows: list[str], row: str, message: str
) -> None:
    rows = [line.replace("\n", ",\n") for line in long_rows]
    rows[10_000] = row
    content = "model,item,correct,note\n" + "".join(rows)
    with pytest.raises(ValueError, match=f"^results.csv: {message}"):
        read_responses(file(content.encode("latin-1")))


def test_repeated_rows_are_an_error_unless_counted(file: Callable[..., Path]) -> None:
    path = file("model,item,correct\nx,a,0.2\nx,a,0.9\ny,a,\ny,b,0.5\nx,a,0.6\n")
    responses = read_responses(path, threshold=0.5, repeats="count")
    counts = [[2, 0], [0, 1]], [[3, 0], [0, 1]]
    assert responses == ResponseMatrix.from_counts(*counts, ["x", "y"], ["a", "b"])
    with pytest.raises(ValueError, match=r"'x', item 'a' occurs twice .*repeats=\"count\""):
        read_responses(path, threshold=0.5)


@pytest.mark.parametrize("repeats", ["error", "count"])
def test_a_long_table_may_be_kept_sparse(file: Callable[..., Path], repeats: Any) -> None:
    path = file("model,item,correct\nx,a,1\nx,b,0\ny,b,\nz,a,1\n")
    responses = read_responses(path, repeats=repeats, sparse=True)
    assert responses.is_sparse
    assert responses == read_responses(path, repeats=repeats)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(data=st.data())
def test_damage_gives_a_matrix_or_one_error_with_the_name(data: st.DataObject) -> None:
    tables = (
        b'model,q1,"q,2",q3\r\n007,1,0,NA\r\n"x\ny",0,1,1\r\nNA,,1,0\n',
        b'model;item;correct;note\n007;a;1;"long; text"\n\'=1;b;1;x\n007;b;0;y\n',
    )
    content = bytearray(data.draw(st.sampled_from(tables)))
    words = [*(b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"9" * 400, b"'=", b"")]
    for _ in range(data.draw(st.integers(1, 4))):
        start, end = sorted(data.draw(st.integers(0, len(content))) for _ in range(2))
        content[start : min(end, start + 5)] = data.draw(st.sampled_from(words))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.csv")
        path.write_bytes(content)
        try:
            assert isinstance(read_responses(path), ResponseMatrix)
        except ValueError as error:
            assert str(error).startswith("results.csv: ")  # noqa: PT017 - either is right


def test_an_empty_cell_is_missing_beside_words(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("model,q1,q2\na,ok,fail\nb,fail,\nc,ok,NA\n")
    assert read_responses(path, right="ok").values.tolist() == [[1, 0], [0, -1], [1, -1]]


@pytest.mark.parametrize(
    ("header", "how"),
    [
        ("gpt,1,0", {}),
        ("gpt,1,0,1,1", {}),
        ("gpt,0.31,0.72", {"threshold": 0.5}),
        ("gpt,ok,fail", {"right": "ok", "wrong": "fail"}),
    ],
)
def test_a_system_in_place_of_the_header_is_an_error(
    tmp_path: Path, header: str, how: dict[str, Any]
) -> None:
    path = tmp_path / "marks.csv"
    path.write_text(header + "\n" + header.replace("gpt", "o1") + "\n")
    with pytest.raises(ValueError, match="the header seems to be missing: its names"):
        read_responses(path, **how)
    names = ",".join(["model", *(f"q{k}" for k in range(header.count(",")))])
    path.write_text(f"{names}\n{header}\n")
    assert read_responses(path, **how).respondents == ("gpt",)


@pytest.mark.parametrize("names", [("0", "1"), ("0", "1", "2"), ("1", "2"), ("17", "101")])
@pytest.mark.parametrize("how", [{}, {"threshold": 0.5}])
def test_numbers_are_names_of_items(
    tmp_path: Path, names: tuple[str, ...], how: dict[str, Any]
) -> None:
    path = tmp_path / "marks.csv"
    path.write_text(f"which,{','.join(names)}\ngpt{',1' * len(names)}\n")
    assert read_responses(path, **how).items == names
