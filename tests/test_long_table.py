"""Long tables: cells and codes of their rows."""

from __future__ import annotations

import pandas as pd
import pytest

from irtkit.long_table import read_long
from irtkit.marking import Marking

COLUMNS = ("model", "question", "score")
TABLE = pd.DataFrame({"model": list("bba"), "question": list("xyx"), "score": [0.4, None, 0.5]})


def test_every_row_has_its_cell_and_its_code() -> None:
    cells, codes, names = read_long(TABLE, COLUMNS, marking=Marking(0.5), repeats=False)
    assert names == (("b", "a"), ("x", "y"))
    assert cells.tolist() == [0, 1, 2]
    assert codes.tolist() == [0, -1, 1]


def test_a_pair_occurs_twice_only_where_it_may() -> None:
    twice = pd.concat([TABLE, TABLE])
    cells, _, _ = read_long(twice, COLUMNS, marking=Marking(0.5), repeats=True)
    assert cells.tolist() == [0, 1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match=r"'b', item 'x' occurs twice \(and 2 more repeats\)"):
        read_long(twice, COLUMNS, marking=Marking(0.5), repeats=False)


def test_a_wrong_response_is_named_with_the_number_of_others() -> None:
    with pytest.raises(ValueError, match=r"'b', item 'x' has 0\.4 \(and 1 more such cell\)"):
        read_long(TABLE, COLUMNS, marking=Marking(), repeats=False)


def test_the_argument_of_an_absent_column_is_named() -> None:
    with pytest.raises(ValueError, match="item='task' is not a column; the columns are"):
        read_long(TABLE, ("model", "task", "score"), marking=Marking(), repeats=False)
