"""Long tables: cells and codes of their rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtkit.responses import long_table, scatter
from irtkit.responses import ResponseMatrix
from irtkit.responses.long_table import LongTable, long_table_of, read_long
from irtkit.responses.marking import Marking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from irtkit.responses.labels import Names

    Row = tuple[str, str, int | None]

COLUMNS = ("model", "question", "score")
TABLE = pd.DataFrame({"model": list("bba"), "question": list("xyx"), "score": [0.4, None, 0.5]})


def read(frame: pd.DataFrame, marking: Marking, repeats: str = "error") -> tuple[Any, Names]:
    tables = [long_table_of(frame, COLUMNS)]
    return read_long(tables, marking=marking, repeats=repeats, sparse=False)


def test_every_row_has_its_cell_and_its_code() -> None:
    cells, names = read(TABLE, Marking(0.5))
    assert names == (("b", "a"), ("x", "y"))
    assert cells.tolist() == [[0, -1], [1, -1]]


def test_a_pair_occurs_twice_only_where_it_may() -> None:
    twice = pd.concat([TABLE, TABLE])
    cells, _ = read(twice, Marking(0.5), "count")
    assert cells.trials.tolist() == [[2, 0], [2, 0]]
    with pytest.raises(ValueError, match=r"'b', item 'x' occurs twice \(and 2 more repeats\)"):
        read(twice, Marking(0.5))


def test_a_wrong_response_is_named_with_the_number_of_others() -> None:
    with pytest.raises(ValueError, match=r"'b', item 'x' has 0\.4 \(and 1 more such cell\)"):
        read(TABLE, Marking())


def test_the_argument_of_an_absent_column_is_named() -> None:
    with pytest.raises(ValueError, match="item='task' is not a column; the columns are"):
        long_table_of(TABLE, ("model", "task", "score"))


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["gpt", "007", "NA", "nan"]),
        st.sampled_from(["q1", "2", "None"]),
        st.sampled_from([1, 0, None]),
    ),
    min_size=1,
    max_size=30,
)


def one_by_one(rows: list[Row], repeats: str) -> ResponseMatrix:
    """Referee: the matrix of rows that are looked at one after the other."""
    names = tuple(tuple(dict.fromkeys(row[k] for row in rows)) for k in (0, 1))
    trials: dict[tuple[str, str], list[int]] = {}
    seen, again = set(), []
    for respondent, item, response in rows:
        again += [(respondent, item)] if (respondent, item) in seen else []
        seen.add((respondent, item))
        if response is not None:
            trials.setdefault((respondent, item), []).append(response)
    if repeats == "error" and again:
        more = "" if len(again) == 1 else f" \\(and {len(again) - 1} more repeat"
        raise ValueError(f"respondent '{again[0][0]}', item '{again[0][1]}' occurs twice{more}")
    right, tried = np.zeros((2, len(names[0]), len(names[1])), int)
    for (respondent, item), responses in trials.items():
        kept = {"count": responses, "last": responses[-1:]}.get(repeats, responses[:1])
        if repeats.startswith("mean"):
            kept = [int(sum(responses) >= 0.5 * len(responses))]
        cell = names[0].index(respondent), names[1].index(item)
        right[cell], tried[cell] = sum(kept), len(kept)
    return ResponseMatrix.from_counts(right, tried, *names)


def arrow(rows: list[Row], form: str) -> list[Any]:
    """Columns of a block: text, or numbers into dictionaries that hold more, in another order."""
    columns: list[Any] = []
    for k, others in enumerate((["x", "nan", "gpt"], ["None", "y"])):
        values = [str(row[k]) for row in rows]
        if form == "dictionary":
            words = [*dict.fromkeys([*others, *reversed(values)])]
            places = pa.array([words.index(value) for value in values], pa.uint8())
            columns.append(pa.DictionaryArray.from_arrays(places, words))
        else:
            columns.append(pa.array(values, pa.large_string()))
    responses = [row[2] for row in rows]
    return [*columns, pa.array(responses if form == "text" else np.array(responses, float))]


def frames(rows: list[Row]) -> list[Any]:
    frame = pd.DataFrame(rows, columns=["respondent", "item", "response"])
    return [frame[name] for name in frame]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    rows=ROWS,
    at=st.lists(st.integers(0, 30)),
    columns=st.sampled_from(
        [partial(arrow, form="text"), partial(arrow, form="dictionary"), frames]
    ),
    repeats=st.sampled_from(["error", "count", "first", "last", "mean>=0.5"]),
    remembered=st.sampled_from([0, 5, 100]),
)
def test_blocks_of_any_size_give_what_rows_one_by_one_give(
    rows: list[Row], at: list[int], columns: Any, repeats: str, remembered: int
) -> None:
    def blocks() -> Iterator[tuple[Sequence[Any], int]]:
        ends = sorted({min(end, len(rows)) for end in at} | {len(rows)})
        for start, stop in zip([0, *ends], ends, strict=False):
            yield columns(rows[start:stop]), stop

    table = LongTable(("respondent", "item"), blocks, len(rows))
    read = partial(ResponseMatrix.of_long, [table], marking=Marking(), repeats=repeats)
    for sparse in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(long_table, "_REMEMBERED_ROWS", remembered)
            try:
                expected = one_by_one(rows, repeats)
            except ValueError as error:
                missing = "no response" in str(error)
                with pytest.raises(ValueError, match="every cell" if missing else str(error)):
                    read(sparse=sparse)
            else:
                responses = read(sparse=sparse)
                assert responses.is_sparse is sparse
                assert responses == expected


@pytest.mark.parametrize("repeats", ["error", "count", "first", "last", "mean>=0.4"])
@pytest.mark.parametrize("sparse", [False, True])
def test_many_blocks_and_runs_give_what_one_gives(
    monkeypatch: pytest.MonkeyPatch, repeats: str, *, sparse: bool
) -> None:
    generator = np.random.default_rng(0)
    n = 1500 if repeats == "error" else 40_000
    cells = generator.permutation(40 * 50)[:n] if n == 1500 else generator.integers(0, 2000, n)
    responses = generator.integers(-1, 2, n)
    table = pa.table(
        {
            "model": [f"m{k // 50}" for k in cells],
            "item": [f"q{k % 50}" for k in cells],
            "score": pa.array(responses, mask=responses < 0),
        }
    )
    read = partial(ResponseMatrix.from_long, table, repeats=repeats, sparse=sparse)
    at_once = read()
    monkeypatch.setattr(long_table, "BLOCK_ROWS", 100)
    monkeypatch.setattr(scatter, "_AT_ONCE", 64)
    assert read() == at_once


def test_counts_above_a_byte_are_kept_as_they_are() -> None:
    table = pa.table({"model": ["a"] * 70_000, "item": ["q"] * 70_000, "score": [1] * 70_000})
    for sparse in (False, True):
        responses = ResponseMatrix.from_long(table, repeats="count", sparse=sparse)
        assert responses.observed.successes.data.tolist() == [70_000]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            pa.array(["a", None, "b", None]),
            "'model' has no label in row 2 of the table .and 1 more",
        ),
        (pa.array(["a", " ", "b", "c"]), "respondent 2 has no label"),
        (pa.array([["a"], ["b"], ["c"], ["d"]]), "column 'model' must hold labels"),
        (pa.array([1, None, 2, 3]), "'model' has no label in row 2 of the table"),
        (
            pa.DictionaryArray.from_arrays([0, 1, 0, 2], pa.array(["a", None, "b"])),
            "'model' has no label in row 2 of the table",
        ),
    ],
)
def test_labels_that_are_none_are_refused(
    monkeypatch: pytest.MonkeyPatch, column: Any, message: str
) -> None:
    table = pa.table({"model": column, "item": list("qrst"), "score": [1, 0, 1, 0]})
    for rows in (4, 1):
        monkeypatch.setattr(long_table, "BLOCK_ROWS", rows)
        with pytest.raises(ValueError, match=message):
            ResponseMatrix.from_long(table)


def test_where_a_table_of_all_cells_does_not_fit_the_observed_ones_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    table = pa.table({"model": ["a", "b"], "item": ["q", "r"], "score": [1, 0]})
    monkeypatch.setattr(long_table, "scatter_values", full)
    with pytest.warns(UserWarning, match="2 respondents × 2 items does not fit into memory"):
        responses = ResponseMatrix.from_long(table)
    assert responses.is_sparse


@pytest.mark.parametrize("sparse", [False, True])
def test_progress_is_shown_of_a_long_table_where_it_is_watched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, sparse: bool
) -> None:
    n = 1000
    table = pa.table({"model": ["a"] * n, "item": [f"q{k}" for k in range(n)], "score": [1] * n})
    monkeypatch.setattr(long_table, "is_watched", lambda: True)
    ResponseMatrix.from_long(table, sparse=sparse)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(long_table, "_REMEMBERED_ROWS", 100)
    monkeypatch.setattr(long_table, "BLOCK_ROWS", 100)
    ResponseMatrix.from_long(table, sparse=sparse)
    shown = capsys.readouterr().err
    assert "reading responses" in shown
    assert "100%" in shown
    assert "1,000 rows" in shown


def test_a_long_table_is_read_in_silence_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(long_table, "_REMEMBERED_ROWS", 0)
    read(TABLE, Marking(0.5))
    assert capsys.readouterr() == ("", "")
