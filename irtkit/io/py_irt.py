"""The JSON lines of py-irt: one respondent per line, ``{"subject_id": …, "responses": {…}}``.

``responses`` maps item to 1 (right) or 0 (wrong); an item that is absent, or null, is missing.
Described with py-irt, https://github.com/nd-ball/py-irt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short
from irtkit.io.json_text import json_lines
from irtkit.io.samples import name_of, refuse_half_characters
from irtkit.responses import ResponseMatrix
from irtkit.responses.codes import codes_of_rows

if TYPE_CHECKING:
    from irtkit.io.source import Source

_BEGINS = re.compile(rb"""\s*\{\s*['"](subject_id|responses)['"]""")
_LAYOUT = '{"subject_id": "…", "responses": {"item": 0 or 1}}'


def recognise(source: Source) -> bool:
    """Whether the file begins with an object of which one key is the first, or that has both."""
    both = all(key in source.head for key in (b'"subject_id"', b'"responses"'))
    return _BEGINS.match(source.head) is not None or (
        both and source.head.lstrip().startswith(b"{")
    )


def read(source: Source) -> ResponseMatrix:
    """Read respondents in the order of the lines, items in the order of first occurrence."""
    import pandas as pd

    source.refuse_table_settings("py-irt")
    rows: dict[str, int] = {}
    items: dict[str, int] = {}
    sizes, columns, values = list[int](), list[int](), list[Any]()
    for line, record in json_lines(source.path, unique=True):
        try:
            subject, responses = _subject(record, rows)
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from error
        rows[subject] = len(rows)
        sizes.append(len(responses))
        columns += [items.setdefault(item, len(items)) for item in responses]
        values += responses.values()
    for label in (*rows, *items):
        refuse_half_characters(label)
    names, row = (tuple(rows), tuple(items)), np.repeat(np.arange(len(rows)), sizes)
    codes = codes_of_rows(
        pd.Series(values, dtype=object),
        lambda k: (names[0][row[k]], names[1][columns[k]]),
        source.marking,
    )
    if not items:
        raise ValueError("no respondent answers an item")
    return ResponseMatrix.of_rows((row, np.array(columns), codes), names)


def _subject(record: dict[str, Any], known: dict[str, int]) -> tuple[str, dict[str, Any]]:
    """Respondent and responses of a line; respondents that are known occur no more."""
    for key in ("subject_id", "responses"):
        if key not in record:
            found = ", ".join(map(repr, record)) or "none"
            raise ValueError(f'no key "{key}" (the keys: {found}); the form is {_LAYOUT}')
    responses = record["responses"]
    if not isinstance(responses, dict):
        kind = type(responses).__name__
        raise ValueError(f'"responses" must map items to 0 or 1, got {kind}')
    subject = name_of(record["subject_id"], '"subject_id"')
    if subject in known:
        raise ValueError(f"respondent {short(subject)} occurs twice")
    if not all(map(str.strip, responses)):
        raise ValueError(f"respondent {short(subject)} answers an item without a label")
    return subject, responses
