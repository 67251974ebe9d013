"""Items fitted with a distribution learned from the matrix itself (empirical Bayes).

With few respondents the likelihood says little about a single slope, but much about how slopes
are distributed. After a fit with the weak prior, whose abilities are kept, each item's likelihood
is taken as normal around the current values, Σ over nodes of what is expected there. The items are
drawn from a mixture of two normals: regular ones around (μ, δ), inverted ones, a share π, around
(−μ, −δ), with SDs s of slopes and v of intercepts. These five numbers are made most likely by EM
with the item parameters integrated out; items are then set to their posterior means, and the
likelihoods taken anew around these, until nothing moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.fitted import Fitted
from irtkit.calibration.priors import Beta, ItemPrior, Normal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.em import Climber, Maximum

    Array = NDArray[np.float64]

_ROUNDS = 6
_LEARNING_STEPS = 100
_ITEMS_LEARNED_FROM = 4000
_LEAST_SPREAD = 0.02
_MOVED = 0.002
"""Root mean square change of slopes, relative to their mean, below which items are settled."""


class Distribution(NamedTuple):
    """Distribution of slopes and intercepts among the items."""

    slope: float
    """Mean slope of regular items; inverted ones have minus that."""
    intercept: float
    slope_spread: float
    intercept_spread: float
    inverted: float
    """Share of inverted items."""

    def in_units(self, scale: float, shift: float) -> Distribution:
        """Return the distribution after a → scale·a and d → d + shift·a."""
        return self._replace(
            slope=self.slope * scale,
            slope_spread=self.slope_spread * scale,
            intercept=self.intercept + shift * self.slope,
            intercept_spread=float(np.hypot(self.intercept_spread, shift * self.slope_spread)),
        )


class _Sharpened(NamedTuple):
    """Items after learning from each other."""

    slope: Array
    intercept: Array
    distribution: Distribution


class _Normals(NamedTuple):
    """A normal likelihood of (slope, intercept) for every item."""

    estimates: Array
    """Shape (n_items, 2)."""
    information: Array
    """Shape (n_items, 2, 2)."""


def sharpened(climber: Climber, maximum: Maximum) -> tuple[dict[str, Any], Climber, Maximum]:
    """Let items learn from each other; their distribution is then the prior.

    Abilities keep mean 0 and SD 1, and the distribution is told in their units.
    """
    layout = climber.layout
    found = _learn(Fitted(layout, climber.rows, maximum.nodes, maximum.x))
    plain = climber.with_prior(None)
    guessing = layout.items(maximum.x).logit_guessing
    x = plain.layout.joined(found.slope, found.intercept, guessing, np.zeros(0))
    moved = plain.with_unit_scale(plain.at(x, maximum))
    steepest = int(np.argmax(np.abs(found.slope)))
    scale = float(moved.x[steepest] / found.slope[steepest])
    shift = float(layout.items(moved.x).intercept[steepest] - found.intercept[steepest])
    learned = found.distribution.in_units(scale, shift / float(found.slope[steepest]))
    prior = ItemPrior(
        Normal(learned.slope, learned.slope_spread),
        Normal(learned.intercept, learned.intercept_spread),
        Beta(),
    )
    return {"kind": "empirical", **learned._asdict()}, climber.with_prior(prior), moved


def _learn(fitted: Fitted) -> _Sharpened:
    """Learn the distribution of the items, and give each its posterior mean."""
    slope, intercept = fitted.items.slope.copy(), fitted.items.intercept.copy()
    known = np.isfinite(slope)
    distribution = Distribution(
        float(np.median(slope)),
        float(np.median(intercept)),
        max(0.4 * abs(float(np.median(slope))), 0.1),
        max(float(np.std(intercept)), 0.1),
        0.02,
    )
    expected = _expected(fitted)
    some = slice(None, None, -(-len(slope) // _ITEMS_LEARNED_FROM))
    for _ in range(_ROUNDS):
        likelihoods = _Normals(*_local_likelihood(fitted, slope, intercept, expected))
        sample = _Normals(likelihoods.estimates[some], likelihoods.information[some])
        distribution = _learned(sample, distribution)
        mean = _posterior(likelihoods, distribution).mean
        moved = np.sqrt(np.mean((mean[known, 0] - slope[known]) ** 2))
        slope, intercept = mean[:, 0], mean[:, 1]
        if moved < _MOVED * abs(distribution.slope):
            break
    return _Sharpened(slope, intercept, distribution)


def _expected(fitted: Fitted) -> tuple[Array, Array]:
    """Right responses and responses at each node, expected under the posteriors.

    Shape (n_items, n_nodes); with complete data all items share a row of responses, and
    without guessing right responses enter through their sums of θ and of 1, (n_items, 2).
    """
    theta, n_items = fitted.theta, fitted.layout.n_items
    functions = None if fitted.with_guessing else np.stack([theta, np.ones_like(theta)], axis=1)
    right_sums = np.zeros((n_items, len(theta) if functions is None else 2))
    responses = np.zeros((1 if fitted.complete else n_items, len(theta)))
    for right, answered, weights, _ in fitted.posteriors():
        right_sums += right.T @ (weights if functions is None else weights @ functions)
        responses += weights.sum(axis=0) if fitted.complete else answered.T @ weights
    return right_sums, responses


def _local_likelihood(
    fitted: Fitted, slope: Array, intercept: Array, expected: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Where each item's likelihood would be highest were it normal, and its information.

    Abilities are held at their posteriors. Shapes (n_items, 2) and (n_items, 2, 2).
    """
    right, responses = expected
    functions = np.stack([fitted.theta, np.ones_like(fitted.theta)], axis=1)
    squares = np.column_stack([fitted.theta**2, functions])
    estimates = np.stack([slope, intercept], axis=1)
    information = np.empty((len(slope), 2, 2))
    for some in fitted.parts_of_items():
        s, p, c = fitted.tables_of(slope[some], intercept[some], some)
        counts = responses if len(responses) == 1 else responses[some]
        weight = counts * (1 - c) * (1 - s) / p * s**2
        if fitted.with_guessing:
            score = ((right[some] - counts * p) * s / p) @ functions
        else:
            score = right[some] - (counts * s) @ functions
        entries = weight @ squares
        information[some] = entries[:, [[0, 1], [1, 2]]] + 1e-6 * np.eye(2)
        estimates[some] += np.linalg.solve(information[some], score[:, :, None])[:, :, 0]
    return estimates, information


class _Posterior(NamedTuple):
    mean: Array
    """Shape (n_items, 2), over both kinds."""
    by_kind: Array
    """Shape (2, n_items, 2): means if the item is regular, if it is inverted."""
    covariance: Array
    """Shape (n_items, 2, 2), the same for both kinds."""
    inverted: Array
    """Probability that the item is inverted, (n_items,)."""


def _posterior(likelihoods: _Normals, distribution: Distribution) -> _Posterior:
    """Posterior of every item: its kind, and its parameters given the kind."""
    estimates, information = likelihoods
    centre = np.array([distribution.slope, distribution.intercept])
    precision = np.array([distribution.slope_spread, distribution.intercept_spread]) ** -2.0
    covariance = np.asarray(np.linalg.inv(information + np.diag(precision)), dtype=np.float64)
    pull = np.einsum("jkl,jl->jk", information, estimates)
    means, log_likelihoods = [], []
    for sign in (1.0, -1.0):
        mean = np.einsum("jkl,jl->jk", covariance, pull + sign * precision * centre)
        means.append(mean)
        off_centre, off_estimate = mean - sign * centre, mean - estimates
        log_likelihoods.append(
            -0.5 * (off_centre**2 @ precision)
            - 0.5 * np.einsum("jk,jkl,jl->j", off_estimate, information, off_estimate)
        )
    odds = np.log(distribution.inverted / (1 - distribution.inverted))
    difference = log_likelihoods[0] - log_likelihoods[1] - odds
    inverted = np.asarray(1 / (1 + np.exp(np.clip(difference, -700, 700))), dtype=np.float64)
    share = inverted[:, None]
    return _Posterior(
        np.asarray((1 - share) * means[0] + share * means[1]),
        np.stack(means),
        covariance,
        inverted,
    )


def _learned(likelihoods: _Normals, distribution: Distribution) -> Distribution:
    """Distribution that makes the likelihoods of the items most likely, by EM."""
    n_items = len(likelihoods.estimates)
    for _ in range(_LEARNING_STEPS):
        found = _posterior(likelihoods, distribution)
        share = found.inverted[:, None]
        regular, turned = found.by_kind[0], -found.by_kind[1]
        centre = ((1 - share) * regular + share * turned).mean(axis=0)
        square = (1 - share) * (regular - centre) ** 2 + share * (turned - centre) ** 2
        spread = np.sqrt((square + np.einsum("jkk->jk", found.covariance)).mean(axis=0))
        spread = np.maximum(spread, _LEAST_SPREAD)
        inverted = min(max(float(found.inverted.mean()), 0.5 / n_items), 0.5)
        distribution = Distribution(
            float(centre[0]), float(centre[1]), float(spread[0]), float(spread[1]), inverted
        )
    return distribution
