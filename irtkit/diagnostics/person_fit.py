"""Person fit: whether the answers of a respondent fit one ability, by lz, infit and outfit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.data.slopes import false_discovery
from irtkit.diagnostics.fitted import fitted
from irtkit.diagnostics.item_statistics import mean_squares
from irtkit.irf import logistic, softplus

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ItemParameters

_LEAST = 1e-12  # Least of what divides: a probability, its distance from 1, or a sum of either.
_NEAREST = 0.02  # Least distance from the mean: the formula for the tail is 0/0 there.
_STEPS = 12  # Newton steps for the saddlepoint.


def respondent_fit(result: FitResult) -> pd.DataFrame:
    """Test whether the answers of each respondent fit one ability.

    Parameters
    ----------
    result
        A result of :func:`irtkit.fit` with its responses. Missing cells are left out.

    Returns
    -------
    pandas.DataFrame
        One row per real respondent, index "respondent":

        - zh: standardised log-likelihood of the answers at the fitted ability (EAP), as in R's
          mirt. Low values mean hard items right and easy items wrong.
        - lz: the same corrected for the estimated ability (lz* of Snijders).
        - p_value: probability of this lz or a lower one.
        - q_value: false-discovery rate (Benjamini & Hochberg).
        - infit, outfit, infit_z, outfit_z: mean squares of residuals over the items answered, as
          in :func:`irtkit.item_fit`.
        - n_responses.

        NaN if no answer had any uncertainty.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a FitResult, or its responses were not saved, are sparse, or hold
        repeated trials.

    Notes
    -----
    p-values come from a saddlepoint approximation with the second-order bias of lz. They take items
    as known, and are too large with few respondents.

    References
    ----------
    Drasgow, Levine & Williams (1985), *Brit. J. Math. Stat. Psychol.* 38, 67–86: lz.
    Snijders (2001), *Psychometrika* 66, 331–342: lz*, with an estimated ability.
    Lugannani & Rice (1980), *Adv. Appl. Prob.* 12, 475–490: tail probability by saddlepoint.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(60), np.linspace(-2, 2, 60))
    >>> values = irtkit.simulate_responses(items, np.linspace(-2, 2, 200), seed=1).values.copy()
    >>> values[150] = values[150, ::-1]  # right where others are wrong
    >>> fit = irtkit.respondent_fit(irtkit.fit(irtkit.ResponseMatrix(values), "1PL"))
    >>> fit["lz"].idxmin(), int((fit["q_value"] < 0.05).sum())
    ('respondent-151', 1)
    """
    import pandas as pd

    parts = fitted(result, "respondent_fit")
    found = [
        _deviations(cells, parts.items, parts.ability[some]) for some, cells, _ in parts.parts()
    ]
    zh, lz, p = np.concatenate(found, axis=1)
    squares = mean_squares(parts, by_respondent=True)
    columns = {"zh": zh, "lz": lz, "p_value": p, "q_value": false_discovery(p), **squares}
    labels = [result.respondent_labels[k] for k in parts.respondents]
    table = pd.DataFrame(columns, index=pd.Index(labels, name="respondent"))
    return table.assign(n_responses=(parts.cells >= 0).sum(axis=1))


def _deviations(
    cells: NDArray[np.int8], items: ItemParameters, ability: Array
) -> tuple[Array, Array, Array]:
    """Zh, lz* and its p-value of respondents, each (n,).

    Zh is Σ(y − P)w / √(Σ P(1 − P)w²) with w = log P/(1 − P). lz* has w − cr in place of w, with
    r = P'/(P(1 − P)) and c = ΣP'w / ΣP'r. An error of ability adds −½ Σ P''(w − cr) / (I + 1).
    """
    a, c = items.discrimination, items.guessing
    s = logistic(np.multiply.outer(ability, a) + items.intercept)
    p = np.clip(c + (1 - c) * s, _LEAST, 1 - _LEAST)
    rise = a * (1 - c) * s * (1 - s)
    answered, variance = cells >= 0, p * (1 - p)
    w, r = np.log(p) - np.log1p(-p), rise / variance
    information = np.maximum((rise * r * answered).sum(axis=1, keepdims=True), _LEAST)
    corrected = w - (rise * w * answered).sum(axis=1, keepdims=True) / information * r
    found = []
    for weight in (w * answered, corrected * answered):
        spread = np.sqrt((variance * weight**2).sum(axis=1, keepdims=True))
        spread[spread <= _LEAST**0.5] = np.nan
        unit = weight / spread
        found.append(((cells - p) * unit).sum(axis=1))
    bend = (rise * a * (1 - 2 * s) * unit).sum(axis=1)
    bias = -0.5 * bend / (information[:, 0] + 1)
    return found[0], found[1], _lower_tail(found[1] - bias, w, unit)


def _lower_tail(z: Array, logit: Array, weight: Array) -> Array:
    """P(Σ(y − P)·weight ≤ z) of independent y, with variance 1, (n,)."""
    from scipy.special import ndtr

    z, p = np.copysign(np.maximum(np.abs(z), _NEAREST), z), logistic(logit)
    tilt = np.zeros_like(z)
    for step in range(_STEPS + 1):
        moved = logit + tilt[:, None] * weight
        tilted = logistic(moved)
        variance = np.maximum((tilted * (1 - tilted) * weight**2).sum(axis=1), _LEAST)
        if step < _STEPS:
            off = z - ((tilted - p) * weight).sum(axis=1)
            tilt = np.clip(tilt + np.clip(off / variance, -1, 1), -10, 10)
    cumulant = (softplus(moved) - softplus(logit)).sum(axis=1) - tilt * (p * weight).sum(axis=1)
    root = np.copysign(np.sqrt(np.maximum(2 * (tilt * z - cumulant), _NEAREST**2)), z)
    return np.asarray(ndtr(root + np.log(tilt * np.sqrt(variance) / root) / root))
