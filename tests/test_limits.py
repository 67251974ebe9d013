"""Claims about what limits the result of a fit, as the responses alone show it."""

import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ItemParameters, ResponseMatrix, add_synthetic
from irtkit.data import limits
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of


def patterns(responses):
    matrix = responses if isinstance(responses, ResponseMatrix) else ResponseMatrix(responses)
    return patterns_of(matrix, synthetic_is_real=False)


def drawn(  # what tests differ in
    n, m, seed=0, *, mean=0.0, sd=1.0, spread=0.0, guessing=0.0, inverted=0.0, theta=None
):
    """Responses of one ability, normal unless it is given, to items of all difficulties."""
    generator = np.random.default_rng(seed)
    theta = generator.normal(mean, sd, n) if theta is None else np.asarray(theta)
    slope = generator.lognormal(0, spread, m) if spread else np.ones(m)
    difficulty = generator.normal(size=m)
    slope[: round(inverted * m)] *= -1
    p = 1 / (1 + np.exp(-slope * (theta.reshape(n, -1) - difficulty)))
    return (generator.random((n, m)) < guessing + (1 - guessing) * p).astype(np.int8)


def fitted(responses, model="2PL", **how):
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(responses, model, standard_errors=False, **how)


# Whether respondents differ in ability


def equal(values):
    found = patterns(values)
    return limits.no_ability_differences(found, near_duplicates(found).n_eff)


@pytest.mark.parametrize(("n", "m", "size"), [(100, 200, 1), (1000, 5, 1), (100, 200, 5)])
def test_equal_abilities_are_found_at_the_level_although_respondents_are_copies(n, m, size):
    sets = [np.repeat(drawn(n // size, m, seed, sd=0.0), size, axis=0) for seed in range(20)]
    # at a level of 5 % fewer than 16 of 20 occur once in 400 times
    assert sum(map(equal, sets)) >= 16


@pytest.mark.parametrize(("n", "m"), [(30, 50), (12, 100), (8, 30), (200, 5), (100, 3), (500, 2)])
def test_abilities_that_differ_are_not_equal(n, m):
    assert sum(equal(drawn(n, m, seed)) for seed in range(20)) <= 1


def test_a_test_without_power_finds_nothing():
    generator = np.random.default_rng(0)
    sets = [drawn(30, 40, seed, sd=0.8) for seed in range(20)]
    sparse = [np.where(generator.random((30, 40)) < 0.8, -1, values) for values in sets]
    assert sum(map(equal, sparse)) <= 3  # 6 without the condition on power
    for values in (np.ones((30, 40)), np.arange(40)[:, None] % 2, drawn(2, 400, sd=0.0)):
        assert not equal(values)


def test_missing_cells_and_repeated_trials_count_as_what_they_are():
    generator = np.random.default_rng(0)
    holes = generator.random((100, 100)) < 0.6
    sets = [ResponseMatrix(np.where(holes, -1, drawn(100, 100, k, sd=0.0))) for k in range(20)]
    assert sum(map(equal, sets)) >= 16
    assert [equal(one.to_sparse()) for one in sets[:3]] == [*map(equal, sets[:3])]
    trials = np.full((50, 40), 5)
    right = generator.binomial(5, generator.random(40), trials.shape)
    assert equal(ResponseMatrix.from_counts(right, trials))


# Systems that score no better than guessing


def guessing(responses, n_options=None):
    found = patterns(responses)
    items = [f"item-{k + 1}" for k in range(found.n_items)]
    table = None if n_options is None else pd.DataFrame({"n_options": n_options}, items)
    return limits.at_chance(found, table)


def collapsed(n, m):
    """Responses of systems that answer always one of two classes, of 55 % and 45 % of the items."""
    generator = np.random.default_rng(0)
    always = (np.arange(m) < 0.55 * m) == (np.arange(n) % 2)[:, None]
    return (always ^ (generator.random((n, m)) < 0.01)).astype(np.int8)


@pytest.mark.parametrize(("n", "m"), [(90, 139), (12, 100), (40, 1000)])
def test_systems_that_answer_always_one_class_are_named_and_hardly_others(n, m):
    board = np.vstack([collapsed(n // 3, m), drawn(n - n // 3, m, guessing=0.5, mean=1.0)])
    told = guessing(board)
    assert told is not None
    assert (told.opposite, told.level) == (True, 0.5)
    assert {*range(n // 3)} <= {*told.rows}
    assert len(told.rows) <= n // 3 + 0.1 * n
    assert told.highest == board[told.rows].mean(axis=1).max()


def test_nobody_is_named_where_systems_differ_by_ability_or_too_few_guess():
    for n, m in ((90, 139), (12, 100), (400, 40)):
        for mean in (0.0, 3.0):
            assert guessing(drawn(n, m, mean=mean)) is None
    assert guessing(drawn(90, 139, guessing=0.25, mean=-1.0)) is None  # of how many options?
    assert guessing(drawn(90, 139, guessing=0.25, mean=3.0), 4) is None
    assert guessing(np.vstack([collapsed(4, 139), drawn(86, 139, mean=4.0)])) is None
    assert guessing(np.random.default_rng(0).integers(0, 2, (50, 200))) is None


def test_the_number_of_options_says_what_guessing_gives():
    coins = np.random.default_rng(1).random((30, 200)) < np.repeat([0.25, 0.5], 100)
    board = np.vstack([coins, drawn(60, 200, guessing=0.4, mean=2.0)]).astype(np.int8)
    told = guessing(board, np.repeat(["4", "2"], 100))
    assert told is not None
    assert (told.opposite, told.level) == (False, 0.375)
    assert len({*range(30)} & {*told.rows}) >= 28
    assert told.rows.max() < 30
    half = guessing(board, np.repeat([4, np.nan], 100))  # the others count for nothing
    assert half is not None
    assert half.level == 0.25
    assert half.highest <= board[half.rows][:, :100].mean(axis=1).max()
    assert guessing(board, np.nan) is guessing(board) is None


def test_a_fit_names_systems_at_chance_first_and_keeps_them_out_of_the_lead(tmp_path):
    board = np.vstack([collapsed(30, 100), drawn(20, 100, guessing=0.5, mean=1.0)])
    result = fitted(board)
    fewer = fitted(result.responses.drop(result.at_chance))
    assert result.findings[0].code == "systems-at-chance"
    assert {f"respondent-{k}" for k in range(1, 31)} <= {*result.at_chance}
    assert result.one_ability_doubted
    assert board.mean(axis=1)[result.best_first].tolist() == sorted(board.mean(axis=1))[::-1]
    assert fewer.at_chance == ()
    assert fewer.best_first.tolist() == np.argsort(-fewer.ability, kind="stable").tolist()
    result.save(tmp_path / "fit", include_responses=False)
    assert irtkit.load(tmp_path / "fit").at_chance == result.at_chance


# Whether responses link all respondents


def connectivity(responses, fixed=None):
    """Items with slopes of 1, and respondents whose abilities are all 0."""
    found = patterns(responses)
    n, m = found.cells.shape
    items = ItemParameters.from_difficulty(np.ones(m), np.zeros(m))
    return limits.connectivity_of(found, items, np.zeros(n), 1.0, fixed)


def parts(responses, fixed=None):
    """Components of the respondents and of the items. Both are empty if all are linked."""
    found = connectivity(responses, fixed).components
    return ([], []) if found is None else (found.respondents.tolist(), found.items.tolist())


def diagonal(*shapes):
    """Responses in blocks along the diagonal."""
    n, m = np.sum(shapes, axis=0)
    values, row, column = np.full((n, m), -1), 0, 0
    for rows, columns in shapes:
        values[row : row + rows, column : column + columns] = (
            np.arange(rows * columns).reshape(rows, columns) % 3 > 0
        )
        row, column = row + rows, column + columns
    return values


def linked(n_common=0):
    """30 and 20 respondents with 25 items each, and further ones that all of them answered."""
    values = drawn(50, 50 + n_common)
    values[:30, 25:50] = values[30:, :25] = -1
    return values


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_components_numbered_by_their_respondents(sparse):
    responses = ResponseMatrix(diagonal((2, 9), (5, 3), (3, 4)))
    given = responses.to_sparse() if sparse else responses
    assert not connectivity(given).linked
    assert parts(given) == ([3] * 2 + [1] * 5 + [2] * 3, [3] * 9 + [1] * 3 + [2] * 4)


def test_a_long_chain_of_links_is_followed_to_its_end():
    values = np.full((300, 301), -1)
    values[np.arange(300), np.arange(300)] = 1
    values[np.arange(300), np.arange(1, 301)] = 0
    assert parts(values) == ([], [])
    values[150, 150] = -1
    assert parts(values)[0][149:151] == [1, 2]


def test_nobody_is_linked_by_synthetic_respondents_or_by_answering_nothing():
    responses = add_synthetic(ResponseMatrix(diagonal((5, 3), (3, 4))), ("always-right",))
    assert parts(responses)[0] == [1] * 5 + [2] * 3 + [0]
    values = diagonal((5, 3), (3, 4), (1, 1))
    values[-1, -1] = -1
    assert parts(values) == ([1] * 5 + [2] * 3 + [0], [1] * 3 + [2] * 4 + [0])


def test_items_held_at_known_values_join_what_no_response_links():
    values = diagonal((15, 10), (15, 10), (10, 5))
    assert parts(values, np.isin(np.arange(25), [0, 10]))[0] == [1] * 30 + [2] * 10
    assert parts(values, np.ones(25, np.bool_)) == ([], [])


@pytest.mark.parametrize("given", [0, 1])
def test_items_that_all_answer_alike_link_nothing(given):
    values = linked(4)
    values[:, 50:] = given
    values[:30, 53] = -1
    assert connectivity(values).linked
    assert parts(values) == ([1] * 30 + [2] * 20, [1] * 25 + [2] * 25 + [0] * 3 + [2])


def test_a_few_cells_or_one_item_link_badly_and_sixteen_items_well():
    values = linked()
    values[range(3), range(30, 33)] = 1
    assert parts(values) == ([1] * 30 + [2] * 20, [1] * 25 + [2] * 25)
    assert parts(linked(1)) != ([], [])
    assert connectivity(linked(16)) == limits.Connectivity()


# Gaps between those who answered other items


def two_blocks(n, m, n_common, gap):
    """Responses, abilities and difficulties. Items of the better block are harder."""
    generator = np.random.default_rng(0)
    second, of_second = np.repeat([0, 1], n), np.repeat([0, 1, 0.5], [m, m, n_common])
    theta = generator.normal(size=2 * n)
    theta -= np.repeat([theta[:n].mean(), theta[n:].mean()], n) - gap * second
    difficulty = generator.normal(size=len(of_second)) + gap * of_second
    p = 1 / (1 + np.exp(difficulty - theta[:, None]))
    values = (generator.random(p.shape) < p).astype(np.int8)
    values[(of_second == 1 - second[:, None]) & (of_second != 0.5)] = -1
    return values, theta, difficulty


def gaps(responses, **how):
    """Findings by code about respondents who answered different items."""
    codes = {"gap-shrunk", "gap-hidden"}
    return {one.code: one for one in fitted(responses, **how).findings if one.code in codes}


@pytest.mark.parametrize("sparse", [False, True])
def test_a_gap_that_is_shrunk_is_significant_with_what_it_would_be(sparse):
    values, theta, difficulty = two_blocks(100, 60, 6, 1.2)
    responses = ResponseMatrix(values)
    given = responses.to_sparse() if sparse else responses
    told = gaps(given)["gap-shrunk"].values
    means = fitted(given).ability.reshape(2, 100).mean(axis=1)
    assert told["gap"] == pytest.approx(means[1] - means[0], 0.05)
    assert told["gap"] < 0.8 * 1.2 / theta.std()
    assert told["unshrunk"] == pytest.approx(1.2 / theta.std(), 0.2)
    known = pd.DataFrame({"discrimination": 1.0, "difficulty": difficulty}, responses.items)
    assert gaps(given, fixed=known) == gaps(two_blocks(100, 60, 40, 1.2)[0]) == {}


def test_a_gap_may_be_hidden_if_few_respondents_have_few_items_in_common():
    assert gaps(two_blocks(100, 60, 8, 0.0)[0]) == {}
    assert [*gaps(two_blocks(12, 200, 12, 0.0)[0])] == ["gap-hidden"]


# Whether one ability explains the responses


def further(values):
    found = patterns(values)
    return limits.dimensionality(found, near_duplicates(found))


def two_abilities(n, m, share, correlation):
    covariance = [[1, correlation], [correlation, 1]]
    theta = np.random.default_rng(0).multivariate_normal([0, 0], covariance, size=n)
    sizes = (m - round(share * m), round(share * m))
    return np.hstack(
        [drawn(n, size, k, spread=0.3, theta=theta[:, k]) for k, size in enumerate(sizes)]
    )


@pytest.mark.parametrize("shape", [(200, 500), (2000, 40), (100, 1000)])
@pytest.mark.parametrize(("share", "correlation"), [(0.2, -0.5), (0.5, 0.5)])
def test_a_second_ability_raises_the_largest_eigenvalue(shape, share, correlation):
    told = further(two_abilities(*shape, share, correlation))
    assert told is not None
    assert told.eigenvalue > limits.BOUND


@pytest.mark.parametrize("shape", [(200, 500), (30, 40), (5000, 20)])
@pytest.mark.parametrize("how", [
    {"spread": 0.8}, {"guessing": 0.25, "spread": 0.6}, {"inverted": 0.2, "spread": 0.3},
])  # fmt: skip
def test_slopes_that_differ_guessing_and_inverted_items_are_one_ability(shape, how):
    skewed = np.random.default_rng(1).exponential(size=shape[0]) - 1
    for theta in (None, skewed):
        assert further(drawn(*shape, theta=theta, **how)) is None
