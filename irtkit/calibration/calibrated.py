"""Items whose parameters are known, whoever estimated them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.calibration.result import FORMAT, FitResult
from irtkit.calibration.saved import RESULT_FILE, load
from irtkit.checks import check_number, first_names, short
from irtkit.files import as_path
from irtkit.io import read_table
from irtkit.irf import ItemParameters
from irtkit.responses.labels import label_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.patterns import Places
    from irtkit.irf import Array, ModelName

_SAME_SLOPE = 1e-9
"""Difference between slopes that are one: what a table with ten digits keeps."""
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
    latent_sd, latent_mean
        SD and mean of ability in the population.
    trial_correlation
        Between repeated trials of a cell, see ``result.settings``.
    standard_errors
        Those of a result, (n_items, 4); None if there are none.
    scale_se
        Sampling errors of the scale, as standard errors: of its unit, as a proportion, and of its
        mean. 0 if they are not known.
    best
        Returns the score up to which curves rest on calibrated respondents; None if it is unknown.
    misfit
        Returns the variance of scores that the model does not explain if the items at some places
        are asked; None if it is unknown.
    design
        "random" or "stratified" if the items asked were drawn from these, "chosen" if they were
        chosen, None if neither is known.
    selected_of
        Number of items of the benchmark, if only items selected from it are known.
    """

    parameters: ItemParameters
    labels: tuple[str, ...] | None = None
    latent_sd: float = 1.0
    latent_mean: float = 0.0
    trial_correlation: float = 0.0
    standard_errors: Array | None = None
    scale_se: tuple[float, float] = (0.0, 0.0)
    best: Callable[[], float] | None = None
    misfit: Callable[[Places], float] | None = None
    design: str | None = None
    selected_of: int | None = None

    def places_of(self, labels: tuple[str, ...]) -> NDArray[np.intp]:
        """Place of every label among the known items, −1 where there is none."""
        places = {label: k for k, label in enumerate(self.labels or ()) if self.known[k]}
        return np.array([places.get(label, -1) for label in labels], dtype=np.intp)

    def chosen(self, places: NDArray[Any]) -> CalibratedItems:
        """Return some of the items."""
        labels = None if self.labels is None else tuple(np.array(self.labels, object)[places])
        errors = None if self.standard_errors is None else self.standard_errors[places]
        parameters = self.parameters.chosen(places)
        return replace(self, parameters=parameters, labels=labels, standard_errors=errors)

    @property
    def difficulty_se(self) -> Array:
        """Standard errors of difficulties, NaN if there are none, (n_items,)."""
        if self.standard_errors is None:
            return np.full(self.parameters.n_items, np.nan)
        return self.standard_errors[:, 1]

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which items have parameters, (n_items,)."""
        return self.parameters.known

    @property
    def unit(self) -> ItemParameters:
        """Items measured in SDs of ability in the population, from its mean."""
        return self.parameters.standardised(self.latent_sd, self.latent_mean)


def calibrated_items(
    given: object, latent_sd: float | None = None, *, name: str = "items"
) -> CalibratedItems:
    """Return items from a result, item parameters, a table of items, or a file of either.

    ``name`` is that of the argument, for errors.

    Raises
    ------
    TypeError
        If it is none of these.
    ValueError
        If a table lacks a column, or holds no item with parameters.
    """
    if isinstance(given, str | os.PathLike):
        given = read_items(as_path(given, name), name)
    if isinstance(given, FitResult):
        if latent_sd is not None:
            raise ValueError("latent_sd is that of the result; give it with a table of items")
        correlation = given.settings.trial_correlation or 0.0
        population = given.latent_sd, given.latent_mean
        about = *population, correlation, given.standard_errors, _scale_errors(given)
        return CalibratedItems(given.parameters, given.item_labels, *about)
    sd = 1.0 if latent_sd is None else check_number("latent_sd", latent_sd, above=0)
    if isinstance(given, ItemParameters):
        found = CalibratedItems(given, None, sd)
    elif hasattr(given, "columns") and hasattr(given, "index"):
        parameters, labels = _of_table(given, name)
        found = CalibratedItems(parameters, labels, sd, standard_errors=_errors_of(given, name))
    else:
        selection = "a Selection, " if name == "items" else ""
        raise TypeError(
            f"{name} must be a FitResult, {selection}ItemParameters, a table of items or the path "
            f"of a saved result or table; got {type(given).__name__}"
        )
    if not found.known.any():
        raise ValueError(f"{name} holds no item with parameters")
    return found


def _scale_errors(result: FitResult) -> tuple[float, float]:
    """Luck of the mean of n abilities, σ/√n, and of their SD, 1/√(2n) of it.

    Where ability has SD 1 by definition the latter is luck of the unit; the unit of the Rasch model
    is the logit. The scale of fixed items was set by others than these respondents.
    """
    if result.fixed is not None or not result.n_answering:
        return 0.0, 0.0
    n = result.n_answering
    of_unit = 0.0 if result.model == "Rasch" else 1 / (2 * n) ** 0.5
    return of_unit, result.latent_sd / n**0.5


def fixed_parameters(
    anchors: CalibratedItems, places: NDArray[np.intp], model: ModelName
) -> ItemParameters:
    """Parameters of all items of a fit, of which ``places`` says where the fixed ones are.

    Raises
    ------
    ValueError
        If there is none, or the model cannot have them.
    """
    if not (places >= 0).any():
        raise ValueError(
            "fixed has no item of the responses: its items are "
            f"{first_names(list(anchors.labels or ())) or 'without labels'}"
        )
    found = anchors.parameters.chosen(places[places >= 0])
    if model in {"1PL", "Rasch"} and np.ptp(found.discrimination) > _SAME_SLOPE:
        raise ValueError(
            f"the {model} has one discrimination for all items, and fixed items have several; "
            "use model='2PL'"
        )
    if model != "3PL" and found.guessing.any():
        raise ValueError(f"fixed items have guessing, which the {model} has not; use model='3PL'")
    whole = np.full((3, len(places)), np.nan)
    whole[:, places >= 0] = found.discrimination, found.intercept, found.guessing
    return ItemParameters(*whole)


def with_fixed(result: FitResult, anchors: CalibratedItems, places: NDArray[np.intp]) -> FitResult:
    """Return a result whose fixed items have their own parameters to the last digit."""
    fixed, found = places >= 0, result.parameters
    parts = []
    for own, earlier in zip(_arrays(found), _arrays(anchors.parameters), strict=True):
        values = own.copy()
        values[fixed] = earlier[places[fixed]]
        parts.append(values)
    errors = result.standard_errors.copy()
    earlier_errors = anchors.standard_errors
    errors[fixed] = np.nan if earlier_errors is None else earlier_errors[places[fixed]]
    free = int((~fixed & (result.counts.item_responses > 0)).sum())
    by_item = {"2PL": 2, "3PL": 3}.get(result.model, 1)
    return replace(
        result,
        parameters=ItemParameters(*parts),
        standard_errors=errors,
        n_parameters=free * by_item + 2,
        fixed=fixed,
    )


def _arrays(parameters: ItemParameters) -> tuple[Array, Array, Array]:
    return parameters.discrimination, parameters.intercept, parameters.guessing


def read_items(path: Path, name: str) -> Any:
    """Read a saved result, or a table of items."""
    if not path.exists():
        raise FileNotFoundError(f"{name}: there is no file or folder {str(path)!r}")
    path = path / RESULT_FILE if path.is_dir() else path
    saved = path.suffix == ".npz" or storage.name_of(path) == FORMAT.name
    return load(path) if saved else read_table(path)


def _of_table(table: Any, name: str) -> tuple[ItemParameters, tuple[str, ...]]:
    """Parameters and labels of a table of items."""
    columns = {
        role: next((column for column in names if column in table.columns), None)
        for role, names in _COLUMNS.items()
    }
    if columns["discrimination"] is None or not (columns["intercept"] or columns["difficulty"]):
        raise ValueError(
            f"{name} needs the columns discrimination, and intercept or difficulty (guessing may "
            f"be there); it has {first_names(list(table.columns))}"
        )
    labels = table["item"] if "item" in table.columns else table.index
    names = label_names(labels, len(table), "item")
    slope = _numbers(table, columns["discrimination"], name)
    guessing = (
        0.0
        if columns["guessing"] is None
        else np.nan_to_num(_numbers(table, columns["guessing"], name))
    )
    if columns["intercept"] is not None:
        parts = (
            slope,
            _numbers(table, columns["intercept"], name),
            np.broadcast_to(guessing, slope.shape),
        )
        return ItemParameters(*parts), names
    difficulty = _numbers(table, columns["difficulty"], name)
    return ItemParameters.from_difficulty(slope, difficulty, guessing), names


def _errors_of(table: Any, name: str) -> Array | None:
    """Standard errors as those of a result, NaN where the table has none; None without any."""
    of = ("discrimination", "difficulty", "guessing", "intercept")
    names = [f"{parameter}_se" for parameter in of]
    if not any(column in table.columns for column in names):
        return None
    nothing = np.full(len(table), np.nan)
    columns = [_numbers(table, c, name) if c in table.columns else nothing for c in names]
    return np.stack(columns, axis=1)


def _numbers(table: pd.DataFrame, column: Any, name: str) -> Array:
    try:
        return np.asarray(table[column], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: column {short(column)} must hold numbers; {error}") from error
