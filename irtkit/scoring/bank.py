"""The items that scores are told from, and what is known of such scores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from irtkit.calibration.calibrated import CalibratedItems, calibrated_items, read_items
from irtkit.calibration.result import FitResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.patterns import Places

Design = Literal["random", "stratified"]
DESIGNS: tuple[Design, ...] = get_args(Design)
"""How items may be drawn: each as likely as any other, or one of each stratum of difficulty."""
_ABLEST = 64
"""Respondents, the ablest by an SD above what is expected, among whom the highest score is looked
for: answers to the items that they were asked change the order of a few."""


@dataclass(frozen=True)
class Bank:
    """Calibrated items, and what is known of scores told from some of them.

    Parameters
    ----------
    items
        All items of the benchmark.
    best
        Share right of all items that intervals of a level reach for the ablest respondents the
        items were calibrated on; None if that is not known.
    misfit
        Variance of scores that the model does not explain, if the items at some places were asked,
        0 if respondents are too few to tell; None without responses, which tell it.
    design
        How the items asked were drawn, where they were; None if they were not.
    chosen
        Whether the items asked are a choice, of which a share right tells nothing.
    """

    items: CalibratedItems
    best: Callable[[float], float] | None = None
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
        return bank_of(read_items(Path(given), "items"), latent_sd)
    return Bank(calibrated_items(given, latent_sd))


@bank_of.register
def _(given: Bank, _latent_sd: float | None = None) -> Bank:
    return given


@bank_of.register
def _(given: FitResult, latent_sd: float | None = None) -> Bank:
    from irtkit.scoring.misfit import misfit_of

    items = calibrated_items(given, latent_sd)
    misfit = misfit_of(given)
    if misfit is None and given.responses is not None:
        misfit = _none
    return Bank(items, partial(_best, given, items, misfit), misfit)


def _none(_places: Places) -> float:
    return 0.0


def _best(
    result: FitResult,
    items: CalibratedItems,
    misfit: Callable[[Places], float] | None,
    level: float,
) -> float:
    """Highest end of the intervals of scores of respondents the items were calibrated on.

    Of those who answered all, that is the score. Without their answers it is what is expected at
    the highest ability.
    """
    real = np.flatnonzero(~result.synthetic & (result.counts.respondent_responses > 0))
    known = np.flatnonzero(items.known)
    p = items.parameters.chosen(known).probability([result.ability[real].max()])
    if result.responses is None:
        return float(p.mean())
    from irtkit.scoring.scoring import told_of

    first = real[np.argsort(-(result.ability + result.ability_se)[real], kind="stable")[:_ABLEST]]
    patterns = result.patterns.chosen(first).with_columns(known)
    told = told_of(patterns, known, Bank(items, misfit=misfit), "EAP", level=level)
    return max(float(p.mean()), float(told.expected.high.max()))
