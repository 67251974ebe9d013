"""How precisely the items measure, and how the fit got there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.diagnostics import information
from irtkit.pictures.scales import Scale

if TYPE_CHECKING:
    from irtkit.calibration import FitResult
    from irtkit.diagnostics.reliability import Information
    from irtkit.irf import Array

_POINTS = 81
"""Abilities at which the information is computed: 1.2 % of the axis apart, 6 pixels on the page."""
_REACH = 4.0
"""SDs to either side of the mean that are shown at least: of 16,000 people all but one."""


@dataclass(frozen=True, eq=False)
class Precision:
    """Information of all items along ability."""

    ability: Array
    information: Array
    respondents: Array
    """Abilities of real respondents."""
    measured: Information
    x: Scale
    y: Scale
    """Of the information."""


def precision(result: FitResult) -> Precision:
    """Information along ability."""
    abilities, mean, sd = result.ability[result.answering], result.latent_mean, result.latent_sd
    x = Scale.over(abilities, [mean - _REACH * sd, mean + _REACH * sd])
    measured = information(result, np.linspace(x.low, x.high, _POINTS))
    curve = measured.curve
    values = curve["information"].to_numpy(dtype=np.float64)
    y = Scale(0.0, 1.05 * max(float(values.max()), 1e-9))  # of items that tell nothing it is 0
    return Precision(curve.index.to_numpy(), values, abilities, measured, x, y)


@dataclass(frozen=True, eq=False)
class Trace:
    """Log-likelihood, or evidence lower bound, after every accepted step."""

    step: Array
    value: Array
    name: str
    x: Scale
    y: Scale


def trace(result: FitResult) -> Trace:
    """What the search went through."""
    rows = result.trace
    name = "elbo_smoothed" if "elbo_smoothed" in rows else "log_likelihood"
    step, value = rows["step"].to_numpy(np.float64), rows[name].to_numpy(np.float64)
    words = {"elbo_smoothed": "evidence lower bound (smoothed)"}.get(name, "log-likelihood")
    return Trace(step, value, words, Scale.over(step), Scale.over(value))
