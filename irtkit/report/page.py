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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from irtkit.calibration.result import AT_CHANCE
from irtkit.calibration.summary import hardest_first, quality_finding
from irtkit.capabilities import LEVELS, SCORES, SPARSE
from irtkit.checks import counted
from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.findings import reasons_text
from irtkit.irf import Z95
from irtkit.pictures import fitted
from irtkit.pictures.picture import Axis
from irtkit.pictures.svg import svg
from irtkit.printed import with_p_values
from irtkit.report.columns import data_block
from irtkit.report.templates import environment, evidence, link, number_text, strong_answer
from irtkit.responses import item_texts
from irtkit.systems.leaderboard import ranked
from irtkit.systems.printed import board_shown
from irtkit.systems.ranks import posterior_ranks
from irtkit.systems.scores import MOST_SYSTEMS, Scores
from irtkit.systems.tasks import sizes_of_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison
    from irtkit.findings import Finding
    from irtkit.irf import Array
    from irtkit.printed import Shown
    from irtkit.suspects import Audit
    from irtkit.suspects.health import Health

_LEVEL = 0.95  # Coverage of the intervals of the page.
_CARDS = 8  # Items whose curves are drawn: two rows of four.
_HARDEST, _SYSTEMS, _PAIRS = 50, 40, 20  # Rows of tables: a page or two of paper.
_ELSEWHERE = {AT_CHANCE, "negative-items", "suspects-first"}
"""Findings that the page says in other words: in its first sentences, and by its cards."""
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
    date: str | None,
) -> str:
    """The whole page, HTML. Items that the audit lists without a reason are left out."""
    has_reason = audited.items["reasons"].map(len) > 0
    audited = replace(audited, items=audited.items[has_reason])
    suspects = audited.suspects
    rankable = result.n_answering <= MOST_SYSTEMS
    board, findings = ranked(result, level=_LEVEL) if rankable else (None, [])
    systems = None
    if board is not None:
        systems = board_drawn(board_shown(board, _LEVEL), board.head(_SYSTEMS))
    n_tasks = len(sizes_of_tasks(result))
    by_task = None
    if rankable and n_tasks:
        by_task, more = ranked(result, level=_LEVEL, by="task")
        findings += more
    warnings = _sentences((*audited.findings, *result.findings, *findings), "warning")
    maps = [fitted.item_map(result, suspects), fitted.error_map(result, suspects)]
    rho = None
    if difficulties is not None:
        maps.append(fitted.error_map(result, suspects, difficulties))
        x, y = np.hstack([(mark.x, mark.y) for mark in maps[2].points])
        rho = spearman(levels(x), levels(y)) if len(x) > 1 else np.nan
    standard = result.quality_standard
    hidden = ["p_negative"] if audited.clustered else []  # that of the suspects is by family
    cards = _cards(result, suspects)
    others = suspects.drop([card[0] for card in cards])
    style, script = (
        files("irtkit.report").joinpath(f"report.{kind}").read_text(encoding="utf-8")
        for kind in ("css", "js")
    )
    digests = [hashlib.sha256(text.encode()).digest() for text in (style, script)]
    scatter = None if result.several is None else fitted.ability_scatter(result)
    template = environment().get_template("report.html.jinja")
    return template.render(
        title=title,
        head=_head(result, n_tasks, date),
        result=result,
        audit=audited,
        fdr=fdr,
        first=[f"{finding.reason}." for finding in result.findings if finding.code == AT_CHANCE],
        cautions=warnings,
        of_judges=_of_judges(result),
        judges=_tables_of_judges(result),
        notes=_sentences(result.findings, "note"),
        of_systems=_sentences((*audited.findings, *findings), "note"),
        health=measured,
        limits=[
            f"{finding}."
            for finding in (*measured.findings, *measured.answers)
            if finding not in result.findings and finding.code not in _ELSEWHERE
        ],
        cards=cards,
        suspects=_suspects_table(result, others),
        has_marks=SPARSE not in result.traits and result.traits & {LEVELS, SCORES},
        rubrics=_rubrics(result, audited, measured),
        repeats=_repeats(result, measured),
        families=_families(audited),
        maps=maps,
        rho=rho,
        comparison=comparison,
        board=board,
        by_task=None if by_task is None else board_shown(by_task, _LEVEL),
        by_task_drawn=by_task,
        systems=systems,
        most=_SYSTEMS,
        abilities=None if result.several is None else _abilities(result, board),
        scatter=scatter,
        hardest=hardest_first(result.items).head(_HARDEST)[list(HARDEST)].drop(columns=hidden),
        quality=standard is not None and quality_finding(standard, result.settings.metrics or {}),
        level=_LEVEL,
        version=version("irtkit"),
        style=Markup(style),  # noqa: S704  # of the package
        script=Markup(script),  # noqa: S704
        hashes=[base64.b64encode(digest).decode() for digest in digests],
        data=data_block(result, audited, maps, difficulties, scatter),
    )


def _head(result: FitResult, n_tasks: int, date: str | None) -> list[str]:
    """What the page is about: size, source, date and version."""
    size = [counted(result.n_answering, "system"), counted(len(result.item_labels), "item")]
    if n_tasks:
        size.append(counted(n_tasks, "task"))
    source = result.saved_responses.source
    parts = [date, ", ".join(size), f"irtkit {version('irtkit')}"]
    if source is not None and source.files:
        names = tuple(Path(file).name for file in source.files)
        parts.insert(2, str(replace(source, files=names)).removesuffix("."))
    return [part for part in parts if part]


def _of_judges(result: FitResult) -> list[str]:
    """What was found about judges whose marks were adjusted before the fit."""
    source = result.saved_responses.source
    findings = () if source is None else source.adjustment
    return [f"{finding.reason}." for finding in findings]


def _tables_of_judges(result: FitResult) -> list[tuple[str, pd.DataFrame]]:
    """Judges, and judges and families, of marks that were adjusted, without empty columns."""
    source = result.saved_responses.source
    tables = []
    for finding in () if source is None else source.adjustment:
        for name, caption in (
            ("judges", "Judges, the strictest first"),
            ("favours", "Judges and families, the surest first"),
        ):
            if finding.values.get(name) and finding.code == "judges-compared":
                table = pd.DataFrame(finding.values[name]).set_index("judge")
                tables.append((caption, with_p_values(table.dropna(axis=1, how="all"))))
    return tables


def _sentences(findings: Sequence[Finding], severity: str) -> list[str]:
    """Findings of a severity without what settles them, which readers cannot do, each once."""
    reasons = [
        f"{finding.reason}."
        for finding in findings
        if finding.severity == severity and finding.code not in _ELSEWHERE
    ]
    return list(dict.fromkeys(reasons))


def _abilities(result: FitResult, board: pd.DataFrame | None) -> dict[str, Any]:
    """What is measured, what shows it best, how abilities correlate, and who is where."""
    pairs = result.ability_correlations.sort_values("correlation", ascending=False)
    pairs = pairs.head(_PAIRS).set_index("ability").dropna(axis=1, how="all")
    if "low" in pairs:
        values = pairs[["correlation", "low", "high"]].to_numpy()
        pairs.insert(1, "drawn, −1 to 1", bars(values, Axis(-1.0, 1.0), pairs.index))
    best = result.respondents.iloc[result.best_first] if board is None else board
    chosen = best.index[:_SYSTEMS]
    systems = result.respondents.loc[chosen]
    axis = Axis(0.5, result.n_answering + 0.5)
    columns: dict[str, Any] = {}
    for name in result.ability_names:
        value = systems[f"ability_{name}"]
        reach = Z95 * systems[f"ability_{name}_se"]
        ends = zip(value, value - reach, value + reach, strict=True)
        columns[name] = ["{} ({}…{})".format(*map(number_text, row)) for row in ends]
        if board is not None:  # errors of one of several abilities are independent
            weights = result.weights_of(name)
            ability = result.abilities_along(weights)
            places = result.best_first[np.argsort(-ability[result.best_first], kind="stable")]
            errors = np.diag(result.errors_along(weights)[places])
            ordered = Scores(places, ability[places], errors, np.full(len(places), np.inf))
            low, high = posterior_ranks(ordered, level=_LEVEL)
            of_places = np.full((len(result.ability), 3), np.nan)
            of_places[places] = np.column_stack([ordered.rank, low, high])
            ranks = of_places[[result.respondent_labels.index(label) for label in chosen]]
            columns[f"rank in {name}"] = ["{:.0f} ({:.0f}…{:.0f})".format(*row) for row in ranks]
            columns[f"{name}, 1 to {len(board):,}"] = bars(ranks, axis, chosen)
    return {
        "table": result.abilities[["n_items", "reliability"]],
        "first": dict(zip(result.ability_names, result.several.first_of_each(result), strict=True)),
        "pairs": pairs if result.structure != "bifactor" else pairs.head(0),
        "systems": pd.DataFrame(columns, systems.index.rename("system")),
    }


def _rubrics(result: FitResult, audited: Audit, measured: Health) -> list[str]:
    """Items with levels whose curves are drawn, those to look at first."""
    if LEVELS not in result.traits:
        return []
    idle = measured.items["idle_levels"].sort_values(ascending=False, kind="stable")
    labels = np.array(result.item_labels, dtype=object)
    rubrics = labels[result.parameters.top > 1]
    first = audited.items.index.append(idle.index)
    return list(dict.fromkeys(first[first.isin(rubrics)]))[:_CARDS]


def _repeats(result: FitResult, measured: Health) -> pd.DataFrame:
    """Which items repeat others, and what they ask."""
    pairs = measured.near_duplicates.head(_HARDEST)
    items, others = (
        pd.Series([link(label, result.places[label]) for label in pairs[name]], dtype=object)
        for name in ("other", "item")
    )
    same = [
        f"{n_same:,} of {n:,}"
        for n_same, n in zip(pairs["n_same"], pairs["n_respondents"], strict=True)
    ]
    table = pd.DataFrame({"repeats": others, "same answers": same})
    table.index = pd.Index(items, dtype=object, name="item")
    texts = item_texts(result.responses)
    if texts is not None and "text" in texts:
        table["text"] = texts["text"].reindex(pairs["other"]).fillna("").to_numpy()
    return table


def _families(audited: Audit) -> list[list[str]]:
    """Systems that answer alike, the largest families first."""
    if audited.families is None:
        return []
    members = audited.families[audited.families.duplicated(keep=False)]
    families = [list(family.index) for _, family in members.groupby(members, sort=False)]
    return sorted(families, key=len, reverse=True)[:_PAIRS]


def _cards(result: FitResult, suspects: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The first suspects with their curves, and how many items have the same responses."""
    alike = result.alike.loc[suspects.index]
    chosen = suspects[~alike.duplicated()].head(_CARDS)
    curves = fitted.item_curves(result, list(chosen.index))
    n_alike = alike.map(alike.value_counts())[chosen.index] - 1
    rows = (row for _, row in chosen.iterrows())
    return list(zip(chosen.index, rows, curves, n_alike, strict=True))


def _suspects_table(result: FitResult, suspects: pd.DataFrame) -> pd.DataFrame:
    """Suspects without a card as they are shown, with links."""
    rows = [dict(evidence(row)) for _, row in suspects.iterrows()]
    shown = pd.DataFrame(rows, suspects.index)
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
    lowest = board["rank_high"].max()
    table.insert(
        0, f"rank drawn, 1 to {lowest:,}", bars(ranks, Axis(0.5, lowest + 0.5), table.index)
    )
    return replace(shown, table=table)


def bars(values: Array, axis: Axis, index: pd.Index[Any]) -> pd.Series[Any]:
    """Values with their intervals, rows of three, each drawn on an axis."""
    pictures = [fitted.intervals(row[None], [""], axis) for row in values]
    drawn = [svg(picture, "bar", width=200, height=18) for picture in pictures]
    return pd.Series(drawn, index, dtype=object)
