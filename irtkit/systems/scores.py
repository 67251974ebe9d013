"""Scores of systems on a benchmark, and how all err together: one matrix for every question.

A score is a weighted mean of expected shares right. By equal weights of all items it is the
expected accuracy on the benchmark (:func:`irtkit.score`). Its errors treat items and answers as
random samples. Item j with the weight w_j adds w_j (y_ij − m) + D_iψ_ij. The mean over the items of
its task is m, and P_ij stands for a missing answer. With z the logit of P, ability moves the score
by D_i = Σ w_j (dP/dz) a_j over missing answers. The effect of answer j on ability is ψ_ij = V_i a_j
r (y − P), with r = (dP/dz)/(PQ) and the posterior covariance V of abilities. It is scaled, so that
Σ(D'ψ)² is D'VD, or more if residuals are larger than the model expects.

Errors of slopes a and intercept d of an item move the score, with I = r dP/dz, by

    d:  w dP/dz without an answer,    −(D'Va) I with one,
    a:  θ w dP/dz without an answer,  VD (y − P) r − θ(D'Va) I with one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.calibrated import calibrated_items
from irtkit.checks import short
from irtkit.data.families import family_codes
from irtkit.data.patterns import blocks
from irtkit.findings import Finding, Remedy
from irtkit.irf import NORMAL_POINTS
from irtkit.responses.labels import by_label, is_missing_label, values_by_label
from irtkit.scoring import items_for_scores
from irtkit.scoring.scores import chosen_items, score_table
from irtkit.systems.paired import Estimate, correction, t_distribution

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters
    from irtkit.systems.paired import Clusters

MOST_SYSTEMS = 10_000  # A matrix of all pairs of more systems takes over 800 MB.
_SAME = 1e-6  # Difference of scores in 32 bits that is rounding.
_SCORES = ("expected_score", "expected_score_low", "expected_score_high")
MOST_DRAWN = 600  # Systems up to which draws set the bound (500: 4.95 standard errors, else 5.07).


class Shares(NamedTuple):
    """Accuracies of some systems on each item, dense."""

    right: Array  # Proportion right of the trials of each cell, 0 if missing, (n, n_items).
    trials: Array
    scored: bool = False  # Whether some are scores between 0 and 1.
    shared: Any = None  # Errors that systems share, see `shared_errors`.

    @classmethod
    def of(cls, patterns: Patterns, rows: Any = slice(None)) -> Shares:
        """Return the accuracies of some patterns."""
        return cls(*patterns.shares(rows), patterns.scored is not None)

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

    def differences(self, cluster: Clusters | None = None) -> tuple[Array, Estimate]:
        """Items that pairs have in common, and their paired differences on these, (n, n) each."""
        right = self.right
        answered = (self.trials > 0).astype(np.float64)
        n_items = answered @ answered.T
        total = right @ answered.T
        total -= total.T.copy()
        counted = np.where(n_items > 0, n_items, np.nan)
        mean = total / counted
        if cluster is None:
            n_clusters = n_items
            squares = (right**2) @ answered.T
            squares = squares + squares.T - 2 * right @ right.T - mean * total
        else:
            n_clusters, squares = np.zeros((2, *n_items.shape))
            for number in np.unique(cluster):
                items = cluster == number
                n_common = answered[:, items] @ answered[:, items].T
                sums = right[:, items] @ answered[:, items].T
                n_clusters += n_common > 0
                squares += (sums - sums.T - mean * n_common) ** 2
        least = np.minimum(self.steps[:, None], self.steps) ** 2
        variance = np.maximum(squares, least) * correction(n_clusters) / counted**2
        if self.shared is not None:
            variance += shared_variances(self.shared)
        return n_items.astype(np.int64), Estimate(mean, np.sqrt(variance), n_clusters - 1)

    def difference(self, cluster: Clusters | None = None) -> tuple[int, Estimate]:
        """Items that the first two have in common, and their paired difference."""
        n_items, differences = self.differences(cluster)
        return int(n_items[0, 1]), Estimate(*(float(values[0, 1]) for values in differences))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of systems that are compared with each other, best first, with their errors.

    Equal systems stand as in the responses. The covariance of the errors is error @ error.T.
    """

    places: Any  # Of the systems among the respondents of the result, (n,).
    value: Array  # Rounded so that equal answers have equal scores, (n,).
    error: Array  # Contributions of clusters of items to the error of each score, (n, n_clusters).
    df: Array  # Clusters answered, less one.
    least: float = 0.0  # Variance that a difference of scores has at least.

    @cached_property
    def variance(self) -> Array:
        """Variance of the error of each score, (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.error, self.error))

    @cached_property
    def relative_variance(self) -> Array:
        """Variance of what the error of each score has beyond the mean error of all, (n,)."""
        mean = self.error.mean(axis=0)
        return np.asarray(self.variance - 2 * self.error @ mean + mean @ mean)

    @property
    def rank(self) -> Any:
        """Rank of each system, equal for equal scores, (n,)."""
        return 1 + np.searchsorted(-self.value, -self.value)

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the errors of all scores, (n, n)."""
        return np.asarray(self.error @ self.error.T)

    @cached_property
    def root(self) -> Array:
        """A root of the covariance: the symmetric one, or the error for many systems."""
        if len(self.value) > MOST_DRAWN:
            return self.error
        values, vectors = np.linalg.eigh(self.covariance)
        values = np.where(values > 1e-12 * values[-1], values, 0)
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)

    def chosen(self, order: Any) -> Scores:
        """Return some of the systems."""
        parts = {name: getattr(self, name)[order] for name in ("places", "value", "error", "df")}
        return replace(self, **parts)

    def difference_variance(self, rows: Any, columns: Any) -> Array:
        """Variance of the difference of each of some systems to each of others."""
        variance = (-2 * self.root[rows]) @ self.root[columns].T
        variance += self.variance[rows, None]
        variance += self.variance[columns]
        return np.asarray(np.maximum(variance, self.least, out=variance))

    def differences(self, pairs: Any) -> Estimate:
        """Differences of pairs of systems."""
        first, second = pairs
        variance = self.difference_variance(slice(None), slice(None))[pairs]
        df = np.minimum(self.df[first], self.df[second])
        return Estimate(self.value[first] - self.value[second], np.sqrt(variance), df)

    def p_better(self, difference: Estimate) -> Array:
        """Posterior probability that the first of each pair has the higher true score."""
        kept = 1 / (1 + difference.se**2 / self.spread)
        t = difference.value * np.sqrt(kept) / difference.se
        return np.asarray(t_distribution(difference.df, t))

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


class Answers(NamedTuple):
    """Answers that scores are about, on items with parameters."""

    places: Any  # Of the systems among the respondents of the result, (n,).
    expected_score: Array  # On all items, (n,).
    patterns: Patterns
    estimated: NDArray[np.bool_]  # Which items of the result have parameters.
    filling: Filling | None  # What stands for missing answers, None if there are none.
    shared: Array  # Errors that systems share, see `shared_errors`.


class Filling(NamedTuple):
    """What the model says of answers, with the errors of its abilities and items."""

    expected: Callable[[slice], Array]  # P of some systems, the mean over errors of ability.
    ability: Array  # (n,), or (n, n_abilities).
    covariance: Array  # Posterior covariance of abilities, (n, n_abilities, n_abilities).
    items: ItemParameters
    roots: Array  # Of covariances of slopes and intercept of each item, 0 if held.
    correlation: float  # Of repeated trials.
    worth: Any  # Trials that a score of every item is worth.

    def moves(self, systems: slice, shares: Shares, weight: Array) -> tuple[Array, Array]:
        """What answers (n, n_items) and errors of each item (n, n_items, k) add to errors.

        ``weight`` is that of each item in the score.
        """
        theta = self.ability[systems]
        n, n_items = shares.right.shape
        slopes = self.items.discrimination.reshape(n_items, -1)
        guessing = self.items.guessing
        p = self.items.probability(theta)
        variance = self.items.variance(theta)
        rate = np.divide(p - guessing, p * (1 - guessing), out=np.zeros_like(p), where=p > 0)
        rise = self.items.top * variance * rate  # of P, by its logit
        inflation = 1 + np.maximum(shares.trials - 1, 0) * self.correlation
        trials = shares.trials / inflation * self.worth
        residual = trials * rate * (shares.right - p)
        information = trials * rate * rise
        missing = np.where(shares.trials > 0, 0.0, weight * rise)
        gradient = missing @ slopes
        along = np.einsum("ni,nij->nj", gradient, self.covariance[systems])
        pull = along @ slopes.T
        by_answers = pull * residual
        least = np.minimum((by_answers**2).sum(axis=1), (pull**2 * information).sum(axis=1))
        of_ability = (along * gradient).sum(axis=1)
        scale = np.sqrt(np.divide(of_ability, least, out=np.zeros(n), where=least > 0))
        by_intercept = missing - pull * information
        by_slopes = by_intercept[:, :, None] * theta.reshape(n, 1, -1)
        by_slopes += residual[:, :, None] * along[:, None, :]
        by_items = np.concatenate([by_slopes, by_intercept[:, :, None]], axis=2)
        return by_answers * scale[:, None], np.einsum("njk,jkm->njm", by_items, self.roots)


def scores_of(
    answers: Answers,
    cluster: Clusters | None = None,
    weight: Array | None = None,
    task: Clusters | None = None,
) -> Scores:
    """Scores by the ``weight`` of each item with parameters, by default the expected score on all.

    With the number of the ``task`` of each, tasks are given, and their items are a sample.
    """
    n = answers.patterns.n
    n_items = answers.patterns.n_items
    share = np.full(n_items, 1 / n_items) if weight is None else weight
    task = np.zeros(n_items, np.intp) if task is None else task
    group = np.arange(n_items) if cluster is None else cluster[answers.estimated]
    weighted = share > 0
    clusters_by_task = np.unique(np.stack([task, group])[:, weighted], axis=1)[0]
    correction_by_item = correction(np.bincount(clusters_by_task))[task]
    widened = np.sqrt(correction_by_item)
    of_task = (task[:, None] == np.arange(task.max() + 1)) * share[:, None]
    total_of_task = of_task.sum(axis=0)
    filling = answers.filling
    columns = np.flatnonzero(weighted | (filling is not None))
    columns = columns[np.argsort(group[columns], kind="stable")]
    starts = np.unique(group[columns], return_index=True)[1]

    def by_cluster(values: Array) -> Array:
        if len(starts) == n_items:  # in any order
            return values
        return np.asarray(np.add.reduceat(values[:, columns], starts, axis=1))

    # Differences of many systems need no more digits.
    precision = np.float32 if n > MOST_DRAWN else np.float64
    n_clusters = len(starts)
    n_moves = 0 if filling is None else filling.roots[..., 0].size
    n_own = n_clusters + n_moves
    error = np.zeros((n, n_own + answers.shared.shape[1]), precision)
    error[:, n_own:] = answers.shared
    value, df = np.empty((2, n))
    step = 1.0
    for systems in blocks(n, n_items):
        shares = Shares.of(answers.patterns, systems)
        step = min(step, float(shares.steps.min()))
        right = shares.right
        if filling is not None:
            right = np.where(shares.trials > 0, right, filling.expected(systems))
        sums = right @ of_task
        value[systems] = sums.sum(axis=1)
        means = sums / total_of_task
        contribution = right - means[:, task]
        contribution *= share * widened
        if filling is not None:
            by_answers, by_items = filling.moves(systems, shares, share)
            contribution += by_answers * widened
            error[systems, n_clusters:n_own] = by_items.reshape(len(right), -1)
        error[systems, :n_clusters] = by_cluster(contribution)
        df[systems] = (by_cluster(shares.trials) > 0).sum(axis=1) - 1
    least = ((step * share) ** 2 * correction_by_item)[weighted].min()
    value = np.round(answers.expected_score if weight is None else value, 12)
    order = np.argsort(-value, kind="stable")
    places = answers.places[order]
    return Scores(places, value[order], error[order], df[order], float(least))


def shared_errors(result: FitResult, places: Any) -> Array:
    """Errors of the scores of some systems by the severities of their judges, (n, n_judges)."""
    source = None if result.responses is None else result.responses.source
    if source is None or not source.shared_errors:
        return np.zeros((len(places), 0))
    labels = np.array(result.respondent_labels, dtype=object)[places]
    return np.array([source.shared_errors[label] for label in labels])


def shared_variances(errors: Array) -> Array:
    """Variance that shared errors give the difference of each pair of systems, (n, n)."""
    of_systems = (errors**2).sum(axis=1)
    products = errors @ errors.T
    return np.asarray(np.maximum(of_systems[:, None] + of_systems - 2 * products, 0.0))


def answers_by_component(
    result: FitResult, table: pd.DataFrame, *, taking: Any = True
) -> list[Answers]:
    """Answers of systems that responses link, by the table of all scores.

    ``taking`` says which systems take part.
    """
    component: Any = np.ones(result.patterns.n)
    if result.components is not None:
        component = result.components.respondents
    component = np.where(result.answering & taking, component, 0)
    numbers = np.unique(component[component > 0])
    return [answers_of(result, table, np.flatnonzero(component == k)) for k in numbers]


def table_of_scores(result: FitResult, level: float | None = None) -> pd.DataFrame:
    """Table of respondents with their expected scores, and intervals if there is a level."""
    import pandas as pd
    from scipy.special import ndtri

    patterns = result.patterns
    n = patterns.n_answering
    if n > MOST_SYSTEMS:
        raise ValueError(
            f"result must have at most {MOST_SYSTEMS:,} systems, since every pair is compared, and "
            f"has {n:,} (result.respondents lists all, without ranks)"
        )
    if not n:
        raise ValueError("result lacks a real system with a response to rank")
    deviate = ndtri((1 + (level or 0.95)) / 2)
    if result.several is not None:
        table = result.respondents
        score, error = result.several.scores(result)
        table["expected_score"] = score
        table["expected_score_low"] = np.maximum(score - deviate * error, 0)
        table["expected_score_high"] = np.minimum(score + deviate * error, 1)
    elif patterns.complete:
        scores = dict.fromkeys(_SCORES, result.counts.accuracy)
        table = pd.DataFrame(scores) if level is None else result.respondents.assign(**scores)
    else:
        # misfit is for intervals only, and not for systems beyond the calibrated ones
        filled = level and not all_answered(patterns)
        items: Any = items_for_scores(result) if filled else calibrated_items(result)
        items = replace(items, best=None)
        table, _ = score_table(result.saved_responses, items, level=level or 0.95)
    shared = shared_errors(result, range(len(table)))
    if level is not None and shared.shape[1]:
        of_judges = deviate * np.linalg.norm(shared, axis=1)
        score, low, high = (table[name] for name in _SCORES)
        table["expected_score_low"] = np.maximum(score - np.hypot(score - low, of_judges), 0)
        table["expected_score_high"] = np.minimum(score + np.hypot(high - score, of_judges), 1)
    return table


def answers_of(result: FitResult, table: pd.DataFrame, places: Any) -> Answers:
    """Answers of some respondents, by the table of all scores."""
    estimated = result.parameters.known
    chosen = result.patterns.chosen(places)
    if not estimated.all():
        chosen = chosen.with_columns(np.flatnonzero(estimated))
    rows = table.iloc[places]
    score = rows["expected_score"].to_numpy(np.float64)
    shared = shared_errors(result, places)
    answers = Answers(places, score, chosen, estimated, None, shared)
    if all_answered(chosen):
        return answers
    items = result.parameters.chosen(estimated)
    if result.several is not None:
        fitted = result.several.fitted
        ability = fitted.ability[places]
        covariance = fitted.ability_covariance[places]
        roots = roots_of(fitted.items.covariance[estimated])
        expected = result.several.probability()[places][:, estimated].__getitem__
    else:
        ability = rows["ability"].to_numpy(np.float64)
        ability_se = rows["ability_se"].to_numpy(np.float64)
        covariance = ability_se[:, None, None] ** 2
        errors = np.nan_to_num(result.standard_errors[estimated][:, [0, 3]])
        roots = errors[:, :, None] * np.eye(2)

        def expected(systems: slice) -> Any:
            return sum(
                weight * items.probability(ability[systems] + node * ability_se[systems])
                for node, weight in NORMAL_POINTS
            )

    correlation = result.settings.trial_correlation or 0.0
    worth = chosen.score_worth(correlation)
    filling = Filling(expected, ability, covariance, items, roots, correlation, worth)
    return answers._replace(filling=filling)


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
        root = roots_of(board_covariance(result, places))
    df = np.full(len(places), np.inf)
    return Scores(places, ability[best_first], root, df)


def roots_of(covariance: Array) -> Array:
    """Matrices R of one or many covariances R Rᵀ."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def limits_of(result: FitResult, parts: list[Answers]) -> list[Finding]:
    """What keeps errors of scores from being what they should."""
    findings = chosen_items(result.responses)
    has_errors = result.settings.standard_errors or result.several is not None
    if not has_errors and any(part.filling for part in parts):
        remedy = Remedy({}, code="standard_errors=True")
        findings.append(Finding("items-taken-as-known", "warning", {}, (remedy,)))
    return findings


def all_answered(patterns: Patterns) -> bool:
    """Whether no cell is missing."""
    if patterns.trials is None:
        return patterns.complete
    if patterns.sparse:
        return bool(patterns.trials.nnz == patterns.n * patterns.n_items)
    return bool(patterns.trials.all())


def clusters_of(result: FitResult, clusters: Any) -> Clusters | None:
    """Number the clusters of items, which are named by item or in a column of the item table."""
    if isinstance(clusters, str):
        labels = result.item_labels
        responses = result.responses
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
