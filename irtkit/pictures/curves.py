"""Item curves: what was observed at every level of ability, and what the model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import did_you_mean, short
from irtkit.curves.characteristic import wilson_interval
from irtkit.pictures.scales import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array

_MOST_GROUPS = 10
"""Groups of ability; of fewer than 100 respondents √n, so that a group has as many members as there
are groups."""
_POINTS = 61
"""Points of a fitted curve, besides the ends of the abilities: 1.7 % of the axis apart."""
_BEYOND = 0.25
"""Part of the range of abilities that the axis shows on either side, where no respondent is."""


class AbilityGroups(NamedTuple):
    """Real respondents with a response, cut by ability into groups of the same size."""

    number: NDArray[np.int64]
    """Group of every respondent, from 0, the least able; −1 for all others; (n_respondents,)."""
    ability: Array
    """Mean ability of every group, (n_groups,)."""


class GroupCounts(NamedTuple):
    """Responses of every group to some items, each (n_items, n_groups)."""

    right: NDArray[np.int64]
    trials: NDArray[np.int64]
    independent: Array
    """How many independent responses the trials count for."""


class Observed(NamedTuple):
    """Share right of groups of respondents, each (n,); groups without a response are left out."""

    ability: Array
    share: Array
    low: Array
    """Wilson's 95 % interval, of respondents who are independent."""
    high: Array
    right: NDArray[np.int64]
    trials: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ItemCurve:
    """What is drawn of an item."""

    item: str
    ability: Array
    """(n,)."""
    probability: Array
    """P(right) of the model there."""
    inside: Any
    """Where abilities of real respondents are, (n,)."""
    observed: Observed
    x: Scale

    @property
    def pieces(self) -> list[tuple[slice, bool]]:
        """Parts of the curve, each up to where the next begins, and whether it is drawn dashed."""
        first, last = np.flatnonzero(self.inside)[[0, -1]]
        return [
            (slice(0, first + 1), True),
            (slice(first, last + 1), False),
            (slice(last, None), True),
        ]


def ability_groups(result: FitResult) -> AbilityGroups:
    """Cut the real respondents of a fit into groups of ability."""
    number = np.full(len(result.ability), -1)
    who = np.flatnonzero(result.answering)
    ordered = who[np.argsort(result.ability[who], kind="stable")]
    n_groups = int(np.clip(round(len(who) ** 0.5), 1, _MOST_GROUPS)) if len(who) else 0
    number[ordered] = np.arange(len(who)) * n_groups // max(len(who), 1)
    means = [result.ability[number == k].mean() for k in range(n_groups)]
    return AbilityGroups(number, np.array(means))


def group_counts(
    result: FitResult, groups: AbilityGroups, items: NDArray[Any] | None = None
) -> GroupCounts:
    """How often every group got some items right, by default all; an error without responses."""
    patterns = result.patterns
    counts: list[Any] = [[], [], []]
    correlation = result.settings.trial_correlation or 0.0
    for k in range(len(groups.ability)):
        rows = np.flatnonzero(groups.number == k)
        cells = patterns.cells[rows]
        trials = None if patterns.trials is None else patterns.trials[rows]
        if items is not None:
            cells, trials = cells[:, items], None if trials is None else trials[:, items]
        right, tried = (cells, trials) if trials is not None else (cells > 0, cells >= 0)
        worth = tried.astype(np.float64)
        if patterns.sparse:
            worth.data /= 1 + (worth.data - 1) * correlation
        elif patterns.repeated:
            worth /= 1 + np.maximum(worth - 1, 0) * correlation
        for room, table in zip(counts, (right, tried, worth), strict=True):
            room.append(np.asarray(table.sum(axis=0)).ravel())
    right, tried, worth = (np.stack(part, axis=1) for part in counts)
    return GroupCounts(right.astype(np.int64), tried.astype(np.int64), worth)


def ability_scale(result: FitResult) -> tuple[Array, Any, Scale]:
    """Abilities at which curves are drawn, which of them respondents have, and the axis."""
    low, high = (float(end(result.ability[result.answering])) for end in (np.min, np.max))
    room = _BEYOND * max(high - low, result.latent_sd)
    x = Scale(low - room, high + room)
    ability = np.unique([*np.linspace(x.low, x.high, _POINTS), low, high])
    return ability, (ability >= low) & (ability <= high), x


def item_curves(
    result: FitResult, items: Sequence[str], groups: AbilityGroups | None = None
) -> list[ItemCurve]:
    """Observed and fitted curves of some items, by label.

    A result without its responses has no observed ones.

    Raises
    ------
    ValueError
        If there is no such item.
    """
    places = item_places(result, items)
    ability, inside, x = ability_scale(result)
    probability = result.parameters.chosen(places).probability(ability).T
    groups = ability_groups(result) if groups is None else groups
    counts = None if result.responses is None else group_counts(result, groups, places)
    return [
        ItemCurve(str(item), ability, probability[k], inside, _observed(groups, counts, k), x)
        for k, item in enumerate(items)
    ]


def item_places(result: FitResult, items: Sequence[str]) -> NDArray[np.intp]:
    """Places of items, by label."""
    if isinstance(items, str):
        raise TypeError(f"items must be a list of labels, got the text {short(items)}")
    for item in items:
        if str(item) not in result.places:
            asked = did_you_mean(item, result.item_labels)
            raise ValueError(f"result has no item {short(str(item))}{asked}")
    return np.array([result.places[str(item)] for item in items], dtype=np.intp)


def _observed(groups: AbilityGroups, counts: GroupCounts | None, k: int) -> Observed:
    """What the groups did on one item."""
    if counts is None:
        return Observed(*np.empty((4, 0)), *np.empty((2, 0), np.int64))
    right, trials, worth = (part[k] for part in counts)
    some = trials > 0
    share = right[some] / trials[some]
    bounds = wilson_interval(share, worth[some])
    return Observed(groups.ability[some], share, *bounds, right[some], trials[some])
