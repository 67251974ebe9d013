"""Claims about the prediction of responses that models have not seen."""

import numpy as np
import pytest

import irtkit
from irtkit.difficulty import held_out, held_out_predictions
from irtkit.irf import ItemParameters


@pytest.fixture(scope="module")
def responses():
    """One item in ten has a negative slope."""
    generator = np.random.default_rng(5)
    slope = generator.lognormal(0, 0.3, 100) * np.where(np.arange(100) < 10, -1, 1)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=100))
    return irtkit.simulate_responses(items, generator.normal(size=120), seed=generator)


def test_slopes_below_0_are_what_only_the_2pl_predicts(responses):
    table = held_out_predictions(responses, ["2PL"])
    assert list(table.index) == ["1PL", "2PL"]
    assert table.loc["2PL", "gain"] > 3 * table.loc["2PL", "gain_se"]
    assert table.loc["2PL", "accuracy"] > table.loc["1PL", "accuracy"]
    difference = table.loc["2PL", "log_likelihood"] - table.loc["1PL", "log_likelihood"]
    assert table.loc["2PL", "gain"] == pytest.approx(difference)


@pytest.mark.parametrize("shape", [(100, 60), (30, 50)])
def test_no_model_gains_if_all_slopes_are_equal(shape):
    for seed in range(3):
        generator = np.random.default_rng(seed)
        items = ItemParameters.from_difficulty(np.ones(shape[1]), generator.normal(size=shape[1]))
        made = irtkit.simulate_responses(items, generator.normal(size=shape[0]), seed=generator)
        table = held_out_predictions(made)
        assert not (table["gain_low"] > 0).any()


def test_every_observed_response_is_predicted_once(responses):
    cells = responses.values.copy()
    cells[::3, ::2] = -1
    cells[:, 7], cells[5] = -1, -1
    table = held_out_predictions(irtkit.ResponseMatrix(cells), ["2PL"], folds=3)
    assert (table["n_responses"] == (cells >= 0).sum()).all()


def test_no_response_takes_part_in_its_own_prediction():
    """Coin flips are not predicted, not even by the respondent who answers like the others."""
    for seed in range(4):
        flips = irtkit.ResponseMatrix(np.random.default_rng(seed).integers(0, 2, (30, 12)))
        table = held_out_predictions(flips, ["2PL"], folds=3)
        assert table.loc["1PL", "log_likelihood"] < -np.log(2) + 0.002
        assert not table.loc["2PL", "gain"] > 2 * table.loc["2PL", "gain_se"]


def test_predictions_are_posterior_means_given_the_other_items():
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


def test_synthetic_respondents_are_left_out(responses):
    with_synthetic = irtkit.add_synthetic(responses, ("always-right", "always-wrong"))
    one, other = (held_out_predictions(r, [], folds=2) for r in (responses, with_synthetic))
    np.testing.assert_array_equal(one, other)


def test_what_cannot_be_divided_is_refused(responses):
    with pytest.raises(ValueError, match="folds"):
        held_out_predictions(responses, [], folds=1)
    with pytest.raises(ValueError, match="at least two systems"):
        held_out_predictions(irtkit.ResponseMatrix([[1, 0]]), [])
    with pytest.raises(TypeError, match="models must be a list"):
        held_out_predictions(responses, "2PL")


def test_the_error_of_a_gain_holds_what_respondents_and_items_have_in_common():
    generator = np.random.default_rng(0)
    rows, columns, cells = 0.02, 0.03, 0.05
    means, errors, ones, undecided = [], [], np.ones((30, 40)), np.full((30, 40), -1.0)
    for _ in range(200):
        gain = 0.1 + rows * generator.normal(size=(30, 1)) + columns * generator.normal(size=40)
        gain = gain + cells * generator.normal(size=(30, 40))
        scores = held_out._Scores(gain.shape)
        scores.add(np.arange(30), ones, None, np.exp(gain - 1), undecided)
        row = scores.row(1)
        means.append(row["gain"])
        errors.append(row["gain_se"])
    true = np.sqrt(rows**2 / 30 + columns**2 / 40 + cells**2 / 1200)
    # 200 draws tell an SD to 5 %
    assert np.std(means) == pytest.approx(true, rel=0.15)
    assert np.mean(errors) == pytest.approx(true, rel=0.1)
