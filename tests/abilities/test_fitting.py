"""`irtkit.fit` with several abilities: what is chosen, said, shown, stored and refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import FitResult, ResponseMatrix
from tests.abilities.test_engine import drawn

TASK = np.arange(40) % 2
NAMES = np.array(["maths", "law"])[TASK]


def board(seed=1, n=300, correlation=0.4, *, tasks=True):
    cells, theta, _ = drawn(seed, n, TASK, correlation)
    responses = ResponseMatrix(cells.y.astype(np.int8))
    table = pd.DataFrame({"task": NAMES}, index=responses.items)
    return (responses.with_tables(table) if tasks else responses), theta


def fit(responses, abilities, **how):
    return irtkit.fit(responses, abilities=abilities, progress=False, **how)


@pytest.fixture(scope="module")
def by_task():
    return fit(board()[0], "task")


def test_one_ability_is_the_fit_without_the_argument():
    responses = board(n=60)[0]
    one, same = fit(responses, 1), irtkit.fit(responses)
    assert isinstance(one, FitResult)
    assert one.n_abilities == 1
    pd.testing.assert_frame_equal(one.items, same.items, check_exact=True)


def test_tables_have_a_column_for_every_task(by_task):
    assert by_task.ability_names == ("maths", "law")
    items, respondents = by_task.items, by_task.respondents
    assert (items.loc[NAMES == "law", "discrimination_maths"] == 0).all()
    assert items.loc[NAMES == "law", "discrimination_maths_se"].isna().all()
    assert items["intercept_se"].between(0.05, 1).all()
    theta = board()[1]
    for k, name in enumerate(by_task.ability_names):
        z = (respondents[f"ability_{name}"] - theta[:, k]) / respondents[f"ability_{name}_se"]
        assert np.std(z) == pytest.approx(1, abs=0.15)
    pair = by_task.ability_correlations.iloc[0]
    assert pair["low"] < 0.4 < pair["high"]


def test_a_mapping_and_tasks_are_the_same_fit(by_task):
    responses = board(tasks=False)[0]
    result = fit(responses, dict(zip(responses.items, NAMES, strict=True)))
    assert result.log_likelihood == by_task.log_likelihood


def test_the_leaderboard_fills_in_missing_answers():
    responses, _ = board(n=400)
    values = responses.values.copy()
    values[:200, TASK == 0] = -1  # half of the systems did not take one task
    kept = ResponseMatrix(values, responses.respondents, responses.items)
    result = fit(kept.with_tables(responses.item_table), "task", standard_errors=False)
    ranks, truth = result.leaderboard(), responses.values.mean(axis=1)
    assert ranks["rank"].is_monotonic_increasing
    table = ranks.loc[list(responses.respondents)]
    held = (table["expected_score_low"] <= truth) & (truth <= table["expected_score_high"])
    assert held[:200].mean() > 0.9
    assert table["expected_score"][200:].to_numpy() == pytest.approx(truth[200:])
    by = result.leaderboard(by="task").loc[list(responses.respondents)]
    assert by["average"].to_numpy() == pytest.approx(
        by[["score_maths", "score_law"]].mean(axis=1).to_numpy()
    )


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("n", "n_items"), [(100, 100), (60, 300)])
def test_auto_finds_one_ability_in_one_dimensional_data(n, n_items, seed):
    cells, _, _ = drawn(seed, n, np.zeros(n_items, dtype=int), 0)
    result = fit(ResponseMatrix(cells.y.astype(np.int8)), "auto", standard_errors=False)
    assert isinstance(result, FitResult)
    assert result.findings[-1].code == "one-ability"


def test_auto_holds_families_of_near_duplicates_out_together():
    cells, _, _ = drawn(1, 20, np.zeros(100, dtype=int), 0)
    generator = np.random.default_rng(1)
    copies = np.repeat(cells.y, 5, axis=0)
    fresh = drawn(2, 100, np.zeros(100, dtype=int), 0)[0].y
    values = np.where(generator.random(copies.shape) < 0.85, copies, fresh)
    result = fit(ResponseMatrix(values.astype(np.int8)), "auto", standard_errors=False)
    assert isinstance(result, FitResult)


def test_auto_finds_two_abilities_and_prefers_tasks():
    result = fit(board(tasks=False)[0], "auto", standard_errors=False)
    assert (result.structure, result.n_abilities) == ("exploratory", 2)
    assert fit(board()[0], "auto", standard_errors=False).structure == "task"


def test_auto_keeps_to_one_ability_with_few_systems():
    result = fit(board(n=20)[0], "auto", standard_errors=False)
    assert result.n_abilities == 1
    assert "20 systems" in str(result.findings[-1])


def precision(score, planted):
    found = planted[np.argsort(-np.asarray(score), kind="stable")]
    return float((np.cumsum(found) / np.arange(1, len(found) + 1))[found].mean())


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_wrong_keys_in_two_dimensions_are_found():
    task = (np.arange(200) % 10 > 6).astype(int)  # 70:30, uncorrelated
    scores = {1: [], 2: [], "task": []}
    for seed in range(3):
        cells, _, _ = drawn(seed, 100, task, 0)
        planted = np.isin(
            np.arange(200), np.random.default_rng(seed).choice(200, 10, replace=False)
        )
        values = np.where(planted, 1 - cells.y, cells.y).astype(np.int8)
        table = pd.DataFrame({"task": task.astype(str)}, [f"item-{k + 1}" for k in range(200)])
        responses = ResponseMatrix(values)
        for abilities, found in scores.items():
            known = responses.with_tables(table) if abilities == "task" else responses
            result = fit(known, abilities, standard_errors=False)
            found.append(precision(result.items["p_negative"], planted))
    assert np.mean(scores[2]) >= np.mean(scores[1])
    assert np.mean(scores["task"]) > 0.98


def test_a_result_comes_back_from_its_file(by_task, tmp_path):
    by_task.save(tmp_path / "two.npz")
    again = irtkit.load(tmp_path / "two.npz")
    pd.testing.assert_frame_equal(again.items, by_task.items)
    pd.testing.assert_frame_equal(again.leaderboard(), by_task.leaderboard())
    assert str(again) == str(by_task)
    assert "maths" in str(by_task)


def test_probabilities_are_those_of_the_model(by_task):
    items = by_task.items
    z = items["intercept"] + items["discrimination_maths"] - 2 * items["discrimination_law"]
    p = by_task.probability([[1.0, -2.0]]).iloc[0]
    assert p.to_numpy() == pytest.approx(1 / (1 + np.exp(-z.to_numpy())))
    with pytest.raises(ValueError, match="2 for each system"):
        by_task.probability([[1.0]])


def test_constant_items_and_empty_rows_stay_finite():
    values = board(n=60)[0].values.copy()
    values[:, 0], values[:, 1], values[:, 2], values[0] = 1, 0, -1, -1
    result = fit(ResponseMatrix(values), 2)
    assert list(result.items["status"][:4]) == ["no variance", "no variance", "no responses", "ok"]
    assert np.isfinite(result.items["discrimination_1"]).all()
    assert np.isfinite(result.respondents["ability_1_se"]).all()


@pytest.mark.parametrize(("how", "message"), [
    ({"abilities": 0}, "abilities must be"),
    ({"abilities": 2.5}, "abilities must be"),
    ({"abilities": 14}, "abilities must be"),
    ({"abilities": "tasks"}, "did you mean 'task'"),
    ({"abilities": {"item-1": "a"}}, "'item-2' lacks one"),
    ({"abilities": ["a"] * 40}, "name two abilities or more"),
    ({"abilities": "task"}, "a column task"),
    ({"abilities": 2, "model": "3PL"}, "a model other than the 2PL is not for several"),
    ({"abilities": 2, "method": "vi"}, "method= is not for several"),
    ({"abilities": 2, "quadrature": (61, 6.0)}, "quadrature= is not for several"),
])  # fmt: skip
def test_what_is_not_possible_is_refused(how, message):
    with pytest.raises((TypeError, ValueError), match=message):
        irtkit.fit(board(n=40, tasks=False)[0], **how)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_several_abilities_say_of_systems_what_one_ability_says():
    crowd = board(n=20, tasks=False)[0].values
    noise = np.random.default_rng(1).integers(0, 2, (60, 80))
    guessing = np.vstack([board(n=50, tasks=False)[0].values, noise[:20, :40]])
    found = {
        "few-systems": crowd[:5],
        "near-duplicates": np.repeat(crowd, 10, axis=0),
        "no-differences": noise,
        "systems-at-chance": guessing,
    }
    for code, values in found.items():
        responses = ResponseMatrix(values.astype(np.int8))
        if code == "systems-at-chance":
            about = pd.DataFrame({"n_options": 2}, index=list(responses.items))
            responses = responses.with_tables(about)
        of_one, of_two = fit(responses, 1), fit(responses, 2)
        of_systems = [one for one in of_one.findings if one.code in found]
        assert [one.code for one in of_systems] == [code]
        assert [one.code for one in of_two.findings if one.code in found] == [code]
        assert of_two.findings[0].values == of_systems[0].values
    assert fit(board(tasks=False)[0], 2).findings == ()


def test_what_is_not_defined_says_so(by_task):
    with pytest.raises(ValueError, match="families= is not for several abilities"):
        irtkit.audit(by_task, families="similar")
    crowd = irtkit.add_synthetic(board(n=40)[0], ("always-right",))
    with pytest.raises(ValueError, match="synthetic"):
        fit(crowd, 2)


@pytest.mark.parametrize(("seed", "unbounded"), [(4, 0), (0, 0), (37, 1)])
def test_without_a_prior_steep_items_end_at_a_maximum_or_are_called_unbounded(seed, unbounded):
    g = np.random.default_rng(seed)
    theta = g.normal(size=(60, 2))
    slopes = g.lognormal(0, 0.4, (20, 2)) * (g.random((20, 2)) < 0.6)
    logits = theta @ slopes.T + g.normal(size=20)
    y = (g.random((60, 20)) < 1 / (1 + np.exp(-logits))).astype(int)
    with irtkit.fitting.silently():
        result = fit(y, 2, prior=None)
    assert result.own_items.discrimination.max() < 25
    assert result.status.count("unbounded") == unbounded
    codes = [finding.code for finding in result.findings]
    assert codes.count("unbounded-items") == unbounded
    assert result.log_likelihood > fit(y, 2).log_likelihood


def test_several_abilities_are_not_proposed_after_they_were_tried():
    """A weak second ability, which a test sees and held-out answers do not need."""
    generator = np.random.default_rng(1)
    theta, other = generator.normal(size=(2, 60, 1))
    logits = theta - generator.normal(size=150) + 0.5 * other * generator.normal(size=150)
    drawn = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    for abilities, proposes in ((1, True), ("auto", False)):
        with warnings.catch_warnings(action="ignore"):
            result = irtkit.fit(drawn, abilities=abilities, standard_errors=False)
        assert result.n_abilities == 1
        assert (
            any("abilities" in r.settings for f in result.findings for r in f.remedies) == proposes
        )
