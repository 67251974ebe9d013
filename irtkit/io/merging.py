"""Matrices of the same or other respondents and items, merged into one."""

from __future__ import annotations

from functools import reduce
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
        raise ValueError(f"repeats={short(repeats)} needs trials in order, but they were counted")
    kinds = ("respondents", "items")
    names = [dict.fromkeys(k for one in matrices for k in getattr(one, kind)) for kind in kinds]
    numbers = [dict(zip(labels, range(len(labels)), strict=True)) for labels in names]
    blocks, synthetic = [], np.zeros(len(names[0]), np.bool_)
    for one in matrices:
        row, column = (
            np.array([number[label] for label in getattr(one, kind)])
            for number, kind in zip(numbers, kinds, strict=True)
        )
        synthetic[row] |= one.synthetic
        rows, columns, codes = one.cells.rows()
        blocks.append((row[rows], column[columns], codes))
    rows, columns, codes = map(np.concatenate, zip(*blocks, strict=True))
    labels, sparse = (tuple(names[0]), tuple(names[1])), any(one.is_sparse for one in matrices)
    merged = ResponseMatrix.of_rows((rows, columns, codes), labels, repeats=repeats, sparse=sparse)
    items = _together(one.item_table for one in matrices)
    about = _together(one.respondent_table for one in matrices)
    metrics = _together(
        None if one.metrics is None else one.metrics.set_index(["respondent", "item", "metric"])
        for one in matrices
    )
    metrics = None if metrics is None else metrics.reset_index()
    predictions, source = _predictions(matrices), Source.merged(one.source for one in matrices)
    tables = items, about, metrics
    return merged.with_tables(*tables, synthetic=synthetic, predictions=predictions, source=source)


def repeats_of_parts(repeats: str) -> str:
    """Rule for repeats in each part of what a rule then merges: a share is of all trials."""
    return "count" if check_repeats(repeats) else repeats


def _together(tables: Iterable[Any]) -> Any:
    """Rows of all tables, each label's from the first table that has it."""
    import pandas as pd

    known = [table for table in tables if table is not None]
    together = pd.concat(known) if known else None
    return together if together is None else together[~together.index.duplicated()]


def _predictions(matrices: Iterable[ResponseMatrix]) -> Any:
    """Answers of all matrices, each from the first that has it; None where there are none."""
    known = [matrix.predictions for matrix in matrices if matrix.predictions is not None]
    return reduce(lambda one, other: one.combine_first(other), known) if known else None
