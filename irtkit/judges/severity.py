"""Severity of judges: the additive many-facet model on the scale of the marks (Linacre 1989).

A mark is y = system + item − severity + answer + noise. Marks of one answer share what is its own,
so that they correlate by ρ. Severities are the generalised least squares of this model, with mean
0. Their errors are clustered by system and by item (Cameron, Gelbach & Miller 2011, *Journal of
Business & Economic Statistics* 29, 238–249).

With V⁻¹ ∝ P = I − c·11' within an answer of n marks, c = ρ/(1 + (n − 1)ρ), systems and items are
swept out of the normal equations of the judges.
"""

from __future__ import annotations

import math
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

    def sums(self, values: Any, *facets: int) -> Array:
        """Sums of values over the marks of each system, item or judge, or of each pair of these."""
        shape = [self.shape[facet] for facet in facets]
        cells = np.ravel_multi_index([self.places[facet] for facet in facets], shape)
        return np.asarray(np.bincount(cells, values, math.prod(shape)).reshape(shape))

    def by_answer(self, values: Array) -> Array:
        """Sum of values over the marks of the same answer, at each mark."""
        system, item, _ = self.places
        return np.asarray(self.sums(values, SYSTEM, ITEM)[system, item])

    @cached_property
    def n_marks(self) -> Array:
        """Number of marks of the answer, at each mark."""
        return self.by_answer(np.ones_like(self.mark))

    @cached_property
    def shares_of_judges(self) -> Array:
        """Share of each judge in the mean mark of each system, (n_systems, n_judges)."""
        shares = self.sums(1 / self.n_marks, SYSTEM, JUDGE)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1))

    def answers(self, marks: Array) -> Ratings:
        """Return the answers with several of these marks, as answers × judges."""
        several = self.n_marks > 1
        system, item, judge = (places[several] for places in self.places)
        number = system * self.shape[ITEM] + item
        _, first, answer = np.unique(number, return_index=True, return_inverse=True)
        table = np.full((len(first), self.shape[JUDGE]), np.nan)
        table[answer, judge] = marks[several]
        return Ratings(table, (system[first], item[first]), self.shape)

    def products(self, values: Array) -> Array:
        """Sums of products over pairs of marks of the same answer, by judge and judge."""
        is_alone = self.n_marks == 1
        alone = self.sums(values**2 * is_alone, JUDGE)
        table = np.nan_to_num(self.answers(values).mark)
        return np.asarray(np.diag(alone) + table.T @ table)


class Severity(NamedTuple):
    """Estimates of the additive model."""

    severity: Array  # Of each judge, above 0 if its marks are lower.
    variance: Array  # Of its error.
    root: Array  # A root of the covariance of these errors, (n_judges, n_judges).
    group: NDArray[np.integer]  # Judges of one group are compared by marks.
    effects: tuple[Array, Array]  # Of systems and of items.
    answer_variance: float  # What is the answer's own, NaN if no answer has two marks.
    noise_variance: float


def severities(ratings: Ratings) -> Severity:
    """Estimate severities: with ρ = 0, and again with the ρ of the residuals."""
    estimates = _given_correlation(ratings, 0.0)
    answer = estimates.answer_variance
    if not answer > 0:
        return estimates
    correlation = answer / (answer + estimates.noise_variance)
    return _given_correlation(ratings, min(correlation, _MOST_ALIKE))


def _given_correlation(ratings: Ratings, correlation: float) -> Severity:
    from scipy.linalg import pinvh, solve
    from scipy.sparse.csgraph import connected_components

    n_marks = ratings.n_marks
    shared = correlation / (1 + (n_marks - 1) * correlation)
    weight = 1 - shared * n_marks
    marks = ratings.mark - shared * ratings.by_answer(ratings.mark)
    cells = ratings.sums(weight, SYSTEM, ITEM)
    sums = []
    for facet in (SYSTEM, ITEM):
        of_judges = ratings.sums(weight, facet, JUDGE)
        of_marks = ratings.sums(marks, facet)
        sums.append(np.column_stack([of_judges, of_marks]))
    of_systems, of_items = sums
    scale = 1 / np.maximum(cells.sum(axis=0), _RIDGE)
    scaled = cells * scale
    diagonal = cells.sum(axis=1) * (1 + _RIDGE)
    left = np.diag(np.maximum(diagonal, _RIDGE))
    left -= scaled @ cells.T
    systems = solve(left, of_systems - scaled @ of_items, assume_a="pos")
    items = scale[:, None] * (of_items - cells.T @ systems)
    swept = np.vstack([systems, items])
    taken = np.vstack(sums)[:, :-1].T @ swept
    n_of_judges = np.diag(ratings.sums(None, JUDGE))
    information = n_of_judges - ratings.products(np.sqrt(shared))
    information -= taken[:, :-1]
    inverse: Any = pinvh(information, atol=_NULL * len(marks))
    unknown = np.eye(len(inverse)) - information @ inverse
    apart = np.abs(unknown[:, None] - unknown).sum(axis=2)
    _, group = connected_components(apart < np.sqrt(_NULL))
    lenience = inverse @ (ratings.sums(marks, JUDGE) - taken[:, -1])
    coefficients = np.append(-lenience, 1.0)
    effects = systems @ coefficients, items @ coefficients
    residual = ratings.mark.copy()
    for effect, places in zip((*effects, lenience), ratings.places, strict=True):
        residual -= effect[places]
    of_answer = ratings.by_answer(residual)
    scores = residual - shared * of_answer
    taken = swept[:, :-1] @ inverse
    variance = _clustered(ratings, scores, taken, inverse)
    squares = residual @ residual
    n_free = len(marks) - sum(ratings.shape) + 2
    total = squares / max(n_free, 1)
    n_pairs = (n_marks - 1).sum()
    products = residual @ of_answer - squares
    answer = max(products / n_pairs, 0.0) if n_pairs else np.nan
    noise = max(total - np.nan_to_num(answer), 0.0)
    # Where few answers compare judges, these fit them closely, and clusters say too little.
    of_model = np.diag(inverse)
    variance = np.maximum(variance, total * (1 - correlation) * of_model)
    # Errors correlate as the model says, and add up to 0, as severities do.
    values, vectors = np.linalg.eigh(inverse)
    widened = np.sqrt(variance / np.where(of_model > 0, of_model, np.inf))
    root = widened[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    root -= root.mean(axis=0)
    return Severity(0.0 - lenience, variance, root, group, effects, answer, noise)


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
    answers = ratings.sums(scores, SYSTEM, ITEM)
    of_answers = scores * ratings.by_answer(scores)
    variances = -((inverse @ ratings.products(scores)) * inverse).sum(axis=1)
    n_clusters = []
    for facet, cells in ((SYSTEM, answers), (ITEM, answers.T)):
        effects = of_facets[facet]
        others = of_facets[1 - facet]
        squares = cells**2
        sums = ratings.sums(scores, facet, JUDGE) @ inverse
        sums -= cells @ others
        sums -= cells.sum(axis=1, keepdims=True) * effects
        crossed = 2 * ratings.sums(of_answers, facet, JUDGE) @ inverse
        crossed -= squares @ others
        crossed -= squares.sum(axis=1, keepdims=True) * effects
        variances += (sums**2 + effects * crossed).sum(axis=0)
        n_marks = ratings.sums(None, facet, JUDGE)
        total = n_marks.sum(axis=0)
        n_clusters.append(total**2 / (n_marks**2).sum(axis=0))
    n_free = np.maximum(np.min(n_clusters, axis=0) - 1, _LEAST_FREEDOM)
    wider = (1 + 1 / n_free) * (stdtrit(n_free, 0.975) / Z95) ** 2
    return np.asarray(np.maximum(variances, 0.0) * wider)
