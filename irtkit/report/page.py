"""The page of a fit, which the template `report.html.jinja` makes of an audit and a leaderboard.

Nothing in the page is loaded from elsewhere. One script runs, which the page names by its hash
(Content-Security-Policy), and which may not make elements of texts. Without it, only the panel of
an item, the search, and the items after the hardest of their table are missing. The page says no
more than :func:`irtkit.audit`, ``result.leaderboard()`` and ``result.findings`` do.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from irtkit.calibration.result import AT_CHANCE
from irtkit.calibration.summary import called_items, hardest_first, quality_finding
from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.findings import reasons_text
from irtkit.pictures import fitted
from irtkit.pictures.picture import Axis
from irtkit.pictures.svg import svg
from irtkit.report.columns import data_block
from irtkit.report.templates import environment, link, number_text, strong_answer
from irtkit.responses import item_texts
from irtkit.systems.leaderboard import ranked
from irtkit.systems.printed import board_shown
from irtkit.systems.scores import MOST_SYSTEMS
from irtkit.systems.tasks import sizes_of_tasks

if TYPE_CHECKING:
    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison
    from irtkit.printed import Shown
    from irtkit.suspects import Audit
    from irtkit.suspects.health import Health

_LEVEL, _REACH = 0.95, 1.959964  # Coverage of the intervals of the page, half of one in errors.
_CARDS = 8  # Suspects whose curves are drawn: two rows of four.
_SUSPECTS, _HARDEST, _SYSTEMS, _PAIRS = 100, 50, 40, 20  # Rows of tables: a page or two of paper.
_EVIDENCE = (
    *("p_wrong_key", "p_negative", "log_bayes_factor", "best_right", "weakest_right"),
    *("discrimination", "average_error"),
)
HARDEST = ("average_error", "difficulty", "discrimination", "p_negative", "n_responses", "status")
"""Columns of the hardest items."""


def page_of(
    result: FitResult,
    title: str,
    audited: Audit,
    measured: Health,
    difficulties: pd.Series[float] | None,
    comparison: DifficultyComparison | None,
    fdr: float,
) -> str:
    """The whole page, HTML."""
    suspects, n_items = audited.suspects, len(result.item_labels)
    rankable = result.n_answering <= MOST_SYSTEMS
    board, limits = ranked(result, level=_LEVEL) if rankable else (None, [])
    systems = None
    if board is not None:
        systems = board_drawn(board_shown(board, _LEVEL), board.head(_SYSTEMS))
    tasks = rankable and bool(sizes_of_tasks(result))
    board_by_task, more = ranked(result, level=_LEVEL, by="task") if tasks else (None, [])
    limits += [finding for finding in more if finding not in limits]
    maps = [fitted.item_map(result, suspects), fitted.error_map(result, suspects)]
    rho = None
    if difficulties is not None:
        maps.append(fitted.error_map(result, suspects, difficulties))
        x, y = np.hstack([(mark.x, mark.y) for mark in maps[2].points])
        rho = spearman(levels(x), levels(y)) if len(x) > 1 else np.nan
    doubted, standard = result.one_ability_doubted, result.quality_standard
    called = called_items(audited.n_negative, n_items, fdr, doubted=doubted)
    hidden = ["p_negative"] if audited.clustered else []  # that of the suspects is by family
    style, script = (
        files("irtkit.report").joinpath(f"report.{kind}").read_text(encoding="utf-8")
        for kind in ("css", "js")
    )
    digests = [hashlib.sha256(text.encode()).digest() for text in (style, script)]
    template = environment().get_template("report.html.jinja")
    return template.render(
        title=title,
        result=result,
        audit=audited,
        fdr=fdr,
        first=[f"{finding}." for finding in result.findings if finding.code == AT_CHANCE],
        called=called if audited.n_negative else None,
        cautions=[*audited.limits, *audited.details, *(f"{finding}." for finding in limits)],
        health=measured,
        limits=[
            f"{finding}."
            for finding in (*measured.findings, *measured.answers)
            if finding not in result.findings
        ],
        cards=_cards(result, suspects),
        suspects=_suspects_table(result, suspects.head(_SUSPECTS)),
        maps=maps,
        rho=rho,
        comparison=comparison,
        board=board,
        by_task=None if board_by_task is None else board_shown(board_by_task, _LEVEL),
        systems=systems,
        most=_SYSTEMS,
        abilities=None if result.several is None else _abilities(result, board),
        hardest=hardest_first(result.items).head(_HARDEST)[list(HARDEST)].drop(columns=hidden),
        quality=standard is not None and quality_finding(standard, result.settings.metrics or {}),
        level=_LEVEL,
        version=version("irtkit"),
        style=Markup(style),  # noqa: S704  # of the package
        script=Markup(script),  # noqa: S704
        hashes=[base64.b64encode(digest).decode() for digest in digests],
        data=data_block(result, audited, maps, difficulties),
    )


def _abilities(result: FitResult, board: pd.DataFrame | None) -> dict[str, Any]:
    """What is measured, what shows it best, how abilities correlate, and who has how much."""
    texts = item_texts(result.responses)
    asked: Any = {} if texts is None else texts.get("text", {})
    shown = [
        (name, [(item, asked.get(item)) for item in items], systems)
        for name, (items, systems) in zip(
            result.ability_names, result.several.first_of_each(result), strict=True
        )
        if items
    ]
    pairs = result.ability_correlations.sort_values("correlation", ascending=False)
    pairs = pairs.head(_PAIRS).set_index("ability").dropna(axis=1, how="all")
    best = result.respondents.iloc[result.best_first] if board is None else board
    systems = result.respondents.loc[best.index[:_SYSTEMS]]
    columns = {}
    for name in result.ability_names:
        value = systems[f"ability_{name}"]
        reach = _REACH * systems[f"ability_{name}_se"]
        ends = zip(value, value - reach, value + reach, strict=True)
        columns[name] = ["{} ({} … {})".format(*map(number_text, row)) for row in ends]
    return {
        "table": result.abilities[["n_items", "reliability"]],
        "shown": shown,
        "pairs": pairs if result.structure != "bifactor" else pairs.head(0),
        "systems": pd.DataFrame(columns, systems.index.rename("system")),
    }


def _cards(result: FitResult, suspects: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The first suspects with their curves, and how many items have the same responses."""
    alike = result.alike.loc[suspects.index]
    chosen = suspects[~alike.duplicated()].head(_CARDS)
    curves = fitted.item_curves(result, list(chosen.index))
    n_alike = alike.map(alike.value_counts())[chosen.index] - 1
    rows = (row for _, row in chosen.iterrows())
    return list(zip(chosen.index, rows, curves, n_alike, strict=True))


def _suspects_table(result: FitResult, suspects: pd.DataFrame) -> pd.DataFrame:
    """Suspects as they are shown, with links."""
    names = [name for name in _EVIDENCE if name in suspects and suspects[name].notna().any()]
    shown = suspects[names].copy()
    shown.insert(0, "reasons", suspects["reasons"].map(reasons_text))
    if "strong_answer" in suspects:
        shown["strong_answer"] = [strong_answer(row) for _, row in suspects.iterrows()]
    sign = Markup('<span class="mark" aria-hidden="true">{}</span> {}')
    labels = [
        sign.format("▲" if called else "○", link(str(label), result.places[str(label)]))
        for called, label in zip(suspects["called"], suspects.index, strict=True)
    ]
    return shown.set_axis(pd.Index(labels, dtype=object, name="item"))


def board_drawn(shown: Shown, board: pd.DataFrame) -> Shown:
    """The first systems of a leaderboard, with their ranks drawn."""
    table = shown.table.loc[board.index].astype(object)  # type: ignore[union-attr]
    ranks = board[["rank", "rank_low", "rank_high"]].to_numpy(np.float64)
    table.insert(0, f"rank drawn, 1 to {board['rank_high'].max():,}", bars(ranks, table.index))
    return replace(shown, table=table)


def bars(values: Any, index: pd.Index[Any], axis: Axis | None = None) -> pd.Series[Any]:
    """Values with their intervals, rows of three, each drawn on an axis, by default of ranks."""
    axis = axis or Axis(0.5, values.max() + 0.5)
    pictures = [fitted.intervals(row[None], [""], axis) for row in values]
    drawn = [svg(picture, "bar", width=200, height=18) for picture in pictures]
    return pd.Series(drawn, index, dtype=object)
