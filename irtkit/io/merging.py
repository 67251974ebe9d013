"""Matrices of the same or other respondents and items, put together and written as a long table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short
from irtkit.responses import ResponseMatrix
from irtkit.responses.trials import check_repeats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from irtkit.responses.scatter import Block


def merge_responses(
    matrices: Sequence[ResponseMatrix], *, repeats: str = "error"
) -> ResponseMatrix:
    """Put response matrices together: their respondents and items, each once.

    They are in the order in which they first occur, with their tables, the metrics of their answers
    and marks of synthetic respondents; of what several matrices hold, that of the first. The result
    is sparse if one of them is.

    Raises
    ------
    ValueError
        If there is no matrix, if a cell is in several and that is an error (``repeats`` are as for
        `irtkit.ResponseMatrix.from_long`), or if the first or last of several trials is wanted of a
        matrix that counts them.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.io.merging import merge_responses
    >>> one = irtkit.ResponseMatrix([[1, 0]], ["gpt"], ["q1", "q2"])
    >>> other = irtkit.ResponseMatrix([[1]], ["llama"], ["q2"])
    >>> merge_responses([one, other]).values
    array([[ 1,  0],
           [-1,  1]], dtype=int8)
    """
    check_repeats(repeats)
    if not matrices:
        raise ValueError("matrices is empty: at least one is needed")
    counted = any(matrix.has_repeats for matrix in matrices)
    if counted and repeats in {"first", "last"}:
        raise ValueError(
            f"repeats={short(repeats)} needs to know which trial was {repeats}: they were counted"
        )
    rows = _numbers(label for matrix in matrices for label in matrix.respondents)
    columns = _numbers(label for matrix in matrices for label in matrix.items)
    parts = []
    for matrix in matrices:
        row, column, codes = trials_of(matrix)
        row_of = np.array([rows[label] for label in matrix.respondents])
        column_of = np.array([columns[label] for label in matrix.items])
        parts.append((row_of[row], column_of[column], codes))
    row, column, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
    names = tuple(rows), tuple(columns)
    sparse = any(matrix.is_sparse for matrix in matrices)
    merged = ResponseMatrix.of_rows((row, column, codes), names, repeats=repeats, sparse=sparse)
    synthetic = np.zeros(len(rows), np.bool_)
    for matrix in matrices:
        synthetic[[rows[label] for label in matrix.respondents]] |= matrix.synthetic
    return merged.with_tables(
        _first_rows(matrix.item_table for matrix in matrices),
        _first_rows(matrix.respondent_table for matrix in matrices),
        _metrics([matrix.metrics for matrix in matrices], names),
        synthetic=synthetic,
    )


def _numbers(labels: Iterable[str]) -> dict[str, int]:
    return {label: number for number, label in enumerate(dict.fromkeys(labels))}


def trials_of(matrix: ResponseMatrix) -> Block:
    """Respondent, item and response of every trial, the right ones of a cell first."""
    right, tried = matrix.observed
    trials = tried.data.astype(np.int64)
    row = np.repeat(np.arange(matrix.n_respondents), np.diff(tried.indptr))
    number = np.arange(trials.sum()) - np.repeat(np.cumsum(trials) - trials, trials)
    codes = number < np.repeat(right.data.astype(np.int64), trials)
    return np.repeat(row, trials), np.repeat(tried.indices, trials), codes.astype(np.int8)


def _first_rows(tables: Iterable[Any]) -> Any:
    """Rows of all tables, each label's from the first that has it; None where there are none."""
    import pandas as pd

    known = [table for table in tables if table is not None]
    if not known:
        return None
    together = pd.concat(known)
    return together[~together.index.duplicated()]


def _metrics(tables: list[Any], names: tuple[tuple[str, ...], ...]) -> Any:
    """Metrics of all answers, each from the first that has it; None where there are none."""
    import pandas as pd

    known = [table for table in tables if table is not None]
    if not known:
        return None
    metrics = dict.fromkeys(name for table in known for name in table["metric"].cat.categories)
    kinds = ["respondent", "item", "metric"]
    types = {
        kind: pd.CategoricalDtype(list(of))
        for kind, of in zip(kinds, (*names, metrics), strict=True)
    }
    together = pd.concat([table.astype(types) for table in known], ignore_index=True)
    return together[~together.duplicated(kinds)]
