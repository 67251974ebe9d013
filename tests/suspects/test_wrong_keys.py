"""Wrong keys, and families of respondents."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

import irtkit
from irtkit import (
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    flag_items,
    similar_respondents,
    simulate_responses,
)
from irtkit.data import families as families_of
from irtkit.data.families import family_codes
from tests.crowds import fitted, fitted_tasks, of_two_tasks

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Not unidim|Item groups|Many wrong)",
    "ignore:(Not unidimensional|Item groups|Verdicts doubted|Low power|Only noise|No ability)",
)


# Claims about wrong keys: how planted ones are ranked, and what is called
N_PLANTED = 8


def crowd(n, n_items, seed):
    """Responses to items of ordinary slopes."""
    generator = np.random.default_rng(seed)
    slopes, difficulties = generator.lognormal(0, 0.4, n_items), generator.normal(0, 1.5, n_items)
    items = ItemParameters.from_difficulty(slopes, difficulties)
    values = irtkit.simulate_responses(items, generator.normal(size=n), seed=seed).values.copy()
    return values, generator


def ranked(values, planted=N_PLANTED):
    """Average precision of the first items of a matrix."""
    result = irtkit.fit(values, standard_errors=False)
    found = irtkit.wrong_keys(result).loc[list(result.item_labels), "log_bayes_factor"]
    return float(average_precision_score(np.arange(len(found)) < planted, found))


@pytest.mark.parametrize(("n", "share", "least"), [(100, 1.0, 0.95), (100, 0.4, 0.8), (30, 1, 0.8)])
def test_planted_wrong_keys_come_first(n, share, least):
    found = []
    for seed in range(3):
        values, generator = crowd(n, 300, seed)
        wrong = 1 - values[:, :N_PLANTED]
        values[:, :N_PLANTED] = wrong * (generator.random(wrong.shape) < share)
        found.append(ranked(values))
    assert np.mean(found) > least


@pytest.mark.parametrize("abilities", ["task", 2])
def test_wrong_keys_are_found_by_the_ability_that_each_item_measures(abilities):
    values = of_two_tasks(150, 60, seed=3)
    chosen = np.random.default_rng(1).random((150, 4)) < 0.4
    values[:, :4] = (1 - values[:, :4]) * chosen
    result = fitted_tasks(values, abilities)
    assert {*irtkit.wrong_keys(result).index[:4]} == {"q0", "q1", "q2", "q3"}
    false = {*irtkit.audit(result).suspects.index} - {"q0", "q1", "q2", "q3"}
    assert len(false) <= 1


def test_nothing_is_called_where_nothing_is_wrong():
    for n in (12, 60, 200):
        found = irtkit.wrong_keys(irtkit.fit(crowd(n, 400, n)[0], standard_errors=False))
        assert (found["p_wrong_key"] > 0.9).sum() <= 1


def test_probabilities_are_shares_of_wrong_keys():
    p_wrong, is_wrong = [], []
    for seed in range(30):  # benchmarks/keys.py has the rates
        generator = np.random.default_rng([2, seed])
        slopes, difficulties = generator.lognormal(0, 0.3, 200), generator.normal(size=200)
        distance = generator.normal(size=60)[:, None] - difficulties
        p = 1 / (1 + np.exp(-slopes * distance))
        n_wrong = 5 * (seed % 2)
        p[:, :n_wrong] = (1 - p[:, :n_wrong]) / 3
        result = irtkit.fit((generator.random(p.shape) < p).astype(int), standard_errors=False)
        p_wrong.append(irtkit.wrong_keys(result)["p_wrong_key"].loc[list(result.item_labels)])
        is_wrong.append(np.arange(200) < n_wrong)
    p, wrong = np.concatenate(p_wrong), np.concatenate(is_wrong)
    unsure, sure = (p > 0.1) & (p < 0.6), p >= 0.6
    assert wrong[unsure].mean() == pytest.approx(p[unsure].mean(), abs=0.2)
    assert wrong[sure].mean() == pytest.approx(p[sure].mean(), abs=0.1)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_families_of_systems_are_no_evidence_of_wrong_keys():
    called = 0
    for seed in range(5):
        parents, generator = crowd(10, 200, seed)
        values = np.repeat(parents, 20, axis=0)
        values = np.where(generator.random(values.shape) < 0.1, 1 - values, values)
        result = irtkit.fit(values, standard_errors=False)
        called += (irtkit.wrong_keys(result)["p_wrong_key"] > 0.9).sum()
    assert called <= 1


def test_answers_tell_wrong_keys_and_the_right_answer():
    digits = irtkit.load_digits_crowd()
    some = digits.predictions.iloc[:, ::4]
    labels = digits.labels[some.columns].astype(int).to_numpy().copy()
    truth = labels.copy()
    labels[:N_PLANTED] = (labels[:N_PLANTED] + 1) % 10
    responses = ResponseMatrix(some.to_numpy() == labels, some.index, some.columns)
    result = irtkit.fit(responses, standard_errors=False)
    found = irtkit.wrong_keys(result, some)
    assert found.index[:N_PLANTED].isin(some.columns[:N_PLANTED]).mean() > 0.8
    planted = found.loc[some.columns[:N_PLANTED]]
    assert [int(answer) for answer in planted["likely_answer"]] == truth[:N_PLANTED].tolist()
    assert (planted["p_wrong_key"].fillna(1) > 0.9).all()
    pd.testing.assert_frame_equal(
        found,
        irtkit.wrong_keys(
            irtkit.fit(responses.with_tables(predictions=some), standard_errors=False)
        ),
    )


def test_missing_answers_are_none_where_nobody_has_the_key():
    values, generator = crowd(60, 40, 0)
    values[:, 0] = 0
    able = values.mean(axis=1) > np.median(values.mean(axis=1))
    answers = pd.DataFrame(np.where(values == 1, "right", "wrong"))
    answers[0] = np.where(able | (generator.random(60) < 0.2), "A", "B")
    answers.loc[able & (generator.random(60) < 0.7), 0] = None
    responses = ResponseMatrix(values)
    answers.index, answers.columns = list(responses.respondents), list(responses.items)
    found = irtkit.wrong_keys(irtkit.fit(responses, standard_errors=False), answers)
    assert found.index[0] == "item-1"
    assert found["likely_answer"].iloc[0] == "A"
    assert found["p_wrong_key"].iloc[0] > 0.5


def test_more_suspects_than_keys_can_be_wrong_have_no_probability():
    values, _ = crowd(200, 100, 2)
    values[:, :20] = 1 - values[:, :20]
    result = irtkit.fit(values, standard_errors=False)
    with pytest.warns(irtkit.IRTWarning, match="Many wrong keys: .* of the items"):
        found = irtkit.wrong_keys(result)
    assert found["p_wrong_key"].isna().all()
    assert found["log_bayes_factor"].is_monotonic_decreasing


def test_seven_systems_give_no_probability_of_a_wrong_key():
    """With them P was above 0.2 in 3 of 12 sets without a wrong key, with three in 6 of 12."""
    generator = np.random.default_rng(0)
    p = 1 / (1 + np.exp(generator.normal(size=150) - generator.normal(size=(8, 1))))
    answers = (generator.random(p.shape) < p).astype(int)
    for n, has_p in ((7, False), (8, True)):
        result = irtkit.fit(answers[:n])
        verdict = result.key_verdict
        assert verdict.table["p_wrong_key"].notna().any() == has_p
        codes = [finding.code for finding in irtkit.audit(result).findings]
        assert ("few-for-keys" in codes) != has_p


# Claims about families of respondents, and about what they say together
def made(n_respondents, n_items=80, n_inverted=8, *, seed, missing=0.0):
    """Responses to items, the first of them inverted."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, 0.3, n_items) * np.where(np.arange(n_items) < n_inverted, -1, 1)
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=n_items))
    abilities = generator.normal(size=n_respondents)
    return simulate_responses(items, abilities, missing=missing, seed=generator)


def clustered_share(result, families):
    return families_of.clustered_share(
        result, result.signs.proportion, family_codes(result, families)
    )


def copied(responses, times):
    """Every respondent so many times, and the family of each copy."""
    names = [f"{name}, copy {k}" for k in range(times) for name in responses.respondents]
    families = {name: name.split(",")[0] for name in names}
    return ResponseMatrix(np.tile(responses.values, (times, 1)), names, responses.items), families


def verdicts(result, **settings):
    """p_negative of all items: with so low a bar for difficulty every item is listed."""
    flagged = flag_items(result, extreme_difficulty=1e-9, **settings)
    return flagged["p_negative"].reindex(result.item_labels)


@pytest.fixture(scope="module")
def single():
    return fit(made(60, seed=0), "2PL")


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_five_copies_in_families_say_what_one_says(missing):
    responses = made(60, seed=0, missing=missing)
    crowd, families = copied(responses, 5)
    one, five = verdicts(fit(responses, "2PL")), verdicts(fit(crowd, "2PL"), families=families)
    # a jackknife over 60 families counts for a little less than 60 respondents
    np.testing.assert_allclose(five, one, atol=0.06)


def test_every_way_to_name_families_says_the_same():
    crowd, families = copied(made(20, seed=2), 3)
    series = pd.Series(families)
    result = fit(crowd.with_tables(None, pd.DataFrame({"family": series})), "1PL")
    shuffled = series.sample(frac=1, random_state=0)
    ways = [families, series, shuffled, list(families.values()), "family"]
    shares = [clustered_share(result, way) for way in ways]
    assert shares == [shares[0]] * 5
    assert 0.2 < shares[0] <= 1 / 3
    among = fit(add_synthetic(crowd, "coin", draws=10), "1PL")
    listed = [*families.values(), *[None] * 10]
    assert clustered_share(among, listed) == clustered_share(among, families)


def test_a_respondent_without_a_family_is_a_family_of_its_own(single):
    families = dict(zip(single.respondent_labels, "ab" * 30, strict=True))
    families["respondent-3"] = None
    del families["respondent-4"]
    codes = family_codes(single, families)
    assert sorted(np.bincount(codes)) == [1, 1, 29, 29]
    board = single.leaderboard(families=families)
    assert board.loc["respondent-3", "family"] == ""
    alike = single.leaderboard(families="similar")
    assert (alike["family"] == alike.index).all()


@pytest.mark.parametrize(
    ("families", "rule"),
    [("alike", "names 'alike'"), (["one"] * 60, "must name at least two families")],
)
def test_what_makes_no_families_is_refused(single, families, rule):
    with pytest.raises(ValueError, match=rule):
        flag_items(single, families=families)


# Similar respondents

COLUMNS = ["respondent", "other", "agreement", "expected", "excess", "n_items"]


def with_family(responses):
    """Respondent 4 is the copy of number 2; 6 is the same of number 5 but for eight answers."""
    values = responses.values.copy()
    values[3] = values[1]
    values[5] = values[4]
    values[5, :8] = np.where(values[4, :8] < 0, -1, 1 - values[4, :8])
    return ResponseMatrix(values, responses.respondents, responses.items)


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["whole", "holed"])
def result(request):
    return fit(with_family(made(60, 100, 0, seed=0, missing=request.param)), "2PL")


def test_an_exact_copy_comes_first_and_one_that_is_nearly_so_second(result):
    pairs = similar_respondents(result)
    assert pairs[["respondent", "other"]].to_numpy().tolist() == [
        ["respondent-2", "respondent-4"],
        ["respondent-5", "respondent-6"],
    ]
    assert pairs.loc[0, ["agreement", "excess"]].tolist() == pytest.approx([1, 1])
    assert list(pairs.columns) == COLUMNS


@pytest.mark.parametrize("name", ["ordinary", "incomplete"])
def test_independent_respondents_make_an_empty_table(name):
    pairs = similar_respondents(fitted(name), excess=0)
    assert (len(pairs), list(pairs.columns)) == (0, COLUMNS)


def test_agreement_is_plain_counting_of_the_items_both_answered(result):
    assert result.responses is not None
    values = pd.DataFrame(result.responses.values, list(result.respondent_labels))
    probability = result.probability()
    for _, pair in similar_respondents(result, excess=0.3).iterrows():
        one, other = values.loc[pair["respondent"]], values.loc[pair["other"]]
        both = ((one >= 0) & (other >= 0)).to_numpy()
        p, q = (probability.loc[pair[name], both] for name in ("respondent", "other"))
        chance = (p * q + (1 - p) * (1 - q)).mean()
        share = (one == other)[both].mean()
        assert pair["n_items"] == both.sum()
        assert pair["agreement"] == pytest.approx(share, abs=1e-12)
        assert pair["expected"] == pytest.approx(chance, abs=1e-12)
        assert pair["excess"] == pytest.approx((share - chance) / (1 - chance), abs=1e-12)


def test_an_item_that_is_answered_at_random_has_no_wrong_key():
    """Only a flat curve beside ordinary ones says so: without it P was 1.000 in 3 of 10 sets."""
    generator = np.random.default_rng(3)
    difficulty = np.repeat([-5.0, -1.5], [30, 69])
    p = 1 / (1 + np.exp(difficulty - generator.normal(size=(120, 1))))
    answers = (generator.random(p.shape) < p).astype(int)
    answers = np.column_stack([answers, generator.integers(0, 2, 120)])
    verdict = irtkit.fit(answers).key_verdict
    assert verdict.table.loc["item-100", "p_wrong_key"] < 0.05
