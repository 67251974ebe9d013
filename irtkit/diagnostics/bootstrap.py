"""Fits like another: of matrices drawn from it (parametric bootstrap), or of a part of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.refitting import refitted
from irtkit.checks import check_seed, check_times
from irtkit.responses import ResponseMatrix
from irtkit.simulation import simulate_responses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration import FitResult
    from irtkit.irf import Array

_LEAST = 20
"""Draws from which on a variance is told: to a third of itself."""


def check_bootstrap(bootstrap: int, seed: int) -> None:
    """Refuse a number of draws that tells nothing, or a seed that is none."""
    check_times("bootstrap", bootstrap, 0)
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
    kept = result.parameters.known
    items = result.parameters.chosen(kept)
    for one in range(n):
        generator = np.random.default_rng([seed, one])
        abilities = result.latent_sd * generator.normal(size=int(real.sum()))
        values = np.full(missing.shape, -1, np.int8)
        values[:, kept] = simulate_responses(items, abilities, seed=generator).values
        values[missing] = -1
        yield fitted_alike(result, ResponseMatrix(values, items=result.item_labels))


def fitted_alike(result: FitResult, responses: ResponseMatrix) -> FitResult:
    """Fit other responses with the model, prior and quadrature of a result."""
    return refitted(result, responses, tol=1e-5)
