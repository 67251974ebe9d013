"""Pictures as SVG, for a page and for notebooks.

Colours stand as attributes, for notebooks that strip styles, and as classes, by which the page
follows its theme. Colour is never the only sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from irtkit.pictures.picture import COLOURS, DARKEST
from irtkit.printed import shortened

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from irtkit.irf import Array
    from irtkit.pictures.picture import Axis, Mark, Picture

_SIZES = {
    "wide": (640, 400, 86, 14, 14, 56),
    "half": (520, 400, 86, 14, 14, 56),
    "panel": (420, 300, 50, 8, 10, 48),
    "small": (260, 180, 50, 8, 10, 40),
    "bar": (200, 18, 6, 6, 0, 0),
    "grid": (640, 0, 200, 14, 6, 40),
}
"""Width and height in pixels, and margins to the left, right, top and bottom. Bars are drawn
without axes. A grid is as high as its rows."""
_ROW = 20  # Pixels of a row of a grid.
_TURNED = 110  # Pixels of ticks of a grid that are turned.
_TICK, _ASLANT = 26, 20  # Columns of the text of a tick, and of a tick that is turned.
_DOTS = ((1, 5), (2, 7), (10, 10), (100, 14))
"""Diameter in pixels of a dot of a cloud that stands for at least this many points."""
_TITLE = 150  # Columns of a title, which may hold a label.
_LINE = 'fill="none" stroke="currentColor" stroke-width="{}"'
_LOOKS = {
    "dots": f'{_LINE.format(8)} stroke-linecap="round"',
    "rings": _LINE.format(2),
    "triangles": 'fill="currentColor"',
    "line": _LINE.format(2),
    "dashes": f'{_LINE.format(2)} stroke-dasharray="4 4"',
    "segments": _LINE.format(1.5),
    "intervals": f'{_LINE.format(5)} stroke-opacity="0.35"',
    "bars": 'fill="currentColor"',
}
_PATHS = {
    "dots": "M{:.4g} {:.4g}h0",
    "rings": "M{:.4g} {:.4g}m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0",
    "triangles": "M{:.4g} {:.4g}m0-6l5.5 10h-11z",
    "segments": "M{:.4g} {:.4g}L{:.4g} {:.4g}",
    "intervals": "M{:.4g} {:.4g}L{:.4g} {:.4g}",
    "bars": "M{0:.4g} {1:.4g}H{2:.4g}V{3:.4g}H{0:.4g}z",
}
"""Paths of marks that stand by themselves."""


class Frame:
    """Pixels of a picture of a size."""

    def __init__(self, picture: Picture, size: str) -> None:
        width, height, left, right, top, bottom = _SIZES[size]
        rows = picture.y.ticks or ()
        self.x = picture.x
        self.y = picture.y
        self.width = width
        self.of_rows = not height
        if self.of_rows:
            bottom = _TURNED if picture.x.crowded else bottom
            height = top + _ROW * len(rows) + bottom
        self.height = height
        self.left = left
        self.top = top
        self.end = width - right
        self.floor = self.height - bottom

    def px(self, values: ArrayLike) -> Array:
        """Pixels from the left. Values beyond the axis are at its end."""
        return _pixels(self.x, values, self.left, self.end)

    def py(self, values: ArrayLike) -> Array:
        """Pixels from above."""
        return _pixels(self.y, values, self.floor, self.top)


def _pixels(axis: Axis, values: ArrayLike, first: int, last: int) -> Array:
    """Pixels of values on an axis from the first to the last pixel."""
    share = (axis.clipped(values) - axis.low) / (axis.high - axis.low)
    return first + share * (last - first)


def svg(picture: Picture, size: str = "wide", **attributes: object) -> Markup:
    """A picture of a size, with further attributes. Screen readers skip one without a title."""
    frame = Frame(picture, size)
    parts = [] if size == "bar" else [_axes(frame)]
    parts += [_marks(frame, mark) for mark in picture.marks if len(mark.x)]
    said = 'aria-hidden="true"'
    if picture.title and size != "bar":
        said = f'role="img" aria-label="{escape(shortened(picture.title, _TITLE))}"'
    further = ""
    for name, value in attributes.items():
        further += f' {name.replace("_", "-")}="{value}"'
    return Markup(  # noqa: S704  # of numbers and escaped texts
        f'<svg class="chart {size}" viewBox="0 0 {frame.width} {frame.height}" '
        f'{said} font-family="system-ui,sans-serif" font-size="13" '
        f'xmlns="http://www.w3.org/2000/svg"{further}>{"".join(parts)}</svg>'
    )


def _axes(frame: Frame) -> str:
    """Ticks and names of both axes, and grid lines of the vertical axis if it lacks rows."""
    left, end, floor = frame.left, frame.end, frame.floor
    center = (left + end) / 2
    middle = (frame.top + floor) / 2
    turned = f'transform="rotate(-90 13 {middle})"'
    texts = [
        _text(center, frame.height - 8, frame.x.name),
        _text(13, middle, frame.y.name, turned=turned),
    ]
    grid = ""
    for at, text in frame.y.ticks_within((floor - frame.top) // 36):
        y = frame.py(at)
        if not frame.of_rows:
            grid += f"M{left} {y:.4g}H{end}"
        texts.append(_text(left - 7, y + 4, shortened(text, _TICK), "end"))
    ticks = ""
    for at, text in frame.x.ticks_within(max(5, (end - left) // 60)):
        x = frame.px(at)
        ticks += f"M{x:.4g} {floor}v4"
        if frame.x.crowded:
            below = floor + 14
            aslant = f'transform="rotate(-35 {x:.4g} {below})"'
            texts.append(_text(x, below, shortened(text, _ASLANT), "end", aslant))
        else:
            texts.append(_text(x, floor + 18, text))
    thin = _LINE.format(1)
    rule = _path("rule", f"M{left} {floor}H{end}{ticks}", thin)
    return "".join([_path("grid", grid, thin), rule, *texts])


def _marks(frame: Frame, mark: Mark) -> str:
    """Marks that look alike, as paths or words."""
    x = frame.px(mark.x)
    y = frame.py(mark.y)
    if mark.shape == "cloud":  # a path for every size; points on one half pixel are one dot
        pixels = np.stack([y, x], axis=1)
        half = np.round(2 * pixels).astype(np.int64)
        places, counts = np.unique(half, axis=0, return_counts=True)
        least, diameters = zip(*_DOTS, strict=True)
        sizes = np.searchsorted(least, counts, side="right") - 1
        dots = ""
        for k in np.unique(sizes):
            of_size = places[sizes == k, ::-1]
            steps = np.diff(of_size, axis=0, prepend=0)
            path = "".join(f"m{dx} {dy}h0" for dx, dy in steps)
            dots += _path(mark.colour, path, _LINE.format(2 * diameters[k]))
        look = 'transform="scale(.5)" stroke-linecap="round" stroke-opacity="0.6"'
        return f'<g class="cloud" {look}>{dots}</g>'
    if mark.shape == "words":
        texts = [_text(*word) for word in zip(x, y + 4, mark.words, strict=True)]
        return "".join(texts)
    parts = [x, y]
    if mark.x_end is not None and mark.y_end is not None:
        parts += [frame.px(mark.x_end), frame.py(mark.y_end)]
    rows = np.stack(parts, axis=1)
    if mark.shade is not None:
        shades = np.round(mark.shade, 1)
        paths = ""
        for shade in np.unique(shades):
            look = f'fill="currentColor" fill-opacity="{shade * DARKEST:.2f}"'
            cells = _each("bars", rows[shades == shade])
            paths += _path(mark.colour, cells, look)
        return paths
    if mark.shape not in _PATHS:
        points = [f"{left:.4g} {top:.4g}" for left, top in rows]
        path = f"M{'L'.join(points)}"
    else:
        if mark.items is not None:  # on half pixels, as in a cloud and in the script
            halves = np.unique(np.round(2 * rows), axis=0)
            rows = halves / 2
        path = _each(mark.shape, rows)
    return _path(mark.colour, path, _LOOKS[mark.shape])


def _each(shape: str, rows: Array) -> str:
    return "".join(_PATHS[shape].format(*row) for row in rows)


def _path(colour: str, path: str, look: str) -> str:
    named = "" if colour == "ink" else f'class="{colour}" color="{COLOURS[colour]}" '
    return f'<path {named}{look} d="{path}"/>'


def _text(x: Any, y: Any, text: str, anchor: str = "middle", turned: str = "") -> str:
    at = f'x="{x:.4g}" y="{y:.4g}" text-anchor="{anchor}"'
    return f'<text {at} fill="currentColor" {turned}>{escape(text)}</text>' if text else ""
