"""Wide and long tables in Parquet."""

from __future__ import annotations

import contextlib
import gzip
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from irtkit.io import read_responses
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


EXPECTED = ResponseMatrix([[1, 0], [-1, 1]], ["007", "NA"], ["q1", "q2"])
LONG = pd.DataFrame(
    {
        "note": list("abc"),
        "model": ["007", "007", "NA"],
        "item": ["q1", "q2", "q2"],
        "score": [1, 0, 1],
    }
)


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., Path]:
    """Write a frame as Parquet and return the path."""

    def write(frame: pd.DataFrame, **how: Any) -> Path:
        path = tmp_path / "results.csv"
        frame.to_parquet(path, **how)
        return path

    return write


@pytest.mark.parametrize("dtype", ["Int8", "float32", "object", "str", "boolean"])
@pytest.mark.parametrize("index", [True, False])
def test_a_wide_table_is_read_with_its_respondents(
    stored: Callable[..., Path], dtype: str, *, index: bool
) -> None:
    frame = EXPECTED.to_frame().astype(dtype)
    frame.columns.name = None
    path = stored(frame) if index else stored(frame.reset_index(), index=False)
    assert read_responses(path) == EXPECTED
    assert read_responses(path, format="wide") == EXPECTED
    assert read_responses(path, format="parquet") == EXPECTED


def test_an_index_without_a_name_is_the_respondents(stored: Callable[..., Path]) -> None:
    path = stored(pd.DataFrame({"q1": [1, 0]}, index=["0", "1"]))
    assert read_responses(path).respondents == ("0", "1")


def test_a_table_of_nothing_but_responses_has_numbered_respondents(
    stored: Callable[..., Path],
) -> None:
    responses = read_responses(stored(pd.DataFrame({"a": [1, 0, 1], "b": [True, None, False]})))
    assert responses.respondents == ("respondent-1", "respondent-2", "respondent-3")
    assert responses.values.tolist() == [[1, 1], [0, -1], [1, 0]]


@pytest.mark.parametrize("dtype", ["Int8", "float64", "object", "str", "boolean"])
@pytest.mark.parametrize("labels", ["str", "category"])
def test_a_long_table_is_read_by_its_usual_names(
    stored: Callable[..., Path], dtype: str, labels: str
) -> None:
    path = stored(LONG.astype({"score": dtype, "model": labels, "item": labels}))
    assert read_responses(path) == EXPECTED
    assert read_responses(path, format="long", respondent="model") == EXPECTED
    assert read_responses(path, item="note").items == ("a", "b", "c")


def test_labels_that_are_numbers_are_written_out(stored: Callable[..., Path]) -> None:
    path = stored(LONG.assign(item=[10, 20, 20]))
    assert read_responses(path).items == ("10", "20")


def test_a_dot_in_the_name_of_a_column_is_no_trouble(stored: Callable[..., Path]) -> None:
    path = stored(LONG.rename(columns={"item": "task.id"}))
    assert read_responses(path, item="task.id") == EXPECTED


def test_compressed_parquet_is_still_parquet(stored: Callable[..., Path]) -> None:
    path = stored(LONG)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_responses(path) == EXPECTED


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        (LONG, {"format": "wide"}, "name those that count, right="),
        (LONG, {"format": "wide", "item": "item"}, "long table, but the format is 'wide'"),
        (LONG, {"format": "py-irt"}, "not UTF-8|not JSON"),
        (LONG.assign(score=[1, 2, 2]), {}, "'007', item 'q2' has 2 .and 1 more such cell"),
        (LONG.assign(score=[0.5, 1, 1]), {}, "threshold="),
        (LONG.assign(item=[["x"], ["y"], ["z"]]), {}, "column 'item' holds list"),
        (LONG.assign(item=[None, "a", "b"]), {}, "column 'item' has no label in row 1"),
        (LONG.assign(item="q"), {}, "item 'q' occurs twice"),
        (LONG.iloc[:0], {}, "long table is empty"),
        (pd.DataFrame({"model": ["a", "a"], "q": [1, 0]}), {}, "'a' occurs twice"),
        (pd.DataFrame({"model": ["a", "b"], "q": [1, -1]}), {}, "item 'q' has -1"),
        (pd.DataFrame({"model": ["a", "b"]}), {}, "empty: 2 respondents"),
    ],
)
def test_a_fault_is_one_message_with_the_name_of_the_file(
    stored: Callable[..., Path], frame: pd.DataFrame, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^results.csv: .*({message})"):
        read_responses(stored(frame), **arguments)


def test_damaged_parquet_is_a_clear_error(stored: Callable[..., Path]) -> None:
    path = stored(LONG)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"^results.csv: the Parquet data cannot be read"):
        read_responses(path)


def test_repeated_rows_of_a_long_table_are_counted(stored: Callable[..., Path]) -> None:
    responses = read_responses(stored(LONG.assign(item="q")), repeats="count")
    assert (responses.successes.tolist(), responses.trials.tolist()) == ([[1], [1]], [[2], [1]])


def test_a_long_table_may_be_kept_sparse(stored: Callable[..., Path]) -> None:
    path = stored(LONG)
    responses = read_responses(path, sparse=True)
    assert responses.is_sparse
    assert responses == read_responses(path)


def test_damaged_numbers_into_dictionaries_are_one_error(stored: Callable[..., Path]) -> None:
    rows = [(f"m{k // 20}", f"q{k % 20}", k % 2) for k in range(100)]
    path = stored(pd.DataFrame(rows, columns=["model", "item", "correct"]), compression="none")
    whole = path.read_bytes()
    for at in range(4, 900):
        path.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        with contextlib.suppress(ValueError):
            assert read_responses(path).values.size
