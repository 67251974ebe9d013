"""Pictures by matplotlib: each function draws on ``ax``, or on new axes, and returns them.

``result`` is what :func:`irtkit.fit` returned, ``ax`` a matplotlib.axes.Axes. Needs the extra
``plots``. Unknown labels are a ValueError.

>>> import irtkit
>>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]], items=["a", "b"])
>>> irtkit.plots.item_curves(irtkit.fit(responses, "1PL"), "b").get_title()
'b'
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.capabilities import require
from irtkit.checks import check_type, check_whole, short
from irtkit.curves import CharacteristicCurves, LearningSurface
from irtkit.pictures import fitted
from irtkit.pictures.picture import COLOURS
from irtkit.printed import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from irtkit.pictures.picture import Picture

__all__ = ["average_error", "category_curves", "characteristic_curves", "information",
           "item_curves", "item_map", "leaderboard", "learning_surface", "trace",
           "wright_map"]  # fmt: skip

Plot = TypeVar("Plot", bound="Callable[..., Any]")

_MOST_CURVES = 12  # Items of one picture, which readers can still distinguish.
_LABEL = 28  # Columns of a label on an axis.
_POINTS: dict[str, dict[str, Any]] = {
    "cloud": {"s": 8, "alpha": 0.45, "linewidth": 0},
    "dots": {"s": 20},
    "rings": {"s": 32, "facecolor": "none"},
    "triangles": {"s": 44, "marker": "^"},
}


def _of_results(plot: Plot) -> Plot:
    """Refuse results that a plot has no meaning for."""

    @wraps(plot)
    def checked(result: FitResult, *arguments: Any, **settings: Any) -> Any:
        require(f"plots.{plot.__name__}", result)
        check_type("result", result, FitResult)
        return plot(result, *arguments, **settings)

    return cast("Plot", checked)


@_of_results
def item_curves(
    result: FitResult, items: Sequence[str] | str, ax: Axes | Sequence[Axes] | None = None
) -> Any:
    """Draw item curves: fitted, dashed outside of the abilities seen, and observed accuracies.

    Dots are groups of respondents of about the same size, by ability. Bars are 95 % Wilson
    intervals for independent respondents. Of several abilities, it is what the item measures.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned.
    items : str or list of str
        Labels of 1 to 12 items.
    ax : matplotlib.axes.Axes or list of them, optional
        Axes to draw on, one for each item. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or numpy.ndarray
        The axes if `items` is one label, otherwise an array of axes.
    """
    labels = [items] if isinstance(items, str) else [*map(str, items)]
    if not 1 <= len(labels) <= _MOST_CURVES:
        raise ValueError(f"items must be 1 to {_MOST_CURVES} labels, got {len(labels)}")
    places = _axes(len(labels)) if ax is None else np.ravel(np.asarray(ax, dtype=object))
    if places.size != len(labels):
        raise ValueError(f"ax must be one for each of {len(labels)} items, got {places.size}")
    curves = fitted.item_curves(result, labels)
    for label, curve, place in zip(labels, curves, places, strict=True):
        _draw(curve, place).set(ylabel="proportion correct")
        place.set_title(_label(label), fontsize="medium")
        if ax is None:
            place.label_outer()
    return places[0] if isinstance(items, str) else places


@_of_results
def category_curves(result: FitResult, item: str, ax: Axes | None = None) -> Axes:
    """Draw the probability of every level of an item, dashed outside of the abilities seen.

    For fits of the GPCM and the GRM. The level is written at the peak of its curve.
    """
    curves = fitted.category_curves(result, item)
    ax = _draw(curves, _one(ax))
    for level in dict.fromkeys(mark.name for mark in curves.marks):
        of_level = [mark for mark in curves.marks if mark.name == level]
        x, y = (np.concatenate([getattr(mark, axis) for mark in of_level]) for axis in "xy")
        peak = int(y.argmax())
        ax.annotate(level, (x[peak], y[peak]), (0, 3), textcoords="offset points", ha="center")
    ax.set(ylabel="probability", title=_label(item))
    return ax


@_of_results
def item_map(
    result: FitResult, suspects: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Draw difficulty against discrimination, points beyond the scale at the edge.

    Axes show 99 % of the items, without all-correct and all-incorrect items.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned.
    suspects : DataFrame, optional
        Items to mark. Default: what :func:`irtkit.flag_items` returns.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    return _of_items(fitted.item_map, result, suspects, ax)


@_of_results
def average_error(
    result: FitResult, suspects: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Draw average error against difficulty.

    Items without discrimination, with a negative slope, all-correct or all-incorrect are left out.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned.
    suspects : DataFrame, optional
        Items to mark. Default: what :func:`irtkit.flag_items` returns.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    return _of_items(fitted.error_map, result, suspects, ax)


@_of_results
def leaderboard(
    result: FitResult, ax: Axes | None = None, *, board: pd.DataFrame | None = None, top: int = 20
) -> Axes:
    """Draw ranks of the `top` best systems, with their likely ranks.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with its responses.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.
    board : DataFrame, optional
        Leaderboard to draw. Default: ``result.leaderboard()``.
    top : int, default 20
        Number of systems.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    check_whole("top", top, 1)
    first = (result.leaderboard() if board is None else board).head(top)
    ax = _draw(fitted.ranking(first), _one(ax, 1 + 0.24 * len(first)))
    ax.grid(axis="x", color=COLOURS["grid"])
    return ax


@_of_results
def wright_map(result: FitResult, ax: Axes | None = None, *, ability: str | None = None) -> Axes:
    """Draw abilities of respondents (left) and difficulties of items (right) on one scale.

    Bars are shares of the longest bar on their side. Items beyond the scale are in the outermost
    bars, items without a clear difficulty are left out.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.
    ability : str, optional
        Name of one of several abilities, shown with the items that measure it most. Default: what
        all items measure together.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    return _draw(fitted.wright_map(result, ability)[0], _one(ax))


@_of_results
def information(result: FitResult, ax: Axes | None = None, *, ability: str | None = None) -> Axes:
    """Draw the information of all items by ability, and real respondents as marks on the axis.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.
    ability : str, optional
        Name of one of several abilities. Default: what all items measure together.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    return _draw(fitted.precision(result, ability)[0], _one(ax))


@_of_results
def trace(result: FitResult, ax: Axes | None = None) -> Axes:
    """Draw the log-likelihood, or lower bound of "vi", in nats after every step of the fit.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    return _draw(fitted.trace(result), _one(ax))


def characteristic_curves(
    curves: CharacteristicCurves, systems: Sequence[str] | str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw accuracies of systems by difficulty, with intervals.

    Parameters
    ----------
    curves : CharacteristicCurves
        What :func:`irtkit.characteristic_curves` returned.
    systems : str or list of str, optional
        Systems to draw. Default: the first 12.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    check_type("curves", curves, CharacteristicCurves)
    names = curves.table.index.unique(0)
    chosen = [systems] if isinstance(systems, str) else list(systems or names[:_MOST_CURVES])
    if strange := [name for name in chosen if name not in names]:
        raise ValueError(f"systems: {short(strange[0])} lacks a curve")
    ax = _one(ax)
    for name in chosen:
        curve = curves.table.loc[name]
        ends = curve[["accuracy_low", "accuracy_high"]].sub(curve["accuracy"], axis=0).abs()
        how: Any = {"fmt": "o-", "ms": 4, "lw": 1, "capsize": 2, "label": name}
        ax.errorbar(curve["difficulty"], curve["accuracy"], ends.to_numpy().T, **how)
    ax.legend(frameon=False)
    ax.set(xlabel="difficulty", ylabel="accuracy", ylim=(-0.02, 1.02))
    return ax


def learning_surface(surface: LearningSurface, system: str, ax: Axes | None = None) -> Axes:
    """Draw contours of the log-odds of one system over its covariate and difficulty.

    Parameters
    ----------
    surface : LearningSurface
        What :func:`irtkit.learning_surface` returned, with item difficulties.
    system : str
        System to draw.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    check_type("surface", surface, LearningSurface)
    grid = surface.grid
    covariate = surface.covariate
    points = grid[grid.iloc[:, 0] == system]
    if points.empty or "difficulty" not in points:
        raise ValueError(f"system: {short(system)} lacks a surface over difficulty")
    over = points.pivot_table(index="difficulty", columns=covariate, values="log_odds")
    ax = _one(ax)
    drawn = ax.contour(over.columns, over.index, over, levels=9, cmap="RdBu")
    ax.clabel(drawn, fontsize=8)
    if surface.log:
        ax.set_xscale("log")
    ax.set(xlabel=covariate.replace("_", " "), ylabel="difficulty", title=system)
    return ax


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
    for ax in places.flat[:n]:
        ax.spines[["top", "right"]].set_visible(False)
    return places.flat[:n]


def _one(ax: Axes | None, height: float = 4.5) -> Any:
    """The given axes, or axes of a new figure."""
    if ax is None:
        return _axes(size=(7, height))[0]
    from matplotlib.axes import Axes

    check_type("ax", ax, Axes)
    return ax


def _of_items(picture: Any, result: FitResult, suspects: Any, ax: Any) -> Axes:
    from irtkit.suspects import flag_items

    drawn: Picture = picture(result, flag_items(result) if suspects is None else suspects)
    axes = _draw(drawn, _one(ax))
    if drawn.n_items["to read"] or drawn.n_items["called"]:
        axes.legend(frameon=False)
    return axes


def _draw(picture: Picture, ax: Any) -> Axes:
    """Draw the marks of a picture and its axes."""
    from matplotlib.collections import LineCollection

    for mark in (one for one in picture.marks if len(one.x)):
        colour, x, y = COLOURS[mark.colour], picture.x.clipped(mark.x), picture.y.clipped(mark.y)
        if mark.shape in _POINTS:
            look = {"edgecolor": colour, "facecolor": colour} | _POINTS[mark.shape]
            ax.scatter(x, y, label=mark.name, clip_on=False, zorder=2, **look)
        elif mark.x_end is None or mark.y_end is None:
            ax.plot(x, y, "--" if mark.shape == "dashes" else "-", color=colour)
        elif mark.shape == "bars":
            ax.barh(y, mark.x_end - x, mark.y_end - y, x, align="edge", color=colour)
        else:
            width, alpha = (5, 0.4) if mark.shape == "intervals" else (1, 1)
            ends: Any = np.stack([x, y, mark.x_end, mark.y_end], axis=1).reshape(-1, 2, 2)
            ax.add_collection(LineCollection(ends, colors=colour, linewidths=width, alpha=alpha))
    ax.set(xlim=picture.x[:2], ylim=picture.y[:2], xlabel=picture.x.name, ylabel=picture.y.name)
    for axis, given in ((ax.xaxis, picture.x), (ax.yaxis, picture.y)):
        if given.ticks is not None:
            places, texts = zip(*given.ticks, strict=True)
            axis.set_ticks(places, [_label(text) for text in texts])
    return ax  # type: ignore[no-any-return]


def _label(name: str) -> str:
    return shortened(name, _LABEL).replace("$", r"\$")  # matplotlib would set it as mathematics
