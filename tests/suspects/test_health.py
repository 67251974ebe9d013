"""Health of a benchmark. `benchmarks/false_findings.py` measures how often findings are true."""

import numpy as np
import pandas as pd
import pytest

import irtkit
from tests.crowds import fitted, fitted_tasks, of_two_tasks, two_abilities


def board(difficulties, n_systems=200):
    items = irtkit.ItemParameters.from_difficulty(np.ones(len(difficulties)), difficulties)
    abilities = np.linspace(-2, 2, n_systems)
    return irtkit.simulate_responses(items, abilities, seed=1).values.copy()


def codes(values):
    return [one.code for one in irtkit.fit(values).health().findings]


def test_an_ordinary_board_has_no_finding():
    found = fitted("ordinary").health()
    assert not found.findings
    assert not len(found.near_duplicates)
    assert list(found.table.index) == ["all"]


@pytest.mark.parametrize(
    ("difficulty", "code"), [(-9.0, "items-at-ceiling"), (9.0, "items-at-floor")]
)
def test_items_that_all_or_none_solve_are_a_finding(difficulty, code):
    assert codes(board([difficulty] * 8 + [0.0] * 32)) == [code]


def test_a_board_that_is_too_easy_for_the_best_is_saturated():
    assert "few-separating" in codes(board([-3.0] * 38 + [2.0] * 2))


def test_copied_items_are_grouped_by_the_first_of_them():
    values = board([0.0] * 40)
    values[:, 7] = values[:, 30] = values[:, 2]
    with pytest.warns(irtkit.IRTWarning, match="Not unidimensional"):
        found = irtkit.fit(values).health()
    assert set(found.items.index[found.items["group"] == "item-3"]) == {
        "item-3",
        "item-8",
        "item-31",
    }
    assert int(found.table.loc["all", "near_duplicates"]) == 2
    assert [one.code for one in found.findings] == ["further-ability", "near-duplicate-items"]
    assert {"item-3", "item-8", "item-31"} <= {*str(found).split()}


def test_missing_responses_do_not_make_items_alike():
    assert not len(fitted("incomplete").health().near_duplicates)


def test_tasks_have_rows_and_findings_name_them():
    responses = irtkit.ResponseMatrix(board([-9.0] * 10 + [0.0] * 40))
    tasks = pd.DataFrame({"task": ["easy"] * 10 + ["hard"] * 40}, responses.items)
    found = irtkit.fit(responses.with_tables(tasks)).health()
    assert list(found.table.index) == ["all", "easy", "hard"]
    assert found.table["ceiling"].tolist() == [10, 10, 0]
    assert found.findings[0].values["tasks"] == ["easy"]


def test_items_to_add_reach_what_they_promise():
    """Of a saturated benchmark: reliability, and errors of the best systems."""
    generator, goals = np.random.default_rng(0), ("reach a reliability of 0.9", "halve the errors")
    ability = generator.normal(size=300)
    easy = irtkit.ItemParameters.from_difficulty(np.ones(100), generator.normal(-3, 0.8, 100))
    answers = irtkit.simulate_responses(easy, ability, seed=1).values
    result = irtkit.fit(answers, "Rasch")
    to_add = result.health().to_add
    fits = []
    for goal in goals:
        n, difficulty = to_add[to_add.index.str.startswith(goal)].iloc[0]
        assert difficulty > 0
        new = irtkit.ItemParameters.from_difficulty(np.ones(int(n)), np.full(int(n), difficulty))
        more = irtkit.simulate_responses(new, ability, seed=2).values
        fits.append(irtkit.fit(np.hstack([answers, more]), "Rasch"))
    reached = np.corrcoef(fits[0].ability, ability)[0, 1] ** 2
    assert reached == pytest.approx(0.9, rel=0.05)
    best = result.best_first[:10]
    errors = [np.sqrt(np.mean(one.posterior_sd[best] ** 2)) for one in (result, fits[1])]
    assert errors[1] / errors[0] == pytest.approx(0.5, rel=0.05)


def test_health_fits_one_screen():
    shown = str(fitted("few").health())
    assert len(shown.splitlines()) <= 24
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("abilities", ["task", 2])
def test_each_of_several_abilities_has_its_items_and_its_reliability(abilities):
    values = of_two_tasks(400, 60, seed=4)
    values[:, :40:2] = 1  # most items of "sums"
    result = fitted_tasks(values, abilities)
    table = result.health().table
    assert table["ceiling"].tolist()[:3] == [20, 20, 0]
    for k in range(2):
        weights = result.own_weights[40 + k]
        true = two_abilities(400, seed=4)[:, k]
        reached = np.corrcoef(result.abilities_along(weights), true)[0, 1] ** 2
        of_items = irtkit.information(result, ability=result.items["ability"].iloc[40 + k])
        assert of_items.empirical_reliability == pytest.approx(reached, abs=0.04)
    alone = irtkit.fit(values[:, 1::2])
    assert table.loc["words", "reliability"] == pytest.approx(alone.reliability, abs=0.02)


@pytest.mark.filterwarnings("ignore:Not unidimensional")
@pytest.mark.parametrize(("correlation", "n_different"), [(1.0, 0), (0.3, 2)])
def test_tasks_that_measure_different_abilities_are_named(correlation, n_different):
    generator = np.random.default_rng(5)
    first, other = generator.normal(size=(2, 100))
    second = correlation * first + np.sqrt(1 - correlation**2) * other
    ability = np.column_stack([np.tile(first, (30, 1)).T, np.tile(second, (30, 1)).T])
    difficulty = generator.normal(size=60) + np.repeat([-1.5, 1.5], 30)
    right = generator.random((100, 60)) < 1 / (1 + np.exp(difficulty - ability))
    responses = irtkit.ResponseMatrix(right)
    tasks = pd.DataFrame({"task": np.repeat(["code", "law"], 30)}, responses.items)
    answers = irtkit.fit(responses.with_tables(tasks)).health().answers
    different = [finding for finding in answers if finding.code == "different-abilities"]
    assert [finding.values["n"] for finding in different] == [2] * (n_different > 0)
    for finding in different:
        assert finding.values["lowest"] == pytest.approx(correlation, abs=0.25)
    assert ("no-second-ability" in [finding.code for finding in answers]) == (not different)


@pytest.mark.filterwarnings("ignore")  # few systems, and copies
@pytest.mark.parametrize(
    ("systems", "n_right", "code"),
    [(1, 30, None), (200, 40, "few-separating"), (200, 39, None)],
    ids=["one", "all right", "copies"],
)
def test_best_systems_with_the_same_answers_are_not_separated(systems, n_right, code):
    values = board(np.linspace(-2, 2, 40))[-systems:]
    values[-12:] = np.arange(40) < n_right
    found = irtkit.fit(values).health()
    assert found.table.loc["all", "separating"] == found.items["separates_best"].sum() == 0
    said = {one.code for one in (*found.findings, *found.answers)}
    assert said & {"separating", "few-separating"} == ({code} if code else set())


def test_no_item_is_to_add_where_those_that_there_are_would_do():
    """The best systems met 5 of 100 items."""
    values = board(np.linspace(-1, 4, 100), 300).astype(float)
    values[-12:] = np.nan
    values[-12:, -5:] = 1
    found = irtkit.fit(values).health()
    assert found.advice == []


def test_few_systems_drop_no_items_and_separate_no_three():
    """Of three systems two are the best. That all three are right says little about an item."""
    p = 1 / (1 + np.exp(np.linspace(-2, 2, 60) - np.array([[-0.5], [0.5], [1.5]])))
    responses = (np.random.default_rng(0).random(p.shape) < p).astype(int)
    found = irtkit.health(irtkit.fit(responses))
    assert "items-to-drop" not in {answer.code for answer in found.answers}
    assert np.isnan(found.differences["the three best"])


def test_the_score_of_the_best_is_that_of_the_leaderboard():
    """Of systems on the items of their time: what the best answered is harder than the rest."""
    generator = np.random.default_rng(0)
    time, of_item = np.sort(generator.random(60)), np.sort(generator.random(100))
    p = 1 / (1 + np.exp(3 * of_item - 3 * time[:, None]))
    answers = np.where(generator.random(p.shape) < p, 1.0, 0.0)
    answers[abs(time[:, None] - of_item) > 0.4] = np.nan
    result = irtkit.fit(answers)
    best = result.leaderboard()["expected_score"].head(10).mean()
    assert irtkit.health(result).table.loc["all", "best_score"] == pytest.approx(best, abs=0.02)
