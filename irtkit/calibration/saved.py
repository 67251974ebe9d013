"""Results read back from their files, and refused where they hold what no fit returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.calibration.result import (
    BATCH_COLUMNS,
    FORMAT,
    STATUSES,
    FitResult,
    Quadrature,
    Settings,
)
from irtkit.checks import is_whole
from irtkit.data.components import Components
from irtkit.data.patterns import Counts
from irtkit.files import as_path
from irtkit.irf import MODELS, ItemParameters
from irtkit.signs import Dependence, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from pathlib import Path

RESULT_FILE = "result.npz"
"""Name of a saved result in the folder that ``irtkit fit --out`` wrote."""
_LARGEST = 1e9
"""Logits, and SDs of ability, that no fit comes near: it gives up at slopes of 100."""
_LARGEST_ERROR = 1e100
"""Its square is a number; errors of difficulties grow beyond bounds as slopes come near 0."""


def load(path: str | PathLike[str]) -> FitResult:
    """Read a result written by :meth:`FitResult.save`, or in a folder by ``irtkit fit --out``.

    Raises
    ------
    ValueError
        If the file is not a saved result, is damaged, or was written by another version of irtkit.
    OSError
        If there is no such file, or it is a folder without a result.
    """
    return storage.read(saved_in(path), FORMAT, _restored)


def saved_in(path: str | PathLike[str]) -> Path:
    """The saved result in a folder that holds one; else the path as it is."""
    given = as_path(path)
    inner = given / RESULT_FILE
    return inner if inner.is_file() else given


def _restored(record: dict[str, Any]) -> FitResult:
    """Put a result together again."""
    items, respondents = record["item_labels"], record["respondent_labels"]
    kinds = {"parameters": ItemParameters, "counts": Counts, "quadrature": Quadrature}
    further = {
        "saved_verdict": Verdict,
        "saved_dependence": Dependence,
        "components": Components,
    }
    if absent := [name for name in (*kinds, "settings") if record[name] is None]:
        raise ValueError(f"{absent[0]} must not be missing")
    made = storage.with_parts(record, **kinds, **further, settings=Settings)
    if record["responses"] is not None:
        made["responses"] = storage.restored_responses(record["responses"], respondents, items)
    if record["posterior"] is not None:
        from irtkit.calibration.variational.posterior import Posterior

        shared = {name: record[name] for name in ("item_labels", "respondent_labels", "synthetic")}
        made["posterior"] = Posterior.restored(record["posterior"], **shared)
    result = FitResult(**made)
    for rules_broken in (_kinds, _of_search, _lengths, _ranges, _ranges_of_counts):
        for rule in rules_broken(result):
            raise ValueError(rule)
    _ = result.items, result.respondents, result.batches  # they refuse what does not go together
    return result


def _kinds(result: FitResult) -> Iterator[str]:
    """Rules that values of another kind break."""
    if result.model not in MODELS:
        yield f"model must be one of {', '.join(MODELS)}"
    if result.method not in {"em", "vi"}:
        yield "method must be em or vi"
    if not {*result.status} <= {*STATUSES}:
        yield f"status must be one of {', '.join(STATUSES)}"
    for labels in (result.item_labels, result.respondent_labels):
        if not all(isinstance(label, str) for label in labels) or len({*labels}) < len(labels):
            yield "labels must be unique text"
    for texts in (result.warnings, result.at_chance):
        if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
            yield "warnings must be text"
    if not all(isinstance(said, bool) for said in (result.converged, result.one_ability_doubted)):
        yield "converged and one_ability_doubted must be True or False"
    if result.synthetic.dtype != bool:
        yield "synthetic must be True or False for each respondent"


def _of_search(result: FitResult) -> Iterator[str]:
    """Rules that what is said of the search breaks."""
    grid = result.quadrature
    wholes = result.n_iterations, result.n_parameters, grid.n_nodes
    if not all(is_whole(number) and number >= 0 for number in wholes):
        yield "numbers of iterations, parameters and nodes must be whole, 0 or more"
    numbers = grid.lowest, grid.highest, grid.estimated_error
    if not all(isinstance(number, float | int) for number in numbers):
        yield "ends and error of the quadrature must be numbers"


def _lengths(result: FitResult) -> Iterator[str]:
    """Arrays that have not one value for each item, or each respondent."""
    counts, verdict, parts = result.counts, result.verdict, result.components
    of_items: dict[str, Any] = {
        "discrimination": result.parameters.discrimination,
        "intercept": result.parameters.intercept,
        "guessing": result.parameters.guessing,
        "status": result.status,
        "counts.item_right": counts.item_right,
        "counts.item_responses": counts.item_responses,
        "p_negative": verdict.p_negative,
        "wrong_key": verdict.wrong_key,
        "components.items": None if parts is None else parts.items,
        "fixed": result.fixed,
        "drift_z": result.drift_z,
        "drifts": result.drifts,
        "quality_standard": result.quality_standard,
    }
    of_respondents: dict[str, Any] = {
        "ability": result.ability,
        "ability_se": result.ability_se,
        "synthetic": result.synthetic,
        "counts.respondent_right": counts.respondent_right,
        "counts.respondent_responses": counts.respondent_responses,
        "components.respondents": None if parts is None else parts.respondents,
    }
    for kind, labels, arrays in (
        ("item", result.item_labels, of_items),
        ("respondent", result.respondent_labels, of_respondents),
    ):
        for name, values in arrays.items():
            if values is not None and np.shape(values) != (len(labels),):
                yield f"{name} must have one value per {kind}"
    rows = result.batch_rows
    if rows is not None and np.shape(rows)[1:] != (len(BATCH_COLUMNS),):
        yield f"batches must have {len(BATCH_COLUMNS)} numbers each"
    if result.standard_errors.shape != (len(result.item_labels), 4):
        yield "standard errors must be four of each item"


def _ranges(result: FitResult) -> Iterator[str]:
    """Rules that numbers out of their range break, or none where there must be one."""
    parameters, errors = result.parameters, result.standard_errors
    of_items = parameters.discrimination + parameters.intercept + parameters.guessing
    if not np.isfinite(of_items[np.array(result.status) != "no responses"]).all():
        yield "parameters must be finite where there are responses"
    if not np.isfinite(result.ability).all():
        yield "abilities must be finite"
    if not np.isfinite(result.ability_se).all() or (result.ability_se < 0).any():
        yield "errors of abilities must be finite, and 0 or more"
    numbers = np.array((result.log_likelihood, result.latent_mean, result.latent_sd))
    if not np.isfinite(numbers).all():
        yield "log_likelihood, latent_mean and latent_sd must be finite"
    if result.latent_sd <= 0:
        yield "latent_sd must be above 0"
    if result.log_likelihood > 0:
        yield "log_likelihood must be at most 0"
    scaled = parameters.discrimination, parameters.intercept, result.ability, result.ability_se
    if any((np.abs(values) > _LARGEST).any() for values in (*scaled, numbers[1:])):
        yield f"parameters and abilities must lie within ±{_LARGEST:g}"
    if ((errors < 0) | (errors > _LARGEST_ERROR)).any():
        yield f"standard errors must be from 0 to {_LARGEST_ERROR:g}"


def _ranges_of_counts(result: FitResult) -> Iterator[str]:
    """Rules that counts break, and what was told by them."""
    counts = result.counts
    for right, responses in (
        (counts.item_right, counts.item_responses),
        (counts.respondent_right, counts.respondent_responses),
    ):
        whole = right.dtype.kind in "iu" and responses.dtype.kind in "iu"
        if not whole or (right < 0).any() or (right > responses).any():
            yield "counts must be whole numbers, 0 or more, right ones no more than all"
    if result.responses is not None:
        of_responses = result.patterns.counts
        same = (np.array_equal(*pair) for pair in zip(counts, of_responses, strict=True))
        if not all(same):
            yield "counts must be those of the responses"
    p_negative = result.verdict.p_negative
    if ((p_negative < 0) | (p_negative > 1)).any():
        yield "p_negative must be a probability"
