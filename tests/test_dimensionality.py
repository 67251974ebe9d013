"""Claims about further abilities and groups of items in the residuals of one ability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.data.limits import BOUND, Dimensionality, dimensionality
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def found(values: NDArray[np.int8] | ResponseMatrix) -> Dimensionality | None:
    made = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values)
    patterns = patterns_of(made, synthetic_is_real=False)
    return dimensionality(patterns, near_duplicates(patterns))


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
    p = 1 / (1 + np.exp(-slope * (theta.reshape(len(theta), -1) - difficulty)))
    return (generator.random(p.shape) < guessing + (1 - guessing) * p).astype(np.int8)


def two_abilities(seed: int, n: int, m: int, share: float, correlation: float) -> NDArray[np.int8]:
    generator = np.random.default_rng(seed)
    covariance = [[1, correlation], [correlation, 1]]
    theta = generator.multivariate_normal([0, 0], covariance, size=n)
    sizes = (m - round(share * m), round(share * m))
    return np.hstack([drawn(generator, theta[:, k], size) for k, size in enumerate(sizes)])


@pytest.mark.parametrize("shape", [(200, 500), (2000, 40), (1000, 100), (100, 1000)])
@pytest.mark.parametrize(("share", "correlation"), [(0.2, -0.5), (0.5, 0.5)])
def test_a_second_ability_raises_the_largest_eigenvalue(
    shape: tuple[int, int], share: float, correlation: float
) -> None:
    told = found(two_abilities(0, *shape, share, correlation))
    assert told is not None
    assert told.eigenvalue > BOUND


@pytest.mark.parametrize("shape", [(200, 500), (2000, 40), (30, 40), (5000, 20)])
@pytest.mark.parametrize(
    "how", [{}, {"spread": 0.8}, {"guessing": 0.25, "spread": 0.6}, {"inverted": 0.2}]
)
def test_slopes_that_differ_guessing_and_inverted_items_are_one_ability(
    shape: tuple[int, int], how: dict[str, float]
) -> None:
    n, m = shape
    for seed in range(2):
        generator = np.random.default_rng(seed)
        theta = generator.exponential(size=n) if seed % 2 else generator.normal(size=n)
        assert found(drawn(generator, theta - theta.mean(), m, **how)) is None


def test_passages_raise_the_sum_of_squares() -> None:
    generator = np.random.default_rng(0)
    own = np.repeat(generator.normal(size=(200, 20)), 5, axis=1)
    told = found(drawn(generator, generator.normal(size=(200, 1)) + own, 100))
    assert told is not None
    assert told.squares > 5


@pytest.mark.parametrize(("families", "size"), [(30, 7), (60, 3)])
def test_near_duplicates_are_no_further_ability(families: int, size: int) -> None:
    generator = np.random.default_rng(0)
    parents = drawn(generator, generator.normal(size=families), 500)
    copies = np.repeat(parents, size, axis=0)
    copies = np.where(generator.random(copies.shape) < 0.02, 1 - copies, copies)
    assert found(copies.astype(np.int8)) is None


@pytest.mark.parametrize("shape", [(29, 500), (500, 19), (3, 3)])
def test_few_respondents_or_items_show_nothing(shape: tuple[int, int]) -> None:
    assert found(two_abilities(0, *shape, 0.5, 0.0)) is None


def test_missing_cells_are_no_ability_and_hide_a_strong_one_no_more_than_they_must() -> None:
    generator = np.random.default_rng(0)
    for responses, expected in (
        (drawn(generator, generator.normal(size=1000), 100), False),
        (two_abilities(0, 1000, 100, 0.5, 0.0), True),
    ):
        missing = generator.random(responses.shape) < 0.5
        told = found(np.where(missing, -1, responses).astype(np.int8))
        assert (told is not None) is expected


def test_the_same_data_give_the_same_numbers_sparse_synthetic_and_repeated_ones_too() -> None:
    values = two_abilities(0, 300, 100, 0.5, 0.0)
    dense = ResponseMatrix(values)
    told = found(dense)
    assert told is not None
    assert told == found(dense) == found(add_synthetic(dense, ("always-right", "coin"), draws=20))
    thrice = ResponseMatrix.from_counts(3 * values.astype(np.int64), np.full(values.shape, 3))
    for other in (found(dense.to_sparse()), found(thrice)):
        assert other is not None
        assert other.eigenvalue > BOUND
