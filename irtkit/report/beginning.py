"""What was found, in words and five numbers."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from irtkit.report.findings import leader_sentences, negative_sentence, why
from irtkit.report.html import item_link, listed, safe
from irtkit.report.words import count

if TYPE_CHECKING:
    from irtkit.report.findings import Findings


def lead(found: Findings, title: str) -> str:
    """What was found, in words and five numbers."""
    result, told = found.result, found.audit.summary
    labels, n_negative = result.item_labels, found.n_negative
    n_items = len(labels)
    synthetic = int(result.synthetic.sum())
    beside = (
        f" ({synthetic} synthetic ones beside them count for nothing here)" if synthetic else ""
    )
    systems, items = count(result.n_answering, "system"), count(n_items, "item")
    size = f"<strong>{systems}</strong> answered <strong>{items}</strong>{beside}."
    first = [f"{size} {safe(told[0])}"]
    first.append(negative_sentence(found))
    begin = found.audit.look_first
    named = "".join(f"<li>{item_link(one, labels)}: {safe(why(found, one))}</li>" for one in begin)
    these = "this item" if len(begin) == 1 else f"these {len(begin)} items"
    first += [f"Look at {these} first:"] if begin else []
    words = f"<p>{' '.join(first)}</p>" + (f"<ul>{named}</ul>" if named else "")
    ahead = " ".join(map(safe, leader_sentences(found)))
    words += f"<p>{ahead}</p>" if ahead else ""
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
        read = f'<div class="caution"><h2>Before you rely on this</h2>{listed(cautions)}</div>'
    return (
        f'<section id="found" class="lead"><h1>{escape(title)}</h1>{words}'
        f'<dl class="tiles">{boxes}</dl>{read}</section>'
    )
