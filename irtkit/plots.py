"""Pictures by matplotlib: each function draws on ``ax``, or a new one, and returns it.

What is drawn (points, groups, intervals, axes) comes from :mod:`irtkit.pictures`, as for the page
that :func:`irtkit.report` writes. Needs the extra ``plots``: without matplotlib each is an
ImportError. What is not of the kind that is drawn (a FitResult, curves, a surface) is a TypeError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import pictures
from irtkit.calibration.result import FitResult
from irtkit.checks import check_type, check_whole, short
from irtkit.curves import CharacteristicCurves, LearningSurface
from irtkit.pictures.colours import INK, ITEM, RULE, SUSPECT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from irtkit.pictures import ItemPoints

__all__ = [
    "average_error",
    "characteristic_curves",
    "information",
    "item_curves",
    "item_map",
    "leaderboard",
    "learning_surface",
    "trace",
    "wright_map",
]

_MOST_CURVES = 12
"""Items of one picture: curves in more panels, or of more colours, are told apart no longer."""
_LABEL = 28
"""Columns of a label on an axis."""


def item_curves(
    result: FitResult, items: Sequence[str] | str, ax: Axes | Sequence[Axes] | None = None
) -> Any:
    """Item curves: fitted, dashed where no respondent is, and observed shares with intervals.

    Dots are shares right of groups of respondents of about the same size, from the least able to
    the ablest; bars are 95 % intervals by Wilson, which take respondents for independent. A result
    without its responses has none.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned.
    items
        Labels of up to 12 items, or one label.
    ax
        Where to draw: one for each item. By default a new figure.

    Returns
    -------
    matplotlib.axes.Axes or array of them
        One for one label, else an array, (n_items,).

    Raises
    ------
    ValueError
        If there is no such item, or ``ax`` are not as many as items.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]], items=["a", "b"])
    >>> irtkit.plots.item_curves(irtkit.fit(responses, "1PL"), "b").get_title()
    'b'
    """
    check_type("result", result, FitResult)
    labels = [items] if isinstance(items, str) else [str(item) for item in items]
    if not 1 <= len(labels) <= _MOST_CURVES:
        raise ValueError(f"items must be 1 to {_MOST_CURVES} labels, got {len(labels)}")
    curves = pictures.item_curves(result, labels)
    places = _panels(len(labels)) if ax is None else np.atleast_1d(np.asarray(ax, dtype=object))
    if places.size != len(labels):
        raise ValueError(f"ax must be one for each of {len(labels)} items, got {places.size}")
    for curve, place in zip(curves, places.flat, strict=True):
        _curve(curve, _one(place))
        if ax is None:
            place.label_outer()
    return places.flat[0] if isinstance(items, str) else places.reshape(-1)


def item_map(
    result: FitResult, suspects: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Difficulty against discrimination; suspects stand out, and points beyond lie at the edge.

    Axes reach over all but the outermost hundredth of the items. Items that all or none get right
    have no place.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned.
    suspects
        What :func:`irtkit.flag_items` returned; by default it is called (and warns as it does).
    ax
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]])
    >>> result = irtkit.fit(responses, "2PL")
    >>> irtkit.plots.item_map(result, irtkit.audit(result).items).get_xlabel()
    'difficulty'
    """
    check_type("result", result, FitResult)
    drawn = pictures.item_map(result, _suspects(result, suspects))
    return _points(drawn, "difficulty", "discrimination", _one(ax))


def average_error(
    result: FitResult, suspects: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Average error against difficulty, of the items that have a difficulty to speak of.

    Flat items, those with a slope below 0, and those that all or none get right have no place.
    Arguments and what is returned are as for :func:`item_map`.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]])
    >>> result = irtkit.fit(responses, "1PL")
    >>> irtkit.plots.average_error(result, irtkit.audit(result).items).get_xlabel()
    'average error'
    """
    check_type("result", result, FitResult)
    drawn = pictures.error_and_difficulty(result, _suspects(result, suspects))
    return _points(drawn, "average error", "difficulty", _one(ax))


def leaderboard(
    result: FitResult, ax: Axes | None = None, *, board: pd.DataFrame | None = None, top: int = 20
) -> Axes:
    """Ranks of the best systems, with the intervals that items like these would allow.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    ax
        Where to draw; by default a new figure.
    board
        What ``result.leaderboard()`` returned; by default it is called. Where it has several
        components ranks are those within them.
    top
        How many systems.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If ``top`` is not 1 or more, or the result has no responses.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]], ["a", "b", "c"])
    >>> ax = irtkit.plots.leaderboard(irtkit.fit(responses, "1PL"))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a', 'c']
    """
    check_type("result", result, FitResult)
    check_whole("top", top, 1)
    drawn = pictures.ranking(result.leaderboard() if board is None else board, top)
    ax = _one(ax, height=1 + 0.24 * len(drawn.system))
    rows = np.arange(len(drawn.system))
    ax.hlines(rows, drawn.rank_low, drawn.rank_high, color=ITEM, alpha=0.4, linewidth=5)
    ax.plot(drawn.rank, rows, "o", color=ITEM)
    ax.set_yticks(rows, [_label(name) for name in drawn.system])
    ax.set(xlabel="rank, 1 is best", xlim=_ends(drawn.x), ylim=(len(rows) - 0.5, -0.5))
    ax.grid(axis="x", color=RULE, alpha=0.3)
    return _plain(ax)


def wright_map(result: FitResult, ax: Axes | None = None) -> Axes:
    """Abilities of respondents (left) beside difficulties of items (right), on one scale.

    Lengths of bars are shares of the longest one on their side. Items without a difficulty to speak
    of are left out, those beyond the scale are in the outermost bars.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]])
    >>> irtkit.plots.wright_map(irtkit.fit(responses, "1PL")).get_ylabel()
    'ability and difficulty'
    """
    check_type("result", result, FitResult)
    drawn = pictures.wright_map(result)
    ax = _one(ax)
    middles, height = (drawn.edges[:-1] + drawn.edges[1:]) / 2, float(np.diff(drawn.edges)[0])
    sides = ((drawn.respondents, -1, RULE, "respondents"), (drawn.items, 1, ITEM, "items"))
    for counts, side, colour, name in sides:
        most = int(counts.max())
        ax.barh(middles, side * counts / max(most, 1), 0.92 * height, color=colour)
        ax.text(side * 0.5, 1.01, f"{name} (longest bar: {most:,})", ha="center", va="bottom",
                transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set(ylabel="ability and difficulty", ylim=_ends(drawn.scale), xlim=(-1.05, 1.05), xticks=[])
    return _plain(ax)


def information(result: FitResult, ax: Axes | None = None) -> Axes:
    """Information of all items along ability, above a mark for every real respondent.

    Its unit is 1 over the variance of an ability (:func:`irtkit.information`).

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]])
    >>> irtkit.plots.information(irtkit.fit(responses, "1PL")).get_ylabel()
    'information'
    """
    check_type("result", result, FitResult)
    drawn = pictures.precision(result)
    ax = _one(ax)
    ax.plot(drawn.ability, drawn.information, color=ITEM)
    ax.plot(drawn.respondents, np.zeros(len(drawn.respondents)), "|", color=INK, clip_on=False)
    ax.set(xlabel="ability", ylabel="information", xlim=_ends(drawn.x), ylim=_ends(drawn.y))
    return _plain(ax)


def trace(result: FitResult, ax: Axes | None = None) -> Axes:
    """Log-likelihood after every accepted step of the fit (of "vi" the evidence lower bound).

    In nats, against evaluations of the likelihood so far.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]])
    >>> irtkit.plots.trace(irtkit.fit(responses, "1PL")).get_ylabel()
    'log-likelihood'
    """
    check_type("result", result, FitResult)
    drawn = pictures.trace(result)
    ax = _one(ax)
    ax.plot(drawn.step, drawn.value, ".-", color=ITEM)
    ax.set(xlabel="step", ylabel=drawn.name, xlim=_ends(drawn.x), ylim=_ends(drawn.y))
    return _plain(ax)


def characteristic_curves(
    curves: CharacteristicCurves, systems: Sequence[str] | str | None = None, ax: Axes | None = None
) -> Axes:
    """Share right of systems in ranges of difficulty, with intervals and the logistic curves.

    Parameters
    ----------
    curves
        What :func:`irtkit.characteristic_curves` returned.
    systems
        Labels of those to draw; by default the first twelve.
    ax
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a system has no curve.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 40, [k / 10 - 2 for k in range(40)])
    >>> responses = irtkit.simulate_responses(items, [k / 10 - 1 for k in range(20)], seed=1)
    >>> curves = irtkit.characteristic_curves(irtkit.fit(responses, "1PL"), bins=3)
    >>> irtkit.plots.characteristic_curves(curves, "respondent-20").get_ylabel()
    'share right'
    """
    check_type("curves", curves, CharacteristicCurves)
    known = list(dict.fromkeys(curves.table.index.get_level_values(0)))
    chosen = [systems] if isinstance(systems, str) else list(systems or known[:_MOST_CURVES])
    if strange := [name for name in chosen if name not in known]:
        raise ValueError(f"systems: there is no curve of {short(strange[0])}")
    ax = _one(ax)
    for name in chosen:
        one = curves.table.loc[name]
        reach = [one["accuracy"] - one["accuracy_low"], one["accuracy_high"] - one["accuracy"]]
        bars = ax.errorbar(one["difficulty"], one["accuracy"], reach, fmt="o", ms=4, capsize=2)
        ax.plot(one["difficulty"], one["smooth"], lw=1, color=bars[0].get_color(), label=name)
    ax.set(xlabel="difficulty", ylabel="share right", ylim=(-0.02, 1.02))
    ax.legend(frameon=False)
    return _plain(ax)


def learning_surface(surface: LearningSurface, system: str, ax: Axes | None = None) -> Axes:
    """Contours of the log-odds of one system over its covariate and difficulty.

    Parameters
    ----------
    surface
        What :func:`irtkit.learning_surface` returned, of items whose difficulty was given.
    system
        Its label, in the first of the columns that surfaces are by.
    ax
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If there is no surface of the system, or none over difficulty.
    """
    check_type("surface", surface, LearningSurface)
    grid, covariate = surface.grid, surface.axis.name
    points = grid[grid[surface.by[0]] == system]
    if points.empty or "difficulty" not in points:
        raise ValueError(f"system: there is no surface over difficulty of {short(system)}")
    over = points.pivot_table(index="difficulty", columns=covariate, values="log_odds")
    ax = _one(ax)
    drawn = ax.contour(over.columns, over.index, over, levels=9, cmap="RdBu")
    ax.clabel(drawn, fontsize=8)
    if surface.axis.kind == "log":
        ax.set_xscale("log")
    ax.set(xlabel=covariate.replace("_", " "), ylabel="difficulty", title=system)
    return _plain(ax)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'irtkit[plots]'") from error
    return plt


def _one(ax: Axes | None, *, height: float = 4.5) -> Any:
    """The given axes, or those of a new figure."""
    plt = _pyplot()
    if ax is not None:
        from matplotlib.axes import Axes

        check_type("ax", ax, Axes)
        return ax
    return plt.subplots(figsize=(7, height), layout="constrained")[1]


def _panels(n: int) -> Any:
    """Axes of a new figure, four to a row."""
    columns = min(n, 4)
    rows = -(-n // columns)
    size = (max(3 * columns, 4.5), 2.8 * rows)
    figure, places = _pyplot().subplots(
        rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True, layout="constrained"
    )
    for empty in places.flat[n:]:
        figure.delaxes(empty)
    return places.flat[:n]


def _curve(curve: pictures.ItemCurve, ax: Any) -> None:
    for some, dashed in curve.pieces:
        style = "--" if dashed else "-"
        ax.plot(curve.ability[some], curve.probability[some], style, color=ITEM)
    seen = curve.observed
    bars = np.stack([seen.share - seen.low, seen.high - seen.share]).clip(min=0)
    ax.errorbar(seen.ability, seen.share, bars, fmt="o", color=INK, markersize=4, linewidth=1)
    ax.set_title(_label(curve.item), fontsize="medium")
    ax.set(xlabel="ability", ylabel="share right", xlim=_ends(curve.x), ylim=(-0.03, 1.03))
    _plain(ax)


def _points(drawn: ItemPoints, across: str, up: str, ax: Any) -> Axes:
    x, y = drawn.x.clipped(drawn.x_values), drawn.y.clipped(drawn.y_values)
    kinds = (
        (pictures.ORDINARY, "items", {"s": 8, "color": ITEM, "alpha": 0.45, "linewidth": 0}),
        (pictures.SUSPECT, "suspect", {"s": 32, "facecolor": "none", "edgecolor": SUSPECT}),
        (pictures.NEGATIVE, "called negative", {"s": 44, "marker": "^", "color": SUSPECT}),
    )
    for kind, name, style in kinds:
        some = drawn.visible & (drawn.kind == kind)
        if some.any():
            ax.scatter(x[some], y[some], label=name, clip_on=False, zorder=2, **style)
    if drawn.y.low < 0 < drawn.y.high:
        ax.axhline(0, color=RULE, linewidth=0.8)
    ax.set(xlabel=across, ylabel=up, xlim=_ends(drawn.x), ylim=_ends(drawn.y))
    if (drawn.visible & (drawn.kind != pictures.ORDINARY)).any():
        ax.legend(frameon=False)
    return _plain(ax)


def _suspects(result: FitResult, suspects: pd.DataFrame | None) -> pd.DataFrame:
    from irtkit.suspects import flag_items

    return flag_items(result) if suspects is None else suspects


def _plain(ax: Any) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    found: Axes = ax
    return found


def _ends(scale: pictures.Scale) -> tuple[float, float]:
    return scale.low, scale.high


def _label(name: str) -> str:
    from irtkit.printed import shortened

    return shortened(name, _LABEL).replace("$", r"\$")  # matplotlib would set it as mathematics
