"""Pictures by matplotlib: each function draws on ``ax``, or on new axes, and returns them.

The line below the horizontal axis says how many are drawn (n) and left out. ``result`` is what
:func:`irtkit.fit` returned, ``ax`` a matplotlib.axes.Axes. Needs the extra ``plots``. Unknown
labels are a ValueError.

>>> import irtkit
>>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]], items=["a", "b"])
>>> irtkit.plots.item_curves(irtkit.fit(responses, "1PL"), "b").get_title()
'b'
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from irtkit.checks import check_type, check_whole, counted, short
from irtkit.curves import CharacteristicCurves
from irtkit.fitting import result_for
from irtkit.irf import Z95
from irtkit.judges import Judges
from irtkit.pictures import fitted
from irtkit.pictures.picture import COLOURS, DARKEST, axis_over, caption_of
from irtkit.printed import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from irtkit.calibration.result import FitResult
    from irtkit.pictures.picture import Picture

__all__ = ["ability_scatter", "average_error", "category_curves", "characteristic_curves",
           "information", "item_curves", "item_map", "leaderboard", "marks", "preferences",
           "severities", "task_heatmap", "trace", "wright_map"]  # fmt: skip

Plot = TypeVar("Plot", bound="Callable[..., Any]")

_MOST_CURVES = 12  # Items of one picture, which readers can still distinguish.
_LABEL, _LINE = 28, 80  # Columns of a label on an axis, and of a line below it.
_POINTS: dict[str, dict[str, Any]] = {
    "cloud": {"s": 8, "alpha": 0.45, "linewidth": 0},
    "dots": {"s": 20},
    "rings": {"s": 32, "facecolor": "none"},
    "triangles": {"s": 44, "marker": "^"},
}


def _of_results(plot: Plot) -> Plot:
    """Let a plot take responses too, and refuse results that it has no meaning for."""

    @wraps(plot)
    def checked(result: object, *arguments: Any, **settings: Any) -> Any:
        fitted = result_for(f"plots.{plot.__name__}", result)
        return plot(fitted, *arguments, **settings)

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
    return _of_each(fitted.item_curves, result, items, ax, "proportion correct")


@_of_results
def category_curves(
    result: FitResult, items: Sequence[str] | str, ax: Axes | Sequence[Axes] | None = None
) -> Any:
    """Draw the probability of every mark of items, dashed outside of the abilities seen.

    For fits of the GPCM and the GRM. The mark is written above the peak of its curve.

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
    return _of_each(fitted.category_curves, result, items, ax, "probability")


@_of_results
def marks(
    result: FitResult, items: Sequence[str] | str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often each mark is given, or scores between 0 and 1.

    Items of right and wrong are left out if others have levels.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with its responses.
    items : str or list of str, optional
        Labels of items. Default: all.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    labels = [items] if isinstance(items, str) else items
    return _draw(fitted.marks(result, labels), ax)


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
    board = result.leaderboard() if board is None else board
    drawn = _draw(fitted.ranking(board.head(top), len(board)), ax)
    drawn.grid(axis="x", color=COLOURS["grid"])
    return drawn


@_of_results
def task_heatmap(
    result: FitResult, by: Any = "task", ax: Axes | None = None, *, top: int = 20
) -> Axes:
    """Draw the scores of the `top` best systems by task, in per cent.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with its responses.
    by : str, mapping or Series, default "task"
        Task of each item, as in ``result.leaderboard(by=)``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.
    top : int, default 20
        Number of systems.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    check_whole("top", top, 1)
    board = result.leaderboard(by=by)
    return _draw(fitted.task_heatmap(board.head(top), len(board)), ax)


@_of_results
def ability_scatter(
    result: FitResult,
    x: str | None = None,
    y: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw two of several abilities of all systems.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with several abilities.
    x, y : str, optional
        Names of abilities. Default: the two that are correlated least.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    return _draw(fitted.ability_scatter(result, x, y), ax)


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
    return _draw(fitted.wright_map(result, ability), ax)


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
    return _draw(fitted.precision(result, ability), ax)


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
    return _draw(fitted.trace(result), ax)


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
    ax = _one(ax)
    for name in chosen:
        if name not in names:
            raise ValueError(f"systems: {short(name)} lacks a curve")
        curve = curves.table.loc[name]
        ends = curve[["accuracy_low", "accuracy_high"]].sub(curve["accuracy"], axis=0).abs()
        how: Any = {"fmt": "o-", "ms": 4, "lw": 1, "capsize": 2, "label": name}
        ax.errorbar(curve["difficulty"], curve["accuracy"], ends.to_numpy().T, **how)
    ax.legend(frameon=False)
    left_out = "Systems left out", len(names) - len(chosen)
    below = _below("difficulty", caption_of(counted(len(names), "system"), left_out))
    ax.set(title="Accuracy of systems by difficulty", ylabel="accuracy", ylim=(-0.02, 1.02))
    ax.set_xlabel(below)
    return ax


def severities(judges: Judges, ax: Axes | None = None) -> Axes:
    """Draw severities of judges with their 95 % intervals.

    Parameters
    ----------
    judges : Judges
        What :func:`irtkit.judges` returned.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    check_type("judges", judges, Judges)
    table = judges.table.dropna(subset="severity")
    if not len(table):
        raise ValueError("judges lack severities, because no marks compare them")
    caption = f"{counted(len(table), 'judge')}. Right of 0: stricter than all judges on average"
    return _estimates("Severity of judges", caption, table[["severity", "severity_se"]], ax)


def preferences(judges: Judges, ax: Axes | None = None, *, top: int = 20) -> Axes:
    """Draw how judges see families of systems, with 95 % intervals, the surest first.

    Parameters
    ----------
    judges : Judges
        What :func:`irtkit.judges` returned with ``family``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.
    top : int, default 20
        Number of pairs of a judge and a family.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. ``axes.figure.savefig`` writes the picture.
    """
    check_type("judges", judges, Judges)
    check_whole("top", top, 1)
    favours = judges.tested.head(top)
    if not len(favours):
        raise ValueError("judges lack tests of families. Pass family= to irtkit.judges")
    favours.index = favours.index.map(": ".join)
    caption = (
        f"{len(favours)} of {counted(len(judges.tested), 'pair')}. Right of 0: better marks for "
        "the family than other judges give, compared with other systems"
    )
    return _estimates("Judges and families", caption, favours[["difference", "se"]], ax)


def _estimates(title: str, caption: str, table: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the estimates of a table by label, with their 95 % intervals, and a line at 0."""
    value, error = table.to_numpy(np.float64).T
    reach = Z95 * error
    values = np.column_stack([value, value - reach, value + reach])
    axis = axis_over(f"{table.columns[0]}, in marks", values, [0.0])
    picture = fitted.intervals(values, table.index, axis)
    picture = replace(picture, title=title, caption=f"{caption}. Lines are 95 % intervals.")
    drawn = _draw(picture, ax)
    drawn.axvline(0, color=COLOURS["rule"], zorder=0)
    return drawn


def _axes(n: int = 1, size: tuple[float, float] | None = None) -> Any:
    """Axes of a new figure, four to a row."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'irtkit[plots]'") from error
    columns = min(n, 4)
    rows = -(-n // columns)
    size = size or (max(3 * columns, 4.5), 2.8 * rows)
    how: Any = {"squeeze": False, "sharex": True, "sharey": True, "layout": "constrained"}
    places = plt.subplots(rows, columns, figsize=size, **how)[1].ravel()
    for empty in places[n:]:
        empty.remove()
    for ax in places[:n]:
        ax.spines[["top", "right"]].set_visible(False)
    return places[:n]


def _one(ax: Axes | None, height: float = 4.5) -> Any:
    """The given axes, or axes of a new figure."""
    if ax is None:
        return _axes(size=(7, height))[0]
    from matplotlib.axes import Axes

    check_type("ax", ax, Axes)
    return ax


def _of_each(pictures: Any, result: FitResult, items: Any, ax: Any, name: str) -> Any:
    """Draw a picture of each item, with its label as the title."""
    labels = [items] if isinstance(items, str) else [*map(str, items)]
    if not 1 <= len(labels) <= _MOST_CURVES:
        raise ValueError(f"items must be 1 to {_MOST_CURVES} labels, got {len(labels)}")
    places = _axes(len(labels)) if ax is None else np.ravel(ax)
    if places.size != len(labels):
        raise ValueError(f"ax must be one for each of {len(labels)} items, got {places.size}")
    for label, picture, place in zip(labels, pictures(result, labels), places, strict=True):
        _draw(picture, place).set(ylabel=name)
        place.set_title(_label(label), fontsize="medium")
        if ax is None:
            place.label_outer()
    return places[0] if isinstance(items, str) else places


def _of_items(picture: Any, result: FitResult, suspects: Any, ax: Any) -> Axes:
    from irtkit.suspects import flag_items

    drawn: Picture = picture(result, flag_items(result) if suspects is None else suspects)
    axes = _draw(drawn, ax)
    if drawn.n_items["to read"] or drawn.n_items["called"]:
        axes.legend(frameon=False)
    return axes


def _draw(picture: Picture, ax: Any) -> Axes:
    """Draw the marks of a picture and its axes, as high as the labels of its rows need."""
    height = 4.5
    if picture.y.low > picture.y.high:
        height = 1.6 + 0.24 * len(picture.y.ticks or ())
    ax = _one(ax, height)
    for mark in picture.marks:
        colour = COLOURS[mark.colour]
        x = picture.x.clipped(mark.x)
        y = picture.y.clipped(mark.y)
        if mark.shape == "words":
            for left, bottom, word in zip(x, y, mark.words, strict=True):
                ax.text(left, bottom, _label(word), ha="center", va="center")
        elif mark.shape in _POINTS:
            look = {"edgecolor": colour, "facecolor": colour} | _POINTS[mark.shape]
            ax.scatter(x, y, label=mark.name, clip_on=False, zorder=2, **look)
        elif mark.x_end is None or mark.y_end is None:
            ax.plot(x, y, "--" if mark.shape == "dashes" else "-", color=colour)
        elif mark.shape in {"bars", "cells"}:
            shades = np.ones(len(x)) if mark.shade is None else DARKEST * mark.shade
            shaded = [(colour, shade) for shade in shades]
            ax.barh(y, mark.x_end - x, mark.y_end - y, x, align="edge", color=shaded)
        else:
            look = {"lw": 1, "alpha": 1}
            if mark.shape == "intervals":
                look = {"lw": 5, "alpha": 0.4}
            ends = [x, mark.x_end], [y, mark.y_end]
            ax.plot(*ends, color=colour, solid_capstyle="butt", **look)
    ax.set(
        xlim=picture.x[:2],
        ylim=picture.y[:2],
        xlabel=_below(picture.x.name, picture.caption),
        ylabel=_label(picture.y.name, _LINE),
        title=_label(picture.title, _LINE),
    )
    for axis, shown in ((ax.xaxis, picture.x), (ax.yaxis, picture.y)):
        if shown.ticks is not None:
            places, texts = zip(*shown.ticks, strict=True)
            axis.set_ticks(places, [_label(text) for text in texts])
    if picture.x.crowded:
        ax.tick_params("x", labelrotation=35)
        for text in ax.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    return ax


def _below(name: str, caption: str) -> str:
    """The name of a horizontal axis and what is drawn, in lines."""
    return "\n".join([_label(name, _LINE), *wrap(caption, _LINE)]).strip()


def _label(name: str, room: int = _LABEL) -> str:
    return shortened(name, room).replace("$", r"\$")  # matplotlib would set it as mathematics
