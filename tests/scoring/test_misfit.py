"""Claims about what a model leaves unexplained of scores."""

import warnings

import numpy as np

from irtkit import ResponseMatrix, fit, score
from irtkit.fitting import silently

N_ITEMS = 60


def two_abilities(n, seed, slope=4.0):
    """Answers to 60 items, of which every other one asks for a further ability."""
    generator = np.random.default_rng(seed)
    theta, other = generator.normal(size=(2, n, 1))
    logits = theta - np.linspace(-2, 2, N_ITEMS) + slope * other * (np.arange(N_ITEMS) % 2)
    return ResponseMatrix((generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int))


def quick_fit(responses):
    with silently():
        return fit(responses, standard_errors=False)


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
