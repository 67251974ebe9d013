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
    kind_of,
    listed,
    matched,
    named,
    no_column,
    plain_name,
    respondent_position,
    task_position,
    usual_columns,
)
from irtkit.responses.labels import is_missing_label, label_names, normalised
from irtkit.responses.long import (
    as_text,
    distinguishing,
    in_task,
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
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from irtkit.responses.columns import Names
    from irtkit.responses.labels import Names as Labels
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

    The columns that ``settings.item`` names come before the labels of the items. A transposed table
    may have a column of tasks, which does so, too.
    """
    for name in ("response", "sparse"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a long table, but this table is wide")
    header, marking, turned = table.header, settings.marking, settings.transpose
    out, unmatched, left_out = set[int](), list[str](), set[str]()
    if settings.ignore:
        out, unmatched = matched(header, settings.ignore)
        left_out = {*listed(settings.ignore)}  # columns and rows may have the same name
    at = [0] * table.labelled
    if settings.respondent is not None:
        at = named(header, "respondent", settings.respondent)
    if not at and (usual := respondent_position(header)) is not None:
        at = [usual]
    if not at:
        _refuse_responses_as_header(header, marking)
    before = [] if settings.item is None else named(header, "item", settings.item)
    if turned and not before and (task := task_position(header, {*at, *out})) is not None:
        before = [task]
    positions, odd = item_positions(header, [*at, *before], out, settings.keep)

    coder, labels, parts = Coder(marking, turned=turned), list[Any](), list[Any]()
    tasks, words, seen = list[Any](), dict[int, set[object]](), set[str]()
    for block in table.rows():
        own, cells = _labels(table, block, at or [0]), _cells(block, positions)
        if not labels and not at and positions[:1] == [0] and holds_respondents(own, marking):
            at, positions, cells = [0], positions[1:], cells[:, 1:]
        tasks_of = _labels(table, block, before) if before else []
        if left_out and at:
            kept = [k for k, label in enumerate(own) if str(label) not in left_out]
            seen.update(map(str, own))
            own, tasks_of = ([some[k] for k in kept if some] for some in (own, tasks_of))
            cells = cells[kept]
        rows = np.arange(len(labels), len(labels) + len(own))
        labels, tasks = labels + own, tasks + tasks_of
        if settings.key is None:
            parts.append(coder.codes(cells, rows[:, None], np.array(positions)[None, :]))
        else:
            parts.append(cells.astype(object))
        for k, column in zip(positions, cells.T if marking.right else (), strict=False):
            words.setdefault(k, set()).update(column.tolist())
    for name in unmatched:
        if name not in seen:
            raise no_column("ignore", name, header)
    if not labels:
        raise ValueError("the table has a header and no rows")
    if not positions:
        raise ValueError(f"the table has no items: its one column is {short(header[0])}")

    found, columns = np.concatenate(parts), [header[k] for k in positions]
    rows_of = label_names(labels if at else None, len(labels), "respondent", unique=False)
    tasks = [*label_names(tasks, len(tasks), "task", unique=False)]
    if turned and tasks:
        rows_of = tuple(map(in_task, tasks, rows_of))
    names = rows_of, label_names(columns, len(columns), "item", unique=False)
    summaries = list[Finding]()
    if at and not SUMMARIES.isdisjoint(map(plain_name, rows_of)):
        summaries = summary_labels(rows_of, settings)
    if turned:
        found, names = found.T, names[::-1]
    key = settings.key
    if isinstance(key, str):
        if key not in names[0]:
            raise failed("no-key", key=key)
        k = names[0].index(key)
        settings = replace(settings, key=dict(zip(names[1], found[k].tolist(), strict=True)))
        names, found = (names[0][:k] + names[0][k + 1 :], names[1]), np.delete(found, k, axis=0)
        tasks = tasks if turned else tasks[:k] + tasks[k + 1 :]

    plain = [*map(normalised, names)]
    row, first = _numbers(plain[0])
    by_task = bool(tasks) and not turned
    task_of, first_of_task = _numbers(tasks) if by_task else (np.zeros_like(row), row[:1])
    cell, first_of_cell = _numbers(zip(row.tolist(), task_of.tolist(), strict=True))
    strange = set[int]()
    if coder.n_invalid:
        strange = {*np.array(positions)[_strange(found.T if turned else found)].tolist()}
    if settings.repeats == "error" and len(first_of_cell) < len(cell):
        others = list[int]()
        if not turned and key is None:
            others = sorted({*odd, *strange})
        elif not turned:
            others = [k for k in positions if header[k] not in settings.key]
        if len(positions) - len(others) < 2:
            _refuse_long(header)
        same = cell, first_of_cell[cell]
        raise _repeated(table, (at, before, others), found, names[0], same, settings.ignore)
    # a column of sums need not be doubted if it holds no responses
    if odd := [k for k in odd if k not in strange or plain_name(header[k]) not in SUMMARIES]:
        doubted = [header[k] for k in odd]
        ignore = Remedy({"ignore": [*listed(settings.ignore), *doubted]}, "ignore", safe=False)
        keep = Remedy({"keep": "*"}, "keep", safe=False)
        raise failed("metadata-columns", ignore, keep, columns=doubted)
    if coder.n_invalid and summaries:
        raise ReadingError(replace(summaries[0], severity="error"))
    if coder.n_invalid:
        _refuse_cells(coder, found, names, (header, positions), settings)
    if marking.right and not marking.wrong:
        held = [words.get(k, set()) for k in positions]
        _refuse_own_words(held, (found == 1).any(axis=int(turned)), columns, settings)
    if len(set(plain[1])) < len(plain[1]):
        _refuse_alike(names[1], plain[1])

    items, notes = names[1], coder.notes() if marking.right or coder.n_changed else []
    respondents = tuple(names[0][k] for k in first)
    if by_task:
        items = tuple(in_task(tasks[k], item) for k in first_of_task for item in names[1])
    if settings.key is None and not by_task and len(first) == len(row):
        matrix = ResponseMatrix.of_cells(Cells(np.ascontiguousarray(found)), names)
    else:
        column = task_of[:, None] * len(names[1]) + np.arange(len(names[1]))
        block = np.repeat(row, len(names[1])), column.ravel(), found.ravel()
        if settings.key is None:
            matrix = ResponseMatrix.of_rows(block, (respondents, items), repeats=settings.repeats)
        else:
            matrix, notes, _ = of_answers(block, (respondents, items), settings)
    if tasks and len(before) == 1 and kind_of(header[before[0]]) == "task":
        of_items = tasks if turned else [tasks[k] for k in first_of_task for _ in names[1]]
        matrix = with_tasks(matrix, of_items)
    if by_task:  # an item need not be in every task
        known = np.flatnonzero(np.bincount(matrix.observed.trials.indices, minlength=len(items)))
        matrix = matrix.part(np.arange(len(first)), known).with_known(matrix)
    if len(first) < len(row):
        read_as = zip(names[0], (respondents[k] for k in row), strict=True)
        summaries += merged_labels({label: one for label, one in read_as if label != one})
    return matrix, summaries + notes


def _repeated(
    table: Table,
    columns: tuple[list[int], list[int], list[int]],
    cells: NDArray[Any],
    respondents: Sequence[str],
    same: tuple[NDArray[Any], NDArray[Any]],
    ignored: Names,
) -> ReadingError:
    """Return the error for respondents with several rows.

    ``columns`` are those of respondents, of labels before the items, and others, which may
    distinguish the rows. ``same`` is the number of every row's respondent, and its first row.
    """
    import pandas as pd

    (at, before, others), (number, first) = columns, same
    again = int(np.argmax(first < np.arange(len(first))))
    values = {"respondent": respondents[again], "more": len(first) - len({*number.tolist()}) - 1}
    return repeated_rows(
        values,
        distinguishing(
            as_text(table, [*at, *before, *others]), table.header, [*at, *before], others
        ),
        [table.header[k] for k in at],
        [table.header[k] for k in before],
        identical=pd.DataFrame(cells).equals(pd.DataFrame(cells[first])),
        ignored=listed(ignored),
    )


def _refuse_alike(items: Sequence[str], plain: Sequence[str]) -> None:
    """Refuse labels of items that are the same, or differ by blanks or Unicode form only."""
    check_unique("item labels must be unique", items)
    number, first = _numbers(plain)
    again = int(np.argmax(first[number] < np.arange(len(number))))
    raise failed("items-alike", item=items[first[number[again]]], other=items[again])


def _labels(table: Table, block: Any, positions: list[int]) -> list[Any]:
    """Label of each row of a block; those of several columns are joined with "/"."""
    listed_rows = isinstance(block, list)
    columns = [
        [row[k] for row in block] if listed_rows else block.iloc[:, k].tolist() for k in positions
    ]
    columns = [[table.clean(v) if isinstance(v, str) else v for v in one] for one in columns]
    if len(columns) == 1:
        return columns[0]
    rows = zip(*columns, strict=True)
    return [None if any(map(is_missing_label, row)) else "/".join(map(str, row)) for row in rows]


def _cells(block: Any, positions: list[int]) -> NDArray[Any]:
    """Cells of these columns: numbers if all are, else objects."""
    if isinstance(block, list):
        return np.array(block, dtype=object)[:, positions]
    frame = block if len(positions) == block.shape[1] else block.iloc[:, positions]
    return numbers_or_objects(frame, frame.dtypes)


def _numbers(labels: Iterable[Hashable]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Number of each label in the order in which they occur, and the first place of each."""
    number: dict[Hashable, int] = {}
    found = np.array([number.setdefault(label, len(number)) for label in labels])
    return found, np.unique(found, return_index=True)[1]


def _strange(codes: NDArray[np.int8], more: int = 0) -> NDArray[np.bool_]:
    """Whether at least half of the cells of a column, or more, are not responses."""
    invalid = codes == INVALID
    n_given = (codes != MISSING).sum(axis=0)
    return invalid.any(axis=0) & (2 * invalid.sum(axis=0) + more > n_given)  # type: ignore[no-any-return]


def _refuse_cells(
    coder: Coder,
    codes: NDArray[np.int8],
    names: Labels,
    columns: tuple[list[str], list[int]],
    settings: Settings,
) -> None:
    """Raise the error for cells that are not responses: columns that are not items, or values."""
    header, positions = columns
    row, column = coder.first[0], positions.index(coder.first[1])
    if settings.transpose:
        codes, row, column = codes.T, column, row
    error = coder.error(names[0][row], names[1][column])
    numbers = error.finding.code in {"scores", "percentages", "numbers"}
    strange = _strange(codes, more=int(numbers))
    shared = {k for found in coder.columns.values() if len(found) > 1 for k in found}
    if shared and not numbers:  # other columns have words of their own
        strange &= ~np.isin(positions, [*shared])
    odd = [header[positions[k]] for k in np.flatnonzero(strange)]
    most = 3 if error.finding.code == "scores" else 2  # A few columns of scores may be items.
    if odd and most * len(odd) <= len(positions):
        remedies = [Remedy({"ignore": [*listed(settings.ignore), *odd]}, "ignore")]
        if len(odd) == 1:
            remedies.append(Remedy({"respondent": odd[0]}, "labels", safe=False))
        raise failed("not-items", *remedies, columns=odd)
    _refuse_long(header)
    key = next((name for name in names[0] if plain_value(name) in _KEY_ROWS), None)
    if key is not None and error.finding.code in {"answers", "levels", "words"}:
        raise failed("answers", Remedy({"key": key}, "key"), **error.finding.values)
    raise error


def _refuse_long(header: list[str]) -> None:
    """Refuse a table that has the columns of a long one, except that of the items."""
    if all(usual_columns(header, role) for role in ("respondent", "response")):
        raise failed("no-item-column", Remedy({"item": ...}, "column", safe=False), columns=header)


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
    numbers = [value for value in plain if isinstance(value, float)]
    if len(plain) < 2:
        return
    if marking.right:
        found = marking.right.union(marking.wrong).issuperset(plain)
    elif marking.threshold is not None:
        whole = all(map(float.is_integer, numbers))
        found = len(numbers) == len(plain) and not whole and len(set(numbers)) > 1
    else:
        found = {0.0, 1.0}.issuperset(plain) and plain != [0.0, 1.0]
    if found:
        raise failed("no-header", names=header[1:])
