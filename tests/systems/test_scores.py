"""Claims about scores of systems and how they err together."""

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.data.patterns import patterns_of
from irtkit.systems.scores import (
    Filling,
    Shares,
    answers_by_component,
    clusters_of,
    scores_of,
    table_of_scores,
)
from tests.crowds import crowd, fitted


def drawn(abilities, n_items=60):
    items = crowd("few").items.chosen(slice(n_items))
    return irtkit.simulate_responses(items, list(abilities), seed=0)


def scored(result, clusters=None):
    """Expected scores of the only component."""
    (answers,) = answers_by_component(result, table_of_scores(result))
    return scores_of(answers, clusters_of(result, clusters))


def moves(items, shares, rows):
    """What answers, slopes and intercepts add to J times the scores."""
    n = items.n_items
    ability = rows["ability"].to_numpy()
    filling = Filling(
        lambda systems: items.probability(ability[systems]),
        ability,
        rows["ability_se"].to_numpy()[:, None, None] ** 2,
        items,
        np.tile(np.eye(2), (n, 1, 1)),
        0.0,
        1.0,
    )
    by_answers, by_items = filling.moves(slice(None), shares, np.ones(n))
    return by_answers, by_items[:, :, 0], by_items[:, :, 1]


def covariance(scores):
    """Scores in the order of the responses."""
    own = scores.error[np.argsort(scores.places)]
    return own @ own.T


def with_holes(share=0.3):
    values = drawn(np.linspace(-1, 1, 12)).values.astype(float)
    values[np.random.default_rng(0).random(values.shape) < share] = np.nan
    return irtkit.fit(irtkit.ResponseMatrix(values), standard_errors=False)


def test_scores_of_complete_answers_are_accuracies_with_their_sample_covariance():
    values = crowd("few").responses.values
    scores = scored(fitted("few"))
    assert scores.value == pytest.approx(-np.sort(-values.mean(axis=1)))
    assert covariance(scores) == pytest.approx(np.cov(values) / 200)
    assert (scores.df == 199).all()


def test_a_cell_without_an_answer_widens_the_error():
    responses = drawn(np.linspace(-1, 1, 30))
    values = responses.values.astype(float)
    values[0, ::2] = np.nan
    whole = scored(irtkit.fit(responses))
    part = scored(irtkit.fit(irtkit.ResponseMatrix(values)))
    wider, before = np.diag(covariance(part)), np.diag(covariance(whole))
    assert wider[0] > 1.1 * before[0]
    assert wider[1] == pytest.approx(before[1], rel=0.01)
    assert part.df[part.places == 0] == 29


@pytest.mark.filterwarnings("ignore:Unknown misfit")
def test_slopes_of_scores_by_items_agree_with_scoring_on_other_items():
    responses = drawn(np.linspace(-1, 1, 6), n_items=100)
    values = responses.values.astype(float)
    values[np.random.default_rng(0).random(values.shape) < 0.5] = np.nan
    slope, difficulty = np.random.default_rng(1).uniform([[0.7], [-1.5]], 1.5, (2, 100))
    items, step = irtkit.ItemParameters.from_difficulty(slope, difficulty), 0.05

    def scores(slope, intercept):
        moved = irtkit.ItemParameters(slope, intercept, items.guessing)
        return irtkit.score(irtkit.ResponseMatrix(values), moved)

    patterns = patterns_of(irtkit.ResponseMatrix(values), synthetic_is_real=True)
    shares, rows = Shares.of(patterns), scores(items.discrimination, items.intercept)
    _, by_slope, by_intercept = moves(items, shares, rows)
    found = [[], []]
    for j in range(0, 100, 5):
        moved = step * (np.arange(100) == j)
        for slopes, change in zip(found, ((0, moved), (moved, 0)), strict=True):
            ends = [
                scores(items.discrimination + sign * change[0], items.intercept + sign * change[1])
                for sign in (1, -1)
            ]
            slopes.append(ends[0]["expected_score"] - ends[1]["expected_score"])
    for slopes, said in zip(found, (by_intercept, by_slope), strict=True):
        exact = 100 * np.array(slopes).T / (2 * step)
        np.testing.assert_allclose(said[:, ::5], exact, atol=0.06 * np.abs(exact).max())


def test_missing_cells_with_items_without_errors_give_a_warning():
    missing = with_holes()
    for call in (irtkit.FitResult.leaderboard, irtkit.compare_systems):
        with pytest.warns(irtkit.IRTWarning, match="Items taken as known"):
            call(missing)
    fitted("few", standard_errors=False).leaderboard()  # nothing depends on items


def test_clusters_are_named_by_item_or_in_the_item_table():
    responses = drawn([0.0] * 10, n_items=4)
    table = pd.DataFrame({"passage": ["x", "y", "y", "x"]}, index=responses.items)
    result = irtkit.fit(responses.with_tables(table))
    for given in ("passage", table["passage"], dict(table["passage"])):
        assert clusters_of(result, given).tolist() == [0, 1, 1, 0]
    scores = scored(result, "passage")
    assert (scores.df == 1).all()
    with pytest.raises(ValueError, match="names 'task'"):
        clusters_of(result, "task")
    with pytest.raises(ValueError, match="clusters lacks a cluster for item 'item-2'"):
        clusters_of(result, {"item-1": "x"})
