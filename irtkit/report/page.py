"""The page of a fit, which the template `report.html.jinja` makes of an audit and a leaderboard.

Nothing in the page is loaded from elsewhere. One script runs, which the page names by its hash
(Content-Security-Policy), and which may not make elements of texts. Without it, only the panel of
an item, the search, and the items after the hardest of their table are missing. The page says no
more than :func:`irtkit.audit`, ``result.leaderboard()`` and ``result.findings`` do.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from irtkit.calibration.result import AT_CHANCE
from irtkit.calibration.summary import called_items, hardest_first, quality_finding
from irtkit.difficulty.comparison import measures_legend
from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.findings import reasons_text
from irtkit.pictures import fitted
from irtkit.pictures.svg import svg
from irtkit.report.columns import data_block
from irtkit.report.templates import cut, environment, link, number_text, strong_answer
from irtkit.suspects.flags import negatives
from irtkit.systems.leaderboard import ranked
from irtkit.systems.printed import FROM_TO, board_legend, scored_tasks, scores_in_words
from irtkit.systems.scores import MOST_SYSTEMS
from irtkit.systems.tasks import AVERAGE, sizes_of_tasks

if TYPE_CHECKING:
    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison
    from irtkit.suspects import Audit
    from irtkit.suspects.health import Health

_SCORE = Markup("{}<br/><small>{}…{}</small>")  # Per cent right, with its interval.
_TASK = 40  # Characters of the name of a task.
_LEVEL = 0.95  # Coverage of the intervals of the page.
_CARDS = 8  # Suspects whose curves are drawn: two rows of four.
_SUSPECTS, _HARDEST, _SYSTEMS = 100, 50, 40  # Rows of tables: a page or two of paper.
_EVIDENCE = ("p_wrong_key", "p_negative", "wrong_key", "discrimination", "average_error")
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
    tasks = rankable and bool(sizes_of_tasks(result))
    board_by_task, more = ranked(result, level=_LEVEL, by="task") if tasks else (None, [])
    limits += [one for one in more if one not in limits]
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
        first=[f"{one}." for one in result.findings if one.code == AT_CHANCE],
        called=called if audited.n_negative else None,
        cautions=[*audited.limits, *audited.details, *(f"{one}." for one in limits)],
        health=measured,
        limits=[f"{one}." for one in measured.findings if one not in result.findings],
        alike=measured.first_pairs(_SUSPECTS),
        unread=audited.to_read(),
        cards=_cards(result, suspects),
        suspects=_suspects_table(result, suspects.head(_SUSPECTS)),
        maps=maps,
        rho=rho,
        comparison=comparison,
        pairs=None if comparison is None else pairs_table(comparison),
        measures=None if comparison is None else measures_legend(comparison.table),
        board=board,
        by_task=None if board_by_task is None else board_table(board_by_task, _SYSTEMS),
        legend_by_task=[] if board_by_task is None else board_legend(board_by_task, _LEVEL, []),
        systems=None if board is None else board_table(board, _SYSTEMS),
        legend=[] if board is None else board_legend(board, _LEVEL, [FROM_TO]),
        hardest=hardest_first(result.items).head(_HARDEST)[list(HARDEST)].drop(columns=hidden),
        quality=standard is not None and quality_finding(standard, result.settings.metrics or {}),
        level=_LEVEL,
        version=version("irtkit"),
        style=Markup(style),  # noqa: S704  # of the package
        script=Markup(script),  # noqa: S704
        hashes=[base64.b64encode(digest).decode() for digest in digests],
        data=data_block(result, audited, maps, difficulties),
    )


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
    known = [name for name in _EVIDENCE if name in suspects and suspects[name].notna().any()]
    shown = suspects[known].copy()
    shown.insert(0, "reasons", suspects["reasons"].map(reasons_text))
    if "strong_answer" in suspects:
        shown["strong_answer"] = [strong_answer(row) for _, row in suspects.iterrows()]
    sign = Markup('<span class="mark" aria-hidden="true">{}</span> {}')
    labels = [
        sign.format("▲" if called else "○", link(str(label), result.places[str(label)]))
        for called, label in zip(negatives(suspects), suspects.index, strict=True)
    ]
    return shown.set_axis(pd.Index(labels, dtype=object, name="item"))


def board_table(board: pd.DataFrame, most: int) -> pd.DataFrame:
    """The first systems of a leaderboard as they are shown, with ranks drawn or scores of tasks."""
    some = board.head(most)
    columns: dict[str, Any] = {
        "rank": some["rank"],
        "between": some["rank_low"].astype(str) + "…" + some["rank_high"].astype(str),
        "tied": some["group"],
    }
    if tasks := scored_tasks(some):
        for name in (AVERAGE, *(f"score_{task}" for task in tasks)):
            ends = (100 * some[[f"{name}_low", f"{name}_high"]]).itertuples(index=False)
            cells = zip(scores_in_words(some, name), ends, strict=True)
            heading = cut(name.removeprefix("score_"), _TASK)
            columns[heading] = [_SCORE.format(one, *map(round, both)) for one, both in cells]
    else:
        places = [slice(k, k + 1) for k in range(len(some))]
        low, high = some["ability_low"].map(number_text), some["ability_high"].map(number_text)
        drawn = [svg(fitted.ranking(some, place), "bar", width=200, height=18) for place in places]
        columns = {f"rank drawn, 1 to {some['rank_high'].max():,}": drawn} | columns
        columns |= {"score": scores_in_words(some), "ability": some["ability"]}
        columns |= {FROM_TO: low + " … " + high, "n_responses": some["n_responses"]}
    known = {name: some[name].fillna("") for name in ("family", "component") if name in some}
    return pd.DataFrame(columns | known, some.index.rename("system"), dtype=object)


def pairs_table(comparison: DifficultyComparison) -> pd.DataFrame:
    """Pairs of measures as they are shown."""
    columns = ["measure_2", "spearman", "spearman_low", "spearman_high", "kendall", "n_items"]
    return comparison.pairs.set_index("measure_1")[columns]
