"""Claims about pass^k and pass@k."""

from itertools import combinations

import numpy as np
import pytest

import irtkit


def test_published_rates_come_out_of_a_table_and_of_counts(shared_data):
    responses = irtkit.read_responses(
        shared_data / "taubench_gpt4o_airline.csv.gz", repeats="count"
    )
    counts = irtkit.ResponseMatrix.from_counts(responses.successes, responses.trials)
    for given in (responses, counts):
        row = irtkit.pass_k(given).iloc[0]
        found = [round(float(row[f"pass^{k}"]), 3) for k in (1, 2, 3, 4)]
        assert found == [0.420, 0.273, 0.220, 0.200]


def test_the_estimates_agree_with_all_choices_of_k_trials():
    trials = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 1, 0], [1, 1, 1, 1, 1]])
    responses = irtkit.ResponseMatrix.from_counts(trials.sum(axis=1)[None], np.full((1, 3), 5))
    for k in range(1, 6):
        chosen = [[trials[j, list(some)] for some in combinations(range(5), k)] for j in range(3)]
        row = irtkit.pass_k(responses, k).iloc[0]
        every = np.array([np.mean([some.all() for some in item]) for item in chosen])
        one = np.array([np.mean([some.any() for some in item]) for item in chosen])
        for name, values in ((f"pass^{k}", every), (f"pass@{k}", one)):
            assert row[name] == pytest.approx(values.mean())
            squares = max(2 * values.var(ddof=1), (k / 5) ** 2)  # one answer otherwise at least
            assert row[f"{name}_se"] == pytest.approx((squares * 3 / 2) ** 0.5 / 3)


def test_the_error_of_all_right_answers_assumes_one_other_answer():
    responses = irtkit.ResponseMatrix.from_counts([[8] * 20, [1] * 20], [[8] * 20, [1] * 20])
    table = irtkit.pass_k(responses)
    floor = (20 / 19) ** 0.5 / 20
    assert table["pass^1_se"].tolist() == pytest.approx([floor / 8, floor])
    three = irtkit.pass_k(irtkit.ResponseMatrix.from_counts([[8] * 20], [[8] * 20]), 3)
    assert three["pass^3_se"].iloc[0] == pytest.approx(floor * 3 / 8)


def test_items_without_an_answer_do_not_count_and_too_many_trials_are_refused():
    responses = irtkit.ResponseMatrix.from_counts([[2, 0, 1], [0, 0, 0]], [[2, 0, 3], [3, 3, 3]])
    table = irtkit.pass_k(responses)
    assert table["pass^1_items"].tolist() == [2, 3]
    assert table.loc["respondent-1", "pass^1"] == pytest.approx((1 + 1 / 3) / 2)
    with pytest.raises(ValueError, match="k must be at most 3, the most trials of a cell, got 4"):
        irtkit.pass_k(responses, 4)


def test_a_cell_with_fewer_trials_is_left_out_of_larger_k_alone():
    right, trials = np.tile([4, 2, 0, 3], (2, 5)), np.full((2, 20), 4)
    whole = irtkit.pass_k(irtkit.ResponseMatrix.from_counts(right, trials))
    trials[0, 0] = right[0, 0] = 1
    found = irtkit.pass_k(irtkit.ResponseMatrix.from_counts(right, trials))
    assert list(found.columns) == list(whole.columns)
    assert found["pass^4_items"].tolist() == [19, 20]
    kept = irtkit.ResponseMatrix.from_counts(right[:1, 1:], trials[:1, 1:])
    for k in (2, 3, 4):
        for name in (f"pass^{k}", f"pass@{k}", f"pass^{k}_se"):
            assert found[name].iloc[0] == pytest.approx(irtkit.pass_k(kept, k)[name].iloc[0])
            assert found[name].iloc[1] == whole[name].iloc[1]
