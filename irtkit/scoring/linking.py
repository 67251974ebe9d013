"""Linking: two calibrations put on one scale by the items they have in common.

Abilities of the second are A·θ + B on the scale of the first, so that an item with slope a and
difficulty b has slope a/A and difficulty A·b + B there (Kolen & Brennan 2014, chapter 6):

- mean-sigma: A is the ratio of the SDs of difficulties, mean-mean: that of the mean slopes; B then
  makes the means of difficulties equal.
- Haebara: the curves of each item are as near as may be, by squares, over the first population.
- Stocking-Lord: so is the expected score on all common items.

The first two see only items whose difficulties mean something; the last two see all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from irtkit.calibration.calibrated import CalibratedItems, calibrated_items
from irtkit.checks import check_number, check_one_of, first_names
from irtkit.irf import ItemParameters
from irtkit.printed import in_lines

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array

LinkName = Literal["mean-mean", "mean-sigma", "Haebara", "Stocking-Lord"]
LINKS: tuple[LinkName, ...] = get_args(LinkName)
_NODES = np.linspace(-4, 4, 41)
"""Abilities, in SDs of the first population, over which curves are compared."""
_WEIGHTS = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
_LEAST_SLOPE = 0.2
"""Slope per SD of ability under which a difficulty tells next to nothing: b moves by 5 logits over
the slope when the intercept moves by one."""
_MOST_GROUPS = 20
"""Groups of items that are left out in turn for standard errors, all if they are fewer."""
_MOST_ROUNDS = 10
"""Times that drifting items are looked for, lest it never end: 1 to 4 in ten sets of which two or
eight of 40 items drift."""


@dataclass(frozen=True)
class Linking:
    """How abilities of a second calibration are on the scale of a first: A·θ + B.

    Attributes
    ----------
    slope, intercept
        A and B.
    slope_se, intercept_se
        Their standard errors: by leaving common items out in turn (jackknife) and, of results, with
        the luck of which respondents set each scale.
    method
        How they were found.
    items
        Index "item", the common items: discrimination and difficulty in the first calibration, and
        of the second on its scale (``linked_discrimination``, ``linked_difficulty``); difference in
        difficulty; z, that by its standard error (NaN where the calibrations have none); p_value;
        drifts, whether it is called another item than it was, at a false-discovery rate of ``fdr``.
    fdr
        The false-discovery rate.
    """

    slope: float
    intercept: float
    slope_se: float
    intercept_se: float
    method: LinkName
    items: pd.DataFrame = field(repr=False)
    fdr: float

    def ability(self, ability: Any) -> Any:
        """Abilities of the second calibration on the scale of the first."""
        return self.slope * ability + self.intercept

    def parameters(self, items: ItemParameters) -> ItemParameters:
        """Items of the second calibration on the scale of the first."""
        return _moved(items, self.slope, self.intercept)

    @property
    def summary(self) -> list[str]:
        """What the linking does, in sentences."""
        n, drifting = len(self.items), [*self.items.index[self.items["drifts"]]]
        effect = (
            f"Linked by {n - len(drifting)} of {n} common items ({self.method}): an ability of 0 "
            f"is {self.intercept:+.3f} ± {self.intercept_se:.3f} on the scale of the first, and "
            f"a difference of 1 is {self.slope:.3f} ± {self.slope_se:.3f}."
        )
        told = [effect]
        if drifting:
            told.append(
                f"{len(drifting)} drifted and took no part (at a false-discovery rate of "
                f"{self.fdr:.0%}): {first_names(drifting)}."
            )
        return told

    def __str__(self) -> str:
        return in_lines(self.summary)


def link(
    first: object,
    second: object,
    method: LinkName = "Stocking-Lord",
    *,
    fdr: float = 0.05,
) -> Linking:
    """Find how the scale of a second calibration lies on that of a first, by their common items.

    Items that drifted, whose difficulties differ by more than their errors allow once both are on
    one scale, take no part: they are found, left out, and the rest linked anew, until no more are.

    Parameters
    ----------
    first, second
        Calibrations: results of :func:`irtkit.fit`, tables of items, or paths of either, as
        :func:`irtkit.score` takes them. Items are found by label.
    method
        "Stocking-Lord", "Haebara", "mean-sigma" or "mean-mean".
    fdr
        False-discovery rate at which items are said to have drifted (Benjamini & Hochberg 1995); 0
        keeps all. Without standard errors none is.

    Returns
    -------
    Linking
        Constants with standard errors, the common items with how far each moved, and a summary.
        To *keep* a scale, so that earlier items do not move at all, use ``fixed=`` of
        :func:`irtkit.fit`.

    Raises
    ------
    TypeError
        If a calibration is none.
    ValueError
        If the calibrations have fewer than two items in common that can be used.

    Examples
    --------
    >>> import irtkit, pandas as pd
    >>> first = pd.DataFrame({"a": [1.0, 1.5, 0.8], "b": [-1.0, 0.0, 1.0]}, ["q1", "q2", "q3"])
    >>> second = pd.DataFrame({"a": first["a"] * 2, "b": (first["b"] - 1) / 2})
    >>> linking = irtkit.link(first, second)
    >>> round(linking.slope, 6), round(linking.intercept, 6)
    (2.0, 1.0)
    """
    from scipy.stats import false_discovery_control, norm

    check_one_of("method", method, LINKS)
    fdr = check_number("fdr", fdr, least=0, below=1)
    banks = _labelled("first", first), _labelled("second", second)
    labels = [label for label in banks[0].labels or () if label]
    places = [bank.places_of(tuple(labels)) for bank in banks]
    common = (places[0] >= 0) & (places[1] >= 0)
    labels = [label for label, both in zip(labels, common, strict=True) if both]
    one, other = (
        bank.parameters.chosen(at[common]) for bank, at in zip(banks, places, strict=True)
    )
    constants = _OF_METHOD[method]
    population = banks[0].latent_mean, banks[0].latent_sd
    kept = np.ones(len(labels), bool)
    errors = [_difficulty_errors(bank, at[common]) for bank, at in zip(banks, places, strict=True)]
    for _ in range(_MOST_ROUNDS):
        slope, intercept = constants(one.chosen(kept), other.chosen(kept), population)
        linked = _moved(other, slope, intercept)
        difference = linked.difficulty - one.difficulty
        with np.errstate(invalid="ignore", divide="ignore"):
            z = difference / np.hypot(errors[0], slope * errors[1])
        z[~_tells(one, population) | ~_tells(linked, population)] = np.nan
        p_value = 2 * norm.sf(np.abs(z))
        tested, drifts = np.isfinite(p_value), np.zeros(len(z), bool)
        if fdr and tested.any():
            drifts[tested] = false_discovery_control(p_value[tested]) <= fdr
        if (drifts == ~kept).all():
            break
        kept = ~drifts
    of_items = _errors_of_constants(constants, one.chosen(kept), other.chosen(kept), population)
    slope_se, intercept_se = np.hypot(of_items, _errors_of_scales(slope, intercept, *banks))
    return Linking(
        slope,
        intercept,
        float(slope_se),
        float(intercept_se),
        method,
        _table(labels, one, linked, {"z": z, "p_value": p_value, "drifts": ~kept}),
        fdr,
    )


def _labelled(name: str, given: object) -> CalibratedItems:
    bank = calibrated_items(given)
    if bank.labels is None:
        raise ValueError(f"{name} has items without labels; give a table with labels as its index")
    return bank


def _moved(items: ItemParameters, slope: float, intercept: float) -> ItemParameters:
    """Items when abilities become slope·θ + intercept."""
    steepness = items.discrimination / slope
    return ItemParameters(steepness, items.intercept - steepness * intercept, items.guessing)


def _tells(items: ItemParameters, population: tuple[float, float]) -> Any:
    """Whose difficulties mean something: those that rise with ability and are not flat."""
    return items.discrimination * population[1] >= _LEAST_SLOPE


def _by_moments(
    one: ItemParameters, other: ItemParameters, population: tuple[float, float], *, slopes: bool
) -> tuple[float, float]:
    """Mean-mean or mean-sigma, of the items whose difficulties mean something in both."""
    both = _tells(one, population) & (other.discrimination >= _LEAST_SLOPE)
    if both.sum() < 2:
        raise ValueError(
            "fewer than two common items have a slope that is not flat; method='Stocking-Lord' "
            "takes all"
        )
    one, other = one.chosen(both), other.chosen(both)
    if slopes:
        slope = other.discrimination.mean() / one.discrimination.mean()
    else:
        slope = one.difficulty.std() / other.difficulty.std()
    return float(slope), float(one.difficulty.mean() - slope * other.difficulty.mean())


def _by_curves(
    one: ItemParameters, other: ItemParameters, population: tuple[float, float], *, total: bool
) -> tuple[float, float]:
    """Haebara, or Stocking-Lord of the total, by least squares."""
    from scipy.optimize import least_squares

    if one.n_items < 2:
        raise ValueError("the calibrations must have at least two items in common")
    ability = population[0] + population[1] * _NODES
    wanted, weights = one.probability(ability), np.sqrt(_WEIGHTS)[:, None]

    def off(constants: Array) -> Array:
        found = _moved(other, np.exp(constants[0]), constants[1]).probability(ability) - wanted
        off_by = found.sum(axis=1, keepdims=True) if total else found
        return np.asarray((weights * off_by).ravel())

    found = least_squares(off, np.zeros(2), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    return float(np.exp(found[0])), float(found[1])


_OF_METHOD: dict[str, Any] = {
    "mean-mean": lambda *items: _by_moments(*items, slopes=True),
    "mean-sigma": lambda *items: _by_moments(*items, slopes=False),
    "Haebara": lambda *items: _by_curves(*items, total=False),
    "Stocking-Lord": lambda *items: _by_curves(*items, total=True),
}


def _errors_of_constants(
    constants: Any, one: ItemParameters, other: ItemParameters, population: tuple[float, float]
) -> tuple[float, float]:
    """Jackknife over items, in groups where there are many (Efron & Tibshirani 1993, ch. 11)."""
    n = min(one.n_items, _MOST_GROUPS)
    if n < 3:
        return float("nan"), float("nan")
    group = np.arange(one.n_items) % n
    found = np.array(
        [constants(one.chosen(group != k), other.chosen(group != k), population) for k in range(n)]
    )
    spread = np.sqrt((n - 1) * found.var(axis=0))
    return float(spread[0]), float(spread[1])


def _errors_of_scales(
    slope: float, intercept: float, one: CalibratedItems, other: CalibratedItems
) -> tuple[float, float]:
    """Luck of which respondents set each scale (`CalibratedItems.scale_se`)."""
    (of_unit, of_mean), (of_other_unit, of_other_mean) = one.scale_se, other.scale_se
    of_slope = slope * np.hypot(of_unit, of_other_unit)
    of_intercept = np.linalg.norm([of_mean, slope * of_other_mean, intercept * of_unit])
    return float(of_slope), float(of_intercept)


def _difficulty_errors(bank: CalibratedItems, places: Any) -> Array:
    if bank.standard_errors is None:
        return np.full(len(places), np.nan)
    return np.asarray(bank.standard_errors[places, 1])


def _table(
    labels: list[str], one: ItemParameters, linked: ItemParameters, tested: dict[str, Any]
) -> pd.DataFrame:
    import pandas as pd

    columns = {
        "discrimination": one.discrimination,
        "linked_discrimination": linked.discrimination,
        "difficulty": one.difficulty,
        "linked_difficulty": linked.difficulty,
        "difference": linked.difficulty - one.difficulty,
    }
    return pd.DataFrame({**columns, **tested}, pd.Index(labels, name="item"))
