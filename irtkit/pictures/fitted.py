"""The pictures of a fit: curves, items and systems as points, ranks, scores, marks, information."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.summary import readable_difficulty
from irtkit.checks import counted, did_you_mean, short
from irtkit.diagnostics import information
from irtkit.irf import EXTREME, Z95
from irtkit.pictures.picture import (
    Axis,
    Mark,
    Picture,
    axis_over,
    caption_of,
    tick_text,
    usual_axis,
)
from irtkit.responses.levels import score_ranges
from irtkit.systems.paired import wilson_interval
from irtkit.systems.printed import scored_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array
    from irtkit.pictures.picture import Shape

_LEVEL_COLOURS = ("item", "odd", "ink", "rule")  # Of neighbouring levels, whose peaks differ.
_PERCENT = ((0.0, "0%"), (0.25, "25%"), (0.5, "50%"), (0.75, "75%"), (1.0, "100%"))
_SHARES = Axis(-0.03, 1.03, ticks=_PERCENT)


@dataclass(frozen=True)
class _Layout:
    """How much pictures show, and where on their axes."""

    most_groups: int = 10  # Of ability; √n of fewer than 100 respondents.
    curve_points: int = 61  # Of a fitted curve, 1.7 % of the axis apart.
    beyond: float = 0.25  # Part of the range of abilities that a curve shows on either side of it.
    information_points: int = 81  # 1.2 % of the axis apart, 6 pixels on the page.
    bins: int = 30  # Of a Wright map: 12 pixels on the page, 0.2 SDs or more.
    reach: float = 4.0  # SDs around the mean that are shown at least,
    wright_reach: float = 3.0  # and in a Wright map.
    # Part of an axis of discriminations below 0, at the end of which suspects stand.
    below: float = 0.1
    named_at: float = 0.07  # Distance of the name of a level from the peak of its curve.
    most_levels: int = 21  # Different marks that have a bar each, as those of an item of 20 points.


_LAYOUT = _Layout()


class AbilityGroups(NamedTuple):
    """Groups of real respondents of about the same size, the least able first, by item."""

    ability: Array  # Mean of each group, (n_composites, n_groups).
    composite: Places  # What each item measures, (n_items,).
    observed: Array
    """Proportions correct and the ends of their Wilson intervals (95 %, for independent
    respondents), (3, n_items, n_groups), NaN without responses."""


def ability_groups(result: FitResult, items: Any = slice(None)) -> AbilityGroups:
    """Group the respondents by what each of some items measures."""
    weights, measured = np.unique(result.own_weights[items], axis=0, return_inverse=True)
    measured = measured.ravel()
    rows = np.flatnonzero(result.answering)
    n_groups = min(round(len(rows) ** 0.5), _LAYOUT.most_groups)
    ability = result.abilities_along(weights)
    places = np.arange(len(result.item_labels))[items]
    means = np.empty((len(weights), n_groups))
    counts = np.empty((3, len(places), n_groups))
    for composite, values in enumerate(ability.T):
        ordered = rows[np.argsort(values[rows], kind="stable")]
        of_composite = np.flatnonzero(measured == composite)
        for group, members in enumerate(np.array_split(ordered, n_groups)):
            means[composite, group] = values[members].mean()
            counts[:, of_composite, group] = _counts(result, members, places[of_composite])
    right, tried, worth = counts
    with np.errstate(invalid="ignore", divide="ignore"):
        share = right / tried
        observed = np.stack([share, *wilson_interval(share, worth)])
    return AbilityGroups(means, measured, observed)


def _counts(result: FitResult, rows: Places, items: Places) -> list[Array]:
    """Right responses of some respondents to items, how many there are, and what they are worth."""
    patterns = result.patterns
    correlation = result.settings.trial_correlation or 0.0
    right, tried = patterns.dense(rows, items)
    repeats = 1 + np.maximum(tried - 1, 0) * correlation
    worth = tried / repeats
    if patterns.scored is not None:
        worth = worth * patterns.score_worth(correlation)[items]
    return [table.sum(axis=0) for table in (right, tried, worth)]


def curve_axes(result: FitResult) -> tuple[Picture, Array, slice]:
    """Axes of item curves, abilities at which they are drawn, and those within the respondents."""
    of_real = result.ability[result.answering]
    low = float(of_real.min())
    high = float(of_real.max())
    room = _LAYOUT.beyond * max(high - low, result.latent_sd)
    axis = Axis(low - room, high + room, "ability")
    points = np.linspace(axis.low, axis.high, _LAYOUT.curve_points)
    ability = np.unique([*points, low, high])
    first, last = np.searchsorted(ability, [low, high])
    inside = slice(int(first), int(last) + 1)
    caption = caption_of(counted(result.n_answering, "system"))
    return Picture("", axis, _SHARES, caption=caption), ability, inside


def _curve(
    ability: Array, inside: slice, values: Array, colour: str = "item", name: str = ""
) -> list[Mark]:
    """A curve, dashed where no respondent is."""
    parts: tuple[tuple[Shape, slice], ...] = (
        ("dashes", slice(inside.start + 1)),
        ("line", inside),
        ("dashes", slice(inside.stop - 1, None)),
    )
    return [Mark(shape, colour, ability[part], values[part], name=name) for shape, part in parts]


def _places(result: FitResult, items: Sequence[str]) -> Places:
    """Places of items. An unknown one is a ValueError."""
    for item in items:
        if str(item) not in result.places:
            suggestion = did_you_mean(item, result.item_labels)
            raise ValueError(f"result lacks the item {short(str(item))}{suggestion}")
    return np.array([result.places[str(item)] for item in items], dtype=np.intp)


def item_curves(result: FitResult, items: Sequence[str]) -> list[Picture]:
    """Fitted curves of items, dashed where no respondent is, and observed shares by ability.

    Ability is what each item measures. Without responses, nothing was observed. An unknown item is
    a ValueError.
    """
    places = _places(result, items)
    axes, ability, inside = curve_axes(result)
    probability = result.own_items.chosen(places).probability(ability)
    groups = None if result.responses is None else ability_groups(result, places)
    pictures = []
    for k, item in enumerate(items):
        marks = _curve(ability, inside, probability[:, k])
        if groups is not None:
            at = groups.ability[groups.composite[k]]
            share, low, high = groups.observed[:, k]
            seen = np.isfinite(share)
            marks += [
                Mark("segments", "ink", at[seen], low[seen], at[seen], high[seen]),
                Mark("dots", "ink", at[seen], share[seen]),
            ]
        title = f"Observed and fitted proportion correct of {item} by ability"
        pictures.append(replace(axes, title=title, marks=tuple(marks)))
    return pictures


def category_curves(result: FitResult, items: Sequence[str]) -> list[Picture]:
    """Probability of every mark of items by ability, dashed where no respondent is.

    The mark is written above the peak of its curve. An unknown item, or a result without levels, is
    a ValueError.
    """
    places = _places(result, items)
    axes, ability, inside = curve_axes(result)
    y = axes.y._replace(high=1 + 2 * _LAYOUT.named_at)
    probability = result.category_probability(ability)
    worst, step = _scale_of_marks(result)
    pictures = []
    for item, place in zip(items, places, strict=True):
        marks: list[Mark] = []
        for level in np.flatnonzero(~np.isnan(result.parameters.steps[place])):
            values = probability[:, place, level]
            name = tick_text(worst[place] + level * step[place])
            colour = _LEVEL_COLOURS[level % len(_LEVEL_COLOURS)]
            peak = [int(values.argmax())]
            above = values[peak] + _LAYOUT.named_at
            marks += _curve(ability, inside, values, colour, name)
            marks.append(Mark("words", "ink", ability[peak], above, words=(name,)))
        title = f"Probability of the marks of {item} by ability"
        pictures.append(Picture(title, axes.x, y, tuple(marks), axes.caption))
    return pictures


def _scale_of_marks(result: FitResult) -> tuple[Array, Array]:
    """The lowest mark of every item and the distance of two, 0 and 1 if responses do not say."""
    top = np.asarray(result.parameters.top, np.float64)
    ranges = score_ranges(result.responses)
    if ranges is None:
        return np.zeros_like(top), np.ones_like(top)
    pairs = [ranges[item] for item in result.item_labels]
    worst, best = np.array(pairs, np.float64).T
    return worst, (best - worst) / top


def marks(result: FitResult, items: Sequence[str] | None = None) -> Picture:
    """How often each mark is given to all items or some, or each score between 0 and 1.

    Items of right and wrong are left out if others have levels. Scores are in bins.
    """
    chosen = _places(result, result.item_labels if items is None else items)
    top = result.parameters.top
    has_levels = top[chosen] > 1
    of_levels = bool(has_levels.any())
    places = chosen[has_levels] if of_levels else chosen
    points, tried = result.patterns.dense(np.flatnonzero(result.answering), places)
    worst, step = _scale_of_marks(result)
    share_of_top = points / np.maximum(tried, 1)
    levels = share_of_top * top[places]
    every_mark = worst[places] + levels * step[places]
    given = np.round(every_mark[tried > 0], 6)
    center, count = np.unique(given, return_counts=True)
    name = "mark" if of_levels else "score"
    ticks = None
    if len(center) > _LAYOUT.most_levels:
        count, edges = np.histogram(given, _LAYOUT.most_levels - 1)
        center = (edges[:-1] + edges[1:]) / 2
    else:
        ticks = tuple((mark, tick_text(round(mark, 2))) for mark in center)
    half = 0.4 * np.diff(center).min(initial=1.0)
    left = center - half
    right = center + half
    share = count / len(given)
    x = axis_over(name, left, right)._replace(ticks=ticks)
    y = Axis(0.0, 1.05 * float(share.max()), "share of answers")
    bars = Mark("bars", "item", left, np.zeros_like(share), right, share)
    answers = counted(len(given), "answer")
    systems = counted(result.n_answering, "system")
    n_items = counted(len(places), "item")
    left_out = "Items without levels, left out", len(chosen) - len(places)
    caption = caption_of(f"{answers} of {systems} to {n_items}", left_out)
    return Picture(f"How often each {name} is given", x, y, (bars,), caption)


def kinds_of(result: FitResult, suspects: pd.DataFrame) -> NDArray[np.int64]:
    """0, 1 (to read) or 2 (called) for every item, by what `flag_items` returned."""
    kind = np.zeros(len(result.item_labels), np.int64)
    listed = suspects[suspects["suspect"]]
    places = [result.places[str(label)] for label in listed.index]
    kind[places] = 1 + listed["called"]
    return kind


def _of_items(
    title: str, x: Axis, y: Axis, xs: Array, ys: Array, kind: Any, shown: Any, without: str
) -> Picture:
    """Some items as points, with the zero line of the vertical axis, and why others are not."""
    marks = []
    if y.low < 0 < y.high:
        ends = np.array(x[:2])
        marks.append(Mark("line", "rule", ends, np.zeros(2)))
    looks: tuple[tuple[Shape, str, str], ...] = (
        ("cloud", "item", "items"),
        ("rings", "odd", "to read"),
        ("triangles", "odd", "called"),
    )
    for k, (shape, colour, name) in enumerate(looks):
        items = np.flatnonzero(shown & (kind == k))
        marks.append(Mark(shape, colour, xs[items], ys[items], name=name, items=items))
    picture = Picture(title, x, y, tuple(marks))
    n = int(np.sum(shown))
    beyond = "Items beyond an axis, drawn at its end", picture.n_beyond
    left_out = f"Items left out ({without})", len(xs) - n
    return replace(picture, caption=caption_of(counted(n, "item"), beyond, left_out))


def _difficulty_axis(result: FitResult, difficulty: Array, name: str) -> Axis:
    return usual_axis(name, difficulty, result.latent_mean, EXTREME * result.latent_sd)


def item_map(result: FitResult, suspects: pd.DataFrame) -> Picture:
    """Difficulty and discrimination of the items that some get right and some wrong.

    Those all or none get right have estimates by the prior alone, and no place.
    """
    a = result.own_items.discrimination
    b = result.own_items.difficulty
    varied = ~np.isin(result.status, ["no variance", "no responses"])
    shown = varied & np.isfinite(a + b)
    kind = kinds_of(result, suspects)
    ordinary = shown & (kind == 0)
    usual = usual_axis("", a[ordinary])
    below = -_LAYOUT.below * usual.high
    y = axis_over("discrimination", [usual.low, usual.high, below])
    x = _difficulty_axis(result, b[ordinary], "difficulty")
    without = "all systems right, or none, or no answer"
    return _of_items("Difficulty and discrimination of items", x, y, b, a, kind, shown, without)


def error_map(
    result: FitResult, suspects: pd.DataFrame, predicted: pd.Series[float] | None = None
) -> Picture:
    """Average error, or predicted difficulty, and difficulty of the items that have both.

    The difficulty of a flat item, or of an item with a slope below 0, does not show how hard it is.
    """
    difficulty = _readable(result)
    kind = kinds_of(result, suspects)
    if predicted is None:
        values = result.counts.average_error
        name = "average error"
        without = "flat, a discrimination below 0, all systems right, or none, or no answer"
        x = axis_over(name, [0.0, 1.0])
    else:
        values = np.asarray(predicted.reindex(result.item_labels), np.float64)
        name = "predicted difficulty"
        without = "no prediction, or no clear difficulty"
        x = usual_axis(name, values[np.isfinite(difficulty)])
    shown = np.isfinite(difficulty) & np.isfinite(values)
    y = _difficulty_axis(result, difficulty[shown & (kind == 0)], "difficulty")
    title = f"{name.capitalize()} and difficulty of items"
    return _of_items(title, x, y, values, difficulty, kind, shown, without)


def _readable(result: FitResult) -> Array:
    return np.asarray(readable_difficulty(result.items), np.float64)


def ranking(board: pd.DataFrame, n: int) -> Picture:
    """Systems of ``result.leaderboard()``, the first of n, and the ranks that such items allow."""
    last = float(board["rank_high"].max())
    x = Axis(0.5, last + 0.5, "rank, 1 is best")
    ranks = board[["rank", "rank_low", "rank_high"]].to_numpy(np.float64)
    picture = intervals(ranks, board.index, x)
    return replace(picture, title="Likely ranks of systems", caption=_first_of(board, n))


def _first_of(board: pd.DataFrame, n: int) -> str:
    """How many systems there are, and are not on the board."""
    left_out = f"Systems left out, after the first {len(board)}", n - len(board)
    return caption_of(counted(n, "system"), left_out)


def intervals(values: Array, labels: Iterable[Any], x: Axis) -> Picture:
    """Rows of a value and the ends of its interval, (n, 3), from above."""
    at = np.arange(len(values), dtype=np.float64)
    value, low, high = values.T
    ticks = tuple(zip(at, map(str, labels), strict=True))
    y = Axis(len(values) - 0.5, -0.5, ticks=ticks)
    reach = Mark("intervals", "item", low, at, high, at)
    dots = Mark("dots", "item", value, at)
    return Picture("", x, y, (reach, dots))


def task_heatmap(board: pd.DataFrame, n: int) -> Picture:
    """Scores by task, in per cent, of systems of a leaderboard by task, the first of n."""
    tasks = scored_tasks(board)
    table = board[[f"score_{name}" for name in tasks]].to_numpy(np.float64)
    scores = table.ravel()
    row, column = np.indices(table.shape, np.float64).reshape(2, -1)
    left = column - 0.5
    upper = row - 0.5
    columns = tuple(enumerate(tasks))
    rows = tuple(enumerate(map(str, board.index)))
    x = Axis(-0.5, len(columns) - 0.5, ticks=columns)
    y = Axis(len(rows) - 0.5, -0.5, ticks=rows)
    cells = Mark("cells", "item", left, upper, left + 1, upper + 1, shade=scores)
    texts = tuple(f"{100 * score:.0f}" for score in scores)
    words = Mark("words", "ink", column, row, words=texts)
    caption = f"{_first_of(board, n)} Scores are in per cent."
    return Picture("Scores of systems by task", x, y, (cells, words), caption)


def ability_scatter(result: FitResult, x: str | None = None, y: str | None = None) -> Picture:
    """Two of several abilities of all systems, by default the two that are correlated least.

    Systems are in the order of ``result.best_first``. Unknown names are a ValueError.
    """
    size = np.abs(result.ability_correlation)
    np.fill_diagonal(size, np.inf)
    least = np.unravel_index(size.argmin(), size.shape)
    axes = []
    values = []
    reaches = []
    for given, place in zip((x, y), least, strict=True):
        name = given or result.ability_names[place]
        weights = result.weights_of(name)
        ability = result.abilities_along(weights)[result.best_first]
        errors = result.errors_along(weights)[result.best_first]
        axes.append(axis_over(_named("ability", name), ability))
        values.append(ability)
        reaches.append(f"±{Z95 * errors.mean():.2f}")
    n_systems = caption_of(counted(len(result.best_first), "system"))
    caption = f"{n_systems} Intervals (95%) are {' and '.join(reaches)} on average."
    of_x, of_y = values
    x_axis, y_axis = axes
    dots = Mark("cloud", "item", of_x, of_y, name="systems")
    return Picture("Two abilities of systems", x_axis, y_axis, (dots,), caption)


def wright_map(result: FitResult, ability: str | None = None) -> Picture:
    """Abilities of respondents (left) and difficulties of items (right) on one scale.

    With the name of one of several abilities, items are those that measure it most. Without, every
    item has the difficulty along what it measures, and respondents what all items measure together.
    The caption counts items beyond the scale, in the outermost bars, and items without a clear
    difficulty. These are flat, have a slope below 0, or are all right or wrong.
    """
    difficulties = _readable(result)
    if ability is not None:
        measured = np.abs(result.own_weights).argmax(axis=1)
        difficulties = difficulties[measured == result.ability_names.index(ability)]
    of_real = result.abilities_along(result.weights_of(ability))[result.answering]
    difficulty = difficulties[np.isfinite(difficulties)]
    shown = _difficulty_axis(result, difficulty, "")
    name = _named("ability and difficulty", ability)
    y = axis_over(name, of_real, shown[:2], _around(result, _LAYOUT.wright_reach))
    edges = np.linspace(y.low, y.high, _LAYOUT.bins + 1)
    room = 0.04 * (edges[1] - edges[0])
    marks = []
    ticks = []
    for side, values, colour, name in (
        (-1, of_real, "rule", "systems"),
        (1, difficulty, "item", "items"),
    ):
        counts = np.histogram(y.clipped(values), edges)[0]
        filled = np.flatnonzero(counts)
        most = int(counts.max())
        start = np.full(len(filled), 0.01 * side)
        ends = start + side * counts[filled] / max(most, 1)
        low = edges[filled] + room
        high = edges[filled + 1] - room
        marks.append(Mark("bars", colour, start, low, ends, high, name))
        ticks.append((side * 0.5, f"{name} (at most {most:,})"))
    x = Axis(-1.05, 1.05, ticks=tuple(ticks))
    beyond = int((y.clipped(difficulty) != difficulty).sum())
    systems = counted(len(of_real), "system")
    items = counted(len(difficulty), "item")
    caption = caption_of(
        f"{systems} and {items}",
        ("Items beyond the scale, in the outermost bars", beyond),
        ("Items without a clear difficulty, left out", len(difficulties) - len(difficulty)),
    )
    return Picture("Abilities of systems and difficulties of items", x, y, tuple(marks), caption)


def _named(text: str, ability: str | None) -> str:
    """Name of an axis with the name of an ability."""
    return text if ability is None else f"{text}: {ability}"


def precision(result: FitResult, ability: str | None = None) -> Picture:
    """Information of all items along ability, with a mark for every real respondent."""
    of_real = result.abilities_along(result.weights_of(ability))[result.answering]
    x = axis_over(_named("ability", ability), of_real, _around(result, _LAYOUT.reach))
    points = np.linspace(x.low, x.high, _LAYOUT.information_points)
    measured = information(result, points, ability=ability)
    values = measured.curve["information"].to_numpy(np.float64)
    highest = max(float(values.max()), 1e-9)  # 0 of flat items
    y = Axis(0.0, 1.05 * highest, "information")
    line = Mark("line", "item", points, values)
    seen = np.unique(np.round(of_real, 3))
    floor = np.zeros_like(seen)
    top = np.full_like(seen, 0.03 * y.high)
    systems = Mark("segments", "ink", seen, floor, seen, top)
    n_systems = caption_of(counted(len(of_real), "system"))
    caption = f"{n_systems} {measured}."
    return Picture("Information of all items along ability", x, y, (line, systems), caption)


def _around(result: FitResult, reach: float) -> list[float]:
    """Ends of an interval around the mean ability, some SDs on either side."""
    beyond = reach * result.latent_sd
    return [result.latent_mean - beyond, result.latent_mean + beyond]


def trace(result: FitResult) -> Picture:
    """The log-likelihood, or the lower bound of "vi", after every accepted step."""
    rows = result.trace
    column = "elbo" if "elbo" in rows else "log_likelihood"
    name = "evidence lower bound" if column == "elbo" else "log-likelihood"
    step, value = rows[["step", column]].to_numpy(np.float64).T
    x = axis_over("step", step)
    y = axis_over(name, value)
    line = Mark("line", "item", step, value)
    caption = caption_of(counted(len(rows), "step"))
    return Picture("Progress of the fit", x, y, (line,), caption)
