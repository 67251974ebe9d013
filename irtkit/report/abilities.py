"""The page of a fit with several abilities: what they are, and who has how much of each."""

from __future__ import annotations

import base64
import hashlib
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from irtkit.irf import Z95
from irtkit.report.templates import environment, number_text
from irtkit.responses import item_texts
from irtkit.systems.scores import MOST_SYSTEMS

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.suspects import Audit

_LEVEL = 0.95
_SYSTEMS, _SUSPECTS, _HARDEST, _PAIRS = 100, 50, 40, 20  # Rows of tables.
_TEXTS = ["strong_answer", "marked_right", "text", "target"]


def page_of_abilities(result: FitResult, title: str, audited: Audit, fdr: float) -> str:
    """The whole page, HTML."""
    board = by_task = systems = None
    if result.n_answering <= MOST_SYSTEMS:
        board = result.leaderboard(level=_LEVEL)
        systems = _systems(result, board.head(_SYSTEMS))
        if result.several.tasks is not None:
            by_task = result.leaderboard(by="task", level=_LEVEL).head(_SYSTEMS)
            by_task = 100 * by_task.filter(regex="^(average$|score_)")
            by_task = by_task.rename(columns=lambda name: name.removeprefix("score_"))
    texts = item_texts(result.responses)
    known: Any = {} if texts is None else texts.get("text", {})
    described = [
        (name, [(item, known.get(item)) for item in items], people)
        for name, (items, people) in zip(
            result.ability_names, result.several.first_of_each(result), strict=True
        )
        if items
    ]
    pairs = result.ability_correlations.sort_values("correlation", ascending=False)
    pairs = pairs.head(_PAIRS if result.structure != "bifactor" else 0)
    suspects = audited.suspects.head(_SUSPECTS).drop(columns=["reasons", "suspect"])
    for name in suspects.columns.intersection(_TEXTS):
        suspects[name] = suspects[name].astype(object).where(suspects[name].notna(), "")
    items = result.items.drop(columns=["n_responses"])
    some = items[(items["average_error"] < 1) & (items["status"] == "ok")]
    style = files("irtkit.report").joinpath("report.css").read_text(encoding="utf-8")
    return (
        environment()
        .get_template("abilities.html.jinja")
        .render(
            title=title,
            result=result,
            audit=audited,
            fdr=fdr,
            abilities=result.abilities[["n_items", "reliability"]],
            described=described,
            pairs=pairs.set_index("ability").dropna(axis=1, how="all"),
            board=board,
            systems=systems,
            by_task=by_task,
            suspects=suspects,
            hardest=some.sort_values("average_error", ascending=False, kind="stable").head(
                _HARDEST
            ),
            level=_LEVEL,
            version=version("irtkit"),
            hashes=[base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()],
            style=Markup(style),  # noqa: S704  # of the package
        )
    )


def _systems(result: FitResult, board: pd.DataFrame) -> pd.DataFrame:
    """The first systems as they are shown, with every ability and its interval."""
    columns: dict[str, Any] = {
        "rank": board["rank"],
        "between": board["rank_low"].astype(str) + "…" + board["rank_high"].astype(str),
        "tied": board["group"],
        "score": [f"{100 * score:.1f}%" for score in board["expected_score"]],
    }
    people = result.respondents.loc[board.index]
    for name in result.ability_names:
        value, error = people[f"ability_{name}"], Z95 * people[f"ability_{name}_se"]
        parts = (np.stack([value, value - error, value + error], axis=1)).tolist()
        columns[name] = ["{} ({} … {})".format(*map(number_text, row)) for row in parts]
    return board[[]].assign(**columns).rename_axis("system")
