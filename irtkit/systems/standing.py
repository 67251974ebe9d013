"""Where systems stand on a benchmark: the score of each, and how all err together.

The score is the expected share right of all items of the benchmark (:func:`irtkit.score`): items
answered count as answered, the others as ability has it. Of a system that answered all it is the
share right, whatever the model; ability does not enter, and so misfit does not. Scores err as
means over items do (:mod:`irtkit.systems.paired`): as if items, and answers to them, were drawn
anew. What item j contributes to the score of system i, less the mean, is

    (y_ij or P_ij) − s_i + D_i ψ_ij,

P_ij for items without an answer, of which ability moves D_i = Σ P'_ij; ψ_ij, 0 for these, is what
the answer to j does to ability, a score residual (y − P)P'/(PQ) in proportion, scaled so that Σψ²
is the posterior variance of ability, and larger where residuals are larger than the model has
them. Covariances of systems follow from contributions: that of i and k is Σ_g u_ig u_kg · G/(G − 1)
/ J² over the clusters g of items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.labels import is_missing_label, values_by_label
from irtkit.patterns import blocks, float_blocks
from irtkit.systems.paired import correction
from irtkit.systems.ranks import Scores

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.irf import ItemParameters
    from irtkit.patterns import Patterns
    from irtkit.systems.paired import Array, Clusters

MOST_SYSTEMS = 10_000
"""Systems of which every pair can be compared: a matrix of pairs takes 800 MB."""


class Answers(NamedTuple):
    """Responses of some systems to all items, dense."""

    share: Array
    """Share right of the trials of each cell, 0 where missing, (n, n_items)."""
    trials: Array

    @classmethod
    def of(cls, patterns: Patterns) -> Answers:
        """Return the responses of patterns."""
        shares, tried = [], []
        for _, right, answered in float_blocks(patterns):
            if patterns.sparse:
                right, answered = right.toarray(), answered.toarray()  # noqa: PLW2901
            trials = np.ones_like(right) if answered is None else answered.copy()
            shares.append(right / np.maximum(trials, 1e-300))
            tried.append(trials)
        return cls(np.concatenate(shares), np.concatenate(tried))

    @property
    def step(self) -> float:
        """What one answer otherwise would change a share by, at least."""
        return 1 / float(self.trials.max())

    @property
    def complete(self) -> bool:
        """Whether all answered all items."""
        return bool(self.trials.all())


class Standing(NamedTuple):
    """Systems of a board, those that were compared with each other by the same items."""

    places: Any
    """Of the systems among the respondents of the result, (n,)."""
    scores: Array
    """Expected share right of all items, (n,), rounded so that equal answers have equal scores."""
    contributions: Array
    """Of clusters of items to the error of each score, (n, n_clusters)."""
    df: Array
    """Clusters answered, less one."""
    least: float
    """Variance that a difference of scores has at least."""

    @property
    def order(self) -> Any:
        """From the best to the worst; equal ones as in the responses."""
        return np.argsort(-self.scores, kind="stable")

    def estimates(self) -> Scores:
        """Scores with their covariance."""
        covariance = self.contributions @ self.contributions.T
        return Scores(self.scores, covariance, self.df, self.least)

    def variance(self, one: int, other: int) -> float:
        """Variance of the difference of two scores."""
        found = ((self.contributions[one] - self.contributions[other]) ** 2).sum()
        return max(float(found), self.least)

    @property
    def spread(self) -> float:
        """Variance of the true difference of two systems of the board, infinite for two or one.

        The mean square of all differences less that of their errors, of which, as James & Stein do,
        (n − 3)/(n − 1) is taken off.
        """
        n = len(self.scores)
        if n <= 2:
            return np.inf
        of_all = 2 * float(self.scores.var(ddof=1))
        noise = 2 * float(self.contributions.var(axis=0, ddof=1).sum())
        share = 1 - (n - 3) / (n - 1) * min(noise / max(of_all, 1e-300), 1.0)
        return noise * share / (1 - share) if share < 1 else np.inf


def standing_of(
    result: FitResult, table: pd.DataFrame, places: Any, cluster: Clusters | None
) -> Standing:
    """Standing of some respondents of a result, by their scores in a table of `irtkit.score`.

    Items without parameters, as nobody answered them, are left out.
    """
    chosen, items, errors = result.patterns.chosen(places), result.parameters, _errors(result)
    known = np.isfinite(items.intercept + items.discrimination)
    if not known.all():
        chosen = chosen.with_columns(np.flatnonzero(known))
        items, errors = items.chosen(known), errors[:, known]
        cluster = None if cluster is None else np.unique(cluster[known], return_inverse=True)[1]
    rows = table.iloc[places]
    scores = np.round(rows["expected_score"].to_numpy(dtype=np.float64), 12)
    n_items, correlation = chosen.n_items, result.settings.trial_correlation or 0.0
    number = np.arange(n_items) if cluster is None else cluster
    n_clusters = int(number.max()) + 1
    filled = not (chosen.complete or (chosen.trials is not None and _all_tried(chosen)))
    found = np.zeros((len(places), n_clusters + 2 * n_items * filled))
    df, step = np.empty(len(places)), 1.0
    for some in blocks(len(places), 4 * n_items, 2**23):
        answers = Answers.of(chosen.chosen(some))
        step = min(step, answers.step)
        effect = 1 + np.maximum(answers.trials - 1, 0) * correlation
        each, by_items = _contributions(
            items,
            errors,
            answers,
            rows.iloc[some],
            scores[some],
            weight=answers.trials / effect,
        )
        found[some, :n_clusters] = _by_cluster(each, number, n_clusters)
        found[some, :n_clusters] *= correction(n_clusters) ** 0.5
        found[some, n_clusters:][:, : by_items.shape[1]] = by_items
        df[some] = (_by_cluster(answers.trials, number, n_clusters) > 0).sum(axis=1) - 1
    least = step**2 * correction(n_clusters) / n_items**2
    return Standing(places, scores, found / n_items, df, least)


def _all_tried(patterns: Patterns) -> bool:
    """Whether no cell of repeated trials is missing."""
    return not patterns.sparse and bool(patterns.trials.all())


def _by_cluster(each: Array, number: Clusters, n_clusters: int) -> Array:
    """Sums over the clusters of items, (n, n_clusters)."""
    if n_clusters == each.shape[1]:
        return each
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(n_clusters))
    return np.asarray(np.add.reduceat(each[:, order], starts, axis=1))


def _contributions(
    items: ItemParameters,
    errors: Array,
    answers: Answers,
    rows: pd.DataFrame,
    scores: Array,
    *,
    weight: Array,
) -> tuple[Array, Array]:
    """What every item contributes to the error of each score, and what errors of items do.

    ``weight`` is for how many independent trials each cell counts, (n, n_items).
    Shapes (n, n_items) and (n, 2 · n_items), the latter empty where none misses a cell.
    """
    seen = answers.trials > 0
    if seen.all():
        return answers.share - scores[:, None], np.zeros((len(scores), 0))
    theta, error = (rows[name].to_numpy(dtype=np.float64) for name in ("ability", "ability_se"))
    p, information = items.probability(theta), items.information(theta)
    rise = np.sign(items.discrimination) * np.sqrt(information * p * (1 - p))
    per_rise = np.divide(rise, p * (1 - p), out=np.zeros_like(p), where=p * (1 - p) > 0)
    by_answer = weight * (answers.share - p) * per_rise
    told = (weight * information).sum(axis=1)
    least = np.minimum((by_answer**2).sum(axis=1), told)
    scale = np.divide(error, np.sqrt(least), out=np.zeros_like(error), where=least > 0)
    moved = np.where(seen, 0.0, rise).sum(axis=1)
    known = np.where(seen, answers.share, p) - scores[:, None]
    by_ability = moved * error**2
    by_logit = np.where(seen, -by_ability[:, None] * weight * information, rise)
    by_logit = np.divide(
        by_logit, items.discrimination, out=np.zeros_like(p), where=items.discrimination != 0
    )
    by_slope = by_logit * theta[:, None]
    by_slope += np.where(seen, by_ability[:, None] * weight * (answers.share - p), 0)
    by_items = np.hstack([by_logit * errors[1], by_slope * errors[0]])
    return known + (moved * scale)[:, None] * by_answer, by_items


def _errors(result: FitResult) -> Array:
    """Standard errors of slopes and intercepts, (2, n_items)."""
    return np.nan_to_num(result.standard_errors[:, [0, 3]].T)


def clusters_of(result: FitResult, clusters: Any) -> Clusters | None:
    """Number the clusters of items, which are named by item or in a column of the item table."""
    if clusters is None:
        return None
    if isinstance(clusters, str):
        known = None if result.responses is None else result.responses.item_table
        if known is None or clusters not in known.columns:
            raise ValueError(
                f"clusters: the responses have no item table with a column {clusters!r}"
            )
        clusters = known[clusters]
    names = values_by_label("clusters", clusters, result.item_labels, value="cluster", kind="item")
    for label, name in zip(result.item_labels, names, strict=True):
        if is_missing_label(name):
            raise ValueError(f"clusters has none for item {label!r}")
    return np.unique([str(name) for name in names], return_inverse=True)[1]
