"""What is predicted: the difficulty of items by several measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import independent_share
from irtkit.fitting import fit, silently
from irtkit.io.reading import as_responses
from irtkit.irf import EXTREME

if TYPE_CHECKING:
    import pandas as pd

TARGETS = ("1PL", "Rasch", "2PL", "average_error", "expected_error")
"""Columns of the table that can be predicted."""


def difficulty_targets(given: object, **reading: Any) -> pd.DataFrame:
    """Difficulty of items by the 1PL, the 2PL, average and expected error.

    Parameters
    ----------
    given : FitResult, ResponseMatrix, DataFrame or path
        A FitResult with its responses, or responses, or what :func:`irtkit.read_responses` takes.
        The 1PL and the 2PL are fitted with prior="weak", unless the result is already one.
    **reading : optional
        Settings of :func:`irtkit.read_responses`.

    Returns
    -------
    pandas.DataFrame
        Index "item". Columns: 1PL (difficulty in SDs of ability), Rasch (the same in logits), 2PL
        (cropped at ±6, as with slopes near 0), average_error, and standard errors (``_se``) of
        these four. Then expected_error (by the 2PL) and slope (discrimination of the 2PL). NaN if
        an item lacks responses. A cropped difficulty lacks a standard error.

    Raises
    ------
    TypeError
        If a result comes with settings of reading.
    ValueError
        If a result was saved without its responses, or responses cannot be read.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.prediction import difficulty_targets
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.2, 0.8], [-1.0, 0.0, 1.0])
    >>> responses = irtkit.simulate_responses(items, [k / 50 - 2 for k in range(200)], seed=1)
    >>> table = difficulty_targets(responses)
    >>> bool(table["1PL"].is_monotonic_increasing), bool(table["2PL"].is_monotonic_increasing)
    (True, True)
    """
    import pandas as pd

    if isinstance(given, FitResult) and reading:
        raise TypeError(f"{min(reading)}= is for responses that are read, and given is a result")
    responses = given.responses if isinstance(given, FitResult) else as_responses(given, **reading)
    if responses is None:
        raise ValueError("the result was saved without its responses: give these")
    own = given.model if isinstance(given, FitResult) else ""
    with silently():  # warnings are given where the user fits
        of_1pl, of_2pl = (
            (given if own == model else fit(responses, model, progress=False)).items  # type: ignore[attr-defined]
            for model in ("1PL", "2PL")
        )
    slope = of_1pl["discrimination"]
    error, n_responses = of_1pl["average_error"], of_1pl["n_responses"]
    patterns = patterns_of(responses, synthetic_is_real=False)
    varied = error.between(0, 1, inclusive="neither").to_numpy()
    n = n_responses
    if patterns.repeated and varied.any():  # trials of a respondent are not independent
        share = np.where(varied, 1 - error.to_numpy(), 0.0)
        n = n * independent_share(patterns, patterns.weight * patterns.real, share, varied)
    location = of_2pl["difficulty"].clip(-EXTREME, EXTREME)
    located = of_2pl["difficulty"].abs() <= EXTREME
    answered = n > 0
    return pd.DataFrame(
        {
            "1PL": of_1pl["difficulty"].where(answered),
            "1PL_se": of_1pl["difficulty_se"],
            "Rasch": (of_1pl["difficulty"] * slope).where(answered),
            "Rasch_se": of_1pl["intercept_se"],
            "2PL": location.where(answered),
            "2PL_se": of_2pl["difficulty_se"].where(located),
            "average_error": error,
            # one answer of each kind added, so that no error is 0 (Agresti & Caffo 2000)
            "average_error_se": np.sqrt((error * n + 1) * ((1 - error) * n + 1) / (n + 2) ** 3),
            "expected_error": of_2pl["expected_error"].where(answered),
            "slope": of_2pl["discrimination"],
        }
    )
