"""What a step of the ascent sees: all respondents, or a batch of them.

Batches go through all respondents in an order drawn anew for every pass, so that each step's
likelihood, taken as a share of all, is unbiased. Only one batch at a time is widened, and only one
is on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.variational.bound import Likelihood
from irtkit.irf import Items
from irtkit.quadrature import Posteriors, engine_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.em import Climber
    from irtkit.calibration.variational.coordinates import Coordinates
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Whole:
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
class Batches:
    """A batch of respondents at every step."""

    coordinates: Coordinates
    climber: Climber
    """What found the start, perhaps from some of the respondents."""
    rows: Patterns
    size: int
    seed: int

    @property
    def per_pass(self) -> int:
        """Batches that go through all respondents."""
        return -(-self.rows.n // self.size)

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return nodes_at(self.climber, parameters)

    def likelihood(self, step: int, nodes: Nodes) -> Likelihood:
        """Likelihood of a batch, as a share of all respondents."""
        return self._of(self.chosen(step), nodes)

    def chosen(self, step: int) -> NDArray[np.intp]:
        """Respondents of a step."""
        number, place = divmod(step, self.per_pass)
        order = np.random.default_rng([self.seed, number, 2]).permutation(self.rows.n)
        # of equal size: the last batch is filled up from the beginning
        places = range(place * self.size, (place + 1) * self.size)
        return np.sort(np.take(order, places, mode="wrap"))

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent, batch by batch."""
        found = [self._of(some, nodes).posteriors(parameters) for some in self.parts()]
        return Posteriors(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def parts(self) -> Iterator[NDArray[np.intp]]:
        """All respondents in order, as many at a time as a batch holds."""
        for first in range(0, self.rows.n, self.size):
            yield np.arange(first, min(first + self.size, self.rows.n))

    def _of(self, chosen: NDArray[np.intp], nodes: Nodes) -> Likelihood:
        mesh = self.climber.mesh
        rows, with_guessing = self.rows.chosen(chosen), self.coordinates.model == "3PL"
        engine = engine_of(rows, with_guessing=with_guessing, mesh=mesh)
        return Likelihood(self.coordinates, engine, nodes, self.rows.n, exact=mesh is not None)


def nodes_at(climber: Climber, parameters: Array) -> Nodes:
    """Nodes that suit items with some parameters."""
    return climber.nodes_at(climber.layout.vector(Items(*parameters.T)))
