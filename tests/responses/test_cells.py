"""Cells: one storage, dense or sparse, and the builder that puts rows into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtkit import ResponseMatrix
from irtkit.responses.cells import MOST_TRIALS, CellBuilder, Cells, check_repeats, count_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUCCESSES, TRIALS = [[2, 0, 0], [0, 0, 3]], [[3, 1, 0], [0, 0, 4]]
MARKS = np.array([[1, 0, -1], [-1, 1, 1], [0, 0, 0]], np.int8)
COUNTED = Cells(np.array(SUCCESSES, np.uint8), np.array(TRIALS, np.uint8))


@pytest.mark.parametrize("one", [Cells(MARKS), COUNTED])
def test_every_answer_is_the_same_dense_and_sparse(one: Cells) -> None:
    few = one.to_sparse()
    assert few == one == few.to_dense()
    assert few.is_sparse
    assert not few.to_dense().is_sparse
    for name in ("shape", "n_observed", "has_repeats", "dense_bytes"):
        assert getattr(few, name) == getattr(one, name)
    for changed in (
        lambda c: c.transposed(),
        lambda c: c.part([1, 0]),
        lambda c: c.part([0, 1], [2, 0]),
        lambda c: c.below(c),
        lambda c: c.below(Cells(MARKS)),
        lambda c: Cells.of_arrays(c.arrays(), c.shape),
    ):
        assert changed(few) == changed(one)
        assert changed(few).is_sparse
        assert not changed(one).is_sparse
    for table, other in zip(few.rows(), one.rows(), strict=True):
        assert np.array_equal(table, other)
    assert few != Cells(np.ones((3, 3), np.int8))


def test_cells_without_repeats_take_a_byte_each_and_cannot_be_changed() -> None:
    one = Cells(np.array([[1, 0, 0]], np.uint16), np.array([[1, 1, 0]], np.uint16))
    assert one.values.tolist() == [[1, 0, -1]]
    assert one.n_bytes == one.dense_bytes == 3
    for table in (one.values, one.trials, COUNTED.trials, COUNTED.observed.trials.data):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1


@pytest.mark.parametrize(
    ("successes", "trials", "message"),
    [
        ([[1, 3]], [[1, 2]], "system 'respondent-1', item 'item-2' has 3 out of 2"),
        ([[1, 1]], [[0, 2]], r"item 'item-1' has 1(\.0)? out of 0"),
        ([[np.nan]], [[3]], "has nan out of 3"),
        ([[0.5]], [[1]], "whole numbers, .* trials ≤ 2147483647: .* has 0.5 out of 1"),
        ([[1, 1]], [[-1, -2]], "has 1 out of -1.*1 more such cell"),
        ([[1]], [[np.inf]], "must be whole numbers"),
        ([[1]], [[MOST_TRIALS + 1]], "must be whole numbers"),
        ([[0]], [[0]], "every cell is missing"),
        ([[1, 0]], [[2], [2]], r"the same shape, got \(1, 2\) and \(2, 1\)"),
    ],
)
def test_tables_that_are_no_counts_are_refused_with_the_labels(
    successes: Any, trials: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ResponseMatrix.from_counts(successes, trials)


@pytest.mark.parametrize("given", [np.int64, np.uint64, np.float64, object])
@pytest.mark.parametrize("most", [255, 256, 65_535, 65_536, MOST_TRIALS])
def test_counts_are_kept_whole_in_the_smallest_type(most: int, given: type) -> None:
    responses = ResponseMatrix.from_counts(np.array([[most]], given), np.array([[most]], given))
    assert responses.successes.tolist() == [[most]]
    assert responses.trials.dtype == count_type(most)


# The builder


def one_by_one(block: NDArray[Any], repeats: str) -> dict[tuple[int, int], list[int]]:
    """Codes of every cell in the order of rows."""
    found: dict[tuple[int, int], list[int]] = {}
    for row, column, code in block.T.tolist():
        if code >= 0:
            found.setdefault((row, column), []).append(code)
    share = float(repeats.removeprefix("mean>=")) if repeats.startswith("mean") else 0.0
    kept = {"first": lambda c: c[:1], "last": lambda c: c[-1:], "count": lambda c: c}

    def mean(codes: list[int]) -> list[int]:
        return [int(sum(codes) >= share * len(codes))]

    return {cell: kept.get(repeats, mean)(codes) for cell, codes in found.items()}


@given(
    block=st.lists(st.tuples(*(st.integers(0, 4),) * 2, st.integers(-1, 1)), min_size=1),
    repeats=st.sampled_from(["count", "first", "last", "mean>=0.5", "mean>=0.3"]),
    cuts=st.lists(st.integers(0, 20), max_size=3),
    as_sparse=st.booleans(),
)
def test_blocks_of_any_size_give_what_rows_one_by_one_give(
    block: Any, repeats: str, cuts: list[int], *, as_sparse: bool
) -> None:
    rows = np.array(block).T
    builder = CellBuilder(repeats, sparse=as_sparse)
    for part in np.split(rows, sorted(min(c, rows.shape[1]) for c in cuts), 1):
        builder.add(part[0].astype(np.int32), part[1], part[2].astype(np.int8))
    built = builder.build((6, 7))
    expected = one_by_one(rows, repeats)
    right, tried = (table.toarray() for table in built.observed)
    for row, column in np.ndindex(6, 7):
        codes = expected.get((row, column), [])
        assert (right[row, column], tried[row, column]) == (sum(codes), len(codes))


@pytest.mark.parametrize("as_sparse", [True, False])
def test_repeated_rows_are_numbered_and_the_first_is_named(*, as_sparse: bool) -> None:
    builder = CellBuilder(sparse=as_sparse)
    builder.add(*np.array([[0, 1], [0, 1], [1, -1]], np.int8))
    builder.add(*np.array([[3, 1, 0, 3, 3], [1, 2, 1, 1, 1], [0, 1, 1, 0, -1]], np.int8))
    built = builder.build((4, 3))
    assert (builder.repeated, builder.first_repeat) == (1, (3, 1))
    assert built.n_observed == 4


def test_counts_above_a_byte_do_not_wrap_around() -> None:
    builder = CellBuilder("count")
    for _ in range(3):
        builder.add(np.zeros(200, int), np.zeros(200, int), np.ones(200, np.int8))
    assert builder.build((1, 1)).trials.tolist() == [[600]]


@pytest.mark.parametrize("repeats", ["mean>=0", "mean>=1.1", "mean>=x", "mean", "", "sum", None])
def test_an_unknown_way_to_take_repeats_is_refused(repeats: Any) -> None:
    with pytest.raises(ValueError, match="repeats must be one of error, count, first, last and"):
        check_repeats(repeats)
