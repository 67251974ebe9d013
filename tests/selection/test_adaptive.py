"""Claims about tests that ask one item after another."""

import numpy as np
import pandas as pd
import pytest

from irtkit import ItemParameters, adaptive, fit, select_items, simulate_responses
from irtkit.selection import Selection

ITEMS = ItemParameters.from_difficulty(
    np.random.default_rng(1).lognormal(0, 0.3, 80), np.random.default_rng(2).normal(size=80)
)


@pytest.fixture(scope="module")
def result():
    abilities = np.random.default_rng(3).normal(size=250)
    return fit(simulate_responses(ITEMS, abilities, seed=0), standard_errors=False)


@pytest.fixture(scope="module")
def selection(result):
    return select_items(result, 15)


def by_hand(result, asked, answers, pool):
    """Score, its variance, and the item that is expected to leave least, on a plain grid."""
    theta = np.linspace(-6, 6, 601)
    p = result.parameters.probability(theta).T

    def known(asked, answers):
        weight = np.exp(-0.5 * theta**2)
        for item, answer in zip(asked, answers, strict=True):
            weight = weight * (p[item] if answer else 1 - p[item])
        rest = [j for j in range(len(p)) if j not in asked]
        mass = weight / weight.sum()
        mean, noise = p[rest].sum(axis=0), (p[rest] * (1 - p[rest])).sum(axis=0)
        expected = mass @ mean
        variance = mass @ ((mean - expected) ** 2 + noise)
        return sum(answers) + expected, variance, weight.sum()

    score, variance, mass = known(asked, answers)
    left = {}
    for item in pool:
        if item not in asked:
            parts = [known([*asked, item], [*answers, y]) for y in (0, 1)]
            left[item] = sum(part[1] * part[2] for part in parts) / mass
    return score / len(p), variance / len(p) ** 2, min(left, key=lambda item: left[item])


def test_each_item_is_the_one_that_leaves_least(result, selection):
    number = {label: k for k, label in enumerate(result.item_labels)}
    pool = [number[label] for label in select_items(result, 30).items]
    test = adaptive(selection, order="adaptive")
    generator = np.random.default_rng(0)
    for _ in range(6):
        asked = [number[label] for label in test.asked]
        expected, variance, item = by_hand(result, asked, test.answers, pool)
        assert test.expected_score == pytest.approx(expected, abs=1e-4)
        assert test.error**2 >= variance - 1e-7
        assert number[test.next_item or ""] == item
        test.answer(bool(generator.random() < 0.6))


def test_a_test_ends_after_k_items_of_twice_as_many(selection):
    test = adaptive(selection, order="adaptive")
    pool = set(select_items(selection.result, 30).items)
    while not test.done:
        test.answer(1)
    assert (len(test.asked), test.next_item) == (15, None)
    assert len(set(test.asked)) == 15
    assert set(test.asked) <= pool
    with pytest.raises(ValueError, match="the test is done"):
        test.answer(1)


def test_a_test_ends_when_the_error_is_small_enough(selection):
    test = adaptive(selection, error=0.08, order="adaptive")
    before = test.error
    while not test.done:
        before = test.error
        test.answer(len(test.asked) % 2)
    assert test.error <= 0.08 < before
    low, high = test.interval
    assert low < test.expected_score < high
    assert high - low == pytest.approx(2 * 1.96 * test.error, rel=1e-3)


def test_intervals_hold_and_adaptive_items_err_less(selection):
    abilities = np.random.default_rng(8).normal(size=400)
    new = simulate_responses(ITEMS, abilities, seed=9)
    rows = pd.DataFrame(new.values, columns=list(new.items))
    found = {"adaptive": [], "fixed": []}
    for order, errors in found.items():
        for _, answers in rows.iterrows():
            test = adaptive(selection, order=order)
            while not test.done:
                test.answer(int(answers[test.next_item]))
            low, high = test.interval
            errors.append((test.expected_score - answers.mean(), low <= answers.mean() <= high))
    error, held = (np.array(found["adaptive"])[:, k] for k in (0, 1))
    assert 0.92 <= held.mean() <= 0.98  # 0.95 ± 3 standard errors
    assert np.std(error) < np.std(np.array(found["fixed"])[:, 0])


def test_what_errs_less_on_held_out_respondents_is_asked(selection, monkeypatch):
    assert adaptive(selection).order == "adaptive"
    tried = selection.tried
    assert 0.8 < tried.error / tried.fixed_error < 1
    monkeypatch.setattr(Selection, "tried", tried._replace(fixed_error=0.0))
    selection = select_items(selection.result, 15)
    with pytest.warns(UserWarning, match="Fixed order: the first"):
        test = adaptive(selection)
    while not test.done:
        test.answer(0)
    assert (test.order, tuple(test.asked)) == ("fixed", selection.items)


def test_bad_arguments_are_refused(result, selection):
    with pytest.raises(ValueError, match="k must be given"):
        adaptive(result)
    with pytest.raises(ValueError, match="k must be the number of items selected, 15, got 3"):
        adaptive(selection, 3)
    with pytest.raises(ValueError, match="an answer must be True or False"):
        adaptive(selection, order="adaptive").answer(0.5)
