"""Claims about which items are suspect, for what reasons, and what is warned of."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    audit,
    compare_difficulties,
    fit,
    flag_items,
    load,
    simulate_responses,
)
from irtkit.data.patterns import patterns_of
from irtkit.signs import called_negative, slope_signs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Planted = Callable[..., tuple[ResponseMatrix, NDArray[np.bool_]]]

COLUMNS = [
    *("reasons", "suspect", "p_negative", "wrong_key", "trend"),
    *("discrimination", "discrimination_se", "difficulty", "average_error", "n_responses"),
]


def p_negative(responses: ResponseMatrix) -> Array:
    return slope_signs(patterns_of(responses, synthetic_is_real=False)).verdict.p_negative


def changed(result: FitResult, item: str, **parameters: float) -> FitResult:
    """The same fit with other parameters of one item."""
    arrays = {name: values.copy() for name, values in vars(result.parameters).items()}
    for name, value in parameters.items():
        arrays[name][result.item_labels.index(item)] = value
    return replace(result, parameters=ItemParameters(**arrays))


@pytest.fixture(scope="module")
def responses() -> ResponseMatrix:
    """60 items of 300 respondents, 55 of them as they should be."""
    generator = np.random.default_rng(0)
    slopes = generator.lognormal(0, 0.3, 60)
    slopes[:2] = -1.0, 0.0
    items = ItemParameters(slopes, generator.normal(size=60), np.zeros(60))
    drawn = simulate_responses(items, generator.normal(size=300), seed=generator)
    values = drawn.values.copy()
    values[:, 2], values[:, 3], values[:, 4] = 1, 0, -1
    names = ["inverted", "flat", "all right", "all wrong", "empty", *drawn.items[5:]]
    return ResponseMatrix(values, items=names)


@pytest.fixture(scope="module")
def result(responses: ResponseMatrix) -> FitResult:
    return fit(responses, "2PL")


# Reasons


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("inverted", "negative discrimination"),
        ("flat", "flat discrimination"),
    ],
)
def test_an_item_is_listed_for_what_it_was_made_to_be(
    result: FitResult, item: str, reason: str
) -> None:
    flagged = flag_items(result, extreme_difficulty=100)
    assert flagged.loc[item, "reasons"] == reason
    assert (flagged["reasons"] == reason).sum() == 1


def test_an_item_is_extreme_if_its_difficulty_is_further_out_than_asked(result: FitResult) -> None:
    far = changed(result, "item-9", discrimination=1.0, intercept=-7.0)
    assert "item-9" in flag_items(far, extreme_difficulty=6.9).index
    assert "item-9" not in flag_items(far, extreme_difficulty=7.1).index
    assert flag_items(far).loc["item-9", "reasons"] == "extreme difficulty"


def test_reasons_are_joined_in_one_text(result: FitResult) -> None:
    errors = np.full_like(result.standard_errors, 0.05)
    guessed = changed(result, "inverted", guessing=0.5)
    both = replace(guessed, model="3PL", standard_errors=errors)
    reasons = flag_items(both, chance=0.25).loc["inverted", "reasons"]
    assert reasons == "negative discrimination; guessing above chance"


def test_extreme_difficulty_is_in_units_of_ability_under_every_model() -> None:
    items = ItemParameters(np.full(20, 3.0), np.append(np.zeros(19), -5), np.zeros(20))
    made = simulate_responses(items, np.linspace(-2, 2, 200), seed=1)
    rasch, one = fit(made, "Rasch"), fit(made, "1PL")
    furthest = one.items["difficulty"].abs().max() - 0.01
    assert rasch.latent_sd > 2
    for result in (rasch, one):
        assert flag_items(result, extreme_difficulty=furthest).index.tolist() == ["item-20"]
        assert flag_items(result, extreme_difficulty=furthest + 0.02).empty


@pytest.mark.parametrize(("model", "error", "listed"), [
    ("3PL", 0.05, True), ("3PL", 0.15, False), ("3PL", float("nan"), False),
])  # fmt: skip
def test_guessing_is_above_chance_if_its_interval_is(
    result: FitResult, model: Any, error: float, *, listed: bool
) -> None:
    errors = np.full_like(result.standard_errors, error)
    guessed = replace(changed(result, "item-9", guessing=0.5), model=model, standard_errors=errors)
    found = flag_items(guessed, chance=0.25)["reasons"].str.contains("guessing above chance")
    assert found[found].index.tolist() == ["item-9"] * listed
    assert not flag_items(guessed)["reasons"].str.contains("guessing").any()


def test_an_item_is_flat_as_its_status_says(result: FitResult) -> None:
    reasons = flag_items(result)["reasons"]
    flat = reasons.index[reasons.str.contains("flat discrimination")]
    assert set(flat) == set(result.items.index[result.items["status"] == "flat"])


@pytest.mark.parametrize("model", ["2PL", "3PL"])
def test_an_item_that_rises_in_the_fit_is_not_called_negative(
    result: FitResult, model: Any
) -> None:
    assert "inverted" in flag_items(result).index
    rising = replace(changed(result, "inverted", discrimination=0.1), model=model)
    assert "inverted" not in flag_items(rising).index
    assert audit(rising).n_negative == 0
    assert "negative discrimination" not in str(rising)
    assert "negative discrimination" not in str(compare_difficulties(rising, folds=0))


def test_the_rate_holds_for_the_items_that_fall_in_the_fit() -> None:
    p = np.array([0.99, 0.97, 0.96, 0.90])
    assert called_negative(p).tolist() == [True, True, True, True]
    assert called_negative(p, slope=np.array([1.0, 1.0, -1.0, -1.0])).tolist() == [
        *(False, False, True, False)
    ]


def test_a_common_discrimination_makes_no_item_flat_and_contradicts_no_verdict(
    responses: ResponseMatrix,
) -> None:
    flagged = flag_items(fit(responses, "1PL"))
    assert not flagged["reasons"].str.contains("flat").any()
    assert flagged.loc["inverted", "reasons"] == "negative discrimination"


def test_items_that_say_nothing_are_suspect_for_an_answer_of_the_strong_only(
    result: FitResult,
) -> None:
    silent = ["all right", "all wrong", "empty"]
    assert not flag_items(result).index.isin(silent).any()
    answers = pd.DataFrame("A", result.respondent_labels, list(result.item_labels))
    reasons = flag_items(result, predictions=answers)["reasons"]
    assert reasons[reasons.index.isin(silent)].to_dict() == {
        "all wrong": "the strong agree on another answer",
        "empty": "the strong agree on another answer",
    }


# The table


def test_the_table_has_the_columns_of_the_contract(result: FitResult) -> None:
    flagged = flag_items(result)
    assert (list(flagged.columns), flagged.index.name) == (COLUMNS, "item")
    of_items = result.items.loc[flagged.index]
    for column in COLUMNS[5:]:
        pd.testing.assert_series_equal(flagged[column], of_items[column], check_exact=True)
    assert flagged["p_negative"].equals(of_items["p_negative"])


def test_items_come_in_the_order_of_p_negative(result: FitResult) -> None:
    flagged = flag_items(result, extreme_difficulty=0.5)
    assert len(flagged) > 4
    for _, kind in flagged.groupby("suspect"):
        assert kind["p_negative"].is_monotonic_decreasing
    assert flagged["suspect"].tolist() == [True] + [False] * (len(flagged) - 1)
    assert flagged.index[0] == "inverted"


def test_an_item_that_merely_does_not_discriminate_is_not_suspect(result: FitResult) -> None:
    far = changed(result, "item-9", discrimination=1.0, intercept=-7.0)
    suspect = flag_items(far)["suspect"]
    assert suspect[suspect].index.tolist() == ["inverted"]
    assert set(suspect[~suspect].index) >= {"flat", "item-9"}
    found = audit(far)
    assert found.suspects.index.tolist() == ["inverted"]
    assert found.uninformative.index.tolist() == suspect.index[~suspect].tolist()
    assert found.summary[0] == "1 of 60 items is suspect: negative discrimination (1)."
    assert "flat" not in str(found).split("Look first")[0]
    assert "items are uninformative: " in str(found)


def test_strong_evidence_of_a_wrong_key_is_a_reason_if_few_systems_call_hardly_anything(
    planted: Planted,
) -> None:
    called, found, false = 0, 0, 0
    for seed in range(3):  # benchmarks/planted_wrong_keys.py has the rates
        made, wrong = planted(20, 1000, seed)
        with warnings.catch_warnings(action="ignore"):
            flagged = flag_items(fit(made, standard_errors=False))
        called += flagged["reasons"].str.contains("negative").sum()
        listed = flagged[flagged["reasons"].str.contains("evidence of a wrong key")]
        assert listed["suspect"].all()
        assert (listed["wrong_key"] > 3).all()
        assert (listed["discrimination"] < 0).all()
        inverted = listed.index.isin([made.items[j] for j in np.flatnonzero(wrong)])
        found, false = found + inverted.sum(), false + (~inverted).sum()
    assert called <= 2  # of 60 inverted items
    assert found >= 12
    assert false <= 2


def test_the_inverted_item_has_a_strong_wrong_key_and_a_trend_below_0(result: FitResult) -> None:
    flagged = flag_items(result)
    assert flagged["wrong_key"].idxmax() == "inverted"
    assert flagged.loc["inverted", "wrong_key"] > 3
    assert flagged.loc["inverted", "trend"] < -5


def test_where_nothing_is_suspect_the_table_is_empty_with_its_columns() -> None:
    items = ItemParameters(np.ones(30), np.linspace(-1, 1, 30), np.zeros(30))
    clean = fit(simulate_responses(items, np.linspace(-2, 2, 200), seed=2), "2PL")
    flagged = flag_items(
        clean, predictions=pd.DataFrame("A", clean.respondent_labels, list(clean.item_labels))
    )
    assert len(flagged) == 0
    assert list(flagged.columns) == [*COLUMNS, "strong_answer", "strong_share", "marked_right"]
    assert flagged.index.name == "item"


def test_synthetic_respondents_do_not_count(responses: ResponseMatrix, result: FitResult) -> None:
    crowd = add_synthetic(responses, ("always-wrong", "coin"), draws=30)
    among = flag_items(fit(crowd, "2PL"), extreme_difficulty=100)
    alone = flag_items(result, extreme_difficulty=100)
    assert among["reasons"].to_dict() == alone["reasons"].to_dict()
    columns = ["p_negative", "wrong_key", "trend"]
    pd.testing.assert_frame_equal(among[columns], alone[columns], rtol=1e-9)


# The decision


@pytest.mark.parametrize("fdr", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(5))
def test_the_mean_doubt_over_the_items_called_negative_stays_within_the_rate(
    seed: int, fdr: float
) -> None:
    p = np.random.default_rng(seed).beta(0.2, 0.2, 300)
    p[:3] = np.nan
    called = called_negative(p, fdr)
    assert 1 - p[called].mean() <= fdr
    assert called[p > 1 - fdr].all()
    assert p[called].min() >= np.nanmax(p[~called])
    assert not called[:3].any()


def test_nothing_is_called_negative_where_nothing_is_likely() -> None:
    assert not called_negative(np.full(10, 0.5), 0.05).any()
    assert not called_negative(np.full(10, np.nan), 0.05).any()


def test_a_mean_doubt_at_the_rate_is_within_it() -> None:
    assert called_negative(np.array([0.75, 0.1]), 0.25).tolist() == [True, False]


@pytest.mark.parametrize(("n_respondents", "least_found"), [(200, 0.98), (60, 0.85)])
def test_planted_inversions_are_found_at_the_rate_asked(
    planted: Planted, n_respondents: int, least_found: float
) -> None:
    false, found = [], []
    for seed in range(8):
        made, wrong = planted(n_respondents, 1000, seed)
        called = called_negative(p_negative(made), 0.05)
        false.append((called & ~wrong).sum() / max(called.sum(), 1))
        found.append(called[wrong].mean())
    # 7.5 %, and two standard errors of a share of some 160 items: 2 √(0.05 · 0.95 / 160)
    assert np.mean(false) < 0.075 + 0.034
    assert np.mean(found) >= least_found


def test_no_coin_flip_is_called_negative() -> None:
    for seed in range(20):
        flips = np.random.default_rng(seed).integers(0, 2, (200, 400))
        assert not called_negative(p_negative(ResponseMatrix(flips)), 0.05).any()


def test_a_stricter_rate_calls_fewer_items_negative(planted: Planted) -> None:
    made, _ = planted(60, 300, seed=0, share=0.1)
    result = fit(made, "1PL")
    called = [set(flag_items(result, fdr=fdr).index) for fdr in (0.01, 0.1, 0.3)]
    assert called[0] <= called[1] <= called[2]
    assert called[0] < called[2]


def test_no_item_that_likely_rises_is_called_negative(planted: Planted) -> None:
    made, wrong = planted(500, 500, seed=0, share=0.1)
    p = p_negative(made)
    called = called_negative(p, 0.2)
    assert (p[called] > 0.5).all()
    assert called[wrong].mean() > 0.95


def test_chance_is_refused_where_there_is_no_guessing(result: FitResult) -> None:
    with pytest.raises(ValueError, match="chance is for the 3PL"):
        flag_items(replace(result, model="2PL"), chance=0.25)


@pytest.mark.parametrize("name", ["fdr", "extreme_difficulty", "chance"])
def test_thresholds_that_are_no_numbers_are_refused_by_name(result: FitResult, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a number, got 'a'"):
        flag_items(result, **{name: "a"})


# Warnings


def test_coin_flips_are_warned_of_and_none_is_called_negative() -> None:
    flips = ResponseMatrix(np.random.default_rng(0).integers(0, 2, (60, 100)))
    with pytest.warns(UserWarning, match="No ability differences"):
        result = fit(flips, "2PL")
    with pytest.warns(UserWarning, match="no more in common than noise"):
        flagged = flag_items(result)
    assert flagged.empty  # all are flat, which is no fault of theirs


def test_too_few_respondents_are_warned_of_without_a_number_that_would_do(planted: Planted) -> None:
    result = fit(planted(15, 300, seed=0, share=0.05)[0], "1PL")
    with pytest.warns(UserWarning, match="15 respondents are few") as caught:
        flag_items(result)
    text = str(caught[0].message)
    assert re.search(r"about \d+% of inverted items|about 1% or less", text)
    assert "80%" not in text


def test_what_the_fit_warned_of_is_said_with_what_it_means_for_negative_items(
    planted: Planted, tmp_path: Path
) -> None:
    generator = np.random.default_rng(1)
    theta = generator.multivariate_normal([0, 0], [[1, -0.5], [-0.5, 1]], size=200)
    parts = [
        simulate_responses(
            ItemParameters.from_difficulty(np.ones(n), generator.normal(size=n)),
            theta[:, k],
            seed=generator,
        ).values
        for k, n in ((0, 240), (1, 60))
    ]
    with pytest.warns(UserWarning, match="Not unidimensional"):
        result = fit(ResponseMatrix(np.hstack(parts)), "1PL")
    result.save(tmp_path / "fit", include_responses=False)
    for one in (result, load(tmp_path / "fit")):
        with pytest.warns(UserWarning, match="right keys; audit the items of one kind") as caught:
            flag_items(one)
        assert len(caught) == 1
    flag_items(fit(planted(200, 300, seed=1)[0], "1PL"))  # of one dimension nothing is warned


def test_near_copies_are_few_by_the_number_that_is_independent(planted: Planted) -> None:
    crowd = ResponseMatrix(np.repeat(planted(30, 300, seed=1)[0].values, 8, axis=0))
    result = fit(crowd, "1PL")
    said = (
        r"240 respondents answer like about (\d+) independent ones; \1 independent respondents are"
    )
    with pytest.warns(UserWarning, match=said):
        flag_items(result)
    names = [f"family {k // 8}" for k in range(240)]
    with pytest.warns(UserWarning, match="^30 families are few"):
        flag_items(result, groups=names)


# Saved results, and what is refused


def test_a_saved_result_without_responses_is_judged_as_before(
    result: FitResult, tmp_path: Path
) -> None:
    result.save(tmp_path / "fit", include_responses=False)
    back = load(tmp_path / "fit")
    there, here = flag_items(result), flag_items(back)
    assert here["trend"].isna().all()
    unchanged = [name for name in COLUMNS if name != "trend"]
    pd.testing.assert_frame_equal(here[unchanged], there[unchanged], check_exact=True)
    with pytest.raises(ValueError, match="groups needs the responses, which were not saved"):
        flag_items(back, groups=dict.fromkeys(back.respondent_labels, "one"))


def test_poor_fit_is_a_reason_if_asked_for(planted: Planted) -> None:
    responses, _ = planted(1000, 30, seed=3, share=0.0)
    values = responses.values.copy()
    strength = np.argsort(np.argsort(values.sum(axis=1))) / 1000
    falls = np.exp(-0.5 * ((strength - 0.6) / 0.2) ** 2)
    values[:, 4] = np.random.default_rng(0).random(1000) < falls
    result = fit(ResponseMatrix(values), standard_errors=False)
    flagged = flag_items(result, poor_fit=True)
    poor = flagged["reasons"].str.contains("poor fit")
    assert flagged.index[poor].tolist() == ["item-5"]
    assert not flag_items(result)["reasons"].str.contains("poor fit").any()
    with pytest.raises(TypeError, match="poor_fit must be True or False"):
        flag_items(result, poor_fit=1)


def test_poor_fit_that_cannot_be_told_is_warned_of(planted: Planted) -> None:
    responses, _ = planted(20, 60, seed=3)
    result = fit(responses, standard_errors=False)
    few = pytest.warns(UserWarning, match="20 respondents are few")
    with few, pytest.warns(UserWarning, match="poor fit cannot be told"):
        flagged = flag_items(result, poor_fit=True)
    assert not flagged["reasons"].str.contains("poor fit").any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("fdr", value) for value in (0, 1, -0.1, np.nan)),
        *(("extreme_difficulty", value) for value in (0, -1, np.nan)),
        *(("chance", value) for value in (-0.1, 1, np.nan)),
    ],
)
def test_a_threshold_out_of_range_is_refused_by_name(
    result: FitResult, name: str, value: float
) -> None:
    with pytest.raises(ValueError, match=f"^{name} must .* got {value}"):
        flag_items(result, **{name: value})


@pytest.mark.parametrize("wrong", [None, "2PL", pd.DataFrame()])
def test_what_is_no_fit_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match=f"result must be .* got {type(wrong).__name__}"):
        flag_items(wrong)
