"""Long tables, one row per response, read into the cells of a response matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.checks import and_more
from irtkit.codes import codes_of_rows
from irtkit.columns import find_columns
from irtkit.labels import label_numbers

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.columns import Roles
    from irtkit.labels import Names
    from irtkit.marking import Marking


COUNT = '; repeats="count" counts such rows as trials'
"""What to type where rows are repeated."""


def read_long(
    frame: pd.DataFrame, columns: Roles, *, marking: Marking, repeats: bool
) -> tuple[NDArray[np.int64], NDArray[np.int8], Names]:
    """Cell of every row (row · n_items + column) and code of its response; the labels.

    Columns that are not named are recognised. Unless there may be repeats, a respondent answers an
    item once.
    """
    positions = find_columns([*map(str, frame.columns)], *columns)
    if frame.empty:
        raise ValueError("the long table is empty: no row holds a response")
    respondent, item, response = (frame.iloc[:, position] for position in positions)
    rows, respondents = label_numbers(respondent, "respondent")
    columns_of, items = label_numbers(item, "item")
    cells = rows * len(items) + columns_of
    if not repeats:
        refuse_repeats(cells, respondents, items)
    codes = codes_of_rows(response, lambda k: (respondents[rows[k]], items[columns_of[k]]), marking)
    return cells, codes, (respondents, items)


def refuse_repeats(
    cells: NDArray[np.int64], respondents: tuple[str, ...], items: tuple[str, ...]
) -> None:
    """Refuse a cell (row · n_items + column) that occurs twice."""
    order = np.argsort(cells, kind="stable")
    repeats = order[1:][np.diff(cells[order]) == 0]
    if repeats.size:
        row, column = divmod(int(cells[repeats.min()]), len(items))
        raise ValueError(
            f"a respondent answers an item once: respondent {respondents[row]!r}, "
            f"item {items[column]!r} occurs twice{and_more(repeats.size - 1, 'repeat')}{COUNT}"
        )
