"""Severity of judges: the additive many-facet model on the scale of the marks (Linacre 1989).

A mark is y = system + item − severity + answer + noise. Marks of one answer share what is its own,
so that they correlate by ρ. Severities are the generalised least squares of this model, with mean
0. Their errors are clustered by system and by item (Cameron, Gelbach & Miller 2011, *Journal of
Business & Economic Statistics* 29, 238–249).

With V⁻¹ ∝ P = I − c·11' within an answer of n marks, c = ρ/(1 + (n − 1)ρ), systems and items are
swept out of the normal equations of the judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array

    Places = NDArray[np.int64]

_MOST_ALIKE = 0.99  # ρ of judges that differ by their severity alone.
_NULL = 1e-8  # Eigenvalue of a difference that no mark shows, of the largest one.


@dataclass(frozen=True, eq=False)
class Ratings:
    """Marks from 0 to 1, with the places of their systems, items and judges, (n,)."""

    system: Places
    item: Places
    judge: Places
    mark: Array
    shape: tuple[int, int, int]  # Numbers of systems, items and judges.

    @cached_property
    def answer(self) -> Places:
        """Place of the answer of each mark: a pair of a system and an item."""
        import pandas as pd

        return pd.factorize(self.system * self.shape[1] + self.item)[0]

    @cached_property
    def n_of_answer(self) -> Places:
        """Number of marks of each answer."""
        return np.bincount(self.answer)

    def by_answer(self, values: Array) -> Array:
        """Sum of values over the marks of the same answer, (n,)."""
        return np.bincount(self.answer, values)[self.answer]

    def among_others(self, values: Array) -> Array:
        """Mean of values over the other marks of the same answer, NaN without others."""
        n_others = self.n_of_answer[self.answer] - 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(n_others > 0, (self.by_answer(values) - values) / n_others, np.nan)

    def by_system(self, values: Array) -> Array:
        """Sums of values by system and judge."""
        return summed(self.system, self.judge, values, (self.shape[0], self.shape[2]))

    def by_item(self, values: Array) -> Array:
        """Sums of values by item and judge."""
        return summed(self.item, self.judge, values, self.shape[1:])

    def pairs(self, values: Array) -> Any:
        """Sums of values by system and item, sparse."""
        from scipy.sparse import csr_array

        return csr_array((values, (self.system, self.item)), shape=self.shape[:2])

    def answers(self, values: Array) -> Any:
        """Values by answer and judge, sparse."""
        from scipy.sparse import csr_array

        shape = len(self.n_of_answer), self.shape[2]
        return csr_array((values, (self.answer, self.judge)), shape=shape)


class Severity(NamedTuple):
    """Estimates of the additive model."""

    severity: Array  # Of each judge, above 0 if its marks are lower, (n_judges,).
    covariance: Array
    group: Places  # Judges of one group are compared by some marks, (n_judges,).
    system: Array  # Effect of each system, (n_systems,).
    item: Array
    residual: Array  # Of each mark, with what is the answer's own, (n,).
    answer_variance: float  # What is the answer's own, NaN if no answer has two marks.
    noise_variance: float


def summed(rows: Places, columns: Places, values: Array, shape: tuple[int, int]) -> Array:
    """Sums of values by row and column."""
    sums = np.bincount(rows * shape[1] + columns, values, minlength=shape[0] * shape[1])
    return sums.reshape(shape)


def severities(ratings: Ratings) -> Severity:
    """Estimate severities: once with ρ = 0, and again with the ρ of the residuals."""
    estimates = _given_correlation(ratings, 0.0)
    total = estimates.answer_variance + estimates.noise_variance
    correlation = min(estimates.answer_variance / total, _MOST_ALIKE) if total > 0 else 0.0
    return _given_correlation(ratings, correlation) if correlation > 0 else estimates


def _given_correlation(ratings: Ratings, correlation: float) -> Severity:
    n_systems, n_items, n_judges = ratings.shape
    n_marks = ratings.n_of_answer[ratings.answer]
    shared = correlation / (1 + (n_marks - 1) * correlation)

    def whitened(values: Array) -> Array:
        """P times values."""
        return values - shared * ratings.by_answer(values)

    weight = 1 - shared * n_marks
    cells = ratings.pairs(weight)
    answers = ratings.answers(np.sqrt(shared))
    of_judges = np.diag(np.bincount(ratings.judge, minlength=n_judges).astype(float))
    of_judges -= (answers.T @ answers).toarray()
    of_systems, of_items = ratings.by_system(weight), ratings.by_item(weight)
    marks = whitened(ratings.mark)
    by_system = np.bincount(ratings.system, marks, minlength=n_systems)[:, None]
    by_item = np.bincount(ratings.item, marks, minlength=n_items)[:, None]
    swept_systems, swept_items = _solved(
        cells, np.hstack([of_systems, by_system]), np.hstack([of_items, by_item])
    )
    judge_systems, judge_items = swept_systems[:, :-1], swept_items[:, :-1]
    information = of_judges - of_systems.T @ judge_systems - of_items.T @ judge_items
    score = np.bincount(ratings.judge, marks, minlength=n_judges)
    score -= of_systems.T @ swept_systems[:, -1] + of_items.T @ swept_items[:, -1]
    inverse, group = _inverse(information)
    lenience = inverse @ score
    system = swept_systems[:, -1] - judge_systems @ lenience
    item = swept_items[:, -1] - judge_items @ lenience
    residual = ratings.mark - system[ratings.system] - item[ratings.item] - lenience[ratings.judge]
    meat = _clustered(ratings, whitened(residual), judge_systems, judge_items)
    n_pairs = float((ratings.n_of_answer * (ratings.n_of_answer - 1)).sum())
    products = float((np.bincount(ratings.answer, residual) ** 2).sum() - (residual**2).sum())
    freedom = max(len(residual) - sum(ratings.shape) + 2, 1)
    total = float((residual**2).sum()) / freedom
    own = max(products / n_pairs, 0.0) if n_pairs else np.nan
    noise = max(total - own, 0.0) if n_pairs else total
    covariance = inverse @ meat @ inverse
    return Severity(-lenience, covariance, group, system, item, residual, own, noise)


def _solved(cells: Any, of_rows: Array, of_columns: Array) -> tuple[Array, Array]:
    """Effects of rows and of columns that solve the normal equations of both.

    The effects of the longer side are swept out. What no cell tells is 0 on average.
    """
    from scipy.linalg import solve
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import connected_components

    n_rows, n_columns = cells.shape
    if n_rows > n_columns:
        columns, rows = _solved(cells.T.tocsr(), of_columns, of_rows)
        return rows, columns
    scale = 1 / np.maximum(cells.sum(axis=0), 1e-12)
    scaled = cells.multiply(scale[None, :]).tocsr()
    left = np.diag(cells.sum(axis=1)) - (scaled @ cells.T).toarray()
    part = connected_components(block_array([[None, cells], [cells.T, None]]))[1][:n_rows]
    left += part[:, None] == part
    rows = solve(left, of_rows - scaled @ of_columns, assume_a="pos")
    return rows, scale[:, None] * (of_columns - cells.T @ rows)


def _inverse(information: Array) -> tuple[Array, Places]:
    """Pseudo-inverse of the information on judges, and groups of judges that marks compare."""
    from scipy.sparse.csgraph import connected_components

    values, vectors = np.linalg.eigh(information)
    is_null = values <= _NULL * max(values.max(), np.trace(information), 1e-300)
    null = vectors[:, is_null]
    differs = np.abs(null[:, None] - null[None]).max(axis=2) if is_null.any() else information * 0
    group = connected_components(differs < np.sqrt(_NULL))[1]
    kept = vectors[:, ~is_null]
    return kept / values[~is_null] @ kept.T, group


def _clustered(ratings: Ratings, scores: Array, systems: Array, items: Array) -> Array:
    """Covariance of the scores of judges, clustered by system and by item.

    ``systems`` and ``items`` are what these take of the judges, by judge.
    """
    of_answer = ratings.by_answer(scores)
    per_mark = of_answer / ratings.n_of_answer[ratings.answer]
    once = ratings.pairs(per_mark)
    by_system = ratings.by_system(scores) - once @ items
    by_item = ratings.by_item(scores) - once.T @ systems
    answers = ratings.answers(scores)
    products = scores * of_answer
    crossed = ratings.by_system(products).T @ systems + ratings.by_item(products).T @ items
    squares = ratings.pairs(per_mark * of_answer)
    by_both = systems.T @ (squares @ items)
    by_answer = (answers.T @ answers).toarray() - crossed - crossed.T + by_both + by_both.T
    by_answer += (systems.T * squares.sum(axis=1)) @ systems
    by_answer += (items.T * squares.sum(axis=0)) @ items
    n_clusters = min(ratings.shape[:2])
    meat = by_system.T @ by_system + by_item.T @ by_item - by_answer
    return np.asarray(meat * (n_clusters / max(n_clusters - 1, 1)))
