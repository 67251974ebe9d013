"""Claims about items that are harder for one group than its ability explains."""

import numpy as np
import pandas as pd
import pytest

import irtkit

N_ITEMS = 30


def drawn(
    n=(400, 400), n_items=N_ITEMS, *, shift=1.0, harder=0.0, which=slice(0, 3), missing=0.0, seed=0
):
    """Two groups one SD apart. Some items are harder for the second, or have another slope."""
    rng = np.random.default_rng(seed)
    second = np.repeat([False, True], n)
    slope, difficulty = rng.lognormal(0, 0.3, n_items), rng.normal(size=n_items).clip(-1, 1)
    ability = rng.normal(size=len(second)) - shift * second
    slope[which], difficulty[which] = 1.0, 0.0
    own_difficulty = difficulty.copy()
    own_difficulty[which] += harder
    items = [
        irtkit.ItemParameters.from_difficulty(*pair)
        for pair in ((slope, difficulty), (slope, own_difficulty))
    ]
    p = np.where(second[:, None], items[1].probability(ability), items[0].probability(ability))
    values = (rng.random(p.shape) < p).astype(np.int8)
    values[rng.random(values.shape) < missing] = -1
    return irtkit.ResponseMatrix(values), ["new" if one else "old" for one in second]


def test_one_item_in_twenty_differs_by_chance_between_groups_one_sd_apart():
    p = []
    for seed in range(5):  # 150 items: the share below 0.05 has a standard error of 1.8 %
        responses, groups = drawn(missing=0.3, seed=seed)
        p.append(irtkit.differential_functioning(responses, groups)["p_value"])
    assert 0.005 < np.mean(np.concatenate(p) < 0.05) < 0.105


@pytest.mark.parametrize("harder", [0.9, -0.9])
def test_planted_items_are_found_with_their_direction(harder):
    responses, groups = drawn((800, 800), shift=0.0, harder=harder, seed=3)
    found = irtkit.differential_functioning(responses, groups, fdr=0.01, reference="old")
    assert set(found["harder_for"][:3]) == {"new" if harder > 0 else "old"}
    assert (found["harder_for"][3:] != "").sum() <= 1
    assert (np.sign(found["log_odds_ratio"][:3]) == -np.sign(harder)).all()
    assert (found["n_reference"] == 800).all()
    assert found.attrs == {"reference": "old", "focal": "new"}


def test_near_copies_are_counted_as_what_they_are():
    p = []
    for seed in range(4):
        responses, groups = drawn((30, 30), 60, shift=0.0, seed=seed)
        copies = np.repeat(responses.values, 5, axis=0)
        flips = np.random.default_rng(seed).random(copies.shape) < 0.05
        crowd = irtkit.ResponseMatrix(np.where(flips, 1 - copies, copies))
        with pytest.warns(UserWarning, match="divided by their design effect"):
            found = irtkit.differential_functioning(crowd, np.repeat(groups, 5))
        p.append(found["p_value"])
    assert np.mean(np.concatenate(p) < 0.05) < 0.1


def test_given_anchors_are_not_tested():
    responses, groups = drawn(harder=1.2, which=slice(0, 15), seed=4)
    anchors = responses.items[20:]
    found = irtkit.differential_functioning(responses, groups, anchors=anchors)
    assert (found.loc[[*anchors], "status"] == "anchor").all()
    assert found.loc[[*anchors], "p_value"].isna().all()
    assert (found["harder_for"][:15] == "new").mean() > 0.8
    assert (found["harder_for"][15:20] != "").sum() <= 1


def test_items_without_variance_lack_a_p_value_and_trials_enter_as_proportions():
    responses, groups = drawn((60, 60), seed=6)
    right = responses.values.astype(int).copy()
    right[:, 5] = 1
    twice = irtkit.ResponseMatrix.from_counts(2 * right, np.full(right.shape, 2))
    found = irtkit.differential_functioning(twice, groups)
    assert found["status"].iloc[5] == "no variance"
    assert np.isnan(found["p_value"].iloc[5])
    once = irtkit.differential_functioning(irtkit.ResponseMatrix(right), groups)
    np.testing.assert_allclose(found["statistic"], once["statistic"], rtol=0.1, atol=0.05)


def test_groups_come_from_a_column_and_a_cut():
    responses, groups = drawn((50, 50))
    dates = ["2023-05-01" if group == "old" else "2024-06-01" for group in groups]
    table = pd.DataFrame({"date": dates, "family": groups}, index=responses.respondents)
    known = responses.with_tables(respondent_table=table)
    by_date = irtkit.differential_functioning(known, "date", cut="2024-01-01")
    by_family = irtkit.differential_functioning(known, "family", reference="old")
    assert by_date.attrs == {"reference": "before 2024-01-01", "focal": "from 2024-01-01 on"}
    np.testing.assert_array_equal(by_date["statistic"], by_family["statistic"])


def test_one_group_is_compared_with_all_others():
    responses, _ = drawn((60, 60))
    groups = ["a"] * 40 + ["b"] * 40 + ["c"] * 39 + [None]
    with pytest.raises(ValueError, match=r"are 3: a, b, c\. Use focal="):
        irtkit.differential_functioning(responses, groups)
    found = irtkit.differential_functioning(responses, groups, focal="b")
    assert found.attrs == {"reference": "all others", "focal": "b"}
    assert found["n_reference"].iloc[0] == 79


@pytest.mark.parametrize(("settings", "rule"), [
    ({"groups": "family"}, "got 'family'"),
    ({"focal": "newer"}, "focal must be one of new, old, got"),
    (
        {"anchors": ["item-1", "item-99", "item-2"]},
        "anchors must be labels of items, and these are not: item-99",
    ),
    ({"anchors": ["item-1"]}, "3 items or more"),
    ({"groups": ["old"] * 115 + ["new"] * 5}, "'new' has 5 respondents with a response"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(settings, rule):
    responses, groups = drawn((60, 60))
    with pytest.raises(ValueError, match=rule):
        irtkit.differential_functioning(responses, **({"groups": groups} | settings))
