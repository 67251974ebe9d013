"""Items that became easier or harder from some answers to later ones: one test for all who ask.

Given abilities θ, the answers to item j have the logit aθ + d + δx, where x is 1 for later answers,
and z is the signed root of the likelihood ratio of δ (Swaminathan & Rogers 1990). Abilities come
from the items that are not found to change, in rounds: each answer counts at all abilities, as
probable as they are, with a mean and an SD of ability in each group. Of each item a and d have a
normal prior. Where earlier answers are known it says how slopes are spread over items. Else it is
the earlier estimate with its covariance.

z is N(0, 1) of items that stayed. Items that changed are learned as one normal distribution above
and one below 0 (Efron 2008), which gives each item a probability of having stayed. If the procedure
of Benjamini & Hochberg (1995) finds any item at a rate, items are called, the surest first, while
the mean probability that they stayed is at most that rate. Without changes no item is called in
1 − rate of all data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.search import GridSchedule
from irtkit.data.mixtures import memberships
from irtkit.data.patterns import blocks, float_blocks
from irtkit.data.slopes import false_discovery
from irtkit.quadrature.posterior import ItemCurves, normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from irtkit.data.patterns import Mask, Patterns, Places
    from irtkit.irf import Array, ItemParameters
    from irtkit.responses import ResponseMatrix


LEAST_ITEMS = 3
"""Fewest items that are tested: of two that disagree, either may have changed."""
LITTLE = 1e-6  # Variances, information and shares of a group below it are none.


@dataclass(frozen=True)
class _Tuned:
    """How items that changed are searched for (``benchmarks/model_tests.py``)."""

    # Share of the largest distance from the median z that is set aside in one round.
    at_once: float = 0.5
    steps: int = 50  # Newton steps, each at most 1, and steps of EM for mean and SD of ability.
    settled: float = 1e-4  # Last of these steps.
    # Of a wide normal prior, which keeps δ finite where all systems are right.
    change_sd: float = 3.0
    most_alike: float = 0.95  # Correlation of a system's residuals in both groups.
    # Changing on either side, and in all: pseudo-counts.
    prior_items: tuple[float, float] = (0.5, 10.0)
    changing_z: float = 3.0  # Mean of z of items that change: where it starts,
    least_z: float = 2.0  # and its least.


_TUNED = _Tuned()


class Prior(NamedTuple):
    """Normal prior of slope and intercept of every item."""

    mean: Array  # Shape (n_items, 2).
    precision: Array  # Shape (n_items, 2, 2).


class Group(NamedTuple):
    """Answers of a group, expected at each ability of a grid."""

    ability: Array  # Shape (n_abilities,).
    mass: Array  # Expected share of the group at each, (n_abilities,).
    right: Array  # Shape (n_abilities, n_items).
    tried: Array
    means: Array  # Posterior mean of every system, (n,).


class Mixture(NamedTuple):
    """How changes are distributed over all items."""

    stayed: Array  # Probability of every item to have stayed.
    change: Array  # Mean of its change, if it did change in this direction.
    variance: Array  # The same, variance, if the distribution of changes were known.
    common: Array  # Error that all changes in this direction share, as it is not.


class Changes(NamedTuple):
    """What is known of every item and its change from earlier to later answers."""

    z: Array
    weights: Array  # Slope a, intercept d and δ of every item, (n_items, 3).
    covariance: Array  # That of these three, (n_items, 3, 3).
    q_value: Array
    called: Mask
    mixture: Mixture
    later: Group
    copies: float  # Systems per independent system.

    @property
    def change(self) -> Array:
        """δ, in logits."""
        return self.weights[:, -1]

    @property
    def error(self) -> Array:
        """Standard error of δ."""
        return np.sqrt(self.covariance[:, -1, -1])


def changes(
    items: ItemParameters,
    answers: Sequence[Patterns],
    fdr: float,
    *,
    prior: Prior | None = None,
    pairs: Sequence[Places] | None = None,
    copies: float = 1.0,
    anchors: Mask | None = None,
) -> Changes:
    """Test whether items changed from earlier to later answers.

    Parameters
    ----------
    items
        As they were, with ability in SDs of a population.
    answers
        Earlier and later ones by real systems, or later ones alone if there is a ``prior``.
    fdr
        Rate of false calls among the items called, and of data without changes in which any is.
    prior
        By default one that says how slopes are spread.
    pairs
        Rows in both groups of the systems that are in both.
    copies
        Systems per independent system.
    anchors
        Items known to have stayed, which are not tested.
    """
    from scipy.special import ndtr

    if prior is None:  # slopes as they are spread over items, and any intercept
        slope = items.discrimination
        mean = np.zeros((len(slope), 2))
        mean[:, 0] = slope.mean()
        precision = np.diag([1 / max(slope.var(), LITTLE), LITTLE])
        prior = Prior(mean, np.tile(precision, (len(slope), 1, 1)))
    kept = np.ones(items.n_items, bool) if anchors is None else anchors
    for _ in range(10):  # 1 to 4 searches occur
        groups = [_counted(of_group, items, kept) for of_group in answers]
        z, weights, covariance, information = _regressed(groups, items, prior)
        variance = np.full(len(z), copies)
        if pairs is not None and len(pairs[0]):
            alike, shared = _paired(answers, groups, items, pairs)
            in_both = np.minimum(2 * shared / np.maximum(information, LITTLE), 1)
            variance *= 1 - alike * in_both
        z = z / np.sqrt(variance)
        answered = np.all([group.tried.any(axis=0) for group in groups], axis=0)
        tested = answered if anchors is None else answered & ~anchors
        z[~tested] = np.nan
        by_rank = false_discovery(2 * ndtr(-np.abs(z)))
        root = np.nan_to_num(z)
        apart = np.abs(root - np.median(root[kept]))
        large = apart >= _TUNED.at_once * apart[kept].max()
        stays = ~(by_rank <= fdr) | (kept & ~large)
        if anchors is not None or (stays == kept).all() or stays.sum() < LEAST_ITEMS - 1:
            break
        kept = stays
    covariance = variance[:, None, None] * covariance
    error = np.sqrt(covariance[:, -1, -1])
    mixture = Mixture(*np.full((len(Mixture._fields), len(z)), np.nan))
    q_value = np.full(len(z), np.nan)
    if tested.sum() >= LEAST_ITEMS:
        for of_all, of_tested in zip(mixture, _mixture(z[tested], error[tested]), strict=True):
            of_all[tested] = of_tested
        order = np.argsort(mixture.stayed)[: tested.sum()]  # NaN comes last
        rate = np.cumsum(mixture.stayed[order]) / np.arange(1, len(order) + 1)
        q_value[order] = np.maximum(rate, np.nanmin(by_rank))
    return Changes(
        z=z,
        weights=weights,
        covariance=covariance,
        q_value=q_value,
        called=q_value <= fdr,
        mixture=mixture,
        later=groups[-1],
        copies=copies,
    )


def answers_in(responses: ResponseMatrix, patterns: Patterns) -> Patterns:
    """Answers in some patterns: trials of a cell count as one if their correlation is not known."""
    correlation = responses.trial_correlation
    return patterns.with_trial_correlation(1.0 if correlation is None else correlation)


def _counted(patterns: Patterns, items: ItemParameters, kept: Mask) -> Group:
    """Count answers at abilities told by some items, in a population that a group has."""
    asked = items.chosen(kept)
    part = patterns.with_columns(np.flatnonzero(kept))
    nodes = GridSchedule().nodes(asked.items, part)
    curves = ItemCurves(asked, nodes.theta)
    parts = [curves.log_likelihood(right, tried) for _, right, tried in float_blocks(part)]
    log_likelihood = np.concatenate(parts)
    mean = 0.0
    sd = 1.0
    for _ in range(_TUNED.steps):
        _, weights = normalised(log_likelihood + nodes.normal_log_weights(sd, mean))
        means = weights @ nodes.theta
        second = float((weights @ nodes.theta**2).mean())
        before = mean, sd
        mean = float(means.mean())
        sd = max(second - mean**2, LITTLE) ** 0.5
        if abs(mean - before[0]) + abs(sd - before[1]) < _TUNED.settled:
            break
    # abilities within 0.1 SDs are counted as one
    _, bins = np.unique(np.rint(nodes.theta / 0.1), return_inverse=True)
    in_bin = np.eye(bins.max() + 1)[bins]
    binned = weights @ in_bin
    mass = binned.mean(axis=0)
    ability = weights.mean(axis=0) * nodes.theta @ in_bin / np.maximum(mass, LITTLE)
    some = mass > LITTLE
    right, tried = np.zeros((2, len(mass), items.n_items))
    for rows, right_there, tried_there in float_blocks(patterns, complete=False):
        right += binned[rows].T @ right_there
        tried += binned[rows].T @ tried_there
    return Group(ability[some], mass[some], right[some], tried[some], means)


def _regressed(
    groups: list[Group], items: ItemParameters, prior: Prior
) -> tuple[Array, Array, Array, Array]:
    """Signed roots of likelihood ratios of δ by logistic regressions, with guessing as it is.

    With them come a, d and δ of every item, (n_items, 3), their covariance, and the information
    about its logit in all answers.
    """
    from scipy.special import expit

    ability = np.concatenate([group.ability for group in groups])
    right = np.concatenate([group.right for group in groups])
    tried = np.concatenate([group.tried for group in groups])
    is_later = np.arange(len(ability)) >= len(ability) - len(groups[-1].ability)
    design = np.stack([ability, np.ones_like(ability), is_later], axis=1)
    products = design[:, :, None] * design[:, None, :]
    mean = np.pad(prior.mean, ((0, 0), (0, 1)))
    precision = np.pad(prior.precision, ((0, 0), (0, 1), (0, 1)))
    precision[:, -1, -1] = _TUNED.change_sd**-2
    guessing = items.guessing
    weights = np.stack([items.discrimination, items.intercept, np.zeros(items.n_items)], axis=1)
    deviance = []
    for free in (slice(2), slice(3)):
        for _ in range(_TUNED.steps):
            logit = design[:, free] @ weights[:, free].T
            s = expit(np.clip(logit, -30.0, 30.0))  # beyond it 1 − P is below 1e-13
            p = guessing + (1 - guessing) * s
            rate = s / p
            information = tried * p * (1 - p) * rate**2
            off = ((weights - mean)[:, None, free] @ precision[:, free, free])[:, 0]
            gradient = ((right - tried * p) * rate).T @ design[:, free] - off
            curvature = np.tensordot(information.T, products[:, free, free], 1)
            curvature += precision[:, free, free]
            step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
            weights[:, free] += np.clip(step, -1, 1)
            if np.abs(step).max() < _TUNED.settled:
                break
        value = right * np.log(p) + (tried - right) * np.log1p(-p)
        penalty = (off * (weights - mean)[:, free]).sum(axis=1)
        deviance.append(penalty - 2 * value.sum(axis=0))
    root = np.sqrt(np.maximum(deviance[0] - deviance[1], 0.0))
    z = np.sign(weights[:, -1]) * root
    return z, weights, np.linalg.inv(curvature), information.sum(axis=0)


def _paired(
    answers: Sequence[Patterns], groups: list[Group], items: ItemParameters, pairs: Sequence[Places]
) -> tuple[float, Array]:
    """Correlation of a system's residuals in both groups, and information that pairs share."""
    product = 0.0
    shared = np.zeros(items.n_items)
    for part in blocks(len(pairs[0]), items.n_items):
        residual = np.ones(1)
        variance = np.ones(1)
        for of_group, group, rows in zip(answers, groups, pairs, strict=True):
            right, tried = of_group.dense(rows[part])
            p = items.probability(group.means[rows[part]])
            residual = residual * (right - tried * p)
            variance = variance * tried * p * (1 - p)
        product += residual.sum()
        shared += np.sqrt(variance).sum(axis=0)
    return float(np.clip(product / max(shared.sum(), LITTLE), 0.0, _TUNED.most_alike)), shared


def _mixture(z: Array, error: Array) -> Mixture:
    """Learn how z of items that changed is distributed, on either side of 0 (EM)."""
    of_side, of_all = _TUNED.prior_items
    along = np.array([[1.0], [-1.0]]) * z
    share = np.full((2, 1), 0.03)
    mean = np.full((2, 1), _TUNED.changing_z)
    sd = np.full((2, 1), 1.5)
    for _ in range(200):  # 800 more change p_drift by less than 1e-5
        stays = np.log(1 - share.sum()) - 0.5 * z**2
        changed = np.log(share / sd) - 0.5 * ((along - mean) / sd) ** 2
        (stayed, *above_and_below), _ = memberships(np.vstack([stays, changed]))
        weight = np.array(above_and_below)
        n = weight.sum(axis=1, keepdims=True)
        share = (n + of_side) / (len(z) + of_all)
        total = (weight * along).sum(axis=1, keepdims=True)
        mean = np.maximum((total + _TUNED.changing_z) / (n + 1), _TUNED.least_z)
        squares = (weight * (along - mean) ** 2).sum(axis=1, keepdims=True)
        sd = np.maximum(np.sqrt((squares + 2) / (n + 2)), 1.0)
    side = (z < 0).astype(int)
    mean = mean[side, 0]
    sd = sd[side, 0]
    n = n[side, 0]
    reliable = 1 - 1 / sd**2
    expected = mean + reliable * (np.abs(z) - mean)
    common = (1 - reliable) * sd / np.sqrt(n + 1)
    return Mixture(stayed, np.sign(z) * expected * error, reliable * error**2, common * error)
