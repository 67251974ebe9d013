"""Where systems stand on a benchmark: the score of each, and how all err together.

The score is the expected share right of all items of the benchmark (:func:`irtkit.score`): items
answered count as answered, the others as ability has it. Of a system that answered all it is the
share right, whatever the model; ability does not enter, and so misfit does not. Scores err as
means over items do (:mod:`irtkit.systems.paired`): as if items, and answers to them, were drawn
anew. What item j contributes to J times the score of system i, less the mean, is

    (y_ij or P_ij) − s_i + D_i ψ_ij,

P_ij for items without an answer, of which ability moves D_i = Σ P'_ij; ψ_ij, 0 for these, is what
the answer to j does to ability, a score residual r(y − P), r = P'/(PQ), in proportion, scaled so
that Σψ² is the posterior variance v_i of ability, and larger where residuals are larger than the
model has them. Covariances of systems follow from contributions: that of i and k is
Σ_g u_ig u_kg · G/(G − 1) / J² over the clusters g of items.

Where answers are missing, errors of the slopes a and intercepts d of items move scores as well,
those of all systems together. An item without an answer does by its P, ∂P/∂d = P'/a and ∂P/∂a =
θP'/a; one with an answer by ability, which, being where Σ r(y − P) is what its prior takes off,
moves by v ∂(r(y − P)). With I = rP', the information of an answer, J times the score moves

    by d:  P'/a without an answer,   −D v I/a with one,
    by a:  θP'/a without an answer,  D v ((y − P) r − θI)/a with one,

where r is a times what neither moves, as it is without guessing. Times the standard errors of d and
a these are contributions of 2J further sources, taken as independent; guessing is taken as known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_type, short
from irtkit.data.patterns import blocks
from irtkit.responses.labels import is_missing_label, values_by_label
from irtkit.systems.paired import correction
from irtkit.systems.ranks import MOST_DRAWN, Scores

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters
    from irtkit.systems.paired import Clusters

MOST_SYSTEMS = 10_000
"""Systems of which every pair can be compared: a matrix of pairs takes 800 MB."""


class Shares(NamedTuple):
    """Shares right of some systems on all items, dense."""

    right: Array
    """Share right of the trials of each cell, 0 where missing, (n, n_items)."""
    trials: Array

    @classmethod
    def of(cls, patterns: Patterns) -> Shares:
        """Return the shares right of patterns."""
        right, trials = patterns.dense()
        return cls(right / np.maximum(trials, 1), trials)

    @property
    def steps(self) -> Array:
        """What one answer otherwise would change a share of each system by, at least, (n,)."""
        return np.asarray(1 / np.maximum(self.trials.max(axis=1), 1))


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
    filled: bool
    """Whether the model has filled in answers."""

    @property
    def order(self) -> Any:
        """From the best to the worst; equal ones as in the responses."""
        return np.argsort(-self.scores, kind="stable")

    def estimates(self, which: Any = slice(None)) -> Scores:
        """Scores, or some of them, with their covariance."""
        own = self.contributions[which]
        if len(own) > MOST_DRAWN:  # whose differences need no more digits
            own = own.astype(np.float32)
        return Scores(self.scores[which], own @ own.T, self.df[which], self.least)

    @property
    def spread(self) -> float:
        """Variance of the true difference of two systems of the board, infinite for three or fewer.

        The mean square of all differences less that of their errors, of which, as James & Stein do,
        (n − 3)/(n − 1) is taken off: of three nothing.
        """
        n = len(self.scores)
        if n <= 3:
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
    chosen, items = result.patterns.chosen(places), result.parameters
    errors = np.nan_to_num(result.standard_errors[:, [0, 3]].T)  # none of what is held
    if not (known := items.known).all():
        chosen = chosen.with_columns(np.flatnonzero(known))
        items, errors = items.chosen(known), errors[:, known]
        cluster = None if cluster is None else np.unique(cluster[known], return_inverse=True)[1]
    filled = not _all_answered(chosen)
    rows = table.iloc[places]
    scores = np.round(rows["expected_score"].to_numpy(dtype=np.float64), 12)
    n_items, correlation = chosen.n_items, result.settings.trial_correlation or 0.0
    number = np.arange(n_items) if cluster is None else cluster
    n_clusters = int(number.max()) + 1
    found = np.zeros((len(places), n_clusters + 2 * n_items * filled))
    df, step = np.empty(len(places)), 1.0
    for some in blocks(len(places), 4 * n_items, 2**23):
        shares = Shares.of(chosen.chosen(some))
        step = min(step, float(shares.steps.min()))
        own = shares.right - scores[some, None]
        if filled:
            effect = 1 + np.maximum(shares.trials - 1, 0) * correlation
            moves = _Moves.of(items, shares, rows.iloc[some], shares.trials / effect)
            own = np.where(moves.seen, own, moves.p - scores[some, None]) + moves.by_answers()
            by_intercept, by_slope = moves.by_items(items.discrimination)
            found[some, n_clusters:] = np.hstack([by_intercept * errors[1], by_slope * errors[0]])
        found[some, :n_clusters] = _by_cluster(own, number, n_clusters)
        found[some, :n_clusters] *= correction(n_clusters) ** 0.5
        df[some] = (_by_cluster(shares.trials, number, n_clusters) > 0).sum(axis=1) - 1
    least = step**2 * correction(n_clusters) / n_items**2
    return Standing(places, scores, found / n_items, df, least, filled)


def doubts_of(result: FitResult, parts: Iterable[Standing]) -> list[str]:
    """What keeps errors of scores from being what they should, in sentences."""
    known = (
        "responses are missing, and the fit left standard errors of items out: errors of scores "
        "take items as known, and are too small (fit with standard_errors=True)"
    )
    too_small = not result.settings.standard_errors and any(part.filled for part in parts)
    return [known] if too_small else []


def _all_answered(patterns: Patterns) -> bool:
    """Whether no cell is missing."""
    if patterns.trials is None:
        return patterns.complete
    if patterns.sparse:
        return bool(patterns.trials.nnz == patterns.n * patterns.n_items)
    return bool(patterns.trials.all())


def _by_cluster(each: Array, number: Clusters, n_clusters: int) -> Array:
    """Sums over the clusters of items, (n, n_clusters)."""
    if n_clusters == each.shape[1]:
        return each
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(n_clusters))
    return np.asarray(np.add.reduceat(each[:, order], starts, axis=1))


class _Moves(NamedTuple):
    """What moves the scores of some systems; each (n, n_items), in the words of the module."""

    seen: Any
    """Which items have an answer."""
    p: Array
    rise: Array
    """P'."""
    rate: Array
    """r."""
    residual: Array
    """y − P by the number of independent trials, 0 without an answer."""
    information: Array
    """I, the same."""
    theta: Array
    """Ability, (n, 1)."""
    error: Array
    """√v, (n, 1)."""

    @classmethod
    def of(cls, items: ItemParameters, shares: Shares, rows: pd.DataFrame, weight: Array) -> _Moves:
        """``weight`` is for how many independent trials each cell counts, (n, n_items)."""
        theta, error = (rows[name].to_numpy(dtype=np.float64) for name in ("ability", "ability_se"))
        p, information = items.probability(theta), items.information(theta)
        variance = p * (1 - p)
        rise = np.sign(items.discrimination) * np.sqrt(information * variance)
        rate = np.divide(rise, variance, out=np.zeros_like(p), where=variance > 0)
        residual, weighted = weight * (shares.right - p), weight * information
        seen = shares.trials > 0
        return cls(seen, p, rise, rate, residual, weighted, theta[:, None], error[:, None])

    @property
    def by_ability(self) -> Array:
        """D, (n, 1)."""
        return np.asarray(np.where(self.seen, 0.0, self.rise).sum(axis=1, keepdims=True))

    def by_answers(self) -> Array:
        """Dψ."""
        score = self.rate * self.residual
        squares = (score**2).sum(axis=1, keepdims=True)
        least = np.minimum(squares, self.information.sum(axis=1, keepdims=True))
        scale = np.divide(self.error, np.sqrt(least), out=np.zeros_like(least), where=least > 0)
        return np.asarray(self.by_ability * scale * score)

    def by_items(self, slope: Array) -> tuple[Array, Array]:
        """Slopes of J times the score by the intercept and the slope a of every item."""
        of_ability = self.by_ability * self.error**2
        by_logit = np.where(self.seen, -of_ability * self.information, self.rise)
        by_slope = by_logit * self.theta + of_ability * self.residual * self.rate
        inverse = np.divide(1, slope, out=np.zeros_like(slope), where=slope != 0)
        return by_logit * inverse, by_slope * inverse


def clusters_of(result: FitResult, clusters: Any) -> Clusters | None:
    """Number the clusters of items, which are named by item or in a column of the item table."""
    check_type("result", result, FitResult)
    if isinstance(clusters, str):
        known = None if result.responses is None else result.responses.item_table
        if known is None or clusters not in known.columns:
            raise ValueError(
                f"clusters: the responses have no item table with a column {short(clusters)}"
            )
        clusters = known[clusters]
    return numbered_clusters(clusters, result.item_labels)


def numbered_clusters(clusters: Any, items: tuple[str, ...]) -> Clusters | None:
    """Number the clusters of items, which are named by item; none may be without one."""
    if clusters is None:
        return None
    names = values_by_label("clusters", clusters, items, value="cluster", kind="item")
    for label, name in zip(items, names, strict=True):
        if is_missing_label(name):
            raise ValueError(f"clusters has none for item {short(label)}")
    return np.unique([str(name) for name in names], return_inverse=True)[1]
