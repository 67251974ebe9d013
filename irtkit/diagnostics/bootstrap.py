"""Fits like another: of matrices drawn from it (parametric bootstrap), or of a part of its own."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration import FitResult, fit
from irtkit.calibration.item_prior import ItemPrior, LogNormal
from irtkit.calibration.priors import Beta, Normal, WeakPrior
from irtkit.checks import check_seed, check_whole
from irtkit.responses import ResponseMatrix
from irtkit.simulation import simulate_responses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.irf import Array

_LEAST = 20
"""Draws from which on a variance is told: to a third of itself."""
_DENSITIES = {"Normal": Normal, "LogNormal": LogNormal, "Beta": Beta}


def check_bootstrap(bootstrap: int, seed: int) -> None:
    """Refuse a number of draws that tells nothing, or a seed that is none."""
    check_whole("bootstrap", bootstrap, 0)
    check_seed(seed)
    if 0 < bootstrap < _LEAST:
        raise ValueError(
            f"bootstrap must be 0, or {_LEAST} or more to tell a variance; got {bootstrap}"
        )


def scaled_p(statistic: float, drawn: Array) -> float:
    """P-value on the scaled chi-square with the mean and variance of drawn ones (Stone 2000).

    NaN where too few of them are known.
    """
    from scipy.special import gammaincc

    known = drawn[np.isfinite(drawn)]
    mean, variance = (known.mean(), known.var(ddof=1)) if len(known) >= _LEAST else (0.0, 0.0)
    if variance <= 0:
        return float("nan")
    return float(gammaincc(mean**2 / variance, statistic * mean / variance))


def simulated_fits(result: FitResult, n: int, seed: int) -> Iterator[FitResult]:
    """Fit matrices drawn from a fit, with its settings and missing where it has missing cells.

    Abilities are drawn from the population of the fit, N(0, latent_sd²).
    """
    real = ~result.synthetic
    responses = result.responses
    if responses is None:
        raise ValueError("bootstrap needs the responses, which were not saved with this result")
    if result.fixed is not None:
        raise ValueError("bootstrap fits anew, and is not for a fit with fixed items")
    missing = responses.values[real] < 0
    kept = np.isfinite(result.parameters.intercept + result.parameters.discrimination)
    items = result.parameters.chosen(kept)
    for one in range(n):
        generator = np.random.default_rng([seed, one])
        abilities = result.latent_sd * generator.normal(size=int(real.sum()))
        values = np.full(missing.shape, -1, np.int8)
        values[:, kept] = simulate_responses(items, abilities, seed=generator).values
        values[missing] = -1
        yield fitted_alike(result, ResponseMatrix(values, items=result.item_labels))


def fitted_alike(result: FitResult, responses: ResponseMatrix) -> FitResult:
    """Fit other responses, to the same items or some, by EM with the settings of a result."""
    given, prior = result.settings.quadrature, _prior_of(result)
    grid: Any = given if isinstance(given, str) else (int(given[0]), given[1])
    with warnings.catch_warnings(action="ignore"):
        return fit(
            responses,
            result.model,
            prior=prior,
            item_prior_mean=_expected_of(result),
            batch_items=result.settings.batch_items,
            quadrature=grid,
            standard_errors=False,
            tol=1e-5,
        )


def _expected_of(result: FitResult) -> Any:
    """Difficulties that were expected of items, as the argument of another fit, or None."""
    import pandas as pd

    told = result.settings.prior
    if not isinstance(told, dict) or "item_intercept_mean" not in told:
        return None
    mean, sd = -np.array(told["item_intercept_mean"]), told["item_intercept_sd"]
    return pd.DataFrame({"mean": mean, "sd": sd}, index=list(result.item_labels))


def _prior_of(result: FitResult) -> Any:
    """Prior that a fit had, as the argument of another fit."""
    told = result.settings.prior
    if told is None or not isinstance(told, dict):
        return told
    kind, values = told["kind"], {name: value for name, value in told.items() if name != "kind"}
    if kind == "WeakPrior":
        own = {name: value for name, value in values.items() if not name.startswith("item_")}
        return WeakPrior(**own)
    if kind == "empirical":
        return kind
    parts = {name: None if part is None else _density(dict(part)) for name, part in values.items()}
    return ItemPrior(**parts)


def _density(told: dict[str, Any]) -> Any:
    """Return a density from what the settings of a result say of it."""
    kind = told.pop("kind")
    if kind not in _DENSITIES:
        raise ValueError(
            f"other matrices cannot be fitted under the prior of the result: {kind!r} is none of "
            f"{', '.join(_DENSITIES)}"
        )
    return _DENSITIES[kind](**told)
