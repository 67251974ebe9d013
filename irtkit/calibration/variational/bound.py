"""The evidence lower bound: what one evaluation of it takes, and what it gives.

ELBO(q) = E_q[log p(y | items) + log p(items)] + H[q], the abilities integrated out of p(y | items)
by quadrature, exactly. It is therefore no lower than with a guide that has the same items and
abilities independent of them. Expectations of the likelihood are means over the guide's points;
those of the prior, but for that of intercepts, are one-dimensional integrals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.information import System, expected_of, system_of
from irtkit.calibration.layout import Layout
from irtkit.calibration.likelihood import MarginalLikelihood, grid_of
from irtkit.calibration.variational.coordinates import Point
from irtkit.irf import Items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.variational.coordinates import Coordinates
    from irtkit.calibration.variational.guide import Guide
    from irtkit.calibration.variational.inference import StepLikelihood
    from irtkit.calibration.variational.target import Target
    from irtkit.quadrature import Engine, Grid, Nodes, Posteriors

    Array = NDArray[np.float64]


class Likelihood:
    """Marginal likelihood of some respondents, as a share of all ``n`` of them.

    ``exact`` computes all of it in 64 bits.
    """

    def __init__(
        self, coordinates: Coordinates, engine: Engine, nodes: Nodes, n: int, *, exact: bool
    ) -> None:
        self._nodes = nodes
        self._engine = engine
        self._factor = n / engine.rows.n
        # every item its own slope: a common one is a matter of coordinates
        self._layout = Layout(
            "3PL" if coordinates.model == "3PL" else "2PL", coordinates.n_items, None
        )
        self._marginal = MarginalLikelihood(self._layout, engine, nodes, exact=exact)

    def evaluate(self, parameters: Array) -> tuple[float, Array]:
        """Log-likelihood and its gradient by slope, intercept (and logit of guessing)."""
        x = self._layout.vector(Items(*parameters.T))
        found = self._marginal.evaluate(x)
        by_slope, by_intercept, by_angle, _ = self._layout.split(found.gradient)
        columns, stretch = [by_slope, by_intercept], self._layout.logit_by_angle(x)
        if by_angle is not None and stretch is not None:
            columns.append(by_angle / stretch)
        return self._factor * found.value, self._factor * np.stack(columns, axis=1)

    def systems(self, parameters: Array, points: list[Array]) -> list[System]:
        """Information about items at some points, and about shifts that all abilities share.

        The posteriors of ability are those at ``parameters``.
        """
        expected = expected_of(self._engine.rows, Items(*parameters.T), self._grid(parameters))
        found = (system_of(Items(*p.T), expected, (1.0, synthetic_sd_of(p))) for p in points)
        return [System(*(self._factor * part for part in system)) for system in found]

    def _grid(self, parameters: Array) -> Grid:
        return grid_of(self._layout, self._nodes, self._layout.vector(Items(*parameters.T)))

    def posteriors(self, parameters: Array) -> Posteriors:
        """Posterior of every respondent."""
        with np.errstate(under="ignore", divide="ignore"):
            return self._engine.posteriors(Items(*parameters.T), self._grid(parameters))


def synthetic_sd_of(parameters: Array) -> float:
    """SD of ability among synthetic respondents."""
    layout = Layout("2PL", len(parameters), None)
    return layout.synthetic_sd(layout.vector(Items(*parameters[:, :2].T)))


class Evaluated(NamedTuple):
    """The bound at a guide, estimated from its points."""

    elbo: float
    log_likelihood: float
    """Expected log-likelihood of all responses."""
    gradient: Point
    """By the means of the guide."""
    by_slope: Array
    """Expected gradient of the likelihood, and of the prior of the location, by slopes."""
    by_prior: Array
    """Minus the expected second derivative of the prior by own coordinates."""


def evaluate(
    target: Target, guide: Guide, likelihood: StepLikelihood, generator: np.random.Generator
) -> Evaluated:
    """Evaluate the bound and its gradient at points of the guide drawn from a generator."""
    coordinates = target.coordinates
    own, shared = np.zeros_like(guide.own), np.zeros_like(guide.shared)
    by_slope = np.zeros(len(own))
    log_likelihood = elbo = 0.0
    n_points = 2 * guide.n_directions
    for deviates in guide.deviates(generator):
        point = guide.at(*deviates)
        parameters = coordinates.parameters(point)
        value, gradient = likelihood.evaluate(parameters)
        by_own, by_shared = coordinates.jacobian(point)
        prior, by_prior = target.location_prior(point)
        own += np.einsum("jpk,jp->jk", by_own, gradient) + by_prior.own
        shared += np.einsum("jpn,jp->n", by_shared, gradient) + by_prior.shared
        by_slope += gradient[:, 0]
        log_likelihood += value / n_points
        elbo += (value + prior) / n_points
    expected = target.expected_prior(guide.own, guide.sds())
    return Evaluated(
        elbo + expected.value + guide.entropy(),
        log_likelihood,
        Point(own / n_points + expected.gradient, shared / n_points),
        by_slope / n_points,
        expected.curvature,
    )
