"""Claims about what a model leaves unexplained of scores."""

import warnings

import numpy as np
import pytest

from irtkit import ItemParameters, ResponseMatrix, fit, score, simulate_responses
from irtkit.data.patterns import patterns_of
from irtkit.fitting import silently
from irtkit.scoring.scores import Cells, added_variance, expected_scores, misfit_of, sets_asked

N_ITEMS = 60
ALL = np.arange(N_ITEMS)


def two_abilities(n, seed, slope=4.0):
    """Answers to 60 items, of which every other one asks for a further ability."""
    generator = np.random.default_rng(seed)
    theta, other = generator.normal(size=(2, n, 1))
    logits = theta - np.linspace(-2, 2, N_ITEMS) + slope * other * (np.arange(N_ITEMS) % 2)
    return ResponseMatrix((generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int))


def quick_fit(responses):
    with silently():
        return fit(responses, standard_errors=False)


def cells_of(responses):
    patterns = patterns_of(responses, synthetic_is_real=True)
    return Cells.of(patterns, np.arange(patterns.n), np.arange(patterns.n_items))


@pytest.mark.parametrize("trials", [1, 5])
def test_errors_of_scores_are_as_large_as_their_variance(trials):
    """Mean e²/v of 2,000 respondents has a standard error of 0.03."""
    items = ItemParameters.from_difficulty(np.ones(N_ITEMS), np.linspace(-2, 2, N_ITEMS))
    ability = np.random.default_rng(0).normal(size=2000)
    drawn = simulate_responses(items, ability, trials=trials, missing=0.2, seed=1)
    cells = cells_of(drawn)
    expected, variance = expected_scores(items, cells, ALL[::6])
    ratio = (expected - cells.score) ** 2 / variance
    assert ratio.mean() == pytest.approx(1, abs=0.1)


def test_misfit_of_those_fitted_is_near_that_of_others():
    """Of 12 respondents; without 1 − 2/n for what was fitted to them it would be 0.5 of it."""
    of_fitted, of_others = [], []
    for seed in range(20):
        result = quick_fit(two_abilities(12, seed))
        of_fitted.append(misfit_of(result, result.parameters.known, ALL[:24:2]))
        cells = cells_of(two_abilities(500, 1000 + seed))
        expected, variance = expected_scores(result.parameters, cells, ALL[:24:2])
        of_others.append(added_variance(expected - cells.score, variance, np.ones(500)))
    assert 0.65 < np.mean(of_fitted) / np.mean(of_others) < 1.2


def test_intervals_of_scores_hold_what_the_model_leaves_unexplained():
    result, new = quick_fit(two_abilities(400, 0, 2.5)), two_abilities(1000, 1, 2.5)
    first = ResponseMatrix(new.values[:, :12], items=new.items[:12])
    truth, held = new.values.mean(axis=1), []
    for items in (result.items, result):
        with warnings.catch_warnings(action="ignore"):
            found = score(first, items)
        inside = (found["expected_score_low"] <= truth) & (truth <= found["expected_score_high"])
        held.append(inside.mean())
    assert held[0] < 0.9
    assert 0.93 <= held[1] <= 0.98


def test_intervals_are_narrow_where_systems_of_each_time_answer_items_of_their_time():
    """A board of fractions. Respondents who answered none of the items gave widths of 0.24."""
    generator = np.random.default_rng(0)
    time, time_of_item = np.sort(generator.random(120)), np.sort(generator.random(80))
    ability, difficulty = 3 * time + generator.normal(0, 0.7, 120), 3 * time_of_item
    shares = 1 / (1 + np.exp(difficulty - ability[:, None]))
    scores = generator.binomial(100, shares) / 100
    seen = abs(time[:, None] - time_of_item) < 0.25
    result = fit(ResponseMatrix(np.where(seen, scores, np.nan)))
    board = result.leaderboard().loc[list(result.saved_responses.respondents)]
    low, high, truth = board["expected_score_low"], board["expected_score_high"], scores.mean(1)
    assert np.mean((low <= truth) & (truth <= high)) > 0.9
    assert np.mean(high - low) < 0.1


@pytest.mark.parametrize(("kind", "n_sets"), [("dense", 5), ("repeated", 200), ("sparse", 200)])
def test_misfit_is_told_by_the_items_that_each_answered(kind, n_sets):
    """Set by set where they are few, else between sets by how many items they have."""
    generator = np.random.default_rng(0)
    sets = generator.random((n_sets, N_ITEMS)) < np.linspace(0.2, 0.9, n_sets)[:, None]
    tried = np.repeat(sets, 3, axis=0).astype(int)
    tried[0], tried[1] = 1, 0  # one answered all, and one nothing
    trials = 2 * tried if kind == "repeated" else tried
    responses = ResponseMatrix.from_counts(generator.binomial(trials, 0.5), trials)
    responses = responses.to_sparse() if kind == "sparse" else responses
    n_asked, patterns = tried.sum(axis=1), patterns_of(responses, synthetic_is_real=True)

    some_left = (n_asked > 0) & (n_asked < N_ITEMS)
    sets, share = sets_asked(patterns, n_asked.astype(float), some_left)
    found = share @ [1 / len(columns) for columns in sets]
    wanted = 1 / np.maximum(n_asked, 1)
    np.testing.assert_allclose(found[2:], wanted[2:], rtol=1e-9 if n_sets == 5 else 0.1)
