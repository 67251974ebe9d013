"""Which respondents a step sees: all of them, or a minibatch.

Minibatches go through all respondents in an order drawn anew for every pass, so that each step's
likelihood, scaled up to all respondents, is unbiased. Only one minibatch at a time is held in
floating point and on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.variational.bound import Likelihood
from irtkit.irf import Items
from irtkit.quadrature import Posteriors, engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.em import Climber
    from irtkit.calibration.variational.coordinates import Coordinates
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class FullBatch:
    """All respondents at every step."""

    coordinates: Coordinates
    climber: Climber

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return nodes_at(self.climber, parameters)

    def likelihood(self, step: int, nodes: Nodes) -> Likelihood:
        """Likelihood of all respondents."""
        del step
        engine, exact = self.climber.engine, self.climber.mesh is not None
        return Likelihood(self.coordinates, engine, nodes, engine.rows.n, exact=exact)

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent."""
        return self.likelihood(0, nodes).posteriors(parameters)


@dataclass(frozen=True)
class Minibatches:
    """A minibatch of respondents at every step."""

    coordinates: Coordinates
    climber: Climber
    """What found the start, perhaps from some of the respondents."""
    rows: Patterns
    size: int
    seed: int

    @property
    def steps_per_pass(self) -> int:
        """Minibatches that hold every respondent once."""
        return -(-self.rows.n // self.size)

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return nodes_at(self.climber, parameters)

    def likelihood(self, step: int, nodes: Nodes) -> Likelihood:
        """Likelihood of a minibatch, scaled up to all respondents."""
        return self._of(self.respondents_of(step), nodes)

    def respondents_of(self, step: int) -> NDArray[np.intp]:
        """Respondents of a step."""
        number, place = divmod(step, self.steps_per_pass)
        order = np.random.default_rng([self.seed, number, 2]).permutation(self.rows.n)
        # of equal size: the last minibatch is filled up from the beginning
        places = range(place * self.size, (place + 1) * self.size)
        return np.sort(np.take(order, places, mode="wrap"))

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent, minibatch by minibatch."""
        n = self.rows.n
        found = [
            self._of(np.arange(first, min(first + self.size, n)), nodes).posteriors(parameters)
            for first in range(0, n, self.size)
        ]
        return Posteriors(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def _of(self, some: NDArray[np.intp], nodes: Nodes) -> Likelihood:
        mesh = self.climber.mesh
        rows, with_guessing = self.rows.chosen(some), self.coordinates.model == "3PL"
        engine = engine_of(rows, with_guessing=with_guessing, mesh=mesh)
        return Likelihood(self.coordinates, engine, nodes, self.rows.n, exact=mesh is not None)


def nodes_at(climber: Climber, parameters: Array) -> Nodes:
    """Nodes that suit items with some parameters."""
    return climber.nodes_at(climber.layout.vector(Items(*parameters.T)))
