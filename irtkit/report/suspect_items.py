"""Suspect items: curves of the first, and a table of them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from irtkit.findings import reasons_text
from irtkit.pictures import NEGATIVE, SUSPECT, item_curves
from irtkit.printed import percent
from irtkit.report import svg
from irtkit.report.findings import LEVEL, families_sentence, strong_answer
from irtkit.report.html import address, item_link, mark, safe, section, table
from irtkit.report.words import LABEL, count, cut, number, shown
from irtkit.suspects.flags import negatives

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from irtkit.pictures import ItemCurve
    from irtkit.report.findings import Findings

_SUSPECTS = 100
"""Rows of the table of suspects: two pages of paper."""

_CURVES = 8
"""Suspects whose curves are drawn: two rows of four."""
_NAMED = 40
"""Systems that are named as having an item right."""
_ASKED = 160
"""Characters of a text in the card of a suspect: six lines. The panel of an item has more."""
_LOOK = (
    "A suspect is not a verdict: look at the item and its key. Those most probably negative come "
    "first."
)


def suspect_items(found: Findings) -> str:
    """Curves of the worst suspects, and the table of them all."""
    suspects = found.suspects
    if not len(suspects):
        none = " ".join(filter(None, ["None was found.", families_sentence(found)]))
        return section("suspects", "Suspect items", f"<p>{none}</p>")
    alike = found.result.alike.loc[suspects.index]
    several = alike.map(alike.value_counts())
    chosen = suspects[~alike.duplicated()].head(_CURVES)
    curves = item_curves(found.result, list(chosen.index))
    drawn = [svg.item_curve(curve, _title(curve)) for curve in curves]
    rows = zip(chosen.index, several[chosen.index], drawn, strict=True)
    cards = "".join(_card(found, str(label), n, picture) for label, n, picture in rows)
    more = len(suspects) - _SUSPECTS
    rest = f"<p>… and {count(more)} more, in the table of all items.</p>" if more > 0 else ""
    return section(
        "suspects",
        "Suspect items",
        f"<p>{' '.join(filter(None, [_LOOK, families_sentence(found)]))}</p>",
        f'<div class="cards">{cards}</div>',
        f'<p class="caption">{curve_caption(found)}</p>',
        _suspect_table(suspects.head(_SUSPECTS), found.result.places),
        rest,
        f'<p class="caption">{safe(found.audit.legend)}.</p>',
    )


def _title(curve: ItemCurve) -> str:
    return f"Observed and fitted share right of {cut(curve.item, LABEL)} along ability"


def curve_caption(found: Findings) -> str:
    """What lines, dots and bars of the curve of an item are."""
    taken = "; but some are near-duplicates" if found.result.evidence < 1 else ""
    return (
        "Line: share right by the model, dashed where no system is. Dots: share right in groups "
        "of systems of about the same size, from the least able to the ablest; bars: "
        f"{percent(LEVEL)} intervals (Wilson), which take systems for independent{taken}."
    )


def _card(found: Findings, label: str, n_alike: int, drawn: str) -> str:
    """One suspect: what it is, its curve, and who gets it right."""
    row: Any = found.suspects.loc[label]
    lines = [] if n_alike == 1 else [f"<p>+ {count(n_alike - 1)} with the same responses</p>"]
    lines += [f'<p class="why">{safe(reasons_text(row["reasons"]))}</p>']
    lines += [f"<p>{safe(text)}</p>"] if (text := strong_answer(row)) else []
    lines += [f'<p class="asked">{text}</p>'] if (text := _asked(row)) else []
    places = found.result.places
    return (
        f'<article class="card" id="{address(label, places)}"><h3>{item_link(label, places)}</h3>'
        f"{drawn}{''.join(lines)}{_who(found, label)}</article>"
    )


def _asked(row: pd.Series[Any]) -> str:
    """Text and target of an item, where known."""
    known = [row.get(name) for name in ("text", "target")]
    text, target = (cut(one, _ASKED) if isinstance(one, str) and one else "" for one in known)
    parts = [f"<bdi>{escape(text)}</bdi>"] if text else []
    parts += [f"<b>marked right:</b> <bdi>{escape(target)}</bdi>"] if target else []
    return " → ".join(parts)


def _who(found: Findings, label: str) -> str:
    """Systems that have an item right, best first; nothing of repeated trials."""
    result = found.result
    patterns = result.patterns
    if patterns.repeated:
        return ""
    j = result.places[label]
    cells = patterns.cells[:, [j]].toarray()[:, 0] if patterns.sparse else patterns.cells[:, j]
    right = result.best_first[cells[result.best_first] > 0]
    n = int(result.counts.item_responses[j])
    names = ", ".join(shown(result.respondent_labels[k]) for k in right[:_NAMED])
    more = f" … and {count(len(right) - _NAMED)} more" if len(right) > _NAMED else ""
    named = f"<p>Best first: {names}{more}</p>" if len(right) else ""
    return (
        f"<details><summary>Right: {len(right)} of {count(n, 'system')}</summary>{named}</details>"
    )


def _suspect_table(suspects: pd.DataFrame, places: Mapping[str, int]) -> str:
    numbers = {
        "p_negative": ("p negative", 2),
        "wrong_key": ("wrong key", 1),
        "discrimination": ("slope", 2),
        "average_error": ("average error", 2),
    }
    answers = "strong_answer" in suspects
    columns = {"item": False, "reasons": False}
    columns |= {heading: True for heading, _ in numbers.values()}
    columns |= {"the strong answer": False} if answers else {}
    rows = [
        (
            f"{mark(NEGATIVE if called else SUSPECT)} {item_link(str(label), places)}",
            safe(reasons_text(row["reasons"])),
            *(number(row[name], digits) for name, (_, digits) in numbers.items()),
            *([safe(strong_answer(row))] if answers else []),
        )
        for called, (label, row) in zip(negatives(suspects), suspects.iterrows(), strict=True)
    ]
    return table("Suspect items, most probably negative first", columns, rows, css="tall")
