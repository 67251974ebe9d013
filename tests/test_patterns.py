"""The matrix as arrays: counts by group, and rows chosen from it."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.patterns import REAL, SYNTHETIC, patterns_of


def matrix(*, missing: bool) -> ResponseMatrix:
    generator = np.random.default_rng(2)
    values = generator.integers(0, 2, (30, 7))
    if missing:
        values[generator.random(values.shape) < 0.3] = -1
    return ResponseMatrix(values)


@pytest.mark.parametrize("missing", [False, True])
def test_counts_are_by_group_and_by_respondent(missing: bool) -> None:
    crowd = add_synthetic(matrix(missing=missing), ("always-right", "always-wrong"))
    rows = patterns_of(crowd, synthetic_is_real=False)
    right, answered = crowd.values == 1, crowd.values >= 0
    for group, kept in ((REAL, ~crowd.synthetic), (SYNTHETIC, crowd.synthetic)):
        assert np.array_equal(rows.item_right[group], right[kept].sum(axis=0))
        assert np.array_equal(rows.item_responses[group], answered[kept].sum(axis=0))
    assert np.array_equal(rows.respondent_right, right.sum(axis=1))
    assert np.array_equal(rows.respondent_responses, answered.sum(axis=1))
    assert rows.complete == (not missing)
    assert (rows.n_real, rows.has_synthetic) == (30, True)


def test_counts_are_counts_of_trials_and_leave_synthetic_rows_out_by_item() -> None:
    responses = ResponseMatrix.from_counts(
        [[200, 1], [100, 0], [1, 1]], [[250, 1], [250, 0], [1, 1]], synthetic=[False, False, True]
    )
    counts = patterns_of(responses, synthetic_is_real=False).counts
    assert (counts.item_right.tolist(), counts.item_responses.tolist()) == ([300, 1], [500, 1])
    assert counts.respondent_right.tolist() == [201, 100, 2]
    assert counts.respondent_responses.tolist() == [251, 250, 2]
    assert all(array.dtype == np.int64 for array in counts)


def test_shares_of_nothing_are_not_numbers() -> None:
    responses = ResponseMatrix([[1, 0, -1], [1, 1, -1], [-1, -1, -1]])
    counts = patterns_of(responses, synthetic_is_real=False).counts
    np.testing.assert_array_equal(counts.average_error, [0.0, 0.5, np.nan])
    np.testing.assert_array_equal(counts.accuracy, [0.5, 1.0, np.nan])


def test_repeated_trials_are_counted_each() -> None:
    successes, trials = np.array([[2, 0], [1, 3]]), np.array([[3, 1], [1, 4]])
    rows = patterns_of(ResponseMatrix.from_counts(successes, trials), synthetic_is_real=False)
    assert np.array_equal(rows.item_right[REAL], [3, 3])
    assert np.array_equal(rows.respondent_responses, [4, 5])
    assert not rows.complete


@pytest.mark.parametrize("trials", [1, 3])
def test_sparse_rows_have_the_counts_and_sums_of_dense_ones(trials: int) -> None:
    generator = np.random.default_rng(4)
    tried = generator.integers(0, trials + 1, (30, 7))
    crowd = add_synthetic(ResponseMatrix.from_counts(tried // 2, tried), "always-right")
    dense, few = (
        patterns_of(responses, synthetic_is_real=False) for responses in (crowd, crowd.to_sparse())
    )
    assert (few.sparse, dense.sparse) == (True, False)
    assert (few.n, few.repeated) == (dense.n, dense.repeated) == (31, trials > 1)
    names = ("item_right", "item_responses", "respondent_right", "respondent_responses")
    for name in names:
        assert np.array_equal(getattr(few, name), getattr(dense, name))
    weights = generator.normal(size=31)
    assert np.stack(few.sums_of(weights)) == pytest.approx(np.stack(dense.sums_of(weights)))
    real = few.chosen(few.real)
    assert (real.n, real.has_synthetic, real.sparse) == (30, False, True)


@pytest.mark.parametrize("missing", [False, True])
def test_sums_weigh_respondents(missing: bool) -> None:
    responses = matrix(missing=missing)
    weights = np.random.default_rng(0).normal(size=30)
    right, answered = patterns_of(responses, synthetic_is_real=False).sums_of(weights)
    assert right == pytest.approx(weights @ (responses.values == 1))
    assert answered == pytest.approx(weights @ (responses.values >= 0))


def test_synthetic_rows_may_count_as_real_and_real_ones_be_chosen() -> None:
    crowd = add_synthetic(matrix(missing=False), "always-right")
    assert patterns_of(crowd, synthetic_is_real=True).n_real == 31
    rows = patterns_of(crowd, synthetic_is_real=False)
    chosen = rows.chosen(rows.real)
    assert (len(chosen.cells), chosen.has_synthetic) == (30, False)
    assert np.array_equal(chosen.item_right[REAL], rows.item_right[REAL])


def test_many_respondents_are_counted_by_their_bits_and_come_out_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = add_synthetic(matrix(missing=False), ("always-right", "always-wrong"))
    plain = patterns_of(crowd, synthetic_is_real=False)
    monkeypatch.setattr("irtkit.patterns._MANY_ROWS", 20)
    packed = patterns_of(crowd, synthetic_is_real=False)
    assert (plain.packed, packed.packed is None) == (None, False)
    names = ("item_right", "item_responses", "respondent_right", "respondent_responses")
    for name in names:
        assert np.array_equal(getattr(packed, name), getattr(plain, name))
    weights = np.random.default_rng(0).normal(size=plain.n)
    assert np.stack(packed.sums_of(weights)) == pytest.approx(np.stack(plain.sums_of(weights)))
    assert np.array_equal(packed.chosen(slice(None, None, 3)).cells, plain.cells[::3])
