"""Items as points: the map, average error, predictions; and measures of difficulty compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.summary import readable_difficulty
from irtkit.difficulty.comparison import measures_legend
from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.pictures import NEGATIVE, SUSPECT
from irtkit.printed import percent
from irtkit.report import svg
from irtkit.report.columns import ON_ERROR_MAP, ON_ITEM_MAP, ON_PREDICTED_MAP
from irtkit.report.findings import LEVEL
from irtkit.report.html import listed, mark, safe, section, table
from irtkit.report.suspect_items import curve_caption
from irtkit.report.words import count, number

if TYPE_CHECKING:
    from irtkit.pictures import ItemPoints
    from irtkit.report.findings import Findings

_MAP = (
    "Difficulty is the ability at which half get the item right, guessing apart; discrimination, "
    "the slope, is how steeply the share right rises there. Below 0 it falls."
)


def item_map_section(found: Findings) -> str:
    """Difficulty and discrimination, beside the panel of the chosen item."""
    result = found.result
    drawn = found.item_map
    picture = svg.points(
        drawn,
        "Item map: difficulty and discrimination of every item",
        "difficulty",
        "discrimination (slope)",
        columns=("difficulty", "discrimination"),
        flag=ON_ITEM_MAP,
    )
    below = drawn.visible & (drawn.y_values < 0) & (drawn.kind != NEGATIVE)
    n = int(below.sum()) if result.model in {"2PL", "3PL"} else 0
    slopes = "1 slope is" if n == 1 else f"{count(n)} slopes are"
    unsure = f"{slopes} estimated below 0, but not significantly."
    left_out = "all systems right, or none, or no answer"
    caption = [_MAP, *_without_difficulty(found), *([unsure] if n else [])]
    below_it = " ".join([*caption, _points_caption(drawn, left_out)])
    return section(
        "map",
        "Item map",
        f'<div class="beside"><figure>{picture}<figcaption>{below_it}</figcaption></figure>'
        '<div id="detail" class="detail scripted" role="region" aria-label="The chosen item">'
        "</div></div>",
        "" if len(found.suspects) else _of_the_curve(found),
    )


def _of_the_curve(found: Findings) -> str:
    """What is drawn of the chosen item, where no suspect's curve stands before it."""
    return f'<p class="caption scripted">The curve of an item. {curve_caption(found)}</p>'


def _without_difficulty(found: Findings) -> list[str]:
    """That some items of the map have no difficulty elsewhere, and what their place says."""
    drawn = found.item_map
    n = int((drawn.visible & ~np.isfinite(readable_difficulty(found.result.items))).sum())
    if not n:
        return []
    are, their = ("is flat or has", "its") if n == 1 else ("are flat or have", "their")
    sentence = (
        f"{count(n, 'item')} here {are} a slope below 0: {their} place from left to right does not "
        f"say how hard, and elsewhere {their} difficulty is blank."
    )
    return [sentence]


def average_error(found: Findings) -> str:
    """Average error and difficulty."""
    drawn = found.error_map
    picture = svg.points(
        drawn,
        "Average error and difficulty of every item that has a difficulty",
        "average error (share of systems that got it wrong)",
        "difficulty",
        columns=("average_error", "difficulty"),
        flag=ON_ERROR_MAP,
    )
    left_out = "flat, a slope below 0, all systems right, or none, or no answer"
    how = (
        "Items above each other have the same average error: where they spread upwards, the model "
        "tells them apart and average error does not."
    )
    return section(
        "error",
        "Average error and difficulty",
        f"<figure>{picture}<figcaption>{how} {_points_caption(drawn, left_out)}"
        "</figcaption></figure>",
    )


def predicted(found: Findings) -> str:
    """Predicted beside fitted difficulties, where some were given."""
    drawn = found.predicted_map
    if drawn is None:
        return ""
    some = drawn.visible
    if some.sum() < 2:
        few = "<p>Fewer than two items have both a predicted and a fitted difficulty.</p>"
        return section("predicted", "Predicted difficulty", few)
    rho = spearman(levels(drawn.x_values[some]), levels(drawn.y_values[some]))
    picture = svg.points(
        drawn,
        "Predicted and fitted difficulty of every item that has both",
        "predicted difficulty",
        "fitted difficulty",
        columns=("predicted", "difficulty"),
        flag=ON_PREDICTED_MAP,
    )
    left_out = "no prediction, or no difficulty to speak of"
    n = count(int(some.sum()), "item")
    return section(
        "predicted",
        "Predicted difficulty",
        f"<figure>{picture}<figcaption>Spearman correlation {number(rho, 3)} over {n}. "
        f"{_points_caption(drawn, left_out)}</figcaption></figure>",
    )


def _points_caption(drawn: ItemPoints, left_out: str) -> str:
    """What the marks of a picture of items are, and what is not where it belongs."""
    marks = ((NEGATIVE, "called negative"), (SUSPECT, "suspect for other reasons"))
    kinds = [
        f"{mark(kind)} {name} ({count(n)})"
        for kind, name in marks
        if (n := int((drawn.visible & (drawn.kind == kind)).sum()))
    ]
    sentences = [
        "A dot is an item, or several at one place: the larger, the more.",
        *([f"{'; '.join(kinds)}."] if kinds else []),
    ]
    if drawn.n_beyond:
        lie, stand = ("lies", "stands") if drawn.n_beyond == 1 else ("lie", "stand")
        sentences.append(
            f"{count(drawn.n_beyond, 'item')} {lie} beyond an axis and {stand} at its end."
        )
    if drawn.n_left_out:
        have = "has" if drawn.n_left_out == 1 else "have"
        sentences.append(f"{count(drawn.n_left_out, 'item')} {have} no place ({left_out}).")
    return " ".join(sentences)


def comparison(found: Findings) -> str:
    """What `irtkit.compare_difficulties` says, where it was asked for."""
    if found.comparison is None:
        return ""
    sure = f"{percent(LEVEL)} interval"
    columns = {"measures": False, "Spearman": True, sure: True, "Kendall": True}
    rows = [
        (
            safe(f"{row['measure_1']}, {row['measure_2']}"),
            number(row["spearman"], 3),
            f"{number(row['spearman_low'], 3)} to {number(row['spearman_high'], 3)}",
            number(row["kendall"], 3),
        )
        for row in found.comparison.pairs.to_dict("records")
    ]
    return section(
        "comparison",
        "Measures of difficulty compared",
        listed(found.comparison.summary),
        table("How far measures order the items alike", columns, rows),
        f'<p class="caption">{safe(measures_legend(found.comparison.table))}.</p>',
    )
