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
from irtkit.calibration.likelihood import MarginalLikelihood, synthetic_sd
from irtkit.calibration.variational.coordinates import Point
from irtkit.irf import Items

if TYPE_CHECKING:
    from irtkit.calibration.variational.guide import Guide
    from irtkit.calibration.variational.target import Target
    from irtkit.irf import Array
    from irtkit.quadrature import Engine, Nodes, Posteriors


class Likelihood:
    """Marginal likelihood of some respondents, as a share of all ``n`` of them.

    ``exact`` computes all of it in 64 bits.
    """

    def __init__(self, engine: Engine, nodes: Nodes, n: int, *, exact: bool) -> None:
        self._marginal = MarginalLikelihood(engine, nodes, exact=exact)
        self._factor = n / engine.patterns.n

    def evaluate(self, parameters: Array) -> tuple[float, Array]:
        """Log-likelihood and its gradient by slope, intercept (and logit of guessing)."""
        found = self._marginal.terms(Items(*parameters.T))
        return self._factor * found.value, self._factor * found.gradient

    def systems(self, parameters: Array, points: list[Array]) -> list[System]:
        """Information about items at some points, and about shifts that all abilities share.

        The posteriors of ability are those at ``parameters``.
        """
        marginal, items = self._marginal, Items(*parameters.T)
        expected = expected_of(marginal.engine.patterns, items, marginal.grid(items))
        found = (system_of(Items(*p.T), expected, (1.0, synthetic_sd(Items(*p.T)))) for p in points)
        return [System(*(self._factor * part for part in system)) for system in found]

    def posteriors(self, parameters: Array) -> Posteriors:
        """Posterior of every respondent."""
        return self._marginal.posteriors(Items(*parameters.T))


class Evaluated(NamedTuple):
    """The bound at a guide, estimated from its points."""

    elbo: float
    log_likelihood: float
    """Expected log-likelihood of all responses."""
    gradient: Point
    """By the means of the guide."""
    by_slope: Array
    """Expected gradient of the likelihood, and of the prior of the location, by slopes."""


def evaluate(
    target: Target, guide: Guide, likelihood: Likelihood, generator: np.random.Generator
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
        prior = target.coupled(point, parameters)
        both = gradient + prior.gradient
        own += np.einsum("jpk,jp->jk", by_own, both)
        shared += np.einsum("jpn,jp->n", by_shared, both) + prior.by_hyper[2 - len(shared) :]
        by_slope += gradient[:, 0]
        log_likelihood += value / n_points
        elbo += (value + prior.log_density) / n_points
    expected = target.expected_prior(guide.own, guide.sds())
    return Evaluated(
        elbo + expected.value + guide.entropy(),
        log_likelihood,
        Point(own / n_points + expected.gradient, shared / n_points),
        by_slope / n_points,
    )
