"""Claims about rank correlations, with SciPy and repeated items as referees."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from irtkit.difficulty.rank_agreement import (
    kendall,
    levels,
    n_tied,
    rank_agreement,
    ranks,
    same_order,
    spearman,
    spearman_interval,
)

GENERATOR = np.random.default_rng(8)
COARSE = GENERATOR.integers(0, 6, 80)
FINE = COARSE + GENERATOR.normal(0, 2, 80)


def test_levels_count_the_distinct_values() -> None:
    assert levels([2.0, -1.0, 2.0, 5.5]).tolist() == [1, 0, 1, 2]
    assert levels([]).tolist() == []


def test_rounding_error_is_a_tie() -> None:
    assert levels([0.1 + 0.2, 0.3, 0.3 + 1e-4, 1e6, 1e6 + 0.5]).tolist() == [0, 0, 1, 2, 2]


def test_infinite_values_are_the_lowest_and_highest() -> None:
    assert levels([np.inf, 1e9, -np.inf, 0.0, np.inf]).tolist() == [3, 2, 0, 1, 3]


def test_ranks_are_those_of_scipy() -> None:
    np.testing.assert_allclose(ranks(levels(COARSE)), stats.rankdata(COARSE))


def test_correlations_are_those_of_scipy() -> None:
    x, y = levels(COARSE), levels(FINE)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(COARSE, FINE).statistic, abs=1e-12)
    assert kendall(x, y) == pytest.approx(stats.kendalltau(COARSE, FINE).statistic, abs=1e-12)


def test_a_weight_is_a_number_of_copies() -> None:
    weights = GENERATOR.integers(0, 4, 80)
    copied = stats.spearmanr(np.repeat(COARSE, weights), np.repeat(FINE, weights)).statistic
    assert spearman(levels(COARSE), levels(FINE), weights) == pytest.approx(copied, abs=1e-12)


def test_the_interval_is_that_of_a_plain_bootstrap() -> None:
    # another stream of 4,000 draws; percentiles of 4,000 vary by less than 0.01 here
    rows = np.random.default_rng(1).integers(len(COARSE), size=(4000, len(COARSE)))
    drawn = [stats.spearmanr(np.take(COARSE, k), np.take(FINE, k)).statistic for k in rows]
    interval = spearman_interval(levels(COARSE), levels(FINE), draws=4000)
    np.testing.assert_allclose(interval, np.percentile(drawn, [2.5, 97.5]), atol=0.02)


def test_a_seed_gives_the_same_interval_and_another_seed_another() -> None:
    x, y = levels(COARSE), levels(FINE)
    first = spearman_interval(x, y, draws=20, seed=1)
    assert first == spearman_interval(x, y, draws=20, seed=1)
    assert first != spearman_interval(x, y, draws=20, seed=2)


@pytest.mark.parametrize("values", [([1, 1, 1], [1, 2, 3]), ([1], [2]), ([], [])])
def test_measures_without_order_have_no_correlation(values: tuple[list[int], list[int]]) -> None:
    agreement = rank_agreement(*values)
    numbers = [agreement.spearman, agreement.spearman_low, agreement.spearman_high]
    assert np.isnan([*numbers, agreement.kendall]).all()


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


@pytest.mark.parametrize("settings", [{"draws": 0}, {"draws": 2.5}, {"seed": -1}])
def test_impossible_settings_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        rank_agreement([1, 2, 3], [3, 2, 1], **settings)
