"""The next item by the expected variance of the score, for many respondents at once.

After the answers so far the number right of all items has the variance Var[M(θ)] + E[V(θ)] over the
posterior of ability, M and V being the sums of P and P(1 − P) over the items not asked. Asked next
is the item after which its expectation over the answer, 1 or 0, is least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.scoring.scores import number_right

if TYPE_CHECKING:
    from irtkit.irf import Array

_LEAST = 1e-300
"""Least probability that is divided by: what is explained where it is 0 is 0."""


class State(NamedTuple):
    """What is known of some respondents."""

    posterior: Array
    """(n, n_nodes)."""
    by_node: Array
    """M at every node, (n, n_nodes)."""
    noise: Array
    """V at every node."""
    right: Array
    """Right answers so far, (n,)."""
    left: Any
    """Which items of the pool can be asked, (n, n_pool)."""

    @property
    def expected(self) -> Array:
        """Expected number of right answers to all items, (n,)."""
        return self.right + self._rest[0]

    @property
    def variance(self) -> Array:
        """Its variance under the model."""
        return self._rest[1]

    @property
    def _rest(self) -> tuple[Array, Array]:
        return number_right(self.posterior, self.by_node, self.noise)

    def next_items(self, p: Array) -> Any:
        """Which of the pool to ask each; ``p`` is P(right), (n_nodes, n_pool)."""
        posterior, by_node = self.posterior, self.by_node
        weighed = posterior * by_node
        right = posterior @ p
        # M without the item, over the posterior and where the item is right
        square = (weighed * by_node).sum(axis=1)[:, None] - 2 * weighed @ p + posterior @ p**2
        if_right = weighed @ p - posterior @ p**2
        if_wrong = weighed.sum(axis=1)[:, None] - right - if_right
        noise = (posterior * self.noise).sum(axis=1)[:, None] - posterior @ (p * (1 - p))
        explained = if_right**2 / np.maximum(right, _LEAST)
        explained += if_wrong**2 / np.maximum(1 - right, _LEAST)
        return np.where(self.left, square - explained + noise, np.inf).argmin(axis=1)

    def after(self, items: Any, answers: Array, p: Array) -> State:
        """Return what is known after the answers (0 to 1) to an item each."""
        asked = p[:, items].T
        likelihood = answers[:, None] * asked + (1 - answers[:, None]) * (1 - asked)
        posterior = self.posterior * likelihood
        posterior /= posterior.sum(axis=1, keepdims=True)
        left = self.left.copy()
        left[np.arange(len(left)), items] = False
        rest = self.by_node - asked, self.noise - asked * (1 - asked)
        return State(posterior, *rest, self.right + answers, left)
