"""A picture: marks in units of two axes. `svg` draws it on a page, `irtkit.plots` by matplotlib."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from irtkit.irf import Array

COLOURS = {
    "item": "#0072b2",
    "odd": "#c2410c",
    "ink": "#1b1f24",
    "rule": "#8a8f98",
    "grid": "#dfe2e6",
}
"""Colours that the colour-blind can distinguish (Okabe & Ito 2008). The odd one is darker than
theirs, for a contrast of 4.5 with white."""
_ENDS = (0.005, 0.995)  # Quantiles. Difficulties of flat items run to −3,000.
_SHORTEST = 0.5  # Length of an axis of difficulties, so that items of one difficulty look so.
_MARGIN = 0.05  # Part of an axis beyond what it shows, as in matplotlib.


Shape = Literal[
    "cloud",
    "dots",
    "rings",
    "triangles",
    "line",
    "dashes",
    "segments",
    "intervals",
    "bars",
    "cells",
    "words",
]
"""A cloud holds thousands of dots, which may cover each other. Intervals are thick segments. Cells
are bars in shades. Words stand around their points."""
_LONGEST = 60  # Columns of the ticks of a horizontal axis that stand next to each other.
DARKEST = 0.5  # Opacity of a cell of 1, on which words still have a contrast of 4.5.


class Axis(NamedTuple):
    """An axis from ``low`` to ``high``."""

    low: float
    high: float
    name: str = ""
    ticks: tuple[tuple[float, str], ...] | None = None  # By default round numbers.

    def clipped(self, values: ArrayLike) -> Array:
        """Values, those beyond an end moved there."""
        ends = self[:2]
        return np.clip(np.asarray(values, np.float64), min(ends), max(ends))

    def ticks_within(self, most: int) -> list[tuple[float, str]]:
        """Ticks with their texts: the given ticks, or round numbers, about as many as wanted."""
        if self.ticks is not None:
            return list(self.ticks)
        least = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(least))
        steps_of_power = (k * power for k in (1, 2, 2.5, 5, 10))
        step = next(step for step in steps_of_power if step >= least)
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step)
        places = [k * step for k in range(first, last + 1)]
        return [(place, tick_text(place)) for place in places]

    @property
    def crowded(self) -> bool:
        """Whether the given ticks are too long to stand next to each other."""
        return sum(len(text) for _, text in self.ticks or ()) > _LONGEST


class Mark(NamedTuple):
    """Marks that look alike, arrays of one shape in units of the axes."""

    shape: Shape
    colour: str
    x: Array
    y: Array
    x_end: Array | None = None  # Other ends of segments and intervals, opposite corners of bars.
    y_end: Array | None = None
    name: str = ""
    items: NDArray[np.intp] | None = None  # Places of the items that points stand for.
    shade: Array | None = None  # From 0 to 1, of cells.
    words: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Picture:
    """What is drawn, with a title, and how many are drawn and left out."""

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...] = ()
    caption: str = ""

    @property
    def points(self) -> list[Mark]:
        """Marks that stand for items."""
        return [mark for mark in self.marks if mark.items is not None]

    @property
    def n_items(self) -> dict[str, int]:
        """Number of items by the name of their mark."""
        return {mark.name: len(mark.x) for mark in self.points}

    @property
    def n_beyond(self) -> int:
        """Number of items beyond an axis, which are drawn at its end."""
        x, y = np.hstack([(mark.x, mark.y) for mark in self.points])
        beyond_x = self.x.clipped(x) != x
        beyond_y = self.y.clipped(y) != y
        return int((beyond_x | beyond_y).sum())


def axis_over(name: str, *values: ArrayLike, least: float = 1e-9) -> Axis:
    """An axis over all finite numbers, at least so long."""
    numbers = np.concatenate([*map(np.ravel, values)])
    finite = numbers[np.isfinite(numbers)]
    low, high = 0.0, 1.0
    if len(finite):
        low = float(finite.min())
        high = float(finite.max())
    length = max(high - low, least)
    wider = (length - (high - low)) / 2
    margin = wider + _MARGIN * length
    return Axis(low - margin, high + margin, name)


def usual_axis(name: str, values: Array, mean: float = 0.0, reach: float = math.inf) -> Axis:
    """An axis over all numbers but the outermost hundredth, hardly beyond ``reach`` of ``mean``."""
    numbers = values[np.isfinite(values)]
    ends = np.array([mean - 1, mean + 1])
    if len(numbers):
        ends = np.quantile(numbers, _ENDS)
    return axis_over(name, np.clip(ends, mean - reach, mean + reach), least=_SHORTEST)


def caption_of(drawn: str, *others: tuple[str, int]) -> str:
    """How many are drawn, and numbers of others that are not 0."""
    sentences = [f"n = {drawn}."]
    sentences += [f"{what}: {n}." for what, n in others if n]
    return " ".join(sentences)


def tick_text(value: float) -> str:
    """A number next to an axis: −2, 0.5, 9000, 12k.

    Examples
    --------
    >>> from irtkit.pictures.picture import tick_text
    >>> [tick_text(value) for value in (-2.0, 0.5, 9000.0, 12_000.0)]
    ['−2', '0.5', '9000', '12k']
    """
    text = f"{value:.9g}"
    if abs(value) >= 10_000:
        text = f"{value / 1000:.9g}k"
    return text.replace("-", "−")
