"""Matrices of the same or other respondents and items, merged into one."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short
from irtkit.responses import ResponseMatrix, Source
from irtkit.responses.cells import CellBuilder, check_repeats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def merge_responses(
    matrices: Sequence[ResponseMatrix], *, repeats: str = "error"
) -> ResponseMatrix:
    """Merge response matrices: respondents and items in the order in which they first occur.

    Tables and metrics are merged, too: the first matrix that knows a label counts. The result is
    sparse if one of the matrices is. A cell of several matrices is an error unless ``repeats`` says
    otherwise, as in `irtkit.ResponseMatrix.from_long`.
    """
    check_repeats(repeats)
    if not matrices:
        raise ValueError("matrices must hold at least one matrix")
    if repeats in {"first", "last"} and any(matrix.has_repeats for matrix in matrices):
        raise ValueError(
            f"repeats={short(repeats)} needs the order of trials, but a file has only counts"
        )
    import pandas as pd

    names: Any = tuple(
        tuple(dict.fromkeys(chain.from_iterable(getattr(matrix, kind) for matrix in matrices)))
        for kind in ("respondents", "items")
    )
    of_rows: Any = pd.Index(names[0])
    of_columns: Any = pd.Index(names[1])
    synthetic = np.zeros(len(of_rows), np.bool_)
    builder = CellBuilder(repeats, sparse=any(matrix.is_sparse for matrix in matrices))
    for matrix in matrices:
        row = of_rows.get_indexer([*matrix.respondents])
        column = of_columns.get_indexer([*matrix.items])
        synthetic[row] |= matrix.synthetic
        right, tried = matrix.observed
        rows = np.repeat(row, np.diff(tried.indptr))
        builder.add(rows, column[tried.indices], right.data / tried.data, tried.data)
    cells = builder.build((len(of_rows), len(of_columns)))
    builder.refuse_repeats(names)
    merged = ResponseMatrix.of_cells(cells, names)
    tables = [matrix.metrics for matrix in matrices if matrix.metrics is not None]
    cell = ["respondent", "item", "metric"]
    metrics = _together(table.set_index(cell) for table in tables)
    answers = [matrix.predictions for matrix in matrices if matrix.predictions is not None]
    source = Source.merged(matrix.source for matrix in matrices)
    if source is not None:
        source = replace(source, shared_errors=_shared_errors(matrices, of_rows))
    return merged.with_tables(
        _together(matrix.item_table for matrix in matrices),
        _together(matrix.respondent_table for matrix in matrices),
        None if metrics is None else metrics.reset_index(),
        synthetic=synthetic,
        predictions=reduce(pd.DataFrame.combine_first, answers) if answers else None,
        source=source,
    )


def _shared_errors(matrices: Sequence[ResponseMatrix], systems: Any) -> dict[str, Any]:
    """Errors of severities of all panels of judges, which are independent, side by side.

    They move a score by the share that the matrix of the panel has in the answers of the system.
    """
    n_answers = np.zeros(len(systems))
    panels = []
    for matrix in matrices:
        row = systems.get_indexer([*matrix.respondents])
        n_of_matrix = np.diff(matrix.observed.trials.indptr)
        n_answers[row] += n_of_matrix
        given = {} if matrix.source is None else matrix.source.shared_errors
        if given:
            errors = np.array([given[name] for name in matrix.respondents])
            panel = np.zeros((len(systems), errors.shape[1]))
            panel[row] = n_of_matrix[:, None] * errors
            panels.append(panel)
    if not panels:
        return {}
    errors = np.hstack(panels) / np.maximum(n_answers, 1)[:, None]
    return dict(zip(systems, map(tuple, errors.tolist()), strict=True))


def repeats_of_parts(repeats: str) -> str:
    """Rule for repeats in each part of what a rule then merges: a share is of all trials."""
    return "count" if check_repeats(repeats) else repeats


def _together(tables: Iterable[Any]) -> Any:
    """Rows of all tables, each label's from the first table that has it."""
    import pandas as pd

    present = [table for table in tables if table is not None]
    together = pd.concat(present) if present else None
    return together if together is None else together[~together.index.duplicated()]
