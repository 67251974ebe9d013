"""Coordinates of items in which their posterior is close to normal.

Slopes are measured in units of a scale τ that all items share, which is itself a coordinate (as is
the location m of intercepts, where the prior learns it): a = τ·f(u). The posterior of many items
then keeps its shape when the scale of ability moves, which few respondents leave uncertain. With
τ fixed, the spreads of all slopes would have to move along with every step of the scale, and an
ascent would overshoot by the ratio of items to respondents. Where items are many more than
respondents intercepts are measured from m·a for the same reason; where they are few, m is so
uncertain that this would add to the spread of every intercept.

The weak prior has f = sinh, in which its density of a slope is a Student one, and a learned one
f = λ·sinh, in which its density of regular slopes is normal; a prior on log |a| has f = ±exp;
others take u = a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from irtkit.irf import Array, Items, ModelName

Curve = Literal["sinh", "exp", "linear"]
_LEAST_SLOPE = 0.2
"""Least common slope to start from. Responses that speak for a negative one have their maximum near
0, where a normal prior of the slope says nothing of its logarithm: from 0.001 the first SD of that
came out as 365. From 0.2 none of 16 awkward fits overflows, from 0.4 three more are slow."""


class Point(NamedTuple):
    """A set of items in these coordinates."""

    own: Array
    """Shape (n_items, k): slope (unless common), intercept, logit of guessing (3PL)."""
    shared: Array
    """Location m (if learned) and log τ (if learned, or slopes are common), (n_shared,); of every
    item by itself, (n_items, n_shared)."""


@dataclass(frozen=True)
class Coordinates:
    """How coordinates make items.

    ``curve`` is f in a = τ·f(u), ``learns`` says whether m and τ are coordinates, ``sign`` holds
    the signs of slopes where f = ±exp, ``intercepts_move`` says whether intercepts are measured
    from m·a, and ``bend`` is λ, in units of τ, about where f = λ·sinh bends.
    """

    model: ModelName
    n_items: int
    curve: Curve
    learns: bool
    intercepts_move: bool
    sign: Array | None
    bend: float

    @property
    def common_slope(self) -> bool:
        """Whether all items have the same slope."""
        return self.model in {"1PL", "Rasch"}

    @property
    def n_own(self) -> int:
        """Coordinates of every item."""
        return self.n_parameters - self.common_slope

    @property
    def n_shared(self) -> int:
        """Coordinates that all items share."""
        return int(self.learns) + int(self.learns or self.common_slope)

    @property
    def n_parameters(self) -> int:
        """Parameters of an item: slope, intercept (and logit of guessing)."""
        return 3 if self.model == "3PL" else 2

    def some(self, which: slice) -> Coordinates:
        """Coordinates of some items."""
        sign = None if self.sign is None else self.sign[which]
        return replace(self, n_items=len(range(*which.indices(self.n_items))), sign=sign)

    def repeated(self, n: int) -> Coordinates:
        """Coordinates of every item ``n`` times in a row."""
        sign = None if self.sign is None else np.repeat(self.sign, n)
        return replace(self, n_items=n * self.n_items, sign=sign)

    def scale(self, point: Point) -> Array:
        """Return τ, or the common slope."""
        return np.asarray(np.exp(point.shared[..., -1]) if self.n_shared else 1.0)

    def slopes(self, point: Point) -> tuple[Array, Array, Array]:
        """Slopes, and their first and second derivatives by the coordinate."""
        tau = self.scale(point)
        if self.common_slope:
            slope = tau * np.ones(self.n_items)
            return slope, np.zeros_like(slope), np.zeros_like(slope)
        u = point.own[:, 0]
        if self.curve == "sinh":
            slope = tau * self.bend * np.sinh(u)
            return slope, tau * self.bend * np.cosh(u), slope
        if self.sign is not None:
            slope = self.sign * np.exp(u)
            return slope, slope, slope
        return u, np.ones_like(u), np.zeros_like(u)

    def parameters(self, point: Point) -> Array:
        """Slope, intercept (and logit of guessing) of every item, (n_items, 2 or 3)."""
        rest = point.own if self.common_slope else point.own[:, 1:]
        parameters = np.concatenate([self.slopes(point)[0][:, None], rest], axis=1)
        if self.intercepts_move:
            parameters[:, 1] += point.shared[..., 0] * parameters[:, 0]
        return parameters

    def point(self, items: Items, location: float, log_scale: float) -> Point:
        """Coordinates of some items, with what the prior has learned of them."""
        columns = [] if self.common_slope else [self._of_slope(items.slope, log_scale)]
        moved = location * items.slope if self.intercepts_move else 0.0
        columns.append(items.intercept - moved)
        if self.model == "3PL":
            columns.append(items.logit_guessing)
        shared = [location] if self.learns else []
        if self.common_slope:
            shared.append(math.log(max(abs(float(items.slope[0])), _LEAST_SLOPE)))
        elif self.learns:
            shared.append(log_scale)
        return Point(np.stack(columns, axis=1), np.array(shared))

    def _of_slope(self, slope: Array, log_scale: float) -> Array:
        if self.curve == "sinh":
            return np.arcsinh(slope * math.exp(-log_scale) / self.bend)
        if self.sign is not None:
            return np.log(np.maximum(np.abs(slope), 1e-3))
        return slope

    def jacobian(self, point: Point) -> tuple[Array, Array]:
        """Derivatives of parameters by own coordinates (n_items, K, k) and by shared ones."""
        slope, by_u, _ = self.slopes(point)
        by_own = np.zeros((self.n_items, self.n_parameters, self.n_own))
        by_shared = np.zeros((self.n_items, self.n_parameters, self.n_shared))
        first = 0 if self.common_slope else 1
        if first:
            by_own[:, 0, 0] = by_u
        for column in range(first, self.n_own):
            by_own[:, column + 1 - first, column] = 1.0
        if self.n_shared:
            by_shared[:, 0, -1] = slope
        if self.intercepts_move:
            if first:
                by_own[:, 1, 0] = point.shared[0] * by_u
            by_shared[:, 1, 0] = slope
            by_shared[:, 1, 1] = point.shared[0] * slope
        return by_own, by_shared
