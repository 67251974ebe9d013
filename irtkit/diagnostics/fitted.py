"""What statistics of fit are made of: responses, and fitted abilities and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.patterns import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ItemParameters

_HALF_WIDTH = 8.0  # Beyond it lies 1e-15 of N(0, 1).
_POINTS = 2**11  # Of several abilities: expected shares by score are within 0.003.


class Fitted(NamedTuple):
    """A fit seen from its responses: real respondents, and the items that they answered."""

    cells: NDArray[np.int8]  # (n_respondents, n_items): 1, 0, or −1 where missing.
    ability: Array  # Posterior means in SDs of the population, (n_respondents,) or (…, K).
    items: ItemParameters  # With ability in SDs of the population.
    correlation: Array  # Of abilities in the population, (K, K).
    places: NDArray[np.intp]  # Which items of the result these are.
    respondents: NDArray[np.intp]  # Which respondents of the result these are.
    fixed_grid: tuple[int, float] | None

    def of_items(self, which: NDArray[np.intp]) -> Fitted:
        """Return some of the items, abilities as they are."""
        cells = self.cells[:, which]
        items = self.items.chosen(which)
        return self._replace(cells=cells, items=items, places=self.places[which])

    @property
    def slopes(self) -> Array:
        """Slope of every ability, (n_items, K)."""
        return self.items.discrimination.reshape(self.items.n_items, -1)

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which respondents answered every item, (n_respondents,)."""
        return np.asarray((self.cells >= 0).all(axis=1))

    @property
    def mostly_incomplete(self) -> bool:
        """Whether fewer than half of the respondents answered every item."""
        return bool(2 * self.complete.sum() < len(self.cells))

    def grid(self) -> tuple[Array, Array]:
        """Nodes of the fit, or adaptive ones, and the weights of N(0, 1) there.

        Of several abilities they are quasi-random points of their distribution.
        """
        from irtkit.quadrature import NodeDensity, fixed_nodes

        if len(self.correlation) > 1:
            return normal_points(self.correlation), np.full(_POINTS, 1 / _POINTS)
        if self.fixed_grid is not None:
            nodes = fixed_nodes(*self.fixed_grid)
        else:
            density = NodeDensity.of(self.items.items, _HALF_WIDTH)
            nodes = density.nodes(interpolates=False)
        used = np.isfinite(nodes.log_width)
        return nodes.theta[used], np.exp(nodes.normal_log_weights(1.0)[used])

    def parts(self) -> Iterator[tuple[slice, NDArray[np.int8], Array]]:
        """Go over respondents: their cells, and P(right) at their abilities."""
        for rows in blocks(*self.cells.shape):
            yield rows, self.cells[rows], self.items.probability(self.ability[rows])


def normal_points(covariance: Array) -> Array:
    """Quasi-random points of a normal distribution with mean 0, (n_points, K)."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    n_abilities = len(covariance)
    uniform = Sobol(n_abilities, rng=0).random(_POINTS)
    root = np.linalg.cholesky(covariance)
    return ndtri(uniform) @ root.T


def rise_by_logit(items: ItemParameters, p: Array) -> Array:
    """Derivative of P(right) by the logit of an item, where it is P."""
    c = items.guessing
    by_ability = np.maximum(p - c, 0.0) / (1 - c)
    return by_ability * (1 - p)


def fitted(result: FitResult) -> Fitted:
    """Return the parts of a result with single responses."""
    places = np.flatnonzero(result.parameters.known & (result.counts.item_responses > 0))
    real = np.flatnonzero(result.answering)
    cells = result.saved_responses.values
    if len(real) < len(cells) or len(places) < cells.shape[1]:
        cells = cells[np.ix_(real, places)]
    grid = result.settings.quadrature
    items = result.parameters.chosen(places)
    return Fitted(
        cells=cells,
        ability=(result.ability[real] - result.latent_mean) / result.latent_sd,
        items=items.standardised(result.latent_sd, result.latent_mean),
        correlation=result.ability_correlation,
        places=places,
        respondents=real,
        fixed_grid=None if isinstance(grid, str) else (int(grid[0]), float(grid[1])),
    )
