"""Where systems stand on a benchmark: the score of each, and how all err together.

The score is the expected accuracy on all items (:func:`irtkit.score`). Its errors treat items and
answers as random samples. Item j contributes (y_ij or P_ij) − s_i + D_i ψ_ij to J times the score
of system i. P_ij replaces a missing answer, and D_i = Σ P'_ij is over missing answers. The effect
of answer j on ability is ψ_ij, a scaled score residual r(y − P) with r = P'/(PQ). Its scale makes
Σψ² the posterior variance v of ability, or more if residuals are larger than the model expects.

Errors of the slope a and intercept d of an item move J times the score, with I = rP', by

    d:  P'/a without an answer,   −D v I/a with one,
    a:  θP'/a without an answer,  D v ((y − P) r − θI)/a with one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.calibrated import calibrated_items
from irtkit.calibration.result import FitResult
from irtkit.checks import check_type, short
from irtkit.data.families import family_codes
from irtkit.data.patterns import blocks
from irtkit.findings import Finding, Remedy
from irtkit.responses.labels import by_label, is_missing_label, values_by_label
from irtkit.scoring import items_for_scores
from irtkit.scoring.scores import score_table
from irtkit.systems.paired import correction

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters
    from irtkit.systems.paired import Clusters

MOST_SYSTEMS = 10_000  # A matrix of all pairs of more systems takes over 800 MB.
_SAME = 1e-6  # Difference of scores in 32 bits that is rounding.
MOST_DRAWN = 600  # Systems up to which draws set the bound (500: 4.95 standard errors, Holm 5.07).


class Shares(NamedTuple):
    """Accuracies of some systems on each item, dense."""

    right: Array  # Proportion right of the trials of each cell, 0 if missing, (n, n_items).
    trials: Array
    scored: bool = False  # Whether some are scores between 0 and 1.

    @classmethod
    def of(cls, patterns: Patterns) -> Shares:
        """Return the accuracies of patterns."""
        right, trials = patterns.dense()
        share = right if patterns.trials is None else right / np.maximum(trials, 1)
        return cls(share, trials, patterns.scored is not None)

    @property
    def steps(self) -> Array:
        """Least change of the accuracy of each system by one other answer, (n,).

        For scores it is their least difference.
        """
        steps = np.asarray(1 / np.maximum(self.trials.max(axis=1), 1))
        if self.scored:
            gaps = np.diff(np.sort(np.pad(self.right, ((0, 0), (0, 1)), constant_values=1), axis=1))
            steps = np.minimum(steps, np.where(gaps > _SAME, gaps, 1).min(axis=1))
        return steps


@dataclass(frozen=True, eq=False)
class Standing:
    """Systems that are compared with each other, best first, equal ones as in the responses."""

    places: Any  # Of the systems among the respondents of the result, (n,).
    scores: Array  # Expected accuracy, (n,), rounded so that equal answers have equal scores.
    contributions: Array  # Of clusters of items to the error of each score, (n, n_clusters).
    df: Array  # Clusters answered, less one.
    least: float = 0.0  # Variance that a difference of scores has at least.
    filled: bool = False  # Whether the model has filled in answers.

    @cached_property
    def squares(self) -> Array:
        """Variance of the error of each score, (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.contributions, self.contributions))

    def variances(self, rows: Any, columns: Any) -> Array:
        """Variance of the difference of each of some systems to each of others."""
        found = self.contributions[rows] @ self.contributions[columns].T
        found *= -2
        squares = self.squares
        found += squares[rows, None]
        found += squares[columns]
        return np.asarray(np.maximum(found, self.least, out=found))

    @property
    def spread(self) -> float:
        """Variance of the true difference of two systems, infinite for three or fewer.

        The mean square of differences, less (n − 3)/(n − 1) of the mean square of errors (James &
        Stein).
        """
        n = len(self.scores)
        if n <= 3:
            return np.inf
        of_all = 2 * float(self.scores.var(ddof=1))
        noise = 2 * float(self.contributions.var(axis=0, ddof=1, dtype=np.float64).sum())
        share = 1 - (n - 3) / (n - 1) * min(noise / max(of_all, 1e-300), 1.0)
        return noise * share / (1 - share) if share < 1 else np.inf


def standings(
    result: FitResult, clusters: Any = None, *, level: float | None = None
) -> tuple[pd.DataFrame, list[Standing], Clusters | None]:
    """Scores of all, with intervals if there is a level, standings by component, and clusters."""
    cluster = clusters_of(result, clusters)
    patterns, responses = result.patterns, result.responses
    real, n = patterns.answering, patterns.n_answering
    if n > MOST_SYSTEMS:
        raise ValueError(
            f"result must have at most {MOST_SYSTEMS:,} systems, since every pair is compared, and "
            f"has {n:,} (result.respondents lists all, without ranks)"
        )
    if not n:
        raise ValueError("result lacks a real respondent with a response to rank")
    if responses is None or (level is None and patterns.complete):
        table = result.respondents
        table["expected_score"] = table["accuracy"]
    else:  # misfit is for intervals only, and not for systems beyond the calibrated ones
        filled = level and not all_answered(patterns)
        items = items_for_scores(result) if filled else calibrated_items(result)
        table, _ = score_table(responses, replace(items, best=None), level=level or 0.95)
    component = np.ones(len(real)) if result.components is None else result.components.respondents
    parts = [np.flatnonzero(real & (component == k)) for k in np.unique(component[real])]
    return table, [standing_of(result, table, places, cluster) for places in parts], cluster


def standing_of(
    result: FitResult, table: pd.DataFrame, places: Any, cluster: Clusters | None
) -> Standing:
    """Standing of some respondents, on items with parameters, by a table of `irtkit.score`."""
    scores = np.round(table["expected_score"].to_numpy(dtype=np.float64)[places], 12)
    best_first = np.argsort(-scores, kind="stable")
    places, scores, known = places[best_first], scores[best_first], result.parameters.known
    chosen = result.patterns.chosen(places)
    if not known.all():
        chosen = chosen.with_columns(np.flatnonzero(known))
    items, filled = result.parameters.chosen(known), not all_answered(chosen)
    errors = np.nan_to_num(result.standard_errors[known][:, [0, 3]].T)  # none of what is held
    n_items, order = chosen.n_items, np.arange(len(items.discrimination))
    starts = order
    if cluster is not None:
        order = np.argsort(cluster[known], kind="stable")
        starts = np.unique(cluster[known][order], return_index=True)[1]
    n_clusters = len(starts)

    def by_cluster(each: Array) -> Array:
        if cluster is None:
            return each
        return np.asarray(np.add.reduceat(each[:, order], starts, axis=1))

    correlation, rows = result.settings.trial_correlation or 0.0, table.iloc[places]
    # Differences of many systems need no more digits.
    precision = np.float32 if len(places) > MOST_DRAWN else np.float64
    found = np.zeros((len(places), n_clusters + 2 * n_items * filled), precision)
    df, step = np.empty(len(places)), 1.0
    for some in blocks(len(places), 4 * n_items, 2**22):
        shares = Shares.of(chosen.chosen(some))
        step = min(step, float(shares.steps.min()))
        own = shares.right - scores[some, None]
        if filled:
            weight = shares.trials / (1 + np.maximum(shares.trials - 1, 0) * correlation)
            weight = weight * chosen.score_worth(correlation)
            p, by_answers, by_intercept, by_slope = moves(items, shares, rows.iloc[some], weight)
            own = np.where(shares.trials > 0, own, p - scores[some, None]) + by_answers
            found[some, n_clusters:] = np.hstack([by_intercept * errors[1], by_slope * errors[0]])
        own = by_cluster(own) * correction(n_clusters) ** 0.5
        found[some, :n_clusters] = own
        df[some] = (by_cluster(shares.trials) > 0).sum(axis=1) - 1
    found /= n_items
    least = step**2 * correction(n_clusters) / n_items**2
    return Standing(places, scores, found, df, least, filled)


def standing_by_abilities(
    result: FitResult, cluster: Clusters | None, task: Clusters | None = None
) -> Standing:
    """Standing of the systems of a fit with several abilities, by expected score.

    With the number of the ``task`` of each item it is the mean of the scores by task. Missing
    answers are expected ones. Their errors come from abilities, as sums over the items that were
    answered, and from items.
    """
    patterns, fitted = result.patterns, result.several.fitted
    shares, p = Shares.of(patterns), result.probability().to_numpy()
    seen, (n, n_items) = shares.trials > 0, p.shape
    given = np.where(seen, shares.right, p)
    task = np.zeros(n_items, np.intp) if task is None else task
    sizes = np.bincount(task)
    each = 1 / (len(sizes) * sizes[task])  # weights of items
    of_tasks = given @ ((task[:, None] == np.arange(len(sizes))) / sizes)
    scores = np.round(of_tasks.mean(axis=1), 12)
    places = np.flatnonzero(patterns.answering)
    places = places[np.argsort(-scores[places], kind="stable")]
    own, rise = each * (given - of_tasks[:, task]), np.where(seen, 0.0, each * p * (1 - p))
    weight = patterns.with_trial_correlation(result.settings.trial_correlation or 0.0).dense()[1]
    slopes = fitted.items.mean[:, :-1]
    moved = rise @ slopes
    along = np.einsum("ni,nij->nj", moved, fitted.ability_covariance)
    by_answers = (along @ slopes.T) * weight * np.where(seen, shares.right - p, 0.0)
    squares = (by_answers**2).sum(axis=1)
    ratio = np.divide((along * moved).sum(axis=1), squares, out=np.zeros(n), where=squares > 0)
    own += by_answers * np.sqrt(ratio)[:, None]
    x = fitted.respondents.mean
    by_items = rise * np.sqrt(np.einsum("ni,jik,nk->nj", x, fitted.items.covariance, x))
    own, tried, n_clusters = own[places], shares.trials[places] > 0, n_items
    if cluster is not None:
        n_clusters = int(cluster.max()) + 1
        member = (cluster[:, None] == np.arange(n_clusters)).astype(np.float64)
        own, tried = own @ member, tried @ member > 0
    found = np.hstack([own * correction(n_clusters) ** 0.5, by_items[places]])
    least = (float(shares.steps.min()) * each.min()) ** 2 * correction(n_clusters)
    df = tried.sum(axis=1) - 1.0
    return Standing(places, scores[places], found, df, least, bool((~seen).any()))


def by_ability(result: FitResult, part: Standing) -> Standing:
    """Standing of the same systems by ability, with its errors given these very items.

    Errors of more than 600 systems are taken as independent.
    """
    from irtkit.calibration.errors import board_covariance

    scores = np.round(result.ability[part.places], 12)
    best_first = np.argsort(-scores, kind="stable")
    places = part.places[best_first]
    if len(places) > MOST_DRAWN:
        root = np.diag(result.board_se[places].astype(np.float32))
    else:
        values, vectors = np.linalg.eigh(board_covariance(result, places))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    df = np.full(len(places), np.inf)
    return Standing(places, scores[best_first], root, df, filled=part.filled)


def moves(
    items: ItemParameters, shares: Shares, rows: pd.DataFrame, weight: Array, share: Any = 1.0
) -> tuple[Array, Array, Array, Array]:
    """P, Dψ, and the slopes of J times the score by intercepts and by slopes, (n, n_items) each.

    ``rows`` have ability and ability_se of some systems. ``weight`` is for how many independent
    trials each cell counts. With a ``share`` of each item in a score, all are about this score.
    """
    theta, error = (rows[name].to_numpy(dtype=np.float64) for name in ("ability", "ability_se"))
    p, information, seen = items.probability(theta), items.information(theta), shares.trials > 0
    variance = p * (1 - p)
    rise = np.sign(items.discrimination) * np.sqrt(information * variance)
    rate = np.divide(rise, variance, out=np.zeros_like(p), where=variance > 0)
    answered, score, rise = weight * information, rate * weight * (shares.right - p), rise * share
    by_ability = np.where(seen, 0.0, rise).sum(axis=1, keepdims=True)
    squares = (score**2).sum(axis=1, keepdims=True)
    least = np.minimum(squares, answered.sum(axis=1, keepdims=True))
    scale = np.divide(error[:, None], np.sqrt(least), out=np.zeros_like(least), where=least > 0)
    of_ability = by_ability * error[:, None] ** 2
    by_logit = np.where(seen, -of_ability * answered, rise)
    by_slope = by_logit * theta[:, None] + of_ability * score
    a = items.discrimination
    inverse = np.divide(1, a, out=np.zeros_like(a), where=a != 0)
    return p, by_ability * scale * score, by_logit * inverse, by_slope * inverse


def limits_of(result: FitResult, parts: list[Standing]) -> list[Finding]:
    """What keeps errors of scores from being what they should."""
    if result.settings.standard_errors or not any(part.filled for part in parts):
        return []
    return [
        Finding("items-taken-as-known", "warning", {}, (Remedy({}, code="standard_errors=True"),))
    ]


def all_answered(patterns: Patterns) -> bool:
    """Whether no cell is missing."""
    if patterns.trials is None:
        return patterns.complete
    if patterns.sparse:
        return bool(patterns.trials.nnz == patterns.n * patterns.n_items)
    return bool(patterns.trials.all())


def clusters_of(result: FitResult, clusters: Any) -> Clusters | None:
    """Number the clusters of items, which are named by item or in a column of the item table."""
    check_type("result", result, FitResult)
    if isinstance(clusters, str):
        labels, responses = result.item_labels, result.responses
        clusters = by_label("clusters", clusters, labels, responses, "cluster", "item")
    return numbered_clusters(clusters, result.item_labels)


def with_clustered_errors(result: FitResult, families: Any, clusters: Any) -> FitResult:
    """The same result with clustered errors. A respondent without a family is its own family."""
    from irtkit.calibration.errors import clustered

    numbers = None if families is None else family_codes(result, families)
    return clustered(result, numbers, clusters_of(result, clusters))


def numbered_clusters(clusters: Any, items: tuple[str, ...]) -> Clusters | None:
    """Number the clusters of items, which are named by item. Every item needs one."""
    if clusters is None:
        return None
    names = values_by_label("clusters", clusters, items, value="cluster", kind="item")
    for label, name in zip(items, names, strict=True):
        if is_missing_label(name):
            raise ValueError(f"clusters lacks a cluster for item {short(label)}")
    return np.unique([str(name) for name in names], return_inverse=True)[1]
