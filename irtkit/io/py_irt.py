"""The JSON lines of py-irt: one respondent per line, ``{"subject_id": …, "responses": {…}}``.

``responses`` maps item to 1 (right) or 0 (wrong); an item that is absent, or null, is missing.
Described with py-irt, https://github.com/nd-ball/py-irt.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.codes import MISSING, ResponseCodes
from irtkit.files import replacing
from irtkit.io.json_text import text_lines
from irtkit.io.samples import refuse_half_characters
from irtkit.io.text import without_repeats
from irtkit.responses import ResponseMatrix, refuse_sparse

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

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
    source.refuse_table_settings("py-irt")
    codes = ResponseCodes(source.marking)
    items: dict[str, int] = {}
    rows: dict[str, tuple[Any, Any]] = {}
    items_at_fault: list[str] = []
    for line, subject, responses in _subjects(source):
        if subject in rows:
            raise ValueError(f"line {line}: respondent {subject!r} occurs twice")
        if not all(map(str.strip, responses)):
            raise ValueError(f"line {line}: respondent {subject!r} answers an item without a label")
        before = codes.n_invalid
        cells = codes.encode(len(rows), list(responses.values()))
        if codes.n_invalid and not before:
            items_at_fault = list(responses)
        columns = [items.setdefault(item, len(items)) for item in responses]
        rows[subject] = (np.array(columns, np.int32), np.frombuffer(cells, np.int8))
    codes.refuse_invalid(list(rows), items_at_fault)
    for label in (*rows, *items):
        refuse_half_characters(label)
    values = np.full((len(rows), len(items)), MISSING, dtype=np.int8)
    for row, (columns_of_row, cells_of_row) in enumerate(rows.values()):
        values[row, columns_of_row] = cells_of_row
    return ResponseMatrix(values, rows, items)


def write_py_irt(responses: ResponseMatrix, path: str | os.PathLike[str]) -> None:
    """Write a response matrix as the JSON lines that py-irt trains on.

    Parameters
    ----------
    responses
        The matrix; synthetic respondents are written like the others. The format has no place for
        an item that nobody answered: such an item is left out.
    path
        The file to write; it appears whole or not at all.

    Raises
    ------
    ValueError
        If the matrix holds repeated trials, for which the format has no place, or is sparse.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from irtkit.io.py_irt import write_py_irt
    >>> from irtkit.responses import ResponseMatrix
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "crowd.jsonlines")
    ...     write_py_irt(ResponseMatrix([[1, -1]], ["gpt"], ["q1", "q2"]), path)
    ...     print(path.read_text(), end="")
    {"subject_id": "gpt", "responses": {"q1": 1}}
    """
    refuse_sparse(responses, "write_py_irt")
    if responses.has_repeats:
        raise ValueError("py-irt holds one response per cell, but responses has repeated trials")
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as text:
        for respondent, row in zip(responses.respondents, responses.values, strict=True):
            cells = zip(responses.items, row.tolist(), strict=True)
            answers = {item: value for item, value in cells if value != MISSING}
            record = {"subject_id": respondent, "responses": answers}
            text.write(json.dumps(record, ensure_ascii=False) + "\n")


def _subjects(source: Source) -> Iterator[tuple[int, str, dict[str, object]]]:
    """Line number, respondent and responses of every line that is not blank."""
    for line, written in text_lines(source.path):
        if written.strip():
            yield line, *_subject(line, written)


def _subject(line: int, written: str) -> tuple[str, dict[str, object]]:
    try:
        record = json.loads(written, object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {line} is not JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {line}: {error}") from error
    if not isinstance(record, dict):
        raise ValueError(f"line {line} is not of the form {_LAYOUT}")
    for key in ("subject_id", "responses"):
        if key not in record:
            found = ", ".join(map(repr, record)) or "none"
            raise ValueError(
                f'line {line} has no key "{key}" (its keys: {found}); the form is {_LAYOUT}'
            )
    subject, responses = record["subject_id"], record["responses"]
    if isinstance(subject, bool) or not isinstance(subject, str | int):
        raise ValueError(f'line {line}: "subject_id" must be text, got {subject!r}')
    if not str(subject).strip():
        raise ValueError(f'line {line}: "subject_id" is empty')
    if not isinstance(responses, dict):
        kind = type(responses).__name__
        raise ValueError(f'line {line}: "responses" must map items to 0 or 1, got {kind}')
    return str(subject), responses
