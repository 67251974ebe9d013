"""Batches of respondents whose posteriors an encoder tells, and of items.

In place of the marginal likelihood of a batch stands the encoder's bound on it, which is a sum over
items: a step may see some of them, each standing for its share of all. (The marginal likelihood is
no such sum, so that no estimate of it from some items is unbiased.) Each respondent goes round the
items from a random place, some further in every pass, so that a round of passes sees every cell
once, as a pass through batches of respondents does. The encoder itself sees sums over all answers,
which cost next to nothing, and is trained as it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.variational.encoder import (
    Encoder,
    Seen,
    bounds_of,
    encoded,
    features_of,
    trained,
)
from irtkit.irf import Items
from irtkit.patterns import SYNTHETIC, answered_of, right_of
from irtkit.quadrature import Posteriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.information import System
    from irtkit.calibration.variational.sources import Batches
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes

    Array = NDArray[np.float64]


_ANSWERS_AT_ONCE = 2**21


class Amortised:
    """A batch of respondents, and of items if ``n_items`` says how many, at every step."""

    def __init__(self, batches: Batches, n_items: int | None, encoder: Encoder) -> None:
        self._batches = batches
        self._n_items = n_items
        self.encoder = encoder

    def nodes_at(self, parameters: Array) -> Nodes:
        """Nodes that suit some items."""
        return self._batches.nodes_at(parameters)

    def likelihood(self, step: int, nodes: Nodes) -> BatchBound:
        """Bound on the likelihood of a batch, as a share of all respondents and all items."""
        return BatchBound(self, self._batches, self._n_items, step, nodes)

    def posteriors(self, parameters: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent by the encoder, and its bound on the likelihood."""
        del nodes
        rows, parts = self._batches.rows, []
        total = rows.cells.shape[1]
        size = max(1, min(self._batches.size, _ANSWERS_AT_ONCE // total))
        for first in range(0, rows.n, size):
            # of equal size, so that programs are shared: the last part goes back a little
            start = max(min(first, rows.n - size), 0)
            some = rows.chosen(np.arange(start, min(start + size, rows.n)))
            features, precision = features_of(parameters, some), precision_of(parameters, some)
            if some.sparse:
                answers = sparse_answers_of(some, np.zeros(some.n, dtype=np.intp), 0, 1)
            else:
                answers = answers_of(some, np.arange(total), np.zeros(some.n, dtype=np.intp), total)
            bounds = bounds_of(self.encoder, parameters, Seen(features, precision, *answers))
            found = (bounds, *encoded(self.encoder, features, precision))
            parts.append([part[first - start :] for part in found])
        return Posteriors(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def warm_up(self, parameters: Array, n_steps: int) -> None:
        """Train the encoder for some steps with the items held fixed."""
        nodes = self.nodes_at(parameters)
        for step in range(n_steps):
            self.likelihood(step, nodes).evaluate(parameters)


class BatchBound:
    """The encoder's bound on the likelihood of a batch."""

    def __init__(
        self,
        owner: Amortised,
        batches: Batches,
        n_items: int | None,
        step: int,
        nodes: Nodes,
    ) -> None:
        self._nodes = nodes
        self._owner = owner
        self._batches = batches
        self._step = step
        chosen = batches.chosen(step)
        self._rows = batches.rows.chosen(chosen)
        n, total = batches.rows.cells.shape
        self._factor = n / len(chosen)
        n_parts = parts_of(batches.rows, n_items)
        number, part = divmod(step // batches.per_pass, n_parts)
        generator = np.random.default_rng([batches.seed, number, 5])
        order = generator.permutation(total)
        starts = np.asarray(generator.integers(0, total, size=n))[chosen]
        if self._rows.sparse:
            self._answers = sparse_answers_of(self._rows, starts, part, n_parts)
        else:
            size = -(-total // n_parts)
            self._answers = answers_of(self._rows, order, starts + part * size, size)

    def evaluate(self, parameters: Array) -> tuple[float, Array]:
        """Bound and its gradient by slope, intercept (and logit of guessing).

        The encoder is trained by the way.
        """
        features = features_of(parameters, self._rows)
        seen = Seen(features, precision_of(parameters, self._rows), *self._answers)
        self._owner.encoder, bounds, gradient = trained(self._owner.encoder, parameters, seen)
        return self._factor * float(bounds.sum()), self._factor * gradient

    def systems(self, parameters: Array, points: list[Array]) -> list[System]:
        """Information about items at some points, and about shifts that all abilities share."""
        return self._batches.likelihood(self._step, self._nodes).systems(parameters, points)


def precision_of(parameters: Array, rows: Patterns) -> Array:
    """1/σ² of the distribution of every respondent's ability."""
    found = np.ones(len(rows.group))
    if rows.has_synthetic:
        found[rows.group == SYNTHETIC] = synthetic_sd(Items(*parameters.T)) ** -2.0
    return found


def parts_of(rows: Patterns, n_items: int | None) -> int:
    """How many times some items make up all of them."""
    return 1 if n_items is None else -(-rows.cells.shape[1] // n_items)


def answers_of(
    rows: Patterns, order: NDArray[np.intp], starts: NDArray[np.intp], size: int
) -> tuple[Any, ...]:
    """Items, right answers, trials and weights of some answers, as :class:`Seen` holds them.

    Every respondent's are the ``size`` items that follow a start in an order of all of them.
    """
    n, total = rows.cells.shape
    if size == total:
        items = np.arange(total)[None]
    else:
        items = order[(starts[:, None] + np.arange(size)) % total]
    cells = np.take_along_axis(rows.cells, items, axis=1) if len(items) == n else rows.cells
    trials = rows.trials
    if trials is not None and len(items) == n:
        trials = np.take_along_axis(trials, items, axis=1)
    right = right_of(np, cells).astype(np.float32)
    answered = answered_of(np, cells, trials).astype(np.float32)
    return items, right, answered, np.full(n, total / size, dtype=np.float32)


def sparse_answers_of(
    rows: Patterns, starts: NDArray[np.intp], part: int, n_parts: int
) -> tuple[Any, ...]:
    """The same of sparse rows: a part of the observed answers of each, made up to one length."""
    ends = rows.cells.indptr
    counts = np.diff(ends)
    sizes = -(-counts // n_parts)
    longest = int(sizes.max(initial=1))
    length = 1 << max(longest - 1, 0).bit_length()  # few lengths, so that programs are shared
    after = np.arange(length)
    place = (starts + part * sizes)[:, None] + after
    at = ends[:-1, None] + place % np.maximum(counts, 1)[:, None]
    taken = after < sizes[:, None]
    at = np.where(taken, at, 0)
    right = np.where(taken, rows.cells.data[at], 0).astype(np.float32)
    answered = np.where(taken, rows.trials.data[at], 0).astype(np.float32)
    weight = (counts / np.maximum(sizes, 1)).astype(np.float32)
    return np.where(taken, rows.cells.indices[at], 0), right, answered, weight
