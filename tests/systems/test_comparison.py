"""Systems compared: pairs, means over items, and repeated trials."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, t, ttest_rel

import irtkit
from irtkit.systems.paired import (
    items_needed,
    mean_of,
    power_of,
    t_distribution,
    wilson_interval,
)
from tests.crowds import crowd


# Claims about systems compared
def matrix(*, missing=0.0):
    """Twelve systems, from the weakest to the best."""
    items = crowd("few").items.chosen(slice(150))
    return irtkit.simulate_responses(items, np.linspace(-1, 1, 12), missing=missing, seed=0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_published_comparison_comes_out_to_the_digit(shared_data):
    responses = irtkit.read_responses(shared_data / "gpqa_pair.csv.gz", repeats="count")
    nano, mini = sorted(responses.respondents)
    found = irtkit.compare_systems(irtkit.fit(responses), nano, mini)
    points = [round(100 * each, 2) for each in (found.difference, found.low, found.high)]
    assert points == [5.86, 0.38, 11.34]
    assert round(found.p_value, 4) == 0.0363
    assert found.p_better == pytest.approx(1 - found.p_value / 2)  # two systems teach no prior


def test_a_pair_is_the_paired_t_test():
    responses = matrix()
    found = irtkit.compare_systems(irtkit.fit(responses), "respondent-9", "respondent-5")
    test = ttest_rel(responses.values[8], responses.values[4])
    assert found.p_value == pytest.approx(test.pvalue)
    interval = test.confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert found.power(found.items_needed) == pytest.approx(0.8, abs=0.02)
    turned = irtkit.compare_systems(irtkit.fit(responses), "respondent-5", "respondent-9")
    assert turned.difference == -found.difference
    assert turned.p_better == pytest.approx(1 - found.p_better)
    assert str(turned).splitlines()[:3] == str(found).splitlines()[:3]


@pytest.mark.parametrize(("missing", "clustered"), [(0.0, True), (0.5, False), (0.5, True)])
def test_all_pairs_are_each_pair_by_itself(missing, clustered):
    responses = matrix(missing=missing)
    result = irtkit.fit(responses)
    names = [f"c{k % 40}" for k in range(150)] if clustered else None
    clusters = None if names is None else dict(zip(responses.items, names, strict=True))
    table = irtkit.compare_systems(result, clusters=clusters)
    assert len(table) == 66
    assert (table["score_difference"] >= 0).all()
    for row in table.iloc[::7].itertuples():
        one = irtkit.compare_systems(result, row.system, row.other, clusters=clusters)
        for name in (
            *("n_items", "difference", "se", "low", "high", "p_value", "p_better"),
            *("score_difference", "score_low", "score_high", "items_needed"),
        ):
            assert getattr(one, name) == pytest.approx(getattr(row, name), rel=1e-9), name


@pytest.mark.filterwarnings("ignore::UserWarning")  # that trials repeat each other
def test_pairs_of_repeated_trials_are_as_unsure_as_one_answer_of_theirs():
    values = matrix().values[:6, :50].astype(int)
    values[1], values[3] = values[0], values[2]
    trials = np.repeat([4, 4, 1, 1, 4, 1], 50).reshape(6, 50)
    result = irtkit.fit(irtkit.ResponseMatrix.from_counts(values * trials, trials))
    table = irtkit.compare_systems(result).set_index(["system", "other"])
    for one, other, step in (("1", "2", 0.25), ("3", "4", 1.0)):
        pair = irtkit.compare_systems(result, f"respondent-{one}", f"respondent-{other}")
        assert pair.se == pytest.approx(step * (50 / 49) ** 0.5 / 50)
        key = (pair.system, pair.other)
        row = table.loc[key if key in table.index else key[::-1]]
        assert row["se"] == pytest.approx(pair.se)


def test_systems_without_an_item_in_common_are_compared_by_the_model():
    values = matrix().values.astype(float)
    values[11, :75] = np.nan
    values[0, 75:] = np.nan
    result = irtkit.fit(irtkit.ResponseMatrix(values))
    found = irtkit.compare_systems(result, "respondent-12", "respondent-1")
    assert found.n_items == 0
    assert np.isnan([found.difference, found.p_value, found.low, found.se]).all()
    assert found.p_better > 0.99
    assert found.score_low > 0
    said = " ".join(str(found).split())
    assert "respondent-12 is ahead of respondent-1: " in said
    row = irtkit.compare_systems(result).query("n_items == 0")
    assert row["difference"].isna().all()
    assert row["different"].all()


def test_one_cluster_or_item_gives_neither_an_error_nor_impossible_bounds():
    values = matrix().values.astype(float)
    result = irtkit.fit(irtkit.ResponseMatrix(values))
    one = dict.fromkeys(result.item_labels, "all")
    found = irtkit.compare_systems(result, "respondent-1", "respondent-12", clusters=one)
    assert "have one cluster of 150 items in common" in " ".join(str(found).split())
    assert "P(" not in str(found)
    assert (found.low, found.high, found.score_low, found.score_high) == (-1, 1, -1, 1)
    table = irtkit.compare_systems(result, clusters=one)
    assert (table[["low", "high"]] == [-1, 1]).all(axis=None)
    values[1, 1:] = np.nan
    few = irtkit.fit(irtkit.ResponseMatrix(values))
    pair = irtkit.compare_systems(few, "respondent-1", "respondent-2")
    assert "have 1 item in common" in str(pair)


def test_copies_are_tied_whatever_they_answered():
    values = matrix().values.copy()
    values[1] = values[0]
    table = irtkit.compare_systems(irtkit.fit(irtkit.ResponseMatrix(values)))
    pair = {"respondent-1", "respondent-2"}
    row = table[table["system"].isin(pair) & table["other"].isin(pair)].iloc[0]
    assert (row["difference"], row["p_value"], row["p_better"]) == (0, 1, 0.5)
    assert row["se"] > 0
    assert not row["different"]


def test_what_cannot_be_compared_is_refused():
    result = irtkit.fit(irtkit.add_synthetic(matrix(), ("always-right",)))
    for other, said in (
        (None, "both be given"),
        ("respondent-99", "'respondent-99' is no system of the result"),
        ("respondent-1", "occurs twice"),
        ("always-right", "synthetic"),
    ):
        with pytest.raises(ValueError, match=said):
            irtkit.compare_systems(result, "respondent-1", other)


def test_a_table_of_some_systems_is_part_of_the_table_of_all():
    result = irtkit.fit(matrix(missing=0.3))
    names = ["respondent-3", "respondent-11", "respondent-7"]
    some, pairs = irtkit.compare_systems(result, systems=names), irtkit.compare_systems(result)
    rows = pairs[pairs["system"].isin(names) & pairs["other"].isin(names)]
    pd.testing.assert_frame_equal(some, rows.reset_index(drop=True), rtol=1e-9)


# Claims about means over items, and their errors
def test_the_error_of_a_mean_is_the_textbook_one():
    values = np.random.default_rng(0).normal(size=50)
    found = mean_of(values)
    assert found.se == pytest.approx(values.std(ddof=1) / 50**0.5)
    assert found.df == 49
    assert mean_of(np.zeros(20)).p_value == 1
    assert mean_of(np.zeros(20)).se == pytest.approx((20 / 19) ** 0.5 / 20)  # some error is left


@pytest.mark.parametrize("df", [1, 20, 50, 51, 300, 5000])
def test_probabilities_of_students_t_are_those_of_scipy(df):
    deviates = np.append(np.linspace(-30, 30, 1001), [-np.inf, np.inf])
    expected = t.cdf(deviates, df)
    assert t_distribution(df, deviates) == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_the_interval_of_a_share_is_wilsons():
    for right, n in ((130, 200), (0, 7), (7, 7)):
        theirs = binomtest(right, n).proportion_ci(method="wilson")
        ours = wilson_interval(right / n, n)
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_items_needed_have_the_stated_power():
    n = items_needed(0.5, 0.03, tail_probability=0.025, clusters_per_item=1.0)
    found = power_of(n, 0.03, 0.5, level=0.95, clusters_per_item=1)
    assert found == pytest.approx(0.8, abs=0.002)
    assert np.isinf(items_needed(0.5, 0.0, tail_probability=0.025, clusters_per_item=1.0))
    # a difference that few items tell, and items that are five to a cluster
    for difference, each in ((0.3, 1.0), (0.5, 1.0), (0.5, 0.2), (0.03, 0.2)):
        n = items_needed(0.5, difference, tail_probability=0.025, clusters_per_item=each)
        powers = [
            power_of(k, difference, 0.5, level=0.95, clusters_per_item=each) for k in (n, n - 1)
        ]
        assert powers[0] == pytest.approx(0.8, abs=0.05)
        assert powers[1] < powers[0]


# Claims about pass^k and pass@k
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


@pytest.mark.filterwarnings("ignore")  # few links
def test_pairs_without_common_items_show_the_score_that_p_is_about():
    values = matrix().values.astype(float)
    values[11, :75] = np.nan
    values[10, 75:] = np.nan
    values[9, 1:] = np.nan
    result = irtkit.fit(values)
    pairs = irtkit.compare_systems(result)
    table = pairs.shown().further[0].table
    first = pairs.drop_duplicates("system").set_index("system").loc[table.index]
    assert (first["n_items"] == 0).any()
    assert list(table["points"]) == [f"{100 * x:z.2f}" for x in first["score_difference"]]
    assert not any("nan" in text for text in table["from…to"])
    assert not any(table["more_items"][first["n_items"] == 0])
    apart = str(irtkit.compare_systems(result, "respondent-12", "respondent-11"))
    single = " ".join(str(irtkit.compare_systems(result, "respondent-12", "respondent-10")).split())
    assert "p-values" not in apart + single
    assert "-100.00 to 100.00" not in apart + single
    assert "without a standard error" in single
