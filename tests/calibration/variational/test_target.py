"""Coordinates of items, and the prior in these: densities, derivatives and expectations."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import beta, norm, t

from irtkit import Beta, ItemPrior, Normal, WeakPrior
from irtkit.calibration.empirical import ItemDistribution
from irtkit.calibration.variational.target import Point, target_of

STEP = 1e-6


def test_jacobians_are_differences_of_parameters(target, point):
    coordinates = target.coordinates
    by_own, by_shared = coordinates.jacobian(point)

    def moved(own, shared):
        ends = [
            coordinates.parameters(Point(point.own + sign * own, point.shared + sign * shared))
            for sign in (STEP, -STEP)
        ]
        return (ends[0] - ends[1]) / (2 * STEP)

    for k in range(coordinates.n_own):
        own = np.zeros_like(point.own)
        own[:, k] = 1.0
        assert by_own[:, :, k] == pytest.approx(moved(own, 0 * point.shared), abs=1e-8)
    for k, unit in enumerate(np.eye(coordinates.n_shared)):
        assert by_shared[:, :, k] == pytest.approx(moved(0 * point.own, unit), abs=1e-8)


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


def test_the_gradient_of_the_whole_prior_is_its_derivative(target, point):
    def log_density(at):
        return target.log_density(at, target.coordinates.parameters(at))

    units = 1e-5 * np.eye(point.own.size + point.shared.size)
    expected = [log_density(moved(point, u)) - log_density(moved(point, -u)) for u in units]
    parameters = target.coordinates.parameters(point)
    _, found = target.pulled_back(point, parameters, np.zeros_like(parameters))
    own = found.own + target.of_coordinates(point)[1]
    both = np.concatenate([own.ravel(), found.shared])
    assert both == pytest.approx(np.array(expected) / 2e-5, rel=1e-5, abs=1e-5)


def test_steep_slopes_meet_the_limit_of_the_weak_prior():
    target = target_of("2PL", WeakPrior(steep=0.5), np.ones(5), 100)
    point = Point(np.linspace(-2, 2, 10).reshape(5, 2), np.array([0.3, -0.1]))
    at_point = target.expected_prior(point.own, np.zeros_like(point.own)).value
    found = at_point + coupled(target, point).log_density
    assert found == pytest.approx(written_out(target, point), abs=1e-9)


def test_expectations_of_the_prior_are_those_of_dense_integration(target, guide):
    # 15 Gauss–Hermite points against 4,001 equal steps; the mixture of a learned prior, with its
    # bend between the two kinds, is the least smooth
    tolerance = 5e-3 if isinstance(target.prior, ItemDistribution) else 1e-3
    mean, sd = guide.own, np.minimum(guide.sds(), 0.3)
    found = target.expected_prior(mean, sd)
    z = np.linspace(-9, 9, 4001)
    weight = norm.pdf(z)
    value = 0.0
    for column, density in enumerate(target.densities()):
        if density is None:
            assert not found.gradient[:, column].any()
            assert not found.curvature[:, column].any()
            continue
        at = mean[:, column, None] + sd[:, column, None] * z
        log_density, derivative = density.at(at)
        value += trapezoid(weight * log_density, z).sum()
        slope = trapezoid(weight * derivative, z)
        bend = -trapezoid(weight * derivative * z, z) / sd[:, column]
        scale = np.abs(derivative).max()
        assert found.gradient[:, column] == pytest.approx(slope, abs=tolerance * scale)
        assert found.curvature[:, column] == pytest.approx(
            np.maximum(bend, 0), abs=10 * tolerance * scale
        )
    assert found.value == pytest.approx(value, rel=tolerance)


def test_intercepts_move_where_items_are_many_beside_respondents():
    moving = [
        target_of("2PL", WeakPrior(), np.ones(n_items), 10).coordinates.intercepts_move
        for n_items in (20, 21)
    ]
    assert moving == [False, True]
    prior = ItemPrior(Normal(1, 1), Normal(0, 1))
    assert not target_of("2PL", prior, np.ones(100), 10).coordinates.intercepts_move
