"""Results as notebooks show them: words, small tables and a few curves, without style or script.

Sites that show notebooks remove styles and scripts, so both are left out. Colours stand in the
pictures, and tables look as tables of the notebook do. Labels are escaped and cut.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import escape

from irtkit.calibration import FitResult
from irtkit.calibration.summary import about, hardest_first
from irtkit.checks import counted
from irtkit.data.slopes import called_negative
from irtkit.difficulty.comparison import DifficultyComparison, measures_legend
from irtkit.findings import reasons_text
from irtkit.pictures.fitted import item_curves
from irtkit.report.page import HARDEST, board_table, pairs_table
from irtkit.report.templates import cut, environment
from irtkit.responses import ResponseMatrix
from irtkit.suspects.audit import Audit
from irtkit.suspects.health import Health
from irtkit.systems.comparison import SystemComparison
from irtkit.systems.leaderboard import Board
from irtkit.systems.printed import board_legend, comparison_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable


_ROWS, _ITEMS = 5, 8  # Rows of a table, as of `head` of pandas, and columns of a matrix.
_CURVES = 4  # Items whose curves are drawn: one row.
_SHORT = 20  # Characters of a label that heads a column.
_SYSTEMS = 10  # Systems of a leaderboard that are shown.


@singledispatch
def html_of(shown: object) -> str:
    """HTML of a result for a notebook."""
    return f"<pre>{escape(str(shown))}</pre>"


@html_of.register(FitResult)
def of_result(result: FitResult) -> str:
    """A fit: what `print` shows, the hardest items, the best respondents, and reversed items."""
    items = result.items
    hardest = hardest_first(items).head(_ROWS)[list(HARDEST)]
    blank = "Difficulty is blank where an item is flat or its discrimination is below 0."
    real = result.respondents.iloc[result.best_first[:_ROWS]]
    real = real[[*real.filter(like="ability"), "accuracy", "n_responses"]]
    by = "ability" if "ability" in real and not result.at_chance else "score"
    called = items[called_negative(items["p_negative"], slope=items["discrimination"].to_numpy())]
    worst = list(called.nlargest(_CURVES, "p_negative").index)
    return _shown(
        about(result),
        (
            "items with the highest average error (without those that no system gets right)",
            hardest,
            ["status"],
        ),
        [blank] if hardest["difficulty"].isna().any() else [],
        (f"respondents with the highest {by}", real),
        (
            "items with negative discrimination, the most probable first",
            worst,
            item_curves(result, worst),
        ),
    )


@html_of.register(ResponseMatrix)
def of_responses(responses: ResponseMatrix) -> str:
    """A matrix: its size and accuracy, and its corner."""
    rows, columns = min(_ROWS, responses.n_respondents), min(_ITEMS, responses.n_items)
    observed = responses.observed
    right, tried = (table[:rows, :columns].toarray() for table in observed)
    share = float(observed.successes.sum(dtype=np.float64) / observed.trials.sum(dtype=np.float64))
    texts = right.astype(str).astype(object)
    if responses.has_repeats:
        texts = texts + "/" + tried.astype(str)
    respondents = pd.Index(responses.respondents[:rows], name="respondent")
    items = [cut(name, _SHORT) for name in responses.items[:columns]]
    caption = f"the first {counted(rows, 'respondent')} and {counted(columns, 'item')}"
    corner = pd.DataFrame(np.where(tried > 0, texts, ""), respondents, items)
    mean = f"a mean of {share:.1%}" if responses.has_scores else f"{share:.1%} right"
    return _shown([f"{responses!r}, {mean}"], (caption, corner))


@html_of.register(DifficultyComparison)
def of_comparison(comparison: DifficultyComparison) -> str:
    """A comparison: its sentences, and the correlations."""
    first = f"Difficulty of {counted(len(comparison.table), 'item')}, {comparison.model}"
    return _shown(
        [first, *comparison.summary],
        ("pairs of measures", pairs_table(comparison), ["measure_2"], 3),
        [f"{measures_legend(comparison.table)}."],
    )


@html_of.register(Audit)
def of_audit(audit: Audit) -> str:
    """An audit: its sentences, the first suspects, and their curves."""
    first = audit.suspects.head(2 * _ROWS)
    worst = list(first.index[:_CURVES])
    columns = ["reasons", "p_negative", "wrong_key", "ability", "discrimination", "average_error"]
    table = first.assign(reasons=first["reasons"].map(reasons_text))
    table = table[[name for name in columns if name in table]]
    return _shown(
        audit.summary,
        ("suspect items, the surest first", table, ["reasons", "ability"]),
        ("their curves, the first of them", worst, item_curves(audit.result, worst)),
    )


@html_of.register(Health)
def of_health(health: Health) -> str:
    """Health of a benchmark: its sentences, the table, and the first near-duplicate items."""
    pairs = [(*health.first_pairs(_ROWS), ["other"])] if len(health.near_duplicates) else []
    legend = [f"{health.legend}."]
    return _shown(health.summary, ("benchmark health", health.table), legend, *pairs)


@html_of.register(SystemComparison)
def of_systems(comparison: SystemComparison) -> str:
    """Two systems: the comparison in words, and the items on which they differ most."""
    names = {
        "accuracy": cut(comparison.system, _SHORT),
        "other_accuracy": cut(comparison.other, _SHORT),
    }
    table = comparison.items.head(_ROWS).rename(columns=names)
    caption = "items on which they differ most from what is expected"
    return _shown(comparison_sentences(comparison), (caption, table))


@html_of.register(Board)
def of_board(board: Board) -> str:
    """A leaderboard: the first systems with their ranks drawn, and what the columns mean."""
    table = board_table(board.table, _SYSTEMS)
    caption = f"the first {len(table)} of {counted(len(board.table), 'system')}"
    legend = board_legend(board.table, board.level, [str(name) for name in table], board.of)
    return _shown((caption, table), [f"{sentence}." for sentence in legend])


def _shown(*parts: Iterable[str] | tuple[Any, ...]) -> str:
    """Sentences, and tables and curves by the arguments of their macros."""
    macros: Any = environment().get_template("parts.html.jinja").module
    shown = []
    for part in parts:
        if not isinstance(part, tuple):
            shown.append(macros.paragraphs(part))
        elif len(part[1]):
            macro = macros.curves if isinstance(part[1], list) else macros.table
            shown.append(macro(*part))
    return f'<div class="irtkit">{"".join(shown)}</div>'
