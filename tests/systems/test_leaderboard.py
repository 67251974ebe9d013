"""Claims about leaderboards."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.calibration.errors import board_covariance
from irtkit.systems import leaderboard
from irtkit.systems.printed import board_shown
from tests.crowds import crowd

CONTRACT = (
    *("rank", "rank_low", "rank_high", "accuracy", "ability", "ability_low", "ability_high"),
    *("expected_score", "expected_score_low", "expected_score_high", "n_responses"),
)


def matrix(n=30, n_items=100, seed=0):
    return irtkit.ResponseMatrix(crowd("long", seed).responses.values[:n, :n_items])


def leaked(seed, *, wrong_keys):
    """Answers of 100 systems to 200 items, some with wrong keys. The first follows every key."""
    generator = np.random.default_rng(seed)
    slope, theta = generator.lognormal(0, 0.4, 200), generator.normal(size=(100, 1))
    p = 1 / (1 + np.exp(-slope * (theta - generator.normal(-0.5, 1, 200))))
    values = (generator.random(p.shape) < p).astype(int)
    values[:, :wrong_keys] = 1 - values[:, :wrong_keys]
    values[0] = 1
    return values


def test_a_system_that_follows_wrong_keys_is_marked():
    result = irtkit.fit(irtkit.ResponseMatrix(leaked(0, wrong_keys=10)), standard_errors=False)
    board = leaderboard(result)
    assert list(board.index[board["status"] == "misfit"]) == ["respondent-1"]
    printed = board_shown(board, 0.95).text()
    assert "100.0*" in printed
    clean = irtkit.fit(irtkit.ResponseMatrix(leaked(0, wrong_keys=0)), standard_errors=False)
    board = leaderboard(clean)
    assert set(board["status"]) == {"ok"}
    assert "*" not in board_shown(board, 0.95).text()


def test_the_best_comes_first_with_the_columns_of_the_contract():
    result = irtkit.fit(matrix())
    board = result.leaderboard()
    assert tuple(board.columns[: len(CONTRACT)]) == CONTRACT
    assert board.index.name == "respondent"
    assert board["rank"].iloc[0] == 1
    assert board["accuracy"].is_monotonic_decreasing
    scores = irtkit.score(result.responses, result).loc[board.index]
    bounds = ["ability_low", "ability_high"]
    shared = [name for name in CONTRACT if name in scores and name not in bounds]
    pd.testing.assert_frame_equal(board[shared], scores[shared], rtol=1e-12)
    reach = 1.959964 * result.respondents.loc[board.index, ["ability_se"]].to_numpy()
    expected = board[["ability"]].to_numpy() + reach * [-1, 1]
    assert board[bounds].to_numpy() == pytest.approx(expected)


def test_ranks_follow_accuracy_with_a_warning_if_ability_disagrees():
    generator = np.random.default_rng(1)
    theta = generator.normal(size=(60, 2))
    # a hundred items of one ability, and thirty of another whose slopes are steep
    easy = generator.random((60, 100)) < 1 / (1 + np.exp(-theta[:, :1]))
    steep = generator.random((60, 30)) < 1 / (1 + np.exp(-8 * theta[:, 1:]))
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(irtkit.ResponseMatrix(np.hstack([easy, steep]).astype(int)))
    with pytest.warns(irtkit.IRTWarning, match="Ability reversed"):
        board = result.leaderboard()
    assert board["accuracy"].is_monotonic_decreasing
    assert not board["ability"].is_monotonic_decreasing


def test_systems_that_met_easier_items_gain_nothing():
    generator = np.random.default_rng(0)
    difficulty = np.sort(generator.normal(size=200))
    items = irtkit.ItemParameters.from_difficulty(np.ones(200), difficulty)
    theta = np.linspace(-1.5, 1.5, 40)
    values = irtkit.simulate_responses(items, theta, seed=1).values.astype(float)
    values[::2, 140:] = np.nan
    values[1::2, :60] = np.nan
    board = irtkit.fit(irtkit.ResponseMatrix(values)).leaderboard()
    order = [int(name.split("-")[1]) for name in board.index]
    assert np.corrcoef(order, np.arange(40, 0, -1))[0, 1] > 0.95
    assert abs(np.mean([k % 2 for k in order[:20]]) - 0.5) < 0.2


def test_parts_without_a_common_response_are_ranked_apart():
    values = np.full((24, 60), np.nan)
    values[:14, :30] = matrix(14, 30).values
    values[14:, 30:] = matrix(10, 30, seed=1).values
    with pytest.warns(UserWarning, match="form 2 groups"):
        result = irtkit.fit(irtkit.ResponseMatrix(values))
    board = result.leaderboard()
    assert board["component"].tolist() == [1] * 14 + [2] * 10
    for n, part in board.groupby("component"):
        assert part["rank"].iloc[0] == 1
        assert part["rank_high"].max() == {1: 14, 2: 10}[n]
    pairs = irtkit.compare_systems(result)
    assert len(pairs) == 14 * 13 // 2 + 10 * 9 // 2
    with pytest.raises(ValueError, match="cannot be compared: they share no items"):
        irtkit.compare_systems(result, "respondent-1", "respondent-20")


def test_families_are_a_column_and_widen_intervals_of_ability():
    responses = matrix(10)
    families = {name: "odd" if k % 2 else "even" for k, name in enumerate(responses.respondents)}
    table = pd.DataFrame({"family": families})
    given = irtkit.fit(responses).leaderboard(families=families)
    in_table = irtkit.fit(responses.with_tables(None, table))
    pd.testing.assert_frame_equal(given, in_table.leaderboard(families="family"))
    plain = irtkit.fit(responses).leaderboard()
    shown = in_table.leaderboard()
    assert list(shown.pop("family")) == list(given.pop("family"))
    pd.testing.assert_frame_equal(shown, plain)
    assert (given.pop("ability_low") <= plain.pop("ability_low")).all()
    assert (given.pop("ability_high") >= plain.pop("ability_high")).all()
    pd.testing.assert_frame_equal(given, plain)


def test_a_board_fits_a_terminal_and_steers_none():
    responses = matrix(25)
    names = [f"\x1b[31morganisation/model-with-a-name-of-length-{k}" for k in range(25)]
    values = responses.values.astype(float)
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    result = irtkit.fit(irtkit.ResponseMatrix(values, names))
    board = result.leaderboard(families=dict.fromkeys(names, "\x1b[31mfamily of models"))
    words = board_shown(board, 0.95, findings=list(result.warnings)).text()
    assert max(map(len, words.splitlines())) <= 80
    assert "\x1b" not in words
    assert "… and 5 more" in words


def test_too_many_respondents_are_refused(monkeypatch):
    result = irtkit.fit(matrix(12))
    monkeypatch.setattr(sys.modules["irtkit.systems.scores"], "MOST_SYSTEMS", 11)
    with pytest.raises(ValueError, match="at most 11 systems"):
        leaderboard(result)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_ranks_given_these_items_are_by_ability_and_hold_the_true_ones():
    generator, held = np.random.default_rng(0), []
    for _ in range(4):
        ability, difficulty = generator.normal(size=60), generator.normal(size=30)
        p = 1 / (1 + np.exp(difficulty - ability[:, None]))
        trials = np.where(generator.random(p.shape) < 0.7, 0, 20)
        right = generator.binomial(trials, p)
        result = irtkit.fit(irtkit.ResponseMatrix.from_counts(right, trials))
        board = result.leaderboard(of="these")
        assert board["ability"].is_monotonic_decreasing
        assert list(board["rank"]) == list(range(1, len(board) + 1))
        assert (board["rank_low"] <= board["rank"]).all()
        assert (board["rank_high"] >= board["rank"]).all()
        true = pd.Series(1 + np.argsort(np.argsort(-ability)), result.respondent_labels)
        true = true[board.index].rank()
        held += list((board["rank_low"] <= true) & (true <= board["rank_high"]))
    assert 0.92 < np.mean(held) < 0.995
    assert (board["rank_high"] - board["rank_low"]).median() < 25
    errors = board_covariance(result, np.arange(60))
    assert np.diag(errors) == pytest.approx(result.board_se**2)
    assert np.linalg.eigvalsh(errors)[0] > 0
    common = errors - np.diag(np.diag(errors))
    assert np.abs(common).max() > 0.01 * errors.max()
    with pytest.raises(ValueError, match="of must be 'these' or 'like these', got 'those'"):
        leaderboard(result, of="those")
