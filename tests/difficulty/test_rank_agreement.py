"""Claims about rank correlations, with SciPy and simulation as referees."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from irtkit.difficulty.rank_agreement import (
    levels,
    n_tied,
    rank_agreement,
    same_order,
    spearman,
)

GENERATOR = np.random.default_rng(8)
COARSE = GENERATOR.integers(0, 6, 80)
FINE = COARSE + GENERATOR.normal(0, 2, 80)


def test_levels_tie_rounding_errors_and_infinite_values() -> None:
    assert levels([2.0, -1.0, 2.0, 5.5]).tolist() == [1, 0, 1, 2]
    assert levels([0.1 + 0.2, 0.3, 0.3 + 1e-4, 1e6, 1e6 + 0.5]).tolist() == [0, 0, 1, 2, 2]
    assert levels([np.inf, 1e9, -np.inf, 0.0, np.inf]).tolist() == [3, 2, 0, 1, 3]


def test_correlations_are_those_of_scipy() -> None:
    found = rank_agreement(levels(COARSE), levels(FINE))
    assert found.spearman == pytest.approx(stats.spearmanr(COARSE, FINE).statistic, abs=1e-12)
    assert found.kendall == pytest.approx(stats.kendalltau(COARSE, FINE).statistic, abs=1e-12)


def test_the_error_is_the_spread_of_the_correlation() -> None:
    """With average ranks of a coarse measure and correlations of 0.5 and 0.9."""
    generator = np.random.default_rng(1)
    for noise in (1.5, 0.4):
        drawn, widths = [], []
        for _ in range(400):
            x = np.round(generator.normal(size=200))
            found = rank_agreement(levels(x), levels(x + noise * generator.normal(size=200)))
            drawn.append(np.arctanh(found.spearman))
            widths.append(np.arctanh(found.spearman_high) - np.arctanh(found.spearman_low))
        # 400 draws tell an SD to 3.5 %
        assert np.mean(widths) / (2 * 1.96) == pytest.approx(np.std(drawn), rel=0.12)


def test_the_same_order_has_an_interval_of_no_width() -> None:
    found = rank_agreement(levels([1, 2, 3]), levels([10, 20, 30]))
    assert found == pytest.approx((1, 1, 1, 1))


@pytest.mark.parametrize("values", [([1, 1, 1], [1, 2, 3]), ([1], [2]), ([], [])])
def test_measures_without_order_have_no_correlation(values: tuple[list[int], list[int]]) -> None:
    x, y = map(levels, values)
    assert np.isnan([*rank_agreement(x, y), spearman(x, y)]).all()


@pytest.mark.parametrize("seed", range(20))
def test_same_order_means_that_no_pair_is_turned_round(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x = np.sort(generator.integers(0, 4, 6))
    y = np.sort(generator.integers(0, 4, 6)) if seed % 2 else generator.integers(0, 3, 6)
    turned = any((x[i] - x[j]) * (y[i] - y[j]) < 0 for i, j in combinations(range(6), 2))
    assert same_order(levels(x), levels(y)) is not turned


def test_ties_are_the_items_that_share_a_value() -> None:
    assert n_tied(levels([1, 1, 2, 3, 3, 3])) == 5
    assert n_tied(levels([1, 2, 3])) == 0
