"""Claims about the parts of a matrix that share no response."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.data.components import Components, components_of
from irtkit.data.patterns import patterns_of


def components(responses: ResponseMatrix) -> Components | None:
    return components_of(patterns_of(responses, synthetic_is_real=False))


def blocks(*shapes: tuple[int, int]) -> np.ndarray:
    """Responses in blocks along the diagonal."""
    n, m = np.sum(shapes, axis=0)
    values, row, column = np.full((n, m), -1), 0, 0
    for rows, columns in shapes:
        values[row : row + rows, column : column + columns] = np.arange(columns) % 2
        row, column = row + rows, column + columns
    return values


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_told_apart_and_numbered_by_their_respondents(sparse: bool) -> None:
    responses = ResponseMatrix(blocks((2, 9), (5, 3), (3, 4)))
    found = components(responses.to_sparse() if sparse else responses)
    assert found is not None
    assert found.n == 3
    assert found.respondents.tolist() == [3] * 2 + [1] * 5 + [2] * 3
    assert found.items.tolist() == [3] * 9 + [1] * 3 + [2] * 4


def test_repeated_trials_link_as_single_ones_do() -> None:
    values = blocks((3, 4), (2, 5))
    trials = np.where(values >= 0, 3, 0)
    found = components(ResponseMatrix.from_counts(np.maximum(values, 0), trials))
    assert found is not None
    assert found.respondents.tolist() == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("sparse", [False, True])
def test_one_response_links_two_blocks(sparse: bool) -> None:
    values = blocks((5, 3), (3, 4))
    values[0, -1] = 1
    responses = ResponseMatrix(values)
    assert components(responses.to_sparse() if sparse else responses) is None


def test_a_long_chain_of_links_is_followed_to_its_end() -> None:
    values = np.full((300, 301), -1)
    values[np.arange(300), np.arange(300)] = values[np.arange(300), np.arange(1, 301)] = 1
    assert components(ResponseMatrix(values)) is None
    values[150, 150] = -1
    found = components(ResponseMatrix(values))
    assert found is not None
    assert (found.n, found.respondents[149], found.respondents[150]) == (2, 1, 2)


def test_everyone_may_be_alone() -> None:
    found = components(ResponseMatrix(blocks(*[(1, 1)] * 40)))
    assert found is not None
    assert sorted(found.respondents) == sorted(found.items) == list(range(1, 41))


def test_synthetic_respondents_link_nothing() -> None:
    responses = add_synthetic(ResponseMatrix(blocks((5, 3), (3, 4))), ("always-right",))
    found = components(responses)
    assert found is not None
    assert (found.n, found.respondents[-1]) == (2, 0)


def test_who_answered_nothing_and_what_nobody_answered_belong_nowhere() -> None:
    values = blocks((5, 3), (3, 4), (1, 1))
    values[-1, -1] = -1
    found = components(ResponseMatrix(values))
    assert found is not None
    assert (found.n, found.respondents[-1], found.items[-1]) == (2, 0, 0)
    values[0] = np.where(np.arange(8) < 7, 1, -1)
    assert components(ResponseMatrix(values)) is None
