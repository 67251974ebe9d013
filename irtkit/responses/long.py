"""Long tables, one row per response: read in one pass, block by block, into a response matrix."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.progress import is_watched, progress_bar
from irtkit.responses.cells import CellBuilder
from irtkit.responses.columns import KINDS, is_nameless, kind_of, long_roles, positions_of
from irtkit.responses.keys import match, right_answers
from irtkit.responses.labels import is_missing_label, normalised
from irtkit.responses.marking import MISSING_WORDS, Coder
from irtkit.responses.matrix import ResponseMatrix
from irtkit.responses.tables import numbers_or_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from irtkit.responses.columns import Roles
    from irtkit.responses.tables import Settings, Table

_SHOWN_FROM = 2 * 10**6  # Rows from which reading shows its progress.
_DIAGNOSED = 10**6  # Rows that are compared to find the column that tells repeats apart.
_FEW = 20  # Different values up to which any column may tell repeats apart.


class Labels:
    """Numbers of the labels in one column, or in several that are joined with "/".

    Labels that differ only by blanks or Unicode form are one label.
    """

    def __init__(self, columns: Sequence[str], *, prefixed: bool = False) -> None:
        self.columns = columns
        self.prefixed = prefixed
        """Whether the first column is a prefix, left out before labels that begin with it."""
        self.names: list[str] = []
        self.parts: list[tuple[Any, ...]] = []
        """Values of the columns that each name is made of."""
        self.merged: dict[str, str] = {}
        self._numbers: dict[str, int] = {}  # By the normalised label.
        self._written: dict[Any, int] = {}
        self._dictionary: Any = None
        self._known = np.empty(0, np.int32)  # Number of each entry of the dictionary, −1 if new.

    def numbers(self, columns: Sequence[Any], place: str, start: int) -> NDArray[np.int32]:
        """Number of every row of a block that begins at a row of the table."""
        which, distinct = _factorised(columns[0]) if len(columns) == 1 else _joined(columns)
        known = type(self._dictionary) is type(distinct) and self._dictionary.equals(distinct)
        if not known:
            self._dictionary = distinct
            self._known = np.full(len(distinct) + 1, -1, np.int32)
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
            if numbers.min() < 0:
                values = {"row": start + int(numbers.argmin()) + 1, "column": [*self.columns]}
                raise ReadingError(Finding("no-label", "error", values), place)
        return numbers

    def _number(self, value: Any) -> int:
        given = value if isinstance(value, tuple) else (value,)
        if any(map(is_missing_label, given)):
            return -1
        parts = tuple(map(str, given))
        again = self.prefixed and parts[1].startswith(f"{parts[0]}/")
        written = "/".join(parts[1:] if again else parts)
        (plain,) = normalised([written])
        number = self._numbers.setdefault(plain, len(self.names))
        if number == len(self.names):
            self.names.append(written)
            self.parts.append(parts)
        elif written != self.names[number]:
            self.merged[written] = self.names[number]
        return number


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
    """Response matrix of long tables, one below the other, and findings about them."""
    coder, builder = Coder(settings.marking), CellBuilder(settings.repeats, sparse=settings.sparse)
    roles = [_roles(table, settings) for table in tables]
    header, by_task = tables[0].header, all(one.task is not None for one in roles)
    for table, one in zip(tables, roles, strict=True):
        if one.task is not None and not by_task:
            column = table.header[one.task]
            raise failed("some-tasks", Remedy({"ignore": [column]}, safe=False), column=column)
    respondents = Labels([header[k] for k in roles[0].respondent])
    items = Labels([header[k] for k in roles[0].all_items(by_task)], prefixed=by_task)
    answers: list[tuple[Any, ...]] = []
    n_read, passed, size = 0, 0, sum(table.size for table in tables)
    with ExitStack() as stack:
        update = None
        for table, role in zip(tables, roles, strict=True):
            target = [] if role.target is None else [role.target]
            used = [*role.respondent, *role.all_items(by_task), role.response, *target]
            start, n, end = 0, len(role.respondent), len(used) - 1 - len(target)
            for block, done in table.columns(used):
                rows = respondents.numbers(block[:n], table.place, start)
                columns = items.numbers(block[n:end], table.place, start)
                if settings.key is not None or target:
                    answers.append((rows, columns, *map(_values, block[end:])))
                else:
                    codes = coder.codes(_values(block[end]), rows, columns)
                    builder.add(rows, columns, codes)
                start += len(rows)
                n_read += len(rows)
                if n_read > _SHOWN_FROM:
                    update = update or stack.enter_context(
                        progress_bar("reading responses", size, shown=is_watched())
                    )
                    update(passed + done, f"{n_read:,} rows")
            passed += table.size
    if not n_read:
        raise ValueError("the long table is empty: it has a header and no rows")
    names = tuple(respondents.names), tuple(items.names)
    coder.refuse(*names)
    findings = merged_labels(respondents.merged | items.merged)
    known, predictions = dict[str, Any](), None
    if answers:
        rows, columns, given, *targets = map(np.concatenate, zip(*answers, strict=True))
        targets = targets or [right_answers(settings.key, names[1])[columns]]
        codes, predictions, known["target"], note = match(
            (rows, columns), given, targets[0], settings.marking, names
        )
        builder.add(rows, columns, codes)
        findings.append(note)
    elif coder.n_given < n_read:
        findings.append(Finding("rows-missing", "note", {"n": n_read - coder.n_given}))
    cells = builder.build((len(names[0]), len(names[1])))
    if builder.repeated:
        raise _repeated(tables[0], roles[0], builder, names)
    matrix = ResponseMatrix.of_cells(cells, names)
    if by_task:
        known["task"] = [parts[0] for parts in items.parts]
        _check_tasks(matrix, items)
    if known:
        import pandas as pd

        about = pd.DataFrame(known, index=list(names[1]))
        matrix = matrix.with_tables(about, predictions=predictions)
    return matrix, findings + coder.notes()


def merged_labels(merged: dict[str, str]) -> list[Finding]:
    """Say which labels were taken for one label, by the label that was kept."""
    if not merged:
        return []
    label, kept = next(iter(merged.items()))
    values = {"label": label, "kept": kept, "more": len(merged) - 1}
    return [Finding("labels-merged", "warning", values)]


def _roles(table: Table, settings: Settings) -> Roles:
    """Columns of a long table, by position; columns to ignore have no name."""
    for name in ("keep", "transpose"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a wide table, but this table is long")
    out = set(positions_of(table.header, "ignore", settings.ignore))
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


def _repeated(
    table: Table,
    role: Roles,
    builder: CellBuilder,
    names: tuple[tuple[str, ...], tuple[str, ...]],
) -> ReadingError:
    """Return the error for rows that respondent and item do not tell apart.

    It names the column that does. Counting trials is safe only if the column numbers trials.
    """
    import pandas as pd

    header, blocks, n = table.header, list[Any](), 0
    for block, _ in table.columns([*range(len(header))]):
        columns = [one if hasattr(one, "iloc") else one.to_pandas() for one in block]
        columns = [one.astype(str).reset_index(drop=True) for one in columns]
        blocks.append(pd.concat(columns, axis=1, keys=range(len(header))))
        n += len(blocks[-1])
        if n > _DIAGNOSED:
            break
    frame = pd.concat(blocks, ignore_index=True)
    frame = frame[~frame[role.response].str.strip().str.lower().isin(MISSING_WORDS)]
    several = role.task is not None and len(frame[role.task].unique()) > 1
    item = role.all_items(several)
    cell = [*role.respondent, *item]
    labels = [k for k in frame.columns if is_nameless(header[k]) and k not in cell]
    frame = frame[frame.duplicated(cell, keep=False)].drop(columns=labels)
    row, column = builder.first_repeat
    values: dict[str, Any] = {"respondent": names[0][row], "item": names[1][column]}
    values["more"] = builder.repeated - 1
    first = Remedy({"repeats": "first"}, "first", safe=False)
    count = Remedy({"repeats": "count"}, "count", safe=False)
    if len(frame) and frame.duplicated(keep=False).all():
        return failed("identical-rows", first, **values)
    telling = []
    for k in set(frame.columns).difference([*cell, role.response]):
        kind, n_values = kind_of(header[k]), frame[k].nunique()
        # numbers of seconds or tokens differ between all rows and name nothing
        named = kind != "other" or n_values <= max(_FEW, len(frame) / 4)
        if named and not frame.duplicated([*cell, k]).any():
            telling.append((KINDS.index(kind), n_values, k))
    if not telling:
        return failed("repeated", Remedy({"repeats": ...}, "repeats", safe=False), **values)
    place, _, k = min(telling)
    values["column"] = header[k]
    if KINDS[place] == "repeat":
        only = all(KINDS[one] == "repeat" for one, _, _ in telling)
        return failed("repeated", count._replace(safe=only), first, **values)
    choices = {
        "items": {"item": [header[one] for one in (k, *item)]},
        "systems": {"respondent": [header[one] for one in (*role.respondent, k)]},
    }
    remedies = [Remedy(settings, purpose, safe=False) for purpose, settings in choices.items()]
    return failed("repeated", *remedies, **values)
