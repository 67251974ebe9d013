"""Claims about shuffled responses, and about what they say of the data."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    ItemParameters,
    ResponseMatrix,
    ShuffleControl,
    add_synthetic,
    fit,
    flag_items,
    shuffle_control,
    simulate_responses,
)
from irtkit.signs import Dependence
from irtkit.suspects import shuffle
from irtkit.suspects.shuffle import shuffled

SHAPE = (100, 40)
NAMES = ["data", "shuffled, seed 0", "shuffled, seed 1", "shuffled, seed 2"]


def made(*, seed: int, missing: float = 0.0, trials: int = 1) -> ResponseMatrix:
    """Responses to items of one dimension, the first of them inverted."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0.3, 0.3, SHAPE[1])
    slopes[0] *= -1
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=SHAPE[1]))
    abilities = generator.normal(size=SHAPE[0])
    return simulate_responses(items, abilities, missing=missing, trials=trials, seed=generator)


def two_dimensions() -> ResponseMatrix:
    """Two blocks of items, with abilities that have nothing to do with each other."""
    half = SHAPE[1] // 2
    blocks = [made(seed=1).values[:, :half], made(seed=2).values[:, half:]]
    return ResponseMatrix(np.hstack(blocks))


@pytest.fixture(scope="module")
def control() -> ShuffleControl:
    return shuffle_control(made(seed=7), seeds=[0, 1, 2])


# Shuffling


@pytest.mark.parametrize(("missing", "trials"), [(0.0, 1), (0.3, 1), (0.3, 5)])
def test_shuffling_keeps_totals_and_what_is_missing(missing: float, trials: int) -> None:
    given = made(seed=3, missing=missing, trials=trials)
    moved = shuffled(given, seed=1)
    assert (moved.respondents, moved.items) == (given.respondents, given.items)
    np.testing.assert_array_equal(moved.successes.sum(axis=0), given.successes.sum(axis=0))
    np.testing.assert_array_equal(moved.trials > 0, given.trials > 0)
    assert moved != given


def test_shuffling_moves_trials_together_with_their_successes() -> None:
    tried = np.random.default_rng(4).integers(0, 6, SHAPE)
    given = ResponseMatrix.from_counts(np.minimum(tried, 2), tried)
    moved = shuffled(given, seed=0)
    for j in range(given.n_items):
        there, here = (
            sorted(zip(each.successes[:, j].tolist(), each.trials[:, j].tolist(), strict=True))
            for each in (given, moved)
        )
        assert here == there


def test_shuffling_takes_away_what_items_have_in_common() -> None:
    given = made(seed=5)
    agreement = [
        np.corrcoef(each.values.T)[np.triu_indices(SHAPE[1], 1)].mean()
        for each in (given, shuffled(given, seed=0))
    ]
    assert agreement[0] > 0.1
    # five standard errors of the mean of 780 correlations with an SD of 1 / √100
    assert agreement[1] == pytest.approx(0, abs=0.018)


def test_the_same_seed_shuffles_the_same_way_and_another_otherwise() -> None:
    given = made(seed=6)
    assert shuffled(given, seed=1) == shuffled(given, seed=1)
    assert shuffled(given, seed=1) != shuffled(given, seed=2)
    before = given.values.copy()
    np.testing.assert_array_equal(given.values, before)


# The control


def test_the_table_has_a_row_for_the_data_and_for_every_seed(control: ShuffleControl) -> None:
    assert (list(control.table.index), control.table.index.name) == (NAMES, "responses")
    assert list(control.table.columns) == ["flagged", "negative", "dimension"]
    assert control.table["dimension"].min() > 1 / SHAPE[0]
    assert control.table["dimension"].max() < 1
    assert control.dependence.n_respondents == SHAPE[0]


def test_the_first_row_says_what_flag_items_says(control: ShuffleControl) -> None:
    flagged = flag_items(fit(made(seed=7), "2PL"))
    negative = flagged["reasons"].str.contains("negative discrimination")
    assert control.table.loc["data", "flagged"] == len(flagged)
    assert control.table.loc["data", "negative"] == negative.sum() >= 1
    assert (control.table["negative"].iloc[1:] == 0).all()


def test_the_same_seeds_give_the_same_table(control: ShuffleControl) -> None:
    again = shuffle_control(made(seed=7), seeds=[0, 1, 2])
    pd.testing.assert_frame_equal(again.table, control.table, check_exact=True)
    assert str(again) == str(control)


def test_the_dimension_of_the_data_is_its_leading_share_of_variance(
    control: ShuffleControl,
) -> None:
    values = np.linalg.eigvalsh(np.corrcoef(made(seed=7).values.T))
    share = values[-1] / values.sum()
    assert control.table.loc["data", "dimension"] == pytest.approx(share, rel=1e-9)


def test_items_with_a_common_ability_have_a_dimension(control: ShuffleControl) -> None:
    assert control.has_dimension
    assert control.findings == ()
    assert (control.power > 0.9, control.respondents_needed < 100) == (True, True)


def test_two_independent_blocks_of_items_have_a_second_dimension() -> None:
    control = shuffle_control(two_dimensions(), seeds=[0, 1, 2])
    assert control.has_dimension
    assert [one.code for one in control.findings] == ["further-ability"]
    assert "Not unidimensional" in str(control)


def test_coin_flips_have_no_dimension() -> None:
    # Of four draws of the same noise the first is the largest once in four; here it is far from it.
    flips = ResponseMatrix(np.random.default_rng(1).integers(0, 2, SHAPE))
    control = shuffle_control(flips, seeds=[0, 1, 2])
    assert not control.has_dimension
    assert (np.isnan(control.power), control.respondents_needed) == (True, 0)
    assert "flags may mean nothing" in control.summary[-1]


def test_missing_cells_and_repeated_trials_are_controlled_too() -> None:
    control = shuffle_control(made(seed=8, missing=0.3, trials=3), "1PL", seeds=[0])
    assert control.has_dimension
    assert list(control.table.index) == NAMES[:2]


def test_synthetic_respondents_are_left_out(control: ShuffleControl) -> None:
    crowd = add_synthetic(made(seed=7), ("always-right", "coin"), draws=5)
    among = shuffle_control(crowd, seeds=[0, 1, 2])
    pd.testing.assert_frame_equal(among.table, control.table, rtol=1e-9)
    assert among.dependence.n_respondents == SHAPE[0]


def test_of_many_respondents_some_are_drawn_for_shares_of_variance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = made(seed=7)
    whole = shuffle_control(given, seeds=[0]).table.loc["data", "dimension"]
    monkeypatch.setattr(shuffle, "_MOST_RESPONDENTS", 60)
    some = [shuffle_control(given, seeds=[0]).table.loc["data", "dimension"] for _ in range(2)]
    assert some[0] == some[1] != whole
    assert some[0] == pytest.approx(whole, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(40, 300), (500, 10), (60, 100)])
def test_one_dimension_is_not_taken_for_two(shape: tuple[int, int]) -> None:
    said_two = 0
    for seed in range(4):
        generator = np.random.default_rng(seed)
        items = ItemParameters.from_difficulty(
            generator.lognormal(0, 0.3, shape[1]), generator.normal(size=shape[1])
        )
        drawn = simulate_responses(items, generator.normal(size=shape[0]), seed=generator)
        said_two += len(shuffle_control(drawn).findings)
    assert said_two == 0


def test_noise_has_no_dimension() -> None:
    flips = [ResponseMatrix(np.random.default_rng(s).integers(0, 2, (30, 40))) for s in range(6)]
    assert sum(shuffle_control(each).has_dimension for each in flips) == 0


@pytest.mark.parametrize(
    ("seeds", "error", "message"),
    [
        (3, TypeError, "seeds must be a list of whole numbers"),
        ([1, 1], ValueError, "seeds must be different"),
        ([], ValueError, "at least one shuffle"),
    ],
)
def test_seeds_that_name_no_shuffles_are_refused(
    seeds: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        shuffle_control(made(seed=7), seeds=seeds)


def test_seeds_may_come_from_a_generator_or_an_array() -> None:
    one = shuffle_control(made(seed=7), seeds=(k for k in range(2))).table
    pd.testing.assert_frame_equal(one, shuffle_control(made(seed=7), seeds=np.arange(2)).table)


def test_thresholds_are_those_of_flag_items() -> None:
    """All items of the matrix are flagged, and none where respondents differ by chance alone."""
    strict = shuffle_control(made(seed=7), seeds=[0], extreme_difficulty=1e-6)
    assert strict.table["flagged"].tolist() == [SHAPE[1], 0]


# Sentences


def stated(
    values: dict[str, list[float]], *, n: int = 60, effective: float | None = None, **changes: Any
) -> ShuffleControl:
    numbers = {"flagged": [3, 9], "negative": [2, 0], **values}
    table = pd.DataFrame(numbers, index=pd.Index(NAMES[:2], name="responses"))
    dependence = Dependence(n, 1.0, n if effective is None else effective)
    settings = {"power": 0.9, "respondents_needed": 50, **changes}
    return ShuffleControl(table, dependence=dependence, **settings)


def said(values: dict[str, list[float]], **changes: Any) -> list[str]:
    return stated(values, **changes).summary


def test_sentences_tell_a_common_dimension_from_none() -> None:
    one, none = (said({"dimension": [share, 0.03]}) for share in (0.2, 0.02))
    assert "common dimension (20.0% of the variance, at most 3.0% when shuffled)" in one[1]
    assert "do not clearly have more in common than noise" in none[1]


def test_too_few_respondents_are_told_without_how_many_would_do() -> None:
    values = {"dimension": [0.2, 0.03]}
    few = said(values, n=20, power=0.123)
    assert few[-1].startswith("20 respondents are few")
    assert "12% of inverted items of typical discrimination are found; more would" in few[-1]
    assert not any("are few" in sentence for sentence in said(values))


def test_near_copies_are_few_although_they_are_many() -> None:
    values = {"dimension": [0.2, 0.03]}
    alike, few = said(values, n=400, effective=20.2, power=0.123)[-2:]
    assert alike == "400 respondents answer like about 20 independent ones."
    assert few.startswith("20 independent respondents are few: about 12%")
    assert few.endswith("are found; more would find more.")


def test_printing_shows_the_sentences_and_the_table(control: ShuffleControl) -> None:
    text = str(control)
    assert " ".join(text.split()).startswith(" ".join(control.summary))
    assert max(map(len, text.splitlines())) <= 80
    assert all(name in text for name in (*NAMES, *control.table.columns))


def test_a_control_is_frozen(control: ShuffleControl) -> None:
    with pytest.raises(FrozenInstanceError):
        control.power = 1.0


# What is refused


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"seeds": []}, "seeds must name at least one shuffle"),
        ({"seeds": [0, -1]}, "seed must be a whole number"),
        ({"seeds": [0.5]}, "seed must be a whole number"),
        ({"fdr": 0}, "fdr must be above 0 and below 1"),
        ({"extreme_difficulty": 0}, "extreme_difficulty must be above 0"),
        ({"chance": 1}, "chance must be at least 0 and below 1"),
        ({"model": "4PL"}, "model must be"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        shuffle_control(made(seed=7), **settings)


def test_what_is_no_matrix_of_real_responses_is_refused() -> None:
    with pytest.raises(TypeError, match=r"responses must be .* got int"):
        shuffle_control(0)
    only = ResponseMatrix([[1, 0], [0, 1]], synthetic=[True, True])
    with pytest.raises(ValueError, match="synthetic respondents only"):
        shuffle_control(only)
