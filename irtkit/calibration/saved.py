"""Results read back from their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.calibration.result import (
    FORMAT,
    FitResult,
    Quadrature,
    Settings,
)
from irtkit.data.connectivity import Components
from irtkit.data.patterns import Counts
from irtkit.files import as_path
from irtkit.findings import Finding
from irtkit.irf import ItemParameters
from irtkit.signs import Dependence, Verdict

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

RESULT_FILE = "result.npz"
"""Name of a saved result in the folder that ``irtkit fit --out`` wrote."""


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
    made["findings"] = tuple(map(Finding.restored, record["findings"]))
    if record["responses"] is not None:
        made["responses"] = storage.restored_responses(record["responses"], respondents, items)
    if record["posterior"] is not None:
        from irtkit.calibration.variational.posterior import Posterior

        shared = {name: record[name] for name in ("item_labels", "respondent_labels", "synthetic")}
        made["posterior"] = Posterior.restored(record["posterior"], **shared)
    result = FitResult(**made)
    _check_lengths(result)
    _ = result.items, result.respondents  # they refuse what does not go together
    return result


def _check_lengths(result: FitResult) -> None:
    """Refuse arrays that do not have one value for each item or each respondent."""
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
                raise ValueError(f"{name} must have one value per {kind}")
    if result.standard_errors.shape != (len(result.item_labels), 4):
        raise ValueError("standard errors must be four of each item")
