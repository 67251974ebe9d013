"""Wide tables, a row per respondent and a column per item, read into a response matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique, short
from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.responses.cells import Cells
from irtkit.responses.columns import (
    SUMMARIES,
    holds_respondents,
    item_positions,
    listed,
    matched,
    named,
    no_items,
    plain_name,
    respondent_position,
    task_position,
    usual_columns,
)
from irtkit.responses.labels import Labels, label_names
from irtkit.responses.long import (
    as_text,
    check_ignored,
    merged_labels,
    of_answers,
    repeated_rows,
    summary_labels,
    with_tasks,
)
from irtkit.responses.marking import INVALID, MISSING, MISSING_WORDS, Coder, plain_value
from irtkit.responses.matrix import ResponseMatrix
from irtkit.responses.tables import numbers_or_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from irtkit.responses.columns import Names
    from irtkit.responses.marking import Marking
    from irtkit.responses.tables import Settings, Table

_KEY_ROWS = {"key", "answer key", "answer_key", "answers", "correct answer", "solution", "target"}
"""Labels, in small letters, of a row that holds the right answers."""


def of_tasks(matrix: ResponseMatrix, tasks: Names) -> ResponseMatrix:
    """Return the items of some tasks, and the respondents that answered them."""
    known = [] if matrix.item_table is None else [*matrix.item_table.get("task", [])]
    if unknown := [name for name in listed(tasks) if name not in known]:
        raise failed("no-task", task=unknown[0], tasks=[*dict.fromkeys(known)])
    every = np.arange(matrix.n_respondents)
    kept = matrix.part(every, np.flatnonzero(np.isin(known, listed(tasks))))
    return kept.part(np.flatnonzero(np.diff(kept.observed.trials.indptr))).with_known(matrix)


def read_wide(table: Table, settings: Settings) -> tuple[ResponseMatrix, list[Finding]]:
    """Response matrix of a wide table, and findings about it.

    A transposed table may have a column of tasks, which come before the labels of the items.
    """
    for name in ("item", "response", "sparse"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a long table, but this table is wide")
    import pandas as pd

    header, marking, turned, key = table.header, settings.marking, settings.transpose, settings.key
    blocks = table.rows()
    first = next(blocks, None)
    at, task, positions, odd = _layout(table, settings, first)
    columns = [header[k] for k in positions]
    kinds = ("item", "respondent") if turned else ("respondent", "item")
    label_names(columns, len(columns), kinds[1], unique=False)
    column_labels, of_rows = Labels([], ()), [*task, *at]
    column = column_labels.numbers([np.array(columns, object)], table.place, 0)
    ignored = listed(settings.ignore) if at else ()
    row_labels = Labels([header[k] for k in of_rows], ignored, prefixed=bool(task))

    coder, start = Coder(marking), 0
    parts: list[tuple[NDArray[Any], NDArray[Any]]] = []
    words: list[set[object]] = [set() for _ in positions]
    # Responses, right ones, invalid ones and scores by column.
    seen = np.zeros((4, len(positions)), np.int64)
    while first is not None:
        found = _cells(first, positions)
        row: NDArray[Any] = np.arange(start, start + len(found))
        if at:
            row = row_labels.numbers(_columns(table, first, of_rows), table.place, start)
        start += len(found)
        if row.min(initial=0) < 0:
            row, found = row[row >= 0], found[row >= 0]
        if marking.right and not marking.wrong:
            for own, values in zip(words, found.T, strict=True):
                own.update(values.tolist())
        if key is None:
            places = row[:, None], np.array(positions)[None, :]
            of_items: Sequence[str] = header
            if turned:
                of_items = row_labels.names if at else label_names(None, start, "item")
            found = coder.codes(found, *places, of_items, by_row=turned)
            seen += [
                *((found != MISSING).sum(0), (found == 1).sum(0), (found == INVALID).sum(0)),
                (found % 1 > 0).sum(0),
            ]
        parts.append((row, found if key is None else found.astype(object)))
        first = next(blocks, None)
    check_ignored(matched(header, settings.ignore)[1], header, row_labels)
    if not any(len(row) for row, _ in parts):
        raise ValueError("the table has a header and no rows")

    row, found = map(np.concatenate, zip(*parts, strict=True))
    rows_of = tuple(row_labels.names) if at else label_names(None, len(row), kinds[0])
    # from here, each line of `found` is a respondent's, or one of several
    who, item, names = row, column, (rows_of, tuple(column_labels.names))
    if turned:
        found, who, item, names = found.T, column, row, names[::-1]
    if isinstance(key, str):
        if key not in names[0]:
            raise failed("no-key", key=key)
        k = names[0].index(key)
        key = dict(zip((names[1][j] for j in item), found[who == k][0], strict=True))
        settings, names = replace(settings, key=key), (names[0][:k] + names[0][k + 1 :], names[1])
        found, who = found[who != k], who[who != k]
        who = who - (who > k)

    summaries = summary_labels(rows_of, settings) if at else []
    strange = {k for k, one in zip(positions, _strange(seen), strict=True) if one}
    again = np.flatnonzero(pd.Series(who).duplicated())
    if len(again) and settings.repeats == "error":
        others = sorted({*odd, *strange})
        if key is not None:
            others = [k for k in positions if header[k] not in key]
        others = [] if turned else others
        if len(positions) - len(others) < 2:
            _refuse_long(header)
        values = {"respondent": names[0][who[again[0]]], "more": len(again) - 1}
        frame = as_text(table, [*at, *others] or [0])
        raise repeated_rows(frame, header, at, [], values, settings.ignore)
    # a column of sums need not be doubted if it holds no responses
    if odd := [k for k in odd if k not in strange or plain_name(header[k]) not in SUMMARIES]:
        doubted = [header[k] for k in odd]
        ignore = Remedy({"ignore": [*listed(settings.ignore), *doubted]}, "ignore", safe=False)
        keep = Remedy({"keep": "*"}, "keep", safe=False)
        raise failed("metadata-columns", ignore, keep, columns=doubted)
    if coder.unusual and summaries:
        raise ReadingError(replace(summaries[0], severity="error"))
    if coder.n_invalid:
        _refuse_cells(coder, seen, (rows_of, header), positions, settings)
    if marking.right and not marking.wrong:
        _refuse_own_words(words, seen[1] > 0, columns, settings)
    marking.check_items(names[1])
    few = [
        header[k]
        for k, one in zip(positions, (2 * seen[3] >= seen[0]) & (seen[3] > 0), strict=True)
        if one
    ]
    undeclared = marking.score_range is None and settings.keep is None and marking.threshold is None
    if undeclared and key is None and few and 3 * len(few) <= len(positions):
        ignore = Remedy({"ignore": [*listed(settings.ignore), *few]}, "ignore")
        scores = Remedy({"score_range": (0, 1)}, "all-scores", safe=False)
        raise failed("few-scores", ignore, scores, columns=few)
    labels, items = (column_labels, row_labels) if turned else (row_labels, column_labels)
    if items.merged:
        label, kept = next(iter(items.merged.items()))
        raise failed("items-alike", item=kept, other=label)
    check_unique("item labels must be unique", [rows_of[k] for k in row] if turned else columns)

    notes = coder.notes(len(names[0]))
    if key is None and not len(again):
        matrix = ResponseMatrix.of_cells(Cells(np.ascontiguousarray(found)), names)
    else:
        block = np.repeat(who, len(item)), np.tile(item, len(who)), found.ravel()
        if key is None:
            matrix = ResponseMatrix.of_rows(block, names, repeats=settings.repeats)
        else:
            matrix, notes, _ = of_answers(block, names, settings)
    if task:
        matrix = with_tasks(matrix, [parts[0] for parts in row_labels.parts])
    return matrix, summaries + merged_labels(labels.merged) + notes


def _layout(
    table: Table, settings: Settings, first: Any
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Columns of labels, of tasks, of items, and those that may not be items."""
    header = table.header
    at = [0] * table.labelled
    if settings.respondent is not None:
        at = named(header, "respondent", settings.respondent)
    if not at and (usual := respondent_position(header)) is not None:
        at = [usual]
    if not at:
        _refuse_responses_as_header(header, settings.marking)
    out = matched(header, settings.ignore)[0]
    k = task_position(header, {*at, *out}) if settings.transpose else None
    task = [] if k is None else [k]
    positions, odd = item_positions(header, [*at, *task], out, settings.keep)
    if not at and positions[:1] == [0] and first is not None:
        (labels,) = _columns(table, first, [0])
        if holds_respondents(labels.tolist(), settings.marking):
            at, positions = [0], positions[1:]
    if not positions:
        raise ValueError(f"the table has no items: its one column is {short(header[0])}")
    return at, task if at else [], positions, odd


def _columns(table: Table, block: Any, positions: list[int]) -> list[Any]:
    """Columns of labels of a block."""
    if not isinstance(block, list):
        return [block.iloc[:, k] for k in positions]
    return [np.array([table.clean(row[k]) for row in block], object) for k in positions]


def _cells(block: Any, positions: list[int]) -> NDArray[Any]:
    """Cells of these columns: numbers if all are, else objects."""
    if isinstance(block, list):
        return np.array(block, dtype=object)[:, positions]
    frame = block if len(positions) == block.shape[1] else block.iloc[:, positions]
    return numbers_or_objects(frame, frame.dtypes)


def _strange(seen: NDArray[Any], more: int = 0) -> NDArray[np.bool_]:
    """Whether at least half of the cells of a column, or more, are not responses."""
    given, _, invalid, _ = seen
    return (invalid > 0) & (2 * invalid + more > given)  # type: ignore[no-any-return]


def _refuse_cells(
    coder: Coder,
    seen: NDArray[Any],
    names: tuple[Sequence[str], list[str]],
    positions: list[int],
    settings: Settings,
) -> None:
    """Raise the error for cells that are not responses: columns that are not items, or values."""
    labels, header = names
    place = labels[coder.first[0]], header[coder.first[1]]
    turned = settings.transpose
    items = labels if turned else header
    who, item = place[::-1] if turned else place
    error = coder.error(who, item, items, by_row=turned)
    numbers = error.finding.code in {"outside-range", "percentages", "numbers"}
    strange = _strange(seen, more=int(numbers))
    shared = {k for found in coder.columns.values() if len(found) > 1 for k in found}
    if shared and not numbers:  # other columns have words of their own
        strange &= ~np.isin(positions, [*shared])
    odd = [header[positions[k]] for k in np.flatnonzero(strange)]
    if odd and 2 * len(odd) <= len(positions):
        remedies = [Remedy({"ignore": [*listed(settings.ignore), *odd]}, "ignore")]
        if numbers and (coder.n_scores or settings.score_range is not None):  # of another range
            finding = replace(error.finding, remedies=(*error.finding.remedies, *remedies))
            raise ReadingError(finding)
        if len(odd) == 1:
            remedies.append(Remedy({"respondent": odd[0]}, "labels", safe=False))
        raise failed("not-items", *remedies, columns=odd)
    _refuse_long(header)
    rows = header if settings.transpose else labels
    key = next((name for name in rows if plain_value(name) in _KEY_ROWS), None)
    if key is not None and error.finding.code in {"answers", "levels", "words"}:
        raise failed("answers", Remedy({"key": key}, "key"), **error.finding.values)
    raise error


def _refuse_long(header: list[str]) -> None:
    """Refuse a table that has the columns of a long one, except that of the items."""
    if all(usual_columns(header, role) for role in ("respondent", "response")):
        raise no_items(header)


def _refuse_own_words(
    words: list[set[object]], solved: NDArray[np.bool_], header: list[str], settings: Settings
) -> None:
    """Refuse a column where nothing is right and that has words of its own, such as families."""
    known = set[object]().union(*(own for own, one in zip(words, solved, strict=True) if one))
    for name, own, one in zip(header, words, solved, strict=True):
        strange = [v for v in own - known if plain_value(v) not in MISSING_WORDS]
        if known and strange and not one:
            remedy = Remedy({"ignore": [*listed(settings.ignore), name]}, "ignore")
            raise failed("own-words", remedy, columns=[name], words=sorted(map(str, strange)))


def _refuse_responses_as_header(header: list[str], marking: Marking) -> None:
    """Refuse a header that holds responses: the first row of a table without a header."""
    plain = [plain_value(name) for name in header[1:]]
    if marking.threshold is None:
        marks = marking.right | marking.wrong or {0.0, 1.0}
        found = marks.issuperset(plain) and (marking.right or plain != [0.0, 1.0])
    else:
        found = all(isinstance(one, float) for one in plain) and any(one % 1 for one in plain)
    if found and len(plain) > 1:
        raise failed("no-header", names=header[1:])
