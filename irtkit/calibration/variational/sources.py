"""What a step of the ascent sees: all respondents, or a batch of them.

Batches go through all respondents in an order drawn anew for every pass, so that each step's
likelihood, taken as a share of all, is unbiased. Only one batch at a time is widened, and only one
is on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.variational.bound import Likelihood
from irtkit.quadrature import Posteriors, engine_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jax.sharding import Mesh
    from numpy.typing import NDArray

    from irtkit.calibration.variational.coordinates import Coordinates
    from irtkit.calibration.variational.inference import Source
    from irtkit.quadrature import Engine, Nodes, Rows

    Array = NDArray[np.float64]


class Whole:
    """All respondents at every step."""

    amortised = False

    def __init__(
        self, coordinates: Coordinates, engine: Engine, nodes: Nodes, *, exact: bool
    ) -> None:
        n = len(engine.rows.group)
        self._made = (coordinates, engine)
        self._exact = exact
        self._likelihood = Likelihood(coordinates, engine, nodes, n, exact=exact)

    def on(self, nodes: Nodes) -> Source:
        """The same on other nodes."""
        return Whole(*self._made, nodes, exact=self._exact)

    def likelihood(self, step: int) -> Likelihood:
        """Likelihood of all respondents."""
        del step
        return self._likelihood

    def posteriors(self, parameters: Array) -> Posteriors:
        """Posterior of every respondent."""
        return self._likelihood.posteriors(parameters)


@dataclass(frozen=True)
class Batches:
    """A batch of respondents at every step."""

    coordinates: Coordinates
    rows: Rows
    nodes: Nodes
    size: int
    seed: int
    mesh: Mesh | None
    amortised: bool = False

    @property
    def per_pass(self) -> int:
        """Batches that go through all respondents."""
        return -(-len(self.rows.group) // self.size)

    def on(self, nodes: Nodes) -> Source:
        """The same on other nodes."""
        return replace(self, nodes=nodes)

    def likelihood(self, step: int) -> Likelihood:
        """Likelihood of a batch, as a share of all respondents."""
        return self._of(self.chosen(step))

    def chosen(self, step: int) -> NDArray[np.intp]:
        """Respondents of a step."""
        number, place = divmod(step, self.per_pass)
        order = np.random.default_rng([self.seed, number, 2]).permutation(len(self.rows.group))
        # of equal size: the last batch is filled up from the beginning
        places = range(place * self.size, (place + 1) * self.size)
        return np.sort(np.take(order, places, mode="wrap"))

    def posteriors(self, parameters: Array) -> Posteriors:
        """Posterior of every respondent, batch by batch."""
        found = [self._of(some).posteriors(parameters) for some in self.parts()]
        return Posteriors(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def parts(self) -> Iterator[NDArray[np.intp]]:
        """All respondents in order, as many at a time as a batch holds."""
        n = len(self.rows.group)
        for first in range(0, n, self.size):
            yield np.arange(first, min(first + self.size, n))

    def _of(self, chosen: NDArray[np.intp]) -> Likelihood:
        rows = self.rows.chosen(chosen)
        with_guessing = self.coordinates.model == "3PL"
        engine = engine_of(rows, with_guessing=with_guessing, mesh=self.mesh)
        n, exact = len(self.rows.group), self.mesh is not None
        return Likelihood(self.coordinates, engine, self.nodes, n, exact=exact)
