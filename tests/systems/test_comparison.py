"""Claims about systems compared."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

import irtkit
from tests.crowds import crowd


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
    assert "5.86 percentage points" in " ".join(str(found).split())


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
    assert "respondent-12 and respondent-1 have 0 items in common" in said
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


def test_items_where_they_differ_most_come_first():
    values = matrix().values.copy()
    values[11] = values[0]
    values[0, 7], values[11, 7] = 1, 0  # the weakest alone gets what a copy gets wrong
    result = irtkit.fit(irtkit.ResponseMatrix(values))
    found = irtkit.compare_systems(result, "respondent-1", "respondent-12")
    assert found.items.index[0] == "item-8"
    assert found.items.loc["item-8", "difference"] == 1
    assert found.items["difference"].abs().sum() == 1


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
