"""Whether one ability explains the responses: eigenvalues of the residuals.

The score of the respondents is one step of the power method from the proportion correct to the
first principal component. Residuals of the items' curves in it are scaled to a mean square of 1 in
every item and respondent. If one ability explains the responses, the largest eigenvalue λ₁ of their
products follows the law of Tracy and Widom (Johnstone 2001). A further ability raises λ₁. Groups of
items that share a passage raise many eigenvalues a little, and so their sum of squares (John's
test, corrected by Wang & Yao 2013).

Both laws are approximate for binary responses, so that they screen only. Draws from the fitted
curves, with the same missing cells, decide (``benchmarks/warnings_of_fit.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL, part_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.data.patterns import Patterns, Places

    Floats = NDArray[np.float32]

_MOST_ITEMS, _MOST_CELLS = 512, 2**18  # Items and cells looked at.
_RARE, _LEAST_RESPONSES = 0.05, 10  # Least proportion correct, and incorrect, and responses.
_LEAST_RESPONDENTS, _LEAST_ITEMS = 30, 20  # Fewer show too little.
_PER_KINK, _LEAST_KINKS, _MOST_KINKS = 20, 2, 8  # Responses of an item for each kink of its curve.
_LEAST_SQUARE, _RIDGE = 0.02, 1e-3  # Least mean square of residuals; responses added at kinks.
_SCREEN, BOUND = 2.02, 3.53  # Tracy–Widom: 99 % quantile, and (99.9 % quantile − mean) / SD.
_DRAWS, _FEW, _DRAWS_OF_FEW, _FIRST_DRAWS = 20, 60, 50, 5  # More draws of few; the first may end.
BOUND_OF_SQUARES = 5.0  # Data of one ability with an SD of 3 (60 × 200) reach 4.
_LEAST_SDS = np.array([1.27, 1.0])  # Of both statistics, by theory.


class Dimensionality(NamedTuple):
    """How far both statistics lie above those of one ability, in standard deviations."""

    eigenvalue: float  # Of the largest eigenvalue: a further ability.
    squares: float  # Of the squares of all eigenvalues: a further ability, or groups of items.


def dimensionality(patterns: Patterns, duplicates: NearDuplicates) -> Dimensionality | None:
    """Test whether one ability explains the responses; None if nothing speaks against it.

    Of near-duplicates one of each family is looked at, as its members have more in common than
    their ability.
    """
    z = _excess(_cells(patterns))
    if z is not None and duplicates.found:
        z = _excess(_cells(part_of(patterns, duplicates.distinct, np.arange(patterns.n_items))))
    return None if z is None else Dimensionality(*z)


def _excess(cells: tuple[Floats, Floats] | None) -> tuple[float, float] | None:
    """How many SDs both statistics lie above their means in draws; None if neither is beyond."""
    if cells is None:
        return None
    right, tried = cells
    observed, expected = _statistics(right, tried)
    if observed[0] <= _SCREEN and observed[1] <= 0:
        return None
    generator = np.random.default_rng(0)
    n_draws = _DRAWS_OF_FEW if len(right) < _FEW else _DRAWS
    drawn = np.empty((n_draws, 2))
    for k in range(n_draws):
        if tried.max() > 1:
            again = generator.binomial(tried.astype(np.int64), expected).astype(np.float32)
        else:
            again = (generator.random(expected.shape, np.float32) < expected) * tried
        drawn[k] = _statistics(again, tried)[0]
        if k + 1 == _FIRST_DRAWS and (observed <= drawn[: k + 1].max(axis=0)).all():
            return None
    spread = np.maximum(drawn.std(axis=0, ddof=1), _LEAST_SDS) * (1 + 1 / n_draws) ** 0.5
    z = (observed - drawn.mean(axis=0)) / spread
    beyond = z[0] > BOUND or z[1] > BOUND_OF_SQUARES
    return (float(z[0]), float(z[1])) if beyond else None


def _cells(patterns: Patterns) -> tuple[Floats, Floats] | None:
    """Right responses and responses looked at; None if they are too few."""
    right, responses = patterns.margins.item_right[REAL], patterns.margins.item_responses[REAL]
    share = right / np.maximum(responses, 1)
    items = np.flatnonzero((share > _RARE) & (share < 1 - _RARE))
    order = -responses[items] if patterns.sparse else share[items]
    every = 1 if patterns.sparse else max(-(-len(items) // _MOST_ITEMS), 1)
    items = items[np.argsort(order, kind="stable")][every // 2 :: every][:_MOST_ITEMS]
    who: Places = np.flatnonzero(patterns.answering)
    most = _MOST_CELLS // max(len(items), 1)
    if len(who) > most:
        who = np.sort(np.random.default_rng(0).choice(who, most, replace=False))
    right, tried = patterns.dense(who, items, np.float32)
    kept = np.count_nonzero(tried, axis=1) >= _LEAST_RESPONSES
    asked = np.count_nonzero(tried[kept], axis=0) >= _LEAST_RESPONSES
    right, tried = right[kept][:, asked], tried[kept][:, asked]
    sums, counts = right.sum(axis=0), tried.sum(axis=0)
    varied = (sums > 0) & (sums < counts)
    if len(right) < _LEAST_RESPONDENTS or varied.sum() < _LEAST_ITEMS:
        return None
    return right[:, varied], tried[:, varied]


def _statistics(right: Floats, tried: Floats) -> tuple[NDArray[np.float64], Floats]:
    """The two statistics, and the proportions correct that the curves expect."""
    from scipy.linalg import eigh

    n, m = right.shape
    count = np.maximum(tried.sum(axis=0), 1)
    share = right.sum(axis=0) / count
    variance = np.maximum(share * (1 - share), _LEAST_SQUARE)
    deviation = right - tried * share
    score = deviation.sum(axis=1) / tried.sum(axis=1)
    score = (score - score.mean()) / max(float(score.std()), 1e-6)
    slope = score @ deviation / np.maximum(score**2 @ tried, 1e-6)
    information = tried @ (slope**2 / variance)
    score = deviation @ (slope / variance) / np.maximum(information, 1e-6)
    basis = _basis(score, float(np.median(np.count_nonzero(tried, axis=0))))
    expected = np.clip(basis @ _curves(right, tried, basis).T, 0, 1)
    residual = (right - tried * expected) / np.sqrt(np.maximum(tried, 1))
    observed = tried > 0
    for axis, size in ((0, n), (1, m), (0, n)):
        least = _LEAST_SQUARE * observed.sum(axis=axis, keepdims=True)
        squares = np.maximum((residual**2).sum(axis=axis, keepdims=True), least)
        residual *= np.sqrt(size / squares)
    residual -= basis @ (basis.T @ residual) / n
    along = slope / np.sqrt(variance)
    along /= max(float(np.linalg.norm(along)), 1e-6)
    residual -= np.outer(residual @ along, along)
    rows, columns = n - basis.shape[1], m - 1
    left = float((residual**2).sum())
    if left < 1e-6 * residual.size:  # the curves fit perfectly
        return np.zeros(2), expected
    residual *= np.sqrt(rows * columns / left)
    products = (residual @ residual.T if n < m else residual.T @ residual).astype(np.float64)
    last = len(products) - 1
    largest = float(eigh(products, eigvals_only=True, subset_by_index=[last, last])[0])
    one, other = (rows - 1) ** 0.5, columns**0.5
    edge, width = (one + other) ** 2, (one + other) * (1 / one + 1 / other) ** (1 / 3)
    excess = float((residual**4).mean() / (residual**2).mean() ** 2) - 3
    squares = float((products**2).sum()) - rows * columns * (rows + columns + 1 + excess)
    return np.array([(largest - edge) / width, squares / (2 * rows * columns)]), expected


def _basis(score: Floats, n_responses: float) -> Floats:
    """A line with kinks in the score, orthogonal, with a mean square of 1.

    Half of `_PER_KINK` responses lie beyond the outermost kinks. The others are at quantiles that
    would be evenly spaced in a normal score: at evenly spaced quantiles, easy items of thousands of
    respondents have too few kinks among those that get them wrong.
    """
    from scipy.special import ndtr, ndtri

    n = int(np.clip(n_responses // _PER_KINK, _LEAST_KINKS, _MOST_KINKS))
    last = float(ndtri(min(_PER_KINK / 2 / n_responses, 0.25)))
    kinks = np.unique(np.quantile(score, ndtr(np.linspace(last, -last, n))))
    bent = [np.maximum(score - kink, 0) for kink in kinks]
    columns = np.column_stack([np.ones_like(score), score, *bent]).astype(np.float64)
    return np.asarray(np.linalg.qr(columns)[0] * len(score) ** 0.5, dtype=np.float32)


def _curves(right: Floats, tried: Floats, basis: Floats) -> Floats:
    """Coefficients of every item, by least squares."""
    found = right.T @ basis
    if tried.min() == tried.max():  # the basis is orthogonal, with a mean square of 1
        return np.asarray(found / (tried[0, 0] * len(basis)))
    one, other = np.triu_indices(basis.shape[1])
    squares = np.empty((right.shape[1], basis.shape[1], basis.shape[1]), np.float32)
    squares[:, one, other] = squares[:, other, one] = tried.T @ (basis[:, one] * basis[:, other])
    squares += _RIDGE * np.eye(basis.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.solve(squares, found[:, :, None])[:, :, 0])
