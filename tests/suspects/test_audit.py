"""What an audit says, which items are suspect, and for what reasons."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

import irtkit
from irtkit.suspects.flags import strong_answers
from tests.crowds import crowd, fitted

# Claims about what an audit says, and that everything irtkit prints tells one list
N_ITEMS, N_WRONG, N_RIGHT = 150, 4, 3


@pytest.fixture(scope="module")
def responses():
    """150 items, 10 inverted, 2 copies of another, 4 that all get wrong, 3 that all get right."""
    generator = np.random.default_rng(1)
    slopes = generator.lognormal(0, 0.3, N_ITEMS)
    slopes[:10] *= -1
    items = irtkit.ItemParameters(slopes, generator.normal(size=N_ITEMS), np.zeros(N_ITEMS))
    values = irtkit.simulate_responses(items, generator.normal(size=120), seed=2).values.copy()
    values[:, -N_WRONG:], values[:, -N_WRONG - N_RIGHT : -N_WRONG] = 0, 1
    values[:, 10:12] = values[:, :1]
    return irtkit.ResponseMatrix(values)


@pytest.fixture(scope="module")
def result(responses):
    return irtkit.fit(responses)


@pytest.fixture(scope="module")
def found(result):
    return irtkit.audit(result)


def test_what_no_system_gets_right_is_a_list_of_its_own(result, found):
    last = [f"item-{k}" for k in range(N_ITEMS - N_WRONG + 1, N_ITEMS + 1)]
    assert found.all_wrong == last
    for text in (" ".join(str(result).split()), " ".join(str(found).split())):
        assert f"{N_WRONG} items that no system gets right: look here for broken" in text
        assert f"{N_RIGHT} items that every system gets right" in text


def test_items_answered_alike_are_one_line(found):
    assert {"item-1", "item-11", "item-12"} <= set(found.items.index)
    printed = str(found)
    assert "item-1 +2 alike" in printed
    assert "item-12 " not in printed
    assert "… and" not in printed
    assert " more" in found.shown(1).text(1)


def test_a_suspect_item_can_be_read(responses):
    asked = [f"What is\n{item}\x1b[31m?  {'And why? ' * 20}" for item in responses.items]
    known = pd.DataFrame({"text": asked, "target": "42\a", "level": 1}, index=responses.items)
    result = irtkit.fit(responses.with_tables(known))
    found = irtkit.audit(result)
    assert found.items["text"].tolist() == known.loc[found.items.index, "text"].tolist()
    lines = [line for line in str(found).splitlines() if "What is" in line]
    assert 10 <= len(lines) <= len(found.suspects)
    assert {len(line) for line in lines} <= {79, 80}  # no space before what is cut off
    assert lines[0].startswith(f"{found.items.index[0]}")
    assert all(r"\x1b[31m? And why?" in line for line in lines)
    assert all(line.endswith(r"… (key: 42\x07)") for line in lines)
    assert "\x1b" not in str(found)
    comparison = irtkit.compare_difficulties(result, folds=0)
    assert comparison.table["text"].tolist() == asked
    assert {*comparison.pairs["measure_1"], *comparison.pairs["measure_2"]}.isdisjoint(known)


@pytest.mark.parametrize(("model", "letter"), [("2PL", "x"), ("3PL", "問")])
def test_everything_is_printed_within_80_columns(responses, model, letter):
    names = [[f"{letter * 40}{k}" for k in range(n)] for n in responses.values.shape]
    result = irtkit.fit(
        irtkit.ResponseMatrix(responses.values, *names), model, standard_errors=False
    )
    comparison = irtkit.compare_difficulties(result, folds=0)
    for told in (result, irtkit.audit(result), comparison):
        assert max(map(cell_len, str(told).splitlines())) <= 80
        assert "discriminati…" not in str(told)


@pytest.mark.filterwarnings("ignore:Many wrong keys")
def test_there_is_one_list_with_one_order_and_one_set_of_probabilities(result, found):
    keys = irtkit.wrong_keys(result).loc[found.items.index]
    assert found.suspects["log_bayes_factor"].is_monotonic_decreasing
    assert (found.items["log_bayes_factor"] == keys["log_bayes_factor"]).all()
    assert found.items["p_wrong_key"].equals(keys["p_wrong_key"])
    flags = irtkit.flag_items(result)
    pd.testing.assert_frame_equal(found.items, flags)
    called, n = int(flags["called"].sum()), int(flags["suspect"].sum())
    assert found.headline.startswith(f"{called} items called. Read these {n} first.")
    assert not found.uninformative["called"].any()


@pytest.mark.filterwarnings("ignore:(Not unidim|Item groups)")
def test_a_few_wrong_keys_have_a_probability_with_its_prior_and_many_have_none():
    made = crowd("ordinary")
    for n_wrong, has in ((1, True), (12, False)):
        values = made.responses.values.copy()
        values[:, :n_wrong] = 1 - values[:, :n_wrong]
        audited = irtkit.audit(irtkit.fit(values))
        assert audited.suspects["p_wrong_key"].notna().all() == has
        assert ("many-wrong-keys" in [finding.code for finding in audited.findings]) != has
        text = " ".join(str(audited).split())
        assert (f"if {audited.prior:.1%} of keys are wrong" in text) == has
        assert audited.suspects.index[0] in {f"item-{k + 1}" for k in range(n_wrong)}


# Claims about which items are suspect, for what reasons, and what is warned of
COLUMNS = [
    *("reasons", "suspect", "called", "p_wrong_key", "log_bayes_factor", "p_negative"),
    *("best_right", "weakest_right"),
    *("discrimination", "discrimination_se", "difficulty", "average_error", "n_responses"),
]


def listed_for(flagged, reason):
    """Items that are listed for a reason."""
    return [item for item, reasons in flagged["reasons"].items() if reason in reasons]


def changed(result, item, **parameters):
    """The same fit with other parameters of one item."""
    names = ("discrimination", "intercept", "guessing")
    arrays = {name: getattr(result.parameters, name).copy() for name in names}
    for name, value in parameters.items():
        arrays[name][result.item_labels.index(item)] = value
    return replace(result, parameters=irtkit.ItemParameters(**arrays))


@pytest.fixture(scope="module")
def flagged_responses():
    """60 items of 300 respondents, 55 of them as they should be."""
    generator = np.random.default_rng(0)
    slopes = generator.lognormal(0, 0.3, 60)
    slopes[:2] = -1.0, 0.0
    items = irtkit.ItemParameters(slopes, generator.normal(size=60), np.zeros(60))
    drawn = irtkit.simulate_responses(items, generator.normal(size=300), seed=generator)
    values = drawn.values.copy()
    values[:, 2], values[:, 3], values[:, 4] = 1, 0, -1
    names = ["inverted", "flat", "all right", "all wrong", "empty", *drawn.items[5:]]
    return irtkit.ResponseMatrix(values, items=names)


@pytest.fixture(scope="module")
def sound(flagged_responses):
    return irtkit.fit(flagged_responses, "2PL")


# Reasons


def test_an_item_is_extreme_if_its_difficulty_is_further_out_than_asked(sound):
    far = changed(sound, "item-9", discrimination=1.0, intercept=-7.0)
    assert "item-9" in irtkit.flag_items(far, extreme_difficulty=6.9).index
    assert "item-9" not in irtkit.flag_items(far, extreme_difficulty=7.1).index
    assert irtkit.flag_items(far).loc["item-9", "reasons"] == ("extreme",)


@pytest.mark.parametrize(("model", "error", "listed"), [
    ("3PL", 0.05, True), ("3PL", 0.15, False), ("3PL", float("nan"), False),
])  # fmt: skip
def test_guessing_is_above_chance_if_its_interval_is(sound, model, error, *, listed):
    errors = np.full_like(sound.standard_errors, error)
    guessed = replace(changed(sound, "item-9", guessing=0.5), model=model, standard_errors=errors)
    assert listed_for(irtkit.flag_items(guessed, chance=0.25), "guessing") == ["item-9"] * listed
    assert listed_for(irtkit.flag_items(guessed), "guessing") == []


@pytest.mark.parametrize("model", ["2PL", "3PL"])
def test_an_item_that_rises_in_the_fit_is_not_called_negative(sound, model):
    assert "inverted" in irtkit.flag_items(sound).index
    rising = replace(changed(sound, "inverted", discrimination=0.1), model=model)
    assert listed_for(irtkit.flag_items(rising), "negative") == []
    assert irtkit.audit(rising).n_negative == 0
    assert "negative discrimination" not in str(rising)
    assert "negative discrimination" not in str(irtkit.compare_difficulties(rising, folds=0))


def test_items_that_say_nothing_are_not_listed(sound):
    assert not irtkit.flag_items(sound).index.isin(["all right", "empty"]).any()


# The table


def test_the_table_has_the_columns_of_the_contract(sound):
    flagged = irtkit.flag_items(sound)
    assert (list(flagged.columns), flagged.index.name) == (COLUMNS, "item")
    of_items = sound.items.loc[flagged.index]
    for column in COLUMNS[8:]:
        pd.testing.assert_series_equal(flagged[column], of_items[column], check_exact=True)
    assert flagged["p_negative"].equals(of_items["p_negative"])
    far = irtkit.flag_items(sound, extreme_difficulty=0.5)
    for _, kind in far.groupby("suspect"):
        assert kind["log_bayes_factor"].is_monotonic_decreasing
    assert far["suspect"].is_monotonic_decreasing
    assert far.index[0] == "inverted"
    assert listed_for(irtkit.flag_items(sound, extreme_difficulty=100), "negative") == ["inverted"]
    assert listed_for(irtkit.flag_items(sound, extreme_difficulty=100), "flat") == ["flat"]


def test_items_are_read_where_few_systems_call_hardly_anything(planted):
    n_negative, found, false = 0, 0, 0
    for seed in range(3):  # benchmarks/keys.py has the rates
        made, wrong = planted(20, 1000, seed)
        with warnings.catch_warnings(action="ignore"):
            flagged = irtkit.flag_items(irtkit.fit(made, standard_errors=False))
        n_negative += len(listed_for(flagged, "negative"))
        inverted = flagged.index.isin([made.items[j] for j in np.flatnonzero(wrong)])
        found += inverted[:20].sum()
        false += (flagged["called"] & ~inverted).sum()
        assert flagged["suspect"][:20].all()
    assert n_negative <= 3  # of 60 inverted items
    assert found >= 36
    assert false <= 3


def test_synthetic_respondents_do_not_count(flagged_responses, sound):
    crowd = irtkit.add_synthetic(flagged_responses, ("always-wrong", "coin"), draws=30)
    among = irtkit.flag_items(irtkit.fit(crowd, "2PL"), extreme_difficulty=100)
    alone = irtkit.flag_items(sound, extreme_difficulty=100)
    assert among["reasons"].to_dict() == alone["reasons"].to_dict()
    assert among["p_negative"].to_dict() == pytest.approx(alone["p_negative"].to_dict(), rel=1e-9)


# Warnings


def test_coin_flips_are_warned_of_and_none_is_called_negative():
    flips = irtkit.ResponseMatrix(np.random.default_rng(0).integers(0, 2, (60, 100)))
    with pytest.warns(UserWarning, match="No ability differences"):
        result = irtkit.fit(flips, "2PL")
    with pytest.warns(irtkit.IRTWarning, match="^Only noise: .*60 independent systems"):
        flagged = irtkit.flag_items(result)
    assert flagged.empty  # all are flat, which is no fault of theirs


def test_what_the_fit_warned_of_is_said_with_what_it_means_for_negative_items(planted, tmp_path):
    generator = np.random.default_rng(1)
    theta = generator.multivariate_normal([0, 0], [[1, -0.5], [-0.5, 1]], size=200)
    parts = [
        irtkit.simulate_responses(
            irtkit.ItemParameters.from_difficulty(np.ones(n), generator.normal(size=n)),
            theta[:, k],
            seed=generator,
        ).values
        for k, n in ((0, 240), (1, 60))
    ]
    with pytest.warns(UserWarning, match="Not unidimensional"):
        result = irtkit.fit(irtkit.ResponseMatrix(np.hstack(parts)), "1PL")
    result.save(tmp_path / "fit", include_responses=False)
    for one in (result, irtkit.load(tmp_path / "fit")):
        with pytest.warns(irtkit.IRTWarning) as caught:
            irtkit.flag_items(one)
        assert [warning.message.code for warning in caught] == ["verdicts-doubted"]
    irtkit.flag_items(
        irtkit.fit(planted(200, 300, seed=1)[0], "1PL")
    )  # of one dimension nothing is warned


def test_near_copies_are_few_by_the_number_that_is_independent(planted):
    crowd = irtkit.ResponseMatrix(np.repeat(planted(30, 300, seed=1)[0].values, 8, axis=0))
    result = irtkit.fit(crowd, "1PL")
    with pytest.warns(UserWarning, match=r"Low power: (2\d|3\d) independent systems reveal"):
        irtkit.flag_items(result)
    names = [f"family {k // 8}" for k in range(240)]
    with pytest.warns(UserWarning, match="Low power: 30 families reveal"):
        irtkit.flag_items(result, families=names)


def test_a_saved_result_without_responses_is_judged_as_before(sound, tmp_path):
    sound.save(tmp_path / "fit", include_responses=False)
    back = irtkit.load(tmp_path / "fit")
    there, here = irtkit.flag_items(sound), irtkit.flag_items(back)
    assert here["log_bayes_factor"].isna().all()
    unchanged = ["p_negative", *COLUMNS[8:]]
    pd.testing.assert_frame_equal(here[unchanged], there.loc[here.index, unchanged])
    assert listed_for(here, "negative") == listed_for(there, "negative")
    with pytest.raises(ValueError, match="families= is not for a result without"):
        irtkit.flag_items(back, families=dict.fromkeys(back.respondent_labels, "one"))


# Answers of the ablest

ITEMS = [f"item-{k}" for k in range(1, 31)]


@pytest.fixture(scope="module")
def keyed():
    """30 items of 200 respondents; the first has a wrong key."""
    items = irtkit.ItemParameters(np.append(-1.5, np.full(29, 1.5)), np.zeros(30), np.zeros(30))
    return irtkit.fit(irtkit.simulate_responses(items, np.linspace(-2, 2, 200), seed=0), "2PL")


@pytest.fixture(scope="module")
def predictions(keyed):
    """A is marked right, and right but for the first item; whoever is wrong says B there."""
    assert keyed.responses is not None
    letters = np.where(keyed.responses.values == 1, "A", "B")
    return pd.DataFrame(letters, list(keyed.respondent_labels), ITEMS).astype(object)


def test_settings_out_of_range_are_refused(sound):
    for name, value in (("fdr", 1), ("extreme_difficulty", 0), ("chance", np.nan)):
        with pytest.raises(ValueError, match=f"^{name} must .* got {value}"):
            irtkit.flag_items(sound, **{name: value})
    with pytest.raises(ValueError, match="chance= is not for a model without guessing"):
        irtkit.flag_items(replace(sound, model="2PL"), chance=0.25)
    with pytest.raises(TypeError, match="poor_fit must be True or False"):
        irtkit.flag_items(sound, poor_fit=1)


def test_the_answer_of_the_strong_is_named_beside_the_one_marked_right(keyed, predictions):
    flagged = irtkit.flag_items(keyed, predictions=predictions)
    assert flagged.loc["item-1", ["strong_answer", "marked_right"]].tolist() == ["B", "A"]
    strong = keyed.ability >= np.quantile(keyed.ability, 0.75)
    share = (predictions.loc[strong, "item-1"] == "B").mean()
    assert flagged.loc["item-1", "strong_share"] == pytest.approx(share, abs=1e-12)
    assert share > 0.8
    holed = predictions.copy()
    holed.loc[strong, "item-1"] = None
    holed.iloc[np.flatnonzero(strong)[:3], 0] = ["C", "C", "B"]
    holed.loc[strong, "item-2"] = np.nan
    table = strong_answers(keyed, holed)
    assert table.loc["item-1", ["strong_answer", "strong_share"]].tolist() == ["C", 2 / 3]
    assert table.loc["item-2", ["strong_answer", "strong_share"]].isna().all()


@pytest.mark.parametrize(("kind", "change", "rule"), [
    ("column", lambda p: p.drop(columns="item-4"), "predictions has no item 'item-4'"),
    (
        "row twice",
        lambda p: pd.concat([p, p.iloc[:1]]),
        "every respondent once: 'respondent-1' occurs twice",
    ),
])  # fmt: skip
def test_a_missing_or_repeated_label_is_named(keyed, predictions, kind, change, rule):
    assert callable(change), kind
    with pytest.raises(ValueError, match=rule):
        irtkit.flag_items(keyed, predictions=change(predictions))


def test_scores_have_no_keys_and_an_audit_does_not_say_that_they_are_right():
    generator = np.random.default_rng(0)
    p = 1 / (1 + np.exp(generator.normal(size=20) - generator.normal(size=(60, 1))))
    audited = irtkit.audit(irtkit.fit(generator.binomial(50, p) / 50))
    assert audited.prior is None
    assert "not searched" in audited.headline


def test_no_likely_wrong_key_is_said_with_the_largest_probability():
    found = irtkit.audit(fitted("few"))
    found = replace(found, items=found.items[found.items["p_wrong_key"] < 0.2])
    p = found.suspects["p_wrong_key"]
    assert "wrong_key" in {code for codes in found.suspects["reasons"] for code in codes}
    assert f"the largest probability is {p.max():.2g}" in found.headline
    assert "Possible wrong key" not in found.headline
    assert irtkit.audit(fitted("ordinary")).prior == 0.001  # the least that is taken


@pytest.mark.parametrize("at_chance", [False, True])
def test_the_legend_says_by_what_the_quarters_are(at_chance, monkeypatch):
    found = irtkit.audit(fitted("ordinary"))
    monkeypatch.setitem(found.result.__dict__, "at_chance", ("a",) * at_chance)
    by = "accuracy" if at_chance else "ability"
    assert f"and the lowest {by}" in found.legend[-1]
