"""Pictures as SVG: text that needs neither a library nor a script, in a page and in notebooks.

Colours stand as attributes, for notebooks that strip styles, and as classes, by which the page
follows its theme. Nothing is told by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from irtkit.pictures import NEGATIVE, ORDINARY, SUSPECT, Scale, colours, tick_text
from irtkit.printed import shortened
from irtkit.report.words import share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from irtkit.irf import Array
    from irtkit.pictures import (
        ItemCurve,
        ItemPoints,
        Precision,
        Ranking,
        Trace,
        WrightMap,
    )

TEXT = "currentColor"
"""Colour of the text around, which may be light or dark."""
_SIZES = ((1, 4), (2, 6), (10, 9), (100, 13))
"""Diameter in pixels of a dot that stands for so many points or more."""
_LABEL = 24
"""Columns of a label beside a picture."""
_SHARES = Scale(-0.03, 1.03)
"""An axis of shares, on which dots at 0 and 1 are whole."""


@dataclass(frozen=True)
class Panel:
    """A rectangle between axes, in pixels of the view box."""

    x: Scale = _SHARES
    y: Scale = _SHARES
    width: int = 640
    height: int = 400
    left: int = 86
    right: int = 14
    top: int = 14
    bottom: int = 56
    """Room for ticks beside the name of an axis: on phones letters are half as large again."""
    percent: bool = False
    """Whether the vertical axis is of shares."""

    def px(self, values: ArrayLike) -> Array:
        """Pixels from the left; values beyond the axis at its end."""
        return self.left + self.x.share(values) * (self.width - self.left - self.right)

    def py(self, values: ArrayLike) -> Array:
        """Pixels from above."""
        return (
            self.height
            - self.bottom
            - self.y.share(values) * (self.height - self.bottom - self.top)
        )

    @property
    def floor(self) -> int:
        """Pixels from above to the horizontal axis."""
        return self.height - self.bottom

    def axes(self, across: str, up: str) -> str:
        """Grid lines, ticks and names of both axes; one of shares, in per cent, needs none."""
        end = self.width - self.right
        parts = [self.ticks_up((0.0, 0.5, 1.0) if self.percent else self.y.ticks(6))]
        ticks = self.x.ticks()
        for tick, minor in zip(ticks, _thinned(ticks), strict=True):
            at = _n(self.px(tick))
            parts.append(_line(at, self.floor, at, self.floor + 4, "axis"))
            css = "minor" if minor else ""
            parts.append(_text(at, self.floor + 18, tick_text(tick), css=css))
        parts.append(_line(self.left, self.floor, end, self.floor, "axis"))
        middle = (self.left + end) / 2
        parts.append(_text(f"{middle:g}", self.height - 8, across))
        return "".join([*parts, self.name_up(up) if up else ""])

    def ticks_up(self, ticks: Iterable[float]) -> str:
        """Grid lines and numbers of the vertical axis."""
        parts = []
        for tick in ticks:
            at = float(self.py(tick))
            text = share(tick, 0) if self.percent else tick_text(tick)
            parts.append(_line(self.left, _n(at), self.width - self.right, _n(at), "grid"))
            parts.append(_text(self.left - 7, _n(at + 4), text, anchor="end"))
        return "".join(parts)

    def name_up(self, name: str) -> str:
        """Name of the vertical axis."""
        at = f"{(self.top + self.floor) / 2:g}"
        return _text(18, at, name, more=f' transform="rotate(-90 18 {at})"')


def picture(panel: Panel, body: str, title: str = "", *, css: str = "", more: str = "") -> str:
    """An SVG with a title that screen readers tell; without one they pass it over."""
    said = f'role="img" aria-label="{escape(title)}"' if title else 'aria-hidden="true"'
    return (
        f'<svg class="{f"chart {css}".strip()}" viewBox="0 0 {panel.width} {panel.height}" {said} '
        'font-family="system-ui,sans-serif" font-size="13" '
        f'xmlns="http://www.w3.org/2000/svg"{more}>{body}</svg>'
    )


def item_curve(curve: ItemCurve, title: str, *, width: int = 260, height: int = 180) -> str:
    """Fitted curve, dashed where no respondent is, and observed shares with their intervals."""
    panel = Panel(
        curve.x, width=width, height=height, left=50, right=8, top=10, bottom=40, percent=True
    )
    parts = [panel.axes("ability", "")]
    for some, dashed in curve.pieces:
        x, y = panel.px(curve.ability[some]), panel.py(curve.probability[some])
        parts.append(_fitted(x, y, ' stroke-dasharray="4 4"' if dashed else ""))
    seen = curve.observed
    at, middle = panel.px(seen.ability), panel.py(seen.share)
    for x, y, low, high in zip(at, middle, panel.py(seen.low), panel.py(seen.high), strict=True):
        parts.append(_line(_n(x), _n(low), _n(x), _n(high), "observed"))
        parts.append(f'<circle class="seen" cx="{_n(x)}" cy="{_n(y)}" r="3.5" fill="{TEXT}"/>')
    return picture(panel, "".join(parts), title)


def points(
    drawn: ItemPoints, title: str, across: str, up: str, *, columns: tuple[str, str], flag: int
) -> str:
    """Items as points: dots, hollow circles (suspect) and triangles (called negative).

    A script finds them by the names of two columns of numbers, and by the flag of those visible.
    """
    panel = Panel(drawn.x, drawn.y)
    x, y = panel.px(drawn.x_values), panel.py(drawn.y_values)
    parts = [panel.axes(across, up)]
    if drawn.y.low < 0 < drawn.y.high:
        zero = _n(panel.py(0.0))
        parts.append(_line(panel.left, zero, panel.width - panel.right, zero, "axis"))
    some = drawn.visible & (drawn.kind == ORDINARY)
    parts.append(_dots(x[some], y[some]))
    parts.append(_marks(x, y, drawn.visible & (drawn.kind == SUSPECT), hollow=True))
    parts.append(_marks(x, y, drawn.visible & (drawn.kind == NEGATIVE), hollow=False))
    parts.append('<g class="pointer"></g>')
    axes = (drawn.x.low, drawn.x.high, drawn.y.low, drawn.y.high)
    ends = (panel.left, panel.width - panel.right, panel.top, panel.floor)
    scale = " ".join(f"{value:.9g}" for value in (*axes, *ends))
    more = f' data-map="{" ".join(columns)}" data-flag="{flag}" data-scale="{scale}"'
    return picture(panel, "".join(parts), title, css="wide", more=more)


def ranks(shown: Ranking, title: str) -> str:
    """Ranks of systems with their intervals, a row for each."""
    row = 20
    height = Panel.top + Panel.bottom + row * len(shown.system)
    panel = Panel(shown.x, height=height, left=196)
    parts = []
    for tick in _whole(shown.x):
        at = _n(panel.px(tick))
        parts.append(_line(at, panel.top, at, panel.floor, "grid"))
        parts.append(_text(at, panel.floor + 18, tick_text(tick)))
    for k, name in enumerate(shown.system):
        y = panel.top + row * k + row // 2
        low, high = (_n(panel.px(end[k])) for end in (shown.rank_low, shown.rank_high))
        parts.append(_text(panel.left - 8, y + 4, shortened(name, _LABEL), anchor="end"))
        parts.append(_line(low, y, high, y, "interval"))
        parts.append(_dot(_n(panel.px(shown.rank[k])), y))
    middle = (panel.left + panel.width - panel.right) / 2
    parts.append(_text(f"{middle:g}", panel.height - 8, "rank, 1 is best"))
    return picture(panel, "".join(parts), title, css="wide")


def rank_bar(shown: Ranking, k: int) -> str:
    """The rank of one system with its interval, for a row of a table that has the numbers."""
    panel = Panel(shown.x, width=200, height=18, left=6, right=6, top=0, bottom=0)
    low, high, at = (_n(panel.px(end[k])) for end in (shown.rank_low, shown.rank_high, shown.rank))
    return picture(panel, _line(low, 9, high, 9, "interval") + _dot(at, 9), css="bar")


def wright(drawn: WrightMap, title: str) -> str:
    """Histograms back to back: respondents to the left, items to the right, ability upwards."""
    panel = Panel(y=drawn.scale, width=520)
    middle = (panel.left + panel.width - panel.right) / 2
    parts = [panel.ticks_up(drawn.scale.ticks(8))]
    edges, room = panel.py(drawn.edges), middle - panel.left - 6
    sides = (
        (drawn.respondents, -1, f'class="seen" fill="{TEXT}"', "systems"),
        (drawn.items, 1, f'class="item" fill="{colours.ITEM}"', "items"),
    )
    for counts, side, style, name in sides:
        most = int(counts.max())
        at = middle + side * room / 2
        parts.append(_text(_n(at), panel.floor + 20, name))
        parts.append(_text(_n(at), panel.floor + 42, f"longest bar: {most:,}"))
        for k in np.flatnonzero(counts):
            length = counts[k] / most * room
            start = middle + 3 if side > 0 else middle - 3 - length
            top, size = edges[k + 1] + 0.5, edges[k] - edges[k + 1] - 1
            parts.append(
                f'<rect {style} x="{_n(start)}" y="{_n(top)}" width="{_n(length)}" '
                f'height="{_n(size)}"/>'
            )
    parts.append(panel.name_up("ability and difficulty"))
    return picture(panel, "".join(parts), title, css="wide half")


def information(drawn: Precision, title: str) -> str:
    """Information along ability, above a mark for every respondent."""
    panel = Panel(drawn.x, drawn.y, width=520)
    parts = [panel.axes("ability", "information")]
    parts.append(_fitted(panel.px(drawn.ability), panel.py(drawn.information)))
    places = np.unique(np.round(panel.px(drawn.respondents) * 2) / 2)
    marks = "".join(f"M{_n(at)} {panel.floor}v-9" for at in places)
    parts.append(f'<path class="observed" d="{marks}" stroke="{TEXT}" stroke-width="1"/>')
    return picture(panel, "".join(parts), title, css="wide half")


def trace(drawn: Trace, title: str) -> str:
    """Log-likelihood by step."""
    panel = Panel(drawn.x, drawn.y, width=520, height=260, left=88)
    line = _fitted(panel.px(drawn.step), panel.py(drawn.value))
    return picture(panel, panel.axes("step", drawn.name) + line, title, css="wide half")


def _whole(scale: Scale) -> list[float]:
    """Ticks that are ranks, the first among them."""
    return [1.0, *(tick for tick in scale.ticks(8) if tick == int(tick) and tick > 1)]


def _thinned(ticks: list[float]) -> list[bool]:
    """Which of many ticks a narrow picture leaves out: every other, by value and not by place."""
    if len(ticks) < 2:
        return [False] * len(ticks)
    step = ticks[1] - ticks[0]
    return [round(tick / step) % 2 == 1 for tick in ticks]


def _dots(x: Array, y: Array) -> str:
    """Points as one path for every size; those on the same half pixel are one dot."""
    if not len(x):
        return ""
    half = np.round(np.stack([y, x], axis=1) * 2).astype(np.int64)
    places, counts = np.unique(half, axis=0, return_counts=True)
    parts = ['<g class="dots" transform="scale(.5)" fill="none" stroke-linecap="round">']
    for k, (least, size) in enumerate(_SIZES):
        below = _SIZES[k + 1][0] if k + 1 < len(_SIZES) else np.inf
        some = places[(counts >= least) & (counts < below)]
        if len(some):
            steps = np.diff(some[:, ::-1], axis=0, prepend=0)
            path = "".join(f"m{dx} {dy}h0" for dx, dy in steps)
            parts.append(
                f'<path class="item" d="{path}" stroke="{colours.ITEM}" stroke-width="{2 * size}" '
                'stroke-opacity="0.45"/>'
            )
    return "".join([*parts, "</g>"])


def _marks(x: Array, y: Array, some: Array, *, hollow: bool) -> str:
    """Hollow circles, or filled triangles."""
    if not some.any():
        return ""
    places = np.unique(np.round(np.stack([x[some], y[some]], axis=1) * 2) / 2, axis=0)
    shape = "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0" if hollow else "m0-6l5.5 10h-11z"
    path = "".join(f"M{px:g} {py:g}{shape}" for px, py in places)
    css, fill = ("suspect", "none") if hollow else ("negative", colours.SUSPECT)
    line = f'stroke="{colours.SUSPECT}" stroke-width="2"'
    return f'<path class="{css}" d="{path}" fill="{fill}" {line}/>'


def _dot(x: object, y: object) -> str:
    return f'<circle class="item" cx="{x}" cy="{y}" r="4.5" fill="{colours.ITEM}"/>'


def _line(x1: object, y1: object, x2: object, y2: object, css: str) -> str:
    colour, width, opacity = {
        "grid": (colours.RULE, 1, ' stroke-opacity="0.25"'),
        "axis": (colours.RULE, 1, ""),
        "observed": (TEXT, 1.5, ""),
        "interval": (colours.ITEM, 5, ' stroke-opacity="0.35"'),
    }[css]
    return (
        f'<line class="{css}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" '
        f'stroke-width="{width}"{opacity}/>'
    )


def _text(
    x: object, y: object, text: str, *, anchor: str = "middle", css: str = "", more: str = ""
) -> str:
    named = f' class="{css}"' if css else ""
    return (
        f'<text{named} x="{x}" y="{y}" text-anchor="{anchor}" fill="{TEXT}"{more}>'
        f"{escape(text)}</text>"
    )


def _fitted(x: Array, y: Array, dash: str = "") -> str:
    path = "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in zip(x, y, strict=True))
    line = f'stroke="{colours.ITEM}" stroke-width="2"'
    return f'<path class="fitted" d="{path}" fill="none" {line}{dash}/>'


def _n(value: object) -> str:
    """A number with one decimal at most."""
    return f"{round(float(value), 1):g}"  # type: ignore[arg-type]
