"""CSV that keeps types: text is quoted, everything else is not.

The first column is the index. A quoted cell is text, exactly; an unquoted cell is a number, True
or False, and an empty one is missing. So ``"007"``, ``"NA"`` and ``""`` stay text, and a column is

- text if any of its cells is quoted, or if some unquoted cell is no number (a table by another
  program: its labels and words are taken as written);
- bool if every cell is True or False, int if every cell is a whole number, float otherwise.

A column without any filled cell is text if its header is quoted and float if not. In a table
without rows the header must say it all: an unquoted name that irtkit uses for counts (``n``,
``n_responses``, ``step``, ``nodes``) is int, ``synthetic`` is bool, any other is float.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from irtkit.io.plain_table import Column, PlainTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CELL = re.compile(
    r"""("[^"]*(?:""[^"]*)*"|[^",\r\n][^,\r\n]*|)(,|\r\n|\r|\n|\Z)"""  # a cell and what ends it
)
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf|nan|na|",
    re.IGNORECASE,
)
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^$')
_COUNTS = frozenset({"n", "step", "nodes"})
_FLAGS = frozenset({"synthetic"})
_INT64 = range(-(2**63), 2**63)


def write(table: PlainTable) -> Iterator[str]:
    """Lines of the table, each with its line ending."""
    header = ["" if table.index_name is None else _quoted(table.index_name)]
    for name, kind, _ in table.columns:
        plain = kind != "text" and not _NEEDS_QUOTES.search(name)
        header.append(name if plain else _quoted(name))
    yield ",".join(header) + "\n"
    labels = map(str, range(table.n_rows)) if table.index is None else map(_quoted, table.index)
    cells = [map(_WRITERS[kind], values) for _, kind, values in table.columns]
    for row in zip(labels, *cells, strict=True):
        yield ",".join(row) + "\n"


def read(text: str) -> PlainTable:
    """Read the table that such lines hold; ValueError where they hold none."""
    rows = list(_rows(text))
    if not rows:
        raise ValueError("the table is empty: it has no header")
    header, *body = rows
    for number, row in enumerate(body, start=1):
        if len(row) != len(header):
            raise ValueError(
                f"row {number} has {len(row)} cells where the header has {len(header)}"
            )
    by_column = list(zip(*body, strict=True)) if body else [()] * len(header)
    names = [_unquoted(cell) for cell in header[1:]]
    if len(set(names)) < len(names):
        repeated = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"column names must be unique: {repeated!r} occurs twice")
    columns = [_column(name, cells) for name, cells in zip(header[1:], by_column[1:], strict=True)]
    index_name = _unquoted(header[0]) if header[0] else None
    return PlainTable(index_name, _index(header[0], by_column[0]), columns, len(body))


def _rows(text: str) -> Iterator[list[str]]:
    """Rows of cells, quotes still on; blank lines are passed over."""
    row: list[str] = []
    end = 0
    for match in _CELL.finditer(text):
        if match.start() != end:
            break
        cell, separator = match.groups()
        end = match.end()
        row.append(cell)
        if separator != ",":
            if row != [""]:
                yield row
            row = []
    if end < len(text):
        line = text.count("\n", 0, end) + 1
        raise ValueError(f"line {line} has a quote that is not closed, or text after one that is")


def _index(name: str, cells: tuple[str, ...]) -> list[str] | None:
    if not name and all(cell == str(k) for k, cell in enumerate(cells)):
        return None
    if "" in cells:
        raise ValueError(f"row {cells.index('') + 1} has no label in the first column")
    return [_unquoted(cell) for cell in cells]


def _column(name: str, cells: tuple[str, ...]) -> Column:
    kind = _kind_of_empty(name) if not cells else _kind(name, cells)
    return Column(_unquoted(name), kind, [_READERS[kind](cell) for cell in cells])


def _kind(name: str, cells: tuple[str, ...]) -> str:
    distinct = set(cells)
    if distinct == {""}:
        return "text" if name.startswith('"') else "float"
    if distinct <= {"True", "False"}:
        return "bool"
    if all(_WHOLE.fullmatch(cell) and int(cell) in _INT64 for cell in distinct):
        return "int"
    return "float" if all(_NUMBER.fullmatch(cell) for cell in distinct) else "text"


def _kind_of_empty(name: str) -> str:
    if name.startswith('"'):
        return "text"
    if name in _FLAGS:
        return "bool"
    return "int" if name in _COUNTS or name.startswith("n_") else "float"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _write_float(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _read_float(cell: str) -> float:
    return math.nan if cell.lower() in {"", "na", "nan"} else float(cell)


_WRITERS: dict[str, Callable[[Any], str]] = {
    "text": lambda value: "" if value is None else _quoted(value),
    "float": _write_float,
    "int": str,
    "bool": str,
}
_READERS: dict[str, Callable[[str], Any]] = {
    "text": lambda cell: _unquoted(cell) if cell else None,
    "float": _read_float,
    "int": int,
    "bool": lambda cell: cell == "True",
}
