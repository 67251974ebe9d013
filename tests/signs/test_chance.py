"""Claims about the test whether respondents differ by chance alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irtkit import ResponseMatrix
from irtkit.data.patterns import patterns_of
from irtkit.signs import differ_by_chance


def told(values: Any) -> bool:
    responses = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values)
    return differ_by_chance(patterns_of(responses, synthetic_is_real=False))


def drawn(seed: int, n: int, m: int, sd: float) -> Any:
    """Responses of abilities with an SD to items of all difficulties."""
    generator = np.random.default_rng(seed)
    z = sd * generator.normal(size=(n, 1)) - generator.normal(size=m)
    return (generator.random((n, m)) < 1 / (1 + np.exp(-z))).astype(np.int8)


@pytest.mark.parametrize(("n", "m"), [(100, 200), (30, 50), (1000, 5)])
def test_noise_is_told(n: int, m: int) -> None:
    assert sum(told(drawn(seed, n, m, 0.0)) for seed in range(20)) >= 19  # level 0.1 %


@pytest.mark.parametrize(("n", "m"), [(30, 50), (12, 100), (8, 30), (200, 5), (100, 3), (500, 2)])
def test_abilities_are_not_taken_for_noise(n: int, m: int) -> None:
    assert sum(told(drawn(seed, n, m, 1.0)) for seed in range(20)) <= 1


def test_where_usual_abilities_would_not_show_nothing_is_said() -> None:
    assert sum(told(drawn(seed, 6, 4, 0.0)) for seed in range(20)) <= 3
    assert not told(np.ones((30, 40)))
    assert not told(np.arange(40)[:, None] % 2)
    assert not told(drawn(0, 2, 400, 0.0))


def test_missing_cells_and_repeated_trials_count_as_what_they_are() -> None:
    generator = np.random.default_rng(0)
    noise = drawn(1, 100, 100, 0.0)
    sparse = ResponseMatrix(np.where(generator.random(noise.shape) < 0.6, -1, noise))
    assert told(sparse)
    assert told(sparse.to_sparse())
    p = generator.random(40)
    trials = np.full((50, 40), 5)
    assert told(ResponseMatrix.from_counts(generator.binomial(5, p, trials.shape), trials))
