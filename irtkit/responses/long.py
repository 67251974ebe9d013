"""The long frame, which every table becomes: respondent, item and value of each response.

A table is read in one pass, block by block. Its labels become numbers, its values are marked, and
the marks go into the cells of a response matrix.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.progress import is_watched, progress_bar
from irtkit.responses.cells import CellBuilder
from irtkit.responses.columns import (
    KINDS,
    is_nameless,
    kind_of,
    listed,
    long_roles,
    matched,
    no_column,
    plain_name,
    several_columns,
    usual_columns,
)
from irtkit.responses.labels import Labels, normalised
from irtkit.responses.marking import (
    MISSING,
    MISSING_WORDS,
    Coder,
    Marking,
    distinct,
    plain_value,
)
from irtkit.responses.matrix import ResponseMatrix
from irtkit.responses.proposals import ask
from irtkit.responses.tables import numbers_or_objects
from irtkit.responses.vocabulary import COLUMNS, RATINGS, REPEATS, SCORES, SUMMARIES, TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from irtkit.responses.cells import Cells
    from irtkit.responses.columns import Names as Columns
    from irtkit.responses.columns import Roles
    from irtkit.responses.labels import Array, Names
    from irtkit.responses.tables import Settings, Table

_UNRECOGNISED = {f"no-{role}-column" for role in ("respondent", "item", "judge", "response")}
_SCALES = (1, 10, 100)  # Highest fraction, level and percentage.


class LongFrame:
    """Responses as numbers of respondents and items, and values, added block by block.

    Values that are marks go into cells at once. Answers are kept, to be compared with the right
    ones: those of a column, those of `Settings.key`, or those of the respondent that it names.
    """

    def __init__(
        self, settings: Settings, marking: Marking, labels: tuple[Labels, Labels], *, targets: bool
    ) -> None:
        self.settings = settings
        self.respondents, self.items = labels
        self.coder = Coder(marking)
        self.builder = CellBuilder(settings.repeats, sparse=settings.sparse)
        self.n_rows = 0
        self.described: dict[str, dict[str, str]] = {}
        """Columns that describe respondents: the value of each of them."""
        self._compared = targets or settings.key is not None
        self._answers: list[tuple[Array, ...]] = []

    @property
    def names(self) -> Names:
        """Labels of respondents and items."""
        return tuple(self.respondents.names), tuple(self.items.names)

    def add(self, rows: Array, columns: Array, *values: Array) -> None:
        """Add responses, and perhaps their right answers. A label to be left out is below 0."""
        kept = (rows >= 0) & (columns >= 0)
        if not kept.all():
            rows = rows[kept]
            columns = columns[kept]
            values = tuple(array[kept] for array in values)
        self.n_rows += len(rows)
        if self._compared:
            self._answers.append((rows, columns, *(array.astype(object) for array in values)))
            return
        codes, trials = self.coder.codes(values[0], rows, columns, self.items.names)
        self.builder.add(rows, columns, codes, trials)

    @cached_property
    def cells(self) -> Cells:
        """Cells of the marked values."""
        n_respondents, n_items = map(len, self.names)
        return self.builder.build((n_respondents, n_items))

    def matrix(self) -> tuple[ResponseMatrix, list[Finding], int]:
        """Response matrix, findings about values, and the number of responses."""
        import pandas as pd

        if self._compared:
            block = tuple(map(np.concatenate, zip(*self._answers, strict=True)))
            matrix, notes, n_given = of_answers(block, self.names, self.settings)
        else:
            coder = self.coder
            matrix = ResponseMatrix.of_cells(self.cells, self.names)
            self.builder.refuse_repeats(self.names)
            notes = coder.notes(len(self.names[0]))
            n_given = coder.n_given
            only_right = coder.n_right == n_given and not coder.marking.missing
            if only_right and matrix.n_missing:
                wrong = ask("blank-wrong", right=1, wrong="")
                missing = ask("blank-missing", missing="")
                values = {"n": matrix.n_missing}
                notes.append(Finding("only-right", "note", values, (wrong, missing)))
        parts = self.items.parts
        if self.items.prefixed:
            matrix = matrix.with_columns(task=[names[0] for names in parts])
        if self.settings.judge is not None:
            judged = normalised(self.items.joined(names[:-1]) for names in parts)
            judges = normalised(names[-1] for names in parts)
            matrix = matrix.with_columns(judged_item=judged, judge=judges)
        if self.described:
            matrix = matrix.with_tables(matrix.item_table, pd.DataFrame(self.described))
        return matrix, notes, n_given


def in_words(read: Callable[[Marking], LongFrame], marking: Marking) -> LongFrame:
    """Long frame that is read, words taken as marks unless other values stand next to them."""
    frame = read(marking)
    return read(marking.literal()) if frame.coder.mixed else frame


def read_long(tables: Sequence[Table], settings: Settings) -> tuple[ResponseMatrix, list[Finding]]:
    """Response matrix of long tables, one below the other, and findings about it."""
    for name in ("keep", "transpose"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a wide table, but this table is long")
    roles = [_roles(table, settings) for table in tables]
    if settings.judge is None:
        _refuse_judges(tables, roles, settings)
    by_task = all(role.task is not None for role in roles)
    for table, role in zip(tables, roles, strict=True):
        if role.task is not None and not by_task:
            column = table.header[role.task]
            raise failed("some-tasks", Remedy({"ignore": [column]}, safe=False), column=column)

    def read(marking: Marking) -> LongFrame:
        return _long_frame(tables, roles, settings, marking, by_task=by_task)

    frame = in_words(read, settings.marking)
    findings = merged_labels(frame.respondents.merged | frame.items.merged)
    items = frame.names[1] if len(frame.items.columns) == 1 else ()
    summaries = summary_labels([*frame.names[0], *items], settings)
    if frame.coder.unusual and summaries:
        raise ReadingError(replace(summaries[0], severity="error"))
    frame.coder.refuse(*frame.names)
    try:
        matrix, notes, n_given = frame.matrix()
    except ReadingError as error:
        if error.finding.code != "repeated":
            raise
        refuse_merged(frame)
        values = dict(error.finding.values)
        if settings.judge is not None:
            number = frame.names[1].index(values["item"])
            *labels, values["judge"] = frame.items.parts[number]
            values["item"] = frame.items.joined(labels)
        raise _repeated(tables[0], roles[0], values) from None
    if by_task:
        _check_tasks(matrix, frame.items)
    if n_given < frame.n_rows:
        findings.append(Finding("rows-missing", "note", {"n": frame.n_rows - n_given}))
    return matrix, findings + summaries + notes


def _refuse_judges(tables: Sequence[Table], roles: Sequence[Roles], settings: Settings) -> None:
    """Refuse a column of several judges, which no setting names."""
    column_of: dict[str, str] = {}  # By judge.
    cells = []
    for table, role in zip(tables, roles, strict=True):
        cell = [*role.respondent, *role.all_items(by_task=True)]
        ignored, _ = matched(table.header, settings.ignore)
        taken = {role.family, *cell, role.response, role.target, *ignored}
        for k in usual_columns(table.header, "judge", taken):
            for (column,), _ in table.columns([k]):
                _, judges = distinct(_values(column))
                column_of |= dict.fromkeys(map(str, judges), table.header[k])
        cells.append((table, cell))
    if len(column_of) > 1:
        name = next(iter(column_of.values()))
        choices = []
        if not any(as_text(*cell).duplicated().any() for cell in cells):
            ignored_too = [*listed(settings.ignore), name]
            choices.append(Remedy({"ignore": ignored_too}, "ignore", safe=False))
        raise failed("judge-column", *choices, column=name, n=len(column_of))


def _roles(table: Table, settings: Settings) -> Roles:
    """Columns of a long table. Those to ignore have no name."""
    out, _ = matched(table.header, settings.ignore)
    header = ["" if k in out else name for k, name in enumerate(table.header)]
    columns = settings.respondent, settings.item, settings.response
    how: Any = {"judge": settings.judge, "family": settings.family}
    try:
        roles = long_roles(header, *columns, **how, key=settings.key)
    except ReadingError as error:
        finding = error.finding
        remedies = [*finding.remedies]
        if settings.judge is not None and finding.code in _UNRECOGNISED:
            asked = dict(remedies[0].settings)
            for role in ("respondent", "item", "response"):
                if getattr(settings, role) is None and not usual_columns(header, role):
                    asked.setdefault(role, ...)
            remedies[0] = ask("column", **asked)
        if finding.code in {"no-judge-column", "no-response-column"}:
            marks = _columns_of_judges(table, settings)
            if len(marks) > 1:
                remedies.append(ask("columns", judge=marks))
        raise ReadingError(replace(finding, remedies=tuple(remedies))) from error
    rivals = rival_columns(table, header, roles)
    if rivals and settings.response is None and settings.key is None:
        raise several_columns("response", [header[k] for k in (roles.response, *rivals)])
    return roles


def _columns_of_judges(table: Table, settings: Settings) -> list[str]:
    """Columns of numbers that may have the marks of one judge each: most on one scale.

    A table without a column of items does not have them.
    """
    import pandas as pd

    header = table.header
    has_items = settings.item is not None or usual_columns(header, "item")
    if usual_columns(header, "response") or not has_items:
        return []
    usual = {*SUMMARIES, *TASKS, *REPEATS}.union(*COLUMNS.values())
    others = {*listed(settings.respondent), *listed(settings.item), settings.family}
    free = []
    for k, name in enumerate(header):
        if plain_name(name) not in usual and name not in others and not is_nameless(name):
            free.append(k)
    if not free:
        return []
    scale_of: dict[str, int] = {}
    for block, _ in islice(table.columns(free), 1):
        for k, column in zip(free, block, strict=True):
            _, values = distinct(_values(column))
            numbers = pd.to_numeric(pd.Series(values), errors="coerce")
            if len(numbers) and numbers.notna().all():
                scale_of[header[k]] = int(np.searchsorted(_SCALES, numbers.max()))
    scales = [*scale_of.values()]
    commonest = max(scales, key=scales.count, default=0)
    return [name for name, scale in scale_of.items() if scale == commonest]


def rival_columns(table: Table, header: Sequence[str], roles: Roles) -> list[int]:
    """Columns that may be the responses as well as the one with a usual name.

    Their names say so, or they hold numbers on the same scale that differ between the responses of
    a system and between the responses to an item, in the first rows of the table.
    """
    if plain_name(header[roles.response]) not in SCORES:
        return []
    cell = [*roles.respondent, *roles.all_items(by_task=True)]
    taken = {*cell, roles.response, roles.target}
    rivals = []
    for k, name in enumerate(header):
        if k in taken or kind_of(name) != "other" or is_nameless(name):
            continue
        if plain_name(name) in RATINGS or _on_scale(table, [*cell, roles.response, k]):
            rivals.append(k)
    return rivals


def _on_scale(table: Table, positions: list[int]) -> bool:
    """Whether the last column holds marks as the one before it does, of the cells before these."""
    import pandas as pd

    try:
        block, _ = next(table.columns(positions))
    except (ValueError, StopIteration):  # lists or objects, or no rows
        return False
    place, values = distinct(_values(block.pop()))
    rival = pd.to_numeric(pd.Series(values), errors="coerce").reindex(place)
    if rival.isna().any():
        return False
    rival = rival.reset_index(drop=True)
    *cell, response = (pd.Series(_values(column)) for column in block)
    marks = pd.to_numeric(response, errors="coerce")
    if not rival.between(marks.min(), marks.max()).all():
        return False
    has_parts = (rival % 1 > 0).any()
    if has_parts and not (marks % 1 > 0).any():  # finer
        return False
    return all(rival.groupby(labels).nunique().max() > 1 for labels in cell)


def _long_frame(
    tables: Sequence[Table],
    roles: Sequence[Roles],
    settings: Settings,
    marking: Marking,
    *,
    by_task: bool,
) -> LongFrame:
    """Long frame of tables that are long already."""
    header = tables[0].header
    first = roles[0]
    ignored = []
    for table in tables:
        _, others = matched(table.header, settings.ignore)
        ignored += others
    systems = [header[k] for k in first.respondent]
    of_systems = Labels(systems, ignored)
    items = [header[k] for k in first.all_items(by_task)]
    of_items = Labels(items, ignored, prefixed=by_task)
    labels = of_systems, of_items
    frame = LongFrame(settings, marking, labels, targets=first.target is not None)
    frame.described = _described(tables, roles, settings, ignored)
    passed = 0
    size = sum(table.size for table in tables)
    shown = is_watched() and size > 10**7  # rows or bytes
    with progress_bar("reading responses", size, shown=shown) as update:
        for table, role in zip(tables, roles, strict=True):
            cell = [*role.respondent, *role.all_items(by_task)]
            responses = [role.response] if role.target is None else [role.response, role.target]
            start = 0
            for block, done in table.columns([*cell, *responses]):
                rows = of_systems.numbers(block[: len(systems)], table.place, start)
                columns = of_items.numbers(block[len(systems) : len(cell)], table.place, start)
                start += len(rows)
                frame.add(rows, columns, *map(_values, block[len(cell) :]))
                update(passed + done, f"{frame.n_rows:,} rows")
            passed += table.size
    check_ignored(ignored, header, *labels)
    if not frame.n_rows:
        raise ValueError("the long table is empty: it has a header and no rows")
    return frame


def _described(
    tables: Sequence[Table], roles: Sequence[Roles], settings: Settings, ignored: list[str]
) -> dict[str, dict[str, str]]:
    """Columns that have one value for every system, by system."""
    header = tables[0].header
    role = roles[0]
    out, _ = matched(header, settings.ignore)
    taken = {*role.respondent, *role.all_items(by_task=True), role.response, role.target, *out}
    systems = [header[k] for k in role.respondent]
    described = {}
    for name in (name for k, name in enumerate(header) if k not in taken and not is_nameless(name)):
        labels = Labels([*systems, name], ignored, described=True)
        try:
            for table, role in zip(tables, roles, strict=True):
                for block, _ in table.columns([*role.respondent, table.header.index(name)]):
                    labels.numbers(block, table.place, 0)
        except (ValueError, TypeError):  # several values of a system, or lists
            if name == settings.family:
                raise
        else:
            values = [parts[-1] for parts in labels.parts]
            described[name] = dict(zip(labels.names, values, strict=True))
    return described


def check_ignored(names: Iterable[str], header: Sequence[str], *labels: Labels) -> None:
    """Refuse names that match no column of the header and no label."""
    for name in names:
        if not any(axis.ignored.get(name) for axis in labels):
            raise no_column("ignore", name, header)


def _values(column: Any) -> Array:
    """Values of a column as numbers, or as objects if they are text or mixed."""
    import pyarrow as pa

    if isinstance(column, pa.Array):
        if not column.null_count and pa.types.is_primitive(column.type):
            values: Array = column.to_numpy(zero_copy_only=False)
            if values.dtype.kind in "biuf":
                return values
        column = column.to_pandas()
    return numbers_or_objects(column, [column.dtype])


def of_answers(
    block: tuple[Array, ...], names: Names, settings: Settings
) -> tuple[ResponseMatrix, list[Finding], int]:
    """Response matrix of answers that are marked, findings about them, and their number.

    The block holds numbers of respondents and items, answers, and perhaps the right answers, which
    the key has otherwise: a mapping, or the respondent whose answers they are. Words are compared
    in small letters and numbers by value.
    """
    import pandas as pd

    rows, columns, answers, *targets = block
    respondents, items = names
    if targets:
        right = targets[0]
    else:
        key = settings.key
        if isinstance(key, str):
            if key not in respondents:
                turned = (ask("transpose", transpose=True),) if key in items else ()
                raise failed("no-key", *turned, key=key)
            row_of_key = respondents.index(key)
            is_key = rows == row_of_key
            labels = [items[k] for k in columns[is_key]]
            key = dict(zip(labels, answers[is_key], strict=True))
            rows = rows[~is_key]
            columns = columns[~is_key]
            answers = answers[~is_key]
            rows = rows - (rows > row_of_key)
            respondents = tuple(name for name in respondents if name != settings.key)
        absent = [item for item in items if plain_value(key.get(item)) in MISSING_WORDS]
        if absent:
            remedy = Remedy({"ignore": absent}, "ignore", safe=False)
            raise failed("key-missing", remedy, items=absent)
        right = np.array([key[item] for item in items], dtype=object)[columns]
    which, values = distinct(np.concatenate([answers, right]).astype(object))
    absent_words = {*MISSING_WORDS, *map(str, settings.marking.missing)}
    meanings, words = [], list[str | None]()
    for value in (*values, ""):  # the last one is missing
        meaning = str(plain_value(value))
        is_absent = meaning in absent_words
        meanings.append(meaning)
        words.append(None if is_absent else str(value).strip())
    given, target = np.split(np.array(words, dtype=object)[which], 2)
    of_answers, of_targets = np.split(np.array(meanings, dtype=object)[which], 2)
    compared = pd.notna(given) & pd.notna(target)
    codes = np.where(compared, of_answers == of_targets, MISSING).astype(np.int8)
    n = int(compared.sum())
    n_right = int(np.count_nonzero(codes == 1))
    if not n_right:
        raise failed("no-match", n=n)
    names = respondents, items
    how: dict[str, Any] = {"repeats": settings.repeats, "sparse": settings.sparse}
    matrix = ResponseMatrix.of_rows((rows, columns, codes), names, **how)
    predictions = np.full((len(respondents), len(items)), None, dtype=object)
    last_first = slice(None, None, -1)  # the first answer of a cell is kept
    predictions[rows[last_first], columns[last_first]] = given[last_first]
    of_items = np.full(len(items), None, dtype=object)
    of_items[columns[pd.notna(target)]] = target[pd.notna(target)]
    matrix = matrix.with_columns(target=of_items)
    matrix.predictions = pd.DataFrame(predictions, [*respondents], [*items])
    return matrix, [Finding("marked", "note", {"n": n, "n_right": n_right})], n


def alike(label: str, kept: str) -> dict[str, str]:
    """Two labels and how they differ."""
    blanks = label.split() == kept.split()
    return {"label": label, "kept": kept, "how": "blanks" if blanks else "Unicode form"}


def merged_labels(merged: Mapping[str, str]) -> list[Finding]:
    """Say which labels were taken for one label, by the label that was kept."""
    if not merged:
        return []
    label, kept = next(iter(merged.items()))
    values = {**alike(label, kept), "more": len(merged) - 1}
    return [Finding("labels-merged", "warning", values)]


def refuse_merged(frame: LongFrame) -> None:
    """Refuse a repeated cell of two labels that differ only by blanks or Unicode form."""
    row, column = frame.builder.first_repeat
    cell = {frame.names[0][row], frame.names[1][column]}
    merged = frame.respondents.merged | frame.items.merged
    label = next((label for label, kept in merged.items() if kept in cell), None)
    if label is not None:
        values = {**alike(label, merged[label]), "item": frame.names[1][column]}
        raise failed("labels-merged", ask("count", repeats="count"), **values)


def summary_labels(labels: Sequence[str], settings: Settings) -> list[Finding]:
    """Say which labels of rows may sum up other rows, such as "mean"."""
    summaries = [label for label in labels if plain_name(label) in SUMMARIES]
    if not summaries:
        return []
    left_out = dict.fromkeys([*listed(settings.ignore), *summaries])
    remedy = Remedy({"ignore": [*left_out]}, "ignore")
    return [Finding("summary", "warning", {"labels": summaries}, (remedy,))]


def _check_tasks(matrix: ResponseMatrix, items: Labels) -> None:
    """Ask what a column is that may describe systems instead of items.

    It may if an item occurs with several of its values and each system with one value only.
    """
    tasks = [task for task, *_ in items.parts]
    ids = {tuple(parts) for _, *parts in items.parts}
    if len(ids) == len(tasks):
        return
    numbers, of_items = np.unique(tasks, return_inverse=True)
    tried = matrix.observed.trials
    rows = np.repeat(np.arange(matrix.n_respondents), np.diff(tried.indptr))
    pairs = rows * len(numbers) + of_items[tried.indices]
    if len(np.unique(pairs)) > matrix.n_respondents:
        return
    ignore = Remedy({"ignore": [items.columns[0]]}, "ignore", safe=False)
    joined = Remedy({"item": [*items.columns]}, "items", safe=False)
    raise failed("task", ignore, joined, column=items.columns[0])


def _repeated(table: Table, role: Roles, values: Mapping[str, Any]) -> ReadingError:
    """Return the error for rows that respondent and item do not identify."""
    header = table.header
    text = as_text(table, [*range(len(header))])
    responses = text[role.response].str.strip().str.lower()
    frame = text[~responses.isin(MISSING_WORDS)].drop(columns=role.response)
    by_task = role.task is not None and len(frame[role.task].unique()) > 1
    item = role.all_items(by_task)
    cell = [*role.respondent, *item]
    named = [k for k, name in enumerate(header) if k in cell or not is_nameless(name)]
    named = [k for k in named if k != role.response]
    return repeated_rows(frame[named], header, role.respondent, item, values)


def as_text(table: Table, positions: list[int]) -> pd.DataFrame:
    """The first rows of some columns as text, by position."""
    import pandas as pd

    blocks = list[Any]()
    n = 0
    for block, _ in table.columns(positions):
        columns = [column if hasattr(column, "iloc") else column.to_pandas() for column in block]
        columns = [column.astype(str).reset_index(drop=True) for column in columns]
        blocks.append(pd.concat(columns, axis=1, keys=positions))
        n += len(blocks[-1])
        if n > 10**6:  # enough to find the column that distinguishes repeats
            break
    return pd.concat(blocks, ignore_index=True)


def repeated_rows(
    frame: pd.DataFrame,
    header: Sequence[str],
    respondent: list[int],
    item: list[int],
    values: Mapping[str, Any],
    ignored: Columns = (),
) -> ReadingError:
    """Return the error for repeated rows, with the column that distinguishes them, if any.

    The frame holds text by position: the labels of respondents and items, and other columns. A
    column that is fractions, or differs between nearly all rows, measures something and is no
    choice. Counting trials is safe only if all columns that distinguish rows number trials.
    """
    import pandas as pd

    cell = [*respondent, *item]
    rows = frame[frame.duplicated(cell, keep=False)] if len(frame) else frame
    few = max(3, len(rows) / 2)  # any column with so few values may distinguish repeats
    telling = []
    others: list[Any] = [*rows.columns.difference(cell)]
    for k in others:
        kind = kind_of(header[k])
        n_values = rows[k].nunique()
        if n_values < 2 or rows.duplicated([*cell, k]).any():
            continue
        numbers = pd.to_numeric(rows[k], errors="coerce")
        is_few = n_values <= few and not (numbers % 1 > 0).any()
        if is_few or kind != "other":
            telling.append((KINDS.index(kind), n_values, k))
    names = [header[k] for _, _, k in sorted(telling)]
    kinds = {kind_of(name) for name in names}
    if names:
        values = {**values, "columns": names[:1]}
    if not names or "repeat" in kinds:  # which comes first
        ignore = {}
        if names and not item:
            ignore = {"ignore": [*listed(ignored), names[0]]}
        counted = Remedy(ignore | {"repeats": "count"}, "count", safe=kinds == {"repeat"})
        first = Remedy(ignore | {"repeats": "first"}, "first", safe=False)
        choices = [first] if "judge" in values else [counted, first]
    else:
        systems = [*(header[k] for k in respondent), names[0]]
        choices = [Remedy({"respondent": systems}, "systems", safe=False)]
        if item:
            items = [names[0], *(header[k] for k in item)]
            choices.insert(0, Remedy({"item": items}, "items", safe=False))
            if kind_of(names[0]) == "other" and "judge" not in values:
                choices.append(Remedy({"judge": names[0]}, "judges", safe=False))
    return failed("repeated", *choices, **values)
