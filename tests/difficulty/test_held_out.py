"""Claims about the prediction of responses left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.difficulty import held_out, held_out_predictions
from irtkit.difficulty.sentences import held_out_sentence


def simulated(n_respondents: int, n_items: int, negative: float) -> irtkit.ResponseMatrix:
    generator = np.random.default_rng(5)
    slope = generator.lognormal(0, 0.3, n_items)
    slope[: round(negative * n_items)] *= -1
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    return irtkit.simulate_responses(items, generator.normal(size=n_respondents), seed=generator)


@pytest.fixture(scope="module")
def responses() -> irtkit.ResponseMatrix:
    return simulated(120, 100, 0.1)


def test_slopes_below_0_are_what_only_the_2pl_predicts(responses: irtkit.ResponseMatrix) -> None:
    table = held_out_predictions(responses, ["1PL", "2PL"])
    assert table.loc["2PL", "gain"] > 3 * table.loc["2PL", "gain_se"]
    assert abs(table.loc["1PL", "gain"]) < 0.01
    assert table.loc["2PL", "accuracy"] > table.loc["average error", "accuracy"]


def test_nothing_is_gained_where_all_slopes_are_equal() -> None:
    items = irtkit.ItemParameters.from_difficulty(np.ones(60), np.linspace(-2, 2, 60))
    abilities = np.random.default_rng(1).normal(size=80)
    table = held_out_predictions(irtkit.simulate_responses(items, abilities, seed=2), ["2PL"])
    assert table.loc["2PL", "gain"] < 3 * table.loc["2PL", "gain_se"] + 0.005


def test_every_observed_response_is_predicted_once(responses: irtkit.ResponseMatrix) -> None:
    cells = responses.values.copy()
    cells[::3, ::2] = -1
    table = held_out_predictions(irtkit.ResponseMatrix(cells), ["1PL"], folds=3)
    assert (table["n_responses"] == (cells >= 0).sum()).all()


def folds_of(observed: np.ndarray, folds: int, seed: int = 0) -> np.ndarray:
    return np.array(list(held_out._folds(observed.astype(np.int32), folds, seed)))


@pytest.mark.parametrize(
    ("shape", "folds"), [((12, 50), 5), ((2, 30), 2), ((7, 40), 9), ((40, 1), 3), ((1, 6), 2)]
)
def test_every_observed_cell_is_held_out_once_and_never_all(
    shape: tuple[int, int], folds: int
) -> None:
    for seed in range(10):
        observed = np.random.default_rng(seed).random(shape) < 0.7
        observed[0, :2] = observed[:2, 0] = True
        held = folds_of(observed, folds, seed)
        np.testing.assert_array_equal(held.sum(axis=0), observed)
        assert (held.sum(axis=(1, 2)) < observed.sum()).all()


def test_items_with_one_response_each_are_never_held_out_together() -> None:
    for seed in range(20):
        assert len(folds_of(np.eye(2, dtype=bool), 2, seed)) == 2


def test_every_item_loses_its_share_to_every_fold() -> None:
    observed = np.random.default_rng(3).random((12, 200)) < 0.8
    share = observed.sum(axis=0) / 5
    by_item = folds_of(observed, 5).sum(axis=1)
    assert (np.abs(by_item - share) < 1).all()


def test_every_respondent_loses_its_share_to_every_fold() -> None:
    by_respondent = folds_of(np.ones((12, 1000), dtype=bool), 5).sum(axis=2)
    assert (np.abs(by_respondent - 200) <= held_out._ORDERS).all()


def test_complete_items_are_held_out_in_few_ways() -> None:
    for held in folds_of(np.ones((12, 1000), dtype=bool), 5):
        assert len(np.unique(held, axis=1).T) <= 5 * held_out._ORDERS


def test_the_same_respondents_are_not_held_out_together_for_all_items() -> None:
    held = folds_of(np.ones((12, 1000), dtype=bool), 5).astype(float)
    together = np.einsum("kij,klj->il", held, held) / 1000
    assert together[~np.eye(12, dtype=bool)].max() < 1


@pytest.mark.parametrize("shape", [(30, 12), (100, 20)])
def test_coin_flips_are_predicted_better_by_nothing(shape: tuple[int, int]) -> None:
    for seed in range(4):
        flips = irtkit.ResponseMatrix(np.random.default_rng(seed).integers(0, 2, shape))
        table = held_out_predictions(flips, ["1PL"], folds=3)
        assert table.loc["average error", "log_likelihood"] == pytest.approx(-np.log(2), abs=0.02)
        assert not table.loc["1PL", "gain"] > 2 * table.loc["1PL", "gain_se"]


def test_average_error_predicts_no_worse_than_the_rate_of_each_item() -> None:
    generator = np.random.default_rng(2)
    items = irtkit.ItemParameters.from_difficulty(np.full(6, 0.7), np.linspace(-2, 2, 6))
    made = irtkit.simulate_responses(items, generator.normal(size=400), seed=generator)
    rate = made.values.mean(axis=0)
    known = np.log(np.where(made.values == 1, rate, 1 - rate)).mean()
    table = held_out_predictions(made, [], folds=5)
    # the rates are told by the very responses: 6 of them gain 6 / 2,400 over rates of others
    assert table.loc["average error", "log_likelihood"] > known - 0.005


def test_responses_that_are_all_right_are_predicted_right() -> None:
    table = held_out_predictions(irtkit.ResponseMatrix(np.ones((10, 5), dtype=int)), [], folds=2)
    assert table.loc["average error", "accuracy"] == 1


def test_synthetic_respondents_are_left_out(responses: irtkit.ResponseMatrix) -> None:
    with_synthetic = irtkit.add_synthetic(responses, ("always-right", "always-wrong"))
    one, other = (held_out_predictions(r, [], folds=2) for r in (responses, with_synthetic))
    np.testing.assert_array_equal(one, other)


def test_the_same_seed_gives_the_same_numbers(responses: irtkit.ResponseMatrix) -> None:
    tables = [held_out_predictions(responses, ["1PL"], folds=2, seed=s) for s in (1, 1, 2)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"folds": 1}, "folds"), ({"seed": -1}, "seed"), ({"folds": 2.5}, "folds")],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        held_out_predictions(irtkit.ResponseMatrix([[1, 0], [0, 1]]), [], **settings)


def test_more_folds_than_cells_are_refused() -> None:
    with pytest.raises(ValueError, match=r"number of observed cells, 4; got 5"):
        held_out_predictions(irtkit.ResponseMatrix([[1, 0], [0, 1]]), [])


def test_one_item_shows_no_standard_error() -> None:
    column = np.random.default_rng(0).integers(0, 2, (40, 1))
    table = held_out_predictions(irtkit.ResponseMatrix(column), ["1PL"], folds=2)
    assert np.isnan(table.loc["1PL", "gain_se"])


def one_parameter(n_respondents: int, n_items: int, ability_sd: float, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    items = irtkit.ItemParameters.from_difficulty(np.ones(n_items), generator.normal(size=n_items))
    abilities = ability_sd * generator.normal(size=n_respondents)
    return held_out_predictions(irtkit.simulate_responses(items, abilities, seed=generator))


@pytest.mark.parametrize(("shape", "ability_sd"), [((100, 60), 3.0), ((30, 50), 1.0)])
def test_no_model_gains_where_average_error_is_sufficient(
    shape: tuple[int, int], ability_sd: float
) -> None:
    for seed in range(3):
        table = one_parameter(*shape, ability_sd, seed)
        assert not (table["gain_low"] > 0).any()
        assert "predicted better by" not in held_out_sentence(table)
        # over logits of shares right, added up, the 1PL gains 0.015 on the first kind of data
        assert table.loc["1PL", "gain"] < 0.001


def scored(gain: np.ndarray) -> held_out._Scores:
    """Scores of a predictor with given gains over another that is always undecided."""
    scores = held_out._Scores(gain.shape)
    respondent, item = np.indices(gain.shape).reshape(2, -1)
    ones = np.ones(gain.size)
    cells = held_out._Cells(respondent, item, ones, ones)
    scores.add(cells, np.exp(gain.ravel() - 1), np.full(gain.size, -1.0))
    return scores


def test_the_error_of_a_gain_holds_what_respondents_and_items_have_in_common() -> None:
    generator = np.random.default_rng(0)
    rows, columns, cells = 0.02, 0.03, 0.05
    means, errors = [], []
    for _ in range(200):
        gain = 0.1 + rows * generator.normal(size=(30, 1)) + columns * generator.normal(size=40)
        gain = gain + cells * generator.normal(size=(30, 40))
        row = scored(gain).row(1)
        means.append(row["gain"])
        errors.append(row["gain_se"])
    true = np.sqrt(rows**2 / 30 + columns**2 / 40 + cells**2 / 1200)
    # 200 draws tell an SD to 5 %
    assert np.std(means) == pytest.approx(true, rel=0.15)
    assert np.mean(errors) == pytest.approx(true, rel=0.1)


def test_an_error_is_never_below_that_of_one_way() -> None:
    gain = 0.1 * np.random.default_rng(1).normal(size=(5, 6))
    total = gain - gain.mean()
    one_way = max((total.sum(axis=1) ** 2).sum() * 5 / 4, (total.sum(axis=0) ** 2).sum() * 6 / 5)
    assert scored(gain).row(1)["gain_se"] >= np.sqrt(one_way) / 30 - 1e-12


def test_the_more_models_the_wider_the_intervals() -> None:
    gain = 0.1 + 0.1 * np.random.default_rng(1).normal(size=(20, 30))
    width = [row["gain_high"] - row["gain_low"] for row in map(scored(gain).row, (1, 2, 3))]
    assert width[0] < width[1] < width[2]
    error = scored(gain).row(1)["gain_se"]
    assert width[0] == pytest.approx(2 * 2.093 * error, rel=1e-3)  # Student's t, 19 degrees


def predictions(**gains: tuple[float, float, float]) -> pd.DataFrame:
    """Table of gains with their intervals."""
    rows = {held_out.AVERAGE_ERROR: (0.0, 0.0, 0.0), **gains}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["gain", "gain_low", "gain_high"])
    return table.assign(accuracy=0.7)


def test_the_sentence_names_the_best_of_those_that_surely_gain() -> None:
    doubtful, sure = (0.09, -0.01, 0.2), (0.05, 0.03, 0.07)
    told = held_out_sentence(
        predictions(**{"2PL": doubtful, "3PL": sure, "1PL": (-0.1, -0.2, -0.05)})
    )
    assert "predicted better by the 3PL" in told
    assert "1PL" not in told


def test_the_sentence_says_where_the_1pl_ties() -> None:
    tie = {"1PL": (0.0, -0.01, 0.01)}
    for table in (predictions(**tie), predictions(**tie, **{"2PL": (0.05, 0.03, 0.07)})):
        assert "neither better nor worse" in held_out_sentence(table)


def test_no_gain_is_told_where_there_is_no_interval() -> None:
    told = held_out_sentence(predictions(**{"2PL": (0.05, np.nan, np.nan)}))
    assert "does not show whether a model predicts responses better" in told


def test_what_is_worse_beyond_error_is_called_worse() -> None:
    told = held_out_sentence(predictions(**{"2PL": (-0.05, -0.07, -0.03)}))
    assert "predicts responses left out at random worse than" in told
    told = held_out_sentence(predictions(**{"2PL": (-0.05, -0.07, 0.03)}))
    assert "no better, beyond error, than" in told


def test_progress_names_the_fold_and_is_silent_unless_asked_for(
    capsys: pytest.CaptureFixture[str], responses: irtkit.ResponseMatrix
) -> None:
    held_out_predictions(responses, ["1PL"], folds=2)
    assert capsys.readouterr() == ("", "")
    held_out_predictions(responses, ["1PL"], folds=2, progress=True)
    shown = capsys.readouterr().err
    assert "fold 2 of 2, 1PL" in shown
    assert "%" in shown


def test_what_is_no_response_matrix_is_refused() -> None:
    with pytest.raises(TypeError, match="responses"):
        held_out_predictions(3)


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(TypeError, match="responses must be a path, a data frame"):
        held_out_predictions(0)
