"""Consistency of judges, and whether a judge favours a family of systems.

Both compare marks of the same answer, and take answers with two marks or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.irf import Z95
from irtkit.judges.severity import ITEM, JUDGE, SYSTEM

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.judges.severity import Places, Ratings

_LEVEL = 0.05  # Of the tests of agreement, all judges together.
_HALF = 0.5  # Agreement below which a judge may be noise, and consistency of a noisy one.
_QUANTILES = np.arange(0.5, 200) / 200  # Of the marks of a judge, for the correlation they allow.
_LEAST_PAIRS = 3  # Answers of both judges, for their correlation.
_LEAST_SYSTEMS = 2  # In a family and outside of it, for an error of their difference.
_LEAST_COMPARED = 6  # In all: the regression has 4 terms.
_ROUNDING = 1e-9  # SD of marks that are all alike.
_LEAST_VARIANCE = 0.5  # Of that of independent marks. Smaller ones are chance (study `judges`).


def _slope(rated: Ratings, design: Array) -> tuple[float, float, float]:
    """Return the last coefficient of a least squares over marks of a judge, its error, and p-value.

    Errors are clustered by system, with squares divided by 1 less their leverage, and by item.
    Degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002, *Survey Methodology* 28).
    """
    from scipy.special import stdtr

    projected = design @ np.linalg.pinv(design.T @ design)
    effects = rated.mark @ projected
    weight = projected[:, -1]
    scores = weight * (rated.mark - design @ effects)
    leverage = rated.sums((projected * design).sum(axis=1), SYSTEM)
    of_marks = scores @ scores
    by_item = rated.sums(scores, ITEM)
    by_system = rated.sums(scores, SYSTEM)
    share = rated.sums(None, SYSTEM) * rated.sums(weight**2, SYSTEM)
    with np.errstate(invalid="ignore", divide="ignore"):
        of_systems = (by_system**2 / (1 - leverage)).sum()
        variance = of_systems + by_item @ by_item - of_marks
        error = np.sqrt(max(variance, _LEAST_VARIANCE * of_marks))
        n_free = share.sum() ** 2 / (share @ share) - 1
        t = np.abs(effects[-1] / error)
    return effects[-1], error, 2 * stdtr(n_free, -t)


def _correlation(rated: Ratings, others: Array) -> tuple[float, float, float]:
    """Return the correlation of marks with others of the same answers, its error, and p-value."""
    if len(others) < _LEAST_PAIRS:
        return np.nan, np.nan, np.nan
    pair = np.stack([rated.mark, others])
    pair -= pair.mean(axis=1, keepdims=True)
    sd = pair.std(axis=1, keepdims=True)
    own, other = pair / np.where(sd > _ROUNDING, sd, np.nan)
    return _slope(rated.chosen(slice(None), own), other[:, None])


def agreement(rated: Ratings) -> tuple[Array, Array, NDArray[np.str_]]:
    """Consistency of each judge, its correlation with the consensus, and whether it is usable.

    Consistency is the share of the variance of its marks that it has in common with others. What no
    answers tell is NaN.

    The consensus of the others is their mean, weighted by the first eigenvector of their
    correlations times the roots of the numbers of answers. Judges of noise have no weight in it,
    and reversed judges a negative weight. Which direction is right, the majority of judges decides.
    A judge that agrees with single others, but not with the consensus, sees another quality, and
    then consistency is not known.
    """
    import pandas as pd
    from scipy.stats import norm

    n_judges = rated.shape[JUDGE]
    standard = np.zeros_like(rated.mark)
    quantiles: dict[int, Array] = {}  # Of judges whose marks are not all alike.
    for judge, marks in enumerate(rated.by_judge):
        ordered = np.sort(rated.mark[marks])
        if len(ordered) and ordered[0] < ordered[-1]:
            standard[marks] = (rated.mark[marks] - ordered.mean()) / ordered.std()
            quantiles[judge] = ordered[np.rint((len(ordered) - 1) * _QUANTILES).astype(np.intp)]
    every = range(n_judges)
    is_varied = np.isin(every, [*quantiles])
    is_there = is_varied[rated.places[JUDGE]]
    itself = np.eye(n_judges)
    n_pairs = rated.products(is_there) * (1 - itself)
    pairs = rated.products(standard) * (1 - itself) / np.maximum(n_pairs, 1)
    is_compared = n_pairs > 0
    surety = np.clip(pairs, -1.0, 1.0) * np.sqrt(n_pairs)
    both_others = is_compared[:, None] & is_compared[:, :, None]
    of_others = (surety + itself) * both_others
    weights = np.linalg.eigh(of_others).eigenvectors[..., -1] * is_compared
    direction = np.linalg.eigh(surety).eigenvectors[:, -1]
    weights *= np.copysign(1.0, weights @ direction)[:, None]
    with np.errstate(invalid="ignore"):
        means = rated.table(standard) @ weights.T / (rated.table(is_there) @ np.abs(weights.T))
    consensus = means[rated.answer, rated.places[JUDGE]]
    consensus[~is_there] = np.nan
    agreed = []
    for marks in rated.by_judge:
        known = marks[~np.isnan(consensus[marks])]
        agreed.append(_correlation(rated.chosen(known, standard), consensus[known]))
    correlation, error, p = np.transpose(agreed)
    is_sure = p < _LEVEL / n_judges
    majority = np.sign(np.sign(correlation[is_sure]).sum())
    correlation *= majority or np.copysign(1.0, weights.sum(axis=1))
    agrees = is_sure & (correlation > 0) & (majority != 0)
    opposed = is_sure & ~agrees & (np.abs(correlation) >= _HALF)
    alone = (p > _LEVEL) & (np.abs(correlation) + Z95 * error < _HALF)
    has_friend = np.abs(surety).max(axis=1) > norm.isf(_LEVEL / n_judges / 2)
    is_apart = alone & has_friend
    n_others = np.count_nonzero(is_sure) - is_sure
    most = pd.DataFrame(quantiles).corr().reindex(index=every, columns=every).fillna(1.0)
    consistency = _consistency(pairs, n_pairs, most.to_numpy())
    consistency[(n_others < 2) | is_apart.any()] = np.nan
    standings = {
        "constant": ~is_varied & (rated.sums(None, JUDGE) >= _LEAST_PAIRS),
        "noisy": agrees & (consistency < _HALF),
        "usable": agrees & (consistency >= _HALF),
        "agrees with others": agrees,
        "reversed": opposed & (majority != 0),
        "opposed": opposed,
        "unclear": is_apart,
        "noise": alone & (np.count_nonzero(agrees) > 1),
        "disagrees": alone,
    }
    standing = np.select([*standings.values()], [*standings], "unclear")
    return consistency, correlation, standing


def _consistency(pairs: Array, n_pairs: Array, most: Array) -> Array:
    """Share of the variance of each judge that it has in common with the others.

    Noise of judges is independent, and the quality that they see is one. The correlation of two
    judges is then the product of the roots of their consistencies, and r_jk·r_jl = c_j·r_kl for all
    other judges k and l (Spearman 1927, *The Abilities of Man*). These are solved by least squares,
    with the squares of r_kl less their sampling variance, (1 + ρ²)/n.

    Correlations are divided by the ``most`` that the judges' shares of each mark allow (φ/φ_max of
    0 and 1, Cureton 1959, *Psychometrika* 24, 89–91): a strict judge and a lenient one who see the
    same quality cannot give the same marks.
    """
    shared = (n_pairs > 0).astype(np.float64)
    of_most = pairs / most
    products = of_most @ (n_pairs * of_most) * of_most
    squares = n_pairs * (n_pairs * pairs**2 - 1) / (n_pairs + 1) / most**2
    total = (shared @ squares * shared).sum(axis=1)
    shares = products.sum(axis=1) / np.where(total > 0, total, np.nan)
    return np.asarray(np.clip(shares, 0.0, 1.0))


def preferences(rated: Ratings, level: Array, of_system: Places, index: Any) -> pd.DataFrame:
    """Test for each judge and family, which ``index`` names, whether the judge favours it.

    ``level`` is the mean mark of each system, and ``of_system`` the place of its family, below 0 if
    it has none. A mark less the mean of the other judges on the same answer is regressed on the
    family, with a parabola of the level: at the ends of the scale the marks of strict and lenient
    judges are closer. NaN of too few systems.
    """
    import pandas as pd
    from scipy.stats import false_discovery_control

    of_others = rated.by_answer(rated.mark) - rated.mark
    beyond = rated.mark - of_others / (rated.n_marks - 1)
    parabola = np.vander(level - level.mean(), 3)
    tests = pd.DataFrame(np.nan, index, ["difference", "se", "p_value", "q_value"])
    for row, (judge, family) in enumerate(np.ndindex(index.levshape)):
        marks = rated.chosen(rated.by_judge[judge], beyond)
        is_member = of_system == family
        is_compared = marks.sums(None, SYSTEM) > 0
        n_systems = np.bincount(is_member[is_compared], minlength=2)  # Outside and in the family.
        if min(n_systems) >= _LEAST_SYSTEMS and sum(n_systems) >= _LEAST_COMPARED:
            of_systems = np.column_stack([parabola, is_member])
            tests.iloc[row, :3] = _slope(marks, of_systems[marks.places[SYSTEM]])
    is_tested = tests["p_value"].notna()
    p = tests.loc[is_tested, "p_value"]
    tests.loc[is_tested, "q_value"] = false_discovery_control(p)
    return tests


def surest(tests: pd.DataFrame) -> pd.DataFrame:
    """Rows with a test, the surest first; of two with opposite signs the one above 0.

    Two judges, or two families, have the same tests with opposite signs.
    """
    tested = tests.dropna().sort_values("difference", ascending=False, kind="stable")
    size = tested[["difference", "p_value"]].abs().round(12)
    return tested[~size.duplicated()].sort_values("p_value", kind="stable")
