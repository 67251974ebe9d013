"""Ability integrated out: the grid, the marginal likelihood, and the posterior of ability."""

from irtkit.quadrature.engines import Engine, engine_of
from irtkit.quadrature.formulas import Grid, Posteriors, Sums
from irtkit.quadrature.grid import ItemArrays, Nodes, Resolution, fixed_nodes
from irtkit.quadrature.rows import REAL, SYNTHETIC, Rows, rows_of

__all__ = [
    "REAL",
    "SYNTHETIC",
    "Engine",
    "Grid",
    "ItemArrays",
    "Nodes",
    "Posteriors",
    "Resolution",
    "Rows",
    "Sums",
    "engine_of",
    "fixed_nodes",
    "rows_of",
]
