"""The page: sections in the order in which they are read, and what holds them together.

Nothing in it is loaded from elsewhere, and nothing runs but one script that the page names by its
hash (Content-Security-Policy), and that may not make elements of texts. Without the script all is
there but the panel of an item, the search, and the items after the first of their table.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from irtkit.report.beginning import lead
from irtkit.report.columns import block
from irtkit.report.item_maps import average_error, comparison, item_map_section, predicted
from irtkit.report.reference import all_items, method
from irtkit.report.standing import measurement, systems
from irtkit.report.suspect_items import suspect_items

if TYPE_CHECKING:
    from irtkit.report.findings import Findings

_SECTIONS = (
    *(suspect_items, item_map_section, average_error, comparison, predicted, systems),
    *(measurement, all_items, method),
)
"""In the order in which they are read."""
_LINKS = {
    "suspects": "Suspect items",
    "map": "Item map",
    "error": "Average error",
    "systems": "Systems",
    "precision": "Precision",
    "items": "All items",
    "method": "Method",
}
"""Sections that the bar at the top leads to."""


def page(found: Findings, title: str) -> str:
    """The whole page, HTML."""
    sections = [lead(found, title), *(write(found) for write in _SECTIONS)]
    style, script = (_resource(f"report.{kind}") for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#found">Skip to what was found</a>\n'
        f"{_header(title)}\n<main>\n"
        + "\n".join(filter(None, sections))
        + '\n</main>\n<p id="status" class="quiet" role="status"></p>\n'
        f'<script type="application/json" id="data">{block(found)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _resource(name: str) -> str:
    return files("irtkit.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _header(title: str) -> str:
    listed = "".join(f'<li><a href="#{name}">{text}</a></li>' for name, text in _LINKS.items())
    return (
        f'<header class="top"><p class="name">{escape(title)}</p>'
        f'<nav aria-label="Sections"><ul>{listed}</ul></nav>'
        '<button type="button" id="theme" class="scripted">Dark theme</button>'
        "</header>"
    )
