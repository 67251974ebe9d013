"""The items that scores are told from, and what is known of such scores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from irtkit.calibration.calibrated import CalibratedItems, calibrated_items, read_items
from irtkit.calibration.result import FitResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.patterns import Places

Design = Literal["random", "stratified"]
DESIGNS: tuple[Design, ...] = get_args(Design)
"""How items may be drawn: each as likely as any other, or one of each stratum of difficulty."""


@dataclass(frozen=True)
class Bank:
    """Calibrated items, and what is known of scores told from some of them.

    Parameters
    ----------
    items
        All items of the benchmark.
    best
        Share right of all items that is expected of the ablest respondent they were calibrated on;
        None if that is not known.
    misfit
        Variance of scores that the model does not explain, if the items at some places were asked;
        None if that is not known.
    design
        How the items asked were drawn, where they were; None if they were not.
    chosen
        Whether the items asked are a choice, of which a share right tells nothing.
    """

    items: CalibratedItems
    best: float | None = None
    misfit: Callable[[Places], float] | None = None
    design: Design | None = None
    chosen: bool = False


@singledispatch
def bank_of(given: object, latent_sd: float | None = None) -> Bank:
    """Return calibrated items, with what a result or a selection knows of scores.

    Raises
    ------
    TypeError, ValueError
        As :func:`irtkit.score`.
    """
    if isinstance(given, str | os.PathLike):
        return bank_of(read_items(Path(given)), latent_sd)
    return Bank(calibrated_items(given, latent_sd))


@bank_of.register
def _(given: Bank, _latent_sd: float | None = None) -> Bank:
    return given


@bank_of.register
def _(given: FitResult, latent_sd: float | None = None) -> Bank:
    from irtkit.scoring.misfit import misfit_of

    items, ability = calibrated_items(given, latent_sd), given.ability
    real = ~given.synthetic & (given.counts.respondent_responses > 0)
    best = None
    if real.any():
        p = items.parameters.chosen(items.known).probability([ability[real].max()])
        best = float(p.mean())
    return Bank(items, best, misfit_of(given))
