"""The guide: a normal distribution over the coordinates of all items at once.

Given what all items share, items are independent; what they share are the shared coordinates and
shifts of all abilities, of which there are a dozen together. So own coordinates are
mean − loading·s + L·e with s ~ N(0, common) and e ~ N(0, 1), a covariance of blocks plus low rank,
made, drawn from and inverted in time linear in the items. Abilities are not part of the guide:
given the items their posterior is known, and the bound integrates over it.

Its covariance is the inverse of the information about all of this (Louis 1982; see
:mod:`irtkit.calibration.information`) plus minus the expected second derivative of the prior,
which is where a normal approximation is stationary (Opper & Archambeau 2009).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import chi2

from irtkit.calibration.information import System, minus_missing_information
from irtkit.calibration.variational.coordinates import Point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration.variational.target import Target
    from irtkit.irf import Array

_LEAST_PAIRS = 2
"""Pairs of points where items have one coordinate each: a pair also moves along one of the axes of
what is shared, and two halve the variance of that."""
_BENT_AT_MOST = 0.7
"""Share of an item's information that the bend of a coordinate may take away: its SD then grows to
1/√0.3 = 1.8 of what it was."""
_LEAST_INFORMATION = 1e-3
"""Least eigenvalue of the information of an item, relative to its diagonal: no direction is less
certain than 32 times a coordinate by itself."""
_ROUNDING = 1e-12
"""What is added to information, and the least eigenvalue relative to the diagonal: sums of 5,000
terms are off by as many times 2e-16."""


class Guide(NamedTuple):
    """A normal distribution of items; all of it arrays, to be stored as they are."""

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
        """The point in the middle."""
        return Point(self.own, self.shared)

    @property
    def n_directions(self) -> int:
        """How many pairs of points the expectation of a function of one item needs."""
        return max(int(self.own.shape[1]), _LEAST_PAIRS)

    def at(self, own: Array, common: Array) -> Point:
        """Point at standard normal deviates e, (n_items, k), and those of what is shared, (r,)."""
        s = self.common_root() @ common
        moved = np.einsum("jkl,jl->jk", self.factor, own) - self.loading @ s
        return Point(self.own + moved, self.shared + s[: len(self.shared)])

    def deviates(
        self,
        generator: np.random.Generator,
        distance: Array | float = 1.0,
        shared_distance: Array | float = 1.0,
    ) -> Iterator[tuple[Array, Array]]:
        """Pairs of opposite deviates for :meth:`at`.

        Those of each item are ±√k times the axes of a system turned at random: over the pairs, the
        mean of any cubic of one item is that under the guide, while items move independently.
        ``distance`` and ``shared_distance`` are factors to them, of all or of each pair (and item).
        """
        n_items, k = self.own.shape
        n_pairs, r = self.n_directions, len(self.common)
        distance = np.broadcast_to(distance, (n_pairs, n_items))
        shared_distance = np.broadcast_to(shared_distance, n_pairs)
        turned = _rotations(generator, n_items, k) * math.sqrt(k)
        axes = np.linalg.qr(generator.normal(size=(r, r)))[0] * math.sqrt(r)
        for pair in range(n_pairs):
            own = turned[:, :, pair % k] * distance[pair, :, None]
            if pair >= k:  # one coordinate by item: signs drawn anew
                own = own * generator.choice((-1.0, 1.0), size=(n_items, 1))
            common = axes[:, pair % r] * shared_distance[pair]
            for side in (1.0, -1.0):
                yield side * own, side * common

    def common_root(self) -> Array:
        """Symmetric square root of the covariance of what is shared."""
        values, vectors = np.linalg.eigh(self.common)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

    def own_covariance(self) -> Array:
        """Covariance of own coordinates of every item, (n_items, k, k)."""
        shared = (self.loading @ self.common) @ self.loading.transpose(0, 2, 1)
        return np.asarray(self.factor @ self.factor.transpose(0, 2, 1) + shared)

    def sds(self) -> Array:
        """SDs of own coordinates, (n_items, k)."""
        return np.asarray(np.sqrt(np.einsum("jkk->jk", self.own_covariance())))

    def entropy(self) -> float:
        """Differential entropy in nats."""
        n, size = len(self.shared), self.own.size + len(self.shared)
        _, rest, inner = self._given_shared()
        total = 0.5 * size * (1 + math.log(2 * math.pi))
        total += np.log(np.einsum("jkk->jk", self.factor)).sum()
        total += 0.5 * np.linalg.slogdet(self.common[:n, :n])[1]
        return float(total + 0.5 * np.linalg.slogdet(np.eye(len(rest)) + rest @ inner.T @ inner)[1])

    def squares(self, own: Array, common: Array) -> Array:
        """Squared Mahalanobis distances of points from the mean, (n,).

        Their deviates are (n, n_items, k) and (n, r). There are more of these than coordinates, so
        that it is not they that are squared.
        """
        by_shared, rest, inner = self._given_shared()
        n, s = len(self.shared), common @ self.common_root()
        head, shifts = s[:, :n], s[:, n:] - s[:, :n] @ by_shared
        found = (head * np.linalg.solve(self.common[:n, :n], head.T).T).sum(axis=1)
        off = own.reshape(len(own), -1) - shifts @ inner.T
        pull = off @ inner
        within = np.eye(len(rest)) + rest @ inner.T @ inner  # Woodbury 1950
        less = (pull * np.linalg.solve(within, rest @ pull.T).T).sum(axis=1)
        return np.asarray(found + (off**2).sum(axis=1) - less)

    def _given_shared(self) -> tuple[Array, Array, Array]:
        """Regression of shifts on shared coordinates, what it leaves of them, and how items follow.

        The last is in units of the factors, a row for every own coordinate.
        """
        n = len(self.shared)
        head, side = self.common[:n, :n], self.common[:n, n:]
        by_shared = np.asarray(np.linalg.solve(head, side))
        inner = np.asarray(np.linalg.solve(self.factor, self.loading[:, :, n:]))
        rest = np.asarray(self.common[n:, n:] - side.T @ by_shared)
        return by_shared, rest, inner.reshape(self.own.size, -1)

    def distances(self, generator: np.random.Generator, n: int) -> Iterator[tuple[Array, Array]]:
        """Factors for :meth:`deviates` with which each point is one of the guide; of ``n`` sets.

        Each item, and what is shared, has distances from equal parts of their distribution, in an
        order of its own: one from every part.
        """
        n_items, k = self.own.shape
        n_pairs, r = self.n_directions, len(self.common)
        own = _stratified(generator, n * n_pairs, n_items, k).reshape(n, n_pairs, n_items)
        return zip(own, _stratified(generator, n * n_pairs, 1, r).reshape(n, n_pairs), strict=True)

    def around(self, generator: np.random.Generator) -> list[Point]:
        """Points around the mean, every item on its own."""
        nothing = np.zeros(len(self.common))
        return [self.at(own, nothing) for own, _ in self.deviates(generator)]

    def natural(self, gradient: Point) -> Point:
        """Covariance times a gradient: the step of natural-gradient ascent."""
        pull = -np.einsum("jkr,jk->r", self.loading, gradient.own)
        pull[: len(self.shared)] += gradient.shared
        s = self.common @ pull
        along = np.einsum("jlk,jl->jk", self.factor, gradient.own)
        own = np.einsum("jkl,jl->jk", self.factor, along) - self.loading @ s
        return Point(own, s[: len(self.shared)])


class Information(NamedTuple):
    """Arrowhead information about own and shared coordinates and common changes of ability.

    Priors of single coordinates are left out.
    """

    item_blocks: Array
    """Shape (n_items, k, k)."""
    missing: Array
    """What of it an item by itself misses, as abilities are known from responses."""
    coupling: Array
    """Shape (n_items, k, r)."""
    common_block: Array
    """Shape (r, r)."""

    def averaged(self, other: Information, weight: float) -> Information:
        """Return the mean with another one, which has some weight."""
        return Information(*(a + weight * (b - a) for a, b in zip(self, other, strict=True)))


def information_at(target: Target, points: list[Point], systems: list[System]) -> Information:
    """Mean information over some points, of each the likelihood's and that of the location."""
    found = [_information(target, *pair) for pair in zip(points, systems, strict=True)]
    return Information(*(sum(parts) / len(found) for parts in zip(*found, strict=True)))


def _information(target: Target, point: Point, system: System) -> Information:
    coordinates, n = target.coordinates, target.coordinates.n_shared
    by_own, by_shared = coordinates.jacobian(point)
    back = by_own.transpose(0, 2, 1)
    prior = target.coupled(point, coordinates.parameters(point))
    blocks, hyper = system.item_blocks + prior.blocks, slice(2 - n, 2)
    with_hyper = blocks @ by_shared + prior.border[:, :, hyper]
    corner = np.einsum("jkr,jks->rs", by_shared, with_hyper) + prior.corner[hyper, hyper]
    corner += np.einsum("jkr,jks->rs", prior.border[:, :, hyper], by_shared)
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
    """Return the guide around a mean.

    Parameters
    ----------
    information
        Expected information about the items.
    by_slope
        Gradient of the likelihood by the slope of every item, which bends coordinates.
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
        own = _bent(own, -by_slope * target.coordinates.slopes(mean)[2])
    own = minus_missing_information(own, _inverses(own), information.missing)
    factor = np.asarray(np.linalg.cholesky(_inverses(_positive(own))))
    return Guide(mean.own, mean.shared, factor, loading, _inverse(rest))


def _bent(own: Array, bend: Array) -> Array:
    """Add to the information about the first coordinate, and take away at most a share of it."""
    free = 1 / _inverses(own)[:, 0, 0]
    bent = own.copy()
    bent[:, 0, 0] += np.maximum(bend, -_BENT_AT_MOST * free)
    return bent


def _positive(own: Array) -> Array:
    """Information of each item, where that of guessing may be below 0 held above it."""
    scale = np.sqrt(np.maximum(np.einsum("jkk->jk", own), _ROUNDING))
    values, vectors = np.linalg.eigh(_symmetric(own / (scale[:, :, None] * scale[:, None, :])))
    if values.min() > _LEAST_INFORMATION:
        return own
    kept = np.maximum(values, _LEAST_INFORMATION)[:, None, :]
    return np.asarray(
        ((vectors * kept) @ vectors.transpose(0, 2, 1)) * scale[:, :, None] * scale[:, None, :]
    )


def _stratified(generator: np.random.Generator, n: int, n_columns: int, k: int) -> Array:
    """Lengths of k standard normal deviates over √k, (n, n_columns), each row of any part."""
    order = generator.permuted(np.tile(np.arange(n), (n_columns, 1)), axis=1).T
    return np.asarray(np.sqrt(chi2.ppf((order + generator.random(order.shape)) / n, k) / k))


def _rotations(generator: np.random.Generator, n_items: int, k: int) -> Array:
    """Return a random orthogonal matrix for every item, (n_items, k, k)."""
    if k == 1:
        return np.asarray(generator.choice((-1.0, 1.0), size=(n_items, 1, 1)))
    if k == 2:
        angle = generator.uniform(0.0, 2 * math.pi, n_items)
        cos, sin = np.cos(angle), np.sin(angle)
        return np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)
    turned = np.linalg.qr(generator.normal(size=(n_items, k, k)))[0]
    # a factorisation leaves no choice of signs, and the same ones would move all items together
    return np.asarray(turned * generator.choice((-1.0, 1.0), size=(n_items, 1, k)))


def _inverses(matrices: Array) -> Array:
    return _symmetric(np.asarray(np.linalg.inv(matrices), dtype=np.float64))


def _symmetric(matrices: Array) -> Array:
    return np.asarray((matrices + np.swapaxes(matrices, -1, -2)) / 2)


def _inverse(matrix: Array) -> Array:
    """Inverse of a positive definite matrix, where rounding makes it so."""
    scale = np.sqrt(np.maximum(np.diag(matrix), _ROUNDING))
    values, vectors = np.linalg.eigh(_symmetric(matrix / np.outer(scale, scale)))
    kept = vectors / np.sqrt(np.maximum(values, _ROUNDING))
    return np.asarray((kept @ kept.T) / np.outer(scale, scale))
