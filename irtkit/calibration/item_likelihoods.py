"""The likelihood of each item by itself, abilities being held at their posteriors.

It is that of the responses, and of the right ones, expected at each node (Bock & Aitkin 1981).
Where nodes are denser than items bend, both are carried to *places* further apart by the transpose
of interpolation, which keeps sums of smooth functions: taking the nodes between two bounds as one
moved slopes near 0 by more than a standard error, and another way for other bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.item_distribution import STEEP
from irtkit.data.patterns import blocks
from irtkit.irf import Items, complete_data_information, curvatures, curves_of, softplus
from irtkit.quadrature import Grid
from irtkit.quadrature.engines import posterior_weights
from irtkit.quadrature.nodes import STENCIL, local_interpolation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, Curves

    Places = NDArray[np.intp]

_LOGITS, _STEEP = 0.3, 0.9
"""How far places are apart, in logits of items at this quantile of steepness: the log-likelihood of
12 responses to an item three times as steep is then off by 1e-4, of the others by far less."""
_NO_MASS = 1e-9
"""Share of all responses below which a place is left out."""


class Local(NamedTuple):
    """Gradient and expected information by slope and intercept, (n, 2) and (n, 2, 2)."""

    score: Array
    information: Array


class ItemLikelihoods:
    """Likelihoods of the items of a fit as functions of their slopes and intercepts.

    Guessing stays where it is. Slopes meet the absolute limit of the weak prior: an item that
    splits the respondents perfectly is as likely with any steeper slope.
    """

    def __init__(self, patterns: Patterns, items: Items, grid: Grid) -> None:
        self.n_items = len(items.slope)
        self._guessing = items.logit_guessing
        theta, copies = grid.nodes.theta, patterns.copies(np.ones(self.n_items)).astype(np.intp)
        # curves at the nodes themselves: few respondents say little of how items are distributed,
        # and what is learned of it moves by 1e5 times an error of interpolation
        exact = Grid(grid.nodes._replace(points=theta, interpolation=None), grid.log_weights)
        steep = float(np.quantile(np.abs(np.repeat(items.slope, copies)), _STEEP))
        n_places = max(int(np.ptp(theta) * steep / _LOGITS) + 1, STENCIL)
        places, carried = theta, np.eye(len(theta))
        if n_places < len(theta):
            places = np.linspace(theta[0], theta[-1], n_places)
            carried = local_interpolation(theta, places)
        right = np.zeros((self.n_items, len(places)))
        responses = np.zeros((1 if patterns.complete else self.n_items, len(theta)))
        for _, some, answered, _, counted in posterior_weights(patterns, items, exact):
            right += some.T @ (counted.T @ carried)
            responses += counted.sum(axis=1) if answered is None else answered.T @ counted.T
        mass = responses.sum(axis=0)
        kept = np.abs(mass @ carried) > _NO_MASS * mass.sum()
        carried = carried[:, kept]
        self._theta: Array = places[kept]
        self._responses: Array = responses @ carried
        self._functions = np.stack([self._theta, np.ones_like(self._theta)], axis=1)
        self._right: Array = right[:, kept]
        """Right responses at each place; without guessing their Σθ and Σ1."""
        if self._guessing is None:
            self._right = self._right @ self._functions

    def log_likelihood(self, items: Places, slope: Array, intercept: Array) -> Array:
        """Log likelihood of some items, each at several points; shapes (n,), (n, n_points)."""
        value = np.empty_like(slope)
        for part in self._parts(len(items), slope.shape[1]):
            some, a, d = items[part], slope[part], intercept[part]
            z = a[:, :, None] * self._theta + d[:, :, None]
            rise = softplus(z)
            right, responses = self._right[some], self._responses_of(some)
            if self._guessing is None:
                value[part] = a * right[:, :1] + d * right[:, 1:] - _sum(rise, responses)
                continue
            _, p, c = self._curves(np.repeat(some, a.shape[1]), a.ravel(), d.ravel())
            log_right = np.log(p).reshape(z.shape)
            log_wrong = np.log1p(-c).reshape(*a.shape, 1) - rise
            value[part] = _sum(log_right - log_wrong, right) + _sum(log_wrong, responses)
        return value + STEEP.at(slope).value

    def local(self, items: Places, slope: Array, intercept: Array) -> Local:
        """Gradient and expected information of some items at slopes and intercepts, (n,)."""
        score, information = np.empty((len(items), 2)), np.empty((len(items), 2, 2))
        for part in self._parts(len(items), 1):
            some = items[part]
            at = self._curves(some, slope[part], intercept[part])
            responses, right = self._responses_of(some), self._right[some]
            if self._guessing is None:
                score[part] = right - (responses * at.p) @ self._functions
            else:
                score[part] = ((right / at.p - responses) * at.s) @ self._functions
            by_logit = curvatures(at, responses)[:1]
            information[part] = complete_data_information(by_logit, self._theta)
        limit = STEEP.at(slope)
        score[:, 0] += limit.derivative
        information[:, 0, 0] += limit.curvature
        return Local(score, information)

    def _curves(self, some: Places, slope: Array, intercept: Array) -> Curves:
        logit = None if self._guessing is None else self._guessing[some]
        return curves_of(Items(slope, intercept, logit), self._theta)

    def _responses_of(self, some: Places) -> Array:
        return self._responses if len(self._responses) == 1 else self._responses[some]

    def _parts(self, n: int, n_points: int) -> Iterator[slice]:
        return blocks(n, n_points * len(self._theta))


def _sum(table: Array, weights: Array) -> Array:
    """Sum over nodes; shapes (n, n_points, n_nodes) and (n or 1, n_nodes)."""
    if len(weights) == 1:
        return np.asarray(table @ weights[0])
    return np.asarray((table @ weights[:, :, None])[:, :, 0])
