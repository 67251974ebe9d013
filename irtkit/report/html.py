"""Parts of a page: sections, sentences, tables, links; all that others wrote is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from irtkit.pictures import NEGATIVE
from irtkit.report.words import LABEL, cut, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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


def item_link(label: str, places: Mapping[str, int]) -> str:
    """A link to what the page knows of an item, one of these."""
    return f'<a class="to-item" href="#{address(label, places)}">{shown(label)}</a>'


def address(label: str, places: Mapping[str, int]) -> str:
    """Where an item is found: its label or, as cut ones may be alike, its place among them."""
    if cut(label, LABEL) == label:
        return f"item={quote(label, safe='')}"
    return f"place={places[label]}"


def mark(kind: int) -> str:
    """The sign of an item that is called negative, or is suspect for other reasons."""
    css, sign = ("negative", "▲") if kind == NEGATIVE else ("suspect", "○")
    return f'<span class="mark {css}" aria-hidden="true">{sign}</span>'


def table(
    caption: str, columns: Mapping[str, bool], rows: Iterable[Sequence[str]], *, css: str = ""
) -> str:
    """A table in a box of its own, which scrolls by itself where the page is narrow.

    Columns by their headings, and whether they hold numbers, which stand to the right; cells are
    HTML, and the first of a row is what it is about.
    """
    classes = [' class="number"' if numeric else "" for numeric in columns.values()]
    head = "".join(
        f'<th scope="col"{one}>{escape(name)}</th>'
        for name, one in zip(columns, classes, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{about}</th>'
        + "".join(f"<td{one}>{cell}</td>" for one, cell in zip(classes[1:], cells, strict=True))
        + "</tr>"
        for about, *cells in rows
    )
    return (
        f'<div class="{f"scroll {css}".strip()}" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
