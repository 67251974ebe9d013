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

from irtkit.irf import LEAST_LOGIT, Items

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ItemParameters
    from irtkit.patterns import Patterns, Places
    from irtkit.quadrature import Nodes

HALF_WIDTH = 8.0
"""Abilities integrated over, in SDs of the population: beyond it lies 1e-15 of them."""
_MOST = 512
"""Respondents that misfit is measured on, drawn at random of more: its standard deviation is told
to about 1/√(2 · 512), 3 %."""
_FEWEST = 8
"""Respondents below which misfit is not measured."""


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


def nodes_for(items: ItemParameters) -> Nodes:
    """Abilities close enough together for posteriors after all of some items, N(0, 1) before."""
    from irtkit.quadrature.nodes import NodeDensity

    with np.errstate(divide="ignore"):
        logits = np.log(items.guessing) - np.log1p(-items.guessing)
    known = Items(items.discrimination, items.intercept, np.maximum(logits, LEAST_LOGIT))
    return NodeDensity.of(known, HALF_WIDTH).nodes(interpolates=False)


def posteriors(items: ItemParameters, cells: Cells, nodes: Nodes) -> Array:
    """Posterior of ability after the answers to all of some items, (n, n_nodes)."""
    from irtkit.scoring.abilities import Curves

    curves = Curves(items, nodes.theta)
    odds = curves.log_odds
    if odds is None:
        odds = items.discrimination[:, None] * nodes.theta + items.intercept[:, None]
    log = (cells.right * cells.tried) @ odds + cells.tried @ curves.log_wrong
    log += nodes.normal_log_weights(1.0)
    found = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def expected_scores(items: ItemParameters, cells: Cells, asked: Places) -> Expected:
    """Scores on the items that each answered, told from the answers to those asked.

    ``items`` are measured in SDs of ability in the population.
    """
    of_asked = items.chosen(asked)
    nodes = nodes_for(of_asked)
    seen = Cells(*(part[:, asked] for part in cells))
    posterior = posteriors(of_asked, seen, nodes)
    n_items = np.maximum(cells.answered.sum(axis=1), 1)
    rest, trials = cells.answered, np.maximum(cells.tried, 1)
    rest[:, asked] = 0
    if (rest == rest[0]).all() and (trials == trials[0]).all():
        rest, trials = rest[:1], trials[:1]
    p = items.probability(nodes.theta).T
    by_node, noise = rest @ p, (rest / trials) @ (p * (1 - p))
    mean = (posterior * by_node).sum(axis=1)
    variance = (posterior * ((by_node - mean[:, None]) ** 2 + noise)).sum(axis=1)
    return Expected((seen.right.sum(axis=1) + mean) / n_items, variance / n_items**2)


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
    known = np.flatnonzero(np.isfinite(unit.discrimination + unit.intercept + unit.guessing))
    items, shrunk = unit.chosen(known), 1 - 2 / dependence.independent

    def misfit(asked: Places) -> float:
        cells = Cells.of(patterns, rows, known)
        found = expected_scores(items, cells, np.searchsorted(known, asked))
        return added_variance((found.score - cells.score) / shrunk, found.variance)

    return misfit
