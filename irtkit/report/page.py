"""The page: sections in the order in which they are read, and what holds them together.

Nothing in it is loaded from elsewhere, and nothing runs but one script that the page names by its
hash (Content-Security-Policy). Without the script all sections but the search are there.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from irtkit.calibration.summary import negative_sentence, readable_difficulty
from irtkit.difficulty.rank_agreement import rank_agreement
from irtkit.pictures import (
    NEGATIVE,
    SUSPECT,
    error_and_difficulty,
    item_curves,
    item_map,
    precision,
    predicted_and_fitted,
    ranking,
    trace,
    wright_map,
)
from irtkit.report import svg
from irtkit.report.columns import LABEL, TEXT, block
from irtkit.report.findings import LEVEL, leader_sentences, look_first, strong_answer, why
from irtkit.report.words import count, cut, number, share, shown
from irtkit.suspects.flags import negatives
from irtkit.systems.leaderboard import board_legend

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from irtkit.pictures import ItemPoints
    from irtkit.report.findings import Findings

_CURVES = 8
"""Suspects whose curves are drawn: two rows of four."""
_SUSPECTS, _HARDEST = 200, 50
"""Rows of the table of suspects, and items in the table for print and for browsers without
scripts: about two pages of paper each at most."""
_SYSTEMS = 40
"""Systems in picture and table: a page of paper. 130 would make three."""
_NAMED = 40
"""Systems that are named as having an item right."""
_LOOK = (
    "A suspect is not a verdict: look at the item, its text and its key. The list says where to "
    "look first."
)


def page(found: Findings, title: str) -> str:
    """The whole page, HTML."""
    sections = (
        _lead(found, title),
        _suspects(found),
        _map(found),
        _error(found),
        _comparison(found),
        _predicted(found),
        _systems(found),
        _precision(found),
        _all_items(found),
        _method(found),
    )
    style, script = (_resource(f"report.{kind}") for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#found">Skip to what was found</a>\n'
        f"{_header(title)}\n<main>\n"
        + "\n".join(section for section in sections if section)
        + f'\n</main>\n<p id="status" class="quiet" role="status"></p>\n<script type="application/json" id="data">{block(found)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _resource(name: str) -> str:
    return files("irtkit.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _header(title: str) -> str:
    links = (
        ("suspects", "Suspect items"),
        ("map", "Item map"),
        ("error", "Average error"),
        ("systems", "Systems"),
        ("precision", "Precision"),
        ("items", "All items"),
        ("method", "Method"),
    )
    listed = "".join(f'<li><a href="#{name}">{text}</a></li>' for name, text in links)
    return (
        f'<header class="top"><p class="name">{escape(title)}</p>'
        f'<nav aria-label="Sections"><ul>{listed}</ul></nav>'
        '<button type="button" id="theme" class="scripted" aria-pressed="false">Dark theme</button>'
        "</header>"
    )


def _section(name: str, heading: str, *parts: str) -> str:
    return (
        f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">'
        f"{heading}</h2>{''.join(parts)}</section>"
    )


def _paragraphs(sentences: Iterable[str], kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return "".join(f"<p{named}>{_safe(one)}</p>" for one in sentences)


def _safe(sentence: str) -> str:
    """A sentence that may quote labels."""
    return escape(cut(sentence, 4000))


def _listed(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_safe(one)}</li>' for one in sentences)}</ul>" if sentences else ""


def item_link(label: str) -> str:
    """A link to what the page knows of an item."""
    return f'<a class="to-item" href="#item={_address(label)}">{shown(label)}</a>'


def _address(label: str) -> str:
    return escape(quote(cut(label, LABEL), safe=""))


def _lead(found: Findings, title: str) -> str:
    """What was found, in words and five numbers."""
    result, told = found.result, found.audit.summary
    n_items, n_negative = len(result.item_labels), found.n_negative
    synthetic = int(result.synthetic.sum())
    beside = f" ({synthetic} synthetic ones beside them count for nothing here)" if synthetic else ""
    first = [
        f"<strong>{count(result.n_answering, 'system')}</strong> answered "
        f"<strong>{count(n_items, 'item')}</strong>{beside}. {_safe(told[0])}"
    ]
    if n_negative:
        first.append(
            f"On <strong>{count(n_negative, 'item')}</strong>, called negative, the weak do better "
            f"than the strong: most often {'a wrong key' if n_negative == 1 else 'wrong keys'}."
        )
    else:
        first.append("No item is called negative.")
    begin = look_first(found)
    named = "; ".join(f"{item_link(one)} ({_safe(why(found, one))})" for one in begin)
    first += [f"Look first at {named}."] if begin else []
    lead = "".join(f"<p>{text}</p>" for text in (" ".join(first), " ".join(
        _safe(text) for text in leader_sentences(found)
    )) if text)
    tiles = (
        (count(result.n_answering), "systems"),
        (count(n_items), "items"),
        (count(n_negative), "items called negative"),
        (count(len(found.suspects) - n_negative), "suspect for other reasons"),
        (count(len(found.audit.all_wrong)), "that no system gets right"),
    )
    boxes = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for value, name in tiles)
    cautions = [*told[1:], *found.board_doubts]
    read = ""
    if cautions:
        read = f'<div class="caution"><h2>Before you rely on this</h2>{_listed(cautions)}</div>'
    return (
        f'<section id="found" class="lead"><h1>{escape(title)}</h1>{lead}'
        f'<dl class="tiles">{boxes}</dl>{read}</section>'
    )


def _suspects(found: Findings) -> str:
    """Curves of the worst suspects, and the table of them all."""
    suspects = found.suspects
    if not len(suspects):
        return _section("suspects", "Suspect items", "<p>None was found.</p>")
    worst = _worst_first(found)
    curves = item_curves(found.result, list(worst.index[:_CURVES]))
    cards = "".join(
        _card(found, worst.loc[curve.item], svg.item_curve(curve, _curve_title(curve.item)))
        for curve in curves
    )
    order = (
        "Those called negative come first, the most probable before others; then the others, those "
        "with the highest wrong key before others."
    )
    table = _suspect_table(worst.head(_SUSPECTS))
    more = len(worst) - _SUSPECTS
    rest = f"<p>… and {count(more)} more, in the table of all items.</p>" if more > 0 else ""
    return _section(
        "suspects",
        "Suspect items",
        f"<p>{_LOOK} {order}</p>",
        f'<div class="cards">{cards}</div>',
        f'<p class="caption">{_curve_caption(found)}</p>',
        table,
        rest,
        f'<p class="caption">{_safe(found.audit.legend)}. '
        "The column wrong key calls nothing: reasons do.</p>",
    )


def _worst_first(found: Findings) -> pd.DataFrame:
    """Suspects in the order of the page."""
    suspects = found.suspects
    called = negatives(suspects)
    others = suspects[~called].sort_values(
        "wrong_key", ascending=False, kind="stable", na_position="last"
    )
    import pandas as pd

    return pd.concat([suspects[called], others])


def _curve_title(item: str) -> str:
    return f"Observed and fitted share right of {cut(item, LABEL)} along ability"


def _curve_caption(found: Findings) -> str:
    alike = found.result.dependence.sentence if found.result.dependence else ""
    taken = f"; but {_safe(alike)}" if alike else ""
    return (
        "Line: share right by the model, dashed where no system is. Dots: share right in groups "
        "of systems, equally many in each, from the least able to the ablest; bars: 95 % "
        f"intervals (Wilson), which take systems for independent{taken}."
    )


def _card(found: Findings, row: pd.Series, drawn: str) -> str:
    """One suspect: what it is, its curve, and who gets it right."""
    label = str(row.name)
    told = [f'<p class="why">{_safe(str(row["reasons"]))}</p>']
    told += [f"<p>{_safe(text)}</p>"] if (text := strong_answer(row)) else []
    told += [f'<p class="asked">{text}</p>'] if (text := _asked(row)) else []
    return (
        f'<article class="card" id="item={_address(label)}"><h3>{item_link(label)}</h3>'
        f"{drawn}{''.join(told)}{_who(found, label)}</article>"
    )


def _asked(row: pd.Series) -> str:
    """Text and target of an item, where known."""
    known = [row.get(name) for name in ("text", "target")]
    text, target = (cut(one, TEXT) if isinstance(one, str) and one else "" for one in known)
    parts = [f"<bdi>{escape(text)}</bdi>"] if text else []
    parts += [f"<b>marked right:</b> <bdi>{escape(target)}</bdi>"] if target else []
    return " → ".join(parts)


def _who(found: Findings, label: str) -> str:
    """Systems that have an item right, ablest first; nothing of repeated trials."""
    result = found.result
    patterns = result.patterns
    if patterns.repeated:
        return ""
    j = result.item_labels.index(label)
    cells = patterns.cells[:, [j]].toarray()[:, 0] if patterns.sparse else patterns.cells[:, j]
    right = np.flatnonzero((cells > 0) & ~result.synthetic)
    n = int(result.counts.item_responses[j])
    right = right[np.argsort(-result.ability[right], kind="stable")]
    names = ", ".join(shown(result.respondent_labels[k]) for k in right[:_NAMED])
    more = f" … and {count(len(right) - _NAMED)} more" if len(right) > _NAMED else ""
    told = f"<p>Ablest first: {names}{more}</p>" if len(right) else ""
    return f"<details><summary>Right: {len(right)} of {count(n, 'system')}</summary>{told}</details>"


def _suspect_table(rows: pd.DataFrame) -> str:
    columns = {
        "p_negative": ("p negative", 2),
        "wrong_key": ("wrong key", 1),
        "discrimination": ("slope", 2),
        "average_error": ("average error", 2),
    }
    answers = "strong_answer" in rows
    head = ["item", "reasons", *(name for name, _ in columns.values())]
    head += ["the strong answer"] if answers else []
    body = []
    called = negatives(rows)
    for label, row in rows.iterrows():
        mark = '<span class="mark negative" aria-hidden="true">▲</span>'
        mark = mark if called[label] else '<span class="mark suspect" aria-hidden="true">○</span>'
        cells = [f'<th scope="row">{mark} {item_link(str(label))}</th>']
        cells.append(f"<td>{_safe(str(row['reasons']))}</td>")
        cells += [
            f'<td class="number">{number(row[name], digits)}</td>'
            for name, (_, digits) in columns.items()
        ]
        cells += [f"<td>{_safe(strong_answer(row))}</td>"] if answers else []
        body.append(f"<tr>{''.join(cells)}</tr>")
    return _table("Suspect items, worst first", head, body, numeric=range(2, 6))


def _table(
    caption: str, head: Sequence[str], body: Sequence[str], *, numeric: Iterable[int], kind: str = ""
) -> str:
    """A table in a box of its own, which scrolls by itself where the page is narrow."""
    right = set(numeric)
    cells = "".join(
        f'<th scope="col"{" class=number" if k in right else ""}>{escape(name)}</th>'
        for k, name in enumerate(head)
    )
    return (
        f'<div class="scroll {kind}" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{cells}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _points_caption(drawn: ItemPoints, left_out: str) -> str:
    """What the marks of a picture of items are, and what is not where it belongs."""
    kinds = [
        f'<span class="mark {kind}" aria-hidden="true">{sign}</span> {name} ({count(n)})'
        for kind, sign, name, n in (
            ("negative", "▲", "called negative", int((drawn.drawn & (drawn.kind == NEGATIVE)).sum())),
            ("suspect", "○", "suspect for other reasons", int((drawn.drawn & (drawn.kind == SUSPECT)).sum())),
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


def _map(found: Findings) -> str:
    result, items = found.result, found.result.items
    drawn = item_map(result, found.suspects)
    picture = svg.points(
        drawn,
        "Item map: difficulty and discrimination of every item",
        "difficulty",
        "discrimination (slope)",
        data="difficulty discrimination 1",
    )
    varied = items["average_error"].between(0, 1, inclusive="neither")
    slope = items["discrimination"].where(varied).to_numpy()
    signs = negative_sentence(
        items["p_negative"].to_numpy(), slope, doubted=result.one_ability_doubted
    )
    told = [
        "Difficulty is the ability at which half get the item right, guessing apart; "
        "discrimination, the slope, is how steeply the share right rises there. Below 0 it falls.",
        *([f"{_safe(signs)}."] if signs else []),
        _points_caption(drawn, "all systems get them right, or none does, or none answered"),
    ]
    return _section(
        "map",
        "Item map",
        f'<div class="beside"><figure>{picture}<figcaption>{" ".join(told)}</figcaption></figure>'
        '<div id="detail" class="detail scripted" role="region" aria-label="The chosen item">'
        "</div></div>",
    )


def _error(found: Findings) -> str:
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
        "Items with one average error may be of many difficulties: the habit of ranking items by "
        "average error and the model part where points at one place across spread upwards."
    )
    return _section(
        "error",
        "Average error and difficulty",
        f"<figure>{picture}<figcaption>{told} {_points_caption(drawn, left_out)}"
        "</figcaption></figure>",
    )


def _comparison(found: Findings) -> str:
    if found.comparison is None:
        return ""
    pairs = found.comparison.pairs
    head = ["measures", "Spearman", "95 % interval", "Kendall"]
    body = [
        f'<tr><th scope="row">{_safe(row["measure_1"])}, {_safe(row["measure_2"])}</th>'
        f'<td class="number">{number(row["spearman"], 3)}</td>'
        f'<td class="number">{number(row["spearman_low"], 3)} to '
        f"{number(row['spearman_high'], 3)}</td>"
        f'<td class="number">{number(row["kendall"], 3)}</td></tr>'
        for row in pairs.to_dict("records")
    ]
    return _section(
        "comparison",
        "Measures of difficulty compared",
        _listed(found.comparison.summary),
        _table("How far measures order the items alike", head, body, numeric=range(1, 4)),
    )


def _predicted(found: Findings) -> str:
    if found.predicted is None:
        return ""
    drawn = predicted_and_fitted(found.result, found.suspects, found.predicted)
    if drawn.drawn.sum() < 2:
        told = "<p>Fewer than two items have both a predicted and a fitted difficulty.</p>"
        return _section("predicted", "Predicted difficulty", told)
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
    return _section(
        "predicted",
        "Predicted difficulty",
        f"<figure>{picture}<figcaption>Spearman correlation {number(rho, 3)} over {n}. "
        f"{_points_caption(drawn, left_out)}</figcaption></figure>",
    )


def _systems(found: Findings) -> str:
    board = found.board
    if board is None:
        told = (
            f"{count(found.result.n_answering)} systems are too many to compare every pair: they "
            "are not ranked."
        )
        return _section("systems", "Systems", f"<p>{told}</p>")
    legend = [f"{one}." for one in board_legend(board, LEVEL)]
    if "component" in board:
        legend.insert(0, "Ranks are within parts that can be compared; parts follow each other.")
    if len(board) > _SYSTEMS:
        legend.append(f"The first {_SYSTEMS} of {count(len(board))} systems are shown.")
    return _section(
        "systems",
        "Systems",
        _board_table(board),
        f'<p class="caption">{" ".join(map(_safe, legend))}</p>',
    )


def _board_table(board: pd.DataFrame) -> str:
    """The first systems, each with its rank drawn."""
    drawn = ranking(board, _SYSTEMS)
    known = [name for name in ("family", "component") if name in board]
    highest = count(int(drawn.rank_high.max()))
    head = ["system", f"rank drawn, 1 to {highest}", "rank", "between", "tied", "score %"]
    head += ["ability", "from … to", "responses", *known]
    body = []
    for k, (label, row) in enumerate(board.head(_SYSTEMS).iterrows()):
        cells = [
            f"{row['rank']}",
            f"{row['rank_low']}…{row['rank_high']}",
            str(row["group"]),
            f"{100 * row['expected_score']:.1f}",
            number(row["ability"]),
            f"{number(row['ability_low'])} … {number(row['ability_high'])}",
            count(int(row["n_responses"])),
        ]
        columns = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        columns += "".join(f"<td>{shown('' if row[name] is None else row[name], 20)}</td>" for name in known)
        body.append(
            f'<tr><th scope="row" class="system">{shown(str(label), 28)}</th>'
            f"<td>{svg.rank_bar(drawn, k)}</td>{columns}</tr>"
        )
    return _table("Leaderboard", head, body, numeric=range(2, 9))


def _precision(found: Findings) -> str:
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
    told = (
        "How many systems have an ability (left) and how many items that difficulty (right): items "
        "measure best where their difficulties are." + beyond + without
    )
    return _section(
        "precision",
        "How precisely the items measure",
        f'<div class="beside even"><figure>{wright}<figcaption>{told}</figcaption></figure>'
        f"<figure>{curve}<figcaption>Information of all items; the standard error of an ability "
        "is 1 over its square root. Marks at the bottom are systems. "
        f"{_safe(str(drawn.told))}</figcaption></figure></div>",
    )


def _all_items(found: Findings) -> str:
    items = found.result.items
    items["difficulty"] = readable_difficulty(items)
    varied = items[items["average_error"].between(0, 1, inclusive="neither")]
    hardest = varied.sort_values("average_error", ascending=False, kind="stable").head(_HARDEST)
    columns = {
        "average_error": ("average error", 2),
        "difficulty": ("difficulty", 2),
        "discrimination": ("slope", 2),
        "p_negative": ("p negative", 2),
    }
    head = ["item", *(name for name, _ in columns.values()), "responses", "status"]
    body = []
    for label, row in hardest.iterrows():
        cells = [
            f'<td class="number">{number(row[name], digits)}</td>'
            for name, (_, digits) in columns.items()
        ]
        cells.append(f'<td class="number">{count(int(row["n_responses"]))}</td>')
        cells.append(f"<td>{row['status']}</td>")
        body.append(f'<tr><th scope="row">{shown(str(label))}</th>{"".join(cells)}</tr>')
    caption = f"The {len(hardest)} items with the highest average error that some get right"
    table = _table(caption, head, body, numeric=range(1, 6))
    return _section(
        "items",
        "All items",
        '<p class="caption">Difficulty is blank where an item is flat, its slope is below 0, or '
        "all or none get it right. Choose an item to see its curve.</p>",
        '<div class="scripted" id="table"></div>'
        '<div id="detail-below" class="detail scripted" role="region" '
        'aria-label="The chosen item, again"></div>',
        f'<div class="fallback">{table}</div>',
    )


def _method(found: Findings) -> str:
    result = found.result
    settings = result.settings
    prior = settings.prior
    kind = prior.get("kind", "given") if isinstance(prior, dict) else prior
    rows = [
        ("model", result.model),
        ("method", "variational posterior" if result.method == "vi" else "EM"),
        ("prior of the items", "none" if kind is None else str(kind)),
        ("converged", f"{'yes' if result.converged else 'NO'}, {result.n_iterations} iterations"),
        ("log-likelihood", f"{result.log_likelihood:.2f}".replace("-", "−")),
        ("parameters", count(result.n_parameters)),
        ("nodes of ability", count(result.quadrature.n_nodes)),
        ("seed", str(settings.seed)),
        ("irtkit", version("irtkit")),
    ]
    if result.quality_standard is not None:
        rows.append(("further metrics", str(settings.metrics)))
    listed = "".join(f"<div><dt>{name}</dt><dd>{_safe(value)}</dd></div>" for name, value in rows)
    formula = (
        "P(right) = c + (1 − c) / (1 + exp(−a (θ − b))), with ability θ, slope (discrimination) a, "
        "difficulty b and guessing c (Birnbaum 1968)"
    )
    without = {
        "Rasch": "; here a is 1 and c is 0",
        "1PL": "; here all items share a, and c is 0",
        "2PL": "; here c is 0",
        "3PL": "",
    }[result.model]
    notes = (
        f"{formula}{without}. Items are estimated with abilities integrated out (Bock & Aitkin "
        "1981); 0 is the mean ability of these systems, and 1 its standard deviation"
        + (", which for Rasch is estimated instead." if result.model == "Rasch" else "."),
        "Whether a slope is below 0 is told by how responses follow the share right of systems, and "
        "by what all items show of slopes; calls are made at a false-discovery rate. Systems that "
        "answer alike count for as many as are independent.",
        "Shares have Wilson's intervals (1927). Rank intervals are those of Mogstad, Romano, Shaikh "
        "& Wilhelm (2024, Review of Economic Studies 91), about items like these; errors are those "
        "of paired differences (Miller 2024, arXiv 2411.00640).",
    )
    summary = escape(str(result))
    drawn = svg.trace(trace(result), "Progress of the fit")
    return _section(
        "method",
        "Settings and method",
        f'<dl class="settings">{listed}</dl>',
        _paragraphs(notes),
        f"<details><summary>Progress of the fit</summary><figure>{drawn}</figure></details>",
        f"<details><summary>Summary as text</summary><pre>{summary}</pre></details>",
    )
