"""Claims about the proportion score, and the score test of slopes against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ItemParameters, ResponseMatrix, add_synthetic, simulate_responses
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.signs.score_test import SlopeScore, proportion_score, slope_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def counted(responses: ResponseMatrix) -> Patterns:
    return patterns_of(responses, synthetic_is_real=False)


def score_of(given: Patterns) -> SlopeScore:
    return slope_score(given, proportion_score(given))


def simulated(n_respondents: int, n_items: int, *, seed: int, missing: float = 0.0) -> Patterns:
    generator = np.random.default_rng(seed)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    )
    abilities = generator.normal(size=n_respondents)
    return counted(simulate_responses(items, abilities, missing=missing, seed=generator))


def standardised(values: Array) -> Array:
    return (values - values.mean()) / values.std()


def inverted(given: Patterns) -> Patterns:
    right = given.cells == 1
    return Patterns(np.where(given.cells < 0, -1, ~right).astype(np.int8), None, given.group)


def coin_flips(n_respondents: int, n_items: int, seed: int) -> ResponseMatrix:
    return ResponseMatrix(np.random.default_rng(seed).integers(0, 2, (n_respondents, n_items)))


# Proportion score


def test_the_proportion_score_is_the_standardised_share_right() -> None:
    given = simulated(50, 20, seed=0)
    proportion = proportion_score(given)
    np.testing.assert_allclose(proportion.value, standardised(given.cells.mean(axis=1)), atol=1e-12)
    assert proportion.scored.all()


def test_in_repeated_trials_it_is_the_standardised_share_of_them_right() -> None:
    right, trials = np.array([[3, 1], [0, 1], [2, 2]]), np.array([[3, 3], [3, 3], [3, 3]])
    proportion = proportion_score(counted(ResponseMatrix.from_counts(right, trials)))
    np.testing.assert_allclose(proportion.value, standardised(np.array([4, 1, 4]) / 6), atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_derivative_is_what_one_more_right_response_adds(missing: float) -> None:
    given = simulated(50, 20, seed=0, missing=missing)
    share = np.maximum(given.cells, 0).sum(axis=1) / (given.cells >= 0).sum(axis=1)
    derivative = proportion_score(given).derivative * (given.cells >= 0).sum(axis=1)
    assert derivative == pytest.approx(derivative[0])
    if not missing:
        assert derivative == pytest.approx(1 / share.std())


def test_additive_shares_are_told_apart_where_cells_are_missing() -> None:
    """100 trials a cell, of which respondent plus item in percent are right."""
    able, easy = np.arange(10) - 4.5, np.linspace(30, 60, 12)
    right = np.round(2 * (able[:, None] + easy)).astype(int)
    trials = np.where(np.random.default_rng(0).random(right.shape) < 0.3, 0, 200)
    given = ResponseMatrix.from_counts(np.where(trials > 0, right, 0), trials)
    found = proportion_score(counted(given)).value
    # shares are rounded to half a percent, and iterations end at changes of 0.1 %, of 2.9 % SD
    np.testing.assert_allclose(found, standardised(able), atol=0.1)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_inverting_every_response_turns_the_sign_of_the_proportion_score(missing: float) -> None:
    given = simulated(60, 40, seed=1, missing=missing)
    there, back = proportion_score(given), proportion_score(inverted(given))
    np.testing.assert_allclose(back.value, -there.value, atol=1e-12)
    np.testing.assert_allclose(back.derivative, there.derivative, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_respondents_who_met_harder_items_are_not_called_weaker(seed: int) -> None:
    generator = np.random.default_rng(seed)
    difficulty = np.repeat([-1.5, 0.0, 1.5], 60)  # an easy booklet, common items, a hard booklet
    abilities, hard = generator.normal(size=400), np.arange(400) % 2 == 1
    items = ItemParameters.from_difficulty(np.ones(180), difficulty)
    values = simulate_responses(items, abilities, seed=generator).values.copy()
    share = values.mean(axis=1, where=np.where(hard[:, None], difficulty >= 0, difficulty <= 0))
    values[np.ix_(~hard, difficulty > 0)] = values[np.ix_(hard, difficulty < 0)] = -1

    def called_weaker(proportion: Array) -> float:
        error = standardised(proportion) - standardised(abilities)
        return float(error[~hard].mean() - error[hard].mean())

    assert called_weaker(share) > 1
    # five standard errors of the difference of two means of 200 errors with an SD of 0.3
    assert called_weaker(proportion_score(counted(ResponseMatrix(values))).value) < 0.15


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_synthetic_respondents_have_no_proportion_score_and_change_nobody_elses(
    missing: float,
) -> None:
    items = ItemParameters.from_difficulty(np.ones(30), np.linspace(-2, 2, 30))
    real = simulate_responses(items, np.linspace(-2, 2, 40), missing=missing, seed=4)
    crowd = add_synthetic(real, ("always-right", "coin"), draws=3)
    alone, among = proportion_score(counted(real)), proportion_score(counted(crowd))
    np.testing.assert_allclose(among.value, [*alone.value, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(among.derivative, [*alone.derivative, 0, 0, 0, 0], atol=1e-12)
    for one, other in zip(score_of(counted(real)), score_of(counted(crowd)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_synthetic_respondents_count_when_they_are_called_ordinary() -> None:
    crowd = add_synthetic(coin_flips(20, 30, seed=5), "always-right")
    ordinary = proportion_score(patterns_of(crowd, synthetic_is_real=True))
    assert ordinary.scored.all()
    assert ordinary.value[-1] == ordinary.value.max()


def test_a_respondent_without_responses_is_not_scored() -> None:
    values = simulated(30, 20, seed=6).cells.copy()
    values[4] = -1
    with_empty = proportion_score(counted(ResponseMatrix(values)))
    without = proportion_score(counted(ResponseMatrix(np.delete(values, 4, axis=0))))
    assert (with_empty.scored[4], with_empty.value[4], with_empty.derivative[4]) == (
        False,
        0.0,
        0.0,
    )
    np.testing.assert_allclose(np.delete(with_empty.value, 4), without.value, atol=1e-12)


def test_respondents_who_are_all_alike_have_the_same_score() -> None:
    proportion = proportion_score(counted(ResponseMatrix([[1, 0], [1, 0], [1, 0]])))
    assert proportion.value.tolist() == [0.0, 0.0, 0.0]


# Score test


def z_of_noise(n_data_sets: int) -> tuple[Array, Array]:
    """Those of coin flips, and those in which every item's own part is left."""
    found = []
    for seed in range(n_data_sets):
        given = counted(coin_flips(200, 400, seed))
        right, proportion = given.cells.astype(float), proportion_score(given).value
        score = score_of(given)
        total = (right - right.mean(axis=0)).T @ proportion / np.sqrt(score.information)
        found.append((score.z, total))
    return np.array(found)[:, 0], np.array(found)[:, 1]


def test_on_coin_flips_z_is_standard_normal() -> None:
    z, with_own_part = z_of_noise(10)
    assert z.mean() == pytest.approx(0, abs=0.08)  # five of 1 / √4000
    assert z.std() == pytest.approx(1, abs=0.056)  # five of 1 / √8000
    # Σ (y − p)² ∂θ/∂x / √V is about √(200 / 400)
    assert with_own_part.mean() == pytest.approx(0.5**0.5, abs=0.08)


@pytest.mark.parametrize(("shape", "n_data_sets"), [((2000, 5), 60), ((60, 200), 10)])
def test_noise_of_items_easy_and_hard_has_no_slope(
    shape: tuple[int, int], n_data_sets: int
) -> None:
    found = []
    for seed in range(n_data_sets):
        generator = np.random.default_rng(seed)
        share = generator.uniform(0.2, 0.8, shape[1])
        found.append(score_of(counted(ResponseMatrix(generator.random(shape) < share))).z)
    # five standard errors; those of few items go together, which makes means vary less
    assert np.mean(found) == pytest.approx(0, abs=5 / np.sqrt(np.size(found)))
    assert np.std(found) == pytest.approx(1, abs=0.15)


def test_noise_in_repeated_trials_has_no_slope() -> None:
    generator, found = np.random.default_rng(17), []
    for _ in range(10):
        trials = generator.integers(0, 6, (100, 80))
        right = generator.binomial(trials, generator.uniform(0.2, 0.8, 80))
        found.append(score_of(counted(ResponseMatrix.from_counts(right, trials))).z)
    assert np.mean(found) == pytest.approx(0, abs=0.18)  # five of 1 / √800
    assert np.std(found) == pytest.approx(1, abs=0.125)


def brute_force(given: Patterns, *, right: Array, answered: Array) -> SlopeScore:
    """Score and information of every item against scores without the item's own responses.

    In place of how many of them were right stands the share of the item; the scale is kept.
    """
    proportion, found = proportion_score(given), []
    for own, tried in zip(right.T, answered.T, strict=True):
        share = own.sum() / tried.sum()
        without = proportion.value - (own - share * tried) * proportion.derivative
        mean = tried @ proportion.value / tried.sum()
        spread = tried @ (proportion.value - mean) ** 2
        n = min(tried.sum(), len(tried))
        found.append(((own - share * tried) @ without, share * (1 - share) * spread * n / (n - 1)))
    return SlopeScore(*np.array(found).T)


def test_the_score_goes_with_the_share_right_of_the_other_items() -> None:
    given = simulated(150, 60, seed=7)
    right, scale = given.cells.astype(float), given.cells.mean(axis=1).std()
    rest = (right.sum(axis=1, keepdims=True) - right) / 60  # of 60: the own one counts as nothing
    expected = ((right - right.mean(axis=0)) * rest).sum(axis=0) / scale
    np.testing.assert_allclose(score_of(given).score, expected, rtol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_score_test_is_one_against_scores_without_the_item(missing: float) -> None:
    given = simulated(150, 60, seed=7, missing=missing)
    answered = (given.cells >= 0).astype(float)
    referee = brute_force(given, right=np.maximum(given.cells, 0).astype(float), answered=answered)
    found = score_of(given)
    np.testing.assert_allclose(found.information, referee.information, rtol=1e-9)
    np.testing.assert_allclose(found.score, referee.score, rtol=1e-9)


def test_with_repeated_trials_too_it_is_one_against_scores_without_the_item() -> None:
    items = ItemParameters.from_difficulty(np.full(40, 0.8), np.linspace(-1.5, 1.5, 40))
    trials = np.random.default_rng(8).integers(0, 5, (100, 40))
    responses = simulate_responses(items, np.linspace(-2, 2, 100), trials=trials, seed=9)
    right, answered = responses.successes.astype(float), responses.trials.astype(float)
    found, referee = (
        score_of(counted(responses)),
        brute_force(counted(responses), right=right, answered=answered),
    )
    weight = found.score[0] / referee.score[0]  # one for all items; trials agree with each other
    assert 0.5 < weight < 1
    np.testing.assert_allclose(found.information, weight * referee.information, rtol=1e-9)
    np.testing.assert_allclose(found.score, weight * referee.score, rtol=1e-9)


def test_trials_that_repeat_each_other_say_what_one_says() -> None:
    values = simulated(80, 50, seed=3).cells
    once = score_of(counted(ResponseMatrix(values)))
    often = score_of(counted(ResponseMatrix.from_counts(values * 7, np.full(values.shape, 7))))
    np.testing.assert_allclose(often.z, once.z, rtol=1e-9)


def test_of_three_respondents_nothing_is_told() -> None:
    values = np.random.default_rng(0).integers(0, 2, (3, 200))
    assert not score_of(counted(ResponseMatrix(values))).information.any()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_repeated_trials_that_are_all_one_say_what_the_plain_matrix_says(missing: float) -> None:
    plain = simulated(70, 40, seed=10, missing=missing)
    trials = (plain.cells >= 0).astype(np.uint8)
    repeated = Patterns(np.maximum(plain.cells, 0).astype(np.uint8), trials, plain.group)
    assert (plain.trials, repeated.trials is trials) == (None, True)
    for one, other in zip(proportion_score(plain), proportion_score(repeated), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    for one, other in zip(score_of(plain), score_of(repeated), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_without_missing_cells_nothing_is_adjusted() -> None:
    """One missing cell takes the other path, and moves z by little."""
    whole = simulated(150, 60, seed=11)
    holed = whole.cells.copy()
    holed[0, 0] = -1
    near = score_of(Patterns(holed, None, whole.group)).z
    np.testing.assert_allclose(near, score_of(whole).z, atol=0.25)


def test_an_item_without_variance_says_nothing() -> None:
    values = simulated(40, 12, seed=12).cells.copy()
    values[:, 0], values[:, 1], values[:, 2] = 1, 0, -1
    found = score_of(counted(ResponseMatrix(values)))
    assert found.information[:3].tolist() == found.score[:3].tolist() == [0, 0, 0]
    assert np.isnan(found.z[:3]).all()
    assert (found.information[3:] > 0).all()


def test_an_inverted_item_has_a_z_below_0_and_a_flat_one_none() -> None:
    items = ItemParameters.from_difficulty([*np.ones(30), -1.0, 0.0], np.zeros(32))
    z = score_of(counted(simulate_responses(items, np.linspace(-2, 2, 300), seed=13))).z
    assert (z[:30] > 5).all()
    assert z[30] < -5
    assert abs(z[31]) < 3  # standard errors


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_order_of_respondents_and_of_items_makes_no_difference(missing: float) -> None:
    given = simulated(50, 30, seed=14, missing=missing)
    shuffle = np.random.default_rng(15).permutation
    by_row, by_column = shuffle(50), shuffle(30)
    moved = score_of(Patterns(given.cells[by_row][:, by_column], None, given.group))
    np.testing.assert_allclose(moved.z, score_of(given).z[by_column], atol=1e-9)


def test_scores_of_some_items_and_of_a_share_of_the_respondents() -> None:
    found = SlopeScore(np.array([2.0, -3.0, 0.0]), np.array([4.0, 9.0, 0.0]))
    assert found.chosen(slice(1, 3)).score.tolist() == [-3, 0]
    np.testing.assert_array_equal(found.z, [1.0, -1.0, np.nan])
    # a quarter of the respondents gives half the z
    np.testing.assert_array_equal(found.weighted(0.25).z, [0.5, -0.5, np.nan])
