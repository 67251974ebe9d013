"""The items that scores are told from, and what is known of such scores."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from irtkit.calibration.calibrated import CalibratedItems, calibrated_items, read_items
from irtkit.calibration.result import FitResult


@runtime_checkable
class Selected(Protocol):
    """Items selected of a calibrated benchmark."""

    @property
    def calibrated(self) -> CalibratedItems:
        """All items of the benchmark, and what is known of scores told from those selected."""


def bank_of(given: object, latent_sd: float | None = None) -> CalibratedItems:
    """Return calibrated items, with what a result or a selection knows of scores.

    Raises
    ------
    TypeError, ValueError
        As :func:`irtkit.score`.
    """
    if isinstance(given, str | os.PathLike):
        given = read_items(Path(given))
    if isinstance(given, Selected):
        if latent_sd is not None:
            raise ValueError("latent_sd is that of the result the items were selected of")
        return given.calibrated
    if isinstance(given, CalibratedItems):
        return given
    bank = calibrated_items(given, latent_sd)
    return _of_result(given, bank) if isinstance(given, FitResult) else bank


def _of_result(result: FitResult, bank: CalibratedItems) -> CalibratedItems:
    from irtkit.scoring.misfit import misfit_of

    real = ~result.synthetic & np.isfinite(result.ability)
    known = replace(bank, misfit=misfit_of(result))
    if not real.any():
        return known
    p = bank.parameters.chosen(bank.known).probability([result.ability[real].max()])
    return replace(known, best=float(p.mean()))
