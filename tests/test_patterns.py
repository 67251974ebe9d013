"""The matrix as arrays, and near-duplicates among its rows."""

import numpy as np
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import REAL, SYNTHETIC, Patterns, merged, patterns_of


# The matrix as arrays, with counts by group and rows chosen from it
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


# Claims about near-duplicate respondents: their effective number, and their families
def drawn(generator, theta, n_items):
    """2PL responses, slopes lognormal."""
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    p = 1 / (1 + np.exp(-slope * (theta[:, None] - difficulty)))
    return (generator.random(p.shape) < p).astype(np.int8)


def families(groups, size, n_items, seed, *, noise=0.02, missing=0.0):
    """Copies of parents with some answers flipped. Families of one are independent respondents."""
    generator = np.random.default_rng([seed, 21])
    values = np.repeat(drawn(generator, generator.normal(size=groups), n_items), size, axis=0)
    values = np.where(generator.random(values.shape) < noise * (size > 1), 1 - values, values)
    return np.where(generator.random(values.shape) < missing, -1, values).astype(np.int8)


def made(values):
    matrix = values if isinstance(values, ResponseMatrix) else ResponseMatrix(values)
    return patterns_of(matrix, synthetic_is_real=False)


def found(values):
    return near_duplicates(made(values))


# What it finds


@pytest.mark.parametrize(
    ("groups", "size", "noise"),
    [(10, 20, 0.02), (30, 7, 0.02), (20, 10, 0.1), (40, 5, 0.2), (20, 10, 0.3), (60, 3, 0.2)],
)
def test_families_count_for_kishs_effective_sample_size(groups, size, noise):
    sets = [found(families(groups, size, 500, seed, noise=noise)) for seed in range(4)]
    # Flips leave copies correlated (1 − 2 noise)², times the share of the variance without flips.
    p = np.random.default_rng(0).normal(size=(2, 10_000))
    p = 1 / (1 + np.exp(-(p[0] - p[1])))
    flipped = p * (1 - 2 * noise) + noise
    likeness = (1 - 2 * noise) ** 2 * (p * (1 - p)).mean() / (flipped * (1 - flipped)).mean()
    n_eff = groups * size / (1 + (size - 1) * likeness)
    assert np.mean([one.n_eff for one in sets]) == pytest.approx(n_eff, rel=0.15)
    assert all(one.matter for one in sets)


@pytest.mark.parametrize(("noise", "n_eff", "within"), [(0.0, 60, 0.1), (0.05, 76, 0.2)])
def test_near_duplicates_of_twenty_items_are_counted(noise, n_eff, within):
    sets = [found(families(60, 4, 20, seed, noise=noise)).n_eff for seed in range(8)]
    assert np.mean(sets) == pytest.approx(n_eff, rel=within)


@pytest.mark.parametrize(
    ("n", "n_items", "missing"),
    [(200, 500, 0.0), (1000, 30, 0.0), (8, 25, 0.0), (30, 100, 0.3), (200, 500, 0.7)],
)
def test_independent_respondents_count_exactly_as_many(n, n_items, missing):
    for seed in range(4):
        one = found(families(n, 1, n_items, seed, missing=missing))
        assert one[:3] == (n, n, 1.0)
        assert not one.matter


def test_repeated_trials_of_copies_count_as_one_trial():
    values = families(12, 5, 200, 0, noise=0.0)
    right, trials = 3 * values.astype(np.int64), np.full(values.shape, 3)
    assert 10 < found(ResponseMatrix.from_counts(right, trials)).n_eff < 14


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_one_of_each_family_is_left(noise):
    parents, generator = families(28, 1, 400, 1), np.random.default_rng(0)
    values = np.concatenate([np.repeat(parents[:8], 5, axis=0), parents[8:]])
    values = np.where(generator.random(values.shape) < noise, 1 - values, values).astype(np.int8)
    distinct = found(values).distinct
    np.testing.assert_array_equal(distinct, [*range(0, 40, 5), *range(40, 60)])


# Where little can be known


@pytest.mark.parametrize("shape", [(1, 5), (2, 5), (3, 5), (4, 1), (5, 2), (8, 500), (300, 1)])
def test_few_respondents_or_items_count_as_independent(shape):
    values = families(shape[0], 1, shape[1], 0)
    assert found(values)[:3] == (shape[0], shape[0], 1.0)
    np.testing.assert_array_equal(found(values).distinct, np.arange(shape[0]))


def test_respondents_without_common_items_count_as_independent():
    values = np.full((40, 40), -1, np.int8)
    values[np.arange(40), np.arange(40)] = 1
    values[np.arange(40), (np.arange(40) + 1) % 40] = 0
    assert found(values).n_eff == 40


# What evidence on slopes counts for


def test_evidence_counts_for_one_over_the_size_of_families_and_more_where_cells_are_missing():
    whole, some = (found(families(30, 7, 500, 1, missing=missing)) for missing in (0.0, 0.7))
    assert whole.share == pytest.approx(1 / 7, rel=0.15)
    # Of 0.3 of the answers of the other six, an item has 0.3 of each.
    assert some.share == pytest.approx(1 / (1 + 6 * 0.3), rel=0.15)
    assert some.n_eff == pytest.approx(whole.n_eff, rel=0.15)


# How it is computed


def test_the_same_responses_give_the_same_numbers_and_order_does_not_matter():
    values = families(30, 7, 300, 0)
    one = found(values)
    assert one[:3] == found(values.copy())[:3]
    order = np.random.default_rng(0).permutation(210)
    np.testing.assert_allclose(found(values[order])[:3], one[:3], rtol=1e-3)
    np.testing.assert_allclose(found(values[:, ::-1])[:3], one[:3], rtol=1e-3)
    among = add_synthetic(ResponseMatrix(values), ("always-right", "coin"), draws=20)
    np.testing.assert_allclose(found(among)[:3], one[:3], rtol=1e-6)


def test_sparse_cells_give_what_dense_ones_give():
    dense = ResponseMatrix(families(30, 7, 200, 0, missing=0.5))
    frame = dense.to_frame().rename_axis("respondent").reset_index()
    frame = frame.melt(id_vars="respondent", var_name="item", value_name="response").dropna()
    sparse = ResponseMatrix.from_long(frame, sparse=True)
    np.testing.assert_allclose(found(sparse)[:3], found(dense)[:3], rtol=1e-2)
