"""Wide tables, a row per respondent and a column per item, melted into a long frame."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import check_unique, short
from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.responses.columns import (
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
    LongFrame,
    alike,
    as_text,
    check_ignored,
    in_words,
    merged_labels,
    refuse_merged,
    repeated_rows,
    summary_labels,
)
from irtkit.responses.marking import INVALID, plain_value
from irtkit.responses.proposals import ask
from irtkit.responses.tables import numbers_or_objects
from irtkit.responses.vocabulary import COLUMNS, KEY_ROWS, RESULTS, RIGHT, SUMMARIES, WRONG

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.responses.columns import Names
    from irtkit.responses.marking import Marking
    from irtkit.responses.matrix import ResponseMatrix
    from irtkit.responses.tables import Settings, Table


_NUMBERS = {"outside-range", "percentages", "numbers"}  # Codes for numbers that are no marks.


class Layout(NamedTuple):
    """Columns of a wide table, by position."""

    labels: list[int]  # Of the rows, with their task first.
    n_tasks: int  # Of the labels, 0 or 1.
    cells: list[int]
    doubted: list[int]  # Cells that may be none, by the names of their columns.


def of_tasks(matrix: ResponseMatrix, tasks: Names) -> ResponseMatrix:
    """Return the items of some tasks, and the respondents that answered them."""
    table = matrix.item_table
    of_items = [] if table is None or "task" not in table else table["task"].tolist()
    for task in listed(tasks):
        if task not in of_items:
            raise failed("no-task", task=task, tasks=[*dict.fromkeys(of_items)])
    columns = np.flatnonzero(np.isin(of_items, listed(tasks)))
    kept = matrix.part(np.arange(matrix.n_respondents), columns)
    n_answered = np.diff(kept.observed.trials.indptr)
    return kept.part(np.flatnonzero(n_answered)).with_known(matrix)


def read_wide(table: Table, settings: Settings) -> tuple[ResponseMatrix, list[Finding]]:
    """Response matrix of a wide table, and findings about it.

    A transposed table may have a column of tasks, which come before the labels of the items.
    """
    for name in ("item", "response"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a long table, but this table is wide")
    layout = layout_of(table, settings)
    frame = in_words(lambda marking: _melted(table, layout, settings, marking), settings.marking)
    if frame.items.merged:
        label, kept = next(iter(frame.items.merged.items()))
        raise failed("items-alike", **alike(label, kept))
    if settings.key is None:
        _check_marks(frame, table, layout)
    try:
        matrix, notes, _ = frame.matrix()
    except ReadingError as error:
        if error.finding.code != "repeated":
            raise
        others = [k for k in layout.cells if table.header[k] not in settings.key]
        raise _repeated(frame, table, layout, others) from None
    findings = _summaries(frame, layout)
    findings += merged_labels(frame.respondents.merged)
    return matrix, findings + notes


def layout_of(table: Table, settings: Settings) -> Layout:
    """Columns of labels and cells of a wide table, by their names and its first rows."""
    header = table.header
    labels = [0] * table.labelled
    if settings.respondent is not None:
        labels = named(header, "respondent", settings.respondent)
    usual = respondent_position(header)
    if not labels and usual is not None:
        labels = [usual]
    if not labels and _are_responses(header, settings.marking):  # there is no header
        raise failed("no-header", names=header[1:])
    out = matched(header, settings.ignore)[0]
    tasks: list[int] = []
    if settings.transpose and labels:
        task = task_position(header, {*labels, *out})
        tasks = [] if task is None else [task]
    cells, doubted = item_positions(header, [*tasks, *labels], out, settings.keep)
    if not labels and cells[:1] == [0]:
        for first in islice(table.rows(), 1):
            (values,) = _columns(table, first, [0])
            if holds_respondents(values.tolist(), settings.marking):
                labels = [0]
                cells = cells[1:]
    if not cells:
        raise ValueError(f"the table lacks items: its one column is {short(header[0])}")
    return Layout([*tasks, *labels], len(tasks), cells, doubted)


def _melted(table: Table, layout: Layout, settings: Settings, marking: Marking) -> LongFrame:
    """Long frame of a wide table."""
    kinds = ("item", "respondent") if settings.transpose else ("respondent", "item")
    header = [table.header[k] for k in layout.cells]
    label_names(header, len(header), kinds[1], unique=False)
    if not settings.transpose:
        check_unique("item labels must be unique", header)
    of_columns = Labels([], ())
    column = of_columns.numbers([np.array(header, object)], table.place, 0)
    names = [table.header[k] for k in layout.labels]
    of_rows = Labels(names, listed(settings.ignore), prefixed=layout.n_tasks > 0)
    labels = (of_columns, of_rows) if settings.transpose else (of_rows, of_columns)
    frame = LongFrame(settings, marking, labels, targets=False)
    start = 0
    for block in table.rows():
        end = start + len(block)
        of_block = _columns(table, block, layout.labels)
        if not of_block:
            numbered = [f"{kinds[0]}-{k + 1}" for k in range(start, end)]
            of_block = [np.array(numbered, object)]
        row = of_rows.numbers(of_block, table.place, start)
        start = end
        places = [np.repeat(row, len(column)), np.tile(column, len(row))]
        if settings.transpose:
            places.reverse()
        chosen = block.iloc[:, layout.cells]
        cells = numbers_or_objects(chosen, chosen.dtypes)
        frame.add(*places, cells.ravel())
    check_ignored(matched(table.header, settings.ignore)[1], table.header, of_rows)
    if not frame.n_rows:
        raise ValueError("the table has a header and no rows")
    return frame


def _columns(table: Table, block: Any, positions: list[int]) -> list[Any]:
    """Columns of labels of a block."""
    columns = [block.iloc[:, k] for k in positions]
    if table.clean is not None:
        columns = [column.map(table.clean) for column in columns]
    return columns


def _check_marks(frame: LongFrame, table: Table, layout: Layout) -> None:
    """Refuse columns that are no items, and values that are no responses.

    A few columns of fractions, or of counts such as 3/5, next to columns of marks are asked about.
    """
    settings = frame.settings
    coder = frame.coder
    columns = _counts_of(frame)
    strange = {*columns.index[_are_strange(columns)]}
    if frame.builder.repeated:
        others = [k for k in layout.cells if k in layout.doubted or table.header[k] in strange]
        raise _repeated(frame, table, layout, others)
    names = [table.header[k] for k in layout.doubted]
    # a sum that holds no responses is no item
    doubted = [name for name in names if name not in strange or plain_name(name) not in SUMMARIES]
    if doubted:
        ignore = ask("ignore", ignore=[*listed(settings.ignore), *doubted])
        raise failed("metadata-columns", ignore, ask("keep", keep="*"), columns=doubted)
    if coder.unusual and (summaries := _summaries(frame, layout)):
        raise ReadingError(replace(summaries[0], severity="error"))
    if len(coder.odd):
        _refuse_cells(frame, columns, table)
    of_scores = settings.score_range or settings.threshold is not None
    # invalid responses that are left are points of levels
    if not (of_scores or settings.keep or columns["invalid"].any()):
        counted = columns["counted"].any()
        few = len(columns) / (2 if counted else 3)
        for kind in ("scores", "counted"):
            n = columns[kind]
            odd = [*columns.index[(n > 0) & (2 * n >= columns["given"])]]
            if not odd or len(odd) > few:
                continue
            choices = [ask("ignore", ignore=[*listed(settings.ignore), *odd])]
            if counted:
                raise failed("not-items", *choices, columns=odd)
            choices.append(ask("all-scores", score_range=(0, 1)))
            raise failed("few-scores", *choices, columns=odd)
    coder.refuse(*frame.names)


def _counts_of(frame: LongFrame) -> pd.DataFrame:
    """Numbers of responses of each column of a wide table: of all, and of some kinds."""
    import pandas as pd

    turned = frame.settings.transpose
    labels = frame.names[0] if turned else frame.names[1]
    odd = frame.coder.odd
    places = odd["row" if turned else "column"].astype(int)
    code = odd["code"]
    unread = np.bincount(places[code == INVALID], minlength=len(labels))
    points = np.bincount(places[code < INVALID], minlength=len(labels))
    tried = frame.cells.trials
    right = frame.cells.successes
    axis = int(turned)
    counts = pd.DataFrame(index=[*labels])
    counts["given"] = np.count_nonzero(tried, axis) + unread
    counts["right"] = np.count_nonzero(right == tried, axis)
    counts["invalid"] = unread + points
    counts["scores"] = counts["counted"] = 0
    if frame.cells.has_scores:
        counts["scores"] = np.count_nonzero(right % 1, axis)
    if frame.coder.counted:
        counts["counted"] = np.count_nonzero(tried > 1, axis)
    return counts


def _are_strange(columns: pd.DataFrame, more: int = 0) -> pd.Series[bool]:
    """Whether at least half of the cells of a column, or more, are not responses."""
    invalid = columns["invalid"]
    return (invalid > 0) & (2 * invalid + more > columns["given"])


def _summaries(frame: LongFrame, layout: Layout) -> list[Finding]:
    """Rows that may sum up other rows, if rows have labels."""
    labels = frame.items if frame.settings.transpose else frame.respondents
    return summary_labels(labels.names, frame.settings) if layout.labels else []


def _repeated(frame: LongFrame, table: Table, layout: Layout, others: list[int]) -> ReadingError:
    """Return the error for rows with one label. Other columns may distinguish them."""
    refuse_merged(frame)
    header = table.header
    of_rows = layout.labels
    others = [] if frame.settings.transpose else others
    if len(layout.cells) - len(others) < 2:
        _refuse_long(header)
    row, _ = frame.builder.first_repeat
    respondents, _ = frame.names
    values = {"respondent": respondents[row], "more": frame.builder.repeated - 1}
    text = as_text(table, [*of_rows, *others] or [0])
    return repeated_rows(text, header, of_rows, [], values, frame.settings.ignore)


def _refuse_cells(frame: LongFrame, columns: pd.DataFrame, table: Table) -> None:
    """Refuse columns that are not items, and values that are not responses.

    A column is none if at least half of its cells are no responses, or if none is right and others
    are wrong because they are not right, unless another column has its words as well.
    """
    settings = frame.settings
    coder = frame.coder
    error = None
    code = ""
    remedies: tuple[Remedy, ...] = ()
    strange = columns["right"].to_numpy() == 0
    if coder.n_invalid:
        error = coder.error(*frame.names)
        code = error.finding.code
        remedies = error.finding.remedies
        of_error = _are_strange(columns, more=int(code in _NUMBERS))
        strange = of_error.to_numpy(copy=True)
    place = coder.odd["row" if settings.transpose else "column"].astype(int)
    if code not in _NUMBERS:
        shared = place.groupby(coder.odd["plain"]).transform("nunique") > 1
        strange[place[shared]] = False
    odd = [*columns.index[strange & (columns["given"] > 0)]]
    if odd and 2 * len(odd) <= len(columns):
        values = coder.odd.loc[strange[place], "plain"].unique()
        numbers = [value for value in values if isinstance(value, float)]
        may_be_marks = bool(numbers) or not (RIGHT | WRONG).isdisjoint(values)
        left_out = [*listed(settings.ignore), *odd]
        ignore = Remedy({"ignore": left_out}, "ignore", safe=not may_be_marks)
        of_scores = coder.n_scores or settings.score_range is not None
        if error and code in _NUMBERS and of_scores:  # of another range
            if coder.may_be_levels(error):
                return
            raise failed(code, *remedies, ignore, **error.finding.values)
        choices = [ignore]
        if len(odd) == 1:
            choices.append(ask("labels", respondent=odd[0]))
        choices += [remedy for remedy in remedies if "score_range" in remedy.settings]
        raise failed("not-items", *choices, columns=odd)
    if error is None:
        return
    _refuse_long(table.header)
    of_rows = table.header if settings.transpose else frame.respondents.names
    key = next((name for name in of_rows if plain_name(name) in KEY_ROWS), None)
    if key is not None and code in {"answers", "levels", "words"}:
        raise failed("answers", Remedy({"key": key}, "key"), **error.finding.values)
    if not coder.may_be_levels(error):
        raise error


def _refuse_long(header: list[str]) -> None:
    """Refuse a table that has the columns of a long one, except that of the items."""
    results = COLUMNS["response"] | RESULTS
    if usual_columns(header, "respondent") and not results.isdisjoint(map(plain_name, header)):
        raise no_items(header)


def _are_responses(header: list[str], marking: Marking) -> bool:
    """Whether a header holds responses, which are those of the first row."""
    plain = [*map(plain_value, header)]
    label, *values = plain
    numbers = [value for value in values if isinstance(value, float)]
    if marking.threshold is not None:
        has_parts = any(number % 1 for number in numbers)
        return has_parts and len(numbers) == len(values)
    marks = marking.right | marking.wrong or {0.0, 1.0}
    if not marking.right and [0.0, 1.0] in (plain, values):  # columns that are only numbered
        return False
    if len(numbers) < 2 and not isinstance(label, float) and plain[-1] in marks:
        return True
    return bool(values) and marks.issuperset(values)
