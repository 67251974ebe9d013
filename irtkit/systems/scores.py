"""Scores of systems on a benchmark, and how all err together: one matrix for every question.

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
    from collections.abc import Iterator

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
class Scores:
    """Scores of systems that are compared with each other, best first, with their errors.

    Equal systems stand as in the responses. The covariance of the errors is error @ error.T.
    """

    places: Any  # Of the systems among the respondents of the result, (n,).
    value: Array  # Expected accuracy, (n,), rounded so that equal answers have equal scores.
    error: Array  # Contributions of clusters of items to the error of each score, (n, n_clusters).
    df: Array  # Clusters answered, less one.
    least: float = 0.0  # Variance that a difference of scores has at least.
    filled: bool = False  # Whether the model has filled in answers.

    @cached_property
    def variance(self) -> Array:
        """Variance of the error of each score, (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.error, self.error))

    def difference_variance(self, rows: Any, columns: Any) -> Array:
        """Variance of the difference of each of some systems to each of others."""
        variance = self.error[rows] @ self.error[columns].T
        variance *= -2
        variance += self.variance[rows, None]
        variance += self.variance[columns]
        return np.asarray(np.maximum(variance, self.least, out=variance))

    @cached_property
    def spread(self) -> float:
        """Variance of the true difference of two systems, infinite for three or fewer.

        The mean square of differences, less (n − 3)/(n − 1) of the mean square of errors (James &
        Stein).
        """
        n = len(self.value)
        if n <= 3:
            return np.inf
        observed = 2 * float(self.value.var(ddof=1))
        noise = 2 * float(self.error.var(axis=0, ddof=1, dtype=np.float64).sum())
        share = 1 - (n - 3) / (n - 1) * min(noise / max(observed, 1e-300), 1.0)
        return noise * share / (1 - share) if share < 1 else np.inf


class ItemClusters(NamedTuple):
    """Clusters of items whose contributions to errors are added up."""

    order: Any  # Of the items, by cluster.
    starts: Any  # Of the clusters in this order.

    @classmethod
    def of(cls, cluster: Clusters, items: Any = slice(None)) -> ItemClusters:
        """Clusters of some items, by the number of the cluster of each item."""
        order = np.arange(len(cluster))[items]
        order = order[np.argsort(cluster[order], kind="stable")]
        return cls(order, np.unique(cluster[order], return_index=True)[1])

    def sums(self, by_item: Array, weight: Array | None = None) -> Array:
        """Weighted sums of (n, n_items) over the items of each cluster, (n, n_clusters)."""
        ordered = by_item[:, self.order]
        if weight is not None:
            ordered = ordered * weight[self.order]
        return np.asarray(np.add.reduceat(ordered, self.starts, axis=1))


class Answers(NamedTuple):
    """Answers that scores of one ability are about, on items with parameters."""

    chosen: Patterns
    rows: pd.DataFrame  # Of these systems in a table of `irtkit.score`.
    items: ItemParameters
    errors: Array  # Standard errors of slopes and intercepts, (2, n_items), 0 if held.
    correlation: float  # Of repeated trials.
    filled: bool  # Whether answers are missing, which the model fills in.

    @classmethod
    def of(cls, result: FitResult, table: pd.DataFrame, places: Any) -> Answers:
        """Answers of some respondents."""
        answered = result.parameters.known
        chosen = result.patterns.chosen(places)
        if not answered.all():
            chosen = chosen.with_columns(np.flatnonzero(answered))
        errors = np.nan_to_num(result.standard_errors[answered][:, [0, 3]].T)
        correlation = result.settings.trial_correlation or 0.0
        items = result.parameters.chosen(answered)
        filled = not all_answered(chosen)
        return cls(chosen, table.iloc[places], items, errors, correlation, filled)

    def blocks(self) -> Iterator[tuple[slice, Shares]]:
        """Accuracies, of some systems at a time."""
        for systems in blocks(self.chosen.n, 4 * self.chosen.n_items, 2**22):
            yield systems, Shares.of(self.chosen.chosen(systems))

    def moved(self, systems: slice, shares: Shares, share: Any = 1.0) -> tuple[Array, Array, Array]:
        """P, and what answers (n, n_items) and errors of items (n, 2 n_items) add to errors.

        ``share`` is that of each item in the score.
        """
        inflation = 1 + np.maximum(shares.trials - 1, 0) * self.correlation
        weight = shares.trials / inflation * self.chosen.score_worth(self.correlation)
        rows = self.rows.iloc[systems]
        p, by_answers, by_intercept, by_slope = moves(self.items, shares, rows, weight, share)
        slope_errors, intercept_errors = self.errors
        by_items = np.hstack([by_intercept * intercept_errors, by_slope * slope_errors])
        return p, by_answers, by_items


def scores_by_component(
    result: FitResult, clusters: Any = None, *, level: float | None = None
) -> tuple[pd.DataFrame, list[Scores], Clusters | None]:
    """Table of all scores, with intervals if there is a level, scores by component, clusters."""
    cluster = clusters_of(result, clusters)
    patterns, responses = result.patterns, result.responses
    answering, n = patterns.answering, patterns.n_answering
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
    component: Any = np.ones(patterns.n)
    if result.components is not None:
        component = result.components.respondents
    parts = []
    for number in np.unique(component[answering]):
        places = np.flatnonzero(answering & (component == number))
        parts.append(scores_of(result, table, places, cluster))
    return table, parts, cluster


def scores_of(
    result: FitResult, table: pd.DataFrame, places: Any, cluster: Clusters | None
) -> Scores:
    """Scores of some respondents, on items with parameters, by a table of `irtkit.score`."""
    value = np.round(table["expected_score"].to_numpy(dtype=np.float64)[places], 12)
    best_first = np.argsort(-value, kind="stable")
    places, value = places[best_first], value[best_first]
    answers = Answers.of(result, table, places)
    n_items = answers.chosen.n_items
    clusters = None
    n_clusters = n_items
    if cluster is not None:
        clusters = ItemClusters.of(cluster[result.parameters.known])
        n_clusters = len(clusters.starts)
    # Differences of many systems need no more digits.
    precision = np.float32 if len(places) > MOST_DRAWN else np.float64
    error = np.zeros((len(places), n_clusters + 2 * n_items * answers.filled), precision)
    df = np.empty(len(places))
    step = 1.0
    for systems, shares in answers.blocks():
        step = min(step, float(shares.steps.min()))
        deviation = shares.right - value[systems, None]
        tried = shares.trials
        if answers.filled:
            p, by_answers, by_items = answers.moved(systems, shares)
            expected = p - value[systems, None]
            deviation = np.where(tried > 0, deviation, expected) + by_answers
            error[systems, n_clusters:] = by_items
        if clusters is not None:
            deviation, tried = clusters.sums(deviation), clusters.sums(tried)
        error[systems, :n_clusters] = deviation * correction(n_clusters) ** 0.5
        df[systems] = (tried > 0).sum(axis=1) - 1
    error /= n_items
    least = step**2 * correction(n_clusters) / n_items**2
    return Scores(places, value, error, df, least, answers.filled)


def scores_by_abilities(
    result: FitResult, cluster: Clusters | None, task: Clusters | None = None
) -> Scores:
    """Expected scores of the systems of a fit with several abilities.

    With the number of the ``task`` of each item, a score is the mean of the scores by task. Missing
    answers are expected ones. Their errors come from abilities, as sums over the items that were
    answered, and from items.
    """
    patterns, fitted = result.patterns, result.several.fitted
    shares, p = Shares.of(patterns), result.probability().to_numpy()
    answered = shares.trials > 0
    n, n_items = p.shape
    right = np.where(answered, shares.right, p)
    task = np.zeros(n_items, np.intp) if task is None else task
    sizes = np.bincount(task)
    share = 1 / (len(sizes) * sizes[task])  # Of each item in a score.
    by_task = right @ ((task[:, None] == np.arange(len(sizes))) / sizes)
    value = np.round(by_task.mean(axis=1), 12)
    places = np.flatnonzero(patterns.answering)
    places = places[np.argsort(-value[places], kind="stable")]
    error = share * (right - by_task[:, task])

    # Abilities err as the residuals of the answers say, with their posterior covariance.
    rise = np.where(answered, 0.0, share * p * (1 - p))
    counted = patterns.with_trial_correlation(result.settings.trial_correlation or 0.0)
    weight = counted.dense()[1]
    slopes = fitted.items.mean[:, :-1]
    gradient = rise @ slopes
    along = np.einsum("ni,nij->nj", gradient, fitted.ability_covariance)
    by_answers = (along @ slopes.T) * weight * np.where(answered, shares.right - p, 0.0)
    squares = (by_answers**2).sum(axis=1)
    variance = (along * gradient).sum(axis=1)
    ratio = np.divide(variance, squares, out=np.zeros(n), where=squares > 0)
    error += by_answers * np.sqrt(ratio)[:, None]
    x = fitted.respondents.mean
    by_items = rise * np.sqrt(np.einsum("ni,jik,nk->nj", x, fitted.items.covariance, x))

    error, tried = error[places], shares.trials[places]
    n_clusters = n_items
    if cluster is not None:
        clusters = ItemClusters.of(cluster)
        n_clusters = len(clusters.starts)
        error, tried = clusters.sums(error), clusters.sums(tried)
    error = np.hstack([error * correction(n_clusters) ** 0.5, by_items[places]])
    least = (float(shares.steps.min()) * share.min()) ** 2 * correction(n_clusters)
    df = (tried > 0).sum(axis=1) - 1.0
    return Scores(places, value[places], error, df, least, bool((~answered).any()))


def scores_by_ability(result: FitResult, scores: Scores) -> Scores:
    """Abilities of the same systems, with their errors given these very items.

    Errors of more than 600 systems are taken as independent.
    """
    from irtkit.calibration.errors import board_covariance

    ability = np.round(result.ability[scores.places], 12)
    best_first = np.argsort(-ability, kind="stable")
    places = scores.places[best_first]
    if len(places) > MOST_DRAWN:
        root = np.diag(result.board_se[places].astype(np.float32))
    else:
        values, vectors = np.linalg.eigh(board_covariance(result, places))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    df = np.full(len(places), np.inf)
    return Scores(places, ability[best_first], root, df, filled=scores.filled)


def moves(
    items: ItemParameters, shares: Shares, rows: pd.DataFrame, weight: Array, share: Any = 1.0
) -> tuple[Array, Array, Array, Array]:
    """P, Dψ, and the slopes of J times the score by intercepts and by slopes, (n, n_items) each.

    ``rows`` have ability and ability_se of some systems. ``weight`` is for how many independent
    trials each cell counts. With a ``share`` of each item in a score, all are about this score.
    """
    theta = rows["ability"].to_numpy(dtype=np.float64)[:, None]
    ability_se = rows["ability_se"].to_numpy(dtype=np.float64)[:, None]
    p, information = items.probability(theta[:, 0]), items.information(theta[:, 0])
    answered = shares.trials > 0
    variance = p * (1 - p)
    slope = np.sign(items.discrimination) * np.sqrt(information * variance)  # P'
    rate = np.divide(slope, variance, out=np.zeros_like(p), where=variance > 0)
    weighted_information = weight * information
    residual = rate * weight * (shares.right - p)
    rise = slope * share
    missing_rise = np.where(answered, 0.0, rise).sum(axis=1, keepdims=True)
    squares = (residual**2).sum(axis=1, keepdims=True)
    least = np.minimum(squares, weighted_information.sum(axis=1, keepdims=True))
    scale = np.divide(ability_se, np.sqrt(least), out=np.zeros_like(least), where=least > 0)
    by_ability = missing_rise * ability_se**2
    by_logit = np.where(answered, -by_ability * weighted_information, rise)
    by_slope = by_logit * theta + by_ability * residual
    a = items.discrimination
    inverse = np.divide(1, a, out=np.zeros_like(a), where=a != 0)
    return p, missing_rise * scale * residual, by_logit * inverse, by_slope * inverse


def limits_of(result: FitResult, parts: list[Scores]) -> list[Finding]:
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
