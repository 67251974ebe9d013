"""Respondents that answer alike far beyond what the model expects of their abilities.

Checkpoints and fine-tunes of one family repeat each other's answers, right and wrong, and so make
evidence look stronger than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.audit.expected import Part, expected, rows_of_fit

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult

    Array = NDArray[np.float64]

_FALSE_PAIRS = 0.01
"""Pairs expected by chance, were the model true."""
_RESPONDENTS_AT_ONCE = 1024


def similar_respondents(result: FitResult, *, excess: float = 0.5) -> pd.DataFrame:
    """List the pairs of respondents that agree far beyond what the model expects.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    excess
        Least share of the agreement left over by the model that a pair must have:
        (observed − expected) / (1 − expected), 1 for identical answers. Pairs must also agree more
        than chance explains (one false pair in a hundred tables, were the model true).

    Returns
    -------
    pandas.DataFrame
        One row per pair, most alike first: respondent, other, agreement (share of the items both
        answered on which both are right or both wrong), expected (the same under the model),
        excess, n_items. Repeated trials enter by their share right. Families for ``groups=`` of
        :func:`irtkit.flag_items` can be read off it.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a fit with its responses, or ``excess`` lies outside 0 to 1.

    Examples
    --------
    >>> import irtkit
    >>> result = irtkit.fit(irtkit.load_digits_crowd().responses, "2PL")
    >>> pairs = irtkit.similar_respondents(result, excess=0.7)
    >>> pairs[["respondent", "other"]].values.tolist()
    [['centroid-n50', 'bayes-multinomial-n50'], ['gp-rbf-n50', 'centroid-n50']]
    """
    import pandas as pd
    from scipy.special import ndtri

    from irtkit.calibration.result import FitResult

    if not isinstance(result, FitResult):
        raise TypeError(f"result must be a FitResult, got {type(result).__name__}")
    if not 0 <= excess <= 1:
        raise ValueError(f"excess must lie between 0 and 1, got {excess}")
    rows = rows_of_fit(result, "similar_respondents")
    where = np.flatnonzero(rows.real & (rows.respondent_responses > 0))
    n_pairs = max(len(where) * (len(where) - 1) / 2, 1.0)
    least_z = float(-ndtri(_FALSE_PAIRS / n_pairs))
    labels = np.array(result.respondent_labels, dtype=object)[where]
    kept = np.isin(np.arange(len(rows.group)), where)
    found: list[tuple[NDArray[Any], ...]] = []
    for start in range(0, len(where), _RESPONDENTS_AT_ONCE):
        some = slice(start, start + _RESPONDENTS_AT_ONCE)
        both, observed, chance, variance = _agreements(result, kept, some)
        shared = np.maximum(both, 1)
        observed, chance = observed / shared, chance / shared
        share = (observed - chance) / np.maximum(1 - chance, 1e-12)
        unlikely = (observed - chance) * shared > least_z * np.sqrt(np.maximum(variance, 1e-12))
        later = np.arange(len(where)) > np.arange(len(where))[some, None]
        one, other = np.nonzero(unlikely & later & (share >= excess) & (both > 0))
        at = one, other
        found.append((one + start, other, observed[at], chance[at], share[at], both[at]))
    one, other, observed, chance, share, both = map(np.concatenate, zip(*found, strict=True))
    table = pd.DataFrame(
        {
            "respondent": labels[one],
            "other": labels[other],
            "agreement": observed,
            "expected": chance,
            "excess": share,
            "n_items": both.astype(np.int64),
        }
    )
    return table.sort_values("excess", ascending=False, kind="stable", ignore_index=True)


def _agreements(result: FitResult, kept: NDArray[np.bool_], some: slice) -> Array:
    """Of some respondents with all: items both answered, agreements, expected ones, variance.

    Two respondents agree on an item with probability e = PP′ + QQ′, independently by item.
    """
    total = np.zeros(())
    for part in expected(result, kept):
        total = total + _agreements_of(part, some)
    return total


def _agreements_of(part: Part, some: slice) -> Array:
    answered = (part.trials > 0).astype(np.float64)
    right = part.right / np.maximum(part.trials, 1)
    p, q = part.probability * answered, (1 - part.probability) * answered
    wrong = answered - right
    chance = p[some] @ p.T + q[some] @ q.T
    square = (q**2)[some] @ (q**2).T + 2 * (p * q)[some] @ (p * q).T + (p**2)[some] @ (p**2).T
    return np.stack(
        [
            answered[some] @ answered.T,
            right[some] @ right.T + wrong[some] @ wrong.T,
            chance,
            chance - square,
        ]
    )
