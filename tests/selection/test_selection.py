"""Items that are selected, and tests that ask one after another."""

import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import score
from irtkit.selection import Selection
from irtkit.selection.subset import ItemCovariance


# Claims about the items that are selected, and about scores estimated from them
def simulated(n=200, n_items=80, *, second=0.0, seed=0, abilities=None):
    """Responses to items, half of which may ask for another ability as well."""
    generator = np.random.default_rng(seed)
    slopes = np.random.default_rng(99).lognormal(0, 0.3, n_items)
    location = np.random.default_rng(98).normal(size=n_items)
    theta = generator.normal(size=n) if abilities is None else abilities
    other = second * generator.normal(size=n)[:, None] * (np.arange(n_items) % 2)
    p = 1 / (1 + np.exp(-slopes * (theta[:, None] - location) - other))
    return irtkit.ResponseMatrix((generator.random(p.shape) < p).astype(int))


def answers_to(responses, items):
    number = {label: place for place, label in enumerate(responses.items)}
    columns = np.array([number[label] for label in items])
    return responses.part(np.arange(responses.n_respondents), columns)


def quietly(work):
    """Return what a function does, without what is warned of."""
    with warnings.catch_warnings(action="ignore"):
        return work()


@pytest.fixture(scope="module")
def one_ability():
    return irtkit.fit(simulated(), standard_errors=False)


@pytest.fixture(scope="module")
def two_abilities():
    matrix = simulated(second=1.5)
    return quietly(lambda: irtkit.fit(matrix, standard_errors=False))


def test_the_ranking_is_the_greedy_one_of_the_whole_covariance(one_ability):
    covariance = ItemCovariance.of(one_ability)
    factor, noise = (part.astype(np.float64) for part in covariance.factored())
    sigma, n_items = factor @ factor.T + np.diag(noise), len(noise)
    mean = np.full(n_items, 1 / n_items)
    taken = []
    for _ in range(8):
        left = {}
        for j in set(range(n_items)) - set(taken):
            some = [*taken, j]
            with_mean = sigma[some] @ mean
            explained = with_mean @ np.linalg.solve(sigma[np.ix_(some, some)], with_mean)
            left[j] = mean @ sigma @ mean - explained
        taken.append(min(left, key=lambda j: left[j]))
    unflagged = covariance._replace(allowed=np.ones(n_items, dtype=bool))
    assert list(unflagged.ranking(8)) == list(unflagged.ranking(40)[:8]) == taken


def test_suspect_items_are_never_chosen(planted):
    responses, wrong = planted(300, 60, 1, 0.2)
    result = irtkit.fit(responses)
    suspect = set(irtkit.flag_items(result).index)
    chosen = set(irtkit.select_items(result, 40).items)
    assert suspect >= {responses.items[j] for j in np.flatnonzero(wrong)}
    assert not chosen & suspect
    with pytest.raises(ValueError, match=r"k must be at most \d+, the number of items fit to be"):
        irtkit.select_items(result, 60)


@pytest.mark.parametrize("name", ["one_ability", "two_abilities"])
def test_the_expected_error_holds_for_new_respondents(name, request):
    result, second = request.getfixturevalue(name), 1.5 * (name == "two_abilities")
    selection = quietly(lambda: irtkit.select_items(result, 15))
    new = simulated(2000, second=second, seed=7)
    scores = quietly(lambda: score(answers_to(new, selection.items), selection))
    truth = new.values.mean(axis=1)
    error = scores["expected_score"] - truth
    # the error of 200 respondents is known to 5 %, and 180 calibrate nearly as well as 200
    assert selection.expected_error == pytest.approx(np.sqrt(np.mean(error**2)), rel=0.15)
    held = (scores["expected_score_low"] <= truth) & (truth <= scores["expected_score_high"])
    assert 0.93 <= held.mean() <= 0.975


def test_scores_are_estimated_from_the_file_of_a_selection(two_abilities, tmp_path):
    selection = quietly(lambda: irtkit.select_items(two_abilities, 20))
    quietly(lambda: selection.save(tmp_path / "s.npz"))
    for items in (selection.items, selection.items[:10], selection.items[:7]):
        answers = answers_to(simulated(20, second=1.5, seed=3), items)
        wanted, found = (
            quietly(lambda s=given, a=answers: score(a, s))
            for given in (selection, str(tmp_path / "s.npz"))
        )
        pd.testing.assert_frame_equal(found, wanted)
    with pytest.raises(ValueError, match="latent_sd is for a table of items"):
        score(answers, tmp_path / "s.npz", latent_sd=2.0)


@pytest.mark.parametrize("name", ["one_ability", "two_abilities"])
def test_a_list_has_one_score_by_the_fit_and_by_the_selection(name, request):
    result = request.getfixturevalue(name)
    selection = quietly(lambda: irtkit.select_items(result, 15))
    answers = answers_to(simulated(30, second=1.5, seed=3), selection.items)
    wanted, found = (quietly(lambda s=given: score(answers, s)) for given in (selection, result))
    pd.testing.assert_frame_equal(wanted.drop(columns=[]), found.drop(columns="accuracy"))


def test_items_are_selected_from_incomplete_answers(one_ability):
    values = one_ability.responses.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.2] = -1
    selection = irtkit.select_items(irtkit.fit(values, standard_errors=False), 15)
    of_complete = irtkit.select_items(one_ability, 15).expected_error
    assert selection.expected_error == pytest.approx(of_complete, rel=0.2)


def test_removed_items_are_neither_chosen_nor_scored(one_ability, tmp_path):
    first = irtkit.select_items(one_ability, 15)
    removed = [*first.items[:3]]
    selection = irtkit.select_items(one_ability, 15, removed=removed)
    assert {*selection.items}.isdisjoint(removed)
    new = simulated(50, seed=4)
    found = quietly(lambda: score(answers_to(new, selection.items), selection))
    quietly(lambda: selection.save(tmp_path / "s.npz"))
    saved = quietly(lambda: score(answers_to(new, selection.items), tmp_path / "s.npz"))
    pd.testing.assert_frame_equal(saved, found)
    columns = [label not in removed for label in new.items]
    truth = new.values[:, columns].mean(axis=1)
    held = (found["expected_score_low"] <= truth) & (truth <= found["expected_score_high"])
    assert held.mean() > 0.85


def test_bad_arguments_are_refused(one_ability):
    for arguments, message in (
        ({"k": 0}, "k must be a whole number, 1 or more"),
        ({"k": 81}, "k must be at most .*, the number of items fit to be chosen, got 81"),
        ({"k": 5, "families": ["all"] * 200}, "at least two are needed"),
    ):
        with pytest.raises(ValueError, match=message):
            irtkit.select_items(one_ability, **arguments)


# Claims about tests that ask one item after another
ITEMS = irtkit.ItemParameters.from_difficulty(
    np.random.default_rng(1).lognormal(0, 0.3, 80), np.random.default_rng(2).normal(size=80)
)


@pytest.fixture(scope="module")
def result():
    abilities = np.random.default_rng(3).normal(size=250)
    return irtkit.fit(irtkit.simulate_responses(ITEMS, abilities, seed=0), standard_errors=False)


@pytest.fixture(scope="module")
def selection(result):
    return irtkit.select_items(result, 15)


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
    pool = [number[label] for label in irtkit.select_items(result, 30).items]
    test = irtkit.adaptive(selection, order="adaptive")
    generator = np.random.default_rng(0)
    for _ in range(6):
        asked = [number[label] for label in test.asked]
        expected, variance, item = by_hand(result, asked, test.answers, pool)
        assert test.expected_score == pytest.approx(expected, abs=1e-4)
        assert test.error**2 >= variance - 1e-7
        assert number[test.next_item or ""] == item
        test.answer(bool(generator.random() < 0.6))


def test_a_test_ends_after_k_items_of_twice_as_many(selection):
    test = irtkit.adaptive(selection, order="adaptive")
    pool = set(irtkit.select_items(selection.result, 30).items)
    while not test.done:
        test.answer(1)
    assert (len(test.asked), test.next_item) == (15, None)
    assert len(set(test.asked)) == 15
    assert set(test.asked) <= pool
    with pytest.raises(ValueError, match="the test is done"):
        test.answer(1)


def test_a_test_ends_when_the_error_is_small_enough(selection):
    test = irtkit.adaptive(selection, error=0.08, order="adaptive")
    before = test.error
    while not test.done:
        before = test.error
        test.answer(len(test.asked) % 2)
    assert test.error <= 0.08 < before
    low, high = test.interval
    assert low < test.expected_score < high
    assert high - low == pytest.approx(2 * 1.96 * test.error, rel=1e-3)


def test_intervals_hold_and_adaptive_items_err_less(selection):
    abilities = np.random.default_rng(8).normal(size=200)
    new = irtkit.simulate_responses(ITEMS, abilities, seed=9)
    rows = pd.DataFrame(new.values, columns=list(new.items))
    found = {"adaptive": [], "fixed": []}
    for order, errors in found.items():
        for _, answers in rows.iterrows():
            test = irtkit.adaptive(selection, order=order)
            while not test.done:
                test.answer(int(answers[test.next_item]))
            low, high = test.interval
            errors.append((test.expected_score - answers.mean(), low <= answers.mean() <= high))
    error, held = (np.array(found["adaptive"])[:, k] for k in (0, 1))
    assert 0.905 <= held.mean() <= 0.995  # 0.95 ± 3 standard errors
    assert np.std(error) < np.std(np.array(found["fixed"])[:, 0])


def test_what_errs_less_on_held_out_respondents_is_asked(selection, monkeypatch):
    assert irtkit.adaptive(selection).order == "adaptive"
    tried = selection.tried
    assert 0.8 < tried.error / tried.fixed_error < 1
    monkeypatch.setattr(Selection, "tried", tried._replace(fixed_error=0.0))
    selection = irtkit.select_items(selection.result, 15)
    with pytest.warns(UserWarning, match="Fixed order: the first"):
        test = irtkit.adaptive(selection)
    while not test.done:
        test.answer(0)
    assert (test.order, tuple(test.asked)) == ("fixed", selection.items)


def test_bad_arguments_of_adaptive_choice_are_refused(result, selection):
    with pytest.raises(ValueError, match="k must be given"):
        irtkit.adaptive(result)
    with pytest.raises(ValueError, match="k must be the number of items selected, 15, got 3"):
        irtkit.adaptive(selection, 3)
    with pytest.raises(ValueError, match="an answer must be True, False or from 0 to 1"):
        irtkit.adaptive(selection, order="adaptive").answer(1.5)
