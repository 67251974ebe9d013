"""What a model leaves unexplained of scores, measured on respondents whose answers are all known.

The share right of all items is told from some answers by p-IRT (Polo et al. 2024): the answers seen
and the probability of the others, over the posterior of ability. Under the model the variance of
its error is that of ability and of each answer not seen. Where answers depend on each other beyond
one ability, errors are larger. What is added is a variance, mean(e² − v) of the errors e of
respondents and of their variances v under the model: a factor would explode where v is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.scoring.expected_score import number_right
from irtkit.scoring.posterior import ItemCurves, log_likelihood, nodes_for, posterior_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.calibration import FitResult
    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array, ItemParameters
    from irtkit.scoring.expected_score import Known

_MOST = 512
"""Respondents that misfit is measured on, drawn at random of more: its standard deviation is told
to about 1/√(2 · 512), 3 %."""
_FEWEST = 8
"""Respondents below which misfit is not measured: its standard deviation would be told to no better
than 1/√(2 · 8), 25 %."""
_MOST_SETS = 16
"""Sets of items asked that misfit is told of one by one: each costs a score of all respondents."""


class Cells(NamedTuple):
    """Answers of some respondents, each (n, n_items)."""

    right: Array
    """Share right of the trials of every cell, 0 where missing."""
    tried: Array
    """Trials of every cell, 0 where missing."""

    @classmethod
    def of(cls, patterns: Patterns, rows: Places, columns: Places) -> Cells:
        """Return answers of some respondents to some items, in 32 bits."""
        if patterns.sparse:
            parts = (
                table[rows][:, columns].toarray() for table in (patterns.cells, patterns.trials)
            )
            right, tried = (part.astype(np.float32) for part in parts)
            return cls(right / np.maximum(tried, 1), tried)
        cells = patterns.cells[np.ix_(rows, columns)]
        if patterns.trials is None:
            tried = (cells >= 0).astype(np.float32)
            return cls((cells > 0).astype(np.float32), tried)
        tried = patterns.trials[np.ix_(rows, columns)].astype(np.float32)
        return cls(cells.astype(np.float32) / np.maximum(tried, 1), tried)

    @property
    def answered(self) -> Array:
        """1 where there is an answer, else 0."""
        return (self.tried > 0).astype(np.float32)

    @property
    def score(self) -> Array:
        """Share right of the items that each answered, (n,)."""
        return np.asarray(self.right.sum(axis=1) / np.maximum(self.answered.sum(axis=1), 1))

    def chosen(self, rows: Any) -> Cells:
        """Return the answers of some respondents."""
        return Cells(self.right[rows], self.tried[rows])


class Expected(NamedTuple):
    """Scores told from some answers, each (n,)."""

    score: Array
    variance: Array
    """Under the model."""


def expected_scores(items: ItemParameters, cells: Cells, places: Places) -> Expected:
    """Scores on the items that each answered, told from the answers to those at some places.

    ``items`` are measured in SDs of ability in the population.
    """
    asked = items.chosen(places)
    nodes = nodes_for(asked)
    seen = Cells(*(part[:, places] for part in cells))
    curves = ItemCurves(asked, nodes.theta)
    likelihood = log_likelihood(curves, seen.right * seen.tried, seen.tried)
    n_items = np.maximum(cells.answered.sum(axis=1), 1)
    rest, trials = cells.answered, np.maximum(cells.tried, 1)
    rest[:, places] = 0
    if (rest == rest[0]).all() and (trials == trials[0]).all():
        rest, trials = rest[:1], trials[:1]
    p = items.probability(nodes.theta).T
    found = number_right(posterior_of(likelihood, nodes), rest @ p, (rest / trials) @ (p * (1 - p)))
    return Expected((seen.right.sum(axis=1) + found.mean) / n_items, found.variance / n_items**2)


def added_variance(error: Array, variance: Array) -> float:
    """Variance of errors that the model does not explain, mean(e² − v), at least 0."""
    return max(0.0, float(np.mean(error**2 - variance)))


def misfit_of(result: FitResult) -> Callable[[Places], float] | None:
    """Return what tells the misfit of scores from the items asked; None if nothing can be told.

    It is measured on the respondents the items were calibrated on, whose errors are too small by
    that: as residuals of a regression with two parameters an item, by 1 − 2/n, n being how many
    independent respondents there are. That the *choice* of items was made on these respondents is
    not in it.
    """
    responses, dependence = result.responses, result.dependence
    if responses is None or dependence is None:
        return None
    patterns = result.patterns
    rows = np.flatnonzero(patterns.real & (patterns.margins.respondent_responses > 0))
    if len(rows) < _FEWEST or dependence.independent < _FEWEST:
        return None
    if len(rows) > _MOST:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST, replace=False))
    unit = result.parameters.standardised(result.latent_sd, result.latent_mean)
    known = np.flatnonzero(unit.known)
    items, shrunk = unit.chosen(known), 1 - 2 / dependence.independent

    def misfit(places: Places) -> float:
        cells = Cells.of(patterns, rows, known)
        found = expected_scores(items, cells, np.searchsorted(known, places))
        return added_variance((found.score - cells.score) / shrunk, found.variance)

    return misfit


def misfit_of_each(
    patterns: Patterns, places: Places, misfit: Callable[[Places], float] | None, known: Known
) -> Array:
    """Variance of every score that the model does not explain, (n,), from that of sets of items.

    ``places`` are those of the columns of the patterns among all items. Of respondents who answered
    more than a few different sets of items, it is interpolated between sets by how many items they
    have.
    """
    open_ = (known.n_asked > 0) & (known.n_asked < known.n_items)
    if misfit is None or not open_.any():
        return np.zeros(patterns.n)
    if (known.n_asked == len(places)).all():
        return np.full(patterns.n, misfit(places))
    first, which = _sets(patterns)
    some = first[open_[first]]
    few = len(some) <= _MOST_SETS
    if not few:
        # those of one size by how many got their items right, not in the order of respondents
        right, responses = (sums.sum(axis=0) for sums in patterns.margins[:2])
        ease = patterns.response_scores(right / np.maximum(responses, 1))[some]
        by_size = some[np.lexsort([np.round(ease, 9), known.n_asked[some]])]
        some = by_size[np.linspace(0, len(by_size) - 1, _MOST_SETS).round().astype(int)]
    of_some = np.array([misfit(places[_answered_by(patterns, row)]) for row in some])
    if few:
        of_sets = np.zeros(len(first))
        of_sets[which[some]] = of_some
        return np.asarray(of_sets[which])
    sizes, of = np.unique(known.n_asked[some], return_inverse=True)
    found = np.interp(known.n_asked, sizes, np.bincount(of, of_some) / np.bincount(of))
    return np.where(open_, found, 0.0)


def _answered_by(patterns: Patterns, row: int) -> Places:
    """Columns that a respondent answered."""
    if patterns.sparse:
        start, stop = patterns.trials.indptr[row : row + 2]
        return np.sort(patterns.trials.indices[start:stop])
    asked = patterns.cells[row] >= 0 if patterns.trials is None else patterns.trials[row] > 0
    return np.flatnonzero(asked)


def _sets(patterns: Patterns) -> tuple[Places, Places]:
    """First respondent who answered each set of items, and the set of every respondent."""
    if patterns.sparse:
        number: dict[bytes, int] = {}
        keys = np.array(
            [
                number.setdefault(_answered_by(patterns, row).tobytes(), row)
                for row in range(patterns.n)
            ]
        )
    else:
        asked = patterns.cells >= 0 if patterns.trials is None else patterns.trials > 0
        packed = np.packbits(asked, axis=1)
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which
