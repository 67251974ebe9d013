"""The evidence lower bound against the evidence itself, and its gradient."""

from collections import Counter

import jax
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from irtkit import (
    ItemPrior,
    Normal,
    ResponseMatrix,
    fit,
)
from irtkit.calibration.search import GridSchedule, problem_of
from irtkit.calibration.variational.inference import (
    Batches,
    bound_at,
)
from irtkit.calibration.variational.target import Target
from irtkit.data.patterns import patterns_of
from irtkit.quadrature import fixed_nodes
from tests.crowds import crowd

PRIOR = ItemPrior(Normal(1.0, 1.0), Normal(0.0, 2.0))
TINY = [[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 1]]
THETA = np.linspace(-7, 7, 71)
OF_ABILITY = norm.pdf(THETA) / norm.pdf(THETA).sum()


NODES = fixed_nodes(71, 7.0)


def batches_of(target, responses):
    """All respondents in one batch, in 64 bits."""
    rows = patterns_of(responses, synthetic_is_real=False)
    mesh = jax.make_mesh((1,), ("rows",))
    problem = problem_of(rows, target.coordinates.model, target.prior, mesh)
    return Batches(problem, GridSchedule(), rows, None, seed=3)


def differences(function, at, step=1e-05):
    units = step * np.eye(at.size).reshape(-1, *at.shape)
    return np.array([function(at + u) - function(at - u) for u in units]).reshape(at.shape) / (
        2 * step
    )


def test_the_gradient_of_the_bound_is_its_derivative_by_the_means(target, guide):
    # the same seed gives the same points around every mean, so that differences are exact
    values = crowd("small").responses.values[:30, :5]
    batches = batches_of(target, ResponseMatrix(values))

    def bound(own, shared):
        moved = guide._replace(own=own, shared=shared)
        return bound_at(target, moved, batches, NODES).elbo

    gradient = bound_at(target, guide, batches, NODES).gradient
    by_own = differences(lambda own: bound(own, guide.shared), guide.own)
    assert gradient.own == pytest.approx(by_own, rel=1e-4, abs=1e-4)
    if guide.shared.size:
        by_shared = differences(lambda shared: bound(guide.own, shared), guide.shared)
        assert gradient.shared == pytest.approx(by_shared, rel=1e-4, abs=1e-4)


def coupled_over_draws(target, guide, batches, generator, n):
    """Log-likelihood and coupled prior at points drawn from the guide."""
    values = []
    for _ in range(n):
        own = generator.normal(size=guide.own.shape)
        drawn = guide.at(own, generator.normal(size=len(guide.common)))
        parameters = target.coordinates.parameters(drawn)
        coupled = target.coupled(drawn, parameters).log_density
        values.append(batches.evaluate(parameters[None], NODES)[0][0] + coupled)
    return values


def patterns(slopes, intercepts):
    """P(right, wrong) of one item at every node, for all pairs of its parameters: (2, n, nodes)."""
    logits = slopes[:, None] * THETA + intercepts[:, None]
    return np.stack([expit(-logits), expit(logits)])


def log_evidence_of_tiny(by_item, log_prior):
    """Log evidence of two items: a sum over the parameters of one times those of the other.

    ``by_item`` holds P(right, wrong), ``log_prior`` the log weight of each pair of parameters.
    """
    likelihood = np.ones((len(log_prior), len(log_prior)))
    for (first, second), n in Counter(map(tuple, TINY)).items():
        likelihood *= ((by_item[first] * OF_ABILITY) @ by_item[second].T) ** n
    weight = np.exp(log_prior)
    return float(np.log(weight @ likelihood @ weight))


def evidence_under_normal_priors():
    slopes, intercepts = np.linspace(-4, 6, 33), np.linspace(-9, 9, 31)
    a, d = (part.ravel() for part in np.meshgrid(slopes, intercepts))
    log_prior = norm.logpdf(a, 1, 1) + norm.logpdf(d, 0, 2)
    log_prior += np.log((slopes[1] - slopes[0]) * (intercepts[1] - intercepts[0]))
    return log_evidence_of_tiny(patterns(a, d), log_prior)


def bound_over_draws(result, prior, n):
    """The bound at the guide of a fit from normal draws, and its standard error."""
    posterior = result.posterior
    assert posterior is not None
    target = Target(posterior.coordinates, prior)
    batches = batches_of(target, ResponseMatrix(TINY))
    guide, generator = posterior.guide, np.random.default_rng(12)
    values = coupled_over_draws(target, guide, batches, generator, n)
    rest = target.expected_prior(guide.own, guide.sds()).value + guide.entropy()
    return float(np.mean(values) + rest), float(np.std(values) / np.sqrt(n))


@pytest.mark.slow
def test_the_bound_is_below_the_evidence_and_near_it():
    # with two items and six respondents posteriors are far from normal
    result, gap = fit(ResponseMatrix(TINY), method="vi", prior=PRIOR), 0.5
    exact, (bound, error) = evidence_under_normal_priors(), bound_over_draws(result, PRIOR, 2000)
    assert error < gap / 5
    assert exact - gap < bound < exact + 2 * error
    assert result.elbo is not None
    assert result.elbo == pytest.approx(bound, abs=0.2)
