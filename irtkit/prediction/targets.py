"""What is predicted: the difficulty of items by several measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irtkit.calibration.result import FitResult
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
        Index "item". Columns: 1PL (difficulty in SDs of ability) and Rasch (the same in logits),
        with standard errors (``_se``), 2PL (cropped at ±6, as with slopes near 0), average_error,
        and expected_error (by the 2PL). NaN if an item lacks responses.

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
    tables = {}
    with silently():  # warnings are given where the user fits
        for model in ("1PL", "2PL"):
            fitted = isinstance(given, FitResult) and given.model == model
            result: Any = given if fitted else fit(responses, model, progress=False)
            tables[model] = result.items
    of_1pl = tables["1PL"]
    of_2pl = tables["2PL"]
    answered = of_1pl["n_responses"] > 0
    columns = {
        "1PL": of_1pl["difficulty"],
        "1PL_se": of_1pl["difficulty_se"],
        "Rasch": of_1pl["difficulty"] * of_1pl["discrimination"],
        "Rasch_se": of_1pl["intercept_se"],
        "2PL": of_2pl["difficulty"].clip(-EXTREME, EXTREME),
        "average_error": of_1pl["average_error"],
        "expected_error": of_2pl["expected_error"],
    }
    return pd.DataFrame(columns).where(answered)
