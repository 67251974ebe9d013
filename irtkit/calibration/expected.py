"""The weak prior where something is expected of items before they are answered.

A difficulty that was predicted says where an intercept is. Difficulties in logits stay as they are
when ability is rescaled, which difficulties in units of ability do not. So d − m·a ~ N(−β, sd²),
β being the difficulty less the middle of all that are given, leaves scale and location as free as
the weak prior does (:mod:`.priors`): another population of respondents, or means that are all off
by the same, pull on neither.

The location is that of the items with a mean. Others have d ~ N(0, spread²): new items may be
harder than those that were answered long ago, and would be drawn to these if m were of all. Means
of new items alone therefore order these among themselves; how hard they are beside the others, only
their answers say, or means for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from irtkit.calibration.item_distribution import ItemDistribution
from irtkit.calibration.priors import LogDensity, Normal, Term, WeakPrior
from irtkit.checks import and_more, check_number, did_you_mean, first_names, short
from irtkit.responses.labels import is_missing_label
from irtkit.responses.tables import by_item

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.priors import Hyper, Prior
    from irtkit.irf import Array, Items


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpectedItems(WeakPrior):
    """Weak prior with a mean and an SD of the intercept of every item, those of a fit in order.

    ``follows`` is 1 where the intercept follows the learned location m, and 0 where its mean is on
    a scale that is given, or nothing is expected.
    """

    intercept_mean: Array
    intercept_sd: Array
    known: NDArray[np.bool_]
    """Which items have a mean of their own."""
    middle: float = 0.0
    """Of the difficulties given: means above are of intercepts from there on."""
    follows: Array | float = 1.0

    def __post_init__(self) -> None:
        """Means and SDs are checked where labels are known."""

    @property
    def keys(self) -> Array:
        """What copies of an item must have in common beside their answers, (3, n_items)."""
        own = np.stack([self.intercept_mean, self.intercept_sd, self.known])
        chance = super().keys
        return own if chance is None else np.vstack([own, chance])

    def chosen(self, items: Any) -> Self:
        """The prior of some of the items."""
        parts = (self.intercept_mean, self.intercept_sd, self.known)
        mean, sd, known = (part[items] for part in parts)
        follows = self.follows if isinstance(self.follows, float) else self.follows[items]
        own = {"intercept_mean": mean, "intercept_sd": sd, "known": known, "follows": follows}
        return replace(super().chosen(items), **own)

    def on_fixed_scale(self) -> ExpectedItems:
        """The prior where means are on the scale of items that are fixed."""
        mean = self.intercept_mean - self.known * self.middle
        return replace(self, follows=np.where(self.known, 0.0, 1.0), intercept_mean=mean)

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""
        means = np.where(self.known, self.intercept_mean, np.nan).tolist()
        return {
            "kind": "ExpectedItems",
            "chance": self.chance,
            **self.numbers,
            "item_intercept_mean": [None if np.isnan(mean) else mean for mean in means],
            "item_intercept_sd": self.intercept_sd.tolist(),
            "middle": self.middle,
        }

    def _of_intercepts(self, items: Items, hyper: Hyper) -> Term:
        slope, location = items.slope, hyper.location * self.follows
        off = (items.intercept - location * slope - self.intercept_mean) / self.intercept_sd
        value, derivative, curvature = Normal(0.0, 1.0).at(off)
        by_sd = 1 / self.intercept_sd
        at = LogDensity(value + np.log(by_sd), derivative, curvature)
        by_item = {0: -location * by_sd, 1: by_sd}
        return Term(at, by_item, {0: -self.follows * slope * by_sd})


def expecting(weak: WeakPrior, labels: tuple[str, ...]) -> WeakPrior:
    """The weak prior for labelled items, with the difficulties that are expected of them.

    Raises
    ------
    TypeError
        If ``difficulty_mean`` is neither a Series, nor a mapping, nor a table.
    ValueError
        If a table lacks a column, no label is one of the items, some are not while an item has no
        mean, a label occurs twice, a mean is infinite, or an SD is not above 0.
    """
    if weak.difficulty_mean is None:
        return weak
    means, sds = _given(weak.difficulty_mean, weak.difficulty_sd)
    found = np.array([means.get(label, np.nan) for label in labels], dtype=np.float64)
    known = ~np.isnan(found)
    if not known.any():
        raise ValueError(
            "difficulty_mean has no item of the responses: its labels are "
            f"{first_names(list(means)) or 'none'}"
        )
    _refuse_unknown(means, labels)
    spread = np.array([sds.get(label, np.nan) for label in labels], dtype=np.float64)
    for label, value, error in zip(labels, found, spread, strict=True):
        if not np.isnan(value):
            check_number(f"difficulty_mean of {short(label)}", float(value))
            check_number(f"difficulty_sd of {short(label)}", float(error), above=0)
    middle = float(found[known].mean())
    return ExpectedItems(
        chance=weak.chance,
        **weak.numbers,
        intercept_mean=np.where(known, middle - found, 0.0),
        intercept_sd=np.where(known, spread, weak.intercept_spread),
        known=known,
        middle=middle,
        follows=known.astype(np.float64),
    )


def _refuse_unknown(means: dict[str, float], labels: tuple[str, ...]) -> None:
    """Refuse labels that are not items if an item has no mean, which they may misspell."""
    known = {label: mean for label, mean in means.items() if not math.isnan(mean)}
    items = set(labels)
    unknown = [label for label in known if label not in items]
    without = [label for label in labels if label not in known]
    if unknown and without:
        raise ValueError(
            f"difficulty_mean must have labels of items, and {short(unknown[0])} is not one"
            f"{and_more(len(unknown) - 1, 'label')}{did_you_mean(unknown[0], without)}. Items "
            f"without a mean: {first_names(without)}. Leave out other labels, such as by "
            "mean[mean.index.isin(responses.items)]"
        )


def usual(prior: WeakPrior) -> WeakPrior:
    """The weak prior of items of which nothing is expected."""
    return WeakPrior(chance=prior.chance, **prior.numbers)


def of_some(prior: Prior | None, items: Any) -> Prior | None:
    """The prior of some items: one that expects the same of all is that of any."""
    return prior.chosen(items) if isinstance(prior, WeakPrior | ItemDistribution) else prior


def _given(mean: object, sd: float | None) -> tuple[dict[str, float], dict[str, float]]:
    """Means and SDs by label."""
    given: Any = mean
    if hasattr(given, "columns"):
        table = by_item(given, "difficulty_mean")
        if missing := [name for name in ("mean", "sd") if name not in table.columns]:
            raise ValueError(f"difficulty_mean: the table has no column {short(missing[0])}")
        if sd is not None:
            raise ValueError("difficulty_sd is the column sd of a table. Pass one of the two")
        return _by_label(table["mean"], "mean"), _by_label(table["sd"], "sd")
    if not hasattr(given, "items"):
        raise TypeError(
            "difficulty_mean must be a Series or a mapping by item label, or a table with the "
            f"columns mean and sd; got {type(given).__name__}"
        )
    if sd is None:
        raise ValueError(
            "difficulty_mean needs difficulty_sd, the SD of difficulties around it, in logits"
        )
    means = _by_label(given, "mean")
    return means, dict.fromkeys(means, check_number("difficulty_sd", sd, above=0))


def _by_label(values: Any, name: str) -> dict[str, float]:
    """Numbers by label, NaN where there is none."""
    found: dict[str, float] = {}
    for label, value in values.items():
        if str(label) in found:
            raise ValueError(f"difficulty_mean: item {short(str(label))} occurs twice")
        try:
            found[str(label)] = np.nan if is_missing_label(value) else float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"difficulty_{name} of {short(str(label))} must be a number, got {short(value)}"
            ) from error
    return found
