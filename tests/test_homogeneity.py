"""Claims about the test whether respondents differ in ability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irtkit import ResponseMatrix
from irtkit.data.limits import no_ability_differences
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of


def found(values: Any) -> bool:
    responses = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values)
    patterns = patterns_of(responses, synthetic_is_real=False)
    return no_ability_differences(patterns, near_duplicates(patterns).n_eff)


def drawn(seed: int, n: int, m: int, sd: float) -> Any:
    """Responses of abilities with an SD to items of all difficulties."""
    generator = np.random.default_rng(seed)
    z = sd * generator.normal(size=(n, 1)) - generator.normal(size=m)
    return (generator.random((n, m)) < 1 / (1 + np.exp(-z))).astype(np.int8)


@pytest.mark.parametrize(("n", "m"), [(100, 200), (30, 50), (1000, 5)])
def test_equal_abilities_are_found_at_the_level(n: int, m: int) -> None:
    # at a level of 5 % fewer than 16 of 20 occur once in 400 times
    assert sum(found(drawn(seed, n, m, 0.0)) for seed in range(20)) >= 16


@pytest.mark.parametrize("size", [5, 20])
def test_equal_abilities_are_found_although_respondents_are_copies(size: int) -> None:
    sets = [np.repeat(drawn(seed, 100 // size, 200, 0.0), size, axis=0) for seed in range(20)]
    assert sum(found(values) for values in sets) >= 16


@pytest.mark.parametrize(("n", "m"), [(30, 50), (12, 100), (8, 30), (200, 5), (100, 3), (500, 2)])
def test_abilities_that_differ_are_not_equal(n: int, m: int) -> None:
    assert sum(found(drawn(seed, n, m, 1.0)) for seed in range(20)) <= 1


def test_a_test_without_power_finds_nothing() -> None:
    generator = np.random.default_rng(0)
    sets = [drawn(seed, 30, 40, 0.8) for seed in range(20)]
    sparse = [np.where(generator.random((30, 40)) < 0.8, -1, values) for values in sets]
    assert sum(map(found, sparse)) <= 3  # 6 without the condition on power
    assert not found(np.ones((30, 40)))
    assert not found(np.arange(40)[:, None] % 2)
    assert not found(drawn(0, 2, 400, 0.0))


def test_missing_cells_and_repeated_trials_count_as_what_they_are() -> None:
    generator = np.random.default_rng(0)
    noise = drawn(1, 100, 100, 0.0)
    sparse = ResponseMatrix(np.where(generator.random(noise.shape) < 0.6, -1, noise))
    assert found(sparse)
    assert found(sparse.to_sparse())
    p = generator.random(40)
    trials = np.full((50, 40), 5)
    assert found(ResponseMatrix.from_counts(generator.binomial(5, p, trials.shape), trials))
