"""The matrix as arrays, with counts by group and rows chosen from it."""

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.data.patterns import REAL, SYNTHETIC, Patterns, merged, patterns_of


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n", "least", "most"), [(30, 1, 1), (30, 0, 1), (30, 0, 3), (300, 1, 1)])
def test_counts_and_sums_are_those_of_the_tables(n, least, most, *, sparse):
    """Complete, incomplete and repeated responses, enough for their bits to be packed."""
    generator = np.random.default_rng(4)
    tried = generator.integers(least, most + 1, (n, 7))
    given = ResponseMatrix.from_counts(generator.binomial(tried, 0.5), tried)
    crowd = add_synthetic(given, ("always-right", "always-wrong"))
    rows = patterns_of(crowd.to_sparse() if sparse else crowd, synthetic_is_real=False)
    assert (rows.packed is not None) == (n == 300 and not sparse)
    right, answered = crowd.successes.astype(int), crowd.trials.astype(int)
    for group, kept in ((REAL, ~crowd.synthetic), (SYNTHETIC, crowd.synthetic)):
        assert np.array_equal(rows.margins.item_right[group], right[kept].sum(axis=0))
        assert np.array_equal(rows.margins.item_responses[group], answered[kept].sum(axis=0))
    assert np.array_equal(rows.margins.respondent_right, right.sum(axis=1))
    assert np.array_equal(rows.margins.respondent_responses, answered.sum(axis=1))
    assert np.array_equal(rows.counts.item_right, right[:n].sum(axis=0))
    weights = generator.normal(size=n + 2)
    assert rows.right_sums(weights) == pytest.approx(weights @ right)
    assert rows.response_sums(weights) == pytest.approx(weights @ answered)
    real = rows.chosen(rows.real)
    assert (real.n, real.has_synthetic, real.sparse) == (n, False, sparse)
    assert patterns_of(crowd, synthetic_is_real=True).n_real == n + 2


KINDS = ("complete", "missing", "counts", "synthetic", "packed")


def with_copies(kind, rows, columns):
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
def test_merged_rows_and_columns_are_those_of_the_whole(kind):
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


def test_counts_of_right_answers_alike_out_of_different_trials_are_not_merged():
    trials = np.repeat([[1, 2, 3], [3, 2, 1]], 10, axis=0)
    whole = Patterns(np.ones_like(trials), trials, np.zeros(20, dtype=np.int8))
    found, respondents, items = merged(whole)
    assert found.n == 2
    assert np.array_equal(found.trials[respondents][:, items], trials)


@pytest.mark.parametrize("sparse", [False, True])
def test_dense_responses_are_those_of_the_cells_chosen(sparse):
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
