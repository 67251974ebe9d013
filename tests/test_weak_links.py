"""Claims about parts of a matrix that hardly any response links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irtkit import ResponseMatrix
from irtkit.data.components import Components, components_of
from irtkit.data.patterns import patterns_of
from irtkit.data.weak_links import information_between, weakly_linked


def parts(responses: Any) -> Components | None:
    matrix = responses if isinstance(responses, ResponseMatrix) else ResponseMatrix(responses)
    patterns = patterns_of(matrix, synthetic_is_real=False)
    return weakly_linked(patterns, components_of(patterns), 1.0)


def drawn(n: int, m: int, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    z = generator.normal(size=(n, 1)) - generator.normal(size=m)
    return (generator.random((n, m)) < 1 / (1 + np.exp(-z))).astype(np.int8)


def two_blocks(n_common: int = 0) -> Any:
    """30 and 20 respondents with 25 items each, and so many more that all of them answered."""
    values = drawn(50, 50 + n_common)
    values[:30, 25:50] = values[30:, :25] = -1
    return values


@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("sparse", [False, True])
def test_items_that_all_answer_alike_link_nothing(given: int, sparse: bool) -> None:
    values = two_blocks(3)
    values[:, 50:] = given
    responses = ResponseMatrix(values)
    found = parts(responses.to_sparse() if sparse else responses)
    assert found is not None
    assert found.respondents.tolist() == [1] * 30 + [2] * 20
    assert found.items[:50].tolist() == [1] * 25 + [2] * 25


@pytest.mark.parametrize("n_cells", [1, 3])
def test_a_few_cells_link_nothing(n_cells: int) -> None:
    values = two_blocks()
    values[range(n_cells), range(30, 30 + n_cells)] = 1
    found = parts(values)
    assert found is not None
    assert found.respondents.tolist() == [1] * 30 + [2] * 20


def test_one_item_places_blocks_badly_and_sixteen_well() -> None:
    assert parts(two_blocks(1)) is not None
    assert parts(two_blocks(16)) is None


def test_parts_are_divided_until_they_hold_together() -> None:
    values = np.full((90, 76), -1, np.int8)
    for k in range(3):
        values[30 * k : 30 * (k + 1), 25 * k : 25 * (k + 1)] = drawn(30, 25, k)
    values[:60, 75] = 1  # the third part shares no response, the others one item
    found = parts(values)
    assert found is not None
    assert found.n == 3
    assert [len(set(found.respondents[30 * k : 30 * (k + 1)])) for k in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("observed", [0.1, 0.2, 0.5])
def test_matrices_with_cells_missing_at_random_hold_together(observed: float) -> None:
    for seed in range(5):
        values = drawn(200, 100, seed)
        kept = np.random.default_rng(seed).random(values.shape) < observed
        assert parts(np.where(kept, values, -1)) is None


def test_what_is_complete_or_has_no_variance_has_no_parts() -> None:
    assert parts(drawn(20, 10)) is None
    values = two_blocks(1)
    assert parts(np.where(values < 0, -1, 1)) is None
    assert parts(np.array([[1, 0, -1], [0, -1, 1]])) is None


def test_where_all_answer_everything_information_is_that_of_two_samples() -> None:
    values = drawn(60, 8)
    values[:, 0] = np.arange(60) % 2
    patterns = patterns_of(ResponseMatrix(values[:, :1]), synthetic_is_real=False)
    information, by_response, _ = information_between(patterns, np.arange(60) < 20)
    assert by_response == pytest.approx(0.25)
    assert information == pytest.approx(20 * 40 / 60 / 4)
