"""Coordinates of items in which their posterior is close to normal, and the prior in these.

Slopes are a = τ·f(u), with a scale τ that all items share and that is itself a coordinate (as is
the location m of intercepts, where the prior learns it). The posterior of many items then keeps its
shape when the scale of ability moves, which few respondents leave uncertain. Where items are many
more than respondents, intercepts are measured from m·a for the same reason. prior="weak" has f =
sinh, a learned prior f = λ·sinh. Other priors have u = a.

A learned distribution is held as it was learned, with items integrated out. Only its location and
scale stay free, as m and τ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from irtkit.calibration.empirical import ItemDistribution
from irtkit.calibration.priors import (
    Density,
    Hyper,
    ItemPrior,
    WeakPrior,
    of_some,
    summed,
)
from irtkit.irf import Items, normal_rule

if TYPE_CHECKING:
    from irtkit.calibration.priors import AtPrior
    from irtkit.irf import Array, ModelName

Curve = Literal["sinh", "linear"]
_NODES, _WEIGHTS = normal_rule(15)


class Point(NamedTuple):
    """Items in these coordinates."""

    own: Array
    """Shape (n_items, k): slope (unless common), intercept, logit of guessing (3PL)."""
    shared: Array
    """Location m (if learned) and log τ (if learned, or slopes are common), (n_shared,), or one row
    for each item, (n_items, n_shared)."""

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.own.size + self.shared.size


@dataclass(frozen=True)
class Coordinates:
    """How coordinates make items."""

    model: ModelName
    n_items: int
    curve: Curve
    """The function f in a = τ·f(u)."""
    learns: bool
    """Whether m and τ are coordinates."""
    intercepts_move: bool
    """Whether intercepts are measured from m·a."""
    bend: float
    """The factor λ of f = λ·sinh."""

    @property
    def common_slope(self) -> bool:
        """Whether all items have the same slope."""
        return self.model in {"1PL", "Rasch"}

    @property
    def n_own(self) -> int:
        """Number of own coordinates of an item."""
        return self.n_parameters - self.common_slope

    @property
    def n_shared(self) -> int:
        """Number of shared coordinates."""
        return int(self.learns) + int(self.learns or self.common_slope)

    @property
    def n_parameters(self) -> int:
        """Number of parameters of an item: slope, intercept (and logit of guessing)."""
        return 3 if self.model == "3PL" else 2

    def chosen(self, items: Any) -> Coordinates:
        """Coordinates of items that an index chooses."""
        return replace(self, n_items=len(np.arange(self.n_items)[items]))

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
        return u, np.ones_like(u), np.zeros_like(u)

    def parameters(self, point: Point) -> Array:
        """Slope, intercept (and logit of guessing) of each item, (n_items, 2 or 3)."""
        rest = point.own if self.common_slope else point.own[:, 1:]
        parameters = np.concatenate([self.slopes(point)[0][:, None], rest], axis=1)
        if self.intercepts_move:
            location = point.shared[..., 0]
            parameters[:, 1] += location * parameters[:, 0]
        return parameters

    def point(self, items: Items, location: float, log_scale: float) -> Point:
        """Coordinates of items, and of the m and log τ that the prior has learned."""
        u = items.slope
        columns = []
        if self.curve == "sinh":
            scale = math.exp(log_scale) * self.bend
            u = np.arcsinh(items.slope / scale)
        if not self.common_slope:
            columns.append(u)
        columns.append(items.intercept - location * items.slope * self.intercepts_move)
        if self.model == "3PL":
            columns.append(items.logit_guessing)
        shared = [location] if self.learns else []
        if self.common_slope:
            # nearer to 0 its logarithm is too uncertain to step by
            size = abs(float(items.slope[0]))
            shared.append(math.log(max(size, 0.2)))
        elif self.learns:
            shared.append(log_scale)
        return Point(np.stack(columns, axis=1), np.array(shared))

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


class Expected(NamedTuple):
    """Expectation of a log density, its gradient and minus its curvature under a normal guide."""

    value: float
    gradient: Array
    """Shape (n_items, k)."""
    curvature: Array
    """Shape (n_items, k), none below 0."""


class OfCoordinate(NamedTuple):
    """Density of a coordinate u, which is the parameter itself or its logarithm."""

    density: Density
    exponential: bool = False

    def at(self, u: Array) -> tuple[Array, Array]:
        """Log density at u, and its derivative."""
        x = np.exp(u) if self.exponential else u
        log_volume, by_volume = self.density.log_volume(x)
        value, derivative, _ = self.density.at(x)
        value = value + log_volume
        derivative = derivative + by_volume
        if self.exponential:
            return value + u, derivative * x + 1
        return value, derivative


@dataclass(frozen=True)
class Target:
    """A prior, and the coordinates that suit it."""

    coordinates: Coordinates
    prior: WeakPrior | ItemPrior | ItemDistribution

    def densities(self) -> list[OfCoordinate | None]:
        """Density of each own coordinate, None for intercepts around a common location."""
        prior = self.prior
        own = slice(int(self.coordinates.common_slope), self.coordinates.n_parameters)
        if isinstance(prior, ItemPrior):
            names = ("discrimination", "intercept", "guessing")
            return [_given(prior, name) for name in names[own]]
        slope = OfCoordinate(prior.slope_density)
        guessing = OfCoordinate(prior.guessing_density)
        return [slope, None, guessing][own]

    def expected_prior(self, mean: Array, sd: Array) -> Expected:
        """Expectations of the densities of single coordinates, ``mean`` and ``sd`` (n_items, k).

        They are integrals over one variable by Gauss–Hermite quadrature. The second derivative
        comes from the gradient (Stein 1981).
        """
        value = 0.0
        gradient = np.zeros_like(mean)
        curvature = np.zeros_like(mean)
        for column, density in enumerate(self.densities()):
            if density is None:
                continue
            of_column = sd[:, column]
            at = mean[:, column, None] + of_column[:, None] * _NODES
            log_density, derivative = density.at(at)
            value += float((log_density @ _WEIGHTS).sum())
            gradient[:, column] = derivative @ _WEIGHTS
            along = derivative @ (_WEIGHTS * _NODES)
            bend = -along / np.maximum(of_column, 1e-12)
            curvature[:, column] = np.maximum(bend, 0.0)
        return Expected(value, gradient, curvature)

    def coupled(self, point: Point, parameters: Array) -> AtPrior:
        """Log density of all else: intercepts around a common location, and what items share."""
        coordinates = self.coordinates
        items = Items(*parameters.T)
        if not isinstance(self.prior, ItemPrior):
            hyper = Hyper(float(point.shared[1]), float(point.shared[0]))
            return self.prior.coupled(items, hyper, common_slope=coordinates.common_slope)
        at_prior = summed([], items)
        if not coordinates.common_slope:
            return at_prior
        density = _given(self.prior, "discrimination", exponential=True)
        step = 1e-4
        log_scale = point.shared[0]
        value, at_prior.by_hyper[1] = density.at(log_scale)
        _, before = density.at(log_scale - step)
        _, after = density.at(log_scale + step)
        at_prior.corner[1, 1] = max(float(before - after) / (2 * step), 0.0)
        return at_prior._replace(log_density=float(value))

    def chosen(self, items: Any) -> Target:
        """The same for items that an index chooses."""
        prior: Any = of_some(self.prior, items)
        return replace(self, coordinates=self.coordinates.chosen(items), prior=prior)

    def log_density(self, point: Point, parameters: Array) -> float:
        """Log density of all items and of what they share."""
        coupled = self.coupled(point, parameters).log_density
        return coupled + float(self.of_coordinates(point)[0].sum())

    def by_item(self, point: Point, parameters: Array) -> Array:
        """Log density of each item, given shared coordinates, (n_items,)."""
        return self.coupled(point, parameters).by_item + self.of_coordinates(point)[0]

    def of_coordinates(self, point: Point) -> tuple[Array, Array]:
        """Log densities of single coordinates, summed for each item, and their derivatives."""
        value = np.zeros(len(point.own))
        derivative = np.zeros_like(point.own)
        for column, density in enumerate(self.densities()):
            if density is not None:
                added, derivative[:, column] = density.at(point.own[:, column])
                value += added
        return value, derivative

    def pulled_back(self, point: Point, parameters: Array, gradient: Array) -> tuple[float, Point]:
        """The coupled log density, and by coordinates its gradient plus one by parameters."""
        prior = self.coupled(point, parameters)
        n = len(point.shared)
        by_own, by_shared = self.coordinates.jacobian(point)
        both = gradient + prior.gradient
        own = np.einsum("jpk,jp->jk", by_own, both)
        shared = np.einsum("jpn,jp->n", by_shared, both)
        return prior.log_density, Point(own, shared + prior.by_hyper[2 - n :])

    def mean_gradient(
        self, points: list[Point], parameters: Array, gradients: Array
    ) -> tuple[float, Point]:
        """Means over some points of :meth:`pulled_back`."""
        parts = zip(points, parameters, gradients, strict=True)
        values, pulled = zip(*(self.pulled_back(*part) for part in parts), strict=True)
        means = [np.mean(part, axis=0) for part in zip(*pulled, strict=True)]
        return float(np.mean(values)), Point(*means)

    def described(self, shared: Array) -> dict[str, Any]:
        """The prior for the settings of a result, given shared coordinates."""
        prior = self.prior
        if not isinstance(prior, ItemDistribution):
            return prior.described()
        location = float(shared[0])
        slope = math.exp(shared[1])
        spread = prior.difficulty_spread * prior.slope / slope
        learned = replace(prior, slope=slope, difficulty=-location, difficulty_spread=spread)
        return learned.described()


def target_of(
    model: ModelName,
    prior: WeakPrior | ItemPrior | ItemDistribution,
    slope: Array,
    n_respondents: int,
) -> Target:
    """Target for a prior. ``slope`` has the signs if the prior is on the size of slopes.

    Raises
    ------
    ValueError
        If the prior leaves a parameter without a density.
    """
    learns = not isinstance(prior, ItemPrior)
    curve: Curve = "sinh" if learns else "linear"
    many = len(slope) > 2 * n_respondents  # m is then certain, and intercepts are measured from m·a
    bend = prior.bend if isinstance(prior, ItemDistribution) else 1.0
    coordinates = Coordinates(model, len(slope), curve, learns, learns and many, bend)
    target = Target(coordinates, prior)
    target.densities()  # raises where one is missing
    return target


def _given(prior: ItemPrior, name: str, *, exponential: bool = False) -> OfCoordinate:
    density = getattr(prior, name)
    if density is None:
        raise ValueError(
            f"method='vi' needs a proper prior, and this one has {name}=None. Use prior='weak'"
        )
    return OfCoordinate(density, exponential)
