"""Differential item functioning by the procedure of Mantel and Haenszel.

Respondents of equal ability are compared: in each stratum k of them a table of group by response,
A_k and B_k right and wrong of the focal group, C_k and D_k of the reference group, N_k in all. If
nobody of equal ability is favoured, A_k has the hypergeometric mean and variance, and

    χ² = (Σ A_k − Σ E[A_k])² / Σ Var[A_k]

is chi-square distributed with one degree of freedom (Mantel & Haenszel 1959, *Journal of the
National Cancer Institute* 22, 719–748; for items Holland & Thayer 1988). The effect is the log of
the common odds ratio, Σ A_k D_k/N_k over Σ B_k C_k/N_k, with the standard error of Robins, Breslow
& Greenland (1986, *Biometrics* 42, 311–323). Where trials are repeated a response is their share
right, and the mean and variance are those of Mantel (1963, *JASA* 58, 690–700), which are the same
for right and wrong.

**What is matched on.** The sum of right answers, weighted by the slopes of the items, says all that
the 2PL knows of an ability; in units of one step from the mean ability,

    t = Σⱼ wⱼ(yⱼ − pⱼ) / (1 + Σⱼ wⱼ² pⱼ(1 − pⱼ)),

sums being over the items that were answered, it serves with missing cells too. Slopes are told from
correlations with the share right of the rest. The item itself is in its sum: without it the abler
group seems to be favoured by every item (Holland & Thayer 1988 say why), and where groups lie one
SD apart and no item differs 12 % of 40 items and 58 % of 10 do at the 5 % level (500 respondents in
each). Items found to differ leave the sums of the others, and all are tested anew.

The correction for continuity that χ² was first given with, which makes every statistic smaller, is
left out: without it the level holds from ten respondents a group on (``benchmarks/differential.py``
for both).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

    Marks = NDArray[np.bool_]

_PER_STRATUM, _FEWEST, _MOST = 10, 5, 40
"""Respondents of the smaller group by stratum, and strata at least and at most. Five take off nine
tenths of a difference between the groups (Cochran 1968, *Biometrics* 24, 295–313), and more of it
the more there are; but who meets nobody of the other group in a stratum tells nothing."""
_PER_ANCHOR = 2
"""Strata by item matched on, at most. The sum of few items tells the answers themselves, all of
them alike in a stratum: with 3 anchors, and 300 respondents in groups half an SD apart, 30 strata
find 8 % of items that differ by 0.8, 6 strata 84 %; with 5 anchors it is 77 and 90 %."""
_CELLS_AT_ONCE = 2**22
"""Cells of an item block: 32 MiB in each of its arrays."""


class Compared(NamedTuple):
    """How items compare between two groups; each of shape (n_items,)."""

    statistic: Array
    """χ² with one degree of freedom, NaN where nothing can be compared."""
    log_odds_ratio: Array
    """Of a right answer, the focal group over the reference group."""
    standard_error: Array


class Matching:
    """Abilities to match on, from the responses to some items.

    Parameters
    ----------
    patterns
        Responses of the respondents compared.
    focal
        Shape (n,): who is in the focal group.
    """

    def __init__(self, patterns: Patterns, focal: Marks) -> None:
        self.patterns, self.focal = patterns, focal
        fewest = int(min(focal.sum(), (~focal).sum()))
        self.n_strata = int(np.clip(fewest // _PER_STRATUM, _FEWEST, _MOST))
        self.p, self.slopes = _shares_and_slopes(patterns)
        self.varied = (self.p > 0) & (self.p < 1)

    def compared(self, anchors: Marks) -> Compared:
        """Compare every item, matching on the anchors and on the item itself."""
        above, below = self._sums(anchors & self.varied)
        n_strata = min(self.n_strata, _PER_ANCHOR * max(int((anchors & self.varied).sum()), 1))
        found = Compared(*np.full((3, len(self.p)), np.nan))
        shared = _one_hot(_strata(above / (1 + below), n_strata))
        for some, right, answered in _item_blocks(self.patterns):
            for values, own in zip(
                found, _compared(shared, self.focal, right, answered), strict=True
            ):
                values[some] = own
            for j in np.flatnonzero(~anchors[some] & self.varied[some]):
                k, y, a = some.start + j, right[:, j], answered[:, j]
                w, p = self.slopes[k], self.p[k]
                score = (above + w * (y - a * p)) / (1 + below + a * w**2 * p * (1 - p))
                strata = _one_hot(_strata(score, n_strata))
                alone = _compared(strata, self.focal, right[:, [j]], answered[:, [j]])
                for values, value in zip(found, alone, strict=True):
                    values[k] = value[0]
        for values in found:
            values[~self.varied] = np.nan
        return found

    def _sums(self, items: Marks) -> tuple[Array, Array]:
        """Sums of t above and below the line, without the 1, over some items."""
        above, below = np.zeros((2, self.patterns.n))
        w = np.where(items, self.slopes, 0.0)
        for some, right, answered in _item_blocks(self.patterns):
            own, p = w[some], self.p[some]
            above += right @ own - answered @ (own * p)
            below += answered @ (own**2 * p * (1 - p))
        return above, below


def _item_blocks(patterns: Patterns) -> Iterator[tuple[slice, Array, Array]]:
    """Shares right (0 where missing) and whether there is a response, some items at a time."""
    for some in blocks(patterns.cells.shape[1], patterns.n, _CELLS_AT_ONCE):
        right, tried = patterns.dense(items=some)
        yield some, right / np.maximum(tried, 1), np.minimum(tried, 1.0)


def _shares_and_slopes(patterns: Patterns) -> tuple[Array, Array]:
    """Share right of every item, and its slope from the correlation with the rest.

    With the share right of the rest in SDs, a correlation of ρ is a difference of ρ/√(p(1 − p))
    between the means of those who are right and wrong, and a variance of 1 − ρ² within them; the
    ratio is the logistic slope (Fisher's discriminant). What few respondents say about a slope is
    mostly noise, and the slope is moved towards the typical one by its share in the spread.
    """
    totals = np.zeros((2, patterns.n))
    for _, right, answered in _item_blocks(patterns):
        totals += right.sum(axis=1), answered.sum(axis=1)
    n_items = patterns.cells.shape[1]
    share, rho, n = np.zeros((3, n_items))
    for some, right, answered in _item_blocks(patterns):
        rest = (totals[0][:, None] - right + 0.5) / (totals[1][:, None] - answered + 1)
        count = np.maximum(answered.sum(axis=0), 1)
        p, mean = right.sum(axis=0) / count, (rest * answered).sum(axis=0) / count
        rest = (rest - mean) * answered
        squares = (right**2).sum(axis=0) - count * p**2
        product = np.sqrt(np.maximum(squares * (rest**2).sum(axis=0), 1e-12))
        share[some], rho[some], n[some] = p, (right * rest).sum(axis=0) / product, count
    varied = (share > 0) & (share < 1)
    if not varied.any():
        return share, np.zeros(n_items)
    rho, binomial = np.clip(rho, -0.9, 0.9), np.where(varied, share * (1 - share), 0.25)
    slope = rho / np.sqrt(binomial) / (1 - rho**2)
    typical, spread = float(slope[varied].mean()), max(float(slope[varied].var()), 1e-9)
    noise = float(np.mean(1 / (n * binomial)[varied]))
    kept = max(1 - noise / spread, 0.0)
    return share, np.where(varied, typical + kept * (slope - typical), 0.0)


def _strata(score: Array, n_strata: int) -> NDArray[np.intp]:
    """Number of the stratum of every respondent, about equally many in each."""
    cuts = np.quantile(score, np.arange(1, n_strata) / n_strata)
    return np.searchsorted(cuts, score, side="right")


def _one_hot(strata: NDArray[np.intp]) -> Array:
    return np.eye(int(strata.max()) + 1)[strata]


def _compared(strata: Array, focal: Marks, right: Array, answered: Array) -> Compared:
    """Compare items within strata, (n, n_strata), the same for all of them."""
    of_focal = strata * focal[:, None]
    n, n_focal = strata.T @ answered, of_focal.T @ answered
    n_right, focal_right = strata.T @ right, of_focal.T @ right
    both, n_reference = np.maximum(n, 1), n - n_focal
    squares = n * (strata.T @ right**2) - n_right**2
    variance = (n_focal * n_reference * squares / (both**2 * np.maximum(n - 1, 1))).sum(axis=0)
    above = (focal_right - n_focal * n_right / both).sum(axis=0)
    known = variance > 1e-9
    statistic = np.full(len(known), np.nan)
    np.divide(above**2, variance, out=statistic, where=known)
    a, c = focal_right, n_right - focal_right
    return Compared(statistic, *_odds_ratio((a, n_focal - a, c, n_reference - c), both, known))


def _odds_ratio(table: tuple[Array, ...], n: Array, known: Marks) -> tuple[Array, Array]:
    """Log of the common odds ratio of tables (A, B, C, D) by stratum and item, and its error."""
    a, b, c, d = table
    r, s, p, q = a * d / n, b * c / n, (a + d) / n, (b + c) / n
    for_focal, against = r.sum(axis=0), s.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(for_focal) - np.log(against)
        variance = 0.5 * (
            (p * r).sum(axis=0) / for_focal**2
            + (p * s + q * r).sum(axis=0) / (for_focal * against)
            + (q * s).sum(axis=0) / against**2
        )
    finite = known & (for_focal > 0) & (against > 0)
    return np.where(known, log_ratio, np.nan), np.where(finite, np.sqrt(variance), np.nan)
