"""Wide tables, a row per respondent and a column per item, read into a response matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique, short
from irtkit.findings import Finding, Remedy, failed
from irtkit.responses.cells import Cells
from irtkit.responses.columns import (
    holds_respondents,
    item_positions,
    listed,
    respondent_position,
    usual_columns,
)
from irtkit.responses.keys import match, right_answers
from irtkit.responses.labels import label_names, normalised
from irtkit.responses.long import merged_labels
from irtkit.responses.marking import INVALID, MISSING, MISSING_WORDS, Coder, plain_value
from irtkit.responses.matrix import ResponseMatrix
from irtkit.responses.tables import numbers_or_objects

if TYPE_CHECKING:
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
    """Response matrix of a wide table, and findings about it."""
    for name in ("item", "response", "sparse"):
        if getattr(settings, name):
            raise ValueError(f"{name} is for a long table, but this table is wide")
    header, marking = table.header, settings.marking
    respondent = listed(settings.respondent)
    if len(respondent) > 1:
        raise ValueError("respondent must name one column, since this table is wide")
    at = 0 if table.labelled and not respondent else respondent_position(header, *respondent)
    if at is None:
        _refuse_responses_as_header(header, marking)
    positions = item_positions(header, at, settings.ignore, settings.keep)
    coder, labels, parts = Coder(marking), list[Any](), list[Any]()
    words: dict[int, set[object]] = {}
    for block in table.rows():
        rows = np.arange(len(labels), len(labels) + len(block))
        first = _cells(block, [at or 0])[:, 0].tolist()
        if not labels and at is None and positions[:1] == [0] and holds_respondents(first, marking):
            at, positions = 0, positions[1:]
        labels += [table.clean(one) if isinstance(one, str) else one for one in first]
        cells = _cells(block, positions)
        if settings.key is None:
            parts.append(coder.codes(cells, rows[:, None], np.array(positions)[None, :]))
        else:
            parts.append(cells.astype(object))
        for k, column in zip(positions, cells.T if marking.right else (), strict=False):
            words.setdefault(k, set()).update(column.tolist())
    if not labels:
        raise ValueError("the table has a header and no rows")
    if not positions:
        raise ValueError(f"the table has no items: its one column is {short(header[0])}")
    found = np.concatenate(parts)
    names = (
        label_names(None if at is None else labels, len(labels), "respondent", unique=False),
        label_names([header[k] for k in positions], len(positions), "item", unique=False),
    )
    if settings.transpose:
        found, names = found.T, (names[1], names[0])
    if settings.key is not None:
        return _keyed(found, names, settings)
    columns = [header[k] for k in positions]
    if coder.n_invalid:
        _refuse_cells(coder, found, names, (header, positions), settings)
    if marking.right and not marking.wrong:
        own = [words.get(k, set()) for k in positions]
        _refuse_own_words(own, (found == 1).any(axis=int(settings.transpose)), columns, settings)
    matrix, findings = _of_codes(found, names, settings)
    # the note is about systems, but rows are items if the table is transposed
    noted = (marking.right or coder.n_changed) and not settings.transpose
    return matrix, findings + (coder.notes() if noted else [])


def _cells(block: Any, positions: list[int]) -> NDArray[Any]:
    """Cells of these columns: numbers if all are, else objects."""
    if isinstance(block, list):
        return np.array(block, dtype=object)[:, positions]
    frame = block if len(positions) == block.shape[1] else block.iloc[:, positions]
    return numbers_or_objects(frame, frame.dtypes)


def _of_codes(
    codes: NDArray[np.int8], names: Labels, settings: Settings
) -> tuple[ResponseMatrix, list[Finding]]:
    """Response matrix of codes, in which a respondent may have several rows."""
    plain = [normalised(labels) for labels in names]
    places = [{label: k for k, label in enumerate(dict.fromkeys(labels))} for labels in plain]
    if len(places[1]) < len(names[1]):
        check_unique("item labels must be unique", names[1])
        kept = {label: k for k, label in reversed([*enumerate(plain[1])])}
        again = next(k for k, label in enumerate(plain[1]) if kept[label] != k)
        raise failed("items-alike", item=names[1][kept[plain[1][again]]], other=names[1][again])
    if len(places[0]) == len(names[0]):
        return ResponseMatrix.of_cells(Cells(np.ascontiguousarray(codes)), names), []
    row = np.array([places[0][label] for label in plain[0]])
    first = np.unique(row, return_index=True)[1]
    if settings.repeats == "error":
        again = int(np.argmax(first[row] < np.arange(len(row))))
        values = {"respondent": names[0][again], "more": len(row) - len(first) - 1}
        remedy, count = (Remedy({"repeats": one}, one, safe=False) for one in ("first", "count"))
        if np.array_equal(codes, codes[first[row]]):
            raise failed("identical-rows", remedy, **values)
        raise failed("repeated", count, remedy, **values)
    labels = tuple(names[0][k] for k in first)
    rows, columns = np.repeat(row, codes.shape[1]), np.tile(np.arange(codes.shape[1]), len(row))
    matrix = ResponseMatrix.of_rows(
        (rows, columns, codes.reshape(-1)), (labels, names[1]), repeats=settings.repeats
    )
    pairs = zip(names[0], (labels[k] for k in row), strict=True)
    return matrix, merged_labels({label: kept for label, kept in pairs if label != kept})


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
    invalid = codes == INVALID
    numbers = error.finding.code in {"scores", "percentages", "numbers"}
    n_given = (codes != MISSING).sum(axis=0)
    strange = invalid.any(axis=0) & (2 * invalid.sum(axis=0) + numbers > n_given)
    shared = {k for found in coder.columns.values() if len(found) > 1 for k in found}
    if shared:  # other columns have words of their own
        strange &= ~np.isin(positions, [*shared])
    odd = [header[positions[k]] for k in np.flatnonzero(strange)]
    most = 3 if error.finding.code == "scores" else 2  # A few columns of scores may be items.
    if odd and most * len(odd) <= len(positions):
        remedies = [Remedy({"ignore": [*listed(settings.ignore), *odd]}, "ignore")]
        if len(odd) == 1:
            remedies.append(Remedy({"respondent": odd[0]}, "labels", safe=False))
        raise failed("not-items", *remedies, columns=odd)
    if all(usual_columns(header, role) for role in ("respondent", "response")):
        raise failed("no-item-column", Remedy({"item": ...}, "column", safe=False), columns=header)
    key = next((name for name in names[0] if plain_value(name) in _KEY_ROWS), None)
    if key is not None and error.finding.code in {"answers", "levels", "words"}:
        raise failed("answers", Remedy({"key": key}, "key"), **error.finding.values)
    raise error


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


def _keyed(
    cells: NDArray[Any], names: Labels, settings: Settings
) -> tuple[ResponseMatrix, list[Finding]]:
    """Response matrix of answers, by a key of the items or by a row that holds it."""
    import pandas as pd

    key, (respondents, items) = settings.key, names
    if isinstance(key, str) and key in respondents:
        at = respondents.index(key)
        key = dict(zip(items, cells[at].tolist(), strict=True))
        cells = np.delete(cells, at, axis=0)
        respondents = respondents[:at] + respondents[at + 1 :]
    targets = np.broadcast_to(right_answers(key, items), cells.shape)
    rows, columns = (part.ravel() for part in np.indices(cells.shape))
    codes, answers, target, note = match(
        (rows, columns), cells.ravel(), targets.ravel(), settings.marking, (respondents, items)
    )
    matrix, findings = _of_codes(codes.reshape(cells.shape), (respondents, items), settings)
    about = pd.DataFrame({"target": target}, index=[*items])
    known = None if matrix.n_respondents < len(respondents) else answers
    return matrix.with_tables(about, predictions=known), [*findings, note]
