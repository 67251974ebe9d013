"""The posterior of ability of every respondent as weights at the nodes, some respondents at a time.

What comes after the maximum, standard errors and learning from other items, wants the posteriors
themselves, once or a few times; NumPy gives them without compiling anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.patterns import float_blocks
from irtkit.quadrature.engines import NumpyEngine
from irtkit.quadrature.formulas import Answers, Curves, Grid, curves, log_joint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.irf import Items
    from irtkit.patterns import Patterns

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
    counted: NDArray[np.floating[Any]]
    """The same times how many respondents share each pattern."""


def posterior_weights(
    patterns: Patterns, items: Items, grid: Grid, dtype: Any = np.float64
) -> Iterator[Part]:
    """Posteriors of all respondents, and their responses, as numbers of a type.

    In 32 bits the log weight of a node is off by some 1e-7 of the log-likelihood of a respondent,
    at random: with a few hundred items by 1e-5.
    """
    engine = NumpyEngine(patterns)
    inputs = engine.inputs(items, grid)
    shared = curves(engine, engine.traits, inputs)
    shared = Curves(*(None if part is None else part.astype(dtype) for part in shared))
    theta = grid.nodes.theta.astype(dtype)
    nodes = Grid(grid.nodes._replace(theta=theta), grid.log_weights.astype(dtype))
    inputs = inputs._replace(grid=nodes)
    scores = None
    if items.logit_guessing is None:
        scores = patterns.scores(patterns.copies(items.slope)).astype(dtype)
    least = np.asarray(2 * np.exp(_LEAST_LOG_WEIGHT), dtype=dtype)
    for some, right, answered in float_blocks(patterns, n_points=len(theta), dtype=dtype):
        group = patterns.group[some] if patterns.has_synthetic else None
        frequency = None if patterns.frequency is None else patterns.frequency[some].astype(dtype)
        score = None if scores is None else scores[some]
        extra = answered if answered is None or patterns.sparse else answered - dtype(1)
        weights = log_joint(np, inputs, shared, Answers(group, frequency, score, right, extra))
        weights -= weights.max(axis=0)
        np.exp(np.maximum(weights, _LEAST_LOG_WEIGHT, out=weights), out=weights)
        np.multiply(weights, weights > least, out=weights)
        weights /= weights.sum(axis=0)
        counted = weights if frequency is None else weights * frequency
        yield Part(some, right, answered, weights, counted)
