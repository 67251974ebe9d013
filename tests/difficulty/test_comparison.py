"""Claims about measures of difficulty side by side, and about systems ranked twice."""

import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.data.near_duplicates import NearDuplicates
from irtkit.difficulty import compare_difficulties
from irtkit.difficulty.comparison import (
    errors_needed,
    measures,
    of_predictions,
    of_ranks,
    orders,
    ranked_systems,
)
from irtkit.irf import ItemParameters

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Not unidimensional|Item groups|the ability of the fit)"
)


def table(slope, difficulty, **more):
    """Items whose average error is what the model expects."""
    parameters = ItemParameters.from_difficulty(slope, difficulty, np.zeros_like(slope))
    columns = {
        "discrimination": slope,
        "difficulty": difficulty,
        "average_error": parameters.expected_error(),
        "expected_error": parameters.expected_error(),
        "n_responses": 100,
        "status": "ok",
    }
    names = [f"q{k}" for k in range(1, len(difficulty) + 1)]
    return pd.DataFrame(columns | more, index=pd.Index(names, name="item"))


EQUAL = table(np.ones(20), np.linspace(-2, 2, 20))


def codes(findings):
    return [one.code for one in findings]


def simulated(slope, n, model="2PL", seed=0):
    generator = np.random.default_rng(seed)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=len(slope)))
    made = irtkit.simulate_responses(items, generator.normal(size=n), seed=generator)
    return irtkit.fit(made, model)


def test_equal_slopes_change_no_order():
    pairs, findings = orders(measures(EQUAL)[0])
    np.testing.assert_allclose(pairs[["spearman", "spearman_low", "spearman_high", "kendall"]], 1)
    assert codes(findings) == ["same-order"] * 2
    moved = EQUAL.assign(difficulty=EQUAL["difficulty"].mask(EQUAL.index == "q5", np.inf))
    findings = orders(measures(moved)[0])[1]
    assert codes(findings) == ["same-order", "order-changed"]
    assert (findings[1].values["moved"], findings[1].values["items"]) == (1, ["q5"])


def test_items_without_a_value_are_left_out_of_a_pair_and_counted():
    slopes = np.where(np.arange(20) < 3, -1.0, 1.0)
    items = table(slopes, np.linspace(-2, 2, 20), status=["ok"] * 19 + ["flat"])
    items.loc["q7", ["n_responses", "average_error"]] = 0, np.nan
    compared, findings = measures(items)
    none = [True] * 3 + [False] * 3 + [True] + [False] * 12 + [True]
    assert compared["difficulty"].isna().tolist() == none
    assert compared.loc["q7"].isna().all()
    assert [one.values for one in findings] == [{"n": 4, "of": 20}]
    pairs = orders(compared)[0].set_index(["measure_1", "measure_2"])
    row = pairs.loc[("average_error", "difficulty")]
    assert (row["n_items"], row["n_left_out"]) == (15, 5)


def test_a_quality_standard_is_a_measure_unless_it_has_the_order_of_average_error():
    costs = np.random.default_rng(3).random(20)
    compared, findings = measures(EQUAL.assign(quality_standard=costs))
    assert (len(orders(compared)[0]), findings) == (6, [])
    same, findings = measures(EQUAL.assign(quality_standard=3 * EQUAL["average_error"] + 1))
    assert "quality_standard" not in same
    assert codes(findings) == ["same-quality"]


def test_the_quality_standard_of_a_fit_is_compared(tmp_path):
    result = simulated(np.ones(12), 40)
    costs = pd.DataFrame({"item": result.item_labels, "cost": np.arange(12.0) % 5, "age": 7})
    costs = costs.assign(respondent=result.respondent_labels[0]).drop(index=3)
    fitted = result.with_quality_standard(costs, [])
    fitted.save(tmp_path / "r.npz", include_responses=False)
    for one in (fitted, irtkit.load(tmp_path / "r.npz")):
        compared = compare_difficulties(one, folds=0)
        found = compared.table["quality_standard"]
        pd.testing.assert_series_equal(found, one.items["quality_standard"])
        (finding,) = [of for of in compared.findings if of.code == "quality-standard"]
        assert finding.values == {"higher": [], "lower": ["cost"], "constant": ["age"], "n": 1}


def test_a_fit_is_compared_on_responses_it_has_not_seen():
    result = simulated(np.where(np.arange(60) < 6, -1.0, 1.0), 150)
    compared = compare_difficulties(result, folds=3)
    assert compared.held_out is not None
    assert list(compared.held_out.index) == ["1PL", "2PL", "3PL"]
    assert "predicts-better" in codes(compared.findings)
    assert max(map(len, str(compared).splitlines())) <= 80


def predictions(**gains):
    rows = {"1PL": (0.0, 0.0, 0.0), **gains}
    found = pd.DataFrame.from_dict(rows, orient="index", columns=["gain", "gain_low", "gain_high"])
    return found.assign(accuracy=0.7)


def test_the_best_model_with_a_significant_gain_is_named():
    surely = predictions(**{"2PL": (0.09, -0.01, 0.2), "3PL": (0.05, 0.03, 0.07)})
    (finding,) = of_predictions(surely)
    assert (finding.code, finding.values["model"]) == ("predicts-better", "3PL")
    assert codes(of_predictions(predictions(**{"2PL": (0.1, -0.1, 0.3)}))) == ["predicts-alike"]
    assert codes(of_predictions(predictions(**{"2PL": (-0.2, -0.3, -0.1)}))) == ["predicts-worse"]
    assert of_predictions(predictions(**{"2PL": (0.1, np.nan, np.nan)})) == []


def test_nothing_is_predicted_without_differences():
    with warnings.catch_warnings(action="ignore"):
        compared = compare_difficulties(irtkit.fit(np.ones((20, 15), int)))
    assert compared.held_out is None
    assert "nothing-predicted" in codes(compared.findings)


def test_findings_of_the_fit_limit_the_comparison():
    values = np.full((20, 20), -1)
    values[:10, :10] = values[10:, 10:] = np.random.default_rng(0).integers(0, 2, (10, 10))
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(values)
    compared = compare_difficulties(result, folds=0)
    assert compared.systems is None
    assert "not-ranked" in codes(compared.findings)
    assert all(one in compared.findings for one in result.findings)


# Systems


def unlike_items():
    """Better systems that answered harder items, except for some that all answered."""
    generator = np.random.default_rng(4)
    difficulty = np.concatenate([np.zeros(60), np.full(100, 2.5), np.full(100, -2.5)])
    items = ItemParameters.from_difficulty(np.ones(260), difficulty)
    abilities = np.repeat([1.0, -1.0], 10)
    values = irtkit.simulate_responses(items, abilities, seed=generator).values.copy()
    values[:10, 160:] = values[10:, 60:160] = -1
    return irtkit.fit(irtkit.ResponseMatrix(values), "1PL")


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_equal_slopes_move_no_system(model):
    ranked = ranked_systems(simulated(np.ones(60), 30, model).respondents, None)
    assert not ranked[["passes", "passed_by"]].any(axis=None)
    assert codes(of_ranks(ranked, 60)) == ["same-places"]
    if model == "1PL":
        assert (ranked["rank_by_accuracy"] == ranked["rank_by_ability"]).all()


def test_systems_that_answered_harder_items_pass_those_with_more_right():
    ranked = ranked_systems(unlike_items().respondents, None)
    passed = ranked["passes"] > 0
    assert passed.sum() > 5
    assert set(ranked.index[passed]) <= {f"respondent-{k}" for k in range(1, 11)}
    assert ranked["passes"].sum() == ranked["passed_by"].sum()
    findings = of_ranks(ranked, 260)
    assert codes(findings) == ["places-changed", "item-errors-ignored"]
    assert findings[0].values["n"] == ranked["passes"].sum()


def test_only_differences_beyond_error_count():
    respondents = pd.DataFrame(
        {
            "ability": [0.0, 1.0, 0.0, 1.0],
            "posterior_sd": [0.3, 0.2, 0.1, 0.1],
            "accuracy": [0.6, 0.5, 0.6, 0.6],
            "n_responses": 100,
            "synthetic": False,
        },
        index=pd.Index(list("abcd"), name="respondent"),
    )
    ranked = ranked_systems(respondents, None).loc[list("abcd")]
    # b is 2.77 errors above a, 4.47 above c; d has no fewer right than they
    assert ranked["passes"].tolist() == [0, 2, 0, 0]
    assert ranked["passed_by"].tolist() == [1, 0, 1, 0]
    assert ranked["rank_by_accuracy"].tolist() == [2, 4, 2, 2]
    assert ranked["rank_by_ability"].tolist() == [3.5, 1.5, 3.5, 1.5]
    wider = ranked_systems(respondents.assign(posterior_sd=[0.35, 0.2, 0.1, 0.1]), None)
    assert wider.loc["b", "passes"] == 1


def test_few_independent_systems_need_larger_differences():
    for n, effective, needed in ((1000, 1000, 2.58), (8, 8, 3.50), (40, 10, 2 * 3.25)):
        found = errors_needed(NearDuplicates(n, effective, 1.0, np.arange(0)))
        assert found == pytest.approx(needed, abs=0.01)  # Student's t of one system fewer


def test_near_duplicates_move_no_system_and_their_part_in_a_gain_is_named():
    generator = np.random.default_rng(10)
    items = ItemParameters.from_difficulty(np.ones(300), generator.normal(size=300))
    parents = irtkit.simulate_responses(items, generator.normal(size=5), seed=generator).values
    answers = np.repeat(parents, 10, axis=0)
    flipped = generator.random(answers.shape) < 0.02
    result = irtkit.fit(irtkit.ResponseMatrix(np.where(flipped, 1 - answers, answers)), "2PL")
    assert ranked_systems(result.respondents, None)["passes"].any()  # as if independent
    assert not ranked_systems(result.respondents, result.near_duplicates)["passes"].any()
    (finding,) = of_predictions(predictions(**{"2PL": (0.1, 0.05, 0.2)}), result.near_duplicates)
    assert finding.values["n"] == 50
