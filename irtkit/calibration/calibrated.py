"""Items whose parameters are known, whoever estimated them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.calibration.result import FORMAT, FitResult, load, saved_in
from irtkit.checks import check_number, first_names, short
from irtkit.files import as_path
from irtkit.io import read_table
from irtkit.irf import ItemParameters
from irtkit.responses.labels import label_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from irtkit.data.patterns import Places
    from irtkit.irf import Array, ModelName

_SAME_SLOPE = 1e-9  # Difference between slopes that are one: what a table with ten digits keeps.
_COLUMNS = {  # Names that columns of item tables have, here and in other programs.
    "discrimination": ("discrimination", "a", "a1", "slope"),
    "difficulty": ("difficulty", "b"),
    "guessing": ("guessing", "c", "g"),
    "intercept": ("intercept", "d"),
}


@dataclass(frozen=True)
class CalibratedItems:
    """Items with known parameters, and the population they were calibrated in."""

    parameters: ItemParameters
    """NaN where nothing is known of an item."""
    labels: tuple[str, ...] | None = None
    """None if the items have none: then responses have them in the same order."""
    latent_sd: float = 1.0
    latent_mean: float = 0.0
    trial_correlation: float = 0.0
    """Between repeated trials of a cell, see ``result.settings``."""
    standard_errors: Array = field(default_factory=lambda: np.empty((0, 4)))
    """As those of a result, (n_items, 4). By default all are unknown, NaN."""
    scale_se: tuple[float, float] = (0.0, 0.0)
    """Standard errors of the unit of the scale, as a proportion, and of its mean; 0 if unknown."""
    best: Callable[[], float] | None = None
    """The score up to which curves rest on calibrated respondents, if it is known."""
    misfit: Callable[[Places], float] | None = None
    """Variance of scores that the model does not explain if the items at some places are asked."""
    design: str | None = None
    """How the items were taken: "random" or "stratified" if drawn, "chosen", None if unknown."""
    selected_of: int | None = None
    """Number of items of the benchmark, if only items selected from it are known."""

    def __post_init__(self) -> None:
        if not len(self.standard_errors):
            unknown = np.full((self.parameters.n_items, 4), np.nan)
            object.__setattr__(self, "standard_errors", unknown)

    def places_of(self, labels: tuple[str, ...]) -> NDArray[np.intp]:
        """Place of every label among the known items, −1 where there is none."""
        places = {label: k for k, label in enumerate(self.labels or ()) if self.known[k]}
        return np.array([places.get(label, -1) for label in labels], dtype=np.intp)

    def chosen(self, places: NDArray[Any]) -> CalibratedItems:
        """Return some of the items."""
        labels = None if self.labels is None else tuple(np.array(self.labels, object)[places])
        parameters, errors = self.parameters.chosen(places), self.standard_errors[places]
        return replace(self, parameters=parameters, labels=labels, standard_errors=errors)

    @property
    def difficulty_se(self) -> Array:
        """Standard errors of difficulties, (n_items,)."""
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
        # Luck of the mean of n abilities, σ/√n, and of their SD, 1/√(2n) of it. Where ability has
        # SD 1 by definition the latter is luck of the unit; the unit of the Rasch model is the
        # logit. The scale of fixed items was set by others than these respondents.
        n = np.inf if given.fixed is not None else max(given.n_answering, 1)
        of_unit = 0.0 if given.model == "Rasch" else 1 / (2 * n) ** 0.5
        return CalibratedItems(
            given.parameters,
            given.item_labels,
            given.latent_sd,
            given.latent_mean,
            given.settings.trial_correlation or 0.0,
            given.standard_errors,
            (of_unit, given.latent_sd / n**0.5),
        )
    sd = 1.0 if latent_sd is None else check_number("latent_sd", latent_sd, above=0)
    if isinstance(given, ItemParameters):
        found = CalibratedItems(given, None, sd)
    elif hasattr(given, "columns") and hasattr(given, "index"):
        found = _of_table(given, sd, name)
    else:
        selection = "a Selection, " if name == "items" else ""
        raise TypeError(
            f"{name} must be a FitResult, {selection}ItemParameters, a table of items or the path "
            f"of a saved result or table; got {type(given).__name__}"
        )
    if not found.known.any():
        raise ValueError(f"{name} holds no item with parameters")
    return found


def read_items(path: Path, name: str) -> Any:
    """Read a saved result, or a table of items."""
    if not path.exists():
        raise FileNotFoundError(f"{name}: there is no file or folder {str(path)!r}")
    path = saved_in(path)
    saved = path.suffix == ".npz" or storage.name_of(path) == FORMAT.name
    return load(path) if saved else read_table(path)


def _of_table(table: Any, sd: float, name: str) -> CalibratedItems:
    """Items of a table, with standard errors where it has any."""
    columns = {
        role: next((column for column in names if column in table.columns), None)
        for role, names in _COLUMNS.items()
    }
    if columns["discrimination"] is None or not (columns["intercept"] or columns["difficulty"]):
        raise ValueError(
            f"{name} needs the columns discrimination, and intercept or difficulty (guessing may "
            f"be there); it has {first_names(list(table.columns))}"
        )

    def numbers(column: str | None) -> Array:
        if column not in table.columns:
            return np.full(len(table), np.nan)
        try:
            return np.asarray(table[column], dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            rule = f"{name}: column {short(column)} must hold numbers"
            raise ValueError(f"{rule}; {error}") from error

    slope, difficulty, guessing, intercept = map(numbers, columns.values())
    if columns["intercept"] is None:
        parameters = ItemParameters.from_difficulty(slope, difficulty, np.nan_to_num(guessing))
    else:
        parameters = ItemParameters(slope, intercept, np.nan_to_num(guessing))
    labels = table["item"] if "item" in table.columns else table.index
    errors = np.stack([numbers(f"{role}_se") for role in _COLUMNS], axis=1)
    names = label_names(labels, len(table), "item")
    return CalibratedItems(parameters, names, sd, standard_errors=errors)


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
