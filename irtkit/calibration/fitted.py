"""Items, grid and posteriors at a maximum, as what comes after the ascent needs them.

Standard errors and learning from other items want the posterior of every respondent itself, once
or a few times; NumPy gives it without compiling anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from irtkit.calibration.likelihood import grid_of
from irtkit.irf import Items
from irtkit.patterns import REAL, SYNTHETIC, float_blocks
from irtkit.quadrature import Grid, Nodes
from irtkit.quadrature.engines import NumpyEngine
from irtkit.quadrature.formulas import (
    LEAST_LOG_WEIGHT,
    Inputs,
    RowArrays,
    answers_of,
    curves,
    log_joint,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.layout import Layout
    from irtkit.patterns import Patterns

    Array = NDArray[np.float64]

_CELLS_AT_ONCE = 2**20
_LEAST_LOGIT = -300.0
"""Logit of guessing from which on guessing is no number of its own; 0 stands for its absence."""


class Tables(NamedTuple):
    """Item curves at the nodes, each (n_items, n_nodes)."""

    s: Array
    """σ(aθ + d)."""
    p: Array
    """P(right)."""
    c: Array
    """Guessing, (n_items, 1)."""


class Part(NamedTuple):
    """Some respondents: right responses and responses by item, posterior by node, who is real."""

    right: Any
    """Shape (n, n_items), as `answered`; sparse if rows are."""
    answered: Any
    weights: Array
    """Shape (n, n_nodes), rows summing to 1."""
    real: NDArray[np.bool_]


def tables_of(items: Items, theta: Array) -> Tables:
    """Curves of items at abilities θ."""
    s = np.asarray(expit(np.multiply.outer(items.slope, theta) + items.intercept[:, None]))
    c = np.zeros((len(s), 1))
    if items.logit_guessing is not None:
        c = np.asarray(expit(np.maximum(items.logit_guessing, _LEAST_LOGIT)))[:, None]
    return Tables(s, c + (1 - c) * s, c)


class Fitted:
    """Responses, items and grid of a maximum."""

    def __init__(self, layout: Layout, rows: Patterns, nodes: Nodes, x: Array) -> None:
        self.layout = layout
        self.rows = rows
        self.x = x
        self.items = layout.items(x)
        self.theta = nodes.theta
        self.sds = {REAL: layout.latent_sd(x), SYNTHETIC: layout.synthetic_sd(x)}
        self.log_weights = grid_of(layout, nodes, x).log_weights
        self.with_guessing = self.items.logit_guessing is not None
        self.complete = rows.complete

    @property
    def size(self) -> int:
        """Parameters per item."""
        return 3 if self.with_guessing else 2

    @property
    def n_parameters(self) -> int:
        """Parameters of all items together."""
        return self.size * self.layout.n_items

    def parts_of_items(self) -> Iterator[slice]:
        """Slices of the items whose tables are of moderate size."""
        step = max(1, _CELLS_AT_ONCE // len(self.theta))
        for start in range(0, self.layout.n_items, step):
            yield slice(start, min(start + step, self.layout.n_items))

    def tables(self, some: slice = slice(None)) -> Tables:
        """Curves of some items."""
        slope, intercept, logit = self.items
        items = Items(slope[some], intercept[some], None if logit is None else logit[some])
        return tables_of(items, self.theta)

    def posteriors(self, dtype: Any = np.float64) -> Iterator[Part]:
        """Posteriors of all respondents, part by part; responses and weights of a ``dtype``."""
        rows, most = self.rows, _CELLS_AT_ONCE
        nodes = Nodes(self.theta, np.zeros_like(self.theta), self.theta, None)
        engine = NumpyEngine(rows)
        shared = curves(engine, engine.kind, self.items, nodes)
        arrays = RowArrays(rows.cells, rows.trials, rows.group)
        inputs = Inputs(arrays, rows.item_right, self.items, Grid(nodes, self.log_weights))
        for some, right, given in float_blocks(
            rows.cells, rows.trials, most, complete=self.complete, n_points=len(self.theta)
        ):
            answered = np.broadcast_to(1.0, right.shape) if given is None else given
            answers = answers_of(engine.kind, rows.group[some], right, given)
            joint = log_joint(np, answers, inputs, shared, np.float64)
            joint -= joint.max(axis=0)
            weights = np.exp(np.maximum(joint, LEAST_LOG_WEIGHT).astype(dtype, copy=False))
            weights /= weights.sum(axis=0)
            of_dtype = right.astype(dtype, copy=False)
            yield Part(of_dtype, answered, weights.T, rows.real[some])
