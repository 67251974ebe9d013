"""The environment of the templates: what others wrote is escaped, cut, and steers nothing."""

from __future__ import annotations

import math
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from irtkit.checks import counted
from irtkit.findings import reasons_text
from irtkit.pictures import fitted
from irtkit.pictures.svg import svg
from irtkit.printed import headings, is_text, percent, printable
from irtkit.responses import item_texts

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

LABEL, TEXT = 120, 300  # Characters of a label and of a text that the page keeps.
_SENTENCE = 4000  # Characters of a sentence, which may quote labels.


def number_text(value: float, decimals: int = 2) -> str:
    """A number in a table of a page: a true minus sign, 3.0e+03 if it is large, empty for NaN."""
    if math.isnan(value):
        return ""
    text = f"{value:.1e}" if 1e3 <= abs(value) < math.inf else f"{value:z.{decimals}f}"
    return text.replace("-", "−")


def cut(label: Hashable, room: int = LABEL) -> str:
    """A label or text on one line, whose characters all print, and no longer than the room."""
    words = " ".join(str(label).split())
    text = "\u200d".join(map(printable, words.split("\u200d")))  # it joins emoji
    return text if len(text) <= room else f"{text[: room - 1]}…"


def strong_answer(row: pd.Series[Any]) -> str:
    """What the top quarter of systems answers to an item, and what is marked right, if known."""
    answer, marked = row.get("strong_answer"), row.get("marked_right")
    if answer is None or answer != answer:  # noqa: PLR0124  # NaN
        return ""
    key = "" if marked is None or marked != marked else f", {marked} is marked right"  # noqa: PLR0124
    return f"{row['strong_share']:.0%} of the top quarter answer {answer}{key}"


EVIDENCE = {
    "p_wrong_key": "P wrong key",
    "p_negative": "P negative",
    "discrimination": "discrimination",
    "best_right": "right, of the best",
    "weakest_right": "right, of the weakest",
}
"""Evidence against a suspect, and its headings."""


def evidence(row: pd.Series[Any]) -> list[tuple[str, float]]:
    """What is known of a suspect, where it is known."""
    present = [name for name in EVIDENCE if name in row and row[name] == row[name]]
    if "p_wrong_key" in present:
        present = [name for name in present if name != "p_negative"]
    return [(EVIDENCE[name], float(row[name])) for name in present]


def link(label: str, place: int) -> Markup:
    """A link to what the page has of an item."""
    text = cut(label, 48)
    html = Markup('<a class="to-item" href="#item-{}" title="{}"><bdi>{}</bdi></a>')
    return html.format(place, cut(label, TEXT), text)


def _finalised(value: Any) -> Any:
    """What a template shows of a value."""
    if value is None or hasattr(value, "__html__"):
        return "" if value is None else value
    if isinstance(value, Integral):
        return f"{value:,}"
    return number_text(float(value)) if isinstance(value, Real) else cut(value, _SENTENCE)


@cache
def environment() -> Environment:
    """The environment, which makes the templates when they are first used."""
    made = Environment(
        loader=PackageLoader("irtkit.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalised,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"cut": cut, "counted": counted, "number": number_text, "percent": percent}
    made.filters["words"] = lambda table: [name for name in table if is_text(table[name])]
    made.filters |= {"reasons": reasons_text, "strong": strong_answer, "evidence": evidence}
    made.filters["headings"] = headings
    made.globals |= {"svg": svg, "link": link, "pictures": fitted, "item_texts": item_texts}
    return made
