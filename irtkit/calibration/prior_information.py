"""Minus the second derivatives of a log prior, which standard errors need as they are.

A search steps by a stand-in that is never negative (:class:`.priors.AtPrior`), and far from typical
values a heavy-tailed density bends the other way: the stand-in says more of such an item than the
prior does. Here the gradient, which is exact, is differentiated by central differences. Given m and
log τ items are independent, so that the slopes of all items move at once, then all intercepts, and
so on. That holds for every density, one of a user's own among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.priors import Hyper
from irtkit.irf import Items

if TYPE_CHECKING:
    from irtkit.calibration.likelihood import Parameterisation, Values
    from irtkit.calibration.priors import Prior
    from irtkit.irf import Array

_STEP = float(np.cbrt(np.finfo(np.float64).eps))
"""Of central differences, in units of 1 + |x|: the error of the formula, h², and that of rounding,
ε/h, are then alike (4·10⁻¹¹; Press et al. 2007, section 5.7)."""


class PriorInformation(NamedTuple):
    """Minus the second derivatives of a log prior, all copies of an item together.

    By slope (Rasch: log SD of ability), intercept, logit of guessing, and by what is learned.
    """

    blocks: Array
    """By item, (n_items, k, k)."""
    border: Array
    """Between items and what the prior learns, (n_items, k, n_learned)."""
    corner: Array
    """By what it learns, m and log τ, (n_learned, n_learned)."""


def prior_information(
    prior: Prior, parameters: Parameterisation, at: Values, copies: Array | None
) -> PriorInformation:
    """Differentiate the gradient of a log prior."""
    values = np.stack([part for part in at.items if part is not None])
    if parameters.model == "Rasch":
        values[0] = np.log(at.latent_sd)
    size, n_learned = len(values), parameters.n_hyper
    learned = np.array([at.hyper.location, at.hyper.log_scale])

    def gradients(moved: Array, hyper: Array) -> tuple[Array, Array]:
        items = Items(*moved)
        if parameters.model == "Rasch":
            items = items._replace(slope=np.exp(moved[0]))
        location, log_scale = hyper
        learned = Hyper(float(log_scale), float(location))
        found = prior.at(items, learned, common_slope=parameters.common_slope, copies=copies)
        by_item = found.gradient
        if parameters.model == "Rasch":
            by_item[:, 0] *= items.slope
        return by_item, found.by_hyper

    def falls(by_items: Array, by_hyper: Array) -> tuple[Array, Array]:
        after, before = (gradients(values + k * by_items, learned + k * by_hyper) for k in (1, -1))
        return before[0] - after[0], before[1] - after[1]

    blocks = np.empty((values.shape[1], size, size))
    border, corner = np.empty((values.shape[1], size, n_learned)), np.empty((n_learned,) * 2)
    for k in range(size):
        step = _STEP * (1 + np.abs(values[k]))
        move = step * (np.arange(size) == k)[:, None]
        blocks[:, :, k] = falls(move, np.zeros(2))[0] / (2 * step[:, None])
    for k in range(n_learned):
        step = _STEP * (1 + np.abs(learned[k]))
        by_item, by_hyper = falls(np.zeros_like(values), step * np.eye(2)[k])
        border[:, :, k], corner[:, k] = by_item / (2 * step), by_hyper[:n_learned] / (2 * step)
    return PriorInformation((blocks + blocks.swapaxes(1, 2)) / 2, border, (corner + corner.T) / 2)
