"""Suspect and uninformative items, each with the reasons.

An item is suspect if its key or text deserves a look, and uninformative if it merely hardly
discriminates between these systems. Everything that irtkit prints goes by this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.capabilities import limit_of, require
from irtkit.checks import as_number, check_number, check_yes_or_no, short
from irtkit.data.families import clustered_share, family_codes
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, called_negative
from irtkit.diagnostics import poorly_fitting
from irtkit.findings import Finding, spelled, warn
from irtkit.fitting import result_for
from irtkit.io.tables import as_labelled
from irtkit.irf import EXTREME, Z95
from irtkit.responses import item_texts
from irtkit.responses.columns import listed as names_in
from irtkit.suspects.wrong_keys import (
    WITHOUT_PROBABILITIES,
    called_wrong,
    coded_answers,
    keyed,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.data.families import Families
    from irtkit.data.slopes import SlopeSigns
    from irtkit.io.tables import Predictions
    from irtkit.irf import Array
    from irtkit.responses.columns import Names

UNINFORMATIVE = frozenset({"flat", "extreme"})
"""Reasons for which an item hardly discriminates, and needs no reading."""

_COLUMNS = (
    *("ability", "discrimination", "discrimination_se", "difficulty"),
    *("average_error", "n_responses"),
)
LIKELY = 0.2  # Probability of a wrong key below which none is likely.


@dataclass(frozen=True)
class _Tuned:
    """Which items should be read, and when that is of use (``benchmarks/keys.py``)."""

    worth_reading: float = 0.02  # Probability of a wrong key from which on an item is read.
    # Log Bayes factor, where there is none: 20 to 1 (Kass & Raftery 1995).
    strong_evidence: float = 3.0
    least_read: int = 5  # Items that are read although nothing calls them, at least
    most_read: int = 20  # and at most.
    least_power: float = 0.5  # Below it more is missed than found.


_TUNED = _Tuned()


def flag_items(
    result: FitResult,
    *,
    fdr: float = FALSE_DISCOVERY_RATE,
    extreme_difficulty: float = EXTREME,
    chance: float | None = None,
    families: Families | None = None,
    predictions: Predictions = None,
    poor_fit: bool = False,
) -> pd.DataFrame:
    """List the items of a fit to read, and then the uninformative ones, with the reasons.

    :func:`irtkit.audit` prints this table.

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
    predictions : DataFrame or path, optional
        The answers as text, index = respondents, columns = items. Cells may be missing. Default:
        the answers of the responses, if they have any.
    poor_fit : bool, default False
        Whether to list items whose S-X² (:func:`irtkit.item_fit`) is significant at the rate
        ``fdr`` in a fit without the items that fit worse.

    Returns
    -------
    pandas.DataFrame
        One row per listed item, index "item": first the items to read, most probable fault first,
        then the uninformative ones.

        - reasons: tuple of "negative" (discrimination), "wrong_key" (may have one), "guessing"
          (above chance), "poor_fit", "flat" (discrimination) and "extreme" (difficulty).
        - suspect: whether to read the item. False if it is merely flat or extreme.
        - called: whether a reason holds with error control.
        - p_wrong_key and log_bayes_factor: as :func:`irtkit.wrong_keys` returns them, NaN where it
          cannot be used.
        - p_negative: probability that the slope is below 0.
        - best_right and weakest_right: share right of the quarter of the systems with the highest
          and with the lowest ability, or accuracy if systems at chance distort ability.
        - discrimination and discrimination_se (logits per SD), difficulty (SDs of ability),
          average_error, n_responses.
        - where answers are known, strong_answer, the commonest answer of the best quarter, and
          strong_share, who gave it. marked_right is the answer that counts as right, and missing if
          there is none or more than one.
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
    together estimate the distribution of slopes (empirical Bayes: Efron 2008). So p_negative is the
    same for every model. Missing cells take no part.

    If any p_wrong_key is above 0.02, at least 5 and at most 20 items are read, in the order of
    :func:`irtkit.wrong_keys`. Of these are called the first whose mean of 1 − p_wrong_key is at
    most ``fdr``. If more keys look wrong than can be, there are no probabilities, and those with a
    log Bayes factor above 3 are read.

    An item whose fitted slope is above 0 is not flagged as negative (2PL, 3PL). Items that all get
    right, all get wrong or nobody answered are only listed where their key may be wrong. With
    several abilities an item is negative if it falls with the abilities that it measures, given all
    of them. discrimination and difficulty are MDISC and MDIFF (``result.items``), and the column
    ability names the ability that the item measures most.

    An item with poor fit may be sound if one ability does not explain the responses.

    In simulated data with 1,000 items and 2 % wrong keys, 2 % of the wrong keys were flagged as
    negative with 12 systems, 60 % with 30, and 98 % with 100. At most 0.7 % of these flags were
    false. Of the suspects 52 % had a right key with 12 systems, 20 % with 30, and 1 % with 100. On
    real data with wrong keys planted, up to 56 % of the flags were on items that nobody planted.
    The page "Speed and accuracy" has the table.

    References
    ----------
    Efron (2008), *Statistical Science* 23, 1–22.
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
    >>> flagged.iloc[0][["strong_answer", "marked_right"]].to_dict()
    {'strong_answer': 1, 'marked_right': 8}
    """
    result = result_for("flag_items", result)
    thresholds = fdr, extreme_difficulty, chance
    table, _, findings = flagged(result, *thresholds, families, predictions, poor_fit=poor_fit)
    if result.one_ability_doubted:
        findings.insert(0, Finding("verdicts-doubted", "warning"))
    for finding in findings:
        if finding.severity == "warning" and finding.code not in WITHOUT_PROBABILITIES:
            warn(finding)
    return table


def flagged(
    result: FitResult,
    fdr: float,
    extreme_difficulty: float,
    chance: float | None,
    families: Families | None = None,
    predictions: Predictions = None,
    *,
    poor_fit: bool = False,
) -> tuple[pd.DataFrame, float | None, list[Finding]]:
    """The table of `flag_items`, the share of wrong keys, and what limits the table.

    The share is None where wrong keys are not searched for.
    """
    import pandas as pd

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
    answered = as_labelled(predictions, "predictions")
    p_negative, findings = _p_negative(result, fdr, families)
    names = pd.Index(result.item_labels, name="item")
    keys = pd.DataFrame(np.nan, names, ["log_bayes_factor", "p_wrong_key"])
    share = None
    if limit_of("wrong_keys", result) is None:
        verdict = result.key_verdict if answered is None else keyed(result, answered)
        keys, share, limits = verdict
        share = share if keys["log_bayes_factor"].notna().any() else None
        findings += limits
    likely = (keys["p_wrong_key"] > _TUNED.worth_reading) | (
        keys["p_wrong_key"].isna() & (keys["log_bayes_factor"] > _TUNED.strong_evidence)
    )
    if any(finding.code == "only-noise" for finding in findings):
        likely[:] = False
    counts = result.counts
    readable = pd.Series(~counts.all_right & (counts.item_responses > 0), names)[keys.index]
    readable &= keys["log_bayes_factor"].notna()
    n_read = min(max(likely.sum(), _TUNED.least_read), _TUNED.most_read) if likely.any() else 0
    read = readable & (readable.cumsum() <= n_read)
    keys = keys.assign(called=called_wrong(keys, fdr), likely=likely & read, read=read).loc[names]

    items = result.items
    slope = items["discrimination"].to_numpy()
    difficulty = np.abs(items["difficulty"].to_numpy() - result.latent_mean) / result.latent_sd
    status = np.array(result.status)
    some_rise = bool(np.isin(status, ["ok", "unbounded"]).any())
    called = {
        "negative": called_negative(p_negative, fdr, slope=slope),
        "wrong_key": keys["called"].to_numpy(),
    }
    if chance is not None:
        called["guessing"] = (items["guessing"] - Z95 * items["guessing_se"] > chance).to_numpy()
    if poor_fit and (poor := poorly_fitting(result, fdr)) is not None:
        called["poor_fit"] = poor
    elif poor_fit:
        findings.append(Finding("fit-not-tested", "warning"))
    is_called = np.any([*called.values()], axis=0)
    suspect = is_called | keys["read"].to_numpy()
    called["wrong_key"] = called["wrong_key"] | keys["likely"].to_numpy()
    uninformative = {
        "flat": (status == "flat") & some_rise,
        "extreme": (status == "ok") & (slope > 0) & (difficulty > as_number(extreme_difficulty)),
    }
    reasons = pd.DataFrame(called | uninformative)
    order = np.lexsort((-p_negative, -keys["log_bayes_factor"].to_numpy(), ~suspect))
    listed = order[(suspect | reasons.any(axis=1).to_numpy())[order]]
    rows = np.array(result.best_first)
    n_quarter = -(-len(rows) // 4)
    of_each = [tuple(reasons.columns[holds]) for holds in reasons.to_numpy()[listed]]
    added = {
        "reasons": pd.Series(of_each, names[listed], dtype=object),
        "suspect": suspect[listed],
        "called": is_called[listed],
        "p_wrong_key": keys["p_wrong_key"].to_numpy()[listed],
        "log_bayes_factor": keys["log_bayes_factor"].to_numpy()[listed],
        "p_negative": p_negative[listed],
        "best_right": _share_right(result, rows[:n_quarter], listed),
        "weakest_right": _share_right(result, rows[-n_quarter:], listed),
    }
    kept = [name for name in _COLUMNS if name in items]
    table = items.iloc[listed][kept].assign(**added)[[*added, *kept]]
    if answered is None and result.responses is not None:
        answered = result.responses.predictions
    answers = None if answered is None else strong_answers(result, answered)
    for further in (answers, item_texts(result.responses)):
        if further is not None:
            table = table.join(further)
    return table, share, findings


def kept_items(result: FitResult, removed: Names, flags: pd.DataFrame | None = None) -> list[str]:
    """Labels of the items without those ``removed``: by label, or "called" for those of flags."""
    names = {*names_in(removed)}
    if "called" in names:
        table = flag_items(result) if flags is None else flags
        names = names - {"called"} | {*table.index[table["called"]]}
    if unknown := names.difference(result.item_labels):
        raise ValueError(f"{spelled(removed=min(unknown))}: {short(min(unknown))} is not an item")
    return [label for label in result.item_labels if label not in names]


def _p_negative(
    result: FitResult, fdr: float, families: Families | None
) -> tuple[Array, list[Finding]]:
    """Probability that each slope is below 0, and what limits it."""
    if result.responses is None:
        return result.p_negative, []
    signs = result.signs
    unit = "systems"
    n = round(result.near_duplicates.n_eff)
    p_negative = result.p_negative
    if families is not None:
        family = family_codes(result, families)
        share = clustered_share(result, signs.proportion, family)
        if share < signs.share:  # families may miss near-duplicates
            signs = signs.weighted(share)
            unit = "families"
            n = len(np.unique(family[~result.synthetic]))
        p_negative = signs.p_negative
    return p_negative, power_limits(signs, fdr, n, unit)


def _share_right(result: FitResult, rows: NDArray[np.intp], items: NDArray[np.intp]) -> Array:
    """Share right of some systems on some items, NaN without a response."""
    if result.responses is None:
        return np.full(len(items), np.nan)
    right, tried = result.patterns.dense(rows, items)
    with np.errstate(invalid="ignore"):
        return np.asarray(right.sum(axis=0) / tried.sum(axis=0))


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
    return [Finding("low-power", "warning", values)] if power < _TUNED.least_power else []


def strong_answers(result: FitResult, predictions: pd.DataFrame) -> pd.DataFrame:
    """Most frequent answer of the best systems, its share, and the answer marked right, by item."""
    import pandas as pd

    codes, answers = coded_answers(predictions, result)
    best = result.best_first[: -(-result.n_answering // 4)]
    strong = codes[np.cumsum(~result.synthetic)[best] - 1]
    right = result.saved_responses.cells.to_dense().successes[~result.synthetic]
    right = right >= 1 if result.saved_responses.has_scores else right > 0
    rows = []
    for of_best, all_given, is_right in zip(strong.T, codes.T, right.T, strict=True):
        counts = np.bincount(of_best[of_best >= 0], minlength=1)
        answer = -1
        share = np.nan
        if counts.any():
            answer = int(counts.argmax())
            share = float(counts.max() / counts.sum())
        marked = np.unique(all_given[is_right & (all_given >= 0)])
        key = int(marked[0]) if len(marked) == 1 else -1
        rows.append((answer, share, key))
    columns = ["strong_answer", "strong_share", "marked_right"]
    table = pd.DataFrame(rows, pd.Index(result.item_labels, name="item"), columns)
    named = np.array([*answers, None], dtype=object)  # code −1 stands for none
    for name in ("strong_answer", "marked_right"):
        table[name] = pd.Series(named[table[name]], table.index, dtype=object)
    return table
