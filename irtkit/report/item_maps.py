"""Items as points: the map, average error, predictions; and measures of difficulty compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irtkit.difficulty.rank_agreement import rank_agreement
from irtkit.pictures import (
    NEGATIVE,
    SUSPECT,
    error_and_difficulty,
    item_map,
    predicted_and_fitted,
)
from irtkit.report import svg
from irtkit.report.html import listed, safe, section, table
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
    drawn = item_map(result, found.suspects)
    picture = svg.points(
        drawn,
        "Item map: difficulty and discrimination of every item",
        "difficulty",
        "discrimination (slope)",
        data="difficulty discrimination 1",
    )
    below = drawn.drawn & (drawn.y_values < 0) & (drawn.kind != NEGATIVE)
    n = int(below.sum()) if result.model in {"2PL", "3PL"} else 0
    slopes = "1 slope is" if n == 1 else f"{count(n)} slopes are"
    unsure = f"{slopes} estimated below 0, but may not be: no such item is called negative."
    told = [
        _MAP,
        *([unsure] if n else []),
        _points_caption(drawn, "all systems get them right, or none does, or none answered"),
    ]
    return section(
        "map",
        "Item map",
        f'<div class="beside"><figure>{picture}<figcaption>{" ".join(told)}</figcaption></figure>'
        '<div id="detail" class="detail scripted" role="region" aria-label="The chosen item">'
        "</div></div>",
    )


def average_error(found: Findings) -> str:
    """Average error and difficulty."""
    drawn = error_and_difficulty(found.result, found.suspects)
    picture = svg.points(
        drawn,
        "Average error and difficulty of every item that has a difficulty",
        "average error (share of systems that got it wrong)",
        "difficulty",
        data="average_error difficulty 2",
    )
    left_out = "they are flat, their slope is below 0, or all or no systems get them right"
    told = (
        "Items above each other have the same average error: where they spread upwards, the model "
        "tells them apart and average error does not."
    )
    return section(
        "error",
        "Average error and difficulty",
        f"<figure>{picture}<figcaption>{told} {_points_caption(drawn, left_out)}"
        "</figcaption></figure>",
    )


def predicted(found: Findings) -> str:
    """Predicted beside fitted difficulties, where some were given."""
    if found.predicted is None:
        return ""
    drawn = predicted_and_fitted(found.result, found.suspects, found.predicted)
    if drawn.drawn.sum() < 2:
        told = "<p>Fewer than two items have both a predicted and a fitted difficulty.</p>"
        return section("predicted", "Predicted difficulty", told)
    some = drawn.drawn
    rho = rank_agreement(drawn.x_values[some], drawn.y_values[some]).spearman
    picture = svg.points(
        drawn,
        "Predicted and fitted difficulty of every item that has both",
        "predicted difficulty",
        "fitted difficulty",
        data="predicted difficulty 4",
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
    kinds = [
        f'<span class="mark {kind}" aria-hidden="true">{sign}</span> {name} ({count(n)})'
        for kind, sign, name, n in (
            (
                "negative",
                "▲",
                "called negative",
                int((drawn.drawn & (drawn.kind == NEGATIVE)).sum()),
            ),
            (
                "suspect",
                "○",
                "suspect for other reasons",
                int((drawn.drawn & (drawn.kind == SUSPECT)).sum()),
            ),
        )
        if n
    ]
    told = [
        "A dot is an item, or several at one place: the larger, the more.",
        *([f"{'; '.join(kinds)}."] if kinds else []),
    ]
    if drawn.n_beyond:
        are = "lies" if drawn.n_beyond == 1 else "lie"
        told.append(f"{count(drawn.n_beyond, 'item')} {are} beyond an axis and stand at its end.")
    if drawn.n_left_out:
        have = "has" if drawn.n_left_out == 1 else "have"
        told.append(f"{count(drawn.n_left_out, 'item')} {have} no place: {left_out}.")
    return " ".join(told)


def comparison(found: Findings) -> str:
    """What `irtkit.compare_difficulties` says, where it was asked for."""
    if found.comparison is None:
        return ""
    pairs = found.comparison.pairs
    head = ["measures", "Spearman", "95 % interval", "Kendall"]
    body = [
        f'<tr><th scope="row">{safe(row["measure_1"])}, {safe(row["measure_2"])}</th>'
        f'<td class="number">{number(row["spearman"], 3)}</td>'
        f'<td class="number">{number(row["spearman_low"], 3)} to '
        f"{number(row['spearman_high'], 3)}</td>"
        f'<td class="number">{number(row["kendall"], 3)}</td></tr>'
        for row in pairs.to_dict("records")
    ]
    return section(
        "comparison",
        "Measures of difficulty compared",
        listed(found.comparison.summary),
        table("How far measures order the items alike", head, body, numeric=range(1, 4)),
    )
