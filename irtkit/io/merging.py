"""Matrices of the same or other respondents and items, merged into one."""

from __future__ import annotations

from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short
from irtkit.responses import ResponseMatrix, Source
from irtkit.responses.cells import check_repeats

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

    labels: Any = [
        tuple(dict.fromkeys(chain.from_iterable(getattr(one, kind) for one in matrices)))
        for kind in ("respondents", "items")
    ]
    blocks, synthetic = [], np.zeros(len(labels[0]), np.bool_)
    for one in matrices:
        row = pd.Index(labels[0]).get_indexer([*one.respondents])
        column = pd.Index(labels[1]).get_indexer([*one.items])
        synthetic[row] |= one.synthetic
        rows, columns, codes = one.cells.rows()
        blocks.append((row[rows], column[columns], codes))
    cells: Any = tuple(map(np.concatenate, zip(*blocks, strict=True)))
    sparse = any(one.is_sparse for one in matrices)
    merged = ResponseMatrix.of_rows(cells, tuple(labels), repeats=repeats, sparse=sparse)
    metrics = _together(
        None if one.metrics is None else one.metrics.set_index(["respondent", "item", "metric"])
        for one in matrices
    )
    answers = [one.predictions for one in matrices if one.predictions is not None]
    return merged.with_tables(
        _together(one.item_table for one in matrices),
        _together(one.respondent_table for one in matrices),
        None if metrics is None else metrics.reset_index(),
        synthetic=synthetic,
        predictions=reduce(pd.DataFrame.combine_first, answers) if answers else None,
        source=Source.merged(one.source for one in matrices),
    )


def repeats_of_parts(repeats: str) -> str:
    """Rule for repeats in each part of what a rule then merges: a share is of all trials."""
    return "count" if check_repeats(repeats) else repeats


def _together(tables: Iterable[Any]) -> Any:
    """Rows of all tables, each label's from the first table that has it."""
    import pandas as pd

    known = [table for table in tables if table is not None]
    together = pd.concat(known) if known else None
    return together if together is None else together[~together.index.duplicated()]
