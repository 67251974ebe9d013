"""Wide and long tables in Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from irtkit import read_responses
from irtkit.findings import ReadingError
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = ResponseMatrix([[1, 0], [-1, 1]], ["007", "NA"], ["q1", "q2"])
LONG = pd.DataFrame({"note": list("abc"), "model": ["007", "007", "NA"]})
LONG = LONG.assign(item=["q1", "q2", "q2"], score=[1, 0, 1])


@pytest.fixture
def stored(tmp_path: Path) -> Any:
    """Write a frame as Parquet under another name and return the path."""
    path = tmp_path / "results.csv"
    return lambda frame, **how: frame.to_parquet(path, **how) or path


@pytest.mark.parametrize("dtype", ["Int8", "object", "str"])
def test_wide_and_long_tables_of_any_type_are_read(stored: Any, dtype: str) -> None:
    frame = EXPECTED.to_frame().astype(dtype).rename_axis(columns=None)
    assert read_responses(stored(frame)) == EXPECTED
    for form in (None, "wide", "parquet"):
        assert read_responses(stored(frame.reset_index(), index=False), format=form) == EXPECTED
    for labels in ("str", "category"):
        path = stored(LONG.astype({"score": dtype, "model": labels, "item": labels}))
        assert read_responses(path) == EXPECTED
        assert read_responses(path, item="note").items == ("a", "b", "c")
        assert read_responses(path, sparse=True).is_sparse
    assert read_responses(stored(frame.rename_axis(None))) == EXPECTED


def test_dictionaries_that_differ_between_blocks_are_one(tmp_path: Path) -> None:
    rows = [(f"m{(k * 7) % 11}", f"q{k // 11}", k % 3 == 0) for k in range(143_000)]
    frame = pd.DataFrame(rows, columns=["model", "item", "correct"])
    table = pa.Table.from_pandas(frame).set_column(0, "model", pa.array(frame["model"]))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=30_000)
    assert read_responses(tmp_path / "a.parquet") == ResponseMatrix.from_long(frame)


def test_a_fault_is_named_with_its_file(stored: Any) -> None:
    faults = {
        "column 'item' holds list": LONG.assign(item=[["x"], ["y"], ["z"]]),
        "row 1 lacks a label in 'item'": LONG.assign(item=[None, "a", "b"]),
        "the long table is empty": LONG.iloc[:0],
    }
    for message, frame in faults.items():
        with pytest.raises(ReadingError, match=f"^results.csv: {message}"):
            read_responses(stored(frame))
    path = stored(LONG)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReadingError, match=r"^results.csv: the Parquet data cannot be read"):
        read_responses(path)
