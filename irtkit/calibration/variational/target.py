"""The prior of the items in the guide's coordinates.

All its parts but the common location are functions of one coordinate of one item, so that their
expectations under a normal guide are integrals over one variable, taken by Gauss–Hermite
quadrature; minus the expected second derivative comes from the gradient (Stein 1981).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.priors import Beta, ItemPrior, LogNormal, Normal, WeakPrior
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
_LEAST_SPREAD, _LEAST_TOLD, _LONGEST_STEP = 0.02, 0.05, 0.3
"""Of a learned spread: its least value, the least share told, the longest step of its logarithm."""
_ITEMS_PER_RESPONDENT = 2
"""Items per respondent from which on intercepts are measured from m·a."""


@dataclass(frozen=True)
class LearnedPrior:
    """Distribution of items of which all numbers are learned from the matrix.

    Slopes a/τ are N(1, ``spread``²) or, an ``inverted`` share of them, N(−1, ``spread``²);
    intercepts d − m·a are N(0, ``intercept_spread``²); guessing is Beta(5, 17). τ and m have the
    wide priors of the weak prior.
    """

    spread: float = 0.4
    inverted: float = 0.02
    intercept_spread: float = 1.5
    guessing_alpha: float = 5.0
    guessing_beta: float = 17.0
    log_scale_sd: float = 1.0
    location_sd: float = 5.0

    def change_from(self, before: object) -> float:
        """Largest relative change of the spreads since another one."""
        if not isinstance(before, LearnedPrior):
            return math.inf
        spreads = (self.spread / before.spread, self.intercept_spread / before.intercept_spread)
        return max(abs(math.log(ratio)) for ratio in spreads)

    def described(self) -> dict[str, Any]:
        """Return what was learned, for the settings of a result."""
        return {"kind": "empirical", **asdict(self)}


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
    prior: WeakPrior | ItemPrior | LearnedPrior

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
                slope = TwoSidedDensity(prior.spread, prior.inverted)
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
        for k, sd in enumerate((prior.location_sd, prior.log_scale_sd)):
            wide = NormalDensity(0.0, sd)
            value += float(wide.log_density(point.shared[[k]])[0])
            shared[k] = wide.slope(point.shared[[k]])[0]
        slope, by_u, _ = self.coordinates.slopes(point)
        column = self.coordinates.n_own - self.coordinates.n_parameters + 1
        location = 0.0 if self.coordinates.intercepts_move else point.shared[0]
        around = NormalDensity(0.0, prior.intercept_spread)
        residual = point.own[:, column] - location * slope
        value += float(around.log_density(residual).sum())
        pull = around.slope(residual)
        own[:, column] = pull
        by_slope = -location * pull
        if isinstance(prior, WeakPrior) and not self.coordinates.common_slope:
            steep, by_steep = _steep(prior, slope)
            value += steep
            by_slope = by_slope + by_steep
        if column:
            own[:, 0] = by_slope * by_u
        by_location = 0.0 if self.coordinates.intercepts_move else -pull @ slope
        shared += np.array([by_location, by_slope @ slope])
        return value, Point(own, shared)

    def location_curvature(self, point: Point) -> tuple[Array, Array, Array]:
        """Minus its curvature: own (n_items, k, k), cross (n_items, k, n), shared (n, n)."""
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
        whole = moves[:, :, None] * moves[:, None, :] / prior.intercept_spread**2
        shared = whole[:, k:, k:].sum(axis=0)
        shared += np.diag([prior.location_sd**-2.0, prior.log_scale_sd**-2.0])
        return whole[:, :k, :k], whole[:, :k, k:], shared

    def learned(self, mean: Point, sd: Array, residual_square: float) -> LearnedPrior | None:
        """Return a likelier prior, where the prior is learned.

        ``residual_square`` is the mean of (d − m·a)².
        """
        prior = self.prior
        if not isinstance(prior, LearnedPrior):
            return None
        intercepts = _likelier(prior.intercept_spread, math.sqrt(residual_square), sd[:, 1])
        at = mean.own[:, 0, None] + sd[:, 0, None] * _NODES
        turned = TwoSidedDensity(prior.spread, prior.inverted).share_inverted(at)
        square = (1 - turned) * (at - 1) ** 2 + turned * (at + 1) ** 2
        spread = math.sqrt(float((square @ _WEIGHTS).mean()))
        spread = _likelier(prior.spread, spread, sd[:, 0])
        share = float((turned @ _WEIGHTS).mean())
        least = 0.5 / self.coordinates.n_items
        return LearnedPrior(spread, min(max(share, least), 0.5), intercepts)


def _likelier(before: float, step: float, sd: Array) -> float:
    """Spread of a normal prior after a Fisher-scoring step in its logarithm.

    ``step`` is where an EM step leads. What an item with a normal likelihood and posterior SD v
    tells of a spread s is the share (1 − v²/s²)² of what it would were it known, so that EM steps
    are too short by that factor (Dempster, Laird & Rubin 1977).
    """
    told = float(np.mean(np.maximum(1 - (sd / before) ** 2, 0.0) ** 2))
    change = math.log(step / before) / max(told, _LEAST_TOLD)
    return max(before * math.exp(min(max(change, -_LONGEST_STEP), _LONGEST_STEP)), _LEAST_SPREAD)


def target_of(
    model: ModelName,
    prior: WeakPrior | ItemPrior | LearnedPrior,
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
    curve: Curve = "sinh" if isinstance(prior, WeakPrior) else "linear"
    if isinstance(prior, ItemPrior) and isinstance(prior.discrimination, LogNormal):
        curve, sign = "exp", np.where(slope < 0, -1.0, 1.0)
    many = len(slope) > _ITEMS_PER_RESPONDENT * n_respondents
    coordinates = Coordinates(model, len(slope), curve, learns, learns and many, sign)
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


def _steep(prior: WeakPrior, slope: Array) -> tuple[float, Array]:
    """Log density of slopes beyond the weak prior's limit, up to a constant, and its gradient."""
    size = np.maximum(np.abs(slope), prior.steep)
    beyond = np.log(size / prior.steep)
    gradient = -beyond / prior.steep_spread**2 * np.sign(slope) / size
    return float(-0.5 * (beyond**2).sum() / prior.steep_spread**2), gradient


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


def _of_guessing(prior: WeakPrior | ItemPrior | LearnedPrior) -> Density:
    if not isinstance(prior, ItemPrior):
        return LogitBetaDensity(prior.guessing_alpha, prior.guessing_beta)
    if isinstance(prior.guessing, Beta):
        return LogitBetaDensity(prior.guessing.alpha, prior.guessing.beta)
    return _given(prior.guessing, "guessing")
