"""Systems with their ranks, and how precisely the items measure them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from irtkit.pictures import precision, ranking, wright_map
from irtkit.report import svg
from irtkit.report.findings import LEVEL
from irtkit.report.html import safe, section, table
from irtkit.report.words import count, number, shown
from irtkit.systems.printed import FROM_TO, board_legend, scores_in_words

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.report.findings import Findings


_SYSTEMS = 40
"""Systems in picture and table: a page of paper. 130 would make three."""
_LABEL, _FAMILY = 28, 20
"""Characters of a label and of a family that fit beside the numbers on a laptop."""


def systems(found: Findings) -> str:
    """The leaderboard."""
    board = found.board
    if board is None:
        many = (
            f"{count(found.result.n_answering)} systems are too many to compare every pair: they "
            "are not ranked."
        )
        return section("systems", "Systems", f"<p>{many}</p>")
    legend = [f"{one}." for one in board_legend(board, LEVEL, [FROM_TO])]
    if "component" in board:
        legend.insert(0, "Ranks are within parts that can be compared; parts follow each other.")
    if len(board) > _SYSTEMS:
        legend.append(f"The first {_SYSTEMS} of {count(len(board))} systems are shown.")
    return section(
        "systems",
        "Systems",
        _board_table(board),
        f'<p class="caption">{" ".join(map(safe, legend))}</p>',
    )


def _board_table(board: pd.DataFrame) -> str:
    """The first systems, each with its rank drawn."""
    drawn, scores = ranking(board, _SYSTEMS), scores_in_words(board)
    known = [name for name in ("family", "component") if name in board]
    highest = count(int(drawn.rank_high.max()))
    numeric = ("rank", "between", "tied", "score", "ability", FROM_TO, "responses")
    columns = {"system": False, f"rank drawn, 1 to {highest}": False}
    columns |= dict.fromkeys(numeric, True) | dict.fromkeys(known, False)
    rows = [
        (
            shown(str(label), _LABEL),
            svg.rank_bar(drawn, k),
            f"{row['rank']}",
            f"{row['rank_low']}…{row['rank_high']}",
            str(row["group"]),
            scores[k],
            number(row["ability"]),
            f"{number(row['ability_low'])} … {number(row['ability_high'])}",
            count(int(row["n_responses"])),
            *(shown("" if row[name] is None else row[name], _FAMILY) for name in known),
        )
        for k, (label, row) in enumerate(board.head(_SYSTEMS).iterrows())
    ]
    return table("Leaderboard", columns, rows, css="board")


def _with_minus(sentence: str) -> str:
    """A sentence without labels, its numbers with a true minus sign, as beside the pictures."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", sentence)


def measurement(found: Findings) -> str:
    """Wright map and information."""
    drawn, places = precision(found.result), wright_map(found.result)
    wright = svg.wright(places, "Abilities of systems beside difficulties of items")
    curve = svg.information(drawn, "Information of all items along ability")
    beyond = ""
    if places.n_beyond:
        beyond = f" {count(places.n_beyond, 'item')} beyond the scale are in the outermost bars."
    without = ""
    if places.n_left_out:
        without = (
            f" {count(places.n_left_out, 'item')} without a difficulty to speak of are left out."
        )
    how = (
        "How many systems have an ability (left) and how many items that difficulty (right): items "
        "measure best near their difficulties." + beyond + without
    )
    return section(
        "precision",
        "How precisely the items measure",
        f'<div class="beside even"><figure>{wright}<figcaption>{how}</figcaption></figure>'
        f"<figure>{curve}<figcaption>Information of all items; the standard error of an ability "
        "is 1 over its square root. Marks at the bottom are systems. "
        f"{safe(_with_minus(str(drawn.measured)))}</figcaption></figure></div>",
    )
