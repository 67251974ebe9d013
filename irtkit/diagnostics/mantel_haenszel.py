"""Differential item functioning by the procedure of Mantel and Haenszel.

In each stratum k of respondents of equal ability, A_k and B_k of the focal group are right and
wrong, C_k and D_k of the reference group, N_k in all. With the hypergeometric mean and variance,

    χ² = (Σ A_k − Σ E[A_k])² / Σ Var[A_k]

has one degree of freedom (Mantel & Haenszel 1959), here without a correction for continuity. The
effect is the log of the common odds ratio, Σ A_k D_k/N_k over Σ B_k C_k/N_k, with the standard
error of Robins, Breslow & Greenland (1986). Repeated trials enter as in Mantel (1963). Strata are
by

    t = Σⱼ wⱼ(yⱼ − pⱼ) / (1 + Σⱼ wⱼ² pⱼ(1 − pⱼ))

over the anchors answered and the item itself (Holland & Thayer 1988).
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

_PER_STRATUM = 10  # Respondents of the smaller group.
_FEWEST, _MOST = 5, 40  # Strata: five remove 9/10 of a difference of groups (Cochran 1968).
_PER_ANCHOR = 2  # Most strata per anchor: sums of few items have few values.
_CELLS_AT_ONCE = 2**22  # Of an item block: 32 MiB in each of its arrays.


class Compared(NamedTuple):
    """How items compare between two groups; each of shape (n_items,)."""

    statistic: Array  # χ² with one degree of freedom, NaN where nothing can be compared.
    log_odds_ratio: Array  # Of a right answer, the focal group over the reference group.
    standard_error: Array


class Matching:
    """Respondents of two groups matched on responses to some items; ``focal`` has shape (n,)."""

    def __init__(self, patterns: Patterns, focal: Marks) -> None:
        self.patterns, self.focal = patterns, focal
        fewest = int(min(focal.sum(), (~focal).sum()))
        self.n_strata = int(np.clip(fewest // _PER_STRATUM, _FEWEST, _MOST))
        self.p, self.slopes = _shares_and_slopes(patterns)
        self.varied = (self.p > 0) & (self.p < 1)

    def compared(self, anchors: Marks) -> Compared:
        """Compare every item, matching on the anchors and on the item itself."""
        usable = anchors & self.varied
        above, below = np.zeros((2, self.patterns.n))
        weights = np.where(usable, self.slopes, 0.0)
        for some, right, answered in _item_blocks(self.patterns):
            w, p = weights[some], self.p[some]
            above += right @ w - answered @ (w * p)
            below += answered @ (w**2 * p * (1 - p))
        n_strata = min(self.n_strata, _PER_ANCHOR * max(int(usable.sum()), 1))
        found = np.full((3, len(self.p)), np.nan)
        shared = _strata(above / (1 + below), n_strata)
        for some, right, answered in _item_blocks(self.patterns):
            found[:, some] = _compared(shared, self.focal, right, answered)
            for j in np.flatnonzero(~anchors[some] & self.varied[some]):
                k, y, a = some.start + j, right[:, j], answered[:, j]
                w, p = self.slopes[k], self.p[k]
                score = (above + w * (y - a * p)) / (1 + below + a * w**2 * p * (1 - p))
                own = _strata(score, n_strata), self.focal, right[:, [j]], answered[:, [j]]
                found[:, [k]] = _compared(*own)
        return Compared(*np.where(self.varied, found, np.nan))


def _item_blocks(patterns: Patterns) -> Iterator[tuple[slice, Array, Array]]:
    """Shares right (0 where missing) and whether there is a response, some items at a time."""
    for some in blocks(patterns.cells.shape[1], patterns.n, _CELLS_AT_ONCE):
        right, tried = patterns.dense(items=some)
        yield some, right / np.maximum(tried, 1), np.minimum(tried, 1.0)


def _shares_and_slopes(patterns: Patterns) -> tuple[Array, Array]:
    """Share right of every item, and its slope from the correlation with the rest.

    With the share right of the rest in SDs, a correlation of ρ is a difference of ρ/√(p(1 − p))
    between the means of those who are right and wrong, and a variance of 1 − ρ² within them; the
    ratio is the logistic slope (Fisher's discriminant). Slopes are shrunk towards their mean.
    """
    totals = np.zeros((2, patterns.n))
    for _, right, answered in _item_blocks(patterns):
        totals += right.sum(axis=1), answered.sum(axis=1)
    share, rho, n = np.zeros((3, patterns.cells.shape[1]))
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
        return share, np.zeros(len(share))
    rho, binomial = np.clip(rho, -0.9, 0.9), np.where(varied, share * (1 - share), 0.25)
    slope = rho / np.sqrt(binomial) / (1 - rho**2)
    typical, spread = float(slope[varied].mean()), max(float(slope[varied].var()), 1e-9)
    noise = float(np.mean(1 / (n * binomial)[varied]))
    kept = max(1 - noise / spread, 0.0)
    return share, np.where(varied, typical + kept * (slope - typical), 0.0)


def _strata(score: Array, n_strata: int) -> Array:
    """Strata of about equally many respondents as columns of 0 and 1."""
    cuts = np.quantile(score, np.arange(1, n_strata) / n_strata)
    strata = np.searchsorted(cuts, score, side="right")
    return np.eye(int(strata.max()) + 1)[strata]


@np.errstate(divide="ignore", invalid="ignore")
def _compared(strata: Array, focal: Marks, right: Array, answered: Array) -> Compared:
    """Compare items within strata, (n, n_strata), the same for all of them."""
    of_focal = strata * focal[:, None]
    n, n_focal = strata.T @ answered, of_focal.T @ answered
    n_right, a = strata.T @ right, of_focal.T @ right
    both, n_reference = np.maximum(n, 1), n - n_focal
    squares = n * (strata.T @ right**2) - n_right**2
    variance = (n_focal * n_reference * squares / (both**2 * np.maximum(n - 1, 1))).sum(axis=0)
    above = (a - n_focal * n_right / both).sum(axis=0)
    b, c = n_focal - a, n_right - a
    d = n_reference - c
    r, s, p, q = a * d / both, b * c / both, (a + d) / both, (b + c) / both
    for_focal, against = r.sum(axis=0), s.sum(axis=0)
    of_ratio = (
        (p * r).sum(axis=0) / for_focal**2
        + (p * s + q * r).sum(axis=0) / (for_focal * against)
        + (q * s).sum(axis=0) / against**2
    )
    found = np.stack(
        [above**2 / variance, np.log(for_focal) - np.log(against), np.sqrt(0.5 * of_ratio)]
    )
    found[:, variance <= 1e-9] = np.nan
    found[2, (for_focal <= 0) | (against <= 0)] = np.nan
    return Compared(*found)
