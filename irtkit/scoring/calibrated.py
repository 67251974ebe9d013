"""Items whose parameters are known, whoever estimated them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from irtkit.calibration import FitResult, load
from irtkit.checks import check_number, first_names
from irtkit.io import read_table
from irtkit.irf import ItemParameters
from irtkit.labels import label_names

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from irtkit.irf import Array
    from irtkit.patterns import Places

Design = Literal["random", "stratified"]
DESIGNS: tuple[Design, ...] = get_args(Design)
"""How items may be drawn: each as likely as any other, or one of each stratum of difficulty."""
RESULT_FILE = "result.npz"
"""File of a folder written by ``irtkit fit`` that holds the whole result."""
_COLUMNS = {
    "discrimination": ("discrimination", "a", "a1", "slope"),
    "intercept": ("intercept", "d"),
    "difficulty": ("difficulty", "b"),
    "guessing": ("guessing", "c", "g"),
}
"""Names that columns of item tables have, here and in other programs."""


@dataclass(frozen=True)
class CalibratedItems:
    """Items with known parameters, and the population they were calibrated in.

    Parameters
    ----------
    parameters
        NaN where nothing is known of an item.
    labels
        None if the items have none: then responses have them in the same order.
    latent_sd
        SD of ability in the population, whose mean is 0.
    trial_correlation
        Between repeated trials of a cell, see ``result.settings``.
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

    parameters: ItemParameters
    labels: tuple[str, ...] | None = None
    latent_sd: float = 1.0
    trial_correlation: float = 0.0
    best: float | None = None
    misfit: Callable[[Places], float] | None = None
    design: Design | None = None
    chosen: bool = False

    @classmethod
    def of(cls, result: FitResult) -> CalibratedItems:
        """Return the items of a fit."""
        from irtkit.scoring.misfit import misfit_of

        correlation = result.settings.trial_correlation or 0.0
        parts = result.parameters, result.item_labels, result.latent_sd, correlation
        real = ~result.synthetic & np.isfinite(result.ability)
        ablest = result.ability[real].max(initial=-np.inf)
        found = cls(*parts, misfit=misfit_of(result))
        p = result.parameters.chosen(found.known).probability([ablest])
        return replace(found, best=float(p.mean()) if np.isfinite(ablest) else None)

    @property
    def known(self) -> Any:
        """Which items have parameters, (n_items,)."""
        known = np.isfinite(self.parameters.discrimination + self.parameters.intercept)
        return known & np.isfinite(self.parameters.guessing)


@runtime_checkable
class Selected(Protocol):
    """Items selected of a calibrated benchmark."""

    @property
    def calibrated(self) -> CalibratedItems:
        """All items of the benchmark, and what is known of scores told from those selected."""


def calibrated_items(given: object, latent_sd: float | None = None) -> CalibratedItems:
    """Return items from a result, item parameters, a table of items, or a file of either.

    Raises
    ------
    TypeError
        If it is none of these.
    ValueError
        If a table lacks a column, or holds no item with parameters.
    """
    if isinstance(given, str | os.PathLike):
        given = _read(Path(given))
    if isinstance(given, FitResult):
        if latent_sd is not None:
            raise ValueError("latent_sd is that of the result; give it with a table of items")
        return CalibratedItems.of(given)
    if isinstance(given, Selected):
        if latent_sd is not None:
            raise ValueError("latent_sd is that of the result the items were selected of")
        return given.calibrated
    sd = 1.0 if latent_sd is None else check_number("latent_sd", latent_sd, above=0)
    if isinstance(given, ItemParameters):
        found = CalibratedItems(given, None, sd)
    elif hasattr(given, "columns") and hasattr(given, "index"):
        found = CalibratedItems(*_of_table(given), sd)
    else:
        raise TypeError(
            "items must be a FitResult, a Selection, ItemParameters, a table of items or the path "
            f"of a saved result or table; got {type(given).__name__}"
        )
    if not found.known.any():
        raise ValueError("items holds no item with parameters")
    return found


def _read(path: Path) -> Any:
    if not path.exists():
        raise FileNotFoundError(f"items: there is no file or folder {str(path)!r}")
    path = path / RESULT_FILE if path.is_dir() else path
    return load(path) if path.suffix == ".npz" else read_table(path)


def _of_table(table: Any) -> tuple[ItemParameters, tuple[str, ...]]:
    """Parameters and labels of a table of items."""
    columns = {
        role: next((name for name in names if name in table.columns), None)
        for role, names in _COLUMNS.items()
    }
    if columns["discrimination"] is None or not (columns["intercept"] or columns["difficulty"]):
        raise ValueError(
            "items needs the columns discrimination, and intercept or difficulty (guessing may be "
            f"there); it has {first_names(list(table.columns))}"
        )
    labels = table["item"] if "item" in table.columns else table.index
    names = label_names(labels, len(table), "item")
    slope = _numbers(table, columns["discrimination"])
    guessing = (
        0.0 if columns["guessing"] is None else np.nan_to_num(_numbers(table, columns["guessing"]))
    )
    if columns["intercept"] is not None:
        parts = slope, _numbers(table, columns["intercept"]), np.broadcast_to(guessing, slope.shape)
        return ItemParameters(*parts), names
    difficulty = _numbers(table, columns["difficulty"])
    return ItemParameters.from_difficulty(slope, difficulty, guessing), names


def _numbers(table: pd.DataFrame, column: Any) -> Array:
    try:
        return np.asarray(table[column], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"items: column {column!r} must hold numbers; {error}") from error
