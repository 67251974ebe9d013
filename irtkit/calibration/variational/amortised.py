"""Minibatches of respondents, and of items, with an encoder in place of the integral over ability.

The marginal likelihood of a minibatch is replaced by the encoder's bound on it, which is a sum over
answers: a step may see some of the items, each weighted to stand for its share of all. (The
marginal likelihood is no such sum, so that no estimate of it from some items is unbiased.) In every
pass a respondent's answers are taken from the next part of a circle of items with a random start,
so that a round of passes sees every cell once. The encoder's features are sums over all answers,
which cost little, and it is trained at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.variational.encoder import (
    EncoderBatch,
    bounds_of,
    encoded,
    features_of,
    trained,
)
from irtkit.calibration.variational.minibatches import Batches
from irtkit.irf import Items
from irtkit.patterns import BLOCK, SYNTHETIC, answered_of, right_of
from irtkit.quadrature import Posteriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.information import System
    from irtkit.calibration.variational.encoder import Encoder
    from irtkit.irf import Array
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes


@dataclass
class Amortised(Batches):
    """Minibatches of respondents, and of items if ``n_items`` says how many."""

    n_items: int | None
    encoder: Encoder

    @property
    def n_parts(self) -> int:
        """Parts that the items are seen in."""
        return 1 if self.n_items is None else -(-self.patterns.n_items // self.n_items)

    @property
    def steps_per_round(self) -> int:
        """Steps that see every answer once."""
        return self.steps_per_pass * self.n_parts

    def likelihood(self, step: int, nodes: Nodes) -> EncoderBound:
        """Bound on the likelihood of a minibatch, scaled up to all respondents and items."""
        return EncoderBound(self, step, nodes)

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent by the encoder, and its bound on the likelihood."""
        del nodes

        def of(some: NDArray[np.intp]) -> Posteriors:
            patterns = self.patterns.chosen(some)
            nothing = np.zeros(patterns.n, dtype=np.intp)
            batch = encoder_batch(
                parameters, patterns, answers_of(patterns, nothing, nothing, 0, 1)
            )
            bounds = bounds_of(self.encoder, parameters, batch)
            return Posteriors(bounds, *encoded(self.encoder, batch.features, batch.precision))

        most = max(1, 8 * BLOCK // len(parameters))  # 60 MB an array of 32 bits by 7 points
        return self.in_parts(min(self.size or self.patterns.n, most), of)

    def train(self, parameters: Array, n_steps: int) -> None:
        """Train the encoder for some steps with the items held fixed."""
        nodes = self.nodes_at(parameters)
        for step in range(n_steps):
            self.likelihood(step, nodes).evaluate(parameters)


class EncoderBound:
    """The encoder's bound on the likelihood of a minibatch."""

    def __init__(self, batches: Amortised, step: int, nodes: Nodes) -> None:
        self._batches = batches
        self._nodes = nodes
        self._some = batches.minibatch(step)
        self._patterns = batches.patterns.chosen(self._some)
        number, part = divmod(step // batches.steps_per_pass, batches.n_parts)
        generator = np.random.default_rng([batches.seed, number, 5])
        n, total = batches.patterns.cells.shape
        order = generator.permutation(total)
        starts = np.asarray(generator.integers(0, total, size=n))[self._some]
        self._answers = answers_of(self._patterns, order, starts, part, batches.n_parts)

    def evaluate(self, parameters: Array) -> tuple[float, Array]:
        """Bound and its gradient by slope, intercept (and logit of guessing).

        The encoder takes a training step.
        """
        batch, batches = encoder_batch(parameters, self._patterns, self._answers), self._batches
        batches.encoder, bounds, gradient = trained(batches.encoder, parameters, batch)
        factor = batches.patterns.n / len(self._some)
        return factor * float(bounds.sum()), factor * gradient

    def systems(self, parameters: Array, points: list[Array]) -> list[System]:
        """Information about items at some points, and about shifts that all abilities share."""
        return self._batches.marginal(self._some, self._nodes).systems(parameters, points)


def encoder_batch(parameters: Array, patterns: Patterns, answers: tuple[Any, ...]) -> EncoderBatch:
    """Respondents as the encoder takes them, with some of their answers."""
    features, precision = features_of(parameters, patterns), precision_of(parameters, patterns)
    return EncoderBatch(features, precision, *answers)


def precision_of(parameters: Array, patterns: Patterns) -> Array:
    """1/σ² of the distribution of every respondent's ability."""
    found = np.ones(len(patterns.group))
    if patterns.has_synthetic:
        found[patterns.group == SYNTHETIC] = synthetic_sd(Items(*parameters.T)) ** -2.0
    return found


def answers_of(
    patterns: Patterns, order: NDArray[np.intp], starts: NDArray[np.intp], part: int, n_parts: int
) -> tuple[Any, ...]:
    """Items, right answers, trials and weights of some answers, for :class:`EncoderBatch`.

    The items of a respondent are one of ``n_parts`` parts of a circle: of all items in ``order``,
    or, of sparse patterns, of those answered, beginning with the one at ``starts``.
    """
    if patterns.sparse:
        return _sparse_answers(patterns, starts, part, n_parts)
    n, total = patterns.cells.shape
    size = -(-total // n_parts)
    items, cells, trials = np.arange(total)[None], patterns.cells, patterns.trials
    if n_parts > 1:
        items = order[((starts + part * size)[:, None] + np.arange(size)) % total]
        cells = np.take_along_axis(cells, items, axis=1)
        trials = None if trials is None else np.take_along_axis(trials, items, axis=1)
    right = right_of(np, cells).astype(np.float32)
    answered = answered_of(np, cells, trials).astype(np.float32)
    return items, right, answered, np.full(n, total / size, dtype=np.float32)


def _sparse_answers(
    patterns: Patterns, starts: NDArray[np.intp], part: int, n_parts: int
) -> tuple[Any, ...]:
    """The same of sparse patterns, padded to one length with answers of no trial."""
    ends = patterns.cells.indptr
    counts = np.diff(ends)
    sizes = -(-counts // n_parts)
    longest = int(sizes.max(initial=1))
    after = np.arange(1 << max(longest - 1, 0).bit_length())  # powers of 2, to share programs
    place = (starts + part * sizes)[:, None] + after
    at = ends[:-1, None] + place % np.maximum(counts, 1)[:, None]
    taken = after < sizes[:, None]
    at = np.where(taken, at, 0)
    items = np.where(taken, patterns.cells.indices[at], 0)
    right = np.where(taken, patterns.cells.data[at], 0).astype(np.float32)
    answered = np.where(taken, patterns.trials.data[at], 0).astype(np.float32)
    return items, right, answered, (counts / np.maximum(sizes, 1)).astype(np.float32)
