"""Results as notebooks show them: words, small tables, a few curves; neither script nor style.

Sites that show notebooks take styles and scripts away, so there are none: colours stand in the
pictures, and tables look as tables of the notebook do. Labels are escaped and cut.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.summary import about, hardest_first
from irtkit.data.slopes import called_negative
from irtkit.difficulty.comparison import measures_legend
from irtkit.findings import reasons_text
from irtkit.pictures import item_curves, ranking
from irtkit.report import svg
from irtkit.report.html import paragraphs, safe
from irtkit.report.words import LABEL, count, cut, number, share, shown
from irtkit.systems.printed import board_legend, comparison_sentences, scores_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison
    from irtkit.responses import ResponseMatrix
    from irtkit.suspects import Audit
    from irtkit.systems import SystemComparison

_ROWS, _ITEMS = 5, 8
"""Rows of a table, as many as ``head`` of pandas shows, and columns of a matrix."""
_CURVES = 4
"""Items whose curves are drawn: one row."""
_LABEL, _SHORT = 24, 20
"""Characters of a label above a curve, and of one that heads a column."""
_HARDEST = (
    *("discrimination", "difficulty", "average_error"),
    *("p_negative", "n_responses", "status"),
)
_BLANK = "Difficulty is blank where an item is flat or its slope is below 0."
_SYSTEMS = 10
"""Systems of a board that are shown and drawn: its top, which fits a screen."""


def of_result(result: FitResult) -> str:
    """A fit: what `print` says of it, the hardest items, the ablest respondents, inverted items."""
    items, respondents = result.items, result.respondents
    hardest = hardest_first(items).head(_ROWS)
    real = respondents.iloc[result.best_first[:_ROWS]]
    by = "highest-scoring" if result.at_chance else "ablest"
    called = items[called_negative(items["p_negative"], slope=items["discrimination"].to_numpy())]
    worst = called.nlargest(_CURVES, "p_negative").index
    parts = [
        paragraphs(about(result)),
        _table(
            "items with the highest average error, of those that some get right",
            hardest[list(_HARDEST)],
        ),
        paragraphs([_BLANK] if hardest["difficulty"].isna().any() else []),
        _table(f"{by} respondents", real[["ability", "ability_se", "accuracy", "n_responses"]]),
        _curves(result, list(worst), "items called negative, the most probable first"),
    ]
    return _scoped(parts)


def of_responses(responses: ResponseMatrix) -> str:
    """A matrix: its size and share right, and the corner of it."""
    import pandas as pd

    rows, columns = min(_ROWS, responses.n_respondents), min(_ITEMS, responses.n_items)
    observed = responses.observed
    right, tried = (table[:rows, :columns].toarray() for table in observed)
    total = int(observed.trials.sum(dtype=np.int64))
    right_of_all = share(int(observed.successes.sum(dtype=np.int64)) / total)
    repeated = responses.has_repeats
    cells = [
        [
            "" if not tried[i, j] else f"{right[i, j]}/{tried[i, j]}" if repeated else right[i, j]
            for j in range(columns)
        ]
        for i in range(rows)
    ]
    corner = pd.DataFrame(
        cells,
        pd.Index(responses.respondents[:rows], name="respondent"),
        [cut(name, _SHORT) for name in responses.items[:columns]],
        dtype=object,
    )
    caption = f"the first {count(rows, 'respondent')} and {count(columns, 'item')}"
    caption = caption if rows * columns > 1 else "the response"
    return _scoped([paragraphs([f"{responses!r}, {right_of_all} right"]), _table(caption, corner)])


def of_comparison(comparison: DifficultyComparison) -> str:
    """A comparison: its sentences, and the correlations."""
    columns = ["measure_2", "spearman", "spearman_low", "spearman_high", "kendall", "n_items"]
    pairs = comparison.pairs.set_index("measure_1")[columns]
    first = f"Difficulty of {count(len(comparison.table), 'item')}, {comparison.model}"
    listed = "".join(f"<li>{safe(one)}</li>" for one in comparison.summary)
    return _scoped(
        [
            paragraphs([first]),
            f"<ul>{listed}</ul>",
            _table("pairs of measures", pairs, 3),
            paragraphs([f"{measures_legend(comparison.table)}."]),
        ]
    )


def of_audit(found: Audit) -> str:
    """An audit: its sentences, the first suspects, and their curves."""
    suspects = found.suspects.assign(reasons=found.suspects["reasons"].map(reasons_text))
    kept = ["reasons", "p_negative", "wrong_key", "discrimination", "average_error"]
    worst = list(suspects.index[:_CURVES])
    return _scoped(
        [
            paragraphs(found.summary),
            _table("suspect items, most probably negative first", suspects[kept].head(2 * _ROWS)),
            _curves(found.result, worst, "their curves, the first of them"),
        ]
    )


def of_systems(found: SystemComparison) -> str:
    """Two systems: what is said of them, and the items on which they differ most."""
    first = found.items.head(_ROWS)
    names = {"accuracy": cut(found.system, _SHORT), "other_accuracy": cut(found.other, _SHORT)}
    caption = "items on which they differ most from what is expected"
    return _scoped(
        [paragraphs(comparison_sentences(found)), _table(caption, first.rename(columns=names))]
    )


def of_board(board: pd.DataFrame, level: float) -> str:
    """A leaderboard: the first systems, their ranks drawn, and what the columns mean."""
    first = board.head(_SYSTEMS)
    kept = ["rank", "between", "tied", "score", "ability"]
    kept += [name for name in ("family", "component") if name in board]
    rows = first.assign(
        between=[f"{row.rank_low}…{row.rank_high}" for row in first.itertuples()],
        tied=first["group"],
        score=scores_in_words(first),
    )
    drawn = ranking(board, _SYSTEMS)
    picture = "" if "component" in board else svg.ranks(drawn, "Ranks with their intervals")
    caption = f"the first {len(first)} of {count(len(board), 'system')}"
    legend = [f"{one}." for one in board_legend(board, level, kept)]
    return _scoped([_table(caption, rows[kept]), _wide(picture), paragraphs(legend)])


def _scoped(parts: Iterable[str]) -> str:
    return f'<div class="irtkit">{"".join(parts)}</div>'


def _table(caption: str, frame: pd.DataFrame, decimals: int = 2) -> str:
    """A small table by the index and columns of a frame; nothing without rows."""
    if not len(frame):
        return ""
    names = [frame.index.name or "", *frame.columns]
    head = "".join(f'<th scope="col">{safe(str(name)).replace("_", " ")}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{shown(label)}</th>'
        + "".join(f"<td>{_cell(value, decimals)}</td>" for value in row)
        + "</tr>"
        for label, row in zip(frame.index, frame.to_numpy(dtype=object), strict=True)
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _cell(value: Any, decimals: int) -> str:
    if isinstance(value, float):
        return number(value, decimals)
    return "" if value is None else shown(value)


def _curves(result: FitResult, items: Sequence[str], caption: str) -> str:
    """Curves in one row."""
    if not len(items):
        return ""
    cells = "".join(
        f"<td>{shown(curve.item, _LABEL)}<br>"
        f"{_sized(svg.item_curve(curve, cut(curve.item, LABEL)), 260)}</td>"
        for curve in item_curves(result, items)
    )
    row = f'<table role="presentation"><tbody><tr>{cells}</tr></tbody></table>'
    return f"<p>{escape(caption)}:</p>{row}"


def _wide(picture: str) -> str:
    return f"<p>{_sized(picture, 640)}</p>" if picture else ""


def _sized(picture: str, width: int) -> str:
    """A picture that has a width without a style."""
    return picture.replace("<svg ", f'<svg width="{width}" ', 1)
