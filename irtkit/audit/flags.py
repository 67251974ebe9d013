"""Suspect items, worst first, each with the reasons.

Which slopes are called negative is a decision at a false-discovery rate: items are taken in the
order of the probability that their slope is below 0, as long as that is above ½ and the mean of
the remaining doubt, 1 − p, over those taken stays at or under the rate (Newton, Noueiry, Sarkar &
Ahlquist 2004).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.audit.answers import strong_answers
from irtkit.audit.checks import check_thresholds
from irtkit.audit.expected import rows_of_fit
from irtkit.audit.families import clustered_share, count_families
from irtkit.calibration.result import FitResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.evidence import Evidence
    from irtkit.calibration.inversion import Inversion

    Array = NDArray[np.float64]
    Groups = Mapping[Hashable, Hashable] | Sequence[Hashable] | pd.Series[str] | str

NEGATIVE = "negative discrimination"
_INTERVAL = 1.96
_ABILITIES = 201
_WANTED_POWER = 0.8
_LEAST_POWER = 0.5
_ITEMS_FOR_DIMENSIONS = 20
_ANOTHER_DIMENSION = 0.9
"""Rank correlation of ability with strength under which the model follows something else."""


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
        :func:`irtkit.similar_respondents`. The evidence on slopes then counts for less, by the
        variance of slopes between respondents over that between families (cluster-robust, the
        same factor for all items).
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
        :mod:`irtkit.calibration.inversion`, and so is the same for every model.

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
        do), if the matrix holds no more structure than noise, or if the fitted ability has little
        to do with how much respondents get right. A result without its responses cannot tell.

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> result = irtkit.fit(crowd.responses, "2PL")
    >>> flagged = irtkit.flag_items(result, predictions=crowd.predictions)
    >>> flagged.loc[flagged["wrong_key"].idxmax(), ["strong_answer", "marked_right"]].to_dict()
    {'strong_answer': 3, 'marked_right': 9}
    """
    _check(result, fdr, flat_information, extreme_difficulty, chance)
    answers = None if predictions is None else strong_answers(result, predictions)
    judged = _judged(result, groups)
    negative = _discoveries(judged.verdict.p_negative, fdr)
    if judged.found is not None and judged.evidence is not None:
        n_families = None if groups is None else count_families(groups, result)
        _warn(result, judged.found, judged.evidence, fdr, n_families)
    reasons = {
        NEGATIVE: negative,
        "flat discrimination": _flat(result, flat_information, judged.evidence) & ~negative,
        "no variance: all right": _alike(result, right=True),
        "no variance: all wrong": _alike(result, right=False),
        "no responses": np.array(result.status) == "no responses",
        "extreme difficulty": _extreme(result, extreme_difficulty),
        "guessing above chance": _guessed(result, chance),
    }
    if answers is not None:
        reasons["the strong agree on another answer"] = answers.pop("another").to_numpy()
    table = _table(result, judged, reasons)
    return table if answers is None else table.join(answers)


class _Judged(NamedTuple):
    """Verdict on every item, and what it rests on where responses are there."""

    verdict: Verdict
    evidence: Evidence | None
    found: Inversion | None


def _judged(result: FitResult, groups: Groups | None) -> _Judged:
    if result.responses is None and groups is None:
        return _Judged(result.verdict, None, None)
    from irtkit.calibration.evidence import evidence_of
    from irtkit.calibration.inversion import inversion

    evidence = evidence_of(rows_of_fit(result, "groups"))
    if groups is not None:
        evidence = evidence.weighted(clustered_share(result, groups))
    found = inversion(evidence)
    unknown = np.isnan(result.verdict.p_negative)
    verdict = Verdict(*(np.where(unknown, np.nan, part) for part in found[:2]))
    return _Judged(verdict, evidence, found)


def _check(
    result: FitResult, fdr: float, flat: float, extreme: float, chance: float | None
) -> None:
    if not isinstance(result, FitResult):
        raise TypeError(
            f"result must be what irtkit.fit or irtkit.load return, got {type(result).__name__}"
        )
    check_thresholds(fdr=fdr, flat_information=flat, extreme_difficulty=extreme, chance=chance)
    if chance is not None and result.model != "3PL":
        raise ValueError(f"chance is for the 3PL, which has guessing; this is a {result.model}")


def _discoveries(p_negative: Array, fdr: float) -> NDArray[np.bool_]:
    """Items whose slope is called negative."""
    order = np.argsort(-np.nan_to_num(p_negative), kind="stable")
    doubt = np.cumsum(1 - np.nan_to_num(p_negative[order])) / np.arange(1, len(order) + 1)
    found = np.zeros(len(p_negative), dtype=np.bool_)
    found[order[: np.searchsorted(doubt, fdr, side="right")]] = True
    return found & (np.nan_to_num(p_negative) > 0.5)


def _flat(result: FitResult, least: float, evidence: Evidence | None) -> NDArray[np.bool_]:
    """Items with a slope of their own that may be 0 and little information."""
    nothing = np.zeros(len(result.item_labels), dtype=np.bool_)
    if result.model not in {"2PL", "3PL"}:
        return nothing
    error = result.standard_errors[:, 0]
    slope = result.parameters.discrimination
    answered = np.array([status == "ok" for status in result.status])
    real = result.ability[~result.synthetic]
    abilities = np.quantile(real, np.linspace(0, 1, min(len(real), _ABILITIES)))
    information = result.parameters.information(abilities).mean(axis=0)
    if not answered.any():
        return nothing
    little = information < least * np.median(information[answered])
    flat = answered & little & (np.abs(slope) < _INTERVAL * error)
    return np.asarray(flat if evidence is None else flat & ~(evidence.trend > _INTERVAL))


def _alike(result: FitResult, *, right: bool) -> NDArray[np.bool_]:
    counts = result.counts
    share = counts.item_right if right else counts.item_responses - counts.item_right
    return np.asarray((counts.item_responses > 0) & (share == counts.item_responses))


def _extreme(result: FitResult, furthest: float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(result.parameters.difficulty) > furthest * result.latent_sd)


def _guessed(result: FitResult, chance: float | None) -> NDArray[np.bool_]:
    if chance is None or result.model != "3PL":
        return np.zeros(len(result.item_labels), dtype=np.bool_)
    return np.asarray(
        result.parameters.guessing - _INTERVAL * result.standard_errors[:, 2] > chance
    )


def _table(
    result: FitResult, judged: _Judged, reasons: dict[str, NDArray[np.bool_]]
) -> pd.DataFrame:
    """Suspect items in the order of the probability that they are negative."""
    suspect = np.any(list(reasons.values()), axis=0)
    rank = np.nan_to_num(judged.verdict.p_negative, nan=-1.0)
    chosen = [j for j in np.argsort(-rank, kind="stable") if suspect[j]]
    table = result.items.iloc[chosen]
    texts = ["; ".join(text for text, holds in reasons.items() if holds[j]) for j in chosen]
    nothing = np.full(len(suspect), np.nan)
    trend = nothing if judged.evidence is None else judged.evidence.trend
    added = {
        "reasons": np.array(texts, dtype=object),
        "p_negative": judged.verdict.p_negative[chosen],
        "wrong_key": judged.verdict.wrong_key[chosen],
        "trend": trend[chosen],
    }
    kept = ["discrimination", "discrimination_se", "difficulty", "average_error", "n_responses"]
    return table[kept].assign(**added)[[*added, *kept]]


def _warn(
    result: FitResult,
    found: Inversion,
    evidence: Evidence,
    fdr: float,
    n_families: int | None,
) -> None:
    """Say what keeps the decision from being sharp."""
    if found.structure < 0.5:
        warnings.warn(
            "the responses have no more in common than noise, or there are too few respondents to "
            "tell: nothing can be said about negative discrimination",
            stacklevel=3,
        )
        return
    unit = "respondents" if n_families is None else "families"
    n = result.n_real if n_families is None else n_families
    power, enough = respondents_needed(found, evidence, fdr, n)
    if power < _LEAST_POWER:
        share = "less than 1 %" if power < 0.01 else f"{power:.0%}"
        warnings.warn(
            f"{n} {unit} are few: {share} of inverted items of typical discrimination are found; "
            f"about {enough} {unit} would find {_WANTED_POWER:.0%} of them",
            stacklevel=3,
        )
    agreement = _agreement_with_strength(result)
    if agreement < _ANOTHER_DIMENSION and len(result.item_labels) >= _ITEMS_FOR_DIMENSIONS:
        warnings.warn(
            f"the ability of the {result.model} hardly follows how much respondents get right "
            f"(rank correlation {agreement:.2f}): the matrix holds more than one dimension, and "
            "negative items are told by what respondents get right, not by that ability",
            stacklevel=3,
        )


def respondents_needed(
    found: Inversion, evidence: Evidence, fdr: float, n_respondents: int
) -> tuple[float, int]:
    """Probability that an inverted item of typical slope is found, and how many would do.

    With slope −s and information V the log odds of its being inverted are T₀ − 2sU, U ~ N(−sV, V),
    and 1 − ``fdr`` must be reached.
    """
    from scipy.special import logit, ndtr, ndtri

    informative = evidence.information > 0
    typical = np.exp(found.kinds.log_slope)
    size = float(typical * np.sqrt(np.median(evidence.information[informative])))
    regular, inverted, _ = found.kinds.shares
    threshold = float(logit(1 - fdr) + np.log(max(regular, 1e-9) / inverted))
    power = float(ndtr((2 * size**2 - threshold) / (2 * size)))
    wanted = float(ndtri(_WANTED_POWER))
    needed = (wanted + np.sqrt(wanted**2 + 2 * threshold)) / 2
    return power, int(np.ceil(n_respondents * (needed / size) ** 2))


def _agreement_with_strength(result: FitResult) -> float:
    """Rank correlation of ability with strength among real respondents."""
    from scipy.stats import spearmanr

    from irtkit.calibration.evidence import strength_of

    strength = strength_of(rows_of_fit(result, "flag_items"))
    value, ability = strength.value[strength.kept], result.ability[strength.kept]
    if np.ptp(value) == 0 or np.ptp(ability) == 0:
        return 1.0
    return float(spearmanr(value, ability).statistic)
