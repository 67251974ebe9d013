"""The posterior of ability of every respondent as weights at the nodes, some respondents at a time.

What comes after the maximum, standard errors and learning from other items, wants the posteriors
themselves, once or a few times; NumPy gives them without compiling anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.irf import Items
from irtkit.patterns import float_blocks
from irtkit.quadrature.engines import NumpyEngine
from irtkit.quadrature.formulas import (
    Curves,
    Grid,
    Inputs,
    RowArrays,
    answers_of,
    curves,
    log_joint,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.patterns import Patterns

_NUMBERS_AT_ONCE = 2**17
"""Cells, and posterior weights, of the respondents taken together: a few such tables fit the
second-level cache of 2 MiB."""
_LEAST_LOG_WEIGHT = -40.0
"""Log weight, relative to the largest, that is taken for 0: e⁻⁴⁰ is below the rounding of either
type of number, and products of two weights stay numbers that 32 bits hold at full speed."""


class Part(NamedTuple):
    """Some respondents and their posteriors."""

    respondents: slice
    right: Any
    """Right responses, (n, n_items); sparse if the cells are."""
    answered: Any
    """Responses, as `right`; None with complete data."""
    weights: NDArray[np.floating[Any]]
    """Shape (n_nodes, n), columns summing to 1."""


def posterior_weights(
    patterns: Patterns, items: Items, grid: Grid, dtype: Any = np.float64
) -> Iterator[Part]:
    """Posteriors of all respondents, and their responses, as numbers of a type.

    In 32 bits the log weight of a node is off by some 1e-7 of the log-likelihood of a respondent,
    at random: with a few hundred items by 1e-5.
    """
    engine, nodes = NumpyEngine(patterns), grid.nodes
    narrow = Items(np.asarray(items.slope, dtype=dtype), items.intercept, items.logit_guessing)
    at = Grid(nodes._replace(theta=nodes.theta.astype(dtype)), grid.log_weights.astype(dtype))
    cells, trials, complete = patterns.cells, patterns.trials, patterns.complete
    inputs = Inputs(RowArrays(cells, trials, patterns.group), patterns.item_right, narrow, at)
    shared = curves(engine, engine.kind, items, nodes)
    shared = Curves(*(None if part is None else part.astype(dtype) for part in shared))
    least = np.asarray(2 * np.exp(_LEAST_LOG_WEIGHT), dtype=dtype)
    for some, right, answered in float_blocks(
        cells, trials, _NUMBERS_AT_ONCE, complete=complete, n_points=len(nodes.theta), dtype=dtype
    ):
        answers = answers_of(engine.kind, patterns.group[some], right, answered)
        weights = log_joint(np, answers, inputs, shared, dtype)
        weights -= weights.max(axis=0)
        np.exp(np.maximum(weights, _LEAST_LOG_WEIGHT, out=weights), out=weights)
        np.multiply(weights, weights > least, out=weights)
        weights /= weights.sum(axis=0)
        yield Part(some, right, answered, weights)
