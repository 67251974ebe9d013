"""Fits like another: of other responses, with the model, prior, grid and scale of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.fitting import fit, silently
from irtkit.calibration.item_prior import ItemPrior, LogNormal
from irtkit.calibration.methods import EM
from irtkit.calibration.priors import Beta, Normal, WeakPrior
from irtkit.checks import short

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult
    from irtkit.responses import ResponseMatrix

_DENSITIES = {"Normal": Normal, "LogNormal": LogNormal, "Beta": Beta}


def refitted(
    result: FitResult, responses: ResponseMatrix, *, tol: float, fixed: object = None
) -> FitResult:
    """Fit other responses by EM as a result was fitted, without standard errors and warnings.

    They are to the same items or some, of which the same was expected.

    The correlation of repeated trials is that of the result. ``fixed`` is as in
    :func:`irtkit.fit`.

    Raises
    ------
    ValueError
        If the prior of the result holds a density that its settings do not describe.
    """
    settings = result.settings
    given = settings.quadrature
    grid: Any = given if isinstance(given, str) else (int(given[0]), given[1])
    with silently():
        return fit(
            responses.with_trial_correlation(settings.trial_correlation),
            result.model,
            method=EM(tol=tol),
            prior=_prior_of(result, responses.items),
            fixed=fixed,
            quadrature=grid,
            standard_errors=False,
            progress=False,
        )


def _expected_of(result: FitResult, items: tuple[str, ...]) -> Any:
    """Difficulties that were expected of some items, as a prior takes them."""
    import pandas as pd

    record = result.settings.prior
    of_intercepts = np.array(record["item_intercept_mean"], dtype=np.float64)
    mean = record["middle"] - of_intercepts
    of_all = {"mean": mean, "sd": record["item_intercept_sd"]}
    return pd.DataFrame(of_all, index=result.item_labels).reindex(items)


def _prior_of(result: FitResult, items: tuple[str, ...]) -> Any:
    """Prior of a result, as the argument of another fit of some of the items."""
    record = result.settings.prior
    if record is None:
        return None
    kind, values = record["kind"], {name: value for name, value in record.items() if name != "kind"}
    if kind in {"WeakPrior", "ExpectedItems"}:
        chance = values["chance"]
        if isinstance(chance, list | tuple):
            by_item = dict(zip(result.item_labels, chance, strict=True))
            chance = {item: by_item[item] for item in items}
        numbers = {name: values[name] for name in WeakPrior().numbers}
        expected = _expected_of(result, items) if kind == "ExpectedItems" else None
        return WeakPrior(chance=chance, difficulty_mean=expected, **numbers)
    if kind == "empirical":
        return kind
    parts = {name: None if part is None else _density(dict(part)) for name, part in values.items()}
    return ItemPrior(**parts)


def _density(record: dict[str, Any]) -> Any:
    """Return a density from what the settings of a result say of it."""
    kind = record.pop("kind")
    if kind not in _DENSITIES:
        raise ValueError(
            f"other responses cannot be fitted under the prior of the result: {short(kind)} is "
            f"none of {', '.join(_DENSITIES)}"
        )
    return _DENSITIES[kind](**record)
