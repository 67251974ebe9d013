"""Coordinates, priors, the guide and the bound: densities, derivatives and expectations."""

from collections import Counter

import jax
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import expit
from scipy.stats import beta, multivariate_normal, norm, t

from irtkit import Beta, ItemPrior, Normal, ResponseMatrix, WeakPrior, fit
from irtkit.calibration.empirical import ItemDistribution
from irtkit.calibration.search import GridSchedule, problem_of
from irtkit.calibration.standard_errors import N_COMMON, System
from irtkit.calibration.variational.guide import guide_of, information_at
from irtkit.calibration.variational.inference import Batches, bound_at
from irtkit.calibration.variational.target import Point, Target, target_of
from irtkit.data.patterns import patterns_of
from irtkit.quadrature import fixed_nodes
from tests.crowds import crowd


# The guide against the dense covariance that its parts stand for
def guide_at(target, mean, system, by_slope, by_prior):
    """A guide whose information is that at its mean."""
    information = information_at(target, [mean], [system])
    return guide_of(target, mean, information, by_slope, by_prior)


def flat(point):
    return np.concatenate([point.own.ravel(), point.shared])


def root_of(guide):
    """Matrix that standard normal deviates, those of items first, are multiplied by."""
    n_items, k = guide.own.shape
    n, r = len(guide.shared), len(guide.common)
    values, vectors = np.linalg.eigh(guide.common)
    common = (vectors * np.sqrt(values)) @ vectors.T
    whole = np.zeros((n_items * k + n, n_items * k + r))
    for j in range(n_items):
        some = slice(j * k, j * k + k)
        whole[some, some] = guide.factor[j]
        whole[some, n_items * k :] = -guide.loading[j] @ common
    whole[n_items * k :, n_items * k :] = common[:n]
    return whole


def covariance_of(guide):
    root = root_of(guide)
    return root @ root.T


def test_points_are_the_mean_plus_a_root_of_the_covariance(guide):
    generator = np.random.default_rng(5)
    own, common = generator.normal(size=guide.own.shape), generator.normal(size=len(guide.common))
    expected = flat(guide.mean) + root_of(guide) @ np.concatenate([own.ravel(), common])
    assert flat(guide.at(own, common)) == pytest.approx(expected)


def test_the_entropy_is_that_of_the_whole_covariance(guide):
    expected = multivariate_normal(cov=covariance_of(guide)).entropy()
    assert guide.entropy() == pytest.approx(expected, rel=1e-9)


def test_the_natural_gradient_is_the_covariance_times_the_gradient(guide):
    generator = np.random.default_rng(6)
    gradient = Point(
        generator.normal(size=guide.own.shape), generator.normal(size=guide.shared.shape)
    )
    found = flat(guide.natural(gradient))
    assert found == pytest.approx(covariance_of(guide) @ flat(gradient))


def test_points_have_mean_zero_unit_covariance_and_no_third_moment_by_item(guide):
    of_items, of_shared = (np.array(drawn) for drawn in zip(*guide.deviates(7), strict=True))
    for points in (*of_items.transpose(1, 0, 2), of_shared):
        n, k = points.shape
        assert points.mean(axis=0) == pytest.approx(0, abs=1e-12)
        assert points.T @ points / n == pytest.approx(np.eye(k), abs=1e-12)
        third = np.einsum("pa,pb,pc->abc", points, points, points)
        assert third == pytest.approx(0, abs=1e-12)


def system_like(n_items, size, *, noise=0.0):
    """A system that is positive definite as a whole, as one of responses is."""
    generator = np.random.default_rng(8)
    n = n_items * size + N_COMMON
    root = generator.normal(size=(n, 4 * n))
    whole = root @ root.T
    own = np.empty((n_items, size, size))
    cross = np.empty((n_items, size, N_COMMON))
    for j in range(n_items):
        some = slice(j * size, j * size + size)
        own[j], cross[j] = whole[some, some], whole[some, n_items * size :]
    return System(own, noise * own, cross, whole[-N_COMMON:, -N_COMMON:])


def dense_information(target, point, system, by_prior):
    """Information about own and shared coordinates and about shifts, all in one matrix."""
    by_own, by_shared = target.coordinates.jacobian(point)
    prior = target.coupled(point, target.coordinates.parameters(point))
    n_items, k = point.own.shape
    n, m = point.shared.size, n_items * k
    whole = np.zeros((m + n + N_COMMON,) * 2)
    learned, size = slice(2 - n, 2), system.item_blocks.shape[1]  # what of m and log τ is learned
    whole[m : m + n, m : m + n] = prior.corner[learned, learned]
    whole[m + n :, m + n :] = system.common_block
    for j in range(n_items):
        some = slice(j * k, j * k + k)
        change = np.zeros((size, len(whole)))  # of parameters by everything
        change[:, some], change[:, m : m + n] = by_own[j], by_shared[j]
        whole += change.T @ (system.item_blocks[j] + prior.blocks[j]) @ change
        beside = change.T @ system.coupling[j]
        whole[:, m + n :] += beside
        whole[m + n :, :] += beside.T
        whole[some, some] += np.diag(by_prior[j])
        with_learned = change.T @ prior.border[j][:, learned]
        whole[:, m : m + n] += with_learned
        whole[m : m + n, :] += with_learned.T
    return whole


def test_a_guide_inverts_the_information_about_items_and_shifts(target, guide):
    point, n_items = guide.mean, len(guide.own)
    system = system_like(n_items, target.coordinates.n_parameters)
    by_prior = np.random.default_rng(9).uniform(0.5, 2, guide.own.shape)
    made = guide_at(target, point, system, np.zeros(n_items), by_prior)
    whole = np.linalg.inv(dense_information(target, point, system, by_prior))
    n = guide.own.size + guide.shared.size
    scale = np.sqrt(np.outer(np.diag(whole), np.diag(whole)))[:n, :n]
    difference = covariance_of(made) - whole[:n, :n]
    assert difference / scale == pytest.approx(0, abs=1e-6)


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


# The evidence lower bound against the evidence itself, and its gradient
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
