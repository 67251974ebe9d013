"""Linking: two calibrations put on one scale by their common items.

An ability θ on the second scale is A·θ + B on the first. An item with slope a and difficulty b has
slope a/A and difficulty A·b + B there (Kolen & Brennan 2014, chapter 6).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from irtkit.calibration.calibrated import CalibratedItems, calibrated_items, changes_since
from irtkit.capabilities import require
from irtkit.checks import check_number, check_one_of
from irtkit.findings import Finding
from irtkit.irf import ItemParameters
from irtkit.printed import Printed, Shown

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array

LinkName = Literal["mean-mean", "mean-sigma", "Haebara", "Stocking-Lord"]
LINKS: tuple[LinkName, ...] = get_args(LinkName)
_NODES = np.linspace(-4, 4, 41)  # Abilities, in SDs of the first population, to compare curves at.
_WEIGHTS = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()


@dataclass(frozen=True)
class Linking(Printed):
    """Abilities of a second calibration on the scale of a first: A·θ + B."""

    slope: float  #: A.
    intercept: float  #: B.
    slope_se: float  #: NaN for too few common items.
    intercept_se: float
    method: LinkName
    items: pd.DataFrame = field(repr=False)
    """Common items, index "item": discrimination and difficulty in the first calibration,
    linked_discrimination and linked_difficulty of the second on the scale of the first, difference
    (of the difficulties, linked less first), and z, p_value and drifts as in
    :func:`irtkit.drift`: z is above 0 if the item became easier."""
    fdr: float

    def ability(self, ability: Any) -> Any:
        """Abilities of the second calibration on the scale of the first."""
        return self.slope * ability + self.intercept

    def parameters(self, items: ItemParameters) -> ItemParameters:
        """Items of the second calibration on the scale of the first."""
        return _moved(items, self.slope, self.intercept)

    def shown(self) -> Shown:
        """Return the scales that were linked, and the items that drift."""
        n = len(self.items)
        drifting = [*self.items.index[self.items["drifts"]]]
        counts = {"n": n, "n_drifting": len(drifting), "n_kept": n - len(drifting)}
        values = {**vars(self), **counts, "items": drifting}
        codes = ("linked", "drifting-items")
        return Shown(findings=[Finding(code, "note", values) for code in codes])


def link(
    first: object, second: object, method: LinkName = "Stocking-Lord", *, fdr: float = 0.05
) -> Linking:
    """Link the scales of two calibrations by their common items.

    Items that changed, as :func:`irtkit.drift` finds them, are left out. To keep a scale, so that
    earlier items do not change at all, use ``fixed=`` of :func:`irtkit.fit`.

    Parameters
    ----------
    first, second : FitResult, DataFrame or path
        Results of :func:`irtkit.fit`, tables of items, or paths of either, as :func:`irtkit.score`
        takes them. Items are found by label.
    method : str, default "Stocking-Lord"
        "Stocking-Lord", "Haebara", "mean-sigma" or "mean-mean".
    fdr : float, default 0.05
        False-discovery rate for items that changed. 0 keeps all items, and so do calibrations
        that are not both results with their responses.

    Returns
    -------
    Linking
        Constants with standard errors, and the common items.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a calibration or out of range, or fewer than two common items are left
        that the method can use.

    Notes
    -----
    A is the ratio of the SDs of difficulties (mean-sigma) or of the mean slopes (mean-mean), and B
    makes mean difficulties equal. Items that do not discriminate are left out. Haebara minimises
    squared differences between the curves of all items, and Stocking-Lord between expected scores.

    Standard errors are from a jackknife over items (Efron & Tibshirani 1993). For results they
    include the sampling error of the mean and SD of ability.

    Examples
    --------
    >>> import irtkit, pandas as pd
    >>> first = pd.DataFrame({"a": [1.0, 1.5, 0.8], "b": [-1.0, 0.0, 1.0]}, ["q1", "q2", "q3"])
    >>> second = pd.DataFrame({"a": first["a"] * 2, "b": (first["b"] - 1) / 2})
    >>> linking = irtkit.link(first, second)
    >>> round(linking.slope, 6), round(linking.intercept, 6)
    (2.0, 1.0)
    """
    import pandas as pd
    from scipy.special import ndtr

    check_one_of("method", method, LINKS)
    fdr = check_number("fdr", fdr, least=0, below=1)
    for result in (first, second):
        require("link", result)
    calibrations = [
        calibrated_items(first, name="first"),
        calibrated_items(second, name="second"),
    ]
    for items in calibrations:
        require("link", items.parameters)
    labels = calibrations[0].labels or ()
    places = np.stack([items.places_of(labels) for items in calibrations])
    places = places[:, (places >= 0).all(axis=0)]
    if places.shape[1] < 2:
        raise ValueError("the calibrations must have at least two items in common, by label")
    earlier = calibrations[0].chosen(places[0])
    later = calibrations[1].chosen(places[1])
    n_items = earlier.parameters.n_items
    z = np.full(n_items, np.nan)
    drifts = np.zeros(n_items, bool)
    if fdr and earlier.responses is not None and later.responses is not None:
        tested = changes_since(earlier, later.responses, earlier.labels or (), fdr=fdr)
        z = tested.z
        drifts = tested.called
    kept = ~drifts
    slope, intercept = _checked(method, earlier.chosen(kept), later.chosen(kept))
    slope_se, intercept_se = _jackknife(method, earlier.chosen(kept), later.chosen(kept))
    unit_se, mean_se = earlier.scale_se
    later_unit_se, later_mean_se = later.scale_se
    of_slope = [slope_se, slope * unit_se, slope * later_unit_se]
    of_intercept = [intercept_se, mean_se, slope * later_mean_se, intercept * unit_se]
    slope_se = float(np.linalg.norm(of_slope))
    intercept_se = float(np.linalg.norm(of_intercept))
    first_items = earlier.parameters
    linked = _moved(later.parameters, slope, intercept)
    columns = {
        "discrimination": first_items.discrimination,
        "linked_discrimination": linked.discrimination,
        "difficulty": first_items.difficulty,
        "linked_difficulty": linked.difficulty,
        "difference": linked.difficulty - first_items.difficulty,
        "z": z,
        "p_value": 2 * ndtr(-np.abs(z)),
        "drifts": drifts,
    }
    table = pd.DataFrame(columns, pd.Index(list(earlier.labels or ()), name="item"))
    return Linking(slope, intercept, slope_se, intercept_se, method, table, fdr)


def _checked(method: str, earlier: CalibratedItems, later: CalibratedItems) -> tuple[float, float]:
    """A and B, or an error if a method does not give them."""
    constants = _constants(method, earlier, later)
    # SDs of scales differ by less, unless the search has failed
    if not np.isfinite(constants).all() or not 1e-3 < constants[0] < 1e3:
        raise ValueError(
            f"method={method!r} finds no A above 0. It needs two common items that discriminate, "
            "with slopes of the same sign (mean-sigma: and different difficulties)"
        )
    return constants


def _discriminate(calibrated: CalibratedItems) -> Any:
    """Which items have a slope that gives their difficulty a meaning."""
    # below, b moves by 5 SDs if the intercept moves by 1
    return calibrated.parameters.discrimination * calibrated.latent_sd >= 0.2


def _moved(items: ItemParameters, slope: float, intercept: float) -> ItemParameters:
    """Items when abilities become slope·θ + intercept."""
    steepness = items.discrimination / slope
    return ItemParameters(steepness, items.intercept - steepness * intercept, items.guessing)


def _constants(
    method: str, earlier: CalibratedItems, later: CalibratedItems
) -> tuple[float, float]:
    """Return A and B, NaN for fewer than two items, or without the spread a method needs."""
    from scipy.optimize import least_squares

    if method.startswith("mean"):
        steep = _discriminate(earlier) & _discriminate(later)
        first = earlier.parameters.chosen(steep)
        second = later.parameters.chosen(steep)
        if steep.sum() < 2:
            return np.nan, np.nan
        if method == "mean-mean":
            slope = second.discrimination.mean() / first.discrimination.mean()
        else:
            sd = first.difficulty.std()
            later_sd = second.difficulty.std()
            slope = sd / later_sd if min(sd, later_sd) > 1e-9 else np.nan
        intercept = first.difficulty.mean() - slope * second.difficulty.mean()
        return float(slope), float(intercept)
    if earlier.parameters.n_items < 2:
        return np.nan, np.nan
    ability = earlier.latent_mean + earlier.latent_sd * _NODES
    wanted = earlier.parameters.probability(ability)
    weights = np.sqrt(_WEIGHTS)[:, None]

    def off(constants: Array) -> Array:
        slope = np.exp(constants[0])
        intercept = constants[1]
        linked = _moved(later.parameters, slope, intercept)
        off_by = linked.probability(ability) - wanted
        if method == "Stocking-Lord":
            off_by = off_by.sum(axis=1, keepdims=True)
        return np.asarray((weights * off_by).ravel())

    least = least_squares(off, np.zeros(2), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    return float(np.exp(least[0])), float(least[1])


def _jackknife(
    method: str, earlier: CalibratedItems, later: CalibratedItems
) -> tuple[float, float]:
    """Standard errors of A and B over items, in groups if items are many."""
    n = min(earlier.parameters.n_items, 20)  # groups that are left out in turn
    if n < 3:
        return np.nan, np.nan
    group = np.arange(earlier.parameters.n_items) % n
    kept = [group != k for k in range(n)]
    constants = [_constants(method, earlier.chosen(items), later.chosen(items)) for items in kept]
    spread = np.sqrt((n - 1) * np.var(constants, axis=0))
    return float(spread[0]), float(spread[1])
