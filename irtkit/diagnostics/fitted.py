"""What statistics of fit are made of: real responses, fitted abilities and items, and a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration import FitResult
from irtkit.checks import check_type
from irtkit.data.patterns import blocks
from irtkit.irf import LEAST_LOGIT, Items
from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.irf import Array, ItemParameters

_HALF_WIDTH = 8.0  # beyond it lies 1e-15 of N(0, 1)


class Fitted(NamedTuple):
    """A fit seen from its responses: real respondents, and the items that they were asked."""

    cells: NDArray[np.int8]
    """Shape (n_respondents, n_items): 1, 0, or −1 where missing."""
    ability: Array
    """Posterior means in SDs of the population, (n_respondents,)."""
    items: ItemParameters
    """Parameters with ability in SDs of the population."""
    places: NDArray[np.intp]
    """Which items of the result these are."""
    respondents: NDArray[np.intp]
    """Which respondents of the result these are."""
    fixed_grid: tuple[int, float] | None

    def of_items(self, which: NDArray[np.intp]) -> Fitted:
        """Return some of the items, abilities as they are."""
        if len(which) == self.items.n_items:
            return self
        cells, items = self.cells[:, which], self.items.chosen(which)
        return self._replace(cells=cells, items=items, places=self.places[which])

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which respondents answered every item, (n_respondents,)."""
        return np.asarray((self.cells >= 0).all(axis=1))

    @property
    def mostly_incomplete(self) -> bool:
        """Whether fewer than half of the respondents answered every item."""
        return bool(2 * self.complete.sum() < len(self.cells))

    def grid(self, refined: int = 1) -> tuple[Array, Array]:
        """Nodes, and the weights of N(0, 1) there: those of the fit, or adaptive ones."""
        from irtkit.quadrature import NodeDensity, fixed_nodes

        if self.fixed_grid is not None:
            nodes = fixed_nodes(*self.fixed_grid)
        else:
            density = NodeDensity.of(items_of(self.items), _HALF_WIDTH)
            nodes = density.nodes(refined, interpolates=False)
        used = np.isfinite(nodes.log_width)
        return nodes.theta[used], np.exp(nodes.normal_log_weights(1.0)[used])

    def parts(self) -> Iterator[tuple[slice, NDArray[np.int8], Array]]:
        """Go over respondents: their cells, and P(right) at their abilities."""
        for some in blocks(*self.cells.shape):
            yield some, self.cells[some], self.items.probability(self.ability[some])


def items_of(parameters: ItemParameters) -> Items:
    """Items as the quadrature takes them."""
    c = parameters.guessing
    logits = None
    if c.any():
        with np.errstate(divide="ignore"):
            logits = np.maximum(np.log(c) - np.log1p(-c), LEAST_LOGIT)
    return Items(parameters.discrimination, parameters.intercept, logits)


def fitted(result: FitResult, needed_by: str) -> Fitted:
    """Return the parts of a result, or refuse one that statistics of fit are not for.

    Raises
    ------
    TypeError
        If it is no FitResult.
    ValueError
        If its responses were not saved, are sparse, or hold repeated trials.
    """
    check_type("result", result, FitResult)
    responses = result.responses
    if responses is None:
        raise ValueError(f"{needed_by} needs the responses, which were not saved with this result")
    refuse_sparse(responses, needed_by)
    if responses.has_repeats:
        raise ValueError(
            f"{needed_by} is for one response a cell, and the responses hold repeated trials; fit "
            "one run of each (repeats='first')"
        )
    places = np.flatnonzero(result.parameters.known & (result.counts.item_responses > 0))
    real = np.flatnonzero(result.answering)
    cells = responses.values
    if len(real) < len(cells) or len(places) < cells.shape[1]:
        cells = cells[np.ix_(real, places)]
    grid = result.settings.quadrature
    return Fitted(
        cells=cells,
        ability=(result.ability[real] - result.latent_mean) / result.latent_sd,
        items=result.parameters.chosen(places).standardised(result.latent_sd, result.latent_mean),
        places=places,
        respondents=real,
        fixed_grid=None if isinstance(grid, str) else (int(grid[0]), float(grid[1])),
    )
