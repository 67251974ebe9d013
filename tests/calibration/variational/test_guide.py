"""Coordinates, priors, the guide and the bound: densities, derivatives and expectations."""

import jax
import numpy as np
import pytest
from scipy.stats import beta, norm, t

from irtkit import Beta, ItemPrior, Normal, ResponseMatrix, WeakPrior
from irtkit.calibration.empirical import ItemDistribution
from irtkit.calibration.search import GridSchedule, problem_of
from irtkit.calibration.variational.inference import Batches, bound_at
from irtkit.calibration.variational.target import Point
from irtkit.data.patterns import patterns_of
from irtkit.quadrature import fixed_nodes
from tests.crowds import crowd


def flat(point):
    return np.concatenate([point.own.ravel(), point.shared])


# Coordinates of items, and the prior in these: densities, derivatives and expectations


def moved(point, flat):
    """Point with own, then shared coordinates changed by a vector."""
    own = flat[: point.own.size].reshape(point.own.shape)
    return Point(point.own + own, point.shared + flat[point.own.size :])


def coupled(target, point):
    return target.coupled(point, target.coordinates.parameters(point))


def written_out(target, point):
    """The log density that the documentation of each prior states, in SciPy's words."""
    coordinates, prior = target.coordinates, target.prior
    slope, intercept, *rest = coordinates.parameters(point).T
    total = 0.0
    if rest:
        guessing = 1 / (1 + np.exp(-rest[0]))
        density = prior.guessing if isinstance(prior, ItemPrior) else Beta(5, 17)
        if isinstance(density, Normal):
            total += norm.logpdf(rest[0], density.mean, density.sd).sum()
        else:
            total += beta.logpdf(guessing, density.alpha, density.beta).sum()
            total += np.log(guessing * (1 - guessing)).sum()  # as a density of the logit
    if isinstance(prior, ItemPrior):
        assert isinstance(prior.intercept, Normal)
        total += norm.logpdf(intercept, prior.intercept.mean, prior.intercept.sd).sum()
        density = prior.discrimination
        some = slope[:1] if coordinates.common_slope else slope
        total += norm.logpdf(some, density.mean, density.sd).sum()
        # a common slope is a density of its log
        total += np.log(some).sum() if coordinates.common_slope else 0.0
        return float(total)
    location, log_scale = point.shared
    total += norm.logpdf(location, 0, 5) + norm.logpdf(log_scale, 0, 1)
    ratio = slope * np.exp(-log_scale)
    spread = prior.intercept_spread
    if isinstance(prior, ItemDistribution):
        spread = np.hypot(spread, prior.difficulty_spread * prior.slope * ratio)
        u, centre = np.arcsinh(ratio / prior.bend), np.arcsinh(1 / prior.bend)
        kinds = [norm.pdf(u, sign * centre, prior.log_slope_spread) for sign in (1, -1)]
        total += np.log((1 - prior.inverted) * kinds[0] + prior.inverted * kinds[1]).sum()
        location = location + prior.intercept / np.abs(slope)
    total += norm.logpdf(intercept - location * slope, 0, spread).sum()
    if isinstance(prior, WeakPrior) and not coordinates.common_slope:
        total += t.logpdf(np.arcsinh(ratio), 4, np.arcsinh(1), prior.slope_spread).sum()
        beyond = np.log(np.maximum(np.abs(slope) / prior.steep, 1))
        total += -0.5 * ((beyond / prior.steep_spread) ** 2).sum()
    return float(total)


def test_the_prior_is_the_density_that_its_documentation_states(target, point):
    # a guide without spread: expectations are values
    at_point = target.expected_prior(point.own, np.zeros_like(point.own)).value
    found = at_point + coupled(target, point).log_density
    expected = written_out(target, point)
    assert found == pytest.approx(expected, abs=1e-9)
    parameters = target.coordinates.parameters(point)
    assert target.log_density(point, parameters) == pytest.approx(expected, abs=1e-9)
    # what is not of items is what is shared: m, log τ or a common slope
    each = np.repeat(np.arange(len(parameters)), 3)
    several = Point(point.own[each], point.shared)
    of_items = target.chosen(each).by_item(several, parameters[each])
    shared = expected - target.by_item(point, parameters).sum()
    assert of_items.sum() == pytest.approx(3 * (expected - shared), abs=1e-9)


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


@pytest.mark.parametrize("target", [
    *("2PL weak", "2PL weak, moving", "1PL weak", "3PL learned, moving", "1PL normal", "3PL beta"),
], indirect=True)  # fmt: skip
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
