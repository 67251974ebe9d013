"""Claims about families of respondents, and about what they say together."""

import numpy as np
import pandas as pd
import pytest

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
from tests.crowds import fitted

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Not unidimensional|Item groups|Verdicts doubted|Low power|Only noise|No ability)"
)


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


def near_copies(families, seed):
    """Families of 20 that differ in 10 % of the answers; the first two of 100 items inverted."""
    values = np.repeat(made(families, 100, 2, seed=seed).values, 20, axis=0)
    flips = np.random.default_rng(seed).random(values.shape) < 0.1
    changed = ResponseMatrix(np.where(flips, 1 - values, values).astype(np.int8))
    return fit(changed, "1PL", standard_errors=False)


def false_calls(result, families):
    """Sound items that are called negative."""
    reasons = flag_items(result, families=families)["reasons"]
    sound = reasons.drop(list(result.item_labels[:2]), errors="ignore")
    return [item for item, some in sound.items() if "negative" in some]


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


def test_the_share_is_that_of_jackknife_variances_of_slopes_on_the_proportion_score():
    crowd, _ = copied(made(12, seed=5), 2)
    families = np.arange(24) % 12 // 2
    right = crowd.values.mean(axis=1)  # on any scale

    def variance(left_out):
        kept = [left_out != k for k in np.unique(left_out)]
        slopes = np.array([np.polyfit(right[k], crowd.values[k], 1)[0] for k in kept])
        slope = np.polyfit(right, crowd.values, 1)[0]
        return float(((slopes - slope) ** 2).sum() * (1 - 1 / len(kept)))

    expected = variance(np.arange(24)) / variance(families)
    assert expected < 0.8
    assert clustered_share(fit(crowd, "1PL"), families.tolist()) == pytest.approx(expected)


@pytest.mark.parametrize("seed", [10, 14])
def test_similar_families_call_no_sound_item_where_they_miss_pairs(seed):
    result = near_copies(10, seed)
    assert len(np.unique(family_codes(result, "similar"))) > 20
    assert false_calls(result, "similar") == []


@pytest.mark.parametrize("seed", [0, 1])
def test_two_families_call_no_sound_item(seed):
    assert false_calls(near_copies(2, seed), ["one"] * 20 + ["other"] * 20) == []


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
    [("alike", "got 'alike'"), (["one"] * 60, "must name at least two families")],
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


@pytest.mark.filterwarnings("ignore:Not unidimensional")  # the two are a pattern
@pytest.mark.filterwarnings("ignore:Correlated trials")
def test_repeated_trials_agree_by_their_shares_right():
    trials_drawn = simulate_responses(
        ItemParameters(np.full(100, 1.0), np.linspace(-2, 2, 100), np.zeros(100)),
        np.linspace(-1.5, 1.5, 30),
        trials=4,
        seed=1,
    )
    right, trials = trials_drawn.successes.copy(), trials_drawn.trials.copy()
    right[:2], trials[1] = np.arange(100) % 2 * 4, 2  # always right or always wrong
    right[1] //= 2
    pairs = similar_respondents(fit(ResponseMatrix.from_counts(right, trials), "1PL"), excess=0.9)
    assert pairs[["respondent", "other"]].to_numpy().tolist() == [["respondent-1", "respondent-2"]]
    assert pairs.loc[0, "agreement"] == pytest.approx(1, abs=1e-12)


def test_synthetic_respondents_and_those_without_responses_are_no_pair():
    values = made(40, 100, 0, seed=3).values.copy()
    values[6], values[7:9] = values[5], -1
    marks = np.arange(40) == 6
    assert len(similar_respondents(fit(ResponseMatrix(values), "2PL"))) == 1
    assert similar_respondents(fit(ResponseMatrix(values, synthetic=marks), "2PL")).empty
