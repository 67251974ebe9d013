"""Claims about shuffled responses, and about what they say of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    flag_items,
    shuffle_control,
    simulate_responses,
)
from irtkit.suspects import ShuffleControl, shuffle
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


# The control


def test_the_table_has_a_row_for_the_data_and_for_every_seed(control: ShuffleControl) -> None:
    assert (list(control.table.index), control.table.index.name) == (NAMES, "responses")
    assert list(control.table.columns) == ["flagged", "negative", "dimension"]
    assert control.table["dimension"].min() > 1 / SHAPE[0]
    assert control.table["dimension"].max() < 1


def test_the_first_row_says_what_flag_items_says(control: ShuffleControl) -> None:
    flagged = flag_items(fit(made(seed=7), "2PL"))
    negative = flagged["reasons"].map(lambda reasons: "negative" in reasons)
    assert control.table.loc["data", "flagged"] == len(flagged)
    assert control.table.loc["data", "negative"] == negative.sum() >= 1
    assert (control.table["negative"].iloc[1:] == 0).all()


def test_the_dimension_of_the_data_is_its_leading_share_of_variance(
    control: ShuffleControl,
) -> None:
    values = np.linalg.eigvalsh(np.corrcoef(made(seed=7).values.T))
    share = values[-1] / values.sum()
    assert control.table.loc["data", "dimension"] == pytest.approx(share, rel=1e-9)


def test_items_with_a_common_ability_have_a_dimension(control: ShuffleControl) -> None:
    assert control.has_dimension
    assert control.findings == ()


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
    assert [one.code for one in control.findings] == ["no-dimension"]
    assert "Flags may mean nothing" in " ".join(str(control).split())


def test_missing_cells_and_repeated_trials_are_controlled_too() -> None:
    control = shuffle_control(made(seed=8, missing=0.3, trials=3), "1PL", seeds=[0])
    assert control.has_dimension
    assert list(control.table.index) == NAMES[:2]


def test_synthetic_respondents_are_left_out(control: ShuffleControl) -> None:
    crowd = add_synthetic(made(seed=7), ("always-right", "coin"), draws=5)
    among = shuffle_control(crowd, seeds=[0, 1, 2])
    pd.testing.assert_frame_equal(among.table, control.table, rtol=1e-9)


def test_of_many_respondents_some_are_drawn_for_shares_of_variance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = made(seed=7)
    whole = shuffle_control(given, seeds=[0]).table.loc["data", "dimension"]
    monkeypatch.setattr(shuffle, "_MOST_RESPONDENTS", 60)
    some = [shuffle_control(given, seeds=[0]).table.loc["data", "dimension"] for _ in range(2)]
    assert some[0] == some[1] != whole
    assert some[0] == pytest.approx(whole, rel=0.2)


def test_thresholds_are_those_of_flag_items() -> None:
    """All items of the matrix are flagged, and none where respondents differ by chance alone."""
    strict = shuffle_control(made(seed=7), seeds=[0], extreme_difficulty=1e-6)
    assert strict.table["flagged"].tolist() == [SHAPE[1], 0]


def test_printing_shows_the_sentences_and_the_table(control: ShuffleControl) -> None:
    text = str(control)
    assert max(map(len, text.splitlines())) <= 80
    assert all(name in text for name in (*NAMES, *control.table.columns))


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
