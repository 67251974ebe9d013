"""What was found, in words and five numbers."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from irtkit.calibration.result import AT_CHANCE
from irtkit.report.findings import leader_sentences, negative_sentence, why
from irtkit.report.html import item_link, listed, safe
from irtkit.report.words import count, noun

if TYPE_CHECKING:
    from irtkit.report.findings import Findings


def lead(found: Findings, title: str) -> str:
    """What was found, in words and five numbers."""
    return (
        f'<section id="found" class="lead"><h1>{escape(title)}</h1>{_first_words(found)}'
        f"{_tiles(found)}{_cautions(found)}</section>"
    )


def _first_words(found: Findings) -> str:
    """How much was answered, how many items are suspect, where to begin, and who is ahead."""
    result = found.result
    systems, items = count(result.n_answering, "system"), count(len(result.places), "item")
    beside = ""
    if n := int(result.synthetic.sum()):
        took = "takes part in estimating items, and is"
        took = took if n == 1 else "take part in estimating items, and are"
        beside = f" ({count(n, 'synthetic respondent')} beside them {took} in no count)"
    source = None if result.responses is None else result.responses.source
    begin = found.audit.look_first
    first = [
        f"<strong>{systems}</strong> answered <strong>{items}</strong>{beside}.",
        "" if source is None else safe(str(source)),
        *(safe(f"{one}.") for one in result.findings if one.code == AT_CHANCE),
        safe(found.audit.headline),
        negative_sentence(found),
    ]
    if begin:
        these = "this item" if len(begin) == 1 else f"these {len(begin)} items"
        first.append(f"Look at {these} first:")
    named = "".join(
        f"<li>{item_link(one, result.places)}: {safe(why(found, one))}</li>" for one in begin
    )
    ahead = " ".join(map(safe, leader_sentences(found)))
    return (
        f"<p>{' '.join(filter(None, first))}</p>"
        + (f"<ul>{named}</ul>" if named else "")
        + (f"<p>{ahead}</p>" if ahead else "")
    )


def _tiles(found: Findings) -> str:
    n_systems, n_items = found.result.n_answering, len(found.result.places)
    n_negative = found.audit.n_negative
    tiles = (
        (n_systems, noun(n_systems, "system")),
        (n_items, noun(n_items, "item")),
        (n_negative, f"{noun(n_negative, 'item')} called negative"),
        (len(found.suspects) - n_negative, "suspect for other reasons"),
        (len(found.audit.uninformative), "uninformative"),
        (len(found.audit.all_wrong), "that no system gets right"),
    )
    boxes = "".join(f"<div><dt>{name}</dt><dd>{count(n)}</dd></div>" for n, name in tiles)
    return f'<dl class="tiles">{boxes}</dl>'


def _cautions(found: Findings) -> str:
    """What the audit and the leaderboard say of how far they can be relied on."""
    audit, board = found.audit, (f"{one}." for one in found.board_findings)
    cautions = [*audit.limits, *audit.details, *board]
    if not cautions:
        return ""
    return f'<div class="caution"><h2>Before you rely on this</h2>{listed(cautions)}</div>'
