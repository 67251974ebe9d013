"""Items of which an adaptive test asks some, and what tests of held-out respondents say of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.scoring.scores import added_variance, expected_scores
from irtkit.selection.sequential import State

if TYPE_CHECKING:
    from irtkit.data.patterns import Places
    from irtkit.irf import Array, ItemParameters
    from irtkit.scoring.scores import Cells
    from irtkit.selection.subset import Selection

_MOST = 240
"""Respondents on whom adaptive tests are tried by cross-validation, drawn at random of more: their
error is told to 5 %, and 100 items of 200 are asked of them in some seconds."""
_LEAST = 1e-12
"""Least probability of an answer: no answer makes all abilities impossible."""


class Tried(NamedTuple):
    """What became of tests of held-out respondents."""

    misfit: Array
    """Variance of the score that the model does not explain, after 0, 1, … items, (k + 1,)."""
    error: float
    """Root mean square error of scores after k items."""
    fixed_error: float
    """The same of the first k items of the ranking, for the same respondents."""


class Pool:
    """Items that may be asked, and what cross-validation says of tests with them."""

    def __init__(self, selection: Selection) -> None:
        self.selection, self.k = selection, len(selection.items)
        covariance, labels = selection.covariance, selection.result.item_labels
        self.n_items = len(covariance.known)
        self.places = covariance.ranking(2 * self.k)
        self.labels = [labels[place] for place in covariance.known[self.places]]
        self.p, self._start = _at_nodes(covariance.items, self.places)

    def begun(self) -> State:
        """What is known of a respondent before the first item."""
        return _begun(self._start, 1, np.ones((1, len(self.places)), dtype=np.bool_))

    def misfit(self, order: str) -> Array:
        """Variance of the score that the model does not explain, after 0, 1, …, k items."""
        if order == "adaptive":
            return self.tried.misfit
        table = self.selection.table
        return np.asarray(np.interp(np.arange(self.k + 1), table.index, table["misfit"] ** 2))

    @cached_property
    def tried(self) -> Tried:
        """Tests of held-out respondents, some of them."""
        selection = self.selection
        folds = selection.held
        n = sum(len(fold.rows) for fold in folds)
        share = min(1.0, _MOST / n)
        generator = np.random.default_rng(selection.seed)
        errors, variances, fixed = [], [], []
        for fold in folds:
            enough = selection.cells.answered[fold.rows][:, fold.ranking].sum(axis=1) >= self.k
            size = max(1, round(share * len(fold.rows)))
            cells = selection.cells.chosen(generator.permutation(fold.rows[enough])[:size])
            if not len(cells.right):
                continue
            path, variance = _simulated(fold.items, cells, fold.ranking, self.k)
            errors.append(path - cells.score)
            variances.append(variance)
            of_first, _ = expected_scores(fold.items, cells, fold.ranking[: self.k])
            fixed.append(of_first - cells.score)
        if not errors:
            raise ValueError(
                f"no respondent of the fit answered {self.k} of the {len(self.places)} items that "
                "may be asked, so that nothing tells how tests err; take a smaller k"
            )
        error, variance = np.concatenate(errors, axis=1), np.concatenate(variances, axis=1)
        misfit = [added_variance(e, v) for e, v in zip(error, variance, strict=True)]
        rms = (float(np.sqrt(np.mean(e**2))) for e in (error[-1], np.concatenate(fixed)))
        return Tried(np.array(misfit), *rms)


def _at_nodes(items: ItemParameters, pool: Places) -> tuple[Array, Array]:
    """P(right) of the pool at the nodes; and their weight, and Σ P and Σ P(1 − P) of all items."""
    from irtkit.scoring.abilities import nodes_for

    nodes = nodes_for(items.chosen(pool))
    p = items.probability(nodes.theta)
    weight = np.exp(nodes.normal_log_weights(1.0))
    start = np.stack([weight, p.sum(axis=1), (p * (1 - p)).sum(axis=1)])
    return np.clip(p[:, pool], _LEAST, 1 - _LEAST), start


def _begun(start: Array, n: int, left: Any) -> State:
    weight, by_node, noise = (np.repeat(part[None], n, axis=0) for part in start)
    return State(weight, by_node, noise, np.zeros(n), left)


def _simulated(items: ItemParameters, cells: Cells, pool: Places, k: int) -> tuple[Array, Array]:
    """Scores and their variances after 0, 1, …, k items, (k + 1, n), of tests of respondents.

    Scores are of the items that each answered, and only these are asked: k or more of the pool.
    """
    from irtkit.scoring.abilities import nodes_for

    p, start = _at_nodes(items, pool)
    answered = cells.answered
    n, n_items = len(answered), answered.sum(axis=1)
    state = _begun(start, n, answered[:, pool] > 0)
    if (answered == 0).any():
        nodes = nodes_for(items.chosen(pool))
        of_all = items.probability(nodes.theta).T
        rest = answered @ of_all, answered @ (of_all * (1 - of_all))
        state = state._replace(by_node=rest[0], noise=rest[1])
    right, everyone = cells.right[:, pool].astype(np.float64), np.arange(n)
    path = [(state.expected, state.variance)]
    for _ in range(k):
        asked = state.next_items(p)
        state = state.after(asked, right[everyone, asked], p)
        path.append((state.expected, state.variance))
    scores, variances = np.array(path).transpose(1, 0, 2)
    return scores / n_items, variances / n_items**2
