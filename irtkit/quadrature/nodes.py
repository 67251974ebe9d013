"""Ability grid: fixed nodes, and nodes that follow the items.

The marginal likelihood integrates over ability by the trapezoid rule. A fixed grid has equally
spaced nodes. The adaptive grid spaces them by the width 1/√(1 + I(θ)) of a posterior at θ, where I
is the information of the items. It is dense where posteriors are narrow and sparse in the tails, so
that a wide range costs little.

The rule is equally spaced in a transform u of θ. It is accurate if posteriors are wide and the
transform smooth on the scale of one step of u. So the wanted width is first kept from rising faster
than at a fixed rate. Then dθ/du is made a sum of normal curves one step apart, whose exact integral
is θ(u). With spacing 1.1 posterior SDs the error for a normal posterior is about 2·exp(−2π²/1.1²) ≈
2e-7.

Item curves are far smoother in ability than the posterior of a respondent who answers a thousand
items. They are therefore computed at *curve points*, spaced by the steepness of the items, and
carried to the nodes by local polynomial interpolation. Its transpose carries back what items need,
which gives the gradient of the interpolated likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.irf import Items, curvatures, curves_of, level_information

if TYPE_CHECKING:
    from irtkit.irf import Array

HALF_WIDTH = 8.0  # SDs of N(0, 1) that are integrated over to each side: beyond lies 1e-15 of it.
STENCIL = 12
"""Curve points that an interpolated value is made of: the error falls with the twelfth power of
their spacing."""
_NODE_COUNTS = (32, 40, 48, 56, *(k * 2**p for p in range(4, 15) for k in (4, 5, 6, 7)))
"""Numbers of nodes in use.

They are few, for fits to share compiled programs, and divisible by 8. Six items with 10⁷ trials
each need 24,576, and twice as many to check them.
"""
_NORMAL = NormalDist()


@dataclass(frozen=True)
class _Tuned:
    """Where nodes and curve points lie, and at which abilities their widths are computed.

    The errors that follow from them stand above.
    """

    spacing: float = 1.1  # Spacing of adaptive nodes in posterior SDs; see the error above.
    # Spacing of the curve points of one response, in units of one over the steepness of the items.
    # With n responses of a respondent it is divided by n^(1/12), since the error of twelve points
    # goes with the twelfth power of the spacing. The sum of softplus over 5,000, 0.55 apart, is off
    # by about 1e-4 at any node, with signs that alternate, where abilities are.
    point_spacing: float = 1.12
    # Least steepness that curve points are placed for. The steepness of the items may be 0.
    least_steepness: float = 0.6
    # Of ability at which widths are computed: they rise by at most 0.02 per step.
    step: float = 0.1
    most_steps: int = 1024  # Most of these steps.
    # Most items that widths are computed from: drawn at random, 448 would err by 5 %.
    sampled_items: int = 512
    steepest: int = sampled_items // 8  # Of these, the steepest of all: one alone may decide.
    # Logits between two steps from which on an item gets points of its own: one of slope 5 does.
    steep: float = 0.5
    # Most that the wanted width rises per unit of ability: 0.22 per spacing, so that neighbouring
    # posteriors are alike.
    rate: float = 0.2
    # SD of the normal curves that dθ/du is made of, in steps of u: the ripple of their sum,
    # 2·exp(−2π²·1.2²), is 1e-12.
    smoothing: float = 1.2


_TUNED = _Tuned()


class Nodes(NamedTuple):
    """Nodes of the grid, and the points at which item curves are computed."""

    theta: Array
    log_width: Array  # Log width of the interval each node stands for; −inf marks padding.
    points: Array
    interpolation: Array | None
    """Shape (n_nodes, n_points): from curve points to nodes. None: the points are the nodes."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes without padding."""
        return int(np.isfinite(self.log_width).sum())

    @property
    def even(self) -> bool:
        """Whether nodes are equally spaced, as in a fixed grid."""
        return not self.log_width[np.isfinite(self.log_width)].any()

    def normal_log_weights(self, sd: float, mean: float = 0.0) -> Array:
        """Log weights of N(mean, sd²), scaled to sum to 1 on the grid (as mirt does)."""
        z = (self.theta - mean) / sd
        log_density = self.log_width - 0.5 * z**2
        log_density -= log_density.max()
        log_mass = np.log(np.exp(log_density).sum())
        return log_density - log_mass

    def log_share_of_normal(self, sd: float, mean: float = 0.0) -> tuple[float, float, float]:
        """Log share of N(mean, sd²) on equally spaced nodes, and derivatives by mean and log sd.

        It is Σₖ exp(−½z²), z = (θₖ − mean)/sd, over the nodes, divided by the same sum over
        infinitely many nodes. That sum is sd·√2π divided by the spacing if sd is at least the
        spacing (Poisson's formula, with a relative error of 2·exp(−2π²), 5e-9).
        """
        theta = self.theta[np.isfinite(self.log_width)] - mean
        step = float(theta[1] - theta[0])
        if sd < step:  # beyond ten steps lies e⁻⁵⁰
            around = step * np.arange(-10, 11)
            whole = _log_sum(theta[0] % step + around, sd)
        else:
            log_steps = np.log(sd / step)
            log_root = 0.5 * np.log(2 * np.pi)
            log_whole = log_steps + log_root
            whole = np.array([log_whole, 0.0, 1.0])
        share = _log_sum(theta, sd) - whole
        log_share, by_mean, by_log_sd = share.tolist()
        return log_share, by_mean, by_log_sd

    def interpolated(self, at_points: Any) -> Any:
        """Interpolate values at the curve points (first axis) to the nodes."""
        if self.interpolation is None:
            return at_points
        return self.interpolation.astype(at_points.dtype) @ at_points

    def gathered(self, at_nodes: Any) -> Any:
        """Carry masses at nodes (first axis) to the points: the transpose of interpolation."""
        if self.interpolation is None:
            return at_nodes
        return self.interpolation.T.astype(at_nodes.dtype) @ at_nodes


def fixed_nodes(n_nodes: int, limit: float) -> Nodes:
    """Equally spaced nodes from −limit to limit, padded to a multiple of 16."""
    theta = np.linspace(-limit, limit, n_nodes)
    padding = -n_nodes % 16
    padded = np.pad(theta, (0, padding), constant_values=limit)
    log_width = np.pad(np.zeros(n_nodes), (0, padding), constant_values=-np.inf)
    return Nodes(padded, log_width, padded, None)


def _log_sum(theta: Array, sd: float) -> Array:
    """Return log Σₖ exp(−½(θₖ/sd)²), and its derivatives by a shift of θ and by log sd, (3,)."""
    z = theta / sd
    squares = z**2
    least = squares.min()
    weights = np.exp(-0.5 * (squares - least))
    total = weights.sum()
    log_total = np.log(total) - 0.5 * least
    by_mean = weights @ z / (total * sd)
    by_log_sd = weights @ squares / total
    return np.array([log_total, by_mean, by_log_sd])


@dataclass(frozen=True)
class NodeDensity:
    """How dense nodes and curve points must be at each ability.

    ``width`` holds the posterior SD for the nodes, and one over the steepness of item curves for
    the points, neither rising faster than at a fixed rate.
    """

    theta: Array
    width: Array  # Shape (2, n).
    n_responses: float  # Most that one respondent gave.
    share: float
    """Share of curve points in nodes below which interpolation spares more than it costs."""
    half_width: float  # SDs of ability to either side of its mean.

    @classmethod
    def of(
        cls,
        items: Items,
        half_width: float,
        answered: float = 1.0,
        copies: Array | None = None,
        *,
        share: float = 0.0,
        precision: float = 1.0,
    ) -> NodeDensity:
        """Density for items over [−half_width, half_width].

        A respondent gives at most ``answered`` responses per item, more than one if trials are
        repeated. ``copies`` is how many items share each column, and ``precision`` one over the
        least variance of ability. With very many items the steepest, and every k-th other, are
        enough.
        """
        n_items = len(items.slope)
        copies = np.ones(n_items) if copies is None else copies
        if items.levels is not None:  # which are not interpolated
            theta = _abilities(items.thresholds, half_width)
            n_levels = items.levels.scores.shape[1]
            information = np.zeros_like(theta)
            for part in blocks(n_items, n_levels**2 * len(theta), 2**20):
                information += level_information(items.chosen(part), theta).sum(axis=0)
            steepness = np.ones_like(theta)
        else:
            sample, stand_for = _sampled(items, copies)
            theta = _abilities(sample, half_width)
            information, steepness = _curves(sample, stand_for, theta)
        of_posterior = precision + answered * information
        posterior_sd = 1 / np.sqrt(of_posterior)
        width_of_curves = 1 / np.maximum(steepness, _TUNED.least_steepness)
        width = np.stack([posterior_sd, width_of_curves])
        rise = _TUNED.rate * theta
        for towards in (1, -1):  # the width may not rise faster, to the right and to the left
            rise_along = towards * rise
            along = (width - rise_along)[:, ::towards]
            narrowest = np.minimum.accumulate(along, axis=1)
            width = narrowest[:, ::towards] + rise_along
        n_responses = answered * float(copies.sum())
        return cls(theta, width, n_responses, share, half_width)

    def moved(self, mean: float, sd: float) -> NodeDensity:
        """Return the density where ability is measured from −mean/sd in units of 1/sd."""
        theta = mean + sd * self.theta
        return replace(self, theta=theta, width=sd * self.width)

    def too_coarse_for(self, needed: NodeDensity, factor: float) -> bool:
        """Whether nodes or points would have to be closer by a factor than these."""
        widths = [np.interp(needed.theta, self.theta, width) for width in self.width]
        too_wide = needed.width * factor < np.stack(widths)
        return bool(too_wide.any())

    def nodes(
        self, refined: int = 1, points_refined: int = 1, *, interpolates: bool = True
    ) -> Nodes:
        """Nodes and curve points, each a number of times as dense as needed.

        The nodes themselves are the points unless less than a share as many points suffice.
        """
        theta, log_width = self._placed(0, _TUNED.spacing / refined, refined)
        if interpolates and self.share:
            spacing = _TUNED.point_spacing / self.n_responses ** (1 / STENCIL)
            points, _ = self._placed(1, spacing / points_refined, points_refined)
            if len(points) <= self.share * len(theta):
                return Nodes(theta, log_width, points, local_interpolation(theta, points))
        return Nodes(theta, log_width, theta, None)

    def _placed(self, row: int, spacing: float, refine: int) -> tuple[Array, Array]:
        """Points that follow a width, and the log width of the interval each stands for.

        The transform is smooth on the scale of a step before refinement.
        """
        at = self.theta
        width = self.width[row]
        density = 1 / width
        between = density[1:] + density[:-1]
        distance = np.diff(at)
        steps = np.cumsum(between * distance) / (2 * spacing)
        n_steps = steps[-1]
        count = next((k for k in _NODE_COUNTS if k >= n_steps + 1), _NODE_COUNTS[-1])
        stretch = (count - 1) / n_steps
        u = np.concatenate([[0.0], steps * stretch])
        inner = np.interp(np.arange(count), u, at)
        step = spacing * n_steps / (count - 1)
        rough = np.interp(inner, at, width) * step
        margin = int(np.ceil(7 * _TUNED.smoothing)) * refine
        rough = np.pad(rough, margin, mode="edge")
        sd = _TUNED.smoothing * refine
        around = np.arange(-margin, margin + 1)
        offset = around / sd
        area = sd * np.sqrt(2 * np.pi)
        curve = np.exp(-0.5 * offset**2) / area
        smooth = np.convolve(rough, curve, mode="valid")
        # θ(u) is the integral of the same curves: of those left behind, all; of those ahead, none
        passed = np.concatenate([[0.0], np.cumsum(rough)])
        behind = [_NORMAL.cdf(place) for place in offset]
        left_behind = np.convolve(rough, behind, mode="valid")
        theta = passed[:count] + left_behind
        centre = (theta[0] + theta[-1]) / 2
        middle = (at[0] + at[-1]) / 2
        return theta - centre + middle, np.log(smooth)


def _sampled(items: Items, copies: Array) -> tuple[Items, Array]:
    """Some of very many items, and how many each stands for, in any order of columns."""
    if len(copies) <= _TUNED.sampled_items:
        return items, copies
    size = np.abs(items.slope)
    order = np.lexsort((items.intercept, -size))
    others = order[_TUNED.steepest :]
    n_sampled = _TUNED.sampled_items - _TUNED.steepest
    every = -(-len(others) // n_sampled)
    sampled = others[::every]
    chosen = np.concatenate([order[: _TUNED.steepest], sampled])
    stand_for = copies[chosen]
    each_for = copies[others].sum() / copies[sampled].sum()
    stand_for[_TUNED.steepest :] *= each_for
    return items.chosen(chosen), stand_for


def _abilities(items: Items, half_width: float) -> Array:
    """Equal steps over [−half_width, half_width], and more around items too steep for them."""
    n_steps = int(2 * half_width / _TUNED.step)
    n_points = min(n_steps + 1, _TUNED.most_steps)
    even = np.linspace(-half_width, half_width, n_points)
    step = even[1] - even[0]
    steep = np.abs(items.slope) * step > _TUNED.steep
    if not steep.any():
        return even
    slope = items.slope[steep]
    logits = np.array([-4.0, -1.5, 0.0, 1.5, 4.0])
    around = np.multiply.outer(logits, 1 / slope)
    around -= items.intercept[steep] / slope
    inside = np.abs(around) < half_width
    extra = np.unique(around[inside])
    every = max(-(-len(extra) // _TUNED.most_steps), 1)
    return np.union1d(even, extra[::every])


@np.errstate(over="ignore", under="ignore")
def _curves(items: Items, stand_for: Array, theta: Array) -> Array:
    """Information of all items together at each ability, and their steepness there, (2, n).

    The steepness is a mean of slopes close to the largest relevant slope: (Σ I |a|⁸ / Σ I)^⅛ with
    the information I = a² (s/P)² P(1 − P) of every item. In 32 bits: it only says where nodes go.
    """
    steepest = max(float(np.abs(items.slope).max()), 1e-3)
    logits = items.logit_guessing
    if logits is not None:
        logits = np.maximum(logits, -60.0)  # above 0 in 32 bits
    arrays = (items.slope, items.intercept, logits)
    narrow = Items(*(None if array is None else array.astype(np.float32) for array in arrays))
    at: Any = theta.astype(np.float32)
    weights = stand_for.astype(np.float32)
    response: Any = np.float32(1)
    sums = np.zeros((2, len(theta)))
    for part in blocks(len(items.slope), len(theta)):
        of_part = narrow.chosen(part)
        by_logit = curvatures(curves_of(of_part, at), response)[0]
        share = np.maximum(by_logit, 0)  # but for rounding
        square = (of_part.slope / np.float32(steepest)) ** 2
        powers = np.stack([square, square**5])
        sums += (powers * weights[part]) @ share
    information, of_steepness = sums * steepest**2
    mean_power = of_steepness / (information + 1e-9)
    steepness = steepest * mean_power**0.125
    return np.stack([information, steepness])


def local_interpolation(theta: Array, points: Array) -> Array:
    """Matrix of Lagrange interpolation at θ from the nearest points."""
    nearest = np.searchsorted(points, theta) - STENCIL // 2
    first = np.clip(nearest, 0, len(points) - STENCIL)
    columns = first[:, None] + np.arange(STENCIL)
    matrix = np.zeros((len(theta), len(points)))
    np.put_along_axis(matrix, columns, lagrange_weights(points[columns], theta), axis=1)
    return matrix


def lagrange_weights(points: Array, at: Array) -> Array:
    """Weights of the values at some points, (n, n_points), in that of their polynomial, (n,)."""
    own = np.eye(points.shape[1], dtype=bool)
    distance = np.where(own, 1.0, points[:, :, None] - points[:, None])
    factors = (at[:, None, None] - points[:, None]) / distance
    return np.where(own, 1.0, factors).prod(axis=2)
