"""Scores on all items of a benchmark, expected from the answers to some.

By p-IRT (Polo et al. 2024) the expected score is the answers seen plus the expected number right of
the items not asked, over the posterior of ability. Let M(θ) = Σ P and V(θ) = Σ P(1 − P) over these
items. The score has mean E[M(θ)] and variance Var[M(θ)] + E[V(θ)].

Misfit adds to that variance: answers that depend on more than one ability make larger errors. It is
measured on the calibrated respondents as mean(e² − v) over their errors e and variances v.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from scipy.special import ndtri

from irtkit import storage
from irtkit.abilities.bank import ItemBank
from irtkit.abilities.result import read_any
from irtkit.calibration.calibrated import CalibratedItems, calibrated_items, read_items
from irtkit.calibration.result import FitResult, is_saved
from irtkit.checks import check_number, check_one_of, first_names, short
from irtkit.data.patterns import blocks, float_blocks, patterns_of
from irtkit.files import as_path
from irtkit.findings import Finding, warn
from irtkit.fitting import responses_for
from irtkit.frames import Scored, ShownFrame
from irtkit.io.logs import holds_logs
from irtkit.io.samples import CHOSEN
from irtkit.irf import ItemParameters
from irtkit.printed import Shown, percent
from irtkit.quadrature.posterior import ItemCurves, Posterior, nodes_for
from irtkit.responses.labels import tasks_and_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix
    from irtkit.scoring.abilities import Abilities

    Scale = CalibratedItems | ItemBank

MethodName = Literal["EAP", "MAP", "ML", "WLE"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)
_FORMAT = storage.Format("irtkit selection", 4)
_SHOWN = (
    *("task", "ability", "ability_se", "accuracy", "expected_score", "expected_score_low"),
    *("expected_score_high", "status"),
)
"""Columns that are printed."""


@dataclass(frozen=True)
class _Tuned:
    """What is learned from calibrated respondents (``benchmarks/few_items.py``)."""

    # Respondents of highest ability plus SE, among whom the highest scores are looked up.
    ablest: int = 64
    rank: int = 3  # Rank of the score that sets the limit,
    margin: float = 0.02  # and how far below it lies.
    level: float = 0.045  # Share of ordinary respondents beyond, at most; 0.05 gave 0.050.
    fewest: int = 8  # Respondents that misfit is measured on at least: its SD is off by 25 %,
    most: int = 512  # and at most: by 3 %.
    # Sets of items with a misfit of their own: each costs a score of all respondents.
    most_sets: int = 16


_TUNED = _Tuned()


def score(
    responses: object,
    items: object,
    method: MethodName = "EAP",
    *,
    level: float = 0.95,
    latent_sd: float | None = None,
    **reading: Any,
) -> pd.DataFrame:
    """Score respondents on calibrated items.

    Use it for new systems. The items keep their parameters, so that scores of different days are on
    one scale.

    Parameters
    ----------
    responses : ResponseMatrix, path, DataFrame, array or records
        Rows are respondents, columns items. Cells are 1, 0, a score between them, or empty
        (missing). Labels identify items, and some of the calibrated items are enough.
    items : FitResult, DataFrame, Selection, ItemParameters or path
        Calibrated items. A table needs discrimination, and intercept or difficulty (and guessing).
        :class:`irtkit.ItemParameters` must have the items of the responses in order.
    method : {"EAP", "MAP", "ML", "WLE"}, default "EAP"
        "EAP" (posterior mean), "MAP" (posterior mode), "ML" (maximum likelihood) or "WLE" (weighted
        likelihood). EAP and MAP shrink towards the population mean.
    level : float, default 0.95
        Coverage of the intervals, between 0 and 1.
    latent_sd : float, optional
        SD of ability in the population, on the scale of a table of items. The default is 1.
    **reading : optional
        Settings of :func:`irtkit.read_responses`, for responses that are not a ResponseMatrix.
        Marks of logs are read as in the fit, if it was of logs too.

    Returns
    -------
    pandas.DataFrame
        Index "respondent", in the order of the responses. Columns:

        - task: only of runs in which :class:`irtkit.inspect_ai.Adaptive` chose the items, a row for
          each task. The score is of the items of the task.
        - ability, ability_se: on the scale of the items.
        - ability_low, ability_high: posterior quantiles (EAP), a normal interval (MAP, WLE) or a
          likelihood-ratio interval (ML).
        - accuracy: proportion correct of the answers. Left out for items that were chosen, by
          :func:`irtkit.select_items` or :class:`irtkit.inspect_ai.Adaptive`.
        - n_responses: number of answers.
        - expected_score, expected_score_low, expected_score_high: proportion correct of all items,
          with an interval for respondents like the calibrated ones.
        - status: "ok", "unbounded" (ML is ±inf), "no responses" (none to items that discriminate)
          "open" (a wider interval) or "beyond" (see Notes).

    Raises
    ------
    TypeError
        If an argument has a wrong type.
    ValueError
        If no item of the responses is calibrated, a table of items lacks a column or parameters, or
        an argument is out of range or contradicts another.
    FileNotFoundError
        If the path of items does not exist.

    Warns
    -----
    irtkit.IRTWarning
        With the code "uncalibrated-items", "beyond", "unknown-misfit" or "selected-items".

    Notes
    -----
    Standard errors take item parameters as known. They are the posterior SD (EAP), or come from
    the second derivative of what is maximised (MAP, ML) or from the information of the items
    answered (WLE: Warm 1989). Missing cells take no part.

    The expected score counts answers as they are and other items by their mean probability over the
    posterior, whatever the method (p-IRT: Polo et al. 2024). Intervals include the uncertainty of
    ability and of each answer not seen, and misfit measured on the calibrated respondents. If all
    were asked the first items of the ranking of :func:`irtkit.select_items`, misfit is
    cross-validated between families as there, which takes ten fits.

    Scores between 0 and 1 count as in the result that items come from, and scores not seen vary as
    there. On a table of items each counts for one answer.

    If a score may exceed the third best calibrated score less 0.02, its interval is opened:
    expected_score_high counts all items not asked as right. The status is "open", or "beyond" if,
    on the items answered, at most 4.5 % of n + 1 respondents (n calibrated ones and itself) are as
    good. At most 5 % of respondents like the calibrated ones are then "beyond", if those are 22 or
    more. This holds where the responses of the fit are saved and at most 16 different sets of items
    were answered. Otherwise the limit is that of other items or of expected scores, and more may be
    called.

    On four real boards, 95 % intervals of expected scores from 10 to 100 selected items covered 93
    to 97 % of the scores of held-out systems. The page "Speed and accuracy" has the table.

    References
    ----------
    Polo et al. (2024), *tinyBenchmarks: evaluating LLMs with fewer examples*, arXiv 2402.14992.
    Vovk, Gammerman & Shafer (2005), *Algorithmic Learning in a Random World*, Springer.
    Warm (1989), *Psychometrika* 54, 427–450.

    See Also
    --------
    irtkit.fit, irtkit.select_items, irtkit.adaptive, irtkit.link

    Examples
    --------
    >>> import irtkit, pandas as pd
    >>> items = pd.DataFrame(
    ...     {"discrimination": [1.0, 1.5, 2.0], "difficulty": [-1.0, 0.0, 1.0]}, ["q1", "q2", "q3"]
    ... )
    >>> new = irtkit.ResponseMatrix([[1, 1, 0], [0, 1, 0]], ["gpt", "llama"], ["q1", "q2", "q3"])
    >>> irtkit.score(new, items)[["ability", "ability_se", "expected_score"]].round(2)
                ability  ability_se  expected_score
    respondent
    gpt            0.31        0.67            0.67
    llama         -0.16        0.70            0.33
    """
    check_one_of("method", method, METHODS)
    level = check_number("level", level, above=0, below=1)
    scale = items_for_scores(items, latent_sd)
    if isinstance(scale, ItemBank) and method != "EAP":
        raise ValueError("items have several abilities: method must be EAP")
    if not hasattr(responses, "cells"):
        reading = reading_for(scale, responses, reading)
    matrix = responses_for(responses, **reading)
    chosen = _chosen(matrix)
    if chosen.empty:
        scores = _scored(matrix, scale, method, level, np.full(matrix.n_respondents, np.nan))
        return ShownFrame.of(Scored(scores, level, scores_shown))
    tables = []
    for task in map(str, chosen):
        misfit = chosen[task]
        of_task = _in_task(matrix.items, task)
        part = matrix.part(np.arange(matrix.n_respondents), np.flatnonzero(of_task))
        counted = _in_task(scale.labels or (), task)
        of_scale = _of_items(scale, counted) if counted.any() else scale
        part = part.with_tables(pd.DataFrame({"task": task}, part.items))
        table = _scored(part, of_scale, method, level, misfit.to_numpy(np.float64))
        table.insert(0, "task", task)
        tables.append(table[misfit.notna().to_numpy() | (table["n_responses"] > 0)])
    return ShownFrame.of(Scored(pd.concat(tables), level, scores_shown))


def scores_shown(scores: pd.DataFrame, level: float) -> Shown:
    """Scores, and what their columns are."""
    names = {"ability_se": "se", "expected_score": "score"}
    if "status" not in scores:  # several abilities
        return Shown("", scores.drop(columns=["accuracy", "n_responses"], errors="ignore"))
    columns = [name for name in _SHOWN if name in scores]
    legend = ["accuracy: on the calibrated items that were answered"] * ("accuracy" in scores)
    if "expected_score" in scores:
        all_items = "all items of the task" if "task" in scores else "all calibrated items"
        legend.append(f"score: proportion correct that is expected on {all_items}")
        names |= {f"expected_score_{end}": end for end in ("low", "high")}
        legend.append(f"low, high: {percent(level)} interval for systems like the calibrated ones")
    if "open" in set(scores["status"]):
        legend.append("open: high counts all items not asked as right: few systems score so high")
    if "beyond" in set(scores["status"]):
        legend.append("beyond: the score may be above those of nearly all calibrated systems")
    return Shown("", scores[columns].rename(columns=names), legend)


def _chosen(matrix: ResponseMatrix) -> pd.DataFrame:
    """Misfit of scores of respondents whose items a test chose, a column for every task."""
    table = matrix.respondent_table
    if table is None:
        return pd.DataFrame()
    table = table.filter(regex=f"^{CHOSEN}")
    return table.rename(columns=lambda name: name.removeprefix(CHOSEN))


def chosen_items(*matrices: ResponseMatrix | None) -> list[Finding]:
    """Say if a test chose the items of some respondents."""
    names = []
    for matrix in matrices:
        if matrix is not None:
            names += [*_chosen(matrix).dropna(how="all").index]
    if not names:
        return []
    of = sum(matrix.n_respondents for matrix in matrices if matrix is not None)
    return [Finding("chosen-items", "warning", {"n": len(names), "of": of, "systems": names})]


def _in_task(labels: tuple[str, ...], task: str) -> NDArray[np.bool_]:
    """Which items belong to a task: labels of logs are ``task/id``."""
    return np.array([label.startswith(f"{task}/") for label in labels], dtype=bool)


def _of_items(scale: Scale, counted: NDArray[np.bool_]) -> Scale:
    """Return the items with only some that a score is of."""
    if isinstance(scale, ItemBank):
        return scale.chosen(np.flatnonzero(counted))
    return replace(scale, counted=counted)


def _scored(
    matrix: ResponseMatrix, scale: Scale, method: MethodName, level: float, misfit: Array
) -> pd.DataFrame:
    """Scores, with the ``misfit`` of respondents whose items a test chose, NaN for others."""
    labels = {*(scale.labels or ())}
    ids = matrix.items
    if labels.isdisjoint(ids):  # only ids are calibrated, without their tasks
        ids = tuple(name for _, name in tasks_and_ids(ids, matrix.item_table))
    if ids != matrix.items and not labels.isdisjoint(ids) and len({*ids}) == len(ids):
        matrix = matrix.of_cells(matrix.cells, (matrix.respondents, ids), matrix.synthetic)
    if isinstance(scale, ItemBank):
        table = scale.scored(matrix, level, np.nan_to_num(misfit))
    else:
        table, findings = score_table(matrix, scale, method, level, misfit)
        for finding in findings:
            warn(finding)
    is_chosen = scale.selected | ~np.isnan(misfit)
    if is_chosen.all():
        return table.drop(columns="accuracy")
    return table.assign(accuracy=table["accuracy"].where(~is_chosen))


def score_table(
    matrix: ResponseMatrix,
    calibrated: CalibratedItems,
    method: MethodName = "EAP",
    level: float = 0.95,
    chosen_misfit: Any = np.nan,
) -> tuple[pd.DataFrame, list[Finding]]:
    """Table of :func:`irtkit.score`, with what limits it."""
    columns, places, findings = _in_common(matrix, calibrated)
    of_levels = calibrated.parameters.steps is not None
    if of_levels:
        matrix = matrix.to_dense()
    patterns = patterns_of(matrix, synthetic_is_real=True).with_columns(columns)
    if of_levels:
        _check_levels(matrix, patterns, calibrated.parameters.chosen(places), columns, method)
    patterns = patterns.with_scored(calibrated.scored[places])
    estimates, scores, status, n_asked = scores_of(
        patterns, places, calibrated, method, level, chosen_misfit
    )

    counts = patterns.points if of_levels else patterns.counts
    sd = calibrated.latent_sd
    mean = calibrated.latent_mean
    nothing = np.isnan(estimates.ability) | (counts.respondent_responses == 0)
    beyond = status == "beyond"
    status[np.isinf(estimates.ability)] = "unbounded"
    status[nothing] = "no responses"
    columns_of_scores = ("expected_score", "expected_score_low", "expected_score_high")
    values = {
        "ability": mean + sd * estimates.ability,
        "ability_se": sd * estimates.se,
        "ability_low": mean + sd * estimates.low,
        "ability_high": mean + sd * estimates.high,
        "accuracy": counts.accuracy,
        "n_responses": counts.respondent_responses,
        **dict(zip(columns_of_scores, scores, strict=True)),
        "status": status,
    }
    table = pd.DataFrame(values, index=pd.Index(matrix.respondents, name="respondent"))

    n_items = int(calibrated.known.sum())
    of = calibrated.selected_of
    if of is not None and of > n_items:
        findings.append(Finding("selected-items", "warning", {"n": n_items, "of": of}))
        return table.drop(columns=list(columns_of_scores)), findings
    if (n_asked == n_items).all():
        return table, findings
    if calibrated.misfit is None:
        findings.append(Finding("unknown-misfit", "warning", {"least": _TUNED.fewest}))
    if beyond.any():
        names = list(table.index[beyond])
        counts_beyond = {"n": len(names), "of": len(table), "respondents": names}
        findings.append(Finding("beyond", "warning", counts_beyond))
    return table, findings


def scores_of(
    patterns: Patterns,
    places: Places,
    calibrated: CalibratedItems,
    method: MethodName,
    level: float,
    chosen_misfit: Any = np.nan,
) -> tuple[Abilities, Array, NDArray[np.object_], Array]:
    """Abilities, scores with their bounds, (3, n), their status, and items answered.

    ``places`` locates the columns among the calibrated items. ``chosen_misfit`` is that of
    respondents whose items a test chose, and NaN for others.
    """
    right, n_asked = _seen(patterns)
    unasked = np.setdiff1d(np.flatnonzero(calibrated.known), places)
    rest = calibrated.unit.chosen(unasked)
    dispersions = calibrated.spread
    n_items = patterns.n_items + rest.n_items
    correlation: Any = calibrated.trial_correlation
    if calibrated.parameters.steps is not None:  # levels are no trials
        correlation = correlation * (calibrated.parameters.top[places] == 1)
    weighed = patterns.with_trial_correlation(correlation)
    spread = (1.0, 1.0) if dispersions is None else (dispersions[places], dispersions[unasked])
    some_left = (n_asked > 0) & (n_asked < n_items)
    sets, share = sets_asked(patterns, n_asked, some_left)
    sets = [places[columns] for columns in sets]
    misfit = np.zeros(patterns.n)
    if calibrated.misfit is not None:
        of_all = len(sets) == 1 and bool(share.all())
        of_set = partial(calibrated.misfit, calibrated.known, of_all=of_all)
        misfit = share @ [of_set(asked) for asked in sets]
    misfit = np.where(np.isnan(chosen_misfit), misfit, chosen_misfit)
    best = np.inf
    if calibrated.best is not None and some_left.any():
        best = calibrated.best(calibrated)
    limit = None
    if best < np.inf:
        limit = best * n_items - right, misfit * n_items**2
    estimates = _dispersed(
        weighed, calibrated, places, method, rest=rest, level=level, spread=spread, limit=limit
    )
    error = np.sqrt(estimates.rest_variance / n_items**2 + misfit)
    half_width = ndtri((1 + level) / 2) * error
    expected = (right + estimates.rest) / n_items
    scores = bounded(right, n_asked, n_items, expected, half_width)
    likely_above = estimates.above > (1 - level) / 2
    may_exceed = some_left & ((scores[2] > best) | likely_above)
    beyond = may_exceed
    if calibrated.end is not None:
        end = share @ [calibrated.end(asked) for asked in sets]
        beyond = may_exceed & (right > n_asked * end + 1e-6)  # rounding in 32 bits
    most = 1 - (n_asked - right) / n_items  # all items not asked are right
    scores[2] = np.where(may_exceed, most, scores[2])
    status = np.full(patterns.n, "ok", dtype=object)
    status[may_exceed] = "open"
    status[beyond] = "beyond"
    return estimates, scores, status, n_asked


def _dispersed(
    patterns: Patterns, calibrated: CalibratedItems, places: Places, *args: Any, **how: Any
) -> Abilities:
    """Abilities, with errors and intervals by the dispersions of the scores of items."""
    from irtkit.scoring.abilities import abilities

    items = calibrated.unit.chosen(places)
    estimates = abilities(patterns, items, *args, **how)
    if calibrated.dispersion is None:
        return estimates
    excess = np.nan_to_num(calibrated.dispersion[places] - 1)
    ability = estimates.ability
    added = np.zeros(patterns.n)
    for rows, _, answered in float_blocks(patterns, complete=False):
        theta = np.clip(np.nan_to_num(ability[rows]), -1e3, 1e3)
        information = items.information(theta) * excess
        added[rows] = np.asarray((answered * information).sum(axis=1)).ravel()
    variance = np.where(np.isfinite(estimates.se), estimates.se, 0) ** 2
    times = np.sqrt(np.maximum(1 + variance * added, 0.1))
    finite = np.isfinite(ability)
    low = np.where(finite, ability + (estimates.low - ability) * times, estimates.low)
    high = np.where(finite, ability + (estimates.high - ability) * times, estimates.high)
    return estimates._replace(se=estimates.se * times, low=low, high=high)


def bounded(right: Array, n_asked: Array, n_items: int, mean: Array, half: Array) -> Array:
    """Scores with their bounds, (3, n), within what the answers seen leave possible."""
    least = right / n_items
    most = 1 - (n_asked - right) / n_items
    score = np.clip(mean, least, most)
    low = np.maximum(mean - half, least)
    high = np.minimum(mean + half, most)
    return np.stack([score, low, high])


class Cells(NamedTuple):
    """Answers of some respondents, each (n, n_items) in 32 bits."""

    right: Array  # Proportion right of the trials of every cell, 0 where missing.
    tried: Array  # Trials of every cell, 0 where missing.

    @classmethod
    def of(cls, patterns: Patterns, rows: Places, columns: Places) -> Cells:
        """Return answers of some respondents to some items."""
        return cls(*patterns.shares(rows, columns, np.float32))

    @property
    def answered(self) -> Array:
        """1 where there is an answer, else 0."""
        return (self.tried > 0).astype(np.float32)

    @property
    def score(self) -> Array:
        """Proportion right of the items that each answered, (n,)."""
        n_answered = np.maximum(self.answered.sum(axis=1), 1)
        return np.asarray(self.right.sum(axis=1) / n_answered)

    def weights(self, asked: Places) -> tuple[Array, Array]:
        """Weights of errors of scores, if some items are asked, and factors to those on all items.

        On a sparse board the weight of a respondent is the number of the items that it answered, as
        the others err by their ability and not by misfit. Errors are proportional to the share of
        items that are left.
        """
        n_asked = self.answered[:, asked].sum(axis=1)
        share_left = 1 - n_asked / np.maximum(self.answered.sum(axis=1), 1)
        of_all = 1 - len(asked) / self.tried.shape[1]
        scale = np.divide(of_all, share_left, out=np.zeros(len(n_asked)), where=share_left > 0)
        return n_asked * share_left**2, scale

    def chosen(self, rows: Any) -> Cells:
        """Return the answers of some respondents."""
        return Cells(self.right[rows], self.tried[rows])


def expected_scores(
    items: ItemParameters | ItemBank,
    cells: Cells,
    places: Places,
    *,
    worth: Any = 1.0,
    spread: Any = 1.0,
) -> tuple[Array, Array]:
    """Scores expected from the answers at some places, and their variances by the model, (n,) each.

    Scores are those on the items that each answered. ``items`` are measured in SDs of ability. A
    trial of each item has the weight ``worth``, and an answer ``spread`` times the variance.
    """
    if isinstance(items, ItemBank):
        return items.expected_scores(*cells, places, cells.answered)
    asked = items.chosen(places)
    nodes = nodes_for(asked)
    right, tried = (part[:, places] for part in cells)
    weight = tried * np.broadcast_to(worth, items.n_items)[places]
    log_likelihood = ItemCurves(asked, nodes.theta).log_likelihood(right * weight, weight)
    posterior = Posterior.of(log_likelihood, nodes)
    n_items = np.maximum(cells.answered.sum(axis=1), 1)
    rest = cells.answered
    rest[:, places] = 0
    trials = np.where(items.top > 1, 1, np.maximum(cells.tried, 1))
    if (rest == rest[0]).all() and (trials == trials[0]).all():
        rest, trials = rest[:1], trials[:1]
    by_node = rest @ items.probability(nodes.theta).T
    noise = (rest / trials * spread) @ items.variance(nodes.theta).T
    mean, variance = posterior.number_right(by_node, noise)
    return (right.sum(axis=1) + mean) / n_items, variance / n_items**2


def added_variance(error: Array, variance: Array, weight: Array) -> float:
    """Variance of errors that the model does not explain, mean(e² − v), at least 0."""
    return max(0.0, weighted_mean(error**2 - variance, weight))


def weighted_mean(values: Array, weight: Array) -> float:
    """Weighted mean of values, 0 without weights."""
    total = weight.sum()
    return float(weight @ values / total) if total > 0 else 0.0


def misfit_of(
    result: FitResult, known: NDArray[np.bool_], places: Places, *, of_all: bool = False
) -> float:
    """Misfit of scores on the ``known`` items, if the items at some places are asked.

    Errors of the calibrated respondents are too small by 1 − 2/n with n the effective sample size,
    as residuals of a regression with two parameters per item.

    Errors on items that were chosen by their answers are far smaller, so that a list of
    `irtkit.select_items` that all were asked (``of_all``) has the error of held-out respondents.
    """
    if of_all and (known == result.parameters.known).all():
        of_list = result.misfit_of_list(tuple(places.tolist()))
        if of_list is not None:
            return float(of_list)
    patterns = result.patterns
    rows = _drawn(patterns.real & (patterns.margins.respondent_responses > 0))
    columns = np.flatnonzero(known)
    items = result.parameters.standardised(result.latent_sd, result.latent_mean).chosen(columns)
    of_scores: dict[str, Any] = {}
    if result.dispersion is not None:
        worth = patterns.score_worth(result.settings.trial_correlation)
        spread: Any = calibrated_items(result).spread
        of_scores = {"worth": worth[columns], "spread": spread[columns]}
    cells = Cells.of(patterns, rows, columns)
    asked = np.searchsorted(columns, places)
    expected, variance = expected_scores(items, cells, asked, **of_scores)
    shrunk = 1 - 2 / result.near_duplicates.n_eff
    weight, scale = cells.weights(asked)
    error = scale * (expected - cells.score) / shrunk
    return added_variance(error, scale**2 * variance, weight)


def _drawn(which: NDArray[np.bool_]) -> Places:
    """Rows of these respondents, of many a sample."""
    rows = np.flatnonzero(which)
    if len(rows) > _TUNED.most:
        rows = np.sort(np.random.default_rng(0).choice(rows, _TUNED.most, replace=False))
    return rows


def end_of(result: FitResult, places: Places) -> float:
    """Score on the items at some places that few exceed.

    A respondent like the n calibrated ones has a score above the m-th highest of theirs, on the
    same items, with a probability of at most m/(n + 1) (Vovk, Gammerman & Shafer 2005).
    """
    rows = _drawn(result.answering)
    if result.responses is None:
        items = result.parameters.chosen(places)
        score = items.probability(result.ability[rows]).mean(axis=1)
    else:
        cells = Cells.of(result.patterns, rows, places)
        score = cells.score[cells.answered.any(axis=1)]
    rank = max(1, int(_TUNED.level * (len(score) + 1)))
    return float(np.sort(score)[-rank]) if len(score) else 1.0


def sets_asked(
    patterns: Patterns, n_asked: Array, some_left: NDArray[np.bool_]
) -> tuple[list[Places], Array]:
    """Sets of columns that respondents answered, and the share of each in what holds for each.

    Shares, (n, n_sets), interpolate by the number of items where sets are many. They are 0 where
    nothing was answered or nothing is left.
    """
    if not some_left.any():
        return [], np.empty((patterns.n, 0))
    generator = np.random.default_rng(0)
    weights = generator.integers(1, 2**40, patterns.n_items).astype(np.float64)
    parts = float_blocks(patterns, complete=False)
    keys = np.concatenate([(answered > 0) @ weights for _, _, answered in parts])
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    rows = first[some_left[first]]  # The first respondent of every set.
    few = len(rows) <= _TUNED.most_sets
    if not few:  # sets of one size by how easy their items are, not in the order of respondents
        right, responses = (sums.sum(axis=0) for sums in patterns.margins[:2])
        ease = patterns.response_scores(right / np.maximum(responses, 1))[rows]
        by_size = rows[np.lexsort([np.round(ease, 9), n_asked[rows]])]
        evenly = np.linspace(0, len(by_size) - 1, _TUNED.most_sets)
        rows = by_size[evenly.round().astype(int)]
    answers = (patterns.dense(slice(row, row + 1)) for row in rows)
    sets = [np.flatnonzero(trials[0]) for _, trials in answers]
    if few:
        return sets, (which[:, None] == which[rows]).astype(np.float64)
    sizes, size = np.unique(n_asked[rows], return_inverse=True)
    of_sets = (size[:, None] == np.arange(len(sizes))) / np.bincount(size)
    shares = [np.interp(n_asked, sizes, of_set) for of_set in of_sets]
    return sets, np.stack(shares, axis=1) * some_left[:, None]


def items_for_scores(given: object, latent_sd: float | None = None) -> Scale:
    """Return calibrated items, with what a result or a selection shows about scores."""
    if isinstance(given, str | os.PathLike):
        path = as_path(given, "items")
        if is_saved(path):
            given = read_any(path)
        elif path.is_file() and storage.name_of(path) == _FORMAT.name:
            given = storage.read(path, _FORMAT, _loaded)
        else:
            given = read_items(path, "items")
    given = getattr(given, "calibrated", given)  # of a selection
    if isinstance(given, FitResult) and given.n_abilities > 1:
        given = ItemBank.of(given)
    if isinstance(given, CalibratedItems | ItemBank):
        if latent_sd is not None:
            raise ValueError("latent_sd is for a table of items with one ability. Leave it out")
        return given
    items = calibrated_items(given, latent_sd)
    if isinstance(given, FitResult):
        n = given.near_duplicates.n_eff
        if given.responses is not None and min(n, given.n_answering) >= _TUNED.fewest:
            items = replace(items, misfit=partial(misfit_of, given))
        return replace(items, best=partial(_best, given), end=partial(end_of, given))
    table: Any = given
    if "selected_of" not in getattr(table, "columns", ()):
        return items
    return replace(items, selected=True, selected_of=int(table["selected_of"].iloc[0]))


def reading_for(scale: Scale, responses: Any, reading: dict[str, Any]) -> dict[str, Any]:
    """Settings of reading, with those of the calibrated items where these have some.

    Marks of logs are read as in the fit, if its responses were logs too.
    """
    settings: dict[str, Any] = {}
    is_path = isinstance(responses, str | os.PathLike)
    if scale.marks and is_path and holds_logs(responses):
        settings |= scale.marks
    if isinstance(scale, CalibratedItems) and scale.parameters.steps is not None:
        of_levels = {"levels": True, "score_range": scale.score_ranges}
        settings |= {name: value for name, value in of_levels.items() if value}
    return settings | reading


def save_items(
    path: str | os.PathLike[str], items: CalibratedItems, sizes: Array, misfit: Array, ends: Array
) -> None:
    """Write items to one file.

    ``misfit`` has one value per size and ``ends`` one per number of items asked.
    """
    record = {
        "items": storage.fields_of(replace(_bare(items), responses=None)),
        "best": np.nan if items.best is None else items.best(items),
        "sizes": sizes,
        "misfit": misfit,
        "ends": ends,
    }
    storage.write(path, _FORMAT, record)


def save_bank(path: str | os.PathLike[str], bank: ItemBank) -> None:
    """Write items of several abilities to one file."""
    storage.write(path, _FORMAT, {"bank": storage.fields_of(bank)})


def _loaded(record: dict[str, Any]) -> Scale:
    if "bank" in record:
        return ItemBank.restored(record["bank"])
    sizes, best = record["sizes"], record["best"]
    items = CalibratedItems(**storage.with_parts(record["items"], parameters=ItemParameters))
    return replace(
        items,
        best=lambda _: best,
        misfit=lambda _, places, **_of: float(np.interp(len(places), sizes, record["misfit"])),
        end=lambda places: float(record["ends"][: len(places)][-1]),
    )


def _bare(items: CalibratedItems) -> CalibratedItems:
    """Return the items without what calibrated respondents show about scores."""
    return replace(items, best=None, misfit=None, end=None)


def _best(result: FitResult, items: CalibratedItems) -> float:
    """Return a little less than the third best score of the calibrated respondents."""
    rows = np.flatnonzero(result.answering)
    columns = np.flatnonzero(items.known)
    upper = (result.ability + result.posterior_sd)[rows]
    ablest = rows[np.argsort(-upper, kind="stable")[: _TUNED.ablest]]
    if result.responses is None:
        p = items.parameters.chosen(columns).probability(result.ability[ablest])
        scores = p.mean(axis=1)
    else:
        patterns = result.patterns.chosen(ablest).with_columns(columns)
        scores = scores_of(patterns, columns, _bare(items), "EAP", level=0.95)[1][0]
    return float(np.sort(scores)[-_TUNED.rank :][0]) - _TUNED.margin


def _in_common(
    matrix: ResponseMatrix, calibrated: CalibratedItems
) -> tuple[NDArray[np.intp], NDArray[np.intp], list[Finding]]:
    """Columns of the responses that are calibrated, which items they are, and what is left out."""
    has_parameters = calibrated.known
    if calibrated.labels is None:
        if matrix.n_items != len(has_parameters):
            raise ValueError(
                f"there are {len(has_parameters)} items without labels and {matrix.n_items} in the "
                "responses. Give a table of items with their labels as its index"
            )
        places = np.arange(len(has_parameters))
    else:
        places = calibrated.places_of(matrix.items)
    has_place = (places >= 0) & has_parameters[places]
    columns = np.flatnonzero(has_place)
    strange = np.flatnonzero(~has_place)
    if not len(columns):
        raise ValueError(
            "no item of the responses is calibrated. Items of the responses: "
            f"{first_names([matrix.items[k] for k in strange])}. Calibrated items: "
            f"{first_names(list(calibrated.labels or ()))}"
        )
    if not len(strange):
        return columns, places[columns], []
    responses = patterns_of(matrix, synthetic_is_real=True).margins.item_responses.sum(axis=0)
    names = [matrix.items[k] for k in strange if responses[k]]
    left_out = {"n": len(names), "of": matrix.n_items, "items": names}
    findings = [Finding("uncalibrated-items", "warning", left_out)] if names else []
    return columns, places[columns], findings


def _check_levels(
    matrix: ResponseMatrix,
    patterns: Patterns,
    items: ItemParameters,
    columns: NDArray[np.intp],
    method: MethodName,
) -> None:
    """Refuse methods and levels that items of ordered levels do not have."""
    if method not in {"EAP", "MAP"}:
        raise ValueError(f"method must be EAP or MAP for items of the {items.model}, got {method}")
    tried = patterns.cells >= 0 if patterns.trials is None else patterns.trials
    wrong = (tried > 0) & (tried != items.top) & (items.top > 1)
    if wrong.any():
        row, k = divmod(int(wrong.argmax()), wrong.shape[1])
        raise ValueError(
            f"responses must have the levels of the items: item {short(matrix.items[columns[k]])} "
            f"has a highest score of {items.top[k]:.0f}, and that of system "
            f"{short(matrix.respondents[row])} is {tried[row, k]:.0f}"
        )


def _seen(patterns: Patterns) -> tuple[Array, Array]:
    """Sum of the proportions right over the items answered, and their number, (n,) each."""
    if not patterns.repeated:
        counts = patterns.counts
        right, asked = counts.respondent_right, counts.respondent_responses
        return right.astype(np.float64), asked.astype(np.float64)
    sums = np.zeros((2, patterns.n))
    for rows in blocks(patterns.n, patterns.n_items):
        share, tried = patterns.shares(rows)
        sums[0, rows] = share.sum(axis=1)
        sums[1, rows] = (tried > 0).sum(axis=1)
    return sums[0], sums[1]
