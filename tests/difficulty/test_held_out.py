"""Claims about the prediction of responses that models have not seen."""

from __future__ import annotations

import numpy as np
import pytest

import irtkit
from irtkit.difficulty import held_out, held_out_predictions
from irtkit.irf import ItemParameters


def simulated(
    n_respondents: int, n_items: int, *, negative: float = 0.0, sd: float = 0.0, seed: int = 5
) -> irtkit.ResponseMatrix:
    generator = np.random.default_rng(seed)
    slope = generator.lognormal(0, sd, n_items)
    slope[: round(negative * n_items)] *= -1
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    return irtkit.simulate_responses(items, generator.normal(size=n_respondents), seed=generator)


@pytest.fixture(scope="module")
def responses() -> irtkit.ResponseMatrix:
    return simulated(120, 100, negative=0.1, sd=0.3)


def test_slopes_below_0_are_what_only_the_2pl_predicts(responses: irtkit.ResponseMatrix) -> None:
    table = held_out_predictions(responses, ["2PL"])
    assert list(table.index) == ["1PL", "2PL"]
    assert table.loc["2PL", "gain"] > 3 * table.loc["2PL", "gain_se"]
    assert table.loc["2PL", "accuracy"] > table.loc["1PL", "accuracy"]
    difference = table.loc["2PL", "log_likelihood"] - table.loc["1PL", "log_likelihood"]
    assert table.loc["2PL", "gain"] == pytest.approx(difference)


@pytest.mark.parametrize("shape", [(100, 60), (30, 50)])
def test_no_model_gains_if_all_slopes_are_equal(shape: tuple[int, int]) -> None:
    for seed in range(3):
        table = held_out_predictions(simulated(*shape, seed=seed))
        assert not (table["gain_low"] > 0).any()


def test_every_observed_response_is_predicted_once(responses: irtkit.ResponseMatrix) -> None:
    cells = responses.values.copy()
    cells[::3, ::2] = -1
    cells[:, 7], cells[5] = -1, -1
    table = held_out_predictions(irtkit.ResponseMatrix(cells), ["2PL"], folds=3)
    assert (table["n_responses"] == (cells >= 0).sum()).all()


def test_no_response_takes_part_in_its_own_prediction() -> None:
    """Coin flips are not predicted, not even by the respondent who answers like the others."""
    for seed in range(4):
        flips = irtkit.ResponseMatrix(np.random.default_rng(seed).integers(0, 2, (30, 12)))
        table = held_out_predictions(flips, ["2PL"], folds=3)
        assert table.loc["1PL", "log_likelihood"] < -np.log(2) + 0.002
        assert not table.loc["2PL", "gain"] > 2 * table.loc["2PL", "gain_se"]


def test_predictions_are_posterior_means_given_the_other_items() -> None:
    items = ItemParameters(np.array([1.0, 2.0, -0.5]), np.array([0.0, 0.5, 1.0]), np.zeros(3))
    predictor = held_out._Predictor(items, np.array([0, 1, 3]))
    right = np.array([[1.0, 1.0, 0.0]])
    theta = np.linspace(-8, 8, 4001)
    p = items.probability(theta)
    prior = np.exp(-(theta**2) / 2)
    expected = []
    for item, others in ((0, [1, 2]), (1, [0]), (2, [0])):
        weight = prior * np.prod(np.where(right[0, others] > 0, p[:, others], 1 - p[:, others]), 1)
        expected.append(weight @ p[:, item] / weight.sum())
    # the posterior is taken as normal, by a rule of three points
    np.testing.assert_allclose(predictor.probability(right, None)[0], expected, atol=0.015)
    alike = predictor.probability(right, np.ones_like(right))
    np.testing.assert_allclose(alike, predictor.probability(right, None), atol=1e-6)


def test_synthetic_respondents_are_left_out(responses: irtkit.ResponseMatrix) -> None:
    with_synthetic = irtkit.add_synthetic(responses, ("always-right", "always-wrong"))
    one, other = (held_out_predictions(r, [], folds=2) for r in (responses, with_synthetic))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("values", "settings", "said"),
    [
        (np.eye(2, dtype=int), {"folds": 1}, "folds"),
        (np.eye(2, dtype=int), {"seed": -1}, "seed"),
        ([[1, 0]], {}, "at least two respondents"),
    ],
)
def test_what_cannot_be_divided_is_refused(values: object, settings: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        held_out_predictions(irtkit.ResponseMatrix(values), [], **settings)
    with pytest.raises(TypeError, match="models must be a list"):
        held_out_predictions(irtkit.ResponseMatrix(values), "2PL")


def scored(gain: np.ndarray) -> held_out._Scores:
    """Scores of a predictor with given gains over another that is always undecided."""
    scores = held_out._Scores(gain.shape)
    ones = np.ones_like(gain)
    scores.add(np.arange(len(gain)), ones, None, np.exp(gain - 1), np.full(gain.shape, -1.0))
    return scores


def test_the_error_of_a_gain_holds_what_respondents_and_items_have_in_common() -> None:
    generator = np.random.default_rng(0)
    rows, columns, cells = 0.02, 0.03, 0.05
    means, errors = [], []
    for _ in range(200):
        gain = 0.1 + rows * generator.normal(size=(30, 1)) + columns * generator.normal(size=40)
        row = scored(gain + cells * generator.normal(size=(30, 40))).row(1)
        means.append(row["gain"])
        errors.append(row["gain_se"])
    true = np.sqrt(rows**2 / 30 + columns**2 / 40 + cells**2 / 1200)
    # 200 draws tell an SD to 5 %
    assert np.std(means) == pytest.approx(true, rel=0.15)
    assert np.mean(errors) == pytest.approx(true, rel=0.1)
