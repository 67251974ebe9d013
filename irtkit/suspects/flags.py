"""Suspect and uninformative items, each with the reasons.

An item is suspect if its key or text deserves a look, and uninformative if it merely hardly
discriminates between these systems. Everything that irtkit prints goes by this.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import as_number, check_number, check_type, check_yes_or_no
from irtkit.diagnostics import poorly_fitting
from irtkit.irf import EXTREME
from irtkit.responses import item_texts
from irtkit.signs import FALSE_DISCOVERY_RATE, called_negative, may_fall
from irtkit.suspects.answers import strong_answers
from irtkit.suspects.families import clustered_share, family_codes
from irtkit.suspects.power import power_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.signs import SlopeSigns, Verdict

    Groups = Mapping[Hashable, Hashable] | Sequence[Hashable] | pd.Series[str] | str

NEGATIVE = "negative discrimination"
_UNINFORMATIVE = ("flat discrimination", "extreme difficulty")
_FLAT, _EXTREME = _UNINFORMATIVE
_STRONG = 3.0  # wrong_key, a log Bayes factor: 20 to 1, strong evidence (Kass & Raftery 1995)
_FAMILIES = "families"
_INTERVAL = 1.96  # half of a 95 % interval, in standard errors
_NOT_ONE_ABILITY = (
    "the ability of the fit is not all that responses have in common, as its warnings say: items "
    "{called}; audit the items of one kind by themselves"
)
_CALLED = {True: "called negative may have right keys", False: "with wrong keys may go unnoticed"}
_FIT_NOT_JUDGED = (
    "poor fit cannot be told: fewer than 30 respondents answered every item, or fewer than half of "
    "them, or too few right and wrong responses are expected"
)
_NAME_FAMILIES = ", or name the families of respondents (groups)"
_LEAST_POWER = 0.5
"""Power under which a warning says that respondents are few: more is missed than found."""


def flag_items(
    result: FitResult,
    *,
    fdr: float = FALSE_DISCOVERY_RATE,
    extreme_difficulty: float = EXTREME,
    chance: float | None = None,
    groups: Groups | None = None,
    predictions: pd.DataFrame | None = None,
    poor_fit: bool = False,
) -> pd.DataFrame:
    """List the suspect items of a fit, and then the uninformative ones, with the reasons.

    The key or the text of a suspect item deserves a look. An uninformative one hardly discriminates
    between these systems ("flat discrimination", "extreme difficulty").

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned.
    fdr
        False-discovery rate of the decision that a slope is negative: the share of the items so
        called that is expected to be called so wrongly.
    extreme_difficulty
        An item of status "ok" whose slope is above 0 is extreme if its difficulty lies further than
        this from 0, in SDs of ability.
    chance
        Probability of guessing right, such as 0.25 for four choices. With it, items are listed
        whose guessing (3PL, with standard errors) lies above it by more than 1.96 of them.
    groups
        Family of every respondent, when some are versions of one another: a mapping or Series from
        label to family, or a list in the order of the respondents; "similar" joins the pairs of
        :func:`irtkit.similar_respondents`. Evidence on slopes is then clustered by family, with one
        factor for all items, and not by the near-duplicates that irtkit finds itself.
    predictions
        What each respondent answered, index = respondents, columns = items, missing cells allowed.
        Adds which answer the strong agree on, and lists the items where three quarters of them
        give one that is not marked right.
    poor_fit
        Whether to list items whose curve does not fit as well: those called for the S-X² of
        :func:`irtkit.item_fit` at the rate ``fdr``, the worst of them left out while the others are
        fitted and judged anew, until none is called. Off by default.

    Returns
    -------
    pandas.DataFrame
        One row per listed item, index "item", suspects first, in the order of ``p_negative``.
        Items that all get right, all get wrong or nobody answered say nothing about themselves, and
        are in it for ``predictions`` only; :func:`irtkit.audit` counts them. Columns: reasons
        (joined by "; "), suspect (False if the item is merely uninformative), p_negative
        (probability that the slope is below 0), wrong_key (log of how many times likelier the
        responses are if the item is inverted than if it is not: above 3 it is a reason), trend (of
        the responses with how strong respondents are, in standard errors), discrimination,
        discrimination_se, difficulty, average_error, n_responses; with ``predictions`` also
        strong_answer, strong_share (of the ablest quarter of respondents, who gave it) and
        marked_right (the answer that counts as right; missing where none or several do); last text
        and target, what an item asks and what is right, where ``result.responses.item_table`` has
        them.

        p_negative judges trends with how many items respondents get right, by
        :mod:`irtkit.signs`, and so is the same for every model. Respondents that answer alike
        beyond their abilities count for as many as are independent, ``result.dependence``, in
        p_negative, wrong_key and trend. An item whose fitted slope is above 0 is not called
        negative (2PL and 3PL). "flat discrimination" is the status "flat" of ``result.items``,
        unless all have it: then respondents differ too little. "poor fit" says that the model's
        curve is not that of the item: some weak systems guess, or its share right falls again among
        the strong. It may be said of sound items if one ability does not explain the responses.

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
    table, cautions = flagged(
        result,
        fdr=fdr,
        extreme_difficulty=extreme_difficulty,
        chance=chance,
        groups=groups,
        predictions=predictions,
        poor_fit=poor_fit,
    )
    for caution in cautions:
        warnings.warn(caution, stacklevel=2)
    return table


def flagged(
    result: FitResult,
    *,
    fdr: float,
    extreme_difficulty: float,
    chance: float | None,
    groups: Groups | None,
    predictions: pd.DataFrame | None,
    poor_fit: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Suspect items, and what keeps the decision from being sharp, as `flag_items` warns of it."""
    check_type("result", result, FitResult)
    check_thresholds(fdr=fdr, extreme_difficulty=extreme_difficulty, chance=chance)
    check_yes_or_no(poor_fit=poor_fit)
    if chance is not None and result.model != "3PL":
        raise ValueError(f"chance is for the 3PL, which has guessing; this is a {result.model}")
    answers = None if predictions is None else strong_answers(result, predictions)
    signs = None if result.responses is None else result.signs
    verdict = result.verdict
    cautions = []
    if groups is not None:
        families = family_codes(result, groups)
        signs = result.signs.weighted(clustered_share(result, families))
        verdict = signs.verdict
        cautions += _weaknesses(signs, fdr, len(np.unique(families[~result.synthetic])), _FAMILIES)
    elif signs is not None:
        cautions += _weaknesses(signs, fdr, signs.dependence.independent, signs.dependence.unit)
    slope = result.parameters.discrimination
    negative = called_negative(verdict.p_negative, fdr, slope=slope)
    if result.one_ability_doubted:
        doubt = _NOT_ONE_ABILITY.format(called=_CALLED[bool(negative.any())])
        cautions.insert(0, doubt + ("" if groups is not None else _NAME_FAMILIES))
    trend = np.full(len(negative), np.nan) if signs is None else signs.score.z
    guessing = result.parameters.guessing - _INTERVAL * result.standard_errors[:, 2]
    difficulty = np.abs(result.parameters.difficulty - result.latent_mean) / result.latent_sd
    most = as_number(extreme_difficulty)
    status, own_slopes = np.array(result.status), result.model in {"2PL", "3PL"}
    some_rise = bool(np.isin(status, ["ok", "unbounded"]).any())
    reasons = {
        NEGATIVE: negative,
        "evidence of a wrong key": (verdict.wrong_key > _STRONG) & may_fall(slope) & ~negative,
        _FLAT: (status == "flat") & own_slopes & some_rise,
        _EXTREME: (status == "ok") & (slope > 0) & (difficulty > most),
        "guessing above chance": guessing > (1.0 if chance is None else chance),
    }
    if poor_fit:
        poor = poorly_fitting(result, fdr)
        reasons["poor fit"] = np.zeros_like(negative) if poor is None else poor
        if poor is None:
            cautions.append(_FIT_NOT_JUDGED)
    if answers is not None:
        reasons["the strong agree on another answer"] = answers.pop("another").to_numpy()
    table = _table(result, verdict, trend, reasons)
    for further in (answers, item_texts(result.responses)):
        if further is not None:
            table = table.join(further)
    return table, cautions


def check_thresholds(*, fdr: float, extreme_difficulty: float, chance: float | None) -> None:
    """Refuse thresholds that are no numbers, or out of range; chance may be None."""
    check_number("fdr", fdr, above=0, below=1)
    check_number("extreme_difficulty", extreme_difficulty, above=0, most=math.inf)
    if chance is not None:
        check_number("chance", chance, least=0, below=1)


def _table(
    result: FitResult, verdict: Verdict, trend: Array, reasons: dict[str, NDArray[np.bool_]]
) -> pd.DataFrame:
    """Suspect items and then others, in the order of the probability that they are negative."""
    listed = np.any(list(reasons.values()), axis=0)
    others = [holds for text, holds in reasons.items() if text not in _UNINFORMATIVE]
    suspect, rank = np.any(others, axis=0), np.nan_to_num(verdict.p_negative, nan=-1.0)
    chosen = [j for j in np.lexsort((-rank, ~suspect)) if listed[j]]
    texts = ["; ".join(text for text, holds in reasons.items() if holds[j]) for j in chosen]
    added = {
        "reasons": np.array(texts, dtype=object),
        "suspect": suspect[chosen],
        "p_negative": verdict.p_negative[chosen],
        "wrong_key": verdict.wrong_key[chosen],
        "trend": trend[chosen],
    }
    kept = ["discrimination", "discrimination_se", "difficulty", "average_error", "n_responses"]
    return result.items.iloc[chosen][kept].assign(**added)[[*added, *kept]]


def negatives(table: pd.DataFrame) -> pd.Series[bool]:
    """Which listed items are called negative."""
    return table["reasons"].str.contains(NEGATIVE, regex=False)


def _weaknesses(signs: SlopeSigns, fdr: float, n: int, unit: str) -> list[str]:
    """What is said where nothing, or little, can be found."""
    alike = "" if unit == _FAMILIES else signs.dependence.sentence
    alike += "; " if alike else ""
    if signs.p_any_slope < 0.5:
        nothing = (
            f"{alike}the responses have no more in common than noise, or there are too few {unit} "
            "to tell: nothing can be said about negative discrimination"
        )
        return [nothing]
    power = power_of(signs, fdr, n)
    return [f"{alike}{power.sentence(n, unit)}"] if power.found < _LEAST_POWER else []
