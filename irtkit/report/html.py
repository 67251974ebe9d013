"""Parts of a page: sections, sentences, tables, links; all that others wrote is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from irtkit.report.words import LABEL, cut, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SENTENCE = 4000
"""Characters of a sentence, which may quote labels."""


def section(name: str, heading: str, *parts: str) -> str:
    """A section of the page, HTML, that links find by its name."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">'
        f"{heading}</h2>{''.join(parts)}</section>"
    )


def paragraphs(sentences: Iterable[str]) -> str:
    """Sentences, each a paragraph."""
    return "".join(f"<p>{safe(one)}</p>" for one in sentences)


def safe(sentence: str) -> str:
    """A sentence that may quote labels."""
    return escape(cut(sentence, _SENTENCE))


def listed(sentences: Sequence[str]) -> str:
    """Sentences as a list."""
    return f"<ul>{''.join(f'<li>{safe(one)}</li>' for one in sentences)}</ul>" if sentences else ""


def item_link(label: str, labels: Sequence[str]) -> str:
    """A link to what the page knows of an item, one of these."""
    return f'<a class="to-item" href="#{address(label, labels)}">{shown(label)}</a>'


def address(label: str, labels: Sequence[str]) -> str:
    """Where an item is found: its label or, as cut ones may be alike, its place among them."""
    if cut(label, LABEL) == label:
        return f"item={quote(label, safe='')}"
    return f"place={labels.index(label)}"


def table(
    caption: str,
    head: Sequence[str],
    body: Sequence[str],
    *,
    numeric: Iterable[int],
    kind: str = "",
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
