"""Consistency of judges, and whether a judge favours a family of systems.

Both compare marks of the same answer, and need answers with two marks or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.judges.severity import JUDGE, SYSTEM

if TYPE_CHECKING:
    from irtkit.irf import Array
    from irtkit.judges.severity import Places, Ratings

_LEAST_SYSTEMS = 2  # In a family and outside of it, for an error of their difference.
_LEAST_COMPARED = 6  # In all: the regression has 4 terms.
_LEAST_VARIANCE = 0.5  # Of that of independent marks. Smaller ones are chance (study `judges`).


class Agreement(NamedTuple):
    """How well each judge agrees with the others, NaN where no answer has two marks."""

    consistency: Array  # Share of the variance of its marks that is no noise.
    correlation: Array  # Of its marks with the mean of the others.
    n: Array  # Answers that others marked as well.


def agreement(ratings: Ratings, marks: Array) -> Agreement:
    """Compare the marks of each judge with the mean of the others on the same answers.

    Noise of judges is independent. The covariance is therefore the variance that is about the
    answers.
    """
    others = ratings.among_others(marks)
    rows = []
    for judge in range(ratings.shape[JUDGE]):
        compared = (ratings.places[JUDGE] == judge) & ~np.isnan(others)
        n = np.count_nonzero(compared)
        covariance = np.full((2, 2), np.nan)
        if n > 1:
            covariance = np.cov(marks[compared], others[compared])
        with np.errstate(invalid="ignore", divide="ignore"):
            consistency = np.clip(covariance[0, 1] / covariance[0, 0], 0.0, 1.0)
            correlation = covariance[0, 1] / np.sqrt(np.prod(np.diag(covariance)))
        rows.append((consistency, correlation, n))
    return Agreement(*np.transpose(rows))


def preferences(ratings: Ratings, marks: Array, family: Places) -> Array:
    """Test for each judge and family whether the judge favours it.

    Returns difference, standard error, p and q by judge and family, (4, n_judges, n_families).
    ``family`` is the place of the family of each system, below 0 if it has none. A mark less the
    mean of the other judges on the same answer is regressed on the family, with a parabola of the
    mean mark of the system: at the ends of the scale the marks of strict and lenient judges are
    closer. Errors are clustered by system, with squares divided by 1 less their leverage, and by
    item. Degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002, *Survey Methodology* 28).
    """
    from scipy.stats import false_discovery_control

    beyond = marks - ratings.among_others(marks)
    n_marks = ratings.total(SYSTEM, np.ones_like(marks))
    level = ratings.total(SYSTEM, marks) / np.maximum(n_marks, 1)
    parabola = np.vander(level - level.mean(), 3)
    n_families = family.max(initial=-1) + 1
    tests = np.full((4, ratings.shape[JUDGE], n_families), np.nan)
    for judge in range(ratings.shape[JUDGE]):
        compared = (ratings.places[JUDGE] == judge) & ~np.isnan(beyond)
        table = np.full(ratings.shape[:JUDGE], np.nan)
        system, item, _ = ratings.places
        table[system[compared], item[compared]] = beyond[compared]
        for of_family in range(n_families):
            tests[:3, judge, of_family] = _contrast(table, parabola, family == of_family)
    tested = ~np.isnan(tests[2])
    if tested.any():
        tests[3, tested] = false_discovery_control(tests[2, tested])
    return tests


def _contrast(table: Array, covariates: Array, member: Places) -> tuple[float, float, float]:
    """Difference of a family from all other systems, given covariates, its error and p-value.

    ``table`` has a row per system, NaN where nothing is compared. NaN of too few systems.
    """
    from scipy.special import stdtr

    n = (~np.isnan(table)).sum(axis=1)
    n_members = np.count_nonzero(member & (n > 0))
    n_others = np.count_nonzero(n) - n_members
    if min(n_members, n_others) < _LEAST_SYSTEMS or n_members + n_others < _LEAST_COMPARED:
        return np.nan, np.nan, np.nan
    design = np.column_stack([covariates, member])
    inverse = np.linalg.pinv(design.T @ (n[:, None] * design))
    projected = design @ inverse
    effects = inverse @ (design.T @ np.nansum(table, axis=1))
    residual = np.nan_to_num(table - (design @ effects)[:, None])
    weighted = projected[:, -1:] * residual
    leverage = n * (projected * design).sum(axis=1)
    by_mark = (weighted**2).sum()
    by_item = weighted.sum(axis=0) ** 2
    by_system = weighted.sum(axis=1) ** 2 / (1 - leverage)
    variance = by_system.sum() + by_item.sum() - by_mark
    error = np.sqrt(max(variance, _LEAST_VARIANCE * by_mark))
    share = (projected[:, -1] * n) ** 2
    freedom = share.sum() ** 2 / (share**2).sum() - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stdtr(freedom, -np.abs(effects[-1] / error))
    return effects[-1], error, p
