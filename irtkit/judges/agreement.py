"""Consistency of judges, and whether a judge favours a family of systems.

Both compare marks of the same answer, and need answers with two marks or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.judges.severity import ITEM, JUDGE, SYSTEM, freedom

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.judges.severity import Places, Ratings

_LEVEL = 0.05  # Of the tests of agreement, all judges together.
_HALF = 0.5  # A judge whose agreement is surely below it may be noise.
_LEAST_PAIRS = 3  # Answers of both judges, for their correlation.
_LEAST_SYSTEMS = 2  # In a family and outside of it, for an error of their difference.
_LEAST_COMPARED = 6  # In all: the regression has 4 terms.
_LEAST_VARIANCE = 0.5  # Of that of independent marks. Smaller ones are chance (study `judges`).


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers with two marks or more."""

    marks: Array  # (n_answers, n_judges), NaN where a judge did not mark the answer.
    places: tuple[Places, Places]  # System and item of each answer.
    shape: tuple[int, int]

    @classmethod
    def of(cls, ratings: Ratings, marks: Array) -> Answers:
        """Return the answers with several of these marks."""
        import pandas as pd

        several = ratings.n_marks > 1
        system, item, judge = (places[several] for places in ratings.places)
        answer, cells = pd.factorize(system * ratings.shape[ITEM] + item)
        table = np.full((len(cells), ratings.shape[JUDGE]), np.nan)
        table[answer, judge] = marks[several]
        return cls(table, np.divmod(cells, ratings.shape[ITEM]), ratings.shape[:JUDGE])

    def total(self, facet: int, values: Array) -> Array:
        """Sum of values of answers, by system or item."""
        return np.asarray(np.bincount(self.places[facet], values, self.shape[facet]))

    @cached_property
    def n_pairs(self) -> Array:
        """Number of answers that two judges marked, 0 of a judge with itself."""
        there = (~np.isnan(self.marks)).astype(np.float64)
        return np.asarray(there.T @ there * (1 - np.eye(there.shape[1])))

    def only_other(self, judge: int) -> int | None:
        """Return the judge that alone is compared with a judge, and with no other."""
        others = np.flatnonzero(self.n_pairs[judge])
        if len(others) > 1 or np.count_nonzero(self.n_pairs[others]) > 1:
            return None
        return int(others[0])

    def correlation(self, first: Array, second: Array, levels: Array) -> Array:
        """Return a correlation over answers, and how far its intervals reach to either side.

        Errors are clustered by system and by item. NaN are left out.
        """
        from scipy.special import stdtrit

        is_known = ~np.isnan(first + second)
        sizes = [self.total(facet, is_known) for facet in (SYSTEM, ITEM)]
        n = np.count_nonzero(is_known)
        if n < _LEAST_PAIRS:
            return np.full(1 + len(levels), np.nan)
        pair = np.where(is_known, (first, second), np.nan)
        with np.errstate(invalid="ignore"):
            pair -= np.nanmean(pair, axis=1, keepdims=True)
            pair /= np.nanstd(pair, axis=1, keepdims=True)
        product = pair[0] * pair[1]
        r = float(np.nansum(product) / n)
        influence = np.nan_to_num(product - r * (pair**2).sum(axis=0) / 2) / n
        by_answer = (influence**2).sum()
        by_cluster = sum((self.total(facet, influence) ** 2).sum() for facet in (SYSTEM, ITEM))
        variance = max(by_cluster - by_answer, _LEAST_VARIANCE * by_answer)
        n_free = min(freedom(size) for size in sizes)
        reach = np.sqrt(variance * (1 + 1 / n_free)) * stdtrit(n_free, 1 - levels / 2)
        return np.array([r, *reach])


class Agreement(NamedTuple):
    """How well each judge agrees with the others, NaN where no answers tell."""

    consistency: Array  # Share of the variance of its marks that it has in common with others.
    correlation: Array  # Of its marks with the consensus of the others.
    standing: NDArray[np.str_]  # How each judge stands to the others.


def agreement(answers: Answers) -> Agreement:
    """Compare the marks of each judge with what the other judges agree on.

    The consensus of the others is their mean, weighted by the first eigenvector of their
    correlations times the roots of the numbers of answers. Judges of noise have no weight in it,
    and reversed ones a negative one. Which direction is right, the majority of judges decides.
    """
    import pandas as pd
    from scipy.linalg import eigh

    table = pd.DataFrame(answers.marks)
    n_judges = table.shape[1]
    n_pairs = answers.n_pairs
    pairs = table.corr(min_periods=_LEAST_PAIRS).fillna(0.0).to_numpy() * (n_pairs > 0)
    standard = ((table - table.mean()) / table.std().replace(0.0, np.nan)).to_numpy()
    surety = pairs * np.sqrt(n_pairs)
    direction = eigh(surety)[1][:, -1]
    levels = np.array([_LEVEL / n_judges, _LEVEL])
    others = 1 - np.eye(n_judges)
    weights = np.zeros((n_judges, n_judges))
    for judge, of_others in enumerate(others):
        only = surety * np.outer(of_others, of_others) + np.diag(of_others)
        weights[judge] = eigh(only)[1][:, -1] * of_others
    weights *= np.copysign(1.0, weights @ direction)[:, None]
    correlation, sure, likely = _with_others(answers, standard, weights, levels)
    size = np.abs(correlation)
    side = np.where(size > sure, np.sign(correlation), 0.0)
    majority = np.sign(side.sum())
    correlation *= majority
    if majority == 0:
        correlation = _with_others(answers, standard, others, levels)[0]
    agrees = (side == majority) & (side != 0)
    alone = (size < likely) & (size + likely < _HALF)
    in_camp = np.zeros(n_judges, bool)
    for judge in np.flatnonzero(alone):
        for other in np.flatnonzero(n_pairs[judge]):
            r, reach, _ = answers.correlation(standard[:, judge], standard[:, other], levels)
            in_camp[judge] |= abs(r) > reach
    opposed = (correlation <= -_HALF) & (side != 0)
    standings = {
        "constant": (table.max() == table.min()) & (table.count() >= _LEAST_PAIRS),
        "agrees": agrees,
        "reversed": opposed & (majority != 0),
        "opposed": opposed,
        "in a camp": in_camp,
        "noise": alone & (np.count_nonzero(agrees) > 1),
        "disagrees": alone,
    }
    standing = np.select([*standings.values()], [*standings], "unclear")
    consistency = _consistency(pairs, n_pairs)
    is_sure = side != 0
    consistency[(np.count_nonzero(is_sure) - is_sure < 2) | in_camp.any()] = np.nan
    return Agreement(consistency, correlation, standing)


def _with_others(answers: Answers, standard: Array, weights: Array, levels: Array) -> Array:
    """Correlations of judges with weighted means of others, and reaches, (1 + n_levels, n_judges).

    ``weights`` has a row per judge.
    """
    there = ~np.isnan(standard)
    marks = np.nan_to_num(standard)
    rows = []
    for judge, weight in enumerate(weights):
        with np.errstate(invalid="ignore"):
            consensus = marks @ weight / (there @ np.abs(weight))
        rows.append(answers.correlation(standard[:, judge], consensus, levels))
    return np.transpose(rows)


def _consistency(pairs: Array, n_pairs: Array) -> Array:
    """Share of the variance of each judge that it has in common with the others.

    Noise of judges is independent, and the quality that they see is one. The correlation of two
    judges is then the product of the roots of their consistencies, and r_jk·r_jl = c_j·r_kl for all
    other judges k and l (Spearman 1927, *The Abilities of Man*). These are solved by least squares,
    with the squares of r_kl less their sampling variance. A narrow scale changes no correlation.
    """
    n_judges = len(pairs)
    shares = np.full(n_judges, np.nan)
    spare = pairs**2 - (1 - pairs**2) ** 2 / np.maximum(n_pairs - 1, 1)
    for judge in range(n_judges):
        shared = n_pairs[judge] > 0
        weight = n_pairs * np.outer(shared, shared)
        total = (weight * spare).sum()
        if total > 0:
            products = pairs[judge] @ (weight * pairs) @ pairs[judge]
            shares[judge] = np.clip(products / total, 0.0, 1.0)
    return shares


def preferences(answers: Answers, level: Array, family: Places) -> Array:
    """Test for each judge and family whether the judge favours it.

    Returns difference, standard error, p and q by judge and family, (4, n_judges, n_families).
    ``level`` is the mean mark of each system, and ``family`` the place of its family, below 0 if it
    has none. A mark less the mean of the other judges on the same answer is regressed on the
    family, with a parabola of the level: at the ends of the scale the marks of strict and lenient
    judges are closer. Errors are clustered by system, with squares divided by 1 less their
    leverage, and by item. Degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002, *Survey
    Methodology* 28).
    """
    from scipy.stats import false_discovery_control

    marks = answers.marks
    there = ~np.isnan(marks)
    total = np.nansum(marks, axis=1, keepdims=True)
    beyond = marks - (total - marks) / (there.sum(axis=1, keepdims=True) - 1)
    parabola = np.vander(level - level.mean(), 3)
    tests = np.full((4, marks.shape[1], family.max(initial=-1) + 1), np.nan)
    for judge, of_family in np.ndindex(tests.shape[1:]):
        design = np.column_stack([parabola, family == of_family])
        tests[:3, judge, of_family] = _contrast(answers, beyond[:, judge], design)
    is_tested = ~np.isnan(tests[2])
    if is_tested.any():
        tests[3, is_tested] = false_discovery_control(tests[2, is_tested])
    return tests


def _contrast(answers: Answers, values: Array, design: Array) -> tuple[float, float, float]:
    """Difference of a family from all other systems, given covariates, its error and p-value.

    ``values`` are of answers, NaN where nothing is compared. ``design`` has a row per system, the
    family last. NaN of too few systems.
    """
    from scipy.special import stdtr

    compared = ~np.isnan(values)
    values = np.nan_to_num(values)
    n = answers.total(SYSTEM, compared)
    n_members = np.count_nonzero(design[:, -1] * n)
    n_others = np.count_nonzero(n) - n_members
    if min(n_members, n_others) < _LEAST_SYSTEMS or n_members + n_others < _LEAST_COMPARED:
        return np.nan, np.nan, np.nan
    inverse = np.linalg.pinv(design.T @ (n[:, None] * design))
    projected = design @ inverse
    effects = inverse @ (design.T @ answers.total(SYSTEM, values))
    system = answers.places[SYSTEM]
    residual = (values - (design @ effects)[system]) * compared
    weighted = projected[system, -1] * residual
    leverage = n * (projected * design).sum(axis=1)
    by_mark = (weighted**2).sum()
    by_item = answers.total(ITEM, weighted) ** 2
    by_system = answers.total(SYSTEM, weighted) ** 2 / (1 - leverage)
    variance = by_system.sum() + by_item.sum() - by_mark
    error = np.sqrt(max(variance, _LEAST_VARIANCE * by_mark))
    share = (projected[:, -1] * n) ** 2
    n_free = share.sum() ** 2 / (share**2).sum() - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stdtr(n_free, -np.abs(effects[-1] / error))
    return effects[-1], error, p
