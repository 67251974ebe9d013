"""Pictures by matplotlib: each function draws on ``ax``, or on new axes, and returns them.

``result`` is what :func:`irtkit.fit` returned, ``ax`` a matplotlib.axes.Axes. Needs the extra
``plots``. Unknown labels are a ValueError.

>>> import irtkit
>>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]], items=["a", "b"])
>>> irtkit.plots.item_curves(irtkit.fit(responses, "1PL"), "b").get_title()
'b'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import pictures
from irtkit.calibration.result import FitResult
from irtkit.checks import check_type, check_whole, short
from irtkit.curves import CharacteristicCurves, LearningSurface
from irtkit.pictures.colours import INK, ITEM, RULE, SUSPECT
from irtkit.printed import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from irtkit.pictures import ItemPoints

__all__ = ["average_error", "characteristic_curves", "information", "item_curves", "item_map",
           "leaderboard", "learning_surface", "trace", "wright_map"]  # fmt: skip

_MOST_CURVES = 12  # Items of one picture, which readers can still distinguish.
_LABEL = 28  # Columns of a label on an axis.


def item_curves(
    result: FitResult, items: Sequence[str] | str, ax: Axes | Sequence[Axes] | None = None
) -> Any:
    """Draw item curves: fitted, dashed outside of the abilities seen, and observed accuracies.

    Dots are groups of respondents of about the same size, by ability. Bars are 95 % Wilson
    intervals for independent respondents. `items` are up to 12 labels, and `ax` is one for each.
    For one label the axes are returned, otherwise an array of axes.
    """
    check_type("result", result, FitResult)
    labels = [items] if isinstance(items, str) else [*map(str, items)]
    if not 1 <= len(labels) <= _MOST_CURVES:
        raise ValueError(f"items must be 1 to {_MOST_CURVES} labels, got {len(labels)}")
    places = _axes(len(labels)) if ax is None else np.ravel(np.asarray(ax, dtype=object))
    if places.size != len(labels):
        raise ValueError(f"ax must be one for each of {len(labels)} items, got {places.size}")
    for curve, place in zip(pictures.item_curves(result, labels), places, strict=True):
        one, seen = _one(place), curve.observed
        for some, dashed in curve.pieces:
            style = "--" if dashed else "-"
            one.plot(curve.ability[some], curve.probability[some], style, color=ITEM)
        bars = np.stack([seen.share - seen.low, seen.high - seen.share]).clip(min=0)
        one.errorbar(seen.ability, seen.share, bars, fmt="o", color=INK, markersize=4, linewidth=1)
        one.set_title(_label(curve.item), fontsize="medium")
        _framed(one, "ability", "share right", curve.x, ylim=(-0.03, 1.03))
        if ax is None:
            place.label_outer()
    return places[0] if isinstance(items, str) else places


def item_map(
    result: FitResult, suspects: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Draw difficulty against discrimination, points beyond the scale at the edge.

    Axes show 99 % of the items, without all-correct and all-incorrect items. `suspects` are what
    :func:`irtkit.flag_items` returns by default.
    """
    return _points(pictures.item_map, result, suspects, ("difficulty", "discrimination"), ax)


def average_error(
    result: FitResult, suspects: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Draw average error against difficulty, with the arguments of :func:`item_map`.

    Items without discrimination, with a negative slope, all-correct or all-incorrect are left out.
    """
    labels = "average error", "difficulty"
    return _points(pictures.error_and_difficulty, result, suspects, labels, ax)


def leaderboard(
    result: FitResult, ax: Axes | None = None, *, board: pd.DataFrame | None = None, top: int = 20
) -> Axes:
    """Draw ranks of the `top` best systems, with the intervals that items like these would allow.

    `board` is what ``result.leaderboard()`` returns by default.
    """
    check_type("result", result, FitResult)
    check_whole("top", top, 1)
    drawn = pictures.ranking(result.leaderboard() if board is None else board, top)
    ax = _one(ax, height=1 + 0.24 * len(drawn.system))
    rows = np.arange(len(drawn.system))
    ax.hlines(rows, drawn.rank_low, drawn.rank_high, color=ITEM, alpha=0.4, linewidth=5)
    ax.plot(drawn.rank, rows, "o", color=ITEM)
    ax.set_yticks(rows, [_label(name) for name in drawn.system])
    ax.grid(axis="x", color=RULE, alpha=0.3)
    return _framed(ax, "rank, 1 is best", "", drawn.x, ylim=(len(rows) - 0.5, -0.5))


def wright_map(result: FitResult, ax: Axes | None = None) -> Axes:
    """Draw abilities of respondents (left) and difficulties of items (right) on one scale.

    Bars are shares of the longest bar on their side. Items beyond the scale are in the outermost
    bars, items without a clear difficulty are left out.
    """
    check_type("result", result, FitResult)
    drawn, ax = pictures.wright_map(result), _one(ax)
    middles, height = (drawn.edges[:-1] + drawn.edges[1:]) / 2, float(np.diff(drawn.edges)[0])
    sides = ((drawn.respondents, -1, RULE, "respondents"), (drawn.items, 1, ITEM, "items"))
    for counts, side, colour, name in sides:
        most = int(counts.max())
        ax.barh(middles, side * counts / max(most, 1), 0.92 * height, color=colour)
        ax.text(side * 0.5, 1.01, f"{name} (longest bar: {most:,})", ha="center", va="bottom",
                transform=ax.get_xaxis_transform())  # fmt: skip
    return _framed(ax, "", "ability and difficulty", y=drawn.scale, xlim=(-1.05, 1.05), xticks=[])


def information(result: FitResult, ax: Axes | None = None) -> Axes:
    """Draw the information of all items by ability, and real respondents as marks on the axis."""
    check_type("result", result, FitResult)
    drawn, ax = pictures.precision(result), _one(ax)
    ax.plot(drawn.ability, drawn.information, color=ITEM)
    ax.plot(drawn.respondents, np.zeros(len(drawn.respondents)), "|", color=INK, clip_on=False)
    return _framed(ax, "ability", "information", drawn.x, drawn.y)


def trace(result: FitResult, ax: Axes | None = None) -> Axes:
    """Draw the log-likelihood, or lower bound of "vi", in nats after every step of the fit."""
    check_type("result", result, FitResult)
    drawn, ax = pictures.trace(result), _one(ax)
    ax.plot(drawn.step, drawn.value, ".-", color=ITEM)
    return _framed(ax, "step", drawn.name, drawn.x, drawn.y)


def characteristic_curves(
    curves: CharacteristicCurves, systems: Sequence[str] | str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw accuracies of systems by difficulty, with intervals and the logistic curves.

    `curves` are of :func:`irtkit.characteristic_curves`, by default of the first 12 systems.
    """
    check_type("curves", curves, CharacteristicCurves)
    known = curves.table.index.unique(0)
    chosen = [systems] if isinstance(systems, str) else list(systems or known[:_MOST_CURVES])
    if strange := [name for name in chosen if name not in known]:
        raise ValueError(f"systems: there is no curve of {short(strange[0])}")
    ax = _one(ax)
    for name in chosen:
        one = curves.table.loc[name]
        reach = [one["accuracy"] - one["accuracy_low"], one["accuracy_high"] - one["accuracy"]]
        bars = ax.errorbar(one["difficulty"], one["accuracy"], reach, fmt="o", ms=4, capsize=2)
        ax.plot(one["difficulty"], one["smooth"], lw=1, color=bars[0].get_color(), label=name)
    ax.legend(frameon=False)
    return _framed(ax, "difficulty", "share right", ylim=(-0.02, 1.02))


def learning_surface(surface: LearningSurface, system: str, ax: Axes | None = None) -> Axes:
    """Draw contours of the log-odds of one system over its covariate and difficulty.

    `surface` is of :func:`irtkit.learning_surface` with item difficulties.
    """
    check_type("surface", surface, LearningSurface)
    grid, covariate = surface.grid, surface.axis.name
    points = grid[grid.iloc[:, 0] == system]
    if points.empty or "difficulty" not in points:
        raise ValueError(f"system: there is no surface over difficulty of {short(system)}")
    over = points.pivot_table(index="difficulty", columns=covariate, values="log_odds")
    ax = _one(ax)
    drawn = ax.contour(over.columns, over.index, over, levels=9, cmap="RdBu")
    ax.clabel(drawn, fontsize=8)
    if surface.axis.kind == "log":
        ax.set_xscale("log")
    return _framed(ax, covariate.replace("_", " "), "difficulty", title=system)


def _axes(n: int = 1, size: tuple[float, float] | None = None) -> Any:
    """Axes of a new figure, four to a row."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'irtkit[plots]'") from error
    columns = min(n, 4)
    rows = -(-n // columns)
    how: Any = {"squeeze": False, "sharex": True, "sharey": True, "layout": "constrained"}
    figure, places = plt.subplots(
        rows, columns, figsize=size or (max(3 * columns, 4.5), 2.8 * rows), **how
    )
    for empty in places.flat[n:]:
        figure.delaxes(empty)
    return places.flat[:n]


def _one(ax: Axes | None, *, height: float = 4.5) -> Any:
    """The given axes, or axes of a new figure."""
    if ax is None:
        return _axes(size=(7, height))[0]
    from matplotlib.axes import Axes

    check_type("ax", ax, Axes)
    return ax


def _points(
    picture: Any, result: FitResult, suspects: Any, labels: tuple[str, str], ax: Any
) -> Axes:
    from irtkit.suspects import flag_items

    check_type("result", result, FitResult)
    drawn: ItemPoints = picture(result, flag_items(result) if suspects is None else suspects)
    ax = _one(ax)
    x, y = drawn.x.clipped(drawn.x_values), drawn.y.clipped(drawn.y_values)
    kinds = (
        (pictures.ORDINARY, "items", {"s": 8, "color": ITEM, "alpha": 0.45, "linewidth": 0}),
        (pictures.SUSPECT, "suspect", {"s": 32, "facecolor": "none", "edgecolor": SUSPECT}),
        (pictures.NEGATIVE, "called negative", {"s": 44, "marker": "^", "color": SUSPECT}),
    )
    shown = [(drawn.visible & (drawn.kind == kind), name, style) for kind, name, style in kinds]
    for some, name, style in (one for one in shown if one[0].any()):
        ax.scatter(x[some], y[some], label=name, clip_on=False, zorder=2, **style)
    if drawn.y.low < 0 < drawn.y.high:
        ax.axhline(0, color=RULE, linewidth=0.8)
    if any(some.any() for some, _, _ in shown[1:]):
        ax.legend(frameon=False)
    return _framed(ax, *labels, drawn.x, drawn.y)


def _framed(ax: Any, across: str, up: str, x: Any = None, y: Any = None, **further: Any) -> Axes:
    """The axes with labels and the ends of two scales."""
    ends = {"xlim": x, "ylim": y}
    limits = {name: (scale.low, scale.high) for name, scale in ends.items() if scale is not None}
    ax.set(xlabel=across, ylabel=up, **limits, **further)
    ax.spines[["top", "right"]].set_visible(False)
    return ax  # type: ignore[no-any-return]


def _label(name: str) -> str:
    return shortened(name, _LABEL).replace("$", r"\$")  # matplotlib would set it as mathematics
