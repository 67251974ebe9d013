"""Measures of difficulty side by side, predictions, and agreement of ranks and raters."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import t

import irtkit
from irtkit.difficulty import compare_difficulties, held_out_predictions, spearman_score
from irtkit.difficulty.agreement import fleiss_kappa
from irtkit.difficulty.comparison import (
    measures,
    of_predictions,
    of_ranks,
    orders,
    ranked_systems,
)
from irtkit.difficulty.rank_agreement import levels, rank_agreement, spearman
from irtkit.irf import ItemParameters

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Not unidimensional|Item groups|the ability of the fit)",
    "ignore:(Not unidimensional|Item groups)",
)


# Claims about measures of difficulty side by side, and about systems ranked twice
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
    assert codes(of_ranks(ranked)) == ["same-places"]
    if model == "1PL":
        assert (ranked["rank_by_accuracy"] == ranked["rank_by_ability"]).all()


def test_systems_that_answered_harder_items_pass_those_with_more_right():
    result = unlike_items()
    ranked = ranked_systems(result.respondents, None)
    board = result.leaderboard().loc[ranked.index]
    assert np.allclose(
        ranked[["ability_low", "ability_high"]], board[["ability_low", "ability_high"]]
    )
    by_accuracy = ranked["accuracy"].rank(method="min", ascending=False)
    assert (ranked["rank_by_accuracy"] == by_accuracy).all()
    passed = ranked["passes"] > 0
    assert passed.sum() > 5
    assert set(ranked.index[passed]) <= {f"respondent-{k}" for k in range(1, 11)}
    assert ranked["passes"].sum() == ranked["passed_by"].sum()
    findings = of_ranks(ranked)
    assert codes(findings) == ["places-changed"]
    assert findings[0].values["n"] == ranked["passes"].sum()


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


# Claims about the prediction of responses that models have not seen
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


def test_no_response_takes_part_in_its_own_prediction():
    """Coin flips are not predicted, not even by the respondent who answers like the others."""
    for seed in range(4):
        flips = irtkit.ResponseMatrix(np.random.default_rng(seed).integers(0, 2, (30, 12)))
        table = held_out_predictions(flips, ["2PL"], folds=3)
        assert table.loc["1PL", "log_likelihood"] < -np.log(2) + 0.002
        assert not table.loc["2PL", "gain"] > 2 * table.loc["2PL", "gain_se"]


def test_what_cannot_be_divided_is_refused(responses):
    with pytest.raises(ValueError, match="folds"):
        held_out_predictions(responses, [], folds=1)
    with pytest.raises(ValueError, match="at least two systems"):
        held_out_predictions(irtkit.ResponseMatrix([[1, 0]]), [])
    with pytest.raises(TypeError, match="models must be a list"):
        held_out_predictions(responses, "2PL")


def test_correlations_agree_with_scipy():
    generator = np.random.default_rng(8)
    coarse = generator.integers(0, 6, 80)
    fine = coarse + generator.normal(0, 2, 80)
    found = rank_agreement(levels(coarse), levels(fine))
    assert found.spearman == pytest.approx(stats.spearmanr(coarse, fine).statistic, abs=1e-12)
    assert found.kendall == pytest.approx(stats.kendalltau(coarse, fine).statistic, abs=1e-12)
    assert rank_agreement(levels(coarse), levels(coarse)) == pytest.approx((1, 1, 1, 1))
    rho, _ = spearman_score(coarse, fine)
    assert rho == pytest.approx(stats.spearmanr(coarse, fine).statistic, abs=1e-12)


@pytest.mark.parametrize("values", [([1, 1, 1], [1, 2, 3]), ([1], [2])])
def test_measures_without_order_give_nan_as_correlation(values):
    x, y = map(levels, values)
    assert np.isnan([*rank_agreement(x, y), spearman(x, y)]).all()
    rho, jittered = spearman_score(*values)
    assert np.isnan([rho, *jittered]).all()


# Spearman scores. The draws give the stored values of ρ. Those behind the stored values for filled,
# tied and yes-no predictions are not known.
GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.standard_normal(2000)
PREDICTIONS = LABELS + GENERATOR.standard_normal(2000)
YES_NO = (np.sort(PREDICTIONS)[-135] <= PREDICTIONS).astype(float)


def test_rho_is_the_stored_one(worked_values):
    stored = worked_values["spearman"]
    for name, predictions in {
        "as_they_are": PREDICTIONS,
        "reversed": -3 * PREDICTIONS + 2,
        "exponential": np.exp(PREDICTIONS),
    }.items():
        found, _ = spearman_score(predictions, LABELS, jitter_runs=2)
        assert found == pytest.approx(stored[name], abs=1e-9), name
    known, _ = spearman_score(PREDICTIONS[40:], LABELS[40:], jitter_runs=2)
    assert known == pytest.approx(stored["without_the_first_40"], abs=1e-9)


def test_jitter_is_not_neutral_for_a_coarse_predictor():
    # worked elsewhere: 0.328 becomes 0.137, SD 0.020; the share of yes is not told
    rho, jittered = spearman_score(YES_NO, LABELS)
    assert rho == pytest.approx(0.328, abs=1e-3)
    # both means have a standard error of 0.003, both SDs of 0.002
    assert jittered.mean() == pytest.approx(0.137, abs=0.012)
    assert jittered.std() == pytest.approx(0.020, abs=0.008)
    # the first 2,000 draws of default_rng(0) are the labels: as noise they would order the ties
    assert jittered.max() < 0.25


def test_series_are_matched_by_label_as_text():
    labels = pd.Series([1.0, 2, 3], index=[1, 2, 3])
    turned = pd.Series([30, 20, 10], index=["3", "2", "1"])
    assert spearman_score(turned, labels)[0] == pytest.approx(1)
    assert spearman_score(np.array([3, 2, 1]), labels)[0] == pytest.approx(-1)
    with pytest.raises(ValueError, match="must have the same index"):
        spearman_score(turned[:2], labels)


@pytest.mark.parametrize(
    ("predictions", "labels"),
    [([1, 2, 3], [1, np.nan, 3]), ([1, np.inf, 3], [1, 2, 3]), ([1, 2], [1, 2, 3])],
)
def test_bad_input_is_refused(predictions, labels):
    with pytest.raises(ValueError, match="must be as many finite numbers"):
        spearman_score(predictions, labels)


# Fleiss (1971), table 1: 30 patients diagnosed by 6 psychiatrists each
DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
RATINGS = [np.repeat(np.arange(5), [*map(int, item)]) for item in DIAGNOSES.split()]


def test_kappa_agrees_with_fleiss_1971():
    result = fleiss_kappa(RATINGS)
    assert result.kappa == pytest.approx(0.430, abs=5e-4)
    assert (result.n_items, result.n_raters) == (30, 6)


def test_the_interval_agrees_with_the_r_package_irrcac():
    # fleiss.kappa.dist(distrib.6raters) in irrCAC's vignette: the first 15 patients
    result = fleiss_kappa(RATINGS[:15])
    assert result.kappa == pytest.approx(0.4139265, abs=5e-8)
    half = (result.kappa_high - result.kappa_low) / 2
    assert half / t.ppf(0.975, 14) == pytest.approx(0.08119291, abs=5e-9)
    assert (round(result.kappa_low, 3), round(result.kappa_high, 3)) == (0.240, 0.588)


def test_kappa_of_the_sst_ratings_is_the_published_one(shared_data):
    right = pd.read_csv(shared_data / "lalor2018_sst_human.csv.gz", index_col=0)
    truth = pd.read_csv(shared_data / "lalor2018_sst_human_items.csv", index_col=0)["gold"]
    ratings = right.T.eq(1).eq(truth[right.columns].eq(1), axis=0)  # what each worker answered
    result = fleiss_kappa(ratings)
    assert (result.n_items, result.n_raters) == (131, 999)
    assert round(result.kappa, 4) == 0.5198


def test_extreme_tables_have_what_is_defined():
    full = fleiss_kappa([["a", "a"], ["b", "b"], ["b", "b"]])
    assert (full.kappa, full.kappa_low, full.kappa_high) == (1, 1, 1)
    alike = fleiss_kappa([["yes", "yes"], ["yes", "yes"]])
    assert np.isnan([alike.kappa, alike.kappa_low]).all()
    alone = fleiss_kappa([["yes", "no", "no"]])
    assert alone.kappa == pytest.approx(-0.5)
    assert np.isnan([alone.kappa_low, alone.kappa_high]).all()


@pytest.mark.parametrize("nothing", [None, pd.NA, " "])
def test_a_missing_rating_is_an_error_that_names_the_item(nothing):
    frame = pd.DataFrame({"ann": ["1", 0], "bob": [1.0, nothing]}, index=["q1", "q2"])
    with pytest.raises(ValueError, match=r"ratings lacks a rating of item 'q2'"):
        fleiss_kappa(frame)
    omitted = fleiss_kappa(frame, missing="omit")
    assert (omitted.n_items, omitted.categories) == (1, ("1",))
    with pytest.raises(ValueError, match="ratings needs at least one item with two ratings"):
        fleiss_kappa(frame[["ann"]], missing="omit")


def test_without_statsmodels_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.stats", None)
    with pytest.raises(ImportError, match=r"irtkit\[curves\]"):
        fleiss_kappa(RATINGS)
