"""What a comparison of two systems holds, and its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.printed import (
    in_lines,
    p_words,
    percent,
    plain,
    printable,
    short_labels,
    shortened,
    table_of,
)
from irtkit.systems.paired import POWER, power_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

_MOST_SAID = 1_000_000
"""Items that are named as needed; beyond, the difference is as good as none."""


@dataclass(frozen=True, eq=False)
class SystemComparison:
    """Two systems compared; made by :func:`irtkit.compare_systems`. ``print`` says it in words.

    Differences are the first system less the second: shares right from −1 to 1, abilities in SDs
    of the systems. Intervals have the coverage ``level``.
    """

    system: str
    other: str
    level: float
    n_items: int
    """Items that both answered."""
    n_clusters: int
    """Clusters of these; as many as items if none were given."""
    accuracy: float
    """Mean over these items of the share right, of the first: items count alike, however many
    trials they have, unlike in the accuracy of a leaderboard."""
    other_accuracy: float
    difference: float
    """Of both accuracies: paired. NaN without an item in common, as are ``items_needed`` and
    ``power`` then: ``score_difference`` and ``ability_difference`` tell more."""
    se: float
    """Clustered by item, or by the clusters given."""
    low: float
    high: float
    p_value: float
    """Two-sided, Student's t with a degree of freedom less than clusters."""
    unpaired_difference: float
    """Of the shares right of what each answered, easy or hard, and what follows as if
    independent."""
    unpaired_low: float
    unpaired_high: float
    unpaired_p_value: float
    design_effect: float
    """Variance of the first one's share right by clusters, over that of as many independent trials;
    NaN if all were right, or wrong."""
    other_design_effect: float
    score_difference: float
    """Of expected scores on all items of the benchmark, by which the leaderboard ranks."""
    score_low: float
    score_high: float
    p_better: float
    """Probability that the first has the higher expected score on items like these."""
    ability_difference: float
    """By the model, which need not hold; items taken as known."""
    ability_low: float
    ability_high: float
    ability_p_better: float
    """Probability that the first is the abler."""
    items_needed: float
    """Items in all, like those of both, that tell the difference from 0 with a probability of 80 %
    if it is as large as it looks; infinite if there is none."""
    items: pd.DataFrame = field(repr=False)
    """Index "item": share right of both ("accuracy", "other_accuracy"), their difference and the
    one that the model expects; those first of which it is the least likely."""
    n_systems: int = 2
    """Of the board that they are of."""

    def power(self, n_items: Any, difference: Any = None) -> Any:
        """Probability that so many items like those of both tell a difference from 0.

        Parameters
        ----------
        n_items
            One number of items, or several.
        difference
            The true one, as a share; by default the one found.

        Returns
        -------
        float or array
            Of a two-sided test at 1 − ``level``.
        """
        true = self.difference if difference is None else difference
        each = self.n_clusters / max(self.n_items, 1)
        se_of_one = self.se * self.n_items**0.5
        found = power_of(n_items, true, se_of_one, level=self.level, clusters_per_item=each)
        return float(found) if np.ndim(found) == 0 else found

    @property
    def sentence(self) -> str:
        """Which system is ahead by its score, as on the leaderboard."""
        one, two = printable(self.system), printable(self.other)
        if self._same_items and self.n_clusters < 2:
            return self._in_common
        ahead, behind = (one, two) if self.score_difference >= 0 else (two, one)
        sure = self.score_low > 0 or self.score_high < 0
        verb = "is ahead of" if sure else "does not differ significantly from"
        points, between = self._points(self.score_difference, self.score_low, self.score_high)
        on, p = "on the whole benchmark, missing answers as the model expects them", ""
        if self._same_items:
            on, p = f"right on the {self.n_items:,} items of both", p_words(self.p_value, 4)
        found = f"{points} percentage points more {on}, {percent(self.level)} interval {between}"
        return f"{ahead} {verb} {behind}: {', '.join(filter(None, [found, p]))}."

    @property
    def _same_items(self) -> bool:
        """Whether the items of both are all that the score counts."""
        return abs(self.score_difference - self.difference) < 1e-9

    @property
    def _in_common(self) -> str:
        """What the items that both answered say."""
        one, two = printable(self.system), printable(self.other)
        if not self.n_items:
            return f"{one} and {two} have no item in common."
        items = f"{self.n_items:,} item{'s' * (self.n_items > 1)}"
        if self.n_clusters < 2:
            what = items if self.n_items == 1 else f"one cluster of {items}"
            return f"{one} and {two} have {what} in common, which gives no standard error."
        points, between = self._points(self.difference, self.low, self.high)
        return (
            f"On the {items} of both {one if self.difference >= 0 else two} has {points} points "
            f"more, {percent(self.level)} interval {between}, {p_words(self.p_value, 4)}."
        )

    def _points(self, difference: float, low: float, high: float) -> tuple[str, str]:
        """How many points the one that is ahead has more, and between what."""
        bounds = (low, high) if difference >= 0 else (-high, -low)
        between = " to ".join(f"{100 * bound:.2f}" for bound in bounds)
        return f"{100 * abs(difference):.2f}", between

    def _ability_sentence(self) -> str:
        one, two = printable(self.system), printable(self.other)
        abler, other = (one, two) if self.ability_difference >= 0 else (two, one)
        above = f"{abler} is {abs(self.ability_difference):.2f} SD above {other}"
        if self.ability_difference * self.score_difference < 0:
            return (
                f"By ability the order is the reverse: {above}. Ability weighs items by their "
                "slopes, the score counts all items alike. The score decides."
            )
        p = max(self.ability_p_better, 1 - self.ability_p_better)
        return f"By ability {above} (probability {p:.3f} if the model fits)."

    def sentences(self) -> Iterator[str]:
        """All that `print` says before the items."""
        yield self.sentence
        if self.n_systems > 2:
            yield (
                f"That is of a pair chosen beforehand: of the best of many some are ahead by "
                f"chance, and `irtkit.compare_systems(result)` looks at all pairs of the "
                f"{self.n_systems} systems."
            )
        if not self._same_items:
            yield self._in_common
        if self.n_clusters >= 2:
            _, unpaired = self._points(self.difference, self.unpaired_low, self.unpaired_high)
            what = "item" if self.n_clusters == self.n_items else f"{self.n_clusters} clusters"
            yield (
                f"Errors are clustered by {what}, as if items like these were drawn anew. "
                f"Unpaired, each by all that it answered, the interval would be {unpaired}, "
                f"{p_words(self.unpaired_p_value, 4)}; design effects "
                f"{_effect(self.design_effect)} and {_effect(self.other_design_effect)}."
            )
        if self.n_clusters != 1:
            favoured = self.system if self.p_better >= 0.5 else self.other
            yield (
                f"P({printable(favoured)} is better) = {max(self.p_better, 1 - self.p_better):.3f} "
                "on items like these."
            )
        yield self._ability_sentence()
        if self.n_clusters >= 2 and self.p_value >= 1 - self.level:
            yield settled(self.items_needed - self.n_items)

    def __repr__(self) -> str:
        names = f"{shortened(self.system)}, {shortened(self.other)}"
        return f"SystemComparison({names}: {self.difference:+.4f} on {self.n_items} items)"

    def _repr_html_(self) -> str:
        from irtkit.report.notebook import of_systems

        return of_systems(self)

    def __str__(self) -> str:
        import pandas as pd

        words = in_lines(self.sentences())
        if not len(self.items):
            return words
        first = self.items.head(5)
        columns = ("accuracy", "other_accuracy")
        names = dict(zip(columns, short_labels((self.system, self.other), 16), strict=True))
        shown = first.set_axis(pd.Index(short_labels(first.index), name="item"))
        table = plain(table_of(shown.rename(columns=names)))
        return f"{words}\n\nitems on which they differ most from what is expected:\n{table}"


def _effect(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.2f}"


def settled(more: float, otherwise: str = "They are as good as equal") -> str:
    """How many more items would settle it."""
    if not more <= _MOST_SAID:
        return f"{otherwise}: no number of items like these would settle it."
    return (
        f"About {two_digits(more)} more items like these would settle it, with a probability of "
        f"{POWER:.0%}, if the difference is as large as it looks."
    )


def two_digits(number: float) -> str:
    """A number of items, which is known no better."""
    return f"{float(f'{number:.2g}'):,.0f}"
