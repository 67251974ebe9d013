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

    from irtkit.calibration.maximise import GridSchedule, Problem
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Whole:
    """All respondents at every step."""

    problem: Problem
    schedule: GridSchedule

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return self.schedule.nodes(Items(*parameters.T), self.problem.engine.patterns)

    def likelihood(self, step: int, nodes: Nodes) -> Likelihood:
        """Likelihood of all respondents."""
        del step
        engine, exact = self.problem.engine, self.problem.mesh is not None
        return Likelihood(engine, nodes, engine.patterns.n, exact=exact)

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent."""
        return self.likelihood(0, nodes).posteriors(parameters)


@dataclass(frozen=True)
class Batches:
    """A batch of respondents at every step."""

    problem: Problem
    """That of the start, perhaps of some of the respondents."""
    schedule: GridSchedule
    rows: Patterns
    size: int
    seed: int

    @property
    def per_pass(self) -> int:
        """Batches that go through all respondents."""
        return -(-self.rows.n // self.size)

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return self.schedule.nodes(Items(*parameters.T), self.problem.engine.patterns)

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
        mesh, with_guessing = self.problem.mesh, self.problem.parameters.model == "3PL"
        engine = engine_of(self.rows.chosen(chosen), with_guessing=with_guessing, mesh=mesh)
        return Likelihood(engine, nodes, self.rows.n, exact=mesh is not None)
