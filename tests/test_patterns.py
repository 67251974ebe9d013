"""The matrix as arrays: counts by group, and rows chosen from it."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.data.patterns import REAL, SYNTHETIC, Patterns, merged, patterns_of


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
    margins = rows.margins
    right, answered = crowd.values == 1, crowd.values >= 0
    for group, kept in ((REAL, ~crowd.synthetic), (SYNTHETIC, crowd.synthetic)):
        assert np.array_equal(margins.item_right[group], right[kept].sum(axis=0))
        assert np.array_equal(margins.item_responses[group], answered[kept].sum(axis=0))
    assert np.array_equal(margins.respondent_right, right.sum(axis=1))
    assert np.array_equal(margins.respondent_responses, answered.sum(axis=1))
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
    assert np.array_equal(rows.margins.item_right[REAL], [3, 3])
    assert np.array_equal(rows.margins.respondent_responses, [4, 5])
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
    for one, other in zip(few.margins, dense.margins, strict=True):
        assert np.array_equal(one, other)
    weights = generator.normal(size=31)
    assert few.right_sums(weights) == pytest.approx(dense.right_sums(weights))
    assert few.response_sums(weights) == pytest.approx(dense.response_sums(weights))
    real = few.chosen(few.real)
    assert (real.n, real.has_synthetic, real.sparse) == (30, False, True)


@pytest.mark.parametrize("missing", [False, True])
def test_sums_weigh_respondents(missing: bool) -> None:
    responses = matrix(missing=missing)
    weights = np.random.default_rng(0).normal(size=30)
    rows = patterns_of(responses, synthetic_is_real=False)
    assert rows.right_sums(weights) == pytest.approx(weights @ (responses.values == 1))
    assert rows.response_sums(weights) == pytest.approx(weights @ (responses.values >= 0))


def test_synthetic_rows_may_count_as_real_and_real_ones_be_chosen() -> None:
    crowd = add_synthetic(matrix(missing=False), "always-right")
    assert patterns_of(crowd, synthetic_is_real=True).n_real == 31
    rows = patterns_of(crowd, synthetic_is_real=False)
    chosen = rows.chosen(rows.real)
    assert (len(chosen.cells), chosen.has_synthetic) == (30, False)
    assert np.array_equal(chosen.margins.item_right[REAL], rows.margins.item_right[REAL])


def test_many_respondents_are_counted_by_their_bits_and_come_out_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = add_synthetic(matrix(missing=False), ("always-right", "always-wrong"))
    plain = patterns_of(crowd, synthetic_is_real=False)
    assert plain.packed is None
    monkeypatch.setattr("irtkit.data.patterns._MANY_ROWS", 20)
    packed = patterns_of(crowd, synthetic_is_real=False)
    assert packed.packed is not None
    for one, other in zip(packed.margins, plain.margins, strict=True):
        assert np.array_equal(one, other)
    weights = np.random.default_rng(0).normal(size=plain.n)
    assert packed.right_sums(weights) == pytest.approx(plain.right_sums(weights))
    assert packed.response_sums(weights) == pytest.approx(plain.response_sums(weights))
    assert np.array_equal(packed.chosen(slice(None, None, 3)).cells, plain.cells[::3])


KINDS = ("complete", "missing", "counts", "synthetic", "packed")


def with_copies(kind: str, rows: tuple[int, ...], columns: tuple[int, ...]) -> Patterns:
    """Some rows and columns of a matrix whose own are all distinct."""
    n, n_items = (300, 12) if kind == "packed" else (30, 7)
    generator = np.random.default_rng(3)
    tried = generator.integers(0 if kind == "missing" else 1, 4, (n, n_items))
    if kind != "counts":
        tried = np.minimum(tried, 1)
    right = generator.binomial(tried, 0.5)
    right[:, 0] = right[:, 0] if kind == "missing" else tried[:, 0]
    crowd = ResponseMatrix.from_counts(right, tried)
    whole = patterns_of(crowd, synthetic_is_real=False)
    group = whole.group.copy()
    if kind == "synthetic":
        group[::2] = SYNTHETIC
    whole = Patterns(whole.cells, whole.trials, group)
    return whole.chosen(np.array(rows)).with_columns(np.array(columns))


@pytest.mark.parametrize("kind", KINDS)
def test_merged_rows_and_columns_are_those_of_the_whole(kind: str) -> None:
    generator = np.random.default_rng(0)
    n, n_items = (300, 12) if kind == "packed" else (30, 7)
    rows, columns = (
        generator.integers(0, n // 2, 2 * n),
        generator.integers(0, n_items, 4 * n_items),
    )
    whole = with_copies(kind, tuple(rows), tuple(columns))
    found, respondents, items = merged(whole)
    assert found.frequency is not None
    assert found.multiplicity is not None
    assert np.array_equal(found.cells[respondents][:, items], whole.cells)
    assert np.array_equal(found.group[respondents], whole.group)
    if whole.trials is not None:
        assert np.array_equal(found.trials[respondents][:, items], whole.trials)
    assert np.array_equal(found.frequency, np.bincount(respondents))
    assert np.array_equal(found.multiplicity, np.bincount(items))
    parts = [found.cells, found.group[:, None], *([] if found.trials is None else [found.trials])]
    assert len(np.unique(np.hstack(parts), axis=0)) == found.n
    sizes = found.n_items, found.n_respondents, found.n_real
    assert sizes == (whole.n_items, whole.n_respondents, whole.n_real)


@pytest.mark.parametrize("kind", KINDS)
def test_margins_of_merged_patterns_are_those_of_the_whole(kind: str) -> None:
    rows, columns = tuple(range(12)) * 30, (0, 1, 2, 2, 3, 3, 3, 4, 2)
    whole = with_copies(kind, rows, columns)
    found, respondents, items = merged(whole)
    expected, margins = whole.margins, found.margins
    assert np.array_equal(margins.item_right[:, items], expected.item_right)
    assert np.array_equal(margins.item_responses[:, items], expected.item_responses)
    assert np.array_equal(margins.respondent_right[respondents], expected.respondent_right)
    assert np.array_equal(margins.respondent_responses[respondents], expected.respondent_responses)


@pytest.mark.parametrize("sparse", [False, True])
def test_matrices_without_copies_and_sparse_ones_are_left_alone(sparse: bool) -> None:
    values = np.array([[int(digit) for digit in f"{k:05b}"] for k in range(32)])
    responses = ResponseMatrix(np.repeat(values, 2, axis=0) if sparse else values)
    whole = patterns_of(responses.to_sparse() if sparse else responses, synthetic_is_real=False)
    found = merged(whole)
    assert found.patterns is whole
    assert np.array_equal(found.respondents, np.arange(whole.n))
    assert np.array_equal(found.items, np.arange(5))


def test_a_few_copies_are_not_worth_merging() -> None:
    distinct = matrix(missing=False)
    values = np.vstack([distinct.values, distinct.values[:3]])
    whole = patterns_of(ResponseMatrix(values), synthetic_is_real=False)
    assert merged(whole).patterns.frequency is None


def test_different_rows_and_columns_whose_keys_collide_are_not_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = patterns_of(matrix(missing=True), synthetic_is_real=False)

    whole.margins.item_right[:] = 1.0  # columns with equal totals may be copies
    for name in ("scores", "response_scores"):
        monkeypatch.setattr(Patterns, name, lambda some, _: np.zeros(some.n))
    for name in ("right_sums", "response_sums"):
        monkeypatch.setattr(Patterns, name, lambda some, _: np.zeros(some.cells.shape[1]))
    found = merged(whole)
    assert found.patterns is whole


def test_more_trials_than_keys_can_tell_apart_are_merged_or_left_alone() -> None:
    trials = np.ones((40, 2), dtype=np.int64)
    trials[0] = 2**47
    right = np.zeros_like(trials)
    found = merged(Patterns(right, trials, np.zeros(40, dtype=np.int8)))
    assert (trials[found.respondents != found.respondents[0]] == 1).all()
    assert (trials[found.respondents == found.respondents[0]] == 2**47).all()


def test_rows_alike_in_different_groups_are_not_merged() -> None:
    same = np.tile([[1, 0, 1, 1]], (40, 1)).astype(np.int8)
    group = np.repeat([REAL, SYNTHETIC], 20).astype(np.int8)
    found = merged(Patterns(same, None, group)).patterns
    assert found.group.tolist() == [REAL, SYNTHETIC]
    assert found.frequency is not None
    assert found.frequency.tolist() == [20, 20]


def test_counts_of_right_answers_alike_out_of_different_trials_are_not_merged() -> None:
    trials = np.repeat([[1, 2, 3], [3, 2, 1]], 10, axis=0)
    whole = Patterns(np.ones_like(trials), trials, np.zeros(20, dtype=np.int8))
    found = merged(whole)
    assert found.patterns.n == 2
    assert np.array_equal(found.patterns.trials[found.respondents][:, found.items], trials)


@pytest.mark.parametrize("sparse", [False, True])
def test_dense_responses_are_those_of_the_cells_chosen(sparse: bool) -> None:
    right, trials = (
        np.array([[2, 0, 0], [1, 0, 3], [0, 0, 0]]),
        np.array([[2, 0, 1], [4, 0, 3], [0] * 3]),
    )
    responses = ResponseMatrix.from_counts(right, trials)
    patterns = patterns_of(responses.to_sparse() if sparse else responses, synthetic_is_real=True)
    for rows in (slice(None), np.array([1, 0]), np.array([True, False, True])):
        for items in (slice(None), slice(1, 3)):
            found = patterns.dense(rows, items)
            np.testing.assert_array_equal(found[0], right[rows][:, items])
            np.testing.assert_array_equal(found[1], trials[rows][:, items])
    assert patterns.answering.tolist() == [True, True, False]
    assert patterns.n_answering == 2
