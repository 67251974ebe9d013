"""Ability integrated out: the grid, the marginal likelihood, and the posterior of ability."""

from irtkit.quadrature.engines import Grid, Posteriors, Sums, engine_of
from irtkit.quadrature.nodes import HALF_WIDTH, NodeDensity, Nodes, fixed_nodes

__all__ = [
    "HALF_WIDTH",
    "Grid",
    "NodeDensity",
    "Nodes",
    "Posteriors",
    "Sums",
    "engine_of",
    "fixed_nodes",
]
