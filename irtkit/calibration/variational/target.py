"""The prior of the items in the guide's coordinates.

Most of it are densities of one coordinate of one item, whose expectations under a normal guide are
integrals over one variable, taken by Gauss–Hermite quadrature; minus the expected second
derivative comes from the gradient (Stein 1981). What concerns several parameters at once,
intercepts around a common location, is taken at each point, with the terms that maximisation has.

A learned distribution is held as it was learned, items integrated out by quadrature; only its
location and scale stay free, as m and τ. Expectations under the guide would not teach better: its
spreads then follow the guide, which takes one sign of a slope and is normal where the posterior is
not, and slopes of a dozen respondents come out 3 to 5 % worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.expected import of_some
from irtkit.calibration.item_distribution import ItemDistribution
from irtkit.calibration.item_prior import ItemPrior, LogNormal
from irtkit.calibration.priors import AtPrior, Density, Hyper, WeakPrior
from irtkit.calibration.variational.coordinates import Coordinates, Curve, Point
from irtkit.irf import Items

if TYPE_CHECKING:
    from irtkit.irf import Array, ModelName

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_ITEMS_PER_RESPONDENT = 2
"""Items per respondent from which on intercepts are measured from m·a: with fewer m is so uncertain
that this would add to the spread of every intercept."""


class Expected(NamedTuple):
    """Expectation of a log density, its gradient and minus its curvature under a normal guide."""

    value: float
    gradient: Array
    """Shape (n_items, k)."""
    curvature: Array
    """Shape (n_items, k), none below 0."""


class OfCoordinate(NamedTuple):
    """Density of a coordinate u: of the parameter itself, or of a parameter e^u."""

    density: Density
    exponential: bool = False

    def at(self, u: Array) -> tuple[Array, Array]:
        """Log density at u, and its derivative."""
        x = np.exp(u) if self.exponential else u
        log_volume, by_volume = self.density.log_volume(x)
        value, derivative, _ = self.density.at(x)
        value, derivative = value + log_volume, derivative + by_volume
        return (value + u, derivative * x + 1) if self.exponential else (value, derivative)


@dataclass(frozen=True)
class Target:
    """A prior, and the coordinates that suit it."""

    coordinates: Coordinates
    prior: WeakPrior | ItemPrior | ItemDistribution

    def densities(self) -> list[OfCoordinate | None]:
        """Density of every own coordinate; None for intercepts around a common location."""
        prior, found = self.prior, list[OfCoordinate | None]()
        if not isinstance(prior, ItemPrior):
            found += (
                [None]
                if self.coordinates.common_slope
                else [OfCoordinate(prior.slope_density), None]
            )
            return found + ([OfCoordinate(prior.guessing_density)] if self._guesses else [])
        if not self.coordinates.common_slope:
            found.append(
                _given(prior, "discrimination", exponential=self.coordinates.curve == "exp")
            )
        found.append(_given(prior, "intercept"))
        return found + ([_given(prior, "guessing")] if self._guesses else [])

    @property
    def _guesses(self) -> bool:
        return self.coordinates.model == "3PL"

    def expected_prior(self, mean: Array, sd: Array) -> Expected:
        """Expectations of all that concerns one coordinate at a time; shapes (n_items, k)."""
        value, gradient, curvature = 0.0, np.zeros_like(mean), np.zeros_like(mean)
        for column, density in enumerate(self.densities()):
            if density is None:
                continue
            at = mean[:, column, None] + sd[:, column, None] * _NODES
            log_density, derivative = density.at(at)
            value += float((log_density @ _WEIGHTS).sum())
            gradient[:, column] = derivative @ _WEIGHTS
            # Stein 1981
            bend = -(derivative @ (_WEIGHTS * _NODES)) / np.maximum(sd[:, column], 1e-12)
            curvature[:, column] = np.maximum(bend, 0.0)
        return Expected(value, gradient, curvature)

    def coupled(self, point: Point, parameters: Array) -> AtPrior:
        """Log density of all else, by the parameters of items and by what they share."""
        coordinates, items = self.coordinates, Items(*parameters.T)
        if not isinstance(self.prior, ItemPrior):
            hyper = Hyper(float(point.shared[1]), float(point.shared[0]))
            return self.prior.coupled(items, hyper, common_slope=coordinates.common_slope)
        n, k = parameters.shape
        nothing = np.zeros((n, k)), np.zeros(2), np.zeros((n, k, k)), np.zeros((n, k, 2))
        found = AtPrior(0.0, *nothing, np.zeros((2, 2)), np.zeros(n))
        if not coordinates.common_slope:
            return found
        density, step = _given(self.prior, "discrimination", exponential=True), 1e-4
        value, derivative = density.at(point.shared)
        ends = [density.at(point.shared + e)[1] for e in (-step, step)]
        found.by_hyper[1] = derivative[0]
        found.corner[1, 1] = max(float(ends[0][0] - ends[1][0]) / (2 * step), 0.0)
        return found._replace(log_density=float(value[0]))

    def some(self, which: slice) -> Target:
        """The same of some items."""
        prior: Any = of_some(self.prior, which)
        return replace(self, coordinates=self.coordinates.some(which), prior=prior)

    def repeated(self, n: int) -> Target:
        """The same of every item ``n`` times in a row."""
        prior: Any = of_some(self.prior, np.repeat(np.arange(self.coordinates.n_items), n))
        return replace(self, coordinates=self.coordinates.repeated(n), prior=prior)

    def log_density(self, point: Point, parameters: Array) -> float:
        """Log density of all items and of what they share."""
        coupled = self.coupled(point, parameters).log_density
        return coupled + float(self._of_coordinates(point).sum())

    def by_item(self, point: Point, parameters: Array) -> Array:
        """Log density of every item by itself, given what items share, (n_items,)."""
        return self.coupled(point, parameters).by_item + self._of_coordinates(point)

    def _of_coordinates(self, point: Point) -> Array:
        """What concerns one coordinate at a time, (n_items,)."""
        found = np.zeros(len(point.own))
        for column, density in enumerate(self.densities()):
            if density is not None:
                found += density.at(point.own[:, column])[0]
        return found

    def pulled_back(self, point: Point, by_parameters: Array) -> Point:
        """Gradient by coordinates of the log prior plus what has a gradient by parameters."""
        coordinates = self.coordinates
        prior = self.coupled(point, coordinates.parameters(point))
        by_own, by_shared = coordinates.jacobian(point)
        both = by_parameters + prior.gradient
        own = np.einsum("jpk,jp->jk", by_own, both)
        for column, density in enumerate(self.densities()):
            if density is not None:
                own[:, column] += density.at(point.own[:, column])[1]
        shared = np.einsum("jpn,jp->n", by_shared, both)
        return Point(own, shared + prior.by_hyper[2 - len(shared) :])

    def described(self, shared: Array) -> dict[str, Any]:
        """Return the prior for the settings of a result, given what the items share."""
        prior = self.prior
        if not isinstance(prior, ItemDistribution):
            return prior.described()
        location, slope = float(shared[0]), math.exp(shared[1])
        spread = prior.difficulty_spread * prior.slope / slope
        found = replace(prior, slope=slope, difficulty=-location, difficulty_spread=spread)
        return found.described()


def target_of(
    model: ModelName,
    prior: WeakPrior | ItemPrior | ItemDistribution,
    slope: Array,
    n_respondents: int,
) -> Target:
    """Target for a prior; ``slope`` tells signs where the prior is on the size of slopes.

    Raises
    ------
    ValueError
        If the prior leaves a parameter without a density.
    """
    learns, sign = not isinstance(prior, ItemPrior), None
    curve: Curve = "sinh" if learns else "linear"
    if isinstance(prior, ItemPrior) and isinstance(prior.discrimination, LogNormal):
        curve, sign = "exp", np.where(slope < 0, -1.0, 1.0)
    many = len(slope) > _ITEMS_PER_RESPONDENT * n_respondents
    bend = prior.bend if isinstance(prior, ItemDistribution) else 1.0
    coordinates = Coordinates(model, len(slope), curve, learns, learns and many, sign, bend)
    target = Target(coordinates, prior)
    target.densities()
    if coordinates.common_slope and isinstance(prior, ItemPrior):
        _given(prior, "discrimination")
    return target


def _given(prior: ItemPrior, name: str, *, exponential: bool = False) -> OfCoordinate:
    density = getattr(prior, name)
    if density is None:
        raise ValueError(
            f"method='vi' needs a proper prior, and {name} of the prior is None; "
            "prior='weak' has all that is needed"
        )
    return OfCoordinate(density, exponential)
