"""Results as notebooks show them: words, small tables and a few curves, without style or script.

Sites that show notebooks remove styles and scripts, so both are left out. Colours stand in the
pictures, and tables look as tables of the notebook do. Labels are escaped and cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from irtkit.calibration import FitResult
from irtkit.checks import counted
from irtkit.data.slopes import called_negative
from irtkit.pictures.fitted import item_curves
from irtkit.printed import Shown
from irtkit.report.page import board_drawn
from irtkit.report.templates import cut, environment
from irtkit.responses import ResponseMatrix
from irtkit.suspects.audit import Audit
from irtkit.systems.leaderboard import Board

_TOP = 10  # Rows of other tables.
_CURVES = 4  # Items whose curves are drawn: one row.


def html_of(result: Any) -> str:
    """HTML of a result for a notebook."""
    items: list[str] = []
    fit: Any = None
    if isinstance(result, ResponseMatrix):
        # as many rows as `head` of pandas shows
        rows = min(5, result.n_respondents)
        columns = min(8, result.n_items)
        observed = result.observed
        right, tried = (table[:rows, :columns].toarray() for table in observed)
        n_right = observed.successes.sum(dtype=np.float64)
        share = float(n_right / observed.trials.sum(dtype=np.float64))
        texts = right.astype(str).astype(object)
        if result.has_repeats:
            texts = texts + "/" + tried.astype(str)
        respondents = pd.Index(result.respondents[:rows], name="respondent")
        names = [cut(name, 20) for name in result.items[:columns]]
        corner = pd.DataFrame(np.where(tried > 0, texts, ""), respondents, names)
        caption = f"the first {counted(rows, 'system')} and {counted(columns, 'item')}"
        mean = f"a mean of {share:.1%}" if result.has_scores else f"{share:.1%} right"
        shown = Shown(caption, corner, findings=[f"{result!r}, {mean}"])
    elif isinstance(result, Board):
        shown = board_drawn(result.shown(), result.table.head(_TOP))
    else:
        shown = result.shown()
    if isinstance(result, FitResult):
        fit = result
        table = fit.items
        slope = table["discrimination"].to_numpy()
        called = table[called_negative(table["p_negative"], slope=slope)]
        items = list(called.nlargest(_CURVES, "p_negative").index)
    if isinstance(result, Audit):
        fit = result.result
        items = list(result.suspects.index[:_CURVES])
    macros: Any = environment().get_template("parts.html.jinja").module
    curves = (
        macros.curves("curves of suspect items", items, item_curves(fit, items)) if items else ""
    )
    return f'<div class="irtkit">{macros.shown(shown, _TOP)}{curves}</div>'
