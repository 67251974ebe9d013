"""The guide: a normal distribution over the coordinates of all items at once.

Items share a dozen quantities: the shared coordinates and shifts of all abilities. Given these they
are independent. Own coordinates are mean − loading·s + L·e with s ~ N(0, common) and e ~ N(0, 1).
The covariance is blocks plus low rank, in time linear in the items. Abilities are not part of the
guide: the bound integrates over their posterior given the items.

The covariance is the inverse of the expected information (Louis 1982, see
:mod:`irtkit.calibration.standard_errors`) minus the expected second derivative of the log prior.
There a normal approximation is stationary (Opper & Archambeau 2009).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.standard_errors import System, minus_missing_information
from irtkit.calibration.variational.target import Point
from irtkit.irf import outer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration.variational.target import Target
    from irtkit.irf import Array

_LEAST_INFORMATION = 1e-3
"""Least eigenvalue of the information of an item, relative to its diagonal."""
_ROUNDING = 1e-12
"""Least eigenvalue of any information: sums of 5,000 terms are off by as many times 2e-16."""


class Guide(NamedTuple):
    """A normal distribution of items."""

    own: Array
    """Means of own coordinates, (n_items, k)."""
    shared: Array
    """Means of shared coordinates, (n,)."""
    factor: Array
    """Cholesky factors L of the covariances of items, given what is shared, (n_items, k, k)."""
    loading: Array
    """How items follow shared coordinates and shifts, (n_items, k, r)."""
    common: Array
    """Covariance of shared coordinates (the first n) and shifts, (r, r)."""

    @property
    def mean(self) -> Point:
        """The mean as a point."""
        return Point(self.own, self.shared)

    def moved(self, step: Point, rate: float = 1.0) -> Guide:
        """Return the guide with its mean moved by part of a step."""
        own = self.own + rate * step.own
        return self._replace(own=own, shared=self.shared + rate * step.shared)

    def at(self, own: Array, common: Array) -> Point:
        """Point at standard normal deviates of items, (n_items, k), and of s, (r,)."""
        s = self.common_root() @ common
        moved = np.einsum("jkl,jl->jk", self.factor, own) - self.loading @ s
        return Point(self.own + moved, self.shared + s[: len(self.shared)])

    def deviates(self, seed: int) -> Iterator[tuple[Array, Array]]:
        """Pairs of opposite deviates for :meth:`at`, the same for all guides of this shape.

        Those of each item are ±√k times randomly rotated axes, and those of what is shared are the
        rows of a matrix with orthogonal columns. The mean over all is exact for cubics of one item,
        and for cubics of what is shared.
        """
        generator = np.random.default_rng([seed, 0])
        n_items, k = self.own.shape
        r = len(self.common)
        n_rotations = -(-r // k)
        n_pairs = n_rotations * k
        square = np.linalg.qr(generator.normal(size=(n_pairs, n_pairs)))[0]
        shared = square[:, :r] * math.sqrt(n_pairs)
        for first in range(0, n_pairs, k):
            turned = _rotations(generator, n_items, k) * math.sqrt(k)
            for axis in range(k):
                own = turned[:, :, axis]
                common = shared[first + axis]
                yield own, common
                yield -own, -common

    def points(self, seed: int) -> list[Point]:
        """Points over which expectations are means."""
        return [self.at(*pair) for pair in self.deviates(seed)]

    def common_root(self) -> Array:
        """Symmetric square root of the covariance of what is shared."""
        values, vectors = np.linalg.eigh(self.common)
        return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    def own_covariance(self) -> Array:
        """Covariance of own coordinates of each item, (n_items, k, k)."""
        shared = (self.loading @ self.common) @ self.loading.transpose(0, 2, 1)
        return self.factor @ self.factor.transpose(0, 2, 1) + shared

    def sds(self) -> Array:
        """SDs of own coordinates, (n_items, k)."""
        return np.sqrt(np.einsum("jkk->jk", self.own_covariance()))

    def entropy(self) -> float:
        """Differential entropy in nats."""
        n = len(self.shared)
        size = self.mean.size
        head = self.common[:n, :n]
        side = self.common[:n, n:]
        # covariance of shifts given what is shared, and the loading in units of the factors
        explained = side.T @ np.linalg.solve(head, side)
        rest = self.common[n:, n:] - explained
        inner = np.linalg.solve(self.factor, self.loading[:, :, n:])
        inner = inner.reshape(self.own.size, -1)
        total = 0.5 * size * (1 + math.log(2 * math.pi))
        total += np.log(np.einsum("jkk->jk", self.factor)).sum()
        total += 0.5 * np.linalg.slogdet(head)[1]
        whole = np.eye(len(rest)) + rest @ inner.T @ inner
        return float(total + 0.5 * np.linalg.slogdet(whole)[1])

    def around(self, seed: int) -> list[Point]:
        """The same without changes of what is shared."""
        nothing = np.zeros(len(self.common))
        return [self.at(own, nothing) for own, _ in self.deviates(seed)]

    def natural(self, gradient: Point) -> Point:
        """Natural gradient: the covariance times a gradient."""
        pull = -np.einsum("jkr,jk->r", self.loading, gradient.own)
        pull[: len(self.shared)] += gradient.shared
        s = self.common @ pull
        along = np.einsum("jlk,jl->jk", self.factor, gradient.own)
        own = np.einsum("jkl,jl->jk", self.factor, along) - self.loading @ s
        return Point(own, s[: len(self.shared)])


class Information(NamedTuple):
    """Arrowhead information about own coordinates, and about shared ones and shifts of ability.

    Priors of single coordinates are left out.
    """

    item_blocks: Array
    """Shape (n_items, k, k)."""
    missing: Array
    """The part of it that is missing as abilities are not observed."""
    coupling: Array
    """Shape (n_items, k, r)."""
    common_block: Array
    """Shape (r, r)."""


def information_at(target: Target, points: list[Point], systems: list[System]) -> Information:
    """Mean information of likelihood and coupled prior over points, with ``systems`` by point."""
    by_point = [_information(target, *pair) for pair in zip(points, systems, strict=True)]
    of_parts = zip(*by_point, strict=True)
    return Information(*(sum(parts) / len(by_point) for parts in of_parts))


def _information(target: Target, point: Point, system: System) -> Information:
    coordinates = target.coordinates
    n = coordinates.n_shared
    by_own, by_shared = coordinates.jacobian(point)
    back = by_own.transpose(0, 2, 1)
    prior = target.coupled(point, coordinates.parameters(point))
    blocks = system.item_blocks + prior.blocks
    hyper = slice(2 - n, 2)
    border = prior.border[:, :, hyper]
    with_hyper = blocks @ by_shared + border
    corner = np.einsum("jkr,jks->rs", by_shared, with_hyper)
    corner += prior.corner[hyper, hyper]
    corner += np.einsum("jkr,jks->rs", border, by_shared)
    beside = np.einsum("jkr,jks->rs", by_shared, system.coupling)
    return Information(
        back @ blocks @ by_own,
        back @ system.missing_information @ by_own,
        back @ np.concatenate([with_hyper, system.coupling], axis=2),
        np.block([[corner, beside], [beside.T, system.common_block]]),
    )


def guide_of(
    target: Target, mean: Point, information: Information, by_slope: Array, by_prior: Array
) -> Guide:
    """The guide around a mean.

    Parameters
    ----------
    information
        Expected information about the items.
    by_slope
        Gradient of the likelihood by the slope of each item, whose coordinate is not linear in it.
    by_prior
        Minus the expected second derivative of the prior by own coordinates, (n_items, k).
    """
    k = target.coordinates.n_own
    own = information.item_blocks.copy()
    own[:, np.arange(k), np.arange(k)] += by_prior + _ROUNDING
    own = _positive(own)
    loading = _inverses(own) @ information.coupling
    rest = information.common_block - np.einsum("jkr,jks->rs", information.coupling, loading)
    if not target.coordinates.common_slope:
        bend = -by_slope * target.coordinates.slopes(mean)[2]
        most = 0.7 / _inverses(own)[:, 0, 0]  # the SD then grows 1.8 times
        own[:, 0, 0] += np.maximum(bend, -most)
    own = minus_missing_information(own, _inverses(own), information.missing)
    factor: Any = np.linalg.cholesky(_inverses(_positive(own)))
    # the information about what is shared is positive definite but for rounding
    scale = np.sqrt(np.maximum(np.diag(rest), _ROUNDING))
    values, vectors = np.linalg.eigh(_symmetric(rest / np.outer(scale, scale)))
    vectors /= np.sqrt(np.maximum(values, _ROUNDING))
    root = vectors / scale[:, None]
    return Guide(mean.own, mean.shared, factor, loading, root @ root.T)


def _positive(own: Array) -> Array:
    """Information of each item, its eigenvalues held above 0 (for guessing they may be below)."""
    scale = np.sqrt(np.maximum(np.einsum("jkk->jk", own), _ROUNDING))
    scales = outer(scale, scale)
    values, vectors = np.linalg.eigh(_symmetric(own / scales))
    if values.min() > _LEAST_INFORMATION:
        return own
    kept = np.maximum(values, _LEAST_INFORMATION)[:, None, :]
    positive = (vectors * kept) @ vectors.transpose(0, 2, 1)
    return positive * scales


def _rotations(generator: np.random.Generator, n_items: int, k: int) -> Array:
    """A random orthogonal matrix for each item, (n_items, k, k)."""
    if k == 1:
        return generator.choice((-1.0, 1.0), size=(n_items, 1, 1))
    if k == 2:
        angle = generator.uniform(0.0, 2 * math.pi, n_items)
        cos = np.cos(angle)
        sin = np.sin(angle)
        rows = np.stack([cos, -sin, sin, cos], axis=1)
        return rows.reshape(-1, 2, 2)
    turned = np.linalg.qr(generator.normal(size=(n_items, k, k)))[0]
    # a factorisation has fixed signs, which would move all items together
    return turned * generator.choice((-1.0, 1.0), size=(n_items, 1, k))


def _inverses(matrices: Array) -> Array:
    return _symmetric(np.asarray(np.linalg.inv(matrices), dtype=np.float64))


def _symmetric(matrices: Array) -> Array:
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2
