"""Capability and generality of a system.

As Hernández-Orallo, Loe, Cheke, Martínez-Plumed & Ó hÉigeartaigh (2021, *Scientific Reports* 11,
22822) define them. With ψ(h) the share right at the difficulty h ≥ 0, h = 0 being the easiest,

    capability Ψ = ∫ψ dh,   spread = √(2∫hψ dh − Ψ²),   generality = 1 / spread.

A system that gets right all that is easier than some difficulty, and nothing else, has Ψ there and
spread 0. Among curves that do not rise, with the same capability, a flat one has the largest
spread. For a logistic curve with slope a, all of which is within the difficulties, it is π/(√3 a).

ψ is the curve of the ranges, constant within each: integrals are sums, and a spread holds what the
ranges hide, up to half the width of the one in which a curve falls. The wider the ranges, the lower
the generality. A curve that is 1 throughout, or 0, falls beyond the difficulties there are: its
spread is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


_ROUNDING = 1e-12
"""Squared spread, by the squared length of the difficulties, below which it is a difference of
sums that agree."""


class Generality(NamedTuple):
    """Of one curve."""

    capability: float
    capability_se: float
    spread_squared: float
    spread_squared_se: float


def generality_of(edges: Array, share: Array, variance: Array) -> Generality:
    """Integrals of a curve of ranges, and their errors, shares being independent.

    Shape (n,), edges (n + 1,); a share that is not known is that between its neighbours.
    """
    known = np.isfinite(share)
    if len(edges) < 2 or not known.any() or edges[-1] == edges[0]:
        return Generality(*[np.nan] * 4)
    places = np.arange(len(share))
    psi = np.interp(places, places[known], share[known])
    noise = np.where(known, variance, 0.0)
    h = edges - edges[0]
    first, second = np.diff(h), np.diff(h**2)
    capability = float(first @ psi)
    spread = float(second @ psi) - capability**2
    spread = 0.0 if spread < _ROUNDING * h[-1] ** 2 else spread
    if psi.min() == psi.max() and psi[0] in {0.0, 1.0}:
        spread = np.nan
    by_share = second - 2 * capability * first
    return Generality(
        capability,
        float(np.sqrt(first**2 @ noise)),
        spread,
        float(np.sqrt(by_share**2 @ noise)),
    )
