"""Items whose parameters are known, whoever estimated them, and what a fit does with them.

They keep their parameters (fixed parameter calibration, Kim 2006), and those that became easier or
harder are named (`irtkit.calibration.changes`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.calibration.changes import LITTLE, Changes, Prior, answers_in, changes
from irtkit.calibration.result import FORMAT, Anchors, FitResult, read_result, saved_in
from irtkit.checks import check_number, first_names, short
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import part_of, patterns_of
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.files import as_path
from irtkit.io.logs import LOG_FORMATS
from irtkit.irf import (
    ItemParameters,
    complete_data_information,
    curvatures,
    curves_of,
)
from irtkit.responses.labels import label_names
from irtkit.responses.levels import score_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from irtkit.data.patterns import Mask, Places
    from irtkit.irf import Array, ModelName
    from irtkit.responses import ResponseMatrix
    from irtkit.responses.marking import Ranges

_ABILITIES = np.linspace(-5.0, 5.0, 61)
_NORMAL = np.exp(-(_ABILITIES**2) / 2)
_MOST_VARIANCE = 1e6  # Of an earlier estimate that says anything.
_OF_MARKS = (*("metric", "filter", "threshold", "right", "wrong", "missing", "score_range"),)
_COLUMNS = {  # Names that columns of item tables have, here and in other programs.
    "discrimination": ("discrimination", "a", "a1", "slope"),
    "difficulty": ("difficulty", "b"),
    "guessing": ("guessing", "c", "g"),
    "intercept": ("intercept", "d"),
}


@dataclass(frozen=True)
class CalibratedItems:
    """Items with known parameters, and the population they were calibrated in."""

    parameters: ItemParameters  # NaN where nothing is known of an item.
    labels: tuple[str, ...] | None = None  # None if responses have the items in the same order.
    latent_sd: float = 1.0
    latent_mean: float = 0.0
    trial_correlation: float = 0.0  # Between repeated trials of a cell, see `result.settings`.
    dispersion: Array | None = None
    """Of scores between 0 and 1 about the model, as in a result; NaN for items without."""
    standard_errors: Array = field(default_factory=lambda: np.empty((0, 4)))
    """As those of a result, (n_items, 4). By default all are unknown, NaN."""
    scale_se: tuple[float, float] = (0.0, 0.0)
    """Standard errors of the unit of the scale, as a proportion, and of its mean; 0 if unknown."""
    best: Callable[[CalibratedItems], float] | None = None
    """The score up to which curves rest on calibrated respondents, if it is known."""
    misfit: Callable[..., float] | None = None
    """Variance of scores on known items that the model does not explain, if the items at some
    places are asked (``of_all`` respondents)."""
    end: Callable[[Places], float] | None = None
    """The score on the items at some places that fewer than 5 % of those calibrated exceed."""
    selected: bool = False  # Whether they are items that were selected, to be asked of new systems.
    selected_of: int | None = None  # Items of the benchmark, if some were selected from it.
    counted: Mask | None = None  # Which items the score is of, by default all.
    marks: Mapping[str, Any] = field(default_factory=dict)  # How marks of logs were read.
    score_ranges: Ranges | None = None  # Worst and best score of items that were read as levels.
    responses: ResponseMatrix | None = (
        None  # Those that they were calibrated on, if these are saved.
    )

    def __post_init__(self) -> None:
        if not len(self.standard_errors):
            unknown = np.full((self.parameters.n_items, 4), np.nan)
            object.__setattr__(self, "standard_errors", unknown)

    def places_of(self, labels: tuple[str, ...]) -> Places:
        """Place of every label among the known items, −1 for unknown labels."""
        numbered = enumerate(self.labels or ())
        places = {label: k for k, label in numbered if self.known[k]}
        return np.array([places.get(label, -1) for label in labels], dtype=np.intp)

    def chosen(self, places: NDArray[Any]) -> CalibratedItems:
        """Return some of the items."""
        labels = None if self.labels is None else tuple(np.array(self.labels, object)[places])
        parameters = self.parameters.chosen(places)
        errors = self.standard_errors[places]
        spread = None if self.dispersion is None else self.dispersion[places]
        return replace(
            self,
            parameters=parameters,
            labels=labels,
            standard_errors=errors,
            dispersion=spread,
        )

    @property
    def scored(self) -> Mask:
        """Which items had scores between 0 and 1 when they were calibrated, (n_items,)."""
        nothing = np.full(self.parameters.n_items, np.nan)
        return ~np.isnan(nothing if self.dispersion is None else self.dispersion)

    @property
    def spread(self) -> Array | None:
        """Variance of an answer to each item, in P(1 − P), (n_items,); None if all are 1."""
        if self.dispersion is None:
            return None
        return np.where(self.scored, self.trial_correlation * self.dispersion, 1.0)

    @cached_property
    def known(self) -> Mask:
        """Which items have parameters and count, (n_items,)."""
        known = self.parameters.known
        return known if self.counted is None else known & self.counted

    @property
    def unit(self) -> ItemParameters:
        """Items measured in SDs of ability in the population, from its mean."""
        return self.parameters.standardised(self.latent_sd, self.latent_mean)


def calibrated_items(
    given: object, latent_sd: float | None = None, *, name: str = "items"
) -> CalibratedItems:
    """Return items from a result, item parameters, a table of items, or a file of either.

    ``name`` is the argument that errors name.
    """
    if isinstance(given, str | os.PathLike):
        given = read_items(as_path(given, name), name)
    if isinstance(given, FitResult):
        if latent_sd is not None:
            raise ValueError("latent_sd is for a table of items, and a result has its own")
        # Luck of the mean of n abilities, σ/√n, and of their SD, 1/√(2n) of it. Where ability has
        # SD 1 by definition the latter is luck of the unit; the unit of the Rasch model is the
        # logit. The scale of fixed items was set by others than these respondents.
        n = np.inf if given.anchors is not None else max(given.n_answering, 1)
        of_unit = 0.0 if given.model == "Rasch" else 1 / (2 * n) ** 0.5
        return CalibratedItems(
            given.parameters,
            given.item_labels,
            given.latent_sd,
            given.latent_mean,
            given.settings.trial_correlation or 0.0,
            given.dispersion,
            given.standard_errors,
            (of_unit, given.latent_sd / n**0.5),
            marks=marks_read(given),
            score_ranges=score_ranges(given.responses),
            responses=given.responses,
        )
    sd = 1.0 if latent_sd is None else check_number("latent_sd", latent_sd, above=0)
    if isinstance(given, ItemParameters):
        items = CalibratedItems(given, None, sd)
    elif hasattr(given, "columns") and hasattr(given, "index"):
        items = _of_table(given, sd, name)
    else:
        selection = "a Selection, " if name == "items" else ""
        raise TypeError(
            f"{name} must be a FitResult, {selection}ItemParameters, a table of items or the path "
            f"of a saved result or table; got {type(given).__name__}"
        )
    if not items.known.any():
        raise ValueError(f"{name} holds no item with parameters")
    return items


def marks_read(result: FitResult) -> dict[str, Any]:
    """Settings with which the marks of a fit were read from logs, none if it was not from logs."""
    source = None if result.responses is None else result.responses.source
    if source is None or source.format not in LOG_FORMATS:
        return {}
    settings = source.to_dict()["settings"]
    return {name: settings[name] for name in _OF_MARKS if name in settings}


def read_items(path: Path, name: str) -> Any:
    """Read a saved result, or a table of items."""
    if not path.exists():
        raise FileNotFoundError(f"{name}: no such file or folder: {str(path)!r}")
    from irtkit.io.tables import read_table

    path = saved_in(path)
    saved = path.suffix == ".npz" or storage.name_of(path) == FORMAT.name
    return read_result(path) if saved else read_table(path)


def _of_table(table: Any, sd: float, name: str) -> CalibratedItems:
    """Items of a table, with standard errors where it has any."""
    columns = {
        role: next((column for column in names if column in table.columns), None)
        for role, names in _COLUMNS.items()
    }
    if columns["discrimination"] is None or not (columns["intercept"] or columns["difficulty"]):
        raise ValueError(
            f"{name} needs the columns discrimination, and intercept or difficulty (guessing may "
            f"be there); it has {first_names(list(table.columns))}. Responses must be fitted "
            "first: irtkit fit RESPONSES --out FOLDER"
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


def fixed_parameters(anchors: CalibratedItems, places: Places, model: ModelName) -> ItemParameters:
    """Parameters of all items of a fit. ``places`` locates the fixed ones."""
    if not (places >= 0).any():
        raise ValueError(
            "fixed lacks the items of the responses: its items are "
            f"{first_names(list(anchors.labels or ())) or 'without labels'}"
        )
    parameters = anchors.parameters.chosen(places[places >= 0])
    # a table with ten digits does not keep smaller differences
    if model in {"1PL", "Rasch"} and np.ptp(parameters.discrimination) > 1e-9:
        raise ValueError(
            f"the {model} has one discrimination for all items, and fixed items have several. "
            "Use model='2PL'"
        )
    if model != "3PL" and parameters.guessing.any():
        raise ValueError(f"fixed items have guessing, which the {model} lacks. Use model='3PL'")
    whole = np.full((3, len(places)), np.nan)
    whole[:, places >= 0] = parameters.discrimination, parameters.intercept, parameters.guessing
    return ItemParameters(*whole)


def anchors_of(
    result: FitResult,
    responses: ResponseMatrix,
    earlier: CalibratedItems,
    fixed: Mask,
    population_se: tuple[float, float] | None,
) -> Anchors:
    """Test the fixed items of a result.

    ``population_se`` are errors of the latent mean and SD with fixed items known, and sampling
    errors of these are added. If mean and log SD are off by η, the parameters of item j are off by
    H_j η. With information D_j about its slope and intercept, whose covariance is C_j, η has the
    covariance Σ E_j C_j E_jᵀ, where E_j is (Σ H_jᵀ D_j H_j)⁻¹ H_jᵀ D_j. Slope and intercept that
    follow an error of guessing to their best values leave η as it is, so that C_j is less what
    follows guessing.
    """
    with np.errstate(all="ignore"):
        covariances = earlier_covariances(result)
    labels = [label for label, is_fixed in zip(responses.items, fixed, strict=True) if is_fixed]
    tested = changes_since(earlier, responses, labels, covariances[fixed])
    z = np.full(len(fixed), np.nan)
    z[fixed] = tested.z
    drifts = np.zeros(len(fixed), bool)
    drifts[fixed] = tested.called
    if population_se is None:
        return Anchors(fixed, z, drifts)
    mean = result.latent_mean
    sd = result.latent_sd
    answered = fixed & (result.counts.item_responses > 0)
    items = result.parameters.chosen(answered).standardised(sd, mean)
    weights = result.counts.item_responses[answered, None] * _NORMAL / _NORMAL.sum()
    curves = curves_of(items.items, _ABILITIES)
    of_all = complete_data_information(curvatures(curves, weights), _ABILITIES)
    information: Any = of_all[:, :2, :2]
    in_sds = np.array([[sd, 0.0], [mean, 1.0]])
    errors = in_sds @ covariances[answered] @ in_sds.T
    if items.guessing.any():
        rise = np.maximum(items.guessing * (1 - items.guessing), 1e-6)
        of_logit = np.nan_to_num(result.standard_errors[answered, 2]) / rise
        follows = np.linalg.pinv(information) @ of_all[:, :2, 2:] * of_logit[:, None, None]
        values, axes = np.linalg.eigh(errors - follows @ follows.mT)
        errors = axes * np.maximum(values, 0.0)[:, None] @ axes.mT
    moves = np.zeros((len(information), 2, 2))  # H
    moves[:, 1, 0] = moves[:, 0, 1] = items.discrimination
    weighed = moves.mT @ information
    effect = np.linalg.pinv((weighed @ moves).sum(axis=0)) @ weighed
    variances = np.diag((effect @ errors @ effect.mT).sum(axis=0))
    of_mean, of_sd = sd * np.sqrt(np.maximum(variances, 0.0))
    of_unit, of_zero = earlier.scale_se
    mean_se = [population_se[0], of_mean, of_zero, mean * of_unit]
    sd_se = [population_se[1], of_sd, sd * of_unit]
    return Anchors(
        fixed,
        z,
        drifts,
        mean_se=float(np.linalg.norm(mean_se)),
        sd_se=float(np.linalg.norm(sd_se)),
    )


def changes_since(
    earlier: CalibratedItems,
    later: ResponseMatrix,
    labels: Sequence[str],
    covariances: Array | None = None,
    fdr: float = FALSE_DISCOVERY_RATE,
) -> Changes:
    """Test which items changed since they were calibrated.

    Without the answers on which they were, their parameters have ``covariances``, (n_items, 2, 2).
    """
    places = earlier.places_of(tuple(labels))
    items = earlier.unit.chosen(places)
    versions = [matrix for matrix in (earlier.responses, later) if matrix is not None]
    answers = []
    systems = []
    for matrix in versions:
        patterns = patterns_of(matrix, synthetic_is_real=False)
        rows = np.flatnonzero(patterns.answering)
        column_of = {label: column for column, label in enumerate(matrix.items)}
        columns = np.array([column_of[label] for label in labels])
        answers.append(part_of(answers_in(matrix, patterns), rows, columns))
        systems.append([matrix.respondents[row] for row in rows])
    prior = None
    pairs = None
    if earlier.responses is None:
        in_sds = np.array([[earlier.latent_sd, 0], [earlier.latent_mean, 1]])
        errors = in_sds @ covariances @ in_sds.T + LITTLE * np.eye(2)
        mean = np.stack([items.discrimination, items.intercept], axis=1)
        prior = Prior(mean, np.linalg.inv(errors))
    else:
        pairs = np.intersect1d(systems[0], systems[1], return_indices=True)[1:]
    copies = max(near_duplicates(group).copies for group in answers)
    return changes(items, answers, fdr, prior=prior, pairs=pairs, copies=copies)


def mixed(which: Mask, first: ItemParameters, second: ItemParameters) -> ItemParameters:
    """Parameters from the first where ``which`` is true, and from the second."""
    names = ("discrimination", "intercept", "guessing")
    pairs = [(getattr(first, name), getattr(second, name)) for name in names]
    return ItemParameters(*(np.where(which, *pair) for pair in pairs))


def earlier_covariances(result: FitResult) -> Array:
    """Covariances of slope and intercept by standard errors, (n_items, 2, 2).

    With d = −ab, Cov(a, d) follows from Var b = (b² Var a + Var d + 2b Cov(a, d)) / a². Unknown
    errors are taken as 0.
    """
    a = result.parameters.discrimination
    b = result.parameters.difficulty
    of_a, of_b, _, of_d = np.nan_to_num(result.standard_errors[:, :4]).T ** 2
    of_a, of_d = (np.minimum(values, _MOST_VARIANCE) for values in (of_a, of_d))
    twice = a**2 * of_b - of_d - b**2 * of_a
    both = np.nan_to_num(twice / (2 * b))
    most = np.sqrt(of_a * of_d)
    both = np.clip(both, -most, most)
    return np.stack([of_a, both, both, of_d], axis=1).reshape(-1, 2, 2)
