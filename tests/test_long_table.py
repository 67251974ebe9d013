"""Long tables: cells and codes of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from irtkit.long_table import long_table_of, read_long
from irtkit.marking import Marking

if TYPE_CHECKING:
    from irtkit.labels import Names

COLUMNS = ("model", "question", "score")
TABLE = pd.DataFrame({"model": list("bba"), "question": list("xyx"), "score": [0.4, None, 0.5]})


def read(frame: pd.DataFrame, marking: Marking, repeats: str = "error") -> tuple[Any, Names]:
    return read_long(long_table_of(frame, COLUMNS), marking=marking, repeats=repeats, sparse=False)


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
