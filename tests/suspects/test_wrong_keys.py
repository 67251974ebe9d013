"""Claims about wrong keys: how planted ones are ranked, and what is called."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

import irtkit
from irtkit import ItemParameters, ResponseMatrix
from tests.crowds import fitted_tasks, of_two_tasks

N_PLANTED = 8
pytestmark = pytest.mark.filterwarnings("ignore:(Not unidim|Item groups|Many wrong)")


def crowd(n, n_items, seed):
    """Responses to items of ordinary slopes."""
    generator = np.random.default_rng(seed)
    slopes, difficulties = generator.lognormal(0, 0.4, n_items), generator.normal(0, 1.5, n_items)
    items = ItemParameters.from_difficulty(slopes, difficulties)
    values = irtkit.simulate_responses(items, generator.normal(size=n), seed=seed).values.copy()
    return values, generator


def ranked(values, planted=N_PLANTED):
    """Average precision of the first items of a matrix."""
    result = irtkit.fit(values, standard_errors=False)
    found = irtkit.wrong_keys(result).loc[list(result.item_labels), "log_bayes_factor"]
    return float(average_precision_score(np.arange(len(found)) < planted, found))


@pytest.mark.parametrize(("n", "share", "least"), [(100, 1.0, 0.95), (100, 0.4, 0.8), (30, 1, 0.8)])
def test_planted_wrong_keys_come_first(n, share, least):
    found = []
    for seed in range(3):
        values, generator = crowd(n, 300, seed)
        wrong = 1 - values[:, :N_PLANTED]
        values[:, :N_PLANTED] = wrong * (generator.random(wrong.shape) < share)
        found.append(ranked(values))
    assert np.mean(found) > least


@pytest.mark.parametrize("abilities", ["task", 2])
def test_wrong_keys_are_found_by_the_ability_that_each_item_measures(abilities):
    values = of_two_tasks(150, 60, seed=3)
    chosen = np.random.default_rng(1).random((150, 4)) < 0.4
    values[:, :4] = (1 - values[:, :4]) * chosen
    result = fitted_tasks(values, abilities)
    assert {*irtkit.wrong_keys(result).index[:4]} == {"q0", "q1", "q2", "q3"}
    false = {*irtkit.audit(result).suspects.index} - {"q0", "q1", "q2", "q3"}
    assert len(false) <= 1


def test_nothing_is_called_where_nothing_is_wrong():
    for n in (12, 60, 200):
        found = irtkit.wrong_keys(irtkit.fit(crowd(n, 400, n)[0], standard_errors=False))
        assert (found["p_wrong_key"] > 0.9).sum() <= 1


def test_probabilities_are_shares_of_wrong_keys():
    p_wrong, is_wrong = [], []
    for seed in range(30):  # benchmarks/keys.py has the rates
        generator = np.random.default_rng([2, seed])
        slopes, difficulties = generator.lognormal(0, 0.3, 200), generator.normal(size=200)
        distance = generator.normal(size=60)[:, None] - difficulties
        p = 1 / (1 + np.exp(-slopes * distance))
        n_wrong = 5 * (seed % 2)
        p[:, :n_wrong] = (1 - p[:, :n_wrong]) / 3
        result = irtkit.fit((generator.random(p.shape) < p).astype(int), standard_errors=False)
        p_wrong.append(irtkit.wrong_keys(result)["p_wrong_key"].loc[list(result.item_labels)])
        is_wrong.append(np.arange(200) < n_wrong)
    p, wrong = np.concatenate(p_wrong), np.concatenate(is_wrong)
    unsure, sure = (p > 0.1) & (p < 0.6), p >= 0.6
    assert wrong[unsure].mean() == pytest.approx(p[unsure].mean(), abs=0.2)
    assert wrong[sure].mean() == pytest.approx(p[sure].mean(), abs=0.1)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_families_of_systems_are_no_evidence_of_wrong_keys():
    called = 0
    for seed in range(5):
        parents, generator = crowd(10, 200, seed)
        values = np.repeat(parents, 20, axis=0)
        values = np.where(generator.random(values.shape) < 0.1, 1 - values, values)
        result = irtkit.fit(values, standard_errors=False)
        called += (irtkit.wrong_keys(result)["p_wrong_key"] > 0.9).sum()
    assert called <= 1


def test_missing_cells_are_left_out():
    values, generator = crowd(100, 300, 5)
    values[:, :N_PLANTED] = 1 - values[:, :N_PLANTED]
    values[generator.random(values.shape) < 0.3] = -1
    assert ranked(values) > 0.9


def test_of_few_systems_the_items_to_read_first_hold_half_of_the_wrong_keys():
    digits = irtkit.load_digits_crowd()
    some = digits.predictions.iloc[5::11]
    labels = digits.labels[some.columns].astype(int).to_numpy().copy()
    planted = np.random.default_rng(0).choice(len(labels), 20, replace=False)
    labels[planted] = (labels[planted] + 1) % 10
    responses = ResponseMatrix(some.to_numpy() == labels, some.index, some.columns)
    assert responses.n_respondents == 12
    found = irtkit.audit(irtkit.fit(responses, standard_errors=False), predictions=some)
    first = found.suspects.head(20)
    assert first.index.isin(some.columns[planted]).sum() >= 10


def test_answers_tell_wrong_keys_and_the_right_answer():
    digits = irtkit.load_digits_crowd()
    some = digits.predictions.iloc[:, ::4]
    labels = digits.labels[some.columns].astype(int).to_numpy().copy()
    truth = labels.copy()
    labels[:N_PLANTED] = (labels[:N_PLANTED] + 1) % 10
    responses = ResponseMatrix(some.to_numpy() == labels, some.index, some.columns)
    result = irtkit.fit(responses, standard_errors=False)
    found = irtkit.wrong_keys(result, some)
    assert found.index[:N_PLANTED].isin(some.columns[:N_PLANTED]).mean() > 0.8
    planted = found.loc[some.columns[:N_PLANTED]]
    assert [int(answer) for answer in planted["likely_answer"]] == truth[:N_PLANTED].tolist()
    assert (planted["p_wrong_key"].fillna(1) > 0.9).all()
    pd.testing.assert_frame_equal(
        found,
        irtkit.wrong_keys(
            irtkit.fit(responses.with_tables(predictions=some), standard_errors=False)
        ),
    )


def test_missing_answers_are_none_where_nobody_has_the_key():
    values, generator = crowd(60, 40, 0)
    values[:, 0] = 0
    able = values.mean(axis=1) > np.median(values.mean(axis=1))
    answers = pd.DataFrame(np.where(values == 1, "right", "wrong"))
    answers[0] = np.where(able | (generator.random(60) < 0.2), "A", "B")
    answers.loc[able & (generator.random(60) < 0.7), 0] = None
    responses = ResponseMatrix(values)
    answers.index, answers.columns = list(responses.respondents), list(responses.items)
    found = irtkit.wrong_keys(irtkit.fit(responses, standard_errors=False), answers)
    assert found.index[0] == "item-1"
    assert found["likely_answer"].iloc[0] == "A"
    assert found["p_wrong_key"].iloc[0] > 0.5


def test_more_suspects_than_keys_can_be_wrong_have_no_probability():
    values, _ = crowd(200, 100, 2)
    values[:, :20] = 1 - values[:, :20]
    result = irtkit.fit(values, standard_errors=False)
    with pytest.warns(irtkit.IRTWarning, match="Many wrong keys: .* of the items"):
        found = irtkit.wrong_keys(result)
    assert found["p_wrong_key"].isna().all()
    assert found["log_bayes_factor"].is_monotonic_decreasing
