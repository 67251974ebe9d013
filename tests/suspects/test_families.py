"""Claims about families of respondents, and about what they say together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    flag_items,
    simulate_responses,
)
from irtkit.suspects import families as module
from irtkit.suspects.families import family_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Not unidimensional|Item groups|the ability of the fit)"
)


def made(n_respondents: int, *, seed: int, missing: float = 0.0) -> ResponseMatrix:
    """Responses to 80 items, the first 8 of them inverted."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, 0.3, 80) * np.where(np.arange(80) < 8, -1, 1)
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=80))
    abilities = generator.normal(size=n_respondents)
    return simulate_responses(items, abilities, missing=missing, seed=generator)


def clustered_share(result: FitResult, groups: Any) -> float:
    return module.clustered_share(result, family_codes(result, groups))


def copied(responses: ResponseMatrix, times: int) -> tuple[ResponseMatrix, dict[str, str]]:
    """Every respondent so many times, and the family of each copy."""
    names = [f"{name}, copy {k}" for k in range(times) for name in responses.respondents]
    families = {name: name.split(",")[0] for name in names}
    return ResponseMatrix(np.tile(responses.values, (times, 1)), names, responses.items), families


def verdicts(result: FitResult, **settings: Any) -> pd.Series:
    """p_negative of all items: with so low a bar for difficulty every item is listed."""
    flagged = flag_items(result, extreme_difficulty=1e-9, **settings)
    return flagged["p_negative"].reindex(result.item_labels)


def doubt(p_negative: pd.Series) -> float:
    """Mean over the items of how likely the verdict is wrong."""
    return float(np.minimum(p_negative, 1 - p_negative).mean())


@pytest.fixture(scope="module")
def single() -> FitResult:
    return fit(made(60, seed=0), "2PL")


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_five_copies_in_families_say_what_one_says(missing: float) -> None:
    responses = made(60, seed=0, missing=missing)
    crowd, families = copied(responses, 5)
    one, five = verdicts(fit(responses, "2PL")), verdicts(fit(crowd, "2PL"), groups=families)
    # a jackknife over 60 families counts for a little less than 60 respondents
    np.testing.assert_allclose(five, one, atol=0.06)


def test_five_copies_are_no_more_certain_than_one_with_families_or_without() -> None:
    responses = made(150, seed=0)
    crowd, families = copied(responses, 5)
    result = fit(crowd, "2PL")
    one, each = doubt(verdicts(fit(responses, "2PL"))), [str(k) for k in range(750)]
    assert doubt(verdicts(result, groups=each)) < one / 100
    assert one / 3 < doubt(verdicts(result, groups=families)) < one * 3
    assert one / 3 < doubt(verdicts(result)) < one * 3


def test_families_that_are_named_stand_in_place_of_those_that_are_found() -> None:
    crowd, families = copied(made(60, seed=0), 5)
    result = fit(crowd, "2PL")
    share = clustered_share(result, families)
    alone = result.signs.weighted(1.0).score
    assert 0.15 < result.dependence.share < 0.25
    np.testing.assert_allclose(
        result.signs.weighted(share).score, alone.weighted(share), rtol=1e-12
    )
    expected = result.signs.weighted(share).verdict.p_negative
    np.testing.assert_array_equal(verdicts(result, groups=families), expected)


@pytest.mark.parametrize("n_families", [60, 20])
def test_independent_respondents_in_random_families_lose_little(
    single: FitResult, n_families: int
) -> None:
    families = np.random.default_rng(1).integers(0, n_families, 60).astype(str).tolist()
    assert 0.8 < clustered_share(single, families) <= 1
    moved = verdicts(single, groups=families) - verdicts(single)
    assert moved.abs().max() < 0.1


def test_a_family_for_each_respondent_changes_nothing(single: FitResult) -> None:
    alone = list(range(60))
    assert clustered_share(single, alone) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(verdicts(single, groups=alone), verdicts(single), rtol=1e-9)


def test_the_share_is_that_of_jackknife_variances_of_slopes_on_the_proportion_score() -> None:
    crowd, _ = copied(made(12, seed=5), 2)
    families = np.arange(24) % 12 // 2
    right = crowd.values.mean(axis=1)  # on any scale

    def variance(left_out: NDArray[np.int64]) -> float:
        kept = [left_out != k for k in np.unique(left_out)]
        slopes = np.array([np.polyfit(right[k], crowd.values[k], 1)[0] for k in kept])
        return float(slopes.var(axis=0).sum() * (len(kept) - 1))

    expected = variance(np.arange(24)) / variance(families)
    assert expected < 0.8
    assert clustered_share(fit(crowd, "1PL"), families.tolist()) == pytest.approx(expected)


def test_every_way_to_name_families_says_the_same() -> None:
    crowd, families = copied(made(20, seed=2), 3)
    result, series = fit(crowd, "1PL"), pd.Series(families)
    shuffled = series.sample(frac=1, random_state=0)
    ways = [families, series, shuffled, list(families.values()), series.to_numpy()]
    shares = [clustered_share(result, groups) for groups in ways]
    assert shares == [shares[0]] * 5
    assert 0.2 < shares[0] <= 1 / 3


def test_copies_are_families_of_respondents_that_are_similar() -> None:
    crowd, families = copied(made(40, seed=6), 2)
    result = fit(crowd, "2PL")
    # some of the ablest are not told from others who get nearly everything right
    expected = clustered_share(result, families)
    assert clustered_share(result, "similar") == pytest.approx(expected, rel=0.1)


def test_independent_respondents_are_not_similar(single: FitResult) -> None:
    assert clustered_share(single, "similar") == pytest.approx(1, abs=1e-12)


def test_labels_of_a_mapping_may_be_numbers() -> None:
    responses = made(30, seed=3)
    numbered = fit(ResponseMatrix(responses.values, range(30), responses.items), "1PL")
    pairs = {k: k // 2 for k in range(30)}
    assert clustered_share(numbered, pairs) == clustered_share(numbered, list(pairs.values()))


def test_further_labels_of_a_mapping_are_passed_over(single: FitResult) -> None:
    families = {name: k // 2 for k, name in enumerate(single.respondent_labels)}
    more = {**families, "somebody else": 99}
    assert clustered_share(single, more) == clustered_share(single, families)


def test_synthetic_respondents_need_no_family() -> None:
    responses = made(30, seed=4)
    families = {name: k // 3 for k, name in enumerate(responses.respondents)}
    crowd = fit(add_synthetic(responses, "coin", draws=10), "2PL")
    assert 0 < clustered_share(crowd, families) <= 1
    listed = [*families.values(), *[None] * 10]
    assert clustered_share(crowd, listed) == clustered_share(crowd, families)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda f: dict(list(f.items())[1:]), "groups has no family for respondent 'respondent-1'"),
        (lambda f: {**f, "respondent-7": None}, "has no family for respondent 'respondent-7'"),
        (lambda f: {**f, "respondent-7": np.nan}, "has no family for respondent 'respondent-7'"),
        (lambda f: pd.Series(f).drop("respondent-60"), "for respondent 'respondent-60'"),
        (lambda f: [*f.values()][1:], "one family per respondent, got 59 for 60"),
        (lambda f: [*f.values(), "more"], "groups must .*, got 61 for 60"),
        (lambda f: [None, *f.values()][:60], "no family for respondent 'respondent-1'"),
    ],
)
def test_respondents_without_a_family_are_named(single: FitResult, change: Any, rule: str) -> None:
    families = dict(zip(single.respondent_labels, "ab" * 30, strict=True))
    with pytest.raises(ValueError, match=rule):
        flag_items(single, groups=change(families))


@pytest.mark.parametrize(
    ("groups", "rule"),
    [("alike", "or 'similar'; got 'alike'"), (["one"] * 60, "must name at least two families")],
)
def test_what_makes_no_families_is_refused(single: FitResult, groups: Any, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        flag_items(single, groups=groups)
