"""Which respondents a step sees: all of them, or a minibatch.

Minibatches go through all respondents in an order drawn anew for every pass, so that each step's
likelihood, scaled up to all respondents, is unbiased. Only one minibatch at a time is held in
floating point and on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.variational.elbo import Likelihood
from irtkit.irf import Items
from irtkit.quadrature import Posteriors, engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.maximise import GridSchedule, Problem
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes


@dataclass
class Batches:
    """Respondents of every step, and their marginal likelihood."""

    problem: Problem
    """That of the start, perhaps of some of the respondents."""
    schedule: GridSchedule
    patterns: Patterns
    size: int | None
    """Respondents of a minibatch, or None for all of them at every step."""
    seed: int

    @property
    def steps_per_pass(self) -> int:
        """Steps that see every respondent once."""
        return 1 if self.size is None else -(-self.patterns.n // self.size)

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return self.schedule.nodes(Items(*parameters.T), self.problem.engine.patterns)

    def likelihood(self, step: int, nodes: Nodes) -> Likelihood:
        """Likelihood of the batch of a step, scaled up to all respondents."""
        return self.marginal(None if self.size is None else self.minibatch(step), nodes)

    def minibatch(self, step: int) -> NDArray[np.intp]:
        """Respondents of a step: of equal size, the last one of a pass filled up from the first."""
        size = self.size or self.patterns.n
        number, place = divmod(step, self.steps_per_pass)
        order = np.random.default_rng([self.seed, number, 2]).permutation(self.patterns.n)
        places = range(place * size, (place + 1) * size)
        return np.sort(np.take(order, places, mode="wrap"))

    def marginal(self, some: NDArray[np.intp] | None, nodes: Nodes) -> Likelihood:
        """Marginal likelihood of some respondents (None: all), scaled up to all of them."""
        mesh, engine = self.problem.mesh, self.problem.engine
        with_guessing = self.problem.parameters.model == "3PL"
        if some is not None:
            engine = engine_of(self.patterns.chosen(some), with_guessing=with_guessing, mesh=mesh)
        return Likelihood(engine, nodes, self.patterns.n, exact=mesh is not None)

    def gradient(self, parameters: Array, nodes: Nodes) -> Array:
        """Gradient of the marginal likelihood of all respondents, (n_items, 2 or 3)."""
        if self.size is None:
            return self.marginal(None, nodes).evaluate(parameters)[1]
        n = self.patterns.n
        found = np.zeros_like(parameters)
        for first in range(0, n, self.size):
            some = np.arange(first, min(first + self.size, n))
            found += len(some) / n * self.marginal(some, nodes).evaluate(parameters)[1]
        return found

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent, by minibatches of one size, the last filled up."""
        if self.size is None:
            return self.marginal(None, nodes).posteriors(parameters)
        n, size = self.patterns.n, min(self.size, self.patterns.n)
        places = np.arange(-(-n // size) * size) % n
        found = [
            self.marginal(some, nodes).posteriors(parameters) for some in places.reshape(-1, size)
        ]
        return Posteriors(*(np.concatenate(part)[:n] for part in zip(*found, strict=True)))
