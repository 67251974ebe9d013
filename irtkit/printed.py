"""Tables and sentences as they are printed: 80 columns wide, labels without control characters."""

from __future__ import annotations

import io
import re
from itertools import chain
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    import pandas as pd
    from rich.console import RenderableType
    from rich.table import Table

WIDTH = 80  # Columns of a usual terminal.
LABEL = 28  # Columns of a printed label. A character may take two.

_BEGINNING = re.compile(r"(.*[\W_])?")  # A text up to the last sign between words.
_MOST_CUTS = 5  # Times that labels which are still equal lose more of their common part.


class InNotebooks:
    """An object that notebooks show with tables and pictures."""

    html_of: ClassVar[Callable[[Any], str]]
    """What makes HTML of it. The package sets it, since pages stand above all results."""

    def _repr_html_(self) -> str:
        return InNotebooks.html_of(self)


def printable(label: Hashable) -> str:
    """A label with escaped control characters."""
    text = str(label)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(label: Hashable, room: int = LABEL) -> str:
    """A printable label without its end if it is long."""
    from rich.cells import cell_len, set_cell_size

    text = printable(label)
    return text if cell_len(text) <= room else f"{set_cell_size(text, room - 1).rstrip()}…"


def percent(share: float) -> str:
    """A level or rate as it was given: "95%", "97.5%"."""
    return f"{100 * share:.9g}%"


def short_labels(labels: Iterable[Hashable], room: int = LABEL) -> list[str]:
    """Printable labels. Long ones lose a part that they share with others.

    Examples
    --------
    >>> from irtkit.printed import short_labels
    >>> short_labels(["gpt-4", "some-lab/model-of-1999-7b", "some-lab/model-of-1999-13b"], 12)
    ['gpt-4', 'some…7b', 'some…13b']
    """
    from rich.cells import set_cell_size

    names = {label: printable(label) for label in labels}
    lost, cut = dict.fromkeys(names, 0), {name: shortened(name, room) for name in names}
    for _ in range(_MOST_CUTS):
        alike: dict[str, list[Hashable]] = {}
        for label, text in cut.items():
            alike.setdefault(text, []).append(label)
        for group in alike.values():
            rests = [names[label][lost[label] :] for label in group]
            shared = commonprefix(rests)  # noqa: RUF071  # letter by letter
            word = len(_BEGINNING.match(shared)[0]) or max(len(shared) - room // 3, 1)  # type: ignore[index]
            for label in group if len(group) > 1 else ():
                lost[label] += word
                head = set_cell_size(names[label], room // 3)
                cut[label] = shortened(f"{head}…{names[label][lost[label] :]}", room)
    return [cut[label] for label in names]


def in_lines(sentences: Iterable[str], *, bullet: str = "") -> str:
    """Sentences broken into lines between words, with an indent after their first line."""
    following = " " * len(bullet) if bullet else "  "
    return "\n".join(
        line
        for sentence in sentences
        for line in _broken(printable(sentence).split(), bullet, following)
    )


def _broken(words: list[str], first: str, following: str) -> Iterator[str]:
    """Lines of words. A word longer than a line is broken."""
    from rich.cells import cell_len, chop_cells

    room = WIDTH - len(following)
    line, free = first, WIDTH - len(first)
    for word in chain.from_iterable(chop_cells(word, room) for word in words):
        space = "" if line in {first, following} else " "
        if cell_len(space + word) > free:
            yield line
            line, free, space = following, room, ""
        line, free = line + space + word, free - cell_len(space + word)
    yield line


def two_digits(number: float) -> int | None:
    """A number of items rounded to two significant digits, or None beyond a million."""
    return int(float(f"{number:.2g}")) if number <= 1e6 else None


def p_words(value: float, decimals: int = 3) -> str:
    """A p-value in words: "p = 0.042", "p < 0.001"."""
    least = 10.0**-decimals
    return f"p < {least:.{decimals}f}" if value < least else f"p = {value:.{decimals}f}"


def cell(value: Any) -> str:
    """A number with three decimals, nothing for NaN and None, and other values as text."""
    if isinstance(value, float):
        return "" if value != value else f"{value:z.3f}"  # noqa: PLR0124  # NaN
    return "" if value is None else printable(value)


def table_of(frame: pd.DataFrame, texts: Iterable[str] = (), *, red: Iterable[bool] = ()) -> Table:
    """Table of a frame whose index holds printable, short labels, see `shortened`.

    Columns named in ``texts`` are broken into lines. Labels with a true ``red`` are red.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(str(frame.index.name or ""), no_wrap=True)
    texts = set(texts)
    for name in frame.columns:
        justify: Literal["left", "right"] = "left" if name in texts else "right"
        table.add_column(str(name).replace("_", "\n"), justify=justify)
    marked = list(red) or [False] * len(frame)
    for label, row, is_red in zip(frame.index, frame.to_numpy(dtype=object), marked, strict=True):
        table.add_row(
            Text(label, style="red" * bool(is_red)), *(Text(cell(value)) for value in row)
        )
    return table


def plain(shown: RenderableType) -> str:
    """Text that rich would print, without colours, in a notebook too."""
    from rich.console import Console

    file, no = io.StringIO(), {"legacy_windows": False, "force_jupyter": False}
    Console(file=file, width=WIDTH, color_system=None, **no).print(shown)  # type: ignore[arg-type]
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())
