"""The items that scores are told from, and what is known of such scores."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache, partial, singledispatch
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from irtkit import storage
from irtkit.calibration.calibrated import CalibratedItems, calibrated_items, read_items
from irtkit.calibration.result import FitResult
from irtkit.files import as_path
from irtkit.irf import ItemParameters

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from irtkit.data.patterns import Places
    from irtkit.irf import Array

Design = Literal["random", "stratified"]
DESIGNS: tuple[Design, ...] = get_args(Design)
"""How items may be drawn: each as likely as any other, or one of each stratum of difficulty."""
_FORMAT = storage.Format("irtkit selection", 2)
_ABLEST = 64
"""Respondents, the ablest by an SD above what is expected, among whom the highest scores are looked
for: answers to the items that they were asked change the order of a few."""
_RANK = 3  # Rank of the calibrated score that sets the limit: one or two outliers do not move it.
_MARGIN = 0.02  # Distance of the limit below that score (benchmarks/beyond.py).


@dataclass(frozen=True)
class Bank:
    """Calibrated items, and what is known of scores told from some of them.

    Parameters
    ----------
    items
        All items of the benchmark.
    best
        Score up to which curves are supported by respondents the items were calibrated on; None if
        that is not known.
    misfit
        Variance of scores that the model does not explain, if the items at some places were asked;
        None if that is not known.
    without_responses
        Whether that is for want of the responses the items were calibrated on.
    design
        How the items asked were drawn, where they were; None if they were not.
    chosen
        Whether the items asked are a choice, of which a share right tells nothing.
    selected_of
        How many items the benchmark has, if only those selected of them are known.
    """

    items: CalibratedItems
    best: Callable[[], float] | None = None
    misfit: Callable[[Places], float] | None = None
    without_responses: bool = False
    design: Design | None = None
    chosen: bool = False
    selected_of: int | None = None


class SavedBank(NamedTuple):
    """What a file keeps of a selection, so that scores can be told without the fit."""

    items: CalibratedItems
    best: float
    sizes: Array
    """Numbers of items asked, (n,), 0 of them if the items were drawn."""
    misfit: Array
    """Variance that the model does not explain, by these numbers."""
    design: Design | None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one file, which appears whole or not at all."""
        storage.write(path, _FORMAT, self._asdict(), compressed=True)

    @classmethod
    def load(cls, path: Path) -> SavedBank:
        """Read what was written."""
        return storage.read(path, _FORMAT, cls._made)

    @classmethod
    def _made(cls, record: dict[str, Any]) -> SavedBank:
        items = storage.with_parts(record["items"], parameters=ItemParameters)
        return cls(**{**record, "items": CalibratedItems(**items)})

    @property
    def bank(self) -> Bank:
        """The items, with what is known of scores told from those selected."""
        if self.design is not None:
            return Bank(self.items, design=self.design)
        return Bank(self.items, lambda: self.best, self._misfit, chosen=True)

    def _misfit(self, places: Places) -> float:
        return float(np.interp(len(places), self.sizes, self.misfit))


@singledispatch
def bank_of(given: object, latent_sd: float | None = None) -> Bank:
    """Return calibrated items, with what a result or a selection knows of scores.

    Raises
    ------
    TypeError, ValueError
        As :func:`irtkit.score`.
    """
    if isinstance(given, str | os.PathLike):
        path = as_path(given, "items")
        if storage.name_of(path) == _FORMAT.name:
            return bank_of(SavedBank.load(path).bank, latent_sd)
        return bank_of(read_items(path, "items"), latent_sd)
    items = calibrated_items(given, latent_sd)
    bank = Bank(items, without_responses=True)
    return bank if isinstance(given, ItemParameters) else _of_table(bank, given)


def _of_table(bank: Bank, table: Any) -> Bank:
    """Add what the table of a selection says of it (:attr:`irtkit.Selection.item_table`)."""
    if "selected_of" not in table.columns:
        return bank
    design = str(table["design"].iloc[0])
    drawn = design if design in DESIGNS else None
    return replace(
        bank, design=drawn, chosen=drawn is None, selected_of=int(table["selected_of"].iloc[0])
    )


@bank_of.register
def _(given: Bank, latent_sd: float | None = None) -> Bank:
    if latent_sd is not None:
        raise ValueError("latent_sd is that of the result the items were selected of")
    return given


@bank_of.register
def _(given: FitResult, latent_sd: float | None = None) -> Bank:
    from irtkit.scoring.misfit import misfit_of

    items = calibrated_items(given, latent_sd)
    misfit, unknown = misfit_of(given), given.responses is None
    return Bank(items, cache(partial(_best, given, items)), misfit, without_responses=unknown)


def _best(result: FitResult, items: CalibratedItems) -> float:
    """Return a little less than the third best score of the calibrated respondents.

    Missing answers count as the model expects them. Without responses all answers do.
    """
    from irtkit.scoring.scoring import scored_of

    real, known = np.flatnonzero(result.answering), np.flatnonzero(items.known)
    first = real[np.argsort(-(result.ability + result.ability_se)[real], kind="stable")[:_ABLEST]]
    if result.responses is None:
        scores = items.parameters.chosen(known).probability(result.ability[first]).mean(axis=1)
    else:
        patterns = result.patterns.chosen(first).with_columns(known)
        scores = scored_of(patterns, known, Bank(items), "EAP", level=0.95).expected.mean
    return float(np.sort(scores)[-_RANK:][0]) - _MARGIN
