"""The guide against the dense covariance that its parts stand for."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from irtkit.calibration.standard_errors import N_COMMON, System
from irtkit.calibration.variational.guide import guide_of, information_at
from irtkit.calibration.variational.target import Point


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
