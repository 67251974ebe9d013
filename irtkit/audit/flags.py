"""Suspect items, worst first, each with the reasons.

Which slopes are called negative is a decision at a false-discovery rate: items are taken in the
order of the probability that their slope is below 0, as long as that is above ½ and the mean of
the remaining doubt, 1 − p, over those taken stays at or under the rate (Newton, Noueiry, Sarkar &
Ahlquist 2004).
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from irtkit.audit.answers import strong_answers
from irtkit.audit.families import clustered_share, family_codes
from irtkit.audit.power import power_of
from irtkit.calibration.caveats import doubts_one_ability
from irtkit.calibration.result import FitResult
from irtkit.checks import check_number, check_type

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.signs import SlopeSigns, Verdict

    Array = NDArray[np.float64]
    Groups = Mapping[Hashable, Hashable] | Sequence[Hashable] | pd.Series[str] | str

NEGATIVE = "negative discrimination"
_FAMILIES = "families"
_INTERVAL = 1.96  # half of a 95 % interval, in standard errors
_ABILITIES = 201
"""Quantiles of ability over which information is averaged, every half percent."""
_NOT_ONE_ABILITY = (
    "the fit warned that one ability does not explain the responses: items called negative may "
    "then have right keys; audit the items of one kind by themselves, or name the families (groups)"
)
_LEAST_POWER = 0.5
"""Power under which a warning says that respondents are few: more is missed than found."""


def flag_items(
    result: FitResult,
    *,
    fdr: float = 0.05,
    flat_information: float = 0.1,
    extreme_difficulty: float = 6.0,
    chance: float | None = None,
    groups: Groups | None = None,
    predictions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """List the suspect items of a fit, worst first, with the reasons.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned.
    fdr
        False-discovery rate of the decision that a slope is negative: the share of the items so
        called that is expected to be called so wrongly.
    flat_information
        An item is flat if the 95 % interval of its discrimination holds 0, its trend is not above
        0 beyond doubt, and its information, averaged over the respondents, is less than this share
        of the median item's (2PL and 3PL, with standard errors).
    extreme_difficulty
        An item is extreme if its difficulty lies further than this from 0, in SDs of ability.
    chance
        Probability of guessing right, such as 0.25 for four choices. With it, items are listed
        whose guessing (3PL, with standard errors) lies above it by more than 1.96 of them.
    groups
        Family of every respondent, when some are versions of one another: a mapping or Series from
        label to family, or a list in the order of the respondents; "similar" joins the pairs of
        :func:`irtkit.similar_respondents`. The evidence on slopes then counts for less by the
        variance of slopes between respondents over that between families (cluster-robust, the
        same factor for all items), and not by what near-copies are found without being named.
    predictions
        What each respondent answered, index = respondents, columns = items, missing cells allowed.
        Adds which answer the strong agree on, and lists the items where three quarters of them
        give one that is not marked right.

    Returns
    -------
    pandas.DataFrame
        One row per suspect item, index "item", in the order of ``p_negative``. Columns: reasons
        (joined by "; "), p_negative (probability that the slope is below 0), wrong_key (log of how
        many times likelier the responses are if the item is inverted than if it is not: rank by it
        to find wrong keys; above 3 is strong), trend (of the responses with how strong respondents
        are, in standard errors), discrimination, discrimination_se, difficulty, average_error,
        n_responses; with ``predictions`` also strong_answer, strong_share (of the ablest quarter
        of respondents, who gave it) and marked_right (the answer that counts as right; missing
        where none or several do).

        p_negative judges trends with how many items respondents get right, by
        :mod:`irtkit.signs`, and so is the same for every model. Respondents that answer alike
        beyond their abilities count for as many as are independent, ``result.dependence``, in
        p_negative, wrong_key and trend.

    Raises
    ------
    TypeError
        If ``result`` is not a FitResult, or an argument is of another kind altogether.
    ValueError
        If a threshold is out of range or has no meaning for the model, groups or predictions do
        not go with the respondents, or the responses that they need are not saved with the result
        or are sparse.

    Warns
    -----
    UserWarning
        If there are too few respondents to find most inverted items (with the number that would
        do), if the matrix holds no more structure than noise (a result without its responses
        cannot tell these), or if the fit warned that one ability does not explain the responses.

    Examples
    --------
    >>> import warnings, irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> with warnings.catch_warnings(action="ignore"):  # one ability does not explain these systems
    ...     result = irtkit.fit(crowd.responses, "2PL")
    ...     flagged = irtkit.flag_items(result, predictions=crowd.predictions)
    >>> flagged.loc[flagged["wrong_key"].idxmax(), ["strong_answer", "marked_right"]].to_dict()
    {'strong_answer': 3, 'marked_right': 9}
    """
    check_type("result", result, FitResult)
    thresholds = {"flat_information": flat_information, "extreme_difficulty": extreme_difficulty}
    check_thresholds(fdr=fdr, chance=chance, **thresholds)
    if chance is not None and result.model != "3PL":
        raise ValueError(f"chance is for the 3PL, which has guessing; this is a {result.model}")
    answers = None if predictions is None else strong_answers(result, predictions)
    signs = None if result.responses is None else result.signs
    verdict = result.verdict
    if doubts_one_ability(result.warnings):
        warnings.warn(_NOT_ONE_ABILITY, stacklevel=2)
    if groups is not None:
        families = family_codes(result, groups)
        signs = result.signs.weighted(clustered_share(result, families))
        verdict = signs.verdict
        _warn(signs, fdr, len(np.unique(families[~result.synthetic])), _FAMILIES)
    elif signs is not None:
        _warn(signs, fdr, signs.dependence.independent, signs.dependence.unit)
    negative = _discoveries(verdict.p_negative, fdr)
    trend = np.full(len(negative), np.nan) if signs is None else signs.score.z
    right, answered = result.counts.item_right, result.counts.item_responses
    guessing = result.parameters.guessing - _INTERVAL * result.standard_errors[:, 2]
    difficulty = np.abs(result.parameters.difficulty) / result.latent_sd
    reasons = {
        NEGATIVE: negative,
        "flat discrimination": _flat(result, flat_information) & ~negative & ~(trend > _INTERVAL),
        "no variance: all right": (answered > 0) & (right == answered),
        "no variance: all wrong": (answered > 0) & (right == 0),
        "no responses": np.array(result.status) == "no responses",
        "extreme difficulty": difficulty > extreme_difficulty,
        "guessing above chance": guessing > (1.0 if chance is None else chance),
    }
    if answers is not None:
        reasons["the strong agree on another answer"] = answers.pop("another").to_numpy()
    table = _table(result, verdict, trend, reasons)
    return table if answers is None else table.join(answers)


def check_thresholds(
    *, fdr: float, flat_information: float, extreme_difficulty: float, chance: float | None
) -> None:
    """Refuse thresholds that are no numbers, or out of range; chance may be None."""
    check_number("fdr", fdr, above=0, below=1)
    check_number("flat_information", flat_information, least=0, most=math.inf)
    check_number("extreme_difficulty", extreme_difficulty, above=0, most=math.inf)
    if chance is not None:
        check_number("chance", chance, least=0, below=1)


def _discoveries(p_negative: Array, fdr: float) -> NDArray[np.bool_]:
    """Items whose slope is called negative."""
    order = np.argsort(-np.nan_to_num(p_negative), kind="stable")
    doubt = np.cumsum(1 - np.nan_to_num(p_negative[order])) / np.arange(1, len(order) + 1)
    found = np.zeros(len(p_negative), dtype=np.bool_)
    found[order[: np.searchsorted(doubt, fdr, side="right")]] = True
    return found & (np.nan_to_num(p_negative) > 0.5)


def _flat(result: FitResult, least: float) -> NDArray[np.bool_]:
    """Items with a slope of their own that may be 0 and little information."""
    answered = np.array([status == "ok" for status in result.status])
    if result.model not in {"2PL", "3PL"} or not answered.any():
        return np.zeros(len(answered), dtype=np.bool_)
    real = result.ability[~result.synthetic]
    abilities = np.quantile(real, np.linspace(0, 1, min(len(real), _ABILITIES)))
    information = result.parameters.information(abilities).mean(axis=0)
    little = information < least * np.median(information[answered])
    slope, error = result.parameters.discrimination, result.standard_errors[:, 0]
    return np.asarray(answered & little & (np.abs(slope) < _INTERVAL * error))


def _table(
    result: FitResult, verdict: Verdict, trend: Array, reasons: dict[str, NDArray[np.bool_]]
) -> pd.DataFrame:
    """Suspect items in the order of the probability that they are negative."""
    suspect = np.any(list(reasons.values()), axis=0)
    rank = np.nan_to_num(verdict.p_negative, nan=-1.0)
    chosen = [j for j in np.argsort(-rank, kind="stable") if suspect[j]]
    texts = ["; ".join(text for text, holds in reasons.items() if holds[j]) for j in chosen]
    added = {
        "reasons": np.array(texts, dtype=object),
        "p_negative": verdict.p_negative[chosen],
        "wrong_key": verdict.wrong_key[chosen],
        "trend": trend[chosen],
    }
    kept = ["discrimination", "discrimination_se", "difficulty", "average_error", "n_responses"]
    return result.items.iloc[chosen][kept].assign(**added)[[*added, *kept]]


def _warn(signs: SlopeSigns, fdr: float, n: int, unit: str) -> None:
    """Say what keeps the decision from being sharp."""
    alike = "" if unit == _FAMILIES else signs.dependence.sentence
    alike += "; " if alike else ""
    if signs.p_any_slope < 0.5:
        warnings.warn(
            f"{alike}the responses have no more in common than noise, or there are too few {unit} "
            "to tell: nothing can be said about negative discrimination",
            stacklevel=3,
        )
        return
    power = power_of(signs, fdr, n)
    if power.found < _LEAST_POWER:
        warnings.warn(f"{alike}{power.sentence(n, unit)}", stacklevel=3)
