"""Delimited text: a wide table (respondents × items) or a long one (a row per response).

Every cell is taken as it is written (`irtkit.io.text` has the rules); only responses are
interpreted. A wide table is read by rows, a long one by columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import first_names, short
from irtkit.io.text import batches, records, rows, unguarded
from irtkit.responses import ResponseMatrix
from irtkit.responses.codes import INVALID, WrittenCodes
from irtkit.responses.columns import (
    holds_respondents,
    item_columns,
    other_columns,
    refuse_repeats,
    respondent_column,
)
from irtkit.responses.labels import label_names
from irtkit.responses.long_table import LongTable
from irtkit.responses.marking import plain_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from irtkit.io.source import Source
    from irtkit.responses.marking import Marking


def recognise_wide(source: Source) -> bool:
    """Whether the file is text that may be a table."""
    return b"\0" not in source.head and not source.head.lstrip().startswith((b"[", b"{"))


def recognise_long(source: Source) -> bool:
    """Whether the file is a table and its header is that of a long one."""
    if not recognise_wide(source):
        return False
    return source.is_long(source.layout[1])


def read_wide(source: Source) -> ResponseMatrix:
    """Read a table with a row per respondent and a column per item.

    Respondents are the column that `irtkit.responses.columns.respondent_column` tells by its name, or the
    first one, see `holds_respondents`; if that is itself an item, they are numbered.
    """
    separator, names = source.layout
    kept = other_columns(names, source.ignore)
    header = [unguarded(names[k]) for k in kept]
    if not header:
        raise ValueError("ignore= leaves no column of the table")
    at = respondent_column(header, source.columns[0])
    if at is None:
        _refuse_responses_as_header(header, source.marking)
    refuse_repeats(filter(str.strip, names))
    label, code_of = kept[at or 0], WrittenCodes(source.marking).__getitem__
    cells, labels = bytearray(), list[str]()
    for _, row in rows(source.path, separator):
        labels.append(unguarded(row[label]))
        cells += bytes(map(code_of, row))
    if not labels:
        raise ValueError("the table has a header and no rows")
    if at is None and holds_respondents(labels, source.marking):
        at = 0
    columns = item_columns(header, at, source.keep)
    if not columns:
        raise ValueError(f"the table has no items: its one column is {short(header[0])}")
    codes = np.frombuffer(cells, np.int8).reshape(len(labels), len(names))
    codes = codes.take([kept[k] for k in columns], axis=1)
    if (codes == INVALID).any() or (source.marking.right and not source.marking.wrong):
        import pandas as pd  # what it says of columns needs them whole

        header, lines = records(source.path)
        return source.matrix_of_wide(pd.DataFrame([row for _, row in lines], columns=header))
    respondents = None if at is None else labels
    return ResponseMatrix.of_wide(
        codes,
        (
            label_names(respondents, len(labels), "respondent", unique=False),
            label_names([header[k] for k in columns], len(columns), "item"),
        ),
        repeats=source.repeats,
    )


def _refuse_responses_as_header(names: list[str], marking: Marking) -> None:
    """Refuse a header whose items are called what a response is: the first system would be lost.

    Whole numbers are names too, but for 0 and 1 alone where these do not count the items.
    """
    items = [name.strip() for name in names[1:]]
    if len(items) < 2:
        return
    plain = [plain_value(name) for name in items]
    numbers = [value for value in plain if isinstance(value, float)]
    if marking.right:
        found = all(map(marking.names, plain))
    elif len(numbers) < len(plain):
        found = False
    elif marking.threshold is None:
        found = {0.0, 1.0}.issuperset(numbers) and numbers != [0.0, 1.0]
    else:
        found = not all(map(float.is_integer, numbers)) and len(set(numbers)) > 1
    if found:
        raise ValueError(
            f"the header seems to be missing: its names {first_names(items)} are responses; "
            "put a first line with names, such as model,q1,q2, above them"
        )


def read_long(source: Source) -> ResponseMatrix:
    """Read a table with a row per response, its columns named or recognised."""
    return source.matrix_of_long(long_table(source))


def long_table(source: Source) -> LongTable:
    """Three columns of a table with a row per response."""
    separator, header = source.layout
    names = source.long_columns(header)

    def blocks() -> Iterator[tuple[Sequence[Any], int]]:
        reached = [0]
        for batch in batches(source.path, separator, names, reached=reached):
            yield batch.columns, reached[-1]

    size, name = source.path.stat().st_size, f"{source.path.name}: "
    return LongTable((names[0], names[1]), blocks, size, is_text=True, name=name)
