"""How many options items have, and whether many systems score as guessing between them does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import is_whole, short
from irtkit.findings import Finding
from irtkit.responses.proposals import ask

if TYPE_CHECKING:
    from irtkit.responses.matrix import ResponseMatrix

_USUAL = (2, 3, 4, 5)  # Numbers of options.
_FEWEST_ITEMS = 400  # Two standard errors of an accuracy are then at most 0.05.
_FEWEST, _LEAST_SHARE = 3, 0.25  # Systems at chance that are many.
_BELOW = 0.023  # Share of guessing systems that score below two standard errors.


def with_options(matrix: ResponseMatrix, n_options: Any) -> ResponseMatrix:
    """Return the matrix with the number of options of every item in its table."""
    import pandas as pd

    if not is_whole(n_options) or n_options < 2:
        raise ValueError(f"options must be a whole number of at least 2, got {short(n_options)}")
    table = matrix.item_table
    table = pd.DataFrame(index=[*matrix.items]) if table is None else table
    tables = (matrix.respondent_table, matrix.metrics)
    return matrix.with_tables(table.assign(n_options=n_options), *tables)


def near_chance(matrix: ResponseMatrix) -> list[Finding]:
    """Say that many systems have an accuracy near 1/2, 1/3, 1/4 or 1/5, and hardly any a lower one.

    Near is within two standard errors. Lower are no more than guessing explains, also within two
    standard errors. The numbers of options are not known.
    """
    table = matrix.item_table
    if matrix.has_scores or (table is not None and {"n_options", "kind"} & {*table.columns}):
        return []
    cells = matrix.cells
    right, tried = cells.stored if cells.is_sparse else (cells.successes, cells.trials)
    n_right, n_tried = right.sum(axis=1, dtype=np.int64), tried.sum(axis=1, dtype=np.int64)
    judged = ~matrix.synthetic & (n_tried >= _FEWEST_ITEMS)
    accuracy, n_judged = n_right[judged] / n_tried[judged], int(judged.sum())
    counts = {}
    for n_options in _USUAL:
        level = 1 / n_options
        reach = 2 * np.sqrt(level * (1 - level) / n_tried[judged])
        near = np.count_nonzero(abs(accuracy - level) <= reach)
        below = np.count_nonzero(accuracy < level - reach)
        by_guessing = _BELOW * (near + below)
        counts[n_options] = near if below <= by_guessing + 2 * np.sqrt(by_guessing) else 0
    likeliest = max(counts, key=counts.__getitem__)
    n_near = int(counts[likeliest])
    if n_near < max(_FEWEST, _LEAST_SHARE * n_judged):
        return []
    values = {"n": n_near, "n_systems": n_judged, "level": 1 / likeliest, "n_options": likeliest}
    return [Finding("near-chance", "note", values, (ask("options", options=likeliest),))]
