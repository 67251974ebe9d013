"""Long tables, one row per response: read in one pass, block by block, into a response matrix.

What wide tables share with them is here, too: answers with a key, tasks and repeated rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.progress import is_watched, progress_bar
from irtkit.responses.cells import CellBuilder
from irtkit.responses.columns import (
    KINDS,
    SUMMARIES,
    is_nameless,
    kind_of,
    listed,
    long_roles,
    matched,
    no_column,
    plain_name,
)
from irtkit.responses.labels import Labels
from irtkit.responses.marking import MISSING, MISSING_WORDS, Coder, match, right_answers
from irtkit.responses.matrix import ResponseMatrix
from irtkit.responses.tables import numbers_or_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.responses.columns import Names as Columns
    from irtkit.responses.columns import Roles
    from irtkit.responses.labels import Names
    from irtkit.responses.tables import Settings, Table

_SHOWN_FROM = 10**7  # Rows or bytes from which reading shows its progress.
_DIAGNOSED = 10**6  # Cells that are compared to find the column that distinguishes repeats.
_FEW = 3  # Different values up to which any column of whole numbers or words may do so.


def read_long(tables: Sequence[Table], settings: Settings) -> tuple[ResponseMatrix, list[Finding]]:
    """Response matrix of long tables, one below the other, and findings about it."""
    for name in ("keep", "transpose"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a wide table, but this table is long")
    ignored = [name for table in tables for name in matched(table.header, settings.ignore)[1]]
    roles: list[Roles] = []
    for table in tables:  # columns to ignore have no name
        out, _ = matched(table.header, settings.ignore)
        header = ["" if k in out else name for k, name in enumerate(table.header)]
        named = settings.respondent, settings.item, settings.response
        roles.append(long_roles(header, *named, keyed=settings.key is not None))
    by_task = all(one.task is not None for one in roles)
    for table, one in zip(tables, roles, strict=True):
        if one.task is not None and not by_task:
            column = table.header[one.task]
            raise failed("some-tasks", Remedy({"ignore": [column]}, safe=False), column=column)
    coder, builder = Coder(settings.marking), CellBuilder(settings.repeats, sparse=settings.sparse)
    header = tables[0].header
    respondents = Labels([header[k] for k in roles[0].respondent], ignored)
    items = Labels([header[k] for k in roles[0].all_items(by_task)], ignored, prefixed=by_task)
    answers: list[tuple[Any, ...]] = []
    n_read, passed, size = 0, 0, sum(table.size for table in tables)
    shown = is_watched() and size > _SHOWN_FROM
    with progress_bar("reading responses", size, shown=shown) as update:
        for table, role in zip(tables, roles, strict=True):
            target = [] if role.target is None else [role.target]
            used = [*role.respondent, *role.all_items(by_task), role.response, *target]
            start, n, end = 0, len(role.respondent), len(used) - 1 - len(target)
            for block, done in table.columns(used):
                rows = respondents.numbers(block[:n], table.place, start)
                columns = items.numbers(block[n:end], table.place, start)
                start += len(rows)
                values = [*map(_values, block[end:])]
                if ignored:
                    kept = (rows >= 0) & (columns >= 0)
                    rows, columns, *values = (one[kept] for one in (rows, columns, *values))
                if settings.key is not None or target:
                    answers.append((rows, columns, *values))
                else:
                    codes = coder.codes(values[0], rows, columns, items.names)
                    builder.add(rows, columns, codes)
                n_read += len(rows)
                update(passed + done, f"{n_read:,} rows")
            passed += table.size
    check_ignored(ignored, header, respondents, items)
    if not n_read:
        raise ValueError("the long table is empty: it has a header and no rows")
    names = tuple(respondents.names), tuple(items.names)
    findings = merged_labels(respondents.merged | items.merged)
    summaries = summary_labels([*names[0], *names[1]], settings)
    if coder.unusual and summaries:
        raise ReadingError(replace(summaries[0], severity="error"))
    coder.refuse(*names)
    try:
        if answers:
            whole = tuple(map(np.concatenate, zip(*answers, strict=True)))
            matrix, notes, n_given = of_answers(whole, names, settings)
        else:
            matrix = ResponseMatrix.of_builder(builder, names)
            notes, n_given = coder.notes(len(names[0])), coder.n_given
    except ReadingError as error:
        if error.finding.code != "repeated":
            raise
        raise _repeated(tables[0], roles[0], error.finding.values) from None
    if by_task:
        matrix = with_tasks(matrix, [parts[0] for parts in items.parts])
        _check_tasks(matrix, items)
    if n_given < n_read:
        findings.append(Finding("rows-missing", "note", {"n": n_read - n_given}))
    return matrix, findings + summaries + notes


def check_ignored(names: Iterable[str], header: Sequence[str], *labels: Labels) -> None:
    """Refuse names that match no column of the header and no label."""
    for name in names:
        if not any(one.ignored.get(name) for one in labels):
            raise no_column("ignore", name, header)


def _values(column: Any) -> NDArray[Any]:
    """Values of a column as numbers, or as objects if they are text or mixed."""
    import pyarrow as pa

    if isinstance(column, pa.Array):
        if not column.null_count and pa.types.is_primitive(column.type):
            values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
            if values.dtype.kind in "biuf":
                return values
        column = column.to_pandas()
    return numbers_or_objects(column, [column.dtype])


def of_answers(
    block: tuple[NDArray[Any], ...], names: Names, settings: Settings
) -> tuple[ResponseMatrix, list[Finding], int]:
    """Response matrix of answers that are marked, findings about them, and their number.

    The block holds numbers of respondents and items, answers, and perhaps the right answers, which
    the key has otherwise.
    """
    import pandas as pd

    rows, columns, given, *targets = block
    right = targets[0] if targets else right_answers(settings.key, names[1])[columns]
    codes, predictions, target = match((rows, columns), given, right, settings.marking, names)
    n, n_right = int(np.count_nonzero(codes != MISSING)), int(np.count_nonzero(codes == 1))
    if not n_right:
        raise failed("no-match", n=n)
    how: dict[str, Any] = {"repeats": settings.repeats, "sparse": settings.sparse}
    matrix = ResponseMatrix.of_rows((rows, columns, codes), names, **how)
    matrix = matrix.with_tables(pd.DataFrame({"target": target}, [*names[1]]))
    matrix.predictions = predictions
    return matrix, [Finding("marked", "note", {"n": n, "n_right": n_right})], n


def with_tasks(matrix: ResponseMatrix, tasks: Sequence[str]) -> ResponseMatrix:
    """Return the matrix with the task of each item in its table."""
    import pandas as pd

    known = pd.DataFrame(index=[*matrix.items]) if matrix.item_table is None else matrix.item_table
    return matrix.with_tables(known.assign(task=tasks))


def merged_labels(merged: Mapping[str, str]) -> list[Finding]:
    """Say which labels were taken for one label, by the label that was kept."""
    if not merged:
        return []
    label, kept = next(iter(merged.items()))
    values = {"label": label, "kept": kept, "more": len(merged) - 1}
    return [Finding("labels-merged", "warning", values)]


def summary_labels(labels: Sequence[str], settings: Settings) -> list[Finding]:
    """Say which labels of rows may sum up other rows, such as "mean"."""
    found = [label for label in labels if plain_name(label) in SUMMARIES]
    remedy = Remedy({"ignore": [*dict.fromkeys([*listed(settings.ignore), *found])]}, "ignore")
    return [Finding("summary", "warning", {"labels": found}, (remedy,))] if found else []


def _check_tasks(matrix: ResponseMatrix, items: Labels) -> None:
    """Ask what a column is that may describe systems instead of items.

    It may if an item occurs with several of its values and each system with one value only.
    """
    if len({parts[1:] for parts in items.parts}) == len(items.parts):
        return
    task = np.unique([parts[0] for parts in items.parts], return_inverse=True)[1]
    tried = matrix.observed.trials
    rows = np.repeat(np.arange(matrix.n_respondents), np.diff(tried.indptr))
    if len(np.unique(rows * (1 << 31) + task[tried.indices])) > matrix.n_respondents:
        return
    ignore = Remedy({"ignore": [items.columns[0]]}, "ignore", safe=False)
    joined = Remedy({"item": [*items.columns]}, "items", safe=False)
    raise failed("task", ignore, joined, column=items.columns[0])


def _repeated(table: Table, role: Roles, values: Mapping[str, Any]) -> ReadingError:
    """Return the error for rows that respondent and item do not identify."""
    header = table.header
    frame = as_text(table, [*range(len(header))])
    frame = frame[~frame[role.response].str.strip().str.lower().isin(MISSING_WORDS)]
    item = role.all_items(role.task is not None and len({*frame[role.task]}) > 1)
    cell = [*role.respondent, *item]
    frame = frame[[k for k, name in enumerate(header) if k in cell or not is_nameless(name)]]
    frame = frame.drop(columns=role.response)
    return repeated_rows(frame, header, role.respondent, item, values)


def as_text(table: Table, positions: list[int]) -> pd.DataFrame:
    """The first rows of some columns as text, by position."""
    import pandas as pd

    blocks, n = list[Any](), 0
    for block, _ in table.columns(positions):
        columns = [one if hasattr(one, "iloc") else one.to_pandas() for one in block]
        columns = [one.astype(str).reset_index(drop=True) for one in columns]
        blocks.append(pd.concat(columns, axis=1, keys=positions))
        n += len(blocks[-1])
        if n > _DIAGNOSED:
            break
    whole: pd.DataFrame = pd.concat(blocks, ignore_index=True)
    return whole


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

    cell, known = [*respondent, *item], []
    rows = frame[frame.duplicated(cell, keep=False)] if len(frame) else frame
    for k in (k for k in range(len(header)) if k in rows and k not in cell):
        if rows.duplicated([*cell, k]).any():
            continue
        kind, n_values = kind_of(header[k]), rows[k].nunique()
        fractions = pd.to_numeric(rows[k], errors="coerce") % 1 > 0
        choice = n_values <= max(_FEW, len(rows) / 2) and not fractions.any()
        if n_values > 1 and (kind != "other" or choice):
            known.append((KINDS.index(kind), n_values, k))
    found = [header[k] for _, _, k in sorted(known)]
    values = {**values, "columns": found[:1]} if found else values
    if not found or kind_of(found[0]) == "repeat":
        only = bool(found) and all(kind_of(name) == "repeat" for name in found)
        out: Any = {"ignore": [*listed(ignored), *found[:1]]} if found and not item else {}
        counted = Remedy(out | {"repeats": "count"}, "count", safe=only)
        first = Remedy(out | {"repeats": "first"}, "first", safe=False)
        return failed("repeated", counted, first, **values)
    respondents, items = ([header[k] for k in columns] for columns in (respondent, item))
    systems = Remedy({"respondent": [*respondents, found[0]]}, "systems", safe=False)
    apart = [Remedy({"item": [found[0], *items]}, "items", safe=False)] * bool(item)
    return failed("repeated", *apart, systems, **values)
