"""Long tables, one row per response: read in one pass, block by block, into a response matrix.

What wide tables share with them is here, too: answers with a key, tasks and repeated rows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
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
from irtkit.responses.labels import is_missing_label, normalised
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
_MOST_PAIRED = 8  # Columns of which pairs are compared to find two that do.
_FEW = 3  # Different values up to which any column of whole numbers or words may do so.
_NO_LABEL, _IGNORED = -1, -2  # Numbers of labels that are missing or left out.


class Labels:
    """Numbers of the labels in one column, or in several that are joined with "/".

    Labels that differ only by blanks or Unicode form are one label. Labels to be left out have a
    number below 0. If the labels are `prefixed`, the first column is their task.
    """

    def __init__(
        self, columns: Sequence[str], ignored: Iterable[str], *, prefixed: bool = False
    ) -> None:
        self.columns, self.prefixed = columns, prefixed
        self.ignored = dict.fromkeys(ignored, False)
        """Labels to be left out, and whether they occurred."""
        self.names: list[str] = []
        self.parts: list[tuple[Any, ...]] = []
        """Values of the columns that each name is made of."""
        self.merged: dict[str, str] = {}
        self._numbers: dict[str, int] = {}  # By the normalised label.
        self._written: dict[Any, int] = {}
        self._dictionary: Any = None
        self._known = np.empty(0, np.int32)  # Number of each entry of the dictionary.

    def numbers(self, columns: Sequence[Any], place: str, start: int) -> NDArray[np.int32]:
        """Number of every row of a block that begins at a row of the table."""
        which, distinct = _factorised(columns[0]) if len(columns) == 1 else _joined(columns)
        known = type(self._dictionary) is type(distinct) and self._dictionary.equals(distinct)
        if not known:
            self._dictionary = distinct
            self._known = np.full(len(distinct) + 1, _NO_LABEL, np.int32)
        numbers: NDArray[np.int32] = self._known[which]
        if numbers.min(initial=0) < 0:
            new = which[(numbers < 0) & (which >= 0)]
            places = new[np.sort(np.unique(new, return_index=True)[1])]
            values = distinct.take(places)
            values = values.to_pylist() if hasattr(values, "to_pylist") else values.tolist()
            for value in values:  # most are known from another block
                if value not in self._written:
                    self._written[value] = self._number(value)
            self._known[places] = [self._written[value] for value in values]
            numbers = self._known[which]
            if (unknown := numbers == _NO_LABEL).any():
                values = {"row": start + int(unknown.argmax()) + 1, "column": [*self.columns]}
                raise ReadingError(Finding("no-label", "error", values), place)
        return numbers

    def _number(self, value: Any) -> int:
        given = value if isinstance(value, tuple) else (value,)
        if any(map(is_missing_label, given)):
            return _NO_LABEL
        parts = tuple(map(str, given))
        written = in_task(*parts) if self.prefixed else "/".join(parts)
        if written in self.ignored:
            self.ignored[written] = True
            return _IGNORED
        (plain,) = normalised([written])
        number = self._numbers.setdefault(plain, len(self.names))
        if number == len(self.names):
            self.names.append(written)
            self.parts.append(parts)
        elif written != self.names[number]:
            self.merged[written] = self.names[number]
        return number


def in_task(task: str, *label: str) -> str:
    """Label of an item after its task, unless it begins with the task already."""
    item = "/".join(label)
    return item if item.startswith(f"{task}/") else f"{task}/{item}"


def _factorised(column: Any) -> tuple[NDArray[Any], Any]:
    """Place of every row's value among distinct values, −1 if missing, and the distinct values."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(column, pa.Array):
        which, distinct = pd.factorize(column)
        return which, pd.Index(distinct)
    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    elif len(column.dictionary) > len(column):
        column = column.dictionary_decode().dictionary_encode()
    places = column.indices
    places = places.cast("int64").fill_null(-1) if places.null_count else places
    return places.to_numpy(zero_copy_only=False), column.dictionary


def _joined(columns: Sequence[Any]) -> tuple[NDArray[Any], Any]:
    """Place of every row's tuple of values among the distinct tuples, and these."""
    import pandas as pd

    found = [_factorised(column) for column in columns]
    which = np.zeros(len(found[0][0]), np.int64)
    for places, _ in found:
        which = pd.factorize(which * (1 << 31) + places)[0]
    first = np.unique(which, return_index=True)[1]
    values = []
    for places, distinct in found:
        listed = distinct.to_pylist() if hasattr(distinct, "to_pylist") else distinct.tolist()
        listed.append(None)  # of place −1
        values.append([listed[k] for k in places[first].tolist()])
    return which, pd.Index([*zip(*values, strict=True)], tupleize_cols=False)


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


def read_long(tables: Sequence[Table], settings: Settings) -> tuple[ResponseMatrix, list[Finding]]:
    """Response matrix of long tables, one below the other, and findings about it."""
    coder, builder = Coder(settings.marking), CellBuilder(settings.repeats, sparse=settings.sparse)
    roles = [_roles(table, settings) for table in tables]
    header, by_task = tables[0].header, all(one.task is not None for one in roles)
    for table, one in zip(tables, roles, strict=True):
        if one.task is not None and not by_task:
            column = table.header[one.task]
            raise failed("some-tasks", Remedy({"ignore": [column]}, safe=False), column=column)
    ignored = {name for table in tables for name in matched(table.header, settings.ignore)[1]}
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
                    builder.add(rows, columns, coder.codes(values[0], rows, columns))
                n_read += len(rows)
                update(passed + done, f"{n_read:,} rows")
            passed += table.size
    for name in ignored:
        if not (respondents.ignored[name] or items.ignored[name]):
            raise no_column("ignore", name, header)
    if not n_read:
        raise ValueError("the long table is empty: it has a header and no rows")
    names = tuple(respondents.names), tuple(items.names)
    findings = merged_labels(respondents.merged | items.merged)
    summaries = summary_labels([*names[0], *names[1]], settings)
    if coder.n_invalid and summaries:
        raise ReadingError(replace(summaries[0], severity="error"))
    coder.refuse(*names)
    try:
        if answers:
            whole = tuple(map(np.concatenate, zip(*answers, strict=True)))
            matrix, notes, n_given = of_answers(whole, names, settings)
        else:
            matrix = ResponseMatrix.of_builder(builder, names)
            notes, n_given = coder.notes(), coder.n_given
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


def summary_labels(labels: Iterable[str], settings: Settings) -> list[Finding]:
    """Say which labels of rows may sum up other rows, such as "mean"."""
    found = [label for label in labels if plain_name(label) in SUMMARIES]
    ignored = dict.fromkeys([*listed(settings.ignore), *found])
    remedy = Remedy({"ignore": [*ignored]}, "ignore")
    return [Finding("summary", "warning", {"labels": found}, (remedy,))] if found else []


def _roles(table: Table, settings: Settings) -> Roles:
    """Columns of a long table, by position; columns to ignore have no name."""
    for name in ("keep", "transpose"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a wide table, but this table is long")
    out, _ = matched(table.header, settings.ignore)
    header = ["" if k in out else name for k, name in enumerate(table.header)]
    named = settings.respondent, settings.item, settings.response
    return long_roles(header, *named, keyed=settings.key is not None)


def _check_tasks(matrix: ResponseMatrix, items: Labels) -> None:
    """Ask what a column is that may describe systems instead of items.

    It may if an item occurs with several of its values and each system with one value only.
    """
    if len({parts[1:] for parts in items.parts}) == len(items.parts):
        return
    number: dict[str, int] = {}
    task = np.array([number.setdefault(parts[0], len(number)) for parts in items.parts])
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
    several = role.task is not None and len(frame[role.task].unique()) > 1
    item = role.all_items(several)
    cell = [*role.respondent, *item]
    labels = [k for k, name in enumerate(header) if is_nameless(name) and k not in cell]
    same = frame.drop(columns=labels)[frame.duplicated(cell, keep=False)].duplicated(keep=False)
    others = [k for k in range(len(header)) if k not in {*cell, *labels, role.response}]
    names = [[header[k] for k in columns] for columns in (role.respondent, item)]
    found = distinguishing(frame, header, cell, others)
    return repeated_rows(values, found, *names, identical=bool(same.all()))


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


def distinguishing(
    frame: pd.DataFrame, header: Sequence[str], cell: Sequence[int], others: Iterable[int]
) -> list[list[str]]:
    """Names of the columns of text that identify a row of a cell, likeliest first.

    Each is one column or, if there are none, two columns. Columns that are fractions, or differ
    between nearly all rows, measure something and are no choice.
    """
    import pandas as pd

    frame = frame[frame.duplicated([*cell], keep=False)]
    known = []
    for k in others:
        kind, n_values = kind_of(header[k]), frame[k].nunique()
        fractions = pd.to_numeric(frame[k], errors="coerce") % 1 > 0
        choice = n_values <= max(_FEW, len(frame) / 2) and not fractions.any()
        if n_values > 1 and (kind != "other" or choice):
            known.append((KINDS.index(kind), n_values, k))
    places = [k for _, _, k in sorted(known)]
    for candidates in ([[k] for k in places], [*combinations(places[:_MOST_PAIRED], 2)]):
        found = [some for some in candidates if not frame.duplicated([*cell, *some]).any()]
        if found:
            return [[header[k] for k in some] for some in found]
    return []


def repeated_rows(
    values: Mapping[str, Any],
    found: list[list[str]],
    respondent: list[str],
    item: list[str],
    *,
    identical: bool,
    ignored: Columns = None,
) -> ReadingError:
    """Return the error for repeated rows, with the columns that distinguish them, if any.

    Counting trials is safe only if all of these columns number trials. A wide table says which
    columns it ignored: there the columns named must be no items.
    """
    first, count = ({"repeats": one} for one in ("first", "count"))
    if not found and identical:
        return failed("identical-rows", Remedy(first, "first", safe=False), **values)
    if not found:
        return failed("repeated", Remedy({"repeats": ...}, "repeats", safe=False), **values)
    numbered = [name for name in found[0] if kind_of(name) == "repeat"]
    named = [name for name in found[0] if name not in numbered]
    wide = ignored is not None
    out = {"ignore": [*listed(ignored), *numbered]} if wide and numbered else {}
    values = {**values, "columns": found[0]}
    if not named:
        only = all(kind_of(name) == "repeat" for some in found for name in some)
        counted = Remedy(out | count, "count", safe=only)
        return failed("repeated", counted, Remedy(out | first, "first", safe=False), **values)
    more = out | count if numbered else {}
    items = ({"format": "wide"} if wide else {}) | {"item": [*named, *item]} | more
    systems = {"respondent": [*respondent, *named]} | more
    choices = Remedy(items, "items", safe=False), Remedy(systems, "systems", safe=False)
    return failed("repeated", *choices, **values)
