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
from typing import TYPE_CHECKING, Any

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

    mark: Array  # (n,)
    places: Places  # (3, n)
    shape: tuple[int, int, int]

    def chosen(self, which: Any, marks: Array) -> Ratings:
        """Return some of these marks."""
        return Ratings(marks[which], self.places[:, which], self.shape)

    @cached_property
    def by_judge(self) -> list[Places]:
        """Numbers of the marks of each judge."""
        smallest = np.min_scalar_type(self.shape[JUDGE])  # Small numbers are sorted at once.
        order = np.argsort(self.places[JUDGE].astype(smallest), kind="stable")
        ends = np.cumsum(self.sums(None, JUDGE))
        return np.split(order, ends[:-1])

    def sums(self, values: Any, *facets: int) -> Array:
        """Sums of values over the marks of each system, item or judge, or of each pair of these."""
        shape = [self.shape[facet] for facet in facets]
        cells = self.places[facets[0]]
        for facet in facets[1:]:
            cells = cells * self.shape[facet] + self.places[facet]
        return np.asarray(np.bincount(cells, values, math.prod(shape)).reshape(shape))

    @cached_property
    def answer(self) -> Any:
        """Number of the answer of each mark."""
        import pandas as pd

        system, item, _ = self.places
        return pd.factorize(system * self.shape[ITEM] + item)[0]

    def by_answer(self, values: Any) -> Array:
        """Sum of values over the marks of the same answer, at each mark."""
        return np.asarray(np.bincount(self.answer, values)[self.answer])

    @cached_property
    def n_marks(self) -> Array:
        """Number of marks of the answer, at each mark."""
        return self.by_answer(None)

    def shares_of(self, values: Any) -> Any:
        """Share of each judge in the sum of values of each system, (n_systems, n_judges)."""
        sums = self.sums(values, SYSTEM, JUDGE)
        return sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)

    def table(self, values: Array) -> Array:
        """Values as answers × judges, with 0 where a judge has no mark."""
        table = np.zeros((self.answer.max(initial=-1) + 1, self.shape[JUDGE]))
        table[self.answer, self.places[JUDGE]] = values
        return table

    def products(self, values: Array) -> Array:
        """Sums of products over pairs of marks of the same answer, by judge and judge."""
        is_alone = self.n_marks == 1
        several = self.chosen(~is_alone, values) if is_alone.any() else self
        table = several.table(values[~is_alone])
        return np.diag(self.sums(values**2 * is_alone, JUDGE)) + table.T @ table


@dataclass(frozen=True, eq=False)
class Severity:
    """Estimates of the additive model for one ρ, with systems and items swept out."""

    ratings: Ratings
    correlation: float
    severity: Array  # Of each judge, above 0 if its marks are lower.
    effects: tuple[Array, Array]  # Of systems and of items.
    inverse: Array  # Of the information on judges.
    group: NDArray[np.integer]  # Judges of one group are compared by marks.
    taken: Array  # What systems and items take of the judges.
    scores: Array  # P times the residual.
    answer_variance: float  # What is the answer's own, NaN if no answer has two marks.
    noise_variance: float

    @cached_property
    def variance(self) -> Any:
        """Variance of the error of each severity, clustered by system and by item.

        The influence of an answer on a severity is the sum of its scores times the inverse, less
        the sum of all its scores times what its system and its item take. Squares of the sums of
        influences by system, and by item, add up, less those of answers, which are expanded.
        Variances are so much wider that 1.96 standard errors are a 95 % interval by Student's t.
        Its degrees of freedom are the effective number of systems, or of items, that the judge
        marked, (Σn)²/Σn², less 1.

        Where few answers compare judges, these fit them closely, and clusters say too little. The
        variance is then that of the model.
        """
        from scipy.special import stdtrit

        ratings = self.ratings
        scores = self.scores
        of_facets = np.split(self.taken, ratings.shape[:1])
        answers = ratings.sums(scores, SYSTEM, ITEM)
        of_answers = 2 * scores * ratings.by_answer(scores)
        variances = -((self.inverse @ ratings.products(scores)) * self.inverse).sum(axis=1)
        n_clusters = []
        for facet, cells in ((SYSTEM, answers), (ITEM, answers.T)):
            effects = of_facets[facet]
            others = of_facets[1 - facet]
            sums = []
            for of_marks, of_cells in ((scores, cells), (of_answers, cells**2)):
                influence = ratings.sums(of_marks, facet, JUDGE) @ self.inverse
                influence -= of_cells @ others
                influence -= of_cells.sum(axis=1, keepdims=True) * effects
                sums.append(influence)
            variances += (sums[0] ** 2 + effects * sums[1]).sum(axis=0)
            n_marks = ratings.sums(None, facet, JUDGE)
            total = n_marks.sum(axis=0)
            n_clusters.append(total**2 / (n_marks**2).sum(axis=0))
        n_free = np.maximum(np.min(n_clusters, axis=0) - 1, _LEAST_FREEDOM)
        wider = (1 + 1 / n_free) * (stdtrit(n_free, 0.975) / Z95) ** 2
        total = np.nan_to_num(self.answer_variance) + self.noise_variance
        of_model = total * (1 - self.correlation) * np.diag(self.inverse)
        return np.maximum(variances * wider, of_model)

    @cached_property
    def errors_of_systems(self) -> Any:
        """Errors of severities in the mean mark of each system, (n_systems, n_judges).

        They are independent, correlate between judges as the model says, and add up to 0 over
        judges, as severities do.
        """
        values, vectors = np.linalg.eigh(self.inverse)
        of_model = np.diag(self.inverse)
        widened = np.sqrt(self.variance / np.where(of_model > 0, of_model, np.inf))
        root = widened[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        shares = self.ratings.shares_of(1 / self.ratings.n_marks)
        return shares @ (root - root.mean(axis=0))


def severities(ratings: Ratings) -> Severity:
    """Estimate severities: with ρ = 0, and again with the ρ of the residuals."""
    estimates = _solved(ratings, 0.0)
    answer = estimates.answer_variance
    if answer > 0:
        correlation = answer / (answer + estimates.noise_variance)
        estimates = _solved(ratings, min(correlation, _MOST_ALIKE))
    return estimates


def _solved(ratings: Ratings, correlation: float) -> Severity:
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
    diagonal = np.maximum(cells.sum(axis=1), _RIDGE) * (1 + _RIDGE)
    left = np.diag(diagonal) - scaled @ cells.T
    systems = solve(left, of_systems - scaled @ of_items, assume_a="pos")
    items = scale[:, None] * (of_items - cells.T @ systems)
    swept = np.vstack([systems, items])
    taken = np.vstack(sums)[:, :-1].T @ swept
    information = np.diag(ratings.sums(None, JUDGE)) - taken[:, :-1]
    if correlation:
        information -= ratings.products(np.sqrt(shared))
    inverse: Any = pinvh(information, atol=_NULL * len(marks))
    unknown = np.eye(len(inverse)) - information @ inverse  # Differences that no mark shows.
    apart = np.abs(unknown[:, None] - unknown).sum(axis=2)
    _, group = connected_components(apart < np.sqrt(_NULL))
    lenience = inverse @ (ratings.sums(marks, JUDGE) - taken[:, -1])
    coefficients = np.append(-lenience, 1.0)
    effects = systems @ coefficients, items @ coefficients
    residual = ratings.mark.copy()
    for effect, places in zip((*effects, lenience), ratings.places, strict=True):
        residual -= effect[places]
    of_answer = ratings.by_answer(residual)
    squares = residual @ residual
    n_free = len(marks) - sum(ratings.shape) + 2
    n_pairs = (n_marks - 1).sum()
    products = residual @ of_answer - squares
    answer = max(products / n_pairs, 0.0) if n_pairs else np.nan
    noise = max(squares / max(n_free, 1) - np.nan_to_num(answer), 0.0)
    return Severity(
        ratings=ratings,
        correlation=correlation,
        severity=0.0 - lenience,
        effects=effects,
        inverse=inverse,
        group=group,
        taken=swept[:, :-1] @ inverse,
        scores=residual - shared * of_answer,
        answer_variance=answer,
        noise_variance=noise,
    )
