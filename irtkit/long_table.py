"""Long tables, one row per response, read into the cells of a response matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.checks import and_more
from irtkit.codes import INVALID, column_array, invalid_response, response_codes
from irtkit.labels import label_numbers

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.labels import Names


def read_long(
    frame: pd.DataFrame, columns: dict[str, str], *, threshold: float | None, repeats: bool
) -> tuple[NDArray[np.int64], NDArray[np.int8], Names]:
    """Cell of every row (row · n_items + column) and code of its response; the labels.

    `columns` are those of respondent, item and response, in this order, by the names of the
    arguments. Unless there may be repeats, a respondent answers an item once.
    """
    for argument, column in columns.items():
        if column not in frame.columns:
            raise ValueError(
                f"{argument}={column!r} is not a column of the table; "
                f"it has {', '.join(map(repr, map(str, frame.columns)))}"
            )
    if frame.empty:
        raise ValueError("the long table is empty: no row holds a response")
    respondent, item, response = columns.values()
    rows, respondents = label_numbers(frame, respondent, "respondent")
    positions, items = label_numbers(frame, item, "item")
    cells = rows * len(items) + positions
    if not repeats:
        refuse_repeats(cells, respondents, items)
    codes = response_codes(column_array(frame[response]), threshold)
    invalid = np.flatnonzero(codes == INVALID)
    if invalid.size:
        k = invalid[0]
        where = respondents[rows[k]], items[positions[k]]
        value, n_more = frame[response].iloc[k], invalid.size - 1
        raise invalid_response(*where, value, n_more, threshold)
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
            f"item {items[column]!r} occurs twice{and_more(repeats.size - 1, 'repeat')}; "
            'repeats="count" counts such rows as trials'
        )
