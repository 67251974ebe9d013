"""Expected performance on other items, and an alarm if the observed one differs.

Martínez-Plumed et al. (AAAI 2022) estimate a system's ability from its accuracy at the mean
difficulty of the original items. Then they predict the accuracy at the mean difficulty of new ones.
Here the logistic curve of the system, P = σ(α − βb), predicts each new item. It has Firth's penalty
(1993), half the logarithm of the determinant of the information, which keeps it finite for perfect
records. Repeated trials of an item that differ by more than its difficulty have a dispersion φ
(quasi-likelihood, McCullagh & Nelder 1989), at least 1. The accuracy on J new items with n_j trials
has about this variance, with x_j = (1, b_j) and V the covariance of the curve, and its log-odds are
about normal. The observed accuracy is bounded by half a response from 0 and 1.

    variance = φ (g'Vg + Σ P_j (1 − P_j) / n_j / J²),     g = Σ P_j (1 − P_j) x_j / J.

The benchmark ``benchmarks/difficulty.py`` measures how often there is an alarm without a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.capabilities import require
from irtkit.checks import check_number, check_seed
from irtkit.curves.answered import Answered
from irtkit.findings import Finding, Remedy, warn
from irtkit.irf import logistic

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from irtkit.curves.answered import Part
    from irtkit.irf import Array

_LEAST_SYSTEMS = {"Rasch": 40, "1PL": 40}  # For about 5 % of alarms in simulations; else 100.


def expected_performance(
    result: object,
    new: object,
    *,
    difficulties: Any = None,
    original_difficulties: Any = None,
    difficulty_se: Any = None,
    systems: Iterable[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Accuracy that difficulty explains on new items, and an alarm if the observed one differs.

    Parameters
    ----------
    result : FitResult, or responses
        A FitResult with its responses to the original items. With ``original_difficulties``, also
        those responses alone.
    new : ResponseMatrix, path or other responses
        Responses of the same systems to new items, or further ones to the same items: anything that
        :func:`irtkit.read_responses` takes.
    difficulties : mapping, Series or list, optional
        Difficulty of each new item by label, such as a predicted one. By default, the difficulty of
        the item with this label in ``result``.
    original_difficulties : mapping, Series or list, optional
        Difficulties of the original items from the same source. By default, difficulties of
        ``result`` from fits without the system (:func:`irtkit.characteristic_curves`).
    difficulty_se : float, mapping, Series or list, optional
        Standard errors of the given difficulties of both sets, by label or one for all. NaN if
        unknown. By default 0, also for difficulties predicted from features.
    systems : list of str, optional
        Labels of the systems. By default all that answered both.
    level : float, default 0.95
        Coverage of the intervals. The rate of false alarms for each system is 1 − ``level``.
    seed : int, default 0
        Seed of the folds of systems that are left out together.

    Returns
    -------
    pandas.DataFrame
        Index "respondent", with the columns

        - n_items: new items that were answered and have a difficulty
        - accuracy, original_accuracy: on the new and on the original items
        - expected, expected_low, expected_high: accuracy if only difficulty has changed
        - p_value, alarm: two-sided, and whether it is below 1 − ``level``
        - shift: how much harder items must be to explain the accuracy (NaN unless the curve falls
          significantly)
        - difficulty, original_difficulty: means
        - beyond: fraction of new items outside the range of the original difficulties

    Raises
    ------
    TypeError, ValueError
        If responses or difficulties are missing, no system answered both sets, original items do
        not differ in difficulty by more than its errors, or ``result`` is a 3PL.

    Warns
    -----
    IRTWarning
        With the code "few-systems-for-alarms" if difficulties come from a fit to fewer than 40
        systems, or of a 2PL to fewer than 100.

    Notes
    -----
    Estimated difficulties are regressed to the mean of their set. That is wrong for items chosen
    because they look hard. If many systems deviate in one direction, suspect the difficulties: a
    mean error of predicted ones is common to all systems.

    The curve falls to 0 as items get harder. With guessing it does not, and alarms on harder items
    would be false, so results of the 3PL are refused.

    See Also
    --------
    irtkit.characteristic_curves, irtkit.gate

    Examples
    --------
    >>> import irtkit
    >>> difficulty = [k / 150 - 3 for k in range(900)]
    >>> items = irtkit.ItemParameters.from_difficulty([1.5] * 900, difficulty)
    >>> abilities = [k / 10 - 2 for k in range(40)]
    >>> before = irtkit.simulate_responses(items, abilities)
    >>> result = irtkit.fit(before, "1PL")
    >>> after = irtkit.simulate_responses(items, [0.9, *abilities[1:]], seed=1)
    >>> found = irtkit.expected_performance(result, after)
    >>> bool(found.loc["respondent-1", "alarm"]), bool(found.loc["respondent-1", "shift"] < -2)
    (True, True)
    """
    import pandas as pd

    check_seed(seed)
    level = check_number("level", level, above=0, below=1)
    require("expected_performance", result)
    require("expected_performance", new)
    if isinstance(result, FitResult) and result.parameters.guessing.any():
        raise ValueError("result must not be of the 3PL: with guessing no curve falls to 0")
    if isinstance(result, FitResult) and original_difficulties is None:
        if difficulties is not None or difficulty_se is not None:
            raise ValueError(
                "difficulties and difficulty_se need original_difficulties from the same source, "
                "because the difficulties in result have another scale"
            )
        n = result.n_answering
        least = _LEAST_SYSTEMS.get(result.model, 100)
        if n < least:
            remedy = (Remedy({}, code='irtkit.fit(responses, "1PL")'),) if n >= 40 else ()
            values = {"n": n, "least": least, "model": result.model}
            warn(Finding("few-systems-for-alarms", "warning", values, remedy))
    original = Answered.of(
        result, original_difficulties, "original_difficulties", se=difficulty_se, seed=seed
    )
    if difficulties is None:
        difficulties = dict(zip(original.items, original.difficulty, strict=True))
        difficulty_se = dict(zip(original.items, original.se, strict=True))
    later = Answered.of(new, difficulties, "difficulties", se=difficulty_se, seed=seed)
    place = {name: row for row, name in enumerate(later.respondents)}
    expectations = {}
    for row in original.rows(systems):
        name = original.respondents[row]
        before = original.part(row)
        if name not in place:
            continue
        after = later.part(place[name])
        if len(before.items) and len(after.items) and before.reliability() > 0:
            expectations[name] = _expectation(before.regressed(), after.regressed(), level)
    if not expectations:
        raise ValueError("no system answered new items and original ones of different difficulty")
    return pd.DataFrame.from_dict(expectations, orient="index").rename_axis("respondent")


def falling_curve(part: Part) -> tuple[Array, Array, float]:
    """Logistic curve over difficulty: coefficients, their covariance and dispersion of trials."""
    centre = part.difficulty.mean()
    scale = part.difficulty.std()
    x = np.vander((part.difficulty - centre) / scale, 2, increasing=True)
    beta = np.zeros(2)
    for _ in range(30):  # about 8 are needed, and 15 for a perfect record of many items
        p = logistic(x @ beta)
        weight = part.trials * p * (1 - p)
        covariance = np.linalg.inv(x.T @ (x * weight[:, None]))
        leverage = weight * np.einsum("ij,jk,ik->i", x, covariance, x)
        residual = part.trials * (part.share - p)
        step = covariance @ x.T @ (residual + leverage * (0.5 - p))
        beta += step / max(np.linalg.norm(step), 1.0)  # bounded as in the package logistf
    dispersion = max(float(residual @ residual / weight.sum()), 1.0)
    units = np.array([[1.0, -centre / scale], [0.0, 1 / scale]])
    return units @ beta, dispersion * units @ covariance @ units.T, dispersion


def _expectation(original: Part, new: Part, level: float) -> dict[str, Any]:
    """Row of one system."""
    from scipy.special import logit, ndtr, ndtri

    beta, covariance, dispersion = falling_curve(original)
    x = np.vander(new.difficulty, 2, increasing=True)
    n_items = len(x)
    p = logistic(x @ beta)
    variance = p * (1 - p)
    gradient = variance @ x / n_items
    of_answers = dispersion * (variance / new.trials).sum() / n_items**2
    sd = np.sqrt(gradient @ covariance @ gradient + of_answers)
    accuracy = new.share.mean()
    expected = p.mean()
    log_odds = logit(expected)
    se = sd / (expected * (1 - expected))
    bounded = (accuracy * n_items + 0.5) / (n_items + 1)
    z = (logit(bounded) - log_odds) / se
    p_value = 2 * ndtr(-abs(z))
    deviate = ndtri((1 + level) / 2)
    shift = np.nan
    if -beta[1] > deviate * covariance[1, 1] ** 0.5:
        shift = _shift(x @ beta, bounded) / -beta[1]
    easiest = original.difficulty.min()
    hardest = original.difficulty.max()
    beyond = (new.difficulty < easiest) | (new.difficulty > hardest)
    return {
        "n_items": n_items,
        "accuracy": accuracy,
        "expected": expected,
        "expected_low": logistic(log_odds - deviate * se),
        "expected_high": logistic(log_odds + deviate * se),
        "p_value": p_value,
        "alarm": p_value < 1 - level,
        "shift": shift,
        "original_accuracy": original.share.mean(),
        "difficulty": new.difficulty.mean(),
        "original_difficulty": original.difficulty.mean(),
        "beyond": beyond.mean(),
    }


def _shift(log_odds: Array, accuracy: float) -> float:
    """Fall of all log-odds at which an accuracy is expected."""
    from scipy.optimize import brentq

    def excess(fall: float) -> float:
        return float(logistic(log_odds - fall).mean() - accuracy)

    reach = np.abs(log_odds).max() + np.log(4 * (len(log_odds) + 1))
    return float(brentq(excess, -reach, reach))
