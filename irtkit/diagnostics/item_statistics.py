"""How well the curve of every item fits its responses: infit, outfit and S-X².

Infit and outfit compare single responses with P at the fitted abilities. S-X² compares shares
right among respondents with the same number right with what the model expects of them, so that no
estimate of ability takes part, and is the one whose distribution is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.diagnostics.bootstrap import (
    check_bootstrap,
    fitted_alike,
    scaled_p,
    simulated_fits,
)
from irtkit.diagnostics.fitted import Fitted, fitted
from irtkit.diagnostics.score_groups import expected_right
from irtkit.responses import ResponseMatrix
from irtkit.signs import false_discovery

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ModelName

LEAST_VARIANCE = 1e-5**0.5
"""Least variance of a response, that of P = 0.0032: one such response alone would else decide."""
_LEAST_EXPECTED = 1.0
"""Right and wrong responses expected in a group, at least; groups with fewer are joined."""
_MOST_SCORES, _GROUPS = 100, 20
"""Different scores up to which each is a group, as published, and into how many of equal size more
of them are joined at first."""
_PARAMETERS = {"Rasch": 1, "1PL": 1, "2PL": 2, "3PL": 3}
"""Parameters of one item, which are taken off the degrees of freedom; of the common slope, or the
SD of ability, each item has its share."""
_AS_BAD = 0.5
"""Excess of S-X² / df, relative to the largest, from which on an item is left out with it. Were it
the lower half of all that are called, 40 × 5,000 with four items that fall again would cost eleven
false ones in the worst of five sets; so none."""
LEAST_RESPONDENTS = 30
"""With complete answers, for a p-value by theory. With 20, and 1,000 items, 9 % of p-values are
below 0.05, with 30 of them 5 %."""
_MOST_SD = 2**0.5
"""Most that the SD of a mean square is taken for in the cube-root transform, as in mirt: that of a
single squared normal residual, a χ² with one degree of freedom."""


def item_fit(result: FitResult, *, bootstrap: int = 0, seed: int = 0) -> pd.DataFrame:
    """Tell how well each item's curve fits its responses.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses. Synthetic respondents are left out.
    bootstrap
        Matrices to draw from the fitted model and fit anew. With them p_value is that of S-X² on a
        scaled chi-square that has the mean and variance of the item's statistic in these fits; 0
        (default) takes the chi-square of theory. 100 are enough, of at most 100,000; each costs a
        fit. Respondents are drawn independent of one another.
    seed
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row per item, index "item", in the order of the result:

        - infit, outfit: mean squares of residuals, Σ(y − P)² / ΣP(1 − P) and the mean of
          (y − P)² / P(1 − P), at the fitted abilities (EAP, as in R's mirt) over the responses
          there are. Above 1: noisier than the model; below 1: more regular. EAP abilities use the
          item's own response, so that both are below 1 if the model holds, the more the fewer
          items there are.
        - infit_z, outfit_z: their Wilson–Hilferty cube-root transforms. They are not standard
          normal under the model, for the reason just named: rank by them, and test by S-X².
        - s_x2, df: S-X² of those who answered every item, and its degrees of freedom. Groups of
          equal scores in which less than one right or one wrong response is expected are joined
          with a neighbour; more than 100 different scores are joined to 20 groups first. As many
          degrees are taken off as an item has parameters; a common slope counts once for all items,
          1/J for each (R's mirt: 1 for each). Not weighted.
        - p_value: probability of so large a value if the model holds. Respondents that answer
          alike count for as many as are independent (``result.dependence``): s_x2 is multiplied by
          their share, which is cautious.
        - q_value: the false-discovery rate at which the item is called (Benjamini & Hochberg).
          Items that fit very badly make others look bad: ``flag_items(result, poor_fit=True)``
          leaves the worst out, and judges the others anew.
        - status: "ok"; "too few respondents" (fewer than 30 with complete answers, or no degree of
          freedom left), "missing responses" (fewer than half answered all items) or "no responses";
          p_value and q_value are then NaN.

        Where one ability does not explain the responses (``result.one_ability_doubted``) items may
        fit badly that have nothing wrong with them.

    Raises
    ------
    TypeError
        If ``result`` is not a FitResult.
    ValueError
        If its responses were not saved, are sparse, or hold repeated trials, or ``bootstrap`` is
        neither 0 nor a whole number from 20 on.

    References
    ----------
    Wright & Masters (1982), *Rating Scale Analysis*: infit and outfit.
    Orlando & Thissen (2000), *Applied Psychological Measurement* 24, 50–64: S-X².
    Stone (2000), *Journal of Educational Measurement* 37, 58–75: scaled chi-square by simulation.
    Benjamini & Hochberg (1995), *JRSS B* 57, 289–300.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(20), np.linspace(-2, 2, 20))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-3, 3, 1000), seed=1)
    >>> fit = irtkit.item_fit(irtkit.fit(responses, "2PL"))
    >>> int((fit["q_value"] < 0.05).sum()), fit["s_x2"].idxmax()
    (0, 'item-9')
    """
    import pandas as pd

    check_bootstrap(bootstrap, seed)
    parts = fitted(result, "item_fit")
    squares, found = mean_squares(parts), s_x2(parts, result.model)
    p = p_values(result, parts, found, bootstrap=bootstrap, seed=seed)
    status = np.full(parts.items.n_items, "ok", dtype=object)
    status[np.isnan(p)] = "missing responses" if parts.mostly_incomplete else "too few respondents"
    values = {
        **squares._asdict(),
        "s_x2": found.statistic,
        "df": found.df,
        "p_value": p,
        "q_value": false_discovery(p),
        "status": status,
    }
    table = pd.DataFrame(values, index=[result.item_labels[k] for k in parts.places])
    table = table.reindex(result.item_labels).rename_axis("item")
    return table.assign(status=table["status"].fillna("no responses"))


def p_values(
    result: FitResult, parts: Fitted, found: ScoreTest, *, bootstrap: int = 0, seed: int = 0
) -> Array:
    """P-value of every S-X², by theory or from fits of drawn matrices; NaN where there is none."""
    from scipy.special import chdtrc

    if bootstrap:
        drawn = np.full((bootstrap, len(result.item_labels)), np.nan)
        for row, one in zip(drawn, simulated_fits(result, bootstrap, seed), strict=True):
            again = fitted(one, "item_fit")
            row[again.places] = s_x2(again, result.model).statistic
        both = zip(found.statistic, drawn[:, parts.places].T, strict=True)
        p = np.array([scaled_p(*pair) for pair in both])
    else:
        few = parts.complete.sum() < LEAST_RESPONDENTS
        p = np.full(len(found.df), np.nan)
        usable = np.isfinite(found.statistic) & (not few)
        share = 1.0 if result.dependence is None else result.dependence.share
        p[usable] = chdtrc(found.df[usable], share * found.statistic[usable])
    return np.where(np.isnan(found.statistic), np.nan, p)


def poorly_fitting(result: FitResult, fdr: float) -> NDArray[np.bool_] | None:
    """Items called for their S-X² at a false-discovery rate, (n_items,); None if none is judged.

    Items that fit badly move abilities and the scores by which all others are grouped, and make
    these look bad as well. So of the items called the worst are left out (those whose S-X² / df is
    at least half as far above 1 as the largest), the others are fitted and judged anew, until none
    is called.
    """
    parts = fitted(result, "poor_fit")
    called = np.zeros(len(result.item_labels), dtype=bool)
    places = parts.places
    while True:
        found = s_x2(parts, result.model)
        p = p_values(result, parts, found)
        if np.isnan(p).all():
            return called if called.any() else None
        bad = np.flatnonzero(false_discovery(p) < fdr)
        if not len(bad):
            return called
        excess = found.statistic[bad] / found.df[bad] - 1
        worst = bad[excess >= _AS_BAD * excess.max()]
        called[places[worst]] = True
        kept = np.delete(np.arange(len(p)), worst)
        places, left = np.delete(places, worst), parts.of_items(kept)
        labels = [result.item_labels[place] for place in parts.places[kept]]
        result = fitted_alike(result, ResponseMatrix(left.cells, items=labels))
        parts = fitted(result, "poor_fit")
        places = places[parts.places]


class MeanSquares(NamedTuple):
    """Mean squares of residuals of every item, or respondent, and their transforms."""

    infit: Array
    outfit: Array
    infit_z: Array
    outfit_z: Array


def mean_squares(parts: Fitted, *, by_respondent: bool = False) -> MeanSquares:
    """Infit and outfit over the responses of every item, or of every respondent."""
    rows, axis = [], int(by_respondent)
    for _, cells, p in parts.parts():
        answered = cells >= 0
        variance = np.maximum(p * (1 - p), LEAST_VARIANCE)
        square = (cells - p) ** 2
        fourth = p * (1 - p) * (1 - 3 * p * (1 - p))  # the fourth central moment of a response
        terms = (
            *(np.ones_like(p), square, variance, square / variance),
            *(fourth - variance**2, fourth / variance**2 - 1),
        )
        rows.append(np.stack([(term * answered).sum(axis=axis) for term in terms]))
    totals = np.concatenate(rows, axis=1) if by_respondent else np.sum(rows, axis=0)
    n, square, variance, relative, spread, relative_spread = totals
    infit, outfit = square / variance, relative / n
    sd_infit, sd_outfit = (
        np.minimum(np.sqrt(np.maximum(part, 1e-12)), _MOST_SD)
        for part in (spread / variance**2, relative_spread / n**2)
    )
    z = ((m ** (1 / 3) - 1) * 3 / sd + sd / 3 for m, sd in ((infit, sd_infit), (outfit, sd_outfit)))
    return MeanSquares(infit, outfit, *z)


class ScoreTest(NamedTuple):
    """S-X² and its degrees of freedom, each (n_items,), NaN where none are left."""

    statistic: Array
    df: Array


def s_x2(parts: Fitted, model: ModelName) -> ScoreTest:
    """S-X² of every item over respondents who answered all of them."""
    cells, n_items = parts.cells[parts.complete], parts.items.n_items
    score = cells.sum(axis=1, dtype=np.intp)
    inside = np.flatnonzero((score > 0) & (score < n_items))
    scores, place = np.unique(score[inside], return_inverse=True)
    if parts.mostly_incomplete or len(scores) < 2:
        return ScoreTest(*np.full((2, n_items), np.nan))
    n = np.bincount(place).astype(np.float64)
    first = _first_of_groups(n)
    expected = expected_right(parts.items, scores, n, first, parts.grid())
    group = np.searchsorted(first, place, side="right") - 1
    order = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    right = np.stack([cells[inside[some]].sum(axis=0, dtype=np.float64) for some in order], axis=1)
    n = np.add.reduceat(n, first)
    found = [_chi_square(n, o, e) for o, e in zip(right, expected, strict=True)]
    statistic, groups = np.array(found, dtype=np.float64).T
    df = groups - _PARAMETERS[model] - (1 / n_items if model in {"Rasch", "1PL"} else 0.0)
    statistic[df < 1] = np.nan
    return ScoreTest(statistic, np.where(df < 1, np.nan, df))


def _first_of_groups(n: Array) -> NDArray[np.intp]:
    """Where groups begin: every score, or so many of equal size; no respondent is alone."""
    size = n.sum() / _GROUPS if len(n) > _MOST_SCORES else 0.0
    first, held = [0], 0.0
    for k, more in enumerate(n):
        if held > 1 and held >= size:
            first.append(k)
            held = 0.0
        held += more
    if held <= 1 and len(first) > 1:
        first.pop()
    return np.array(first)


def _chi_square(n: Array, right: Array, expected: Array) -> tuple[float, int]:
    """X² of an item over groups, joined until enough is expected in each, and how many are left.

    The lowest group that has too little is joined with the smaller of its neighbours, with the
    lower one if they are as large.
    """
    groups = [
        list(group) for group in zip(n.tolist(), right.tolist(), expected.tolist(), strict=True)
    ]
    k = 0
    while k < len(groups):
        size, _, e = groups[k]
        if len(groups) == 1 or min(e, size - e) >= _LEAST_EXPECTED:
            k += 1
            continue
        at_end = k in (0, len(groups) - 1)
        below = k > 0 if at_end else groups[k - 1][0] <= groups[k + 1][0]
        to = k - 1 if below else k + 1
        groups[to] = [a + b for a, b in zip(groups[to], groups[k], strict=True)]
        del groups[k]
        k = min(k, to)
    total = sum((o - e) ** 2 * (1 / e + 1 / (size - e)) for size, o, e in groups if 0 < e < size)
    return total, len(groups)
