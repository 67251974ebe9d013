"""Observed cells alone: the same responses as in a table of all cells, and no such table."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from irtkit import ResponseMatrix

SUCCESSES, TRIALS = [[2, 0, 0], [0, 0, 3]], [[3, 1, 0], [0, 0, 4]]


@pytest.fixture
def counted() -> ResponseMatrix:
    return ResponseMatrix.from_counts(SUCCESSES, TRIALS, ["x", "y"], ["a", "b", "c"])


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
@pytest.mark.parametrize("repeats", ["error", "count"])
def test_a_long_table_gives_the_same_matrix_sparse_and_dense(
    order: list[int], repeats: Any
) -> None:
    frame = pd.DataFrame(
        {"respondent": list("xxyz"), "item": list("abac"), "response": [1, 0, 1, None]}
    ).iloc[order]
    if repeats == "count":
        frame = pd.concat([frame, frame.iloc[[1, 2]]])
    dense, few = (
        ResponseMatrix.from_long(frame, repeats=repeats, sparse=sparse) for sparse in (False, True)
    )
    assert few.is_sparse
    assert not dense.is_sparse
    assert few == dense
    assert dense.to_sparse() == few.to_dense() == few
    assert not few.to_dense().is_sparse
    assert (few.n_missing, few.has_repeats) == (dense.n_missing, dense.has_repeats)


def test_a_wrong_answer_is_a_stored_zero(counted: ResponseMatrix) -> None:
    successes, trials = counted.to_sparse().observed
    assert successes.data.tolist() == [2, 0, 3]
    assert trials.data.tolist() == [3, 1, 4]
    assert successes.indices.tolist() == trials.indices.tolist() == [0, 1, 2]
    assert trials.dtype == np.uint8
    with pytest.raises(ValueError, match="read-only"):
        trials.data[0] = 1


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint16])
def test_sparse_arrays_of_any_kind_are_observed_cells(
    counted: ResponseMatrix, kind: Any, dtype: Any
) -> None:
    tables = (kind(np.array(table, dtype)) for table in (SUCCESSES, TRIALS))
    responses = ResponseMatrix.from_observed(*tables, ["x", "y"], ["a", "b", "c"])
    assert responses.is_sparse
    assert responses == counted
    assert copy.deepcopy(responses) == responses


@pytest.mark.parametrize(
    ("successes", "trials", "message"),
    [
        ([[1, 0]], [[2], [2]], r"the same shape, got \(1, 2\) and \(2, 1\)"),
        ([[1, 3]], [[1, 2]], r"row 0, column 1 \(counted from 0\) has 3 out of 2"),
        ([[1, 1]], [[0, 2]], r"row 0, column 0 \(counted from 0\) has 1 out of 0"),
        ([[0.5]], [[1]], "successes must be whole numbers from 0"),
        ([[1]], [[-1]], "trials must be whole numbers from 0"),
        ([[1]], [[np.inf]], "trials must be whole numbers from 0"),
        ([[0]], [[0]], "trials holds no response: every cell is missing"),
    ],
)
def test_sparse_arrays_that_are_no_counts_are_refused(
    successes: Any, trials: Any, message: str
) -> None:
    tables = (sparse.csr_array(np.array(table)) for table in (successes, trials))
    with pytest.raises(ValueError, match=message):
        ResponseMatrix.from_observed(*tables)


def test_dense_tables_are_not_taken_for_sparse_ones() -> None:
    with pytest.raises(TypeError, match=r"must be a scipy\.sparse array, got ndarray; from_counts"):
        ResponseMatrix.from_observed(np.array([[1]]), np.array([[1]]))


@pytest.mark.parametrize("name", ["values", "successes", "trials", "to_frame"])
def test_a_table_of_all_cells_is_refused_with_its_size_and_the_way_out(name: str) -> None:
    responses = ResponseMatrix([[1, 0, -1], [-1, -1, 1]]).to_sparse()
    with pytest.raises(ValueError, match=r"take 6 bytes; use \.observed .* or \.to_dense\(\)"):
        getattr(responses, name)()


def test_the_number_of_observed_cells_is_shown(counted: ResponseMatrix) -> None:
    shown = (
        "ResponseMatrix(2 respondents × 3 items, sparse with 3 cells observed, 2.7 trials a cell"
    )
    assert repr(counted.to_sparse()).startswith(shown)
    plain = ResponseMatrix([[1, -1]], synthetic=[True]).to_sparse()
    shown = "ResponseMatrix(1 respondent (1 synthetic) × 2 items, sparse with 1 cell observed)"
    assert repr(plain) == shown


def test_equality_needs_the_same_cells_and_counts(counted: ResponseMatrix) -> None:
    names = (["x", "y"], ["a", "b", "c"])
    few = counted.to_sparse()
    for successes, trials in (
        ([[2, 0, 0], [0, 0, 4]], TRIALS),
        (SUCCESSES, [[3, 2, 0], [0, 0, 4]]),
    ):
        assert few != ResponseMatrix.from_counts(successes, trials, *names)
    moved = ResponseMatrix.from_counts([[2, 0, 0], [0, 3, 0]], [[3, 1, 0], [0, 4, 0]], *names)
    assert few != moved.to_sparse()
    assert few != ResponseMatrix.from_counts(SUCCESSES, TRIALS, *names, synthetic=[True, False])
