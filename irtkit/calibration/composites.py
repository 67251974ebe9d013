"""Composites of abilities: what one item measures, or all items together.

In the population, abilities have the mean of the result, its SD and the correlations Φ. So has a
composite with weights w if w'Φw = 1. Where it is t, abilities have the mean Φw·t, and an item with
slopes a has the slope a'Φw there. The composite that the item measures has weights along a. There
its slope is MDISC = √(a'Φa), and its difficulty MDIFF = −d/MDISC (Reckase 1985). Both are the same
for every choice of axes. One ability is its own composite, with the weight 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from irtkit.irf import Array, ItemParameters


def along(parameters: ItemParameters, rise: Array) -> ItemParameters:
    """Items where abilities are a multiple of ``rise``, (K,), or of a row each, (n_items, K)."""
    slopes = parameters.discrimination.reshape(parameters.n_items, -1)
    return replace(parameters, discrimination=(slopes * rise).sum(axis=1))


def composite_of_each(parameters: ItemParameters, correlation: Array) -> Array:
    """Weights of the composite that each item measures, (n_items, K).

    They rise with the sum of abilities. An item without slopes has those of all items.
    """
    slopes = parameters.discrimination.reshape(parameters.n_items, -1)
    size = np.sqrt(np.einsum("jk,kl,jl->j", slopes, correlation, slopes))
    signed = np.copysign(size, (slopes @ correlation).sum(axis=1))[:, None]
    measures = np.isfinite(size) & (size > 0)
    weights = np.empty_like(slopes)
    weights[measures] = slopes[measures] / signed[measures]
    weights[~measures] = _of_sum(weights[measures] * size[measures, None], correlation)
    return weights


def composite_of_all(parameters: ItemParameters, correlation: Array) -> Array:
    """Weights of the composite that all items measure together, (K,)."""
    slopes = parameters.discrimination.reshape(parameters.n_items, -1)
    slopes = slopes[np.isfinite(slopes).all(axis=1)]
    rises = np.sign((slopes @ correlation).sum(axis=1, keepdims=True))
    return _of_sum(slopes * rises, correlation)


def _of_sum(slopes: Array, correlation: Array) -> Array:
    """Weights along a sum of slopes; of one sum of abilities if that is 0."""
    total = slopes.sum(axis=0)
    if not total.any():
        total = np.ones(len(correlation))
    return total / np.sqrt(total @ correlation @ total)
