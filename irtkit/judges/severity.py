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

from irtkit.irf import Z95

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array

    Places = NDArray[np.int64]

SYSTEM, ITEM, JUDGE = range(3)  # Facets of a mark.
_MOST_ALIKE = 0.99  # ρ of judges that differ by their severity alone.
_LEAST_FREEDOM = 0.5  # Of a judge that marked one system or item.
_NULL = 1e-9  # Information on a difference that no mark shows, of that of all marks.
_RIDGE = 1e-11  # Weight of a system or item, of its marks, where its level is arbitrary.


@dataclass(frozen=True, eq=False)
class Ratings:
    """Marks, and the places of their systems, items and judges."""

    mark: Array  # (n,), or answers × judges, NaN where a judge did not mark the answer.
    places: tuple[Places, ...]
    shape: tuple[int, int, int]

    def total(self, facet: int, values: Array) -> Array:
        """Sum of values over the marks of each system, item or judge."""
        return np.asarray(np.bincount(self.places[facet], values, self.shape[facet]))

    def level(self, marks: Array) -> Array:
        """Mean mark of each system."""
        n_marks = self.total(SYSTEM, np.ones_like(self.mark))
        return self.total(SYSTEM, marks) / np.maximum(n_marks, 1)

    def table(self, rows: int, columns: int, values: Array) -> Array:
        """Sums of values by two facets."""
        size = self.shape[rows], self.shape[columns]
        cells = self.places[rows] * size[1] + self.places[columns]
        sums = np.bincount(cells, values, size[0] * size[1])
        return np.asarray(sums.reshape(size))

    @cached_property
    def answer(self) -> Places:
        """Place of each mark among the answers."""
        import pandas as pd

        system, item, _ = self.places
        return pd.factorize(system * self.shape[ITEM] + item)[0]

    def by_answer(self, values: Array) -> Array:
        """Sum of values over the marks of the same answer, at each mark."""
        sums = np.bincount(self.answer, values)
        return np.asarray(sums[self.answer])

    @cached_property
    def n_marks(self) -> Array:
        """Number of marks of the answer, at each mark."""
        return self.by_answer(np.ones_like(self.mark))

    def products(self, values: Array) -> Array:
        """Sums of products over pairs of marks of the same answer, by judge and judge."""
        from scipy.sparse import csr_array

        table = csr_array((values, (self.answer, self.places[JUDGE])))
        table.eliminate_zeros()
        return np.asarray((table.T @ table).toarray())

    def answers(self, marks: Array) -> Ratings:
        """Return the answers with several of these marks, as answers × judges."""
        several = self.n_marks > 1
        _, first, answer = np.unique(self.answer[several], return_index=True, return_inverse=True)
        system, item, judge = (places[several] for places in self.places)
        table = np.full((len(first), self.shape[JUDGE]), np.nan)
        table[answer, judge] = marks[several]
        return Ratings(table, (system[first], item[first]), self.shape)


class Severity(NamedTuple):
    """Estimates of the additive model."""

    severity: Array  # Of each judge, above 0 if its marks are lower.
    variance: Array  # Of its error.
    group: NDArray[np.integer]  # Judges of one group are compared by marks.
    effects: tuple[Array, Array]  # Of systems and of items.
    answer_variance: float  # What is the answer's own, NaN if no answer has two marks.
    noise_variance: float


def severities(ratings: Ratings) -> Severity:
    """Estimate severities: with ρ = 0, and again with the ρ of the residuals."""
    estimates = _given_correlation(ratings, 0.0)
    total = estimates.answer_variance + estimates.noise_variance
    if not estimates.answer_variance > 0:
        return estimates
    return _given_correlation(ratings, min(estimates.answer_variance / total, _MOST_ALIKE))


def _given_correlation(ratings: Ratings, correlation: float) -> Severity:
    from scipy.linalg import pinvh, solve
    from scipy.sparse.csgraph import connected_components

    n_marks = ratings.n_marks
    shared = correlation / (1 + (n_marks - 1) * correlation)

    def whitened(values: Array) -> Array:
        """P times values."""
        return values - shared * ratings.by_answer(values)

    weight = 1 - shared * n_marks
    marks = whitened(ratings.mark)
    cells = ratings.table(SYSTEM, ITEM, weight)
    of_systems, of_items = (
        np.column_stack([ratings.table(facet, JUDGE, weight), ratings.total(facet, marks)])
        for facet in (SYSTEM, ITEM)
    )
    scale = 1 / np.maximum(cells.sum(axis=0), _RIDGE)
    scaled = cells * scale
    diagonal = cells.sum(axis=1) * (1 + _RIDGE)
    left = np.diag(np.maximum(diagonal, _RIDGE)) - scaled @ cells.T
    systems = solve(left, of_systems - scaled @ of_items, assume_a="pos")
    items = scale[:, None] * (of_items - cells.T @ systems)
    swept = np.vstack([systems, items])
    taken = np.vstack([of_systems, of_items])[:, :-1].T @ swept
    information = np.diag(ratings.total(JUDGE, np.ones_like(marks)))
    information -= ratings.products(np.sqrt(shared)) + taken[:, :-1]
    inverse: Any = pinvh(information, atol=_NULL * len(marks))
    unknown = np.eye(len(inverse)) - information @ inverse
    apart = np.abs(unknown[:, None] - unknown).sum(axis=2)
    _, group = connected_components(apart < np.sqrt(_NULL))
    lenience = inverse @ (ratings.total(JUDGE, marks) - taken[:, -1])
    coefficients = np.append(-lenience, 1.0)
    effects = systems @ coefficients, items @ coefficients
    system, item, judge = ratings.places
    expected = effects[SYSTEM][system] + effects[ITEM][item] + lenience[judge]
    residual = ratings.mark - expected
    scores = whitened(residual)
    variance = _clustered(ratings, scores, swept[:, :-1] @ inverse, inverse)
    squares = residual @ residual
    n_free = len(marks) - sum(ratings.shape) + 2
    total = squares / max(n_free, 1)
    n_pairs = (n_marks - 1).sum()
    products = residual @ ratings.by_answer(residual) - squares
    own = max(products / n_pairs, 0.0) if n_pairs else np.nan
    noise = max(total - np.nan_to_num(own), 0.0)
    # Where few answers compare judges, these fit them closely, and clusters say too little.
    variance = np.maximum(variance, total * (1 - correlation) * np.diag(inverse))
    return Severity(0.0 - lenience, variance, group, effects, own, noise)


def _clustered(ratings: Ratings, scores: Array, taken: Array, inverse: Array) -> Array:
    """Variance of each severity, clustered by system and by item.

    ``taken`` is what systems and items take of the judges. The influence of an answer on a severity
    is the sum of its scores times the inverse, less the sum of all its scores times what its system
    and its item take. Squares of the sums of influences by system, and by item, add up, less those
    of answers, which are expanded. Variances are so much wider that 1.96 standard errors are a 95 %
    interval by Student's t. Its degrees of freedom are the effective number of systems, or of
    items, that the judge marked, (Σn)²/Σn², less 1.
    """
    from scipy.special import stdtrit

    of_facets = np.split(taken, ratings.shape[:1])
    answers = ratings.table(SYSTEM, ITEM, scores)
    of_answers = scores * ratings.by_answer(scores)
    variances = -((inverse @ ratings.products(scores)) * inverse).sum(axis=1)
    n_clusters = []
    for facet, cells in ((SYSTEM, answers), (ITEM, answers.T)):
        effects = of_facets[facet]
        others = of_facets[1 - facet]
        squares = cells**2
        by_judge = ratings.table(facet, JUDGE, scores)
        sums = by_judge @ inverse - cells @ others
        sums -= cells.sum(axis=1, keepdims=True) * effects
        by_judge = ratings.table(facet, JUDGE, of_answers)
        crossed = 2 * by_judge @ inverse - squares @ others
        crossed -= squares.sum(axis=1, keepdims=True) * effects
        variances += (sums**2 + effects * crossed).sum(axis=0)
        n_marks = ratings.table(facet, JUDGE, np.ones_like(scores))
        n_clusters.append(n_marks.sum(axis=0) ** 2 / (n_marks**2).sum(axis=0))
    n_free = np.maximum(np.min(n_clusters, axis=0) - 1, _LEAST_FREEDOM)
    wider = (1 + 1 / n_free) * (stdtrit(n_free, 0.975) / Z95) ** 2
    return np.asarray(np.maximum(variances, 0.0) * wider)
