"""Claims about means over items, and their errors."""

import numpy as np
import pytest
from scipy.stats import binomtest

from irtkit.systems.paired import items_needed, mean_of, power_of, wilson_interval
from irtkit.systems.scores import Shares


def test_the_error_of_a_mean_is_the_textbook_one():
    values = np.random.default_rng(0).normal(size=50)
    found = mean_of(values)
    assert found.se == pytest.approx(values.std(ddof=1) / 50**0.5)
    assert found.df == 49
    assert mean_of(np.zeros(20)).p_value == 1
    assert mean_of(np.zeros(20)).se == pytest.approx((20 / 19) ** 0.5 / 20)  # some error is left


def test_clusters_of_copies_count_once():
    right = np.random.default_rng(0).random((2, 50)).round()
    copied = np.repeat(right, 3, axis=1)
    copies = Shares(copied, np.ones_like(copied))
    _, once = Shares(right, np.ones_like(right)).difference()
    _, clustered = copies.difference(np.repeat(np.arange(50), 3))
    assert clustered == pytest.approx(once)
    assert clustered.df == 49
    assert copies.difference()[1].se < 0.6 * clustered.se


def test_the_interval_of_a_share_is_wilsons():
    for right, n in ((130, 200), (0, 7), (7, 7)):
        theirs = binomtest(right, n).proportion_ci(method="wilson")
        ours = wilson_interval(right / n, n)
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_power_is_the_level_without_a_difference_and_rises_to_1():
    n = [10, 30, 100, 300]  # beyond them powers may be 1 twice
    none = power_of(n, 0.0, 0.5, level=0.95, clusters_per_item=1)
    assert none == pytest.approx([0.05] * 4, abs=1e-6)
    found = power_of(n, 0.1, 0.5, level=0.95, clusters_per_item=1)
    assert (np.diff(found) > 0).all()
    assert power_of(10_000, 0.1, 0.5, level=0.95, clusters_per_item=1) == pytest.approx(1)


def test_the_items_needed_have_the_stated_power():
    n = items_needed(0.5, 0.03, tail_probability=0.025, clusters_per_item=1.0)
    found = power_of(n, 0.03, 0.5, level=0.95, clusters_per_item=1)
    assert found == pytest.approx(0.8, abs=0.002)
    assert np.isinf(items_needed(0.5, 0.0, tail_probability=0.025, clusters_per_item=1.0))
    # a difference that few items tell, and items that are five to a cluster
    for difference, each in ((0.3, 1.0), (0.5, 1.0), (0.5, 0.2), (0.03, 0.2)):
        n = items_needed(0.5, difference, tail_probability=0.025, clusters_per_item=each)
        powers = [
            power_of(k, difference, 0.5, level=0.95, clusters_per_item=each) for k in (n, n - 1)
        ]
        assert powers[0] == pytest.approx(0.8, abs=0.05)
        assert powers[1] < powers[0]
