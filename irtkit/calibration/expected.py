"""The weak prior where difficulties are expected of items, and priors from their descriptions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from irtkit.calibration.priors import Beta, ItemPrior, LogNormal, Normal, WeakPrior
from irtkit.checks import and_more, check_number, did_you_mean, first_names, short
from irtkit.responses.labels import is_missing_label
from irtkit.responses.tables import by_item

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpectedItems(WeakPrior):
    """Weak prior with a mean and an SD of the intercept of every item.

    d − m·a ~ N(−β, sd²), β being the difficulty expected less the middle of all that are given, in
    logits, which stay as they are when ability is rescaled: means that are all off by the same pull
    on nothing. The location m is that of the items with a mean. Others have d ~ N(0, spread²), as
    new items may be harder than those that were answered long ago.
    """

    intercept_mean: Array
    intercept_sd: Array
    known: NDArray[np.bool_]
    """Which items have a mean of their own."""
    follows: Array
    """1 where the intercept follows m; 0 where its mean is on a given scale, or none is known."""
    middle: float
    """Of the difficulties given: means above are of intercepts from there on."""

    def __post_init__(self) -> None:
        """Means and SDs are checked where labels are known."""

    @property
    def keys(self) -> Array:
        """What copies of an item must have in common beside their answers, (k, n_items)."""
        own = np.stack([self.intercept_mean, self.intercept_sd, self.known])
        chance = super().keys
        return own if chance is None else np.vstack([own, chance])

    def chosen(self, items: Any) -> Self:
        """The prior of some of the items."""
        names = ("intercept_mean", "intercept_sd", "known", "follows")
        own = {name: getattr(self, name)[items] for name in names}
        return replace(super().chosen(items), **own)

    def on_fixed_scale(self) -> ExpectedItems:
        """The prior beside fixed items: means that are expected are on their scale."""
        mean = self.intercept_mean - self.known * self.middle
        return replace(self, follows=np.where(self.known, 0.0, 1.0), intercept_mean=mean)

    def described(self) -> dict[str, Any]:
        """Return the prior as plain values, for the settings of a result."""
        means = np.where(self.known, self.intercept_mean, np.nan).tolist()
        return super().described() | {
            "kind": "ExpectedItems",
            "item_intercept_mean": [None if math.isnan(mean) else mean for mean in means],
            "item_intercept_sd": self.intercept_sd.tolist(),
            "middle": self.middle,
        }

    def _intercepts(self) -> tuple[Any, Any, Any]:
        return self.intercept_mean, self.intercept_sd, self.follows


def expecting(weak: WeakPrior, labels: tuple[str, ...]) -> WeakPrior:
    """The weak prior for labelled items, with the difficulties that are expected of them.

    Raises
    ------
    ValueError
        If a table lacks a column, no label is one of the items, some are not while an item has no
        mean, a label occurs twice, a mean is infinite, or an SD is not above 0.
    """
    mean, sd = weak.difficulty_mean, weak.difficulty_sd
    if mean is None:
        return weak
    if hasattr(mean, "columns"):
        table = by_item(mean, "difficulty_mean")
        if missing := [name for name in ("mean", "sd") if name not in table.columns]:
            raise ValueError(f"difficulty_mean: the table has no column {short(missing[0])}")
        if sd is not None:
            raise ValueError("difficulty_sd is the column sd of a table. Pass one of the two")
        means, sds = _by_label(table["mean"], "mean"), _by_label(table["sd"], "sd")
    elif sd is None:
        raise ValueError(
            "difficulty_mean needs difficulty_sd, the SD of difficulties around it, in logits"
        )
    else:
        means = _by_label(mean, "mean")
        sds = dict.fromkeys(means, check_number("difficulty_sd", sd, above=0))
    given = [label for label, value in means.items() if not math.isnan(value)]
    here, without = {*given} & {*labels}, [label for label in labels if label not in {*given}]
    if not here:
        raise ValueError(
            "difficulty_mean has no item of the responses: its labels are "
            f"{first_names(list(means)) or 'none'}"
        )
    unknown = [label for label in given if label not in here]
    if unknown and without:  # which they may misspell
        raise ValueError(
            f"difficulty_mean must have labels of items, and {short(unknown[0])} is not one"
            f"{and_more(len(unknown) - 1, 'label')}{did_you_mean(unknown[0], without)}. Items "
            f"without a mean: {first_names(without)}. Leave out other labels, such as by "
            "mean[mean.index.isin(responses.items)]"
        )
    for label in here:
        check_number(f"difficulty_mean of {short(label)}", means[label])
        check_number(f"difficulty_sd of {short(label)}", sds[label], above=0)
    found, spread = (np.array([of.get(label, np.nan) for label in labels]) for of in (means, sds))
    known = ~np.isnan(found)
    middle = float(found[known].mean())
    return ExpectedItems(
        chance=weak.chance,
        **weak.numbers,
        intercept_mean=np.where(known, middle - found, 0.0),
        intercept_sd=np.where(known, spread, weak.intercept_spread),
        known=known,
        follows=known.astype(np.float64),
        middle=middle,
    )


def _by_label(values: Any, name: str) -> dict[str, float]:
    """Numbers by label, NaN where there is none."""
    found: dict[str, float] = {}
    for label, value in values.items():
        if str(label) in found:
            raise ValueError(f"difficulty_mean: item {short(str(label))} occurs twice")
        try:
            found[str(label)] = math.nan if is_missing_label(value) else float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"difficulty_{name} of {short(str(label))} must be a number, got {short(value)}"
            ) from error
    return found


def prior_of(record: Any, all_items: tuple[str, ...], items: tuple[str, ...]) -> Any:
    """Prior that was described, as the argument of another fit of some of all items.

    Raises
    ------
    ValueError
        If it holds a density that its description does not define.
    """
    if record is None or record["kind"] == "empirical":
        return record and "empirical"
    values = {name: value for name, value in record.items() if name != "kind"}
    if record["kind"] == "ItemPrior":
        return ItemPrior(
            **{k: part if part is None else _density(part) for k, part in values.items()}
        )
    chance, expected = values["chance"], None
    if isinstance(chance, list | tuple):
        by_label = dict(zip(all_items, chance, strict=True))
        chance = {item: by_label[item] for item in items}
    if record["kind"] == "ExpectedItems":
        import pandas as pd

        mean = values["middle"] - np.array(values["item_intercept_mean"], dtype=np.float64)
        of_all = {"mean": mean, "sd": values["item_intercept_sd"]}
        expected = pd.DataFrame(of_all, index=all_items).reindex(items)
    numbers = {name: values[name] for name in WeakPrior().numbers}
    return WeakPrior(chance=chance, difficulty_mean=expected, **numbers)


def _density(record: dict[str, Any]) -> Any:
    """Return a density from its description."""
    kinds = {"Normal": Normal, "LogNormal": LogNormal, "Beta": Beta}
    if record["kind"] not in kinds:
        raise ValueError(
            "other responses cannot be fitted under the prior of the result: "
            f"{short(record['kind'])} is none of {', '.join(kinds)}"
        )
    return kinds[record["kind"]](**{k: v for k, v in record.items() if k != "kind"})
