"""Claims about patterns in what one ability leaves unexplained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.data.patterns import patterns_of
from irtkit.signs import Leftover, leftover_of, proportion_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def told(values: NDArray[np.int8] | ResponseMatrix) -> Leftover:
    made = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values)
    patterns = patterns_of(made, synthetic_is_real=False)
    return leftover_of(patterns, proportion_score(patterns))


def drawn(
    generator: np.random.Generator,
    theta: Array,
    m: int,
    *,
    spread: float = 0.3,
    guessing: float = 0.0,
    inverted: float = 0.0,
) -> NDArray[np.int8]:
    slope, difficulty = generator.lognormal(0, spread, m), generator.normal(size=m)
    slope[: round(inverted * m)] *= -1
    p = 1 / (1 + np.exp(-slope * (theta[:, None] - difficulty)))
    return (generator.random(p.shape) < guessing + (1 - guessing) * p).astype(np.int8)


def two_abilities(seed: int, n: int, m: int, share: float, correlation: float) -> NDArray[np.int8]:
    generator = np.random.default_rng(seed)
    covariance = [[1, correlation], [correlation, 1]]
    theta = generator.multivariate_normal([0, 0], covariance, size=n)
    sizes = (m - round(share * m), round(share * m))
    return np.hstack([drawn(generator, theta[:, k], size) for k, size in enumerate(sizes)])


@pytest.mark.parametrize("shape", [(200, 500), (2000, 40), (1000, 100), (100, 1000)])
@pytest.mark.parametrize(("share", "correlation"), [(0.2, -0.5), (0.2, 0.0), (0.5, 0.5)])
def test_a_second_ability_stands_out(
    shape: tuple[int, int], share: float, correlation: float
) -> None:
    for seed in range(4):
        assert told(two_abilities(seed, *shape, share, correlation)).stands_out


@pytest.mark.parametrize("shape", [(200, 500), (2000, 40), (30, 40), (5000, 20)])
@pytest.mark.parametrize(
    "how", [{}, {"spread": 0.8}, {"guessing": 0.25, "spread": 0.6}, {"inverted": 0.2}]
)
def test_slopes_that_differ_guessing_and_inverted_items_do_not(
    shape: tuple[int, int], how: dict[str, float]
) -> None:
    n, m = shape
    for seed in range(4):
        generator = np.random.default_rng(seed)
        theta = generator.exponential(size=n) if seed % 2 else generator.normal(size=n)
        found = told(drawn(generator, theta - theta.mean(), m, **how))
        assert found.ratio > 1
        assert not found.stands_out


def test_many_families_of_near_copies_do_not_and_three_do() -> None:
    for seed in range(4):
        generator = np.random.default_rng(seed)
        for families, size in ((30, 7), (3, 10)):
            parents = drawn(generator, generator.normal(size=families), 500)
            copies = np.repeat(parents, size, axis=0)
            copies = np.where(generator.random(copies.shape) < 0.02, 1 - copies, copies)
            assert told(copies.astype(np.int8)).stands_out == (families == 3)


def test_three_further_abilities_of_equal_strength_stand_out_together() -> None:
    generator = np.random.default_rng(0)
    parts = [drawn(generator, theta, 100) for theta in generator.normal(size=(4, 300))]
    assert told(np.hstack(parts)).stands_out


@pytest.mark.parametrize("shape", [(29, 500), (500, 19), (3, 3)])
def test_of_few_respondents_or_items_nothing_is_told(shape: tuple[int, int]) -> None:
    assert told(two_abilities(0, *shape, 0.5, 0.0)) == (1.0, 1.0)


def test_of_few_responses_nothing_is_told() -> None:
    values = two_abilities(0, 200, 200, 0.5, 0.0)
    keep = np.random.default_rng(0).random(values.shape) < 0.04
    assert told(np.where(keep, values, -1).astype(np.int8)) == (1.0, 1.0)


def test_missing_cells_make_no_pattern_and_hide_a_strong_one_no_more_than_they_must() -> None:
    generator = np.random.default_rng(0)
    for responses, stands_out in (
        (drawn(generator, generator.normal(size=1000), 100), False),
        (two_abilities(0, 1000, 100, 0.5, 0.0), True),
    ):
        missing = generator.random(responses.shape) < 0.5
        found = told(np.where(missing, -1, responses).astype(np.int8))
        assert found.stands_out == stands_out


def test_sparse_and_repeated_responses_say_what_dense_ones_say() -> None:
    values = two_abilities(0, 300, 100, 0.5, 0.0)
    dense = ResponseMatrix(values)
    assert told(dense.to_sparse()).ratio == pytest.approx(told(dense).ratio, rel=1e-3)
    trials = np.full(values.shape, 3)
    trice = ResponseMatrix.from_counts(3 * values.astype(np.int64), trials)
    assert told(trice).ratio == pytest.approx(told(dense).ratio, rel=1e-3)


def test_synthetic_respondents_are_left_out() -> None:
    dense = ResponseMatrix(two_abilities(0, 300, 100, 0.5, 0.0))
    among = add_synthetic(dense, ("always-right", "coin"), draws=20)
    assert told(among) == pytest.approx(told(dense))


def test_responses_without_variance_are_taken() -> None:
    assert told(np.ones((50, 50), np.int8)) == (1.0, 1.0)
    half = np.repeat([[0, 1]], 50, axis=0).repeat(30, axis=1).astype(np.int8)
    half[::2] = 1 - half[::2]
    assert told(half).ratio >= 1
