"""The prior of the items in the guide's coordinates.

All its parts but that of intercepts are functions of one coordinate of one item, so that their
expectations under a normal guide are integrals over one variable, taken by Gauss–Hermite
quadrature; minus the expected second derivative comes from the gradient (Stein 1981). Intercepts
lie around a common location, and a learned distribution spreads them with the slope; of its mean,
what has nothing to do with the slope has the sign of the slope at each point.

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

from irtkit.calibration.item_distribution import ItemDistribution
from irtkit.calibration.priors import (
    Beta,
    ItemPrior,
    LogNormal,
    Normal,
    WeakPrior,
    described_prior,
    steep_term,
)
from irtkit.calibration.variational.coordinates import Coordinates, Curve, Point
from irtkit.calibration.variational.densities import (
    Density,
    LogitBetaDensity,
    LogOfNormalDensity,
    NormalDensity,
    StudentDensity,
    TwoSidedDensity,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

_HERMITE = 15
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_HERMITE)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_ITEMS_PER_RESPONDENT = 2
"""Items per respondent from which on intercepts are measured from m·a."""


class Expected(NamedTuple):
    """Expectation of a log density, its gradient and minus its curvature under a normal guide."""

    value: float
    gradient: Array
    """Shape (n_items, k)."""
    curvature: Array
    """Shape (n_items, k), none below 0."""


@dataclass(frozen=True)
class Target:
    """A prior, and the coordinates that suit it."""

    coordinates: Coordinates
    prior: WeakPrior | ItemPrior | ItemDistribution

    def densities(self) -> list[Density | None]:
        """Density of every own coordinate; None for intercepts around a common location."""
        prior, kinds = self.prior, list[Density | None]()
        if isinstance(prior, ItemPrior):
            if not self.coordinates.common_slope:
                kinds.append(_of_item_slope(prior))
            kinds.append(_given(prior.intercept, "intercept"))
        else:
            if isinstance(prior, WeakPrior):
                centre = math.asinh(1.0)
                slope: Density = StudentDensity(centre, prior.slope_spread, prior.slope_df)
            else:
                slope = TwoSidedDensity(prior.centre, prior.log_slope_spread, prior.inverted)
            kinds += [None] if self.coordinates.common_slope else [slope, None]
        if self.coordinates.model == "3PL":
            kinds.append(_of_guessing(prior))
        return kinds

    def expected_prior(self, mean: Array, sd: Array) -> Expected:
        """Expectations of all that concerns one coordinate at a time; shapes (n_items, k)."""
        value, gradient, curvature = 0.0, np.zeros_like(mean), np.zeros_like(mean)
        for column, density in enumerate(self.densities()):
            if density is None:
                continue
            at = mean[:, column, None] + sd[:, column, None] * _NODES
            value += float((density.log_density(at) @ _WEIGHTS).sum())
            slope = density.slope(at)
            gradient[:, column] = slope @ _WEIGHTS
            bend = -(slope @ (_WEIGHTS * _NODES)) / np.maximum(sd[:, column], 1e-12)  # Stein 1981
            curvature[:, column] = np.maximum(bend, 0.0)
        return Expected(value, gradient, curvature)

    def location_prior(self, point: Point) -> tuple[float, Point]:
        """Log density of intercepts around m·a, and of what is shared; its gradient."""
        own, shared = np.zeros_like(point.own), np.zeros_like(point.shared)
        value = 0.0
        prior = self.prior
        if isinstance(prior, ItemPrior):
            if self.coordinates.common_slope:
                density = _of_common_slope(prior)
                value = float(density.log_density(point.shared).sum())
                shared[:] = density.slope(point.shared)
            return value, Point(own, shared)
        weak = _weak_beside(prior)
        for k, sd in enumerate((weak.location_sd, weak.log_scale_sd)):
            wide = NormalDensity(0.0, sd)
            value += float(wide.log_density(point.shared[[k]])[0])
            shared[k] = wide.slope(point.shared[[k]])[0]
        slope, by_u, _ = self.coordinates.slopes(point)
        column = self.coordinates.n_own - self.coordinates.n_parameters + 1
        location = 0.0 if self.coordinates.intercepts_move else point.shared[0]
        variance, rise = self._intercept_variance(point)
        residual = point.own[:, column] - location * slope
        if isinstance(prior, ItemDistribution):
            residual -= prior.intercept * np.sign(slope)
        square = residual**2 / variance
        value -= 0.5 * float((square + np.log(2 * math.pi * variance)).sum())
        pull = -residual / variance
        own[:, column] = pull
        by_slope = -location * pull
        if not self.coordinates.common_slope:
            limit = steep_term(slope, weak.steep, weak.steep_spread)
            value += float(limit.log_density.sum())
            by_slope = by_slope + limit.slope * limit.by_item[0]
        if column:
            own[:, 0] = by_slope * by_u + 0.5 * rise * (square - 1)
        by_location = 0.0 if self.coordinates.intercepts_move else -pull @ slope
        shared += np.array([by_location, by_slope @ slope])
        return value, Point(own, shared)

    def location_curvature(self, point: Point) -> tuple[Array, Array, Array]:
        """Minus its curvature: own (n_items, k, k), cross (n_items, k, n), shared (n, n).

        Expected over intercepts as the prior has them, so that it is never below 0.
        """
        k, n, prior = self.coordinates.n_own, self.coordinates.n_shared, self.prior
        if isinstance(prior, ItemPrior):
            shared = np.eye(n)
            if self.coordinates.common_slope:
                step = 1e-4
                density = _of_common_slope(prior)
                ends = [density.slope(point.shared + e) for e in (-step, step)]
                shared = np.maximum((ends[0] - ends[1]) / (2 * step), 0.0).reshape(1, 1)
            return (
                np.zeros((self.coordinates.n_items, k, k)),
                np.zeros((self.coordinates.n_items, k, n)),
                shared,
            )
        slope, by_u, _ = self.coordinates.slopes(point)
        column = k - self.coordinates.n_parameters + 1
        moves = np.zeros((self.coordinates.n_items, k + n))
        moves[:, column] = 1.0
        if not self.coordinates.intercepts_move:
            location = point.shared[0]
            if column:
                moves[:, 0] = -location * by_u
            moves[:, k], moves[:, k + 1] = -slope, -location * slope
        variance, rise = self._intercept_variance(point)
        whole = moves[:, :, None] * moves[:, None, :] / variance[:, None, None]
        if column:
            whole[:, 0, 0] += 0.5 * rise**2
        shared = whole[:, k:, k:].sum(axis=0)
        weak = _weak_beside(prior)
        shared += np.diag([weak.location_sd**-2.0, weak.log_scale_sd**-2.0])
        return whole[:, :k, :k], whole[:, :k, k:], shared

    def described(self, shared: Array) -> dict[str, Any] | None:
        """Return the prior for the settings of a result, given what the items share."""
        prior = self.prior
        if not isinstance(prior, ItemDistribution):
            return described_prior(prior)
        location, slope = float(shared[0]), math.exp(shared[1])
        spread = prior.difficulty_spread * prior.slope / slope
        found = replace(prior, slope=slope, difficulty=-location, difficulty_spread=spread)
        return found.described()

    def _intercept_variance(self, point: Point) -> tuple[Array, Array]:
        """Variance V of intercepts around m·a, and the derivative of log V by the slope's u."""
        prior = self.prior
        if not isinstance(prior, ItemDistribution):
            spread, nothing = _weak_beside(prior).intercept_spread, np.zeros(len(point.own))
            return spread**2 + nothing, nothing
        slope, by_u, _ = self.coordinates.slopes(point)
        unit = prior.slope / self.coordinates.scale(point)
        variance = prior.variance(unit * slope)
        return variance, 2 * (prior.difficulty_spread * unit) ** 2 * slope * by_u / variance


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
        _of_common_slope(prior)
    return target


def proper(prior: WeakPrior | ItemPrior | None) -> WeakPrior | ItemPrior:
    """Return the prior if there is one.

    Raises
    ------
    ValueError
        If there is none: the posterior of a separable item would have no finite spread.
    """
    if prior is None:
        raise ValueError(
            "method='vi' needs a prior, and prior is None; prior='weak' leaves scale and "
            "location free"
        )
    return prior


def _weak_beside(prior: WeakPrior | ItemPrior | ItemDistribution) -> WeakPrior:
    """Weak prior of what a learned distribution does not speak of."""
    return prior if isinstance(prior, WeakPrior) else WeakPrior()


def _given(density: Normal | None, name: str) -> NormalDensity:
    if density is None:
        raise ValueError(
            f"method='vi' needs a proper prior, and {name} of the prior is None; "
            "prior='weak' has all that is needed"
        )
    return NormalDensity(density.mean, density.sd)


def _of_item_slope(prior: ItemPrior) -> Density:
    density = prior.discrimination
    if isinstance(density, LogNormal):
        return NormalDensity(density.mean, density.sd)
    return _given(density, "discrimination")


def _of_common_slope(prior: ItemPrior) -> Density:
    density = prior.discrimination
    if isinstance(density, Normal):
        return LogOfNormalDensity(NormalDensity(density.mean, density.sd))
    return _of_item_slope(prior)


def _of_guessing(prior: WeakPrior | ItemPrior | ItemDistribution) -> Density:
    if not isinstance(prior, ItemPrior):
        weak = _weak_beside(prior)
        return LogitBetaDensity(weak.guessing_alpha, weak.guessing_beta)
    if isinstance(prior.guessing, Beta):
        return LogitBetaDensity(prior.guessing.alpha, prior.guessing.beta)
    return _given(prior.guessing, "guessing")
