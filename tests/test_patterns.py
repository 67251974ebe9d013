"""Near-duplicate respondents: their effective number, and their families."""

import numpy as np
import pytest

from irtkit import ResponseMatrix
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of


def drawn(generator, theta, n_items):
    """2PL responses, slopes lognormal."""
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    p = 1 / (1 + np.exp(-slope * (theta[:, None] - difficulty)))
    return (generator.random(p.shape) < p).astype(np.int8)


def families(groups, size, n_items, seed, *, noise=0.02, missing=0.0):
    """Copies of parents with some answers flipped. Families of one are independent respondents."""
    generator = np.random.default_rng([seed, 21])
    values = np.repeat(drawn(generator, generator.normal(size=groups), n_items), size, axis=0)
    values = np.where(generator.random(values.shape) < noise * (size > 1), 1 - values, values)
    return np.where(generator.random(values.shape) < missing, -1, values).astype(np.int8)


def made(values):
    matrix = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values)
    return patterns_of(matrix, synthetic_is_real=False)


def found(values):
    return near_duplicates(made(values))


@pytest.mark.parametrize(
    ("groups", "size", "noise"),
    [(10, 20, 0.02), (30, 7, 0.02), (20, 10, 0.1), (40, 5, 0.2), (20, 10, 0.3), (60, 3, 0.2)],
)
def test_families_count_for_kishs_effective_sample_size(groups, size, noise):
    sets = [found(families(groups, size, 500, seed, noise=noise)) for seed in range(4)]
    # Flips leave copies correlated (1 − 2 noise)², times the share of the variance without flips.
    p = np.random.default_rng(0).normal(size=(2, 10_000))
    p = 1 / (1 + np.exp(-(p[0] - p[1])))
    flipped = p * (1 - 2 * noise) + noise
    likeness = (1 - 2 * noise) ** 2 * (p * (1 - p)).mean() / (flipped * (1 - flipped)).mean()
    n_eff = groups * size / (1 + (size - 1) * likeness)
    assert np.mean([one.n_eff for one in sets]) == pytest.approx(n_eff, rel=0.15)
    assert all(one.matter for one in sets)


@pytest.mark.parametrize(("noise", "n_eff", "within"), [(0.0, 60, 0.1), (0.05, 76, 0.2)])
def test_near_duplicates_of_twenty_items_are_counted(noise, n_eff, within):
    sets = [found(families(60, 4, 20, seed, noise=noise)).n_eff for seed in range(8)]
    assert np.mean(sets) == pytest.approx(n_eff, rel=within)


@pytest.mark.parametrize(
    ("n", "n_items", "missing"),
    [(200, 500, 0.0), (1000, 30, 0.0), (8, 25, 0.0), (30, 100, 0.3), (200, 500, 0.7)],
)
def test_independent_respondents_count_exactly_as_many(n, n_items, missing):
    for seed in range(4):
        one = found(families(n, 1, n_items, seed, missing=missing))
        assert one[:3] == (n, n, 1.0)
        assert not one.matter


def test_repeated_trials_of_copies_count_as_one_trial():
    values = families(12, 5, 200, 0, noise=0.0)
    right, trials = 3 * values.astype(np.int64), np.full(values.shape, 3)
    assert 10 < found(ResponseMatrix.from_counts(right, trials)).n_eff < 14


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_one_of_each_family_is_left(noise):
    parents, generator = families(28, 1, 400, 1), np.random.default_rng(0)
    values = np.concatenate([np.repeat(parents[:8], 5, axis=0), parents[8:]])
    values = np.where(generator.random(values.shape) < noise, 1 - values, values).astype(np.int8)
    distinct = found(values).distinct
    np.testing.assert_array_equal(distinct, [*range(0, 40, 5), *range(40, 60)])


@pytest.mark.parametrize("shape", [(1, 5), (2, 5), (3, 5), (4, 1), (5, 2), (8, 500), (300, 1)])
def test_few_respondents_or_items_count_as_independent(shape):
    values = families(shape[0], 1, shape[1], 0)
    assert found(values)[:3] == (shape[0], shape[0], 1.0)
    np.testing.assert_array_equal(found(values).distinct, np.arange(shape[0]))


def test_evidence_counts_for_one_over_the_size_of_families_and_more_where_cells_are_missing():
    whole, some = (found(families(30, 7, 500, 1, missing=missing)) for missing in (0.0, 0.7))
    assert whole.share == pytest.approx(1 / 7, rel=0.15)
    # Of 0.3 of the answers of the other six, an item has 0.3 of each.
    assert some.share == pytest.approx(1 / (1 + 6 * 0.3), rel=0.15)
    assert some.n_eff == pytest.approx(whole.n_eff, rel=0.15)
