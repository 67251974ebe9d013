"""Labels and texts of others in a page: escaped, cut, and with nothing in them that steers."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from irtkit.pictures import number_text
from irtkit.printed import printable

if TYPE_CHECKING:
    from collections.abc import Hashable

LABEL, TEXT = 120, 300
"""Characters of a label and of a text that the page keeps."""
_PICTOGRAMS = "\u2600-\u27bf\U0001f000-\U0001faff"
_JOINER = re.compile(f"(?<=[\ufe0f{_PICTOGRAMS}])\u200d(?=[{_PICTOGRAMS}])")
"""What makes one emoji of two; after a variation selector too."""
_SHOWN = 48
"""Characters of a label in a table."""
_TITLE = 300
"""Characters of a label in the note that a pointer brings up."""


def cut(label: Hashable, room: int) -> str:
    """A label or text on one line, whose characters all print, and no longer than the room."""
    text = " ".join(printable_words(label))
    return text if len(text) <= room else f"{text[: room - 1]}…"


def printable_words(label: Hashable) -> list[str]:
    """Words of a label; line ends stand between words, what would steer is spelled out."""
    return [_printable(word) for word in str(label).split()] or [printable(label)]


def _printable(word: str) -> str:
    """A word that prints; the joiners within an emoji stay, and steer nothing else."""
    return "\u200d".join(map(printable, _JOINER.split(word)))


def shown(label: Hashable, room: int = _SHOWN) -> str:
    """HTML of a label, set apart from its surroundings in whichever direction it is written."""
    text = cut(label, room)
    whole = cut(label, _TITLE)
    title = f' title="{escape(whole)}"' if whole != text else ""
    return f"<bdi{title}>{escape(text)}</bdi>"


def number(value: float, decimals: int = 2) -> str:
    """A number in a cell."""
    return number_text(float(value), decimals)


def share(value: float, decimals: int = 1) -> str:
    """A share in per cent, empty for NaN."""
    return "" if value != value else f"{value:.{decimals}%}"  # noqa: PLR0124


def count(n: int, of: str = "") -> str:
    """A number of things, thousands set apart."""
    return f"{n:,} {noun(n, of)}" if of else f"{n:,}"


def noun(n: int, of: str) -> str:
    """One thing or several, without their number."""
    return of if n == 1 else f"{of}s"
