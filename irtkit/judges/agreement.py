"""Consistency of judges, and whether a judge favours a family of systems.

Both compare marks of the same answer, and need answers with two marks or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from irtkit.irf import Array
    from irtkit.judges.severity import Places, Ratings

_LEAST_SYSTEMS = 2  # In a family and outside of it, for an error of their difference.
_LEAST_VARIANCE = 0.5  # Of that of independent marks. Smaller ones are chance (study `judges`).


class Agreement(NamedTuple):
    """How well each judge agrees with the others, NaN where no answer has two marks."""

    consistency: Array  # Share of the variance of its marks that is no noise, (n_judges,).
    correlation: Array  # Of its marks with the mean of the others.
    n: Places  # Answers that others marked as well.


def agreement(ratings: Ratings, adjusted: Array) -> Agreement:
    """Compare the marks of each judge with those of the others on the same answers.

    The noise of judges r and s is the variance of the differences of their marks, σ²_r + σ²_s,
    solved by least squares over all pairs.
    """
    n_judges = ratings.shape[2]
    ones = np.ones_like(adjusted)
    marks = ratings.answers(adjusted)
    marked = ratings.answers(ones)
    n_common = (marked.T @ marked).toarray()
    difference = (marks.T @ marked).toarray()
    squares = (ratings.answers(adjusted**2).T @ marked).toarray()
    squares = squares + squares.T - 2 * (marks.T @ marks).toarray()
    first, second = np.nonzero(np.triu(n_common > 1, 1))
    n = n_common[first, second]
    sum_of_differences = difference[first, second] - difference.T[first, second]
    variance = (squares[first, second] - sum_of_differences**2 / n) / (n - 1)
    pairs = np.zeros((len(n), n_judges))
    rows = np.arange(len(n))
    pairs[rows, first] = pairs[rows, second] = 1
    weight = np.sqrt(n)
    noise = np.linalg.lstsq(pairs * weight[:, None], variance * weight, rcond=None)[0]
    noise = np.where(pairs.any(axis=0), np.maximum(noise, 0.0), np.nan)
    others = ratings.among_others(adjusted)
    shared = ~np.isnan(others)
    of_judge = ratings.judge[shared]
    n_shared = np.bincount(of_judge, minlength=n_judges)
    own, others = _centred(of_judge, adjusted[shared]), _centred(of_judge, others[shared])
    with np.errstate(invalid="ignore", divide="ignore"):
        moments = [
            np.bincount(of_judge, product, minlength=n_judges) / (n_shared - 1)
            for product in (own**2, others**2, own * others)
        ]
        consistency = np.clip(1 - noise / moments[0], 0.0, 1.0)
        correlation = moments[2] / np.sqrt(moments[0] * moments[1])
    return Agreement(consistency, correlation, n_shared)


def _centred(groups: Places, values: Array) -> Array:
    """Values less the mean of their group."""
    n = np.maximum(np.bincount(groups), 1)
    return values - (np.bincount(groups, values) / n)[groups]


def preferences(ratings: Ratings, adjusted: Array, family: Places) -> dict[str, Array]:
    """Test for each judge and family whether the judge favours it, (n_judges, n_families).

    ``family`` is the place of the family of each system, below 0 if it has none. A mark less the
    mean of the other judges on the same answer is regressed on the family, with a parabola of the
    mean mark of the system: at the ends of the scale the marks of strict and lenient judges are
    closer. Errors are clustered by system, with squares divided by 1 less their leverage, and by
    item. Degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002, *Survey Methodology* 28).
    """
    from scipy.sparse import csr_array
    from scipy.special import stdtr
    from scipy.stats import false_discovery_control

    n_systems, n_items, n_judges = ratings.shape
    beyond = adjusted - ratings.among_others(adjusted)
    level = np.bincount(ratings.system, adjusted, minlength=n_systems)
    level /= np.maximum(np.bincount(ratings.system, minlength=n_systems), 1)
    design = np.vander(level - level.mean(), 3)
    is_member = (family[:, None] == np.arange(family.max(initial=-1) + 1)).astype(float)
    rows = []
    for judge in range(n_judges):
        compared = (ratings.judge == judge) & ~np.isnan(beyond)
        system = ratings.system[compared]
        values = beyond[compared]
        n = np.bincount(system, minlength=n_systems)[:, None]
        sums = np.bincount(system, values, minlength=n_systems)[:, None]
        squares = np.bincount(system, values**2, minlength=n_systems)[:, None]
        inverse = np.linalg.pinv(design.T @ (n * design))
        weight = is_member - design @ (inverse @ (design.T @ (n * is_member)))
        information = (weight * n * is_member).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            difference = (weight * sums).sum(axis=0) / information
            rest = sums - n * is_member * difference
            fitted = is_member * difference + design @ (inverse @ (design.T @ rest))
            leverage = n * ((design @ inverse * design).sum(axis=1, keepdims=True))
            leverage = leverage + n * weight**2 / information
            of_systems = (weight * (sums - n * fitted)) ** 2 / (1 - leverage)
            places = ratings.item[compared], system
            table = csr_array((values, places), shape=(n_items, n_systems))
            counts = csr_array((np.ones_like(values), places), shape=(n_items, n_systems))
            of_items = (table @ weight - counts @ (weight * fitted)) ** 2
            of_marks = weight**2 * (squares - 2 * fitted * sums + n * fitted**2)
            alone = of_marks.sum(axis=0)
            variance = of_systems.sum(axis=0) + of_items.sum(axis=0) - alone
            error = np.sqrt(np.maximum(variance, _LEAST_VARIANCE * alone)) / information
            share = (weight * n) ** 2
            freedom = share.sum(axis=0) ** 2 / (share**2).sum(axis=0) - 1
            n_members = np.count_nonzero(n * is_member, axis=0)
            n_others = np.count_nonzero(n) - n_members
            few = np.minimum(n_members, n_others) < _LEAST_SYSTEMS
            few |= n_members + n_others <= design.shape[1] + 1
            p = 2 * stdtr(freedom, -np.abs(difference / error))
        rows.append(np.where(few, np.nan, [difference, error, p]))
    difference, error, p = np.stack(rows, axis=1)
    q = np.full_like(p, np.nan)
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = false_discovery_control(p[tested])
    return {"difference": difference, "se": error, "p_value": p, "q_value": q}
