"""Consistency of judges, and whether a judge favours a family of systems.

Both compare marks of the same answer, and need answers with two marks or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.irf import Z95
from irtkit.judges.severity import ITEM, JUDGE, SYSTEM

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
        shape = ratings.shape[SYSTEM], ratings.shape[ITEM]
        return cls(table, np.divmod(cells, shape[ITEM]), shape)

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

    def slope(self, values: Array, design: Array) -> tuple[float, float, float]:
        """Return the last coefficient of a least squares over answers, its error, and p-value.

        NaN are left out. Errors are clustered by system, with squares divided by 1 less their
        leverage, and by item. Degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002,
        *Survey Methodology* 28).
        """
        from scipy.special import stdtr

        is_known = ~np.isnan(values + design.sum(axis=1))
        y = np.where(is_known, values, 0.0)
        x = np.where(is_known[:, None], design, 0.0)
        projected = x @ np.linalg.pinv(x.T @ x)
        effects = y @ projected
        weight = projected[:, -1]
        scores = weight * (y - x @ effects)
        leverage = self.total(SYSTEM, (projected * x).sum(axis=1))
        of_marks = (scores**2).sum()
        of_items = (self.total(ITEM, scores) ** 2).sum()
        share = self.total(SYSTEM, is_known) * self.total(SYSTEM, weight**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            of_systems = (self.total(SYSTEM, scores) ** 2 / (1 - leverage)).sum()
            variance = max(of_systems + of_items - of_marks, _LEAST_VARIANCE * of_marks)
            error = np.sqrt(variance)
            n_free = share.sum() ** 2 / (share**2).sum() - 1
            p = 2 * stdtr(n_free, -np.abs(effects[-1] / error))
        return float(effects[-1]), float(error), float(p)

    def correlation(self, *marks: Array) -> tuple[float, float, float]:
        """Return the correlation of two marks of each answer, its error, and p-value."""
        from scipy.stats import zscore

        pair = np.where(np.isnan(np.sum(marks, axis=0)), np.nan, marks)
        if np.count_nonzero(~np.isnan(pair[0])) < _LEAST_PAIRS:
            return np.nan, np.nan, np.nan
        with np.errstate(invalid="ignore", divide="ignore"):
            first, second = zscore(pair, axis=1, nan_policy="omit")
        return self.slope(first, second[:, None])


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
    is_constant = table.max() == table.min()
    varied = pd.DataFrame(np.where(is_constant, np.nan, answers.marks))
    n_pairs = Answers(varied.to_numpy(), answers.places, answers.shape).n_pairs
    pairs = varied.corr(min_periods=_LEAST_PAIRS).fillna(0.0).to_numpy() * (n_pairs > 0)
    standard = ((varied - varied.mean()) / varied.std()).to_numpy()
    marks = np.nan_to_num(standard)
    surety = pairs * np.sqrt(n_pairs)
    direction = eigh(surety)[1][:, -1]
    agreed = np.full((3, n_judges), np.nan)
    sign = np.ones(n_judges)
    for judge, shared in enumerate(n_pairs):
        others = shared > 0
        weights = eigh(surety * np.outer(others, others) + np.diag(others))[1][:, -1] * others
        weights *= np.copysign(1.0, weights @ direction)
        sign[judge] = np.copysign(1.0, weights.sum())
        with np.errstate(invalid="ignore"):
            consensus = marks @ weights / (~np.isnan(standard) @ np.abs(weights))
        agreed[:, judge] = answers.correlation(standard[:, judge], consensus)
    correlation, error, p = agreed
    is_sure = p < _LEVEL / n_judges
    majority = np.sign(np.sign(correlation[is_sure]).sum())
    correlation = correlation * (majority or sign)
    agrees = is_sure & (correlation > 0) & (majority != 0)
    alone = (p > _LEVEL) & (np.abs(correlation) + Z95 * error < _HALF)
    in_camp = np.zeros(n_judges, bool)
    for judge, other in np.argwhere((n_pairs > 0) & alone[:, None]):
        p_pair = answers.correlation(standard[:, judge], standard[:, other])[2]
        in_camp[judge] |= p_pair < _LEVEL / n_judges
    opposed = is_sure & ~agrees & (np.abs(correlation) >= _HALF)
    standings = {
        "constant": is_constant & (table.count() >= _LEAST_PAIRS),
        "agrees": agrees,
        "reversed": opposed & (majority != 0),
        "opposed": opposed,
        "in a camp": in_camp,
        "noise": alone & (np.count_nonzero(agrees) > 1),
        "disagrees": alone,
    }
    standing = np.select([*standings.values()], [*standings], "unclear")
    consistency = _consistency(pairs, n_pairs)
    consistency[(np.count_nonzero(is_sure) - is_sure < 2) | in_camp.any()] = np.nan
    return Agreement(consistency, correlation, standing)


def _consistency(pairs: Array, n_pairs: Array) -> Array:
    """Share of the variance of each judge that it has in common with the others.

    Noise of judges is independent, and the quality that they see is one. The correlation of two
    judges is then the product of the roots of their consistencies, and r_jk·r_jl = c_j·r_kl for all
    other judges k and l (Spearman 1927, *The Abilities of Man*). These are solved by least squares,
    with the squares of r_kl less their sampling variance. A narrow scale changes no correlation.
    """
    shared = (n_pairs > 0).astype(np.float64)
    squares = pairs**2 - (1 - pairs**2) ** 2 / np.maximum(n_pairs - 1, 1)
    products = (pairs @ (n_pairs * pairs) * pairs).sum(axis=1)
    total = (shared @ (n_pairs * squares) * shared).sum(axis=1)
    return np.asarray(np.clip(products / np.where(total > 0, total, np.nan), 0.0, 1.0))


def preferences(answers: Answers, level: Array, family: Places) -> Array:
    """Test for each judge and family whether the judge favours it.

    Returns difference, standard error, p and q by judge and family, (4, n_judges, n_families).
    ``level`` is the mean mark of each system, and ``family`` the place of its family, below 0 if it
    has none. A mark less the mean of the other judges on the same answer is regressed on the
    family, with a parabola of the level: at the ends of the scale the marks of strict and lenient
    judges are closer.
    """
    from scipy.stats import false_discovery_control

    marks = answers.marks
    there = ~np.isnan(marks)
    total = np.nansum(marks, axis=1, keepdims=True)
    n_others = there.sum(axis=1, keepdims=True) - 1.0
    beyond = marks - (total - marks) / np.where(n_others > 0, n_others, np.nan)
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
    n = answers.total(SYSTEM, ~np.isnan(values))
    n_members = np.count_nonzero(design[:, -1] * n)
    n_others = np.count_nonzero(n) - n_members
    if min(n_members, n_others) < _LEAST_SYSTEMS or n_members + n_others < _LEAST_COMPARED:
        return np.nan, np.nan, np.nan
    return answers.slope(values, design[answers.places[SYSTEM]])
