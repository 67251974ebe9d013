"""Nodes that follow the items, and item curves carried from points to nodes."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import norm

from irtkit.irf import Items
from irtkit.quadrature import NodeDensity, fixed_nodes

REACH = 8.0


def drawn(n_items, steep=None):
    generator = np.random.default_rng(n_items)
    slope = generator.lognormal(0, 0.3, n_items)
    if steep is not None:
        slope[0] = steep
    return Items(slope, -slope * generator.normal(size=n_items))


def integral(nodes, log_values):
    return float(logsumexp(log_values + nodes.log_width))


@pytest.mark.parametrize(("n_items", "refine"), [(1, 1), (40, 2), (5000, 1)])
def test_the_normal_distribution_keeps_its_moments(n_items, refine):
    nodes = NodeDensity.of(drawn(n_items), REACH, 1.0).nodes(refine)
    assert integral(nodes, norm.logpdf(nodes.theta)) == pytest.approx(0.0, abs=1e-9)
    weights = np.exp(nodes.normal_log_weights(1.0))
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights @ nodes.theta == pytest.approx(0.0, abs=1e-9)
    assert weights @ nodes.theta**2 == pytest.approx(1.0, abs=1e-9)
    assert np.exp(nodes.normal_log_weights(1.0, 0.3)) @ nodes.theta == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("grid", [(61, 6.0), (60, 6.0), (3, 1.0)])
@pytest.mark.parametrize("by_step", [0.1, 0.5, 0.99, 1.0, 1.01, 3.0, 40.0])
def test_the_share_of_a_normal_on_a_grid_agrees_with_infinitely_many_nodes(grid, by_step):
    n_nodes, limit = grid
    nodes, step = fixed_nodes(n_nodes, limit), 2 * limit / (n_nodes - 1)
    long = nodes.theta[0] + step * np.arange(-2000, 2000)
    on_grid = np.arange(2000, 2000 + n_nodes)

    def log_share(log_sd, mean):
        log_density = -0.5 * ((long - mean) / np.exp(log_sd)) ** 2
        return float(logsumexp(log_density[on_grid]) - logsumexp(log_density))

    at, h = np.log(by_step * step), 1e-3
    for mean in (0.0, 0.3 * limit):
        value, by_mean, by_log_sd = nodes.log_share_of_normal(by_step * step, mean)
        assert value == pytest.approx(log_share(at, mean), abs=2e-8)
        rise = log_share(at + h, mean) - log_share(at - h, mean)
        assert by_log_sd == pytest.approx(rise / (2 * h), abs=1e-5)
        k = h * step
        rise = log_share(at, mean + k) - log_share(at, mean - k)
        assert by_mean * step == pytest.approx(rise / (2 * h), abs=1e-4)


@pytest.mark.parametrize(
    ("n_items", "steep", "tolerance"), [(12, None, 1e-9), (300, None, 1e-6), (12, 20.0, 1e-3)]
)
def test_any_posterior_is_integrated_as_by_a_fine_grid(n_items, steep, tolerance):
    items = drawn(n_items, steep)
    nodes = NodeDensity.of(items, REACH, 1.0).nodes()
    fine = fixed_nodes(20001, REACH)
    width = np.log(2 * REACH / 20000)
    generator = np.random.default_rng(0)

    def log_joint(theta, right):
        z = np.multiply.outer(items.slope, theta) + items.intercept[:, None]
        return right @ z - np.logaddexp(0, z).sum(axis=0) + norm.logpdf(theta)

    for ability in (-3.0, -1.0, 0.0, 2.0):
        p = expit(items.slope * ability + items.intercept)
        right = (generator.random(n_items) < p).astype(float)
        expected = integral(fine, log_joint(fine.theta, right)) + width
        found = integral(nodes, log_joint(nodes.theta, right))
        assert found == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("n_items", [300, 3000])
@pytest.mark.parametrize(("points_refined", "tolerance"), [(1, 1e-3), (2, 1e-6)])
def test_item_curves_come_from_points_as_if_computed_at_the_nodes(
    n_items, points_refined, tolerance
):
    items = drawn(n_items)
    nodes = NodeDensity.of(items, REACH, 1.0, share=1.0).nodes(2, points_refined=points_refined)
    assert nodes.interpolation is not None
    assert len(nodes.points) < len(nodes.theta)

    def curves(theta):
        return np.logaddexp(
            0, np.multiply.outer(items.slope, theta) + items.intercept[:, None]
        ).sum(axis=0)

    # What is asked of a log-likelihood is 1e-3; with twice the points the error, of twelfth order,
    # is next to nothing. Stencils are one-sided at the ends, where no respondent is.
    middle = np.abs(nodes.theta) < 6
    found, expected = nodes.interpolation @ curves(nodes.points), curves(nodes.theta)
    assert found[middle] == pytest.approx(expected[middle], abs=tolerance, rel=0)
