"""Scores of respondents on items that are already calibrated."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from irtkit.checks import check_number, check_one_of, first_names
from irtkit.io.reading import as_responses
from irtkit.patterns import float_blocks, patterns_of
from irtkit.scoring.calibrated import calibrated_items

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.patterns import Patterns
    from irtkit.responses import ResponseMatrix
    from irtkit.scoring.abilities import Abilities
    from irtkit.scoring.calibrated import CalibratedItems

MethodName = Literal["EAP", "MAP", "ML", "WLE"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)


def score(
    responses: object,
    items: object,
    method: MethodName = "EAP",
    *,
    level: float = 0.95,
    latent_sd: float | None = None,
    **reading: Any,
) -> pd.DataFrame:
    """Score respondents on calibrated items, which stay as they are.

    Parameters
    ----------
    responses
        Right and wrong answers, respondents × items: a ResponseMatrix or anything that
        :func:`irtkit.read_responses` takes, of which ``reading`` are the settings. Items are found
        by their labels; a part of them, in any order, is enough. Missing cells, repeated trials and
        sparse matrices are fine.
    items
        The items: a result of :func:`irtkit.fit`, a table with the columns discrimination and
        intercept or difficulty (and guessing), the path of a saved result, of such a table or of
        the folder that ``irtkit fit --out`` wrote, or :class:`irtkit.ItemParameters`, which have no
        labels: responses then have the same items in the same order.
    method
        "EAP" (posterior mean), "MAP" (posterior mode), "ML" (maximum likelihood) or "WLE" (weighted
        likelihood, Warm 1989). EAP and MAP pull towards the mean of the population, the more the
        fewer items were answered; ML and WLE do not, and ML has no finite estimate where all
        answers point one way.
    level
        Coverage of the intervals.
    latent_sd
        SD of ability in the population, with a table of items: 1 by default.

    Returns
    -------
    DataFrame
        Index "respondent", in the order of the responses:

        - ability, ability_se: on the scale of the items. The error of EAP is the posterior SD, that
          of MAP and ML from the second derivative of what is maximised, that of WLE from the
          information of the items answered, somewhat too large where they are few. Errors of the
          items themselves are not in it.
        - ability_low, ability_high: posterior quantiles (EAP), the estimate and a multiple of its
          error (MAP, WLE), or the abilities that a likelihood-ratio test does not reject (ML).
        - accuracy, n_responses: share right of what was answered, and how many responses.
        - expected_score, expected_score_low, expected_score_high: share right of *all* items, those
          answered as they were answered (in the mean of their trials), the others as the posterior
          of ability has it, whatever the method (p-IRT: Polo et al. 2024). The interval holds the
          uncertainty of ability and of each answer not seen; not that the model may be wrong for a
          respondent.
        - status: "ok"; "unbounded" (ML without a maximum: ability is ±inf); "no responses" (to
          items that tell anything: EAP and MAP are those of the population).

    Raises
    ------
    TypeError
        If items or responses are of a wrong kind.
    ValueError
        If no item of the responses is among the items, or a table of items lacks a column.

    Warns
    -----
    UserWarning
        If some items of the responses are not among the items: they are left out.

    Examples
    --------
    >>> import irtkit, pandas as pd
    >>> items = pd.DataFrame(
    ...     {"discrimination": [1.0, 1.5, 2.0], "difficulty": [-1.0, 0.0, 1.0]}, ["q1", "q2", "q3"]
    ... )
    >>> new = irtkit.ResponseMatrix([[1, 1], [0, 1]], ["gpt", "llama"], items=["q1", "q3"])
    >>> irtkit.score(new, items)[["ability", "ability_se", "expected_score"]].round(2)
                ability  ability_se  expected_score
    respondent
    gpt            1.08        0.74            0.93
    llama          0.53        0.75            0.55
    """
    from irtkit.scoring.abilities import abilities

    check_one_of("method", method, METHODS)
    level = check_number("level", level, above=0, below=1)
    bank = calibrated_items(items, latent_sd)
    matrix = as_responses(responses, **reading)
    columns, places = _in_common(matrix, bank)
    correlation, sd = bank.trial_correlation, bank.latent_sd
    patterns = patterns_of(matrix, synthetic_is_real=True).with_columns(columns)
    unit = bank.parameters.with_unit_sd(sd)
    rest = unit.chosen(np.setdiff1d(np.flatnonzero(bank.known), places))
    weighed = patterns.with_trial_correlation(correlation)
    found = abilities(weighed, unit.chosen(places), method, rest=rest, level=level)
    return _table(matrix, patterns, found, sd=sd, level=level, n_rest=rest.n_items)


def _in_common(
    matrix: ResponseMatrix, bank: CalibratedItems
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Columns of the responses that are calibrated, and which items they are."""
    known = bank.known
    if bank.labels is None:
        if matrix.n_items != len(known):
            raise ValueError(
                f"items are {len(known)} without labels and responses have {matrix.n_items}; give "
                "a table of items with their labels as its index"
            )
        places = np.arange(len(known))
    else:
        number = {label: k for k, label in enumerate(bank.labels)}
        places = np.array([number.get(label, -1) for label in matrix.items])
    found = (places >= 0) & known[places]
    columns = np.flatnonzero(found)
    strange = [matrix.items[k] for k in np.flatnonzero(~found)]
    if not len(columns):
        of_items = list(bank.labels or ())
        raise ValueError(
            f"responses have no calibrated item: theirs are {first_names(strange)}; calibrated "
            f"are {first_names(of_items)}"
        )
    if strange:
        warnings.warn(
            f"{len(strange)} of {matrix.n_items} items are not calibrated and are left out: "
            f"{first_names(strange)}",
            UserWarning,
            stacklevel=3,
        )
    return columns, places[columns]


def _table(
    matrix: ResponseMatrix,
    patterns: Patterns,
    found: Abilities,
    *,
    sd: float,
    level: float,
    n_rest: int,
) -> pd.DataFrame:
    import pandas as pd
    from scipy.special import ndtri

    counts, seen, n_items = patterns.counts, _seen(patterns), patterns.n_items + n_rest
    ability = found.ability
    missing = np.isnan(ability) | (counts.respondent_responses == 0)
    status = np.where(np.isinf(ability), "unbounded", np.where(missing, "no responses", "ok"))
    expected, spread = seen + found.rest, ndtri((1 + level) / 2) * np.sqrt(found.rest_variance)
    most = seen + n_items - _asked(patterns)
    columns = {
        "ability": sd * ability,
        "ability_se": sd * found.se,
        "ability_low": sd * found.low,
        "ability_high": sd * found.high,
        "accuracy": counts.accuracy,
        "n_responses": counts.respondent_responses,
        "expected_score": expected / n_items,
        "expected_score_low": np.maximum(expected - spread, seen) / n_items,
        "expected_score_high": np.minimum(expected + spread, most) / n_items,
        "status": status.astype(object),
    }
    return pd.DataFrame(columns, index=pd.Index(matrix.respondents, name="respondent"))


def _seen(patterns: Patterns) -> Array:
    """Sum over the items a respondent answered of the share of right trials, (n,)."""
    if not patterns.repeated:
        return patterns.counts.respondent_right.astype(np.float64)
    parts = []
    for _, right, answered in float_blocks(patterns):
        if patterns.sparse:
            right.data /= answered.data
            parts.append(np.asarray(right.sum(axis=1)).ravel())
        else:
            parts.append((right / np.maximum(answered, 1)).sum(axis=1))
    return np.concatenate(parts)


def _asked(patterns: Patterns) -> Array:
    """How many items each respondent answered, (n,)."""
    if not patterns.repeated:
        return patterns.counts.respondent_responses.astype(np.float64)
    asked = patterns.trials > 0
    return np.asarray(asked.sum(axis=1), dtype=np.float64).ravel()
