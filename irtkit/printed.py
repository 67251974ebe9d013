"""Results as they are shown: tables and sentences, 80 columns wide on a terminal.

A result says what it shows as a `Shown`. `Shown.text` prints it, `Shown.markdown` writes it, and
`irtkit.report.notebook` makes HTML of it. Labels are without control characters.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cache
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from irtkit.capabilities import no_attribute
from irtkit.findings import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    import pandas as pd
    from rich.console import Console, RenderableType

WIDTH = 80  # Columns of a usual terminal.
LABEL, _LEAST = 28, 16  # Columns of a printed label, and its least. A character may take two.
TOP = 20  # Rows that are printed: with the headings, a screen of 24 lines.

_BEGINNING = re.compile(r"(.*[\W_])?")  # A text up to the last sign between words.


class InNotebooks:
    """An object that notebooks show with tables and pictures."""

    html_of: ClassVar[Callable[[Any], str]]
    """What makes HTML of it. The package sets it, since pages stand above all results."""

    def _repr_html_(self) -> str:
        return InNotebooks.html_of(self)

    def __getattr__(self, name: str) -> Any:
        """Say which column or other attribute holds what people look for."""
        if name.startswith("_"):
            raise AttributeError(name)
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)  # which says why a property has no value
        fields = getattr(self, "__dict__", {})  # a matrix has slots
        tables = {field: value for field, value in fields.items() if hasattr(value, "columns")}
        raise no_attribute(type(self).__name__.lower(), name, dir(self), tables)


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

    labels = list(labels)
    names = {label: printable(label) for label in labels}
    lost, cut = dict.fromkeys(names, 0), {name: shortened(name, room) for name in names}
    for _ in range(5):  # labels that are still equal lose more of their common part
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
                end = names[label][lost[label] :] or names[label][1 - room + room // 3 :]
                cut[label] = shortened(f"{head}…{end}", room)
    return [cut[label] for label in labels]


def in_lines(sentences: Iterable[str], *, bullet: str = "") -> str:
    """Sentences broken into lines between words, with an indent after their first line."""
    from rich.text import Text

    indent = " " * (len(bullet) or 2)
    lines = []
    for sentence in sentences:
        words = Text(" ".join(printable(sentence).split()))
        fits = words.cell_len + len(bullet) <= WIDTH
        broken = words.wrap(_console(), WIDTH if fits else WIDTH - len(indent))
        first, *rest = [line.plain.rstrip() for line in broken] or [""]
        lines += [bullet + first, *(indent + line for line in rest)]
    return "\n".join(lines)


def two_digits(number: float) -> int | None:
    """A number of items rounded to two significant digits, or None beyond a million."""
    return int(float(f"{number:.2g}")) if number <= 1e6 else None


def p_words(value: float, decimals: int = 3) -> str:
    """A p-value in words: "p = 0.042", "p < 0.001"."""
    least = 10.0**-decimals
    return f"p < {least:.{decimals}f}" if value < least else f"p = {value:.{decimals}f}"


def with_p_values(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its p-values in words, since one of 0.000 would be no probability."""
    words = {
        name: table[name].map(_p_text, na_action="ignore")
        for name in ("p_value", "q_value")
        if name in table
    }
    return table.assign(**words)


def _p_text(p: float) -> str:
    """A p-value with three decimals: "0.042", "<0.001"."""
    return p_words(p).removeprefix("p = ").replace("p < ", "<")


def cell(value: Any) -> str:
    """A number with three decimals, nothing for NaN and None, and other values as text."""
    if isinstance(value, float):
        return "" if value != value else f"{value:z.3f}"  # noqa: PLR0124  # NaN
    return "" if value is None else printable(value)


@dataclass(frozen=True)
class Shown:
    """What a result shows, on a terminal, on a page and in Markdown alike."""

    title: str = ""  # What the table holds.
    table: pd.DataFrame | None = None
    """Rows by their labels. The names of columns are their headings, the most important first."""
    legend: Sequence[str] = ()  # What the columns are, as "name: meaning".
    findings: Sequence[object] = ()  # Sentences.
    further: Sequence[Shown] = ()

    def __post_init__(self) -> None:
        if self.table is not None:
            object.__setattr__(self, "table", with_p_values(self.table))

    def text(self, top: int = TOP, *, legend: bool = False) -> str:
        """Return lines of 80 columns, with at most ``top`` rows of every table.

        Without ``legend`` a legend has at most two lines.

        Examples
        --------
        >>> import pandas as pd
        >>> from irtkit.printed import Shown
        >>> table = pd.DataFrame({"score": [0.75, 0.5]}, pd.Index(["a", "b"], name="system"))
        >>> print(Shown("best first", table, ["score: per cent right"]).text(1))
        best first:
        system score
        a      0.750
        … and 1 more
        <BLANKLINE>
        score: per cent right
        """
        blocks = []
        if self.table is not None and len(self.table) and top:
            heading = f"{in_lines([f'{self.title}:'])}\n" if self.title else ""
            blocks.append(heading + _table_text(self.table, top))
            blocks.append(in_lines([". ".join(self.legend)] if legend else _begun(self.legend)))
        blocks.append(in_lines(map(str, self.findings)))
        blocks += [part.text(top, legend=legend) for part in self.further]
        return "\n\n".join(filter(None, blocks))

    def markdown(self) -> str:
        """Return a heading, a table and paragraphs in Markdown."""
        blocks = [f"## {_in_markdown(self.title)}"] if self.title else []
        if self.table is not None:
            names = headings(self.table)
            rows = [names, ["---"] * len(names), *self.table.itertuples(name=None)]
            blocks.append("\n".join(f"| {' | '.join(map(_in_markdown, row))} |" for row in rows))
        blocks += [_in_markdown(str(sentence)) for sentence in (*self.findings, *self.legend)]
        blocks += [part.markdown() for part in self.further]
        return "\n\n".join(block.rstrip("\n") for block in blocks) + "\n"


class Printed(InNotebooks):
    """A result that `print` and notebooks show."""

    def shown(self) -> Shown:
        """Return what is shown. Its ``text(legend=True)`` explains all columns."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.shown().text()


def headings(table: pd.DataFrame) -> list[str]:
    """Headings of a table, in which respondents are called systems."""
    names = (str(table.index.name or ""), *map(str, table.columns))
    return ["system" if name == "respondent" else name for name in names]


def _in_markdown(value: Any) -> str:
    """Text that a table of Markdown holds as it is."""
    escaped = cell(value).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("`", "\\`").replace("[", "\\[")


def _begun(legend: Sequence[str]) -> list[str]:
    """The first entries of a legend, as many as two lines hold."""
    for n in range(len(legend), 0, -1):
        text = ". ".join(legend[:n])
        if n == 1 or len(text) <= 2 * WIDTH - 22:  # with its end it has two lines
            return [text if n == len(legend) else f"{text}. More: {spelled(legend=True)}"]
    return []


def is_text(values: Iterable[Any]) -> bool:
    """Whether a column holds words, which stand to the left."""
    return any(isinstance(value, str) and re.search(r"[^\W\d_]", value) for value in values)


def _table_text(table: pd.DataFrame, top: int) -> str:
    """The first rows of a table, without the last columns if 80 columns have no room for them."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    rows = table.head(top).reset_index()
    names = headings(table)
    cells = [[cell(value) for value in rows.iloc[:, k]] for k in range(len(names))]
    words = [k for k in range(len(names)) if k == 0 or is_text(cells[k])]
    widths = np.array(
        [
            1 + max(map(cell_len, (*name.split("_"), *column)))
            for name, column in zip(names, cells, strict=True)
        ]
    )
    # columns that each column of words may have next to the numbers
    rooms = np.arange(WIDTH)
    n = len(names)
    while True:
        of_words = np.minimum.outer(widths[[k for k in words if k < n]], rooms + 1).sum(axis=0)
        of_numbers = sum(int(widths[k]) for k in range(n) if k not in words)
        room = int(rooms[of_words + of_numbers <= WIDTH].max(initial=0))
        if room >= _LEAST or n <= 2:
            break
        n -= 1
    drawn = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(names[:n]):
        if k in words and not (k and any(" " in text for text in cells[k])):
            cells[k] = short_labels(cells[k], room)
        justify: Any = "left" if k in words else "right"
        drawn.add_column(name.replace("_", "\n"), justify=justify, max_width=max(room, _LEAST))
    for row in zip(*cells[:n], strict=True):
        drawn.add_row(*map(Text, row))
    lines = [plain(drawn)]
    if len(table) > top:
        lines.append(f"… and {len(table) - top:,} more")
    if n < len(names):
        lines.append(in_lines([f"… and columns without room: {', '.join(names[n:])}"]))
    return "\n".join(lines)


@cache
def _console() -> Console:
    """A console without colours, in a notebook too."""
    from rich.console import Console

    plain: Any = {"color_system": None, "force_jupyter": False, "legacy_windows": False}
    return Console(file=io.StringIO(), width=WIDTH, **plain)


def plain(drawn: RenderableType) -> str:
    """Text that rich would print."""
    console = _console()
    with console.capture() as printed:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in printed.get().splitlines())
