"""Models compared, items that favour a group, and what a test tells of ability."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import irtkit

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")


# Likelihood ratio tests against R's mirt, theory, simulated data, and fits that do not match
MIRT_GRID = (61, 6.0)


def drawn(slopes, n_respondents, seed):
    generator = np.random.default_rng(seed)
    items = irtkit.ItemParameters.from_difficulty(slopes, np.linspace(-1, 1, len(slopes)))
    return irtkit.simulate_responses(items, generator.normal(size=n_respondents), seed=generator)


def pair(responses, smaller="1PL", larger="2PL", **settings):
    given = {"prior": None, **settings}
    return irtkit.fit(responses, smaller, **given), irtkit.fit(responses, larger, **given)


@pytest.fixture(scope="module")
def responses():
    return drawn(np.array([0.5, 0.7, 1.0, 1.4, 2.0]), 400, seed=0)


@pytest.fixture(scope="module")
def fits(responses):
    return pair(responses)


@pytest.mark.parametrize("smaller", ["Rasch", "1PL"])
@pytest.mark.parametrize("name", ["lsat6", "lsat7"])
def test_the_statistic_agrees_with_mirt(classical_test, name, smaller):
    matrix, models = classical_test(name)
    test = irtkit.likelihood_ratio_test(*pair(matrix, smaller, quadrature=MIRT_GRID))
    expected = 2 * (models["2PL"]["logLik"] - models[smaller]["logLik"])
    assert test.statistic == pytest.approx(expected, abs=0.01)
    assert test.degrees_of_freedom == 4
    assert test.p_value == pytest.approx(chi2.sf(expected, 4), abs=1e-4)
    for criterion in ("AIC", "BIC"):
        difference = models["2PL"][criterion] - models[smaller][criterion]
        assert getattr(test, f"{criterion.lower()}_difference") == pytest.approx(
            difference, abs=0.01
        )


def test_copies_of_respondents_do_not_reject_equal_slopes():
    values = drawn(np.ones(30), 60, seed=0).values
    families = np.repeat(values, 4, axis=0)
    smaller, larger = pair(irtkit.ResponseMatrix(families), standard_errors=False)
    test = irtkit.likelihood_ratio_test(smaller, larger)
    difference = 2 * (larger.log_likelihood - smaller.log_likelihood)
    assert chi2.sf(difference, 29) < 1e-6
    assert test.p_value > 0.05
    assert 0.2 < larger.evidence < 0.3
    assert test.statistic == pytest.approx(larger.evidence * difference)
    assert test.findings[0].code == "weighted-evidence"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_makes_a_p_value_inexact_is_a_finding(fits):
    one, other = fits
    coarse = replace(other.quadrature, estimated_error=20.0)
    flat = ("ok", "no variance", *other.status[2:])
    guessed = replace(other, model="3PL", n_parameters=3 * len(other.item_labels))
    for code, smaller, larger in (
        ("coarse-integration", one, replace(other, quadrature=coarse)),
        ("lower-likelihood", one, replace(other, log_likelihood=one.log_likelihood - 0.5)),
        ("guessing-at-edge", other, guessed),
        ("few-finite-items", one, replace(other, status=flat)),
        ("few-for-parameters", one, replace(other, n_parameters=401)),
    ):
        test = irtkit.likelihood_ratio_test(smaller, larger)
        assert [finding.code for finding in test.findings] == [code]
        assert 0 <= test.p_value <= 1


def test_a_prior_is_warned_of_and_rounding_is_not(responses, fits):
    with pytest.warns(UserWarning, match="the 2PL had a prior"):
        irtkit.likelihood_ratio_test(fits[0], irtkit.fit(responses, "2PL"))
    near = replace(fits[1], log_likelihood=fits[0].log_likelihood - 1e-7)
    assert irtkit.likelihood_ratio_test(fits[0], near).statistic == 0


def test_one_ability_is_tested_against_tasks_and_tasks_against_free_ones():
    """The 5 % test calls 1 of 60 boards with one ability, and 6 of 60 with one for each task."""
    generator = np.random.default_rng(2)
    task = np.arange(12) % 2
    ability = generator.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 400)[:, task]
    right = generator.random(ability.shape) < 1 / (1 + np.exp(-1.3 * ability))
    items = [f"q{k}" for k in range(12)]
    table = pd.DataFrame({"task": np.array(["sums", "words"])[task]}, items)
    data = irtkit.ResponseMatrix(right.astype(int), items=items).with_tables(table)
    one, tasks, free = (
        irtkit.fit(data, abilities=abilities, prior=None, standard_errors=False)
        for abilities in (1, "task", 2)
    )
    test = irtkit.likelihood_ratio_test(one, tasks)
    assert (test.degrees_of_freedom, test.larger) == (1, "2PL, 2 abilities by task")
    assert test.p_value < 1e-10
    assert [finding.code for finding in test.findings] == ["correlations-at-edge"]
    test = irtkit.likelihood_ratio_test(tasks, free)
    assert test.degrees_of_freedom == 12 - 1 - 1
    assert test.p_value > 0.05
    with pytest.raises(ValueError, match="must be nested models"):
        irtkit.likelihood_ratio_test(one, free)


@pytest.mark.parametrize(("smaller", "larger"), [("Rasch", "1PL"), ("2PL", "2PL"), ("2PL", "1PL")])
def test_only_nested_models_in_their_order_are_compared(fits, smaller, larger):
    made = {"Rasch": replace(fits[0], model="Rasch"), "1PL": fits[0], "2PL": fits[1]}
    with pytest.raises(ValueError, match="must be nested models"):
        irtkit.likelihood_ratio_test(made[smaller], made[larger])


def test_fits_of_different_responses_are_refused(responses, fits):
    values = responses.values.copy()
    i = int(np.flatnonzero((values[:, 0] == 1) & (values[:, 1] == 0))[0])
    j = int(np.flatnonzero((values[:, 0] == 0) & (values[:, 1] == 1))[0])
    values[[i, j], :2] = values[[j, i], :2]  # a square 1 0 / 0 1 becomes 0 1 / 1 0
    flipped = responses.values.copy()
    flipped[0, 0] = 1 - flipped[0, 0]
    for changed, rule in (
        (irtkit.ResponseMatrix(flipped), "responses to item 'item-1' differ"),
        (irtkit.ResponseMatrix(values), "counts agree and single responses do not"),
    ):
        with pytest.raises(ValueError, match=rule):
            irtkit.likelihood_ratio_test(fits[0], irtkit.fit(changed, "2PL", prior=None))
    fixed = irtkit.fit(responses, "2PL", prior=None, quadrature=(61, 6.0))
    with pytest.raises(ValueError, match="must be fitted with the same quadrature"):
        irtkit.likelihood_ratio_test(fits[0], fixed)


# Claims about items that are harder for one group than its ability explains
N_ITEMS = 30


def two_groups(
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
        responses, groups = two_groups(missing=0.3, seed=seed)
        p.append(irtkit.differential_functioning(responses, groups)["p_value"])
    assert 0.005 < np.mean(np.concatenate(p) < 0.05) < 0.105


@pytest.mark.parametrize("harder", [0.9, -0.9])
def test_planted_items_are_found_with_their_direction(harder):
    responses, groups = two_groups((800, 800), shift=0.0, harder=harder, seed=3)
    found = irtkit.differential_functioning(responses, groups, fdr=0.01, reference="old")
    assert set(found["harder_for"][:3]) == {"new" if harder > 0 else "old"}
    assert (found["harder_for"][3:] != "").sum() <= 1
    assert (np.sign(found["log_odds_ratio"][:3]) == -np.sign(harder)).all()
    assert (found["n_reference"] == 800).all()
    assert found.attrs == {"reference": "old", "focal": "new"}


def test_near_copies_are_counted_as_what_they_are():
    p = []
    for seed in range(4):
        responses, groups = two_groups((30, 30), 60, shift=0.0, seed=seed)
        copies = np.repeat(responses.values, 5, axis=0)
        flips = np.random.default_rng(seed).random(copies.shape) < 0.05
        crowd = irtkit.ResponseMatrix(np.where(flips, 1 - copies, copies))
        with pytest.warns(UserWarning, match="divided by their design effect"):
            found = irtkit.differential_functioning(crowd, np.repeat(groups, 5))
        p.append(found["p_value"])
    assert np.mean(np.concatenate(p) < 0.05) < 0.1


def test_given_anchors_are_not_tested():
    responses, groups = two_groups(harder=1.2, which=slice(0, 15), seed=4)
    anchors = responses.items[20:]
    found = irtkit.differential_functioning(responses, groups, anchors=anchors)
    assert (found.loc[[*anchors], "status"] == "anchor").all()
    assert found.loc[[*anchors], "p_value"].isna().all()
    assert (found["harder_for"][:15] == "new").mean() > 0.8
    assert (found["harder_for"][15:20] != "").sum() <= 1


def test_items_without_variance_lack_a_p_value_and_trials_enter_as_proportions():
    responses, groups = two_groups((60, 60), seed=6)
    right = responses.values.astype(int).copy()
    right[:, 5] = 1
    twice = irtkit.ResponseMatrix.from_counts(2 * right, np.full(right.shape, 2))
    found = irtkit.differential_functioning(twice, groups)
    assert found["status"].iloc[5] == "no variance"
    assert np.isnan(found["p_value"].iloc[5])
    once = irtkit.differential_functioning(irtkit.ResponseMatrix(right), groups)
    np.testing.assert_allclose(found["statistic"], once["statistic"], rtol=0.1, atol=0.05)


def test_groups_come_from_a_column_and_a_cut():
    responses, groups = two_groups((50, 50))
    dates = ["2023-05-01" if group == "old" else "2024-06-01" for group in groups]
    table = pd.DataFrame({"date": dates, "family": groups}, index=responses.respondents)
    known = responses.with_tables(respondent_table=table)
    by_date = irtkit.differential_functioning(known, "date", cut="2024-01-01")
    by_family = irtkit.differential_functioning(known, "family", reference="old")
    assert by_date.attrs == {"reference": "before 2024-01-01", "focal": "from 2024-01-01 on"}
    np.testing.assert_array_equal(by_date["statistic"], by_family["statistic"])


def test_one_group_is_compared_with_all_others():
    responses, _ = two_groups((60, 60))
    groups = ["a"] * 40 + ["b"] * 40 + ["c"] * 39 + [None]
    with pytest.raises(ValueError, match=r"are 3: a, b, c\. Use focal="):
        irtkit.differential_functioning(responses, groups)
    found = irtkit.differential_functioning(responses, groups, focal="b")
    assert found.attrs == {"reference": "all others", "focal": "b"}
    assert found["n_reference"].iloc[0] == 79


@pytest.mark.parametrize(("settings", "rule"), [
    ({"groups": "family"}, "names 'family'"),
    ({"focal": "newer"}, "focal must be one of new, old, got"),
    (
        {"anchors": ["item-1", "item-99", "item-2"]},
        "anchors must be labels of items, and these are not: item-99",
    ),
    ({"anchors": ["item-1"]}, "3 items or more"),
    ({"groups": ["old"] * 115 + ["new"] * 5}, "'new' has 5 respondents with a response"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(settings, rule):
    responses, groups = two_groups((60, 60))
    with pytest.raises(ValueError, match=rule):
        irtkit.differential_functioning(responses, **({"groups": groups} | settings))


# Information and reliability: R's mirt, sums written out, and whom items still separate
BY_MIRT = [
    (name, model)
    for name in ("lsat6", "lsat7", "sat12", "sat12_missing", "wirs", "abortion")
    for model in ("1PL", "2PL")
] + [(name, "3PLnorm") for name in ("lsat6", "lsat7", "sat12")]


@pytest.mark.parametrize(("name", "model"), BY_MIRT)
def test_reliabilities_agree_with_mirt(mirt_fit, name, model):
    result, mirt = mirt_fit(name, model)
    told = irtkit.information(result)
    assert told.marginal_reliability == pytest.approx(mirt["rxx_marginal"], abs=1e-4)
    assert told.empirical_reliability == pytest.approx(mirt["empirical_rxx"], abs=1e-4)


@pytest.fixture(scope="module")
def result():
    generator = np.random.default_rng(0)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.2, 60), np.linspace(-3, 1, 60)
    )
    ability = np.linspace(-2, 2, 200)
    responses = irtkit.simulate_responses(items, ability, seed=generator)
    dates = pd.Timestamp("2023-02-01") + pd.to_timedelta(np.arange(200) * 5, unit="D")
    table = pd.DataFrame({"date": dates.astype(str), "family": ["a", "b"] * 100})
    table.index = pd.Index(responses.respondents)
    return irtkit.fit(responses.with_tables(None, table), standard_errors=False)


def test_items_that_separate_the_top_are_the_hard_ones(result):
    told = irtkit.information(result, top=5)
    ablest = result.respondents["ability"].nlargest(5)
    assert told.top == tuple(ablest.index)
    items = told.items
    assert items["information_top"].to_numpy() == pytest.approx(
        result.parameters.information(ablest.to_numpy()).mean(axis=0)
    )
    held = items.loc[items["separates_top"], "information_top"]
    least, total = held.min(), items["information_top"].sum()
    assert held.sum() - least < 0.9 * total <= held.sum()
    assert least >= items.loc[~items["separates_top"], "information_top"].max()
    assert result.items.loc[held.index, "difficulty"].mean() > result.items["difficulty"].mean()


@pytest.mark.parametrize("kind", ["right and wrong", "fractions", "trials", "missing"])
def test_reliability_is_the_squared_correlation_with_true_abilities(kind):
    generator = np.random.default_rng(1)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 60), generator.normal(size=60)
    )
    ability = generator.normal(size=300)
    p, how = items.probability(ability), {"trials": {"trials": 4}, "missing": {"missing": 0.5}}
    responses = irtkit.simulate_responses(items, ability, seed=generator, **how.get(kind, {}))
    found = irtkit.fit(generator.beta(8 * p, 8 * (1 - p)) if kind == "fractions" else responses)
    reached = np.corrcoef(found.ability, ability)[0, 1] ** 2
    told = irtkit.information(found)
    assert found.reliability == pytest.approx(reached, abs=0.02)
    assert told.empirical_reliability == pytest.approx(reached, abs=0.02)
    if kind != "missing":  # The marginal one is of respondents who answer all items.
        assert told.marginal_reliability == pytest.approx(reached, abs=0.02)
    assert found.health().table.loc["all", "reliability"] == pytest.approx(found.reliability)


def test_arguments_out_of_range_are_refused(result):
    with pytest.raises(ValueError, match="abilities must be a list of finite numbers"):
        irtkit.information(result, [np.nan])
    with pytest.raises(ValueError, match="standard_error"):
        irtkit.information(result).items_needed(0)
