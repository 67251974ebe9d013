"""Many respondents, complete data, no guessing: the posterior as a table of one number.

The likelihood of a respondent then depends on the answers only through the weighted score s = Σⱼ
aⱼyⱼ. The log marginal likelihood, up to Σⱼ dⱼyⱼ, is f(s) = log Σₖ wₖ exp(θₖs − S(θₖ)). Its
derivatives are the posterior mean, the posterior variance and so on. So f, f′ and f″ are computed
at equal steps of s, and every respondent gets them by quintic Hermite interpolation. Its error is
about κ₆·h⁶/46080 with steps of h posterior SDs, where κ₆ is the sixth cumulant of a posterior in
units of its SD. An evaluation then costs as many exponentials as there are steps, not respondents,
times nodes. The gradient belongs to the interpolated likelihood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.data.patterns import REAL
from irtkit.quadrature.engines import Posteriors, Totals, moments

if TYPE_CHECKING:
    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array
    from irtkit.quadrature.engines import Curves, Inputs


_STEP = 0.3
"""Steps of s during the search, in units of one over the largest posterior SD: with κ₆ of a few
the error is 1e-7. At its end they are half as long."""
_MOST_STEPS = 2**14  # Memory for 100 nodes: 13 MB.
# Quintic Hermite: coefficients of 1, t, … t⁵ by f, h·f′, h²·f″ on the left and on the right.
_HERMITE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)


class Table:
    """f and its derivatives at equal steps over all scores there can be."""

    def __init__(self, inputs: Inputs, shared: Curves, *, fine: bool = False) -> None:
        slope = inputs.copies(inputs.items.slope)
        theta = inputs.grid.nodes.theta
        self._powers = np.array([np.ones_like(theta), theta, theta**2])
        of_real = inputs.grid.log_weights[REAL]
        log_weights = (of_real + shared.all_wrong)[:, None]
        self._lowest = np.minimum(slope, 0).sum()
        range_of_scores = float(np.abs(slope).sum())
        # rounding then leads to no step beyond the last
        reach = max(range_of_scores, 1e-3) * (1 + 1e-9)
        step = _STEP / 2 if fine else _STEP
        self.n_steps = 0
        wanted = 16
        while self.n_steps < wanted <= _MOST_STEPS:  # 16 steps may miss the widest posterior
            self.n_steps = int(wanted)
            self._width = reach / self.n_steps
            steps = np.arange(self.n_steps + 1)
            scores = self._lowest + self._width * steps
            joint = np.multiply.outer(theta, scores) + log_weights
            self._at = moments(np, joint, self._powers)
            widest = float(np.sqrt(self._at[2].max()))
            n_needed = int(reach * widest / step) + 2
            wanted = min(n_needed, _MOST_STEPS)
        f, mean, variance = self._at[:3]
        rise = self._width * mean
        bend = self._width**2 * variance
        ends = np.array([f, rise, bend])
        from_left = _HERMITE[:, :3] @ ends[:, :-1]
        from_right = _HERMITE[:, 3:] @ ends[:, 1:]
        self.polynomials = from_left + from_right
        """Coefficients of 1, t, … t⁵ in every step, (6, n_steps)."""

    def locate(self, scores: Array) -> tuple[Places, Array]:
        """Step that holds each score, and how far into it the score lies, from 0 to 1."""
        place = (scores - self._lowest) / self._width
        step = place.astype(np.intp)
        return step, place - step

    def derivative(self, order: int, step: Places, t: Array) -> Array:
        """Interpolated f (order 0), posterior mean (1) or variance (2)."""
        coefficients = self.polynomials
        for _ in range(order):
            exponents = np.arange(1.0, len(coefficients))
            factors = exponents[:, None] / self._width
            coefficients = coefficients[1:] * factors
        total = coefficients[-1].take(step)
        for coefficient in coefficients[-2::-1]:
            total *= t
            total += coefficient.take(step)
        return total

    def total(self, step: Places, t: Array, frequency: Array | None) -> tuple[float, Array]:
        """Sum of f over respondents, and how many of them are expected at each node."""
        moments = np.empty_like(self.polynomials)  # Σ tᵖ of the respondents in each step
        moments[0] = np.bincount(step, frequency, self.n_steps)
        power = t if frequency is None else t * frequency
        for order in range(1, len(moments)):
            moments[order] = np.bincount(step, power, self.n_steps)
            power = power * t
        total = float(np.vdot(self.polynomials, moments))
        by_side = _HERMITE.T @ moments  # what f, h·f′ and h²·f″ on either side count for
        by_end = np.zeros((3, self.n_steps + 1))
        by_end[:, :-1] = by_side[:3]
        by_end[:, 1:] += by_side[3:]
        powers = self._width ** np.arange(3.0)
        by_f, by_mean, by_variance = by_end * powers[:, None]
        # f, f′ and f″ by the log weight of a node: P, P(θ − m) and P((θ − m)² − v)
        _, mean, variance, weights, mass = self._at
        constant = by_f - by_mean * mean
        constant += by_variance * (mean**2 - variance)
        linear = by_mean - 2 * by_variance * mean
        by_end = np.array([constant, linear, by_variance]) / mass
        by_power = by_end @ weights.T
        return total, (by_power * self._powers).sum(axis=0)


def summed(inputs: Inputs, patterns: Patterns, table: Table) -> Totals:
    """Sums over all respondents, who are real."""
    slope = inputs.copies(inputs.items.slope)
    step, t = table.locate(patterns.scores(slope))
    log_marginal, mass = table.total(step, t, patterns.frequency)
    by_group = np.array([log_marginal, 0.0])
    mass_by_group = np.stack([mass, np.zeros_like(mass)])
    mean = table.derivative(1, step, t)
    by_right = patterns.right_sums(patterns.weight * mean)
    return Totals(by_group, mass_by_group, by_right, None)


def posteriors(inputs: Inputs, patterns: Patterns, table: Table) -> Posteriors:
    """Posterior of every respondent."""
    slope = inputs.copies(inputs.items.slope)
    step, t = table.locate(patterns.scores(slope))
    log_marginal = table.derivative(0, step, t)
    log_marginal += patterns.scores(inputs.copies(inputs.items.intercept))
    mean = table.derivative(1, step, t)
    variance = table.derivative(2, step, t)
    return Posteriors(log_marginal, mean, np.sqrt(np.maximum(variance, 0.0)))
