"""The rule that brings types back from CSV, on tables by other programs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from irtkit.io.plain_table import PlainTable
from irtkit.io.typed_csv import read, write


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-2"], "int", [1, -2]),
        (["1", ""], "float", [1.0, math.nan]),
        (["1", "NA"], "float", [1.0, math.nan]),
        (["1e3", "-inf"], "float", [1000.0, -math.inf]),
        (["True", "False"], "bool", [True, False]),
        (["True", ""], "text", ["True", None]),
        (["007", "8"], "text", ["007", "8"]),
        (["1_000", "8"], "text", ["1_000", "8"]),
        (['"1"', "2"], "text", ["1", "2"]),
        (["99999999999999999999", "1"], "float", [1e20, 1.0]),
        (["ok", 'a "b"'], "text", ["ok", 'a "b"']),
    ],
)
def test_cells_say_what_their_column_is(cells: list[str], kind: str, values: Any) -> None:
    table = read(f"item,x\r\na,{cells[0]}\r\n007,{cells[1]}\r\n\r\n")
    column = table.columns[0]
    assert (table.index_name, table.index) == ("item", ["a", "007"])
    assert column.kind == kind
    assert list(map(repr, column.values)) == list(map(repr, values))


def test_an_unnamed_index_of_row_numbers_is_the_default_one() -> None:
    assert read(",x\n0,5\n1,6\n").index is None
    assert read(",x\n1,5\n2,6\n").index == ["1", "2"]
    assert read(',x\n"0",5\n"1",6\n').index == ["0", "1"]
    assert read("item,x\n0,5\n1,6\n").index == ["0", "1"]


def test_a_table_without_rows_is_typed_by_its_header() -> None:
    columns = read('"item",difficulty,n_responses,synthetic,"status"\n').columns
    assert [column.kind for column in columns] == ["float", "int", "bool", "text"]


def test_a_line_says_what_it_holds() -> None:
    table = PlainTable("item", ["a"], [], 1)
    assert list(write(table)) == ['"item"\n', '"a"\n']
