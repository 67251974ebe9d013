"""Suspect and uninformative items, each with the reasons.

An item is suspect if its key or text deserves a look, and uninformative if it merely hardly
discriminates between these systems. Everything that irtkit prints goes by this.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.capabilities import require
from irtkit.checks import (
    as_number,
    check_number,
    check_type,
    check_unique,
    check_yes_or_no,
    short,
)
from irtkit.data.families import clustered_share, family_codes
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, called_negative, may_fall
from irtkit.diagnostics import poorly_fitting
from irtkit.findings import Finding, warn
from irtkit.irf import EXTREME, Z95
from irtkit.responses import item_texts

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.families import Families
    from irtkit.data.slopes import SlopeSigns

_UNINFORMATIVE = {"flat", "extreme"}
_COLUMNS = (
    *("ability", "discrimination", "discrimination_se", "difficulty"),
    *("average_error", "n_responses"),
)
_STRONG_EVIDENCE = 3.0  # wrong_key, a log Bayes factor: 20 to 1 (Kass & Raftery 1995).
_ABLEST = 0.75  # Quantile of ability, near the upper 27 % of item analysis (Kelley 1939).
_LEAST_POWER = 0.5  # Below it more is missed than found.


def flag_items(
    result: FitResult,
    *,
    fdr: float = FALSE_DISCOVERY_RATE,
    extreme_difficulty: float = EXTREME,
    chance: float | None = None,
    families: Families | None = None,
    predictions: pd.DataFrame | None = None,
    poor_fit: bool = False,
) -> pd.DataFrame:
    """List the suspect items of a fit, and then the uninformative ones, with the reasons.

    :func:`irtkit.audit` is the short way. This table has all flags and their evidence.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned. It may have been saved without responses. With several
        abilities items are judged given all of them, and families do not apply.
    fdr : float, default 0.05
        False-discovery rate: the expected share of false alarms among items that are flagged as
        negative.
    extreme_difficulty : float, default 6
        Distance of a difficulty from the mean ability, in SDs of ability, beyond which an item is
        extreme.
    chance : float, optional
        3PL: probability of guessing right, such as 0.25 for four choices. Items are listed whose
        guessing lies above it by more than 1.96 standard errors.
    families : mapping, Series, list or str, optional
        Family of every respondent: by label, a list, or a column of the respondent table. "similar"
        joins the pairs of :func:`irtkit.similar_respondents`. Evidence on slopes is clustered by
        family. It never counts for more than without families, where near-duplicates are estimated.
    predictions : DataFrame, optional
        The answers as text, index = respondents, columns = items. Cells may be missing.
    poor_fit : bool, default False
        Whether to list items whose S-X² (:func:`irtkit.item_fit`) is significant at the rate
        ``fdr`` in a fit without the items that fit worse.

    Returns
    -------
    pandas.DataFrame
        One row per listed item, index "item", suspects first, in the order of ``p_negative``:

        - reasons: tuple of "negative" (discrimination), "wrong_key" (evidence of one), "guessing"
          (above chance), "poor_fit", "flat" (discrimination) and "extreme" (difficulty).
        - suspect: False if the item is merely flat or extreme.
        - p_negative: probability that the slope is below 0.
        - wrong_key: log of how many times likelier the responses are if the item is reversed.
        - trend: slope of the responses against the number right, in standard errors.
        - discrimination and discrimination_se (logits per SD), difficulty (SDs of ability),
          average_error, n_responses.
        - with ``predictions``: strong_answer, the commonest answer of the quarter with the highest
          ability, and strong_share, who gave it. marked_right is the answer that counts as right,
          and missing if there is none or more than one.
        - text and target, where ``result.responses.item_table`` has them.

    Raises
    ------
    TypeError
        If an argument has a wrong type.
    ValueError
        If a threshold is out of range or has no meaning for the model, families or predictions do
        not match the respondents, or they need responses that are sparse or were not saved.

    Warns
    -----
    irtkit.IRTWarning
        With the code "low-power" (most items with a reversed key are missed), "only-noise",
        "fit-not-tested" or "verdicts-doubted" (one ability does not explain the responses).

    Notes
    -----
    A score test compares each item with the proportion correct on all items (Rao 1948). All tests
    together estimate the distribution of slopes (empirical Bayes: Efron 2008). So p_negative and
    wrong_key are the same for every model. Missing cells take no part.

    A wrong_key above 3 is a reason. An item whose fitted slope is above 0 is not flagged as
    negative (2PL, 3PL). Items that all get right, all get wrong or nobody answered are not listed.
    With several abilities an item is negative if it falls with the abilities that it measures,
    given all of them. discrimination and difficulty are MDISC and MDIFF (``result.items``), and the
    column ability names the ability that the item measures most.

    An item with poor fit may be sound if one ability does not explain the responses.

    In simulated data with 1,000 items and 2 % wrong keys, 1 % of the wrong keys were flagged as
    negative with 12 systems, 60 % with 30, and 99 % with 100. At most 0.6 % of these flags were
    false, and at most 6.8 % of the suspects. On real data with wrong keys planted, up to 30 % of
    the flags were false. The page "Speed and accuracy" has the table.

    References
    ----------
    Efron (2008), *Statistical Science* 23, 1–22.
    Kass & Raftery (1995), *Journal of the American Statistical Association* 90, 773–795.
    Rao (1948), *Mathematical Proceedings of the Cambridge Philosophical Society* 44, 50–57.

    See Also
    --------
    irtkit.audit, irtkit.wrong_keys

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> result = irtkit.fit(crowd.responses, "2PL")
    >>> flagged = irtkit.flag_items(result, predictions=crowd.predictions)
    >>> flagged.loc[flagged["wrong_key"].idxmax(), ["strong_answer", "marked_right"]].to_dict()
    {'strong_answer': 3, 'marked_right': 9}
    """
    thresholds = fdr, extreme_difficulty, chance
    table, findings = flagged(result, *thresholds, families, predictions, poor_fit=poor_fit)
    if isinstance(result, FitResult) and result.one_ability_doubted:
        findings.insert(0, Finding("verdicts-doubted", "warning"))
    for finding in findings:
        warn(finding)
    return table


def flagged(
    result: FitResult,
    fdr: float,
    extreme_difficulty: float,
    chance: float | None,
    families: Families | None = None,
    predictions: pd.DataFrame | None = None,
    *,
    poor_fit: bool = False,
    keys: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, list[Finding]]:
    """The table of `flag_items`, and what limits it.

    ``keys`` is the table of :func:`irtkit.wrong_keys`, and which items are called by it. Suspects
    then come in its order.
    """
    check_type("result", result, FitResult)
    check_thresholds(fdr, extreme_difficulty, chance)
    check_yes_or_no(poor_fit=poor_fit)
    settings = {
        "families=": families is not None,
        "chance=": chance is not None,
        "poor_fit=": poor_fit,
        "predictions=": predictions is not None,
    }
    for setting in (name for name, used in settings.items() if used):
        require(setting, result)
    answers = None if predictions is None else strong_answers(result, predictions)
    signs = None if result.responses is None else result.signs
    verdict, findings = result.verdict, []
    independent, unit = round(result.near_duplicates.n_eff), "systems"
    if families is not None:
        require("families=", result)
        family, signs = family_codes(result, families), result.signs
        share = clustered_share(result, signs.proportion, family)
        if share < signs.share:  # families may miss near-duplicates
            signs = signs.weighted(share)
            independent, unit = len(np.unique(family[~result.synthetic])), "families"
        verdict = signs.verdict
    if signs is not None:
        findings += power_limits(signs, fdr, independent, unit)
    items = result.items
    slope = items["discrimination"].to_numpy()
    negative = called_negative(verdict.p_negative, fdr, slope=slope)
    guesses = np.zeros(len(items), dtype=bool)
    if chance is not None:
        guesses = (items["guessing"] - Z95 * items["guessing_se"] > chance).to_numpy()
    difficulty = np.abs(items["difficulty"].to_numpy() - result.latent_mean) / result.latent_sd
    status = np.array(result.status)
    own_slopes = result.model in {"2PL", "3PL"}
    evidence, first = verdict.wrong_key, np.nan_to_num(verdict.p_negative, nan=-1.0)
    wrong = (evidence > _STRONG_EVIDENCE) & may_fall(slope)
    if keys is not None:
        keys = keys.loc[list(result.item_labels)]
        evidence = first = keys["log_bayes_factor"].to_numpy()
        judged = keys["p_wrong_key"].notna().to_numpy()
        wrong = np.where(judged, keys["called"].to_numpy(), wrong)
    scored: Any = False if result.dispersion is None else ~np.isnan(result.dispersion)
    some_rise = bool(np.isin(status, ["ok", "unbounded"]).any())
    reasons = {
        "negative": negative,
        "wrong_key": wrong & ~negative & np.logical_not(scored),
        "flat": (status == "flat") & own_slopes & some_rise,
        "extreme": (status == "ok") & (slope > 0) & (difficulty > as_number(extreme_difficulty)),
        "guessing": guesses,
    }
    if poor_fit and (poor := poorly_fitting(result, fdr)) is not None:
        reasons["poor_fit"] = poor
    elif poor_fit:
        findings.append(Finding("fit-not-tested", "warning"))
    names = np.array([*reasons], dtype=object)
    holds: Any = np.array([*reasons.values()])
    suspect = holds[[name not in _UNINFORMATIVE for name in names]].any(axis=0)
    order = np.lexsort((-first, ~suspect))
    chosen = order[holds.any(axis=0)[order]]
    trend = np.full(len(negative), np.nan) if signs is None else signs.score.z
    listed = np.empty(len(chosen), dtype=object)
    listed[:] = [tuple(names[holds[:, j]]) for j in chosen]
    added = {
        "reasons": listed,
        "suspect": suspect[chosen],
        "p_negative": verdict.p_negative[chosen],
    }
    added |= {"wrong_key": evidence[chosen], "trend": trend[chosen]}
    if keys is not None:
        added = {"p_wrong_key": keys["p_wrong_key"].to_numpy()[chosen], **added}
    kept = [name for name in _COLUMNS if name in items]
    table = items.iloc[chosen][kept].assign(**added)[[*added, *kept]]
    for further in (answers, item_texts(result.responses)):
        if further is not None:
            table = table.join(further)
    return table, findings


def check_thresholds(fdr: float, extreme_difficulty: float, chance: float | None) -> None:
    """Refuse thresholds that are not numbers or out of range. ``chance`` may be None."""
    check_number("fdr", fdr, above=0, below=1)
    check_number("extreme_difficulty", extreme_difficulty, above=0, most=math.inf)
    if chance is not None:
        check_number("chance", chance, least=0, below=1)


def negatives(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Which listed items are called negative."""
    return np.array(["negative" in reasons for reasons in table["reasons"]], dtype=bool)


def power_of(signs: SlopeSigns, fdr: float) -> float:
    """Power to find an inverted item of typical discrimination, NaN in noise.

    With slope −s and information V the log odds of inversion are T₀ − 2sU with U ~ N(−sV, V), and
    1 − ``fdr`` must be reached.
    """
    from scipy.special import logit, ndtr

    if signs.p_any_slope < 0.5:
        return float("nan")
    information = signs.score.information
    size = float(signs.mixture.typical * np.sqrt(np.median(information[information > 0])))
    regular, inverted, _ = signs.mixture.shares
    threshold = float(-logit(fdr) + np.log(max(regular, 1e-9) / inverted))
    return float(ndtr((2 * size**2 - threshold) / (2 * size)))


def power_limits(signs: SlopeSigns, fdr: float, n: int, unit: str = "systems") -> list[Finding]:
    """That nothing, or little, can be found."""
    power = power_of(signs, fdr)
    if np.isnan(power):
        return [Finding("only-noise", "warning", {f"n_{unit}": n})]
    values = {f"n_{unit}": n, "power": power}
    return [Finding("low-power", "warning", values)] if power < _LEAST_POWER else []


def strong_answers(result: FitResult, predictions: pd.DataFrame) -> pd.DataFrame:
    """Most frequent answer of the best systems, its share, and the answer marked right, by item."""
    import pandas as pd

    codes, answers = coded_answers(predictions, result)
    ability = result.overall[~result.synthetic]
    strong = codes[ability >= np.quantile(ability, _ABLEST)]
    right = result.saved_responses.cells.to_dense().successes[~result.synthetic]
    right = right >= 1 if result.saved_responses.has_scores else right > 0
    rows = []
    for given, all_given, is_right in zip(strong.T, codes.T, right.T, strict=True):
        counts = np.bincount(given[given >= 0], minlength=1)
        answer, share = -1, np.nan
        if counts.any():
            answer, share = int(counts.argmax()), float(counts.max() / counts.sum())
        marked = np.unique(all_given[is_right & (all_given >= 0)])
        key = int(marked[0]) if len(marked) == 1 else -1
        rows.append((answer, share, key))
    columns = ["strong_answer", "strong_share", "marked_right"]
    table = pd.DataFrame(rows, pd.Index(result.item_labels, name="item"), columns)
    named = np.array([*answers, None], dtype=object)  # code −1 stands for none
    for name in ("strong_answer", "marked_right"):
        table[name] = pd.Series(named[table[name]], table.index, dtype=object)
    return table


def coded_answers(
    predictions: pd.DataFrame, result: FitResult
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes of answers, real respondents × items, −1 where missing, and the answers coded."""
    import pandas as pd

    if not isinstance(predictions, pd.DataFrame):
        raise TypeError(f"predictions must be a DataFrame, got {type(predictions).__name__}")
    answers = predictions.rename(index=str, columns=str)
    labels = np.array(result.respondent_labels, dtype=object)[~result.synthetic]
    sides = {"respondent": (answers.index, labels), "item": (answers.columns, result.item_labels)}
    for kind, (have, needed) in sides.items():
        check_unique(f"predictions must have every {kind} once", have)
        if missing := [label for label in needed if label not in have]:
            raise ValueError(f"predictions has no {kind} {short(missing[0])}")
    answers = answers.loc[list(labels), list(result.item_labels)]
    try:
        flat, kinds = pd.factorize(answers.to_numpy(dtype=object).ravel())
    except TypeError as error:
        raise TypeError(
            f"predictions must hold answers such as text or numbers: {error}"
        ) from error
    return flat.reshape(answers.shape), kinds
