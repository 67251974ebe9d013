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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from irtkit.calibration.calibrated import CalibratedItems, calibrated_items
from irtkit.checks import check_number, check_one_of, first_names
from irtkit.irf import ItemParameters
from irtkit.printed import in_lines, percent

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array

LinkName = Literal["mean-mean", "mean-sigma", "Haebara", "Stocking-Lord"]
LINKS: tuple[LinkName, ...] = get_args(LinkName)
_NODES = np.linspace(-4, 4, 41)
"""Abilities, in SDs of the first population, over which curves are compared."""
_WEIGHTS = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
_LEAST_SLOPE = 0.2
"""Slope per SD of ability under which a difficulty tells next to nothing: where the intercept moves
by one logit, b moves by 1/a, 5 SDs."""
_NO_SPREAD = 1e-9
"""SD of difficulties that is rounding: what tables with ten digits leave of equal ones."""
_MOST_SLOPE = 1e3
"""A that is taken for a search without end: it starts at 1, and SDs of scales differ by less."""
_MOST_GROUPS = 20
"""Groups of items that are left out in turn for standard errors, all if they are fewer."""
_CENTRAL, _CENTRAL_Z = 2 / 3, 0.9674
"""The spread of z is a quantile of |z|, relative to that of a normal variable. A third of the items
may drift."""
_WORTH, _LEAST_SPREAD, _DF = 3, 0.5, 60
"""Items that theory counts for in the spread of z, the least spread, and degrees of freedom of z:
p-values hold their level with them (``benchmarks/levels.py``)."""
_MOST_ROUNDS = 10
"""Times that drifting items are looked for anew, after which those left out stay out, so that it
ends: 1 to 4 in ten sets of which two or eight of 40 items drift."""


@dataclass(frozen=True)
class Linking:
    """How abilities of a second calibration are on the scale of a first: A·θ + B.

    Attributes
    ----------
    slope, intercept
        A and B.
    slope_se, intercept_se
        Their standard errors: by leaving common items out in turn (jackknife) and, of results, with
        the luck of which respondents set each scale. NaN where too few items are in common to do
        without some.
    method
        How they were found.
    items
        Index "item", the common items: discrimination and difficulty in the first calibration, and
        of the second on its scale (``linked_discrimination``, ``linked_difficulty``); difference in
        difficulty; z, the difference divided by its standard error (NaN if the calibrations have
        none); p_value; drifts, whether it is called another item than it was, at a
        false-discovery rate of ``fdr``. The standard error is that of both difficulties times the
        spread of z over the common items, at most 1: the link removes the error that all items
        share, and a prior shrinks both estimates to the same value.
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
        sentences = [effect]
        if drifting:
            sentences.append(
                f"{len(drifting)} drifted and took no part (at a false-discovery rate of "
                f"{percent(self.fdr)}): {first_names(drifting)}."
            )
        return sentences

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
        If an argument is out of range, or the calibrations have fewer than two items in common that
        the method can use and that do not drift.

    Examples
    --------
    >>> import irtkit, pandas as pd
    >>> first = pd.DataFrame({"a": [1.0, 1.5, 0.8], "b": [-1.0, 0.0, 1.0]}, ["q1", "q2", "q3"])
    >>> second = pd.DataFrame({"a": first["a"] * 2, "b": (first["b"] - 1) / 2})
    >>> linking = irtkit.link(first, second)
    >>> round(linking.slope, 6), round(linking.intercept, 6)
    (2.0, 1.0)
    """
    check_one_of("method", method, LINKS)
    fdr = check_number("fdr", fdr, least=0, below=1)
    banks = _labelled("first", first), _labelled("second", second)
    labels, one, other = _in_common(*banks)
    if len(labels) < 2:
        raise ValueError("the calibrations must have at least two items in common")
    constants = _OF_METHOD[method]
    (slope, intercept), kept = _without_drifting(constants, one, other, fdr)
    of_items = _errors_of_constants(constants, one.chosen(kept), other.chosen(kept))
    slope_se, intercept_se = np.hypot(of_items, _errors_of_scales(slope, intercept, *banks))
    linked = _moved(other.items, slope, intercept)
    tested = {**_drift(one, other, slope, intercept), "drifts": ~kept}
    table = _table(labels, one.items, linked, tested)
    return Linking(slope, intercept, float(slope_se), float(intercept_se), method, table, fdr)


class Side(NamedTuple):
    """The common items in one calibration."""

    items: ItemParameters
    mean: float
    """Of ability in its population."""
    sd: float
    errors: Array
    """Standard errors of difficulties, NaN where there are none, (n,)."""

    def chosen(self, some: Any) -> Side:
        """Return some of the items."""
        return self._replace(items=self.items.chosen(some), errors=self.errors[some])

    @property
    def tells(self) -> Any:
        """Whose difficulties mean something: those that rise with ability and are not flat."""
        return self.items.discrimination * self.sd >= _LEAST_SLOPE


def _in_common(first: CalibratedItems, second: CalibratedItems) -> tuple[list[str], Side, Side]:
    """Labels of the items that both have, and the items in each."""
    labels = first.labels or ()
    places = [bank.places_of(labels) for bank in (first, second)]
    common = (places[0] >= 0) & (places[1] >= 0)
    sides = []
    for bank, at in zip((first, second), places, strict=True):
        errors = np.full(common.sum(), np.nan)
        if bank.standard_errors is not None:
            errors = bank.standard_errors[at[common], 1]
        items = bank.parameters.chosen(at[common])
        sides.append(Side(items, bank.latent_mean, bank.latent_sd, errors))
    return [labels[k] for k in np.flatnonzero(common)], sides[0], sides[1]


def _without_drifting(
    constants: Any, one: Side, other: Side, fdr: float
) -> tuple[tuple[float, float], Any]:
    """A and B by the items that do not drift, and which these are."""
    from scipy.stats import false_discovery_control

    kept, rounds = np.ones(len(one.errors), bool), 0
    while True:
        found = constants(one.chosen(kept), other.chosen(kept))
        if not np.isfinite(found).all() or not 1 / _MOST_SLOPE < found[0] < _MOST_SLOPE:
            raise ValueError(_why_not(kept, one, other))
        p_value = _drift(one, other, *found)["p_value"]
        drifts = np.zeros(len(kept), bool)
        if fdr and (tested := np.isfinite(p_value)).any():
            drifts[tested] = false_discovery_control(p_value[tested]) <= fdr
        if (rounds := rounds + 1) > _MOST_ROUNDS:
            drifts |= ~kept
        if (drifts == ~kept).all():
            return found, kept
        kept = ~drifts


def _why_not(kept: Any, one: Side, other: Side) -> str:
    """Why items give no constants."""
    if kept.sum() < 2:
        return (
            f"{(~kept).sum()} of {len(kept)} common items drift, and fewer than two are left to "
            "link by; fdr=0 links by all"
        )
    if (kept & one.tells & other.tells).sum() < 2:
        return (
            "fewer than two common items have a slope that is not flat; method='Stocking-Lord' "
            "takes all"
        )
    if len(one.errors) and (one.items.discrimination * other.items.discrimination <= 0).all():
        return "slopes of common items have opposite signs: no A above 0 makes them alike"
    return "common items have one difficulty, whose spread tells no scale; use method='mean-mean'"


def _drift(one: Side, other: Side, slope: float, intercept: float) -> dict[str, Array]:
    """Differences in difficulty by their standard errors, with p-values; NaN where untold."""
    from scipy.special import stdtr

    linked = _moved(other.items, slope, intercept)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = linked.difficulty - one.items.difficulty
        z = difference / np.hypot(one.errors, slope * other.errors)
    z[~one.tells | ~one._replace(items=linked).tells] = np.nan
    z /= _spread(np.abs(z[np.isfinite(z)]))
    return {"z": z, "p_value": 2 * stdtr(_DF, -np.abs(z))}


def _spread(size: Array) -> float:
    """SD of z where nothing drifts, from |z|, at most 1.

    Theory has 1 − 2/n for its square, as A and B are estimated from the n items.
    """
    n = len(size)
    if n < 3:
        return 1.0
    square = (np.quantile(size, _CENTRAL) / _CENTRAL_Z) ** 2
    square = (n * square + _WORTH * (1 - 2 / n)) / (n + _WORTH)
    return float(np.clip(np.sqrt(square), _LEAST_SPREAD, 1))


def _labelled(name: str, given: object) -> CalibratedItems:
    bank = calibrated_items(given, name=name)
    if bank.labels is None:
        raise ValueError(f"{name} has items without labels; give a table with labels as its index")
    return bank


def _moved(items: ItemParameters, slope: float, intercept: float) -> ItemParameters:
    """Items when abilities become slope·θ + intercept."""
    steepness = items.discrimination / slope
    return ItemParameters(steepness, items.intercept - steepness * intercept, items.guessing)


def _by_moments(one: Side, other: Side, *, slopes: bool) -> tuple[float, float]:
    """Mean-mean or mean-sigma, of the items whose difficulties mean something in both.

    NaN if they are fewer than two, or do not spread where their spread is asked for.
    """
    both = one.tells & other.tells
    first, second = one.items.chosen(both), other.items.chosen(both)
    if both.sum() < 2:
        return np.nan, np.nan
    if slopes:
        slope = second.discrimination.mean() / first.discrimination.mean()
    else:
        spreads = first.difficulty.std(), second.difficulty.std()
        slope = spreads[0] / spreads[1] if min(spreads) > _NO_SPREAD else np.nan
    return float(slope), float(first.difficulty.mean() - slope * second.difficulty.mean())


def _by_curves(one: Side, other: Side, *, total: bool) -> tuple[float, float]:
    """Haebara, or Stocking-Lord of the total, by least squares; NaN of fewer than two items."""
    from scipy.optimize import least_squares

    if len(one.errors) < 2:
        return np.nan, np.nan
    ability = one.mean + one.sd * _NODES
    wanted, weights = one.items.probability(ability), np.sqrt(_WEIGHTS)[:, None]

    def off(constants: Array) -> Array:
        moved = _moved(other.items, np.exp(constants[0]), constants[1])
        off_by = moved.probability(ability) - wanted
        return np.asarray(
            (weights * (off_by.sum(axis=1, keepdims=True) if total else off_by)).ravel()
        )

    found = least_squares(off, np.zeros(2), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    return float(np.exp(found[0])), float(found[1])


_OF_METHOD: dict[str, Any] = {
    "mean-mean": lambda *items: _by_moments(*items, slopes=True),
    "mean-sigma": lambda *items: _by_moments(*items, slopes=False),
    "Haebara": lambda *items: _by_curves(*items, total=False),
    "Stocking-Lord": lambda *items: _by_curves(*items, total=True),
}


def _errors_of_constants(constants: Any, one: Side, other: Side) -> tuple[float, float]:
    """Jackknife over items, in groups where there are many (Efron & Tibshirani 1993, ch. 11)."""
    n = min(len(one.errors), _MOST_GROUPS)
    if n < 3:
        return np.nan, np.nan
    group = np.arange(len(one.errors)) % n
    found = [constants(one.chosen(group != k), other.chosen(group != k)) for k in range(n)]
    spread = np.sqrt((n - 1) * np.var(found, axis=0))
    return float(spread[0]), float(spread[1])


def _errors_of_scales(
    slope: float, intercept: float, one: CalibratedItems, other: CalibratedItems
) -> tuple[float, float]:
    """Luck of which respondents set each scale (`CalibratedItems.scale_se`)."""
    (of_unit, of_mean), (of_other_unit, of_other_mean) = one.scale_se, other.scale_se
    of_slope = slope * np.hypot(of_unit, of_other_unit)
    of_intercept = np.linalg.norm([of_mean, slope * of_other_mean, intercept * of_unit])
    return float(of_slope), float(of_intercept)


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
